"""Data types with a configuration: every form of answer and body against NumPy, and what zarr-python makes of the arrays."""

import base64
import csv
import io
import json
import urllib.parse

import numpy as np
import pytest
import zarr
from arrays import write_chunk, write_node
from documents import BIG, LITTLE, ZSTD, array_document
from live import STORES

NAT = -2**63


def ticks(kind, unit, scale=1):
    return {"name": f"numpy.{kind}64", "configuration": {"unit": unit, "scale_factor": scale}}


def sized(name, length):
    return {"name": name, "configuration": {"length_bytes": length}}


class Case:
    """A data type, its NumPy type, its fill value (as it is stored, and in NumPy), and some values."""

    def __init__(self, data_type, dtype, fill, fill_item, values):
        self.data_type, self.fill = data_type, fill
        self.dtype = np.dtype(dtype)
        self.fill_item = np.array(fill_item, "i8" if self.dtype.kind in "mM" else self.dtype).astype(self.dtype)
        self.values = np.array(values, "i8").astype(self.dtype) if self.dtype.kind in "mM" else np.array(values, self.dtype)


MOMENTS = [0, 1, -1, NAT, 1_000_003, -719_529, 123_456_789, 2**40]
CASES = {
    "ns": Case(ticks("datetime", "ns"), "<M8[ns]", "NaT", NAT, MOMENTS + [2**63 - 1, -2**63 + 1]),
    "10us": Case(ticks("datetime", "us", 10), "<M8[10us]", 5, 5, MOMENTS),
    "micro sign": Case(ticks("datetime", "\u03bcs"), "<M8[us]", NAT, NAT, MOMENTS),
    "s": Case(ticks("datetime", "s"), "<M8[s]", 0, 0, MOMENTS),
    "m": Case(ticks("datetime", "m"), "<M8[m]", 0, 0, MOMENTS[:-1]),
    "h": Case(ticks("datetime", "h"), "<M8[h]", 0, 0, MOMENTS[:-2]),
    "D": Case(ticks("datetime", "D"), "<M8[D]", 0, 0, [0, 59, 60, -1, NAT, 11_016, 11_017, 47_540, -719_162, 2_932_896]),
    "W": Case(ticks("datetime", "W"), "<M8[W]", 0, 0, [0, 1, -1, NAT, 2000]),
    "M": Case(ticks("datetime", "M"), "<M8[M]", 0, 0, [0, 1, -1, NAT, 2000]),
    "Y": Case(ticks("datetime", "Y"), "<M8[Y]", 0, 0, [0, 1, -1, NAT, 2000]),
    "as": Case(ticks("datetime", "as"), "<M8[as]", 0, 0, [0, 1, -1, NAT, 2**62]),
    "duration": Case(ticks("timedelta", "s", 30), "<m8[30s]", "NaT", NAT, MOMENTS),
    "generic": Case(ticks("timedelta", "generic"), "<m8", 7, 7, MOMENTS),
    "text": Case(sized("fixed_length_utf32", 20), "<U5", "\u00e9t\u00e9", "\u00e9t\u00e9",
                 ["", "a", "five5", 'q"c,', "\u20ac\U0001f600", "l\nf", "\x07", "x y"]),
    "bytes": Case(sized("null_terminated_bytes", 5), "|S5", "bm9uZQ==", b"none", [b"", b"a", b"five5", b"a\0b", b"\xff\xfe"]),
    "raw": Case(sized("raw_bytes", 3), "|V3", "AQID", b"\1\2\3", [b"abc", b"\0\0\0", b"\xff\0\1"]),
}
ENDIAN = {"little": LITTLE, "big": BIG}


def as_json(item):
    """What an answer in JSON has for it."""
    if item.dtype.kind == "M":
        return str(item)
    if item.dtype.kind == "m":
        return "NaT" if np.isnat(item) else int(item.astype("i8"))
    if item.dtype.kind == "U":
        return str(item)
    return base64.b64encode(item.tobytes().rstrip(b"\0") if item.dtype.kind == "S" else item.tobytes()).decode()


def stored(values, endian):
    plain = values.view("i8") if values.dtype.kind in "mM" else values
    return plain.astype(plain.dtype.newbyteorder(">" if endian == "big" else "<")).tobytes()


