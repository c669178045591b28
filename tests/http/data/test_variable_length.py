"""Elements of variable length: strings and bytes, read as text, by real libraries and by hand."""

import base64
import csv
import gzip
import hashlib
import io
import json
import random
import struct
import urllib.parse
import zlib

import numpy as np
import pytest
import xarray
import zarr
from arrays import chunk_indices, shard_of, write_chunk, write_node
from client import JSON, SANITIZED, memory_bytes, put_node
from documents import GZIP, LITTLE, ZSTD, array_document, shard, transpose
from files import contents
from live import CORPUS, SHARED, STORES, Server, cases
from numcodecs import Zstd

CODECS = {"vlen-utf8", "vlen-bytes", "zstd", "sharding_indexed", "dtype:string", "dtype:bytes",
          "dtype:variable_length_bytes", "dtype:|O", "order:F", "blosc", "blosc:lz4", "bytes", "categorize", "json2", "msgpack2", "vlen-array"}
TYPES = {"vlen-utf8": str.encode, "vlen-bytes": base64.b64decode}
LISTS = "vlen-array:"


def is_known(case):
    return (str(case["dtype"]) in TYPES or str(case["dtype"]).startswith(LISTS)) and case["format"] in {"v2", "v3", "draft-b"} and CODECS.issuperset(case["needs"])


def collections():
    found = []
    for folder, stores in ((CORPUS, STORES), (SHARED, SHARED / "stores")):
        by_store = {}
        for case in filter(is_known, cases(folder)):
            by_store.setdefault(case["store"], []).append(case)
        found += [pytest.param(stores / store, group, id=f"{folder.parent.name}-{store}")
                  for store, group in sorted(by_store.items())]
    return found


def flat(values):
    return [value for item in values for value in flat(item)] if isinstance(values, list) else [values]


def elements(values, rank):
    """Those of so many dimensions, which may be lists themselves."""
    return [values] if rank == 0 else [one for item in values for one in elements(item, rank - 1)]


def decoder(dtype):
    return TYPES.get(dtype) or (lambda values: np.array(values, dtype.removeprefix(LISTS)).tobytes())


def packed(values, decode):
    """As cases.json counts them: each behind its length."""
    return b"".join(struct.pack("<I", len(value)) + value for value in map(decode, values))


@pytest.mark.parametrize("store, group", collections())
def test_every_selection_gives_the_elements_that_were_written(store, group):
    server = Server(f"data={store}")
    try:
        connection = server.connection()
        for case in group:
            decode = decoder(case["dtype"])
            for selection in case["selections"]:
                path = f"/v1/datasets/data/slices/{urllib.parse.quote(case['node'])}"
                query = urllib.parse.urlencode({"slice": selection["slice"]})
                where = f"{store}/{case['node']}[{selection['slice']}]"
                answer = server.get(f"{path}?{query}", connection=connection)
                assert answer.status == 200, f"{where}: {answer}"
                found = answer.json()
                if case["dtype"].startswith(LISTS) and found["shape"] == []:  # to NumPy one list is an array
                    assert [len(found["data"])] == selection["shape"], where
                    assert hashlib.sha256(decode(found["data"])).hexdigest() == selection["sha256"], where
                    continue
                assert found["shape"] == selection["shape"], where
                values = elements(found["data"], len(selection["shape"]))
                assert hashlib.sha256(packed(values, decode)).hexdigest() == selection["sha256"], where
                if len(selection["shape"]) > 2:
                    continue
                answer = server.get(f"{path}?{query}&format=csv", connection=connection)
                rows = list(csv.reader(io.StringIO(answer.body.decode(), newline="")))
                fields = [json.loads(field) if case["dtype"].startswith(LISTS) else field for row in rows for field in row]
                assert hashlib.sha256(packed(fields, decode)).hexdigest() == selection["sha256"], where
    finally:
        server.stop()


# ---- arrays written by hand ----

RNG = random.Random(7)
WORDS = ["", "a", "é", "one\ntwo", '"quoted", and more', "日本語", "x" * 300, "0"]
STRINGS = np.array([RNG.choice(WORDS) + str(RNG.randrange(100)) for _ in range(7 * 9)], object).reshape(7, 9)
MIB = 1 << 20
S = "/v1/datasets/w/slices/"
C = "/v1/datasets/w/chunks/"
UTF8 = {"name": "vlen-utf8"}
RAW = {"name": "vlen-bytes"}


