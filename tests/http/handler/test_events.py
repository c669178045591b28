"""The change feed: what is told, to whom, and how a stream ends."""

import contextlib
import json
import pathlib
import signal
import socket
import threading

import numpy as np
import pytest
from client import is_sanitized, memory_bytes, wait_until
from documents import GROUP
from live import Server


def array(shape=(4, 6), **more):
    return {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 7,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], **more}


class Feed:
    """A client of server-sent events that reads line by line, as they come."""

    def __init__(self, server, d, query="", last_id=None, receive_bytes=None):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", server.port))
        header = "" if last_id is None else f"Last-Event-ID: {last_id}\r\n"
        self.socket.sendall(f"GET /v1/datasets/{d}/events{query} HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self.id = None
        self.rest = b""
        self.comments = 0
        if self.status == 200:
            self.begin = self.block()

    def drain(self):
        """Read to the end, and forget it."""
        with contextlib.suppress(ConnectionResetError):
            while self.socket.recv(1 << 16):
                pass

    def line(self):
        """The next line of the body; None at its end."""
        while b"\n" not in self.rest:
            size = int(self.file.readline(), 16)
            part = self.file.read(size)
            self.file.readline()
            if size == 0:
                return None
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def block(self):
        """The next block as name -> value; None at the end of the stream."""
        fields = {}
        while True:
            line = self.line()
            if line is None:
                return None
            if line == "":
                self.id = fields.get("id", self.id)
                return fields
            name, _, value = line.partition(":")
            self.comments += name == ""
            if name:
                fields[name] = value.strip()

    def next(self):
        """The next event: its name and data; None at the end of the stream."""
        while True:
            fields = self.block()
            if fields is None:
                return None
            if "data" in fields:
                return fields["event"], json.loads(fields["data"])

    def close(self):
        self.file.close()
        self.socket.close()


def put(server, target, document, headers=None):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    answer = server.request("PUT", target, {"Content-Type": "application/json", **(headers or {})}, body)
    assert answer.status in (200, 201), answer
    return answer


@pytest.fixture
def server():
    server = Server(config={"datasets": {"m": {"location": "mem:", "writable": True}, "other": {"location": "mem:", "writable": True}}})
    yield server
    server.stop()


def test_every_write_is_told_once_when_it_is_seen(server):
    put(server, "/zarr/m/zarr.json", GROUP)
    feed = Feed(server, "m")
    assert feed.status == 200 and feed.headers["content-type"] == "text/event-stream"
    assert feed.headers["cache-control"] == "no-store" and "event" not in feed.begin and feed.id
    node = put(server, "/v1/datasets/m/nodes/g/a", array())
    name, data = feed.next()  # a parent that was missing
    assert (name, data["path"], data["change"]) == ("node", "g", "created")
    assert feed.next() == ("node", {"path": "g/a", "change": "created", "etag": node.headers["etag"]})
    put(server, "/zarr/m/g/a/c/1/0", np.arange(6, dtype="<u2").tobytes())
    assert feed.next() == ("chunks", {"path": "g/a", "indices": [[1, 0]], "change": "written"})
    server.request("DELETE", "/zarr/m/g/a/c/1/0")
    assert feed.next() == ("chunks", {"path": "g/a", "indices": [[1, 0]], "change": "erased"})
    put(server, "/zarr/m/g/a/zarr.json", array(attributes={"x": 1}))  # a raw key counts
    name, data = feed.next()
    assert (name, data["path"], data["change"]) == ("node", "g/a", "changed")
    assert data["etag"] == server.get("/v1/datasets/m/nodes/g/a").headers["etag"]
    server.request("DELETE", "/v1/datasets/m/nodes/g?recursive=1")
    name, data = feed.next()
    assert (name, data["path"], data["change"]) == ("node", "g", "deleted")
    feed.close()


def test_a_group_is_told_with_the_tag_of_its_document(server):
    """That of GET nodes where no children are shown: children have events of their own."""
    feed = Feed(server, "m")
    put(server, "/v1/datasets/m/nodes/g/h/a", array())
    told = {}
    for path in ("", "g", "g/h"):  # parents that were missing
        name, data = feed.next()
        assert (name, data["path"], data["change"]) == ("node", path, "created")
        told[path] = data["etag"]
        assert data["etag"] == server.get(f"/v1/datasets/m/nodes/{path}?fields=metadata").headers["etag"]
    assert len(set(told.values())) == 3
    assert feed.next()[1]["path"] == "g/h/a"
    for change in (GROUP, {**GROUP, "attributes": {"n": 1}}):
        put(server, "/v1/datasets/m/nodes/g", change)
        name, data = feed.next()
        assert (name, data["path"], data["change"]) == ("node", "g", "changed")
        assert data["etag"] != told["g"]
        assert data["etag"] == server.get("/v1/datasets/m/nodes/g?fields=metadata").headers["etag"]
        told["g"] = data["etag"]
    put(server, "/v1/datasets/m/nodes/g/b", array())
    assert feed.next()[1]["path"] == "g/b"
    assert server.get("/v1/datasets/m/nodes/g?fields=metadata").headers["etag"] == told["g"]
    feed.close()


def test_a_change_of_nothing_is_not_told(server):
    put(server, "/v1/datasets/m/nodes/a", array())
    feed = Feed(server, "m")
    assert server.request("DELETE", "/zarr/m/a/c/0/0").status == 204  # was not there
    assert server.request("PUT", "/zarr/m/a/c/0/0", None, b"bad").status == 422
    assert server.request("PUT", "/zarr/m/a/c/9/0", None, bytes(12)).status == 400
    assert server.request("PUT", "/zarr/m/a/c/0/0", {"If-Match": "*"}, bytes(12)).status == 412
    assert server.request("PUT", "/v1/datasets/m/nodes/b?dry_run=1", {"Content-Type": "application/json"}, json.dumps(GROUP).encode()).status < 300
    put(server, "/zarr/other/a/zarr.json", array())  # another dataset
    put(server, "/zarr/m/a/c/0/1", bytes(12))
    assert feed.next() == ("chunks", {"path": "a", "indices": [[0, 1]], "change": "written"})
    feed.close()


def test_a_path_picks(server):
    for name in ("a", "ab", "g/a"):
        put(server, f"/v1/datasets/m/nodes/{name}", array())
    feeds = {path: Feed(server, "m", f"?path={path}") for path in ("a", "g", "g/a")}
    for name in ("ab", "a", "g/a"):
        put(server, f"/zarr/m/{name}/c/0/0", bytes(12))
    server.request("DELETE", "/v1/datasets/m/nodes/g?recursive=1")
    server.request("DELETE", "/v1/datasets/m/nodes/a")
    assert feeds["a"].next()[1]["path"] == "a" and feeds["a"].next() == ("node", {"path": "a", "change": "deleted"})
    assert feeds["g"].next()[1]["path"] == "g/a" and feeds["g"].next()[1] == {"path": "g", "change": "deleted"}
    assert feeds["g/a"].next()[1]["path"] == "g/a" and feeds["g/a"].next()[1] == {"path": "g", "change": "deleted"}
    for feed in feeds.values():
        feed.close()


@pytest.mark.parametrize("path", ["/a", "a/", "a//b", "..", "%00", "a" * 2000])
def test_paths_that_no_node_has(server, path):
    answer = server.get(f"/v1/datasets/m/events?path={path}")
    assert answer.status == 400, answer


def test_a_returning_reader_continues(server):
    put(server, "/v1/datasets/m/nodes/a", array())
    feed = Feed(server, "m")
    put(server, "/zarr/m/a/c/0/0", bytes(12))
    assert feed.next()[1]["indices"] == [[0, 0]]
    feed.close()
    for i in (0, 1):
        put(server, f"/zarr/m/a/c/1/{i}", bytes(12))
    again = Feed(server, "m", last_id=feed.id)
    assert "event" not in again.begin
    assert [again.next()[1]["indices"] for _ in range(2)] == [[[1, 0]], [[1, 1]]]
    again.close()


@pytest.mark.parametrize("last_id", ["0", "x", "0123456789abcdef-3", "0123456789abcdef0123456789abcdef", ""])
def test_unknown_ids_are_reset(server, last_id):
    feed = Feed(server, "m", last_id=last_id)
    assert feed.begin["event"] == "reset" and feed.begin["data"] == "{}" and feed.id != last_id
    feed.close()


def test_ids_of_another_run_are_unknown(server):
    feed = Feed(server, "m")
    feed.close()
    other = Server(config={"datasets": {"m": {"location": "mem:", "writable": True}}})
    again = Feed(other, "m", last_id=feed.id)
    assert again.begin["event"] == "reset"
    again.close()
    other.stop()


def test_the_window_is_bounded():
    server = Server(config={"datasets": {"m": {"location": "mem:", "writable": True}}, "events": {"window_bytes": "4KiB"}})
    put(server, "/v1/datasets/m/nodes/a", array())
    feed = Feed(server, "m")
    feed.close()
    for _ in range(60):
        put(server, "/zarr/m/a/c/0/0", bytes(12))
    again = Feed(server, "m", last_id=feed.id)
    assert again.begin["event"] == "reset"
    again.close()
    server.stop()


def test_silence_is_broken_and_ids_go_on():
    server = Server(config={"datasets": {"m": {"location": "mem:", "writable": True}}, "events": {"heartbeat_ms": 50}})
    put(server, "/v1/datasets/m/nodes/a", array())
    feed = Feed(server, "m", "?path=b")
    first = feed.id
    put(server, "/zarr/m/a/c/0/0", bytes(12))  # not for this one, but it was read
    while feed.id == first:
        assert set(feed.block()) == {"id"}
    assert feed.comments >= 1
    feed.close()
    server.stop()


def test_slow_readers_are_cut_and_hold_little():
    server = Server(config={
        "datasets": {"m": {"location": "mem:", "writable": True}}, "events": {"window_bytes": "64KiB"}, "log": {"requests": False},
        "http": {"reader_least_bytes": 0}})
    put(server, "/v1/datasets/m/nodes/" + "/".join(["n" * 200] * 4) + "/a", array())
    slow = [Feed(server, "m", receive_bytes=1 << 16) for _ in range(8)]
    connection = server.connection()
    key = "/zarr/m/" + "/".join(["n" * 200] * 4) + "/a/c/0/0"
    before = memory_bytes(server, "VmRSS")
    kernel_bytes = int(pathlib.Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[2])  # that it may keep for one of them
    for _ in range((kernel_bytes + (1 << 20)) // len(key)):
        answer = server.request("PUT", key, None, bytes(12), connection=connection)
        assert answer.status == 200
    for feed in slow:  # whoever reads makes room, and finds that it has missed something
        feed.drain()
    wait_until(lambda: server.metrics()["zarrd_streams_cut_total"] == len(slow))
    if not is_sanitized(server):  # they keep what is freed
        assert memory_bytes(server, "VmRSS") - before < 32 << 20
    server.announced.append("cut")
    for feed in slow:
        feed.close()
    connection.close()
    server.stop()


def test_readers_are_counted_and_leave():
    server = Server(config={"datasets": {"m": {"location": "mem:"}}, "events": {"readers": 2}})
    feeds = [Feed(server, "m"), Feed(server, "m")]
    answer = server.get("/v1/datasets/m/events")
    assert answer.status == 503 and answer.code == "overloaded" and "retry-after" in answer.headers
    feeds[0].close()
    while (third := Feed(server, "m")).status != 200:  # it has been noticed
        third.close()
    third.close()
    feeds[1].close()
    server.stop()


def test_streams_hold_no_place_and_no_deadline():
    """Many of them, for longer than a request may take: others are answered, and they go on."""
    server = Server(config={
        "datasets": {"m": {"location": "mem:", "writable": True}},
        "http": {"request_ms": 200}, "admission": {"running": 1, "waiting": 0}, "events": {"heartbeat_ms": 3600000}})
    in_time = {200, 201}  # a machine that stands still makes others too late: they come again
    wait_until(lambda: server.request("PUT", "/v1/datasets/m/nodes/a", {}, json.dumps(array()).encode()).status in in_time)
    feeds = [Feed(server, "m") for _ in range(40)]
    for feed in feeds:
        while feed.comments < 4:  # each at most half of request_ms after the one before
            feed.block()
    wait_until(lambda: server.get("/v1/datasets/m/slices/a").status in in_time)
    wait_until(lambda: server.request("PUT", "/zarr/m/a/c/0/0", {}, bytes(12)).status in in_time)
    for feed in feeds:
        assert feed.next()[1]["indices"] == [[0, 0]]
        feed.close()
    server.stop()


def test_head_has_the_headers_and_no_stream(server):
    answer = server.head("/v1/datasets/m/events")
    assert answer.status == 200 and answer.headers["content-type"] == "text/event-stream" and answer.body == b""
    assert server.get("/v1/datasets/absent/events").code == "dataset_not_found"


def test_draining_ends_the_streams_at_once():
    server = Server(config={"datasets": {"m": {"location": "mem:", "writable": True}}, "http": {"drain_ms": 600000}})
    feeds = [Feed(server, "m") for _ in range(3)]
    ends = []
    readers = [threading.Thread(target=lambda feed=feed: ends.append(feed.next())) for feed in feeds]
    for reader in readers:
        reader.start()
    server.process.send_signal(signal.SIGTERM)
    for reader in readers:
        reader.join(60)
    assert ends == [None] * 3  # in good order, not cut
    for feed in feeds:
        feed.close()
    server.stop()


def test_streams_go_on_until_new_connections_are_refused():
    http = {"drain_lag_ms": 600000}
    server = Server(config={"datasets": {"m": {"location": "mem:", "writable": True}}, "http": http})
    feed = Feed(server, "m")
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "http.drain_lag_ms" in server.log)
    put(server, "/v1/datasets/m/nodes/", GROUP)
    assert feed.next()[1]["change"] == "created"
    server.process.send_signal(signal.SIGTERM)
    server.stop()
    feed.close()


def test_a_dataset_that_is_served_no_more_ends_its_streams(tmp_path):
    config = {"datasets": {"a": {"location": "mem:", "writable": True}, "b": {"location": "mem:"}}}
    server = Server(config=config)
    feeds = {d: Feed(server, d) for d in ("a", "b")}
    del config["datasets"]["b"]
    (server.folder / "config.json").write_text(json.dumps(config))
    server.process.send_signal(signal.SIGHUP)
    assert feeds["b"].next() is None
    put(server, "/zarr/a/zarr.json", GROUP)
    assert feeds["a"].next()[1]["path"] == ""
    for feed in feeds.values():
        feed.close()
    server.stop()
