"""Stores of HTTP that let one wait for each first byte: what they are asked for, and how long their readers wait."""

import concurrent.futures
import contextlib
import statistics
import subprocess
import tempfile
import threading
import time

import bucket
import data
import reader
from load import Request, ask, load
from origin import Origin, fixed
from peers import Program, Zarrd, running
from proc import pinned

DELAY_MS, P99_MS = 30, 200  # before the first byte of each answer; the second where it is log-normal
BANDWIDTH = 80e6  # bytes a second of each connection
UNCACHED = ("cache.decoded_bytes=0", "cache.encoded_bytes=0")
CHUNKS = r"/c/"  # in the paths of chunks and shards
N_CLIENTS = 64
BLOCK = slice(1, 6)  # of the inner chunks of a shard, along both axes
DATA_GETS_GOAL = 5
OVER_READ_GOAL = 1.10
TENS = 10  # that many chunks at a time
SLICE_GOAL, TENS_GOAL, TAIL_GOAL = 1.3, 5, 1.5
SLOW_SHARE, SLOW_MS = 10, 1000  # of 1,000 GETs
HEDGED_GOAL, EXTRA_GOAL = 0.35, 5
CPU_GOAL, REUSED_GOAL = 1.25, 99
BACK_GOAL_S, BESIDE_GOAL = 5, 2
WARM_GOAL, COLD_GOAL = 0.25, 1.2
AT_REST_GOAL_MB = 12


class Stub(Program):
    """zarrd-bench-origin, whose delays and counters are asked for under way."""

    def __init__(self, options, root, port=None):
        super().__init__("origin", lambda port, _: [options.build / "zarrd-bench-origin", str(port), str(root)], options.client_core, port)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def delay(self, p50_ms=DELAY_MS, p99_ms=None, share=0):
        ask(self.port, Request(f"/-/delay/{p50_ms}/{p99_ms or p50_ms}/{share}/{SLOW_MS}"))

    def counters(self):
        """GETs, connections and bytes so far."""
        return [int(word) for word in ask(self.port, Request("/-/counters"))[1].split()]


@contextlib.contextmanager
def stub(options, root):
    started = Stub(options, root)
    try:
        yield started
    finally:
        started.stop()


def served(options, name, binary, datasets, *settings):
    return running([lambda core: Zarrd(name, binary, datasets, *settings, core=core)], options)


def plain_targets():
    return [f"/plain/c/{i}/0/0" for i in range(data.N_PLAIN)]


def fetch(options, origin, targets, n_ways, n_batches):
    """What zarrd-bench-fetch prints after its first batch, whose connections are new: (seconds, CPU us) of each."""
    with tempfile.NamedTemporaryFile("w") as listed, pinned(options.server_core):
        listed.write("\n".join(targets))
        listed.flush()
        printed = subprocess.run([options.build / "zarrd-bench-fetch", str(origin.port), str(n_ways), str(n_batches + 1), listed.name],
                                 capture_output=True, text=True, check=True).stdout
    return [(int(us) / 1e6, int(cpu_us)) for us, cpu_us, _ in (line.split() for line in printed.splitlines()[1:])]


def seconds(batches):
    return statistics.median(s for s, _ in batches)


def open_array(peer, array, dataset="bench"):
    """Its document is known from now on; no chunk is."""
    ask(peer.port, Request(f"/v1/datasets/{dataset}/nodes/{array}"))


# What it is asked for: counted by the origin of the tests, which keeps every request on record.


@contextlib.contextmanager
def recorded(options, name, binary, root):
    with Origin(root) as origin, served(options, name, binary, {"bench": origin.url}) as (peer,):
        origin.delay, origin.bandwidth = fixed(DELAY_MS / 1000), BANDWIDTH
        yield origin, peer


