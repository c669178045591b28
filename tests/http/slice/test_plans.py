"""plan=1: what a slice, statistics or a picture would cost, before any chunk is read; and what HEAD knows of chunks without a read."""

import gzip
import json
import urllib.parse

import numpy as np
import pytest
from arrays import shard_of, write_array, write_chunk, write_gzipped, write_node
from documents import GROUP, GZIP, LITTLE, array_document, extension, shard

VALUES = np.arange(24 * 36, dtype="f4").reshape(24, 36)
D = "/v1/datasets/d"
INNER = np.arange(64, dtype="f4").reshape(8, 8)


@pytest.fixture
def root(tmp_path):
    write_node(tmp_path, GROUP)
    write_gzipped(tmp_path / "a", VALUES, [8, 12])  # 3 x 3 chunks
    (tmp_path / "a/c/0/2").unlink()
    write_array(tmp_path / "sharded", [16, 8], [8, 8], [shard([4, 4], [LITTLE, GZIP], index=[LITTLE])])
    pieces = [gzip.compress(INNER[i:i + 4, k:k + 4].tobytes()) for i in (0, 4) for k in (0, 4)]
    write_chunk(tmp_path / "sharded", [0, 0], shard_of([*pieces[:3], None]))
    write_array(tmp_path / "bounded", [4], [4], [LITTLE], np.arange(4, dtype="f4"),
                extensions=[extension("array-statistics", {"min": 0, "max": 3})])
    write_array(tmp_path / "text", [3], [2], [{"name": "vlen-utf8"}], dtype="string", fill="")
    return tmp_path


@pytest.fixture
def server(serve, root):
    return serve(config={"datasets": {"d": {"location": str(root), "revalidate_ms": 0}}})


def plan(server, path, query=""):
    answer = server.get(f"{D}/{path}?plan=1{query}")
    assert answer.status == 200, answer
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


def sizes(root, *keys):
    return sum((root / key).stat().st_size for key in keys)


def test_a_plan_says_what_the_slice_then_costs(server, root):
    query = "&slice=4:20,-30:&format=npy"
    with server.cost() as cost:
        found = plan(server, "slices/a", query)
    assert cost["zarrd_decodes_total"] == 0
    touched = [f"a/c/{i}/{k}" for i in range(3) for k in range(3) if (i, k) != (0, 2)]
    assert found["chunks"] == {"touched": 9, "cached": 0, "absent": 1}
    assert found["read_bytes"] == sizes(root, *touched) and found["exact"] is True
    assert found["decode_bytes"] == 8 * 8 * 12 * 4 and found["shape"] == [16, 30] and found["format"] == "npy"
    assert found["expected_ms"]["total"] == pytest.approx(sum(found["expected_ms"][part] for part in ("store", "decode", "encode")))
    assert found["expected_ms"]["decode"] > 0 and found["measured"] is False
    with server.cost() as cost:
        answer = server.get(f"{D}/slices/a?{query[1:]}")
    assert (cost["zarrd_decodes_total"], cost["zarrd_decoded_bytes_total"]) == (8, found["decode_bytes"])
    assert found["answer_bytes"] == len(answer.body) and found["memory_bytes"] >= len(answer.body)
    same = server.get(found["url"])
    assert (same.body, same.headers["zarr-selection"], same.headers["etag"]) == (answer.body, answer.headers["zarr-selection"], answer.headers["etag"])
    again = plan(server, "slices/a", query)
    assert again["chunks"] == {"touched": 9, "cached": 8, "absent": 1} and again["read_bytes"] == again["decode_bytes"] == 0
    assert again["expected_ms"]["store"] == again["expected_ms"]["decode"] == 0 and again["measured"] is True


def test_measured_times_are_expected(server, root):
    plan(server, "slices/a")
    server.get(f"{D}/slices/a?slice=0:8,0:12")  # one chunk
    one, eight = plan(server, "slices/a", "&slice=8:16,0:12"), plan(server, "slices/a")
    assert one["measured"] and one["chunks"]["touched"] == 1 and eight["chunks"] == {"touched": 9, "cached": 1, "absent": 1}
    for part in ("store", "decode"):
        assert eight["expected_ms"][part] == pytest.approx(7 * one["expected_ms"][part], rel=1e-3)
    assert one["expected_ms"]["store"] > 0


def test_a_chunk_that_has_changed_is_not_at_hand(server, root):
    server.get(f"{D}/slices/a")
    write_chunk(root / "a", [1, 1], gzip.compress(bytes(8 * 12 * 4), 9))
    found = plan(server, "slices/a")
    assert found["chunks"] == {"touched": 9, "cached": 7, "absent": 1} and found["read_bytes"] == sizes(root, "a/c/1/1")


