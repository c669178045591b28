"""No power cut takes back what zarrd has acknowledged, on ext4 and XFS; and the rig that says so (cut.py) can say otherwise.

ZARRD_POWER_CUTS is how many there are on each file system, ZARRD_SEED what they and the clients throw dice with.
"""

import collections
import errno
import functools
import itertools
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import time

import pytest
from cut import FAULTS, THROWS_MAX, survived
from device import SECTOR_BYTES, UNTORN, Unmountable, torn, why_not
from files import ROW_ELEMENTS, SOMETHING, Files
from history import ABSENT, Histories, Verdict
from live import BINARY
from workload import array

HERE = pathlib.Path(__file__).parent
DISK = BINARY.parent / "zarrd-powercut-disk"
CUTS_N = int(os.environ.get("ZARRD_POWER_CUTS", 200))
CONTROL_CUTS_N = 10  # of each disk
CONTROL_DISKS_N = 8  # at most
CUT_S = 1200
SEED = int(os.environ.get("ZARRD_SEED", random.randrange(1 << 32)))

reason = functools.cache(lambda system: why_not(system, DISK))

pytestmark = pytest.mark.final


def cut(system, n, *options, seed=SEED):
    """What cut.py found, and what it printed before."""
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, HERE / "cut.py", system, str(n), str(seed),
               "--disk", DISK, *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=CUT_S)
    assert ran.returncode == 0, f"seed {seed}: {ran.stdout}{ran.stderr}"
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
    if found["thrown_again"]:
        closing_line(f"... {found['thrown_again']} file systems did not outlast their cut:\n{printed}")
    assert found["cuts"] == CUTS_N and found["writes"] > CUTS_N and found["thrown_again"] <= CUTS_N // 20, printed
    assert [found[fault] for fault in FAULTS] == [0] * len(FAULTS), f"seed {SEED}:\n{printed}"


@pytest.mark.parametrize("without, damage", [
    ("all", ["lost"]),
    ("fdatasync", ["torn"]),  # names without their bytes
    ("fsync-directory", ["lost", "stale"]),  # bytes without their names
])
@pytest.mark.parametrize("system", ["ext4", "xfs"], indirect=True)
def test_the_rig_sees_what_is_not_synced(system, without, damage, closing_line):
    total, n_disks = collections.Counter(), 0
    while sum(total[fault] for fault in damage) == 0 and n_disks < CONTROL_DISKS_N:
        found, printed = cut(system, CONTROL_CUTS_N, "--without", without, seed=SEED + n_disks)
        assert found["early"] == 0, f"seed {SEED + n_disks}:\n{printed}"
        total.update(found)
        n_disks += 1
    closing_line(f"... on {system} without {without}: {total['damaged']} of {total['cuts']} cuts do damage: "
                 + ", ".join(f"{total[fault]} {fault}" for fault in FAULTS[:3]))
    assert sum(total[fault] for fault in damage) > 0, f"seed {SEED}: {n_disks} disks"


def test_a_torn_write_never_splits_the_superblock():
    first, end = UNTORN["ext4"]
    shapes = set()
    for seed in range(1000):
        kept = [offset for start, stop in torn(0, 8192, (first, end), random.Random(seed)) for offset in range(start, stop, SECTOR_BYTES)]
        shapes.add(tuple(kept))
        assert (first in kept) == (end - SECTOR_BYTES in kept), seed
    assert len(shapes) > 900  # and all else is torn as the dice fall


@pytest.mark.parametrize("faults, n_told", [
    ([], 0),
    ([Unmountable("bad superblock"), OSError(errno.EUCLEAN, "structure needs cleaning")], 2),
    ([Unmountable("bad superblock")] * THROWS_MAX, None),
    ([OSError(errno.ENOSPC, "no space")], None),
    ([AssertionError()], None),
])
def test_only_a_broken_file_system_is_thrown_again(faults, n_told):
    left_over = list(faults)

    def act():
        if left_over:
            raise left_over.pop(0)
        return "judged"

    if n_told is None:
        with pytest.raises(type(faults[-1])):
            survived(act)
    else:
        found, told = survived(act)
        assert found == "judged" and len(told) == n_told
    assert not left_over


def history(moments, states="abcdef"):
    """A place that was to hold "a", "b", "c" ... : of each, when it was asked for and acknowledged."""
    now = iter(moment for pair in moments for moment in pair)
    histories = Histories(lambda: next(now))
    for i in range(len(moments)):
        histories.do({"place": states[i]}, lambda: True)
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


