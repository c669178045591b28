"""A large slice: how much memory it takes, and when its first byte comes."""

import statistics

import data
import reader
from load import Request, ask
from peers import Zarrd, running

MIB = 1 << 20
ARRAYS = ("map_raw", "map_lz4", "map_zstd", "map_shard")
UNCACHED = ("cache.decoded_bytes=0", "cache.encoded_bytes=0")
GROWTH_GOAL_MIB = 16
FIRST_BYTE_GOAL = 10  # % of the whole time


def measure(options, report, peer, array, expected, limit):
    target = f"/v1/datasets/bench/slices/{array}"
    ask(peer.port, Request(f"{target}?slice=0,0,0"))
    before = peer.group.memory()
    peer.group.reset_peak()
    reader.timed(peer.port, target, expected)
    growth = (peer.group.memory("VmHWM") - before) / MIB
    shares = []
    for _ in range(options.rounds):
        first, whole = reader.timed(peer.port, target, expected)
        shares.append(100 * first / whole)
    report.figure(f"{peer.name} {array}: memory grows by", growth, "MiB", goal=limit)
    report.figure(f"{peer.name} {array}: first byte after", statistics.median(shares), "%", goal=FIRST_BYTE_GOAL,
                  note=f"of the whole time; {min(shares):.1f} to {max(shares):.1f}")


def run(options, report):
    root = data.chunks(options, "slices")
    expected = data.field().tobytes()
    for name, binary in options.binaries:
        for caches, settings, limit in ((", no caches", UNCACHED, GROWTH_GOAL_MIB), (", usual caches", (), None)):
            for array in filter(lambda array: options.only in array, ARRAYS if not options.quick else ARRAYS[:2]):
                title = name + caches
                with running([lambda core: Zarrd(title, binary, {"bench": root}, *settings, core=core)], options) as (peer,):  # noqa: B023
                    measure(options, report, peer, array, expected, limit)
