"""Slices that are refused, most of them before their body comes; nothing is stored then."""

import json
import socket

import pytest
from live import Server
from slices import GOOD, ZEROS, body, get, make_array, npy, start, states

BAD_BODIES = {
    "raw, short": ("application/octet-stream", bytes(23)),
    "raw, long": ("application/octet-stream", bytes(25)),
    "raw, none": ("application/octet-stream", b""),
    "npy, no magic": ("application/x-npy", b"NUMPY" + bytes(200)),
    "npy, another version": ("application/x-npy", npy(GOOD, ZEROS, b"\x04\x00")),
    "npy, another minor version": ("application/x-npy", npy(GOOD, ZEROS, b"\x01\x01")),
    "npy, another shape": ("application/x-npy", npy(GOOD.replace("(3, 2)", "(2, 3)"), ZEROS)),
    "npy, another rank": ("application/x-npy", npy(GOOD.replace("(3, 2)", "(6,)"), ZEROS)),
    "npy, a shape that is no tuple": ("application/x-npy", npy(GOOD.replace("(3, 2)", "(6)"), ZEROS)),
    "npy, another type": ("application/x-npy", npy(GOOD.replace("f4", "i4"), ZEROS)),
    "npy, another size": ("application/x-npy", npy(GOOD.replace("f4", "f8"), bytes(48))),
    "npy, another size and its bytes": ("application/x-npy", npy(GOOD.replace("f4", "f8"), bytes(48) + bytes(1 << 20))),
    "npy, fields": ("application/x-npy", npy(GOOD.replace("'<f4'", "[('a', '<f4')]"), ZEROS)),
    "npy, objects": ("application/x-npy", npy(GOOD.replace("<f4", "|O"), ZEROS)),
    "npy, Fortran order": ("application/x-npy", npy(GOOD.replace("False", "True"), ZEROS)),
    "npy, a member more": ("application/x-npy", npy(GOOD.replace(", }", ", 'x': True}"), ZEROS)),
    "npy, a member less": ("application/x-npy", npy(GOOD.replace("'fortran_order': False, ", ""), ZEROS)),
    "npy, a member twice": ("application/x-npy", npy(GOOD.replace(", }", ", 'shape': (3, 2)}"), ZEROS)),
    "npy, code": ("application/x-npy", npy(GOOD.replace("False", "not 1"), ZEROS)),
    "npy, short": ("application/x-npy", npy(GOOD, bytes(23))),
    "npy, long": ("application/x-npy", npy(GOOD, bytes(25))),
    "npy, cut in the header": ("application/x-npy", npy(GOOD, ZEROS)[:40]),
    "npy, a header of all": ("application/x-npy", b"\x93NUMPY\x02\x00" + b"\xff" * 100),
    "json, none": ("application/json", b""),
    "json, cut": ("application/json", b"[[1, 2], [3, 4], [5, 6]"),
    "json, more": ("application/json", b"[[1, 2], [3, 4], [5, 6]]]"),
    "json, another shape": ("application/json", b"[[1, 2, 3], [4, 5, 6]]"),
    "json, ragged": ("application/json", b"[[1, 2], [3], [5, 6]]"),
    "json, too deep": ("application/json", b"[[[1], 2], [3, 4], [5, 6]]"),
    "json, too flat": ("application/json", b"[1, 2, 3, 4, 5, 6]"),
    "json, too few": ("application/json", b"[[1, 2], [3, 4]]"),
    "json, too many": ("application/json", b"[[1, 2], [3, 4], [5, 6], [7, 8]]"),
    "json, a word": ("application/json", b'[[1, 2], [3, 4], [5, "six"]]'),
    "json, null": ("application/json", b"[[1, 2], [3, 4], [5, null]]"),
    "json, bare NaN": ("application/json", b"[[1, 2], [3, 4], [5, NaN]]"),
    "json, trailing comma": ("application/json", b"[[1, 2], [3, 4], [5, 6],]"),
    "json, no comma": ("application/json", b"[[1, 2], [3 4], [5, 6]]"),
    "json, an object without data": ("application/json", b'{"shape": [3, 2]}'),
    "json, another shape said": ("application/json", b'{"shape": [2, 3], "data": [[1, 2], [3, 4], [5, 6]]}'),
    "json, another shape said later": ("application/json", b'{"data": [[1, 2], [3, 4], [5, 6]], "shape": [6]}'),
    "json, another type said": ("application/json", b'{"data_type": "float64", "data": [[1, 2], [3, 4], [5, 6]]}'),
    "json, fewer dimensions said": ("application/json", b'{"dimensions": ["y"], "data": [[1, 2], [3, 4], [5, 6]]}'),
    "json, no names said": ("application/json", b'{"dimensions": [1, 2], "data": [[1, 2], [3, 4], [5, 6]]}'),
    "json, beyond float32": ("application/json", b"[[1, 2], [3, 4], [5, 1e39]]"),
    "json, beyond float64": ("application/json", b"[[1, 2], [3, 4], [-1e400, 6]]"),
    "json, beyond float32 as an integer": ("application/json", b"[[1, 2], [3, 4], [1%s, 6]]" % (b"0" * 39)),
    "json, another member": ("application/json", b'{"data": [[1, 2], [3, 4], [5, 6]], "date": 1}'),
    "json, data twice": ("application/json", b'{"data": [[1, 2], [3, 4], [5, 6]], "data": 1}'),
    "json, not UTF-8": ("application/json", b'[[1, 2], [3, 4], [5, "\xff"]]'),
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A server over one array that no test of this module may change."""
    folder = tmp_path_factory.mktemp("strict")
    make_array(folder / "a", (3, 2), (2, 2))
    make_array(folder / "g" / "b", (3, 2), (2, 2))
    (folder / "g" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    make_array(folder / "huge", (1 << 20, 1 << 20), (1 << 10, 1 << 10))
    server = Server(config={"datasets": {"work": {"location": str(folder), "writable": True}, "fixed": {"location": str(folder)}}})
    before = states(folder)
    yield server
    after = states(folder)
    server.stop()
    assert before == after


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_is_not_the_slice_changes_nothing(strict, name):
    content_type, data = BAD_BODIES[name]
    for target in ["a", "a?slice=:,:", "a?slice=::-1&dry_run=1"]:
        path, _, query = target.partition("?")
        answer = body(strict, path, content_type, data, "?" + query if query else "")
        assert answer.status == 400 and answer.code == "bad_body", answer
    document = answer.json()
    if "expected" not in document:
        assert "json" in name or "cut" in name or "header of all" in name, document


def test_a_fault_of_a_body_names_both_sides(strict):
    """Types rather than bytes, the place of a number, the member that says something else."""
    def fault(content_type, data):
        answer = body(strict, "a", content_type, data)
        assert (answer.status, answer.code) == (400, "bad_body"), answer
        return answer.json()

    for name in ("npy, another size", "npy, another size and its bytes"):
        told = fault(*BAD_BODIES[name])
        assert (told["expected"], told["found"]) == ("<f4", "<f8"), told
    told = fault("application/json", b"[[1, 2], [3, 4], [5, 1e39]]")
    assert (told["pointer"], told["found"]) == ("/2/1", "1e+39") and "3.4028235e38" in told["expected"], told
    told = fault("application/json", b'{"shape": [2, 3], "data": [[1, 2], [3, 4], [5, 6]]}')
    assert (told["pointer"], told["expected"], told["found"]) == ("/shape", "[3,2]", "[2,3]"), told
    told = fault("application/json", b'{"data": [[1, 2], [3, 4], [5, 6]], "data_type": "float64"}')
    assert (told["pointer"], told["expected"], told["found"]) == ("/data_type", "float32", '"float64"'), told


def test_dimensions_of_a_body_are_those_of_the_slice(serve, tmp_path):
    make_array(tmp_path / "a", (3, 2), (2, 2), dimension_names=["y", None])
    server = serve("-w", f"work={tmp_path}")
    for said, status in ((["y", "any"], 200), (["y", None], 200), ([None, None], 200), (["x", "y"], 400), (["any", "y"], 400)):
        data = json.dumps({"dimensions": said, "data": [[1, 2], [3, 4], [5, 6]]}).encode()
        answer = body(server, "a", "application/json", data)
        assert answer.status == status, (said, answer)
        if status == 400:
            assert (answer.json()["pointer"], answer.json()["expected"]) == ("/dimensions", '["y",null]')
    row = {"dimensions": [None], "data_type": "float32", "shape": [2], "selection": "9:10:1", "data": [7, 8]}
    assert body(server, "a", "application/json", json.dumps(row).encode(), "?slice=1").status == 200
    assert body(server, "a", "application/json", json.dumps({**row, "dimensions": ["y"]}).encode(), "?slice=1").status == 200
    assert body(server, "a", "application/json", json.dumps({**row, "dimensions": ["z"]}).encode(), "?slice=:2,0").status == 400


@pytest.mark.parametrize("path,query,status,code", [
    ("a", "?slice=3", 400, "out_of_bounds"),
    ("a", "?slice=a", 400, "bad_slice"),
    ("a", "?slice=0:1:0", 400, "bad_slice"),
    ("a", "?slice=0,0,0", 400, "bad_slice"),
    ("a", "?format=raw", 400, "unknown_parameter"),
    ("a", "?slice=0&slice=1", 400, "unknown_parameter"),
    ("a", "?broadcast=yes", 400, "bad_parameter"),
    ("a", "?dry_run=2", 400, "bad_parameter"),
    ("a", "?expected_shape=3,3", 409, "shape_mismatch"),
    ("a", "?expected_shape=x", 400, "bad_parameter"),
    ("g", "", 400, "not_an_array"),
    ("none", "", 404, "node_not_found"),
    ("huge", "", 413, "too_large"),
    ("huge", "?slice=0:1,:&broadcast=0", 400, "bad_body"),
])
def test_impossible_requests_are_refused_before_the_body_comes(strict, path, query, status, code):
    """No byte of it is sent, and no 100 (Continue) asks for it."""
    with socket.create_connection(("127.0.0.1", strict.port), timeout=60) as s:
        s.sendall(f"PUT /v1/datasets/work/slices/{path}{query} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                  "Content-Length: 24000\r\n\r\n".encode())
        received = b""
        while piece := s.recv(65536):
            received += piece
    head, _, document = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), head
    assert json.loads(document)["code"] == code


def test_a_slice_too_large_comes_with_pieces_that_are_not(strict):
    document = body(strict, "huge", "application/octet-stream", None, "", **{"Content-Length": "0"}).json()
    assert document["code"] == "too_large" and document["suggestions"] and document["n_suggestions"] >= len(document["suggestions"])


def test_other_types_of_bodies_are_refused_with_those_that_are_not(strict):
    for content_type in ["text/csv", "application/x-npz", "application/jsonx", "multipart/form-data"]:
        answer = body(strict, "a", content_type, bytes(24))
        assert answer.status == 415 and answer.code == "unsupported_media_type"
        assert sorted(answer.json()["allowed"]) == ["application/json", "application/octet-stream", "application/x-npy"]


@pytest.mark.parametrize("headers,status,code", [
    ({"Content-Encoding": "gzip"}, 415, "unsupported_media_type"),
    ({"Content-Range": "bytes 0-7/8"}, 400, "bad_request"),
])
def test_parts_and_coded_bodies_are_refused(serve, tmp_path, headers, status, code):
    make_array(tmp_path / "a", (4,), (2,), dtype="int32", fill=0)
    server = start(serve, tmp_path)
    raw = ("application/octet-stream", b"12345678", "?slice=0:2")
    answer = body(server, "a", *raw, **headers)
    assert (answer.status, answer.json()["code"]) == (status, code)
    assert get(server, "a", dtype="<i4").tolist() == [0] * 4
    assert body(server, "a", *raw, **{"Content-Encoding": "identity"}).status == 200


def test_a_read_only_dataset_takes_no_slices(strict):
    answer = strict.request("PUT", "/v1/datasets/fixed/slices/a", {}, bytes(24))
    assert answer.status == 405 and answer.code == "read_only"


def test_the_connection_lives_on_after_a_small_body_that_was_refused(strict):
    connection = strict.connection()
    for _ in range(3):
        answer = strict.request("PUT", "/v1/datasets/work/slices/a?slice=9", {}, bytes(20000), connection=connection)
        assert answer.status == 400 and "close" not in answer.headers.get("connection", "")
    connection.close()


def test_a_long_body_that_is_refused_is_not_read(strict):
    with socket.create_connection(("127.0.0.1", strict.port), timeout=60) as s:
        s.sendall(b"PUT /v1/datasets/work/slices/a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n" + bytes(300000))
        received = b""
        while piece := s.recv(65536):
            received += piece
    assert received.startswith(b"HTTP/1.1 400 ") and b"Connection: close" in received and b"bad_body" in received


def test_a_node_says_whether_it_can_be_written(strict):
    for dataset, can in [("work", True), ("fixed", False)]:
        assert strict.get(f"/v1/datasets/{dataset}/nodes/a").json()["array"]["can"] == {"slice": True, "write": can}
        nodes = {node["path"]: node for node in strict.get(f"/v1/datasets/{dataset}/tree/g").json()["nodes"]}
        assert nodes["g/b"]["array"]["can"]["write"] is can