@pytest.mark.parametrize("seen, at, verdict", [
    ("a", 15, Verdict.STALE),  # it was to be gone, and is not asked for again yet
    ("a", 35, Verdict.RIGHT),
    (ABSENT, 35, Verdict.RIGHT),
    (ABSENT, 40, Verdict.LOST),
])
def test_a_history_knows_what_comes_back(seen, at, verdict):
    assert history([(2, 3), (10, 12), (30, 40)], ["a", ABSENT, "a"]).judge(seen, at) == verdict


def left(folder, n, rows):
    """An array of n elements (None: without a document) that has those rows; each holds its number in all elements."""
    (folder / "a/c").mkdir(parents=True)
    if n is not None:
        (folder / "a/zarr.json").write_text(json.dumps(array([n], [ROW_ELEMENTS], "int32")))
    for i in rows:
        (folder / f"a/c/{i}").write_bytes(struct.pack("<i", i) * ROW_ELEMENTS)
    return Files(folder)


def judged(files, *asked):
    """What is wrong with what is left after ({place: state}, whether it was acknowledged)."""
    histories = Histories(itertools.count().__next__)
    for states, is_done in asked:
        for change in [histories.place(place).ask(state, histories.moment()) for place, state in states.items()]:
            change.acknowledged = histories.moment() if is_done else None
    return [(verdict, kind) for verdict, (kind, _), _ in histories.judge(files.see, histories.moment())]


ONE_ROW, TWO_ROWS = ({("elements", "a"): runs} for runs in (f"{ROW_ELEMENTS}x0", f"{ROW_ELEMENTS}x0 {ROW_ELEMENTS}x1"))


@pytest.mark.parametrize("n, rows, is_done, wrong", [
    (ROW_ELEMENTS, [0], False, []),
    (ROW_ELEMENTS, [0, 1], False, []),  # elements outside of the array
    (2 * ROW_ELEMENTS, [0, 1], False, []),
    (2 * ROW_ELEMENTS, [0], False, [(Verdict.TORN, "elements")]),  # longer, without the elements
    (2 * ROW_ELEMENTS - 1, [0, 1], False, [(Verdict.TORN, "elements")]),
    (None, [0, 1], False, [(Verdict.LOST, "elements")]),
    (ROW_ELEMENTS, [0, 1], True, [(Verdict.STALE, "elements")]),
    (2 * ROW_ELEMENTS, [0, 1], True, []),
])
def test_an_append_is_there_or_not(tmp_path, n, rows, is_done, wrong):
    assert judged(left(tmp_path, n, rows), (ONE_ROW, True), (TWO_ROWS, is_done)) == wrong


@pytest.mark.parametrize("n, rows, is_done, wrong", [
    (2 * ROW_ELEMENTS, [0, 1], False, []),
    (None, [0, 1], False, []),  # chunks that nobody finds
    (None, [], False, []),
    (2 * ROW_ELEMENTS, [0], False, [(Verdict.TORN, "elements")]),  # half an array
    (None, [1], True, [(Verdict.STALE, "below")]),
    (2 * ROW_ELEMENTS, [0, 1], True, [(Verdict.STALE, "elements"), (Verdict.STALE, "below")]),
    (None, [], True, []),
])
def test_an_erasure_leaves_no_half_array(tmp_path, n, rows, is_done, wrong):
    assert judged(left(tmp_path, n, rows), ({**TWO_ROWS, ("below", "a"): SOMETHING}, True),
                  ({("elements", "a"): ABSENT, ("below", "a"): ABSENT}, is_done)) == wrong


@pytest.mark.parametrize("consolidated, wrong", [
    ({"kind": "inline", "must_understand": False, "metadata": {"b": {"attributes": {"state": 1}}}}, []),
    ({"kind": "inline", "must_understand": False, "metadata": {"b": {"attributes": {"state": 2}}}}, []),
    ({"kind": "inline", "must_understand": False, "metadata": {"b": {"attributes": {"state": 3}}}}, [(Verdict.TORN, "listing")]),
    ({"kind": "inline", "must_understand": False, "metadata": {"b": {}}}, [(Verdict.TORN, "listing")]),
    ({"kind": "inline", "metadata": {"b": {"attributes": {"state": 1}}}}, [(Verdict.TORN, "listing")]),
    (None, [(Verdict.LOST, "listing")]),
])
def test_a_listing_is_that_of_one_moment(tmp_path, consolidated, wrong):
    document = {"zarr_format": 3, "node_type": "group"} | ({"consolidated_metadata": consolidated} if consolidated else {})
    (tmp_path / "a").mkdir()
    (tmp_path / "a/zarr.json").write_text(json.dumps(document))
    assert judged(Files(tmp_path), ({("listing", "a"): '{"b": 1}'}, True), ({("listing", "a"): '{"b": 2}'}, False)) == wrong
