"""What the command line takes: locations, directories of stores, addresses; what it refuses, with a hint."""

import shutil
import socket
import subprocess

import pytest
from arrays import write_array
from client import DEADLINE_S, wait_until
from documents import LITTLE
from live import BINARY, ROOT, Server

GROUP = '{"zarr_format": 3, "node_type": "group"}'


def run(*arguments, **more):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE_S, **more)


def make(folder):
    write_array(folder / "x", (8,), (8,), [LITTLE])
    (folder / "zarr.json").write_text(GROUP)
    return folder


def names(server):
    return [one["name"] for one in server.get("/v1/datasets").json()["datasets"]]


@pytest.fixture
def folder(tmp_path):
    stores = tmp_path / "stores"
    for name in ("a.zarr", "b", "odd n\u00e4me.zarr", "twice.zarr", "twice.n5"):
        make(stores / name)
    (stores / "no store").mkdir()
    (stores / "file").write_text("")
    return stores


EXPANDED = ["a", "b", "odd-n--me", "twice.n5", "twice.zarr"]


def test_a_directory_of_stores_serves_each_of_them(serve, folder):
    server = serve(folder, "--writable", "--set", "http.datasets_ms=3600000")
    assert names(server) == EXPANDED
    assert server.get("/v1/datasets/a/slices/x").status == 200
    assert all(one["writable"] for one in server.get("/v1/datasets").json()["datasets"])


def test_stores_that_come_and_go_are_found_again(serve, folder, tmp_path):
    other = make(tmp_path / "own")
    server = serve(folder, f"own={other}", "--set", "http.datasets_ms=100")
    assert names(server) == ["own", *EXPANDED]
    make(folder / "c")
    wait_until(lambda: names(server) == ["own", "a", "b", "c", *EXPANDED[2:]])
    shutil.rmtree(folder / "b")
    wait_until(lambda: names(server) == ["own", "a", "c", *EXPANDED[2:]])
    assert server.get("/zarr/b/zarr.json").code == "dataset_not_found"
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    wait_until(lambda: names(server) == ["own"])
    make(folder / "late")
    wait_until(lambda: names(server) == ["own", "late"])


def test_a_name_never_passes_to_another_store(serve, folder):
    server = serve(folder, "--set", "http.datasets_ms=100")
    make(folder / "a.n5")
    wait_until(lambda: "a.n5" in names(server))
    assert "a" not in names(server) and "a.zarr" in names(server)


@pytest.mark.parametrize("word, name", [(".", "era-5"), ("..", "x-y"), ("./", "era-5")])
def test_a_dataset_has_the_name_of_its_real_directory(tmp_path, word, name):
    place = tmp_path / "x y" / "era 5.zarr"
    place.mkdir(parents=True)
    done = run("--check-config", word, cwd=place)
    assert done.returncode == 0 and f'"{name}": {{' in done.stdout, done


def test_without_a_dataset_it_says_so():
    done = run("--config", ROOT / "config" / "zarrd.json")
    assert done.returncode == 2 and "nothing to serve" in done.stderr and "LOCATION" in done.stderr


@pytest.mark.parametrize("address", ["99999", ":99999", "127.0.0.1:99999", "[::]:65536", "nowhere:80", ":", "*"])
def test_a_bad_address_is_refused_before_the_start(tmp_path, address):
    for check in (["--check-config"], []):
        done = run(*check, "--listen", address, make(tmp_path / "a"))
        assert done.returncode == 2 and f"address '{address}'" in done.stderr, done


def test_addresses_for_this_machine_and_for_all(tmp_path):
    """Port 0 in each spelling; the port file has the port."""
    for address, hosts in (("0", ["127.0.0.1"]), (":0", ["127.0.0.1", "::1"]), ("*:0", ["127.0.0.1", "::1"])):
        server = Server(make(tmp_path / "a"), "--listen", address)
        try:
            port = int((server.folder / "port").read_text().split()[-1])
            for host in hosts:
                if host == "::1" and not has_v6():
                    continue
                with socket.create_connection((host, port), timeout=DEADLINE_S) as client:
                    client.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        finally:
            server.stop()


def has_v6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


@pytest.mark.parametrize("document, kind", [(".zgroup", "Zarr v2"), (".zarray", "Zarr v2"), ("attributes.json", "N5")])
def test_another_kind_of_hierarchy_is_said_to_be_that(serve, tmp_path, document, kind):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / document).write_text("{}")
    server = serve(tmp_path / "a")
    assert f"it is {kind}" in server.get("/v1/datasets/a/nodes/").json()["detail"]
    wait_until(lambda: f"{kind}, which this version does not read" in server.log)
