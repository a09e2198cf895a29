#!/usr/bin/env python3
"""Faults of real processes: a rank is killed, stopped, or leaves, in every phase of its life; the others must be told who,
where and why in time, go on without it with right values, and leave nothing behind. A rank that leaves as it should harms
nobody.

    faults.py [--count N] [--seed S] [--only MODE] [--transport T] [--verbose]

Prints a line for each fault and a table of them all; fails on a hang, a name that is missing, a time over its limit, a
wrong value, something left behind."""

import argparse
import os
import random
import re
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from leaks import LeakWatch  # noqa: E402
from ranks import HOST, Died, Hang, Ranks, expect_all  # noqa: E402

TOLD_WITHIN = 2.0  # seconds from a death until every survivor has its error
INIT_LIMIT = 3.0   # given to init where a rank may never come
STOP_LIMIT = 2.0   # given to calls where a rank is stopped
SLACK = 1.5        # over a limit that the library waits for, before it counts as late
LARGE = 64 << 20
HANG = 20.0        # later than any limit: nothing comes any more


class Fault:
    """What one fault needs: its place in the plan, random numbers, and what has been seen."""

    def __init__(self, mode, transport, count, victim, seed):
        self.mode, self.transport, self.count, self.victim = mode, transport, count, victim
        self.random = random.Random(seed)
        self.seed = seed
        self.slowest = 0.0
        self.text = ""
        self.problems = []

    def name(self):
        return f"{self.mode} {self.transport} W={self.count} rank {self.victim} seed {self.seed}"

    def require(self, condition, problem):
        if not condition:
            self.problems.append(problem)

    def note_time(self, rank, seconds, limit, what):
        self.slowest = max(self.slowest, seconds)
        self.require(seconds <= limit, f"late: rank {rank.number} had its {what} after {seconds:.2f} s, "
                                       f"the limit is {limit:.2f} s")

    def require_named(self, rank, answer, patterns):
        self.text = answer.get("text", "")
        for pattern in patterns:
            self.require(re.search(pattern, self.text),
                         f"missing in the text of rank {rank.number}: /{pattern}/ in: {self.text}")


def who(victim):
    """What a text must say of a rank that died: its number, host and pid, and a cause."""
    return [rf"\brank {victim.number}\b", re.escape(HOST), rf"\b{victim.pid}\b",
            r"died|killed|signal|exited|ended|gone|closed|lost|left|vanished|destroyed"]


def check_told(fault, answers, at, victim, limit=TOLD_WITHIN, patterns=None):
    """Every survivor's answer is an error that names the victim, in time."""
    for rank, answer in answers:
        if answer.get("result", 0) == 0:
            fault.require(False, f"not told: rank {rank.number} succeeded without rank {victim.number}")
            continue
        fault.require("wrong" not in answer, f"wrong value: rank {rank.number}: {answer.get('wrong')}")
        # A call made after the death has its limit from its own begin on.
        begin = max(at, answer["t"] - answer["seconds"])
        fault.note_time(rank, answer["t"] - begin, limit, "error")
        fault.require_named(rank, answer, patterns or who(victim))


def go_on_by_shrink(ranks, fault, survivors, excluded):
    """The survivors shrink and compute on."""
    old = {rank.number: rank for rank in survivors}
    answers = ranks.ask("shrink", excluded, limit=HANG, ranks=survivors)
    for rank, answer in answers:
        if answer.get("result") != 0:
            fault.require(False, f"no shrink: rank {rank.number}: {answer.get('text')}")
            return
        expected = sorted(old).index(rank.number)
        fault.require((answer["rank"], answer["nranks"]) == (expected, len(old)),
                      f"wrong rank after shrink: {answer['rank']} of {answer['nranks']} for old rank {rank.number}")
    expect_all(ranks.ask("check", limit=HANG, ranks=survivors), "after shrink")


def go_on_by_new_id(ranks, survivors):
    ranks.init(10, survivors)
    expect_all(ranks.ask("check", limit=HANG, ranks=survivors), "after a new init")


