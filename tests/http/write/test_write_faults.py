"""Disks that are full, refuse, fail, break or hang: each write that does not succeed leaves the hierarchy exactly as it was."""

import concurrent.futures
import errno
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest
from client import BYTES, DEADLINE_S, JSON, PATCH, soon, wait_until
from files import TEMPORARY, below, contents
from live import BINARY, Server
from workload import DATASET, array, sharded, tidied

AS_ROOT = os.geteuid() == 0
NODES = f"/v1/datasets/{DATASET}/nodes"
SLICES = f"/v1/datasets/{DATASET}/slices"
CHUNKS = f"/v1/datasets/{DATASET}/chunks"
KEYS = f"/zarr/{DATASET}"
CHUNK = 1000  # elements of a chunk of `a`
DOCUMENT = array([8 * CHUNK], [CHUNK], "int32")
V2 = {"zarr_format": 2, "shape": [3 * CHUNK], "chunks": [CHUNK], "dtype": "<i4", "compressor": None, "fill_value": 0, "order": "C",
      "filters": None}


def ones(n, value=1):
    return struct.pack("<i", value) * n


def text(document):
    return json.dumps(document).encode()


# Every way to change a hierarchy that holds `a` (two of eight chunks are there), `shards`, `old/deep`, and of v2 `two` and groups.
WRITES = {
    "a key replaced": ("PUT", f"{KEYS}/a/c/0", BYTES, ones(CHUNK, 2)),
    "a key created": ("PUT", f"{KEYS}/a/c/5", BYTES, ones(CHUNK)),
    "a document by key": ("PUT", f"{KEYS}/a/zarr.json", JSON, text({**DOCUMENT, "attributes": {"new": 1}})),
    "a chunk": ("PUT", f"{CHUNKS}/a?index=0", BYTES, ones(CHUNK, 3)),
    "a decoded chunk": ("PUT", f"{CHUNKS}/a?index=6&decoded=1", BYTES, ones(CHUNK, 3)),
    "an inner chunk": ("PUT", f"{CHUNKS}/shards?index=3&level=inner&decoded=1", BYTES, ones(200, 9)),
    "a slice of many chunks": ("PUT", f"{SLICES}/a", BYTES, ones(8 * CHUNK, 4)),
    "a slice within a chunk": ("PUT", f"{SLICES}/a?slice=3:9", BYTES, ones(6, 5)),
    "a slice of v2": ("PUT", f"{SLICES}/two", BYTES, ones(3 * CHUNK, 6)),
    "a node created": ("PUT", f"{NODES}/new/below/x", JSON, text(DOCUMENT)),
    "a node replaced": ("PUT", f"{NODES}/a", JSON, text({**DOCUMENT, "attributes": {"new": 2}})),
    "a node patched": ("PATCH", f"{NODES}/a", PATCH, text({"attributes": {"new": 3}})),
    "an append": ("PUT", f"{SLICES}/a?append=0", BYTES, ones(3 * CHUNK, 7)),
    "a node of v2 created": ("PUT", f"{NODES}/twos/new/x", JSON, text({**V2, "attributes": {"new": 4}})),
    "a node of v2 patched": ("PATCH", f"{NODES}/two", PATCH, text({"attributes": {"new": 5}, "shape": [4 * CHUNK]})),
    "a group of v2 that becomes an array": ("PUT", f"{NODES}/twos/g", JSON, text(V2)),
}
ERASURES = {
    "a key erased": ("DELETE", f"{KEYS}/a/c/0", {}, None),
    "a chunk erased": ("DELETE", f"{CHUNKS}/a?index=1", {}, None),
}


def ask(server, write):
    method, target, headers, body = write
    return server.request(method, target, headers, body)


def snapshot(root):
    """All that a hierarchy is, but for the times of directories."""
    return {str(path.relative_to(root)): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) if path.is_file() else None
            for path in below(root) if not path.name.startswith(TEMPORARY)}


