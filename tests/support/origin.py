"""An HTTP origin for tests: files by HTTP as nginx gives them, every request on record, and faults by script.

    with Origin(folder) as origin:            # files of a directory; put() adds others, in memory
        origin.fault("status", path=r"c/0$", times=2, status=503, retry_after=1)
        ...
        assert origin.count("GET", r"c/0$") == 3

It runs on a thread of its own, is reset between tests (reset()) and shared by those of a module or a session. Whatever a fault
does is in FAULTS, and each of them is shown by tests/http/support/test_origin.py. Only the standard library is used.
"""

import asyncio
import contextlib
import dataclasses
import email.utils
import html
import http
import inspect
import math
import pathlib
import random
import re
import socket
import struct
import threading
import time
import urllib.parse

HEAD_MOST = 1 << 20  # bytes of a request line and its headers
PIECE = 16 << 10  # bytes that are sent at once where bandwidth is bounded
P99 = 2.326  # standard deviations from the median to the 99th percentile
BODILESS = (204, 304)


class Headers(dict):
    """Header fields; names are compared in lower case."""

    def __init__(self, fields=()):
        super().__init__()
        for name, value in dict(fields).items():
            self[name] = value

    def __setitem__(self, name, value):
        super().__setitem__(name.lower(), str(value))

    def __getitem__(self, name):
        return super().__getitem__(name.lower())

    def __contains__(self, name):
        return super().__contains__(name.lower())

    def get(self, name, default=None):
        return super().get(name.lower(), default)

    def pop(self, name, default=None):
        return super().pop(name.lower(), default)


@dataclasses.dataclass
class Request:
    """One request as it came, and what became of it."""

    method: str
    target: str  # as sent
    path: str  # decoded, with its first slash
    query: dict  # decoded; of a name that is repeated the last counts
    headers: Headers
    body: bytes
    connection: int  # of the origin's connections the how-manieth; two requests of one number shared it
    began: float = 0.0  # time.monotonic()
    status: int | None = None  # of the answer, once its header has been sent
    sent: int = 0  # bytes of the answer's body that have been sent
    fault: str | None = None  # the last one that was applied
    is_done: bool = False  # the answer has been sent as far as it will be
    file: object = None  # what the path names (File), or None

    @property
    def kind(self):
        """get, range, suffix, head, list, or the method in lower case."""
        if self.method != "GET":
            return self.method.lower()
        if self.path.endswith("/") or "list-type" in self.query:
            return "list"
        asked = self.headers.get("range", "")
        return "suffix" if asked.startswith("bytes=-") else "range" if asked else "get"


@dataclasses.dataclass
class Reply:
    """What is answered, and how it is sent."""

    status: int
    headers: Headers = dataclasses.field(default_factory=Headers)
    body: bytes = b""
    length: int | None = None  # Content-Length, if it is not that of the body; -1: none, and the connection closes behind the body
    is_chunked: bool = False
    raw: bytes | None = None  # sent in place of everything
    cut: int | None = None  # bytes of the body after which it ends, or all
    end: str = "keep"  # then: keep, close, reset
    before: str | None = None  # "reset" or "close" in place of the header
    every_s: float = 0.0  # a byte of the body at a time, so far apart
    hold: asyncio.Event | None = None  # nothing is sent before it is set
    hold_at: int | None = None  # bytes of the body that are sent all the same
    delay_s: float = 0.0  # before the header


@dataclasses.dataclass
class File:
    data: bytes
    etag: str | None
    modified: float | None  # seconds of the epoch


class Rule:
    """A fault for the requests that match; `n` of them have met it so far."""

    def __init__(self, origin, name, path, method, times, after, when, options):
        self.origin, self.name, self.path, self.method = origin, name, path, method
        self.times, self.after, self.when, self.options = times, after, when, options
        self.seen = self.n = 0
        self.event = None

    def takes(self, request):
        """Whether this request meets the fault; counts it."""
        if self.method and request.method not in self.method.split() or not re.search(self.path, request.path):
            return False
        if self.when and not self.when(request):
            return False
        self.seen += 1
        if self.seen <= self.after or (self.times is not None and self.n >= self.times):
            return False
        self.n += 1
        return True

    def release(self):
        """What `hold` or `black_hole` holds goes on, and nothing is held any more."""
        self.times = 0
        if self.event:
            self.origin.loop.call_soon_threadsafe(self.event.set)

    def remove(self):
        self.release()
        self.origin.rules = [rule for rule in self.origin.rules if rule is not self]