def one_cold_chunk(options, report, name, binary, root):
    """Many clients at the same time ask for it."""
    request = Request("/v1/datasets/bench/slices/plain?slice=0", body=data.remote_values()[0].tobytes())
    with recorded(options, name, binary, root) as (origin, peer):
        open_array(peer, "plain")
        origin.requests.clear()
        with concurrent.futures.ThreadPoolExecutor(N_CLIENTS) as pool:
            answers = list(pool.map(lambda _: ask(peer.port, request), range(N_CLIENTS)))
        wrong = sum(response.status != 200 or body != request.body for response, body in answers)
        report.figure(f"{name}: {N_CLIENTS} clients, one cold chunk: wrong answers", wrong, "", goal=0)
        report.figure(f"{name}: {N_CLIENTS} clients, one cold chunk: GETs", origin.count("GET", CHUNKS), "", goal=1)


def block_of_a_shard(options, report, name, binary, root):
    """Five by five of its inner chunks."""
    first, end = BLOCK.start * data.INNER, BLOCK.stop * data.INNER
    expected = data.remote_shard_values()[first:end, first:end].tobytes()
    with recorded(options, name, binary, root) as (origin, peer):
        open_array(peer, "sharded")
        origin.requests.clear()
        _, body = ask(peer.port, Request(f"/v1/datasets/bench/slices/sharded?slice={first}:{end},{first}:{end}"))
        index, asked = origin.select("GET", CHUNKS, "suffix"), origin.select("GET", CHUNKS, "get range")
        title = f"{name}: 5x5 inner chunks of a shard"
        report.figure(f"{title}: wrong answers", int(body != expected), "", goal=0)
        report.figure(f"{title}: GETs of the index", len(index), "", goal=1)
        report.figure(f"{title}: GETs of data", len(asked), "", goal=DATA_GETS_GOAL)
        report.figure(f"{title}: over-read", sum(request.sent for request in asked) / len(expected), "x", goal=OVER_READ_GOAL)


# How long it takes: zarrd-bench-origin, since the one of the tests takes longer to answer 64 GETs than each of them waits.


