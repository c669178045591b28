"""Slices written: every layout, type and form of body against NumPy, what is touched, and what the answer says."""

import json
import random
import socket

import numpy as np
import pytest
import zarr
from documents import LITTLE
from files import contents
from slices import BODIES, LAYOUTS, SEED, SHAPE, TYPES, fill_of, get, make_array, put, random_values, same, start


def fill_element(dtype):
    fill = fill_of(dtype)
    if dtype.startswith("r"):
        return np.array([bytes(fill)], TYPES[dtype])[0]
    return np.array(complex(*fill) if isinstance(fill, list) else fill, TYPES[dtype])


def random_item(rng, size):
    kind = rng.randrange(5)
    if kind == 0 and size > 0:
        i = rng.randrange(-size, size)
        return i, str(i)
    bounds = [rng.choice([None, rng.randrange(-size - 2, size + 3)]) for _ in range(2)]
    step = rng.choice([None, 1, 1, 2, 3, -1, -2, size + 1])
    if kind == 1:
        bounds, step = [None, None], None
    text = ":".join("" if bound is None else str(bound) for bound in bounds)
    return slice(*bounds, step), text if step is None else f"{text}:{step}"


def random_slice(rng, shape):
    items = [random_item(rng, size) for size in shape]
    if rng.randrange(6) == 0:
        keep = rng.randrange(len(shape) + 1)
        items = items[:keep] + [(Ellipsis, "...")]
    return tuple(item for item, _ in items), ",".join(text for _, text in items)


def run_random(server, tmp_path, path, dtype, shape, rng, n_slices):
    expected = np.full(shape, fill_element(dtype), TYPES[dtype])
    for _ in range(n_slices):
        index, text = random_slice(rng, shape)
        values = random_values(rng, expected[index].shape, dtype)
        form = rng.choice(sorted(BODIES))
        if rng.randrange(5) == 0:
            values = np.broadcast_to(random_values(rng, (), dtype), values.shape)
            answer = put(server, path, values.ravel()[0] if values.size else random_values(rng, (), dtype), text, form, "&broadcast=1")
        else:
            answer = put(server, path, values, text, form)
        assert answer.status == 200, (SEED, path, text, form, answer)
        expected[index] = values
        found = get(server, path, text, TYPES[dtype])
        assert same(found, expected[index]), (SEED, path, text, form)
    assert same(get(server, path, "", TYPES[dtype]), expected), (SEED, path)
    return expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_slices_of_every_layout_are_what_numpy_makes_of_them(serve, tmp_path, layout):
    chunk, codecs = LAYOUTS[layout]
    make_array(tmp_path / "a", SHAPE, chunk, codecs)
    server = start(serve, tmp_path)
    expected = run_random(server, tmp_path, "a", "float32", SHAPE, random.Random(f"{SEED} {layout}"), 40)
    assert same(np.asarray(zarr.open_array(tmp_path / "a", mode="r")[:]), expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_random_slices_of_every_type_are_what_numpy_makes_of_them(serve, tmp_path, dtype):
    chunk, codecs = LAYOUTS["transposed"] if dtype[0] == "f" else LAYOUTS["sharded"]
    make_array(tmp_path / "a", SHAPE, chunk, codecs, dtype)
    server = start(serve, tmp_path)
    expected = run_random(server, tmp_path, "a", dtype, SHAPE, random.Random(f"{SEED} {dtype}"), 25)
    if dtype[0] != "r":
        assert same(np.asarray(zarr.open_array(tmp_path / "a", mode="r")[:]), expected)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (5, 0, 3), (3, 1, 1, 2, 1, 2)])
def test_small_and_empty_arrays(serve, tmp_path, shape):
    make_array(tmp_path / "a", shape, [2] * len(shape), dtype="int16")
    server = start(serve, tmp_path)
    run_random(server, tmp_path, "a", "int16", shape, random.Random(SEED), 12)


def chunks(answer):
    assert answer.status == 200, answer
    return tuple(answer.json()["chunks"][name] for name in ("written", "erased", "unchanged"))


