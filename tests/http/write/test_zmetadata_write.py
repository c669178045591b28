"""Consolidated metadata of v2 under writes: in step with the nodes, or gone; and made for other software."""

import json

import numpy as np
import pytest
import xarray
import zarr
from client import FRESH, check, consolidate, delete_node, patch_node, put_node, stored
from documents import GROUP, array_document

ZGROUP = {"zarr_format": 2}
KEYS = {"name": "v2", "configuration": {"separator": "."}}


def document(**more):
    return {**array_document([4], [2], "int16"), "chunk_key_encoding": KEYS, **more}


def listing(server, path=""):
    return stored(server, f"{path}.zmetadata")


@pytest.fixture(params=["file", "mem"])
def w(request, serve, tmp_path):
    """A group with an array and a group, consolidated."""
    server = serve("-w", f"w={tmp_path}" if request.param == "file" else "w=mem:")
    put_node(server, "", {**ZGROUP, "attributes": {"title": "t"}})
    put_node(server, "a", document(attributes={"n": 1}))
    put_node(server, "g", GROUP)
    answer = consolidate(server)
    assert answer.status == 200 and answer.json()["check"] == FRESH, answer
    return server


def entries(server, path=""):
    return list(listing(server, path)["metadata"])


def test_a_listing_is_made_as_zarr_python_makes_it(w):
    made = listing(w)
    assert list(made) == ["metadata", "zarr_consolidated_format"] and made["zarr_consolidated_format"] == 1
    assert list(made["metadata"]) == [".zgroup", ".zattrs", "a/.zattrs", "a/.zarray", "g/.zgroup"]
    for key, text in made["metadata"].items():
        assert text == stored(w, key), key
    assert consolidate(w, "a").code == "not_a_group" and consolidate(w, "g").json()["check"] == FRESH
    assert listing(w, "g/") == {"metadata": {".zgroup": ZGROUP}, "zarr_consolidated_format": 1}
    assert check(w) == FRESH


def test_every_change_of_a_node_below_is_listed(w):
    assert consolidate(w, "g").status == 200
    for change, expected in (
            (lambda: put_node(w, "g/b/c", document(attributes={"n": 2})), ["g/b/.zgroup", "g/b/c/.zattrs", "g/b/c/.zarray"]),
            (lambda: patch_node(w, "g/b/c", {"attributes": {"n": 3, "m": 4}}), ["g/b/.zgroup", "g/b/c/.zattrs", "g/b/c/.zarray"]),
            (lambda: patch_node(w, "g/b/c", {"shape": [6]}), ["g/b/.zgroup", "g/b/c/.zattrs", "g/b/c/.zarray"]),
            (lambda: patch_node(w, "g/b/c", {"attributes": None}), ["g/b/.zgroup", "g/b/c/.zarray"]),
            (lambda: patch_node(w, "g/b", {"attributes": {"n": 5}}), ["g/b/.zgroup", "g/b/c/.zarray", "g/b/.zattrs"]),
            (lambda: put_node(w, "g/d", ZGROUP), ["g/b/.zgroup", "g/b/c/.zarray", "g/b/.zattrs", "g/d/.zgroup"]),
            (lambda: delete_node(w, "g/b", "?recursive=1"), ["g/d/.zgroup"])):
        assert change().status in (200, 201, 204)
        assert check(w) == FRESH == check(w, "g")
        assert sorted(entries(w)) == sorted([".zgroup", ".zattrs", "a/.zattrs", "a/.zarray", "g/.zgroup", *expected])
        assert sorted(entries(w, "g/")) == sorted([".zgroup", *(key[2:] for key in expected)])
        for key, text in listing(w)["metadata"].items():
            assert text == stored(w, key), key


def test_the_group_itself_is_listed(w):
    assert patch_node(w, "", {"attributes": {"title": "new"}}).status == 200
    assert listing(w)["metadata"][".zattrs"] == {"title": "new"} and check(w) == FRESH
    assert patch_node(w, "", {"attributes": None}).status == 200
    assert ".zattrs" not in listing(w)["metadata"] and check(w) == FRESH
    assert put_node(w, "", {**GROUP, "attributes": {"x": 1}}).status == 200
    assert listing(w)["metadata"][".zattrs"] == {"x": 1} and check(w) == FRESH
    assert "a/.zarray" in listing(w)["metadata"]


