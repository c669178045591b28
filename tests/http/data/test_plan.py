"""What a server of HTTP is asked for: counted at the origin."""

import concurrent.futures
import json
import re
import threading

import numpy as np
import pytest
from arrays import write_sharded, write_values
from client import soon, wait_until
from origin import Origin

N_CLIENTS = 64
DATA = r"/c/"


@pytest.fixture
def origin():
    with Origin() as running:
        yield running


def in_flight(server):
    return server.metrics()["http_requests_in_flight"]


def of(server, dataset, name):
    """A sample of one dataset."""
    text = server.get("/metrics").body.decode()
    return float(re.search(rf'^zarrd_store_{name}\{{dataset="{dataset}"\}} (\S+)$', text, re.MULTILINE)[1])


def at_once(server, target, ready, release):
    """The answers of N_CLIENTS that ask for the same; the origin goes on when all of them wait."""
    with concurrent.futures.ThreadPoolExecutor(N_CLIENTS) as pool:
        answers = [pool.submit(server.get, target) for _ in range(N_CLIENTS)]
        wait_until(ready)
        release()
        return [answer.result() for answer in answers]


@pytest.mark.parametrize("target", ["/v1/datasets/d/slices/?slice=0,:", "/zarr/d/c/0/0"])
def test_many_clients_of_one_cold_chunk_cost_one_request(serve, tmp_path, origin, target):
    values = np.arange(64, dtype="<f4").reshape(8, 8)
    write_values(tmp_path / "store", values, (8, 8))
    origin.put_folder(tmp_path / "store", "/store")
    server = serve(f"d={origin.url}/store")
    assert server.get("/v1/datasets/d/nodes/").status == 200
    held = origin.fault("hold", DATA, times=None)
    answers = at_once(server, target, lambda: in_flight(server) > N_CLIENTS, held.release)  # and the one that asks for metrics
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert origin.count("GET", DATA, kind="get") == 1
    assert origin.count(path=DATA) == (2 if target.startswith("/zarr") else 1)  # of a key the length is asked first


def test_a_block_of_a_shard_costs_few_requests(serve, tmp_path, origin):
    side, inner = 256, 32  # 8 x 8 inner chunks of 4 KiB
    values = np.arange(side * side, dtype="<f4").reshape(side, side)
    write_sharded(tmp_path / "store", values, (side, side), (inner, inner))
    origin.put_folder(tmp_path / "store", "/store")
    server = serve(f"d={origin.url}/store")
    assert server.get("/v1/datasets/d/nodes/").status == 200
    answer = server.get(f"/v1/datasets/d/slices/?slice={inner}:{6 * inner},{2 * inner}:{7 * inner}")
    assert answer.status == 200
    assert answer.body == values[inner:6 * inner, 2 * inner:7 * inner].tobytes()
    asked = origin.select("GET", DATA)
    assert sum(request.kind == "suffix" for request in asked) == 1  # the index
    data = [request for request in asked if request.kind != "suffix"]
    assert len(data) <= 5
    assert sum(request.sent for request in data) <= 1.1 * len(answer.body)


def test_an_origin_that_fails_is_left_alone_and_recovers(serve, tmp_path, origin):
    values = np.arange(64, dtype="<f4").reshape(8, 8)
    write_values(tmp_path / "store", values, (4, 4))
    origin.put_folder(tmp_path / "store", "/store")
    with Origin() as other:
        other.put_folder(tmp_path / "store", "/store")
        server = serve(f"d={origin.url}/store", f"o={other.url}/store", "--set", "remote.breaker_ms=500")
        for name in "do":
            assert server.get(f"/v1/datasets/{name}/nodes/").status == 200
        dead = origin.fault("close", times=None)
        seen = threading.Event()

        def ask():
            answer = server.get("/v1/datasets/d/slices/?slice=0,0")
            assert answer.status in (502, 503), answer
            assert answer.code == ("store_error" if answer.status == 502 else "overloaded")
            if answer.status == 503:
                assert int(answer.headers["retry-after"]) >= 1
                seen.set()
            return seen.is_set()

        wait_until(ask)
        assert of(server, "d", "refused_total") >= 1
        assert of(server, "d", "retries_total") >= 1
        answer = server.get("/v1/datasets/o/slices/?slice=0,0")
        assert answer.status == 200 and answer.body == values[0, 0].tobytes()
        assert of(server, "o", "refused_total") == 0
        dead.release()
        assert soon(lambda: server.get("/v1/datasets/d/slices/?slice=0,0").body, values[0, 0].tobytes()) == values[0, 0].tobytes()
        assert of(server, "d", "paused") == 0


def test_temporary_failures_are_tried_again(serve, tmp_path, origin):
    values = np.arange(64, dtype="<f4").reshape(8, 8)
    write_values(tmp_path / "store", values, (8, 8))
    origin.put_folder(tmp_path / "store", "/store")
    server = serve(f"d={origin.url}/store")
    assert server.get("/v1/datasets/d/nodes/").status == 200
    origin.fault("status", DATA, status=503, retry_after=0)
    origin.fault("truncated", DATA)
    answer = server.get("/v1/datasets/d/slices/")
    assert answer.status == 200 and answer.body == values.tobytes()
    assert origin.count("GET", DATA) == 3
    assert of(server, "d", "retries_total") == 2