def status_fault(rule, request, reply, status=500, body=None, content_type="text/plain", retry_after=None, headers=()):
    """Another status, with a body that says so."""
    reply.status = status
    reply.body = f"{status} {phrase(status)}\n".encode() if body is None else body
    reply.headers = Headers({"Content-Type": content_type, **dict(headers)})
    if retry_after is not None:
        reply.headers["Retry-After"] = retry_after


def html_fault(rule, request, reply, status=200):
    """A page of words where data are due, as captive portals and gateways have it."""
    status_fault(rule, request, reply, status, b"<!DOCTYPE html>\n<html><body><h1>Please log in</h1></body></html>\n", "text/html")


def reset_fault(rule, request, reply, at="header"):
    """A TCP reset at "request" (no byte is answered), "header" (all of the header is sent), or after so many bytes of the body."""
    if at == "request":
        reply.before = "reset"
    else:
        reply.cut, reply.end = 0 if at == "header" else at, "reset"


def close_fault(rule, request, reply):
    """Closed properly, without an answer."""
    reply.before = "close"


def truncated_fault(rule, request, reply, short=1):
    """The header promises all, the body ends so many bytes before that, and the connection closes."""
    reply.cut, reply.end = max(0, len(reply.body) - short), "close"


def surplus_fault(rule, request, reply, more=1):
    """The body, and its Content-Length, are longer than the range or the object."""
    reply.body += b"?" * more


def shortened_fault(rule, request, reply, short=1):
    """The body and its Content-Length are shorter than the Content-Range, or the object."""
    reply.body = reply.body[:max(0, len(reply.body) - short)]


