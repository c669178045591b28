"""What a missing node's answer suggests: nodes beside it that are there, for work that is bounded whatever is asked."""

import json
import time

import pytest
from documents import GROUP
from live import Server

ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
         "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "codecs": [{"name": "bytes"}]}
N_WIDE = 20000
ROUTES = [("GET", "nodes/{}"), ("HEAD", "nodes/{}"), ("GET", "slices/{}?slice=0"), ("HEAD", "slices/{}"), ("GET", "chunks/{}?index=0"),
          ("GET", "stats/{}"), ("GET", "tree/{}"), ("DELETE", "nodes/{}"),
          ("PUT", "chunks/{}?index=0")]


def put(root, path, document):
    (root / path).mkdir(parents=True, exist_ok=True)
    (root / path / "zarr.json").write_text(json.dumps(document))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("suggestions")
    for path in ("", "solar", "solar/deep", "wide", "many", "locked"):
        put(root, path, GROUP)
    for path in ("solar/irradiance", "solar/irradiance_max", "solar/deep/wind", "solar/deep/Ünit", "t2m", "solar/secret", "locked/wind"):
        put(root, path, ARRAY)
    (root / "solar/irradience").mkdir()  # a directory, and no node
    (root / "solar/irradiancy").write_bytes(b"a key")
    (root / "outside").symlink_to("/usr")
    for i in range(12):
        put(root, f"many/name{i:02}", ARRAY)
    for i in range(N_WIDE):
        (root / f"wide/{i:06}").mkdir()
    (root / "locked/zarr.json").write_text(json.dumps({**GROUP, "example_member": 1}))  # must not be interpreted
    return root


@pytest.fixture
def server(root):
    # Each test has all of its turns.
    running = Server("--writable", f"d={root}")
    yield running
    running.stop()


@pytest.mark.parametrize("path, expected", [
    ("solar/iradiance", ["solar/irradiance", "solar/irradiance_max"]),
    ("solar/irradience", ["solar/irradiance", "solar/irradiance_max"]),  # itself no node
    ("solar/irradiance_mx", ["solar/irradiance_max", "solar/irradiance"]),
    ("solr/irradiance", ["solar"]),
    ("solr", ["solar"]),
    ("solar/dep/wind", ["solar/deep"]),
    ("solar/deep/wnid", ["solar/deep/wind"]),
    ("solar/deep/unit", ["solar/deep/Ünit"]),
    ("solar/deep/%C3%9Cnti", ["solar/deep/Ünit"]),
    ("T2m", ["t2m"]),
    ("nothing/like/it", []),
    ("outsid", []),  # leads out of the store
    ("t2m/c", []),  # arrays have no children
    ("locked/wnid", []),
    ("many/name", ["many/name00", "many/name01", "many/name02", "many/name03"]),
    ("x" * 4000, []),
    ("/".join("ab" * 300), []),
])
def test_a_missing_node_suggests_the_nearest(server, path, expected):
    answer = server.get(f"/v1/datasets/d/nodes/{path}")
    document = answer.json()
    assert (answer.status, document["code"]) == (404, "node_not_found")
    assert document.get("suggestions", []) == expected
    assert ("did you mean" in document["detail"]) == bool(expected)
    assert not expected or f"did you mean '{expected[0]}'?" in document["detail"]


@pytest.mark.parametrize("method, target", ROUTES)
def test_every_route_of_a_node_suggests(server, method, target):
    body = b"\1" if method == "PUT" else None
    answer = server.request(method, "/v1/datasets/d/" + target.format("solar/iradiance"), body=body)
    assert answer.status == 404
    if method == "HEAD":
        assert answer.headers["content-length"] == server.get("/v1/datasets/d/" + target.format("solar/iradiance")).headers["content-length"]
    else:
        assert answer.json()["suggestions"][0] == "solar/irradiance"


def test_it_costs_a_single_bounded_listing(server):
    server.get("/v1/datasets/d/nodes/wide/x")
    with server.cost() as cost:
        assert server.get("/v1/datasets/d/nodes/wide/0000001").status == 404
    assert cost["zarrd_store_lists_total"] == 1
    assert cost["zarrd_store_visited_total"] <= 4096 < N_WIDE


def test_a_flood_of_missing_nodes_is_not_slowed(server):
    """However many are asked for, few are looked for."""
    began = time.monotonic()
    n = 400
    with server.cost() as cost:
        connection = server.connection()
        for i in range(n):
            answer = server.get(f"/v1/datasets/d/nodes/wide/{i:07}", connection=connection)
            assert answer.status == 404 and answer.code == "node_not_found"
    turns = 16 + (time.monotonic() - began) * 20 + 1
    assert 1 <= cost["zarrd_store_lists_total"] <= min(n, turns)
