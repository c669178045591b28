"""What was answered with an error has not happened, and will not; what was answered with 2xx has: random changes under random faults.

ZARRD_PROMISES is how many changes are made in all (default: 10,000 in a full run, see rounds.py); ZARRD_SEED repeats a run as far as threads allow."""

import os
import random

import pytest
from live import Server
from promise import DATASET, DIALECTS, Field
from search_rounds import rounds

N_CHANGES = int(os.environ.get("ZARRD_PROMISES") or rounds(10000))
SHARDS = 4
N_HANDS = 6

pytestmark = pytest.mark.final


def open_store(root, durable):
    return Server("--set", "http.request_ms=100", faults={},
                  config={"datasets": {DATASET: {"location": str(root), "writable": True, "durable": durable}}})


@pytest.mark.parametrize("dialect, shard", [*(("v3", shard) for shard in range(SHARDS)), ("v2", 0), ("v2", 3)])
def test_an_error_changes_nothing_and_a_success_changes_what_was_asked(tmp_path, closing_line, dialect, shard):
    """By two processes in every other shard."""
    if dialect == "v2":
        (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    seed = os.environ.get("ZARRD_SEED", str(random.randrange(1 << 30))) + f"-{shard}"
    print(f"ZARRD_SEED={seed.rpartition('-')[0]}, shard {shard}")
    servers = [open_store(tmp_path, durable=shard < 2) for _ in range(1 + shard % 2)]
    field = Field(tmp_path, servers, seed, DIALECTS[dialect])
    try:
        field.run(N_HANDS, N_CHANGES // SHARDS)
    finally:
        for server in servers:
            server.stop()
    outcomes = {kind: sum(n for (_, status), n in field.counts.items() if status == kind) for kind in (2, 4, 5, 0)}
    closing_line(f"promises of {dialect}: {sum(outcomes.values())} changes by {len(servers)} processes, seed {seed}: {outcomes[2]} made, "
                 f"{outcomes[4]} refused, {outcomes[5]} failed, {outcomes[0]} left")
    assert outcomes[2] > 0 and outcomes[5] > 0