def tidy(ranks, fault, survivors, before):
    """Destroys, and compares what each process has open with what it had before its first init."""
    expect_all(ranks.ask("destroy", limit=10, ranks=survivors), "destroy")
    for rank in survivors:
        deadline = time.monotonic() + 2
        while (left := left_open(before[rank.number], rank.ask("census", limit=5))) and time.monotonic() < deadline:
            time.sleep(0.05)
        fault.require(not left, f"left open by rank {rank.number}: {left}")
        rank.tell("quit")
    for rank in survivors:
        if rank.process.wait(10) != 0:
            fault.require(False, f"rank {rank.number} ended with {rank.end_text()}")


def left_open(before, after):
    """What a process has more of than before: descriptors, mappings of memory files, threads."""
    left = sorted(set(after["descriptors"]) - set(before["descriptors"]))
    if len(after["descriptors"]) > len(before["descriptors"]) and not left:
        left.append(f"{len(after['descriptors'])} descriptors, {len(before['descriptors'])} before")
    for what in "mappings", "threads":
        if after[what] > before[what]:
            left.append(f"{after[what]} {what}, {before[what]} before")
    return left


def census_of(ranks):
    """Taken with the library's service running: one thread and two listeners that live as long as the process."""
    ranks.ask("id")
    return {rank.number: rank.ask("census") for rank in ranks.all}


# --- The modes ----------------------------------------------------------------------------------------------------


def kill_init(ranks, fault):
    """Dies anywhere from before its hello to after the last word of init."""
    before = census_of(ranks)
    victim = ranks[fault.victim]
    survivors = ranks.but(fault.victim)
    ranks.begin_init(INIT_LIMIT)
    time.sleep(fault.random.choice([0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032]) * fault.random.random())
    at = victim.signal(signal.SIGKILL)
    answers = ranks.answers(INIT_LIMIT + HANG, survivors)
    late = [pair for pair in answers if pair[1].get("result") == 0]
    failed = [pair for pair in answers if pair[1].get("result") != 0]
    for rank, answer in failed:
        waited = answer["t"] - at
        # Before its hello the victim has no host and pid: its number is missing at the limit of the init, or of the
        # root, which holds the place where all meet, the address.
        known = [rf"missing: [-\d, ]*\b{fault.victim}\b"] if fault.victim != 0 else \
            [r"\brank\(?s?\)? [-\d, ]*0\b|\d+\.\d+\.\d+\.\d+:\d+|\[[0-9a-f:]+\]:\d+"]
        if str(victim.pid) in answer.get("text", ""):
            fault.note_time(rank, waited, TOLD_WITHIN, "error")
            known = who(victim)
        else:
            fault.note_time(rank, waited, INIT_LIMIT + SLACK, "error")
        fault.require_named(rank, answer, known)
    if late:
        # Init was over for these; their first call tells them.
        told = ranks.ask("check", limit=HANG, ranks=[rank for rank, _ in late])
        check_told(fault, told, at, victim)
    if late and not failed:
        go_on_by_shrink(ranks, fault, survivors, fault.victim)
    else:
        ranks.ask("destroy", limit=10, ranks=survivors)
        go_on_by_new_id(ranks, survivors)
    tidy(ranks, fault, survivors, before)


def begin_loop(ranks, fault, bytes_, seconds=60, limit=30.0):
    before = census_of(ranks)
    ranks.init(limit)
    ranks.tell("loop", seconds, bytes_)
    for rank in ranks.all:
        rank.event(HANG)
    time.sleep(fault.random.random() * 0.3)
    return before


def kill_operation(ranks, fault):
    """Dies inside an all-reduce of 64 MiB."""
    before = begin_loop(ranks, fault, LARGE)
    at = ranks[fault.victim].signal(signal.SIGKILL)
    survivors = ranks.but(fault.victim)
    check_told(fault, ranks.answers(HANG, survivors), at, ranks[fault.victim])
    go_on_by_shrink(ranks, fault, survivors, fault.victim)
    tidy(ranks, fault, survivors, before)


