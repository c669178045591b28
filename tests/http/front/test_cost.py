"""What answers cost: system calls, allocations, store reads, bytes read, decodes. Counts, never times."""

import concurrent.futures
import json
import re
import shutil
import subprocess
import time

import numpy as np
import pytest
from arrays import write_array
from client import DECODES, READ_BYTES, READS
from documents import GZIP, LITTLE
from live import RawClient

ALLOCATIONS = "zarrd_allocations_total"
N = 800
N_BUSY = 16


def count_system_calls(process, work):
    """All system calls of the process while work() runs, by name."""
    out = process.folder / "strace"
    tracer = subprocess.Popen(["strace", "-f", "-c", "-o", str(out), "-p", str(process.process.pid)],
                              stderr=subprocess.PIPE, text=True)
    assert "attached" in tracer.stderr.readline()
    time.sleep(0.3)
    work()
    tracer.terminate()
    tracer.wait(30)
    calls = {}
    for line in out.read_text().splitlines():
        match = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line)
        if match and match[2] != "total":
            calls[match[2]] = int(match[1])
    return calls


HOT = {
    "metadata document": ("/zarr/work/a/zarr.json", {}, 200),
    "raw chunk": ("/zarr/work/a/c/0/0", {}, 200),
    "304": ("/zarr/work/a/zarr.json", {"If-None-Match": None}, 304),
    "404": ("/zarr/work/a/c/9/9", {}, 404),
}


@pytest.fixture
def work(serve, tmp_path):
    values = np.arange(64 * 64, dtype="<f4").reshape(64, 64)
    write_array(tmp_path / "a", (64, 64), (32, 32), [LITTLE], values)
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    config = {"datasets": {"work": {"location": str(tmp_path), "revalidate_ms": 600000}}}
    return serve(config=config, environment={"ZARRD_LOG_REQUESTS": "false"})


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.alone
@pytest.mark.parametrize("name", HOT)
def test_a_hot_answer_costs_at_most_2_6_system_calls(work, name):
    """On keep-alive connections that are busy: one receive and one send each, and the waits that they share."""
    target, headers, status = HOT[name]
    headers = {key: work.get(target).headers.get("etag", "") for key in headers}
    lines = [f"GET {target} HTTP/1.1", "Host: zarrd", *(f"{key}: {value}" for key, value in headers.items()), "", ""]
    request = "\r\n".join(lines).encode()
    clients = [RawClient(work.port) for _ in range(N_BUSY)]

    def rounds():
        for _ in range(N // N_BUSY):
            for client in clients:
                client.send(request)
            for client in clients:
                assert client.receive()[0] == status

    rounds()
    calls = count_system_calls(work, rounds)
    # Attaching the tracer interrupts one wait of each thread; a few timers tick while the requests run.
    assert sum(calls.values()) / N <= 2.6 + 20 / N, calls


@pytest.mark.alone
@pytest.mark.parametrize("name", HOT)
def test_a_hot_answer_allocates_nothing_of_ours(work, name):
    target, headers, status = HOT[name]
    connection = work.connection()
    headers = {key: work.get(target).headers.get("etag", "") for key in headers}
    for _ in range(3):
        work.get(target, headers, connection=connection)

    def allocations_of(n):
        with work.cost() as cost:
            for _ in range(n):
                assert work.get(target, headers, connection=connection).status == status
        return cost[ALLOCATIONS]

    allocations_of(1)
    # Reading /metrics costs allocations itself: the same with 10 and with 300 requests between.
    assert allocations_of(300) == allocations_of(10)


def test_64_requests_for_one_cold_chunk_cost_one_read_and_one_decode(serve, tmp_path):
    values = np.random.default_rng(1).normal(size=(512, 512)).astype("<f4")
    gzip = [LITTLE, GZIP]
    write_array(tmp_path / "a", (512, 512), (512, 512), gzip)
    import gzip as gzip_module
    (tmp_path / "a/c/0").mkdir(parents=True)
    (tmp_path / "a/c/0/0").write_bytes(gzip_module.compress(values.tobytes(), 1))
    server = serve(f"work={tmp_path}")
    server.get("/v1/datasets/work/nodes/a")
    with server.cost() as cost, concurrent.futures.ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda i: server.get(f"/v1/datasets/work/slices/a?slice={i},:"), range(64)))
    assert [answer.status for answer in answers] == [200] * 64
    assert all(answer.body == values[i].tobytes() for i, answer in enumerate(answers))
    assert cost[READS] == 1
    assert cost[DECODES] == 1


