"""The benchmarks run: every answer is the expected one, every row is printed. Nothing is timed."""

import json
import subprocess
import sys

from live import BINARY, ROOT

KEYS = ["metadata document", "chunk of 4 KiB", "chunk of 64 KiB", "chunk of 256 KiB", "chunk of 1 MiB", "256 chunks of 256 KiB",
        "ranges in a shard", "304", "404"]


def bench(tmp_path, *arguments, has_servers=True):
    """The rows of one short run of tests/bench with the program under test, and what was printed."""
    figures = tmp_path / "figures.json"
    command = [sys.executable, ROOT / "tests/bench/bench.py", "--build", BINARY.parent, "--data", tmp_path / "data",
               "--quick", "--rounds", "1", "--seconds", "0.05", "--json", figures, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = json.loads(figures.read_text())["rows"]
    assert not has_servers or rows.pop()["row"] == "longest turn"
    return rows, ran.stdout


BLOCKS = ["point", "tile 256x256", "frame 512x512", "series of 64"]


def test_every_row_of_keys_is_measured_and_printed(tmp_path):
    rows, printed = bench(tmp_path, "--group", "keys")
    assert [row["row"] for row in rows] == KEYS
    for row in rows:
        assert row["row"] in printed
        zarrd = row["servers"][0]
        assert zarrd["server"] == "zarrd" and zarrd["n_failed"] == 0, row
        assert zarrd["rate"] > 0 and zarrd["cpu_us"] > 0, row


def test_slices_are_right_warm_and_cold_and_stand_beside_the_bare_codec(tmp_path):
    rows, printed = bench(tmp_path, "--group", "slices", "--only", "map_lz4", "--no-calls")
    assert [row["row"] for row in rows] == [f"{state} map_lz4 {block}" for state in ("cached", "cold") for block in BLOCKS] + [
        "mean over time of map_lz4, x of decoding alone", "cold map_lz4 mean over time"]
    assert printed.count("open, read, decode, copy and nothing else") == len(BLOCKS) + 1  # and the mean


def test_every_codec_of_a_library_decodes_what_the_library_does(tmp_path):
    rows, _ = bench(tmp_path, "--group", "codecs", has_servers=False)
    names = ["blosc", "zstd", "gzip", "zlib", "lz4", "bz2", "lzma", "crc32", "adler32"]
    libraries = [f"decode 1 MiB of {name}, x of the library's call" for name in names]
    assert [row["row"] for row in rows][:len(names)] == libraries and len(rows) == len(names) + 5  # and those of elements
    assert all(row["value"] > 0 for row in rows)


def test_listings_and_connections_are_measured(tmp_path):
    rows, _ = bench(tmp_path, "--group", "tree", "--group", "connections", "--no-calls")
    assert {row["group"] for row in rows} == {"tree", "connections"}
    assert [row["value"] for row in rows if row["group"] == "connections"] == [0] * 9


def test_requests_to_a_remote_store_are_counted(tmp_path):
    rows, _ = bench(tmp_path, "--group", "remote", "--only", "cold chunk")
    assert [row["value"] for row in rows] == [0, 1]
    rows, _ = bench(tmp_path, "--group", "remote", "--only", "shard")
    assert [row["value"] for row in rows][:2] == [0, 1] and not any(row["short"] for row in rows)


def test_credentials_are_judged_and_bad_ones_refused(tmp_path):
    rows, _ = bench(tmp_path, "--group", "access", "--no-calls")
    asked = ("prepared answer", "slice", "chunk of 64 KiB")
    signed = [f"signed URL: {what}{more}" for what in asked for more in ("", ", CPU more than without")]
    assert [row["row"] for row in rows] == [
        *[f"{kind}: {what}" for kind in ("token", "JSON Web Token") for what in asked], *signed,
        "zarrd: p99 beside 10000 bad tokens a second", "zarrd: start with 100000 tokens, x of 20"]
    assert all(server["n_failed"] == 0 for row in rows[:6] for server in row["servers"])


def test_writes_are_stored_and_stand_beside_the_bare_loop(tmp_path):
    rows, printed = bench(tmp_path, "--group", "writes", "--no-calls")
    assert [row["row"] for row in rows[:2]] == ["zarrd: durable chunks by key, to the loop's", "zarrd: durable chunks by index, to the loop's"]
    assert all(row["value"] > 0 and "FAILED" not in row["note"] for row in rows[:2])
    assert [row["row"] for row in rows[2:]] == ["chunks without a sync", "chunks in memory"]
    assert all(server["n_failed"] == 0 and server["rate"] > 0 for row in rows[2:] for server in row["servers"])


def test_greedy_clients_end_with_their_server(tmp_path):
    """It is killed under way, and that is said."""
    mortal = tmp_path / "zarrd"
    mortal.write_text(f'#!/bin/sh\n"{BINARY}" "$@" &\nsleep 6\nkill -9 $!\nwait\n')
    mortal.chmod(0o755)
    command = [sys.executable, ROOT / "tests/bench/greedy.py", mortal, "--free", "--seconds", "5", "--only", "large slices"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 1 and "the small requests failed" in ran.stderr, ran.stdout + ran.stderr
