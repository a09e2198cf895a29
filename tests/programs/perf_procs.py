#!/usr/bin/env python3
# ctest: TIMEOUT 300 RUN_SERIAL ON
"""The perf-tests as several processes: forked, by mpirun, by variables; one table, statuses, deaths, nothing left."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

BUILD = os.environ["RONDO_BUILD_DIR"]
SOURCE = os.environ["RONDO_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from leaks import LeakWatch, marked_processes  # noqa: E402

PROGRAMS = ["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "broadcast_perf", "reduce_perf",
            "alltoall_perf", "sendrecv_perf", "barrier_perf"]
TRANSPORTS = ["memory", "tcp"]


def program_path(program):
    return os.path.join(BUILD, "perf-tests", program)


def rows_of(text):
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def wrong_of(text):
    return sum(int(float(fields[i])) for fields in rows_of(text) for i in (8, 12) if fields[i] != "N/A")


class Processes(unittest.TestCase):
    def setUp(self):
        self.watch = self.enterContext(LeakWatch())

    def run_program(self, *command, limit=120, **environment):
        return subprocess.run(command, capture_output=True, text=True, timeout=limit,
                              env={**self.watch.environment, **environment}, check=False)

    def forked(self, program, *flags, **environment):
        return self.run_program(program_path(program), *flags, **environment)

    def check_right(self, done, rows=1):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreaterEqual(len(rows_of(done.stdout)), rows, done.stdout)
        self.assertEqual(wrong_of(done.stdout), 0, done.stdout)
        self.assertIn("# Out of bounds values : 0 OK", done.stdout)
        self.assertEqual(done.stdout.count("Collective test starting"), 1, "one table for all processes")

    def pids_of(self, text):
        return [int(pid) for pid in re.findall(r"#  Rank +\d+ Group +0 Pid +(\d+) on", text)]

    def test_every_program_forked_on_each_transport(self):
        for transport in TRANSPORTS:
            for program in PROGRAMS:
                done = self.forked(program, "--procs", "3", "-b", "4", "-e", "256K", "-f", "32", "-n", "3", "-T", "60",
                                   RONDO_TRANSPORT=transport)
                self.check_right(done)
                self.assertEqual(len(set(self.pids_of(done.stdout))), 3, done.stdout)

    def test_every_staged_plan_on_several_processes(self):
        for program in PROGRAMS[:6]:
            for ranks in ("2", "3", "5"):
                done = self.forked(program, "--procs", ranks, "-b", "4", "-e", "4M", "-f", "32", "-n", "2", "-T", "60",
                                   "--algo", "staged", RONDO_BUFFSIZE="64K")
                self.check_right(done, rows=3)
                self.assertIn("staged", done.stdout)

    def test_copies_out_of_other_processes(self):
        for program in ("alltoall_perf", "broadcast_perf"):
            for flags in (["--procs", "2"], ["--procs", "3"], ["--procs", "2", "-t", "2"]):
                done = self.forked(program, *flags, "-b", "4", "-e", "8M", "-f", "32", "-n", "2", "-T", "60", "--algo",
                                   "direct", RONDO_DEBUG="INFO")
                self.check_right(done, rows=3)
                self.assertIn("direct", done.stdout)
                self.assertIn("every rank can copy out of the others' buffers (cma)", done.stdout + done.stderr)

    def test_without_copies_out_of_other_processes(self):
        refused = [sys.executable, "-B", os.path.join(SOURCE, "tests", "support", "without_pulls.py")]
        run = ["--procs", "3", "-b", "4", "-e", "256K", "-f", "32", "-n", "2", "-T", "60"]
        done = self.run_program(*refused, program_path("alltoall_perf"), *run, RONDO_DEBUG="INFO")
        self.check_right(done, rows=3)
        self.assertRegex(done.stdout + done.stderr, r"rank 0 cannot read those of rank 1 \(Operation not permitted\)")
        done = self.run_program(*refused, program_path("alltoall_perf"), *run, "--algo", "direct")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("leaves no algorithm for all_to_all on 3 ranks that share memory for messages and windows;",
                      done.stderr)
        for setting in ("^cma", "memory"):
            done = self.forked("alltoall_perf", *run, "--algo", "direct", RONDO_TRANSPORT=setting)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("leaves no algorithm for all_to_all on 3 ranks that share memory for messages and windows;",
                          done.stderr)

    def test_ranks_are_threads_times_processes(self):
        file = os.path.join(self.watch.folder, "x.json")
        done = self.forked("all_reduce_perf", "--procs", "2", "-t", "2", "-g", "2", "-b", "4K", "-e", "4K", "-n", "2",
                           "-J", file, "-T", "60")
        self.check_right(done)
        pids = self.pids_of(done.stdout)
        self.assertEqual(len(pids), 8)
        self.assertTrue(len(set(pids[:4])) == len(set(pids[4:])) == 1 and pids[0] != pids[4], pids)
        with open(file, encoding="utf-8") as stream:
            result = json.load(stream)
        os.unlink(file)
        self.assertEqual([device["pid"] for device in result["devices"]], pids)
        self.assertEqual(result["config"]["nranks"], 8)
        edges = result["results"][0]["traffic"]["edges"]
        self.assertEqual({edge["from"] for edge in edges}, set(range(8)), "traffic of all processes' ranks")

    def test_an_injected_error_on_whichever_rank_is_seen_by_all(self):
        for program in PROGRAMS:
            done = self.forked(program, "--procs", "3", "-b", "4K", "-e", "4K", "-n", "2", "-T", "60", "--inject-error")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertEqual(wrong_of(done.stdout), 1, done.stdout)
            # Every process ended with that status.
            self.assertEqual(len(re.findall(r"process \d \(pid \d+\) ended with status 1", done.stderr)), 3, done.stderr)

    def test_a_killed_process_ends_all_and_is_named(self):
        for transport in TRANSPORTS:
            for victim in range(3):
                process = subprocess.Popen([program_path("all_reduce_perf"), "--procs", "3", "-b", "1M", "-e", "1M",
                                            "-n", "100000000", "-T", "60"], stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True,
                                           env={**self.watch.environment, "RONDO_TRANSPORT": transport})
                head = ""
                while "(GB/s)" not in head:
                    head += process.stdout.readline()
                pid = self.pids_of(head)[victim]
                time.sleep(0.3)
                os.kill(pid, signal.SIGKILL)
                begin = time.monotonic()
                out, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 1, out + errors)
                self.assertLess(time.monotonic() - begin, 10, errors)
                self.assertIn(f"process {victim} (pid {pid}) died by signal 9 (Killed)", errors)
                told = [line for line in errors.splitlines() if f"rank {victim}" in line and str(pid) in line]
                self.assertTrue(told, f"no survivor names rank {victim} and pid {pid}: {errors}")

    def test_the_end_of_the_parent_is_that_of_all(self):
        for number, status in ((signal.SIGKILL, -9), (signal.SIGTERM, 128 + 15), (signal.SIGINT, 128 + 2)):
            process = subprocess.Popen([program_path("all_reduce_perf"), "--procs", "3", "-b", "1K", "-e", "1K", "-n",
                                        "100000000"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                       env=self.watch.environment)
            while "(GB/s)" not in process.stdout.readline():
                pass
            process.send_signal(number)
            self.assertEqual(process.wait(20), status)
            process.stdout.close()
            self.assertEqual(self.watch.left(), [])
            self.assertEqual(marked_processes(self.watch.mark), [])

    def test_by_variables_of_the_environment(self):
        launchers = (
            lambda rank: {"RONDO_COMM_ID": "127.0.0.1:29517", "RONDO_RANK": rank, "RONDO_NRANKS": "3"},
            lambda rank: {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29518", "RANK": rank, "WORLD_SIZE": "3"},
            lambda rank: {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "3",
                          "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "3", "SLURM_PROCID": rank})
        for variables in launchers:
            processes = []
            for rank in range(3):
                environment = {**self.watch.environment, **variables(str(rank))}
                processes.append(subprocess.Popen([program_path("all_gather_perf"), "-t", "2", "-b", "1K", "-e", "1K",
                                                   "-T", "60"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                                  text=True, env=environment))
            texts = [process.communicate(timeout=60)[0] for process in processes]
            self.assertEqual([process.returncode for process in processes], [0, 0, 0], "\n".join(texts))
            self.assertEqual(texts[1:], ["", ""], "only process 0 prints")
            self.assertEqual(self.pids_of(texts[0]), [process.pid for process in processes for _ in range(2)])

    def test_a_variable_that_is_missing_is_named(self):
        done = self.forked("all_reduce_perf", RONDO_RANK="0", RONDO_COMM_ID="127.0.0.1:29519")
        self.assertEqual(done.returncode, 1)
        self.assertIn("RONDO_NRANKS", done.stderr)

    @unittest.skipIf(shutil.which("mpirun") is None, "no mpirun")
    def test_every_program_by_mpirun_on_each_transport(self):
        mpirun = os.path.join(SOURCE, "tests", "support", "mpirun.sh")
        for transport in TRANSPORTS:
            for program in PROGRAMS:
                done = self.run_program(mpirun, "4", program_path(program), "-b", "4", "-e", "64K", "-f", "32", "-n",
                                        "3", "-T", "60", RONDO_TRANSPORT=transport)
                if "this build has no MPI" in done.stderr:
                    self.skipTest("a build without MPI")
                self.check_right(done)
                self.assertIn("# Processes: 4, started by mpirun; 1 rank(s) in each", done.stdout)
                self.assertEqual(len(set(self.pids_of(done.stdout))), 4)
        done = self.run_program(mpirun, "3", program_path("all_reduce_perf"), "-b", "4K", "-e", "4K", "--inject-error")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(wrong_of(done.stdout), 1)

    def test_refusals(self):
        done = self.forked("all_reduce_perf", "--procs", "2", "-J", os.path.join(self.watch.folder, "none", "x.json"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("none/x.json", done.stderr)
        self.assertEqual(done.stdout, "")
        done = self.forked("all_reduce_perf", "--procs", "2", RONDO_RANK="0", RONDO_NRANKS="1",
                           RONDO_COMM_ID="127.0.0.1:29520")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--procs", done.stderr)


if __name__ == "__main__":
    unittest.main()
