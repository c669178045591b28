"""Zarr v2 over HTTP: nodes rendered to v3, chunks by their v2 keys, and raw keys written beside them."""

import json
import shutil
import zlib

import numpy as np
import pytest
from arrays import write_values
from client import wait_until
from documents import GROUP, array_document
from live import STORES

JSON = "application/json"
VALUES = np.arange(24, dtype="<i4").reshape(4, 6)


def zarray(**more):
    return {"zarr_format": 2, "shape": [4, 6], "chunks": [2, 4], "dtype": "<i4", "compressor": None, "fill_value": -1,
            "order": "C", "filters": None, **more}


def write_v2(folder, document, attributes=None, chunks=()):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".zarray").write_text(json.dumps(document))
    if attributes is not None:
        (folder / ".zattrs").write_text(json.dumps(attributes))
    for key, data in chunks:
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(data)


def write_group(folder, attributes=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    if attributes is not None:
        (folder / ".zattrs").write_text(json.dumps(attributes))


def chunks_of(values, shape, separator=".", encode=bytes):
    """Every chunk of a matrix in C order, whole ones at the edges too."""
    padded = np.zeros([-(-n // c) * c for n, c in zip(values.shape, shape)], values.dtype)
    padded[tuple(map(slice, values.shape))] = values
    for i in range(padded.shape[0] // shape[0]):
        for j in range(padded.shape[1] // shape[1]):
            part = padded[i * shape[0]:(i + 1) * shape[0], j * shape[1]:(j + 1) * shape[1]]
            yield f"{i}{separator}{j}", encode(part.tobytes())


@pytest.fixture
def store(tmp_path):
    """A group with a plain array, a compressed one in directories, and a group."""
    root = tmp_path / "old.zarr"
    write_group(root, {"title": "old"})
    write_v2(root / "plain", zarray(), {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m"}, chunks_of(VALUES, (2, 4)))
    write_v2(root / "sub" / "packed", zarray(compressor={"id": "zlib", "level": 1}, dimension_separator="/"), None,
             chunks_of(VALUES, (2, 4), "/", zlib.compress))
    write_group(root / "sub")
    return root


def elements(server, path, query="", dtype="<i4"):
    answer = server.get(f"/v1/datasets/old/slices/{path}?{query}")
    assert answer.status == 200, answer
    return np.frombuffer(answer.body, dtype).reshape(
        [int(n) for n in answer.headers["zarr-shape"].split(",") if n])


def test_the_dialect_shows_wherever_a_dataset_does(store, serve):
    server = serve(store)
    assert server.get("/v1/datasets/old").json()["dialect"] == "v2"
    assert server.get("/v1/datasets").json()["datasets"][0]["dialect"] == "v2"
    assert server.get("/v1/datasets/old/nodes/").json()["dialect"] == "v2"
    wait_until(lambda: f"old  {store}  v2  read-only" in server.log)
    dialects = {entry["name"]: entry for entry in server.get("/v1/extensions").json()["dialects"]}
    assert dialects["v2"]["read"] and dialects["v2"]["write"]


def test_nodes_are_rendered_to_v3(store, serve):
    server = serve(f"old={store}")
    root = server.get("/v1/datasets/old/nodes/").json()
    assert root["metadata"] == {"zarr_format": 3, "node_type": "group", "attributes": {"title": "old"}}
    assert root["children"] == [{"name": "plain", "node_type": "array"}, {"name": "sub", "node_type": "group"}]
    node = server.get("/v1/datasets/old/nodes/plain").json()
    assert node["warnings"] == [] and node["array"]["dimension_names"] == ["y", "x"]
    assert node["metadata"]["attributes"]["units"] == "m" and node["array"]["can"] == {"slice": True, "write": False}
    packed = server.get("/v1/datasets/old/nodes/sub/packed").json()["metadata"]
    assert packed["chunk_key_encoding"] == {"name": "v2", "configuration": {"separator": "/"}}
    assert [codec["name"] for codec in packed["codecs"]] == ["bytes", "numcodecs.zlib"]
    tree = server.get("/v1/datasets/old/tree/").json()
    assert [(row["path"], row["dialect"]) for row in tree["nodes"]] == [
        ("", "v2"), ("plain", "v2"), ("sub", "v2"), ("sub/packed", "v2")]
    whole = server.get("/v1/datasets/old/tree/?format=zarr").json()
    assert whole["consolidated_metadata"]["metadata"]["plain"] == node["metadata"]


def test_elements_chunks_and_keys(store, serve):
    server = serve(f"old={store}")
    for path in ("plain", "sub/packed"):
        assert (elements(server, path) == VALUES).all()
        assert (elements(server, path, "slice=1:,::-2") == VALUES[1:, ::-2]).all()
    chunk = server.get("/v1/datasets/old/chunks/sub/packed?index=1,1")
    assert chunk.body == (store / "sub/packed/1/1").read_bytes()
    assert server.get("/zarr/old/sub/packed/1/1").body == chunk.body
    assert server.get("/zarr/old/plain/.zarray").body == (store / "plain/.zarray").read_bytes()
    assert server.get("/v1/datasets/old/stats/plain").json()["max"] == 23
    (store / "plain/0.1").unlink()
    shutil.rmtree(store / "sub/packed/1")
    wait_until(lambda: elements(server, "plain", "slice=0,4") == -1 and elements(server, "sub/packed", "slice=3,0") == -1)


def test_a_document_that_changes_is_read_again(store, serve):
    server = serve(f"old={store}")
    assert server.get("/v1/datasets/old/nodes/plain").json()["array"]["fill_value"] == -1
    write_v2(store / "plain", zarray(fill_value=7))
    wait_until(lambda: server.get("/v1/datasets/old/nodes/plain").json()["array"]["fill_value"] == 7)
    (store / "plain/.zattrs").write_text('{"units": "km"}')
    wait_until(lambda: server.get("/v1/datasets/old/nodes/plain").json()["metadata"]["attributes"] == {"units": "km"})
    (store / "plain/.zarray").unlink()
    wait_until(lambda: server.get("/v1/datasets/old/nodes/plain").status == 404)
    write_v2(store / "plain", zarray())
    wait_until(lambda: server.get("/v1/datasets/old/nodes/plain").status == 200)


def test_a_v3_document_wins_and_the_other_is_a_warning(store, serve):
    write_values(store / "plain", np.full((3,), 9, "i4"), (3,))
    server = serve(f"old={store}")
    node = server.get("/v1/datasets/old/nodes/plain").json()
    assert node["dialect"] == "v3" and node["array"]["shape"] == [3]
    assert [(w["code"], w["pointer"]) for w in node["warnings"]] == [("two_dialects", "")]
    assert "v2" in node["warnings"][0]["detail"]
    assert server.get("/v1/datasets/old/nodes/sub").json()["warnings"] == []
    tag = server.get("/v1/datasets/old/nodes/plain").headers["etag"]
    for name in (".zarray", ".zattrs"):
        (store / "plain" / name).unlink()
    wait_until(lambda: server.get("/v1/datasets/old/nodes/plain").json()["warnings"] == [])
    assert server.get("/v1/datasets/old/nodes/plain").headers["etag"] != tag


def test_a_v3_document_that_comes_and_goes_changes_the_dialect(store, serve):
    server = serve(f"old={store}")
    assert server.get("/v1/datasets/old/nodes/sub").json()["dialect"] == "v2"
    (store / "sub/zarr.json").write_text(json.dumps(GROUP))
    wait_until(lambda: server.get("/v1/datasets/old/nodes/sub").json()["dialect"] == "v3")
    (store / "sub/zarr.json").unlink()
    wait_until(lambda: server.get("/v1/datasets/old/nodes/sub").json()["dialect"] == "v2")


def test_v3_nodes_cost_no_read_more(tmp_path, serve):
    """The documents of v2 are looked for only where there is none of v3."""
    write_values(tmp_path / "new" / "a", VALUES, (4, 6))
    (tmp_path / "new" / "zarr.json").write_text(json.dumps(GROUP))
    write_group(tmp_path / "old")
    write_v2(tmp_path / "old" / "a", zarray(chunks=[4, 6]), None, chunks_of(VALUES, (4, 6)))
    server = serve(f"new={tmp_path / 'new'}", f"old={tmp_path / 'old'}")
    for dataset, n_reads in (("new", 1), ("old", 5)):
        with server.cost() as cost:
            assert server.get(f"/v1/datasets/{dataset}/slices/a?slice=0,0:0").status == 200
        assert cost["zarrd_store_reads_total"] <= 2 * n_reads, dataset  # of the array and of its parent


def test_raw_keys_are_written_as_they_are(store, serve):
    """A client that writes v2 judges its documents itself; what it has written is read at once."""
    server = serve("-w", f"old={store}")
    document = zarray(shape=[3], chunks=[3])
    for key, body in (("new/.zarray", json.dumps(document).encode()), ("new/.zattrs", b'{"a": 1}'),
                      ("new/0", np.arange(3, dtype="<i4").tobytes())):
        assert server.request("PUT", f"/zarr/old/{key}", body=body).status == 200
    assert elements(server, "new").tolist() == [0, 1, 2]
    assert server.request("PUT", "/zarr/old/new/0", body=np.full(3, 5, "<i4").tobytes()).status == 200
    assert elements(server, "new").tolist() == [5, 5, 5]
    assert server.request("PUT", "/zarr/old/new/.zarray",
                          body=json.dumps({**document, "shape": [2]}).encode()).status == 200
    assert elements(server, "new").tolist() == [5, 5]
    assert server.request("DELETE", "/zarr/old/new/.zarray").status == 204
    assert server.get("/v1/datasets/old/nodes/new").status == 404
    # A document of v3 beside those of v2, as a client that migrates writes it.
    assert server.request("PUT", "/zarr/old/sub/zarr.json", body=json.dumps(GROUP).encode()).status == 200
    assert server.get("/v1/datasets/old/nodes/sub").json()["dialect"] == "v3"


def test_listings_of_v3_hold_no_v2(tmp_path, serve):
    (tmp_path / "zarr.json").write_text(json.dumps(GROUP))
    write_values(tmp_path / "new", VALUES, (4, 6))
    write_v2(tmp_path / "old", zarray(), None, chunks_of(VALUES, (2, 4)))
    server = serve("-w", f"old={tmp_path}")
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert [(row["path"], row["dialect"]) for row in rows] == [("", "v3"), ("new", "v3"), ("old", "v2")]
    answer = server.request("POST", "/v1/datasets/old/consolidate/")
    assert answer.status == 200, answer
    stored = json.loads((tmp_path / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
    assert list(stored) == ["new"]
    check = server.get("/v1/datasets/old/tree/?check=1").json()["check"]
    assert check == {"missing": [], "surplus": [], "differing": [], "stored": True}
    # A group of v3 goes with all that is below it.
    assert server.request("DELETE", "/v1/datasets/old/nodes/?recursive=1").status == 204
    assert not list(tmp_path.rglob(".zarray"))


def test_a_group_of_v3_does_not_leave_one_of_v2_behind(tmp_path, serve):
    (tmp_path / "zarr.json").write_text(json.dumps(GROUP))
    write_group(tmp_path / "a", {"a": 1})
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(GROUP))
    server = serve("-w", f"old={tmp_path}")
    refused = server.request("DELETE", "/v1/datasets/old/nodes/a")
    assert (refused.status, refused.code) == (409, "not_empty")
    # Nor is a node of v2 below taken for chunks.
    write_v2(tmp_path / "a" / "b", zarray())
    put = server.request("PUT", "/v1/datasets/old/nodes/a?erase_chunks=1", {"Content-Type": JSON},
                         json.dumps(array_document((2,), (2,))).encode())
    assert (put.status, put.code) == (409, "not_empty")
    assert server.request("DELETE", "/v1/datasets/old/nodes/a?recursive=1").status == 204
    assert not (tmp_path / "a").exists()


def test_an_array_of_v3_does_not_leave_one_of_v2_behind(tmp_path, serve):
    """Both share their chunks, as after a migration."""
    (tmp_path / "zarr.json").write_text(json.dumps(GROUP))
    write_v2(tmp_path / "a", zarray(), {"a": 1}, chunks_of(VALUES, (2, 4)))
    server = serve("-w", f"old={tmp_path}")
    document = server.get("/v1/datasets/old/nodes/a").json()["metadata"]
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(document))
    wait_until(lambda: server.get("/v1/datasets/old/nodes/a").json()["dialect"] == "v3")
    assert (elements(server, "a") == VALUES).all()
    assert server.request("DELETE", "/v1/datasets/old/nodes/a").status == 204
    assert not (tmp_path / "a").exists()


BAD = [
    ({"dtype": "<q9"}, "invalid_metadata", "/dtype"),
    ({"dtype": "|S65537"}, "unsupported_data_type", "/dtype"),
    ({"chunks": [2]}, "invalid_metadata", "/chunks"),
    ({"compressor": {"id": "zlib", "level": 99}}, "invalid_metadata", "/compressor/level"),
    ({"compressor": {"id": "pickle"}}, "unsupported_codec", "/compressor"),
    ({"filters": [{"id": "zlib"}, {"id": "foo"}]}, "unsupported_codec", "/filters/1"),
    ({"fill_value": "x"}, "invalid_metadata", "/fill_value"),
    ({"zarr_format": 3}, "invalid_metadata", "/zarr_format"),
]


@pytest.mark.parametrize("change, code, pointer", BAD)
def test_a_node_that_cannot_be_read_says_where(tmp_path, serve, change, code, pointer):
    write_v2(tmp_path / "a", zarray(**change))
    server = serve(f"old={tmp_path}")
    node = server.get("/v1/datasets/old/nodes/a").json()
    assert (node["refused"]["code"], node["refused"]["pointer"]) == (code, pointer)
    assert node["metadata"] == zarray(**change)  # as it is stored, so that a person sees why
    problem = server.get("/v1/datasets/old/slices/a")
    assert (problem.status, problem.code, problem.json()["pointer"]) == (422, code, pointer)


@pytest.mark.parametrize("damage", [b"", b"x", zlib.compress(b"\0" * 31), zlib.compress(b"\0" * 33),
                                    zlib.compress(b"\0" * 32)[:-1], zlib.compress(b"\0" * (1 << 24))])
def test_a_damaged_chunk_is_said_to_be_that(store, serve, damage):
    (store / "sub/packed/0/0").write_bytes(damage)
    server = serve(f"old={store}")
    problem = server.get("/v1/datasets/old/slices/sub/packed")
    assert (problem.status, problem.code) == (500, "corrupt_chunk")
    assert "sub/packed/0/0" in problem.json()["detail"] and problem.json()["names"] == ["numcodecs.zlib"]
    assert elements(server, "sub/packed", "slice=2:").tolist() == VALUES[2:].tolist()


def test_a_whole_store_of_another_library_is_walked(serve):
    server = serve(f"old={STORES / 'v2/z2_layout'}")
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert len(rows) > 15 and all(row["dialect"] == "v2" and "refused" not in row for row in rows)
