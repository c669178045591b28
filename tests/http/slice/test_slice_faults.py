"""Slices whose writing breaks off: clients that leave, stores that fail, bodies that are long or wrong at their end."""

import json
import socket

import numpy as np
import pytest
from client import SANITIZED, memory_bytes, wait_until
from documents import CRC, LITTLE
from slices import get, make_array, put, same, start, states
from workload import tidied

MIB = 1 << 20


def chunked(pieces):
    for piece in pieces:
        yield b"%x\r\n" % len(piece) + piece + b"\r\n"
    yield b"0\r\n\r\n"


@pytest.mark.skipif(SANITIZED, reason="sanitizers have memory of their own")
@pytest.mark.parametrize("n_mib,offset,is_chunked", [(256, 0, False), (256, 3, True)])
def test_a_long_body_takes_little_memory(serve, tmp_path, n_mib, offset, is_chunked):
    """Rows of 1 MiB in chunks of 1 MiB: 4 rows of chunks a band."""
    shape, chunk = (n_mib + 8, 512, 512), (4, 256, 256)
    make_array(tmp_path / "a", shape, chunk, [LITTLE], "int32", 0)
    server = serve("--set", "cache.decoded_bytes=1MiB", "--set", "cache.encoded_bytes=1MiB",
                   config={"datasets": {"work": {"location": str(tmp_path), "writable": True, "durable": False}}})
    assert put(server, "a", np.ones((8, 512, 512), "<i4"), "0:8").status == 200
    before = memory_bytes(server, "VmHWM")
    row = np.arange(1 << 18, dtype="<i4")
    framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {n_mib * MIB}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as s:
        s.sendall(f"PUT /v1/datasets/work/slices/a?slice={offset}:{offset + n_mib} HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode())
        pieces = ((row + i).tobytes() for i in range(n_mib))
        for piece in chunked(pieces) if is_chunked else pieces:
            s.sendall(piece)
        answer = s.makefile("rb").readline()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert memory_bytes(server, "VmHWM") - before < 64 * MIB
    for i in (0, 1, n_mib // 2, n_mib - 1):
        assert np.array_equal(get(server, "a", str(offset + i), "<i4").ravel(), row + i)


@pytest.mark.parametrize("n_bytes,framing", [
    (0, "Content-Length: 4194304"), (1000, "Content-Length: 4194304"), (3000000, "Content-Length: 4194304"),
    (3000000, "Transfer-Encoding: chunked")])
def test_a_client_that_leaves_midway_changes_nothing(serve, tmp_path, n_bytes, framing):
    make_array(tmp_path / "a", (1 << 20,), (1 << 14,), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    assert put(server, "a", np.array(5, "<i4"), query="&broadcast=1").status == 200
    before = states(tmp_path)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(f"PUT /v1/datasets/work/slices/a HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode())
        data = bytes(n_bytes)
        s.sendall(b"%x\r\n" % n_bytes + data if "chunked" in framing else data)
    # The locks are free again, and what was staged is gone.
    assert put(server, "a", np.array(5, "<i4"), query="&broadcast=1&dry_run=1").status == 200
    assert tidied(tmp_path)
    assert states(tmp_path) == before
    assert put(server, "a", np.array(6, "<i4"), query="&broadcast=1").json()["chunks"]["written"] == 64


def test_a_body_that_turns_out_wrong_at_its_end_changes_nothing(serve, tmp_path):
    make_array(tmp_path / "a", (64, 1 << 14), (1, 1 << 12), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    rows = [json.dumps([i] * (1 << 14)).encode() for i in range(64)]
    good = b"[" + b",".join(rows) + b"]"
    for data in [good[:-1], good + b"1", good[:-3] + b"x]]", good[:-1] + b",[1]]"]:
        answer = server.request("PUT", "/v1/datasets/work/slices/a", {"Content-Type": "application/json"}, data)
        assert answer.status == 400 and answer.code == "bad_body", answer
        assert tidied(tmp_path)
        wait_until(lambda: not (tmp_path / "a" / "c").exists())  # after what was in it
    for pieces in [[bytes(1 << 22), b"x"], [bytes((1 << 22) - 1)]]:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
            s.sendall(b"PUT /v1/datasets/work/slices/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            s.sendall(b"".join(chunked(pieces)))
            received = s.recv(65536)
        assert received.startswith(b"HTTP/1.1 400 ") and b"bad_body" in received
        assert tidied(tmp_path)
        wait_until(lambda: not (tmp_path / "a" / "c").exists())  # after what was in it


def test_a_store_that_fails_in_the_middle_leaves_everything_as_it_was(serve, tmp_path):
    """A directory in the way of the key of the last object but one."""
    make_array(tmp_path / "a", (64,), (4,), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    assert put(server, "a", np.array(5, "<i4"), query="&broadcast=1").status == 200
    (tmp_path / "a" / "c" / "14").unlink()
    (tmp_path / "a" / "c" / "14" / "x").mkdir(parents=True)
    before = states(tmp_path)
    for text in ["", "1:63", "::-1"]:
        values = np.arange(62 if text == "1:63" else 64, dtype="<i4")
        answer = put(server, "a", values, text)
        assert answer.status == 502 and answer.code == "store_error", answer
        assert tidied(tmp_path)
        assert states(tmp_path) == before
    server.announced.append("store_error")


def test_corrupt_chunks_fail_what_reads_them_and_nothing_changes(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (4,), [LITTLE, CRC], "int32", 0)
    server = start(serve, tmp_path)
    assert put(server, "a", np.arange(8, dtype="<i4")).status == 200
    path = tmp_path / "a" / "c" / "1"
    path.write_bytes(bytes(20))
    before = states(tmp_path)
    answer = put(server, "a", np.ones(4, "<i4"), "2:6")
    assert answer.status == 500 and answer.code == "corrupt_chunk"
    assert states(tmp_path) == before
    assert put(server, "a", np.ones(6, "<i4"), "2:8").status == 200  # all of it is replaced
    server.announced.append("corrupt_chunk")


def test_memory_held_at_once_is_bounded(serve, tmp_path):
    make_array(tmp_path / "a", (64, 1024), (8, 1024), [LITTLE], "int32", 0)
    server = serve("--set", "limits.write_bytes=64KiB",
                   config={"datasets": {"work": {"location": str(tmp_path), "writable": True, "durable": False}}})
    answer = put(server, "a", np.ones((64, 1024), "<i4"))
    assert answer.status == 200, answer
    make_array(tmp_path / "b", (64, 1024), (32, 1024), [LITTLE], "int32", 0)
    answer = put(server, "b", np.ones((64, 1024), "<i4"))
    assert answer.status == 413 and answer.json()["limit"] == 65536 and answer.json()["requested"] == 131072
    expected = np.zeros((64, 1024), "<i4")
    for text in answer.json()["suggestions"]:
        index = tuple(slice(*(int(n) for n in item.split(":"))) for item in text.split(","))
        expected[index] += 1
        assert put(server, "b", expected[index], text).status == 200
    assert (expected == 1).all() and same(get(server, "b", dtype="<i4"), expected)
