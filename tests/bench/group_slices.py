"""Decoded slices, from the cache and cold, against a Python slice server and against reading and decoding with nothing around it."""

import dataclasses
import datetime
import random
import statistics
import subprocess

import data
import numpy as np
from load import Request
from peers import Zarrd, programs, running, slice_servers, zarrds
from proc import pinned
from rounds import Row, measure_all

N_PLACES = 64  # different requests of a row
UNCACHED = ("cache.decoded_bytes=0", "cache.encoded_bytes=0")
ARRAYS = {"map_raw": "raw", "map_lz4": "lz4", "map_zstd": "zstd", "map_shard": None,
          "ts_raw": "raw", "ts_lz4": "lz4", "ts_zstd": "zstd", "ts_shard": None}  # None: no bare loop reads shards
WARM = ("map_lz4", "ts_lz4")
BESIDE_PYTHON = ("map_lz4", "ts_lz4")
JUDGED = "map_lz4"
DECODE_GOAL = 0.95
SELECT_US = 3  # that a value costs more than an index, at most
MEAN_GOAL = 1.3  # CPU of a mean over time, x of reading and decoding the same


@dataclasses.dataclass(frozen=True)
class Block:
    """A shape that is asked for at random multiples of itself. Goals, of map_lz4: server CPU us from the cache, and cold."""

    name: str
    extent: tuple
    warm_us: float
    cold_us: float | None = None


BLOCKS = [
    Block("point", (1, 1, 1), 10, 70),
    Block("tile 256x256", (1, 256, 256), 100, 130),
    Block("frame 512x512", (1, 512, 512), 320, 520),
    Block("series of 64", (64, 1, 1), 40),
]


def requests(array, block, values):
    places = random.Random(1)
    made = []
    for _ in range(N_PLACES):
        first = [places.randrange(size // n) * n for size, n in zip(values.shape, block.extent)]
        text = ",".join(str(a) if n == 1 else f"{a}:{a + n}" for a, n in zip(first, block.extent))
        body = values[tuple(slice(a, a + n) for a, n in zip(first, block.extent))].tobytes()
        made.append(Request(f"/v1/datasets/bench/slices/{array}?slice={text}", body=body))
    return made


def tool(options, *arguments):
    """What zarrd-bench-codec prints, run on the servers' core: a list of numbers for each line."""
    with pinned(options.server_core):
        printed = subprocess.run([options.build / "zarrd-bench-codec", *map(str, arguments)],
                                 capture_output=True, text=True, check=True).stdout
    return [[float(word) for word in line.split()] for line in printed.splitlines()]


def bare_note(options, folder, codec, block, result):
    """What the same slices cost without a server."""
    extent = ",".join(map(str, block.extent))
    us = statistics.median(
        tool(options, "slice", folder, codec, extent, options.seconds / 4)[0][0] for _ in range(options.rounds))
    return f"open, read, decode, copy and nothing else: {us:.1f} us; zarrd takes {result.costs[0].cpu_us / us:.2f} times that"


def measure_warm(options, report, root, values):
    with running(zarrds(options, {"bench": root}), options) as peers:
        for array in WARM:
            for block in BLOCKS:
                row = Row(f"cached {array} {block.name}", requests(array, block, values),
                          cpu_us_goal=block.warm_us if array == JUDGED else None)
                measure_all(peers, [row], options, report)


def measure_cold(options, report, root, values):
    starts = zarrds(options, {"bench": root}, *UNCACHED) + programs(slice_servers(root))
    with running(starts, options) as everyone:
        for array, codec in ARRAYS.items():
            peers = everyone if array in BESIDE_PYTHON else [peer for peer in everyone if isinstance(peer, Zarrd)]
            for block in BLOCKS:
                row = Row(f"cold {array} {block.name}", requests(array, block, values),
                          cpu_us_goal=block.cold_us if array == JUDGED else None)
                measure_all(peers, [row], options, report,
                            lambda result: bare_note(options, root / array, codec, block, result) if codec else "")  # noqa: B023


def selections():
    """(name, SPEC of the index) of one dimension; the other is whole."""
    def date(i):
        return (datetime.datetime(2001, 1, 1) + datetime.timedelta(hours=i)).isoformat()

    yield "a time", "time", date
    yield "an interval of times", "time", lambda i: f"{date(i)}/{date(i)}"
    yield "the nearest of falling floats", "lat", lambda i: f"nearest::{90 - 180 * i / (data.SELECT_N - 1):.3f}"


def judge_select(result, report):
    by_value, by_index = (cost.cpu_us for cost in result.costs)
    report.figure(f"{result.row.name}, besides the same by index", by_value - by_index, "us", SELECT_US)
    return ""


def measure_select(options, report):
    """What a selection by value costs besides the same by index, from a coordinate that is kept."""
    root = data.labelled(options)
    values = np.arange(data.SELECT_N**2, dtype="<f4").reshape(data.SELECT_N, data.SELECT_N)
    binary = options.binaries[0][1]
    peers = [lambda core, name=name: Zarrd(name, binary, {"bench": root}, core=core) for name in ("sel", "slice")]
    with running(peers, options) as both:
        for name, dim, spec in selections():
            asked = {"sel": [], "slice": []}
            for i in random.Random(1).sample(range(data.SELECT_N), N_PLACES):
                item = f"{i}:{i + 1}" if "interval" in name else f"{i}"
                at = (i,) if dim == "time" else (slice(None), i)
                for kind, query in (("sel", f"sel={dim}={spec(i)}"), ("slice", f"slice={item if dim == 'time' else f':,{item}'}")):
                    asked[kind].append(Request(f"/v1/datasets/bench/slices/v?{query}", body=values[at].tobytes()))
            measure_all(both, [Row(f"select {name}", asked)], options, report, lambda result: judge_select(result, report))


def measure_decode(options, report, root):
    """Whole chunks in one process: the library's call and zarrd's core in turn."""
    for array in ("map_lz4", "map_zstd", "ts_lz4", "ts_zstd"):
        rounds = tool(options, "decode", root / array, ARRAYS[array], options.rounds, options.seconds)
        ratios = [bare / own for bare, own in rounds]
        spread = (max(ratios) - min(ratios)) / statistics.median(ratios)
        report.figure(f"decode chunks of {array}, x of the library's call", statistics.median(ratios), "x", DECODE_GOAL,
                      at_least=True, note=f"spread {100 * spread:.0f} %")


def measure_mean(options, report, root, values):
    """All chunks, of which one row of the answer comes: beside reading and decoding them with nothing around it."""
    extent = ",".join(map(str, values.shape))
    body = values.mean(0, dtype="longdouble").astype(values.dtype).tobytes()
    row = Row(f"cold {JUDGED} mean over time", [Request(f"/v1/datasets/bench/slices/{JUDGED}?reduce=mean&over=0", body=body)])

    def note(result):
        us = statistics.median(tool(options, "slice", root / JUDGED, ARRAYS[JUDGED], extent, options.seconds)[0][0] for _ in range(3))
        report.figure(f"mean over time of {JUDGED}, x of decoding alone", result.costs[0].cpu_us / us, "x", MEAN_GOAL)
        return f"open, read, decode, copy and nothing else: {us:.0f} us"

    with running(zarrds(options, {"bench": root}, *UNCACHED), options) as peers:
        measure_all(peers, [row], options, report, note)


def run(options, report):
    root = data.chunks(options, "slices")
    values = data.field()
    if options.only in "decode chunks":
        measure_decode(options, report, root)
    measure_select(options, report)
    measure_warm(options, report, root, values)
    measure_cold(options, report, root, values)
    measure_mean(options, report, root, values)
