"""Slices: every format, header, condition and range, compared with numpy."""

import csv
import io
import json

import numpy as np
import pytest
from arrays import write_array, write_sharded
from client import DEADLINE_S
from documents import GZIP, LITTLE
from live import Server

S = "/v1/datasets/p/slices/"
RNG = np.random.default_rng(3)
VALUES = RNG.normal(size=(20, 30)).astype("<f4")
CUBE = np.arange(5 * 6 * 7, dtype="<i2").reshape(5, 6, 7)

DTYPES = {
    "bool": ("|b1", [True, False]), "int8": ("|i1", [-128, 127]), "uint8": ("|u1", [0, 255]),
    "int16": ("<i2", [-32768, 32767]), "uint16": ("<u2", [0, 65535]), "int32": ("<i4", [-2**31, 2**31 - 1]),
    "uint32": ("<u4", [0, 2**32 - 1]), "int64": ("<i8", [-2**63, 2**63 - 1]), "uint64": ("<u8", [0, 2**64 - 1]),
    "float16": ("<f2", [0.1, 65504]), "float32": ("<f4", [0.1, 3.4e38]), "float64": ("<f8", [0.1, 5e-324]),
    "complex64": ("<c8", [1 + 2j, -0.5j]), "complex128": ("<c16", [0.1 + 2j, 1e300]),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("slices")
    (root / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_array(root / "a", VALUES.shape, (8, 10), [LITTLE], np.pad(VALUES, ((0, 4), (0, 0))))
    document = json.loads((root / "a/zarr.json").read_text())
    document["dimension_names"] = ["höhe,1", None]
    (root / "a/zarr.json").write_text(json.dumps(document))
    write_array(root / "cube", CUBE.shape, CUBE.shape, [LITTLE], CUBE, dtype="int16")
    write_array(root / "empty", (0, 4), (1, 4), [LITTLE])
    write_array(root / "scalar", (), (), [LITTLE], dtype="float64")
    (root / "scalar/c").write_bytes(np.float64(np.nan).tobytes())
    write_array(root / "absent", (10, 10), (5, 5), [LITTLE])
    write_sharded(root / "shards", VALUES, (8, 20), (4, 5), missing={(1, 1), (4, 0)})
    for name, (typestr, values) in DTYPES.items():
        fill = False if name == "bool" else [0.0, 0.0] if name.startswith("complex") else 0
        write_array(root / name, (2,), (2,), [LITTLE], np.array(values, typestr), dtype=name)
        document = json.loads((root / name / "zarr.json").read_text())
        (root / name / "zarr.json").write_text(json.dumps({**document, "fill_value": fill}))
    running = Server(f"p={root}")
    running.root = root
    yield running
    running.stop()


SELECTIONS = ["", ":", "...", "3", "3,4", "-1", "2:9", "2:9,4:25", "::2,::3", "::-1,::-1", "15:2:-4,...", "...,5", "100:,:",
              "[1:3, 2]", "(1:3,)", "19,29", "0:1,0:1", "7:9,9:11", ":5,-3:", "20:", "::7,::-11"]


def numpy_of(values, text):
    text = text.strip("[]()").rstrip(",")
    items = []
    for item in filter(None, (item.strip() for item in text.split(","))):
        if item == "...":
            items.append(Ellipsis)
        elif ":" in item:
            items.append(slice(*(int(n) if n else None for n in item.split(":"))))
        else:
            items.append(int(item))
    return values[tuple(items)]


@pytest.mark.parametrize("selection", [s for s in SELECTIONS if not s.endswith(",)")])
def test_raw_and_npy_are_what_numpy_selects(server, selection):
    query = selection.replace(" ", "%20").replace("[", "%5B").replace("]", "%5D")
    for node, values in (("a", VALUES), ("shards", sharded())):
        expected = np.ascontiguousarray(numpy_of(values, selection))
        raw = server.get(f"{S}{node}?slice={query}&format=raw")
        assert raw.status == 200, raw
        assert raw.body == expected.tobytes()
        assert raw.headers["zarr-shape"] == ",".join(map(str, numpy_of(values, selection).shape))
        assert raw.headers["content-type"] == "application/octet-stream"
        npy = server.get(f"{S}{node}?slice={query}&format=npy")
        loaded = np.load(io.BytesIO(npy.body))
        assert loaded.dtype == values.dtype and loaded.shape == numpy_of(values, selection).shape
        np.testing.assert_array_equal(loaded, numpy_of(values, selection))


def sharded():
    values = VALUES.copy()
    values[4:8, 5:10] = 0
    values[16:20, 0:5] = 0
    return values


@pytest.mark.parametrize("name", DTYPES)
def test_every_data_type_in_every_format(server, name):
    typestr, values = DTYPES[name]
    expected = np.array(values, typestr)
    answer = server.get(S + name)
    assert answer.body == expected.tobytes()
    assert answer.headers["zarr-dtype"] == typestr and answer.headers["zarr-data-type"] == name
    np.testing.assert_array_equal(np.load(io.BytesIO(server.get(f"{S}{name}?format=npy").body)), expected)
    data = server.get(f"{S}{name}?format=json").json()["data"]
    if name.startswith("complex"):
        data = [complex(*pair) for pair in data]
    np.testing.assert_array_equal(np.array(data, typestr), expected)
    rows = list(csv.reader(io.StringIO(server.get(f"{S}{name}?format=csv").body.decode(), newline="")))
    assert len(rows) == 2 and all(len(row) == 1 for row in rows)
    if not name.startswith("complex") and name != "bool":
        np.testing.assert_array_equal(np.array([row[0] for row in rows]).astype(typestr), expected)


def test_json_says_everything(server):
    document = server.get(S + "a?slice=3:5,::-10&format=json").json()
    assert document["shape"] == [2, 3] and document["data_type"] == "float32"
    assert document["dimensions"] == ["höhe,1", None]
    assert document["selection"] == "3:5:1,29::-10"
    np.testing.assert_array_equal(np.array(document["data"], "f4"), VALUES[3:5, ::-10])
    pretty = server.get(S + "a?slice=3:5,::-10&format=json&pretty=1")
    assert pretty.json() == document and pretty.body.count(b"\n") > 5
    assert server.get(S + "empty?format=json").json()["data"] == []
    assert server.get(S + "empty?slice=:,1&format=json").json()["shape"] == [0]
    assert server.get(S + "a?slice=0:2,0:0&format=json").json()["data"] == [[], []]


def test_numbers_that_json_has_not(server):
    assert server.get(S + "scalar?format=json").json()["data"] == "NaN"
    assert server.get(S + "scalar?format=json&nan=null").json()["data"] is None
    assert server.get(S + "scalar?format=csv").body == b"NaN\r\n"
    assert server.get(S + "uint64?format=json").json()["data"] == [0, 2**64 - 1]
    assert server.get(S + "uint64?format=json&ints=string").json()["data"] == ["0", str(2**64 - 1)]
    assert server.get(S + "int32?format=json&ints=string").json()["data"] == [-2**31, 2**31 - 1]
    assert server.get(S + "scalar?format=json&nan=maybe").code == "bad_parameter"


def test_csv_is_rfc_4180(server):
    body = server.get(S + "a?format=csv").body
    assert body.count(b"\r\n") == 20 and body.endswith(b"\r\n")
    rows = list(csv.reader(io.StringIO(body.decode(), newline="")))
    np.testing.assert_array_equal(np.array(rows).astype("f4"), VALUES)
    assert server.get(S + "a?slice=2,0:3&format=csv").body.count(b"\r\n") == 3
    answer = server.get(S + "cube?format=csv")
    assert answer.status == 406 and answer.code == "not_acceptable"
    assert {"raw", "npy", "json"} <= set(answer.json()["allowed"]) and "csv" not in answer.json()["allowed"]


def test_headers_rebuild_the_array(server):
    answer = server.get(S + "a?slice=0:10,::2")
    assert answer.headers["zarr-shape"] == "10,15"
    assert answer.headers["zarr-dtype"] == "<f4"
    assert answer.headers["zarr-data-type"] == "float32"
    assert answer.headers["zarr-dimensions"] == "h%C3%B6he%2C1,*"
    assert answer.headers["zarr-selection"] == "0:10:1,0:30:2"
    assert float(answer.headers["zarr-fill-value"]) == 0
    assert answer.headers["zarr-chunks"] == "6/0"
    assert answer.headers["accept-ranges"] == "bytes"
    assert server.get(S + "absent?slice=0:5").headers["zarr-chunks"] == "2/2"
    assert server.get(S + "a?slice=1,1").headers["zarr-shape"] == ""
    assert server.get(S + "a?slice=5,0:4").headers["zarr-dimensions"] == "*"
    assert server.get(S + "a?slice=3:3").headers["zarr-selection"] == "0:0:1,0:30:1"


@pytest.mark.parametrize("accept, media_type", [
    (None, "application/octet-stream"), ("*/*", "application/octet-stream"), ("application/*", "application/octet-stream"),
    ("application/json", "application/json"), ("text/*", "text/csv"), ("application/x-npy", "application/x-npy"),
    ("application/json;q=0.1, application/x-npy;q=0.2", "application/x-npy"),
    ("application/octet-stream;q=0, application/json;q=0.5", "application/json"),
    ("text/html,application/xhtml+xml,*/*;q=0.8", "application/octet-stream"),
])
def test_accept_chooses_the_format(server, accept, media_type):
    answer = server.get(S + "a", {"Accept": accept} if accept else {})
    assert answer.status == 200 and answer.headers["content-type"] == media_type
    assert "accept" in [item.strip().lower() for item in answer.headers["vary"].split(",")]


def test_format_wins_over_accept(server):
    answer = server.get(S + "a?format=npy", {"Accept": "application/json"})
    assert answer.headers["content-type"] == "application/x-npy"
    answer = server.get(S + "a", {"Accept": "image/png"})
    assert answer.status == 406 and "application/octet-stream" in answer.json()["allowed"]


@pytest.mark.parametrize("query", ["", "?slice=3:9,::2", "?slice=3:9&format=npy", "?slice=0:4&format=json", "?slice=5,5&format=csv"])
def test_head_tells_what_get_gives(server, query):
    for node in ("a", "shards", "absent"):
        get = server.get(S + node + query)
        head = server.head(S + node + query)
        assert head.status == 200 and head.body == b""
        for name in ("etag", "content-type", "zarr-shape", "zarr-dtype", "zarr-selection", "zarr-dimensions"):
            assert head.headers[name] == get.headers[name], name
        if "json" not in query and "csv" not in query:
            assert head.headers["content-length"] == str(len(get.body))


def test_tags_depend_on_all_that_matters(server):
    targets = ["a", "a?slice=1:", "a?slice=0:19", "a?format=npy", "a?format=json", "a?format=json&nan=null", "a?format=csv",
               "shards", "absent"]
    tags = [server.get(S + target).headers["etag"] for target in targets]
    assert len(set(tags)) == len(targets)
    assert server.get(S + "a?slice=0:20,:").headers["etag"] == tags[0]  # the same selection


def test_conditional_requests(server):
    for query in ("a?slice=2:5", "shards?format=json"):
        tag = server.get(S + query).headers["etag"]
        answer = server.get(S + query, {"If-None-Match": tag})
        assert answer.status == 304 and answer.body == b"" and answer.headers["etag"] == tag
        assert server.get(S + query, {"If-None-Match": '"x"'}).status == 200
        assert server.get(S + query, {"If-Match": tag}).status == 200
        answer = server.get(S + query, {"If-Match": '"x"'})
        assert answer.status == 412 and answer.code == "precondition_failed"
        assert server.head(S + query, {"If-None-Match": tag}).status == 304


def test_a_written_chunk_changes_the_tags_that_touch_it(serve, tmp_path):
    write_array(tmp_path / "a", (8, 8), (4, 4), [LITTLE], np.zeros((8, 8), "<f4"))
    server = serve(config={"datasets": {"p": {"location": str(tmp_path), "revalidate_ms": 0}}})
    touched, other = (server.get(S + f"a?slice={s}").headers["etag"] for s in ("0:4", "4:8"))
    (tmp_path / "a/c/0/1").write_bytes(np.ones((4, 4), "<f4").tobytes())
    answer = server.get(S + "a?slice=0:4", {"If-None-Match": touched})
    assert answer.status == 200 and np.frombuffer(answer.body, "<f4").sum() == 16
    assert server.get(S + "a?slice=4:8", {"If-None-Match": other}).status == 304
    (tmp_path / "a/c/0/1").unlink()
    answer = server.get(S + "a?slice=0:4", {"If-None-Match": touched})
    assert answer.status == 200 and np.frombuffer(answer.body, "<f4").sum() == 0


@pytest.mark.parametrize("target", ["a", "a?format=npy", "shards?format=npy", "a?slice=::-3,5:20:2&format=npy", "cube?slice=1:4,::2"])
def test_ranges_are_cut_out_of_the_whole(server, target):
    whole = server.get(S + target)
    n = len(whole.body)
    ranges = [(0, 0), (0, n - 1), (n - 1, n - 1), (1, 2), (3, 130), (124, 129), (125, 125), (n // 2, n // 2 + 7), (n // 3, n - 2)]
    ranges += [tuple(sorted(RNG.integers(0, n, 2).tolist())) for _ in range(20)]
    for first, last in ranges:
        last = min(last, n - 1)
        answer = server.get(S + target, {"Range": f"bytes={first}-{last}"})
        assert answer.status == 206, answer
        assert answer.body == whole.body[first:last + 1], (first, last)
        assert answer.headers["content-range"] == f"bytes {first}-{last}/{n}"
        assert answer.headers["etag"] == whole.headers["etag"]
    assert server.get(S + target, {"Range": "bytes=-5"}).body == whole.body[-5:]
    assert server.get(S + target, {"Range": f"bytes={n - 3}-"}).body == whole.body[-3:]
    outside = server.get(S + target, {"Range": f"bytes={n}-"})
    assert outside.status == 416 and outside.headers["content-range"] == f"bytes */{n}"
    assert server.get(S + target, {"Range": "bytes=0-1", "If-Range": whole.headers["etag"]}).status == 206
    assert server.get(S + target, {"Range": "bytes=0-1", "If-Range": '"x"'}).body == whole.body
    assert server.head(S + target, {"Range": "bytes=0-1"}).headers["content-length"] == str(n)


def test_text_has_no_ranges(server):
    whole = server.get(S + "a?format=json")
    answer = server.get(S + "a?format=json", {"Range": "bytes=0-3"})
    assert answer.status == 200 and answer.body == whole.body


def test_a_range_decodes_only_its_chunks(serve, tmp_path):
    import gzip
    codecs = [LITTLE, GZIP]
    values = np.arange(100 * 10, dtype="<f4").reshape(100, 10)
    write_array(tmp_path / "a", values.shape, (10, 10), codecs)
    for i in range(10):
        (tmp_path / f"a/c/{i}").mkdir(parents=True)
        (tmp_path / f"a/c/{i}/0").write_bytes(gzip.compress(values[i * 10:i * 10 + 10].tobytes()))
    server = serve(f"p={tmp_path}")
    server.get("/v1/datasets/p/nodes/a")
    with server.cost() as cost:
        answer = server.get(S + "a", {"Range": "bytes=1000-1100"})
    assert answer.body == values.tobytes()[1000:1101]
    assert cost["zarrd_decodes_total"] == 1


def test_expected_shape(server):
    assert server.get(S + "a?slice=0:2&expected_shape=2,30").status == 200
    assert server.get(S + "a?slice=1,1&expected_shape=").status == 200
    answer = server.get(S + "a?slice=0:2&expected_shape=2")
    assert answer.status == 409 and answer.json()["expected"] == "2" and answer.json()["found"] == "2,30"
    assert server.post(S + "a", {"expected_shape": [20, 30]}).status == 200
    assert server.post(S + "a", {"expected_shape": [20]}).code == "shape_mismatch"
    assert server.post(S + "a", {"expected_shape": [20, -1]}).code == "bad_body"


def test_post_is_get_with_a_longer_breath(server):
    answer = server.post(S + "a", {"slice": ["3:9", "::2"], "format": "npy"})
    assert answer.status == 200, answer
    assert answer.body == server.get(S + "a?slice=3:9,::2&format=npy").body
    for items in (["3:9", 2], [3, -1], [-20, "::2"], [0]):
        text = ",".join(map(str, items))
        answer = server.post(S + "a", {"slice": items})
        assert answer.status == 200 and answer.body == server.get(f"{S}a?slice={text}").body, items
    assert server.post(S + "a", {"slice": [20]}).code == "out_of_bounds"
    for item in (1.5, None, True, {}, 2**64):
        assert server.post(S + "a", {"slice": ["0:2", item]}).json()["pointer"] == "/slice/1", item
    assert server.post(S + "scalar", {"format": "json", "nan": "null"}).json()["data"] is None
    assert server.post(S + "a", {}).body == VALUES.tobytes()
    assert server.post(S + "a", {"nan": "maybe"}).json()["pointer"] == "/nan"
    assert server.post(S + "a", {"format": 5}).json()["pointer"] == "/format"
    assert server.post(S + "a", {"format": "jpeg"}).code == "not_acceptable"
    assert server.post(S + "a", b"").code == "bad_body"


def test_many_bands_make_one_body(serve, tmp_path):
    values = RNG.integers(0, 2**31, (300, 700)).astype("<i4")
    write_array(tmp_path / "a", values.shape, (7, 100), [LITTLE], np.pad(values, ((0, 1), (0, 0))), dtype="int32")
    server = serve(f"p={tmp_path}", "--set", "http.stream_bytes=64KiB", "--set", "workers.inline_us=0")
    assert server.get(S + "a").body == values.tobytes()
    assert server.get(S + "a?slice=::-1,::-1").body == np.ascontiguousarray(values[::-1, ::-1]).tobytes()
    np.testing.assert_array_equal(np.array(server.get(S + "a?format=json").json()["data"]), values)
    rows = server.get(S + "a?format=csv").body.decode().splitlines()
    np.testing.assert_array_equal(np.array([row.split(",") for row in rows]).astype("i4"), values)


def test_a_tag_never_stands_for_two_bodies(serve, tmp_path):
    """A writer replaces chunks while readers read: whoever got a tag got the bytes that it names."""
    import os
    import threading
    import time
    write_array(tmp_path / "a", (4, 64), (1, 64), [LITTLE], np.zeros((4, 64), "<f4"))
    server = serve(config={"datasets": {"p": {"location": str(tmp_path), "revalidate_ms": 0}}})
    begin = time.monotonic()
    bodies, faults = {}, []

    def is_over():
        """Until enough was seen, which may last on a loaded machine."""
        return (time.monotonic() > begin + 1.5 and len(bodies) > 20) or time.monotonic() > begin + DEADLINE_S

    def write():
        n = 0
        while not is_over():
            n += 1
            (tmp_path / "new").write_bytes(np.full(64, n, "<f4").tobytes())
            os.replace(tmp_path / "new", tmp_path / f"a/c/{n % 4}/0")
            time.sleep(0.0005 * (n % 8))

    def read(target):
        connection, tag = server.connection(), '"none"'
        while not is_over():
            answer = server.get(S + target, {"If-None-Match": tag} if target.endswith("0:4") else {}, connection=connection)
            tag = answer.headers.get("etag", '"none"')
            if answer.status == 200 and bodies.setdefault((target[-3:], tag), answer.body) != answer.body and tag != '"none"':
                faults.append((target, tag))

    threads = [threading.Thread(target=write)] + [
        threading.Thread(target=read, args=(target,)) for target in ("a?slice=0:4", "a?format=raw&slice=0:4", "a?slice=1:3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and len(bodies) > 20


def test_warnings_of_the_node_come_with_its_elements(server):
    document = json.loads((server.root / "a/zarr.json").read_text())
    document["example_member"] = {"must_understand": False}
    (server.root / "warned").mkdir()
    (server.root / "warned/zarr.json").write_text(json.dumps(document))
    codes = {warning["code"] for warning in server.get("/v1/datasets/p/nodes/warned").json()["warnings"]}
    assert codes and set(server.get(S + "warned?slice=0,0").headers["zarr-warning"].split(",")) == codes
    assert set(server.get("/v1/datasets/p/chunks/warned?index=0,0&decoded=1").headers["zarr-warning"].split(",")) == codes
    assert "zarr-warning" not in server.get(S + "a?slice=0,0").headers


def test_too_many_chunks_are_refused_before_any_read(serve, tmp_path):
    write_array(tmp_path / "a", (100, 100), (2, 2), [LITTLE])
    server = serve(f"p={tmp_path}", "--set", "limits.slice_chunks=100")
    server.get(S + "a?slice=0,0")
    with server.cost() as cost:
        document = server.get(S + "a").json()
    assert document["code"] == "too_large" and document["limit"] == 100 and document["requested"] == 2500
    assert cost["zarrd_store_reads_total"] == 0
    assert document["n_suggestions"] == len(document["suggestions"]) <= 64
    for suggestion in document["suggestions"][:3]:
        assert server.get(S + "a?slice=" + suggestion).status == 200
    head = server.head(S + "a")
    assert head.status == 413 and head.body == b""
