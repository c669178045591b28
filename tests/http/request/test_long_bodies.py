"""Long JSON bodies are parsed by workers: the loop thread has others to serve."""

import json

import numpy as np
import pytest
from client import JSON, PATCH

V1 = "/v1/datasets/w/"
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}},
         "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}
LONG = 900_000
SHORT = 4


def padded(document, n):
    return json.dumps(document).encode() + b" " * n


@pytest.fixture
def w(serve):
    server = serve("-w", "w=mem:")
    assert server.request("PUT", V1 + "nodes/a", JSON, json.dumps(ARRAY).encode()).status == 201
    assert server.request("PUT", V1 + "slices/a", None, bytes(range(8))).status == 200
    return server


REQUESTS = {
    "a slice": ("POST", "slices/a", JSON, {"slice": "1:4"}),
    "chunks": ("POST", "chunks/a", JSON, {"indices": [[0]], "decoded": True}),
    "a patch": ("PATCH", "nodes/a?dry_run=1", PATCH, {"attributes": {"n": 1}}),
    "a node": ("PUT", "nodes/b?dry_run=1", JSON, ARRAY),
    "elements to append": ("PUT", "slices/a?append=0&dry_run=1", JSON, [1, 2, 3]),
}


def jobs(server, request, body):
    """Status, and how many pieces of work the request gave to workers."""
    method, target, headers, _ = request
    with server.cost() as cost:
        answer = server.request(method, V1 + target, headers, body)
    return answer, cost["zarrd_jobs_total"]


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
def test_a_long_body_is_parsed_by_a_worker(w, request_):
    short, n_short = jobs(w, request_, padded(request_[3], SHORT))
    long, n_long = jobs(w, request_, padded(request_[3], LONG))
    assert short.status in (200, 201) and long.status == short.status, (short, long)
    assert n_short == 0 and n_long >= 1
    if request_[0] == "POST":
        assert long.body == short.body or "boundary" in long.headers["content-type"]


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
@pytest.mark.parametrize("rest, code", [(b"}", "bad_body"), (b"\x00", "bad_body"), (b" " * (1 << 20), "too_large")], ids=["more", "NUL", "long"])
def test_a_long_body_is_refused_as_a_short_one(w, request_, rest, code):
    for n in (SHORT, LONG):
        answer, _ = jobs(w, request_, padded(request_[3], n) + rest)
        assert answer.code == code and answer.status == {"bad_body": 400, "too_large": 413}[code]


def test_all_of_a_long_list_is_appended(w):
    more = np.random.default_rng(5).integers(0, 256, 150_000, dtype="u1")
    body = json.dumps(more.tolist()).encode()
    assert len(body) > 500_000
    answer, n_jobs = jobs(w, ("PUT", "slices/a?append=0", JSON, None), body)
    assert answer.status == 200 and n_jobs >= 1
    assert w.get(V1 + "slices/a").body == bytes(range(8)) + more.tobytes()
