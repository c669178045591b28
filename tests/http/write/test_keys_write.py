"""Raw keys written and erased: what is judged, what is refused, and what is left as it was."""

import concurrent.futures
import gzip
import json
import os
import socket

import numpy as np
import pytest
from arrays import crc32c
from files import contents
from live import RawClient, Server

GROUP = b'{"zarr_format": 3, "node_type": "group"}'


def array(shape=(4, 6), chunks=(2, 3), codecs=({"name": "bytes", "configuration": {"endian": "little"}},), **more):
    return json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "codecs": list(codecs), **more}).encode()


def put(server, key, body, headers=None, **more):
    return server.request("PUT", f"/zarr/{key}", headers, body, **more)


def delete(server, key, headers=None):
    return server.request("DELETE", f"/zarr/{key}", headers)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("keys_write")


@pytest.fixture(scope="module")
def keys(folder):
    server = Server(config={"datasets": {
        "f": {"location": str(folder), "writable": True},
        "m": {"location": "mem:", "writable": True},
        "unknown": {"location": "mem:", "writable": True, "accept_unknown": True},
        "closed": {"location": "mem:", "writable": True, "allow_keys": False},
        "fixed": {"location": "mem:"},
    }})
    yield server
    server.stop()


@pytest.fixture(params=["f", "m"])
def d(request):
    return request.param


def test_r38_a_key_is_stored_with_its_directories_and_read_back(keys, d):
    for body in (b"one", b"", bytes(range(256)) * 40000):
        answer = put(keys, f"{d}/some/where/else.bin", body)
        assert answer.status == 200 and answer.body == b"", answer
        found = keys.get(f"/zarr/{d}/some/where/else.bin")
        assert found.status == 200 and found.body == body
        assert found.headers["etag"] == answer.headers["etag"] and len(answer.headers["etag"]) > 4
        assert found.headers["last-modified"] == answer.headers["last-modified"]


def test_r39_erasing_is_204_whatever_was_there(keys, d):
    put(keys, f"{d}/gone", b"x")
    for _ in range(2):
        answer = delete(keys, f"{d}/gone")
        assert answer.status == 204 and answer.body == b"" and "etag" not in answer.headers
        assert keys.get(f"/zarr/{d}/gone").status == 404
    put(keys, f"{d}/some/where/else.bin", b"x")
    assert delete(keys, f"{d}/some").status == 204  # a directory is no key
    assert keys.get(f"/zarr/{d}/some/where/else.bin").status == 200


def test_r34_bodies_in_chunks_are_taken(keys, d):
    client = RawClient(keys.port)
    client.send(f"PUT /zarr/{d}/chunked HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
                + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (b"ab", b"c" * 70000, b"d" * 200000)) + b"0\r\n\r\n")
    assert client.receive() == (200, b"")
    assert keys.get(f"/zarr/{d}/chunked").body == b"ab" + b"c" * 70000 + b"d" * 200000


