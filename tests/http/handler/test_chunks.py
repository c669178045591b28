"""Chunks: stored bytes, elements, inner chunks, presence and batches."""

import base64
import email
import json
import struct

import numpy as np
import pytest
from arrays import write_array, write_sharded
from documents import GZIP, LITTLE
from live import Server

C = "/v1/datasets/p/chunks/"
VALUES = np.random.default_rng(3).normal(size=(20, 30)).astype("<f4")
PADDED = np.pad(VALUES, ((0, 4), (0, 0)))
ABSENT = 2**64 - 1


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    import gzip
    root = tmp_path_factory.mktemp("chunks")
    (root / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_array(root / "a", VALUES.shape, (8, 10), [LITTLE], PADDED)
    (root / "a/c/1/1").unlink()
    write_array(root / "packed", (4, 4), (4, 4), [LITTLE, GZIP])
    (root / "packed/c/0").mkdir(parents=True)
    (root / "packed/c/0/0").write_bytes(gzip.compress(VALUES[:4, :4].tobytes()))
    write_array(root / "turned", (3, 4), (3, 4), [
        {"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes", "configuration": {"endian": "big"}}])
    (root / "turned/c/0").mkdir(parents=True)
    (root / "turned/c/0/0").write_bytes(VALUES[:3, :4].T.astype(">f4").tobytes())
    write_array(root / "scalar", (), (), [LITTLE])
    (root / "scalar/c").write_bytes(np.float32(3).tobytes())
    write_sharded(root / "shards", VALUES, (8, 20), (4, 5), missing={(1, 1)})
    (root / "shards/c/2/1").unlink()
    running = Server(f"p={root}")
    running.root = root
    yield running
    running.stop()


def block(index, shape=(8, 10)):
    return PADDED[tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, shape))]


def test_a_chunk_as_it_is_stored(server):
    answer = server.get(C + "packed?index=0,0")
    assert answer.body == (server.root / "packed/c/0/0").read_bytes()
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["zarr-codecs"] == "bytes,gzip"
    head = server.head(C + "packed?index=0,0")
    assert head.headers["content-length"] == str(len(answer.body)) and head.headers["etag"] == answer.headers["etag"]
    assert server.get(C + "packed?index=0,0", {"If-None-Match": answer.headers["etag"]}).status == 304
    part = server.get(C + "packed?index=0,0", {"Range": "bytes=2-5"})
    assert part.status == 206 and part.body == answer.body[2:6]


@pytest.mark.parametrize("index", [(0, 0), (2, 2), (2, 0)])
def test_a_decoded_chunk_has_the_whole_chunk_shape(server, index):
    target = f"{C}a?index={index[0]},{index[1]}&decoded=1"
    answer = server.get(target)
    assert answer.body == np.ascontiguousarray(block(index)).tobytes()
    assert answer.headers["zarr-shape"] == "8,10" and answer.headers["zarr-dtype"] == "<f4"
    head = server.head(target)
    assert head.headers["content-length"] == "320" and head.headers["etag"] == answer.headers["etag"]
    assert answer.headers["etag"] != server.get(target.replace("decoded=1", "decoded=0")).headers["etag"]


def test_decoding_undoes_every_codec(server):
    assert server.get(C + "packed?index=0,0&decoded=1").body == VALUES[:4, :4].tobytes()
    assert server.get(C + "turned?index=0,0&decoded=1").body == VALUES[:3, :4].tobytes()
    assert server.get(C + "turned?index=0,0").body == VALUES[:3, :4].T.astype(">f4").tobytes()
    assert server.get(C + "turned?index=0,0").headers["zarr-codecs"] == "transpose,bytes"


def test_a_scalar_has_one_chunk(server):
    assert np.frombuffer(server.get(C + "scalar?index=").body, "<f4") == 3
    assert np.frombuffer(server.get(C + "scalar?index=&decoded=1").body, "<f4") == 3
    assert server.get(C + "scalar?index=0").code == "bad_parameter"


def test_an_absent_chunk(server):
    for method in (server.get, server.head):
        assert method(C + "a?index=1,1").status == 404
        answer = method(C + "a?index=1,1&decoded=1")
        assert answer.status == 200 and answer.headers["zarr-chunk"] == "absent"
        assert answer.headers["content-length"] == "320"
    assert server.get(C + "a?index=1,1").code == "chunk_absent"
    assert server.get(C + "a?index=1,1&decoded=1").body == bytes(320)


