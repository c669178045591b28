"""haproxy and nginx as deploy/proxy configures them, on loopback, before servers that a test runs."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess

from certificates import make_certificates
from client import DEADLINE_S, wait_until
from live import ROOT

FOLDER = ROOT / "deploy" / "proxy"


def program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def replaced(text, changes):
    """Each of them is there."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


class Balancer:
    """One of them; `changes` are made to the configuration besides those of addresses and files."""

    def __init__(self, name, folder, ports, changes=None):
        self.name = name
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.authority = make_certificates(self.folder)
        self.port, self.plain_port = free_port(), free_port()
        self.configuration = self.folder / "conf"
        text = (FOLDER / {"haproxy": "haproxy.cfg", "nginx": "nginx.conf"}[name]).read_text()
        servers = {f"10.0.0.{i + 1}:8080": f"127.0.0.1:{port}" for i, port in enumerate(ports)}
        own = self._haproxy() if name == "haproxy" else self._nginx()
        self.configuration.write_text(replaced(text, {**servers, **own, **(changes or {})}))

    def _haproxy(self):
        (self.folder / "zarrd.pem").write_bytes(b"".join((self.folder / f).read_bytes() for f in ("certificate.pem", "key.pem")))
        return {"/etc/haproxy": str(self.folder), "maxconn 20000": "maxconn 2000", "bind :443": f"bind 127.0.0.1:{self.port}",
                "bind :80": f"bind 127.0.0.1:{self.plain_port}"}

    def _nginx(self):
        places = "".join(f"{kind}_temp_path {self.folder}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root; " if os.geteuid() == 0 else ""
        return {"/etc/nginx/zarrd.crt": f"{self.folder}/certificate.pem", "/etc/nginx/zarrd.key": f"{self.folder}/key.pem",
                "/var/log/nginx": str(self.folder), "listen 443": f"listen 127.0.0.1:{self.port}",
                "listen 80": f"listen 127.0.0.1:{self.plain_port}", "http {\n": f"http {{ {places}\n",
                "worker_processes auto;": f"worker_processes 2; daemon off; pid {self.folder}/pid; {user}"}

    def command(self, *arguments):
        if self.name == "haproxy":
            return [program("haproxy"), "-f", self.configuration, *arguments]
        return [program("nginx"), "-c", self.configuration, "-e", self.folder / "error.log", *arguments]

    def check(self):
        """What the program says of the configuration: (exit status, words)."""
        done = subprocess.run(self.command({"haproxy": "-c", "nginx": "-t"}[self.name]), capture_output=True, text=True, timeout=DEADLINE_S)
        return done.returncode, done.stdout + done.stderr

    def __enter__(self):
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        wait_until(self._listens)
        return self

    def _listens(self):
        assert self.process.poll() is None, self.log + self.check()[1]
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S).close()
        except ConnectionRefusedError:
            return False
        return True

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()

    @property
    def log(self):
        return (self.folder / "log").read_text()

    @property
    def url(self):
        return f"https://localhost:{self.port}"
