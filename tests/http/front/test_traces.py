"""Traces: traceparent in and out, spans as a strict collector takes them, and collectors that do not."""

import re
import socket

import numpy as np
import pytest
from arrays import write_gzipped
from client import DEADLINE_S, wait_until
from collector import Collector
from origin import Origin

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"
SLICE = "/v1/datasets/d/slices/?slice="
OFTEN = ("--set", "trace.send_ms=10")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    write_gzipped(folder, np.arange(64 * 64, dtype="<f4").reshape(64, 64), (16, 16))
    return folder


@pytest.fixture(scope="module")
def collector():
    with Collector() as running:
        yield running


@pytest.fixture(scope="module")
def traced(serve_module, store, collector):
    """A server that traces whatever asks for it, and nothing else."""
    return serve_module(f"d={store}", "--set", f"trace.url={collector.url}", "--set", "trace.per_million=0", *OFTEN)


def test_a_request_with_a_sampled_parent_is_a_span_of_its_trace(traced, collector):
    answer = traced.get(SLICE + "0:20", {"traceparent": SAMPLED, "X-Request-Id": "slice-1"})
    root, children = collector.of_request("slice-1")
    assert (root.trace, root.parent, root.kind, root.code) == (TRACE, SPAN, 2, 0)
    assert root.name == "GET /v1/datasets/{d}/slices/{path}"
    expected = {"http.request.method": "GET", "http.route": "/v1/datasets/{d}/slices/{path}", "http.response.status_code": 200,
                "http.response.body.size": len(answer.body), "zarrd.dataset": "d", "zarrd.request_id": "slice-1"}
    assert expected.items() <= root.attributes.items()
    assert {child.trace for child in children} == {TRACE}
    names = [child.name for child in children]
    assert {"store", "decode", "encode"} <= set(names) and names.count("decode") == 8  # two rows of four chunks
    assert all(root.began_ns <= child.began_ns and child.ended_ns <= root.ended_ns for child in children)
    assert f'traceparent;desc="00-{TRACE}-{root.id}-01"' in answer.headers["server-timing"]  # for the page that asked


def test_prepared_answers_and_problems_are_traced_too(traced, collector):
    for n in range(2):
        traced.get("/v1/datasets/d/nodes/", {"traceparent": SAMPLED, "X-Request-Id": f"node-{n}"})
        root, _ = collector.of_request(f"node-{n}")
        assert root.attributes["http.response.status_code"] == 200 and root.attributes["zarrd.dataset"] == "d"
    traced.get("/v1/datasets/d/slices/?slice=word", {"traceparent": SAMPLED, "X-Request-Id": "bad"})
    root, _ = collector.of_request("bad")
    assert root.attributes["error.type"] == "bad_slice" and root.code == 0  # the client's fault, not ours


def test_a_path_without_a_route_repeats_no_word_of_the_client(traced, collector):
    traced.request("FROB", "/secret?access_token=secret", {"traceparent": SAMPLED, "X-Request-Id": "odd"})
    root, _ = collector.of_request("odd")
    assert root.name == "HTTP" and root.attributes["http.request.method"] == "_OTHER"
    assert "secret" not in str(root.attributes)


@pytest.mark.parametrize("header", [UNSAMPLED, SAMPLED.upper(), SAMPLED + "-x", SAMPLED[:-1], "00-" + "0" * 32 + f"-{SPAN}-01", "", "ff" + SAMPLED[2:]])
def test_other_requests_are_not_traced(traced, collector, header):
    name = f"untraced-{abs(hash(header))}"
    traced.get("/livez", {"traceparent": header, "X-Request-Id": name})
    traced.get("/livez", {"traceparent": SAMPLED, "X-Request-Id": f"{name}-after"})
    collector.of_request(f"{name}-after")
    assert not [span for span in collector.spans if span.attributes.get("zarrd.request_id") == name]


def test_two_parents_are_none(traced, collector):
    with socket.create_connection(("127.0.0.1", traced.port)) as client:
        client.sendall(f"GET /livez HTTP/1.1\r\nHost: a\r\ntraceparent: {SAMPLED}\r\ntraceparent: {SAMPLED}\r\nX-Request-Id: two-parents\r\n"
                       "Connection: close\r\n\r\n".replace("Host: a", "Host: localhost").encode())
        while client.recv(4096):
            pass
    traced.get("/livez", {"traceparent": SAMPLED, "X-Request-Id": "one-parent"})
    collector.of_request("one-parent")
    assert not [span for span in collector.spans if span.attributes.get("zarrd.request_id") == "two-parents"]


