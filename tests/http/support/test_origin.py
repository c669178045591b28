"""The origin of tests (support/origin.py): it answers as an HTTP server does, and each fault does what it says."""

import http.client
import socket
import ssl
import threading
import time

import pytest
from certificates import make_certificates, server_context
from client import wait_until
from origin import FAULTS, Origin, fixed, log_normal

DATA = bytes(range(200))
INDEX_LINKS = {"nginx": 'href="deep/"', "apache": 'href="deep/"', "json": '"name":"deep"'}


@pytest.fixture(scope="module")
def shared():
    with Origin() as origin:
        yield origin


@pytest.fixture
def origin(shared):
    shared.reset()
    shared.put("a/data", DATA)
    return shared


def ask(origin, path="/a/data", method="GET", body=None, **headers):
    """Status, headers and body; an exception for what is none."""
    connection = http.client.HTTPConnection("127.0.0.1", origin.port, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("asked, status, part, said", [
    ("bytes=0-9", 206, DATA[:10], "bytes 0-9/200"),
    ("bytes=190-", 206, DATA[190:], "bytes 190-199/200"),
    ("bytes=190-999", 206, DATA[190:], "bytes 190-199/200"),
    ("bytes=-5", 206, DATA[-5:], "bytes 195-199/200"),
    ("bytes=-999", 206, DATA, "bytes 0-199/200"),
    ("bytes=200-", 416, b"", "bytes */200"),
    ("bytes=-0", 416, b"", "bytes */200"),
    ("bytes=5-4", 200, DATA, None),
    ("bytes=0-1,4-5", 200, DATA, None),
    ("lines=0-1", 200, DATA, None),
])
def test_ranges_are_those_of_rfc_9110(origin, asked, status, part, said):
    answer = ask(origin, Range=asked)
    assert (answer[0], answer[2], answer[1]["Content-Range"]) == (status, part, said)


def test_conditions_compare_tags(origin):
    etag = ask(origin)[1]["ETag"]
    assert ask(origin, If_None_Match=etag)[0] == 304
    assert ask(origin, If_None_Match=f'"x", {etag}')[0] == 304
    assert ask(origin, If_None_Match='"x"')[0] == 200
    assert ask(origin, If_Match='"x"')[0] == 412
    assert ask(origin, If_Match=etag, Range="bytes=0-1")[0] == 206
    assert ask(origin, If_Range='"x"', Range="bytes=0-1")[0] == 200
    origin.put("a/data", DATA)
    assert ask(origin, If_None_Match=etag)[0] == 200


def test_head_is_get_without_a_body(origin):
    status, headers, body = ask(origin, method="HEAD")
    assert (status, headers["Content-Length"], body) == (200, "200", b"")
    assert ask(origin, method="DELETE")[0] == 405


def test_files_of_a_directory_and_in_memory(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"on disk")
    with Origin(tmp_path) as origin:
        assert ask(origin, "/deep/file")[2] == b"on disk"
        assert ask(origin, "/deep/../deep/file")[0] == ask(origin, "/deep/none")[0] == 404
        origin.put("deep/file", b"in memory")
        assert ask(origin, "/deep/fil%65")[2] == b"in memory"
        origin.put_folder(tmp_path, "/copy")
        assert ask(origin, "/copy/deep/file")[2] == b"on disk"
        assert origin.count("GET", "^/deep/file$") == 2


@pytest.mark.parametrize("index", INDEX_LINKS)
def test_directories_are_shown_as_servers_do(origin, index):
    origin.put("a/deep/file", b"")
    origin.index = index
    status, _, body = ask(origin, "/a/")
    assert status == 200 and INDEX_LINKS[index] in body.decode() and "data" in body.decode()
    assert ask(origin, "/a")[1]["Location"] == f"{origin.url}/a/"
    assert ask(origin, "/b/")[0] == 404
    origin.index = None
    assert ask(origin, "/a/")[0] == 403


def test_requests_are_on_record(origin):
    ask(origin)
    ask(origin, Range="bytes=1-2")
    ask(origin, Range="bytes=-2")
    ask(origin, "/a/", X_Some="thing")
    ask(origin, method="HEAD")
    assert [request.kind for request in origin.requests] == ["get", "range", "suffix", "list", "head"]
    wait_until(lambda: origin.n_open == 0)
    assert [request.sent for request in origin.select(path="data")] == [200, 2, 2, 0]
    assert origin.select(kind="list")[0].headers["x-some"] == "thing"
    assert len({request.connection for request in origin.requests}) == 5


def test_connections_are_kept(origin):
    connection = http.client.HTTPConnection("127.0.0.1", origin.port, timeout=60)
    for _ in range(3):
        connection.request("GET", "/a/data")
        assert connection.getresponse().read() == DATA
    connection.close()
    assert len({request.connection for request in origin.requests}) == 1


# Each fault: its options, and what a client sees of it.

def refuses(error, text=None):
    def check(origin, **headers):
        with pytest.raises(error, match=text):
            ask(origin, **headers)
    return check


def answers(status=None, body=None, headers=(), missing=(), **asked):
    def check(origin):
        found = ask(origin, **asked)
        assert status is None or found[0] == status
        assert body is None or found[2] == body
        for name, value in dict(headers).items():
            assert found[1][name] == value
        assert not [name for name in missing if name in found[1]]
    return check


def follows(origin):
    status, headers, _ = ask(origin)
    assert status == 302 and headers["Location"] == "/a/data"


def differs(origin):
    rule = origin.rules[0]
    rule.times = None
    assert ask(origin)[1]["ETag"] != ask(origin)[1]["ETag"]


def waits(origin):
    """Nothing comes before it is released."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask(origin)))
    thread.start()
    wait_until(lambda: origin.rules[0].n == 1)
    assert not answers and origin.n_open == 1
    origin.rules[0].release()
    thread.join(60)
    assert answers[0][2] == DATA


def waits_within(origin):
    with socket.create_connection(("127.0.0.1", origin.port), timeout=60) as plain:
        plain.sendall(b"GET /a/data HTTP/1.1\r\nHost: x\r\n\r\n")
        file = plain.makefile("rb")
        while file.readline().strip():
            pass
        assert file.read(7) == DATA[:7]
        wait_until(lambda: origin.requests[0].sent == 7)
        assert origin.n_open == 1
        origin.rules[0].release()
        assert file.read(193) == DATA[7:]


def is_silent(origin):
    """No byte comes; whoever goes is forgotten."""
    with socket.create_connection(("127.0.0.1", origin.port), timeout=60) as plain:
        plain.sendall(b"GET /a/data HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: origin.n_open == 1)
        plain.setblocking(False)
        with pytest.raises(BlockingIOError):
            plain.recv(1)
    wait_until(lambda: origin.n_open == 0)
    assert origin.requests[0].status is None


def takes_time(at_least_s):
    def check(origin):
        began = time.monotonic()
        assert ask(origin)[2] == DATA
        assert time.monotonic() - began >= at_least_s
    return check


def is_called(origin):
    called = []
    origin.rules[0].options = {"function": called.append}
    assert ask(origin)[0] == 200 and called[0].path == "/a/data"


SEEN = [
    ("status", {"status": 503, "retry_after": 7}, answers(503, headers={"Retry-After": "7"})),
    ("status", {"status": 403}, answers(403, b"403 Forbidden\n")),
    ("status", {"status": 429, "body": b"{}", "content_type": "application/json"}, answers(429, b"{}")),
    ("html", {}, answers(200, headers={"Content-Type": "text/html"}, missing=["ETag"])),
    ("reset", {"at": "request"}, refuses(ConnectionResetError)),
    ("reset", {"at": "header"}, refuses((ConnectionResetError, http.client.IncompleteRead))),
    ("reset", {"at": 50}, refuses((ConnectionResetError, http.client.IncompleteRead))),
    ("close", {}, refuses(http.client.RemoteDisconnected)),
    ("truncated", {"short": 3}, refuses(http.client.IncompleteRead, "197 bytes read, 3 more expected")),
    ("surplus", {"more": 2}, answers(206, DATA[:4] + b"??", {"Content-Range": "bytes 0-3/200", "Content-Length": "6"}, Range="bytes=0-3")),
    ("shortened", {}, answers(206, DATA[:3], {"Content-Range": "bytes 0-3/200", "Content-Length": "3"}, Range="bytes=0-3")),
    ("wrong_range", {}, answers(206, DATA[:4], {"Content-Range": "bytes 1-4/200"}, Range="bytes=0-3")),
    ("wrong_range", {"shift": 0, "size": 5}, answers(206, DATA[:4], {"Content-Range": "bytes 0-3/205"}, Range="bytes=0-3")),
    ("wrong_range", {"text": "bytes */x"}, answers(206, DATA[:4], {"Content-Range": "bytes */x"}, Range="bytes=0-3")),
    ("no_content_range", {}, answers(206, DATA[:4], missing=["Content-Range"], Range="bytes=0-3")),
    ("ignores_range", {}, answers(200, DATA, missing=["Content-Range"], Range="bytes=0-3")),
    ("part_as_200", {}, answers(200, DATA[:4], {"Content-Range": "bytes 0-3/200"}, Range="bytes=0-3")),
    ("other_etag", {}, differs),
    ("other_etag", {"etag": '"x"'}, answers(200, headers={"ETag": '"x"'})),
    ("weak_etag", {}, answers(200, headers={"ETag": 'W/"x"'})),
    ("no_etag", {}, answers(200, missing=["ETag"])),
    ("no_validators", {}, answers(200, missing=["ETag", "Last-Modified"])),
    ("no_length", {}, answers(200, DATA, missing=["Content-Length"])),
    ("no_length", {"short": 3}, answers(200, DATA[:-3], missing=["Content-Length"])),
    ("chunked", {}, answers(200, DATA, {"Transfer-Encoding": "chunked"}, missing=["Content-Length"])),
    ("chunked", {"short": 3}, refuses(http.client.IncompleteRead)),
    ("ignores_conditions", {}, answers(200, DATA, If_None_Match='"x"')),
    ("ignores_conditions", {}, answers(206, DATA[:1], If_Match='"y"', Range="bytes=0-0")),
    ("redirect", {}, follows),
    ("redirect", {"to": "http://localhost:1{path}", "status": 307}, answers(307, headers={"Location": "http://localhost:1/a/data"})),
    ("drip", {"every_s": 0.0001}, takes_time(0.02)),
    ("delay", {"delay_s": 0.05}, takes_time(0.05)),
    ("hold", {}, waits),
    ("hold", {"at": 7}, waits_within),
    ("black_hole", {}, is_silent),
    ("garbage", {}, refuses(http.client.BadStatusLine)),
    ("header", {"headers": {"Content-Length": "5"}}, answers(200, DATA[:5])),
    ("header", {"headers": {"Content-Type": "x/y", "ETag": None}}, answers(200, headers={"Content-Type": "x/y"}, missing=["ETag"])),
    ("call", {"function": None}, is_called),
]


@pytest.mark.parametrize("name, options, check", SEEN, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(SEEN)])
def test_a_fault_does_what_it_says_once(origin, name, options, check):
    origin.put("a/data", DATA, etag='"x"')
    rule = origin.fault(name, **options)
    check(origin)
    rule.remove()
    assert rule.n >= 1 and ask(origin)[2] == DATA


def test_every_fault_is_shown():
    assert {name for name, *_ in SEEN} == set(FAULTS)


def test_faults_are_for_whom_they_are_said(origin):
    origin.put("b", DATA)
    rule = origin.fault("status", path="^/a/", method="GET", times=2, after=1, when=lambda request: "range" in request.headers)
    assert [ask(origin, Range="bytes=0-0")[0] for _ in range(4)] == [206, 500, 500, 206]
    assert rule.n == 2 and [request.fault for request in origin.requests] == [None, "status", "status", None]
    origin.fault("status", times=None)
    assert ask(origin, "/b")[0] == ask(origin)[0] == 500
    origin.reset()
    assert ask(origin, "/b")[0] == 404


def test_a_delay_and_a_bandwidth_are_those_of_every_answer(origin):
    origin.delay = fixed(0.05)
    takes_time(0.05)(origin)
    origin.delay, origin.bandwidth = None, len(DATA) * 20
    takes_time(0.05)(origin)
    numbers = log_normal(0.03, 0.2, seed=1)
    some = sorted(numbers() for _ in range(10_000))
    assert 0.028 < some[5_000] < 0.032 and 0.17 < some[9_900] < 0.23


def test_many_connections_are_held_at_once(origin):
    rule = origin.fault("hold", times=None)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ask(origin)[2])) for _ in range(64)]
    for thread in threads:
        thread.start()
    wait_until(lambda: origin.n_open == 64)
    rule.release()
    for thread in threads:
        thread.join(60)
    assert answers == [DATA] * 64


def test_tls_with_a_certificate_of_ones_own(tmp_path):
    authority = make_certificates(tmp_path)
    with Origin(tls=server_context(tmp_path)) as origin:
        origin.put("x", b"secret")
        trusting = ssl.create_default_context(cafile=authority)
        connection = http.client.HTTPSConnection("127.0.0.1", origin.port, timeout=60, context=trusting)
        connection.request("GET", "/x")
        assert connection.getresponse().read() == b"secret" and origin.url.startswith("https:")
        connection.close()
        stranger = http.client.HTTPSConnection("127.0.0.1", origin.port, timeout=60, context=ssl.create_default_context())
        with pytest.raises(ssl.SSLCertVerificationError):
            stranger.request("GET", "/x")
