#!/usr/bin/env python3
"""What a test may not leave behind. As a program:

    leaks.py [--timeout S] COMMAND ARGS...

runs the command and fails, with a line for each, when it leaves a process, a network namespace or interface of
tests/netns/run, a file in /dev/shm or in the directory for temporary files, one named after Rondo in /tmp, or an abstract
Unix socket named after Rondo. The command's own status is kept where nothing is left.

As a module: LeakWatch does the same around any code. Root gets a /dev/shm of its own for the command, so that what other
programs do there at the same time does not count."""

import argparse
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MARK = "RONDO_TESTS_LEAK_MARK"
# Names that tests/netns/run gives; all of them belong into its own namespaces.
NETWORK_NAMES = re.compile(r"^(host\d+|bridge|br0|port\d+|probe\d|veth9f3[ab])(@\S*)?$")
PATIENCE = 3.0


def marked_processes(mark):
    """(pid, command) of every process that has inherited the mark, but this one."""
    needle = f"{MARK}={mark}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as stream:
                if needle not in stream.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/cmdline", "rb") as stream:
                found.append((int(entry), stream.read().replace(b"\0", b" ").decode(errors="replace").strip()))
        except OSError:
            pass
    return found


def lines_of(*command):
    if shutil.which(command[0]) is None:
        return []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def network_things():
    names = {f"namespace {line.split()[0]}" for line in lines_of("ip", "netns", "list") if line.strip()}
    names |= {f"interface {line.split(': ')[1]}" for line in lines_of("ip", "-o", "link") if ": " in line}
    return {name for name in names if NETWORK_NAMES.match(name.split(" ", 1)[1])}


def abstract_sockets():
    names = set()
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as stream:
        for line in stream.readlines()[1:]:
            fields = line.split()
            if len(fields) > 7 and fields[7].startswith("@") and "rondo" in fields[7].lower():
                names.add(f"abstract socket {fields[7]}")
    return names


def named_files(folder):
    """Files and sockets; directories there are those of other tests that run at the same time."""
    try:
        return {path for name in os.listdir(folder) if "rondo" in name.lower()
                and not os.path.isdir(path := os.path.join(folder, name))}
    except OSError:
        return set()


class LeakWatch:
    """with LeakWatch() as watch: run things with watch.environment. On leaving: AssertionError with what is left."""

    def __init__(self):
        self.mark = secrets.token_hex(8)
        self.folder = None
        self.environment = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="leakwatch.")
        self.environment = {**os.environ, MARK: self.mark, "TMPDIR": self.folder}
        self.network = network_things()
        self.files = named_files("/tmp") | named_files("/dev/shm")
        self.sockets = abstract_sockets()
        return self

    def left(self):
        """A line for each thing left. Processes get a moment to end."""
        deadline = time.monotonic() + PATIENCE
        while (processes := marked_processes(self.mark)) and time.monotonic() < deadline:
            time.sleep(0.02)
        # The kernel ends sockets with their processes: one that lasts is held by something that lives on.
        while (sockets := abstract_sockets() - self.sockets) and time.monotonic() < deadline:
            time.sleep(0.02)
        things = sorted(sockets)
        for pid, command in processes:
            things.append(f"process {pid}: {command}")
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        things += sorted(network_things() - self.network)
        things += sorted((named_files("/tmp") | named_files("/dev/shm")) - self.files)
        things += sorted(os.path.join(self.folder, name) for name in os.listdir(self.folder))
        return things

    def __exit__(self, kind, value, trace):
        try:
            things = self.left()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        if kind is None and things:
            raise AssertionError("left behind:\n  " + "\n  ".join(things))


PRIVATE_SHM = r'''
mount -t tmpfs tmpfs /dev/shm 2>/dev/null || exec "$@"
"$@"
status=$?
for file in /dev/shm/* /dev/shm/.[!.]*; do
    if [ -e "$file" ]; then echo "leaks.py: left behind: $file" >&2; status=99; fi
done
exit $status
'''


def with_private_shm(command):
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return command
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        return command
    return ["unshare", "--mount", "sh", "-c", PRIVATE_SHM, "sh", *command]


def run(command, timeout):
    """The command's status, 99 where it left something, 98 where it did not end in time."""
    with LeakWatch() as watch:
        process = subprocess.Popen(with_private_shm(command), env=watch.environment, start_new_session=True)
        signal.signal(signal.SIGTERM, lambda number, _: (kill_group(process), sys.exit(128 + number)))
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            print(f"leaks.py: not ended after {timeout} s: {' '.join(command)}", file=sys.stderr)
            kill_group(process)
            return 98
        except BaseException:
            kill_group(process)
            raise
    return status if status >= 0 else 128 - status


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass
    process.wait()


def main():
    parser = argparse.ArgumentParser(prog="leaks.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    try:
        return run(options.command, options.timeout)
    except AssertionError as error:
        print(f"leaks.py: {error}", file=sys.stderr)
        return 99


if __name__ == "__main__":
    sys.exit(main())
