"""The front itself: command line, bodies, ids, CORS, deadlines, signals, log, metrics."""

import base64
import contextlib
import gzip
import hashlib
import http.client
import json
import re
import signal
import socket
import subprocess
import threading

import numpy as np
import pytest
from arrays import write_array
from client import DEADLINE_S, until_under_way, wait_until
from documents import GZIP, LITTLE
from live import BINARY, RawClient

KEY = "/zarr/codecs/zarr.json"
DECLARED = ("etag content-range content-length content-encoding accept-ranges last-modified date retry-after server-timing "
            "x-request-id zarr-shape zarr-dtype zarr-data-type zarr-dimensions zarr-selection zarr-fill-value zarr-chunks "
            "zarr-origin zarr-warning").split()


LAST = b"GET /v1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def exchange(server, data, n_answers):
    """Raw bytes out; the statuses of n answers back, and whether the server has hung up after them: else it answers once more."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
        s.sendall(data)
        received = b""
        while len(found := re.findall(rb"HTTP/1.1 (\d{3})", received)) < n_answers and (piece := s.recv(65536)):
            received += piece
        with contextlib.suppress(OSError):
            s.sendall(LAST)
            while piece := s.recv(65536):
                received += piece
    found = [int(status) for status in re.findall(rb"HTTP/1.1 (\d{3})", received)]
    return found[:n_answers], len(found) == n_answers


def run(*arguments, environment=None):
    return subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize("target", ["/livez", KEY, "/zarr/codecs/absent", "/nope", "/v1/datasets//x", "/v1/limits?nope=1"])
def test_every_answer_has_cors_headers_and_an_id(server, target):
    for _ in range(2):  # the second one may be kept
        for answer in (server.get(target), server.head(target)):
            assert answer.headers["access-control-allow-origin"] == "*"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] and answer.headers["date"]
            exposed = answer.headers["access-control-expose-headers"].lower().replace(",", "").split()
            assert set(DECLARED) <= set(exposed)
            assert re.fullmatch(r"[A-Za-z0-9._-]{1,128}", answer.headers["x-request-id"])


@pytest.mark.parametrize("target", ["/", "/explore/codecs", "/docs", "/zarr/", "/zarr/codecs/", "/zarr/codecs/gzip_6/", "/v1/nothing", "/zarr/none/"])
def test_no_page_is_framed_or_tells_its_url(server, target):
    for _ in range(2):
        answer = server.get(target, {"Accept": "text/html,*/*;q=0.8"})
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert answer.headers["content-type"] == "text/html; charset=utf-8" and answer.headers["referrer-policy"] == "no-referrer"
        assert {policy[name] for name in ("default-src", "base-uri", "form-action", "frame-ancestors")} == {"'none'"}
        styles = re.findall(r"<style>(.*?)</style>", answer.body.decode())
        assert all(base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy["style-src"] for style in styles)


@pytest.mark.parametrize("target", [KEY, "/zarr/codecs/absent", "/livez"])
@pytest.mark.parametrize("sent, kept", [("a", True), ("0123456789abcdef", True), ("A.b_c-9" * 18, True), ("x" * 128, True),
                                        ("x" * 129, False), ("a b", False), ("a/b", False), ("é".encode().decode("latin-1"), False)])
def test_a_well_formed_id_of_the_client_is_kept(server, target, sent, kept):
    for _ in range(2):
        answer = server.get(target, {"X-Request-Id": sent})
        own = answer.headers["x-request-id"]
        assert (own == sent) == kept
        if answer.status == 404:
            assert answer.json()["instance"] == own


def test_ids_that_are_made_differ(server):
    ids = [server.get(KEY).headers["x-request-id"] for _ in range(50)]
    assert len(set(ids)) == 50


@pytest.mark.parametrize("target", ["/livez", "/no/such/thing", "/zarr/codecs/a%2fb", "*"])
def test_options_works_everywhere(server, target):
    answer = server.request("OPTIONS", target, {"Access-Control-Request-Headers": "range, authorization",
                                                "Access-Control-Request-Private-Network": "true"})
    assert answer.status == 204 and answer.body == b""
    allowed = answer.headers["access-control-allow-methods"].replace(",", "").split()
    assert {"GET", "HEAD", "OPTIONS"} <= set(allowed) and answer.headers["allow"].replace(",", "").split() == allowed
    assert answer.headers["access-control-allow-headers"] == "range, authorization"
    assert answer.headers["access-control-allow-private-network"] == "true"
    assert int(answer.headers["access-control-max-age"]) >= 7200


READS = "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("target, writable, readable", [
    ("/livez", READS, READS),
    ("/zarr/{}/a/zarr.json", "GET, HEAD, PUT, DELETE, OPTIONS", READS),
    ("/zarr/{}/", "GET, HEAD, PUT, DELETE, OPTIONS", READS),
    ("/v1/datasets/{}/nodes/a", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS", READS),
    ("/v1/datasets/{}/slices/a?slice=0", "GET, HEAD, PUT, POST, OPTIONS", "GET, HEAD, POST, OPTIONS"),
    ("/v1/datasets/{}/chunks/a", "GET, HEAD, PUT, DELETE, POST, OPTIONS", "GET, HEAD, POST, OPTIONS"),
    ("/v1/datasets/{}/consolidate/", "POST, OPTIONS", "OPTIONS"),
])
def test_options_tells_what_the_path_takes(serve, tmp_path, target, writable, readable):
    config = {"datasets": {"w": {"location": "mem:", "writable": True}, "r": {"location": str(tmp_path)}}}
    server = serve(config=config)
    for name, expected in [("w", writable), ("r", readable)]:
        answer = server.request("OPTIONS", target.format(name))
        methods = set(expected.split(", "))
        assert set(answer.headers["allow"].split(", ")) == set(answer.headers["access-control-allow-methods"].split(", ")) == methods
        refused = server.request("PATCH" if "PATCH" not in writable else "POST", target.format(name))
        assert refused.status == 405 and set(refused.headers["allow"].split(", ")) <= set(writable.split(", "))


@pytest.mark.parametrize("head", [
    b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    b"GET /zarr/codecs/zarr.json HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    b"DELETE /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"PATCH /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
])
def test_a_body_that_nobody_wants_is_not_the_next_request(server, head):
    statuses, closed = exchange(server, head + b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", 2)
    assert len(statuses) == 2 and statuses[1] == 200 and not closed


def test_a_body_too_large_is_refused_before_it_is_sent(server):
    head = b"POST /v1/datasets/codecs/slices/gzip_1 HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n"
    assert exchange(server, head, 1) == ([413], True)


def test_a_body_too_large_comes_with_the_limit(server):
    # The client waits for 100: a body under way would race with the end of the connection.
    answer = server.request("POST", "/v1/datasets/codecs/slices/gzip_1", {"Content-Length": "99999999", "Expect": "100-continue"})
    assert answer.status == 413 and answer.code == "too_large" and answer.json()["limit"] == 1 << 20


def test_a_chunked_body_too_large_is_refused(server):
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    head = b"POST /v1/datasets/codecs/slices/gzip_1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    statuses, closed = exchange(server, head + piece * 17 + b"0\r\n\r\n", 1)
    assert statuses == [413] and closed


def test_a_put_body_too_large_is_refused_before_it_is_sent(server):
    head = b"PUT /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n"
    assert exchange(server, head, 1) == ([413], True)


def test_a_put_body_too_large_is_answered_while_it_is_sent(server):
    """The answer is not lost to the reset that closing with bytes unread would be."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
        s.sendall(b"PUT /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 500000)
        answer = http.client.HTTPResponse(s)
        answer.begin()
        document = json.loads(answer.read())
    assert answer.status == 413 and document["code"] == "too_large" and document["requested"] == 99999999
    assert answer.headers["connection"] == "close" and answer.headers["x-request-id"] == document["instance"]


def test_a_chunked_put_body_too_large_is_refused(server):
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    head = b"PUT /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    statuses, closed = exchange(server, head + piece * 20, 1)
    assert statuses == [413] and closed


def test_a_chunked_put_body_a_little_too_large_does_not_cost_the_connection(server):
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    head = b"PUT /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    behind = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
    statuses, closed = exchange(server, head + piece * 16 + b"1\r\nx\r\n0\r\n\r\n" + behind, 2)
    assert statuses == [413, 200] and not closed


def test_expect_100_continue_is_answered_at_once(server):
    body = b'{"slice": "0:1", "format": "json"}'
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
        s.sendall(b"POST /v1/datasets/codecs/slices/gzip_1 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                  b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert s.recv(1000).startswith(b"HTTP/1.1 100 ")
        s.sendall(body)
        assert s.recv(1000).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("target", [
    "/", "/v1", "/v1/datasets", "/v1/datasets/codecs", "/v1/limits", "/v1/extensions", "/openapi.json",
    "/v1/datasets/codecs/chunks/gzip_1?present=1"])
def test_every_document_has_a_tag(server, target):
    answer = server.get(target)
    tag = answer.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f]{16}-.+"', tag)
    assert server.head(target).headers["etag"] == tag
    again = server.get(target, {"If-None-Match": tag})
    assert again.status == 304 and again.body == b"" and again.headers["etag"] == tag


def test_the_page_links_no_keys_that_are_not_served(serve, tmp_path):
    places = {"open": {"location": str(tmp_path)}, "closed": {"location": str(tmp_path), "allow_keys": False}}
    page = serve(config={"datasets": places}).get("/zarr/", {"Accept": "text/html"}).body.decode()
    assert 'href="/zarr/open/"' in page and "/zarr/closed/" not in page


@pytest.mark.parametrize("target, headers, status, code", [
    ("/" + "x" * 9000, {}, 414, "uri_too_long"),
    ("/livez", {"X-Long": "x" * 9000}, 431, "headers_too_large"),
])
def test_too_long_a_head_is_a_problem_document(server, target, headers, status, code):
    answer = server.get(target, headers)
    assert answer.status == status and answer.code == code
    assert answer.headers["access-control-allow-origin"] == "*"


def test_an_absolute_target_is_the_same_resource(server):
    assert server.get(f"http://localhost:1{KEY}").body == server.get(KEY).body


@pytest.mark.parametrize("path, first, is_meant", [
    ("/v1/datasets/codecs/slice/a/b", "/v1/datasets/{d}/slices/{path}", True),
    ("/v1/datasets/codecs/ndoes/", "/v1/datasets/{d}/nodes/{path}", True),
    ("/v1/dataset", "/v1/datasets", True),
    ("/v1/dataset/codecs", "/v1/datasets/{d}", True),
    ("/openapi.jsn", "/openapi.json", True),
    ("/zar/codecs/zarr.json", "/zarr/{d}/{key}", True),
    ("/something/else", None, False),
])
def test_a_mistyped_path_suggests_the_nearest_first(server, path, first, is_meant):
    answer = server.get(path)
    document = answer.json()
    assert (answer.status, document["code"]) == (404, "no_such_route")
    assert first is None or document["suggestions"][0] == first
    assert (f"did you mean '{first}'?" in document["detail"]) == is_meant == ("did you mean" in document["detail"])


@pytest.mark.parametrize("target, expected", [
    ("slices/gzip_1?slcie=0", "slice"), ("slices/gzip_1?slice=0&formt=npy", "format"), ("nodes/?field=path", "fields"),
    ("tree/?dept=1", "depth"), ("chunks/gzip_1?indx=0", "index"), ("tree/?pretyt=1", "pretty"),
    ("slices/gzip_1?slice=0&slice=0", None), ("slices/gzip_1?something_else=1", None), ("slices/gzip_1?slice=%ff", None),
])
def test_a_mistyped_parameter_suggests_the_nearest_first(server, target, expected):
    answer = server.get("/v1/datasets/codecs/" + target)
    document = answer.json()
    assert (answer.status, document["code"]) == (400, "unknown_parameter")
    assert document.get("suggestions", [None])[0] == expected
    assert ("did you mean" in document["detail"]) == (expected is not None)
    assert expected is None or f"did you mean '{expected}'?" in document["detail"]


@pytest.mark.parametrize("target", ["/zarr/{}/zarr.json", "/v1/datasets/{}", "/v1/datasets/{}/nodes/"])
@pytest.mark.parametrize("name, expected", [("codec", "codecs"), ("Codecs", "codecs"), ("ocdecs", "codecs"), ("elsewhere", None), ("x" * 500, None)])
def test_a_mistyped_dataset_suggests_the_nearest(server, target, name, expected):
    answer = server.get(target.format(name))
    document = answer.json()
    assert (answer.status, document["code"]) == (404, "dataset_not_found")
    assert document.get("suggestions", [None])[0] == expected


def test_an_unknown_path_suggests_its_neighbours(server):
    answer = server.get("/v1/dataset")
    assert answer.status == 404 and answer.code == "no_such_route"
    assert "/v1/datasets" in answer.json()["suggestions"]


def test_a_request_has_a_deadline(serve, tmp_path):
    write_array(tmp_path / "a", (4, 2048, 2048), (1, 2048, 2048), [LITTLE, GZIP])
    chunk = gzip.compress(np.random.default_rng(1).normal(size=(2048, 2048)).astype("<f4").tobytes(), 1)
    for i in range(4):
        (tmp_path / f"a/c/{i}/0").mkdir(parents=True)
        (tmp_path / f"a/c/{i}/0/0").write_bytes(chunk)
    server = serve(f"d={tmp_path}", "--set", "http.request_ms=100", "--set", "cache.decoded_bytes=0", "--set", "workers.count=1")
    statuses = []
    clients = [threading.Thread(target=lambda: statuses.append(server.get("/v1/datasets/d/slices/a")))
               for _ in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert {answer.status for answer in statuses} <= {200, 504}
    assert all(answer.code == "store_timeout" for answer in statuses if answer.status == 504)
    assert server.get("/livez").status == 200


def test_a_signal_drains_and_the_exit_status_is_0(serve, tmp_path):
    server = serve(f"d={tmp_path}")
    idle = server.connection()
    server.get("/livez", connection=idle)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(DEADLINE_S) == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), timeout=1)