def kill_small(ranks, fault):
    """Dies inside a loop of small all-reduces."""
    before = begin_loop(ranks, fault, 64)
    at = ranks[fault.victim].signal(signal.SIGKILL)
    survivors = ranks.but(fault.victim)
    check_told(fault, ranks.answers(HANG, survivors), at, ranks[fault.victim])
    go_on_by_shrink(ranks, fault, survivors, fault.victim)
    tidy(ranks, fault, survivors, before)


def kill_idle(ranks, fault):
    """Dies while nobody is in a call; the next call of the others tells them."""
    before = census_of(ranks)
    ranks.init(30)
    expect_all(ranks.ask("check", limit=HANG), "before the fault")
    at = ranks[fault.victim].signal(signal.SIGKILL)
    time.sleep(fault.random.choice([0, 0.01, 0.5]))
    survivors = ranks.but(fault.victim)
    check_told(fault, ranks.ask("check", limit=HANG, ranks=survivors), at, ranks[fault.victim])
    go_on_by_shrink(ranks, fault, survivors, fault.victim)
    tidy(ranks, fault, survivors, before)


def kill_after_root(ranks, fault):
    """The rank at which all met leaves as it should, and its process ends or lives on. Then another dies while one waits
    for it, others for that one, or for nobody."""
    before = census_of(ranks)
    ranks.init(30)
    expect_all(ranks.ask("check", limit=HANG), "before the fault")
    root, victim = ranks[0], ranks[fault.victim]
    expect_all(ranks.ask("destroy", limit=10, ranks=[root]), "destroy of the root")
    if fault.random.choice([True, False]):
        root.tell("quit")
        root.process.wait(HANG)
        time.sleep(0.1)
    survivors = ranks.but(0, fault.victim)
    waiting = survivors[:2]
    waited_for = fault.victim
    for rank in waiting:
        rank.tell("receive", waited_for)
        waited_for = rank.number
    time.sleep(0.3)
    at = victim.signal(signal.SIGKILL)
    check_told(fault, ranks.answers(HANG, waiting), at, victim)
    time.sleep(max(0.0, at + TOLD_WITHIN - time.monotonic()))
    for rank in survivors[2:]:
        check_told(fault, [(rank, rank.ask("receive", waiting[0].number, limit=HANG))], at + TOLD_WITHIN, victim, 0.3)
    expect_all(ranks.ask("destroy", limit=10, ranks=survivors), "destroy")
    go_on_by_new_id(ranks, survivors)
    tidy(ranks, fault, survivors, before)


def kill_two(ranks, fault):
    """Two ranks die at once."""
    before = begin_loop(ranks, fault, LARGE)
    other = (fault.victim + 1) % len(ranks)
    at = ranks[fault.victim].signal(signal.SIGKILL)
    ranks[other].signal(signal.SIGKILL)
    survivors = ranks.but(fault.victim, other)
    either = [rf"\brank ({fault.victim}|{other})\b", re.escape(HOST),
              rf"\b({ranks[fault.victim].pid}|{ranks[other].pid})\b"]
    check_told(fault, ranks.answers(HANG, survivors), at, ranks[fault.victim], patterns=either)
    go_on_by_shrink(ranks, fault, survivors, f"{fault.victim},{other}")
    tidy(ranks, fault, survivors, before)


def exit_operation(ranks, fault):
    """Leaves by _exit(0) without destroy, between two calls that the others are in already."""
    before = census_of(ranks)
    ranks.init(30)
    survivors = ranks.but(fault.victim)
    ranks.tell("loop", 60, 1 << 20, ranks=survivors)
    ranks[fault.victim].tell("loop", 60, 1 << 20, fault.random.randint(2, 20))
    ranks[fault.victim].process.wait(HANG)
    at = time.monotonic()
    check_told(fault, ranks.answers(HANG, survivors), at, ranks[fault.victim])
    go_on_by_shrink(ranks, fault, survivors, fault.victim)
    tidy(ranks, fault, survivors, before)


