#!/usr/bin/env python3
"""A plain TCP program for tests/netns/run itself: rank 0 listens at RONDO_COMM_ID, every other rank sends it a line and
gets its number back, `--seconds` long ten times a second. Prints what happens; a silence of a second is an error."""

import os
import socket
import sys
import threading
import time

RANK = int(os.environ["RONDO_RANK"])
NRANKS = int(os.environ["RONDO_NRANKS"])
HOST, PORT = os.environ["RONDO_COMM_ID"].rsplit(":", 1)
ADDRESS = (HOST.strip("[]"), int(PORT))
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5


def serve(connection):
    with connection:
        while data := connection.recv(64):
            connection.sendall(data)


def root():
    family = socket.AF_INET6 if ":" in ADDRESS[0] else socket.AF_INET
    with socket.create_server(ADDRESS, family=family) as listener:
        listener.settimeout(10)
        threads = []
        for _ in range(NRANKS - 1):
            connection, peer = listener.accept()
            connection.settimeout(SECONDS + 0.5)
            print(f"from {peer[0]}", flush=True)
            threads.append(threading.Thread(target=serve, args=(connection,)))
            threads[-1].start()
        for thread in threads:
            thread.join()


def leaf():
    for attempt in range(100):
        try:
            connection = socket.create_connection(ADDRESS, timeout=1)
            break
        except OSError:
            if attempt == 99:
                raise
            time.sleep(0.05)
    with connection:
        connection.settimeout(1)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            message = b"%d" % RANK
            connection.sendall(message)
            if connection.recv(64) != message:
                raise OSError("another message came back")
            time.sleep(0.1)
    print(f"rank {RANK} on {socket.gethostname()} id {os.environ['RONDO_HOSTID'].split('-')[0]} is done", flush=True)


try:
    root() if RANK == 0 else leaf()
except OSError as error:
    print(f"rank {RANK} on {socket.gethostname()}: {error!r} at {time.monotonic():.3f} s", flush=True)
    sys.exit(1)
