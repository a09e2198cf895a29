#!/usr/bin/env python3
"""Calls on which processes disagree: each field of a call in turn differs on one rank. Every rank still inside gets an
error in that call, one that has left gets it in its next; the text has both calls and the field. And no false alarm in
many legal calls drawn at random.

    mismatch.py [--legal N] [--transport T]"""

import argparse
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from leaks import LeakWatch  # noqa: E402
from ranks import Died, Hang, Ranks, expect_all  # noqa: E402

TOLD_WITHIN = 2.0
INSIDE = 1.0  # seconds after which ranks that have left a call go on to their next
INVALID_USAGE = 5
# field: (what all call, what one calls, how a text names the two)
FIELDS = {
    "operation": (("all_reduce", "float", 100, "sum", 0), ("broadcast", "float", 100, "sum", 0),
                  "all_reduce(sum, float, count 100)", "broadcast(float, count 100, root 0)"),
    "type": (("all_reduce", "float", 100, "sum", 0), ("all_reduce", "int32", 100, "sum", 0),
             "all_reduce(sum, float, count 100)", "all_reduce(sum, int32, count 100)"),
    "count": (("all_reduce", "float", 100, "sum", 0), ("all_reduce", "float", 101, "sum", 0),
              "all_reduce(sum, float, count 100)", "all_reduce(sum, float, count 101)"),
    "count of another size class": (("all_reduce", "float", 100, "sum", 0), ("all_reduce", "float", 1000000, "sum", 0),
                                    "all_reduce(sum, float, count 100)", "all_reduce(sum, float, count 1000000)"),
    "count of an all-gather": (("all_gather", "float", 300, "sum", 0), ("all_gather", "float", 20, "sum", 0),
                               "all_gather(float, count 300)", "all_gather(float, count 20)"),
    "reduction": (("reduce_scatter", "float", 500, "sum", 0), ("reduce_scatter", "float", 500, "max", 0),
                  "reduce_scatter(sum, float, count 500)", "reduce_scatter(max, float, count 500)"),
    "root": (("reduce", "float", 5000, "sum", 0), ("reduce", "float", 5000, "sum", 1),
             "reduce(sum, float, count 5000, root 0)", "reduce(sum, float, count 5000, root 1)"),
    "root of a broadcast": (("broadcast", "float", 9, "sum", 0), ("broadcast", "float", 9, "sum", 1),
                            "broadcast(float, count 9, root 0)", "broadcast(float, count 9, root 1)"),
    "barrier": (("barrier", "float", 0, "sum", 0), ("all_reduce", "float", 1, "sum", 0),
                "barrier()", "all_reduce(sum, float, count 1)"),
}
A = ("all_reduce", "float", 10, "sum", 0)
B = ("all_gather", "float", 10, "sum", 0)
BARRIER = ("barrier", "float", 0, "sum", 0)


def run_case(field, transport, count, odd):
    """The problems of one case."""
    problems = []
    with LeakWatch() as watch, Ranks(count, transport, watch.environment) as ranks:
        ranks.init(20)
        expect_all(ranks.ask("check"), "before")
        began = time.monotonic()
        if field == "order":
            usual, other, names = A, B, ["all_reduce(sum, float, count 10)", "all_gather(float, count 10)"]
        else:
            usual, other, *names = FIELDS[field]
        for rank in ranks.all:
            rank.tell("call", *(other if rank.number == odd else usual))
        answers = dict(ranks.answers_so_far(INSIDE))
        if field == "order":
            # The same two calls, the other way round.
            for rank in [rank for rank, answer in answers.items() if answer["result"] == 0]:
                began = time.monotonic()
                answers[rank] = rank.ask("call", *(usual if rank.number == odd else other), limit=20)
        # Who needed nothing of the others has left by now, and learns in its next call. Then at the latest all others do.
        left = [rank for rank, answer in answers.items() if answer["result"] == 0]
        if left:
            began = time.monotonic()
            answers.update(ranks.ask("call", *BARRIER, limit=20, ranks=left))
        inside = [rank for rank in ranks.all if rank not in answers]
        answers.update(ranks.answers(20, inside) if inside else [])
        for rank, answer in answers.items():
            text = answer.get("text", "")
            if answer["result"] != INVALID_USAGE:
                problems.append(f"rank {rank.number}: result {answer['result']}: {text}")
                continue
            word = "operation" if field in ("order", "barrier") else field.split()[0]
            for part in [f"rank {odd}", *names]:
                if part not in text:
                    problems.append(f"rank {rank.number}: no '{part}' in: {text}")
            if not re.search(rf"differ in: [a-z, ]*{word}", text):
                problems.append(f"rank {rank.number}: the field '{word}' is not named in: {text}")
            if answer["t"] - began > TOLD_WITHIN:
                problems.append(f"rank {rank.number}: told after {answer['t'] - began:.2f} s")
        ranks.ask("destroy", limit=10)
        # The processes are as good as before.
        ranks.init(20)
        expect_all(ranks.ask("check"), "in a new communicator")
        ranks.ask("destroy", limit=10)
    return problems


def run_legal(transport, count, calls, seed):
    with LeakWatch() as watch, Ranks(count, transport, watch.environment) as ranks:
        ranks.init(60)
        began = time.monotonic()
        expect_all(ranks.ask("mixed", seed, calls, limit=60 + calls / 500), "mixed calls")
        return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(prog="mismatch.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--legal", type=int, default=20000, help="legal calls, over both transports")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("RONDO_TESTS_SEED", "1")))
    parser.add_argument("--transport", action="append", choices=["memory", "tcp"])
    options = parser.parse_args()
    transports = options.transport or ["memory", "tcp"]
    bad = 0
    for field in [*FIELDS, "order"]:
        for transport in transports:
            for count, odd in ((2, 0), (2, 1), (3, 1), (4, 3)):
                try:
                    problems = run_case(field, transport, count, odd)
                except (Hang, Died, AssertionError) as error:
                    problems = [f"{type(error).__name__}: {error}"]
                bad += bool(problems)
                print(f"{field}, {transport}, W={count}, rank {odd}: {'ok' if not problems else 'NOT AS IT MUST BE'}",
                      flush=True)
                for problem in problems:
                    print(f"     {problem}", flush=True)
    for transport in transports:
        for count in 2, 3:
            calls = options.legal // (2 * len(transports))
            try:
                seconds = run_legal(transport, count, calls, options.seed)
                print(f"{calls} legal calls, {transport}, W={count}: ok, {seconds:.1f} s", flush=True)
            except (Hang, Died, AssertionError) as error:
                bad += 1
                print(f"{calls} legal calls, {transport}, W={count}: NOT AS IT MUST BE\n     {error}", flush=True)
    print(f"{bad} not as they must be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