def vlen(values):
    """What the codecs make of a chunk."""
    values = [value.encode() if isinstance(value, str) else value for value in values]
    return struct.pack("<I", len(values)) + b"".join(struct.pack("<I", len(value)) + value for value in values)


def write_strings(folder, values, chunk_shape, fill="", codecs=(UTF8,), encode=bytes, dtype="string", skip=()):
    write_node(folder, array_document(values.shape, chunk_shape, dtype, fill, codecs=codecs))
    for index in chunk_indices(values.shape, chunk_shape):
        chunk = np.full(chunk_shape, fill, object)
        box = values[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunk_shape))]
        chunk[tuple(slice(0, n) for n in box.shape)] = box
        if index not in skip:
            write_chunk(folder, index, encode(vlen(chunk.ravel())))


def write_shards(folder):
    """Shards of [4, 6], of inner chunks of [2, 3]; one inner chunk is missing."""
    write_node(folder, array_document(STRINGS.shape, [4, 6], "string", "n/a", codecs=[shard([2, 3], [UTF8], index=[LITTLE])]))
    padded = np.full((8, 12), "n/a", object)
    padded[:7, :9] = STRINGS
    padded[2:4, 3:6] = "n/a"
    for index in chunk_indices(STRINGS.shape, [4, 6]):
        corner = padded[index[0] * 4:, index[1] * 6:]
        pieces = [vlen(corner[i:i + 2, j:j + 3].ravel()) for i in (0, 2) for j in (0, 3)]
        if index == (0, 0):
            pieces[3] = None
        write_chunk(folder, index, shard_of(pieces))
    return padded[:7, :9]


@pytest.fixture(scope="module")
def arrays():
    """What each array of the server holds."""
    return {}


@pytest.fixture(scope="module")
def hand(serve_module, tmp_path_factory, arrays):
    root = tmp_path_factory.mktemp("strings")
    write_node(root, {"zarr_format": 3, "node_type": "group"})
    arrays |= {name: STRINGS for name in ("plain", "gzip", "zstd", "transposed", "bytes")}
    write_strings(root / "plain", STRINGS, [2, 4])
    write_strings(root / "gzip", STRINGS, [7, 9], codecs=[UTF8, GZIP], encode=gzip.compress)
    write_strings(root / "zstd", STRINGS, [3, 3], codecs=[UTF8, ZSTD], encode=lambda data: bytes(Zstd().encode(data)))
    transposed = array_document([7, 9], [7, 9], "string", "", codecs=[transpose(1, 0), UTF8])
    write_node(root / "transposed", transposed)
    write_chunk(root / "transposed", (0, 0), vlen(STRINGS.T.ravel()))
    write_strings(root / "bytes", STRINGS, [2, 9], codecs=[RAW], dtype="bytes")
    arrays["filled"] = np.array(STRINGS)
    arrays["filled"][:2, 4:8] = "né/a"
    write_strings(root / "filled", STRINGS, [2, 4], "né/a", skip=[(0, 1)])
    arrays["sharded"] = write_shards(root / "sharded")
    write_node(root / "scalar", array_document([], [], "string", "", codecs=[UTF8]))
    write_chunk(root / "scalar", (), vlen(["only one"]))
    write_strings(root / "empty", np.empty([0, 3], object), [2, 2])
    arrays |= {name: STRINGS for name in ("v2", "v2_zlib_F", "v2_bytes")}
    write_objects(root / "v2", STRINGS, [2, 4])
    write_objects(root / "v2_zlib_F", STRINGS, [4, 5], compressor={"id": "zlib", "level": 1}, encode=zlib.compress, order="F")
    write_objects(root / "v2_bytes", STRINGS, [2, 9], codec="vlen-bytes")
    running = serve_module("--writable", f"w={root}")
    running.root = root
    return running


def read(server, path, text="", **more):
    answer = server.get(f"{S}{path}?{urllib.parse.urlencode({'slice': text, **more})}")
    assert answer.status == 200, answer
    return answer.json()["data"]


def write_objects(folder, values, chunk_shape, codec="vlen-utf8", compressor=None, encode=bytes, order="C"):
    """The same as an array of v2."""
    folder.mkdir()
    (folder / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": values.shape, "chunks": chunk_shape, "dtype": "|O", "fill_value": None, "order": order,
        "filters": [{"id": codec}], "compressor": compressor}))
    for index in chunk_indices(values.shape, chunk_shape):
        chunk = np.full(chunk_shape, "", object)
        box = values[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunk_shape))]
        chunk[tuple(slice(0, n) for n in box.shape)] = box
        (folder / ".".join(map(str, index))).write_bytes(encode(vlen(chunk.ravel(order))))