@pytest.mark.parametrize("query, code, members", [
    ("index=3,0", "out_of_bounds", {"dim": 0, "index": 3, "size": 3}),
    ("index=0,-1", "out_of_bounds", {"dim": 1, "index": -1, "size": 3}),
    ("index=0,18446744073709551616", "out_of_bounds", {"dim": 1, "size": 3}),
    ("index=0", "bad_parameter", {}), ("index=0,0,0", "bad_parameter", {}), ("index=", "bad_parameter", {}),
    ("index=0,,0", "bad_parameter", {}), ("index=00,0", "bad_parameter", {}), ("", "bad_parameter", {}),
    ("index=0,0&level=inner", "bad_parameter", {}), ("index=0,0&decoded=2", "bad_parameter", {}),
    ("index=0,0&slice=1", "bad_parameter", {}), ("index=0,0&present=1", "bad_parameter", {}),
    ("present=1&slice=9,0", "out_of_bounds", {"dim": 0, "index": 9, "size": 3}), ("present=1&slice=x", "bad_slice", {}),
])
def test_bad_questions(server, query, code, members):
    answer = server.get(C + "a?" + query)
    assert answer.status == 400 and answer.code == code, answer
    for name, value in members.items():
        assert answer.json()[name] == value


def test_shards_and_their_inner_chunks(server):
    shard = (server.root / "shards/c/0/1").read_bytes()
    assert server.get(C + "shards?index=0,1").body == shard
    assert server.get(C + "shards?index=0,1&level=outer").headers["zarr-codecs"] == "sharding_indexed"
    inner = server.get(C + "shards?index=0,4&level=inner")
    assert inner.body == np.ascontiguousarray(VALUES[0:4, 20:25]).tobytes() and inner.headers["zarr-codecs"] == "bytes"
    assert server.head(C + "shards?index=0,4&level=inner").headers["content-length"] == "80"
    assert server.get(C + "shards?index=0,4&level=inner&decoded=1").body == inner.body
    whole = np.zeros((8, 20), "<f4")
    whole[:, :10] = VALUES[0:8, 20:30]
    assert server.get(C + "shards?index=0,1&decoded=1").body == whole.tobytes()
    assert server.get(C + "shards?index=2,1").code == "chunk_absent"
    assert server.get(C + "shards?index=1,1&level=inner").code == "chunk_absent"  # in a shard that exists
    assert server.get(C + "shards?index=4,5&level=inner").code == "chunk_absent"  # in one that does not
    assert server.get(C + "shards?index=1,1&level=inner&decoded=1").body == bytes(80)
    assert server.get(C + "shards?index=0,2").code == "out_of_bounds"
    assert server.get(C + "shards?index=6,0&level=inner").code == "out_of_bounds"


def bits(document, n):
    bitmap = np.frombuffer(base64.b64decode(document["bitmap"]), "u1")
    assert len(bitmap) == -(-n // 8)
    return np.unpackbits(bitmap, bitorder="little")[:n].tolist()


def test_which_chunks_exist(server):
    document = server.get(C + "a?present=1").json()
    assert document["chunk_grid_shape"] == [3, 3] and document["n_present"] == 8
    assert bits(document, 9) == [1, 1, 1, 1, 0, 1, 1, 1, 1]
    document = server.get(C + "a?present=1&slice=1,:").json()
    assert document["n_present"] == 2 and bits(document, 3) == [1, 0, 1]
    assert server.get(C + "shards?present=1").json()["n_present"] == 5
    document = server.get(C + "scalar?present=1").json()
    assert document["chunk_grid_shape"] == [] and document["n_present"] == 1 and document["bitmap"] == "AQ=="


def parts_of(answer):
    kind = answer.headers["content-type"]
    assert kind.startswith("multipart/mixed; boundary=")
    message = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + answer.body)
    return {part["Content-ID"]: part for part in message.get_payload()}


def frames_of(answer):
    assert answer.headers["content-type"] == "application/vnd.zarrd.frames"
    found, body = {}, answer.body
    while body:
        position, length = struct.unpack("<IQ", body[:12])
        n = 0 if length == ABSENT else length
        found[position] = None if length == ABSENT else body[12:12 + n]
        body = body[12 + n:]
    return found


def test_a_batch_as_multipart(server):
    answer = server.post(C + "a", {"indices": [[0, 0], [1, 1], [2, 2]]})
    assert answer.status == 200, answer
    boundary = answer.headers["content-type"].split("boundary=")[1].encode()
    raw = answer.body.split(b"--" + boundary)
    assert raw[0] == b"" and raw[-1] == b"--\r\n" and len(raw) == 5
    head, _, body = raw[1].partition(b"\r\n\r\n")
    assert b"Content-ID: <0,0>" in head and body == np.ascontiguousarray(block((0, 0))).tobytes() + b"\r\n"
    parts = parts_of(answer)
    assert list(parts) == ["<0,0>", "<1,1>", "<2,2>"]
    assert parts["<1,1>"]["Zarr-Chunk"] == "absent" and parts["<0,0>"]["Zarr-Chunk"] is None