def test_a_second_signal_stops_at_once(serve, tmp_path):
    server = serve(f"d={tmp_path}", "--set", "http.drain_ms=600000")
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")  # a request that never ends
        until_under_way(server, 1)
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in server.log)
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(DEADLINE_S) == 0


def start(tmp_path, *arguments, **more):
    """A server without the harness; its ports are awaited."""
    port_file = tmp_path / "port"
    process = subprocess.Popen([str(BINARY), "--port-file", str(port_file), *arguments],
                               **{"stdout": subprocess.DEVNULL, **more})
    wait_until(port_file.exists)
    return process, [int(port) for port in port_file.read_text().split()]


def test_several_addresses_are_served(tmp_path):
    process, ports = start(tmp_path, "-l", "127.0.0.1:0", "-l", "[::1]:0", f"d={tmp_path}", "--set", "http.show_locations=true")
    try:
        assert len(ports) == 2
        for host, port in zip(("127.0.0.1", "::1"), ports):
            with socket.create_connection((host, port), timeout=DEADLINE_S) as s, s.makefile("rb") as file:
                s.sendall(b"GET /v1/datasets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert str(tmp_path).encode() in file.read()
    finally:
        process.terminate()
        assert process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("arguments, words", [
    ((), "nothing to serve"),
    (("--nope",), "unknown option '--nope'"),
    (("/no/such/directory",), "/no/such/directory"),
    (("--listen", "nowhere", "/tmp"), "'nowhere' is malformed"),
    (("--set", "cache.decoded_bytes=lots", "/tmp"), "cache.decoded_bytes is 'lots'; expected 0 to 1024GiB"),
    (("--set", "http.connections=15", "/tmp"), "16 to 1000000"),
    (("--set", "memory.bytes=1GB", "/tmp"), "(bytes, or with KiB, MiB, GiB)"),
    (("--set", "http.cors_origins=https://a.example/", "/tmp"), "such as https://app.example"),
    (("a=/tmp", "a=/tmp"), "two datasets are named 'a'"),
    (("--config", "/no/such/file"), "the file cannot be opened"),
    ((__file__,), "test_front.py: not a directory"),
])
def test_bad_usage_ends_with_status_2_and_says_why(arguments, words):
    result = run(*arguments)
    assert result.returncode == 2 and result.stdout == ""
    assert words in result.stderr


@pytest.mark.parametrize("document, words", [
    ([], "the document is an array; expected an object"),
    ({"listen": 5}, "/listen is 5; expected an array of strings"),
    ({"datasets": {"a": {"location": "mem:", "extensions": "lax"}}},
     '/datasets/a/extensions is "lax"; expected "zep10" or "strict"'),
    ({"datasets": {"a": {"location": "mem:", "writable": "x" * 100}}}, "/datasets/a/writable is a string; expected true or false"),
    ({"datasets": {"a": {"location": "mem:", "revalidate_ms": -1}}}, "/datasets/a/revalidate_ms is -1; expected a number of milliseconds"),
    ({"cache": {"decoded_bytes": -1}}, "cache.decoded_bytes is '-1'; expected 0 to 1024GiB"),
    ({"cache": {"decoded": 1}}, "unknown setting /cache/decoded"),
])
def test_a_bad_configuration_names_the_place_and_the_value(tmp_path, document, words):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(document))
    result = run("--config", path, "--check-config")
    assert result.returncode == 2 and result.stdout == ""
    assert words in result.stderr


