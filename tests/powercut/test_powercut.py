"""No power cut takes back what zarrd has acknowledged, on ext4 and XFS; and the rig that says so (cut.py) can say otherwise.

ZARRD_POWER_CUTS is how many there are on each file system, ZARRD_SEED what they and the clients throw dice with.
"""

import functools
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest
from cut import FAULTS
from device import SECTOR_BYTES, UNTORN, torn, why_not
from history import ABSENT, Histories, Verdict
from live import BINARY

HERE = pathlib.Path(__file__).parent
DISK = BINARY.parent / "zarrd-powercut-disk"
CUTS_N = int(os.environ.get("ZARRD_POWER_CUTS", 200))
CONTROL_CUTS_N = 30
SEED = int(os.environ.get("ZARRD_SEED", random.randrange(1 << 32)))

reason = functools.cache(lambda system: why_not(system, DISK))


def cut(system, n, *options):
    """What cut.py found, and what it printed before."""
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, HERE / "cut.py", system, str(n), str(SEED),
               "--disk", DISK, *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, f"seed {SEED}: {ran.stdout}{ran.stderr}"
    printed, _, last = ran.stdout.strip().rpartition("\n")
    return json.loads(last), printed


@pytest.fixture
def system(request, closing_line):
    if reason(request.param):
        closing_line(f"NOT CHECKED: power cuts on {request.param}: {reason(request.param)}")
        pytest.skip(reason(request.param))
    return request.param


@pytest.mark.parametrize("system", ["ext4", "xfs"], indirect=True)
def test_no_power_cut_takes_back_what_was_acknowledged(system, closing_line):
    began = time.monotonic()
    found, printed = cut(system, CUTS_N)
    closing_line(f"power cuts on {system}: {found['cuts']} within {found['writes']} writes to {found['places']} places, seed {SEED}: "
                 + ", ".join(f"{found[fault]} {fault}" for fault in FAULTS) + f" ({time.monotonic() - began:.0f} s)")
    assert found["cuts"] == CUTS_N and found["writes"] > CUTS_N
    assert [found[fault] for fault in FAULTS] == [0] * len(FAULTS), f"seed {SEED}:\n{printed}"


@pytest.mark.parametrize("without, damage", [
    ("all", ["lost"]),
    ("fdatasync", ["torn"]),  # names without their bytes
    ("fsync-directory", ["lost", "stale"]),  # bytes without their names
])
@pytest.mark.parametrize("system", ["ext4", "xfs"], indirect=True)
def test_the_rig_sees_what_is_not_synced(system, without, damage, closing_line):
    found, _ = cut(system, CONTROL_CUTS_N, "--without", without)
    closing_line(f"... on {system} without {without}: {found['damaged']} of {found['cuts']} cuts do damage: "
                 + ", ".join(f"{found[fault]} {fault}" for fault in FAULTS[:3]))
    assert sum(found[fault] for fault in damage) > 0 and found["early"] == 0, f"seed {SEED}"


def test_a_torn_write_never_splits_the_superblock():
    first, end = UNTORN["ext4"]
    shapes = set()
    for seed in range(1000):
        kept = [offset for start, stop in torn(0, 8192, (first, end), random.Random(seed)) for offset in range(start, stop, SECTOR_BYTES)]
        shapes.add(tuple(kept))
        assert (first in kept) == (end - SECTOR_BYTES in kept), seed
    assert len(shapes) > 900  # and all else is torn as the dice fall


def history(moments):
    """A place that was to hold "a", "b", "c" ... : of each, when it was asked for and acknowledged."""
    now = iter(moment for pair in moments for moment in pair)
    histories = Histories(lambda: next(now))
    for i in range(len(moments)):
        histories.do({"place": "abcdef"[i]}, lambda: True)
    return histories.of["place"]


@pytest.mark.parametrize("seen, at, verdict", [
    (ABSENT, 5, Verdict.RIGHT),  # asked for, not acknowledged: either way
    ("a", 5, Verdict.RIGHT),
    ("a", 1, Verdict.EARLY),  # nobody had asked yet
    ("a", 10, Verdict.RIGHT),  # acknowledged at this very record
    (ABSENT, 10, Verdict.LOST),
    ("b", 25, Verdict.RIGHT),
    ("a", 25, Verdict.RIGHT),
    ("a", 30, Verdict.STALE),
    (ABSENT, 99, Verdict.LOST),
    ("x", 30, Verdict.TORN),
])
def test_a_history_knows_what_can_be(seen, at, verdict):
    assert history([(2, 10), (20, 30)]).judge(seen, at) == verdict
