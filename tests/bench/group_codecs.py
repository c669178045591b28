"""Chunks of 1 MiB, in one process: of every codec that a library decodes, the library's own call and zarrd's core in turn; of codecs of
elements, a copy of the chunk and zarrd's core in turn, and the same in numcodecs or NumPy between the rounds."""

import statistics
import time

import data
from group_slices import DECODE_GOAL, tool
from proc import pinned

BARE = {"blosc": "lz4", "zstd": "zstd", "gzip": "gzip", "zlib": "zlib", "lz4": "lz4_block", "bz2": "bz2", "lzma": "xz",
        "crc32": "crc32", "adler32": "adler32"}  # what bare_codec.c calls the codec of an array
COPY_GOAL = 0.5  # of memcpy
PEER_GOAL = 1 / 1.3  # of numcodecs or NumPy; one of both is enough


def peers():
    """How Python decodes a chunk of each array; the groups besides need no numcodecs."""
    import numcodecs
    import numpy as np

    shuffle, delta = numcodecs.Shuffle(4), numcodecs.Delta("<f4")
    scaled = numcodecs.FixedScaleOffset(offset=1000, scale=4, dtype="<f4")
    return {
        "shuffle": ("numcodecs", shuffle.decode),
        "delta": ("numcodecs", delta.decode),
        "swap": ("NumPy", lambda stored: np.frombuffer(stored, ">f4").astype("<f4")),
        "transpose": ("NumPy", lambda stored: np.ascontiguousarray(np.frombuffer(stored, "<f4").reshape(512, 512).T)),
        "fixedscaleoffset": ("numcodecs", scaled.decode),
    }


def peer_us(options, decode, chunks):
    """A chunk's share of the time, in this process."""
    n, began = 0, time.process_time()
    with pinned(options.server_core):
        while n == 0 or time.process_time() - began < options.seconds / 2:
            for chunk in chunks:
                decode(chunk)
            n += len(chunks)
        return (time.process_time() - began) / n * 1e6


def ratio(pairs):
    """The median of theirs to ours, and how far the rounds differ."""
    ratios = [theirs / ours for theirs, ours in pairs]
    median = statistics.median(ratios)
    return median, (max(ratios) - min(ratios)) / median


def compressed(options, report):
    root = data.chunks(options, "codecs")
    for array, codec in BARE.items():
        if options.only not in array:
            continue
        rounds = tool(options, "decode", root / array, codec, options.rounds, options.seconds)
        median, spread = ratio(rounds)
        report.figure(f"decode 1 MiB of {array}, x of the library's call", median, "x", DECODE_GOAL,
                      at_least=True, note=f"{statistics.median(own for _, own in rounds):.0f} us; spread {100 * spread:.0f} %")


def elements(options, report):
    root = data.chunks(options, "elements")
    for array, (peer, decode) in peers().items():
        if options.only not in array:
            continue
        chunks = [path.read_bytes() for path in sorted((root / array / "c").rglob("*")) if path.is_file()]
        copies, theirs = [], []
        for _ in range(options.rounds):
            copy_us, own_us = tool(options, "decode", root / array, "copy", 1, options.seconds)[0]
            copies.append((copy_us, own_us))
            theirs.append((peer_us(options, decode, chunks), own_us))
        found = {"memcpy": (*ratio(copies), COPY_GOAL), peer: (*ratio(theirs), PEER_GOAL)}
        to = max(found, key=lambda name: found[name][0] / found[name][2])
        median, spread, goal = found[to]
        others = ", ".join(f"{value[0]:.2f} x of {name}" for name, value in found.items() if name != to)
        report.figure(f"decode 1 MiB of {array}, x of {to}", median, "x", goal, at_least=True,
                      note=f"{statistics.median(own for _, own in copies):.0f} us; spread {100 * spread:.0f} %; {others}")


def run(options, report):
    compressed(options, report)
    elements(options, report)