def test_shares_of_shards_are_estimated_until_they_are_read(server, root):
    with server.cost() as cost:
        found = plan(server, "slices/sharded")
    assert cost["zarrd_decodes_total"] == 0
    assert found["chunks"] == {"touched": 8, "cached": 0, "absent": 4} and found["exact"] is False
    assert found["read_bytes"] == 4 * -(-sizes(root, "sharded/c/0/0") // 4) and found["decode_bytes"] == 4 * 64
    server.get(f"{D}/slices/sharded")
    found = plan(server, "slices/sharded")
    assert found["chunks"] == {"touched": 8, "cached": 3, "absent": 5} and (found["read_bytes"], found["exact"]) == (0, True)


def test_an_index_that_is_at_hand_tells_of_all_chunks_of_its_shard(server, root):
    server.get(f"{D}/slices/sharded?slice=0:4,0:4")  # one inner chunk, and with it the index
    with server.cost() as cost:
        found = plan(server, "slices/sharded")
        assert server.head(f"{D}/slices/sharded?slice=4:8,4:8").headers["zarr-chunks"] == "1/1"
    assert cost["zarrd_decodes_total"] == 0
    assert found["chunks"] == {"touched": 8, "cached": 1, "absent": 5} and found["exact"] is True
    lengths = [len(gzip.compress(INNER[i:i + 4, k:k + 4].tobytes())) for i, k in ((0, 4), (4, 0))]
    assert found["read_bytes"] == sum(lengths) and found["decode_bytes"] == 2 * 64
    write_chunk(root / "sharded", [0, 0], shard_of([b"x" * 99, None, None, None]))
    assert plan(server, "slices/sharded")["exact"] is False  # another object by now


def test_head_tells_of_chunks_where_it_needs_no_read(server):
    target = f"{D}/slices/sharded"
    assert server.head(f"{target}?slice=8:").headers["zarr-chunks"] == "4/4"  # a shard that is absent
    with server.cost() as cost:
        assert "zarr-chunks" not in server.head(target).headers
    assert cost["zarrd_decodes_total"] == 0
    read = server.get(target).headers["zarr-chunks"]
    assert server.head(target).headers["zarr-chunks"] == read == "8/5"
    assert server.head(f"{D}/slices/a?slice=0:8").headers["zarr-chunks"] == "3/1"
    assert server.head(f"{D}/slices/a?slice=0:0").headers["zarr-chunks"] == "0/0"


def test_statistics_have_a_plan(server, root):
    found = plan(server, "stats/a", "&slice=0:8&fields=mean")
    assert found["chunks"] == {"touched": 3, "cached": 0, "absent": 1} and found["format"] is None
    assert urllib.parse.parse_qs(urllib.parse.urlsplit(found["url"]).query) == {"slice": ["0:8:1,0:36:1"], "fields": ["mean"]}
    assert server.get(found["url"]).json()["mean"] == server.get(f"{D}/stats/a?slice=0:8&fields=mean").json()["mean"]
    declared = plan(server, "stats/bounded")
    assert declared["chunks"] == {"touched": 0, "cached": 0, "absent": 0} and declared["memory_bytes"] == 0
    assert plan(server, "stats/bounded", "&fields=mean")["chunks"]["touched"] == 1


def test_pictures_have_a_plan(server):
    found = plan(server, "images/a", "&slice=0:16,:&cmap=gray&max_size=100")
    assert found["chunks"] == {"touched": 6, "cached": 0, "absent": 1} and found["format"] == "png"
    assert server.get(found["url"]).body == server.get(f"{D}/images/a?slice=0:16&cmap=gray&max_size=100").body
    assert server.get(f"{D}/images/a?plan=1", {"Accept": "application/json"}).status == 200


def test_a_tile_keeps_its_url(server):
    found = plan(server, "images/a", "&tile=0,1,0&tile_size=16&cmap=gray")
    assert found["url"] == f"{D}/images/a?tile=0%2C1%2C0&tile_size=16&cmap=gray"
    assert found["shape"] == [8, 16] and found["chunks"] == {"touched": 2, "cached": 0, "absent": 0}
    assert server.get(found["url"]).body == server.get(f"{D}/images/a?tile=0,1,0&tile_size=16&cmap=gray").body


def test_a_selection_by_value_becomes_one_by_index(server, root):
    write_array(root / "x", [36], [36], [LITTLE], np.arange(36, dtype="f4") / 2, dimension_names=["x"])
    write_array(root / "named", [24, 36], [8, 12], [LITTLE], VALUES, dimension_names=["y", "x"])
    found = plan(server, "slices/named", "&sel=x=3/5.5&isel=y=-1&dtype=f8&format=npy")
    assert found["url"] == f"{D}/slices/named?slice=23,6:12:1&dtype=f8&format=npy"
    assert found["shape"] == [6] and found["chunks"] == {"touched": 1, "cached": 0, "absent": 0}
    answer = server.get(f"{D}/slices/named?sel=x=3/5.5&isel=y=-1&dtype=f8&format=npy")
    assert server.get(found["url"]).body == answer.body and found["answer_bytes"] == len(answer.body)


@pytest.mark.parametrize("query", ["reduce=mean&over=0", "coarsen=0:8,1:6", "max_size=100", "reduce=max"])
def test_a_plan_of_what_is_made_smaller_has_the_shape_of_the_answer(server, query):
    found = plan(server, "slices/a", f"&{query}&format=npy")
    answer = server.get(f"{D}/slices/a?{query}&format=npy")
    assert found["shape"] == [int(length) for length in answer.headers["zarr-shape"].split(",") if length]
    assert found["answer_bytes"] == len(answer.body) and found["chunks"] == {"touched": 9, "cached": 0, "absent": 1}
    assert server.get(found["url"]).body == answer.body


def test_the_url_names_the_level_of_a_group(server, root):
    group = extension("multiscale-arrays", {"multiscale": {"datasets": ["fine", "coarse"]}})
    for name, n in (("fine", 8), ("coarse", 4)):
        write_array(root / "levels" / name, [n, n], [4, 4], [LITTLE], np.ones((n, n), "f4"))
    write_node(root / "levels", {**GROUP, "extensions": [group]})
    for query in ("&level=1", "&max_size=16"):
        found = plan(server, "slices/levels", query)
        assert found["url"] == f"{D}/slices/levels/coarse?slice=0:4:1,0:4:1" and found["shape"] == [4, 4]
        assert server.get(found["url"]).body == server.get(f"{D}/slices/levels?{query[1:]}").body


def test_a_body_may_ask_for_a_plan(server):
    found = server.post(f"{D}/slices/a", {"slice": "0:8", "plan": True}).json()
    assert found["chunks"] == {"touched": 3, "cached": 0, "absent": 1} and found["url"] is None
    lists = server.post(f"{D}/slices/a", {"slice": [[20, 0, 21], [1, 30]], "plan": True}).json()
    assert lists["chunks"] == {"touched": 6, "cached": 0, "absent": 1} and lists["shape"] == [3, 2] and lists["url"] is None
    assert server.post(f"{D}/slices/a", {"slice": [[20, 0, 21], [1, 30]]}).headers["zarr-chunks"] == "6/1" and lists["exact"] is False
    for path in ("a", "sharded"):
        points = [[(20 * i) % 24, (10 * i) % 30] if path == "a" else [(9 * i) % 16, i % 8] for i in range(50)]
        found = server.post(f"{D}/slices/{path}", {"points": points, "plan": True}).json()
        told = server.post(f"{D}/slices/{path}", {"points": points}).headers["zarr-chunks"]
        assert found["chunks"]["touched"] == 50 == int(told.split("/")[0])
    assert server.post(f"{D}/slices/a", {"plan": 1}).json()["pointer"] == "/plan"
    assert server.post(f"{D}/slices/a", {"slice": "0:8", "plan": False}).headers["zarr-shape"] == "8,36"


def test_odd_arrays_have_plans(server, root):
    write_array(root / "scalar", [], [], [LITTLE], np.float32(3))
    found = plan(server, "slices/scalar")
    assert found["chunks"] == {"touched": 1, "cached": 0, "absent": 0} and found["url"] == f"{D}/slices/scalar?slice="
    empty = plan(server, "slices/a", "&slice=5:5")
    assert empty["chunks"] == {"touched": 0, "cached": 0, "absent": 0} and empty["answer_bytes"] == 0
    text = plan(server, "slices/text", "&format=json")
    assert text["answer_bytes"] is None and text["chunks"]["absent"] == 2
    write_array(root / "é %?&", [2], [2], [LITTLE], np.ones(2, "f4"))
    assert server.get(plan(server, "slices/%C3%A9%20%25%3F%26")["url"]).body == np.ones(2, "f4").tobytes()


def test_a_refused_request_has_no_plan(server, root):
    write_node(root / "huge", array_document([2**40], [2**20]))
    assert server.get(f"{D}/slices/huge?plan=1").code == "too_large"
    assert server.get(f"{D}/slices/a?plan=1&slice=99").code == "out_of_bounds"
    assert server.get(f"{D}/slices/a?plan=maybe").code == "bad_parameter"
    assert server.request("PUT", f"{D}/slices/a?plan=1", {}, b"").status in (400, 405)


def test_more_chunks_than_a_slice_may_have_are_not_looked_for(serve, root):
    server = serve("--set", "limits.slice_chunks=4", f"d={root}")
    with server.cost() as cost:
        found = plan(server, "stats/a")
    assert found["chunks"] == {"touched": 9, "cached": None, "absent": None} and found["read_bytes"] is None
    assert "expected_ms" not in found and found["exact"] is False and json.dumps(found)
    assert cost["zarrd_decodes_total"] == 0
