#!/usr/bin/env python3
"""What a rolling restart loses: tests/bench/rolling.py [--restarts 20] [--rate 1000] [BINARY]

Three zarrd behind haproxy (deploy/proxy/haproxy.cfg, without TLS) are restarted one after the other, while clients ask at a rate that
does not wait for answers. Half of the answers are large and read slowly, from sockets with small buffers, so that zarrd itself has to
wait; every byte of every answer is compared. Prints what failed and what was cut, as clients and as the servers' last lines say; both must
be 0. Exit status 1 otherwise.
"""

import argparse
import asyncio
import collections
import json
import multiprocessing
import pathlib
import random
import re
import signal
import socket
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from balancers import Balancer, free_port, program  # noqa: E402
from client import wait_until  # noqa: E402
from live import Server  # noqa: E402

CHUNK_BYTES, N_CHUNKS = 64 << 10, 64
SMALL_BYTES = 1 << 10
BUFFER_BYTES = 8 << 10  # of a client's socket
N_REPLICAS = 3
TICK_S = 0.01
PATIENCE_S = 120  # with one answer
# Whoever does not read fills these, and no more than these.
SMALL_BUFFERS = {"global\n": "global\n    tune.sndbuf.client 16384\n    tune.rcvbuf.server 16384\n",
                 "timeout connect 2s": "timeout connect 2s\n    option dontlog-normal"}


def make(folder):
    """One array of bytes; they are returned."""
    folder.mkdir()
    data = random.Random(1).randbytes(CHUNK_BYTES * N_CHUNKS)
    (folder / "c").mkdir()
    for i in range(N_CHUNKS):
        (folder / "c" / str(i)).write_bytes(data[i * CHUNK_BYTES:(i + 1) * CHUNK_BYTES])
    (folder / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [len(data)], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK_BYTES]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}))
    return data


class Connection(asyncio.Protocol):
    """A keep-alive connection of a client: one request at a time."""

    def __init__(self, load):
        self.load = load
        self.request = None

    def connection_made(self, transport):
        self.transport = transport

    def ask(self, first, length, seconds):
        loop = asyncio.get_running_loop()
        self.request = (first, length, seconds, loop.time())
        self.received = bytearray()
        self.body_from = None
        self.timer = loop.call_later(PATIENCE_S, self.end, "late")
        # Arrays have a path each, so that every replica has some; a dataset by many names would do as well.
        target = f"/v1/datasets/w{first // CHUNK_BYTES % 16}/slices/?slice={first}:{first + length}"
        self.transport.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def data_received(self, part):
        if self.request is None:
            return
        self.received += part
        if self.body_from is None:
            at = self.received.find(b"\r\n\r\n")
            if at < 0:
                return
            if not self.received.startswith(b"HTTP/1.1 200"):
                self.end("status " + self.received[9:12].decode(errors="replace"))
                return
            self.body_from = at + 4
        first, length, seconds, began = self.request
        n = len(self.received) - self.body_from
        if n >= length:
            self.end("good" if self.received[self.body_from:] == self.load.data[first:first + length] else "wrong bytes")
            return
        loop = asyncio.get_running_loop()
        ahead = began + seconds * n / length - loop.time()
        if ahead > 0:
            self.transport.pause_reading()
            loop.call_later(ahead, self.go_on)

    def go_on(self):
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def end(self, outcome):
        self.load.outcomes[outcome] += 1
        self.load.n_under_way -= 1
        self.timer.cancel()
        self.request = None
        if outcome == "good":
            self.load.spare.append(self)
        else:
            self.transport.abort()

    def connection_lost(self, error):
        if self in self.load.spare:
            self.load.spare.remove(self)
        if self.request is not None:
            self.end("no answer" if not self.received else "cut")


class Load:
    """What one process asks for, so many times a second, until it is told to stop."""

    def __init__(self, data, port, options, seed):
        self.data, self.port, self.options = data, port, options
        self.random = random.Random(seed)
        self.outcomes = collections.Counter()
        self.spare = collections.deque()
        self.n_under_way = 0

    async def ask(self):
        is_large = self.random.random() < self.options.large_share
        length = self.options.large_bytes if is_large else SMALL_BYTES
        first = self.random.randrange(len(self.data) - length)
        self.n_under_way += 1
        try:
            connection = self.spare.pop() if self.spare else await self.connect()
        except OSError as error:
            self.outcomes[f"not connected: {error.strerror}"] += 1
            self.n_under_way -= 1
            return
        connection.ask(first, length, self.options.slow_s if is_large else 0)

    async def connect(self):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        one.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(one, ("127.0.0.1", self.port))
        return (await loop.create_connection(lambda: Connection(self), sock=one))[1]

    async def run(self, is_over, rate):
        began = time.monotonic()
        n_asked = 0
        tasks = set()
        while not is_over.is_set():
            n_due = int((time.monotonic() - began) * rate) - n_asked
            for _ in range(min(n_due, int(rate * TICK_S * 10) + 1)):
                task = asyncio.ensure_future(self.ask())
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            n_asked += n_due
            await asyncio.sleep(TICK_S)
        seconds = time.monotonic() - began
        while self.n_under_way > 0:
            await asyncio.sleep(TICK_S)
        return dict(self.outcomes), seconds


