"""From start to first answer, against nginx; and what many nodes cost."""

import contextlib
import pathlib
import random
import socket
import statistics
import subprocess
import tempfile
import time

import data
from load import Request, ask, check, load
from peers import Zarrd, file_servers, free_port, running
from proc import pinned

N_STARTS = 20
START_GOAL = 0.8
N_MANY = 100_000
MANY_GOAL = 1.2
N_NODES = 200  # of the many, that are asked for
TREE_N = 10_000
KEY = "/zarr/bench/k4/zarr.json"


def zarrd_command(binary, datasets):
    def command(port, _):
        return [str(binary), "--listen", f"127.0.0.1:{port}", *[f"{name}={path}" for name, path in datasets.items()]]

    return command


def first_answer_s(options, command, target):
    """From fork to the first answer; the server is ended then."""
    with tempfile.TemporaryDirectory(prefix="zarrd-bench-") as folder:
        port = free_port()
        words = command(port, pathlib.Path(folder))
        head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        with pinned(options.server_core):
            began = time.perf_counter()
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while time.perf_counter() < began + 60:
                with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=60) as opened:
                    opened.sendall(head)
                    assert opened.recv(4096).startswith(b"HTTP/1.1 200"), words
                    return time.perf_counter() - began
            raise RuntimeError(f"{words[0]} did not start")
        finally:
            process.terminate()
            process.wait(30)


def interleaved(options, commands, target, n):
    """Seconds of every round, of each (name, command)."""
    times = {name: [] for name, _ in commands}
    for i in range(n):
        for name, command in commands if i % 2 == 0 else reversed(commands):
            times[name].append(first_answer_s(options, command, target))
    return times


def ratio(own, other):
    """Median of the ratios within a round, and how far their middle half spreads."""
    ratios = sorted(a / b for a, b in zip(own, other))
    return statistics.median(ratios), f"middle half {ratios[len(ratios) // 4]:.2f} to {ratios[-1 - len(ratios) // 4]:.2f}"


def against_nginx(options, report, root):
    n = 4 if options.quick else N_STARTS
    with data.files_of(root) as www:
        commands = [(name, zarrd_command(binary, {"bench": root})) for name, binary in options.binaries]
        others = [(name, command) for name, command in file_servers(www) if name == "nginx"]
        times = interleaved(options, commands + others, KEY, n)
        for name, _ in commands:
            for other, _ in others:
                value, note = ratio(times[name], times[other])
                report.figure(f"{name}: start to first answer, x of {other}", value, "x", goal=START_GOAL, note=note)


def with_many(options, report, name, binary, few, many):
    times = {root: [] for root in (few, many)}
    for i in range(4 if options.quick else N_STARTS // 2):
        for root in (few, many) if i % 2 == 0 else (many, few):
            target = f"/v1/datasets/bench/nodes/{data.node_path(3)}"
            times[root].append(first_answer_s(options, zarrd_command(binary, {"bench": root}), target))
    value, note = ratio(times[many], times[few])
    report.figure(f"{name}: start with {many.name}, x of {few.name}", value, "x", goal=MANY_GOAL, note=note)


def node_requests(peer, dataset, numbers):
    targets = [f"/v1/datasets/{dataset}/nodes/{data.node_path(i)}" for i in numbers]
    return [Request(target, body=ask(peer.port, Request(target))[1]) for target in targets]


def p50_of_a_node(options, report, name, binary, few, n_many, many):
    """One array's node, asked for again and again, against those of many; over one connection."""
    numbers = random.Random(1).sample(range(n_many), N_NODES)
    with running([lambda core: Zarrd(name, binary, {"few": few, "many": many}, core=core)], options) as (peer,):
        requests = {"few": node_requests(peer, "few", [0]), "many": node_requests(peer, "many", numbers)}
        p50 = {"few": [], "many": []}
        for dataset in requests:
            check(peer.name, peer.port, requests[dataset])
        for i in range(options.rounds):
            for dataset in ("few", "many") if i % 2 == 0 else ("many", "few"):
                p50[dataset].append(load(options, peer.port, requests[dataset], options.seconds, 1).p50_us)
    value, note = ratio(p50["many"], p50["few"])
    report.figure(f"{name}: p50 of a node of {many.name}, x of one array's", value, "x", goal=MANY_GOAL, note=note)


def whole_tree(options, report, name, binary):
    root = data.nodes(options, 1000 if options.quick else TREE_N)
    with running([lambda core: Zarrd(name, binary, {"bench": root}, core=core)], options) as (peer,):
        spent = []
        for _ in range(2):
            began = time.perf_counter()
            _, body = ask(peer.port, Request("/v1/datasets/bench/tree/"))
            spent.append(time.perf_counter() - began)
    report.figure(f"{name}: whole tree of {root.name}, first time x of the second", spent[0] / spent[1], "x",
                  note=f"{len(body) / 1e6:.1f} MB")


def run(options, report):
    n_many = 5000 if options.quick else N_MANY
    few, many = data.nodes(options, 10), data.nodes(options, n_many)
    against_nginx(options, report, data.chunks(options, "keys"))
    for name, binary in options.binaries:
        with_many(options, report, name, binary, few, many)
        p50_of_a_node(options, report, name, binary, few, n_many, many)
        whole_tree(options, report, name, binary)