def test_r33_who_expects_100_is_told_to_go_on_or_not(keys):
    with socket.create_connection(("127.0.0.1", keys.port), timeout=60) as client:
        client.sendall(b"PUT /zarr/m/expected HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"abc")
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
    with socket.create_connection(("127.0.0.1", keys.port), timeout=60) as client:
        client.sendall(b"PUT /zarr/fixed/expected HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 405 ")


@pytest.mark.parametrize("key, status, code", [
    ("{d}/", 400, "bad_path"),
    ("{d}", 400, "bad_path"),
    ("{d}/a/", 400, "bad_path"),
    ("{d}/a%5Cb", 400, "bad_path"),
    ("{d}/.zarrd-tmp-x", 400, "bad_path"),
    ("{d}/a/.zarrd-tmp-x/b", 400, "bad_path"),
    ("{d}/a/../b", 400, "bad_path"),
    ("{d}/" + "n" * 256, 400, "bad_path"),
    ("{d}/" + "/".join(["n" * 200] * 6), 400, "bad_path"),
    ("closed/a", 403, "forbidden"),
    ("fixed/a", 405, "read_only"),
    ("absent/a", 404, "dataset_not_found"),
])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_keys_that_cannot_be_written(keys, folder, d, method, key, status, code):
    before = contents(folder)
    answer = keys.request(method, f"/zarr/{key.format(d=d)}", None, b"x" if method == "PUT" else None)
    assert answer.status == status and answer.code == code, answer
    assert status != 405 or answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert contents(folder) == before


@pytest.mark.parametrize("headers, status, code", [
    ({"Content-Encoding": "gzip"}, 415, "unsupported_media_type"),
    ({"Content-Encoding": "aws-chunked"}, 415, "unsupported_media_type"),
    ({"Content-Range": "bytes 0-2/3"}, 400, "bad_request"),
])
def test_r20_bodies_that_are_not_the_object(keys, d, headers, status, code):
    answer = put(keys, f"{d}/coded", b"abc", headers)
    assert answer.status == status and answer.code == code
    assert keys.get(f"/zarr/{d}/coded").status == 404
    assert put(keys, f"{d}/plain", b"abc", {"Content-Encoding": "identity"}).status == 200


def test_bodies_that_are_too_long_are_refused_and_nothing_is_stored(folder):
    server = Server("--writable", f"w={folder}", "--set", "limits.object_bytes=64KiB", "--set", "limits.body_bytes=4KiB")
    assert put(server, "w/long", bytes(64 << 10)).status == 200
    answer = put(server, "w/longer", bytes((64 << 10) + 1))
    assert answer.status == 413 and answer.code == "too_large"
    assert answer.json()["limit"] == 64 << 10 and answer.json()["requested"] == (64 << 10) + 1
    client = RawClient(server.port)
    client.send(b"PUT /zarr/w/longer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1001\r\n" + bytes(4097) + b"\r\n0\r\n\r\n")
    status, body = client.receive()
    assert status == 413 and json.loads(body)["limit"] == 4 << 10
    assert server.get("/zarr/w/longer").status == 404
    server.stop()


def test_a_body_that_ends_early_leaves_what_was_there(keys, d):
    put(keys, f"{d}/whole", b"before")
    with socket.create_connection(("127.0.0.1", keys.port)) as client:
        client.sendall(f"PUT /zarr/{d}/whole HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nafter".encode())
    assert keys.get(f"/zarr/{d}/whole").body == b"before"


# ---- conditions ----

@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_r40_conditions_hold_or_nothing_changes(keys, d, method):
    key = f"{d}/condition/{method}"
    body = b"after" if method == "PUT" else None
    done = 200 if method == "PUT" else 204

    def change(**headers):
        return keys.request(method, f"/zarr/{key}", {name.replace("_", "-"): value for name, value in headers.items()}, body)

    for headers in ({"If_Match": "*"}, {"If_Match": '"x-1"'}):  # there is nothing yet
        answer = change(**headers)
        assert answer.status == 412 and answer.code == "precondition_failed", answer
    assert keys.get(f"/zarr/{key}").status == 404
    tag = put(keys, key, b"before").headers["etag"]
    for headers in (
            {"If_None_Match": "*"}, {"If_None_Match": tag}, {"If_None_Match": f'"x-1", W/{tag}'}, {"If_Match": '"x-1"'},
            {"If_Match": f"W/{tag}"}, {"If_Match": '""'}, {"If_Unmodified_Since": "Sun, 06 Nov 1994 08:49:37 GMT"}):
        answer = change(**headers)
        assert answer.status == 412 and answer.headers["etag"] == tag, (headers, answer)
        assert keys.get(f"/zarr/{key}").body == b"before"
    for name, value in (
            ("If_Match", '{tag}'), ("If_Match", '{bare}'), ("If_Match", '"x-1", {tag}'), ("If_Match", "*"),
            ("If_Match", '"{bare}-gzip"'), ("If_None_Match", '"x-1"'), ("If_Unmodified_Since", "{date}")):
        stored = put(keys, key, b"before").headers
        value = value.format(tag=stored["etag"], bare=stored["etag"].strip('"'), date=stored["last-modified"])
        assert change(**{name: value}).status == done, (name, value)


def test_the_tag_of_what_was_erased_and_stored_again_is_another_one(keys, d):
    seen = set()
    for _ in range(20):
        seen.add(put(keys, f"{d}/again", b"same").headers["etag"])
        delete(keys, f"{d}/again")
    assert len(seen) == 20


def test_exactly_one_creator_wins(keys, d):
    for round_ in range(5):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(
                lambda i: put(keys, f"{d}/race/{round_}", b"%d" % i, {"If-None-Match": "*"}).status, range(8)))
        assert sorted(statuses) == [200] + [412] * 7