def test_a_batch_as_frames(server):
    accept = {"Accept": "application/vnd.zarrd.frames"}
    indices = [[0, 0], [1, 1], [2, 2], [0, 0]]
    frames = frames_of(server.post(C + "a", {"indices": indices}, accept))
    expected = [np.ascontiguousarray(block(index)).tobytes() for index in indices]
    assert frames == {0: expected[0], 1: None, 2: expected[2], 3: expected[3]}
    frames = frames_of(server.post(C + "a", {"indices": indices, "decoded": True}, accept))
    assert frames == {0: expected[0], 1: bytes(320), 2: expected[2], 3: expected[3]}
    frames = frames_of(server.post(C + "shards", {"indices": [[1, 1], [0, 4]], "level": "inner"}, accept))
    assert frames == {0: None, 1: np.ascontiguousarray(VALUES[0:4, 20:25]).tobytes()}
    assert frames_of(server.post(C + "a", {"indices": []}, accept)) == {}
    answer = server.post(C + "a", {"indices": []}, {"Accept": "image/png"})
    assert answer.status == 406 and "multipart/mixed" in answer.json()["allowed"]


def test_a_batch_of_a_client_that_asks_for_json_is_multipart_and_says_so(server):
    """As curl --json does; who accepts anything else gets no warning."""
    for accept, warning in [("application/json", "not_json"), ("application/json;q=0.5", "not_json"), ("application/json, */*;q=0.1", None),
                            ("application/vnd.zarrd.frames", None)]:
        answer = server.post(C + "a", {"indices": [[0, 0]]}, {"Accept": accept})
        assert answer.status == 200 and answer.headers.get("zarr-warning") == warning, accept
        assert answer.headers["content-type"].startswith("multipart/mixed") == (accept != "application/vnd.zarrd.frames")


@pytest.mark.parametrize("body, code, pointer", [
    ({}, "bad_body", "/indices"), ({"indices": 1}, "bad_body", "/indices"), ({"indices": [[0]]}, "bad_body", "/indices/0"),
    ({"indices": [[0, 0], [0, "1"]]}, "bad_body", "/indices/1/1"), ({"indices": [[0, -1]]}, "bad_body", "/indices/0/1"),
    ({"indices": [[0, 3]]}, "out_of_bounds", "/indices/0"), ({"indices": [], "decoded": 1}, "bad_body", "/decoded"),
    ({"indices": [], "level": "middle"}, "bad_body", "/level"), ({"indices": [], "level": "inner"}, "bad_body", "/level"),
    ({"indices": [], "more": 1}, "bad_body", None), ([], "bad_body", None),
])
def test_a_bad_batch_names_its_place(server, body, code, pointer):
    answer = server.post(C + "a", body)
    assert answer.status == 400 and answer.code == code, answer
    if pointer is not None:
        assert answer.json()["pointer"] == pointer


def test_a_batch_has_limits(serve, tmp_path):
    write_array(tmp_path / "a", (64, 64), (16, 16), [LITTLE], np.zeros((64, 64), "<f4"))
    server = serve(f"p={tmp_path}", "--set", "limits.batch_chunks=4", "--set", "limits.batch_bytes=3KiB")
    few, many = [[0, 0], [0, 1], [0, 2]], [[0, 0], [0, 1], [0, 2], [0, 3]]
    assert server.post(C + "a", {"indices": few}).status == 200
    for decoded in (False, True):
        document = server.post(C + "a", {"indices": many, "decoded": decoded}).json()
        assert document["code"] == "too_large" and document["limit"] == 3072 and document["requested"] == 4096
    document = server.post(C + "a", {"indices": many + [[1, 1]]}).json()
    assert document["code"] == "too_large" and document["limit"] == 4 and document["requested"] == 5


def test_presence_has_a_limit(serve, tmp_path):
    write_array(tmp_path / "a", (100, 100), (1, 1), [LITTLE])
    server = serve(f"p={tmp_path}", "--set", "limits.slice_chunks=1000")
    document = server.get(C + "a?present=1").json()
    assert document["code"] == "too_large" and document["limit"] == 1000 and document["requested"] == 10000
    document = server.get(C + "a?present=1&slice=:10").json()
    assert document["n_present"] == 0 and len(base64.b64decode(document["bitmap"])) == 125


def test_a_corrupt_chunk_names_its_key(serve, tmp_path):
    write_array(tmp_path / "g/a", (4, 4), (2, 2), [LITTLE, GZIP])
    (tmp_path / "g/a/c/1").mkdir(parents=True)
    (tmp_path / "g/a/c/1/0").write_bytes(b"nonsense")
    server = serve(f"p={tmp_path}")
    for answer in (server.get(C + "g/a?index=1,0&decoded=1"), server.get("/v1/datasets/p/slices/g/a"),
                   server.post(C + "g/a", {"indices": [[1, 0]], "decoded": True})):
        assert answer.status == 500 and answer.code == "corrupt_chunk"
        assert "g/a/c/1/0" in json.dumps(answer.json())
    assert server.get(C + "g/a?index=1,0").body == b"nonsense"  # transport