def test_lists_of_numbers_are_read_and_written_in_json(hand):
    """numcodecs' vlen-array: whatever the byte order, as NumPy has the numbers."""
    rows = [[1, -2], [], [2**31 - 1], [0, 0, -2**31]]
    folder = hand.root / "lists"
    for name in ("lists", "odd_lists"):
        (hand.root / name).mkdir()
        (hand.root / name / ".zarray").write_text(json.dumps({
            "zarr_format": 2, "shape": [6], "chunks": [2], "dtype": "|O", "fill_value": 0, "order": "C", "compressor": None,
            "filters": [{"id": "vlen-array", "dtype": ">i4"}]}))
    for i in range(2):
        (folder / str(i)).write_bytes(vlen([np.array(row, ">i4").tobytes() for row in rows[2 * i:2 * i + 2]]))
    assert read(hand, "lists") == rows + [[], []]
    assert read(hand, "lists", "3:0:-2") == [rows[3], rows[1]] and read(hand, "lists", "0") == rows[0]
    node = hand.get("/v1/datasets/w/nodes/lists").json()["array"]
    assert (node["dtype"], node["formats"], node["fill_value"]) == ("|O", ["csv", "json"], [])
    assert hand.get(S + "lists?format=raw").status == 406 and hand.get(S + "lists?format=npy").status == 406
    fields = list(csv.reader(io.StringIO(hand.get(S + "lists?format=csv").body.decode(), newline="")))
    assert [json.loads(row[0]) for row in fields] == rows + [[], []]
    for key in ("zarr.json", "c/0"):
        answer = hand.get(f"/v3/w/lists/{key}")
        assert answer.status == 404 and "lists as elements" in answer.json()["detail"], answer
    answer = hand.request("PUT", S + "lists?slice=3:6", JSON, json.dumps([[7], [8, 9], []]).encode())
    assert answer.status == 200, answer
    assert read(hand, "lists") == rows[:3] + [[7], [8, 9], []]
    assert (folder / "2").read_bytes() == vlen([np.array([8, 9], ">i4").tobytes(), b""])
    for body in (b"[[7],[8],9]", b"[[7],[8],[2147483648]]", b'[[7],[8],"AA=="]', b"[[7],[8],[[9]]]"):
        answer = hand.request("PUT", S + "lists?slice=3:6", JSON, body)
        assert (answer.status, answer.code) == (400, "bad_body"), answer
    (hand.root / "odd_lists/1").write_bytes(vlen([b"\0" * 5, b""]))
    answer = hand.get(S + "odd_lists?slice=2")
    assert (answer.status, answer.code) == (500, "corrupt_chunk") and "5 bytes, expected a multiple of 4" in answer.json()["detail"]


SLICES = ["", "3", "2:5,1:8:2", "::-1,::-2", "-1,-1", "6:1:-2,3", "...,4", "5:5"]


@pytest.mark.parametrize("path", ["plain", "gzip", "zstd", "transposed", "bytes", "filled", "sharded", "v2", "v2_zlib_F", "v2_bytes"])
def test_slices_follow_numpy(hand, arrays, path):
    for text in SLICES:
        index = eval(f"np.s_[{text}]") if text else ...
        expected = arrays[path][index]
        found = read(hand, path, text)
        if path.endswith("bytes"):
            found = [base64.b64decode(value).decode() for value in flat(found)]
            expected = list(np.ravel(expected))
        assert found == (expected.tolist() if isinstance(expected, np.ndarray) else expected), f"{path}[{text}]"


def test_a_scalar_and_nothing_are_read(hand):
    assert read(hand, "scalar") == "only one"
    assert read(hand, "empty") == []


def test_json_is_what_clients_get_that_ask_for_nothing(hand):
    answer = hand.get(S + "plain?slice=0:1")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["zarr-data-type"] == "string"
    assert answer.headers["zarr-dtype"] == "|O"
    assert hand.get(S + "filled?slice=0:1").headers["zarr-fill-value"] == "n%C3%A9/a"
    assert hand.get(S + "plain?slice=0:1", {"Accept": "text/csv"}).headers["content-type"] == "text/csv"


