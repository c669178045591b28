"""layout=table and header=1: rows that numpy makes of the same arrays."""

import csv
import io
import itertools
import json

import numpy as np
import pytest
from arrays import write_array, write_node
from documents import LITTLE
from live import Server

S = "/v1/datasets/p/slices/"
RNG = np.random.default_rng(7)
CUBE = RNG.normal(size=(5, 7, 6)).astype("<f4")
LONG = RNG.integers(-9, 9, size=(64, 40, 50), dtype="<i2")
MAP = np.arange(12, dtype="<i4").reshape(3, 4)
DAYS = np.array([0, 59, 366.25], "<f8")
ODD = 'a,"b"'


def change(path, **members):
    document = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps({**document, **members}))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("tables")
    write_node(root, {"zarr_format": 3, "node_type": "group"})
    write_array(root / "cube", CUBE.shape, (2, 3, 6), [LITTLE], CUBE)
    change(root / "cube", dimension_names=["t", None, "x, y"])
    write_array(root / "long", LONG.shape, (5, 40, 50), [LITTLE], LONG, dtype="int16")
    write_array(root / "map", MAP.shape, (2, 2), [LITTLE], MAP, dtype="int32")
    write_array(root / ODD, (2,), (2,), [LITTLE], np.float32([1, np.nan]))
    write_array(root / "scalar", (), (), [LITTLE], dtype="float64")
    write_array(root / "hollow", (4, 0, 2), (1, 4, 1), [LITTLE])
    write_array(root / "huge", (10**8,), (10**6,), [LITTLE], dtype="uint8")
    write_array(root / "wide", (2, 16385), (2, 16385), [LITTLE], dtype="uint8")
    write_array(root / "days", (3,), (3,), [LITTLE], DAYS, dtype="float64")
    change(root / "days", attributes={"units": "days since 2000-01-01", "calendar": "noleap"})
    write_array(root / "words", (2,), (2,), [{"name": "vlen-utf8"}], dtype="string")
    change(root / "words", fill_value='x,"y"')
    running = Server(f"p={root}", "--set", "http.stream_bytes=64KiB")
    yield running
    running.stop()


def rows_of(values, indices, numbers):
    """The rows of a table of `values`, whose dimensions are those of the array with these numbers."""
    places = itertools.product(*(np.arange(n)[index] for n, index in numbers))
    return [[*map(int, place), value] for place, value in zip(places, values[indices].ravel().tolist())]


def table(server, target):
    """Header and rows of a CSV table."""
    answer = server.get(target)
    assert answer.status == 200, answer
    assert answer.headers["content-type"].startswith("text/csv")
    header, *rows = csv.reader(io.StringIO(answer.body.decode(), newline=""))
    return header, rows


def test_a_table_has_the_index_of_every_element(server):
    header, rows = table(server, S + "cube?layout=table&slice=4:1:-2,2:,3")
    assert header == ["t", "dim_1", "cube"]
    expected = CUBE[4:1:-2, 2:, 3]
    assert [row[:2] for row in rows] == [[str(t), str(y)] for t in (4, 2) for y in range(2, 7)]
    np.testing.assert_array_equal(np.float32([row[2] for row in rows]).reshape(expected.shape), expected)


@pytest.mark.parametrize("ask", ["GET", "POST"])
def test_a_json_table_says_its_columns(server, ask):
    if ask == "GET":
        answer = server.get(S + "cube?layout=table&format=json&slice=1:3,0,:")
    else:
        body = json.dumps({"layout": "table", "format": "json", "slice": "1:3,0,:"})
        answer = server.request("POST", S + "cube", headers={"Content-Type": "application/json"}, body=body.encode())
    assert answer.status == 200, answer
    found = json.loads(answer.body)
    assert found["columns"] == ["t", "x, y", "cube"]
    assert [row[:2] for row in found["rows"]] == [[t, x] for t in (1, 2) for x in range(6)]
    np.testing.assert_array_equal(np.float32([row[2] for row in found["rows"]]), CUBE[1:3, 0, :].ravel())
    assert answer.headers["zarr-shape"] == "2,6"
    assert answer.headers["content-disposition"] == 'inline; filename="cube.json"'


