"""A live zarrd, and a client that hides nothing.

The program under test is build/<preset>/zarrd (ZARRD_BINARY overrides it). Every server is checked when it stops: exit
status 0, no sanitizer report, no error in its log that the test did not announce.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "corpus"
SHARED = pathlib.Path(os.environ.get("ZARRD_SHARED", ROOT.parent / "shared")) / "data"
BINARY = pathlib.Path(os.environ.get("ZARRD_BINARY", ROOT / "build" / "dev" / "zarrd"))
STORES = BINARY.parent / "corpus" / "stores"  # unpacked by the build
# Whom raw requests of the tests are addressed to, and that all pages read, as on a server that others reach.
HOSTS = {"ZARRD_HTTP_HOSTS": "a b k x zarrd a.b-c_d", "ZARRD_HTTP_CORS_ORIGIN": "*"}
SANITIZERS = {"TSAN_OPTIONS": f"suppressions={ROOT / 'tests/support/tsan.supp'}"}
NOBODY = 65534
START_S = 60
STOP_S = 60


class Answer:
    """Status, headers (names in lower case; repeated ones joined) and body of one response."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {}
        for name, value in response.getheaders():
            name = name.lower()
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The code of a problem document."""
        assert self.headers["content-type"] == "application/problem+json", self.body[:300]
        return self.json()["code"]

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:300]!r}>"


class RawClient:
    """A keep-alive connection as a socket: requests go out byte for byte."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=180)
        self.file = self.socket.makefile("rb")

    def send(self, request):
        self.socket.sendall(request)

    def receive(self):
        """Status and body of one response that has a Content-Length, or none for want of a body."""
        status = int(self.file.readline().split()[1])
        length = 0
        while line := self.file.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return status, b"" if status == 304 else self.file.read(length)


class Server:
    """One running zarrd."""

    def __init__(self, *arguments, config=None, environment=None, binary=BINARY, faults=None, as_nobody=False):
        """faults: switches of disk_fault.c that are on from the beginning; {} for none yet. as_nobody: not as root."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="zarrd-test-"))
        port_file = self.folder / "port"
        command = [str(binary), "--listen", "127.0.0.1:0", "--port-file", str(port_file)]
        if config is not None:
            path = self.folder / "config.json"
            path.write_text(json.dumps(config))
            command += ["--config", str(path)]
        command += [str(argument) for argument in arguments]
        if as_nobody and os.geteuid() == 0:
            self.folder.chmod(0o777)
            command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *command]
        self.log_path = self.folder / "log"
        self.announced = []
        self.faults = self.folder / "faults"
        if faults is not None:
            environment = {**(environment or {}), **self._faulty(binary)}
            for name, text in faults.items():
                self.fault(name, text)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**SANITIZERS, **HOSTS, **os.environ, **(environment or {})})
        self.port = self._wait_for_port(port_file)

    def _faulty(self, binary):
        """The environment in which system calls obey self.faults."""
        self.faults.mkdir()
        options = os.environ.get("ASAN_OPTIONS", "")
        return {"LD_PRELOAD": str(binary.parent / "zarrd-disk-fault.so"), "ZARRD_FAULTS": str(self.faults),
                "ASAN_OPTIONS": ":".join([*filter(None, [options]), "verify_asan_link_order=0"])}

    def fault(self, name, text=""):
        """Turn a switch of disk_fault.c on; the text is the errno that it gives, and what may follow there."""
        (self.faults / f".{name}").write_text(str(text))
        (self.faults / f".{name}").rename(self.faults / name)

    def no_fault(self, name):
        (self.faults / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def faulting(self, name, text=""):
        self.fault(name, text)
        try:
            yield
        finally:
            self.no_fault(name)

    def until_waiting(self, call):
        """Until one of those calls hangs."""
        end = time.monotonic() + START_S
        while not (self.faults / f"{call}.waiting").exists():
            assert time.monotonic() < end and self.process.poll() is None, f"nobody calls {call}"
            time.sleep(0.002)

    def _wait_for_port(self, port_file):
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if port_file.exists():
                return int(port_file.read_text().split()[0])
            if self.process.poll() is not None:
                break
            time.sleep(0.002)
        self.process.kill()
        raise RuntimeError(f"zarrd did not start:\n{self.log}")

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)

    def request(self, method, target, headers=None, body=None, connection=None):
        """One request; the target goes out exactly as given."""
        own = connection or self.connection()
        own.putrequest(method, target, skip_accept_encoding=True)
        if body is not None:
            own.putheader("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            own.putheader(name, value)
        own.endheaders(body)
        answer = Answer(own.getresponse())
        if connection is None:
            own.close()
        return answer

    def get(self, target, headers=None, **more):
        return self.request("GET", target, headers, **more)

    def head(self, target, headers=None, **more):
        return self.request("HEAD", target, headers, **more)

    def post(self, target, document, headers=None):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.request("POST", target, {"Content-Type": "application/json", **(headers or {})}, body)

    def metrics(self):
        """Every sample of /metrics, summed over its labels."""
        sums = {}
        for line in self.get("/metrics").body.decode().splitlines():
            match = re.fullmatch(r"([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)", line)
            if match:
                sums[match[1]] = sums.get(match[1], 0) + float(match[3])
        return sums

    @contextlib.contextmanager
    def cost(self):
        """`with server.cost() as cost: ...` then cost["zarrd_store_reads_total"] is what the block cost."""
        self.get("/v1/datasets")  # what the start has read is counted by then
        before = self.metrics()
        spent = {}
        yield spent
        after = self.metrics()
        spent.update({name: value - before.get(name, 0) for name, value in after.items()})

    def abandon(self):
        """After SIGKILL: no status and no log is asked for, but sanitizers' reports."""
        self.process.wait(STOP_S)
        self._check_reports(self.log)
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self):
        """SIGTERM, and what the server left behind."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"zarrd did not stop within {STOP_S} s:\n{self.log[-3000:]}") from None
        log = self.log
        shutil.rmtree(self.folder, ignore_errors=True)
        self._check_reports(log)
        assert status == 0, f"exit status {status}:\n{log[-3000:]}"

    @staticmethod
    def _check_reports(log):
        report = re.search(r"(WARNING: ThreadSanitizer|==\d+==ERROR|[^\n]*runtime error)(.*)", log, re.DOTALL)
        assert report is None, report[0][:8000]


def cases(folder):
    """The cases of a collection: tests/corpus, or the shared one."""
    path = folder / "cases.json"
    return json.loads(path.read_text()) if path.exists() else []