@pytest.mark.parametrize("query, headers, allowed", [
    ("?format=raw", {}, ["csv", "json"]),
    ("?format=npy", {}, ["csv", "json"]),
    ("", {"Accept": "application/octet-stream"}, ["text/csv", "application/json"]),
    ("", {"Accept": "application/x-npy"}, ["text/csv", "application/json"]),
])
def test_formats_of_fixed_size_are_refused_with_those_that_work(hand, query, headers, allowed):
    answer = hand.get(S + "plain" + query, headers)
    assert (answer.status, answer.code) == (406, "not_acceptable")
    assert answer.json()["allowed"] == allowed


def test_nodes_say_what_the_elements_are(hand):
    node = hand.get("/v1/datasets/w/nodes/filled").json()["array"]
    assert (node["data_type"], node["dtype"]) == ("string", "|O")
    assert node["fill_value"] == "né/a"
    assert node["itemsize"] is None and node["n_bytes"] is None
    assert node["codecs"] == ["vlen-utf8"]
    assert node["formats"] == ["csv", "json"]
    rows = hand.get("/v1/datasets/w/tree?fields=array.data_type,array.fill_value").json()["nodes"]
    assert next(row for row in rows if row["path"] == "filled")["array"] == {"data_type": "string", "fill_value": "né/a"}


@pytest.mark.parametrize("method, target, headers, body, status, code", [
    ("GET", C + "plain?index=0,0&decoded=1", {}, None, 406, "not_acceptable"),
    ("POST", C + "plain", {"Content-Type": "application/json"}, b'{"indices":[[0,0]],"decoded":true}', 406, "not_acceptable"),
    ("GET", "/v1/datasets/w/stats/plain?fields=min", {}, None, 422, "unsupported_data_type"),
    ("PUT", C + "plain?index=0,0&decoded=1", {}, bytes(128), 422, "unsupported_data_type"),
    ("PUT", S + "plain?slice=0,0", {}, bytes(16), 415, "unsupported_media_type"),
    ("PUT", S + "plain?slice=0,0", {"Content-Type": "application/x-npy"}, bytes(16), 415, "unsupported_media_type"),
    ("PUT", S + "plain?slice=0,0", JSON, b"1", 400, "bad_body"),
    ("PUT", S + "plain?slice=0,0", JSON, b"null", 400, "bad_body"),
    ("PUT", S + "plain?slice=0,0", JSON, b'"\\ud800"', 400, "bad_body"),
    ("PUT", S + "plain?slice=0,0", JSON, b'"\xff"', 400, "bad_body"),
    ("PUT", S + "plain?slice=0,:2", JSON, b'["a"]', 400, "bad_body"),
    ("PUT", S + "plain?slice=0,:2", JSON, b'["a", ["b"]]', 400, "bad_body"),
    ("PUT", S + "bytes?slice=0,0", JSON, b'"%%%%"', 400, "bad_body"),
    ("PUT", S + "bytes?slice=0,0", JSON, b"[256]", 400, "bad_body"),
    ("PUT", C + "plain?index=0,0", {}, b"\0" * 9, 422, "corrupt_chunk"),
    ("PUT", "/zarr/w/plain/c/0/0", {}, b"\0" * 9, 422, "corrupt_chunk"),
])
def test_formats_of_fixed_size_elements_are_refused(hand, method, target, headers, body, status, code):
    answer = hand.request(method, target, headers, body)
    assert (answer.status, answer.code) == (status, code), answer


@pytest.mark.parametrize("path", ["plain", "zstd", "sharded", "filled", "v2", "v2_zlib_F"])
@pytest.mark.parametrize("view", ["v3", "v3-unsharded"])
def test_clients_of_v3_read_strings_in_its_views(hand, arrays, path, view):
    found = zarr.open_array(f"{hand.url}/{view}/w/{path}", mode="r")
    assert found[:].tolist() == arrays[path].tolist()


# ---- what is stored may lie ----

GOOD = vlen(["a", "bb", "", "é"])