def test_a_long_table_is_streamed(server):
    for format, parse in (("csv", lambda text: [line.split(",") for line in text.split("\r\n")[1:-1]]), ("json", lambda text: json.loads(text)["rows"])):
        answer = server.get(S + f"long?layout=table&format={format}")
        assert answer.status == 200
        assert "content-length" not in answer.headers
        rows = np.array(parse(answer.body.decode()), "i8")
        np.testing.assert_array_equal(rows[:, :3], np.argwhere(np.ones(LONG.shape)))
        np.testing.assert_array_equal(rows[:, 3], LONG.ravel())
        head = server.request("HEAD", S + f"long?layout=table&format={format}")
        assert head.headers["etag"] == answer.headers["etag"]
        assert server.get(S + f"long?layout=table&format={format}", headers={"If-None-Match": answer.headers["etag"]}).status == 304


def test_every_form_has_its_own_tag(server):
    queries = ("format=csv", "format=csv&header=1", "layout=table", "layout=table&header=0", "format=json", "layout=table&format=json")
    tags = {server.get(S + "map?" + query).headers["etag"] for query in queries}
    assert len(tags) == len(queries)
    assert server.get(S + "map?layout=array&format=csv&header=0").headers["etag"] == server.get(S + "map?format=csv").headers["etag"]


@pytest.mark.parametrize("target, body", [
    ("map?format=csv", "0,1,2,3\r\n4,5,6,7\r\n8,9,10,11\r\n"),
    ("map?format=csv&header=1&slice=0:2,::-2", "3,1\r\n3,1\r\n7,5\r\n"),
    ("map?format=csv&header=1&slice=0", "map\r\n0\r\n1\r\n2\r\n3\r\n"),
    ("scalar?format=csv&header=1", "scalar\r\n0.0\r\n"),
    ("scalar?layout=table", "scalar\r\n0.0\r\n"),
    ("scalar?layout=table&format=json", '{"columns":["scalar"],"rows":[[0.0]]}'),
    ("hollow?layout=table", "dim_0,dim_1,dim_2,hollow\r\n"),
    ("hollow?layout=table&format=json", '{"columns":["dim_0","dim_1","dim_2","hollow"],"rows":[]}'),
    ("a,%22b%22?layout=table", 'dim_0,"a,""b"""\r\n0,1.0\r\n1,NaN\r\n'),
    ("a,%22b%22?layout=table&format=json&nan=null", '{"columns":["dim_0","a,\\"b\\""],"rows":[[0,1.0],[1,null]]}'),
    ("words?layout=table", 'dim_0,words\r\n0,"x,""y"""\r\n1,"x,""y"""\r\n'),
    # noleap: day 59 is the first of March, and a year has 365 days
    ("days?layout=table", "dim_0,days\r\n0,2000-01-01T00:00:00\r\n1,2000-03-01T00:00:00\r\n2,2001-01-02T06:00:00\r\n"),
    ("days?format=csv", "0.0\r\n59.0\r\n366.25\r\n"),
])
def test_small_tables_are_exact(server, target, body):
    answer = server.get(S + target)
    assert answer.status == 200, answer
    assert answer.body.decode() == body


LABELS = np.array(["ground", "", 'x,"1"\n', "é"], dtype="U8")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """w(time, level, name) with coordinates beside it and above it; `bare` has one of the wrong length."""
    root = tmp_path_factory.mktemp("labelled")
    group = {"zarr_format": 3, "node_type": "group"}
    write_node(root, group)
    write_node(root / "g", group)
    values = np.arange(3 * 2 * 4, dtype="<i4").reshape(3, 2, 4)
    write_array(root / "g" / "w", values.shape, (2, 2, 3), [LITTLE], values, dtype="int32")
    change(root / "g" / "w", dimension_names=["time", "level", "name"])
    write_array(root / "g" / "time", (3,), (3,), [LITTLE], np.int64([0, 31, 59]), dtype="int64")
    change(root / "g" / "time", dimension_names=["time"], attributes={"units": "days since 2001-01-01"})
    write_array(root / "level", (2,), (2,), [LITTLE], np.float32([1000, 850.5]))
    text = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 32}}
    write_array(root / "name", (4,), (4,), [LITTLE], LABELS, dtype=text)
    change(root / "name", fill_value="")
    running = Server(f"p={root}")
    yield running
    running.stop()


