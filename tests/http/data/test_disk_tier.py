"""The disk tier (cache.disk_path): what was read of a remote store survives a restart, is served without the origin as far as it
is trusted, and never as fresher than it is."""

import json
import os
import signal
import subprocess

import pytest
from client import DEADLINE_S, wait_until
from live import BINARY
from origin import Origin

MIB = 1 << 20
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
         "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}
SHARDED = {**ARRAY, "codecs": [{"name": "sharding_indexed", "configuration": {
    "chunk_shape": [2], "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]}
SLICE = "/v1/datasets/x/slices/?format=raw"
REFUSED = (502, 503, 504)


def shard(elements):
    """A shard of two chunks of two elements, with its index at the end."""
    index = b"".join(n.to_bytes(8, "little") for n in (0, 2, 2, 2))
    return bytes(elements) + index


@pytest.fixture
def origin():
    with Origin() as origin:
        origin.put("s/zarr.json", json.dumps(ARRAY).encode())
        origin.put("s/c/0", bytes([1, 2, 3, 4]))
        origin.put("s/c/1", bytes([5, 6, 7, 8]))
        yield origin


@pytest.fixture
def start(serve, origin, tmp_path):
    def start(disk_bytes="8MiB", faults=None, **dataset):
        return serve(faults=faults, config={
            "datasets": {"x": {"location": f"{origin.url}/s", **dataset}},
            "remote": {"retries": 0},
            "cache": {"disk_path": str(tmp_path), "disk_bytes": disk_bytes}})

    return start


def kept(server):
    """All that has been read of the origin since the start has been written."""
    def is_kept():
        metrics = server.metrics()
        return metrics["zarrd_disk_kept_total"] == metrics["zarrd_disk_misses_total"] > 0

    wait_until(is_kept)


def end(server):
    """As asked, so that another one may start on what it has left."""
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(DEADLINE_S) == 0, server.log


def gone(origin):
    return origin.fault("reset", times=None, at="request")


def entries(tmp_path):
    return sorted(path for path in (tmp_path / "zarrd-cache").iterdir() if len(path.name) == 33)


@pytest.mark.parametrize("document", [ARRAY, SHARDED])
def test_an_immutable_dataset_survives_a_restart_without_its_origin(origin, start, document):
    origin.put("s/zarr.json", json.dumps(document).encode())
    if document is SHARDED:
        origin.put("s/c/0", shard([1, 2, 3, 4]))
        origin.put("s/c/1", shard([5, 6, 7, 8]))
    server = start(immutable=True)
    assert server.get(SLICE).body == bytes(range(1, 9))
    kept(server)
    end(server)
    fault = gone(origin)
    server = start(immutable=True)
    n = origin.count()
    answer = server.get(SLICE)
    assert (answer.status, answer.body) == (200, bytes(range(1, 9)))
    assert origin.count() == n
    assert server.get("/zarr/x/c/2").status in REFUSED  # it was never read: not known, and not absent
    fault.remove()


def test_stale_objects_are_never_served_as_fresh(origin, start):
    server = start(revalidate_ms=0)
    assert server.get(SLICE).body == bytes(range(1, 9))
    kept(server)
    end(server)
    fault = gone(origin)
    server = start(revalidate_ms=0)
    assert server.get(SLICE).status in REFUSED
    assert server.get("/zarr/x/c/0").status in REFUSED
    fault.remove()
    wait_until(lambda: server.get(SLICE).status == 200)  # the endpoint was left alone for a while
    assert server.get(SLICE).body == bytes(range(1, 9))
    origin.put("s/c/0", bytes([9, 9, 9, 9]))
    assert server.get(SLICE).body == bytes([9, 9, 9, 9, 5, 6, 7, 8])


def test_within_its_time_it_is_served_after_a_restart_and_not_after_it(origin, start):
    server = start(revalidate_ms=3600000)
    assert server.get(SLICE).body == bytes(range(1, 9))
    kept(server)
    end(server)
    origin.put("s/c/0", bytes([9, 9, 9, 9]))
    fault = gone(origin)
    server = start(revalidate_ms=3600000)
    assert server.get(SLICE).body == bytes(range(1, 9))
    end(server)
    server = start(revalidate_ms=1)
    assert server.get(SLICE).status in REFUSED
    fault.remove()
    wait_until(lambda: server.get(SLICE).status == 200)
    assert server.get(SLICE).body == bytes([9, 9, 9, 9, 5, 6, 7, 8])


def test_after_a_kill_all_that_was_kept_is_whole(origin, start):
    server = start(immutable=True)
    assert server.get(SLICE).body == bytes(range(1, 9))
    kept(server)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    server.process.returncode = 0
    fault = gone(origin)
    server = start(immutable=True)
    assert server.get(SLICE).body == bytes(range(1, 9))
    assert server.metrics()["zarrd_disk_dropped_total"] == 0
    fault.remove()


def test_damaged_files_are_dropped_and_read_again(origin, start, tmp_path):
    server = start(immutable=True)
    assert server.get(SLICE).body == bytes(range(1, 9))
    kept(server)
    end(server)
    for path in entries(tmp_path):
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    server = start(immutable=True)
    assert server.get(SLICE).body == bytes(range(1, 9))
    kept(server)
    end(server)
    fault = gone(origin)
    server = start(immutable=True)
    assert server.get(SLICE).body == bytes(range(1, 9))
    fault.remove()


@pytest.mark.parametrize("code", [28, 30, 5])  # ENOSPC, EROFS, EIO
def test_a_disk_that_fails_turns_the_tier_off_once(origin, start, code):
    server = start(immutable=True, faults={"write.always": str(code)})
    assert server.get(SLICE).body == bytes(range(1, 9))
    wait_until(lambda: server.metrics()["zarrd_disk_on"] == 0)
    for n in range(3):
        origin.put(f"s/other/{n}", b"x")
        assert server.get(f"/zarr/x/other/{n}").body == b"x"
    assert server.log.count("off until the next start") == 1


def test_a_second_process_runs_without_it(origin, start):
    first = start(immutable=True)
    assert first.get(SLICE).body == bytes(range(1, 9))
    second = start(immutable=True)
    assert second.get(SLICE).body == bytes(range(1, 9))
    assert second.metrics()["zarrd_disk_on"] == 0
    assert "another process uses it" in second.log
    assert first.metrics()["zarrd_disk_on"] == 1


def test_the_directory_is_private_and_bounded_and_names_nobody(origin, start, tmp_path):
    server = start(disk_bytes="1MiB", immutable=True)
    for n in range(300):
        origin.put(f"s/o/{n}", os.urandom(4000))
        assert server.get(f"/zarr/x/o/{n}").status == 200
    kept(server)
    assert (tmp_path / "zarrd-cache").stat().st_mode & 0o777 == 0o700
    assert sum(path.stat().st_blocks * 512 for path in entries(tmp_path)) <= MIB
    assert server.metrics()["zarrd_disk_evicted_total"] > 0
    assert not any(origin.url.encode() in path.read_bytes() for path in entries(tmp_path))


@pytest.mark.parametrize("cache, said", [
    ({"disk_path": "/nowhere/at/all", "disk_bytes": "8MiB"}, "there is no such directory"),
    ({"disk_path": "/etc/passwd", "disk_bytes": "8MiB"}, "not a directory"),
    ({"disk_path": "/tmp"}, "cache.disk_bytes is 0"),
    ({"disk_path": "/tmp", "disk_bytes": 4096}, "at least 1MiB"),
    ({"disk_bytes": "8MiB"}, "cache.disk_path names no directory"),
])
@pytest.mark.parametrize("more", [[], ["--check-config"]])
def test_settings_that_cannot_be_are_refused_at_the_start(tmp_path, cache, said, more):
    (tmp_path / "config.json").write_text(json.dumps({"datasets": {"x": {"location": "mem:"}}, "cache": cache}))
    run = subprocess.run([BINARY, "--config", tmp_path / "config.json", "--listen", "127.0.0.1:0", *more], capture_output=True, text=True)
    assert (run.returncode, said in run.stderr) == (2, True), run.stderr