# ---- chunks ----

def test_chunks_are_judged_before_they_are_stored(keys, folder, d):
    assert put(keys, f"{d}/arrays/raw/zarr.json", array()).status == 200
    good = np.arange(6, dtype="<u2").tobytes()
    for body in (b"", good[:-1], good + b"x", good * 2):
        before = contents(folder)
        answer = put(keys, f"{d}/arrays/raw/c/0/1", body)
        assert answer.status == 422 and answer.code == "corrupt_chunk", answer
        assert "arrays/raw/c/0/1" in answer.json()["detail"]
        assert keys.get(f"/zarr/{d}/arrays/raw/c/0/1").status == 404 and contents(folder) == before
    assert put(keys, f"{d}/arrays/raw/c/0/1", good).status == 200
    answer = keys.get(f"/v1/datasets/{d}/slices/arrays/raw?slice=0:2,3:6&format=json")
    assert answer.json()["data"] == [[0, 1, 2], [3, 4, 5]]
    assert put(keys, f"{d}/arrays/raw/c/0/1", good[:-1]).status == 422
    assert keys.get(f"/zarr/{d}/arrays/raw/c/0/1").body == good
    assert delete(keys, f"{d}/arrays/raw/c/0/1").status == 204
    assert keys.get(f"/v1/datasets/{d}/slices/arrays/raw?slice=0,3&format=json").json()["data"] == 7


def test_compressed_chunks_are_decoded_to_be_judged(keys, d):
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]
    put(keys, f"{d}/arrays/zipped/zarr.json", array(codecs=codecs))
    good = np.arange(6, dtype="<u2").tobytes()
    for body in (good, gzip.compress(good)[:-4], gzip.compress(good[:-2]), gzip.compress(good * 2), gzip.compress(bytes(1 << 20))):
        assert put(keys, f"{d}/arrays/zipped/c/1/1", body).code == "corrupt_chunk"
    assert keys.get(f"/zarr/{d}/arrays/zipped/c/1/1").status == 404
    assert put(keys, f"{d}/arrays/zipped/c/1/1", gzip.compress(good)).status == 200


@pytest.mark.parametrize("rest, status", [
    ("c/2/0", 400), ("c/0/2", 400), ("c/18446744073709551616/0", 400), ("c/99999999999999999999999/1", 400),
    ("c/00/0", 200), ("c/0", 200), ("c/0/0/0", 200), ("c.0.0", 200), ("notes.txt", 200), ("c/0/1/x", 200),
])
def test_chunk_keys_lie_inside_the_grid(keys, d, rest, status):
    place = "arrays/grid" + str(abs(hash(rest)))  # objects must not be in the way of directories
    put(keys, f"{d}/{place}/zarr.json", array())
    answer = put(keys, f"{d}/{place}/{rest}", b"anything")
    assert answer.status == status, answer
    assert status == 200 or answer.code == "out_of_bounds"
    assert keys.get(f"/zarr/{d}/{place}/{rest}").status == (200 if status == 200 else 404)
    assert delete(keys, f"{d}/{place}/{rest}").status == 204


def test_shards_are_judged_chunk_by_chunk(keys, d):
    inner = [{"name": "bytes", "configuration": {"endian": "little"}}]
    codecs = [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 3], "codecs": inner, "index_codecs": inner + [{"name": "crc32c"}], "index_location": "end"}}]
    put(keys, f"{d}/arrays/sharded/zarr.json", array(shape=(4, 6), chunks=(4, 6), codecs=codecs))
    chunk = np.arange(6, dtype="<u2").tobytes()

    def shard(*places):
        index = np.array(places, "<u8").tobytes()
        return chunk + chunk + index + crc32c(index)

    absent = (2**64 - 1, 2**64 - 1)
    good = shard((0, 12), absent, (12, 12), absent)
    for bad in (good[:-1] + b"x", good[30:], shard((0, 11), absent, absent, absent), shard((0, 12), absent, (16, 12000), absent)):
        assert put(keys, f"{d}/arrays/sharded/c/0/0", bad).code == "corrupt_chunk"
    assert put(keys, f"{d}/arrays/sharded/c/0/0", good).status == 200
    assert keys.get(f"/v1/datasets/{d}/slices/arrays/sharded?slice=2:,0:3&format=json").json()["data"] == [[0, 1, 2], [3, 4, 5]]


