"""Arrays that grow by a slice."""

import json
import random

import numpy as np
import pytest
import zarr
from live import RawClient
from slices import BODIES, GOOD, LAYOUTS, SEED, ZEROS, append, as_npy, get, make_array, npy, put, random_values, same, start, states


@pytest.mark.parametrize("layout", ["plain", "sharded", "transposed", "every element a chunk", "larger than the array"])
def test_appends_of_every_form_are_what_numpy_makes_of_them(serve, tmp_path, layout):
    chunk, codecs = LAYOUTS[layout]
    rng = random.Random(f"{SEED} append {layout}")
    make_array(tmp_path / "a", (0, 3, 2), chunk, codecs, "int32", 0, dimension_names=["time", None, "x"])
    server = start(serve, tmp_path)
    expected = np.zeros((0, 3, 2), "<i4")
    for i in range(12):
        dim, name = rng.choice([(0, "time"), (0, "0"), (0, "time"), (2, "x"), (2, "2"), (1, "1")])
        shape = list(expected.shape)
        shape[dim] = rng.randrange(4)
        values = random_values(rng, shape, "int32")
        answer = append(server, "a", values, name, rng.choice(sorted(BODIES)), "&expected_shape=" + ",".join(map(str, expected.shape)))
        assert answer.status == 200, answer
        start_at = expected.shape[dim]
        expected = np.concatenate([expected, values], dim)
        assert answer.json()["shape"] == list(expected.shape)
        where = answer.json()["selection"]
        if values.size:
            found = server.get(f"/v1/datasets/work/slices/a?slice={where}")
            assert same(np.frombuffer(found.body, "<i4").reshape(values.shape), values)
            assert where.split(",")[dim] == f"{start_at}:{expected.shape[dim]}:1"
        assert same(get(server, "a", dtype="<i4"), expected)
    stored = zarr.open_array(tmp_path / "a", mode="r")
    assert same(np.asarray(stored[:]), expected)


def test_the_answer_of_an_append_goes_on(serve, tmp_path):
    make_array(tmp_path / "a", (3,), (2,))
    server = start(serve, tmp_path)
    answer = append(server, "a", np.ones(4, "<f4"), "0")
    found = server.get("/v1/datasets/work/slices/a?slice=" + answer.json()["selection"])
    assert found.headers["etag"] == answer.headers["etag"]
    assert put(server, "a", np.ones(4, "<f4") * 2, answer.json()["selection"], If_Match=answer.headers["etag"]).status == 200


def test_a_dry_append_says_what_would_be(serve, tmp_path):
    make_array(tmp_path / "a", (3,), (2,))
    server = start(serve, tmp_path)
    before = states(tmp_path)
    for n in [1, 6]:
        answer = append(server, "a", np.ones(n, "<f4"), "0", query="&dry_run=1")
        assert answer.json()["shape"] == [3 + n] and answer.json()["chunks"]["written"] == {1: 1, 6: 4}[n]
    assert states(tmp_path) == before


LONG = b"[" + b"1, " * 400000 + b"1]"


@pytest.mark.parametrize("query,content_type,data,status,code", [
    ("append=1", "application/octet-stream", bytes(8), 400, "bad_parameter"),
    ("append=", "application/octet-stream", bytes(8), 400, "bad_parameter"),
    ("append=y", "application/octet-stream", bytes(8), 400, "bad_parameter"),
    ("append=0&slice=0", "application/octet-stream", bytes(8), 400, "bad_parameter"),
    ("append=0&broadcast=1", "application/octet-stream", bytes(4), 400, "bad_parameter"),
    ("append=0&expected_shape=4", "application/octet-stream", bytes(8), 409, "shape_mismatch"),
    ("append=0&expected_shape=4", "application/json", b"[1, 2]", 409, "shape_mismatch"),
    ("append=0", "application/octet-stream", bytes(7), 400, "bad_body"),
    ("append=0", "application/json", b"5", 400, "bad_body"),
    ("append=0", "application/json", b"[1, [2]]", 400, "bad_body"),
    ("append=0", "application/json", b"[1, 2", 400, "bad_body"),
    ("append=0", "application/json", LONG, 413, "too_large"),
    ("append=0", "application/x-npy", npy(GOOD, ZEROS), 400, "bad_body"),
    ("append=0", "application/x-npy", npy(GOOD.replace("(3, 2)", "(6,)"), ZEROS[1:]), 400, "bad_body"),
    ("append=0", "application/x-npy", npy(GOOD.replace("(3, 2)", "(18446744073709551615,)")), 400, "bad_body"),
], ids=range(15))
def test_an_impossible_append_changes_nothing(serve, tmp_path, query, content_type, data, status, code):
    make_array(tmp_path / "a", (3,), (2,), dimension_names=["x"])
    server = start(serve, tmp_path)
    before = states(tmp_path)
    answer = server.request("PUT", f"/v1/datasets/work/slices/a?{query}", {"Content-Type": content_type}, data)
    assert (answer.status, answer.code) == (status, code), answer
    assert states(tmp_path) == before and get(server, "a").shape == (3,)


