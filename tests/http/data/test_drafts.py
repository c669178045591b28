"""The drafts of Zarr v3, which are only read: what a store of one is called, and what may be stored beside it."""

import json
import shutil
import zlib

import numpy as np
import pytest
from client import wait_until
from documents import GROUP, array_document
from files import contents
from live import STORES

VALUES = np.arange(24, dtype="<i4").reshape(4, 6)
URI = "https://purl.org/zarr/spec/"
CORE = URI + "protocol/core/3.0"
JSON, BYTES = "application/json", "application/octet-stream"


def elements(server, path, dtype="<i4"):
    answer = server.get(f"/v1/datasets/old/slices/{path}")
    assert answer.status == 200, answer
    return np.frombuffer(answer.body, dtype).reshape([int(n) for n in answer.headers["zarr-shape"].split(",") if n])


def warnings_of(server, path):
    return [(w["code"], w["pointer"]) for w in server.get(f"/v1/datasets/old/nodes/{path}").json()["warnings"]]


def draft_d(**more):
    """What zarrita 0.1 wrote."""
    return {**array_document((4, 6), (4, 6), data_type="int32"),
            "codecs": [{"name": "endian", "configuration": {"endian": "little"}}], **more}


def write_d(folder, document, chunk=VALUES):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps(document))
    (folder / "c/0").mkdir(parents=True, exist_ok=True)
    (folder / "c/0/0").write_bytes(chunk if isinstance(chunk, bytes) else chunk.tobytes())


@pytest.fixture
def mixed(tmp_path):
    """A group of v3 with an array of the draft of 2023, as all of those are: groups have no marks."""
    root = tmp_path / "old.zarr"
    write_d(root / "a", draft_d())
    (root / "zarr.json").write_text(json.dumps(GROUP))
    return root


def test_a_node_of_2023_is_called_by_its_document(mixed, serve):
    server = serve(f"old={mixed}")
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert [(row["path"], row["dialect"]) for row in rows] == [("", "v3"), ("a", "draft-2023-06")]
    node = server.get("/v1/datasets/old/nodes/a").json()
    assert node["dialect"] == "draft-2023-06" and node["array"]["can"] == {"slice": True, "write": False}
    assert node["metadata"]["codecs"] == [{"name": "bytes", "configuration": {"endian": "little"}}]
    assert warnings_of(server, "a") == [("legacy_spelling", "/codecs/0")]
    assert (elements(server, "a") == VALUES).all()
    assert server.get("/zarr/old/a/zarr.json").body == (mixed / "a/zarr.json").read_bytes()
    whole = server.get("/v1/datasets/old/tree/?format=zarr").json()
    assert whole["consolidated_metadata"]["metadata"] == {"a": node["metadata"]}
    dialects = {entry["name"]: entry for entry in server.get("/v1/extensions").json()["dialects"]}
    assert dialects["draft-2023-06"]["read"] and not dialects["draft-2023-06"]["write"]


def test_a_document_of_2023_at_the_root_names_the_dataset(tmp_path, serve):
    write_d(tmp_path / "old.zarr", draft_d())
    server = serve(tmp_path / "old.zarr")
    assert server.get("/v1/datasets").json()["datasets"][0]["dialect"] == "draft-2023-06"
    wait_until(lambda: f"old  {tmp_path / 'old.zarr'}  draft-2023-06  read-only" in server.log)


