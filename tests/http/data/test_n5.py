"""N5 over HTTP: datasets of three writers in both orders of their axes, groups without documents, blocks of every kind."""

import bz2
import gzip
import hashlib
import json
import lzma
import struct
import urllib.parse
import zlib

import numpy as np
import pytest
import zarr
from arrays import write_values
from client import wait_until
from documents import GROUP, array_document
from files import contents
from live import CORPUS, SHARED, STORES, Server, cases

AXES = ("dimensions", "reversed")


# ---- what libraries wrote ----


def n5_cases(folder):
    return [case for case in cases(folder) if case["format"] == "n5"]


def collections():
    found = {}
    for folder, stores in ((CORPUS, STORES), (SHARED, SHARED / "stores")):
        for case in n5_cases(folder):
            found.setdefault((stores / case["store"], case["axes"]), []).append(case)
    return [pytest.param(*key, group, id=f"{key[0].parent.parent.parent.name}-{key[0].name}-{key[1]}")
            for key, group in sorted(found.items())]


@pytest.mark.parametrize("store, axes, group", collections())
def test_every_selection_gives_the_bytes_that_were_written(store, axes, group):
    config = {"datasets": {"data": {"location": str(store), "n5_axes": axes}}}
    # Datasets say themselves that they are N5: the usual order needs no setting.
    server = Server(config=config) if axes == "reversed" else Server(f"data={store}")
    try:
        connection = server.connection()
        for case in group:
            for selection in case["selections"]:
                query = urllib.parse.urlencode({"slice": selection["slice"], "format": "raw"})
                path = urllib.parse.quote(case["node"])
                answer = server.get(f"/v1/datasets/data/slices/{path}?{query}", connection=connection)
                where = f"{store}/{case['node']}[{selection['slice']}]"
                assert answer.status == 200, f"{where}: {answer}"
                assert answer.headers["zarr-shape"] == ",".join(str(n) for n in selection["shape"]), where
                assert hashlib.sha256(answer.body).hexdigest() == selection["sha256"], where
    finally:
        server.stop()


def test_the_collection_in_the_project_is_not_empty():
    assert len(n5_cases(CORPUS)) == 100
    assert sorted({case["axes"] for case in n5_cases(CORPUS)}) == list(AXES)


# ---- stores made here ----


def attributes(**more):
    return {"dimensions": [5, 3], "blockSize": [2, 2], "dataType": "uint16", "compression": {"type": "raw"}, **more}


def block(values, encode=bytes, mode=b"\0\0", count=None):
    """values[x, y]: the first axis varies fastest."""
    head = mode + struct.pack(f">H{values.ndim}I", values.ndim, *values.shape)
    head += b"" if count is None else struct.pack(">I", count)
    return head + encode(values.astype(values.dtype.newbyteorder(">")).tobytes("F"))