def snapshot_without(root, key):
    return {other: found for other, found in snapshot(root).items() if other != key}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The hierarchy that WRITES are about; each test has a copy."""
    root = tmp_path_factory.mktemp("made")
    server = open_store(root)
    for write in (("PUT", f"{NODES}/a", JSON, text(DOCUMENT)),
                  ("PUT", f"{NODES}/shards", JSON, text(sharded(2))),
                  ("PUT", f"{NODES}/old/deep", JSON, text(DOCUMENT)),
                  ("PUT", f"{KEYS}/a/c/0", BYTES, ones(CHUNK)),
                  ("PUT", f"{KEYS}/a/c/1", BYTES, ones(CHUNK)),
                  ("PUT", f"{KEYS}/two/.zarray", JSON, text(V2)),
                  ("PUT", f"{KEYS}/two/1", BYTES, ones(CHUNK)),
                  ("PUT", f"{KEYS}/twos/.zgroup", JSON, text({"zarr_format": 2})),
                  ("PUT", f"{KEYS}/twos/g/.zgroup", JSON, text({"zarr_format": 2})),
                  ("PUT", f"{KEYS}/twos/g/.zattrs", JSON, text({"old": 1})),
                  ("PUT", f"{SLICES}/shards?slice=0:1000", BYTES, ones(1000))):
        answer = ask(server, write)
        assert answer.status in (200, 201), (write[:2], answer)
    server.stop()
    return root


def open_store(root, **more):
    return Server(config={"datasets": {DATASET: {"location": str(root), "writable": True}}}, **more)


@pytest.fixture
def root(made, tmp_path):
    return shutil.copytree(made, tmp_path / "store")


@pytest.fixture
def faulty(root):
    """A server whose system calls can be made to fail."""
    server = open_store(root, faults={})
    server.root = root
    yield server
    server.stop()


def refused(server, write, status, code):
    """That write fails so, and nothing has happened."""
    before = snapshot(server.root)
    answer = ask(server, write)
    assert (answer.status, answer.code) == (status, code), answer
    assert tidied(server.root) and soon(lambda: snapshot(server.root), before) == before


def succeeds(server, write):
    before = snapshot(server.root)
    answer = ask(server, write)
    assert answer.status in (200, 201, 204), answer
    assert snapshot(server.root) != before


@pytest.mark.parametrize("n_before", [0, 1, 3])
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("fault, code, problem", [
    ("write", errno.ENOSPC, (507, "no_space")),
    ("write", errno.EDQUOT, (507, "no_space")),
    ("write", errno.EIO, (502, "store_error")),
])
def test_a_write_that_fails_changes_nothing(faulty, name, fault, code, problem, n_before):
    """... whichever of its files it is, and the next one succeeds."""
    before = snapshot(faulty.root)
    faulty.fault(fault, f"{code} {n_before}")
    answer = ask(faulty, WRITES[name])
    if (faulty.faults / fault).exists():
        faulty.no_fault(fault)
        assert answer.status in (200, 201) and n_before > 0, answer  # it writes fewer files
        return
    assert (answer.status, answer.code) == problem, answer
    assert tidied(faulty.root) and soon(lambda: snapshot(faulty.root), before) == before
    assert faulty.get("/readyz").status == 200
    succeeds(faulty, WRITES[name])


@pytest.mark.parametrize("name", {**WRITES, **ERASURES})
def test_a_name_that_cannot_be_changed_changes_nothing(faulty, name):
    """The first of a request's renames; erasures change a name alone."""
    write = {**WRITES, **ERASURES}[name]
    call = "unlink" if name in ERASURES else "rename"
    faulty.fault(call, errno.EACCES)
    refused(faulty, write, 502, "store_error")
    succeeds(faulty, write)


# Changes of many names, some of which are there, are not there, or go.
OF_MANY = {
    "a slice of many chunks": WRITES["a slice of many chunks"],
    "a slice that erases": ("PUT", f"{SLICES}/a", BYTES, ones(CHUNK, 0) + ones(CHUNK) + ones(5 * CHUNK, 6) + ones(CHUNK, 0)),
    "an append": WRITES["an append"],
    "a node created": WRITES["a node created"],
    "a node of v2 created": WRITES["a node of v2 created"],
    "a node of v2 patched": WRITES["a node of v2 patched"],
    "a group of v2 that becomes an array": WRITES["a group of v2 that becomes an array"],
}


