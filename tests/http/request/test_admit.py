"""Admission: memory and work are budgeted before they are taken; who is refused is told so at once, and when to come again."""

import concurrent.futures
import contextlib
import io
import json
import re
import signal
import socket

import numpy as np
import pytest
from arrays import write_array, write_node
from client import DEADLINE_S, memory_bytes, wait_until
from documents import LITTLE
from live import BINARY, RawClient

MIB = 1 << 20
GROUP = {"zarr_format": 3, "node_type": "group"}
LARGE = "/v1/datasets/work/slices/a"
SMALL = ["/zarr/work/a/zarr.json", "/v1/datasets/work/slices/a?slice=0,0,:8", "/v1/datasets/work/nodes/a", "/v1/datasets/work/tree/a",
         "/v1/datasets/work/chunks/s?index=0", "/v1/datasets/work/chunks/s?index=0&decoded=1", "/livez"]


@pytest.fixture
def work(tmp_path):
    """An array of 32 MiB in chunks of 1 MiB, and one of 1 KiB."""
    values = np.arange(8 * MIB, dtype="<f4").reshape(32, 512, 512)
    write_array(tmp_path / "work/a", values.shape, (1, 512, 512), [LITTLE], values)
    write_array(tmp_path / "work/s", (256,), (256,), [LITTLE], values[0, 0, :256])
    return tmp_path / "work", values


def large(server):
    return server.get("/v1/limits").json()["admission"]["large"]


