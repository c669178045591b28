"""Parsed nodes are budgeted for as long as anybody has them: under memory.bytes=128MiB many clients that use different large nodes are
answered or told to come again, and the process stays small."""

import concurrent.futures
import http.client
import json
import socket

import pytest
from client import DEADLINE_S, PATCH, PATIENT, SANITIZED, is_sanitized, memory_bytes, wait_until
from documents import GROUP, array_document
from search_rounds import rounds

pytestmark = pytest.mark.large

MIB = 1 << 20
BUDGET = 128 * MIB
RESIDENT_MAX = 96 * MIB  # far less than all these nodes take
N = 60 if SANITIZED else rounds(200, 60)  # sanitized ones need their time to read them, and their memory tells nothing
N_CLIENTS = N
LARGE = {"a": [0] * 49_000, "b": "x" * 800_000}  # 3 MiB of memory each
D = "/v1/datasets/w"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("nodes") / "store"
    for path in ("", "large", "small"):
        (root / path).mkdir()
        (root / path / "zarr.json").write_text(json.dumps(GROUP))
    for i in range(N):
        for kind, attributes in (("large", {"i": i, **LARGE}), ("small", {"i": i})):
            (root / kind / f"{i}").mkdir()
            document = array_document([8], [8], "uint8", attributes=attributes)
            (root / kind / f"{i}" / "zarr.json").write_text(json.dumps(document, separators=(",", ":")))
    return root


@pytest.fixture
def server(serve, store):
    return serve(f"w={store}", "--writable", "--set", f"memory.bytes={BUDGET}", *PATIENT)


def stays_small(server):
    high = memory_bytes(server, "VmHWM")
    assert is_sanitized(server) or high < RESIDENT_MAX, f"{high / MIB:.0f} MiB"


ASKED = {
    "a node": ("GET", "nodes/large/{i}", None),
    "a part of a node": ("GET", "nodes/large/{i}?fields=array.shape", None),
    "a slice": ("GET", "slices/large/{i}?slice=:", None),
    "statistics": ("GET", "stats/large/{i}", None),
    "stored chunks": ("GET", "chunks/large/{i}?present=1", None),
    "a listing of one": ("GET", "tree/large/{i}", None),
    "a listing of all": ("GET", "tree/large", None),
    "the children": ("GET", "nodes/large", None),
    "a slice to be stored": ("PUT", "slices/large/{i}?slice=:", b"12345678"),
    "a patch": ("PATCH", "nodes/large/{i}?dry_run=1", b'{"attributes": {"z": 1}}'),
}


@pytest.mark.parametrize("name", ASKED)
def test_many_clients_of_many_large_nodes_are_answered_or_told_to_come_again(server, name):
    method, target, body = ASKED[name]
    headers = PATCH if method == "PATCH" else {}

    def ask(i):
        answer = server.request(method, f"{D}/{target.format(i=i)}", headers, body)
        return answer.status, "retry-after" in answer.headers

    with concurrent.futures.ThreadPoolExecutor(N_CLIENTS) as pool:
        answers = set(pool.map(ask, range(N)))
    assert (200, False) in answers and answers <= {(200, False), (503, True)}
    stays_small(server)
    assert server.get("/livez").status == 200


def open_with(server, request):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(DEADLINE_S)
    client.connect(("127.0.0.1", server.port))
    client.sendall(request.encode())
    return client


def status_of(client):
    return int(client.recv(12).split()[1])


def test_the_text_of_an_answer_is_in_the_account(serve, store):
    server = serve(f"w={store}", "--set", "admission.bytes=1MiB")
    refused = server.get(f"{D}/nodes/large/0")
    assert refused.status == 413 and refused.json()["requested"] > refused.json()["limit"] > 0
    assert server.get(f"{D}/nodes/small/0").status == 200


def test_small_nodes_find_room_beside_large_ones(server):
    """Clients that send no body have the nodes that they write to."""
    head = "HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n"
    clients = [open_with(server, f"PUT {D}/slices/large/{i}?slice=: {head}") for i in range(20)]
    statuses = [status_of(client) for client in clients]
    assert set(statuses) == {100, 503} and 3 <= statuses.count(100) < 12, statuses
    refused = server.get(f"{D}/nodes/large/{N - 1}")
    assert refused.status == 503 and refused.code == "overloaded" and "retry-after" in refused.headers
    assert {server.get(f"{D}/nodes/small/{i}").status for i in range(N)} == {200}
    neighbour = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_S, source_address=("127.0.0.2", 0))
    listed = server.request("GET", f"{D}/tree/small", connection=neighbour)  # one address alone does not get the whole lane
    neighbour.close()
    assert len(listed.json()["nodes"]) == N + 1
    for client in clients:
        client.close()
    wait_until(lambda: server.get(f"{D}/nodes/large/{N - 1}").status == 200)
    stays_small(server)


def test_a_node_that_never_fits_is_refused_with_the_figures(serve, store):
    server = serve(f"w={store}", "--set", "memory.bytes=16MiB", "--set", "cache.metadata_bytes=1MiB")
    refused = server.get(f"{D}/nodes/large/0")
    assert refused.status == 413 and refused.json()["requested"] > refused.json()["limit"] > 0
    assert server.get(f"{D}/nodes/small/0").status == 200