def test_chance_decides_where_nobody_says(serve, store, collector):
    server = serve(f"d={store}", "--set", f"trace.url={collector.url}", "--set", "trace.per_million=1000000", *OFTEN)
    server.get("/livez", {"X-Request-Id": "chance"})
    root, _ = collector.of_request("chance")
    assert root.parent is None
    server.get("/livez", {"X-Request-Id": "parent-says-no", "traceparent": UNSAMPLED})
    server.get("/livez", {"X-Request-Id": "chance-2"})
    other, _ = collector.of_request("chance-2")
    assert other.trace != root.trace and other.id != root.id
    assert not [span for span in collector.spans if span.attributes.get("zarrd.request_id") == "parent-says-no"]


def test_stores_and_the_log_learn_the_trace(serve, store, collector):
    with Origin(store) as origin:
        server = serve(f"d={origin.url}", "--set", f"trace.url={collector.url}", "--set", "trace.per_million=0", "--set", "log.format=json", *OFTEN)
        server.get(SLICE + "0:1,0:1", {"traceparent": SAMPLED, "X-Request-Id": "remote"})
        root, _ = collector.of_request("remote")
        sent = [request.headers.get("traceparent") for request in origin.requests if "/c/" in request.path or "c/0" in request.path]
        assert sent and set(sent) == {f"00-{TRACE}-{root.id}-01"}
        wait_until(lambda: f'"trace_id":"{TRACE}"' in server.log)
        origin.requests.clear()
        server.get(SLICE + "60:61,60:61", {"traceparent": UNSAMPLED})  # passed on as it is
        assert {request.headers.get("traceparent") for request in origin.requests if "c/3/3" in request.path} == {UNSAMPLED}
        origin.requests.clear()
        server.get(SLICE + "60:61,0:1")
        assert {request.headers.get("traceparent") for request in origin.requests if "c/3/0" in request.path} == {None}


def dropped(server, reason):
    return int(re.search(rf'zarrd_trace_spans_dropped_total{{reason="{reason}"}} (\d+)', server.get("/metrics").body.decode())[1])


def test_nothing_waits_for_a_collector_that_hangs(serve, store):
    """What exceeds the queue is dropped and counted; the process ends within its time."""
    with Collector(hold=True) as hanging:
        server = serve(f"d={store}", "--set", f"trace.url={hanging.url}", "--set", "trace.per_million=1000000", "--set", "trace.spans=16",
                       "--set", "trace.wait_ms=600000", *OFTEN)
        server.get("/livez")
        wait_until(lambda: hanging.n_batches == 1)
        for _ in range(40):
            assert server.get("/livez").status == 200
        assert dropped(server, "queue_full") >= 20
        server.process.terminate()
        assert server.process.wait(DEADLINE_S) == 0  # not after trace.wait_ms


def test_a_collector_that_is_gone_or_refuses_costs_its_spans_alone(serve, store):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/traces"
    with Collector(status=503) as refusing:
        for url in (nobody, refusing.url):
            server = serve(f"d={store}", "--set", f"trace.url={url}", "--set", "trace.per_million=1000000", *OFTEN)
            assert server.get(SLICE + "0:20").status == 200
            wait_until(lambda server=server: dropped(server, "collector") > 0)
            assert server.metrics()["zarrd_trace_spans_sent_total"] == 0


def test_the_last_spans_are_sent_at_the_end(serve, store):
    with Collector() as last:
        server = serve(f"d={store}", "--set", f"trace.url={last.url}", "--set", "trace.per_million=1000000", "--set", "trace.send_ms=600000")
        server.get("/livez", {"X-Request-Id": "last"})
        server.process.terminate()
        assert server.process.wait(DEADLINE_S) == 0
        last.of_request("last")


@pytest.mark.parametrize("url", ["ftp://a/", "collector", "http://", "http:///v1/traces", "http://me:word@a/", "http://a/ b"])
def test_a_bad_collector_url_is_refused_at_the_start(serve, store, url):
    with pytest.raises(RuntimeError, match="trace.url"):
        serve(f"d={store}", "--set", f"trace.url={url}")
