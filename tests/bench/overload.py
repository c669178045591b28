#!/usr/bin/env python3
"""What zarrd does at many times what it can do: tests/bench/overload.py [--factor 10] [--seconds 20] [BINARY]

First small requests alone; then as many large ones as it can answer (the peak); then many times that, whether they are
answered or not, with small ones beside them, from a process of their own. Large ones decode 64 chunks that nobody else wants
at that time. Prints ratios of one run, and fails when one of them falls short: goodput to the peak, the small ones' 99th
percentile to what it was before, and how soon those are told who are refused at once.
"""

import argparse
import collections
import contextlib
import gzip
import json
import multiprocessing
import pathlib
import queue
import random
import selectors
import socket
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from live import Server  # noqa: E402
from proc import Group, allow_many_files, cores, pinned  # noqa: E402

TIMES, WIDTH, RUN = 4096, 256, 64
STEP = 16
SMALL = [b"/zarr/work/zarr.json", b"/v1/datasets/work/slices/?slice=0,0,0", b"/v1/datasets/work/nodes/", b"/zarr/work/absent"]
SMALL_A_SECOND = 100
CLOSED_N = 32
GOODPUT_LEAST, SMALL_MOST, REFUSED_MOST_S = 0.9, 5, 0.005
WARM_UP_SHARE = 0.2  # of a phase: not counted


def make(folder):
    """One array in gzip chunks: they take longer to decode than to send."""
    folder.mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [TIMES, WIDTH, WIDTH], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, WIDTH, WIDTH]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]}))
    body = gzip.compress(b"".join(random.Random(1).randrange(1 << 12).to_bytes(4, "little") for _ in range(WIDTH * WIDTH)), 1)
    for i in range(TIMES):
        chunk = folder / f"c/{i}/0"
        chunk.mkdir(parents=True)
        if i == 0:
            (chunk / "0").write_bytes(body)
        else:
            (chunk / "0").hardlink_to(folder / "c/0/0/0")