def test_whole_chunks_are_written_without_reading(serve, tmp_path):
    make_array(tmp_path / "a", (8, 8), (2, 4))
    server = start(serve, tmp_path)
    whole = np.arange(64, dtype="<f4").reshape(8, 8) + 1
    assert chunks(put(server, "a", whole)) == (8, 0, 0)
    with server.cost() as cost:
        assert chunks(put(server, "a", whole + 1)) == (8, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 0 and cost["zarrd_store_writes_total"] == 2 * 8  # staged, committed
    with server.cost() as cost:
        assert chunks(put(server, "a", whole[:3, :4], "0:3,0:4")) == (2, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 32 and cost["zarrd_store_writes_total"] == 2 * 2
    with server.cost() as cost:
        assert chunks(put(server, "a", whole[:2, :4], "0:2,0:4")) == (1, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 0 and cost["zarrd_store_writes_total"] == 1


def test_the_edge_of_the_array_is_read_for_what_may_lie_beyond(serve, tmp_path):
    """Another process may know the array to be longer, and have elements there."""
    make_array(tmp_path / "a", (5,), (4,))
    server = start(serve, tmp_path)
    assert chunks(put(server, "a", np.ones(5, "<f4"))) == (2, 0, 0)
    (tmp_path / "a" / "c" / "1").write_bytes(np.arange(4, dtype="<f4").tobytes())
    with server.cost() as cost:
        assert chunks(put(server, "a", np.ones(1, "<f4") * 2, "4:")) == (1, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 16
    assert np.fromfile(tmp_path / "a" / "c" / "1", "<f4").tolist() == [2, 1, 2, 3]
    (tmp_path / "a" / "c" / "1").write_bytes(b"torn")
    assert chunks(put(server, "a", np.ones(1, "<f4") * 4, "4:")) == (1, 0, 0)
    fill = fill_of("float32")
    assert np.fromfile(tmp_path / "a" / "c" / "1", "<f4").tolist() == [4, fill, fill, fill]


def test_chunks_of_nothing_but_the_fill_value_are_left_out(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,), fill=3)
    server = start(serve, tmp_path)
    assert chunks(put(server, "a", np.array([1, 1, 3, 3, 3, 3, 2, 3], "<f4"))) == (2, 0, 2)
    assert list(contents(tmp_path / "a" / "c")) == ["0", "3"]
    assert chunks(put(server, "a", np.array([1, 1, 3, 3, 3, 3, 3, 3], "<f4"))) in [(1, 1, 2), (0, 1, 3)]
    assert list(contents(tmp_path / "a" / "c")) == ["0"]


def test_chunks_of_fill_are_stored_where_the_dataset_says_so(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,), fill=3)
    server = start(serve, tmp_path, write_empty_chunks=True)
    assert chunks(put(server, "a", np.full(8, 3, "<f4"))) == (4, 0, 0)
    assert len(contents(tmp_path / "a" / "c")) == 4


def test_a_dry_run_says_what_would_be_and_stores_nothing(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,))
    server = start(serve, tmp_path)
    before = server.get("/v1/datasets/work/slices/a")
    for text in ["", "1:2", "1:7"]:
        dry = put(server, "a", np.ones(8, "<f4")[:get(server, "a", text).size], text, query="&dry_run=1")
        assert dry.status == 200
        assert not (tmp_path / "a" / "c").exists()
        assert server.get("/v1/datasets/work/slices/a").headers["etag"] == before.headers["etag"]
        wet = put(server, "a", np.ones(8, "<f4")[:get(server, "a", text).size], text)
        assert wet.json() == dry.json()
        assert put(server, "a", np.array(3, "<f4"), "", query="&broadcast=1").status == 200
    assert put(server, "a", np.ones(7, "<f4"), query="&dry_run=1").code == "bad_body"


def test_a_reader_sees_at_once_what_was_written(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,))
    server = start(serve, tmp_path, immutable=True)
    for i in range(20):
        first = server.get("/v1/datasets/work/slices/a")
        answer = put(server, "a", np.full(8, i, "<f4"))
        then = server.get("/v1/datasets/work/slices/a")
        assert then.headers["etag"] == answer.headers["etag"] != first.headers["etag"]
        assert np.frombuffer(then.body, "<f4").tolist() == [i] * 8