def test_unknown_members_stay_in_their_place(serve, tmp_path):
    (tmp_path / "a").mkdir()
    text = ('{\n    "zarr_consolidated_format": 1,\n    "who": ["knows"],\n    "metadata": {\n        "a/.nczvar": {"x":  1},\n'
            '        "/b/.zgroup": {"zarr_format": 2},\n        ".zgroup": {"zarr_format":   2}\n    }\n}\n')
    (tmp_path / ".zgroup").write_text(json.dumps(ZGROUP))
    (tmp_path / "b").mkdir()
    (tmp_path / "b/.zgroup").write_text(json.dumps(ZGROUP))
    (tmp_path / ".zmetadata").write_text(text)
    server = serve("-w", f"w={tmp_path}")
    assert put_node(server, "b/c", document()).status == 201 and check(server) == FRESH
    found = (tmp_path / ".zmetadata").read_text()
    assert found.startswith(text[:text.index("\n    }")]) and json.loads(found)["metadata"]["b/c/.zarray"]["shape"] == [4]


@pytest.mark.parametrize("text", ["{", "", '{"metadata": []}', '{"metadata": {}, "zarr_consolidated_format": 2}',
                                  json.dumps({"metadata": {".zattrs": {"x": "y" * 70000}}})])
def test_a_listing_that_cannot_be_read_goes(serve, tmp_path, text):
    (tmp_path / ".zgroup").write_text(json.dumps(ZGROUP))
    server = serve("-w", f"w={tmp_path}", "--set=limits.consolidated_bytes=64KiB", "--set=limits.document_bytes=32KiB")
    for change in (lambda: put_node(server, "a", document()), lambda: patch_node(server, "", {"attributes": {"n": 1}})):
        (tmp_path / ".zmetadata").write_text(text)
        assert change().status in (200, 201)
        assert not (tmp_path / ".zmetadata").exists()


def test_a_listing_that_grows_past_the_limit_goes(serve, tmp_path):
    server = serve("-w", f"w={tmp_path}", "--set=limits.consolidated_bytes=6KiB", "--set=limits.document_bytes=4KiB")
    put_node(server, "", ZGROUP)
    assert consolidate(server).status == 200
    for i in range(4):
        assert put_node(server, f"a{i}", document(attributes={"x": "y" * 3000})).status == 201
        assert (tmp_path / ".zmetadata").exists() == (i < 1)
    put_node(server, "g", ZGROUP)
    assert consolidate(server, "g").status == 200
    assert put_node(server, "g/b", document(attributes={"x": "y" * 3000})).status == 201
    assert patch_node(server, "g", {"attributes": {"x": "y" * 3500}}).status == 200
    assert not (tmp_path / "g/.zmetadata").exists()


def test_a_write_that_fails_leaves_the_listing(w):
    before = listing(w)
    assert put_node(w, "a/b", document()).status == 409
    assert put_node(w, "c", document(data_type="nothing")).status == 422
    assert put_node(w, "c", document(), "?dry_run=1").status == 201
    assert consolidate(w, query="?dry_run=1").status == 200
    assert listing(w) == before


def test_other_software_sees_a_new_node(serve, tmp_path):
    server = serve("-w", f"w={tmp_path}")
    xarray.Dataset({"t": ("x", np.arange(4, dtype="i4"))}, attrs={"n": 1}).to_zarr(tmp_path, zarr_format=2, consolidated=True)
    assert put_node(server, "g/b", document(attributes={"k": 1})).status == 201
    assert put_node(server, "u", {**document(), "dimension_names": ["x"]}).status == 201
    assert patch_node(server, "", {"attributes": {"m": 2}}).status == 200
    group = zarr.open_consolidated(tmp_path, zarr_format=2)
    assert dict(group.attrs) == {"n": 1, "m": 2} and group["g/b"].attrs["k"] == 1
    assert sorted(name for name, _ in group.members(max_depth=None)) == ["g", "g/b", "t", "u"]
    assert set(xarray.open_zarr(tmp_path, consolidated=True).data_vars) == {"t", "u"}
    assert check(server) == FRESH
    assert consolidate(server).json()["check"] == FRESH
    group = zarr.open_consolidated(f"{server.url}/zarr/w", zarr_format=2)
    assert sorted(name for name, _ in group.members(max_depth=None)) == ["g", "g/b", "t", "u"]
    assert delete_node(server, "u").status == 204 and check(server) == FRESH
    assert set(xarray.open_zarr(tmp_path, consolidated=True).data_vars) == {"t"}


def test_read_only_hierarchies_are_not_consolidated(serve, tmp_path):
    (tmp_path / "a.n5").mkdir()
    (tmp_path / "a.n5/attributes.json").write_text('{"n5": "2.0.0"}')
    server = serve("-w", f"w={tmp_path / 'a.n5'}")
    answer = consolidate(server)
    assert (answer.status, answer.code) == (405, "read_only") and "n5" in answer.json()["detail"]
