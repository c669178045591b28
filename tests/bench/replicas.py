#!/usr/bin/env python3
"""What N replicas do to hit rate and origin traffic: tests/bench/replicas.py [--requests 600000] [--seed 1] [--json FILE]

Simulated, not measured: a log of requests whose objects are popular by Zipf's law goes through a balancer to replicas, each with a
least-recently-used cache. A request that misses is an origin read and takes longer; one that comes for the same object meanwhile
waits for that read, as in zarrd. Half of the log warms up, the other half is counted. Two kinds of log:

  keys     a request is one object, and its path names it: /zarr/DATASET/c/0/1
  slices   a path names an array, its query up to 4 adjacent chunks of it; caches hold chunks

and balancers that send a request

  random   to any replica
  modulo   to the hash of its path, modulo the number of replicas
  path     to the next replica on a ring (haproxy: balance uri, hash-type consistent)
  bounded  likewise, but on to the next one while that has more than its share, times FACTOR, under way (hash-balance-factor 150)
  whole    by path and query on the ring (balance uri whole), which is the same as path where there is no query
"""

import argparse
import bisect
import collections
import hashlib
import heapq
import itertools
import json
import math
import random
import sys

OBJECTS = 50_000
CHUNKS = 100  # of an array
SPAN = 4  # chunks of a slice, at most
CACHE = 2_000  # objects, of one replica
ZIPF = 0.9
HOT = 0.2  # of the requests, where there is a hot path
REPLICAS = (3, 10, 100)
POINTS = 128  # on the ring, of one replica
FACTOR = 1.5
RATE = 200  # requests a second, of one replica
HIT_S = 0.001
MISS_S = 0.050
WORDS = 1 << 64
BALANCERS = {"keys": ("random", "modulo", "path", "bounded"), "slices": ("random", "path", "whole", "bounded")}


def hash_of(*words):
    return int.from_bytes(hashlib.blake2b(repr(words).encode(), digest_size=8).digest(), "big")


def popularity(n):
    """Cumulated weights of n things by Zipf's law."""
    return list(itertools.accumulate(rank**-ZIPF for rank in range(1, n + 1)))


def make_log(kind, n, rng, hot=0.0):
    """n requests as (path, query, objects); a share `hot` of them is one and the same."""
    arrays = OBJECTS // CHUNKS
    weights = popularity(OBJECTS if kind == "keys" else arrays)
    for rank in rng.choices(range(len(weights)), cum_weights=weights, k=n):
        if hot > 0 and rng.random() < hot:
            rank = 0
        if kind == "keys":
            yield rank, 0, (rank,)
            continue
        first = rng.randrange(CHUNKS)
        last = min(first + rng.randrange(SPAN), CHUNKS - 1)
        yield rank, first * CHUNKS + last, tuple(range(rank * CHUNKS + first, rank * CHUNKS + last + 1))


class Ring:
    """Consistent hashing over the replicas that are there."""

    def __init__(self, names):
        points = sorted((hash_of("replica", name, point), name) for name in names for point in range(POINTS))
        self.at = [position for position, _ in points]
        self.names = [name for _, name in points]

    def walk(self, position):
        """Replicas from a position on, the nearest first; the same one may come more than once."""
        first = bisect.bisect(self.at, position)
        n = len(self.names)
        return (self.names[(first + step) % n] for step in range(n))


class Fleet:
    """Replicas behind a balancer, and what they cost the origin."""

    def __init__(self, n, balancer, rng):
        self.balancer = balancer
        self.rng = rng
        self.caches = {name: collections.OrderedDict() for name in range(n)}
        self.n_running = dict.fromkeys(range(n), 0)
        self.ends = []
        self.positions = {}
        self.place()

    def place(self):
        self.names = sorted(self.caches)
        self.ring = Ring(self.names)

    def lose(self, name):
        self.n_running[name] = 0
        kept = self.caches.pop(name)
        self.place()
        return kept

    def restore(self, name, cache):
        self.caches[name] = cache
        self.place()

    def position(self, path, query):
        key = (path, query) if self.balancer == "whole" else path
        found = self.positions.get(key)
        if found is None:
            found = self.positions[key] = hash_of("path", key)
        return found

    def choose(self, path, query):
        if self.balancer == "random":
            return self.rng.choice(self.names)
        position = self.position(path, query)
        if self.balancer == "modulo":
            return self.names[position % len(self.names)]
        if self.balancer != "bounded":
            return next(self.ring.walk(position))
        most = math.ceil(FACTOR * (len(self.ends) + 1) / len(self.names))
        return next(name for name in self.ring.walk(position) if self.n_running[name] < most)

    def end_until(self, now):
        while self.ends and self.ends[0][0] <= now:
            _, name = heapq.heappop(self.ends)
            self.n_running[name] = max(0, self.n_running[name] - 1)

    def ask(self, now, path, query, objects):
        """Gives the replica, and how many objects it had and had to read."""
        self.end_until(now)
        name = self.choose(path, query)
        cache = self.caches[name]
        n_hits = n_reads = 0
        end = now + HIT_S
        for one in objects:
            ready = cache.get(one)
            if ready is None:
                n_reads += 1
                ready = now + MISS_S
                cache[one] = ready
                if len(cache) > CACHE:
                    cache.popitem(last=False)
            else:
                n_hits += ready <= now
                cache.move_to_end(one)
            end = max(end, ready)
        self.n_running[name] += 1
        heapq.heappush(self.ends, (end, name))
        return name, n_hits, n_reads


