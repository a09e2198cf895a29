#!/usr/bin/env python3
"""plot_perf.py draws real results and refuses files that are none."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["RONDO_BUILD_DIR"]
PLOT = os.path.join(os.environ["RONDO_SOURCE_DIR"], "python", "plot_perf.py")


def plot(*arguments):
    return subprocess.run([sys.executable, "-B", PLOT, *arguments], capture_output=True, text=True, timeout=120)


class Plot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.one, cls.two = (os.path.join(cls.folder.name, name) for name in ("one.json", "two.json"))
        for file, threads in ((cls.one, "2"), (cls.two, "3")):
            subprocess.run([os.path.join(BUILD, "perf-tests", "all_reduce_perf"), "-t", threads, "-b", "0", "-e", "64K",
                            "-f", "16", "-n", "2", "-J", file], check=True, capture_output=True, timeout=120)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        return path

    def test_png_and_svg_of_every_metric(self):
        for metric in ("busbw", "algbw", "time"):
            png = self.path(f"{metric}.png")
            done = plot(self.one, "-o", png, "--metric", metric)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(png, "rb") as stream:
                self.assertEqual(stream.read(8), b"\x89PNG\r\n\x1a\n")
            svg = self.path(f"{metric}.svg")
            done = plot(self.one, self.two, "-o", svg, "--metric", metric)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(svg, encoding="utf-8") as stream:
                text = stream.read()
            for label in ("2 ranks", "3 ranks", "in place", "KiB", "all_reduce_perf"):
                self.assertIn(label, text)

    def test_bad_files_are_refused_by_name(self):
        broken = json.dumps({"results": [{"size": 8, "out_of_place": {"time": "soon"}}]})
        cases = [(self.path("absent.json"), "cannot be read"), (self.path("text.json", "hello"), "is not JSON"),
                 (self.path("list.json", "[1]"), "'results'"), (self.path("empty.json", '{"results": []}'), "is empty"),
                 (self.path("row.json", '{"results": [3]}'), "a row"), (self.path("broken.json", broken), "row 0")]
        for file, told in cases:
            done = plot(file, "-o", self.path("x.png"))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(os.path.basename(file), done.stderr)
            self.assertIn(told, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertFalse(os.path.exists(self.path("x.png")))

    def test_a_picture_needs_a_known_ending_and_values(self):
        done = plot(self.one, "-o", self.path("x.bmp"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(".png", done.stderr)
        zero = self.path("zero.json", json.dumps({"results": [{"size": 0, "out_of_place": {"bus_bw": 0}}]}))
        done = plot(zero, "-o", self.path("x.png"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("logarithmic", done.stderr)


if __name__ == "__main__":
    unittest.main()