def load(data, port, options, seed, is_over, results):
    results.put(asyncio.run(Load(data, port, options, seed).run(is_over, options.rate / options.processes)))


class Replica:
    """A zarrd that comes again at the same port."""

    def __init__(self, store, options):
        self.port = free_port()
        names = [f"w{i}={store}" for i in range(16)]
        self.arguments = [*names, "--listen", f"127.0.0.1:{self.port}", "--set", f"http.drain_lag_ms={options.lag_ms}",
                          "--set", "http.drain_ms=600000", "--set", f"http.stream_bytes={CHUNK_BYTES}", "--set", "log.level=info",
                          "--set", "log.requests=false", "--set", "http.trusted_proxies=127.0.0.1"]
        self.start(options)

    def start(self, options):
        more = {} if options.binary is None else {"binary": options.binary}
        self.server = Server(*self.arguments, **more)

    def restart(self, options):
        """What its last line says: (answers finished, cut)."""
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait()
        found = re.search(r"stopped: (\d+) answers finished, (\d+) cut", self.server.log)
        self.server.stop()
        self.start(options)
        return int(found[1]), int(found[2])


def restart_all(replicas, balancer, options):
    """So many restarts, one after the other: how many answers they finished and cut."""
    finished = cut = 0
    for i in range(options.restarts):
        number = i % N_REPLICAS
        up = f"zarrd{number + 1} is UP"
        n_up = balancer.log.count(up)
        n_finished, n_cut = replicas[number].restart(options)
        finished, cut = finished + n_finished, cut + n_cut
        if f"zarrd{number + 1} is DOWN" in balancer.log:  # noticed during the lag, or not at all
            wait_until(lambda up=up, n_up=n_up: balancer.log.count(up) > n_up or balancer.log.count(up) >= balancer.log.count(up.replace("UP", "DOWN")))
    return finished, cut


def measure(folder, options):
    """{outcome: how many}, requests a second, and what the servers finished and cut while they stopped."""
    data = make(folder / "store")
    replicas = [Replica(folder / "store", options) for _ in range(N_REPLICAS)]
    plain = {f" ssl crt {folder}/balancer/zarrd.pem alpn h2,http/1.1": "", "    http-request redirect scheme https code 308 unless { ssl_fc }\n": "",
             "    maxconn 2000\n": "    maxconn 9000\n", "timeout check 2s": "timeout check 60s", "inter 1s": f"inter {options.check_ms}ms", **SMALL_BUFFERS}
    is_over, results = multiprocessing.Event(), multiprocessing.Queue()
    outcomes = collections.Counter()
    with Balancer("haproxy", folder / "balancer", [replica.port for replica in replicas], plain) as balancer:
        clients = [multiprocessing.Process(target=load, args=(data, balancer.port, options, seed, is_over, results))
                   for seed in range(options.processes)]
        for client in clients:
            client.start()
        finished, cut = restart_all(replicas, balancer, options)
        is_over.set()
        ended = [results.get(timeout=2 * PATIENCE_S) for _ in clients]
        for client in clients:
            client.join()
    for counts, _ in ended:
        outcomes.update(counts)
    for replica in replicas:
        replica.server.stop()
    return outcomes, sum(outcomes.values()) / ended[0][1], finished, cut


def read_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--rate", type=float, default=1000, help="requests a second")
    parser.add_argument("--large-share", type=float, default=0.5, help="of the answers")
    parser.add_argument("--large-bytes", type=int, default=256 << 10)
    parser.add_argument("--slow-s", type=float, default=1, help="how long a client takes to read a large answer")
    parser.add_argument("--lag-ms", type=int, default=3000, help="http.drain_lag_ms")
    parser.add_argument("--check-ms", type=int, default=1000, help="between health checks")
    parser.add_argument("--processes", type=int, default=2, help="of clients")
    parser.add_argument("binary", nargs="?", type=pathlib.Path)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = read_options(arguments)
    if program("haproxy") is None:
        sys.exit("haproxy is not installed (deploy/packages/engines)")
    with tempfile.TemporaryDirectory(prefix="zarrd-rolling-") as folder:
        outcomes, rate, finished, cut = measure(pathlib.Path(folder), options)
    n_good = outcomes.pop("good", 0)
    print(f"{options.restarts} restarts at {rate:.0f} requests a second: {n_good} answers right, {sum(outcomes.values())} failed {dict(outcomes)};"
          f" zarrd finished {finished} while stopping, and cut {cut}")
    return 0 if n_good > 0 and not outcomes and cut == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