@pytest.fixture(scope="module")
def written(serve_module, tmp_path_factory):
    """Arrays of two chunks, of which the second is absent."""
    root = tmp_path_factory.mktemp("types")
    for name, case in CASES.items():
        for endian, codec in ENDIAN.items():
            folder = root / f"{name} {endian}"
            n = len(case.values)
            write_node(folder, array_document([n + 2], [n], case.data_type, case.fill, codecs=[codec]))
            write_chunk(folder, [0], stored(case.values, endian))
    return serve_module(f"types={root}")


def expected(case):
    return np.concatenate([case.values, np.repeat(case.fill_item, 2)])


def get(server, path, query, dataset="types"):
    answer = server.get(f"/v1/datasets/{dataset}/slices/{urllib.parse.quote(path)}?{query}")
    assert answer.status == 200, answer
    return answer


def same(found, wanted):
    return found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("endian", ENDIAN)
@pytest.mark.parametrize("name", CASES)
def test_elements_are_what_numpy_has_in_every_format(written, name, endian):
    case, path = CASES[name], f"{name} {endian}"
    wanted = expected(case)
    raw = get(written, path, "format=raw")
    assert raw.headers["zarr-dtype"] == case.dtype.str
    assert raw.headers["zarr-data-type"] == case.data_type["name"]
    assert same(np.frombuffer(raw.body, case.dtype), wanted)
    assert same(np.load(io.BytesIO(get(written, path, "format=npy").body)), wanted)
    assert same(np.load(io.BytesIO(get(written, path, "format=npy&slice=::-2").body)), np.ascontiguousarray(wanted[::-2]))
    data = [as_json(item) for item in wanted]
    document = get(written, path, "format=json").json()
    assert document["data"] == data and document["data_type"] == case.data_type["name"]
    rows = csv.reader(io.StringIO(get(written, path, "format=csv").body.decode(), newline=""))
    assert [row[0] if row else "" for row in rows] == [str(text) for text in data]


@pytest.mark.parametrize("name", CASES)
def test_the_node_says_the_type_and_its_definition(written, name):
    case = CASES[name]
    node = written.get(f"/v1/datasets/types/nodes/{urllib.parse.quote(name)}%20big").json()
    definition = json.loads(json.dumps(case.data_type).replace("\\u03bc", "u"))
    assert node["metadata"]["data_type"] == definition
    assert node["array"]["dtype"] == case.dtype.str and node["array"]["itemsize"] == case.dtype.itemsize
    fill = "NaT" if case.fill == NAT else case.fill
    assert node["metadata"]["fill_value"] == node["array"]["fill_value"] == fill
    codes = [warning["code"] for warning in node["warnings"]]
    assert codes == (["unregistered_name"] if case.dtype.kind in "SV" else [])


def test_headers_have_no_text_that_a_header_cannot_have(written):
    assert get(written, "text little", "").headers["zarr-fill-value"] == "%C3%A9t%C3%A9"
    assert get(written, "10us little", "").headers["zarr-fill-value"] == "1970-01-01T00:00:00.000050"


def test_options_of_json_hold_for_times(written):
    wanted = expected(CASES["duration"])
    data = get(written, "duration little", "format=json&ints=string&nan=null").json()["data"]
    assert data == [None if np.isnat(item) else str(int(item.astype("i8"))) for item in wanted]
    data = get(written, "s little", "format=json&ints=string&nan=null").json()["data"]
    assert data == [None if np.isnat(item) else str(item) for item in expected(CASES["s"])]


def test_a_time_that_no_calendar_has_is_a_number_of_ticks(serve, tmp_path):
    values = np.array([2**62, -2**62, 0], "i8")
    write_node(tmp_path / "a", array_document([3], [3], ticks("datetime", "Y", 4), 0))
    write_chunk(tmp_path / "a", [0], values.tobytes())
    server = serve(f"types={tmp_path}")
    assert get(server, "a", "format=json").json()["data"] == [2**62, -2**62, "1970"]