def test_shards_of_2023_may_lack_the_checksum_of_their_index(tmp_path, serve):
    """Nothing in the document says so; the shortest shards are shorter than an index with a checksum."""
    shard = {"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 3], "codecs": []}}
    missing = b"\xff" * 16
    entries = np.array([[0, 48], [48, 48]], "<u8").tobytes()
    stored = VALUES[:, :3].tobytes() + VALUES[:, 3:].tobytes() + entries
    write_d(tmp_path / "full", draft_d(codecs=[shard]), stored)
    write_d(tmp_path / "empty", draft_d(codecs=[shard], fill_value=7), 2 * missing)
    write_d(tmp_path / "cut", draft_d(codecs=[shard]), missing)
    nested = {"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 6], "codecs": [shard]}}
    inner = 2 * missing
    write_d(tmp_path / "nested", draft_d(codecs=[nested], fill_value=5),
            b"ab" + inner + np.array([2, len(inner)], "<u8").tobytes())
    server = serve(f"old={tmp_path}")
    assert (elements(server, "full") == VALUES).all()
    assert (elements(server, "empty") == 7).all()
    assert (elements(server, "nested") == 5).all()
    problem = server.get("/v1/datasets/old/slices/cut")
    assert (problem.status, problem.code) == (500, "corrupt_chunk"), problem
    assert warnings_of(server, "full") == [("implied_bytes", "/codecs/0/configuration/codecs"),
                                           ("implied_parameter", "/codecs/0/configuration/index_codecs")]


WRITES = {
    "a slice": ("PUT", "slices/a?slice=0,0", BYTES, b"\0\0\0\0"),
    "a chunk": ("PUT", "chunks/a?index=0,0", BYTES, b"\0" * 96),
    "attributes": ("PATCH", "nodes/a", "application/merge-patch+json", b'{"attributes": {"a": 1}}'),
    "a document": ("PUT", "nodes/a", JSON, json.dumps(array_document((2,), (2,))).encode()),
    "the end of the node": ("DELETE", "nodes/a", None, None),
}


@pytest.mark.parametrize("method, place, media_type, body", WRITES.values(), ids=WRITES)
def test_a_node_of_2023_is_only_read(mixed, serve, method, place, media_type, body):
    before = contents(mixed)
    server = serve("-w", f"old={mixed}")
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = server.request(method, f"/v1/datasets/old/{place}", headers, body)
    assert (answer.status, answer.code) == (405, "read_only"), answer
    assert "draft-2023-06" in answer.json()["detail"]
    assert contents(mixed) == before


def test_a_document_of_v3_may_take_the_place_of_a_node_of_2023(mixed, serve):
    server = serve("-w", f"old={mixed}")
    answer = server.request("PUT", "/v1/datasets/old/nodes/a?erase_chunks=1", {"Content-Type": JSON},
                            json.dumps(array_document((2,), (2,))).encode())
    assert answer.status == 200, answer
    assert server.get("/v1/datasets/old/nodes/a").json()["dialect"] == "v3"
    # To be written, no mark is tolerated.
    answer = server.request("PUT", "/v1/datasets/old/nodes/b", {"Content-Type": JSON}, json.dumps(draft_d()).encode())
    assert answer.status == 422, answer
    assert not (mixed / "b").exists()


def test_a_document_that_gets_a_mark_or_loses_it_changes_the_dialect(mixed, serve):
    server = serve(f"old={mixed}")
    assert server.get("/v1/datasets/old/nodes/a").json()["dialect"] == "draft-2023-06"
    write_d(mixed / "a", array_document((4, 6), (4, 6), data_type="int32"))
    wait_until(lambda: server.get("/v1/datasets/old/nodes/a").json()["dialect"] == "v3")
    shutil.copy(STORES / "draft/zarrita_0_1_0a6/sharded/zarr.json", mixed / "a/zarr.json")
    wait_until(lambda: server.get("/v1/datasets/old/nodes/a").json()["dialect"] == "draft-2023-06")


# ---- two trees, and an entry point ----

ENTRY_B = {"zarr_format": CORE, "metadata_encoding": CORE, "metadata_key_suffix": ".json", "extensions": []}


def array_b(**more):
    """What zarr-python 2.16 wrote."""
    return {"shape": [4, 6], "data_type": "<i4", "chunk_grid": {"type": "regular", "chunk_shape": [2, 4], "separator": "/"},
            "chunk_memory_layout": "C", "fill_value": -1, "extensions": [], "attributes": {}, **more}


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def write_json(path, document):
    write(path, json.dumps(document).encode())


def write_chunks(folder, values, shape, key="c{}/{}"):
    """Every chunk of a matrix, whole ones at the edges too."""
    padded = np.zeros([-(-n // c) * c for n, c in zip(values.shape, shape)], values.dtype)
    padded[tuple(map(slice, values.shape))] = values
    for i in range(padded.shape[0] // shape[0]):
        for j in range(padded.shape[1] // shape[1]):
            part = padded[i * shape[0]:(i + 1) * shape[0], j * shape[1]:(j + 1) * shape[1]]
            write(folder / key.format(i, j), part.tobytes())


@pytest.fixture
def draft_b(tmp_path):
    """An array in a group without a document, one at the root, and a group."""
    root = tmp_path / "old.zarr"
    write_json(root / "zarr.json", ENTRY_B)
    write_json(root / "meta/root.group.json", {"attributes": {"title": "old"}})
    write_json(root / "meta/root/g/a.array.json", array_b(attributes={"units": "m"}))
    write_chunks(root / "data/root/g/a", VALUES, (2, 4))
    write_json(root / "meta/root/a.array.json", array_b(shape=[], chunk_grid={"type": "regular", "chunk_shape": []}))
    write_json(root / "meta/root/a-b.group.json", {"attributes": {}})
    write_json(root / "meta/root/g-h.group.json", {"attributes": {}, "extensions": []})
    return root


def test_the_draft_of_2020_shows_wherever_a_dataset_does(draft_b, serve):
    server = serve(draft_b)
    assert server.get("/v1/datasets/old").json()["dialect"] == "draft-2020"
    assert server.get("/v1/datasets").json()["datasets"][0]["dialect"] == "draft-2020"
    wait_until(lambda: f"old  {draft_b}  draft-2020  read-only" in server.log)
    dialects = {entry["name"]: entry for entry in server.get("/v1/extensions").json()["dialects"]}
    assert dialects["draft-2020"]["read"] and not dialects["draft-2020"]["write"]
    # A directory of stores knows it for one.
    assert serve(draft_b.parent).get("/v1/datasets/old").json()["dialect"] == "draft-2020"


def test_nodes_of_2020_in_order_and_once(draft_b, serve):
    """Their names come out of keys, and a group may have a key and a prefix."""
    write_json(draft_b / "meta/root/g.group.json", {"attributes": {"explicit": True}})
    write_json(draft_b / "meta/root/h/i/j.group.json", {"attributes": {}})
    server = serve(f"old={draft_b}")
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert {row["dialect"] for row in rows} == {"draft-2020"}
    assert [(row["path"], row["node_type"]) for row in rows] == [
        ("", "group"), ("a", "array"), ("a-b", "group"), ("g", "group"), ("g/a", "array"), ("g-h", "group"),
        ("h", "group"), ("h/i", "group"), ("h/i/j", "group")]
    paths, page = [], "?limit=2"
    while page is not None:
        answer = server.get(f"/v1/datasets/old/tree/{page}").json()
        paths += [row["path"] for row in answer["nodes"]]
        page = None if answer["next"] is None else f"?limit=2&cursor={answer['next']}"
    assert paths == [row["path"] for row in rows]
    root = server.get("/v1/datasets/old/nodes/").json()
    assert root["metadata"] == {"zarr_format": 3, "node_type": "group", "attributes": {"title": "old"}}
    assert [child["name"] for child in root["children"]] == ["a", "a-b", "g", "g-h", "h"]
    assert root["warnings"] == []
    node = server.get("/v1/datasets/old/nodes/g/a").json()
    assert node["metadata"]["attributes"] == {"units": "m"} and "keys" not in node["links"]
    near = server.get("/v1/datasets/old/nodes/a-c").body.decode()
    assert "a-b" in near and ".group.json" not in near


def test_elements_chunks_and_views_of_2020(draft_b, serve):
    server = serve(f"old={draft_b}")
    assert (elements(server, "g/a") == VALUES).all()
    chunk = (draft_b / "data/root/g/a/c1/1").read_bytes()
    assert server.get("/v1/datasets/old/chunks/g/a?index=1,1").body == chunk
    assert server.get("/v3/old/g/a/c/1/1").body == chunk
    assert list(server.get("/v3/old/g/zarr.json").json()["consolidated_metadata"]["metadata"]) == ["a"]
    assert server.get("/zarr/old/zarr.json").body == (draft_b / "zarr.json").read_bytes()
    # The chunk of a scalar has one of two keys.
    assert elements(server, "a") == -1
    (draft_b / "data/root/a").mkdir()
    (draft_b / "data/root/a/c0").write_bytes(b"\7\0\0\0")
    wait_until(lambda: elements(server, "a") == 7)
    (draft_b / "data/root/a/c").write_bytes(b"\10\0\0\0")
    wait_until(lambda: elements(server, "a") == 8)


def test_a_group_that_is_only_implied_comes_and_goes(draft_b, serve):
    server = serve(f"old={draft_b}")
    assert server.get("/v1/datasets/old/nodes/g").json()["node_type"] == "group"
    assert server.get("/v1/datasets/old/nodes/new").status == 404
    write_json(draft_b / "meta/root/new/deep/x.array.json", array_b())
    wait_until(lambda: server.get("/v1/datasets/old/nodes/new").status == 200)
    assert server.get("/v1/datasets/old/nodes/new/deep/x").json()["dialect"] == "draft-2020"
    shutil.rmtree(draft_b / "meta/root/new")
    wait_until(lambda: server.get("/v1/datasets/old/nodes/new").status == 404)
    shutil.rmtree(draft_b / "meta/root/g")
    wait_until(lambda: server.get("/v1/datasets/old/nodes/g").status == 404)


def test_an_entry_point_that_changes_changes_all_nodes(draft_b, serve):
    server = serve(f"old={draft_b}")
    assert server.get("/v1/datasets/old/nodes/g/a").json()["dialect"] == "draft-2020"
    write_json(draft_b / "zarr.json", {**ENTRY_B, "extensions": [{"extension": "x:y", "must_understand": True}]})
    wait_until(lambda: server.get("/v1/datasets/old/slices/g/a").status == 422)
    problem = server.get("/v1/datasets/old/slices/g/a").json()
    assert (problem["code"], problem["pointer"], problem["names"]) == ("unsupported_extension", "/extensions/0", ["x:y"])
    (draft_b / "zarr.json").unlink()
    wait_until(lambda: server.get("/v1/datasets/old/nodes/g/a").status == 404)
    assert server.get("/v1/datasets/old/nodes/").status == 404


UNKNOWN = {
    "no encoding": {"zarr_format": CORE},
    "an encoding of another kind": {"zarr_format": CORE, "metadata_encoding": 7},
    "a version that is no draft's": {"zarr_format": "3"},
}


@pytest.mark.parametrize("entry", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_entry_point_is_reported_and_not_guessed(draft_b, serve, entry):
    write_json(draft_b / "zarr.json", entry)
    server = serve(f"old={draft_b}")
    root = server.get("/v1/datasets/old/nodes/").json()
    assert (root["refused"]["code"], root["refused"]["pointer"]) == ("invalid_metadata", "/zarr_format")
    assert server.get("/v1/datasets/old/nodes/g/a").status == 404
    assert server.get("/v1/datasets/old/slices/g/a").status == 404


HALF = {
    "another suffix": ({"metadata_key_suffix": ".cbor"}, "unsupported_extension", "/metadata_key_suffix"),
    "another version": ({"zarr_format": URI + "core/4.0"}, "unsupported_extension", "/zarr_format"),
}


@pytest.mark.parametrize("change, code, pointer", HALF.values(), ids=HALF)
def test_an_entry_point_that_is_not_read_says_why(draft_b, serve, change, code, pointer):
    write_json(draft_b / "zarr.json", {**ENTRY_B, **change})
    server = serve(f"old={draft_b}")
    root = server.get("/v1/datasets/old/nodes/").json()
    assert root["dialect"] == "draft-2020" and root["refused"]["pointer"] == pointer
    assert root["refused"]["code"] == code and "zarr.json" in root["refused"]["detail"]


def test_v2_beside_an_entry_point_wins_with_a_warning(draft_b, serve):
    write_json(draft_b / ".zgroup", {"zarr_format": 2})
    server = serve(f"old={draft_b}")
    root = server.get("/v1/datasets/old/nodes/").json()
    assert root["dialect"] == "v2"
    assert [(w["code"], w["pointer"]) for w in root["warnings"]] == [("two_dialects", "")]
    assert "draft-2020" in root["warnings"][0]["detail"]


def test_v3_in_place_of_the_entry_point_hides_the_draft(draft_b, serve):
    server = serve(f"old={draft_b}")
    assert server.get("/v1/datasets/old/nodes/").json()["dialect"] == "draft-2020"
    write_json(draft_b / "zarr.json", GROUP)
    wait_until(lambda: server.get("/v1/datasets/old/nodes/").json()["dialect"] == "v3")
    assert server.get("/v1/datasets/old/nodes/g/a").status == 404


def test_consolidated_metadata_of_zarr_python_is_no_group(serve):
    server = serve(f"old={STORES / 'draft/zarr2_v3_consolidated'}")
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert [row["path"] for row in rows] == ["", "a", "g", "g/b"]
    assert server.get("/v1/datasets/old/nodes/consolidated").status == 404


WRITES_B = {
    "a slice": ("PUT", "/v1/datasets/old/slices/g/a?slice=0,0", BYTES, b"\0\0\0\0"),
    "a chunk": ("PUT", "/v1/datasets/old/chunks/g/a?index=0,0", BYTES, b"\0" * 32),
    "an array": ("PUT", "/v1/datasets/old/nodes/g/a?erase_chunks=1", JSON, json.dumps(array_document((2,), (2,))).encode()),
    "a group": ("PUT", "/v1/datasets/old/nodes/g/new", JSON, json.dumps(GROUP).encode()),
    "attributes": ("PATCH", "/v1/datasets/old/nodes/g", "application/merge-patch+json", b'{"attributes": {"a": 1}}'),
    "the end of an array": ("DELETE", "/v1/datasets/old/nodes/g/a", None, None),
    "the end of the root": ("DELETE", "/v1/datasets/old/nodes/?recursive=1", None, None),
    "a listing": ("POST", "/v1/datasets/old/consolidate/", None, None),
    "another entry point": ("PUT", "/zarr/old/zarr.json", JSON, json.dumps(GROUP).encode()),
}


@pytest.mark.parametrize("method, place, media_type, body", WRITES_B.values(), ids=WRITES_B)
def test_a_hierarchy_of_2020_is_only_read(draft_b, serve, method, place, media_type, body):
    before = contents(draft_b)
    server = serve("-w", f"old={draft_b}")
    answer = server.request(method, place, {} if media_type is None else {"Content-Type": media_type}, body)
    assert (answer.status, answer.code) == (405, "read_only"), answer
    assert "draft-2020" in answer.json()["detail"]
    assert contents(draft_b) == before


def test_nodes_of_drafts_cost_others_no_read_more(tmp_path, serve):
    """Where no other document makes a node the entry point is looked for, and what is behind it only if it is there."""
    write_d(tmp_path / "old.zarr" / "a", array_document((4, 6), (4, 6), data_type="int32"))
    (tmp_path / "old.zarr/zarr.json").write_text(json.dumps(GROUP))
    server = serve(tmp_path / "old.zarr")
    with server.cost() as cost:
        assert server.get("/v1/datasets/old/slices/a?slice=0,0:0").status == 200
    assert cost["zarrd_store_reads_total"] <= 2
    with server.cost() as cost:
        assert server.get("/v1/datasets/old/chunks/b?index=0,0").status == 404
    assert cost["zarrd_store_reads_total"] <= 1 + 4 + 3  # v3, v2, and N5 with both entry points


# ---- drafts that no software is known to have written: stores by hand, from the reference ----

ENTRY_C = {"zarr_format": URI + "core/3.0", "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"}, "extensions": []}


def codec_c(name, **configuration):
    return {"type": f"{URI}codec/{name}/1.0", "configuration": configuration}


def array_c(**more):
    return {"shape": [4, 6], "data_type": "int32", "chunk_grid": {"type": "regular", "chunk_shape": [2, 4], "separator": "/"},
            "chunk_memory_layout": "C", "fill_value": -1, "extensions": [], "attributes": {}, **more}


@pytest.fixture
def draft_c(tmp_path):
    """Made by hand from the text of January 2023 (reference 7.4): plain, compressed, in shards, by a fallback, a scalar."""
    root = tmp_path / "old.zarr"
    write_json(root / "zarr.json", ENTRY_C)
    write_json(root / "meta/foo/baz.array.json", array_c(attributes={"units": "m"}))
    write_chunks(root / "data/foo/baz", VALUES, (2, 4))
    write_json(root / "meta/foo/bar.group.json", {"attributes": {"a": 1}})
    write_json(root / "meta/big.array.json", array_c(
        chunk_memory_layout="F", codecs=[codec_c("endian", endian="big"), codec_c("zlib", level=1)],
        chunk_grid={"type": "regular", "chunk_shape": [4, 6], "separator": "."}))
    write(root / "data/big/c0.0", zlib.compress(VALUES.T.astype(">i4").tobytes()))
    shard = {"extension": URI + "storage_transformers/sharding/1.0", "type": "indexed",
             "configuration": {"chunks_per_shard": [2, 1]}}
    write_json(root / "meta/sharded.array.json", array_c(
        storage_transformers=[shard], chunk_grid={"type": "regular", "chunk_shape": [2, 6], "separator": "/"}))
    index = np.array([[48, 48], [2**64 - 1, 2**64 - 1]], "<u8").tobytes()
    write(root / "data/sharded/c0/0", b"-" * 48 + VALUES[:2].tobytes() + index)
    time = {"extension": "https://example.org/time/1.0", "type": {"unit": "s"}, "fallback": ["int128", "int64"]}
    write_json(root / "meta/time.array.json", array_c(data_type=time, fill_value=9))
    write_json(root / "meta/scalar.array.json", array_c(shape=[], chunk_grid={"type": "regular", "chunk_shape": []}))
    write(root / "data/scalar/c", b"\7\0\0\0")
    return root


def test_the_draft_of_january_2023_is_read(draft_c, serve):
    server = serve(draft_c)
    assert server.get("/v1/datasets/old").json()["dialect"] == "draft-2023-01"
    wait_until(lambda: f"old  {draft_c}  draft-2023-01  read-only" in server.log)
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert [(row["path"], row["node_type"]) for row in rows] == [
        ("", "group"), ("big", "array"), ("foo", "group"), ("foo/bar", "group"), ("foo/baz", "array"), ("scalar", "array"),
        ("sharded", "array"), ("time", "array")]
    assert {row["dialect"] for row in rows} == {"draft-2023-01"}
    assert (elements(server, "foo/baz") == VALUES).all()
    assert (elements(server, "big") == VALUES).all()
    assert (elements(server, "sharded") == np.where(np.arange(4)[:, None] < 2, VALUES, -1)).all()
    assert (elements(server, "time", "<i8") == 9).all()
    assert warnings_of(server, "time") == [("fallback_data_type", "/data_type/fallback")]
    assert elements(server, "scalar") == 7
    assert server.get("/v1/datasets/old/nodes/foo/bar").json()["metadata"]["attributes"] == {"a": 1}
    assert server.get("/v3/old/foo/baz/c/1/1").body == (draft_c / "data/foo/baz/c1/1").read_bytes()


def test_an_array_of_january_2023_at_the_root(tmp_path, serve):
    write_json(tmp_path / "old.zarr/zarr.json", ENTRY_C)
    write_json(tmp_path / "old.zarr/meta/array.json", array_c())
    write_chunks(tmp_path / "old.zarr/data", VALUES, (2, 4))
    server = serve(tmp_path / "old.zarr")
    assert server.get("/v1/datasets/old/nodes/").json()["node_type"] == "array"
    assert (elements(server, "") == VALUES).all()


BAD_C = [
    ({"order": "C"}, "invalid_metadata", "/order"),
    ({"data_type": {"extension": "x:y", "type": {}, "fallback": None}}, "unsupported_data_type", "/data_type"),
    ({"codecs": [codec_c("gzip", level=77)]}, "invalid_metadata", "/codecs/0/configuration/level"),
    ({"codecs": [codec_c("endian", endian="big"), codec_c("lzo")]}, "unsupported_codec", "/codecs/1"),
    ({"storage_transformers": [{"extension": "x:cache", "type": "t"}]}, "unsupported_extension", "/storage_transformers/0"),
    ({"extensions": [{"extension": "x:y", "must_understand": True}]}, "unsupported_extension", "/extensions/0"),
]


@pytest.mark.parametrize("change, code, pointer", BAD_C)
def test_a_node_of_january_2023_that_cannot_be_read_says_where(draft_c, serve, change, code, pointer):
    write_json(draft_c / "meta/foo/baz.array.json", array_c(**change))
    server = serve(f"old={draft_c}")
    node = server.get("/v1/datasets/old/nodes/foo/baz").json()
    assert (node["refused"]["code"], node["refused"]["pointer"]) == (code, pointer)
    assert node["metadata"] == array_c(**change)  # as it is stored, so that a person sees why
    problem = server.get("/v1/datasets/old/slices/foo/baz")
    assert (problem.status, problem.code, problem.json()["pointer"]) == (422, code, pointer)


ENTRY_A = {"zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0", "metadata_encoding": "application/json", "extensions": []}


def array_a(**more):
    return {"shape": [4, 6], "data_type": "<i4", "chunk_grid": {"type": "regular", "chunk_shape": [2, 4]}, "chunk_memory_layout": "C",
            "fill_value": None, "extensions": [], "attributes": {}, **more}


def test_the_draft_of_2019_is_read(tmp_path, serve):
    """A store made by hand from the slides of June 2019 (reference 7.2)."""
    root = tmp_path / "old.zarr"
    write_json(root / "zarr.json", ENTRY_A)
    write_json(root / "meta/root.group", {"extensions": [], "attributes": {"title": "first"}})
    write_json(root / "meta/root/foo/bar.array", array_a())
    write_chunks(root / "data/foo/bar", VALUES, (2, 4), "{}.{}")
    write_json(root / "meta/root/foo/slash.array", array_a(
        chunk_grid={"type": "regular", "chunk_shape": [2, 4], "separator": "/"}, data_type=">i4", something="else",
        compressor={"codec": URI + "codec/zlib/1.0", "configuration": {"level": 1}}, chunk_memory_layout="F"))
    write(root / "data/foo/slash/1/1", zlib.compress(np.arange(8, dtype=">i4").tobytes()))
    write_json(root / "meta/root/time.array", array_a(
        shape=[2], data_type={"extension": "x:y", "type": "<x8[ns]", "fallback": "<i8"}, fill_value=9,
        chunk_grid={"type": "regular", "chunk_shape": [2]}))
    server = serve(root)
    assert server.get("/v1/datasets").json()["datasets"][0]["dialect"] == "draft-2019"
    wait_until(lambda: f"old  {root}  draft-2019  read-only" in server.log)
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert [(row["path"], row["node_type"]) for row in rows] == [
        ("", "group"), ("foo", "group"), ("foo/bar", "array"), ("foo/slash", "array"), ("time", "array")]
    assert {row["dialect"] for row in rows} == {"draft-2019"}
    assert rows[0]["metadata"]["attributes"] == {"title": "first"}
    assert (elements(server, "foo/bar") == VALUES).all()
    expected = np.zeros((4, 6), "<i4")
    expected[2:, 4:] = np.arange(8).reshape(4, 2).T[:, :2]
    assert (elements(server, "foo/slash") == expected).all()
    assert warnings_of(server, "foo/slash") == [("unknown_member", "/something")]
    assert elements(server, "time", "<i8").tolist() == [9, 9]
    assert warnings_of(server, "time") == [("fallback_data_type", "/data_type/fallback")]
    assert server.get("/v3/old/foo/bar/zarr.json").status == 200
    refused = serve("-w", f"old={root}").request("PUT", "/v1/datasets/old/slices/foo/bar?slice=0,0", {"Content-Type": BYTES}, b"\0" * 4)
    assert (refused.status, refused.code) == (405, "read_only"), refused


# ---- consolidated metadata of draft-2020 ----

@pytest.fixture
def consolidated(tmp_path):
    """By zarr-python 2.16: the arrays a and g/b, of which g is implied."""
    shutil.copytree(STORES / "draft/zarr2_v3_consolidated", tmp_path / "old")
    return tmp_path / "old"


def relist(root, change):
    path = root / "meta/root/consolidated/.zmetadata"
    listing = json.loads(path.read_text())
    change(listing["metadata"])
    path.write_text(json.dumps(listing))


def rows_of(server, query):
    answer = server.get("/v1/datasets/old/tree/" + query)
    assert answer.status == 200, answer
    return {row["path"]: row["metadata"] for row in answer.json()["nodes"]}


def check_of(server):
    return server.get("/v1/datasets/old/tree/?check=1").json()["check"]


def test_consolidated_metadata_of_2020_lists_what_is_there(serve, consolidated):
    server = serve(f"old={consolidated}")
    live = rows_of(server, "?mode=live")
    stored = rows_of(server, "?mode=stored")
    assert list(live) == ["", "a", "g", "g/b"] and list(stored) == ["", "a", "g/b"]
    assert all(stored[path] == live[path] for path in stored)
    cursor = server.get("/v1/datasets/old/tree/?mode=stored&limit=1").json()["next"]
    assert rows_of(server, f"?mode=stored&limit=1&cursor={cursor}") == {"a": live["a"]}
    assert check_of(server) == {"missing": [], "surplus": [], "differing": [], "stored": True}
    assert warnings_of(server, "") == []
    assert server.request("POST", "/v1/datasets/old/consolidate/").status == 405


def test_consolidated_metadata_of_2020_that_is_out_of_date(serve, consolidated):
    document = json.loads((consolidated / "meta/root/a.array.json").read_text())
    (consolidated / "meta/root/new.array.json").write_text(json.dumps(document))
    (consolidated / "meta/root/g/b.array.json").unlink()
    (consolidated / "meta/root/a.array.json").write_text(json.dumps({**document, "attributes": {"new": 1}}))
    server = serve(f"old={consolidated}")
    assert check_of(server) == {"missing": ["new"], "surplus": ["g/b"], "differing": ["a"], "stored": True}
    assert "new" in rows_of(server, "")


def test_groups_that_are_implied_are_listed_where_nothing_changes(serve, consolidated):
    server = serve(config={"datasets": {"old": {"location": str(consolidated), "immutable": True}}})
    assert list(rows_of(server, "")) == ["", "a", "g", "g/b"]


@pytest.mark.parametrize("change, code", [
    (lambda documents: documents.update({"meta/root/x/": {}}), "bad_path"),
    (lambda documents: documents.update({"meta/root/../x.array.json": {}}), "bad_path"),
    (lambda documents: documents.update({"data/root/a.array.json": {}}), "bad_path"),
    (lambda documents: documents.update({"meta/root.array.json": {}}), "duplicate"),
    (lambda documents: documents.update({"meta/root/consolidated.group.json": {"attributes": {"is": "a group"}}}), None),
    (lambda documents: documents.update({"meta/root/g.group.json": {"attributes": {}}}), None),
])
def test_odd_consolidated_metadata_of_2020_has_warnings(serve, consolidated, change, code):
    relist(consolidated, change)
    server = serve(f"old={consolidated}")
    assert [found for found, _ in warnings_of(server, "")] == ([code] if code else [])
    assert {"a", "g/b"} < set(rows_of(server, "?mode=stored"))


def test_long_consolidated_metadata_of_2020_is_left_out(serve, consolidated):
    def prolong(documents):
        documents.update({f"meta/root/z{i}.array.json": documents["meta/root/a.array.json"] for i in range(400)})
    relist(consolidated, prolong)
    server = serve(f"old={consolidated}", "--set=limits.consolidated_bytes=64KiB", "--set=limits.document_bytes=32KiB")
    assert [code for code, _ in warnings_of(server, "")] == ["too_large"]
    assert list(rows_of(server, "")) == ["", "a", "g", "g/b"]


def test_damaged_consolidated_metadata_of_2020_is_left_out(serve, consolidated):
    path = consolidated / "meta/root/consolidated/.zmetadata"
    path.write_bytes(path.read_bytes()[:100])
    server = serve(f"old={consolidated}")
    assert [code for code, _ in warnings_of(server, "")] == ["not_json"]
    assert list(rows_of(server, "")) == ["", "a", "g", "g/b"]
    assert server.get("/v1/datasets/old/tree/?mode=stored").status == 400
