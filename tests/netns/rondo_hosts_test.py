#!/usr/bin/env python3
"""Rondo on several hosts (network namespaces): every program on every placement and kind of network, without a setting;
cut links and frames that vanish."""

import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from leaks import LeakWatch  # noqa: E402

BUILD = os.environ["RONDO_BUILD_DIR"]
RUN = os.path.join(HERE, "run")
WORKER = os.path.join(BUILD, "tests", "fault_worker")
PROGRAMS = ["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "broadcast_perf", "reduce_perf",
            "alltoall_perf", "sendrecv_perf", "barrier_perf"]
LIMIT = 3.0
SLACK = 1.5


class Hosts(unittest.TestCase):
    def setUp(self):
        self.watch = self.enterContext(LeakWatch())

    def run_on(self, *command, limit=120):
        return subprocess.run([sys.executable, "-B", RUN, "--timeout", str(limit - 10), *command], capture_output=True,
                              text=True, timeout=limit, env=self.watch.environment, check=False)

    def check_program(self, *flags, program="all_reduce_perf", arguments=()):
        done = self.run_on(*flags, os.path.join(BUILD, "perf-tests", program), "-b", "4", "-e", "256K", "-f", "64",
                           "-n", "3", "-T", "30", *arguments)
        where = f"{flags} {program}\n{done.stdout[-3000:]}\n{done.stderr}"
        self.assertEqual(done.returncode, 0, where)
        rows = [line.split()[1:] for line in done.stdout.splitlines() if re.match(r"\[0\] +\d", line)]
        self.assertTrue(rows, where)
        for fields in rows:
            self.assertEqual([fields[i] for i in (8, 12) if fields[i] != "N/A" and fields[i] != "0"], [], where)
        return done

    def test_every_program_on_two_and_three_hosts(self):
        for program in PROGRAMS:
            self.check_program("--hosts", "2", "--ranks", "4", program=program)
            self.check_program("--hosts", "3", "--ranks", "5", program=program)

    def test_hosts_in_any_order_of_ranks(self):
        for flags in (["--order", "cyclic"], ["--order", "random", "--seed", "1"], ["--order", "random", "--seed", "2"],
                      ["--order", "random", "--seed", "5"]):
            for program in "all_reduce_perf", "all_gather_perf", "broadcast_perf", "alltoall_perf":
                self.check_program("--hosts", "3", "--ranks", "7", *flags, program=program)

    def test_headers_name_the_hosts(self):
        done = self.check_program("--hosts", "2", "--ranks", "4", "--order", "cyclic", arguments=["-t", "2"])
        hosts = re.findall(r"#  Rank +\d+ Group +0 Pid +\d+ on +(\S+) device", done.stdout)
        self.assertEqual(hosts, ["host0", "host0", "host1", "host1"] * 2)

    def test_any_network_without_a_setting(self):
        for flags in (["--bridge"], ["--ipv6"], ["--bridge", "--ipv6"], ["--mesh"], ["--mesh", "--bridge"]):
            self.check_program("--hosts", "3", "--ranks", "4", *flags)
        for flags in (["--bridge"], ["--bridge", "--ipv6"]):
            self.check_program("--hosts", "3", "--ranks", "4", "--env", "RONDO_SOCKET_IFNAME==eth0", *flags)

    def test_hosts_that_can_be_reached_from_one_side_only(self):
        for flags in ([], ["--ipv6"], ["--order", "cyclic"]):
            for program in "all_reduce_perf", "alltoall_perf":
                done = self.check_program("--hosts", "3", "--ranks", "4", "--one-way", "--env", "RONDO_DEBUG=INFO",
                                          *flags, program=program)
                self.assertRegex(done.stdout, "Permission denied.*asking rank [0-9] to call")

    def test_one_host_with_nothing_but_loopback(self):
        done = self.run_on("--hosts", "1", "--ranks", "2", "--env", "RONDO_COMM_ID=127.0.0.1:29500", "sh", "-c",
                           "ip link del eth0; exec " + os.path.join(BUILD, "perf-tests", "all_reduce_perf") +
                           " -b 4 -e 64K -f 64 -T 10")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_init_is_quick(self):
        for flags in ([], ["--bridge"], ["--ipv6"]):
            for rank, answers in self.worker_answers(["--hosts", "3", "--ranks", "6", "--order", "cyclic", *flags],
                                                     "join 20", "check", "destroy").items():
                self.assertEqual([answer["result"] for answer in answers], [0, 0, 0], f"rank {rank}: {answers}")
                self.assertLess(answers[0]["seconds"], 5, f"rank {rank}: {answers[0]}")

    def worker_answers(self, flags, *lines, limit=120):
        """rank: its answers. Sets self.output."""
        done = self.run_on(*flags, WORKER, *lines, limit=limit)
        self.output = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, self.output)
        answers = {}
        for rank, line in re.findall(r"^\[(\d+)\] (\{.*\})$", done.stdout, re.MULTILINE):
            answer = json.loads(line)
            if "event" not in answer:
                answers.setdefault(int(rank), []).append(answer)
        self.assertNotIn('"wrong"', self.output)
        return answers

    def test_a_cut_and_a_drop_are_told_within_the_limit(self):
        for fault in "--cut-after", "--drop-after":
            for size in 64, 64 << 20:
                answers = self.worker_answers(
                    ["--hosts", "2", "--ranks", "4", fault, "2"], f"join {LIMIT}", f"loop 60 {size}",
                    "shrink_to 0,1 2,3", "check", "destroy")
                at = float(re.search(r"host1\D* at ([\d.]+) s", self.output).group(1))
                self.assertEqual(sorted(answers), [0, 1, 2, 3])
                for rank, (join, loop, shrink, check, destroy) in answers.items():
                    where = f"{fault} {size} rank {rank}: {loop}"
                    self.assertEqual(join["result"], 0, join)
                    self.assertNotEqual(loop["result"], 0, where)
                    self.assertLess(loop["t"] - at, LIMIT + SLACK, where)
                    other = r"\brank (2|3)\b.*\bhost1\b" if rank < 2 else r"\brank (0|1)\b.*\bhost0\b"
                    self.assertRegex(loop["text"], other + r"|missing", where)
                    # Each host goes on by itself.
                    self.assertEqual((shrink["result"], shrink.get("nranks")), (0, 2), shrink)
                    self.assertEqual((check["result"], destroy["result"]), (0, 0), check)

    def test_a_fault_that_heals_before_the_limit_is_none(self):
        for fault in "--cut-after", "--drop-after":
            for size in 64, 16 << 20:
                answers = self.worker_answers(
                    ["--hosts", "2", "--ranks", "4", fault, "1.5", "--heal-after", "3"], "join 15", f"loop 5 {size}",
                    "check", "destroy")
                self.assertIn("healed", self.output)
                for rank, all_answers in answers.items():
                    self.assertEqual([answer["result"] for answer in all_answers], [0] * 4, f"rank {rank}: {all_answers}")


if __name__ == "__main__":
    probe = subprocess.run([sys.executable, "-B", RUN, "--hosts", "1", "--ranks", "1", "true"], capture_output=True,
                           text=True, check=False)
    if probe.returncode == 77:
        print(probe.stderr, end="")
        sys.exit(77)
    unittest.main()
