"""What work costs as data grows: entries that the store looks at, a few times as many as there are, whatever their number."""

import json
import pathlib
import time

import pytest
from files import below, contents
from search_rounds import rounds

N = rounds(30_000, 12_000)


def make_group(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text('{"zarr_format":3,"node_type":"group"}')


def make_flat_array(folder, n):
    """An array whose chunks all lie in one directory."""
    folder.mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [n], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}}, "codecs": [{"name": "bytes"}]}))
    for i in range(n):
        (folder / str(i)).touch()


def visits(cost):
    return cost["zarrd_store_visited_total"]


@pytest.fixture
def flat(serve, tmp_path):
    make_group(tmp_path)
    make_flat_array(tmp_path / "a", N)
    return serve("-w", f"d={tmp_path}", "--set", "http.request_ms=600000")


@pytest.mark.parametrize("left", [0, N // 2])
def test_shrinking_looks_at_each_key_a_few_times(flat, tmp_path, left):
    with flat.cost() as cost:
        answer = flat.request("PATCH", "/v1/datasets/d/nodes/a", {"Content-Type": "application/merge-patch+json"},
                              json.dumps({"shape": [left]}).encode())
    assert answer.status == 200, answer
    assert len(contents(tmp_path, "a")) == left + 1
    assert visits(cost) <= 3 * N


def test_deleting_looks_at_each_key_a_few_times(flat, tmp_path):
    with flat.cost() as cost:
        assert flat.request("DELETE", "/v1/datasets/d/nodes/a").status == 204
    assert not (tmp_path / "a").exists()
    assert visits(cost) <= 6 * N  # once for the nodes below it, once for its keys; each begins anew after the first page


def test_an_index_looks_at_each_key_a_few_times(flat):
    with flat.cost() as cost:
        page = flat.get("/zarr/d/a/").body
    assert page.count(b"<a ") == N + 2  # the parent and the document
    assert visits(cost) <= 2.5 * N


@pytest.mark.large
def test_a_listing_looks_at_each_child_a_few_times(serve, tmp_path):
    make_group(tmp_path)
    for i in range(N):
        (tmp_path / f"g{i}").mkdir()
    server = serve(f"d={tmp_path}")
    with server.cost() as cost:
        tree = server.get("/v1/datasets/d/tree/?limit=10&mode=live").json()
    assert [node["path"] for node in tree["nodes"]] == [""]
    assert visits(cost) <= 4 * N


def paths(server, **more):
    answer = server.get("/v1/datasets/d/tree/?fields=node_type" + "".join(f"&{name}={value}" for name, value in more.items()))
    assert answer.status == 200, answer
    return [node["path"] for node in answer.json()["nodes"]]


def test_a_link_to_a_parent_shows_no_node_again(serve, tmp_path):
    for path in ("", "a", "a/b", "c"):
        make_group(tmp_path / path)
    for link, target in {"up": ".", "a/up": "..", "a/self": "../a", "a/b/up": "../..", "a/b/above": "../../a", "again": "c"}.items():
        (tmp_path / link).symlink_to(target)
    server = serve("-w", f"d={tmp_path}")
    assert paths(server) == ["", "a", "a/b", "again", "c"]
    assert paths(server, limit=2) == ["", "a"]
    assert b"up" not in server.get("/zarr/d/a/").body
    answer = server.post("/v1/datasets/d/consolidate/", {})
    assert answer.status == 200, answer
    assert paths(server, mode="stored") == ["", "a", "a/b", "again", "c"]


def test_a_deletion_follows_no_link_up(serve, tmp_path):
    for path in ("", "a", "a/b", "c"):
        make_group(tmp_path / path)
    (tmp_path / "a/b/up").symlink_to("../..")
    (tmp_path / "c/key").write_text("kept")
    server = serve("-w", f"d={tmp_path}")
    assert server.request("DELETE", "/v1/datasets/d/nodes/a?recursive=1").status == 204
    assert (tmp_path / "c/key").read_text() == "kept" and (tmp_path / "zarr.json").exists()
    assert paths(server) == ["", "c"]


def test_an_endless_tree_by_two_links_ends(serve, tmp_path):
    for path in ("", "a", "b"):
        make_group(tmp_path / path)
    (tmp_path / "a/b").symlink_to("../b")
    (tmp_path / "b/a").symlink_to("../a")
    assert pathlib.Path(tmp_path, "a/b/a/b/a").exists()
    server = serve(f"d={tmp_path}")
    assert paths(server) == ["", "a", "a/b", "b", "b/a"]


# ---- what is erased, and what links lead to ----

def bytes_below(root):
    """Of every file that is there itself; of a link where it leads."""
    links = {str(path.relative_to(root)): path.readlink() for path in below(root) if path.is_symlink()}
    return {**contents(root), **links}


ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
         "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}


@pytest.mark.parametrize("link, target, node", [
    ("a/x", "../b", "a"), ("a/n/deep/x", "../../../b", "a"), ("a/n/deep/x", "../../../b", "a/n"), ("a/x", "../b/below", "a"),
    ("a/x", "../plain", "a"), ("a/v/c", "../../b/v/c", "a/v"), ("a/v/c", "../../b/v/c", "a"), ("a/x", "n", "a"), ("x", "b", "x"),
    ("a/x", "../b", "a/x"), ("a/x", "../b", ""), ("a/x", "../plain/empty", "a")])
def test_a_deletion_follows_no_link_sideways(serve, tmp_path, link, target, node):
    """It is refused, and keeps every byte: of the link, of what it leads to, and of the node. Without the link it is made."""
    for path in ("", "a", "a/n", "b", "b/below"):
        make_group(tmp_path / path)
    for path in ("a/v", "b/v"):
        (tmp_path / path).mkdir()
        (tmp_path / path / "zarr.json").write_text(json.dumps(ARRAY))
    (tmp_path / "b/v/c").mkdir()
    (tmp_path / "b/v/c/0").write_bytes(b"ab")
    (tmp_path / "a/n/deep").mkdir()
    (tmp_path / "plain/empty").mkdir(parents=True)
    (tmp_path / "plain/file").write_text("kept")
    (tmp_path / "a/n/file").symlink_to("../../plain/file")
    (tmp_path / link).symlink_to(target)
    server = serve("-w", f"d={tmp_path}")
    before = bytes_below(tmp_path)
    for query in ("?recursive=1", "?recursive=1&dry_run=1", ""):
        answer = server.request("DELETE", f"/v1/datasets/d/nodes/{node}{query}")
        assert answer.status == 409 and answer.code == "not_empty", answer
        assert bytes_below(tmp_path) == before
        if query:
            assert link in answer.json()["detail"] and "symbolic link" in answer.json()["detail"]
    (tmp_path / link).unlink()
    if node != link:
        assert server.request("DELETE", f"/v1/datasets/d/nodes/{node}?recursive=1").status == 204
        kept = bytes_below(tmp_path)
        gone = [path for path in before if path not in kept and path != link]
        assert gone and all(path.startswith(node) for path in gone)
        if node != "":  # with the root goes what the link leads to, and a link that leads nowhere is no key
            assert (tmp_path / "a/n/file").is_symlink() == (node == "a/v")  # of a link to a file the link goes
            assert kept["plain/file"] == b"kept"


def test_a_link_that_is_no_node_is_not_found(serve, tmp_path):
    for path in ("", "b"):
        make_group(tmp_path / path)
    (tmp_path / "no").mkdir()
    (tmp_path / "no/x").symlink_to("../b")
    server = serve("-w", f"d={tmp_path}")
    answer = server.request("DELETE", "/v1/datasets/d/nodes/no?recursive=1")
    assert answer.status == 404 and answer.code == "node_not_found" and (tmp_path / "b/zarr.json").exists()


def test_another_array_takes_no_chunks_that_a_link_leads_to(serve, tmp_path):
    make_group(tmp_path)
    for path in ("a", "b"):
        (tmp_path / path).mkdir()
        (tmp_path / path / "zarr.json").write_text(json.dumps(ARRAY))
    (tmp_path / "b/c").mkdir()
    (tmp_path / "b/c/0").write_bytes(b"ab")
    (tmp_path / "a/c").symlink_to("../b/c")
    server = serve("-w", f"d={tmp_path}")
    before = bytes_below(tmp_path)
    answer = server.request("PUT", "/v1/datasets/d/nodes/a?erase_chunks=1", {"Content-Type": "application/json"},
                            json.dumps({**ARRAY, "data_type": "int8"}).encode())
    assert answer.status == 409 and "symbolic link" in answer.json()["detail"], answer
    end = time.monotonic() + 60
    while bytes_below(tmp_path) != before and time.monotonic() < end:  # what was staged may go after the answer
        time.sleep(.01)
    assert bytes_below(tmp_path) == before
