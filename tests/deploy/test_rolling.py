"""A rolling restart behind haproxy loses nothing: tests/bench/rolling.py at a modest rate. Nothing is timed."""

import pathlib
import sys

import balancers
import pytest
from live import ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))

import rolling  # noqa: E402

MODEST = ["--restarts", "3", "--rate", "40", "--check-ms", "100", "--processes", "1"]


@pytest.mark.parametrize("lag_ms", [
    0,    # haproxy learns it from the replica's connections, and asks another one
    500,  # and here from its readiness
])
def test_a_rolling_restart_loses_nothing(tmp_path, lag_ms):
    if balancers.program("haproxy") is None:
        pytest.skip("haproxy not installed (deploy/packages/engines)")
    options = rolling.read_options([*MODEST, "--lag-ms", str(lag_ms)])
    outcomes, _, _, cut = rolling.measure(pathlib.Path(tmp_path), options)
    assert set(outcomes) == {"good"} and cut == 0, (outcomes, cut)
