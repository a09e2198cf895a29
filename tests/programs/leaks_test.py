#!/usr/bin/env python3
# ctest: TIMEOUT 120 RUN_SERIAL ON
"""tests/support/leaks.py sees what a command leaves, and nothing where it leaves nothing."""

import os
import socket
import subprocess
import sys
import unittest

SUPPORT = os.path.join(os.environ["RONDO_SOURCE_DIR"], "tests", "support")
sys.path.insert(0, SUPPORT)
from leaks import LeakWatch  # noqa: E402


def run(script, *flags):
    return subprocess.run([sys.executable, "-B", os.path.join(SUPPORT, "leaks.py"), *flags, "sh", "-c", script],
                          capture_output=True, text=True, timeout=60, check=False)


class Leaks(unittest.TestCase):
    def test_the_status_is_that_of_the_command(self):
        for status in 0, 3, 77:
            done = run(f"exit {status}")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(done.stderr, "")

    def test_what_is_left_is_told(self):
        for script, told in (("setsid sleep 60 >/dev/null 2>&1 &", "sleep 60"),
                             ("touch $TMPDIR/forgotten", "/forgotten"),
                             ("touch /tmp/rondo.forgotten.$$; echo /tmp/rondo.forgotten.$$", "/tmp/rondo.forgotten."),
                             ("touch /dev/shm/rondo.forgotten", "/dev/shm/rondo.forgotten")):
            done = run(script)
            self.assertEqual(done.returncode, 99, f"{script}: {done.stderr}")
            self.assertIn(told, done.stderr)
            for path in done.stdout.split():
                os.unlink(path)
        if os.path.exists("/dev/shm/rondo.forgotten"):
            os.unlink("/dev/shm/rondo.forgotten")

    def test_a_command_that_does_not_end_is_killed(self):
        self.assertEqual(run("sleep 60", "--timeout", "0.5").returncode, 98)

    def test_an_abstract_socket_that_stays(self):
        with self.assertRaisesRegex(AssertionError, "abstract socket @rondo"):
            with LeakWatch():
                held = socket.socket(socket.AF_UNIX)
                held.bind(f"\0rondo-leaks-test-{os.getpid()}")
        held.close()
        with LeakWatch():
            with socket.socket(socket.AF_UNIX) as closed:
                closed.bind(f"\0rondo-leaks-test-{os.getpid()}")


if __name__ == "__main__":
    unittest.main()
