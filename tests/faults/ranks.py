"""Ranks of a fault test: processes of fault_worker, and what they answer."""

import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time

BUILD = os.environ.get("RONDO_BUILD_DIR", "build")
WORKER = os.environ.get("RONDO_TESTS_FAULT_WORKER", os.path.join(BUILD, "tests", "fault_worker"))
HOST = socket.gethostname()


class Hang(Exception):
    """A rank has not answered in time."""


class Died(Exception):
    """A rank has ended where it should not."""


class Rank:
    def __init__(self, number, environment):
        self.number = number
        self.alive = True
        self.process = subprocess.Popen([WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment, text=True, bufsize=1,
                                        start_new_session=True)
        self.pid = self.process.pid
        self.lines = queue.Queue()
        self.events = queue.Queue()
        self.log = []
        self.threads = [threading.Thread(target=self._read_answers, daemon=True),
                        threading.Thread(target=self._read_log, daemon=True)]
        for thread in self.threads:
            thread.start()

    def _read_answers(self):
        for line in self.process.stdout:
            answer = json.loads(line)
            (self.events if "event" in answer else self.lines).put(answer)
        self.lines.put(None)
        self.events.put(None)

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip())

    def tell(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Died(f"rank {self.number} (pid {self.pid}) is gone: {self.end_text()}") from error

    def end_text(self):
        status = self.process.poll()
        text = "running" if status is None else f"signal {-status}" if status < 0 else f"status {status}"
        return text + ("; its log ends: " + " | ".join(self.log[-3:]) if self.log else "")

    def _get(self, source, limit, what):
        try:
            answer = source.get(timeout=max(limit, 0.01))
        except queue.Empty as error:
            raise Hang(f"rank {self.number} (pid {self.pid}): no {what} within {limit:.1f} s") from error
        if answer is None:
            source.put(None)
            self.process.wait()
            raise Died(f"rank {self.number} (pid {self.pid}) ended before its {what}: {self.end_text()}")
        return answer

    def answer(self, limit=30):
        return self._get(self.lines, limit, "answer")

    def event(self, limit=30):
        return self._get(self.events, limit, "event")

    def ask(self, *words, limit=30):
        self.tell(*words)
        return self.answer(limit)

    def signal(self, number):
        """Sends the signal; returns when."""
        os.kill(self.pid, number)
        if number == signal.SIGKILL:
            self.alive = False
        return time.monotonic()


class Ranks:
    """All ranks of one fault. Every process is gone on leaving. `apart`: they take each other for processes of different
    hosts, and do not watch each other's pids."""

    def __init__(self, count, transport, environment, apart=False):
        self.all = [Rank(number, {**environment, "RONDO_TRANSPORT": transport,
                                  **({"RONDO_HOSTID": f"host {number}"} if apart else {})}) for number in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for rank in self.all:
            rank.process.kill()
        for rank in self.all:
            rank.process.wait()
            for thread in rank.threads:
                thread.join()
            for stream in (rank.process.stdin, rank.process.stdout, rank.process.stderr):
                try:
                    stream.close()
                except BrokenPipeError:
                    pass

    def __getitem__(self, number):
        return self.all[number]

    def __len__(self):
        return len(self.all)

    def but(self, *numbers):
        return [rank for rank in self.all if rank.number not in numbers]

    def tell(self, *words, ranks=None):
        for rank in ranks or self.all:
            rank.tell(*words)

    def answers(self, limit=30, ranks=None):
        """(rank, answer) of all, in one limit."""
        deadline = time.monotonic() + limit
        return [(rank, rank.answer(deadline - time.monotonic())) for rank in ranks or self.all]

    def answers_so_far(self, limit):
        """The same of those that answer within the limit."""
        deadline = time.monotonic() + limit
        some = []
        for rank in self.all:
            try:
                some.append((rank, rank.answer(deadline - time.monotonic())))
            except Hang:
                pass
        return some

    def ask(self, *words, limit=30, ranks=None):
        self.tell(*words, ranks=ranks)
        return self.answers(limit, ranks)

    def begin_init(self, limit, ranks=None):
        ranks = ranks or self.all
        made = ranks[0].ask("id", limit=10)
        if "id" not in made:
            raise AssertionError(f"no unique id: {made}")
        for number, rank in enumerate(ranks):
            rank.tell("init", made["id"], len(ranks), number, limit)
        return ranks

    def init(self, limit, ranks=None):
        ranks = self.begin_init(limit, ranks)
        expect_all(self.answers(limit + 10, ranks), "init")


def expect_all(answers, what):
    """Every answer is a success with right values."""
    for rank, answer in answers:
        if answer.get("result") != 0:
            raise AssertionError(f"{what}: rank {rank.number}: result {answer.get('result')}: {answer.get('text')}")
        if "wrong" in answer:
            raise AssertionError(f"{what}: rank {rank.number}: wrong value: {answer['wrong']}")