def test_bytes_of_an_origin_are_counted(serve, tmp_path, origin):
    write_values(tmp_path / "store", np.arange(64, dtype="<f4").reshape(8, 8), (4, 4))
    origin.put_folder(tmp_path / "store", "/store")
    server = serve(f"d={origin.url}/store", "--set", "remote.hedge_percent=0")
    assert server.get("/v1/datasets/d/slices/").status == 200
    assert server.get("/v1/datasets/d/nodes/nothing").status == 404
    text = server.get("/metrics").body.decode()
    counted = {method: int(n) for method, n in re.findall(r'zarrd_remote_requests_total\{method="(\w+)"\} (\d+)', text)}
    assert counted == {method: origin.count(method) for method in ("GET", "HEAD", "PUT", "POST", "DELETE")}
    metrics = server.metrics()
    assert metrics["zarrd_remote_connections_total"] == len({request.connection for request in origin.requests})
    assert metrics["zarrd_remote_received_bytes_total"] == sum(request.sent for request in origin.requests)
    assert "zarrd_remote" not in serve(f"d={tmp_path / 'store'}").get("/metrics").body.decode()


KEY = "/zarr/d/c/9/9"
ABSENT = r"c/9/9$"


def start_absent(serve, tmp_path, origin, absent_ms):
    write_values(tmp_path / "store", np.arange(64, dtype="<f4").reshape(8, 8), (8, 8))
    origin.put_folder(tmp_path / "store", "/store")
    dataset = {"location": f"{origin.url}/store", "revalidate_ms": 0, "options": {"absent_ms": absent_ms}}
    return serve("--set", "remote.hedge_percent=0", config={"datasets": {"d": dataset}})


def test_an_absent_key_is_asked_once_in_its_time(serve, tmp_path, origin):
    server = start_absent(serve, tmp_path, origin, 10**9)
    assert server.get(KEY).status == 404
    n_asked = origin.count(path=ABSENT)
    assert n_asked >= 1
    origin.put("/store/c/9/9", b"new")
    for _ in range(5):
        assert server.get(KEY).status == 404
    assert origin.count(path=ABSENT) == n_asked


def test_an_absent_node_costs_one_request_a_document(serve, tmp_path, origin):
    server = start_absent(serve, tmp_path, origin, 10**9)
    for _ in range(3):
        assert server.get("/v1/datasets/d/nodes/nothing").status == 404
    asked = [request.path for request in origin.select(path="/nothing/.")]
    assert len(asked) == len(set(asked)) == 5  # of v3, v2 and N5


@pytest.mark.parametrize("absent_ms", [0, 100])
def test_an_absent_key_that_is_written_appears_after_its_time(serve, tmp_path, origin, absent_ms):
    server = start_absent(serve, tmp_path, origin, absent_ms)
    assert server.get(KEY).status == 404
    n_asked = origin.count(path=ABSENT)
    wait_until(lambda: server.get(KEY).status == 404 and origin.count(path=ABSENT) > n_asked)
    origin.put("/store/c/9/9", b"new")
    if absent_ms == 0:
        assert server.get(KEY).body == b"new"
    else:
        wait_until(lambda: server.get(KEY).body == b"new")


ARRAYS = {
    "v3": {"zarr.json": {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 0,
                         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "default"},
                         "codecs": [{"name": "bytes"}]}},
    "v2": {".zarray": {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C",
                       "filters": None},
           ".zattrs": {}},
}
GROUPS = {"v3": {"zarr.json": {"zarr_format": 3, "node_type": "group"}}, "v2": {".zgroup": {"zarr_format": 2}}}


@pytest.mark.parametrize(("form", "n_arrays"), [("v3", 1000), ("v2", 200)])
def test_a_first_opening_asks_for_each_document_once(serve, origin, form, n_arrays):
    """As a client does that finds no consolidated metadata: of each array the documents of every form that it reads, there or not."""
    for name, document in GROUPS[form].items():
        origin.put(f"/store/{name}", json.dumps(document).encode())
    for i in range(n_arrays):
        for name, document in ARRAYS[form].items():
            origin.put(f"/store/a{i}/{name}", json.dumps(document).encode())
    server = serve(f"d={origin.url}/store", "--set", "remote.hedge_percent=0")
    names = ["zarr.json", *([] if form == "v3" else [".zarray", ".zattrs"])]
    connection = server.connection()
    for i in range(n_arrays):
        for name in names:
            answer = server.request("GET", f"/zarr/d/a{i}/{name}", connection=connection)
            assert (answer.status == 200) == (name in ARRAYS[form])
    assert origin.count(path=r"/a\d+/") == n_arrays * len(names)
    assert origin.count("HEAD") == 0
    assert len(origin.requests) <= n_arrays * len(names) + 10  # of the root, once


def test_a_long_document_is_read_all_the_same(serve, origin):
    document = b"[" + b" " * (1 << 20) + b"]"
    origin.put("/store/zarr.json", json.dumps(GROUPS["v3"]["zarr.json"]).encode())
    origin.put("/store/a/zarr.json", document)
    origin.put("/store/b/zarr.json", b"")
    server = serve(f"d={origin.url}/store")
    assert server.get("/zarr/d/a/zarr.json").body == document
    assert server.get("/zarr/d/b/zarr.json").body == b""
    answer = server.get("/zarr/d/zarr.json")
    part = server.get("/zarr/d/zarr.json", headers={"Range": "bytes=1-3"})
    assert (part.status, part.body) == (206, answer.body[1:4])
    assert server.get("/zarr/d/zarr.json", headers={"If-None-Match": answer.headers["etag"]}).status == 304
    assert server.get("/zarr/d/b/zarr.json", headers={"Range": "bytes=1-3"}).status == 416
    assert server.request("HEAD", "/zarr/d/a/zarr.json").headers["content-length"] == str(len(document))