def test_how_much_is_appended_of_nothing_is_told_by_lists_and_headers(serve, tmp_path):
    make_array(tmp_path / "a", (5, 4, 0, 3), (2, 2, 2, 3))
    server = start(serve, tmp_path)
    for dim in ["0", "1", "3"]:
        before = states(tmp_path)
        answer = append(server, "a", np.zeros(0, "<f4"), dim)
        assert (answer.status, answer.code) == (400, "bad_body") and answer.json()["expected"] == "npy or json"
        assert states(tmp_path) == before
    assert append(server, "a", np.zeros((5, 4, 0, 3), "<f4"), "0", "npy").json()["shape"] == [10, 4, 0, 3]
    assert append(server, "a", np.zeros((1, 4, 0, 3), "<f4"), "0", "json").json()["shape"] == [11, 4, 0, 3]
    assert append(server, "a", np.zeros((11, 4, 2, 3), "<f4"), "2").json()["shape"] == [11, 4, 2, 3]


def test_bounds_that_are_widened_beside_an_append_do_not_hinder_it(serve, tmp_path):
    bounds = {"name": "example.array-statistics", "configuration": {"min": 0, "max": 1}}
    make_array(tmp_path / "a", (2, 3), (2, 3), extensions=[bounds])
    server = start(serve, tmp_path)
    body = as_npy(np.full((1, 3), 5, "<f4"))
    client = RawClient(server.port)
    client.send(b"PUT /v1/datasets/work/slices/a?append=0 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                b"Content-Type: application/x-npy\r\nContent-Length: %d\r\n\r\n" % len(body))
    assert client.file.readline().startswith(b"HTTP/1.1 100") and client.file.readline() == b"\r\n"
    assert put(server, "a", np.full((1, 3), 9, "<f4"), "0:1").status == 200
    client.send(body)
    status, answer = client.receive()
    assert status == 200, answer
    assert get(server, "a").tolist() == [[9] * 3, [3] * 3, [5] * 3]
    document = server.get("/zarr/work/a/zarr.json").json()
    assert document["shape"] == [3, 3] and document["extensions"][0]["configuration"] == {"min": 0, "max": 9}


def test_appended_elements_have_no_tag_yet(serve, tmp_path):
    make_array(tmp_path / "a", (3,), (2,))
    server = start(serve, tmp_path)
    tag = server.get("/v1/datasets/work/slices/a").headers["etag"]
    for condition in [tag, "*"]:
        assert append(server, "a", np.ones(2, "<f4"), "0", If_Match=condition).status == 412
    assert append(server, "a", np.ones(2, "<f4"), "0", If_None_Match="*").status == 200


def test_the_rest_of_a_crashed_append_is_overwritten(serve, tmp_path):
    make_array(tmp_path / "a", (3,), (2,))
    server = start(serve, tmp_path)
    assert append(server, "a", np.arange(6, dtype="<f4"), "0").status == 200
    document = json.loads((tmp_path / "a" / "zarr.json").read_text())
    document["shape"] = [3]  # its last step was never made
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(document))
    assert append(server, "a", np.full(4, 7, "<f4"), "0").json()["shape"] == [7]
    assert get(server, "a").tolist() == [3, 3, 3, 7, 7, 7, 7]


def test_an_append_counts_from_the_origin(serve, tmp_path):
    extension = {"name": "example.offset", "must_understand": True, "configuration": {"offset": [2]}}
    make_array(tmp_path / "a", (5,), (2,), extensions=[extension])
    server = start(serve, tmp_path)
    answer = append(server, "a", np.ones(2, "<f4"), "0", query="&expected_shape=3")
    assert answer.json()["shape"] == [5] and answer.json()["selection"] == "3:5:1"
    assert put(server, "a", np.array([8], "<f4"), "0:1").status == 200
    assert get(server, "a").tolist() == [8, 3, 3, 1, 1]
    assert json.loads((tmp_path / "a" / "zarr.json").read_text())["shape"] == [7]
    assert put(server, "a", np.array([9], "<f4"), "0:1", query="&origin=stored").status == 200
    assert get(server, "a", "&origin=stored").tolist() == [9, 3, 8, 3, 3, 1, 1]


def test_a_write_never_leaves_bounds_that_are_false(serve, tmp_path):
    extension = {"name": "example.array-statistics", "must_understand": False, "configuration": {"min": 1, "max": 2}}
    make_array(tmp_path / "a", (6,), (2,), extensions=[extension])
    server = start(serve, tmp_path)

    def bounds():
        return tuple(json.loads((tmp_path / "a" / "zarr.json").read_text())["extensions"][0]["configuration"][name] for name in ("min", "max"))

    assert put(server, "a", np.array([1, 2], "<f4"), "0:2").status == 200
    assert bounds() == (1, 2)
    answer = put(server, "a", np.array([1, 5, 1], "<f4"), "0:3")
    assert answer.status == 200 and bounds() == (1, 5)
    assert server.get("/v1/datasets/work/slices/a?slice=0:3").headers["etag"] == answer.headers["etag"]
    assert put(server, "a", np.array(-7, "<f4"), "5", query="&broadcast=1").status == 200
    assert bounds() == (-7, 5)
    assert append(server, "a", np.array([9], "<f4"), "0").status == 200
    assert bounds() == (-7, 9)
    assert put(server, "a", np.array([100], "<f4"), "0:1", query="&dry_run=1").status == 200
    assert bounds() == (-7, 9)
