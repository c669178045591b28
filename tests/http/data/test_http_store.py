"""Stores of HTTP: what is read of them is what the directory would give, and no fault of an origin is taken for absence or for data."""

import json
import random
import subprocess

import numpy as np
import pytest
from arrays import write_array
from client import DEADLINE_S, JSON
from documents import LITTLE
from live import BINARY
from origin import Origin

GROUP = b'{"zarr_format":3,"node_type":"group"}'
LARGE = random.Random(5).randbytes(1 << 20)
# One attempt, and an endpoint that is not left alone: each request shows what its own answer was.
ONCE = ["--set", "remote.retries=0", "--set", "remote.hedge_percent=0", "--set", "remote.breaker_ms=10"]


def make_store(folder):
    """Large, empty and small objects, and names that URLs, HTML and sorting treat apart."""
    write_array(folder / "x", (64,), (8,), [LITTLE], np.arange(64, dtype="<f4"))
    (folder / "zarr.json").write_bytes(GROUP)
    (folder / "large").write_bytes(LARGE)
    (folder / "empty").write_bytes(b"")
    (folder / "names").mkdir()
    (folder / "names/zarr.json").write_bytes(GROUP)
    for name in ("a", "a-b", "a.b", "a0", "ab", "a b", "a&b", "a%20b", "a+b", "a'b", "é", "x" * 60):
        (folder / "names" / name).mkdir(parents=True)
        (folder / "names" / name / "zarr.json").write_bytes(GROUP)
    return folder


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    with Origin(make_store(tmp_path_factory.mktemp("origin"))) as running:
        yield running


@pytest.fixture
def clean(origin):
    origin.reset()
    yield origin
    origin.reset()


@pytest.fixture(scope="module")
def three(origin, serve_module):
    """The directory, the same behind the origin, and behind another zarrd."""
    plain = serve_module(f"plain={origin.folder}", f"origin={origin.url}/")
    second = serve_module(f"zarrd={plain.url}/zarr/plain/")
    return {"plain": plain, "origin": plain, "zarrd": second}


@pytest.fixture(scope="module")
def once(origin, serve_module):
    """Nothing is trusted for longer than a request."""
    config = {"datasets": {"a": {"location": origin.url, "revalidate_ms": 0}}}
    return serve_module(*ONCE, config=config)


KEYS = ["zarr.json", "large", "empty", "x/zarr.json", "x/c/0", "x/c/9", "x", "x/c", "names", "names/a b/zarr.json", "nothing", "names/%C3%A9/zarr.json"]


@pytest.mark.parametrize("name", ["origin", "zarrd"])
@pytest.mark.parametrize("span", [None, "bytes=0-0", "bytes=5-", "bytes=-7", "bytes=100000-299999", "bytes=1048575-", "bytes=9999999-"])
def test_keys_are_those_of_the_directory(three, name, span):
    headers = {} if span is None else {"Range": span}
    for key in (key.replace(" ", "%20") for key in KEYS):
        expected = three["plain"].get(f"/zarr/plain/{key}", headers)
        answer = three[name].get(f"/zarr/{name}/{key}", headers)
        assert (key, answer.status, answer.headers.get("content-range")) == (key, expected.status, expected.headers.get("content-range"))
        assert expected.status >= 400 or expected.status == 301 or answer.body == expected.body


@pytest.mark.parametrize("name", ["origin", "zarrd"])
@pytest.mark.parametrize("target", ["tree/", "tree/?limit=2", "nodes/names", "slices/x?slice=3:60:7", "nodes/x", "chunks/x?present=1", "stats/x"])
def test_all_else_is_that_of_the_directory(three, name, target):
    expected = three["plain"].get(f"/v1/datasets/plain/{target}", JSON)
    answer = three[name].get(f"/v1/datasets/{name}/{target}", JSON)
    assert answer.status == expected.status == 200
    if target.startswith("nodes"):
        assert answer.json()["metadata"] == expected.json()["metadata"]
        assert answer.json().get("children") == expected.json().get("children")
    else:
        assert answer.body.replace(f"/{name}/".encode(), b"/plain/") == expected.body


@pytest.mark.parametrize("index", ["nginx", "apache", "json"])
def test_indexes_are_read(clean, once, three, index):
    clean.index = index
    expected = [node["path"] for node in three["plain"].get("/v1/datasets/plain/tree/", JSON).json()["nodes"]]
    assert len(expected) > 12
    tree = once.get(f"/v1/datasets/a/tree/?limit=1000&match=**&mode=live&depth={10 + len(index)}", JSON).json()
    assert [node["path"] for node in tree["nodes"]] == expected
    assert "complete" not in tree


def test_a_store_without_an_index_says_so(clean, serve):
    clean.index = None
    server = serve(f"a={clean.url}/")
    tree = server.get("/v1/datasets/a/tree/", JSON).json()
    assert (tree["complete"], [node["path"] for node in tree["nodes"]]) == (False, [""])
    node = server.get("/v1/datasets/a/nodes/", JSON).json()
    assert (node["complete"], node["children"]) == (False, [])
    assert server.get("/v1/datasets/a/slices/x?slice=1:3").body == np.array([1, 2], "<f4").tobytes()
    assert server.get("/zarr/a/nothing").code == "key_not_found"
    below = serve(f"a={clean.url}/").get("/v1/datasets/a/nodes/names", JSON).json()  # before the root was asked
    assert (below["complete"], below["children"]) == (False, [])


def test_consolidated_metadata_takes_the_place_of_an_index(clean, serve, three):
    clean.index = None
    x = three["plain"].get("/zarr/plain/x/zarr.json").json()
    document = {**json.loads(GROUP), "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": {"x": x}}}
    clean.put("/zarr.json", json.dumps(document).encode())
    tree = serve(f"a={clean.url}/").get("/v1/datasets/a/tree/", JSON).json()
    assert (tree["source"], [node["path"] for node in tree["nodes"]]) == ("stored", ["", "x"])
    assert "complete" not in tree


@pytest.mark.parametrize("location", ["http://user:secret@127.0.0.1/", "http://127.0.0.1/?secret=1", "http://127.0.0.1/#secret", "http:///"])
def test_secrets_in_a_location_are_refused_and_not_repeated(location):
    for more in ([], ["--check-config"]):
        ended = subprocess.run([BINARY, *more, f"a={location}"], capture_output=True, timeout=DEADLINE_S)
        assert ended.returncode == 2
        assert b"secret" not in ended.stdout + ended.stderr


def test_secrets_come_from_a_file_and_are_never_shown(clean, serve, tmp_path):
    secrets = tmp_path / "headers"
    secrets.write_text("Authorization: Bearer s3cret\n?sig=s3cret\n")
    secrets.chmod(0o600)
    config = {"datasets": {"a": {"location": clean.url, "options": {"headers_file": str(secrets)}}}, "http": {"show_locations": True}}
    server = serve(*ONCE, config=config)
    clean.fault("status", path=r"x/c/", times=None, status=500)
    answers = [server.get(target, JSON) for target in ("/v1/datasets/a/nodes/x", "/v1/datasets/a/slices/x?slice=0:1", "/v1/datasets", "/metrics")]
    assert [answer.status for answer in answers] == [200, 502, 200, 200]
    assert all(b"s3cret" not in answer.body for answer in answers)
    assert "s3cret" not in server.log
    asked = clean.select("GET", r"x/zarr\.json$")[0]
    assert (asked.headers.get("authorization"), asked.query) == ("Bearer s3cret", {"sig": "s3cret"})
