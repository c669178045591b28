"""The generic extensions of ZEP 10: what each changes for those who read (api.md 5)."""

import json

import numpy as np
import pytest

LITTLE = [{"name": "bytes", "configuration": {"endian": "little"}}]


def array_document(shape, chunk_shape, dtype="float32", fill=0, extensions=None, **more):
    document = {
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill, "codecs": LITTLE, **more}
    if extensions is not None:
        document["extensions"] = extensions
    return document


def group_document(extensions=None):
    document = {"zarr_format": 3, "node_type": "group"}
    if extensions is not None:
        document["extensions"] = extensions
    return document


def write_node(folder, document):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps(document))


def write_array(folder, values, chunk_shape, fill=0, extensions=None, skip=(), **more):
    """An array of plain chunks with these values; chunks whose index is in skip are left out."""
    name = "bool" if values.dtype == bool else values.dtype.name
    write_node(folder, array_document(values.shape, chunk_shape, name, fill, extensions, **more))
    for index in np.ndindex(*[-(-n // c) for n, c in zip(values.shape, chunk_shape)]):
        if index in skip:
            continue
        box = values[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunk_shape))]
        chunk = np.zeros(chunk_shape, values.dtype)
        chunk[tuple(slice(0, n) for n in box.shape)] = box
        key = folder.joinpath("c", *[str(i) for i in index])
        key.parent.mkdir(parents=True, exist_ok=True)
        key.write_bytes(chunk.tobytes())


def extension(name, configuration=None, **more):
    entry = {"name": f"example.{name}", **more}
    if configuration is not None:
        entry["configuration"] = configuration
    return entry


# ---- example.offset


@pytest.fixture
def shifted(tmp_path, serve):
    """An array of 7 x 9 that begins at (2, 3); its values are those of the stored array."""
    values = np.arange(63, dtype="i4").reshape(7, 9)
    write_node(tmp_path, group_document())
    write_array(tmp_path / "a", values, (3, 4), extensions=[extension("offset", {"offset": [2, 3]})])
    return serve(f"d={tmp_path}"), values


SLICES = ["", "0,0", "-1,-1", "-2:,:", "::-1,::2", "1:100,2", "...,0", "5:5,:", "4::-3,0", ":,-6"]


@pytest.mark.parametrize("text", SLICES)
def test_slices_count_from_the_offset(shifted, text):
    server, values = shifted
    expected = eval(f"values[2:, 3:][{text or '...'}]")
    answer = server.get(f"/v1/datasets/d/slices/a?slice={text}")
    assert answer.status == 200, answer
    assert answer.body == np.ascontiguousarray(expected).tobytes()
    assert answer.headers["zarr-shape"].strip() == ",".join(map(str, expected.shape))
    assert answer.headers["zarr-origin"] == "2,3"
    # What the answer says of itself selects the same again.
    again = server.get(f"/v1/datasets/d/slices/a?slice={answer.headers['zarr-selection']}")
    assert again.body == answer.body and again.headers["zarr-selection"] == answer.headers["zarr-selection"]


@pytest.mark.parametrize("text", ["", "0,0", "-1,-1", "-2:,:", "::-1,::2", "6,8"])
def test_the_stored_array_can_be_addressed(shifted, text):
    server, values = shifted
    expected = eval(f"values[{text or '...'}]")
    answer = server.get(f"/v1/datasets/d/slices/a?slice={text}&origin=stored")
    assert answer.status == 200 and answer.body == np.ascontiguousarray(expected).tobytes()
    posted = server.post("/v1/datasets/d/slices/a", {"slice": text, "origin": "stored"})
    assert posted.status == 200 and posted.body == answer.body


def test_what_lies_outside_is_judged_by_the_shape_that_is_seen(shifted):
    server, _ = shifted
    problem = server.get("/v1/datasets/d/slices/a?slice=5,0")
    assert problem.status == 400 and problem.code == "out_of_bounds"
    assert (problem.json()["index"], problem.json()["size"]) == (5, 5)
    assert server.get("/v1/datasets/d/slices/a?slice=5,0&origin=stored").status == 200
    assert server.get("/v1/datasets/d/slices/a?slice=-6,0").code == "out_of_bounds"
    assert server.get("/v1/datasets/d/slices/a?slice=&origin=elsewhere").code == "bad_parameter"
    assert server.get("/v1/datasets/d/slices/a?expected_shape=5,6").status == 200
    assert server.get("/v1/datasets/d/slices/a?expected_shape=7,9").code == "shape_mismatch"


def test_the_node_shows_the_shape_that_is_seen(shifted):
    server, _ = shifted
    node = server.get("/v1/datasets/d/nodes/a").json()
    assert node["array"]["shape"] == [5, 6] and node["array"]["origin"] == [2, 3]
    assert node["array"]["n_elements"] == 30 and node["array"]["n_bytes"] == 120
    assert node["metadata"]["shape"] == [7, 9]  # the document stays what it is
    assert node["array"]["chunk_grid_shape"] == [3, 3]  # of stored chunks, as chunks and keys name them
    assert server.get("/v1/datasets/d/chunks/a?index=0,0&decoded=1").status == 200
    row = server.get("/v1/datasets/d/tree/").json()["nodes"][1]
    assert row["array"]["shape"] == [5, 6]


def test_answers_of_both_origins_have_tags_of_their_own(shifted):
    server, _ = shifted
    tags = {server.get(f"/v1/datasets/d/slices/a?slice=2:3,3&format=json{more}").headers["etag"]
            for more in ("", "&origin=stored")}
    assert len(tags) == 2
    shown = server.get("/v1/datasets/d/slices/a?slice=0,0&format=json").json()
    stored = server.get("/v1/datasets/d/slices/a?slice=2,3&format=json&origin=stored").json()
    assert shown["data"] == stored["data"] and (shown["selection"], stored["selection"]) == ("0,0", "2,3")


def test_suggestions_count_from_the_offset(tmp_path, serve):
    values = np.arange(400 * 30, dtype="i4").reshape(400, 30)
    write_array(tmp_path / "a", values, (50, 30), extensions=[extension("offset", {"offset": [60, 10]})])
    server = serve(f"d={tmp_path}", "--set", "limits.slice_bytes=4KiB")
    for origin, seen in (("array", values[60:, 10:]), ("stored", values)):
        problem = server.get(f"/v1/datasets/d/slices/a?slice=&origin={origin}")
        assert problem.code == "too_large"
        parts = [server.get(f"/v1/datasets/d/slices/a?slice={text}&origin={origin}").body
                 for text in problem.json()["suggestions"]]
        assert len(parts) == problem.json()["n_suggestions"]
        assert sorted(np.frombuffer(b"".join(parts), "i4")) == sorted(seen.ravel())


def test_an_offset_to_the_end_leaves_nothing(tmp_path, serve):
    write_array(tmp_path / "a", np.ones((4, 4), "u1"), (2, 2),
                extensions=[extension("offset", {"offset": [4, 0]})])
    server = serve(f"d={tmp_path}")
    answer = server.get("/v1/datasets/d/slices/a")
    assert answer.status == 200 and answer.body == b"" and answer.headers["zarr-shape"] == "0,4"