def test_the_tag_of_any_form_is_good_for_if_match(serve, tmp_path):
    make_array(tmp_path / "a", (4, 4), (2, 2))
    server = start(serve, tmp_path)
    forms = ["raw", "npy", "json", "csv", "json&nan=null", "json&pretty=1&ints=string", "csv&nan=null"]
    for form in forms:
        tag = server.get(f"/v1/datasets/work/slices/a?slice=1:3&format={form}").headers["etag"]
        stale = put(server, "a", np.ones((2, 4), "<f4"), "1:3", If_Match='"x", W/' + tag)
        assert stale.code == "precondition_failed" and stale.status == 412
        answer = put(server, "a", np.ones((2, 4), "<f4") * 2, "1:3", If_Match='"x", ' + tag.strip('"'))
        assert answer.status == 200
        assert put(server, "a", np.ones((2, 4), "<f4") * 3, "1:3", If_Match=tag).status == 412
        assert put(server, "a", np.ones((2, 4), "<f4") * 3, "1:3", If_Match=answer.headers["etag"]).status == 200
    coded = server.get("/v1/datasets/work/slices/a?slice=1:3&format=json", {"Accept-Encoding": "gzip, identity;q=0"}).headers["etag"]
    assert coded.endswith('-gzip"') and put(server, "a", np.ones((2, 4), "<f4"), "1:3", If_Match=coded).status == 200
    assert get(server, "a", "1:3").tolist() == np.ones((2, 4)).tolist()


def test_if_match_fails_when_a_touched_chunk_has_changed_and_only_then(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,))
    server = start(serve, tmp_path)
    tag = server.get("/v1/datasets/work/slices/a?slice=1:3").headers["etag"]
    assert put(server, "a", np.ones(4, "<f4"), "4:8").status == 200  # beside it
    assert put(server, "a", np.ones(2, "<f4"), "1:3", If_Match=tag).status == 200
    tag = server.get("/v1/datasets/work/slices/a?slice=1:3").headers["etag"]
    assert put(server, "a", np.ones(1, "<f4") * 5, "0").status == 200  # in the same chunk
    assert put(server, "a", np.ones(2, "<f4"), "1:3", If_Match=tag).status == 412
    assert put(server, "a", np.ones(2, "<f4"), "1:3", If_None_Match="*").status == 412
    assert put(server, "a", np.ones(2, "<f4"), "1:3", If_Match="*").status == 200
    assert get(server, "a").tolist() == [5, 1, 1, 3, 1, 1, 1, 1]


def test_each_write_is_told_to_those_who_listen(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"GET /v1/datasets/work/events?path=a HTTP/1.1\r\nHost: a\r\n\r\n")
        stream = s.makefile("rb")
        while not stream.readline().startswith(b"HTTP/1.1 200"):
            pass
        assert put(server, "a", np.array([1, 1, 0, 0, 5, 5], "<i4"), "0:6").status == 200
        assert put(server, "a", np.array([0, 0, 9], "<i4"), "0:3").status == 200
        found = []
        while len(found) < 3:
            line = stream.readline()
            if line.startswith(b"data:") and b"indices" in line:
                found.append(json.loads(line[5:]))
    assert [(event["change"], sorted(event["indices"])) for event in found] == [
        ("written", [[0], [2]]), ("written", [[1]]), ("erased", [[0]])]


def test_an_example_of_the_readme(serve, tmp_path):
    """Read, change, write, append, with an ordinary client."""
    requests = pytest.importorskip("requests")
    make_array(tmp_path / "level", (10, 3), (4, 3), [LITTLE], "float32", 0, dimension_names=["time", "x"])
    server = start(serve, tmp_path)
    url = server.url + "/v1/datasets/work/slices/level"
    read = requests.get(url, params={"slice": "0:10,:"})
    values = np.frombuffer(read.content, read.headers["Zarr-Dtype"]).reshape([int(n) for n in read.headers["Zarr-Shape"].split(",")])
    headers = {"If-Match": read.headers["ETag"]}
    assert requests.put(url, params={"slice": "0:10,:"}, data=(values + 1).tobytes(), headers=headers).status_code == 200
    assert requests.put(url, params={"slice": "0:10,:"}, data=(values + 2).tobytes(), headers=headers).status_code == 412
    assert requests.put(url, params={"append": "time"}, json=[[1.5, "NaN", 2]]).json()["shape"] == [11, 3]
    found = get(server, "level")
    assert (found[:10] == 1).all() and np.array_equal(found[10], [1.5, np.nan, 2], equal_nan=True)
