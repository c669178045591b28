#!/usr/bin/env python3
"""What others notice of greedy clients: tests/bench/greedy.py [--seconds 4] [BINARY]

Small requests, from a process of their own, first alone and then beside each kind of client that takes what it can get. Prints the
99th percentile of each as a ratio to the one alone just before it, and fails when one is more than the goal.
"""

import argparse
import contextlib
import json
import pathlib
import socket
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from live import Server  # noqa: E402
from overload import RUN, STEP, SMALL_MOST, TIMES, WIDTH, Probe, make, percentile  # noqa: E402
from proc import allow_many_files, cores, pinned  # noqa: E402

N = 64  # clients of a kind
BODY = 1 << 26
EVERY_S = 0.5  # so often a slow client moves PIECE bytes: enough to be let go on
PIECE = 4096
FILE = "/zarr/greedy/file"
PUT = "PUT /v1/datasets/greedy/slices/a?%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
GET = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
DECODED = f"/v1/datasets/work/slices/?slice=%d:%d,::{STEP},::{STEP}"


def connect(server, request, receive_bytes=None):
    s = socket.socket()
    if receive_bytes is not None:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    s.connect(("127.0.0.1", server.port))
    s.sendall(request.encode())
    s.setblocking(False)
    return s


def send_on(s):
    s.send(bytes(PIECE))


def read_on(s):
    s.recv(PIECE)


def slow(request, move, receive_bytes=None):
    """Clients that send or read a little, again and again."""

    def run(server, is_over):
        clients = [connect(server, request, receive_bytes) for _ in range(N)]
        while not is_over.wait(EVERY_S):
            for s in clients:
                with contextlib.suppress(OSError):  # it was refused, or its time was over
                    move(s)
        for s in clients:
            s.close()
    return run


def busy(requests, n=8):
    """Clients that ask again as soon as they are answered."""

    def ask(server, is_over, first):
        connection = server.connection()
        i = first
        while not is_over.is_set():
            method, target, body = requests(i)
            server.request(method, target, None, body, connection=connection)
            i += n
        connection.close()

    def run(server, is_over):
        threads = [threading.Thread(target=ask, args=(server, is_over, i)) for i in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return run


def come_and_go(server, is_over):
    while not is_over.is_set():
        connect(server, "GET / HT").close()


KINDS = {
    "slices that trickle in": slow(PUT % ("slice=", BODY), send_on),
    "appends that trickle in": slow(PUT % ("append=0", BODY), send_on),
    "heads that trickle in": slow("GET / HTTP/1.1\r\nX: ", lambda s: s.send(b"x")),
    "slow readers of slices": slow(GET % "/v1/datasets/greedy/slices/a", read_on, PIECE),
    "slow readers of JSON": slow(GET % "/v1/datasets/greedy/slices/a?format=json", read_on, PIECE),
    "slow readers of files": slow(GET % FILE, read_on, PIECE),
    "readers of events": slow(GET % "/v1/datasets/greedy/events", read_on),
    "readers of large slices": busy(lambda i: ("GET", DECODED % (i * RUN % TIMES, i * RUN % TIMES + RUN), None)),
    "readers of statistics": busy(lambda i: ("GET", f"/v1/datasets/work/stats/?slice={i * RUN % TIMES}:{i * RUN % TIMES + RUN}", None)),
    "writers of large slices": busy(lambda i: ("PUT", f"/v1/datasets/greedy/slices/a?slice={i % 8 << 20}:{(i % 8 + 1) << 20}", bytes(4 << 20)), 4),
    "connections that come and go": come_and_go,
}


def make_greedy(folder):
    """An array and a file of 64 MiB, of which nothing is stored."""
    (folder / "a").mkdir(parents=True)
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    (folder / "a/zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [BODY // 4], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 18]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}))
    with open(folder / "file", "wb") as file:
        file.truncate(BODY)


def probed(server, seconds):
    with Probe(server.port, seconds) as probe:
        pass
    return percentile(probe.times, 0.99)


@contextlib.contextmanager
def beside(server, kind):
    """Clients of a kind are at work; they end, whatever happens."""
    is_over = threading.Event()
    greedy = threading.Thread(target=kind, args=(server, is_over))
    greedy.start()
    try:
        yield
    finally:
        is_over.set()
        greedy.join()


def measure(server, options):
    reached = True
    probed(server, 1)
    for name, kind in KINDS.items():
        if options.only not in name:
            continue
        alone_s = probed(server, options.seconds)
        with beside(server, kind):
            beside_s = probed(server, options.seconds)
        ratio = beside_s / alone_s
        reached = reached and ratio <= SMALL_MOST
        print(f"small p99, {name:29s}{ratio:8.2f} of alone (at most {SMALL_MOST})", flush=True)
        if options.verbose:
            print(f"  alone {alone_s * 1e6:.0f} us, beside them {beside_s * 1e6:.0f} us")
    return reached


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", type=pathlib.Path, default=ROOT / "build/bench/zarrd")
    parser.add_argument("--seconds", type=float, default=4, help="of each kind, and alone before it")
    parser.add_argument("--only", default="", metavar="TEXT", help="only kinds whose name has this text")
    parser.add_argument("--free", action="store_true", help="do not pin server and client to cores of their own")
    parser.add_argument("--verbose", action="store_true", help="times too")
    options = parser.parse_args()
    allow_many_files()
    server_core, client_core = (None, None) if options.free else cores()
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder) / "work")
        make_greedy(pathlib.Path(folder) / "greedy")
        with pinned(server_core):
            server = Server("-w", f"work={folder}/work", f"greedy={folder}/greedy", "--set", "log.requests=false",
                            "--set", "cache.decoded_bytes=0", binary=options.binary)
        try:
            with pinned(client_core):
                reached = measure(server, options)
            print(f"  longest turn of the loop {1000 * server.metrics()['zarrd_loop_stall_longest_seconds']:.1f} ms")
        finally:
            server.stop()
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