@pytest.mark.parametrize("n_before", range(10))
@pytest.mark.parametrize("name", OF_MANY)
def test_a_change_of_many_objects_that_fails_in_the_middle_is_undone(faulty, name, n_before):
    """Whichever rename it is: all are as they were, files and times included, for those who know them from before too."""
    old = {target: faulty.get(target).body for target in (f"{SLICES}/a", f"{KEYS}/a/c/0", f"{NODES}/a")}
    before = snapshot(faulty.root)
    faulty.fault("rename", f"{errno.EIO} {n_before}")
    answer = ask(faulty, OF_MANY[name])
    if (faulty.faults / "rename").exists():
        faulty.no_fault("rename")
        assert answer.status in (200, 201) and n_before > 1, answer  # it changes fewer names
        return
    assert (answer.status, answer.code) == (502, "store_error"), answer
    assert tidied(faulty.root) and soon(lambda: snapshot(faulty.root), before) == before
    assert old == {target: faulty.get(target).body for target in old}
    succeeds(faulty, OF_MANY[name])
    assert tidied(faulty.root)


def test_a_document_that_cannot_be_dropped_takes_the_others_back(faulty):
    """The last of them is erased without a way back: nothing comes after it."""
    faulty.fault("unlink", errno.EACCES)
    refused(faulty, WRITES["a group of v2 that becomes an array"], 502, "store_error")
    assert faulty.get(f"{NODES}/twos/g").json()["metadata"]["attributes"] == {"old": 1}
    succeeds(faulty, WRITES["a group of v2 that becomes an array"])
    assert list(contents(faulty.root / "twos/g")) == [".zarray"]