def test_below_what_cannot_be_interpreted_nothing_can_be_judged(keys):
    document = array(codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "example.unknown"}])
    answer = put(keys, "m/strange/zarr.json", document)
    assert answer.status == 422 and answer.code == "unsupported_codec" and answer.json()["names"] == ["example.unknown"]
    assert put(keys, "unknown/strange/zarr.json", document).status == 200
    assert put(keys, "unknown/strange/c/0/0", b"whatever that codec makes").status == 200


# ---- documents ----

def test_documents_are_judged(keys, folder, d):
    before = contents(folder)
    answer = put(keys, f"{d}/bad/zarr.json", array(shape=[-1, 2], extra=1))
    assert answer.status == 422 and answer.code == "invalid_metadata" and len(answer.json()["errors"]) >= 2, answer
    answer = put(keys, f"{d}/bad/zarr.json", b"{")
    assert answer.status == 400 and answer.code == "bad_body"
    assert contents(folder) == before and keys.get(f"/zarr/{d}/bad/zarr.json").status == 404
    put(keys, f"{d}/docs/zarr.json", array())
    answer = put(keys, f"{d}/docs/below/zarr.json", GROUP)
    assert answer.status == 409 and answer.code == "parent_is_array"
    assert keys.get(f"/zarr/{d}/docs/zarr.json").body == array()  # byte for byte
    tag = keys.get(f"/zarr/{d}/docs/zarr.json").headers["etag"]
    assert put(keys, f"{d}/docs/zarr.json", array(attributes={"a": 1}), {"If-Match": '"x-1"'}).status == 412
    answer = put(keys, f"{d}/docs/zarr.json", array(attributes={"a": 1}), {"If-Match": tag})
    assert answer.status == 200 and answer.headers["etag"] == keys.get(f"/zarr/{d}/docs/zarr.json").headers["etag"]
    assert keys.get(f"/v1/datasets/{d}/nodes/docs").json()["metadata"]["attributes"] == {"a": 1}
    assert delete(keys, f"{d}/docs/zarr.json", {"If-Match": tag}).status == 412
    assert delete(keys, f"{d}/docs/zarr.json").status == 204
    assert keys.get(f"/v1/datasets/{d}/nodes/docs").status == 404
    assert delete(keys, f"{d}/docs/zarr.json").status == 204