@contextlib.contextmanager
def reader_who_stalls(server, target=LARGE):
    """One who asks for much and takes next to nothing of it."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(DEADLINE_S)
    s.connect(("127.0.0.1", server.port))
    s.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    assert s.recv(12) == b"HTTP/1.1 200"
    try:
        yield s
    finally:
        s.close()


# Of the large lane (14 MiB) a stream takes all but a part that nobody else can use.
TIGHT = ["--set", "admission.bytes=16MiB", "--set", "admission.small_bytes=13MiB", "--set", "http.stream_bytes=64KiB",
         "--set", "http.reader_ms=3600000"]


def test_a_refused_client_is_told_when_to_come_again(serve, work):
    path, values = work
    server = serve(f"work={path}", *TIGHT, "--set", "admission.waiting=0")
    with reader_who_stalls(server):
        answer = server.get(LARGE)
        assert answer.status == 503 and answer.code == "overloaded"
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert "access-control-allow-origin" in answer.headers
        problem = answer.json()
        assert problem["status"] == 503 and problem["type"] == "urn:zarrd:problem:overloaded"
        assert problem["detail"] and problem["instance"] == answer.headers["x-request-id"]
        assert server.head(LARGE).status == 200  # reads nothing
        for target in SMALL:
            assert server.get(target).status == 200, target
        for target in ["/zarr/work/a/c/0/0/0", "/v1/datasets/work/chunks/a?index=0,0,0&decoded=1"]:
            assert server.get(target).status in (200, 503), target
        assert server.post("/v1/datasets/work/chunks/a", {"indices": [[i, 0, 0] for i in range(32)]}).code == "overloaded"
        assert server.metrics()["zarrd_requests_shed_total"] >= 2
    wait_until(lambda: large(server)["bytes"] == 0)
    answer = server.get(LARGE)
    assert answer.status == 200 and answer.body == values.tobytes()


def test_waiting_requests_are_served_when_there_is_room(serve, work):
    path, values = work
    server = serve(f"work={path}", *TIGHT, "--set", "admission.wait_ms=600000")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        with reader_who_stalls(server):
            answers = [pool.submit(server.get, LARGE) for _ in range(8)]
            wait_until(lambda: large(server)["waiting"] == 8)
            assert not any(answer.done() for answer in answers)
            assert server.get(SMALL[1]).status == 200
            assert server.metrics()["zarrd_admission_waiting"] == 8
        for answer in answers:
            assert answer.result().status == 200 and answer.result().body == values.tobytes()
    wait_until(lambda: large(server)["bytes"] == 0)
    state = large(server)
    assert state["n_waited"] == 8 and state["n_refused"] == 0 and state["waiting"] == state["working"] == 0
    assert server.metrics()["zarrd_admission_queue_seconds_count"] == 8


def as_npy(values):
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


PLANE = (np.arange(512 * 512) % 10).astype("<f4")
TEXT = json.dumps(PLANE.astype(int).reshape(1, 512, 512).tolist(), separators=(",", ":")).encode()
WRITERS = {
    "slice": ("PUT", "slices/a?slice=5", {}, PLANE.tobytes()),
    "slice under a condition": ("PUT", "slices/a?slice=5", {"If-Match": "*"}, PLANE.tobytes()),
    "append": ("PUT", "slices/a?append=0", {}, PLANE.tobytes()),
    "append of npy": ("PUT", "slices/a?append=0", {"Content-Type": "application/x-npy"}, as_npy(PLANE.reshape(1, 512, 512))),
    "append of text": ("PUT", "slices/a?append=0", {"Content-Type": "application/json"}, TEXT),
    "consolidation": ("POST", "consolidate/", {}, None),
}


@pytest.fixture
def hierarchy(work):
    path, values = work
    write_node(path, GROUP)
    return path, values


def writable(serve, path, *settings):
    config = {"datasets": {"work": {"location": str(path), "writable": True, "durable": False}}}
    return serve(*TIGHT, "--set", "admission.wait_ms=600000", "--set", "http.request_ms=600000", "--set", "admission.small_bytes=512KiB", "--set", "http.stream_bytes=5MiB",
                 *settings, config=config)


def patch(server, path, document):
    target, headers = f"/v1/datasets/work/nodes/{path}", {"Content-Type": "application/merge-patch+json"}
    return server.request("PATCH", target, headers, json.dumps(document).encode())


@contextlib.contextmanager
def no_memory_left(server, pool):
    """Whoever comes now waits behind one who waits."""
    with reader_who_stalls(server):
        pool.submit(server.get, LARGE)
        wait_until(lambda: large(server)["waiting"] == 1)
        yield


@pytest.mark.parametrize("name", WRITERS)
def test_waiting_for_memory_keeps_nobody_from_the_array(serve, hierarchy, name):
    path, values = hierarchy
    method, target, headers, body = WRITERS[name]
    if method == "POST":  # of many nodes: a small one does not wait
        for i in range(512):
            write_node(path / f"g{i}", GROUP)
    server = writable(serve, path)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with no_memory_left(server, pool):
            answer = pool.submit(server.request, method, f"/v1/datasets/work/{target}", headers, body)
            wait_until(lambda: large(server)["waiting"] == 2 or answer.done())
            for node in ["a", "s", ""]:
                assert patch(server, node, {"attributes": {"seen": True}}).status == 200
            assert not answer.done(), answer.result()
        assert answer.result().status == 200, answer.result()
    assert large(server)["n_refused"] == 0
    if method == "POST":
        assert answer.result().json()["check"] == {"stored": True, "missing": [], "surplus": [], "differing": []}
    else:
        shape = server.get("/v1/datasets/work/nodes/a").json()["array"]["shape"]
        assert shape == [33 if "append" in name else 32, 512, 512]
        assert server.get(f"/v1/datasets/work/slices/a?slice={-1 if 'append' in name else 5}").body == PLANE.tobytes()


@pytest.mark.parametrize("name", [name for name in WRITERS if WRITERS[name][0] == "PUT" and name != "append of text"])
def test_a_refused_writer_keeps_nobody_from_the_array_either(serve, hierarchy, name):
    """At once, though the rest of its body has not come."""
    path, _ = hierarchy
    server = writable(serve, path, "--set", "admission.waiting=0", "--set", f"http.request_ms={10 * DEADLINE_S}000")
    method, target, headers, body = WRITERS[name]
    head = [f"{method} /v1/datasets/work/{target} HTTP/1.1", "Host: a", f"Content-Length: {len(body)}", *map(": ".join, headers.items())]
    with concurrent.futures.ThreadPoolExecutor(1) as pool, reader_who_stalls(server):
        client = RawClient(server.port)
        client.send("\r\n".join([*head, "", ""]).encode() + body[:1024])
        wait_until(lambda: server.metrics()["zarrd_requests_shed_total"] == 1)
        change = pool.submit(patch, server, "a", {"attributes": {"seen": True}})
        try:
            assert change.result(DEADLINE_S).status == 200
        finally:
            client.socket.shutdown(socket.SHUT_RDWR)


def test_memory_comes_before_locks(serve, hierarchy):
    """Chunks are admitted and then locked: a slice between them and a change of the array waits for nobody who waits for it."""
    path, _ = hierarchy
    server = writable(serve, path, "--set", "admission.bytes=10MiB", "--set", "http.stream_bytes=64KiB")
    body = PLANE.tobytes()
    head = "PUT /v1/datasets/work/chunks/a?index={},0,0&decoded=1 HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        chunk = RawClient(server.port)
        chunk.send(head.format(7, len(body)).encode() + body[:-1])
        wait_until(lambda: large(server)["bytes"] > 0)
        slices = pool.submit(server.request, "PUT", "/v1/datasets/work/slices/a?slice=5", {}, body)
        wait_until(lambda: large(server)["waiting"] == 1)
        change = pool.submit(patch, server, "a", {"attributes": {"seen": True}})
        wait_until(lambda: server.metrics()["http_requests_in_flight"] >= 4 or change.done())
        chunk.send(body[-1:])
        assert chunk.receive()[0] == 200
        assert change.result().status == 200 and slices.result().status == 200, slices.result()
    assert large(server)["n_refused"] == 0


def test_changes_during_the_wait_for_memory_are_seen(serve, hierarchy):
    path, _ = hierarchy
    server = writable(serve, path)
    whole = np.ones((4, 512, 512), "<f4")
    for target, length, status, code in [
            ("slice=28:32", 40, 200, None), ("slice=31", 30, 400, "out_of_bounds"), ("append=0&expected_shape=30,512,512", 31, 409, "shape_mismatch")]:
        body = whole[:4 if status == 200 else 1].tobytes()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            with no_memory_left(server, pool):
                answer = pool.submit(server.request, "PUT", f"/v1/datasets/work/slices/a?{target}", {}, body)
                wait_until(lambda: large(server)["waiting"] == 2)
                assert patch(server, "a", {"shape": [length, 512, 512]}).status == 200
            assert answer.result().status == status, answer.result()
            assert code is None or answer.result().code == code


def test_nobody_waits_for_longer_than_the_setting(serve, work):
    path, _ = work
    server = serve(f"work={path}", *TIGHT, "--set", "admission.wait_ms=300")
    with reader_who_stalls(server):
        answer = server.get(LARGE)
        assert answer.status == 503 and answer.code == "overloaded" and int(answer.headers["retry-after"]) >= 1
        assert re.search(r'shed_total\{lane="large",reason="wait_over"\} 1\n', server.get("/metrics").body.decode())


def test_slow_readers_keep_nobody_from_working(serve, work):
    """One place for all of them: who waits for its client does not work."""
    path, values = work
    server = serve(f"work={path}", "--set", "admission.running=1", "--set", "http.stream_bytes=64KiB")
    with reader_who_stalls(server), reader_who_stalls(server):
        answer = server.get(LARGE)
        assert answer.status == 200 and answer.body == values.tobytes()


def test_clients_are_told_apart_by_their_address(serve, work):
    """Half of the queue is the most that one of them gets."""
    path, _ = work
    server = serve(f"work={path}", *TIGHT, "--set", "admission.wait_ms=600000", "--set", "admission.waiting=4")
    request = f"GET {LARGE} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()

    def ask(source):
        s = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S, source_address=(source, 0))
        s.sendall(request)
        return s

    with reader_who_stalls(server):
        first = [ask("127.0.0.1") for _ in range(2)]
        wait_until(lambda: large(server)["waiting"] == 2)
        with ask("127.0.0.1") as s:
            assert s.recv(12) == b"HTTP/1.1 503"
        second = [ask("127.0.0.2") for _ in range(2)]
        wait_until(lambda: large(server)["waiting"] == 4)
        with ask("127.0.0.3") as s:
            assert s.recv(12) == b"HTTP/1.1 503"

    def read(s):
        with s, s.makefile("rb") as file:
            return file.read()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for answer in pool.map(read, first + second):
            assert answer.startswith(b"HTTP/1.1 200") and len(answer) > 32 * MIB


def test_waiting_clients_are_told_that_the_server_stops(serve, work):
    path, _ = work
    server = serve(f"work={path}", *TIGHT, "--set", "admission.wait_ms=600000", "--set", "http.drain_ms=3000")
    with reader_who_stalls(server):
        client = RawClient(server.port)
        client.send(f"GET {LARGE} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        wait_until(lambda: large(server)["waiting"] == 1)
        server.process.send_signal(signal.SIGTERM)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.file.readline()
        assert head.startswith(b"HTTP/1.1 503") and b"\r\nRetry-After: 1\r\n" in head
        assert b'"code":"draining"' in client.file.read()
    assert server.process.wait(DEADLINE_S) == 0


def test_caches_shrink_to_the_memory_there_is(serve, work):
    path, _ = work
    server = serve(f"work={path}", "--set", "memory.bytes=64MiB")
    assert "memory: 64 MiB (memory.bytes): the caches shrink to 16, 4 and 4 MiB" in server.log
    limits = server.get("/v1/limits").json()
    assert limits["memory"] == {"bytes": 64 * MIB, "bounded_by": "memory.bytes", "requests_bytes": 24 * MIB,
                                "decoded_bytes": 16 * MIB, "encoded_bytes": 4 * MIB, "metadata_bytes": 4 * MIB}
    metrics = server.get("/metrics").body.decode()
    assert f'zarrd_cache_bytes_max{{cache="chunks"}} {15 * MIB}\n' in metrics
    assert f'zarrd_memory_budget_bytes{{part="requests"}} {24 * MIB}\n' in metrics
    lanes = limits["admission"]
    assert lanes["small"]["bytes_max"] + lanes["large"]["bytes_max"] == 24 * MIB


def test_bodies_fill_no_more_than_their_memory(serve, work):
    """They are held before anybody can be admitted: 2 MiB of 64, and never less than the longest."""
    path, _ = work
    server = serve(f"work={path}", "--set", "memory.bytes=64MiB")
    body = b"x" * 1_000_000
    head = f"POST /v1/datasets/work/chunks/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    for _ in range(2):  # what was held is given back
        clients = [socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) for _ in range(8)]
        for s in clients:
            s.sendall(head + body[:-1])
        answers = []
        for s in clients:
            with s, s.makefile("rb") as file:
                s.sendall(body[-1:])
                answers.append(file.read())
        refused = [answer for answer in answers if b'"code":"overloaded"' in answer]
        assert 0 < len(refused) < 8
        assert all(answer.startswith(b"HTTP/1.1 503") and b"\r\nRetry-After: 1\r\n" in answer for answer in refused)
        assert all(answer.startswith(b"HTTP/1.1 400") for answer in answers if answer not in refused)
    assert server.post("/v1/datasets/work/chunks/a", {"indices": [[0, 0, 0]]}).status == 200


@pytest.mark.parametrize("n_files, n_connections", [(1024, 352), (100, 16)])
def test_each_connection_may_send_a_file(serve, work, tmp_path, n_files, n_connections):
    path, _ = work
    wrapper = tmp_path / "limited"
    wrapper.write_text(f'#!/bin/sh\nulimit -n {n_files}\nexec {BINARY} "$@"\n')
    wrapper.chmod(0o755)
    server = serve(f"work={path}", binary=wrapper)
    assert f"the system's limit of {n_files} file descriptors allows only {n_connections} connections" in server.log


def test_connections_are_in_the_account(serve, work):
    path, _ = work
    server = serve(f"work={path}", "--set", "memory.bytes=16MiB", "--set", "http.address_connections=0")
    n = 16 * MIB // 4 // (24 << 10)
    assert f"memory of 16 MiB (memory.bytes) allows only {n} connections" in server.log
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) for _ in range(n + 8)]
    statuses = []
    for s in clients:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        statuses.append(int(s.recv(12).split()[1]))
    assert statuses == [200] * n + [503] * 8
    for s in clients:
        s.close()


def test_the_address_space_bounds_it_too(serve, work, tmp_path):
    path, _ = work
    if "asan" in str(BINARY) or "tsan" in str(BINARY):
        pytest.skip("sanitizers need an address space without bounds")
    wrapper = tmp_path / "limited"
    wrapper.write_text(f'#!/bin/sh\nulimit -v {512 << 10}\nexec {BINARY} "$@"\n')
    wrapper.chmod(0o755)
    server = serve(f"work={path}", binary=wrapper)
    assert server.get("/v1/limits").json()["memory"]["bounded_by"] == "address space"
    n_clients = 64

    def ask(_):
        answer = server.get(LARGE)
        if answer.status == 200:
            assert len(answer.body) == 32 * MIB
        else:
            assert answer.status == 503 and answer.code == "overloaded" and int(answer.headers["retry-after"]) >= 1
        return answer.status

    with concurrent.futures.ThreadPoolExecutor(n_clients) as pool:
        statuses = list(pool.map(ask, range(n_clients)))
    assert statuses.count(200) >= 1
    assert server.get("/livez").status == 200


def test_an_idle_server_is_small(serve, work):
    path, _ = work
    if "asan" in str(BINARY) or "tsan" in str(BINARY):
        pytest.skip("sanitizers have memory of their own")
    server = serve(f"work={path}")
    assert server.get("/livez").status == 200
    assert memory_bytes(server, "RssAnon") < 4 * MIB  # pages of libraries are the system's: it takes them back


def test_memory_of_a_rush_goes_back_to_the_system(serve, work):
    path, _ = work
    if "asan" in str(BINARY) or "tsan" in str(BINARY):
        pytest.skip("sanitizers keep what is freed")
    server = serve(f"work={path}", "--set", "cache.decoded_bytes=0", "--set", "cache.encoded_bytes=0")
    idle = memory_bytes(server, "RssAnon")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for answer in pool.map(lambda _: server.get(LARGE), range(16)):
            assert answer.status == 200
    wait_until(lambda: memory_bytes(server, "RssAnon") < idle + 8 * MIB)
