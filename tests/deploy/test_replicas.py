"""The simulation of tests/bench/replicas.py: held against theory, and against what its balancers promise."""

import random
import re
import subprocess
import sys

import pytest
from client import DEADLINE_S
from live import ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))

import replicas  # noqa: E402

SEED = 20_260
N = 16_000


@pytest.mark.parametrize("balancer, n_replicas, n_caches", [("random", 1, 1), ("random", 2, 1), ("path", 2, 2), ("modulo", 2, 2)])
def test_hit_rate_is_that_of_theory(balancer, n_replicas, n_caches):
    row = replicas.run("keys", balancer, n_replicas, N * n_replicas, SEED)
    # An object that is waited for is neither: so few are at this rate that they are within the tolerance.
    assert row["hit_percent"] == pytest.approx(100 * replicas.hit_rate(n_caches * replicas.CACHE), abs=2)
    assert row["hit_percent"] + row["origin_percent"] <= 100


def test_a_lost_replica_moves_its_own_paths_only():
    fleet = replicas.Fleet(10, "path", random.Random(SEED))
    before = {path: fleet.choose(path, 0) for path in range(2000)}
    fleet.lose(3)
    after = {path: fleet.choose(path, 0) for path in range(2000)}
    assert {before[path] for path in before if before[path] != after[path]} == {3}
    assert 3 not in after.values()
    fleet.restore(3, {})
    assert before == {path: fleet.choose(path, 0) for path in range(2000)}


def test_no_replica_has_more_than_its_bound():
    fleet = replicas.Fleet(10, "bounded", random.Random(SEED))
    for i in range(500):  # all at once, one path
        fleet.ask(0.0, 1, 0, (i,))
        assert max(fleet.n_running.values()) <= replicas.FACTOR * len(fleet.ends) / 10 + 1
    assert sum(n > 0 for n in fleet.n_running.values()) >= 10 / replicas.FACTOR
    fleet.end_until(1e9)
    assert set(fleet.n_running.values()) == {0}


def test_an_object_that_is_read_already_is_waited_for():
    fleet = replicas.Fleet(1, "path", random.Random(SEED))
    assert fleet.ask(0.0, 1, 0, (1,)) == (0, 0, 1)
    assert fleet.ask(replicas.MISS_S / 2, 1, 0, (1,)) == (0, 0, 0)
    assert fleet.ask(replicas.MISS_S * 2, 1, 0, (1,)) == (0, 1, 0)


def test_slices_stay_in_their_array():
    for path, _, chunks in replicas.make_log("slices", 1000, random.Random(SEED)):
        assert {chunk // replicas.CHUNKS for chunk in chunks} == {path}
        assert 1 <= len(chunks) <= replicas.SPAN


def test_the_program_says_its_seed_and_repeats_itself():
    command = [sys.executable, str(ROOT / "tests" / "bench" / "replicas.py"), "--requests", "500", "--replicas", "3"]
    first = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout
    seed = re.match(r"seed (\d+);", first)[1]
    again = subprocess.run([*command, "--seed", seed], capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout
    assert again == first
