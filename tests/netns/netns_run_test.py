#!/usr/bin/env python3
"""tests/netns/run itself, by a plain TCP program: places, networks, faults, status, and that nothing is left of it."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from leaks import LeakWatch, marked_processes  # noqa: E402

RUN = os.path.join(HERE, "run")
RING = [sys.executable, "-B", os.path.join(HERE, "tcp_ring.py")]


class NetworkNamespaces(unittest.TestCase):
    def setUp(self):
        self.watch = self.enterContext(LeakWatch())

    def run_ring(self, *flags, seconds="0.3"):
        return subprocess.run([sys.executable, "-B", RUN, *flags, *RING, seconds], capture_output=True, text=True,
                              timeout=60, env=self.watch.environment, check=False)

    def check_all_right(self, done, ranks):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(re.findall("is done", done.stdout)), ranks - 1, done.stdout)

    def test_ranks_are_on_their_hosts(self):
        for flags, places in ((["--order", "block"], "0 0 1 1 2"), (["--order", "cyclic"], "0 1 2 0 1")):
            done = self.run_ring("--hosts", "3", "--ranks", "5", *flags)
            self.check_all_right(done, 5)
            self.assertIn(f"ranks on hosts: {places}", done.stdout)
            for rank, host in enumerate(places.split()):
                if rank > 0:
                    self.assertIn(f"[{rank}] rank {rank} on host{host} id host{host} is done", done.stdout)

    def test_order_at_random_is_that_of_the_seed(self):
        seen = set()
        for seed in "1", "2", "3", "1":
            done = self.run_ring("--hosts", "2", "--ranks", "6", "--order", "random", "--seed", seed)
            self.check_all_right(done, 6)
            seen.add((seed, re.search("ranks on hosts: (.*)", done.stdout).group(1)))
        self.assertEqual(len({seed for seed, _ in seen}), len(seen))
        self.assertGreater(len({places for _, places in seen}), 1)

    def test_networks(self):
        for flags, address in (([], "from 10.77.0.2"), (["--ipv6"], "from fd77::2"), (["--bridge"], "from 10.77.0.2"),
                               (["--mesh"], "from 10.77."), (["--mesh", "--ipv6"], "from fd77:")):
            done = self.run_ring("--hosts", "3", "--ranks", "4", "--order", "cyclic", *flags)
            self.check_all_right(done, 4)
            self.assertIn(address, done.stdout, flags)

    def test_decoys_are_there(self):
        done = subprocess.run([sys.executable, "-B", RUN, "--hosts", "2", "--ranks", "2", "--bridge", "ip", "-o",
                               "addr"], capture_output=True, text=True, timeout=60, env=self.watch.environment,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in "01":
            mine = [line for line in done.stdout.splitlines() if line.startswith(f"[{rank}]")]
            text = "\n".join(mine)
            self.assertLess(text.index("docker0    inet 172.17.0.1/16"), text.index("eth0    inet 10.77.0."), text)
            spare = [line for line in mine if " veth9f3a " in line]
            self.assertTrue(spare and all("fe80:" in line for line in spare), spare)

    def test_a_cut_and_a_drop_silence_one_host_only(self):
        for fault in "--cut-after", "--drop-after":
            for host in "1", "2":
                done = self.run_ring("--hosts", "3", "--ranks", "3", fault, "0.5", "--host", host, seconds="2.5")
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                at = float(re.search(r"host" + host + r"\D* at ([\d.]+) s", done.stdout).group(1))
                silent = re.search(r"\[" + host + r"\] rank \d on host\d: TimeoutError.* at ([\d.]+) s", done.stdout)
                self.assertIsNotNone(silent, done.stdout)
                # The program's own limit is a second from its last message on.
                self.assertLess(float(silent.group(1)) - at, 1.5, done.stdout)
                other = "2" if host == "1" else "1"
                self.assertIn(f"[{other}] rank {other} on host{other} id host{other} is done", done.stdout)
                self.assertIn(f"rank {host} on host{host} ended with status 1", done.stderr)

    def test_a_short_fault_heals(self):
        for fault in "--cut-after", "--drop-after":
            done = self.run_ring("--hosts", "3", "--ranks", "3", fault, "0.7", "--heal-after", "1.1", seconds="2.5")
            self.check_all_right(done, 3)
            self.assertIn("host2 healed", done.stdout)

    def test_what_a_rank_leaves_is_told(self):
        for script, told in (("touch /dev/shm/forgotten", "/dev/shm/forgotten"),
                             ("setsid sleep 60 >/dev/null 2>&1 &", "sleep 60")):
            done = subprocess.run([sys.executable, "-B", RUN, "--hosts", "1", "--ranks", "1", "sh", "-c", script],
                                  capture_output=True, text=True, timeout=60, env=self.watch.environment, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"left behind: ", done.stderr)
            self.assertIn(told, done.stderr)

    def test_a_program_that_hangs_is_killed(self):
        begin = time.monotonic()
        done = subprocess.run([sys.executable, "-B", RUN, "--hosts", "2", "--ranks", "2", "--timeout", "1", "sleep",
                               "60"], capture_output=True, text=True, timeout=60, env=self.watch.environment,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not end in time", done.stderr)
        self.assertLess(time.monotonic() - begin, 20)

    def test_nothing_outlives_it_however_it_ends(self):
        for number in signal.SIGKILL, signal.SIGTERM, signal.SIGINT:
            process = subprocess.Popen([sys.executable, "-B", RUN, "--hosts", "2", "--ranks", "4", "sh", "-c",
                                        "echo up; sleep 60"], stdout=subprocess.PIPE, text=True,
                                       env=self.watch.environment)
            ups = 0
            while ups < 4:
                ups += "up" in process.stdout.readline()
            self.assertGreater(len(marked_processes(self.watch.mark)), 4)
            process.send_signal(number)
            process.wait(10)
            process.stdout.close()
            self.assertEqual(self.watch.left(), [], f"after signal {number}")

    def test_wrong_usage(self):
        for flags in (["--hosts", "0", "--ranks", "1"], ["--hosts", "2", "--ranks", "1"], ["--hosts", "2"],
                      ["--hosts", "2", "--ranks", "2", "--host", "2"], ["--hosts", "1", "--ranks", "1", "--cut-after",
                                                                        "1"]):
            self.assertEqual(self.run_ring(*flags).returncode, 2, flags)


if __name__ == "__main__":
    probe = subprocess.run([sys.executable, "-B", RUN, "--hosts", "1", "--ranks", "1", "true"], capture_output=True,
                           text=True, check=False)
    if probe.returncode == 77:
        print(probe.stderr, end="")
        sys.exit(77)
    unittest.main()
