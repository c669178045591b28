"""One row: servers take turns in short slices of the same load, so that a change of the machine meets them all alike.

Ratios are formed within a round and their median is given; a row is marked when those to its rival spread (from the least to
the greatest, as a share of the median) more than SPREAD_MAX.
"""

import dataclasses
import statistics
import time

from load import Hang, check, load
from proc import system_calls

SPREAD_MAX = 0.15
WARM_S = 0.1
CALLS_N = 20  # requests at a time over one connection, while system calls are counted
CALLS_S = 0.5  # how long, at most


@dataclasses.dataclass
class Row:
    """A workload. requests: of each server by its name, or one list for all. goals: least ratios to the best rival, by rate
    and by CPU (requests per CPU second), and most server CPU microseconds a request; None: nothing is asked."""

    name: str
    requests: dict | list
    rivals: str = "nginx"  # goals count against the servers whose names begin so
    n_connections: int = 16
    rate_goal: float | None = None
    cpu_goal: float | None = None
    cpu_us_goal: float | None = None

    def of(self, peer):
        return self.requests[peer.name] if isinstance(self.requests, dict) else self.requests


@dataclasses.dataclass
class Ratio:
    """Of the first server to another one, over the rounds."""

    median: float
    spread: float


@dataclasses.dataclass
class Cost:
    """What a row came to on one server: medians over the rounds."""

    server: str
    rate: float
    p50_us: float
    p99_us: float
    cpu_us: float
    calls: float | None
    bytes_read: float
    peak_bytes: int
    client_share: float
    n_failed: int
    by_rate: Ratio | None = None  # what the first server is to this one; None for itself
    by_cpu: Ratio | None = None


@dataclasses.dataclass
class Result:
    row: Row
    costs: list

    def rival(self, ratio):
        """The name of the rival that is hardest to beat by that ratio ("by_rate", "by_cpu"), and the ratio; or None."""
        rivals = [cost for cost in self.costs[1:] if cost.server.startswith(self.row.rivals)]
        hardest = min(rivals, key=lambda cost: getattr(cost, ratio).median, default=None)
        return hardest and (hardest.server, getattr(hardest, ratio))

    def goals(self):
        """(what, goal, rival) for each goal about ratios that there is a rival for."""
        for what, goal in (("rate", self.row.rate_goal), ("cpu", self.row.cpu_goal)):
            rival = self.rival(f"by_{what}")
            if goal is not None and rival is not None:
                yield what, goal, rival

    @property
    def is_marked(self):
        return any(ratio.spread > SPREAD_MAX for _, _, (_, ratio) in self.goals())

    @property
    def shortfalls(self):
        """Which goals are missed, in words."""
        missed = [f"{what} {ratio.median:.2f}x of {name}, goal {goal:.2f}x"
                  for what, goal, (name, ratio) in self.goals() if ratio.median < goal]
        if self.row.cpu_us_goal is not None and self.costs[0].cpu_us > self.row.cpu_us_goal:
            missed.append(f"CPU {self.costs[0].cpu_us:.0f} us, goal {self.row.cpu_us_goal:.0f} us")
        return missed

    @property
    def n_goals(self):
        return len(list(self.goals())) + (self.row.cpu_us_goal is not None)


def one_slice(peer, row, options):
    cpu, read = peer.group.cpu_us(), peer.group.bytes_read()
    try:
        sample = load(options, peer.port, row.of(peer), options.seconds, row.n_connections)
    except Hang as hang:
        raise Hang(f"{peer.name}: {hang}") from None
    return sample, (peer.group.cpu_us() - cpu) / sample.n_requests, (peer.group.bytes_read() - read) / sample.n_requests


def count_calls(peer, row, options):
    """System calls a request, one at a time over one connection; None where they cannot be counted."""
    requests, n = row.of(peer), 0
    end = time.monotonic() + min(CALLS_S, options.seconds)
    try:
        with system_calls(peer.group) as calls:
            while n == 0 or time.monotonic() < end:
                check(peer.name, peer.port, [requests[i % len(requests)] for i in range(n, n + CALLS_N)])
                n += CALLS_N
    except FileNotFoundError:
        return None
    total = sum(count for name, count in calls.items() if name != "total")
    return total / n if total else None


def ratio_of(own, other):
    """Two lists of values, one a round; greater is better."""
    ratios = [a / b for a, b in zip(own, other)]
    median = statistics.median(ratios)
    return Ratio(median, (max(ratios) - min(ratios)) / median)


def measure_all(peers, rows, options, report, note=lambda result: ""):
    """Each row that is wanted, into the report, with a note; a server that hangs fails the row, and only that."""
    for row in filter(options.wants, rows):
        try:
            result = measure(peers, row, options)
            report.row(result, note(result))
        except Hang as hang:
            report.failure(row.name, str(hang))


def measure(peers, row, options):
    """Check every answer, then n rounds; the order turns round each time."""
    for peer in peers:
        check(peer.name, peer.port, row.of(peer))
    calls = {peer.name: count_calls(peer, row, options) if options.calls else None for peer in peers}
    for peer in peers:
        load(options, peer.port, row.of(peer), WARM_S, row.n_connections)
        peer.group.reset_peak()
    samples = {peer.name: [] for peer in peers}
    for i in range(options.rounds):
        for peer in peers if i % 2 == 0 else reversed(peers):
            samples[peer.name].append(one_slice(peer, row, options))
    costs = [cost_of(peer, samples[peer.name], calls[peer.name]) for peer in peers]
    own = samples[peers[0].name]
    for cost in costs[1:]:
        other = samples[cost.server]
        cost.by_rate = ratio_of([one.rate for one, _, _ in own], [one.rate for one, _, _ in other])
        cost.by_cpu = ratio_of([1 / cpu for _, cpu, _ in own], [1 / cpu for _, cpu, _ in other])
    return Result(row, costs)


def cost_of(peer, rounds, calls):
    def median(value):
        return statistics.median(value(*one) for one in rounds)

    return Cost(
        server=peer.name,
        rate=median(lambda sample, cpu, read: sample.rate),
        p50_us=median(lambda sample, cpu, read: sample.p50_us),
        p99_us=median(lambda sample, cpu, read: sample.p99_us),
        cpu_us=median(lambda sample, cpu, read: cpu),
        calls=calls,
        bytes_read=median(lambda sample, cpu, read: read),
        peak_bytes=peer.group.memory("VmHWM"),
        client_share=median(lambda sample, cpu, read: sample.client_share),
        n_failed=sum(sample.n_failed for sample, _, _ in rounds))