@pytest.mark.parametrize("change", [
    {"chunks": (2, 2)}, {"data_type": "float32"}, {"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]},
    {"chunk_key_encoding": {"name": "v2"}}, {"shape": (4, 6, 1), "chunks": (2, 3, 1)}, None,
])
def test_a_document_that_spoils_chunks_is_refused(keys, folder, d, change):
    chunk = np.arange(6, dtype="<u2").tobytes()
    document = GROUP if change is None else array(**change)
    put(keys, f"{d}/spoilt/zarr.json", array())
    assert put(keys, f"{d}/spoilt/zarr.json", document).status == 200  # no chunks, nothing to spoil
    assert put(keys, f"{d}/spoilt/zarr.json", array()).status == 200
    assert put(keys, f"{d}/spoilt/a/note", b"not a chunk").status == 200
    assert put(keys, f"{d}/spoilt/zarr.json", document).status == 200
    assert put(keys, f"{d}/spoilt/zarr.json", array()).status == 200
    assert put(keys, f"{d}/spoilt/c/1/1", chunk).status == 200
    before = contents(folder)
    answer = put(keys, f"{d}/spoilt/zarr.json", document)
    assert (answer.status, answer.code) == (409, "chunks_exist"), answer
    assert contents(folder) == before and keys.get(f"/zarr/{d}/spoilt/zarr.json").body == array()
    # its shape alone, and what says nothing of chunks, may change
    for harmless in (array(shape=(40, 60)), array(attributes={"a": 1}), array(shape=(3, 5)), array()):
        assert put(keys, f"{d}/spoilt/zarr.json", harmless).status == 200
    assert keys.get(f"/v1/datasets/{d}/chunks/spoilt?index=1,1&decoded=1").body == chunk
    assert delete(keys, f"{d}/spoilt/c/1/1").status == 204
    assert put(keys, f"{d}/spoilt/zarr.json", document).status == 200
    assert keys.request("DELETE", f"/v1/datasets/{d}/nodes/spoilt?recursive=1").status == 204


def test_a_document_does_not_make_chunks_of_other_keys(keys, d):
    v2 = {"chunk_key_encoding": {"name": "v2"}}
    put(keys, f"{d}/adopts/zarr.json", array())
    assert put(keys, f"{d}/adopts/0.0", b"no chunk yet").status == 200
    assert put(keys, f"{d}/adopts/zarr.json", array(**v2)).code == "chunks_exist"
    assert delete(keys, f"{d}/adopts/0.0").status == 204
    assert put(keys, f"{d}/adopts/zarr.json", array(**v2)).status == 200


# ---- things in the way ----

def test_objects_and_directories_in_the_way(keys, folder):
    put(keys, "f/way/object", b"here")
    put(keys, "f/way/directory/below", b"there")
    before = contents(folder)
    for key in ("f/way/object/below", "f/way/directory"):
        answer = put(keys, key, b"x")
        assert answer.status in (400, 409, 502), answer
        assert keys.get("/livez").status == 200 and contents(folder) == before


@pytest.mark.skipif(os.geteuid() == 0 and not hasattr(os, "setresuid"), reason="the server is not kept out")
def test_an_operation_that_the_system_forbids_is_told(keys, folder):
    os.mkdir(folder / "closed")
    os.chmod(folder / "closed", 0o500)
    answer = put(keys, "f/closed/a", b"x")
    assert answer.status == 502 or os.geteuid() == 0
    os.chmod(folder / "closed", 0o700)
    assert put(keys, "f/closed/a", b"x").status == 200


# ---- clients ----

@pytest.mark.parametrize("shards", [None, (20, 20)])
def test_zarr_python_creates_and_fills_arrays(keys, d, shards):
    zarr = pytest.importorskip("zarr", minversion="3")
    data = np.arange(40 * 30, dtype="f4").reshape(40, 30)
    root = f"{keys.url}/zarr/{d}/client{0 if shards is None else 1}"
    array_ = zarr.create_array(root, shape=data.shape, chunks=(10, 10), shards=shards, dtype=data.dtype, zarr_format=3, overwrite=False)
    array_[:] = data
    assert (zarr.open_array(root, mode="r")[:] == data).all()
    dataset_path = root.split(f"/zarr/{d}/")[1]
    raw = keys.get(f"/v1/datasets/{d}/slices/{dataset_path}").body
    assert (np.frombuffer(raw, "<f4").reshape(data.shape) == data).all()


def test_obstore_creates_fills_and_erases(keys, d):
    obstore = pytest.importorskip("obstore")
    zarr = pytest.importorskip("zarr", minversion="3")
    from zarr.storage import ObjectStore
    # its HTTP store cannot create parents ("not yet implemented"), so the array is its root
    store = ObjectStore(obstore.store.HTTPStore.from_url(f"{keys.url}/zarr/{d}/obstore/a", client_options={"allow_http": True}))
    data = np.arange(24, dtype="i4").reshape(4, 6)
    array_ = zarr.create_array(store, shape=data.shape, chunks=(2, 3), dtype=data.dtype)
    array_[:] = data
    assert (zarr.open_array(store, mode="r")[:] == data).all()
    array_[0:2, 0:3] = 0  # nothing but the fill value: erased
    assert keys.get(f"/zarr/{d}/obstore/a/c/0/0").status == 404
    assert zarr.open_array(store, mode="r")[:].sum() == data.sum() - data[0:2, 0:3].sum()