TIMES = ["2001-01-01T00:00:00", "2001-02-01T00:00:00", "2001-03-01T00:00:00"]


@pytest.mark.parametrize("query, index", [
    ("", (slice(None), slice(None), slice(None))),
    ("&slice=::-2,1,1:3", (slice(None, None, -2), 1, slice(1, 3))),
    ("&sel=time=2001-02/..&isel=level=0", (slice(1, None), 0, slice(None))),
])
def test_a_table_has_the_coordinates_of_every_element(labelled, query, index):
    values = np.arange(24).reshape(3, 2, 4)[index]
    names = [name for name, one in zip(("time", "level", "name"), index) if not isinstance(one, int)]
    every = [np.array(of, object)[one] for of, one in zip((TIMES, [1000.0, 850.5], LABELS), index) if not isinstance(one, int)]
    expected = [[*place, value] for place, value in zip(itertools.product(*every), values.ravel().tolist())]
    header, rows = table(labelled, S + "g/w?layout=table" + query)
    assert header == [*names, "w"]
    assert rows == [[str(one) for one in row] for row in expected]
    found = json.loads(labelled.get(S + "g/w?layout=table&format=json" + query).body)
    assert found == {"columns": [*names, "w"], "rows": expected}


def test_the_header_of_rows_has_the_coordinates_of_columns(labelled):
    body = labelled.get(S + "g/w?format=csv&header=1&slice=0").body.decode()
    assert next(csv.reader(io.StringIO(body, newline=""))) == LABELS.tolist()
    body = labelled.get(S + "g/w?format=csv&header=1&slice=:,:,0").body.decode()
    assert body == "1000.0,850.5\r\n0,4\r\n8,12\r\n16,20\r\n"
    body = labelled.get(S + "g/w?format=csv&header=1&slice=:,0,0&origin=stored&layout=table").body.decode()
    assert body == "time,w\r\n0,0\r\n1,8\r\n2,16\r\n"


def test_the_tag_of_a_table_has_its_coordinates(labelled):
    query = S + "g/w?layout=table&slice=0,:,0"
    before = labelled.get(query)
    assert labelled.get(query, headers={"If-None-Match": before.headers["etag"]}).status == 304
    assert labelled.head(query).headers["etag"] == before.headers["etag"]


def test_blocks_are_called_as_their_first_elements(labelled):
    _, rows = table(labelled, S + "g/w?layout=table&slice=:,0,:&coarsen=time:2&reduce=sum&over=name")
    assert rows == [[TIMES[0], "22.0"], [TIMES[2], "70.0"]]


def test_accept_chooses_between_tables(server):
    answer = server.get(S + "cube?layout=table&slice=0", headers={"Accept": "application/json"})
    assert answer.headers["content-type"].startswith("application/json")
    assert json.loads(answer.body)["columns"][-1] == "cube"


@pytest.mark.parametrize("query, code, facts", [
    ("map?layout=table&format=raw", "not_acceptable", {"allowed": ["csv", "json"]}),
    ("map?layout=table&format=npz", "not_acceptable", {"allowed": ["csv", "json"]}),
    ("map?layout=rows", "bad_parameter", {"expected": "array or table"}),
    ("map?format=csv&header=yes", "bad_parameter", {"names": ["header"]}),
    ("wide?format=csv&header=1", "bad_parameter", {"limit": 16384, "requested": 16385}),
    ("huge?layout=table", "too_large", {"requested": 9 * 10**8, "limit": 512 * 2**20}),
])
def test_tables_that_cannot_be_are_refused(server, query, code, facts):
    answer = server.get(S + query)
    problem = json.loads(answer.body)
    assert problem["code"] == code, problem
    assert {name: problem.get(name) for name in facts} == facts


def test_pieces_of_a_table_too_large_are_tables(server):
    problem = json.loads(server.get(S + "huge?layout=table").body)
    answer = server.request("HEAD", S + f"huge?layout=table&slice={problem['suggestions'][0]}")
    assert answer.status == 200, answer