def test_a_point_of_an_uncompressed_chunk_reads_little(serve, tmp_path):
    values = np.arange(1024 * 1024, dtype="<f4").reshape(1024, 1024)
    write_array(tmp_path / "a", (1024, 1024), (1024, 1024), [LITTLE], values)
    server = serve(f"work={tmp_path}")
    server.get("/v1/datasets/work/nodes/a")
    with server.cost() as cost:
        answer = server.get("/v1/datasets/work/slices/a?slice=700,801")
    assert answer.body == values[700, 801].tobytes()
    assert cost[READ_BYTES] <= 4096


def test_a_slice_inside_a_shard_reads_the_index_and_the_inner_chunks_it_needs(server):
    # 2-d shards of tests/corpus: the index, then two inner chunks.
    node = next(node for node in server.get("/v1/datasets/sharding/tree/").json()["nodes"]
                if node.get("array", {}).get("inner_chunk_shape"))
    array = node["array"]
    inner, outer = array["inner_chunk_shape"], array["chunk_shape"]
    assert outer[-1] >= 2 * inner[-1]
    items = ["0"] * (len(inner) - 1) + [f"{inner[-1] - 1}:{inner[-1] + 1}"]
    with server.cost() as cost:
        answer = server.get(f"/v1/datasets/sharding/slices/{node['path']}?slice={','.join(items)}")
    assert answer.status == 200, answer
    assert cost[READS] <= 3


def test_head_reads_no_chunk(serve, tmp_path):
    values = np.arange(64 * 64, dtype="<f4").reshape(64, 64)
    write_array(tmp_path / "a", (64, 64), (32, 32), [LITTLE], values)
    server = serve(f"work={tmp_path}")
    server.get("/v1/datasets/work/nodes/a")
    with server.cost() as cost:
        head = server.head("/v1/datasets/work/slices/a?slice=0:40&format=npy")
        key = server.head("/zarr/work/a/c/0/0")
    assert cost[READS] == 0 and cost[READ_BYTES] == 0
    get = server.get("/v1/datasets/work/slices/a?slice=0:40&format=npy")
    assert head.headers["content-length"] == str(len(get.body)) and head.body == b""
    assert head.headers["etag"] == get.headers["etag"]
    assert key.headers["content-length"] == str(32 * 32 * 4)


def test_head_of_an_inner_chunk_reads_the_index_alone(server):
    node = next(node for node in server.get("/v1/datasets/sharding/tree/").json()["nodes"]
                if node.get("array", {}).get("inner_chunk_shape"))
    index = ",".join("0" for _ in node["array"]["shape"])
    for more in ("", "&decoded=1"):
        target = f"/v1/datasets/sharding/chunks/{node['path']}?index={index}&level=inner{more}"
        with server.cost() as cost:
            head = server.head(target)
        assert cost[READS] <= 1
        get = server.get(target)
        for name in ("content-length", "etag"):
            assert head.headers[name] == get.headers[name]
        assert server.get(target, {"If-None-Match": head.headers["etag"]}).status == 304


def test_a_304_of_a_slice_decodes_nothing(serve, tmp_path):
    values = np.arange(64 * 64, dtype="<f4").reshape(64, 64)
    write_array(tmp_path / "a", (64, 64), (32, 32), [LITTLE], values)
    server = serve(f"work={tmp_path}", "--set", "cache.decoded_bytes=0")
    target = "/v1/datasets/work/slices/a?slice=0:40"
    tag = server.get(target).headers["etag"]
    with server.cost() as cost:
        assert server.get(target, {"If-None-Match": tag}).status == 304
    assert cost[READS] == 0 and cost[DECODES] == 0


def test_ten_thousand_arrays_in_one_tree(serve, tmp_path):
    document = json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [LITTLE]})
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for i in range(10000):
        (tmp_path / f"a{i:05}").mkdir()
        (tmp_path / f"a{i:05}" / "zarr.json").write_text(document)
    server = serve(f"work={tmp_path}")
    assert server.metrics()[READS] <= 1  # the root, for the line that is printed; nothing is scanned
    tree = server.get("/v1/datasets/work/tree/").json()
    assert tree["next"] is None and tree["source"] == "live"
    assert [node["path"] for node in tree["nodes"]] == [""] + [f"a{i:05}" for i in range(10000)]
    assert all(node["metadata"]["zarr_format"] == 3 for node in tree["nodes"])