BODIES = {
    "raw": lambda values: ("application/octet-stream", values.tobytes()),
    "npy": lambda values: ("application/x-npy", npy(values)),
    "npy, big-endian": lambda values: ("application/x-npy", npy(values.astype(values.dtype.newbyteorder(">")))),
    "json": lambda values: ("application/json", json.dumps([as_json(item) for item in values]).encode()),
}


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def start(serve, folder):
    return serve(config={"datasets": {"types": {"location": str(folder), "writable": True, "durable": False}}})


def put(server, path, body, content_type, text=""):
    return server.request("PUT", f"/v1/datasets/types/slices/{urllib.parse.quote(path)}?slice={text}",
                          {"Content-Type": content_type}, body)


@pytest.mark.parametrize("name", CASES)
def test_every_written_form_is_read_again(serve, tmp_path, name):
    case = CASES[name]
    n = len(case.values)
    for form in BODIES:
        write_node(tmp_path / form, array_document([2, n], [1, 2], case.data_type, case.fill, codecs=[BIG, ZSTD]))
    server = start(serve, tmp_path)
    for form, body_of in BODIES.items():
        content_type, body = body_of(case.values)
        answer = put(server, form, body, content_type, "1")
        assert answer.status == 200, (form, answer)
        wanted = np.stack([np.repeat(case.fill_item, n), case.values])
        found = np.frombuffer(get(server, form, "format=raw").body, case.dtype).reshape(2, n)
        assert same(found, wanted), form
        if name != "micro sign":
            assert same(np.asarray(zarr.open_array(tmp_path / form, mode="r")[:]), wanted), form


REFUSED_BODIES = [
    ("ns", '["2020-01-01T00:00:00.0000000001"]'),  # more exact than a nanosecond
    ("ns", '["2500-01-01"]'),
    ("ns", '["2020-02-30"]'),
    ("ns", '["2020-1-1"]'),
    ("ns", '["nat"]'),
    ("ns", "[1.5]"),
    ("10us", '["2020-01-01T00:00:00.000005"]'),  # between two ticks
    ("D", '["2020-01-01T01"]'),
    ("duration", '["2020-01-01"]'),
    ("text", '["123456"]'),
    ("text", "[1]"),
    ("bytes", '["AAAAAAAA"]'),  # 6 bytes
    ("bytes", '["AAA"]'),
    ("raw", '["AQI="]'),
    ("raw", "[[1,2,3]]"),
]


def test_values_that_no_element_has_are_refused(serve, tmp_path):
    for name in {name for name, _ in REFUSED_BODIES}:
        write_node(tmp_path / name, array_document([1], [1], CASES[name].data_type, CASES[name].fill))
    server = start(serve, tmp_path)
    for name, body in REFUSED_BODIES:
        answer = put(server, name, body.encode(), "application/json")
        assert answer.status == 400 and answer.json()["code"] == "bad_body", (name, body, answer)
    for point in (0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF):
        answer = put(server, "text", np.array([0x41, point, 0, 0, 0], "<u4").tobytes(), "application/octet-stream")
        assert answer.status == 400 and answer.json()["code"] == "bad_body", (hex(point), answer)


def test_more_exact_dates_than_needed_are_read_when_they_are_exact(serve, tmp_path):
    write_node(tmp_path / "a", array_document([4], [4], ticks("datetime", "D"), 0))
    server = start(serve, tmp_path)
    body = b'["2001-02-03T00:00:00Z", "2001", "-0001-03", 5]'
    assert put(server, "a", body, "application/json").status == 200
    assert get(server, "a", "format=json").json()["data"] == ["2001-02-03", "2001-01-01", "-0001-03-01", "1970-01-06"]


def test_stored_codes_that_are_no_characters_are_replaced_in_text(serve, tmp_path):
    write_node(tmp_path / "a", array_document([2], [2], sized("fixed_length_utf32", 8), ""))
    write_chunk(tmp_path / "a", [0], np.array([0xD800, 0x41, 0x110000, 0], "<u4").tobytes())
    server = serve(f"types={tmp_path}")
    assert get(server, "a", "format=json").json()["data"] == ["\ufffdA", "\ufffd"]


