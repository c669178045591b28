"""The servers that are compared: each on a free port of the loopback, one process on one core."""

import contextlib
import importlib.util
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from live import Server
from proc import Group, pinned

START_S = 30

NGINX = """
{user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
error_log {folder}/error.log;
pid {folder}/pid;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    log_not_found off;
    server_tokens off;
    default_type application/octet-stream;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    open_file_cache max=200000 inactive=600s;
    open_file_cache_valid 60s;
    open_file_cache_errors on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {options}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        root {root};
        {location}
    }}
}}
"""
NGINX_PUT = "dav_methods PUT; client_max_body_size 64m; client_body_buffer_size 128k;"

NGINX_OPTIONS = {
    "nginx sendfile+nopush": "sendfile on; tcp_nopush on;",
    "nginx sendfile": "sendfile on; tcp_nopush off;",
    "nginx": "sendfile off;",
}

H2O = """
listen: {{ host: 127.0.0.1, port: {port} }}
num-threads: 1
http1-request-timeout: 600
pid-file: {folder}/pid
error-log: {folder}/error.log
{user}
hosts:
  default:
    paths:
      "/":
        file.dir: {root}
        file.send-compressed: OFF
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_open(port, process, log):
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.002)
    process.kill()
    process.wait()
    raise RuntimeError(f"{process.args[0]} did not start:\n{log.read_text(errors='replace')}")


class Program:
    """A server that is not zarrd. `command` is a function of port and folder."""

    def __init__(self, name, command, core=None, port=None):
        self.name = name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="zarrd-bench-"))
        self.folder.chmod(0o755)
        self.port = port or free_port()
        self.log = self.folder / "log"
        with open(self.log, "wb") as log, pinned(core):
            self.process = subprocess.Popen(command(self.port, self.folder), stdout=log, stderr=log)
        wait_until_open(self.port, self.process, self.log)
        self.group = Group(self.process.pid)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(START_S)
        finally:
            self.process.kill()
            shutil.rmtree(self.folder, ignore_errors=True)


stalls = []  # (longest turn of the loop in seconds, name) of each zarrd that has stopped


class Zarrd:
    """A zarrd that writes no request lines, as the others write none."""

    def __init__(self, name, binary, datasets, *settings, core=None, config=None, environment=None):
        self.name = name
        arguments = [word for setting in ("log.requests=false", *settings) for word in ("--set", setting)]
        with pinned(core):
            self.server = Server(*arguments, *[f"{dataset}={path}" for dataset, path in datasets.items()], binary=binary, config=config,
                                 environment=environment)
        self.port = self.server.port
        self.group = Group(self.server.process.pid)

    def has_ended(self):
        return self.server.process.poll() is not None

    def stop(self):
        if not self.has_ended():
            stalls.append((self.server.metrics().get("zarrd_loop_stall_longest_seconds", 0), self.name))
        self.server.stop()


def write_config(template, folder, **more):
    path = folder / "conf"
    path.write_text(template.format(folder=folder, **more))
    return str(path)


def nginx_command(root, options, location=""):
    user = "user root;" if os.geteuid() == 0 else ""

    def command(port, folder):
        path = write_config(NGINX, folder, port=port, root=root, options=options, user=user, location=location)
        return ["nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", path]

    return command


def h2o_command(root):
    user = "user: root" if os.geteuid() == 0 else ""
    return lambda port, folder: ["h2o", "-m", "worker", "-c", write_config(H2O, folder, port=port, root=root, user=user)]


def file_servers(root):
    """Every server at hand that sends the files below root, as (name, command)."""
    found = []
    if shutil.which("nginx"):
        found += [(name, nginx_command(root, options)) for name, options in NGINX_OPTIONS.items()]
    if shutil.which("h2o"):
        found.append(("h2o", h2o_command(root)))
    return found


def dav_servers(root):
    """Every server at hand that stores files below root, as (name, command). Bodies rest beside them: one rename stores them."""
    found = []
    if shutil.which("nginx"):
        put = f"{NGINX_PUT} client_body_temp_path {root}/body;"
        found.append(("nginx WebDAV", nginx_command(root, "sendfile off;", put)))
    return found


def slice_servers(folder_of_data):
    """The Python slice server beside this file, as (name, command), where its libraries are installed."""
    script = pathlib.Path(__file__).with_name("slice_server.py")
    if not all(importlib.util.find_spec(name) for name in ("fastapi", "uvicorn", "zarr")):
        return []
    return [("fastapi+zarr", lambda port, _: [sys.executable, str(script), str(folder_of_data), str(port)])]


def zarrds(options, datasets, *settings):
    """For running(): each program that is measured."""
    return [lambda core, name=name, binary=binary: Zarrd(name, binary, datasets, *settings, core=core)
            for name, binary in options.binaries]


def programs(commands):
    """For running(): each (name, command)."""
    return [lambda core, name=name, command=command: Program(name, command, core) for name, command in commands]


@contextlib.contextmanager
def running(starts, options):
    """`with running([...], options) as peers`: starts each (a function of the core it is to run on), stops them all."""
    with contextlib.ExitStack() as stack:
        peers = []
        for start in starts:
            peer = start(options.server_core)
            stack.callback(peer.stop)
            peers.append(peer)
        yield peers
