"""A collector of OpenTelemetry for tests: takes spans by OTLP over HTTP as JSON, and is strict about what it takes.

    with Collector() as collector:
        serve(..., "--set", f"trace.url={collector.url}")
        span = collector.span("GET /v1/datasets")

What breaks the protocol (OTLP 1.x, JSON Protobuf encoding) is answered 400 and raised by the next look at the spans.
"""

import http.server
import json
import re
import threading

from client import wait_until

ATTRIBUTE_VALUES = {"stringValue": str, "intValue": str, "boolValue": bool, "doubleValue": float}
SPAN_KEYS = {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"}


def attributes_of(items):
    found = {}
    for item in items:
        assert item.keys() == {"key", "value"} and item["key"] and item["key"] not in found, item
        ((kind, value),) = item["value"].items()
        assert type(value) is ATTRIBUTE_VALUES[kind], item
        assert kind != "intValue" or re.fullmatch(r"-?\d+", value), item  # 64 bits are strings
        found[item["key"]] = int(value) if kind == "intValue" else value
    return found


class Span:
    """One span, checked: ids in hexadecimal, nanoseconds as decimal strings."""

    def __init__(self, item):
        assert {"traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"} <= item.keys() <= SPAN_KEYS, item
        self.trace, self.id, self.parent = item["traceId"], item["spanId"], item.get("parentSpanId")
        assert re.fullmatch("[0-9a-f]{32}", self.trace) and set(self.trace) != {"0"}, item
        assert re.fullmatch("[0-9a-f]{16}", self.id) and set(self.id) != {"0"}, item
        assert self.parent is None or (re.fullmatch("[0-9a-f]{16}", self.parent) and self.parent != self.id), item
        self.name, self.kind = item["name"], item["kind"]
        assert isinstance(self.name, str) and self.name and self.kind in (1, 2, 3), item
        for key in ("startTimeUnixNano", "endTimeUnixNano"):
            assert isinstance(item[key], str) and re.fullmatch(r"[1-9]\d{18}", item[key]), item  # of this century
        self.began_ns, self.ended_ns = int(item["startTimeUnixNano"]), int(item["endTimeUnixNano"])
        assert self.began_ns <= self.ended_ns, item
        self.attributes = attributes_of(item.get("attributes", []))
        self.code = item.get("status", {}).get("code", 0)
        assert self.code in (0, 1, 2), item


class Collector:
    """`hold` set: it takes requests and does not answer; `status`: what it answers."""

    def __init__(self, hold=False, status=200):
        self.hold, self.status = hold, status
        self.released = threading.Event()
        self.taken, self.faults, self.n_batches = [], [], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/traces"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler):
        status = self.status
        try:
            body = handler.rfile.read(int(handler.headers["Content-Length"]))
            spans = self.read(handler, body)
            self.n_batches += 1
            if self.hold:
                self.released.wait()
            elif status == 200:
                self.taken.extend(spans)
        except Exception as fault:
            self.faults.append(fault)
            status = 400
        reply = b'{"partialSuccess":{}}'
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(reply)))
        handler.end_headers()
        handler.wfile.write(reply)

    @staticmethod
    def read(handler, body):
        assert handler.path == "/v1/traces" and handler.headers["Content-Type"] == "application/json"
        document = json.loads(body.decode())
        assert document.keys() == {"resourceSpans"} and document["resourceSpans"], document
        spans = []
        for resource in document["resourceSpans"]:
            assert resource.keys() == {"resource", "scopeSpans"}
            assert attributes_of(resource["resource"]["attributes"])["service.name"] == "zarrd"
            for scope in resource["scopeSpans"]:
                assert scope.keys() == {"scope", "spans"} and scope["scope"]["name"] == "zarrd" and scope["spans"]
                spans.extend(Span(item) for item in scope["spans"])
        return spans

    @property
    def spans(self):
        if self.faults:
            raise self.faults[0]
        return list(self.taken)

    def of_request(self, request_id):
        """The span of a request, and its children in the order of their beginnings; waits for them."""
        def find():
            return [span for span in self.spans if span.attributes.get("zarrd.request_id") == request_id]

        wait_until(lambda: len(find()) == 1)
        (root,) = find()
        return root, sorted((span for span in self.spans if span.parent == root.id), key=lambda span: span.began_ns)