# Of chunks of four elements: name, codecs, bytes, the codec at fault.
DAMAGED = [
    ("nothing", [UTF8], b"", "vlen-utf8"),
    ("count_only", [UTF8], GOOD[:4], "vlen-utf8"),
    ("count_low", [UTF8], struct.pack("<I", 3) + GOOD[4:], "vlen-utf8"),
    ("count_high", [UTF8], struct.pack("<I", 2**32 - 1) + GOOD[4:], "vlen-utf8"),
    ("truncated", [UTF8], GOOD[:-1], "vlen-utf8"),
    ("surplus", [UTF8], GOOD + b"\0", "vlen-utf8"),
    ("length", [UTF8], GOOD[:4] + struct.pack("<I", 2**32 - 1) + GOOD[8:], "vlen-utf8"),
    ("text", [UTF8], vlen([b"a", b"\xff", b"", b""]), "vlen-utf8"),
    ("surrogate", [UTF8], vlen([b"a", b"\xed\xa0\x80", b"", b""]), "vlen-utf8"),
    ("bytes", [RAW], GOOD[:-1], "vlen-bytes"),
    ("behind_gzip", [UTF8, GZIP], gzip.compress(GOOD[:-1]), "vlen-utf8"),
    ("gzip", [UTF8, GZIP], gzip.compress(GOOD)[:-9], "gzip"),
    ("zstd", [UTF8, ZSTD], b"(\xb5/\xfd" + GOOD, "zstd"),
    ("bomb", [UTF8, GZIP], gzip.compress(bytes(64 * MIB), 9), "gzip"),
    ("zstd_bomb", [UTF8, ZSTD], bytes(Zstd().encode(bytes(64 * MIB))), "zstd"),
]


@pytest.mark.parametrize("name, codecs, data, codec", DAMAGED, ids=[row[0] for row in DAMAGED])
def test_a_damaged_chunk_names_its_codec_and_its_key(hand, name, codecs, data, codec):
    folder = hand.root / "damaged" / name
    dtype = "string" if codecs[0] is UTF8 else "bytes"
    write_node(folder, array_document([8], [4], dtype, "", codecs=codecs))
    write_chunk(folder, (1,), data)
    before = memory_bytes(hand, "VmHWM")
    answer = hand.get(f"{S}damaged/{name}")
    assert (answer.status, answer.code) == (500, "corrupt_chunk"), answer
    assert f"damaged/{name}/c/1" in answer.json()["detail"]
    assert codec in answer.json()["detail"]
    assert memory_bytes(hand, "VmHWM") - before < 48 * MIB or SANITIZED
    assert flat(read(hand, f"damaged/{name}", ":4")) == [""] * 4


# ---- much text ----


def write_long(folder, n_elements, n_bytes, chunk):
    values = np.array([f"{i:06d}" + "x" * (n_bytes - 6) for i in range(n_elements)], object)
    write_strings(folder, values, [chunk], codecs=[UTF8, ZSTD], encode=lambda data: bytes(Zstd().encode(data)))
    return values


def test_text_of_any_length_is_streamed_within_little_memory(serve, tmp_path):
    """Sixteen chunks of two megabytes: more text than the account lets one request hold."""
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    values = write_long(tmp_path / "long", 16 * 1000, 2000, 1000)
    server = serve("--set", "memory.bytes=128MiB", f"w={tmp_path}")
    assert read(server, "long", "5:15995:1000") == values[5:15995:1000].tolist()
    before = memory_bytes(server, "VmHWM")
    first = server.get(S + "long")
    assert first.status == 200 and "content-length" not in first.headers
    assert first.json()["data"] == values.tolist()
    assert server.get(S + "long", {"If-None-Match": first.headers["etag"]}).status == 304
    assert memory_bytes(server, "VmHWM") - before < 64 * MIB or SANITIZED


def test_an_element_that_is_too_long_to_send_is_refused(serve, tmp_path):
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    write_strings(tmp_path / "control", np.array(["\x01" * 3 * MIB], object), [1])  # six bytes each as JSON
    server = serve(f"w={tmp_path}")
    answer = server.get(S + "control")
    assert (answer.status, answer.code) == (413, "too_large"), answer
    assert server.get(S + "control?format=csv").body == b"\x01" * 3 * MIB + b"\r\n"


# ---- writing ----


def put(server, path, values, text="", more=""):
    body = json.dumps(values, ensure_ascii=False).encode()
    query = urllib.parse.urlencode({"slice": text}) + more
    return server.request("PUT", f"{S}{path}?{query}", JSON, body)


