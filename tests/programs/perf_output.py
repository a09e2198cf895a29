#!/usr/bin/env python3
# ctest: TIMEOUT 300
"""What the perf-tests print and write, refuse, and answer to an injected error."""

import csv
import json
import os
import subprocess
import tempfile
import unittest

BUILD = os.environ["RONDO_BUILD_DIR"]
PROGRAMS = ["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "broadcast_perf", "reduce_perf",
            "alltoall_perf", "sendrecv_perf", "barrier_perf"]


def run(program, *flags, **environment):
    command = [os.path.join(BUILD, "perf-tests", program), *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env={**os.environ, **environment})


def rows_of(text):
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


class Output(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_an_injected_error_is_one_wrong_element_and_status_1(self):
        for program in PROGRAMS:
            for flags in (["-b", "1", "-e", "1K", "-f", "32"], ["-b", "4K", "-e", "4K", "-o", "avg", "-d", "int8"],
                          ["-b", "4K", "-e", "4K", "-o", "avg"], ["-b", "64K", "-e", "64K", "--stream"]):
                done = run(program, "-t", "3", "-n", "2", "-c", "2", "--inject-error", *flags)
                self.assertEqual(done.returncode, 1, f"{program} {flags}\n{done.stdout}{done.stderr}")
                rows = rows_of(done.stdout)
                wrong = sum(int(fields[8]) + (0 if fields[12] == "N/A" else int(fields[12])) for fields in rows)
                self.assertEqual(wrong, 1, f"{program} {flags}\n{done.stdout}")
                self.assertIn("# Out of bounds values : 1 FAILED\n", done.stdout)

    def test_nothing_to_inject_into_is_an_error(self):
        done = run("all_reduce_perf", "-b", "0", "-e", "0", "--inject-error")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--inject-error", done.stderr)

    def test_bad_flags_are_refused_with_status_2_and_nothing_on_stdout(self):
        for flags, told in ((["--frobnicate"], "'--frobnicate'"), (["-b", "4Q"], "'4Q'"),
                            (["-b", "2M", "-e", "1M"], "2097152"), (["-r", "2"], "'2'"), (["-t", "0"], "'0'"),
                            (["-d", "float31"], "'float31'"), (["-o", "xor"], "'xor'"),
                            (["-J", self.path("none/x.json")], "none/x.json")):
            for program in PROGRAMS:
                done = run(program, *flags)
                self.assertEqual(done.returncode, 2, f"{program} {flags}\n{done.stderr}")
                self.assertIn(told, done.stderr)
                self.assertIn("allowed", done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_bad_setting_of_the_library_is_an_error_with_its_text(self):
        done = run("all_reduce_perf", "-b", "8", "-e", "8", "--algo", "no_such_algorithm")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no_such_algorithm", done.stderr)
        self.assertIn("# error: ", done.stdout)

    def test_help_and_version(self):
        for program in PROGRAMS:
            done = run(program, "-h")
            self.assertEqual(done.returncode, 0)
            self.assertIn("--minbytes", done.stdout)
            self.assertIn("What is measured", done.stdout)
        self.assertIn("rondo-library=", run("all_reduce_perf", "--version").stdout)

    def test_json_agrees_with_the_table(self):
        for program in PROGRAMS:
            file = self.path(program + ".json")
            done = run(program, "-t", "3", "-b", "8", "-e", "32K", "-f", "64", "-n", "4", "-J", file, RONDO_TIMEOUT="60")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(f"# Writing JSON output to {file}\n", done.stdout)
            with open(file, encoding="utf-8") as stream:
                document = json.load(stream)
            for key in ("version", "start_time", "args", "env", "config", "devices", "results", "out_of_bounds",
                        "average_bus_bandwidth", "errors", "end_time", "machine", "library"):
                self.assertIn(key, document)
            self.assertTrue(all(entry.startswith("RONDO_") for entry in document["env"]))
            self.assertIn("RONDO_TIMEOUT=60", document["env"])
            self.assertEqual(len(document["devices"]), 3)
            self.assertEqual(document["errors"], [])
            for key in ("cpu", "cores", "memory", "kernel"):
                self.assertTrue(document["machine"][key], key)
            rows = rows_of(done.stdout)
            self.assertEqual(len(rows), len(document["results"]))
            for fields, result in zip(rows, document["results"]):
                self.assertEqual(fields[:5], [str(result[key]) for key in ("size", "count", "type", "redop", "root")])
                out = result["out_of_place"]
                self.assertEqual(out["nwrong"], 0)
                self.assertGreater(out["time"], 0)
                self.assertLessEqual(out["min"], out["p50"])
                self.assertLessEqual(out["p50"], out["p99"])
                self.assertLessEqual(out["p99"], out["max"])
                self.assertEqual(result["in_place"] is None, fields[12] == "N/A")
                self.assertEqual(fields[-1], result["algorithm"])
                self.assertEqual(result["plan"].split("/")[1], result["algorithm"])
                edges = result["traffic"]["edges"]
                self.assertEqual(sum(edge["bytes"] for edge in edges), result["traffic"]["bytes"])
                if result["count"] > 0:
                    self.assertGreater(result["traffic"]["bytes"] + result["traffic"]["direct_bytes"], 0, fields)

    def test_existing_files_are_kept(self):
        for _ in range(3):
            done = run("barrier_perf", "-n", "2", "-J", self.path("x"), "--csv", self.path("y"))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["x", "x.0", "x.1", "y", "y.0", "y.1"])

    def test_json_to_stdout_leaves_the_table_on_stderr(self):
        done = run("all_reduce_perf", "-b", "8", "-e", "8", "-n", "2", "-J", "-")
        self.assertEqual(len(json.loads(done.stdout)["results"]), 1)
        self.assertIn("# Out of bounds values : 0 OK", done.stderr)

    def test_csv_has_a_row_for_each_size_and_mode(self):
        for program in PROGRAMS:
            file = self.path(program + ".csv")
            done = run(program, "-t", "2", "-b", "8", "-e", "8K", "-f", "32", "-n", "2", "--csv", file)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(file, encoding="utf-8", newline="") as stream:
                rows = list(csv.DictReader(stream))
            modes = sum(1 if fields[12] == "N/A" else 2 for fields in rows_of(done.stdout))
            self.assertEqual(len(rows), modes)
            for row in rows:
                self.assertEqual(row["program"], program)
                self.assertEqual(row["nwrong"], "0")
                self.assertGreater(float(row["time_us"]), 0)
                self.assertNotIn(None, row.values())

    def test_progress_is_said_on_request_and_not_otherwise(self):
        flags = ["-b", "8", "-e", "32", "-f", "2", "-n", "2"]
        self.assertIn("[2/3] float sum 16 bytes", run("all_reduce_perf", *flags, RONDO_TESTS_PROGRESS="1").stderr)
        self.assertNotIn("[2/3]", run("all_reduce_perf", *flags).stderr)

    def test_a_size_beyond_memory_is_reduced_with_a_line(self):
        # The sizes that would remain are far too large to run here: with -b at the same end only the smaller one runs.
        done = run("all_reduce_perf", "-b", "8", "-e", "4T", "-f", "1000000000", "-n", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\n#\n# Reducing maxBytes to \d+ due to memory limitation")


if __name__ == "__main__":
    unittest.main()
