"""A real S3 engine: Ceph's gateway over a monitor and a store in memory, of Debian's packages, on loopback.

    cluster = Ceph(folder)        # one that runs (engines.py), or start()
    gateway = cluster.gateway()   # one more gateway, which a test may kill, start again, pause and resume
"""

import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import uuid

from s3_signature import Credential, sign

PROGRAMS = ("ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph", "ceph-authtool", "monmaptool")
BUCKET, KEY, SECRET, REGION = "test", "testkey", "testsecret", "us-east-1"
START_S = 60
CONFIGURATION = """[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]
mon initial members = a
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = {folder}/run
crash dir = {folder}/run
admin socket = {folder}/run/$name.asok
log file = {folder}/$name.log
keyring = {folder}/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
auth allow insecure global id reclaim = false
paxos propose interval = 0.02
paxos min wait = 0.01
[mon.a]
mon data = {folder}/mon
mon addr = 127.0.0.1:{v2}
[osd.0]
osd data = {folder}/osd
osd class dir = {classes}
osd objectstore = memstore
memstore device bytes = 4294967296
memstore page set = false
osd memory target = 939524096
[client]
rgw data = {folder}/run
rgw thread pool size = 64
rgw dynamic resharding = false
rgw override bucket index max shards = 1
rgw usage max shards = 1
rgw gc max objs = 1
rgw lc max objs = 1
"""
CAPABILITIES = {
    "mon.": ("mon", "allow *"), "client.admin": ("mon", "allow *", "osd", "allow *"),
    "osd.0": ("mon", "allow profile osd", "osd", "allow *"), "client.rgw": ("mon", "allow rw", "osd", "allow rwx"),
}


def missing():
    """Why there can be none here, or None."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{' '.join(absent)} not installed (deploy/packages/engines)" if absent else None


def classes():
    """Where the store's classes are: the Ceph of Debian 13 looks for them below its current directory."""
    return next(pathlib.Path("/usr/lib").glob("*/rados-classes"))


def free_ports(n):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [each.getsockname()[1] for each in sockets]


def until(condition, what):
    end = time.monotonic() + START_S
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"Ceph does not start: {what}")
        time.sleep(0.05)


def remember(folder, process):
    """For stop(), which may be another process's."""
    with open(folder / "pids", "a") as pids:
        pids.write(f"{process.pid}\n")


class Gateway:
    """One radosgw; all of a cluster have the same buckets."""

    def __init__(self, folder, port, process=None):
        self.folder, self.port, self.process = folder, port, process

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        with open(self.folder / f"gateway-{self.port}.out", "ab") as log:
            self.process = subprocess.Popen(
                ["radosgw", "-f", "-c", self.folder / "ceph.conf", "-n", "client.rgw", "--log-file", self.folder / f"gateway-{self.port}.log",
                 "--admin-socket", self.folder / f"run/gateway-{self.port}.asok", "--rgw-frontends", f"beast endpoint=127.0.0.1:{self.port}"],
                stdout=log, stderr=log, start_new_session=True)
        remember(self.folder, self.process)
        until(self.answers, f"no gateway at port {self.port}; exit status {self.process.poll()}")
        return self

    def answers(self):
        try:
            return self.request("GET", "/").status == 200
        except OSError:
            return False

    def request(self, method, target, body=b"", **headers):
        """One signed request; the answer has been read (`body`)."""
        signed = sign(method, target, {"host": f"127.0.0.1:{self.port}", **headers}, body, KEY, Credential(SECRET))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        try:
            connection.request(method, target, body or None, signed)
            answer = connection.getresponse()
            answer.body = answer.read()
            return answer
        finally:
            connection.close()

    def upload(self, folder, prefix):
        """All files of a directory, as objects below a prefix of the bucket; one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                target = f"/{BUCKET}/" + urllib.parse.quote(f"{prefix}/{path.relative_to(folder).as_posix()}")
                body = path.read_bytes()
                headers = sign("PUT", target, {"host": f"127.0.0.1:{self.port}"}, body, KEY, Credential(SECRET))
                connection.request("PUT", target, body, headers)
                answer = connection.getresponse()
                assert answer.status == 200, answer.read()
                answer.read()
        connection.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        """No byte comes from it until resume()."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


class Ceph:
    """A cluster of one monitor, one store in memory and one gateway."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    @property
    def port(self):
        return int((self.folder / "port").read_text())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self):
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("mon", "osd", "run"):
            (self.folder / name).mkdir()
        v2, v1, port = free_ports(3)
        (self.folder / "ceph.conf").write_text(CONFIGURATION.format(
            folder=self.folder, classes=classes(), fsid=(fsid := uuid.uuid4()), v2=v2, v1=v1))
        for name, capabilities in CAPABILITIES.items():
            pairs = [word for pair in zip(capabilities[::2], capabilities[1::2]) for word in ("--cap", *pair)]
            create = [] if (self.folder / "keyring").exists() else ["--create-keyring"]
            self._run("ceph-authtool", *create, "keyring", "--gen-key", "-n", name, *pairs)
        self._run("monmaptool", "--create", "--addv", "a", f"[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]", "--fsid", str(fsid), "monmap")
        self._run("ceph-mon", "-c", "ceph.conf", "--mkfs", "-i", "a", "--monmap", "monmap", "--keyring", "keyring")
        self._spawn("ceph-mon", "-i", "a")
        until(lambda: self._ceph("-s").returncode == 0, "the monitor does not answer")
        osd = str(uuid.uuid4())
        self._ceph("osd", "new", osd, check=True)
        self._run("ceph-osd", "-c", "ceph.conf", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self._spawn("ceph-osd", "-i", "0")
        until(lambda: b"1 up" in self._ceph("osd", "stat").stdout, "the osd does not come up")
        gateway = Gateway(self.folder, port)
        self._run("radosgw-admin", "-c", "ceph.conf", "-n", "client.rgw", "user", "create", "--uid=test", "--display-name=test",
                  f"--access-key={KEY}", f"--secret-key={SECRET}")
        gateway.start()
        until(lambda: gateway.request("PUT", f"/{BUCKET}").status == 200, "the bucket cannot be made")
        (self.folder / "port").write_text(str(port))
        return self

    def gateway(self):
        """Another gateway, for a test that breaks it."""
        return Gateway(self.folder, free_ports(1)[0]).start()

    def stop(self):
        """Ends what has been started here, by whomever."""
        pids = self.folder / "pids"
        for line in pids.read_text().splitlines() if pids.exists() else []:
            with contextlib.suppress(OSError):
                if str(self.folder) in pathlib.Path(f"/proc/{line}/cmdline").read_text():
                    os.kill(int(line), signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, *command):
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=START_S)

    def _ceph(self, *words, check=False):
        return subprocess.run(["ceph", "-c", "ceph.conf", "--connect-timeout", "10", *words], cwd=self.folder, check=check,
                              capture_output=True, timeout=START_S)

    def _spawn(self, *command):
        with open(self.folder / f"{command[0]}.out", "wb") as log:
            remember(self.folder, subprocess.Popen([*command, "-f", "-c", self.folder / "ceph.conf"], cwd=self.folder, stdout=log,
                                                   stderr=log, start_new_session=True))
