"""ZIP archives: what is read of them is what the directory would give, and what is wrong with one is said, never taken for absence."""

import json
import random
import struct
import subprocess
import zipfile
import zlib

import numpy as np
import pytest
import zarr
from arrays import write_array
from client import DEADLINE_S, JSON, wait_until
from documents import LITTLE
from files import below
from live import BINARY, STORES

GROUP = b'{"zarr_format":3,"node_type":"group"}'
LARGE = random.Random(5).randbytes(3 << 20)


def pack(folder, archive, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(archive, "w", method) as out:
        for path in sorted(below(folder)):
            if path.is_file():
                out.write(path, path.relative_to(folder))
    return archive


def archive_of(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as out:
        for name, data in members:
            out.writestr(name, data)
    return path


def make_store(folder):
    """Large, empty and small objects, and names that sort otherwise with and without a slash."""
    write_array(folder / "x", (64,), (8,), [LITTLE], np.arange(64, dtype="<f4"))
    (folder / "zarr.json").write_bytes(GROUP)
    (folder / "large").write_bytes(LARGE)
    (folder / "empty").write_bytes(b"")
    (folder / "names").mkdir()
    (folder / "names/zarr.json").write_bytes(GROUP)
    for name in ("a", "a-b", "a.b", "a0", "ab", "a b"):
        (folder / "names" / name).mkdir(parents=True)
        (folder / "names" / name / "zarr.json").write_bytes(GROUP)
        (folder / "names" / f"{name}-").write_bytes(b"1")
    return folder


@pytest.fixture(scope="module")
def three(tmp_path_factory, serve_module):
    folder = tmp_path_factory.mktemp("zip")
    make_store(folder / "store")
    pack(folder / "store", folder / "stored.zip")
    pack(folder / "store", folder / "deflated.zip", zipfile.ZIP_DEFLATED)
    return serve_module(f"plain={folder}/store", f"stored={folder}/stored.zip", f"deflated={folder}/deflated.zip")


KEYS = ["zarr.json", "large", "empty", "x/zarr.json", "x/c/0", "x/c/9", "x", "x/c", "names", "names/a", "names/a-", "nothing", "x/c/0/0"]


@pytest.mark.parametrize("name", ["stored", "deflated"])
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("span", [None, "bytes=0-0", "bytes=5-", "bytes=-7", "bytes=1000000-2999999", "bytes=3145727-", "bytes=9999999-"])
def test_keys_are_those_of_the_directory(three, name, key, span):
    headers = {} if span is None else {"Range": span}
    expected = three.get(f"/zarr/plain/{key}", headers)
    answer = three.get(f"/zarr/{name}/{key}", headers)
    assert (answer.status, answer.headers.get("content-range")) == (expected.status, expected.headers.get("content-range"))
    assert expected.status >= 400 or answer.body == expected.body
    head = three.head(f"/zarr/{name}/{key}")
    assert head.headers.get("content-length") == three.head(f"/zarr/plain/{key}").headers.get("content-length") or head.status >= 400


@pytest.mark.parametrize("name", ["stored", "deflated"])
@pytest.mark.parametrize("target", ["tree/", "tree/?limit=2", "nodes/names", "slices/x?slice=3:60:7", "nodes/x", "chunks/x?present=1", "stats/x"])
def test_all_else_is_that_of_the_directory(three, name, target):
    expected = three.get(f"/v1/datasets/plain/{target}", JSON)
    answer = three.get(f"/v1/datasets/{name}/{target}", JSON)
    assert answer.status == expected.status == 200
    if target.startswith("nodes"):
        assert answer.json()["metadata"] == expected.json()["metadata"]
        assert answer.json().get("children") == expected.json().get("children")
    else:
        assert answer.body.replace(name.encode(), b"plain") == expected.body


def test_indexes_list_the_same_names(three):
    for prefix in ("", "names/", "x/", "x/c/"):
        pages = [three.get(f"/zarr/{name}/{prefix}").body.decode().split("<a ")[1:] for name in ("plain", "stored", "deflated")]
        links = [[line.split('"')[1].rsplit("/zarr/", 1)[-1] for line in page] for page in pages]
        assert links[0] == links[1] == links[2] and len(links[0]) > 2


def test_a_member_has_a_tag_and_is_revalidated(three):
    for key in ("large", "zarr.json"):
        tag = three.get(f"/zarr/stored/{key}").headers["etag"]
        assert three.get(f"/zarr/stored/{key}", {"If-None-Match": tag}).status == 304


def test_pages_of_random_names_are_those_of_the_directory(serve, tmp_path):
    """Names of few characters around the slash, so that many begin others; page by page."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    pick = random.Random(seed)
    members = {}
    for _ in range(400):
        segments = ["".join(pick.choice("ab-.0 ") for _ in range(pick.randint(1, 3))).strip(" .") or "a" for _ in range(pick.randint(1, 3))]
        members["/".join(segments)] = GROUP
    members = {f"{name}/zarr.json": data for name, data in members.items()}
    members["zarr.json"] = GROUP
    for name, data in members.items():
        path = tmp_path / "plain" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    archive_of(tmp_path / "packed.zip", pick.sample(sorted(members.items()), len(members)))
    server = serve(f"plain={tmp_path}/plain", f"packed={tmp_path}/packed.zip")
    for limit in (1, 2, 3, 7, 100, 1000):
        walks = []
        for name in ("plain", "packed"):
            found, cursor = [], ""
            while cursor is not None and (limit >= 7 or len(found) < 30):
                page = server.get(f"/v1/datasets/{name}/tree/?limit={limit}{cursor}", JSON).json()
                assert "nodes" in page, page
                found += [node["path"] for node in page["nodes"]]
                cursor = page["next"] and f"&cursor={page['next']}"
            walks.append(found)
        assert walks[0] == walks[1] and walks[0]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("version", [2, 3])
def test_archives_of_zarr_python(serve, tmp_path, method, version):
    """It stores a document again whenever it changes: the last one counts."""
    path = tmp_path / "made.zarr.zip"
    values = np.random.default_rng(7).normal(size=(60, 70)).astype("f4")
    with pytest.warns(UserWarning, match="Duplicate name"):
        store = zarr.storage.ZipStore(path, mode="w", compression=method)
        group = zarr.open_group(store, mode="w", zarr_format=version)
        array = group.create_array("deep/x", shape=(60, 70), chunks=(16, 9), dtype="f4")
        array[:] = values
        array.attrs["units"] = "first"
        array.attrs["units"] = "m"
        store.close()
    server = serve(path)
    assert [one["name"] for one in server.get("/v1/datasets").json()["datasets"]] == ["made"]
    assert server.get("/v1/datasets/made/slices/deep/x?format=raw").body == values.tobytes()
    assert server.get("/v1/datasets/made/nodes/deep/x").json()["metadata"]["attributes"]["units"] == "m"
    view = zarr.open_array(f"{server.url}/v3/made/deep/x", mode="r")
    assert np.array_equal(view[:], values)


def test_stores_of_real_writers(serve, tmp_path):
    stores = sorted(path for path in STORES.glob("v[23]/*") if path.is_dir())
    picked = stores[::max(1, len(stores) // 12)]
    both = []
    for i, store in enumerate(picked):
        pack(store, tmp_path / f"{i}.zip", (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)[i % 2])
        both += [f"plain-{i}={store}", f"packed-{i}={tmp_path}/{i}.zip"]
    server = serve(*both)
    n_arrays = 0
    for name in range(len(picked)):
        trees = [server.get(f"/v1/datasets/{kind}-{name}/tree/", JSON).json()["nodes"] for kind in ("plain", "packed")]
        assert [node["path"] for node in trees[0]] == [node["path"] for node in trees[1]]
        for node in trees[0][:40]:
            if node["node_type"] == "array":
                answers = [server.get(f"/v1/datasets/{kind}-{name}/slices/{node['path']}?format=raw") for kind in ("plain", "packed")]
                assert (answers[0].status, answers[0].status < 400 and answers[0].body) == \
                    (answers[1].status, answers[1].status < 400 and answers[1].body), (name, node["path"])
                n_arrays += answers[0].status == 200
    assert n_arrays > 20


def test_zip64_and_comments_and_what_stands_before(serve, tmp_path):
    members = [(f"n{i}/zarr.json", GROUP) for i in range(66_000)] + [("zarr.json", GROUP)]
    archive_of(tmp_path / "many.zip", members)  # more than the old records can count
    with zipfile.ZipFile(tmp_path / "comment.zip", "w") as out:
        out.writestr("zarr.json", GROUP)
        out.comment = b"PK\5\6" + bytes(200)
    plain = archive_of(tmp_path / "plain.zip", [("zarr.json", GROUP), ("large", LARGE)]).read_bytes()
    (tmp_path / "before.zip").write_bytes(b"#!/bin/sh\n" * 100 + plain)
    server = serve(*(f"{name}={tmp_path}/{name}.zip" for name in ("many", "comment", "before")))
    assert server.get("/v1/datasets/many/nodes/n65999").status == 200
    assert server.get("/v1/datasets/many/nodes/n66000").status == 404
    assert server.get("/v1/datasets/comment/nodes/").status == 200
    assert server.get("/zarr/before/large").body == LARGE


ZIP64 = 0xffffffff  # the number is in the ZIP64 field of the member: APPNOTE 4.5.3


def craft(path, members, zip64=("size", "packed", "local"), field=lambda numbers: struct.pack("<HH", 1, len(numbers)) + numbers, before=b""):
    """An archive of stored members by hand: (name, data, or how many zeros that take no room). Those three of a member are in its ZIP64
    field, the directory is found by the ZIP64 records."""
    central = b""
    with open(path, "wb") as out:
        for name, data in members:
            local, name = out.tell(), name.encode()
            n = data if isinstance(data, int) else len(data)
            crc = 0 if isinstance(data, int) else zlib.crc32(data)
            numbers = {"size": n, "packed": n, "local": local}
            held = [ZIP64 if key in zip64 else number for key, number in numbers.items()]
            extra = before + (field(b"".join(struct.pack("<Q", numbers[key]) for key in numbers if key in zip64)) if zip64 else b"")
            own = struct.pack("<HHQQ", 1, 16, n, n)
            out.write(struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, 0, 0, 0, 0, crc, ZIP64, ZIP64, len(name), len(own)) + name + own)
            if isinstance(data, int):
                out.truncate(out.tell() + n)
                out.seek(0, 2)
            else:
                out.write(data)
            central += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 0, crc, held[1], held[0], len(name), len(extra), 0, 0, 0, 0,
                                   held[2]) + name + extra
        first = out.tell()
        out.write(central + struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, len(members), len(members), len(central), first))
        out.write(struct.pack("<IIQI", 0x07064b50, 0, first + len(central), 1))
        out.write(struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, ZIP64, ZIP64, 0))
    return path


MEMBERS = [("zarr.json", GROUP), ("key", b"DATA" * 1000), ("empty", b""), ("other", b"fine")]


@pytest.mark.parametrize("zip64", [("size", "packed", "local"), ("size",), ("packed",), ("local",), ("size", "packed"), ()])
def test_sizes_and_places_may_be_in_the_zip64_fields(serve, tmp_path, zip64):
    craft(tmp_path / "plain.zip", MEMBERS, zip64)
    craft(tmp_path / "behind.zip", MEMBERS, zip64, before=struct.pack("<HHB", 0x5455, 1, 0))
    with zipfile.ZipFile(tmp_path / "plain.zip") as other:
        assert other.read("key") == MEMBERS[1][1]  # others read it alike
    server = serve(*(f"{name}={tmp_path}/{name}.zip" for name in ("plain", "behind")))
    for name in ("plain", "behind"):
        for key, data in MEMBERS:
            assert server.get(f"/zarr/{name}/{key}").body == data
        assert server.get(f"/zarr/{name}/key", {"Range": "bytes=3997-"}).body == b"ATA"


def test_members_of_more_than_4_gib(serve, tmp_path):
    """A sparse file: sizes, ranges and what lies behind it need 33 bits."""
    n = 5 << 30
    try:
        craft(tmp_path / "large.zip", [("zarr.json", GROUP), ("zeros", n), ("behind", b"behind 5 GiB")])
    except OSError as fault:
        pytest.skip(f"no file of 5 GiB: {fault}")
    if (tmp_path / "large.zip").stat().st_blocks * 512 > 64 << 20:
        (tmp_path / "large.zip").unlink()
        pytest.skip("no sparse files")
    server = serve(tmp_path / "large.zip")
    assert server.head("/zarr/large/zeros").headers["content-length"] == str(n)
    for first, last in ((0, 9), ((4 << 30) - 5, (4 << 30) + 4), (n - 10, n - 1)):
        answer = server.get("/zarr/large/zeros", {"Range": f"bytes={first}-{last}"})
        assert (answer.status, answer.body, answer.headers["content-range"]) == (206, bytes(10), f"bytes {first}-{last}/{n}")
    long = server.get("/zarr/large/zeros", {"Range": f"bytes={(4 << 30) - (4 << 20)}-{(4 << 30) + (4 << 20) - 1}"})
    assert long.body == bytes(8 << 20)  # from the archive itself, without a copy
    assert server.get("/zarr/large/zeros", {"Range": f"bytes={n}-"}).status == 416
    assert server.get("/zarr/large/behind").body == b"behind 5 GiB"
    assert server.get("/v1/datasets/large/nodes/").status == 200


def cut(n):
    """A field that says it has all its numbers, and is the last n bytes short."""
    return lambda numbers: (struct.pack("<HH", 1, len(numbers)) + numbers)[:-n]


def said(*numbers):
    return lambda _: struct.pack("<HH", 1, 8 * len(numbers)) + struct.pack(f"<{len(numbers)}Q", *numbers)


@pytest.mark.parametrize("zip64, field, words", [
    (("size", "packed", "local"), cut(1), "ZIP64"),
    (("size", "packed", "local"), cut(8), "ZIP64"),
    (("size", "packed", "local"), cut(26), "ZIP64"),
    (("local",), lambda _: b"", "ZIP64"),
    (("local",), lambda numbers: struct.pack("<HH", 2, 8) + numbers, "ZIP64"),
    (("size", "packed", "local"), said(4, 4), "ZIP64"),
    (("size", "packed", "local"), said(4, 4, 2**64 - 1), "overlap"),
    (("size", "packed", "local"), said(2**64 - 1, 2**64 - 1, 0), "overlap"),
    (("packed",), said(2**63), "overlap"),
    (("local",), said(0), "overlap"),
])
def test_a_zip64_field_that_lies_is_told(serve, tmp_path, zip64, field, words):
    craft(tmp_path / "a.zip", MEMBERS, zip64, field)
    archive_of(tmp_path / "b.zip", [("zarr.json", GROUP)])
    server = serve(config={"datasets": {name: {"location": f"{tmp_path}/{name}.zip"} for name in "ab"}})
    assert (server.get("/zarr/a/key").status, server.get("/zarr/a/key").code) == (503, "store_error")
    assert words in server.log and "a damaged ZIP archive" in server.log
    assert server.get("/v1/datasets/b/nodes/").status == 200


@pytest.mark.parametrize("size", [0, 5, 2**31, 2**64 - 1])
def test_a_size_in_a_zip64_field_that_lies_is_the_fault_of_its_member(serve, tmp_path, size):
    fields = iter([len(GROUP), size, 4])
    craft(tmp_path / "a.zip", [("zarr.json", GROUP), ("key", b"DATA"), ("other", b"fine")], ("size",), lambda _: said(next(fields))(_))
    server = serve(tmp_path / "a.zip")
    answer = server.get("/zarr/a/key")
    assert (answer.status, answer.code) == (502, "store_error") and "cannot be compressed" in answer.json()["detail"]
    assert server.head("/zarr/a/key").status == 502 and server.get("/zarr/a/key", {"Range": "bytes=0-1"}).status == 502
    assert server.get("/zarr/a/other").body == b"fine"


@pytest.mark.parametrize("at, value", [(24, 2**64 - 1), (32, 2**64 - 1), (32, 2**63), (40, 2**64 - 1), (40, 7), (48, 2**64 - 1), (48, 2**63)])
def test_a_zip64_record_that_lies_is_told(serve, tmp_path, at, value):
    path = craft(tmp_path / "a.zip", MEMBERS)
    data = bytearray(path.read_bytes())
    record = data.index(b"PK\6\6")
    data[record + at:record + at + 8] = struct.pack("<Q", value)
    path.write_bytes(data)
    archive_of(tmp_path / "b.zip", [("zarr.json", GROUP)])
    server = serve(config={"datasets": {name: {"location": f"{tmp_path}/{name}.zip"} for name in "ab"}})
    if at == 24:  # members of this part: of one part those of all are counted
        assert server.get("/zarr/a/key").body == MEMBERS[1][1]
    else:
        assert server.get("/zarr/a/key").status == 503 and "a damaged ZIP archive" in server.log


# ---- what changes ----

def test_an_archive_that_is_replaced_or_written_to_is_read_anew(serve, tmp_path):
    path = archive_of(tmp_path / "a.zip", [("zarr.json", GROUP), ("key", b"old")])
    server = serve(config={"datasets": {"a": {"location": str(path), "revalidate_ms": 0}}})
    assert server.get("/zarr/a/key").body == b"old"
    archive_of(tmp_path / "b.zip", [("zarr.json", GROUP), ("key", b"new one")]).rename(path)
    assert server.get("/zarr/a/key").body == b"new one"
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("more", b"more")
    assert server.get("/zarr/a/more").body == b"more"
    assert server.get("/zarr/a/key").body == b"new one"
    path.unlink()
    assert server.get("/zarr/a/key").status == 503
    archive_of(path, [("zarr.json", GROUP), ("key", b"back")])
    wait_until(lambda: server.get("/zarr/a/key").status == 200)
    assert server.get("/zarr/a/key").body == b"back"


def test_a_directory_of_that_name_is_one(serve, tmp_path):
    make_store(tmp_path / "folder.zip")
    server = serve("-w", f"d={tmp_path}/folder.zip")
    assert server.get("/zarr/d/large").body == LARGE
    assert server.request("PUT", "/zarr/d/note.txt", body=b"x").status == 200


# ---- what is refused ----

def test_nothing_is_written(serve, tmp_path):
    path = archive_of(tmp_path / "a.zip", [("zarr.json", GROUP)])
    server = serve(f"a={path}")
    before = path.read_bytes()
    for method, target in (("PUT", "/zarr/a/key"), ("DELETE", "/zarr/a/zarr.json"), ("DELETE", "/v1/datasets/a/nodes/?recursive=1")):
        answer = server.request(method, target, body=b"x" if method == "PUT" else None)
        assert answer.status == 405 and answer.code == "read_only", answer
    assert path.read_bytes() == before
    stores = {one["name"]: (one["read"], one["write"]) for one in server.get("/v1/extensions").json()["stores"]}
    assert (stores["zip"], stores["http"], stores["file"]) == ((True, False), (True, False), (True, True))


def test_a_writable_one_is_a_mistake_of_the_configuration(tmp_path):
    path = archive_of(tmp_path / "a.zip", [("zarr.json", GROUP)])
    (tmp_path / "c.json").write_text(json.dumps({"datasets": {"a": {"location": str(path), "writable": True}}}))
    for arguments in (["-w", path], ["-c", tmp_path / "c.json"]):
        for check in (["--check-config"], []):
            done = subprocess.run([BINARY, *check, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            assert done.returncode == 2, done
            for words in (f"{path} cannot be writable", "a ZIP archive (read-only)", "PATH", "mem:", "Unpack", '"writable"', "--writable"):
                assert words in done.stderr, done
            assert "http" not in done.stderr, done  # cannot be writable either


def patched(path, change):
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def flip_last_byte_of_key(data):
    data[data.index(b"DATA") + 3] ^= 1


def set_in_central(offset, value):
    """Of the member "key", the second one."""
    def change(data):
        at = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
        data[at + offset:at + offset + len(value)] = value
    return change


def set_in_local(offset, value):
    def change(data):
        at = data.index(b"PK\3\4", data.index(b"PK\3\4") + 1)
        data[at + offset:at + offset + len(value)] = value
    return change


@pytest.mark.parametrize("method, change, words", [
    (zipfile.ZIP_STORED, flip_last_byte_of_key, "CRC-32"),
    (zipfile.ZIP_STORED, set_in_central(8, b"\1\0"), "encrypted"),
    (zipfile.ZIP_STORED, set_in_central(10, b"\x0c\0"), "method 12"),
    (zipfile.ZIP_STORED, set_in_central(24, b"\xff\xff\0\0"), "cannot be compressed"),
    (zipfile.ZIP_STORED, set_in_local(26, b"\4\0"), "differ"),
    (zipfile.ZIP_STORED, set_in_local(30, b"KEY"), "differ"),
    (zipfile.ZIP_STORED, set_in_local(28, b"\xff\xff"), "overlap"),
    (zipfile.ZIP_STORED, set_in_local(0, b"PK\5\6"), "differ"),
    (zipfile.ZIP_DEFLATED, set_in_central(24, struct.pack("<I", 1 << 31)), "cannot be compressed"),
    (zipfile.ZIP_DEFLATED, set_in_central(24, struct.pack("<I", 4001)), "decode to its size"),
    (zipfile.ZIP_DEFLATED, set_in_central(24, struct.pack("<I", 3999)), "decode to its size"),
    (zipfile.ZIP_DEFLATED, set_in_central(16, b"\0\0\0\0"), "CRC-32"),
    (zipfile.ZIP_BZIP2, lambda data: None, "method 12"),
])
def test_a_damaged_member_is_a_fault_and_no_absence(serve, tmp_path, method, change, words):
    path = archive_of(tmp_path / "a.zip", [("zarr.json", GROUP), ("key", b"DATA" * 1000), ("other", b"fine")], method)
    patched(path, change)
    server = serve(f"a={path}")
    answer = server.get("/zarr/a/key")
    assert answer.status == 502 and answer.code == "store_error", answer
    assert words in answer.json()["detail"] and "key" in answer.json()["detail"]
    assert method == zipfile.ZIP_BZIP2 or server.get("/zarr/a/other").body == b"fine"


def overlap(data):
    """Both members have the same bytes."""
    first = data.index(b"PK\1\2")
    second = data.index(b"PK\1\2", first + 1)
    data[second + 42:second + 46] = data[first + 42:first + 46]


@pytest.mark.parametrize("change, words", [
    (overlap, "overlap"),
    (lambda data: data.__delitem__(slice(len(data) - 1, None)), "not a ZIP archive"),
    (lambda data: data.__delitem__(slice(0, 50)), "does not fit"),
    (lambda data: data.__delitem__(slice(0, None)), "not a ZIP archive"),
    (set_in_central(0, b"PK\1\3"), "truncated"),
])
def test_a_damaged_archive_is_unavailable_and_says_why(serve, tmp_path, change, words):
    path = archive_of(tmp_path / "a.zip", [("zarr.json", GROUP), ("key", b"DATA" * 1000)])
    archive_of(tmp_path / "b.zip", [("zarr.json", GROUP)])
    patched(path, change)
    server = serve(config={"datasets": {"a": {"location": str(path)}, "b": {"location": f"{tmp_path}/b.zip"}}})
    assert server.get("/zarr/a/key").status == 503
    assert words in server.log
    assert server.get("/v1/datasets/b/nodes/").status == 200


def test_names_never_lead_out_of_the_archive(serve, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    path = archive_of(tmp_path / "a.zip", [
        ("zarr.json", GROUP), ("../secret", b"x"), ("/etc/passwd", b"x"), ("a//b", b"x"), ("a/../../secret", b"x"), ("fine", b"1")])
    with zipfile.ZipFile(path, "a") as out:
        link = zipfile.ZipInfo("link")
        link.create_system = 3
        link.external_attr = 0o120777 << 16
        out.writestr(link, "../secret")
    server = serve(f"a={path}")
    page = server.get("/zarr/a/").body
    assert b"fine" in page and b"secret" not in page and b"link" not in page and b"passwd" not in page
    assert server.get("/zarr/a/link").status == 404


def test_a_bomb_is_inflated_no_further_than_it_is_read(serve, tmp_path):
    path = archive_of(tmp_path / "a.zip", [("zarr.json", GROUP), ("zeros", bytes(300 << 20))], zipfile.ZIP_DEFLATED)
    server = serve(f"a={path}", "--set", "memory.bytes=128MiB")
    answer = server.get("/zarr/a/zeros")
    assert answer.status in (413, 503), answer
    assert server.get("/zarr/a/zeros", {"Range": "bytes=104857600-104857609"}).body == bytes(10)