def while_attributes_are_stored(server, write, key, document):
    """The answer, where another process stores a document of the node after its attributes, and before the rest."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.faulting("rename.wait"):
            answer = pool.submit(ask, server, write)
            server.until_waiting("rename")
            new = server.root / "new"
            new.write_bytes(text(document))
            (server.root / key).parent.mkdir(exist_ok=True)
            new.rename(server.root / key)
        return answer.result()


def test_a_node_that_others_write_in_between_is_changed_as_they_left_it(faulty):
    """Its attributes are undone first: half a node is no base."""
    answer = while_attributes_are_stored(faulty, WRITES["a node of v2 patched"], "two/.zarray", {**V2, "_theirs": 1})
    assert answer.status == 200, answer
    assert json.loads((faulty.root / "two/.zarray").read_text()) == {**V2, "_theirs": 1, "shape": [4 * CHUNK]}
    assert json.loads((faulty.root / "two/.zattrs").read_text()) == {"new": 5}
    assert tidied(faulty.root)


@pytest.mark.parametrize("headers, status", [({}, 200), ({"If-None-Match": "*"}, 412)])
def test_a_node_that_others_make_in_between_is_replaced_or_kept(faulty, headers, status):
    write = ("PUT", f"{NODES}/twos/x", {**JSON, **headers}, text({**V2, "attributes": {"ours": 1}}))
    answer = while_attributes_are_stored(faulty, write, "twos/x/.zarray", {**V2, "_theirs": 1})
    assert answer.status == status, answer
    found = {name: json.loads(data) for name, data in contents(faulty.root / "twos/x").items()}
    assert found == ({".zarray": V2, ".zattrs": {"ours": 1}} if status == 200 else {".zarray": {**V2, "_theirs": 1}})
    assert tidied(faulty.root)


def test_keys_that_cannot_be_undone_are_told(faulty):
    """The third name cannot be changed, and from then on none can. Workers choose the order: none may have changed yet."""
    before = snapshot(faulty.root)
    changed = set()
    for _ in range(10):
        faulty.fault("rename", f"{errno.EIO} 2 1000")
        answer = ask(faulty, WRITES["a slice of many chunks"])
        faulty.no_fault("rename")
        assert (answer.status, answer.code) == (502, "store_error"), answer
        changed = {path for path, was in before.items() if snapshot(faulty.root)[path] != was}
        if changed:
            break
    detail = answer.json()["detail"]
    assert tidied(faulty.root) and changed and all(path in detail for path in changed), (changed, detail)
    assert f"{len(changed)} of 8 stored objects" in detail


@pytest.mark.parametrize("n_before", range(2))
@pytest.mark.parametrize("name", ["a slice of many chunks", "a slice that erases"])
def test_keys_in_an_unsynced_directory_are_told(faulty, name, n_before):
    """What has its new name by then stays, and those whose sync has failed are counted as well as those that cannot be undone."""
    succeeds(faulty, ("PUT", f"{KEYS}/old/deep/c/0", BYTES, ones(CHUNK)))  # from now on the directory of locks is there
    before = snapshot(faulty.root)
    faulty.fault("fsync-directory", f"{errno.EIO} {n_before}")
    answer = ask(faulty, OF_MANY[name])
    if (faulty.faults / "fsync-directory").exists():
        faulty.no_fault("fsync-directory")
        assert answer.status == 200 and n_before > 0, answer  # one sync is for all who wait for it
        return
    assert (answer.status, answer.code) == (502, "store_error"), answer
    assert tidied(faulty.root)
    after = snapshot(faulty.root)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    detail = answer.json()["detail"]
    assert changed
    assert f"{len(changed)} of 8 stored objects" in detail and all(path in detail for path in changed), (changed, detail)


@pytest.mark.parametrize("call", ["fdatasync", "close"])
@pytest.mark.parametrize("name", WRITES)
def test_a_sync_that_fails_is_not_tried_again(faulty, name, call):
    """The kernel tells once that it has lost what was written: the store takes no writes any more (fsync(2), errors)."""
    faulty.fault(call, errno.EIO)
    refused(faulty, WRITES[name], 502, "store_error")
    ready = faulty.get("/readyz")
    assert ready.status == 503 and DATASET in ready.body.decode()
    for write in (WRITES[name], WRITES["a key created"], ERASURES["a key erased"]):
        refused(faulty, write, 405, "read_only")
    assert faulty.get(f"{KEYS}/a/c/0").body == ones(CHUNK)
    assert faulty.get(f"{SLICES}/a?slice=0:2").body == ones(2)
    assert faulty.get("/livez").status == 200


@pytest.mark.parametrize("name", {**WRITES, **ERASURES})
def test_a_directory_that_cannot_be_synced_is_no_success(faulty, name):
    """What was renamed stands, perhaps, but nobody may be told so."""
    faulty.fault("fsync-directory", errno.EIO)
    answer = ask(faulty, {**WRITES, **ERASURES}[name])
    assert (answer.status, answer.code) == (502, "store_error"), answer
    assert faulty.get("/readyz").status == 503
    assert tidied(faulty.root)
    refused(faulty, WRITES["a key created"], 405, "read_only")


def test_a_disk_that_hangs_keeps_nobody_else_waiting(faulty):
    """Cold and hot reads, slices and documents go on while more writes hang than there are threads."""
    n = 24
    with concurrent.futures.ThreadPoolExecutor(n) as pool, faulty.faulting("fdatasync.wait"):
        hanging = [pool.submit(ask, faulty, ("PUT", f"{KEYS}/old/deep/c/{i % 8}", BYTES, ones(CHUNK, i))) for i in range(n)]
        faulty.until_waiting("fdatasync")
        for _ in range(3):
            for target in (f"{KEYS}/a/c/0", f"{KEYS}/a/c/7", f"{KEYS}/shards/c/0", f"{SLICES}/a?slice=::7", f"{SLICES}/shards?slice=::3",
                           f"{NODES}/a", f"{NODES}/old/deep", f"/v1/datasets/{DATASET}/tree/", "/livez", "/readyz"):
                assert faulty.get(target).status == (404 if target.endswith("c/7") else 200)
        assert not any(write.done() for write in hanging)
    assert {write.result().status for write in hanging} == {200}
    assert tidied(faulty.root)


def in_tmpfs(folder, size):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)


@pytest.fixture
def small(made, tmp_path):
    """A store on a disk of one MiB."""
    if not AS_ROOT:
        pytest.skip("only root mounts a tmpfs of its own")
    disk = tmp_path / "disk"
    in_tmpfs(disk, "1m")
    try:
        server = open_store(shutil.copytree(made, disk / "store"))
        server.root = disk / "store"
        yield server
        server.stop()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_full_disk_is_no_space_and_has_room_again_when_something_goes(small):
    filler = small.root.parent / "filler"
    with pytest.raises(OSError, match="No space"), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    for name in WRITES:
        refused(small, WRITES[name], 507, "no_space")
        assert small.get("/livez").status == small.get("/readyz").status == 200
    filler.unlink()
    for name in WRITES:
        succeeds(small, WRITES[name])


def test_a_disk_that_fills_up_under_a_large_slice_keeps_what_was_there(small):
    """Half of it fits: nothing of it is left, and neither is the space lost."""
    big = array([1_000_000], [10_000], "int32")
    assert ask(small, ("PUT", f"{NODES}/big", JSON, text(big))).status == 201
    assert ask(small, ("PUT", f"{SLICES}/big?slice=0:20000", BYTES, ones(20_000, 7))).status == 200
    free = os.statvfs(small.root).f_bfree
    refused(small, ("PUT", f"{SLICES}/big", BYTES, ones(1_000_000, 8)), 507, "no_space")
    assert small.get(f"{SLICES}/big?slice=0:20000").body == ones(20_000, 7)
    wait_until(lambda: os.statvfs(small.root).f_bfree >= free - 2)  # the directory itself may have grown; what writers need may be there
    succeeds(small, ("PUT", f"{SLICES}/big?slice=20000:30000", BYTES, ones(10_000, 9)))


def allow(root, is_allowed):
    """Others may or may not write there."""
    for path in (root, *below(root)):
        path.chmod((0o777 if is_allowed else 0o555) if path.is_dir() else 0o666 if is_allowed else 0o444)


def let_others_in(folder):
    for path in (*folder.parents, folder):
        if path.stat().st_uid == os.geteuid() and path != pathlib.Path("/") and not path.stat().st_mode & 0o005 == 0o005:
            path.chmod(path.stat().st_mode | 0o055)


def test_permission_denied_is_a_fault_of_the_store_and_changes_nothing(root, tmp_path):
    let_others_in(tmp_path)
    allow(root, False)
    server = open_store(root, as_nobody=True)
    server.root = root
    try:
        for write in (*WRITES.values(), *ERASURES.values()):
            refused(server, write, 502, "store_error")
        assert server.get(f"{SLICES}/a?slice=0:2").body == ones(2)
        allow(root, True)
        for write in WRITES.values():
            succeeds(server, write)
    finally:
        allow(root, True)
        server.stop()


def test_chunks_that_may_not_be_erased_keep_their_array(root, tmp_path):
    """Everything else in the store may be written."""
    let_others_in(tmp_path)
    allow(root, True)
    server = open_store(root, as_nobody=True)
    server.root = root
    changes = [("DELETE", f"{NODES}/a", {}, None), ("DELETE", f"{NODES}/?recursive=1", {}, None),
               ("PATCH", f"{NODES}/a", PATCH, text({"shape": [CHUNK]}))]
    try:
        for _ in range(2):  # without consolidated metadata, and with it
            (root / "a/c").chmod(0o555)
            for change in changes:
                refused(server, change, 502, "store_error")
            (root / "a/c").chmod(0o777)
            assert ask(server, ("POST", f"/v1/datasets/{DATASET}/consolidate/", {}, None)).status == 200
        assert ask(server, changes[2]).status == 200 and ask(server, changes[0]).status == 204
    finally:
        server.stop()


def test_a_directory_in_the_way_of_a_key_stays_there(faulty):
    """With something in it and without."""
    for key, inside in (("a/c/5", None), ("a/c/6", "x")):
        (faulty.root / key).mkdir()
        if inside:
            (faulty.root / key / inside).write_text("y")
    for write in (("PUT", f"{KEYS}/a/c/5", BYTES, ones(CHUNK)), ("PUT", f"{KEYS}/a/c/6", BYTES, ones(CHUNK)),
                  ("PUT", f"{CHUNKS}/a?index=6", BYTES, ones(CHUNK)), WRITES["a slice of many chunks"]):
        refused(faulty, write, 502, "store_error")
    assert faulty.get(f"{KEYS}/a/c/5").status == 301  # to its index
    succeeds(faulty, ("PUT", f"{SLICES}/a?slice=0:{5 * CHUNK}", BYTES, ones(5 * CHUNK, 4)))


def test_a_file_in_the_way_of_a_directory_stays_there(faulty):
    (faulty.root / "old/deep/c").write_text("no directory")
    (faulty.root / "new").write_text("neither")
    for write in (("PUT", f"{KEYS}/old/deep/c/0", BYTES, ones(CHUNK)), ("PUT", f"{SLICES}/old/deep", BYTES, ones(8 * CHUNK)),
                  WRITES["a node created"]):
        refused(faulty, write, 502, "store_error")


# ---- deadlines ----

def impatient(root, request_ms, *more):
    return Server("--set", f"http.request_ms={request_ms}", *more, faults={},
                  config={"datasets": {DATASET: {"location": str(root), "writable": True}}})


def test_late_waits_are_withdrawn_and_storing_is_waited_for(root):
    server = impatient(root, 5000)
    waiting = [("PATCH", f"{NODES}/a", PATCH, text({"attributes": {"late": 1}})), ("DELETE", f"{NODES}/a", {}, None),
               ("DELETE", f"{NODES}?recursive=1", {}, None), ("PUT", f"{NODES}/a", JSON, text({**DOCUMENT, "attributes": {"late": 2}})),
               ("PUT", f"{SLICES}/a?append=0", BYTES, ones(5)), ("POST", f"/v1/datasets/{DATASET}/consolidate/", {}, None)]
    with concurrent.futures.ThreadPoolExecutor(1 + len(waiting)) as pool:
        with server.faulting("rename.wait"):
            appending = pool.submit(ask, server, WRITES["an append"])
            server.until_waiting("rename")
            for answer in pool.map(lambda write: ask(server, write), waiting):
                assert (answer.status, answer.code) == (503, "overloaded"), answer  # another writer has the lock
            assert not appending.done()
        assert appending.result().status == 200
    answer = ask(server, ("PATCH", f"{NODES}/a", PATCH, text({"attributes": {"in time": 1}})))
    assert answer.status == 200
    document = json.loads((root / "a" / "zarr.json").read_text())
    assert (document["shape"], document["attributes"]) == ([11 * CHUNK], {"in time": 1})
    server.stop()


@pytest.mark.parametrize("name", WRITES)
def test_an_outcome_that_nobody_can_know_is_said_to_be_unknown(root, name):
    request_ms, n_begun = 400, 0
    while n_begun == 0 and request_ms < 1000 * DEADLINE_S:  # until it begins to be stored in time, however slow this machine is
        server = impatient(root, request_ms, "--set", "http.commit_ms=100")
        with server.faulting("rename.wait"):
            answer = ask(server, WRITES[name])
            n_begun += "outcome is unknown" in answer.json()["detail"]
            assert (answer.status, answer.code) == (504, "store_timeout") or (n_begun == 0 and answer.status in (503, 504)), answer
        server.stop()
        request_ms *= 4
    assert n_begun == 1


# ---- whatever name cannot be given ----

# Where every rename of them in turn cannot be made; those that follow it can, or some cannot either.
RENAMED = {
    **WRITES,
    "chunks erased for another array": ("PUT", f"{NODES}/a?erase_chunks=1", JSON, text({**DOCUMENT, "shape": [CHUNK]})),
    "chunks erased for a group": ("PUT", f"{NODES}/a?erase_chunks=1", JSON, text({"zarr_format": 3, "node_type": "group"})),
    "keys without a node erased": ("PUT", f"{NODES}/keys/of/none?erase_chunks=1", JSON, text(DOCUMENT)),
    "parents above such keys": ("PUT", f"{NODES}/keys/x/y", JSON, text(DOCUMENT)),
    "an array shrunk": ("PATCH", f"{NODES}/a", PATCH, text({"shape": [CHUNK]})),
    "an array erased": ("DELETE", f"{NODES}/a", {}, None),
    "a hierarchy erased": ("DELETE", f"{NODES}/?recursive=1", {}, None),
}


@pytest.mark.parametrize("n_more", [0, 2])
@pytest.mark.parametrize("name", RENAMED)
def test_whichever_rename_fails_nothing_has_happened(faulty, name, n_more):
    key = faulty.root / "keys" / "of" / "none" / "c" / "0"
    key.parent.mkdir(parents=True)
    key.write_bytes(b"x")
    consolidated = ask(faulty, ("POST", f"/v1/datasets/{DATASET}/consolidate/", {}, None))
    assert consolidated.status == 200, consolidated
    method, target, headers, body = RENAMED[name]
    n = 0
    while True:
        before = snapshot(faulty.root)
        with faulty.faulting("rename", f"{errno.ENOSPC} {n} {n_more}"):
            answer = faulty.request(method, target, headers, body)
        if answer.status < 300:
            break
        assert (answer.status, answer.code) == (507, "no_space"), answer
        assert tidied(faulty.root) and soon(lambda: snapshot(faulty.root), before) == before, (n, answer)
        n += 1
    assert n > 0 and tidied(faulty.root) and snapshot(faulty.root) != before


def test_bounds_hold_after_a_write_that_failed(faulty):
    """They may be wider than what is stored, as after any overwriting: what was asked of the elements is right."""
    bounds = {"name": "example.array-statistics", "configuration": {"min": 1, "max": 2}, "must_understand": False}
    node = ("PUT", f"{NODES}/b", JSON, text({**DOCUMENT, "extensions": [bounds]}))
    assert ask(faulty, node).status == 201
    succeeds(faulty, ("PUT", f"{SLICES}/b", BYTES, ones(4 * CHUNK, 1) + ones(4 * CHUNK, 2)))
    for n in range(3, 6):  # the document is widened first
        before = snapshot_without(faulty.root, "b/zarr.json")
        with faulty.faulting("rename", f"{errno.ENOSPC} {n}"):
            answer = ask(faulty, ("PUT", f"{SLICES}/b", BYTES, ones(8 * CHUNK, 1000 * n)))
        assert (answer.status, answer.code) == (507, "no_space"), answer
        assert tidied(faulty.root) and soon(lambda: snapshot_without(faulty.root, "b/zarr.json"), before) == before
        computed = faulty.get(f"/v1/datasets/{DATASET}/stats/b?fields=min,max,mean").json()
        assert (computed["source"], computed["min"], computed["max"], computed["mean"]) == ("computed", 1, 2, 1.5)
        declared = faulty.get(f"/v1/datasets/{DATASET}/stats/b?fields=min,max&fill=drop").json()
        assert declared["source"] == "metadata" and declared["min"] <= 1 and declared["max"] >= 2
    succeeds(faulty, ("PUT", f"{SLICES}/b", BYTES, ones(8 * CHUNK, 9999)))
    declared = faulty.get(f"/v1/datasets/{DATASET}/stats/b?fields=min,max&fill=drop").json()
    assert declared["min"] <= 1 and declared["max"] >= 9999


@pytest.mark.parametrize("name", ["an array shrunk", "an array erased", "a hierarchy erased"])
def test_an_error_names_the_node_once(faulty, name):
    """From one rename on all fail, so that nothing can be put back either."""
    details = []
    for n in range(12):
        method, target, headers, body = RENAMED[name]
        with faulty.faulting("rename", f"{errno.EIO} {n} 1000"):
            answer = faulty.request(method, target, headers, body)
        if answer.status < 300:
            break
        details.append(answer.json()["detail"])
        twice = re.search(r'("[^"]*": ).*\1', details[-1])
        assert twice is None, details[-1]
    assert any("rollback incomplete" in detail for detail in details), details


def test_a_file_longer_than_the_process_may_write_is_refused(serve, tmp_path):
    """RLIMIT_FSIZE: the call fails, and no signal ends the server. What fits is written before and after."""
    wrapper, root = tmp_path / "limited", tmp_path / "d"
    root.mkdir()
    wrapper.write_text(f'#!/bin/sh\nulimit -f 128\nexec {BINARY} "$@"\n')  # of 512 bytes
    wrapper.chmod(0o755)
    server = serve(config={"datasets": {DATASET: {"location": str(root), "writable": True}}}, binary=wrapper)
    server.root = root
    assert server.request("PUT", f"{NODES}/a", JSON, text(array([60000], [30000], "int32"))).status == 201
    succeeds(server, ("PUT", f"{KEYS}/small", {}, ones(1000)))
    before = snapshot(root)
    for write in [("PUT", f"{KEYS}/long", {}, ones(50000)), ("PUT", f"{SLICES}/a", BYTES, ones(60000)),
                  ("PUT", f"{NODES}/n", JSON, text({"zarr_format": 3, "node_type": "group", "attributes": {"x": "y" * 100000}}))]:
        answer = server.request(*write)
        assert (answer.status, answer.code) == (507, "no_space"), answer
        assert "ulimit -f" in answer.json()["detail"]
        assert tidied(root) and soon(lambda: snapshot(root), before) == before
    succeeds(server, ("PUT", f"{KEYS}/small", {}, ones(2000)))