class Count:
    """Of a part of the log."""

    def __init__(self):
        self.n_objects = self.n_hits = self.n_reads = self.n_requests = 0
        self.by_replica = collections.Counter()
        self.most_running = 0

    def add(self, fleet, name, n_objects, n_hits, n_reads):
        self.n_requests += 1
        self.n_objects += n_objects
        self.n_hits += n_hits
        self.n_reads += n_reads
        self.by_replica[name] += 1
        self.most_running = max(self.most_running, fleet.n_running[name])

    def row(self, n_replicas):
        return {
            "hit_percent": 100 * self.n_hits / self.n_objects,
            "origin_percent": 100 * self.n_reads / self.n_objects,
            "busiest": max(self.by_replica.values()) * n_replicas / self.n_requests,
            "most_running": self.most_running,
        }


def run(kind, balancer, n_replicas, n_requests, seed, hot=0.0):
    """The second half of a log."""
    rng = random.Random(seed)
    fleet = Fleet(n_replicas, balancer, rng)
    count = Count()
    now = 0.0
    for i, (path, query, objects) in enumerate(make_log(kind, n_requests, rng, hot)):
        now += rng.expovariate(RATE * n_replicas)
        name, n_hits, n_reads = fleet.ask(now, path, query, objects)
        if i >= n_requests // 2:
            count.add(fleet, name, len(objects), n_hits, n_reads)
    return {"kind": kind, "balancer": balancer, "replicas": n_replicas, "hot_percent": 100 * hot, **count.row(n_replicas)}


def run_loss(balancer, n_replicas, n_requests, seed, keeps):
    """One replica goes after 60 % of the log and is back after 80 %: empty, or with what its disk has kept."""
    rng = random.Random(seed)
    fleet = Fleet(n_replicas, balancer, rng)
    lost, back, window = n_requests * 6 // 10, n_requests * 8 // 10, n_requests // 20
    parts = {"before": Count(), "lost": Count(), "back": Count()}
    begin = {"before": lost - window, "lost": lost, "back": back}
    now = 0.0
    kept = None
    for i, (path, query, objects) in enumerate(make_log("keys", n_requests, rng)):
        if i == lost:
            kept = fleet.lose(0)
        if i == back:
            fleet.restore(0, kept if keeps else collections.OrderedDict())
        now += rng.expovariate(RATE * n_replicas)
        name, n_hits, n_reads = fleet.ask(now, path, query, objects)
        for part, first in begin.items():
            if first <= i < first + window:
                parts[part].add(fleet, name, 1, n_hits, n_reads)
    return {"balancer": balancer, "replicas": n_replicas, "keeps": keeps,
            **{part: count.row(n_replicas)["origin_percent"] for part, count in parts.items()}}


def hit_rate(cache):
    """Of one such cache in the long run, by Che's approximation: the rate that the simulation is held against."""
    weights = [rank**-ZIPF for rank in range(1, OBJECTS + 1)]
    total = sum(weights)
    shares = [weight / total for weight in weights]
    low, high = 0.0, 100.0 * OBJECTS
    for _ in range(32):
        middle = (low + high) / 2
        held = sum(-math.expm1(-share * middle) for share in shares)
        low, high = (middle, high) if held < cache else (low, middle)
    return sum(share * -math.expm1(-share * high) for share in shares)


def table(title, rows, columns):
    print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(f"{row[name]:.1f}" if isinstance(row[name], float) else str(row[name]) for name in columns) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=600_000, help="length of each log")
    parser.add_argument("--replicas", type=int, nargs="+", default=REPLICAS)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}; {options.requests} requests to {OBJECTS} objects, Zipf {ZIPF}; {CACHE} objects ({100 * CACHE / OBJECTS:.0f} %) in "
          f"the cache of a replica; a hit takes {HIT_S * 1000:.0f} ms, a miss {MISS_S * 1000:.0f} ms; {RATE} requests a second of a replica")
    found = {"seed": seed, "requests": options.requests}
    found["steady"] = [run(kind, balancer, n, options.requests, seed)
                       for kind, balancers in BALANCERS.items() for n in options.replicas for balancer in balancers]
    found["hot"] = [run("keys", balancer, n, options.requests, seed, HOT)
                    for n in options.replicas for balancer in ("random", "path", "bounded")]
    found["loss"] = [run_loss(balancer, n, options.requests, seed, keeps) for n in options.replicas
                     for balancer, keeps in (("random", False), ("modulo", False), ("path", False), ("path", True))]
    columns = ["hit_percent", "origin_percent", "busiest", "most_running"]
    for kind in BALANCERS:
        table(f"{kind}: of all objects found and read; the busiest replica to the mean; most requests under way at one",
              [row for row in found["steady"] if row["kind"] == kind], ["replicas", "balancer", *columns])
    table(f"keys, one of which is {HOT:.0%} of the requests more", found["hot"], ["replicas", "balancer", *columns])
    table("keys: percent read of the origin before a replica is lost, just after, and just after it is back (keeps: with its disk cache)",
          found["loss"], ["replicas", "balancer", "keeps", "before", "lost", "back"])
    print(f"\nin the long run, by Che's approximation: a cache of {CACHE} has {100 * hit_rate(CACHE):.1f} % hits"
          + "".join(f", of {n * CACHE} {100 * hit_rate(n * CACHE):.1f} %" for n in options.replicas if n * CACHE < OBJECTS))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
