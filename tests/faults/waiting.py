#!/usr/bin/env python3
"""What waiting costs: the processor time of ranks that wait in a call for a late one, and of ranks whose communicator is
idle. Both are promises, whatever else runs on the machine.

    waiting.py [--transport T]"""

import argparse
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from leaks import LeakWatch  # noqa: E402
from ranks import Ranks, expect_all  # noqa: E402

LATE = 5.0     # seconds that one rank is late
IDLE = 10.0    # seconds without a call
LIMIT = 0.1    # seconds of processor time in either
TICK = os.sysconf("SC_CLK_TCK")


def processor_time(rank):
    """Seconds of all threads of a rank's process, in user and system mode (proc(5), stat)."""
    with open(f"/proc/{rank.pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def measure(transport, count):
    with LeakWatch() as watch, Ranks(count, transport, watch.environment) as ranks:
        ranks.init(20)
        expect_all(ranks.ask("check"), "before")
        late, *early = list(ranks.all)
        before = [processor_time(rank) for rank in early]
        for rank in early:
            rank.tell("call", "all_reduce", "float", 1000, "sum", 0)
        time.sleep(LATE)
        waited = max(processor_time(rank) - was for rank, was in zip(early, before))
        late.tell("call", "all_reduce", "float", 1000, "sum", 0)
        expect_all(ranks.answers(20), "with a late rank")
        before = [processor_time(rank) for rank in ranks.all]
        time.sleep(IDLE)
        idle = max(processor_time(rank) - was for rank, was in zip(ranks.all, before))
        expect_all(ranks.ask("check"), "after")
        ranks.ask("destroy", limit=10)
    return waited, idle


def main():
    parser = argparse.ArgumentParser(prog="waiting.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transport", action="append", choices=["memory", "tcp"])
    bad = False
    for transport in parser.parse_args().transport or ["memory", "tcp"]:
        waited, idle = measure(transport, 4)
        good = waited <= LIMIT and idle <= LIMIT
        bad = bad or not good
        print(f"{transport}: waiting {LATE:.0f} s for a late rank costs {waited:.2f} s, {IDLE:.0f} s without a call "
              f"{idle:.2f} s (limit {LIMIT} s): {'ok' if good else 'TOO MUCH'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
