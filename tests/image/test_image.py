"""What the image holds, run as a container would run it: the static program alone in an empty, read-only root, as user 10001
and as process 1, with the Dockerfile's own arguments. ZARRD_BINARY is the static program. Needs root or sudo.
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
import time

import pytest
from certificates import make_certificates, server_context
from client import DEADLINE_S, wait_until
from live import BINARY, ROOT, Server
from origin import Origin

DOCKERFILE = (ROOT / "Dockerfile").read_text()
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
BYTES_MAX = 12_500_000  # with its symbols
STRIPPED_BYTES_MAX = 9_650_000  # the image may have 10 MB, with certificates and licences; Debian 13's OpenSSL is 1 MB larger
USER = 10001

# What an engine does before it starts process 1. $1 is the root, $2 what is mounted at /data; the rest is the command.
CONTAINER = """
root=$1 data=$2; shift 2
mount --bind "$root" "$root" && mount -o remount,bind,ro,nosuid,nodev "$root"
mount --bind "$data" "$root/data" && mount -o remount,bind,ro,nosuid,nodev,noexec "$root/data"
mount -t proc proc "$root/proc"
exec setpriv --no-new-privs chroot --userspec=%d:%d --groups= "$root" "$@"
""" % (USER, USER)


def words(instruction):
    """The arguments of an instruction in exec form."""
    found = re.search(rf"^{instruction}\b.*?(\[.*\])$", DOCKERFILE, re.MULTILINE)
    return json.loads(found[1])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Container:
    """The program of the image as process 1; port 8080 of the Dockerfile is any free one here."""

    def __init__(self, folder, data):
        self.port = free_port()
        self.root = folder / "root"
        for name in ("usr/bin", "data", "proc"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(BINARY, self.root / "usr/bin/zarrd")
        self.log = open(folder / "log", "w+")
        command = self.here(words("ENTRYPOINT") + words("CMD"))
        self.outer = subprocess.Popen(
            [*AS_ROOT, "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", CONTAINER, "sh",
             str(self.root), str(data), *command], stdout=self.log, stderr=self.log)
        self.pid = self._process_1()

    def here(self, arguments):
        return [argument.replace(":8080", f":{self.port}") for argument in arguments]

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def _process_1(self):
        """The innermost child, once it listens."""
        end = time.monotonic() + DEADLINE_S
        while f":{self.port}/" not in self.text():
            assert self.outer.poll() is None and time.monotonic() < end, self.text()
            time.sleep(0.02)
        pid = self.outer.pid
        while children := pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            pid = int(children[0])
        return pid

    def status(self):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return dict(line.split(":\t", 1) for line in text.splitlines())

    def run(self, arguments):
        """A further process inside, as HEALTHCHECK starts one."""
        return subprocess.run(
            [*AS_ROOT, "nsenter", f"--target={self.pid}", "--mount", "--pid", "--root", "--wd", f"--setuid={USER}", f"--setgid={USER}",
             *self.here(arguments)], capture_output=True, text=True, timeout=60)

    def kill(self, number):
        subprocess.run([*AS_ROOT, "kill", f"-{int(number)}", str(self.pid)], check=True)

    def close(self):
        if self.outer.poll() is None:
            self.kill(signal.SIGKILL)
            self.outer.wait(DEADLINE_S)
        self.log.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    subprocess.run([os.environ["ZARRD_DEMO_BINARY"], folder / "demo.zarr"], check=True, capture_output=True)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder / "demo.zarr"


@pytest.fixture
def container(tmp_path, demo):
    trial = subprocess.run([*AS_ROOT, "unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True)
    if trial.returncode != 0:
        pytest.skip(f"this machine lets nobody make namespaces: {trial.stderr.strip()}")
    running = Container(tmp_path, demo)
    yield running
    running.close()


def test_the_program_needs_nothing_but_a_kernel():
    header = subprocess.run(["readelf", "-W", "-h", "-l", "-d", BINARY], capture_output=True, text=True, check=True).stdout
    assert "DYN" in header  # position independent
    assert "INTERP" not in header and "(NEEDED)" not in header
    assert BINARY.stat().st_size < BYTES_MAX


def test_it_leaves_the_c_librarys_calls_of_sockets_alone():
    """The C library defines a call once, under several names; a program that replaces it brings a definition without them."""
    lines = subprocess.run(["nm", BINARY], capture_output=True, text=True, check=True).stdout.splitlines()
    at = {name: address for address, _, name in (line.rsplit(" ", 2) for line in lines)}
    assert "zd_wire_recv" in at
    for call, other in (("recv", "__recv"), ("send", "__send"), ("sendmsg", "__sendmsg"), ("sendfile64", "sendfile")):
        assert at[call] == at[other] != at[f"zd_wire_{call}"]


def test_without_its_symbols_it_leaves_room_in_an_image_of_10_mb(tmp_path):
    subprocess.run(["strip", "-o", tmp_path / "zarrd", BINARY], check=True)
    assert (tmp_path / "zarrd").stat().st_size < STRIPPED_BYTES_MAX
    assert subprocess.run([tmp_path / "zarrd", "--version"], capture_output=True, check=True).stdout.startswith(b"zarrd ")


def test_it_reads_from_a_server_of_tls_that_it_may_trust(demo, tmp_path):
    authority = make_certificates(tmp_path)
    query = "solar/irradiance?slice=12&format=raw"
    with Origin(tls=server_context(tmp_path)) as origin:
        origin.put_folder(demo, "/store")
        datasets = [f"disk={demo}", *(f"{host}=https://{host}:{origin.port}/store" for host in ("localhost", "127.0.0.1"))]
        for trusted in (True, False):
            config = {"datasets": {name: {"location": location} for name, location in (each.split("=") for each in datasets)}}
            server = Server(config=config, environment={"SSL_CERT_FILE": str(authority)} if trusted else None)
            try:
                written = server.get(f"/v1/datasets/disk/slices/{query}")
                for host in ("localhost", "127.0.0.1"):
                    answer = server.get(f"/v1/datasets/{host}/slices/{query}")
                    if trusted:
                        assert (answer.status, answer.body) == (200, written.body)
                    else:
                        assert answer.status in (502, 503) and answer.code == "store_error" and "certificate" in answer.json()["detail"]
            finally:
                server.stop()
        assert origin.count("GET") > 4


def test_it_serves_as_an_ordinary_user_who_can_write_nowhere(container):
    status = container.status()
    assert status["Uid"].split() == status["Gid"].split() == [str(USER)] * 4
    assert status["NSpid"].split()[-1] == "1"
    assert int(status["CapEff"], 16) == 0 and status["NoNewPrivs"] == "1"
    slices = f"http://127.0.0.1:{container.port}/v1/datasets/data/slices/solar/irradiance"
    assert container.run(["/usr/bin/zarrd", "--health", slices + "?slice=12&format=npy"]).returncode == 0
    assert container.run(["/usr/bin/zarrd", "--health", slices + "?slice=12&format=nope"]).returncode == 1
    assert container.run(["/bin/sh", "-c", "true"]).returncode != 0
    refused = container.run(["/usr/bin/zarrd", "--listen", "127.0.0.1:0", "--port-file", "/data/port", "/data"])
    assert refused.returncode == 2 and "cannot be written" in refused.stderr


def test_its_own_health_check_is_that_of_the_image(container):
    check = words("HEALTHCHECK")
    result = container.run(check)
    assert (result.returncode, result.stderr) == (0, "")
    container.kill(signal.SIGSTOP)
    try:
        assert container.run(check).returncode == 1  # nobody answers
    finally:
        container.kill(signal.SIGCONT)
    assert container.run(check).returncode == 0


def requests_in_flight(connection):
    """The one that asks is among them; the one before it on that connection is not."""
    connection.request("GET", "/metrics")
    return int(re.search(rb"^http_requests_in_flight (\d+)$", connection.getresponse().read(), re.MULTILINE)[1])


def listens(container):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", container.port), timeout=DEADLINE_S):
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_process_1_drains_at_a_signal(container, number):
    with socket.create_connection(("127.0.0.1", container.port), timeout=DEADLINE_S) as running:
        running.sendall(b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{")
        asking = http.client.HTTPConnection("127.0.0.1", container.port, timeout=DEADLINE_S)
        wait_until(lambda: requests_in_flight(asking) == 2)
        asking.close()
        container.kill(number)
        wait_until(lambda: not listens(container))
        assert container.outer.poll() is None  # it waits for what runs
        running.sendall(b"}")
        assert running.recv(65536).startswith(b"HTTP/1.1 405 ")
    assert container.outer.wait(DEADLINE_S) == 0, container.text()


def test_the_image_has_no_instruction_that_needs_a_shell():
    final = DOCKERFILE[DOCKERFILE.index("FROM scratch"):]
    assert not re.search(r"^(RUN|SHELL)\b", final, re.MULTILINE)
    for instruction in ("ENTRYPOINT", "CMD", "HEALTHCHECK"):
        assert words(instruction)
    assert f"USER {USER}:{USER}" in final