def exit_idle(ranks, fault):
    """Returns from main, or leaves by _exit(0), without destroy, while nobody is in a call."""
    before = census_of(ranks)
    ranks.init(30)
    expect_all(ranks.ask("check", limit=HANG), "before the fault")
    ranks[fault.victim].tell(fault.random.choice(["quit", "vanish"]))
    ranks[fault.victim].process.wait(HANG)
    at = time.monotonic()
    survivors = ranks.but(fault.victim)
    check_told(fault, ranks.ask("check", limit=HANG, ranks=survivors), at, ranks[fault.victim])
    go_on_by_shrink(ranks, fault, survivors, fault.victim)
    tidy(ranks, fault, survivors, before)


def check_left(fault, rank):
    """The rank ended by itself, and had nothing to complain of."""
    rank.process.wait(HANG)
    fault.require(rank.process.returncode == 0, f"rank {rank.number} ended with {rank.end_text()}")
    answer = rank.lines.get(timeout=HANG)
    fault.require(answer is None, f"rank {rank.number} was told of: {answer and answer.get('text', answer)}")


def leave(ranks, fault):
    """No fault at all: every rank destroys and ends as soon as its own part of the last call is done. Nobody is harmed."""
    ranks.init(30)
    function = fault.random.choice(["all_reduce", "barrier", "all_gather", "broadcast", "reduce", "all_to_all"])
    expect_all(ranks.ask("check", limit=HANG), "before")
    ranks.tell("leave", function, "uint32", fault.random.choice([1, 1000, 300000]), "sum", 0)
    for rank in ranks.all:
        check_left(fault, rank)


def leave_first(ranks, fault):
    """One rank has done its part of a broadcast, as its root, and ends before the others have begun theirs."""
    ranks.init(30)
    expect_all(ranks.ask("check", limit=HANG), "before")
    call = ("leave", "broadcast", "uint32", fault.random.choice([1, 1000]), "sum", fault.victim)
    ranks[fault.victim].tell(*call)
    check_left(fault, ranks[fault.victim])
    time.sleep(fault.random.choice([0, 0.5]))
    others = ranks.but(fault.victim)
    ranks.tell(*call, ranks=others)
    for rank in others:
        check_left(fault, rank)


def stop_short(ranks, fault):
    """Stopped for a while, and continued well before the limit: nothing happens."""
    before = begin_loop(ranks, fault, fault.random.choice([64, 1 << 20]), seconds=2.5, limit=10.0)
    ranks[fault.victim].signal(signal.SIGSTOP)
    time.sleep(1.5)
    ranks[fault.victim].signal(signal.SIGCONT)
    expect_all(ranks.answers(HANG), "loop with a stop in it")
    expect_all(ranks.ask("check", limit=HANG), "after the stop")
    tidy(ranks, fault, ranks.all, before)


def stop_long(ranks, fault):
    """Stopped past the limit: the others time out by their limit and name it; the stopped one learns when it wakes."""
    before = begin_loop(ranks, fault, fault.random.choice([64, 1 << 20, LARGE]), limit=STOP_LIMIT)
    victim = ranks[fault.victim]
    survivors = ranks.but(fault.victim)
    at = victim.signal(signal.SIGSTOP)
    answers = ranks.answers(HANG, survivors)
    missing = [rf"\brank\(?s?\)? [-\d, ]*{fault.victim}\b|missing: [-\d, ]*{fault.victim}\b",
               rf"{re.escape(HOST)}", rf"\b{victim.pid}\b"]
    check_told(fault, answers, at, victim, limit=STOP_LIMIT + SLACK, patterns=missing)
    for rank, answer in answers:
        fault.require(answer["t"] - at >= STOP_LIMIT * 0.5, f"early: rank {rank.number} gave up a stopped rank after "
                                                            f"{answer['t'] - at:.2f} s of {STOP_LIMIT} s")
    go_on_by_shrink(ranks, fault, survivors, fault.victim)
    woken = victim.signal(signal.SIGCONT)
    answer = victim.answer(HANG)
    fault.require(answer.get("result", 0) != 0, "the stopped rank was not told after it woke")
    fault.note_time(victim, answer["t"] - woken, STOP_LIMIT + SLACK, "error after it woke")
    tidy(ranks, fault, ranks.all, before)


