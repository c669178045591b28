"""SIGKILL at any moment takes back nothing that was acknowledged, and leaves nothing behind that the next start does not clear away.

What was written survives in the page cache: this says nothing about syncs (test_powercut.py does), but all about half-done work.
"""

import itertools
import os
import random
import threading
import time

import pytest
from files import Files
from history import Histories
from live import Server
from workload import DATASET, Work, litter, tidied

KILLS_N = int(os.environ.get("ZARRD_KILLS", 200))
SEED = int(os.environ.get("ZARRD_SEED", random.randrange(1 << 32)))
WRITES_N_MAX = 30  # acknowledged before it, however long the disk takes
KILL_S_MAX = 0.01  # after that
DEADLINE_S = 60

pytestmark = pytest.mark.final


def kill(server, histories, n_writes, pause_s):
    histories.until(histories.n_acknowledged + n_writes, DEADLINE_S)
    time.sleep(pause_s)
    server.process.kill()


def test_no_kill_takes_back_what_was_acknowledged(tmp_path, closing_line):
    rng = random.Random(SEED)
    moment = itertools.count().__next__
    histories = Histories(moment)
    files = Files(tmp_path)
    config = {"datasets": {DATASET: {"location": str(tmp_path), "writable": True}}}
    n_written = n_littered = 0
    work = None
    for i in range(KILLS_N):
        server = Server(config=config)
        assert tidied(tmp_path), f"seed {SEED}: not swept: {litter(tmp_path)}"
        if work is None:
            work = Work(server, histories)
            work.prepare()
        work.server = server
        killer = threading.Thread(target=kill, args=(server, histories, rng.randrange(WRITES_N_MAX), rng.random() * KILL_S_MAX))
        killer.start()
        n_written += work.run(10**9, f"{SEED} {i}")
        killer.join()
        server.abandon()
        n_littered += bool(litter(tmp_path))
        wrong = histories.judge(files.see, moment())
        assert not wrong, f"seed {SEED}, kill {i}: {wrong[:10]}"
    closing_line(f"kills: {KILLS_N} within {n_written} writes to {len(histories.of)} places, seed {SEED}: none lost, stale or torn; "
                 f"{n_littered} left temporary files, swept at the next start")
    assert n_written > KILLS_N and n_littered > 0
    server = Server(config=config)
    try:
        assert tidied(tmp_path), f"seed {SEED}: not swept: {litter(tmp_path)}"
        assert not [node for node in server.get(f"/v1/datasets/{DATASET}/tree/").json()["nodes"] if "refused" in node]
    finally:
        server.stop()