def whole_slice(options, report, name, binary, root):
    """All chunks of an array at a time, none of them cached."""
    expected = data.remote_values().tobytes()
    targets = plain_targets()
    with stub(options, root) as origin, served(options, name, binary, {"bench": origin.url}, *UNCACHED) as (peer,):
        read = lambda: reader.timed(peer.port, "/v1/datasets/bench/slices/plain", expected)[1]  # noqa: E731
        read()
        of_one, of_tens, of_all = [], [], []
        for _ in range(options.rounds):
            own = statistics.median(read() for _ in range(5))
            of_one.append(own / seconds(fetch(options, origin, targets[:1], 1, 5)))
            of_tens.append(seconds(fetch(options, origin, targets, TENS, 3)) / own)
            of_all.append(own / seconds(fetch(options, origin, targets, len(targets), 3)))
        title = f"{name}: slice of {len(targets)} chunks"
        report.figure(f"{title}, x of one GET", statistics.median(of_one), "x", goal=SLICE_GOAL,
                      note=f"{min(of_one):.2f} to {max(of_one):.2f}; {statistics.median(of_all):.2f}x of a bare loop that asks for all at once")
        report.figure(f"{title}, {TENS} at a time x of it", statistics.median(of_tens), "x", goal=TENS_GOAL, at_least=True)
        origin.delay(p99_ms=P99_MS)
        n = 20 if options.quick else 100
        times = [read() for _ in range(n)]
        one = sorted(s for s, _ in fetch(options, origin, targets[:1], 1, n))
        report.figure(f"{title}, p50, x of one GET's p95, log-normal", statistics.median(times[n // 4:]) / one[n * 95 // 100], "x",
                      goal=TAIL_GOAL, note=f"p50 {1000 * statistics.median(times[n // 4:]):.0f} ms, one GET's p95 {1000 * one[n * 95 // 100]:.0f} ms")


def hedging(options, report, name, binary, root):
    """Slices of four chunks, where one GET in a hundred takes long, with second requests and without."""
    values = data.remote_values()
    requests = [Request(f"/v1/datasets/bench/slices/plain?slice={i}:{i + 4}", body=values[i:i + 4].tobytes()) for i in range(0, len(values), 4)]
    p99, extra = {}, {}
    for percent in (0, 5):
        with stub(options, root) as origin, served(options, name, binary, {"bench": origin.url}, *UNCACHED, f"remote.hedge_percent={percent}") as (peer,):
            load(options, peer.port, requests, options.seconds)
            origin.delay(share=SLOW_SHARE)
            before, gets = peer.server.metrics(), origin.counters()[0]
            sample = load(options, peer.port, requests, options.rounds * options.seconds)
            p99[percent] = sample.p99_us
            extra[percent] = hedges(peer, before) / max(1, origin.counters()[0] - gets)
            if percent:
                origin.delay(SLOW_MS)
                before = peer.server.metrics()
                load(options, peer.port, requests, max(3, options.seconds))
                all_slow = hedges(peer, before)
    title = f"{name}: 1 % of GETs take {SLOW_MS} ms"
    report.figure(f"{title}: p99 of slices, x without hedging", p99[5] / p99[0], "x", goal=HEDGED_GOAL,
                  note=f"{p99[5] / 1000:.0f} ms, {p99[0] / 1000:.0f} ms without")
    report.figure(f"{title}: second requests", 100 * extra[5], "%", goal=EXTRA_GOAL)
    report.figure(f"{name}: all GETs take {SLOW_MS} ms: second requests", all_slow, "", goal=0)


def hedges(peer, before):
    return peer.server.metrics()["zarrd_store_hedges_total"] - before["zarrd_store_hedges_total"]


def cost_of_a_get(options, report, name, binary, root):
    """CPU of small slices for which whole chunks are read, to that of a bare loop that asks for the same; and the connections for that."""
    values, targets, n, last = data.remote_values(), plain_targets(), 5 if options.quick else 50, data.INNER - 1
    request = Request(f"/v1/datasets/bench/slices/plain?slice=:,::{last},::{last}", body=values[:, ::last, ::last].tobytes())
    with stub(options, root) as origin, served(options, name, binary, {"bench": origin.url}, *UNCACHED) as (peer,):
        origin.delay(1)
        ask(peer.port, request)
        ratios = []
        used = [0, 0, 0]
        for _ in range(options.rounds):
            before, cpu = origin.counters(), peer.group.cpu_us()
            wrong = sum(ask(peer.port, request)[1] != request.body for _ in range(n))
            cpu = peer.group.cpu_us() - cpu
            spent = [after - b for after, b in zip(origin.counters(), before)]
            used = [a + b for a, b in zip(used, spent)]
            bare = statistics.median(cpu_us for _, cpu_us in fetch(options, origin, targets, len(targets), n)) / len(targets)
            ratios.append(cpu / spent[0] / bare)
        report.figure(f"{name}: slices of four numbers of each chunk: wrong answers", wrong, "", goal=0)
        report.figure(f"{name}: CPU of a GET of {used[2] / used[0] / 1024:.0f} KiB, x of a bare loop's", statistics.median(ratios), "x", goal=CPU_GOAL,
                      note=f"{min(ratios):.2f} to {max(ratios):.2f}; {cpu / spent[0]:.0f} us, decoding and the answers included; {bare:.0f} us in the loop")
        report.figure(f"{name}: GETs over a connection that was there", 100 - 100 * used[1] / used[0], "%", goal=REUSED_GOAL, at_least=True,
                      note=f"{used[0]} GETs")


# When it ends.


def killed_and_restarted(options, report, name, binary, root):
    """Clients go on all the while."""
    values = data.remote_values()
    outcomes, over = [], threading.Event()  # (time, status or 0, whether right)

    def go_on(i):
        while not over.is_set():
            i = (i + 1) % len(values)
            response, body = ask(peer.port, Request(f"/v1/datasets/bench/slices/plain?slice={i}"))
            outcomes.append((time.monotonic(), response.status, body == values[i].tobytes()))

    origin = Stub(options, root)
    with served(options, name, binary, {"bench": origin.url}, *UNCACHED) as (peer,), concurrent.futures.ThreadPoolExecutor(8) as pool:
        clients = [pool.submit(go_on, 8 * i) for i in range(8)]
        try:
            time.sleep(options.seconds)
            origin.process.kill()
            origin.stop()
            time.sleep(max(2, options.seconds))
            origin = Stub(options, root, origin.port)
            back = time.monotonic()
            time.sleep(BACK_GOAL_S + 1)
        finally:
            over.set()
        for client in clients:
            client.result()
    origin.stop()
    wrong = sum(status == 200 and not is_right or status == 404 for _, status, is_right in outcomes)
    late = max((at for at, status, _ in outcomes if status != 200), default=back) - back
    report.figure(f"{name}: origin killed and started again: wrong answers", wrong, "", goal=0,
                  note=f"{len(outcomes)} answers, {sum(status != 200 for _, status, _ in outcomes)} of them faults")
    report.figure(f"{name}: the last fault after its return", max(0, late), "s", goal=BACK_GOAL_S)


def slow_beside(options, report, name, binary, root):
    """p99 of one dataset while another one's endpoint hardly answers."""
    requests = {dataset: [Request(f"/v1/datasets/{dataset}/slices/plain?slice={i}") for i in range(data.N_PLAIN)] for dataset in ("bench", "slow")}
    with stub(options, root) as origin, stub(options, root) as slow, \
            served(options, name, binary, {"bench": origin.url, "slow": slow.url}, *UNCACHED) as (peer,), \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        open_array(peer, "plain", "slow")
        slow.delay(SLOW_MS)
        ratios = []
        for _ in range(options.rounds):
            alone = load(options, peer.port, requests["bench"], options.seconds).p99_us
            beside = pool.submit(load, options, peer.port, requests["slow"], options.seconds + 1, 2 * N_CLIENTS)
            ratios.append(load(options, peer.port, requests["bench"], options.seconds).p99_us / alone)
            beside.result()
    report.figure(f"{name}: p99 beside a slow endpoint, x alone", statistics.median(ratios), "x", goal=BESIDE_GOAL,
                  note=f"{min(ratios):.2f} to {max(ratios):.2f}")


def opened_by_zarr_python(options, report, name, binary, root):
    """A hierarchy of 1,000 arrays in a bucket, and a series of one: through zarrd, which knows it already or does not, and directly."""
    series = (slice(None), 5, 7)
    expected, folder = data.remote_values()[series], data.hierarchy(options)

    def timed(store):
        seconds, n_members, values = bucket.open_and_read(store, "plain", series)
        assert n_members == data.GROUP_N and (values == expected).all(), "wrong members, or values"
        return seconds

    with bucket.bucket(folder, DELAY_MS / 1000, BANDWIDTH) as (endpoint, environment):
        config = {"datasets": {"bench": {"location": f"s3://{bucket.BUCKET}/", "endpoint": endpoint}}}
        directly, cold, warm = [], [], []
        for _ in range(options.rounds):
            with running([lambda core: Zarrd(name, binary, {}, core=core, config=config, environment=environment)], options) as (peer,):
                directly.append(timed(bucket.direct(endpoint)))
                cold.append(timed(bucket.through(peer.port, "bench")) / directly[-1])
                warm.append(timed(bucket.through(peer.port, "bench")) / directly[-1])
    title = f"{name}: zarr-python opens 1,000 arrays in a bucket"
    report.figure(f"{title}: x directly", statistics.median(warm), "x", goal=WARM_GOAL,
                  note=f"{min(warm):.2f} to {max(warm):.2f}; {statistics.median(directly):.1f} s directly")
    report.figure(f"{title}: x directly, zarrd cold", statistics.median(cold), "x", goal=COLD_GOAL, note=f"{min(cold):.2f} to {max(cold):.2f}")


def at_rest(options, report, name, binary, root):
    with served(options, name, binary, {"bench": root}) as (peer,):
        open_array(peer, "plain")
        report.figure(f"{name}: resident at rest, no remote dataset", peer.group.memory() / 1e6, "MB", goal=AT_REST_GOAL_MB)


PARTS = {
    "one cold chunk": one_cold_chunk, "block of a shard": block_of_a_shard, "whole slice": whole_slice, "hedging": hedging,
    "cost of a GET": cost_of_a_get, "killed and restarted": killed_and_restarted, "slow beside": slow_beside,
    "opened by zarr-python": opened_by_zarr_python, "at rest": at_rest}


def run(options, report):
    root = data.remote(options)
    for name, binary in options.binaries:
        for title, measure in PARTS.items():
            if options.only in title:
                measure(options, report, name, binary, root)