def test_check_config_prints_what_is_in_force(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"datasets": {"a": {"location": "mem:", "writable": True}}, "cache": {"decoded_bytes": "1MiB"}}))
    result = run("--config", path, "--check-config", "--set", "cache.encoded_bytes=3MiB",
                 environment={"ZARRD_CACHE_METADATA_BYTES": "2MiB", "ZARRD_PORT": "tcp://10.0.0.1:80"})
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["cache"] == {**document["cache"], "decoded_bytes": "1MiB", "encoded_bytes": "3MiB", "metadata_bytes": "2MiB"}
    assert document["datasets"]["a"]["writable"] is True
    path.write_text(result.stdout)
    assert run("--config", path, "--check-config").returncode == 0


def test_datasets_are_printed_in_the_order_given(tmp_path):
    """Roots of more files are known later; datasets without one first."""
    write_array(tmp_path / "a", np.arange(8.0), [4], [LITTLE])
    (tmp_path / "none").mkdir()
    names = [f"{word}{number}" for number in range(20) for word in ("z", "a", "m")]
    places = [f"{name}={tmp_path / ('none' if name[0] == 'a' else 'a')}" for name in names]
    process, ports = start(tmp_path, "-l", "127.0.0.1:0", *places, stdout=subprocess.PIPE)
    try:
        lines = [process.stdout.readline().split()[0].decode() for _ in range(1 + len(names))]
        assert lines == ["zarrd", *names]
        assert process.stdout.readline().decode().startswith("http://127.0.0.1:")
    finally:
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
        process.stdout.close()


