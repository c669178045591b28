"""What the command line takes: locations, directories of stores, addresses; what it refuses, with a hint."""

import io
import json
import os
import shutil
import socket
import subprocess
import zipfile

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


def members(path):
    return {"zarr.json": GROUP, **{str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}}


def pack(path, contents):
    """As whoever replaces a file does it."""
    with zipfile.ZipFile(path.with_suffix(".part"), "w") as file:
        for name, data in contents.items():
            file.writestr(name, data)
    path.with_suffix(".part").rename(path)


def test_archives_in_a_directory_of_stores_are_stores(serve, folder):
    store = members(folder / "b")
    pack(folder / "packed.zip", store)
    pack(folder / "late root.zarr.zip", {**{f"y/{i}": b"" for i in range(3000)}, **store})
    pack(folder / "n5.n5.zip", {"attributes.json": '{"n5": "2.0.0"}'})
    pack(folder / "b.zip", store)
    pack(folder / "twice.zip", store)
    (folder / "link.zip").symlink_to("packed.zip")
    # What is none: another archive, one with a store in a directory, one that is cut off, one by another name.
    pack(folder / "photos.zip", {"a.txt": b"", "attributes": b""})
    pack(folder / "inner.zip", {f"b/{name}": data for name, data in store.items()})
    (folder / "cut.zip").write_bytes((folder / "packed.zip").read_bytes()[:-1])
    (folder / "other.zap").write_bytes((folder / "packed.zip").read_bytes())
    (folder / ".hidden.zip").write_bytes((folder / "packed.zip").read_bytes())
    os.mkfifo(folder / "pipe.zip")
    server = serve(folder, "-w", "--set", "http.datasets_ms=3600000")
    assert names(server) == ["a", "b", "b.zip", "late-root", "link", "n5", "odd-n--me", "packed", "twice.n5", "twice.zarr", "twice.zip"]
    expected = server.get("/v1/datasets/b/slices/x").body
    for name in ("b.zip", "late-root", "link", "packed", "twice.zip"):
        assert server.get(f"/v1/datasets/{name}/slices/x").body == expected
    # Archives are only read; others beside them are not.
    writable = {one["name"]: one["writable"] for one in server.get("/v1/datasets").json()["datasets"]}
    assert {name for name, is_writable in writable.items() if is_writable} == {"a", "b", "odd-n--me", "twice.n5", "twice.zarr"}
    answer = server.request("PUT", "/zarr/packed/note", body=b"x")
    assert (answer.status, answer.code) == (405, "read_only"), answer
    assert run("--check-config", "-w", folder).returncode == 0


def test_a_directory_of_archives_alone_is_one_of_stores(serve, tmp_path):
    (tmp_path / "d").mkdir()
    pack(tmp_path / "d/a.zarr.zip", {"zarr.json": GROUP})
    assert names(serve(tmp_path / "d")) == ["a"]


def test_archives_that_come_and_go_are_found_again(serve, folder):
    store = members(folder / "b")
    server = serve(folder, "--set", "http.datasets_ms=100", "-w")
    assert names(server) == EXPANDED
    pack(folder / "c.zip", {**store, "note": b"first"})
    wait_until(lambda: names(server) == ["a", "b", "c", *EXPANDED[2:]])
    assert server.get("/zarr/c/note").body == b"first"
    pack(folder / "c.zip", {**store, "note": b"second"})
    wait_until(lambda: server.get("/zarr/c/note").body == b"second")
    # Of a directory and an archive that have one name without their ending both keep it, and neither has the name of the other.
    make(folder / "c.zarr")
    wait_until(lambda: names(server) == ["a", "b", "c.zarr", "c.zip", *EXPANDED[2:]])
    assert server.get("/zarr/c/note").code == "dataset_not_found"
    shutil.rmtree(folder / "c.zarr")
    wait_until(lambda: "c" in names(server))
    # A directory of that very name takes its place, and may be written to.
    (folder / "c.zip").unlink()
    wait_until(lambda: names(server) == EXPANDED)
    make(folder / "c.zip")
    wait_until(lambda: server.request("PUT", "/zarr/c/note", body=b"x").status == 200)
    shutil.rmtree(folder / "c.zip")
    pack(folder / "c.zip", store)
    wait_until(lambda: server.get("/v1/datasets/c").status == 200 and server.get("/v1/datasets/c").json()["writable"] is False)
    wait_until(lambda: server.get("/v1/datasets/c/slices/x").status == 200)
    (folder / "c.zip").unlink()
    wait_until(lambda: names(server) == EXPANDED)


@pytest.mark.parametrize("word, name", [(".", "era-5"), ("..", "x-y"), ("./", "era-5")])
def test_a_dataset_has_the_name_of_its_real_directory(tmp_path, word, name):
    place = tmp_path / "x y" / "era 5.zarr"
    place.mkdir(parents=True)
    done = run("--check-config", word, cwd=place)
    assert done.returncode == 0 and f'"{name}": {{' in done.stdout, done


