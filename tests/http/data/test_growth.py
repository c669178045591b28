"""What work costs as data grows: entries that the store looks at, a few times as many as there are, whatever their number."""

import json
import pathlib

import pytest

N = 30_000


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
    assert len(list((tmp_path / "a").iterdir())) == left + 1
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