LAYOUTS = {
    "plain": ([4, 5], [UTF8]),
    "zstd": ([3, 9], [UTF8, ZSTD]),
    "transposed": ([4, 4], [transpose(1, 0), UTF8]),
    "sharded": ([4, 6], [shard([2, 3], [UTF8, GZIP])]),
    "sharded_and_compressed": ([4, 6], [shard([2, 3], [UTF8]), GZIP]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_slices_are_written_as_json(serve, tmp_path, layout):
    """Random slices, read back by zarr-python, too; what is as it was is not written."""
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    server = serve("--writable", "--set", "http.stream_bytes=4KiB", f"w={tmp_path}")
    chunk_shape, codecs = LAYOUTS[layout]
    document = array_document([7, 9], chunk_shape, "string", "né", codecs=codecs)
    assert put_node(server, layout, document).status == 201
    expected = np.full([7, 9], "né", object)
    rng = random.Random(11)
    for _ in range(25):
        rows, columns = sorted(rng.sample(range(8), 2)), sorted(rng.sample(range(10), 2))
        step = rng.choice([1, 2])
        index = np.s_[slice(*rows), slice(*columns, step)]
        values = np.empty(expected[index].shape, object)
        values.ravel()[:] = [rng.choice(["né", "", "a", "x" * rng.randrange(2000)]) for _ in range(values.size)]
        text = f"{rows[0]}:{rows[1]},{columns[0]}:{columns[1]}:{step}"
        answer = put(server, layout, values.tolist(), text)
        assert answer.status == 200, answer
        expected[index] = values
        assert read(server, layout) == expected.tolist()
    again = put(server, layout, expected[1:2, 1:3].tolist(), "1:2,1:3").json()["chunks"]
    assert again["written"] == again["erased"] == 0 and again["unchanged"] > 0
    if "compressed" not in layout:
        assert zarr.open_array(tmp_path / layout, mode="r")[:].tolist() == expected.tolist()
    assert put(server, layout, "all", more="&broadcast=1").status == 200
    assert flat(read(server, layout)) == ["all"] * 63
    assert put(server, layout, "né", more="&broadcast=1").status == 200
    assert list(contents(tmp_path, layout)) == [f"{layout}/zarr.json"]


def test_bytes_are_written_and_appended(serve, tmp_path):
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    server = serve("--writable", f"w={tmp_path}")
    document = array_document([0], [3], "bytes", "AP8=", codecs=[RAW], dimension_names=["x"])
    assert put_node(server, "log", document).status == 201
    expected = []
    for lot in (["AA==", "", "AP8="], ["MTIz"], ["AQID", "BA=="]):
        answer = server.request("PUT", S + "log?append=x", JSON, json.dumps(lot).encode())
        assert answer.status == 200, answer
        expected += lot
        assert read(server, "log") == expected
    assert put(server, "log", [1, 2, 255], "0").status == 200
    assert read(server, "log", "0") == "AQL/"


def test_encoded_chunks_are_stored_as_they_come(serve, tmp_path):
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    server = serve("--writable", f"w={tmp_path}")
    assert put_node(server, "raw", array_document([4], [2], "string", "", codecs=[UTF8])).status == 201
    assert server.request("PUT", "/zarr/w/raw/c/0", {}, vlen(["a", "é"])).status == 200
    assert server.request("PUT", C + "raw?index=1", {}, vlen(["", "c"])).status == 200
    assert read(server, "raw") == ["a", "é", "", "c"]
    for body in (vlen(["a"]), vlen(["a", b"\xff"]), vlen(["a", "b"]) + b"\0", b""):
        answer = server.request("PUT", "/zarr/w/raw/c/0", {}, body)
        assert (answer.status, answer.code) == (422, "corrupt_chunk")
    assert read(server, "raw") == ["a", "é", "", "c"]


def test_text_that_memory_has_no_room_for_is_refused_before_it_comes(serve, tmp_path):
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    server = serve("--writable", "--set", "limits.write_bytes=1MiB", f"w={tmp_path}")
    assert put_node(server, "one", array_document([1], [1], "string", "", codecs=[UTF8])).status == 201
    answer = put(server, "one", ["x" * MIB])
    assert (answer.status, answer.code) == (413, "too_large"), answer
    assert read(server, "one") == [""]


def test_xarray_writes_text_and_reads_it_back(serve, tmp_path):
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    server = serve("--writable", f"w={tmp_path}")
    names = np.array(["Ljubljana", "", "Zürich", "東京"], object)
    data = xarray.Dataset({"name": ("station", names), "t": ("station", np.arange(4.0))})
    data.to_zarr(f"{server.url}/zarr/w/set", zarr_format=3, consolidated=False)
    found = xarray.open_zarr(f"{server.url}/zarr/w/set", consolidated=False)
    assert found["name"].values.tolist() == names.tolist()
    assert read(server, "set/name") == names.tolist()
