"""Stored chunks: as safe as the disk makes them, against a loop that does nothing else; and without syncs, against nginx."""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from load import Request, WrongAnswer, ask, check, load
from peers import Zarrd, dav_servers, programs, running
from proc import pinned
from rounds import SPREAD_MAX, WARM_S, Row, measure_all, ratio_of

CHUNK_BYTES = 64 * 1024
N_CHUNKS = 256
N_CLIENTS = 8
DURABLE_GOAL = 0.8
SCRATCH_GOAL = 0.6
MEMORY = "/dev/shm"
PREFIX = "/zarr/bench/"
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [N_CHUNKS * CHUNK_BYTES], "data_type": "uint8",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK_BYTES]}},
         "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}
BODY = bytes(i * i * 31 % 251 + 1 for i in range(CHUNK_BYTES))


def fresh(folder):
    """An array without chunks."""
    (folder / "a/c").mkdir(parents=True)
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    (folder / "a/zarr.json").write_text(json.dumps(ARRAY))
    return folder


def keys(status):
    return [Request(f"{PREFIX}a/c/{i}", status=status, sent=BODY) for i in range(N_CHUNKS)]


def by_index():
    return [Request(f"/v1/datasets/bench/chunks/a?index={i}", (("Content-Type", "application/octet-stream"),), sent=BODY)
            for i in range(N_CHUNKS)]


def writing_zarrds(options, folder, durable):
    """For running(): each program, with a store of its own."""
    def start(core, i, name, binary):
        store = fresh(folder / f"{'durable' if durable else 'scratch'}-{i}")
        config = {"datasets": {"bench": {"location": str(store), "writable": True, "durable": durable}}}
        return Zarrd(name, binary, {}, core=core, config=config)

    return [lambda core, i=i, name=name, binary=binary: start(core, i, name, binary) for i, (name, binary) in enumerate(options.binaries)]


def check_stored(peers):
    """What was sent is what is there."""
    for peer in peers:
        for i in range(N_CHUNKS):
            response, body = ask(peer.port, Request(f"{PREFIX}a/c/{i}"))
            if (response.status, body) != (200, BODY):
                raise WrongAnswer(f"{peer.name}: chunk {i}: status {response.status}, {len(body)} bytes")


def bare(options, folder):
    """Objects a second, and CPU microseconds of each, of the loop alone."""
    with pinned(options.server_core):
        printed = subprocess.run([options.build / "zarrd-bench-write", folder, str(N_CLIENTS), str(options.seconds), str(CHUNK_BYTES)],
                                 check=True, capture_output=True, text=True).stdout
    n_stored, us, cpu_us = (int(word) for word in printed.split())
    return n_stored / us * 1e6, cpu_us / n_stored


def beside_the_loop(options, report, name, peer, requests, folder):
    """The loop and a server in turn."""
    check(peer.name, peer.port, requests)
    load(options, peer.port, requests, WARM_S, N_CLIENTS)
    loops, own, cpus = [], [], []
    for _ in range(options.rounds):
        loops.append(bare(options, folder))
        cpu = peer.group.cpu_us()
        own.append(load(options, peer.port, requests, options.seconds, N_CLIENTS))
        cpus.append((peer.group.cpu_us() - cpu) / own[-1].n_requests)
    check_stored([peer])
    ratio = ratio_of([sample.rate for sample in own], [rate for rate, _ in loops])
    failed = sum(sample.n_failed for sample in own)
    note = (f"{statistics.median(sample.rate for sample in own):.0f}/s, {statistics.median(cpus):.0f} us CPU, "
            f"p99 {statistics.median(sample.p99_us for sample in own):.0f} us; loop "
            f"{statistics.median(rate for rate, _ in loops):.0f}/s, {statistics.median(cpu for _, cpu in loops):.0f} us CPU"
            + (f"; ! spread {100 * ratio.spread:.0f} %" if ratio.spread > SPREAD_MAX else "") + (f"; {failed} FAILED" if failed else ""))
    report.figure(f"{peer.name}: {name}, to the loop's", ratio.median, "x", DURABLE_GOAL, at_least=True, note=note)
    if failed:
        report.failure(name, f"{failed} answers failed")


def durable(options, report, folder):
    loop = folder / "loop"
    loop.mkdir()
    with running(writing_zarrds(options, folder, True), options) as peers:
        for name, requests in (("durable chunks by key", keys(200)), ("durable chunks by index", by_index())):
            for peer in peers if options.only in name else []:
                beside_the_loop(options, report, name, peer, requests, loop)


def scratch(options, report, folder, name):
    www = folder / "www"
    fresh(www / "zarr/bench")
    for i in range(N_CHUNKS):
        (www / f"zarr/bench/a/c/{i}").touch()  # so that every answer of nginx is a 204
    starts = writing_zarrds(options, folder, False) + programs(dav_servers(www))
    with running(starts, options) as peers:
        requests = {peer.name: keys(204 if peer.name.startswith("nginx") else 200) for peer in peers}
        row = Row(name, requests, n_connections=N_CLIENTS, rate_goal=SCRATCH_GOAL)
        measure_all(peers, [row], options, report)
        if options.wants(row):
            check_stored(peers)


def run(options, report):
    """On the disk that holds the other data; without syncs also where there is no disk."""
    options.data.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        def new_folder(where):
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="zarrd-writes-", dir=where)))
            folder.chmod(0o755)
            return folder

        disk = new_folder(options.data.absolute())
        durable(options, report, disk)
        scratch(options, report, disk, "chunks without a sync")
        if os.path.isdir(MEMORY):
            scratch(options, report, new_folder(MEMORY), "chunks in memory")