def blocks_of(values, shape, **more):
    """Cut at the edges, as Java writes them; those of nothing but zeros are left out."""
    for i in range(-(-values.shape[0] // shape[0])):
        for j in range(-(-values.shape[1] // shape[1])):
            part = values[i * shape[0]:(i + 1) * shape[0], j * shape[1]:(j + 1) * shape[1]]
            if part.any():
                yield f"{i}/{j}", block(part, **more)


def write_n5(folder, document, blocks=()):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "attributes.json").write_text(json.dumps(document))
    for key, data in blocks:
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(data)


VALUES = np.arange(1, 16, dtype="<u2").reshape(5, 3)
VALUES[2:4, 2:] = 0  # a block that is not stored


@pytest.fixture
def store(tmp_path):
    """A root with a version, groups without documents, a dataset in each."""
    root = tmp_path / "old.n5"
    write_n5(root, {"n5": "4.0.0", "title": "old"})
    write_n5(root / "plain", attributes(axes=["x", "y"], units="m", resolution=[1, 2]), blocks_of(VALUES, (2, 2)))
    write_n5(root / "sub" / "deep" / "packed", attributes(compression={"type": "gzip", "level": 1}),
             blocks_of(VALUES, (2, 2), encode=gzip.compress))
    return root


def elements(server, path, query="", dtype="<u2"):
    answer = server.get(f"/v1/datasets/old/slices/{path}?{query}")
    assert answer.status == 200, answer
    return np.frombuffer(answer.body, dtype).reshape([int(n) for n in answer.headers["zarr-shape"].split(",") if n])


def reversed_axes(store):
    return {"datasets": {"old": {"location": str(store), "n5_axes": "reversed"}}}


def test_the_dialect_shows_wherever_a_dataset_does(store, serve):
    server = serve(store)
    assert server.get("/v1/datasets/old").json()["dialect"] == "n5"
    assert server.get("/v1/datasets").json()["datasets"][0]["dialect"] == "n5"
    wait_until(lambda: f"old  {store}  n5  read-only" in server.log)
    dialects = {entry["name"]: entry for entry in server.get("/v1/extensions").json()["dialects"]}
    assert dialects["n5"]["read"] and not dialects["n5"]["write"]


def test_nodes_are_rendered_to_v3(store, serve):
    server = serve(store)
    root = server.get("/v1/datasets/old/nodes/").json()
    assert root["metadata"] == {"zarr_format": 3, "node_type": "group", "attributes": {"title": "old"}}
    assert root["children"] == [{"name": "plain", "node_type": "array"}, {"name": "sub", "node_type": "group"}]
    node = server.get("/v1/datasets/old/nodes/plain").json()
    assert node["warnings"] == [] and node["array"]["dimension_names"] == ["x", "y"]
    assert node["metadata"]["attributes"] == {"axes": ["x", "y"], "units": "m", "resolution": [1, 2]}
    assert node["metadata"]["codecs"] == [{"name": "n5_default", "configuration": {"codecs": [
        {"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes", "configuration": {"endian": "big"}}]}}]
    assert node["metadata"]["chunk_key_encoding"] == {"name": "v2", "configuration": {"separator": "/"}}
    assert node["array"]["can"] == {"slice": True, "write": False}
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert [(row["path"], row["node_type"], row["dialect"]) for row in rows] == [
        ("", "group", "n5"), ("plain", "array", "n5"), ("sub", "group", "n5"), ("sub/deep", "group", "n5"),
        ("sub/deep/packed", "array", "n5")]


@pytest.mark.parametrize("axes", AXES)
def test_blocks_have_the_same_keys_in_both_orders(store, serve, axes):
    server = serve(store) if axes == "dimensions" else serve(config=reversed_axes(store))
    turn = (lambda *index: index) if axes == "dimensions" else (lambda *index: index[::-1])
    values = VALUES if axes == "dimensions" else VALUES.T
    node = server.get("/v1/datasets/old/nodes/plain").json()
    assert node["array"]["shape"] == list(turn(5, 3)) and node["array"]["dimension_names"] == list(turn("x", "y"))
    assert node["array"]["chunk_grid_shape"] == list(turn(3, 2))
    assert node["metadata"]["attributes"]["resolution"] == [1, 2]  # as stored
    assert [warning["code"] for warning in node["warnings"]] == ([] if axes == "dimensions" else ["reversed_axes"])
    for path in ("plain", "sub/deep/packed"):
        assert (elements(server, path) == values).all()
        assert (elements(server, path, "slice=1:,::-2") == values[1:, ::-2]).all()
        query = "index=" + ",".join(map(str, turn(2, 0)))
        chunk = server.get(f"/v1/datasets/old/chunks/{path}?{query}")
        assert chunk.body == (store / path / "2/0").read_bytes() == server.get(f"/zarr/old/{path}/2/0").body
        decoded = server.get(f"/v1/datasets/old/chunks/{path}?{query}&decoded=1")
        whole = np.zeros((2, 2), "<u2")
        whole[:1] = VALUES[4:, :2]
        assert decoded.body == (whole if axes == "dimensions" else whole.T).tobytes()
    absent = server.get("/v1/datasets/old/chunks/plain?index=" + ",".join(map(str, turn(1, 1))))
    assert (absent.status, absent.code) == (404, "chunk_absent")
    assert server.get("/v1/datasets/old/chunks/plain?index=" + ",".join(map(str, turn(3, 0)))).code == "out_of_bounds"


@pytest.mark.parametrize("axes", AXES)
def test_readers_of_v3_see_the_same(serve, axes):
    server = serve(config={"datasets": {"old": {"location": str(STORES / "n5/z5"), "n5_axes": axes}}})
    for node in ("three", "lz4", "g/partial", "t_int8"):
        array = zarr.open_array(f"{server.url}/v3/old/{node}", mode="r", zarr_format=3)
        assert (array[...] == elements(server, node, dtype=array.dtype)).all(), node
        assert array.shape == tuple(server.get(f"/v1/datasets/old/nodes/{node}").json()["array"]["shape"])


# ---- what is a node ----


def test_block_directories_are_no_nodes(store, serve):
    server = serve(store)
    assert elements(server, "plain").shape == (5, 3)
    for path in ("plain/0", "plain/2/0", "sub/deep/packed/0", "nothing", "sub/nothing", "sub/deep/attributes.json"):
        answer = server.get(f"/v1/datasets/old/nodes/{path}")
        assert (answer.status, answer.code) == (404, "node_not_found"), path
    # A dataset within a dataset is not shown.
    write_n5(store / "plain" / "within", attributes())
    assert "within" not in json.dumps(server.get("/v1/datasets/old/tree/").json())


def test_a_root_without_a_document_is_a_group_where_the_location_says_n5(tmp_path, serve):
    for name in ("a.n5", "a"):
        write_n5(tmp_path / name / "s", attributes(), blocks_of(VALUES, (2, 2)))
    server = serve(f"old={tmp_path / 'a.n5'}", f"unsaid={tmp_path / 'a'}", config={"datasets": {
        "said": {"location": str(tmp_path / "a"), "n5_axes": "dimensions"}}})
    for name in ("old", "said"):
        root = server.get(f"/v1/datasets/{name}/nodes/").json()
        assert (root["dialect"], root["children"]) == ("n5", [{"name": "s", "node_type": "array"}])
        assert server.get(f"/v1/datasets/{name}").json()["dialect"] == "n5"
    # Nobody guesses, but people are told; and a dataset is one, wherever it lies.
    problem = server.get("/v1/datasets/unsaid/nodes/")
    assert problem.status == 404 and "n5_axes" in problem.json()["detail"]
    wait_until(lambda: f"unsaid  {tmp_path / 'a'}  N5 without a document in its root" in server.log)
    assert server.get("/v1/datasets/unsaid/slices/s").body == VALUES.tobytes()


def test_a_directory_of_stores_may_hold_one_without_a_document(tmp_path, serve):
    write_n5(tmp_path / "lake" / "a.n5" / "s", attributes())
    write_n5(tmp_path / "lake" / "b", {"n5": "2.0.0"})
    server = serve(tmp_path / "lake")
    assert [(d["name"], d["dialect"]) for d in server.get("/v1/datasets").json()["datasets"]] == [("a", "n5"), ("b", "n5")]
    server = serve(tmp_path / "lake" / "a.n5")  # is no directory of stores itself
    assert server.get("/v1/datasets/a/nodes/s").status == 200


def test_groups_come_and_go_with_their_keys(store, serve):
    server = serve("--set", "cache.metadata_bytes=1MiB", f"old={store}")
    place = "/v1/datasets/old/nodes/new/group"
    assert server.get(place).status == 404
    write_n5(store / "new" / "group" / "a", attributes())
    wait_until(lambda: server.get(place).status == 200)
    assert server.get(place).json()["children"] == [{"name": "a", "node_type": "array"}]
    assert server.get("/v1/datasets/old/nodes/new").status == 200
    (store / "new/group/a/attributes.json").unlink()
    (store / "new/group/a").rmdir()
    (store / "new/group").rmdir()
    wait_until(lambda: server.get(place).status == 404)
    write_n5(store / "sub", attributes(), blocks_of(VALUES, (2, 2)))  # a dataset now: nothing below it is a node
    wait_until(lambda: server.get("/v1/datasets/old/nodes/sub").json()["node_type"] == "array")
    wait_until(lambda: server.get("/v1/datasets/old/nodes/sub/deep").status == 404)


def test_the_version_of_the_root_is_that_of_the_store(store, serve):
    write_n5(store / "sub", {"n5": "9.0.0"})
    server = serve(store)
    assert "refused" not in server.get("/v1/datasets/old/nodes/sub").json()
    write_n5(store, {"n5": "5.0.0"})
    for path in ("", "sub", "sub/deep", "plain"):
        wait_until(lambda path=path: "refused" in server.get(f"/v1/datasets/old/nodes/{path}").json())
        refused = server.get(f"/v1/datasets/old/nodes/{path}").json()["refused"]
        assert (refused["code"], refused["pointer"]) == ("invalid_metadata", "/n5")


def test_a_file_of_another_program_is_not_taken_for_n5(tmp_path, serve):
    (tmp_path / "attributes.json").write_text('{"colour": "red"}')
    server = serve(f"old={tmp_path}")
    refused = server.get("/v1/datasets/old/nodes/").json()["refused"]
    assert refused["code"] == "unsupported_extension" and "n5_axes" in refused["detail"]


def test_zarr_wins_and_n5_beside_it_is_a_warning(store, serve):
    write_values(store / "plain", np.full((3,), 9, "i4"), (3,))
    (store / "sub" / ".zgroup").write_text('{"zarr_format": 2}')
    server = serve(store)
    node = server.get("/v1/datasets/old/nodes/plain").json()
    assert (node["dialect"], node["array"]["shape"]) == ("v3", [3])
    assert [(w["code"], "n5" in w["detail"]) for w in node["warnings"]] == [("two_dialects", True)]
    node = server.get("/v1/datasets/old/nodes/sub").json()
    assert node["dialect"] == "v2" and node["warnings"] == []  # nothing of N5 is there, but below it
    write_n5(store / "sub", {"a": 1})
    wait_until(lambda: [w["code"] for w in server.get("/v1/datasets/old/nodes/sub").json()["warnings"]] == ["two_dialects"])
    # A group of v2 is none of N5: what has no document below it is no node.
    assert server.get("/v1/datasets/old/nodes/sub/deep").status == 404
    (store / "plain/attributes.json").unlink()
    wait_until(lambda: server.get("/v1/datasets/old/nodes/plain").json()["warnings"] == [])


# ---- what is refused ----

BAD = [
    ({"blockSize": None}, "invalid_metadata", "/blockSize"),
    ({"blockSize": [2]}, "invalid_metadata", "/blockSize"),
    ({"blockSize": [2, 0]}, "invalid_metadata", "/blockSize/1"),
    ({"dimensions": [5, -3]}, "invalid_metadata", "/dimensions/1"),
    ({"dataType": "object"}, "unsupported_data_type", "/dataType"),
    ({"dataType": "string"}, "unsupported_data_type", "/dataType"),
    ({"compression": {"type": "jpeg"}}, "unsupported_codec", "/compression/type"),
    ({"compression": "raw"}, "invalid_metadata", "/compression"),
    ({"codecs": []}, "unsupported_codec", "/codecs"),
]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("change, code, pointer", BAD)
def test_a_node_that_cannot_be_read_says_where(tmp_path, serve, axes, change, code, pointer):
    document = attributes(**change)
    write_n5(tmp_path / "a", document, [("0/0", b"stored")])
    server = serve(config={"datasets": {"old": {"location": str(tmp_path), "n5_axes": axes}}})
    node = server.get("/v1/datasets/old/nodes/a").json()
    assert (node["refused"]["code"], node["refused"]["pointer"]) == (code, pointer)
    assert node["metadata"] == document  # as it is stored, so that a person sees why
    problem = server.get("/v1/datasets/old/slices/a")
    assert (problem.status, problem.code, problem.json()["pointer"]) == (422, code, pointer)
    assert server.get("/zarr/old/a/0/0").body == b"stored"


ONES = np.ones((2, 2), "<u2")
ZLIB, GZIP = {"type": "gzip", "useZlib": True}, {"type": "gzip"}
LZ4_FRAME = b"LZ4Block\x16" + struct.pack("<II", 8, 8)
DAMAGED = [  # compression, block, the codec that is named
    ({"type": "raw"}, b"", "n5_default"),
    ({"type": "raw"}, b"\0\0\0", "n5_default"),
    ({"type": "raw"}, block(np.ones((2, 2, 2), "<u2")), "n5_default"),
    ({"type": "raw"}, block(np.ones((3, 1), "<u2")), "n5_default"),
    ({"type": "raw"}, b"\0\0\0\2" + b"\xff" * 8, "n5_default"),
    ({"type": "raw"}, block(ONES, mode=b"\0\3"), "n5_default"),
    ({"type": "raw"}, block(ONES)[:-1], "bytes"),
    ({"type": "raw"}, block(ONES) + b"\0", "bytes"),
    (GZIP, block(ONES, gzip.compress)[:-1], "gzip"),
    (GZIP, block(ONES, lambda data: gzip.compress(data + b"\0")), "gzip"),
    (GZIP, block(ONES, lambda data: gzip.compress(data * (1 << 20))), "gzip"),
    (GZIP, block(ONES), "gzip"),
    (ZLIB, block(ONES, zlib.compress)[:-1], "numcodecs.zlib"),
    ({"type": "bzip2"}, block(ONES, bz2.compress)[:-1], "numcodecs.bz2"),
    ({"type": "xz"}, block(ONES, lzma.compress)[:-1], "numcodecs.lzma"),
    ({"type": "zstd"}, block(ONES), "zstd"),
    ({"type": "blosc"}, block(ONES), "blosc"),
    ({"type": "lz4"}, block(ONES), "n5.lz4"),
    ({"type": "lz4"}, block(ONES, lambda data: LZ4_FRAME + b"\0\0\0\0" + data), "n5.lz4"),
    ({"type": "lz4", "id": "lz4"}, block(ONES), "numcodecs.lz4"),
]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory, serve_module):
    root = tmp_path_factory.mktemp("damaged") / "old.n5"
    for i, (compression, data, _) in enumerate(DAMAGED):
        write_n5(root / str(i), attributes(compression=compression), [("0/0", data)])
    return serve_module(root)


@pytest.mark.parametrize("i", range(len(DAMAGED)))
def test_a_damaged_block_is_said_to_be_that(damaged, i):
    problem = damaged.get(f"/v1/datasets/old/slices/{i}")
    assert (problem.status, problem.code) == (500, "corrupt_chunk"), problem
    assert f"{i}/0/0" in problem.json()["detail"] and problem.json()["names"] == [DAMAGED[i][2]]
    assert elements(damaged, str(i), "slice=2:").tolist() == [[0] * 3] * 3


def test_blocks_of_other_modes(tmp_path, serve):
    write_n5(tmp_path / "a", attributes(dimensions=[8, 2]), [
        ("0/0", block(ONES, mode=b"\0\1", count=4)),
        ("1/0", block(ONES, mode=b"\0\1", count=5)),
        ("2/0", b"\0\2\0\0\0\4abcd"),
    ])
    server = serve(f"old={tmp_path}")
    assert elements(server, "a", "slice=0:2").tolist() == [[1, 1], [1, 1]]
    for at, mode in ((2, "mode 1"), (4, "mode 2")):
        problem = server.get(f"/v1/datasets/old/slices/a?slice={at}")
        assert (problem.status, problem.code) == (422, "unsupported_codec")
        assert mode in problem.json()["detail"] and f"a/{at // 2}/0" in problem.json()["detail"]
        assert server.get(f"/v1/datasets/old/chunks/a?index={at // 2},0").status == 200


SAME = [  # under one name: what the first bytes say is decoded
    (GZIP, gzip.compress), (GZIP, zlib.compress), (ZLIB, gzip.compress), (ZLIB, zlib.compress),
    (GZIP, lambda data: gzip.compress(data[:3]) + gzip.compress(data[3:])),
    ({"type": "xz"}, lzma.compress), ({"type": "bzip2"}, bz2.compress),
]


@pytest.mark.parametrize("compression, encode", SAME)
def test_blocks_are_decoded_as_what_they_are(tmp_path, serve, compression, encode):
    write_n5(tmp_path / "a", attributes(compression=compression), blocks_of(VALUES, (2, 2), encode=encode))
    server = serve(f"old={tmp_path}")
    assert (elements(server, "a") == VALUES).all()


JSON, PATCH, BYTES = "application/json", "application/merge-patch+json", "application/octet-stream"
WRITES = {
    "an array": ("PUT", "nodes/plain?erase_chunks=1", JSON, array_document((2,), (2,))),
    "a group": ("PUT", "nodes/new", JSON, GROUP),
    "a group below one without a document": ("PUT", "nodes/sub/deep/new", JSON, GROUP),
    "attributes": ("PATCH", "nodes/sub", PATCH, {"attributes": {"a": 1}}),
    "the end of an array": ("DELETE", "nodes/plain", None, None),
    "a slice": ("PUT", "slices/plain?slice=0,0", BYTES, b"\0\0"),
    "a chunk": ("PUT", "chunks/plain?index=0,0", BYTES, b"\0" * 20),
    "a listing": ("POST", "consolidate/", None, None),
}


@pytest.mark.parametrize("method, place, media_type, body", WRITES.values(), ids=WRITES)
def test_writes_are_refused_and_change_nothing(store, serve, method, place, media_type, body):
    before = contents(store)
    server = serve("-w", f"old={store}")
    headers = {} if media_type is None else {"Content-Type": media_type}
    body = json.dumps(body).encode() if isinstance(body, dict) else body
    answer = server.request(method, f"/v1/datasets/old/{place}", headers, body)
    assert (answer.status, answer.code) == (405, "read_only"), answer
    assert "n5" in answer.json()["detail"]
    assert contents(store) == before


def test_a_codec_of_n5_in_a_v3_array_has_its_blocks_in_the_order_of_the_shape(tmp_path, serve):
    document = array_document((5, 3), (2, 2), data_type="uint16", codecs=[{"name": "n5_default", "configuration": {
        "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
                   {"name": "bytes", "configuration": {"endian": "big"}}]}}])
    document["chunk_key_encoding"] = {"name": "v2", "configuration": {"separator": "/"}}
    write_n5(tmp_path / "a", document, [(key, data) for key, data in blocks_of(VALUES, (2, 2))])
    (tmp_path / "a" / "attributes.json").rename(tmp_path / "a" / "zarr.json")
    server = serve("-w", f"old={tmp_path}")
    assert (elements(server, "a") == VALUES).all()
    (tmp_path / "a" / "0" / "0").write_bytes(block(VALUES[:2, :2], mode=b"\0\1", count=4))
    wait_until(lambda: server.get("/v1/datasets/old/slices/a").status == 422)
    assert server.get("/v1/datasets/old/slices/a").code == "unsupported_codec"
    # What is written are whole blocks.
    put = server.request("PUT", "/v1/datasets/old/slices/a?slice=4,2", {"Content-Type": BYTES}, b"\x09\0")
    assert put.status in (200, 204), put
    last = np.zeros((2, 2), "<u2")
    last[0, 0] = 9
    assert (tmp_path / "a" / "2" / "1").read_bytes() == block(last)


def test_a_group_of_v3_goes_with_the_n5_below_it_and_nothing_else(tmp_path, serve):
    """The document of the root belongs to every dataset of N5, and to nobody who erases one."""
    write_n5(tmp_path, {"n5": "4.0.0"})
    for path in ("", "a"):
        (tmp_path / path).mkdir(exist_ok=True)
        (tmp_path / path / "zarr.json").write_text(json.dumps(GROUP))
    for path in ("a/b", "c"):
        write_n5(tmp_path / path, attributes(), blocks_of(VALUES, (2, 2)))
    server = serve("-w", f"old={tmp_path}")
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert [(row["path"], row["dialect"]) for row in rows] == [("", "v3"), ("a", "v3"), ("a/b", "n5"), ("c", "n5")]
    refused = server.request("DELETE", "/v1/datasets/old/nodes/a")
    assert (refused.status, refused.code) == (409, "not_empty")
    assert server.request("DELETE", "/v1/datasets/old/nodes/a?recursive=1").status == 204
    assert not (tmp_path / "a").exists() and (tmp_path / "attributes.json").exists()
    assert server.get("/v1/datasets/old/slices/c").body == VALUES.tobytes()
