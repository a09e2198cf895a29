#!/usr/bin/env python3
"""The rooms depend downwards only, files stay short, and the text speaks of this repository alone."""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("RONDO_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))

# A room may include itself and rooms of lower levels.
LEVEL = {
    "base": 0,
    "graph": 1, "reduce": 1, "bootstrap": 1,
    "plan": 2, "transport": 2,
    "host": 3, "device": 3, "sim": 3,
    "comm": 4,
    "api": 5,
}  # fmt: skip
PUBLIC_HEADER_USERS = {"api", "comm"}
# Helpers without state that the perf-tests share with the library.
PERF_MAY_INCLUDE = {"base/cpus.hpp", "base/deadline.hpp", "base/error.hpp", "base/parse.hpp", "base/slurm.hpp",
                    "base/types.hpp"}
SOCKET_HEADERS = re.compile(r"(sys/socket|sys/un|netinet/.*|arpa/inet|netdb|ifaddrs|sys/epoll|infiniband/.*)\.h$|netdb\.h$")
SPDLOG_USER = "src/base/log.cpp"
MOST_LINES = 500
LONG_FOLDERS = ("src", "include", "perf-tests", "tools", "tests", "python", "scripts", "cmake")
CODE = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".py", ".sh", ".cmake", ".in"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

faults = []


def fault(path, line, text):
    faults.append(f"{path.relative_to(SOURCE)}:{line}: {text}")


def files(folder, suffixes=None):
    for path in sorted((SOURCE / folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and (suffixes is None or path.suffix in suffixes):
            yield path


def includes(path):
    text = path.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(2)) + 1, match.group(1), match.group(2)


def check_room_include(path, line, room, name):
    target = name.split("/")[0]
    if target == "rondo":
        if room not in PUBLIC_HEADER_USERS:
            fault(path, line, f"{room} includes the public header {name}; only {sorted(PUBLIC_HEADER_USERS)} may")
    elif target not in LEVEL:
        fault(path, line, f'"{name}" names no room; write the path relative to src/')
    elif target != room and LEVEL[target] >= LEVEL[room]:
        fault(path, line, f"{room} (level {LEVEL[room]}) includes {target} (level {LEVEL[target]}): only lower levels")
    if target != "rondo" and not (SOURCE / "src" / name).is_file():
        fault(path, line, f'"{name}" does not exist in src/')


def check_rooms():
    seen = 0
    for path in files("src", CODE):
        parts = path.relative_to(SOURCE / "src").parts
        if len(parts) == 1:
            continue
        room = parts[0]
        if room not in LEVEL:
            fault(path, 1, f"src/{room} is no known room")
            continue
        for line, kind, name in includes(path):
            seen += 1
            if kind == '"':
                check_room_include(path, line, room, name)
            elif name.split("/")[0] in LEVEL:
                fault(path, line, f"<{name}>: rooms are included with quotes")
            if room == "sim" and SOCKET_HEADERS.search(name):
                fault(path, line, f"the simulator includes {name}, and must not know sockets")
            if name.startswith("spdlog/") and str(path.relative_to(SOURCE)) != SPDLOG_USER:
                fault(path, line, f"spdlog is private to {SPDLOG_USER}")
    return seen


def check_outside_users():
    for path in files("include", CODE):
        for line, kind, name in includes(path):
            if kind == '"' and not name.startswith("rondo/"):
                fault(path, line, f'the public header includes "{name}"')
    for path in files("perf-tests", CODE):
        if path.relative_to(SOURCE / "perf-tests").parts[0] == "micro":
            continue
        for line, kind, name in includes(path):
            if kind == '"' and not name.startswith(("driver/", "rondo/")) and name not in PERF_MAY_INCLUDE:
                fault(path, line, f'"{name}": perf-tests see the public interface, driver/ and {sorted(PERF_MAY_INCLUDE)}')


def text_files():
    for folder in LONG_FOLDERS + ("docs", ".ci"):
        yield from files(folder)
    for path in sorted(SOURCE.iterdir()):
        if path.is_file() and path.name != "LICENSE":
            yield path


def check_length():
    for folder in LONG_FOLDERS:
        for path in files(folder):
            if path.suffix in CODE or folder == "scripts":
                lines = path.read_text(encoding="utf-8").count("\n")
                if lines > MOST_LINES:
                    fault(path, lines, f"{lines} lines; a file has at most {MOST_LINES}")


# Text that only makes sense on somebody's machine or desk. The patterns are split so that they do not match themselves.
PLACES = re.compile(r"(?<![\w.}/])/(?:wo" + r"rk|ho" + r"me|ro" + r"ot|Us" + r"ers)/|\.\./sha" + r"red\b")
TICKETS = re.compile(r"(?<!GCC )\b(?:iss" + r"ue|tic" + r"ket)s?[ /#]+\d+", re.IGNORECASE)
LEFTOVERS = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
DOCUMENT = re.compile(r"(?<![\w./-])(?:[\w.-]+/)*[\w-]+\.md\b")

# Cited documents of other projects (nccl-tests).
FOREIGN_DOCUMENTS = {"doc/PERFORMANCE.md"}


def check_words():
    for path in text_files():
        if path.suffix in {".png", ".svg", ".pyc"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for pattern, what in ((PLACES, "a private path"), (TICKETS, "a ticket"), (LEFTOVERS, "unfinished work")):
                if found := pattern.search(line):
                    fault(path, number, f"'{found.group()}' is {what}")
            for name in DOCUMENT.findall(line):
                if name not in FOREIGN_DOCUMENTS and not any((base / name).is_file() for base in (SOURCE, path.parent, SOURCE / "docs")):
                    fault(path, number, f"{name} does not exist in this repository")


def main():
    seen = check_rooms()
    check_outside_users()
    check_length()
    check_words()
    for text in faults:
        print(text)
    print(f"{seen} includes of src/ checked, {len(faults)} faults")
    # A run that saw nothing has looked in the wrong place.
    return 1 if faults or seen < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
