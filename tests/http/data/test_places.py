"""A dataset is its path: what is there now is served, without a reload and without a restart."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import subprocess
import threading
import time

import numpy as np
import pytest
from arrays import write_array
from client import DEADLINE_S, JSON
from documents import LITTLE
from files import contents
from live import BINARY
from workload import tidied

N = 64
BYTES = {"Content-Type": "application/octet-stream"}


def make(folder, first):
    """A store with one array that counts from `first`."""
    write_array(folder / "x", (N,), (8,), [LITTLE], np.arange(N, dtype="<f4") + first)
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    return folder


def values(first):
    return (np.arange(N, dtype="<f4") + first).tobytes()


def remade(place, other):
    shutil.rmtree(place)
    make(place, 100)


def renamed_over(place, other):
    make(other, 100)
    place.rename(place.with_name("before"))
    other.rename(place)


def relinked(place, other):
    """`place` was a link from the beginning."""
    make(other, 100)
    fresh = place.with_name("fresh-link")
    fresh.symlink_to(other)
    os.replace(fresh, place)


WAYS = [remade, renamed_over, relinked]


@pytest.fixture
def place(tmp_path, request):
    """Where the dataset is; a link to it for those who replace links."""
    way = request.getfixturevalue("way") if "way" in request.fixturenames else None
    if way is relinked:
        make(tmp_path / "real", 0)
        (tmp_path / "store").symlink_to(tmp_path / "real")
    else:
        make(tmp_path / "store", 0)
    return tmp_path / "store"


def config(place, **members):
    return {"datasets": {"a": {"location": str(place), "revalidate_ms": 0, "writable": True, **members}}}


def all_answers(server):
    """Everything that is kept of a dataset in some cache: asked twice, so that the second answer may be a kept one."""
    targets = {
        "slice": "/v1/datasets/a/slices/x",
        "chunk": "/v1/datasets/a/chunks/x?index=0&decoded=1",
        "key": "/zarr/a/x/c/0",
        "node": "/v1/datasets/a/nodes/x",
        "tree": "/v1/datasets/a/tree/",
        "document": "/zarr/a/x/zarr.json",
        "index": "/zarr/a/x/",
        "absent": "/zarr/a/x/c/99",
    }
    return {name: [server.get(target) for _ in range(2)] for name, target in targets.items()}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("members", [{}, {"immutable": True, "writable": False}, {"writable": False}])
def test_the_present_store_at_the_path_is_served(serve, place, tmp_path, way, members):
    server = serve(config=config(place, **members))
    before = all_answers(server)
    assert all(answer.body == values(0) for answer in before["slice"])
    way(place, tmp_path / "other")
    after = all_answers(server)
    assert all(answer.body == values(100) for answer in after["slice"])
    assert all(answer.body == values(100)[:32] for answer in after["chunk"] + after["key"])
    assert all(answer.status == 404 for answer in after["absent"])
    for name in ("node", "tree", "document", "index"):
        assert [answer.status for answer in after[name]] == [200, 200], name
    assert server.get("/readyz").json()["status"] == "ready"


def test_while_nothing_is_there_it_says_so_and_comes_back(serve, place):
    server = serve(config=config(place))
    all_answers(server)
    hidden = place.with_name("hidden")
    place.rename(hidden)
    for answers in all_answers(server).values():
        for answer in answers:
            assert answer.status == 503 and answer.code == "store_error", answer
            assert str(place) not in answer.body.decode()
    assert server.request("PUT", "/zarr/a/x/c/0", BYTES, bytes(32)).status == 503
    listed = server.get("/v1/datasets").json()["datasets"]
    assert [(one["name"], one["state"]) for one in listed] == [("a", "unavailable")] and listed[0]["reason"]
    ready = server.get("/readyz")
    assert ready.status == 503 and ready.code == "store_error" and "'a'" in ready.json()["detail"]
    assert server.get("/").status == 200 and server.get("/metrics").status == 200
    hidden.rename(place)
    assert all_answers(server)["slice"][0].body == values(0)
    assert server.get("/readyz").status == 200 and "state" not in server.get("/v1/datasets").json()["datasets"][0]


READS = [
    ("GET", "/v1/datasets/a/slices/x"),
    ("GET", "/v1/datasets/a/stats/x"),
    ("GET", "/v1/datasets/a/chunks/x?index=0&decoded=1"),
    ("POST", "/v1/datasets/a/chunks/x"),
    ("GET", "/v1/datasets/a/nodes/x"),
    ("GET", "/v1/datasets/a/nodes/absent"),
    ("GET", "/v1/datasets/a/tree/"),
    ("GET", "/zarr/a/x/c/0"),
    ("GET", "/zarr/a/x/c/99"),
    ("GET", "/zarr/a/x/zarr.json"),
    ("GET", "/zarr/a/x/"),
    ("GET", "/zarr/a/"),
]


@pytest.mark.parametrize("members", [{}, {"immutable": True, "writable": False}])
@pytest.mark.parametrize("known", [False, True], ids=["cold", "known"])
@pytest.mark.parametrize("method, target", READS)
def test_a_removed_directory_is_unavailable_at_once(serve, place, method, target, known, members):
    """Before anybody looks again: 200 is what was read before, and all else is 503."""
    server = serve(config=config(place, revalidate_ms=1000, **members))
    body = (JSON, b'{"indices": [[0], [1]]}') if method == "POST" else ({}, None)
    server.get("/zarr/a/zarr.json")
    if known:
        server.get("/v1/datasets/a/nodes/x")
    shutil.rmtree(place)
    answer = server.request(method, target, *body)
    assert answer.status == 503 and answer.code == "store_error" and answer.headers["retry-after"] == "1" or (
        known and answer.status == 200 and target.endswith("nodes/x")), answer
    if answer.status == 503:  # from then on nothing is trusted
        for other_method, other in READS:
            body = (JSON, b'{"indices": [[0], [1]]}') if other_method == "POST" else ({}, None)
            answer = server.request(other_method, other, *body)
            assert answer.status == 503 and answer.code == "store_error", answer
        assert server.get("/readyz").status == 503
    make(place, 100)
    end = time.monotonic() + DEADLINE_S
    while server.get("/v1/datasets/a/slices/x").status == 503:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert server.get("/v1/datasets/a/slices/x").body == values(100)


@pytest.mark.parametrize("way", WAYS)
def test_it_is_seen_within_revalidate_ms(serve, place, tmp_path, way):
    server = serve(config=config(place, revalidate_ms=300))
    all_answers(server)
    way(place, tmp_path / "other")
    changed = time.monotonic()
    while time.monotonic() < changed + 0.35:  # asked all the time: no answer renews what is old
        server.get("/v1/datasets/a/slices/x"), server.get("/zarr/a/x/c/0")
    assert server.get("/v1/datasets/a/slices/x").body == values(100)
    assert server.get("/zarr/a/x/c/0").body == values(100)[:32]


WRITES = [
    ("PUT", "/zarr/a/x/c/0", BYTES, bytes(32)),
    ("DELETE", "/zarr/a/x/c/0", {}, None),
    ("PUT", "/v1/datasets/a/slices/x?slice=0:16", BYTES, bytes(64)),
    ("PUT", "/v1/datasets/a/slices/x?append=0", BYTES, bytes(64)),
    ("PUT", "/v1/datasets/a/chunks/x?index=0&decoded=1", BYTES, bytes(32)),
    ("PATCH", "/v1/datasets/a/nodes/x", {"Content-Type": "application/merge-patch+json"}, b'{"attributes": {"a": 1}}'),
    ("DELETE", "/v1/datasets/a/nodes/x", {}, None),
    ("POST", "/v1/datasets/a/consolidate/", {}, b""),
]


@pytest.mark.parametrize("way", [renamed_over, relinked])
@pytest.mark.parametrize("write", WRITES, ids=lambda write: f"{write[0]} {write[1]}")
def test_a_write_goes_to_what_is_at_the_path_now(serve, place, tmp_path, way, write):
    server = serve(config=config(place, revalidate_ms=3600_000))  # writers trust nothing
    all_answers(server)
    way(place, tmp_path / "other")
    old = place.with_name("real" if way is relinked else "before")
    before, new = contents(old), contents(place.resolve())
    assert server.request(*write).status in (200, 201, 204)
    assert contents(old) == before
    assert contents(place.resolve()) != new


def test_a_write_under_way_does_not_end_in_the_old_directory(serve, place, tmp_path):
    """It hangs before its object has its name; meanwhile the directory is replaced."""
    server = serve(config=config(place), faults={})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.faulting("fdatasync.wait"):
            writing = pool.submit(server.request, "PUT", "/v1/datasets/a/slices/x", BYTES, values(7))
            server.until_waiting("fdatasync")
            renamed_over(place, tmp_path / "other")
        answer = writing.result(DEADLINE_S)
    assert answer.status == 503 and answer.code == "store_error", answer
    chunk = np.frombuffer((place.with_name("before") / "x" / "c" / "0").read_bytes(), "<f4")
    assert chunk.tolist() == list(range(8))
    assert server.get("/v1/datasets/a/slices/x").body == values(100)
    assert tidied(place.with_name("before"))


CHANGES = [
    ("PUT", "/v1/datasets/a/slices/x?append=0", BYTES, values(7)),
    ("PATCH", "/v1/datasets/a/nodes/x", {"Content-Type": "application/merge-patch+json"}, b'{"attributes": {"a": 1}}'),
    ("PUT", "/v1/datasets/a/nodes/x?erase_chunks=1", {"Content-Type": "application/json"},
     b'{"zarr_format": 3, "node_type": "group"}'),
    ("DELETE", "/v1/datasets/a/nodes/x", {}, None),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change[0]} {change[1]}")
def test_a_change_that_fails_half_way_is_undone_in_the_old_directory(serve, place, tmp_path, change):
    """It hangs at its first rename; meanwhile the directory is moved away."""
    server = serve(config=config(place), faults={})
    assert server.request("POST", "/v1/datasets/a/consolidate/").status == 200
    before = contents(place)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.faulting("rename.wait"):
            changing = pool.submit(server.request, *change)
            server.until_waiting("rename")
            place.rename(tmp_path / "before")
        answer = changing.result(DEADLINE_S)
    assert answer.status == 503, answer
    assert "rollback incomplete" not in answer.json()["detail"]
    assert contents(tmp_path / "before") == before


def open_files(server):
    """What its descriptors are open on."""
    for entry in pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield os.readlink(entry)


def test_the_old_directory_is_closed_and_its_events_end(serve, place, tmp_path):
    server = serve(config=config(place))
    stream = server.connection()
    stream.request("GET", "/v1/datasets/a/events")
    answer = stream.getresponse()
    renamed_over(place, tmp_path / "other")
    assert server.get("/v1/datasets/a/slices/x").body == values(100)
    answer.read()  # to its end
    old = str(place.with_name("before"))
    end = time.monotonic() + DEADLINE_S
    while old in open_files(server):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_replaced_again_and_again_under_load(serve, place, tmp_path):
    """Each answer is one of a whole store, or says that none is there; no descriptor is left."""
    server = serve(config=config(place))
    stop = threading.Event()
    allowed = {values(0), values(100)}

    def read(_):
        connection = server.connection()
        n = 0
        while not stop.is_set() or n == 0:  # in the end there is one that stays
            answer = server.get("/v1/datasets/a/slices/x", connection=connection)
            assert answer.status == 200 and answer.body in allowed or answer.status == 503, answer
            n += answer.status == 200
        return n

    others = [make(tmp_path / f"other{i}", 100 * i) for i in range(2)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, i) for i in range(4)]
        try:
            for i in range(100):
                place.rename(tmp_path / "aside")
                others[i % 2].rename(place)
                (tmp_path / "aside").rename(others[i % 2])
        finally:
            stop.set()
        assert all(reader.result(DEADLINE_S) > 0 for reader in readers)
    held = list(open_files(server))
    assert sum(str(tmp_path) in target for target in held) <= 3, held


def test_a_dataset_that_cannot_be_opened_does_not_stop_the_others(serve, place, tmp_path):
    locations = {"a": place, "gone": tmp_path / "gone", "file": tmp_path / "file"}
    (tmp_path / "file").write_text("no directory")
    server = serve(config={"datasets": {name: {"location": str(path), "revalidate_ms": 0}
                                        for name, path in locations.items()}})
    assert server.get("/v1/datasets/a/slices/x").body == values(0)
    for name in ("gone", "file"):
        assert server.get(f"/zarr/{name}/zarr.json").status == 503
        assert f"dataset '{name}' is unavailable" in server.log
    ready = server.get("/readyz")
    assert ready.status == 200 and [one["name"] for one in ready.json()["unavailable"]] == ["gone", "file"]
    assert [one["name"] for one in server.get("/v1/datasets").json()["datasets"]] == list(locations)
    make(tmp_path / "gone", 100)
    assert server.get("/v1/datasets/gone/slices/x").body == values(100)
    (tmp_path / "file").unlink()
    make(tmp_path / "file", 200)
    assert server.get("/v1/datasets/file/slices/x").body == values(200)
    assert "unavailable" not in server.get("/readyz").json()


def test_none_that_can_be_opened_is_not_ready(serve, tmp_path):
    server = serve(config={"datasets": {"a": {"location": str(tmp_path / "gone"), "revalidate_ms": 0}}})
    assert server.get("/readyz").status == 503 and server.get("/livez").status == 200
    make(tmp_path / "gone", 0)
    assert server.get("/readyz").json() == {"status": "ready", "datasets": 1}


@pytest.mark.parametrize("arguments", [["{gone}"], ["a={gone}"], ["{there}", "{gone}"]])
def test_locations_on_the_command_line_must_exist(place, tmp_path, arguments):
    words = [word.format(gone=tmp_path / "gone", there=place) for word in arguments]
    done = subprocess.run([BINARY, "--listen", "127.0.0.1:0", *words], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 2 and "no such directory" in done.stderr