def wrong_range_fault(rule, request, reply, shift=1, size=0, text=None):
    """The Content-Range of other bytes than were asked for, or of an object of another size."""
    if (match := re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", reply.headers.get("content-range", ""))) is not None:
        first, last, whole = (int(number) for number in match.groups())
        reply.headers["Content-Range"] = text or f"bytes {first + shift}-{last + shift}/{whole + size}"


def no_content_range_fault(rule, request, reply):
    """206 without saying which bytes."""
    reply.headers.pop("content-range")


def ignores_range_fault(rule, request, reply):
    """200 and everything, whatever the range."""
    file = request.file
    if file is not None and reply.status in (206, 416):
        reply.status, reply.body = 200, file.data
        reply.headers.pop("content-range")


def part_as_200_fault(rule, request, reply):
    """A part as asked for, with the status of the whole."""
    if reply.status == 206:
        reply.status = 200


def other_etag_fault(rule, request, reply, etag=None):
    """The same bytes under a tag and a date of their own each time."""
    reply.headers["ETag"] = etag or f'"other-{rule.n}"'
    reply.headers["Last-Modified"] = date(1e9 + rule.n)


def weak_etag_fault(rule, request, reply):
    if "etag" in reply.headers:
        reply.headers["ETag"] = "W/" + reply.headers["etag"]


def no_etag_fault(rule, request, reply):
    reply.headers.pop("etag")


def no_validators_fault(rule, request, reply):
    """Neither ETag nor Last-Modified."""
    reply.headers.pop("etag")
    reply.headers.pop("last-modified")


def no_length_fault(rule, request, reply, short=0):
    """No Content-Length: the body ends with the connection, perhaps some bytes too early."""
    reply.length, reply.end = -1, "close"
    reply.body = reply.body[:max(0, len(reply.body) - short)]


def chunked_fault(rule, request, reply, short=0):
    """Transfer-Encoding: chunked; or some bytes and the end of it are missing, and the connection closes."""
    reply.is_chunked = True
    if short:
        truncated_fault(rule, request, reply, short)


def ignores_conditions_fault(rule, request, reply):
    """As if If-Match and the like had not been sent."""
    if request.file is not None:
        for name in ("if-match", "if-none-match", "if-modified-since", "if-range"):
            request.headers.pop(name)
        plain = answer_file(request, request.file)
        reply.status, reply.headers, reply.body = plain.status, plain.headers, plain.body


def redirect_fault(rule, request, reply, to=None, status=302):
    """Elsewhere: to a URL, in which {path} is the path of the request, or to itself."""
    status_fault(rule, request, reply, status)
    reply.headers["Location"] = to.format(path=request.path) if to else request.target


def drip_fault(rule, request, reply, every_s=0.05):
    """A byte of the body at a time."""
    reply.every_s = every_s


def delay_fault(rule, request, reply, delay_s=0.1):
    reply.delay_s += delay_s


def hold_fault(rule, request, reply, at=None):
    """Nothing is sent until rule.release(), or only the header and `at` bytes of the body."""
    rule.event = rule.event or asyncio.Event()
    reply.hold, reply.hold_at = rule.event, at


def black_hole_fault(rule, request, reply):
    """No answer, until the other side goes or rule.release() resets it."""
    hold_fault(rule, request, reply)
    reply.before = "reset"


def garbage_fault(rule, request, reply, raw=b"SSH-2.0-OpenSSH_9.2\r\n"):
    """Not HTTP."""
    reply.raw, reply.end = raw, "close"


def header_fault(rule, request, reply, headers=()):
    """Headers are added or replaced; None takes one away."""
    for name, value in dict(headers).items():
        reply.headers.pop(name)
        if value is not None:
            reply.headers[name] = value


def call_fault(rule, request, reply, function=None):
    """No fault: function(request) is called before the answer goes, which has been made by then."""
    function(request)


FAULTS = {name.removesuffix("_fault"): function for name, function in list(globals().items()) if name.endswith("_fault")}


def phrase(status):
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Status"


def date(seconds):
    return email.utils.formatdate(seconds, usegmt=True)


def fixed(seconds):
    """A delay for Origin.delay."""
    return lambda: seconds


def log_normal(p50_s, p99_s, seed):
    """The same with a tail; the caller prints the seed."""
    numbers, sigma = random.Random(seed), math.log(p99_s / p50_s) / P99
    return lambda: p50_s * math.exp(sigma * numbers.gauss(0, 1))


def interval(asked, size):
    """The bytes of a single range [first, end), None for no range that counts, or () for one that cannot be satisfied (RFC 9110, 14.1.2)."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked.replace(" ", "")) if asked else None
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first == "":
        return (max(0, size - int(last)), size) if int(last) and size else ()
    if last != "" and int(last) < int(first):
        return None
    return (int(first), min(size, int(last) + 1 if last else size)) if int(first) < size else ()


def tags(text):
    """The tags of a condition, with their quotes."""
    return [tag.strip() for tag in text.split(",")]


class Origin:
    """Files by HTTP/1.1 on a port of loopback."""

    def __init__(self, folder=None, tls=None):
        """folder: files of this directory; tls: an ssl.SSLContext with a certificate."""
        self.folder = pathlib.Path(folder) if folder is not None else None
        self.scheme = "https" if tls else "http"
        self.tls = tls
        self.n_connections = 0
        self.n_versions = 0
        self.reset()
        self.place = socket.socket()  # the port is ours while nobody listens
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind(("127.0.0.1", 0))
        self.port = self.place.getsockname()[1]
        self.start()

    def start(self):
        """Again after kill(), on the same port and with the same files."""
        self.loop = asyncio.new_event_loop()
        self.tasks, self.writers = set(), set()
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        self.thread = threading.Thread(target=self._run, name="origin", daemon=True)
        self.thread.start()

    def kill(self):
        """As a process that is killed: all connections are reset, and the port takes no more of them."""
        for rule in self.rules:
            rule.release()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
        assert not self.thread.is_alive()

    def reset(self):
        """As at the start: no request on record, no fault, no delay, no file in memory."""
        for rule in getattr(self, "rules", []):
            rule.release()
        self.rules, self.requests, self.files = [], [], {}
        self.delay = None  # seconds before each answer: fixed() or log_normal()
        self.bandwidth = None  # bytes a second of each connection
        self.index = "nginx"  # how directories are shown: nginx, apache, json, or None (403)

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()

    def stop(self):
        self.kill()
        self.place.close()

    # Files

    def put(self, path, data, etag=None, modified=None):
        """A file in memory, in front of one of the directory; a new tag each time unless one is given."""
        self.n_versions += 1
        self.files["/" + path.lstrip("/")] = File(bytes(data), etag or f'"{self.n_versions:x}-{len(data):x}"', modified or 1.7e9 + self.n_versions)

    def put_folder(self, folder, below=""):
        """All files of a directory, in memory."""
        folder = pathlib.Path(folder)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{below}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def remove(self, path):
        del self.files["/" + path.lstrip("/")]

    def find(self, path):
        """The file at a decoded path, or None."""
        if path in self.files:
            return self.files[path]
        place = self._place(path)
        if place is None or not place.is_file():
            return None
        state = place.stat()
        return File(place.read_bytes(), f'"{state.st_mtime_ns:x}-{state.st_size:x}"', state.st_mtime)

    def names(self, path):
        """The names directly below a path that ends with a slash, those of directories with a slash; empty if there are none."""
        found = {name + slash for name, slash, _ in (key[len(path):].partition("/") for key in list(self.files) if key.startswith(path))}
        place = self._place(path)
        if place is not None and place.is_dir():
            found.update(child.name + "/" * child.is_dir() for child in place.iterdir())
        return sorted(found)

    def _place(self, path):
        if self.folder is None or ".." in path.split("/") or "\0" in path:
            return None
        return self.folder / path.lstrip("/")

    # What tests ask and order

    def fault(self, name, path="", method=None, times=1, after=0, when=None, **options):
        """Requests meet a fault of FAULTS: those whose decoded path has the expression, of these methods ("GET HEAD"), and for which
        when(request) holds; the first `after` are left alone, then `times` meet it, or all (None). The first rule that takes a
        request counts; `call`, `delay` and `header` let it go on to the next. Returns the Rule."""
        assert name in FAULTS, f"{name} is not among {' '.join(FAULTS)}"
        rule = Rule(self, name, path, method, times, after, when, options)
        self.rules = [*self.rules, rule]
        return rule

    def select(self, method=None, path="", kind=None):
        """The requests so far: of these methods, whose decoded path has the expression, of these kinds (Request.kind)."""
        return [request for request in list(self.requests)
                if (not method or request.method in method.split()) and re.search(path, request.path)
                and (not kind or request.kind in kind.split())]

    def count(self, method=None, path="", kind=None):
        return len(self.select(method, path, kind))

    @property
    def n_open(self):
        """Requests that have come and are not answered yet."""
        return sum(not request.is_done for request in list(self.requests))

    # The server

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self._serve, sock=self.listener, ssl=self.tls, limit=HEAD_MOST))
        self.loop.run_forever()
        for writer in list(self.writers):
            with contextlib.suppress(OSError):
                end_connection(writer, "reset")
        for task in list(self.tasks):
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*self.tasks, return_exceptions=True))
        self.listener.close()
        self.loop.close()

    async def _serve(self, reader, writer):
        self.tasks.add(task := asyncio.current_task())
        self.writers.add(writer)
        self.n_connections += 1
        number = self.n_connections
        writer.transport.set_write_buffer_limits(high=0)  # drain() waits until all has been sent
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            while (request := await self._receive(reader, writer, number)) is not None:
                self.requests.append(request)
                try:
                    if not await self._respond(reader, writer, request):
                        break
                finally:
                    request.is_done = True
        writer.close()
        self.writers.discard(writer)
        self.tasks.discard(task)

    async def _receive(self, reader, writer, number):
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        method, target, _ = line.split(" ")
        headers = Headers()
        for field in fields:
            name, _, value = field.partition(":")
            headers[name] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readuntil(b"\r\n")
        elif "content-length" in headers:
            body = await reader.readexactly(int(headers["content-length"]))
        path, _, query = target.partition("?")
        fields = urllib.parse.parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
        return Request(method, target, urllib.parse.unquote(path), dict(fields), headers, body, number, time.monotonic())

    async def _respond(self, reader, writer, request):
        """Sends an answer; whether the connection lives on."""
        request.file = self.find(request.path)
        reply = self.answer(request)
        if inspect.isawaitable(reply):
            reply = await reply
        for rule in self.rules:
            if rule.takes(request):
                request.fault = rule.name
                FAULTS[rule.name](rule, request, reply, **rule.options)
                if rule.name not in ("call", "delay", "header"):
                    break
        pause = reply.delay_s + (self.delay() if self.delay else 0)
        if pause:
            await asyncio.sleep(pause)
        if reply.hold and reply.hold_at is None:
            await self._held(reader, reply.hold)
        if reply.before:
            end_connection(writer, reply.before)
            return False
        if reply.raw is not None:
            writer.write(reply.raw)
        else:
            await self._send(reader, writer, request, reply)
        await writer.drain()
        if reply.end != "keep":
            end_connection(writer, reply.end)
        return reply.end == "keep" and request.headers.get("connection", "").lower() != "close"

    async def _held(self, reader, event):
        """Until the event, or until the other side has gone."""
        gone = asyncio.ensure_future(reader.read(1))
        told = asyncio.ensure_future(event.wait())
        await asyncio.wait({gone, told}, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            told.cancel()
            raise ConnectionResetError
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone

    async def _send(self, reader, writer, request, reply):
        headers = Headers({"Date": date(time.time()), "Server": "origin", **reply.headers})
        if reply.is_chunked:
            headers["Transfer-Encoding"] = "chunked"
        elif reply.length != -1 and reply.status not in BODILESS and "content-length" not in headers:
            headers["Content-Length"] = len(reply.body) if reply.length is None else reply.length
        if reply.end != "keep":
            headers["Connection"] = "close"
        lines = [f"HTTP/1.1 {reply.status} {phrase(reply.status)}", *(f"{name.title()}: {value}" for name, value in headers.items())]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        request.status = reply.status
        has_body = request.method != "HEAD" and reply.status not in BODILESS
        body = memoryview(reply.body)[:reply.cut] if has_body else memoryview(b"")
        if not reply.is_chunked and not reply.every_s and reply.hold_at is None and not self.bandwidth:
            writer.write(head + body)
            request.sent = len(body)
            return
        writer.write(head)
        await writer.drain()
        at = 0
        while at < len(body):
            piece = body[at:at + (1 if reply.every_s else PIECE)]
            if reply.hold_at is not None and at + len(piece) > reply.hold_at:
                if at < reply.hold_at:
                    piece = body[at:reply.hold_at]
                else:
                    await self._held(reader, reply.hold)
                    reply.hold_at = None
            if pause := reply.every_s or (len(piece) / self.bandwidth if self.bandwidth else 0):
                await asyncio.sleep(pause)
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if reply.is_chunked else piece)
            await writer.drain()
            request.sent = at = at + len(piece)
        if reply.is_chunked and has_body and reply.cut is None:
            writer.write(b"0\r\n\r\n")

    # Answers

    def answer(self, request):
        """The answer without faults (Reply). Engines have their own."""
        if request.method not in ("GET", "HEAD"):
            return Reply(405, Headers({"Allow": "GET, HEAD"}))
        if request.file is not None:
            return answer_file(request, request.file)
        if request.path.endswith("/"):
            return self._answer_directory(request)
        if self.names(request.path + "/"):
            return Reply(301, Headers({"Location": f"{self.url}{request.target.partition('?')[0]}/"}))
        return Reply(404, Headers({"Content-Type": "text/html"}), b"<html><head><title>404 Not Found</title></head></html>\n")

    def _answer_directory(self, request):
        names = self.names(request.path)
        if not names:
            return Reply(404, Headers({"Content-Type": "text/html"}), b"<html><head><title>404 Not Found</title></head></html>\n")
        if self.index is None:
            return Reply(403, Headers({"Content-Type": "text/html"}), b"<html><head><title>403 Forbidden</title></head></html>\n")
        kind = "application/json" if self.index == "json" else "text/html"
        return Reply(200, Headers({"Content-Type": kind}), INDEXES[self.index](request.path, names).encode())


def answer_file(request, file):
    """GET or HEAD of a file: conditions and ranges as RFC 9110, 13.2.2 has them."""
    headers = Headers({"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes"})
    if file.etag:
        headers["ETag"] = file.etag
    if file.modified is not None:
        headers["Last-Modified"] = date(file.modified)
    asked = request.headers
    if "if-match" in asked and asked["if-match"] != "*" and file.etag not in tags(asked["if-match"]):
        return Reply(412, headers)
    if "if-none-match" in asked:
        if asked["if-none-match"] == "*" or file.etag in tags(asked["if-none-match"]):
            return Reply(304, headers)
    elif "if-modified-since" in asked and asked["if-modified-since"] == headers.get("last-modified"):
        return Reply(304, headers)
    may_be_part = "if-range" not in asked or asked["if-range"] in (file.etag, headers.get("last-modified"))
    part = interval(asked.get("range"), len(file.data)) if may_be_part and request.method == "GET" else None
    if part is None:
        return Reply(200, headers, file.data)
    if part == ():
        headers["Content-Range"] = f"bytes */{len(file.data)}"
        return Reply(416, headers)
    headers["Content-Range"] = f"bytes {part[0]}-{part[1] - 1}/{len(file.data)}"
    return Reply(206, headers, file.data[part[0]:part[1]])


def end_connection(writer, how):
    """close, or reset: whatever has not been sent yet is lost then."""
    if how == "reset":
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
    else:
        writer.close()


def nginx_index(path, names):
    rows = "".join(f'<a href="{urllib.parse.quote(name)}">{shortened(name)}</a>  19-Nov-2026 10:00  -\r\n' for name in names)
    title = f"Index of {html.escape(path)}"
    return (f'<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<h1>{title}</h1><hr><pre><a href="../">../</a>\r\n'
            f"{rows}</pre><hr></body>\r\n</html>\r\n")


def shortened(name):
    """nginx shows 50 characters of a name."""
    return html.escape(name) if len(name) <= 50 else html.escape(name[:47]) + "..&gt;"


def apache_index(path, names):
    rows = "".join(
        f'<tr><td valign="top"><img src="/icons/unknown.gif" alt="[   ]"></td><td><a href="{urllib.parse.quote(name)}">{html.escape(name)}</a>'
        '</td><td align="right">2026-11-19 10:00  </td><td align="right"> 12K</td><td>&nbsp;</td></tr>\n' for name in names)
    return (f"<!DOCTYPE HTML>\n<html>\n <head>\n  <title>Index of {html.escape(path)}</title>\n </head>\n <body>\n<table>\n"
            '<tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th><th><a href="?C=S;O=A">Size</a></th></tr>\n'
            '<tr><td>&nbsp;</td><td><a href="/">Parent Directory</a></td><td>&nbsp;</td></tr>\n'
            f"{rows}</table>\n<address>Apache/2.4.57 (Debian) Server at localhost</address>\n</body></html>\n")


def json_index(path, names):
    rows = [f'{{ "name":"{name.rstrip("/")}", "type":"{"directory" if name.endswith("/") else "file"}", "mtime":"Thu, 19 Nov 2026 10:00:00 GMT" }}'
            for name in names]
    return "[\r\n" + ",\r\n".join(rows) + "\r\n]"


INDEXES = {"nginx": nginx_index, "apache": apache_index, "json": json_index}
