"""A store of HTTP that lets one wait for each first byte: what it is asked for, and how long its readers wait."""

import concurrent.futures
import contextlib

import data
from load import Request, ask
from origin import Origin, fixed
from peers import Zarrd, running

DELAY_S = 0.03  # before the first byte of each answer
BANDWIDTH = 80e6  # bytes a second of each connection
CHUNKS = r"/c/"  # in the paths of chunks and shards
N_CLIENTS = 64
BLOCK = slice(1, 6)  # of the inner chunks of a shard, along both axes
DATA_GETS_GOAL = 5
OVER_READ_GOAL = 1.10


def slow_origin(root):
    origin = Origin(root)
    origin.delay, origin.bandwidth = fixed(DELAY_S), BANDWIDTH
    return origin


def open_array(peer, array):
    """Its document is known from now on; no chunk is."""
    ask(peer.port, Request(f"/v1/datasets/bench/nodes/{array}"))


def one_cold_chunk(report, origin, peer):
    """Many clients at the same time ask for it."""
    values = data.remote_values()
    request = Request("/v1/datasets/bench/slices/plain?slice=0", body=values[0].tobytes())
    open_array(peer, "plain")
    origin.requests.clear()
    with concurrent.futures.ThreadPoolExecutor(N_CLIENTS) as pool:
        answers = list(pool.map(lambda _: ask(peer.port, request), range(N_CLIENTS)))
    wrong = sum(response.status != 200 or body != request.body for response, body in answers)
    report.figure(f"{peer.name}: {N_CLIENTS} clients, one cold chunk: wrong answers", wrong, "", goal=0)
    report.figure(f"{peer.name}: {N_CLIENTS} clients, one cold chunk: GETs", origin.count("GET", CHUNKS), "", goal=1)


def block_of_a_shard(report, origin, peer):
    """Five by five of its inner chunks."""
    values, n = data.remote_shard_values(), data.INNER
    first, end = BLOCK.start * n, BLOCK.stop * n
    expected = values[first:end, first:end].tobytes()
    open_array(peer, "sharded")
    origin.requests.clear()
    _, body = ask(peer.port, Request(f"/v1/datasets/bench/slices/sharded?slice={first}:{end},{first}:{end}"))
    index, asked = origin.select("GET", CHUNKS, "suffix"), origin.select("GET", CHUNKS, "get range")
    title = f"{peer.name}: 5x5 inner chunks of a shard"
    report.figure(f"{title}: wrong answers", int(body != expected), "", goal=0)
    report.figure(f"{title}: GETs of the index", len(index), "", goal=1)
    report.figure(f"{title}: GETs of data", len(asked), "", goal=DATA_GETS_GOAL)
    report.figure(f"{title}: over-read", sum(request.sent for request in asked) / len(expected), "x", goal=OVER_READ_GOAL)


PARTS = {"one cold chunk": one_cold_chunk, "block of a shard": block_of_a_shard}


@contextlib.contextmanager
def behind(options, name, binary, root):
    """`with behind(...) as (origin, peer)`: a server that has just been started, and what it reads from."""
    with slow_origin(root) as origin, running([lambda core: Zarrd(name, binary, {"bench": origin.url}, core=core)], options) as (peer,):
        yield origin, peer


def run(options, report):
    root = data.remote(options)
    for name, binary in options.binaries:
        for title, measure in PARTS.items():
            if options.only in title:
                with behind(options, name, binary, root) as (origin, peer):
                    measure(report, origin, peer)
