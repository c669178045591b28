"""Requests and their expected answers; checked one by one, then sent as fast as the server takes them."""

import dataclasses
import http.client
import subprocess
import tempfile

from proc import pinned

HANG_S = 40


@dataclasses.dataclass(frozen=True)
class Request:
    """One GET, or PUT of `sent`, and what must come back; body None: only the status counts."""

    target: str
    headers: tuple = ()  # of (name, value)
    status: int = 200
    body: bytes | None = None
    sent: bytes | None = None

    @property
    def method(self):
        return "GET" if self.sent is None else "PUT"

    @property
    def all_headers(self):
        return self.headers + (() if self.sent is None else (("Content-Length", str(len(self.sent))),))


@dataclasses.dataclass
class Sample:
    """What one slice of load came to."""

    n_requests: int
    seconds: float
    p50_us: float
    p99_us: float
    n_failed: int
    client_share: float  # of one core, that the client took

    @property
    def rate(self):
        return self.n_requests / self.seconds


class WrongAnswer(Exception):
    """A server answers something else than expected: nothing of it is timed."""


class Hang(Exception):
    """Load did not come to an end."""


def ask(port, request, connection=None):
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    own.putrequest(request.method, request.target, skip_accept_encoding=True)
    for name, value in request.all_headers:
        own.putheader(name, value)
    own.endheaders(request.sent)
    response = own.getresponse()
    body = response.read()
    if connection is None:
        own.close()
    return response, body


def check(name, port, requests):
    """Every request once, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for request in requests:
        response, body = ask(port, request, connection)
        if response.status != request.status:
            raise WrongAnswer(f"{name}: {request.target}: status {response.status}, {request.status} expected")
        if request.body is not None and body != request.body:
            raise WrongAnswer(f"{name}: {request.target}: {len(body)} bytes that differ from the {len(request.body)} expected")
    connection.close()


def heads(requests):
    """As zarrd-bench-load reads them."""
    return b"".join(
        "".join([f"{request.method} {request.target} HTTP/1.1\r\nHost: localhost\r\n",
                 *(f"{name}: {value}\r\n" for name, value in request.all_headers), "\r\n"]).encode()
        for request in requests)


def load(options, port, requests, seconds, n_connections=16):
    """One slice of load by zarrd-bench-load, on a core of its own; Hang when it does not end. All requests send the same."""
    with tempfile.NamedTemporaryFile() as listed, tempfile.NamedTemporaryFile() as sent:
        listed.write(heads(requests))
        listed.flush()
        sent.write(requests[0].sent or b"")
        sent.flush()
        with pinned(options.client_core):
            process = subprocess.Popen([options.client, str(port), str(n_connections), str(seconds), listed.name, sent.name],
                                       stdout=subprocess.PIPE, text=True)
        try:
            printed, _ = process.communicate(timeout=seconds + HANG_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Hang(f"the client did not end within {HANG_S} s") from None
    n_answers, us, p50_us, p99_us, n_failed, cpu_us = (int(word) for word in printed.split() or [0] * 6)
    if n_answers == 0:
        raise Hang(f"no answer from {port} to {requests[0].target}")
    return Sample(n_answers, us / 1e6, p50_us, p99_us, n_failed, cpu_us / us)