MODES = {"kill_init": (kill_init, (2, 3, 5)), "kill_operation": (kill_operation, (2, 3, 5)),
         "kill_idle": (kill_idle, (2, 3, 5)), "kill_after_root": (kill_after_root, (3, 5)), "kill_small": (kill_small, (2, 3, 5)), "kill_two": (kill_two, (3, 5)),
         "exit_operation": (exit_operation, (2, 3, 5)), "exit_idle": (exit_idle, (2, 3, 5)),
         "leave": (leave, (2, 3, 5, 8)),
         "leave_first": (leave_first, (2, 3, 5)), "stop_short": (stop_short, (2, 3)), "stop_long": (stop_long, (2, 3, 5))}
# How often each mode comes in a round; killing is what the limits are about.
WEIGHTS = {"leave": 2, "kill_init": 4, "kill_operation": 4, "kill_idle": 3, "kill_small": 2, "stop_long": 2}


def plan_of(count, seed, only, transports):
    """`count` faults: every mode, transport, size and victim comes by before any comes again, in an order by the seed."""
    chooser = random.Random(seed)
    cells = {}
    for mode, (_, sizes) in MODES.items():
        if only and mode not in only:
            continue
        places = [(mode, transport, size, victim) for transport in transports for size in sizes
                  for victim in range(1 if mode == "kill_after_root" else 0, size)]
        chooser.shuffle(places)
        cells[mode] = places
    faults = []
    while len(faults) < count:
        for mode, places in cells.items():
            for _ in range(WEIGHTS.get(mode, 1)):
                places.append(places.pop(0))
                faults.append(Fault(*places[-1], chooser.randrange(1 << 30)))
    return faults[:count]


def run_fault(fault):
    try:
        with LeakWatch() as watch:
            apart = fault.transport == "tcp" and fault.random.choice([True, False])
            with Ranks(fault.count, fault.transport, watch.environment, apart) as ranks:
                MODES[fault.mode][0](ranks, fault)
    except Hang as hang:
        fault.problems.append(f"hang: {hang}")
    except Died as died:
        fault.problems.append(f"died: {died}")
    except AssertionError as error:
        fault.problems.append(str(error))
    return fault


def print_table(faults):
    print(f"\n{'mode':16} {'transport':9} {'faults':>6} {'ok':>5} {'slowest':>9}")
    for mode in MODES:
        for transport in sorted({fault.transport for fault in faults}):
            some = [fault for fault in faults if (fault.mode, fault.transport) == (mode, transport)]
            if some:
                print(f"{mode:16} {transport:9} {len(some):6} {sum(not fault.problems for fault in some):5} "
                      f"{max(fault.slowest for fault in some):7.2f} s")
    bad = sum(bool(fault.problems) for fault in faults)
    print(f"{len(faults)} faults, {len(faults) - bad} as they must be, {bad} not")


def main():
    parser = argparse.ArgumentParser(prog="faults.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("RONDO_TESTS_SEED", "1")))
    parser.add_argument("--only", action="append", choices=sorted(MODES))
    parser.add_argument("--transport", action="append", choices=["memory", "tcp"])
    parser.add_argument("--verbose", action="store_true", help="print the texts that survivors get")
    options = parser.parse_args()
    print(f"{options.count} faults, seed {options.seed}")
    faults = plan_of(options.count, options.seed, options.only, options.transport or ["memory", "tcp"])
    for number, fault in enumerate(faults, 1):
        began = time.monotonic()
        run_fault(fault)
        state = "ok" if not fault.problems else "NOT AS IT MUST BE"
        print(f"{number:4} {fault.name()}: {state}, told after {fault.slowest:.2f} s, "
              f"{time.monotonic() - began:.1f} s in all", flush=True)
        for problem in fault.problems:
            print(f"     {problem}", flush=True)
        if options.verbose and fault.text:
            print(f"     text: {fault.text}", flush=True)
    print_table(faults)
    return 1 if any(fault.problems for fault in faults) else 0


if __name__ == "__main__":
    sys.exit(main())