def large_target(n):
    first = n * RUN % TIMES
    return b"/v1/datasets/work/slices/?slice=%d:%d,::%d,::%d" % (first, first + RUN, STEP, STEP)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def read_answer(s):
    """Status of one answer on a blocking socket, all of it read."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = s.recv(65536)
        if not piece:
            raise ConnectionError("the server hung up")
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    left = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]) - len(body)
    while left > 0:
        piece = s.recv(left)
        if not piece:
            raise ConnectionError("the server hung up")
        left -= len(piece)
    return int(head.split()[1])


def probe(port, seconds, answers):
    """Small requests at a steady rate, one after the other; their times."""
    times = []
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        for n in range(int(seconds * SMALL_A_SECOND)):
            time.sleep(max(0.0, began + n / SMALL_A_SECOND - time.perf_counter()))
            sent = time.perf_counter()
            s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % SMALL[n % len(SMALL)])
            status = read_answer(s)
            assert status in (200, 404), status
            times.append(time.perf_counter() - sent)
    answers.put(times[int(len(times) * WARM_UP_SHARE):])


class Probe:
    """`with Probe(port, seconds) as probe: ...` then probe.times."""

    def __init__(self, port, seconds):
        self.answers = multiprocessing.Queue()
        self.process = multiprocessing.Process(target=probe, args=(port, seconds, self.answers))

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.times = None
        while self.times is None:
            is_over = not self.process.is_alive()  # what it has put is there then
            with contextlib.suppress(queue.Empty):
                self.times = self.answers.get(timeout=1)
            if self.times is None and is_over:
                raise RuntimeError(f"the small requests failed: exit status {self.process.exitcode}")
        self.process.join()


class Connection:
    __slots__ = ("socket", "sent", "left", "status")


class Load:
    """Large requests over as many connections as it takes."""

    def __init__(self, server):
        self.port = server.port
        self.group = Group(server.process.pid)
        self.selector = selectors.EpollSelector()
        self.idle = collections.deque()
        self.n_sent = self.n_waiting = 0
        self.answers = []  # (when, status, seconds)
        self.buffer = bytearray(1 << 20)

    def send(self):
        if self.idle:
            connection = self.idle.pop()
        else:
            connection = Connection()
            connection.socket = socket.create_connection(("127.0.0.1", self.port))
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.socket.setblocking(False)
            self.selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.status, connection.left = 0, 0
        connection.sent = time.perf_counter()
        connection.socket.send(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % large_target(self.n_sent))
        self.n_sent += 1
        self.n_waiting += 1

    def receive(self, timeout):
        for key, _ in self.selector.select(timeout):
            connection = key.data
            n = connection.socket.recv_into(self.buffer)
            if n == 0:
                raise ConnectionError("the server hung up")
            if connection.status == 0:
                end = self.buffer.find(b"\r\n\r\n", 0, n)  # a head comes in one piece: it is sent in one
                head = bytes(self.buffer[:end]).lower()
                connection.status = int(head[9:12])
                connection.left = int(head.split(b"content-length:")[1].split(b"\r\n")[0]) + end + 4
            connection.left -= n
            if connection.left == 0:
                now = time.perf_counter()
                self.answers.append((now, connection.status, now - connection.sent))
                self.n_waiting -= 1
                self.idle.append(connection)

    def begin(self):
        self.answers = []
        self.cpu_us = self.group.cpu_us()

    def closed(self, n, seconds):
        """So many at a time. Answers a second."""
        self.begin()
        end = (began := time.perf_counter()) + seconds
        while time.perf_counter() < end:
            while self.n_waiting < n:
                self.send()
            self.receive(0.1)
        return self.rate(began, end)

    def open(self, rate, seconds):
        """So many a second, whatever is answered. Answers of status 200 a second."""
        self.begin()
        n = 0
        end = (began := time.perf_counter()) + seconds
        while (now := time.perf_counter()) < end:
            burst = 0
            while n < (now - began) * rate and burst < 8:
                self.send()
                n += 1
                burst += 1
            self.receive(0 if burst == 8 else 0.001)
        self.offered = n / seconds
        return self.rate(began, end)

    def rate(self, began, end):
        served = sum(status == 200 for _, status, _ in self.answers)
        self.served_cpu = served / (self.group.cpu_us() - self.cpu_us)
        counted = began + (end - began) * WARM_UP_SHARE
        self.answers = [answer for answer in self.answers if counted <= answer[0] <= end]
        return sum(status == 200 for _, status, _ in self.answers) / (end - counted)

    def drain(self):
        while self.n_waiting:
            self.receive(1)


def shed(server):
    text = server.get("/metrics").body.decode()
    return {line.split('reason="')[1].split('"')[0]: int(line.split()[-1])
            for line in text.splitlines() if line.startswith('zarrd_requests_shed_total{lane="large"')}


def measure(server, options):
    load = Load(server)
    server.get(SMALL[1].decode())
    with Probe(server.port, options.seconds / 2) as quiet:
        pass
    with Probe(server.port, options.seconds / 2) as busy:
        peak = load.closed(CLOSED_N, options.seconds / 2)
    load.drain()
    peak_cpu = load.served_cpu
    with Probe(server.port, options.seconds) as loud:
        goodput = load.open(options.factor * peak, options.seconds)
    load.drain()
    reasons = shed(server)
    wait_s = float(options.wait_ms) / 1000
    refused = [seconds for _, status, seconds in load.answers if status == 503 and seconds < wait_s * 0.9]
    served = [seconds for _, status, seconds in load.answers if status == 200]
    quiet_s, busy_s, loud_s = (percentile(one.times, 0.99) for one in (quiet, busy, loud))
    print(f"offered               {load.offered / peak:8.2f} of the peak")
    print(f"goodput               {goodput / peak:8.2f} of the peak (at least {GOODPUT_LEAST}); {load.served_cpu / peak_cpu:.2f} of it by CPU time of the server")
    print(f"small p99, at peak    {busy_s / quiet_s:8.2f} of alone")
    print(f"small p99, overloaded {loud_s / quiet_s:8.2f} of alone (at most {SMALL_MOST})")
    print(f"refused at once: p50  {percentile(refused, 0.5) * 1e3:8.2f} ms, p99 {percentile(refused, 0.99) * 1e3:.2f} ms,"
          f" {100 * sum(s <= REFUSED_MOST_S for s in refused) / max(1, len(refused)):.1f} % within {REFUSED_MOST_S * 1e3:g} ms")
    print(f"served: p50           {percentile(served, 0.5) * 1e3:8.0f} ms; refused in all {reasons}")
    if options.verbose:
        print(f"peak {peak:.0f}/s, small p99 alone {quiet_s * 1e6:.0f} us, p50 {percentile(quiet.times, 0.5) * 1e6:.0f} us, "
              f"at the peak {busy_s * 1e6:.0f} us, overloaded {loud_s * 1e6:.0f} us, p50 {percentile(loud.times, 0.5) * 1e6:.0f} us")
    return goodput >= GOODPUT_LEAST * peak and loud_s <= SMALL_MOST * quiet_s and percentile(refused, 0.99) <= REFUSED_MOST_S


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", type=pathlib.Path, default=ROOT / "build/bench/zarrd")
    parser.add_argument("--factor", type=float, default=10, help="times the peak")
    parser.add_argument("--seconds", type=float, default=20, help="of the overload")
    parser.add_argument("--wait-ms", default="5000", help="admission.wait_ms")
    parser.add_argument("--set", action="append", default=[], help="further settings of the server")
    parser.add_argument("--free", action="store_true", help="do not pin server and client to cores of their own")
    parser.add_argument("--verbose", action="store_true", help="times too")
    options = parser.parse_args()
    allow_many_files()
    server_core, client_core = (None, None) if options.free else cores()
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder) / "work")
        settings = ["log.requests=false", "cache.decoded_bytes=0", f"admission.wait_ms={options.wait_ms}", *options.set]
        with pinned(server_core):
            server = Server(f"work={folder}/work", *[part for one in settings for part in ("--set", one)],
                            binary=options.binary)
        try:
            with pinned(client_core):
                reached = measure(server, options)
            print(f"  longest turn of the loop {1000 * server.metrics()['zarrd_loop_stall_longest_seconds']:.1f} ms")
        finally:
            server.stop()
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