@pytest.mark.parametrize("check", [["--check-config"], []])
@pytest.mark.parametrize("location, reason", [("nowhere", "no such directory"), ("file", "not a directory"), ("nothing://x", "nothing://x"), ("mem:x", "expected PATH")])
def test_a_named_file_that_is_not_there_is_bad_usage(tmp_path, check, location, reason):
    (tmp_path / "file").write_bytes(b"")
    done = run(*check, f"a={location}", cwd=tmp_path)
    assert done.returncode == 2 and reason in done.stderr and not done.stdout, done


def test_configured_datasets_may_come_later(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"datasets": {"a": {"location": "nowhere"}, "m": {"location": "mem:"}}}))
    done = run("--check-config", "--config", tmp_path / "c.json", cwd=tmp_path)
    assert done.returncode == 0 and '"nowhere"' in done.stdout, done
    (tmp_path / "c.json").write_text(json.dumps({"datasets": {"a": {"location": "nothing://x"}}}))
    done = run("--check-config", "--config", tmp_path / "c.json", cwd=tmp_path)
    assert done.returncode == 2 and "nothing://x" in done.stderr, done


@pytest.mark.parametrize("check", [["--check-config"], []])
@pytest.mark.parametrize("settings, reason", [
    ({"log": {"audit_file": "none/audit"}}, "log.audit_file 'none/audit' cannot be opened: No such file or directory"),
    ({"log": {"audit_file": "."}}, "log.audit_file '.' cannot be opened: Is a directory"),
    ({"trace": {"url": "nonsense"}}, "trace.url is not a valid URL"),
    ({"remote": {"ca_file": "none.pem"}}, "remote.ca_file 'none.pem' cannot be read: No such file or directory"),
    ({"remote": {"ca_file": "c.json"}}, "remote.ca_file 'c.json' has no certificate"),
    ({"datasets": {"a": {"location": ""}}}, "/datasets/a has no location"),
])
def test_check_config_refuses_the_same_as_the_start(tmp_path, check, settings, reason):
    (tmp_path / "c.json").write_text(json.dumps({"datasets": {"m": {"location": "mem:"}}, **settings}))
    done = run(*check, "--listen", "127.0.0.1:0", "--config", tmp_path / "c.json", cwd=tmp_path)
    assert done.returncode == 2 and reason in done.stderr and not done.stdout, done


def test_a_file_that_the_start_would_make_is_not_made_before_it(tmp_path):
    done = run("--check-config", "--set", "log.audit_file=audit", "m=mem:", cwd=tmp_path)
    assert done.returncode == 0 and list(tmp_path.iterdir()) == [], done


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


def archive(*names):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name in names:
            file.writestr(name, "{}")
    return data.getvalue()


HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(100)
TAR = b"a.txt".ljust(257, b"\0") + b"ustar"
FOREIGN = {  # what a file is by its first bytes
    "a.h5": (HDF5, "HDF5 or NetCDF-4"),
    "a.nc": (b"CDF\1" + bytes(100), "NetCDF-3"),
    "b.nc": (b"CDF\5" + bytes(100), "NetCDF-3"),
    "a.tif": (b"II*\0" + bytes(100), "TIFF"),
    "b.tif": (b"MM\0+" + bytes(100), "TIFF"),
    "a.grib2": (b"GRIB\0\0\0\2" + bytes(100), "GRIB"),
    "a.parquet": (b"PAR1" + bytes(100), "Parquet"),
    "a.npy": (b"\x93NUMPY\1\0" + bytes(100), "NumPy"),
    "a.fits": (b"SIMPLE  =" + bytes(100), "FITS"),
    "a.tar": (TAR, "tar"),
    "a.tgz": (b"\x1f\x8b" + bytes(100), "gzip"),
    "packed": (archive("a.txt"), "zip archive"),
    "v3.zarr": (archive("a/c/0", "a/zarr.json", "zarr.json"), "zip archive"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_format_is_named(serve, tmp_path, name):
    data, format = FOREIGN[name]
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_bytes(data)
    for check in (["--check-config"], []):
        done = run(*check, tmp_path / "d" / name)
        assert done.returncode == 2 and "not a directory but a" in done.stderr and format in done.stderr, done
    done = run("--check-config", tmp_path / "d")
    assert done.returncode == 0 and format in done.stderr, done
    # In a configuration it may be replaced by a directory later.
    server = serve(tmp_path / "d", config={"datasets": {"file": {"location": str(tmp_path / "d" / name)}}})
    listed = {one["name"]: one for one in server.get("/v1/datasets").json()["datasets"]}
    assert listed["d"]["dialect"] is None and "state" not in listed["d"] and format in listed["d"]["reason"]
    assert listed["file"]["state"] == "unavailable" and format in listed["file"]["reason"]
    assert format in server.get("/v1/datasets/d/nodes/").json()["detail"]
    assert format in server.get("/zarr/", {"Accept": "text/html"}).body.decode()
    wait_until(lambda: f"d  {tmp_path / 'd'}  a directory of " in server.log)
    assert "dataset 'd' is a directory of " in server.log


@pytest.mark.parametrize("names, format", [(["a.txt"], "without a Zarr"), (["a.zarr/.zgroup", "b/zarr.json"], "in a directory")])
def test_an_archive_without_a_hierarchy_is_named(serve, tmp_path, names, format):
    (tmp_path / "a.zip").write_bytes(archive(*names))
    assert format in run("--check-config", tmp_path / "a.zip").stderr
    server = serve(tmp_path / "a.zip")
    assert format in server.get("/v1/datasets/a").json()["reason"]
    assert format in server.get("/v1/datasets/a/nodes/").json()["detail"]
    (tmp_path / "b.zip").write_bytes(archive("zarr.json", "a/zarr.json"))
    assert run("--check-config", tmp_path / "b.zip").stderr == ""


OTHERS = {  # keys that are there, what is said, and whether a new root would hide something
    "icechunk": (["refs/branch.main/ref.json", "snapshots/VY76P925PRY57WFEK410"], "Icechunk", True),
    "icechunk 2": (["repo", "snapshots/VY76P925PRY57WFEK410"], "Icechunk", True),
    "tiledb": (["__schema/x", "__fragments/x"], "TileDB", True),
    "attributes alone": ([".zattrs"], ".zattrs without .zgroup or .zarray", False),
    "chunks alone": (["c/0/0"], "chunks of an array without their document", False),
    "chunks of v2 alone": (["0.0"], "chunks of an array without their document", False),
}


@pytest.mark.parametrize("keys, name, hides", OTHERS.values(), ids=OTHERS)
def test_a_directory_that_is_something_else_is_named(serve, tmp_path, keys, name, hides):
    for key in keys:
        (tmp_path / "d" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "d" / key).write_text("{}")
    assert name in run("--check-config", tmp_path / "d").stderr
    server = serve("-w", tmp_path / "d")
    assert name in server.get("/v1/datasets/d").json()["reason"]
    assert name in server.get("/v1/datasets/d/nodes/").json()["detail"]
    wait_until(lambda: f"dataset 'd' is {server.get('/v1/datasets/d').json()['reason']}" in server.log)
    put = server.request("PUT", "/v1/datasets/d/nodes/", {"Content-Type": "application/json"}, GROUP.encode())
    assert put.status == (405 if hides else 201), put
    assert ("reason" in server.get("/v1/datasets/d").json()) == hides


def test_a_document_in_place_of_its_directory_is_said_to_be_that(tmp_path):
    done = run(make(tmp_path / "a") / "zarr.json")
    assert done.returncode == 2 and "name its directory instead" in done.stderr, done


def test_a_directory_of_nothing_known_has_no_reason(serve, tmp_path):
    (tmp_path / "note.txt").write_text("hello")
    os.mkfifo(tmp_path / "waits")
    (tmp_path / "short").write_bytes(b"P")
    server = serve(f"d={tmp_path}")
    assert "reason" not in server.get("/v1/datasets/d").json()
    wait_until(lambda: f"d  {tmp_path}  no node at the root" in server.log)


def test_the_start_says_which_version_it_is(serve, tmp_path):
    server = serve(make(tmp_path / "a"))
    version = server.get("/v1").json()["version"]
    wait_until(lambda: f"http://127.0.0.1:{server.port}/" in server.log)
    assert server.log.startswith(f"zarrd {version}\n")
    assert run("--version").stdout == f"zarrd {version}\n"


def test_another_kind_of_hierarchy_is_said_to_be_that(serve, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".zmetadata").write_text("{}")
    server = serve(tmp_path / "a")
    assert "it is Zarr v2" in server.get("/v1/datasets/a/nodes/").json()["detail"]
    wait_until(lambda: "Zarr v2, which this version does not read" in server.log)


@pytest.mark.parametrize("document, kind", [(".zmetadata", "Zarr v2"), ("attributes.json", "n5")])
def test_no_new_node_hides_another_kind_of_hierarchy(serve, tmp_path, document, kind):
    (tmp_path / document).write_text("{}")
    server = serve("-w", f"a={tmp_path}")
    for path in ("", "x", "x/y"):
        answer = server.request("PUT", f"/v1/datasets/a/nodes/{path}", {"Content-Type": "application/json"},
                                b'{"zarr_format": 3, "node_type": "group"}')
        assert (answer.status, answer.code) == (405, "read_only") and kind in answer.json()["detail"], answer
    assert not list(tmp_path.rglob("zarr.json"))