def test_help_and_version():
    assert "cache.decoded_bytes" in run("--help").stdout
    assert re.fullmatch(r"zarrd \d+\.\d+\.\d+\n", run("--version").stdout)


def test_the_log_has_a_line_for_each_request(serve, tmp_path):
    server = serve(f"d={tmp_path}", "--set", "log.format=json")
    answer = server.get("/zarr/d/%22%0a")
    ident = answer.headers["x-request-id"]
    wait_until(lambda: ident in server.log)
    line = next(json.loads(line) for line in server.log.splitlines() if ident in line)
    assert line["status"] == answer.status == 400 and line["target"] == "/zarr/d/%22%0a" and line["method"] == "GET"
    assert line["code"] == "bad_path" and line["level"] == "info" and line["ts"].endswith("Z")


def test_a_log_that_nobody_reads_blocks_nothing(tmp_path):
    process, ports = start(tmp_path, "-l", "127.0.0.1:0", f"d={tmp_path}", stderr=subprocess.PIPE)
    try:
        client = RawClient(ports[0])
        for _ in range(3000):
            client.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.receive()[0] == 200
    finally:
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
        process.stderr.close()


def test_metrics_count_what_happened(serve, tmp_path):
    server = serve(f"d={tmp_path}")
    for _ in range(3):
        server.get("/livez")
    counted = 'http_request_duration_seconds_count{method="GET",route="/livez",class="2xx"} 3'
    wait_until(lambda: counted in server.get("/metrics").body.decode())  # when the answer has left
    text = server.get("/metrics").body.decode()
    assert 'zarrd_store_reads_total{dataset="d"}' in text and "zarrd_allocations_total" in text
    assert 'zarrd_cache_hits_total{cache="chunks"}' in text
    turns = [int(n) for n in re.findall(r'^zarrd_loop_stall_seconds_bucket{le="[^"]+"} (\d+)$', text, re.M)]
    assert len(turns) == 13 and turns == sorted(turns) and turns[-1] >= 3
    names = re.findall(r"^# TYPE (\S+)", text, re.M)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("rest", [b"", b"\r\n"])
@pytest.mark.parametrize("method, target", [("GET", "/livez"), ("HEAD", KEY), ("GET", KEY), ("GET", "/absent"), ("GET", "/v1/datasets")])
def test_a_client_that_sends_no_more_is_let_go_after_its_answers(serve, tmp_path, method, target, n, rest):
    """Also when its end comes together with its requests: the server sees both at once."""
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    server = serve(f"codecs={tmp_path}", "--set", "http.idle_ms=600000")
    for is_together in (True, False):
        with socket.socket() as client:
            client.settimeout(60)
            if is_together:
                server.process.send_signal(signal.SIGSTOP)
            try:
                client.connect(("127.0.0.1", server.port))
                client.sendall(f"{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * n + rest)
                client.shutdown(socket.SHUT_WR)
            finally:
                server.process.send_signal(signal.SIGCONT)
            received = b""
            while piece := client.recv(65536):  # until the server has closed
                received += piece
        assert received.count(b"HTTP/1.1 ") == n and b"HTTP/1.1 5" not in received
