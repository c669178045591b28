"""erase_chunks=1 erases the chunks that a new document orphans, and nothing else."""

import json

import pytest
from client import put_node
from documents import ARRAY, GROUP
from files import contents

CHUNKS = ["c/0/0", "c/0/1", "c/1/0", "c/1/1"]


def make(tmp_path, document):
    """Chunks at a path that is an array, a group, or no node."""
    (tmp_path / "zarr.json").write_text(json.dumps(GROUP))
    for key in CHUNKS:
        path = tmp_path / "a" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(48))
    if document is not None:
        (tmp_path / "a/zarr.json").write_text(json.dumps(document))


@pytest.mark.parametrize("name", ["note.txt", "c/note.txt", "c/0/0.bak", "sub/note.txt", ".hidden"])
@pytest.mark.parametrize("before, after", [(ARRAY, GROUP), (ARRAY, {**ARRAY, "data_type": "uint16"}), (GROUP, ARRAY), (None, ARRAY)],
                         ids=["array to group", "array to array", "group to array", "nothing to array"])
def test_files_of_others_stay(serve, tmp_path, before, after, name):
    make(tmp_path, before)
    other = tmp_path / "a" / name
    other.parent.mkdir(exist_ok=True)
    other.write_text("mine")
    all_before = contents(tmp_path / "a")
    server = serve("-w", f"w={tmp_path}")
    for query in ("?erase_chunks=1&dry_run=1", "?erase_chunks=1"):
        answer = put_node(server, "a", after, query)
        assert (answer.status, answer.code) == (409, "not_empty"), answer
    assert contents(tmp_path / "a") == all_before
    other.unlink()
    assert put_node(server, "a", after, "?erase_chunks=1").status in (200, 201)
    assert list(contents(tmp_path / "a")) == ["zarr.json"]


@pytest.mark.parametrize("name, document", [("b/zarr.json", GROUP), ("b/.zgroup", {"zarr_format": 2})], ids=["v3", "v2"])
def test_nodes_below_an_array_that_becomes_a_group_stay(serve, tmp_path, name, document):
    """Others have left them there."""
    make(tmp_path, ARRAY)
    (tmp_path / "a/b").mkdir()
    (tmp_path / "a" / name).write_text(json.dumps(document))
    server = serve("-w", f"w={tmp_path}")
    assert put_node(server, "a", GROUP, "?erase_chunks=1").status == 200
    assert sorted(contents(tmp_path / "a")) == sorted([name, "zarr.json"])


def test_any_key_of_an_unknown_array_may_be_a_chunk(serve, tmp_path):
    make(tmp_path, {**ARRAY, "chunk_key_encoding": {"name": "example.unknown"}})
    (tmp_path / "a/c/0/0.part").write_text("of what nobody knows")
    server = serve("-w", f"w={tmp_path}")
    assert put_node(server, "a", ARRAY, "?erase_chunks=1").status == 200
    assert list(contents(tmp_path / "a")) == ["zarr.json"]
