"""What a server of HTTP is asked for: counted at the origin."""

import concurrent.futures
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
    assert origin.count("GET", DATA) == 1


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
            assert answer.code == "store_error"
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


def test_what_may_pass_is_tried_again(serve, tmp_path, origin):
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
