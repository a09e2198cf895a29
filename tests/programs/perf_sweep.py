#!/usr/bin/env python3
# ctest: TIMEOUT 600
"""Every perf-test with every type and reduction on 2, 3, 5 and 8 ranks, small sizes, and in every way to run it."""

import os
import subprocess
import unittest

BUILD = os.environ["RONDO_BUILD_DIR"]
PROGRAMS = ["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "broadcast_perf", "reduce_perf",
            "alltoall_perf", "sendrecv_perf", "barrier_perf"]
REDUCING = {"all_reduce_perf", "reduce_scatter_perf", "reduce_perf"}
WITHOUT_IN_PLACE = {"alltoall_perf", "sendrecv_perf", "barrier_perf"}


def run(program, *flags):
    command = [os.path.join(BUILD, "perf-tests", program), "-T", "60", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done, " ".join(command)


class Sweep(unittest.TestCase):
    def check(self, program, rows, *flags):
        done, command = run(program, *flags)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        table = [line.split() for line in done.stdout.splitlines() if line and not line.startswith("#")]
        self.assertEqual(len(table), rows, f"{command}\n{done.stdout}")
        for fields in table:
            self.assertEqual(fields[8], "0", f"{command}: {fields}")
            self.assertEqual(fields[12], "N/A" if program in WITHOUT_IN_PLACE else "0", f"{command}: {fields}")
        self.assertIn("# Out of bounds values : 0 OK\n", done.stdout)
        self.assertTrue(done.stdout.endswith(f"# Collective test concluded: {program}\n"))
        return table

    def test_every_type_reduction_and_rank_count(self):
        for program in PROGRAMS:
            for threads in (2, 3, 5, 8):
                rows = 1 if program == "barrier_perf" else 12 * 5 * (5 if program in REDUCING else 1)
                table = self.check(program, rows, "-t", str(threads), "-b", "0", "-e", "9000", "-f", "11", "-n", "2",
                                   "-d", "all", "-o", "all", "-r", str(threads - 1))
                if program in REDUCING:
                    self.assertEqual({fields[3] for fields in table}, {"sum", "prod", "max", "min", "avg"})

    def test_every_way_to_run(self):
        ways = [["--single-thread"], ["-g", "2"], ["--stream"], ["-g", "2", "--stream"], ["-m", "3"],
                ["-m", "3", "--stream"], ["-u", "3B"], ["-u", "1"], ["--back-to-back", "-n", "40"], ["-w", "0"],
                ["-c", "3"], ["-N", "2"], ["-a", "0"], ["-a", "2"], ["-a", "3"], ["--seed", "7"]]
        for program in PROGRAMS:
            for way in ways:
                cycles = 2 if way[0] == "-N" else 1
                rows = cycles * (1 if program == "barrier_perf" else 4)
                self.check(program, rows, "-t", "3", "-b", "4", "-e", "40K", "-f", "17", "-n", "3", "-r", "1", *way)

    def test_one_rank(self):
        for program in PROGRAMS:
            self.check(program, 1, "-t", "1", "-b", "1K", "-e", "1K", "-n", "2")

    def test_every_root(self):
        for program in ("broadcast_perf", "reduce_perf"):
            table = self.check(program, 5, "-t", "5", "-b", "1K", "-e", "1K", "-n", "2", "-r", "all")
            self.assertEqual([fields[4] for fields in table], ["0", "1", "2", "3", "4"])


if __name__ == "__main__":
    unittest.main()
