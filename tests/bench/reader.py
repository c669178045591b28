"""A client that reads one or many large answers and watches what the server does meanwhile."""

import http.client
import selectors
import socket
import time

BLOCK_BYTES = 1 << 20
DEADLINE_S = 300


def head(target):
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def timed(port, target, expected):
    """Read one answer whole: (seconds to the first byte of the body, to the last)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    body = bytearray(len(expected))
    began = time.perf_counter()
    connection.request("GET", target)
    response = connection.getresponse()
    assert response.status == 200, response.status
    n = response.readinto(memoryview(body)[:1])
    first = time.perf_counter() - began
    while n < len(body):
        got = response.readinto(memoryview(body)[n:n + BLOCK_BYTES])
        assert got > 0, f"{n} of {len(body)} bytes"
        n += got
    whole = time.perf_counter() - began
    assert response.read() == b"" and bytes(body) == expected, "wrong bytes"
    connection.close()
    return first, whole


class Stream:
    """One of many answers that are read at the same time."""

    def __init__(self, port, target):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self.socket.sendall(head(target))
        self.socket.setblocking(False)
        self.before_body = b""
        self.status = None
        self.n = 0  # bytes of the body
        self.outcome = None  # complete, refused, broken or wrong

    def take(self, bytes_read, expected):
        """Some more bytes; expected is a numpy array."""
        if self.status is None:
            self.before_body += bytes_read.tobytes()
            headers, ending, rest = self.before_body.partition(b"\r\n\r\n")
            if not ending:
                return
            self.status = int(headers.split()[1])
            bytes_read = type(expected)((0,), "u1") if not rest else bytes_read[len(bytes_read) - len(rest):]
        if self.status == 503:
            self.outcome = "refused"
        elif self.status != 200 or not (bytes_read == expected[self.n:self.n + len(bytes_read)]).all():
            self.outcome = "wrong"
        self.n += len(bytes_read)
        if self.outcome is None and self.n == len(expected):
            self.outcome = "complete"


def read_together(port, target, expected, n_streams):
    """How many of the answers came to which end."""
    import numpy as np

    expected = np.frombuffer(expected, "u1")
    block = np.empty(BLOCK_BYTES, "u1")
    streams = [Stream(port, target) for _ in range(n_streams)]
    end = time.monotonic() + DEADLINE_S
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.socket, selectors.EVENT_READ, stream)
        while selector.get_map() and time.monotonic() < end:
            for key, _ in selector.select(timeout=1):
                advance(key.data, block, expected)
                if key.data.outcome:
                    selector.unregister(key.fileobj)
                    key.data.socket.close()
    outcomes = [stream.outcome or "hanging" for stream in streams]
    return {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}


def advance(stream, block, expected):
    try:
        n = stream.socket.recv_into(block)
    except OSError:
        n = 0
    if n == 0:
        stream.outcome = "broken"
    else:
        stream.take(block[:n], expected)