def test_times_have_extremes_without_nat(written):
    case = CASES["s"]
    known = expected(case)[~np.isnat(expected(case))]
    answer = written.get("/v1/datasets/types/stats/s%20big?fields=min,max,n_nan").json()
    assert (answer["min"], answer["max"], answer["n_nan"]) == (str(known.min()), str(known.max()), 1)
    answer = written.get("/v1/datasets/types/stats/duration%20little?fields=min,max,n_nan,n_fill&fill=drop").json()
    known = [int(item) for item in expected(CASES["duration"]).astype("i8") if item != NAT]
    assert (answer["min"], answer["max"], answer["n_nan"], answer["n_fill"]) == (min(known), max(known), 0, 3)
    answer = written.get("/v1/datasets/types/stats/s%20big?fields=mean")
    assert answer.status == 422 and answer.json()["code"] == "unsupported_data_type"
    answer = written.get("/v1/datasets/types/stats/text%20big")
    assert answer.status == 422 and answer.json()["code"] == "unsupported_data_type"


FAULTS = [
    (ticks("datetime", "ns"), "2020-01-01", "/fill_value"),
    (ticks("datetime", "ns"), 1.0, "/fill_value"),
    (ticks("datetime", "ns"), 2**63, "/fill_value"),
    (ticks("datetime", "fortnight"), 0, "/data_type/configuration/unit"),
    (ticks("datetime", "ns", 0), 0, "/data_type/configuration/scale_factor"),
    (ticks("datetime", "ns", 2**31), 0, "/data_type/configuration/scale_factor"),
    ("numpy.datetime64", 0, "/data_type/configuration"),
    (sized("fixed_length_utf32", 8), "abc", "/fill_value"),
    (sized("fixed_length_utf32", 6), "a", "/data_type/configuration/length_bytes"),
    (sized("fixed_length_utf32", 0), "", "/data_type/configuration/length_bytes"),
    (sized("fixed_length_utf32", 2**40), "", "/data_type/configuration/length_bytes"),
    (sized("null_terminated_bytes", 3), "AAAAAA==", "/fill_value"),
    (sized("raw_bytes", 2), [1, 2], "/fill_value"),
    ("raw_bytes", "AAAA", "/data_type/configuration"),
]


def test_documents_with_faults_are_refused_with_their_place(serve, tmp_path):
    server = start(serve, tmp_path)
    for data_type, fill, pointer in FAULTS:
        answer = server.request("PUT", "/v1/datasets/types/nodes/a", {"Content-Type": "application/json"},
                                json.dumps(array_document([2], [2], data_type, fill)).encode())
        assert answer.status == 422, (data_type, fill, answer)
        pointers = [error["pointer"] for error in answer.json()["errors"]]
        assert any(found.startswith(pointer) for found in pointers), (data_type, fill, pointers)


def test_every_type_of_v2_has_its_type_of_v3(serve_module):
    server = serve_module(f"z2={STORES / 'v2' / 'z2_dtypes'}")
    node = server.get("/v1/datasets/z2/nodes/M8_10us").json()
    assert node["metadata"]["data_type"] == ticks("datetime", "us", 10) and node["metadata"]["fill_value"] == "NaT"
    node = server.get("/v1/datasets/z2/nodes/U5_be").json()
    assert node["metadata"]["data_type"] == sized("fixed_length_utf32", 20)
    assert node["metadata"]["codecs"][0] == BIG
    node = server.get("/v1/datasets/z2/nodes/S5_fill").json()
    assert node["metadata"]["data_type"] == sized("null_terminated_bytes", 5)
    assert node["metadata"]["fill_value"] == "bm9uZQ=="


def test_a_long_element_is_written_as_json(serve):
    """Of raw bits, as a list of bytes: its text is longer than any other member of a body may be."""
    n_bytes = 32768
    server = serve("-w", "m=mem:")
    document = {"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": f"r{8 * n_bytes}", "fill_value": [0] * n_bytes,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}}, "chunk_key_encoding": {"name": "default"},
                "codecs": [{"name": "bytes"}]}
    answer = server.request("PUT", "/v1/datasets/m/nodes/a", {"Content-Type": "application/json"}, json.dumps(document).encode())
    assert answer.status == 201, answer
    element = [255] * n_bytes
    answer = server.request("PUT", "/v1/datasets/m/slices/a", {"Content-Type": "application/json"}, json.dumps([element]).encode())
    assert answer.status == 200, answer
    assert server.get("/v1/datasets/m/slices/a?format=raw").body == bytes(element)
