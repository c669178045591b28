"""Answers that are sent while they are made: the same bytes, in little memory, and never a wrong one."""

import concurrent.futures
import gzip
import http.client
import io
import re
import shutil
import socket
import struct
import time

import numpy as np
import pytest
from arrays import crc32c, write_array, write_gzipped, write_sharded
from client import DEADLINE_S, is_sanitized, memory_bytes, soon, wait_until
from documents import LITTLE, shard

TRIES_N = 20
SMALL = "--set=http.stream_bytes=4KiB"


def begin(server, target, receive_bytes=None):
    """A request whose answer is not read yet."""
    client = socket.socket()
    client.settimeout(DEADLINE_S)
    if receive_bytes is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    client.connect(("127.0.0.1", server.port))
    client.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    return client


def settled(look):
    """What look() gives when it has given the same for a while: a worker ends what it has begun."""
    found, n_same = look(), 0
    while n_same < 3:
        time.sleep(0.1)
        before, found = found, look()
        n_same = n_same + 1 if found == before else 0
    return found


def read_all(client):
    """Head and body until the end of the connection, and whether that was a reset."""
    received = bytearray()
    was_reset = False
    try:
        while piece := client.recv(1 << 20):
            received += piece
    except ConnectionResetError:
        was_reset = True
    client.close()
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    return head, body, was_reset


@pytest.fixture(scope="module")
def plane():
    return np.random.default_rng(1).integers(-1000, 1000, size=(96, 100)).astype("<i4")


@pytest.fixture
def small(serve, tmp_path, plane):
    """Every answer above 4 KiB is streamed, in bands of 1 KiB: less than a chunk row."""
    write_array(tmp_path / "a", plane.shape, (16, 25), [LITTLE], plane, "int32")
    write_gzipped(tmp_path / "rows", plane, (2, 100))
    return serve(f"work={tmp_path}", SMALL)


def url(name, slices="", form="raw"):
    return f"/v1/datasets/work/slices/{name}?slice={slices}&format={form}"


SELECTIONS = {"": np.s_[:], "::-1": np.s_[::-1], "1:95:3,::2": np.s_[1:95:3, ::2], ":,99:0:-1": np.s_[:, 99:0:-1],
              "5:90,13": np.s_[5:90, 13], "3:93": np.s_[3:93]}


@pytest.mark.parametrize("name", ["a", "rows"])
@pytest.mark.parametrize("slices", SELECTIONS)
def test_streamed_bytes_are_those_of_numpy(small, plane, name, slices):
    expected = plane[SELECTIONS[slices]]
    raw = small.get(url(name, slices))
    assert raw.status == 200 and raw.body == expected.tobytes()
    assert raw.headers["content-length"] == str(expected.nbytes)
    npy = small.get(url(name, slices, "npy"))
    assert np.array_equal(np.load(io.BytesIO(npy.body)), expected)
    text = small.get(url(name, slices, "json"))
    assert text.json()["data"] == expected.tolist()
    csv = small.get(url(name, slices, "csv"))
    assert csv.body.decode() == "".join(",".join(str(v) for v in np.atleast_1d(row)) + "\r\n" for row in expected)
    if expected.size * 16 > 4096:
        assert text.headers["transfer-encoding"] == "chunked" and "etag" in csv.headers


def test_a_post_streams_too(small, plane):
    answer = small.post("/v1/datasets/work/slices/rows", {"slice": "2:90", "format": "npy"})
    assert answer.status == 200 and np.array_equal(np.load(io.BytesIO(answer.body)), plane[2:90])
    assert "etag" not in answer.headers


def test_pretty_json_is_the_same_streamed_or_not(serve, tmp_path, small):
    whole = serve(f"work={tmp_path}").get(url("a", "", "json") + "&pretty=1")
    assert small.get(url("a", "", "json") + "&pretty=1").body == whole.body
    assert "content-length" in whole.headers


def test_http_1_0_gets_text_until_the_connection_ends(small, plane):
    with socket.create_connection(("127.0.0.1", small.port), timeout=DEADLINE_S) as client:
        client.sendall(f"GET {url('a', '', 'csv')} HTTP/1.0\r\n\r\n".encode())
        head, body, was_reset = read_all(client)
    assert b"chunked" not in head.lower() and not was_reset
    assert np.array_equal(np.loadtxt(io.BytesIO(body), delimiter=","), plane)


def test_shards_are_streamed(serve, tmp_path):
    values = np.arange(64 * 64, dtype="<f4").reshape(64, 64)
    write_array(tmp_path / "s", values.shape, (32, 32), [shard((8, 8))])
    for i, j in np.ndindex(2, 2):
        data, places, at = b"", [], 0
        for k, m in np.ndindex(4, 4):
            box = values[i * 32 + k * 8:, j * 32 + m * 8:][:8, :8]
            data += np.ascontiguousarray(box).tobytes()
            places += [at, 256]
            at += 256
        index = np.array(places, dtype="<u8").tobytes()
        (tmp_path / f"s/c/{i}").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"s/c/{i}/{j}").write_bytes(data + index + crc32c(index))
    server = serve(f"work={tmp_path}", SMALL, "--set=cache.decoded_bytes=0")
    with server.cost() as cost:
        answer = server.get(url("s"))
    assert answer.body == values.tobytes()
    assert cost["zarrd_decodes_total"] <= 64 + 4  # each inner chunk once, and the indexes


@pytest.mark.parametrize("form", ["raw", "npy"])
def test_a_range_is_the_same_bytes_of_the_whole(small, form):
    whole = small.get(url("rows", "", form))
    size = len(whole.body)
    for first, last in [(0, size - 1), (0, 0), (1, 6000), (3, 4500), (127, 8000), (129, 30001), (size - 5000, size - 1),
                        (200, 210), (size - 3, size - 1), (10, size + 100)]:
        part = small.get(url("rows", "", form), {"Range": f"bytes={first}-{last}", "If-Range": whole.headers["etag"]})
        last = min(last, size - 1)
        assert part.status == 206 and part.body == whole.body[first:last + 1], (first, last)
        assert part.headers["content-range"] == f"bytes {first}-{last}/{size}"
        assert part.headers["content-length"] == str(last + 1 - first)
    assert small.get(url("rows", "", form), {"Range": f"bytes={size}-"}).status == 416


def test_a_range_decodes_only_what_it_needs(serve, tmp_path, small, plane):
    server = serve(f"work={tmp_path}", SMALL, "--set=cache.decoded_bytes=0")
    whole = plane.tobytes()
    with server.cost() as cost:
        part = server.get(url("rows"), {"Range": "bytes=10000-20000"})
    assert part.body == whole[10000:20001]
    assert cost["zarrd_decodes_total"] == 14  # rows of 800 bytes: 12 to 25


def test_if_range_of_another_state_gives_the_whole(small, plane):
    answer = small.get(url("rows"), {"Range": "bytes=0-9", "If-Range": '"0-raw"'})
    assert answer.status == 200 and answer.body == plane.tobytes()


def test_conditions_are_judged_before_anything_is_made(small):
    tag = small.get(url("rows")).headers["etag"]
    with small.cost() as cost:
        assert small.get(url("rows"), {"If-None-Match": tag}).status == 304
        assert small.get(url("rows"), {"If-Match": '"x"'}).status == 412
        head = small.head(url("rows"))
    assert head.headers["content-length"] == "38400" and head.headers["etag"] == tag
    assert cost["zarrd_decodes_total"] == 0


def test_each_chunk_is_decoded_once(serve, tmp_path, small, plane):
    server = serve(f"work={tmp_path}", SMALL, "--set=cache.decoded_bytes=0")
    with server.cost() as cost:
        assert server.get(url("rows")).body == plane.tobytes()
    assert cost["zarrd_decodes_total"] == 48


def test_a_connection_is_kept_after_a_stream(small, plane):
    connection = small.connection()
    for form in ("raw", "json", "raw", "csv", "npy"):
        answer = small.get(url("a", "", form), connection=connection)
        assert answer.status == 200
    assert small.get(url("a"), connection=connection).body == plane.tobytes()


def test_16_streams_at_once(small, plane):
    def one(i):
        answer = small.get(url("rows", f"{i}:"))
        return answer.status == 200 and answer.body == plane[i:].tobytes()

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(one, range(16)))


def parts_of(answer, form):
    """The chunks of a batch, in order."""
    parts = []
    if form == "frames":
        at = 0
        while at < len(answer.body):
            position, length = struct.unpack_from("<IQ", answer.body, at)
            assert position == len(parts)
            parts.append(answer.body[at + 12:at + 12 + length])
            at += 12 + length
        return parts
    boundary = answer.headers["content-type"].partition("boundary=")[2].encode()
    pieces = answer.body.split(b"--" + boundary)
    assert pieces[0] == b"" and pieces[-1] == b"--\r\n"
    return [piece.partition(b"\r\n\r\n")[2][:-2] for piece in pieces[1:-1]]


@pytest.mark.parametrize("form", ["frames", "multipart"])
@pytest.mark.parametrize("decoded", [True, False])
@pytest.mark.parametrize("n", [48, 5])
def test_a_batch_streams_once_there_is_a_lot_of_it(small, tmp_path, plane, form, decoded, n):
    accept = {"frames": "application/vnd.zarrd.frames", "multipart": "multipart/mixed"}[form]
    answer = small.post("/v1/datasets/work/chunks/rows", {"indices": [[i, 0] for i in range(n)], "decoded": decoded},
                        {"Accept": accept})
    assert answer.status == 200 and ("content-length" in answer.headers) == (n == 5)
    expected = [plane[2 * i:2 * i + 2].tobytes() if decoded else (tmp_path / f"rows/c/{i}/0").read_bytes() for i in range(n)]
    assert parts_of(answer, form) == expected


def test_a_corrupt_chunk_of_a_batch_cuts_it(small, tmp_path):
    (tmp_path / "rows/c/47/0").write_bytes(b"no gzip")
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        small.post("/v1/datasets/work/chunks/rows", {"indices": [[i, 0] for i in range(48)], "decoded": True})
    wait_until(lambda: re.search(r"POST \S+/rows 200 \d+ \S+ \S+ corrupt_chunk from 127\.0\.0\.1 cut: ", small.log, re.MULTILINE))


# ---- large ones ----


@pytest.fixture(scope="module")
def cube_folder(tmp_path_factory):
    """64 MiB in chunks of 256 KiB, 16 of them a row."""
    folder = tmp_path_factory.mktemp("cube")
    values = np.random.default_rng(2).integers(0, 50, size=(16, 1024, 1024)).astype("<f4")
    write_gzipped(folder / "cube", values, (1, 256, 256))
    return folder, values


BARE = ["--set=cache.decoded_bytes=0", "--set=cache.encoded_bytes=0"]


def test_64_mib_take_16_mb(serve, cube_folder):
    folder, values = cube_folder
    server = serve(f"work={folder}", *BARE)
    for _ in range(3):
        server.get(url("cube", "0,:256,:256"))
    before = memory_bytes(server, "VmRSS")
    connection = server.connection()
    connection.request("GET", url("cube"))
    response = connection.getresponse()
    body = response.read()
    assert body == values.tobytes()
    connection.close()
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") - before <= 16000000


def test_a_slow_reader_holds_no_more_than_its_window(serve, cube_folder):
    folder, values = cube_folder
    server = serve(f"work={folder}", *BARE)
    server.get(url("cube", "0,:256,:256"))
    before = memory_bytes(server, "VmRSS")
    client = begin(server, url("cube"), 65536)
    decodes = settled(lambda: server.metrics()["zarrd_decodes_total"])
    assert decodes < 100  # of 256, so the first bytes came before most of the work
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") - before <= 16000000
    received = 0
    while received < values.nbytes // 2:
        received += len(client.recv(1 << 16))
    client.close()
    wait_until(lambda: server.metrics()["http_requests_in_flight"] == 1)
    wait_until(lambda: re.search(r"GET \S+/cube\S* 200 \d+ \S+ \S+ from 127\.0\.0\.1 cut$", server.log, re.MULTILINE))


# ---- what goes wrong half way ----


def test_a_client_that_leaves_stops_the_work(serve, cube_folder):
    folder, _ = cube_folder
    server = serve(f"work={folder}", *BARE)
    client = begin(server, url("cube"))
    client.recv(1)
    client.close()
    wait_until(lambda: server.metrics()["http_requests_in_flight"] == 1)
    assert settled(lambda: server.metrics()["zarrd_decodes_total"]) < 256


def test_a_client_that_leaves_before_the_head_is_noticed(serve, cube_folder):
    """The connection sleeps: nobody but us looks at it. Who leaves too late, when all is done, comes again."""
    folder, _ = cube_folder
    server = serve(f"work={folder}", *BARE, "--set=http.stream_bytes=64MiB")
    for _ in range(TRIES_N):
        before = server.metrics()["zarrd_decodes_total"]
        client = begin(server, url("cube", ":,:1000"))
        wait_until(lambda: server.metrics()["zarrd_decodes_total"] > before)
        client.close()
        wait_until(lambda: server.metrics()["http_requests_in_flight"] == 1)
        if server.metrics()["zarrd_clients_left_total"] == 1:
            break
    assert settled(lambda: server.metrics()["zarrd_decodes_total"]) - before < 256
    wait_until(lambda: re.search(r"GET \S+/cube\S+ 499 0 ", server.log))


def test_a_corrupt_chunk_ends_the_connection_and_is_logged(serve, tmp_path, small, plane):
    server = serve(f"work={tmp_path}", SMALL, "--set=cache.decoded_bytes=0")
    (tmp_path / "rows/c/47/0").write_bytes(b"no gzip")
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        server.get(url("rows"))
    head, body, was_reset = read_all(begin(server, url("rows")))
    assert head.startswith(b"HTTP/1.1 200") and was_reset
    assert len(body) < plane.nbytes and plane.tobytes().startswith(body)
    wait_until(lambda: re.search(r"GET \S+/rows\S* 200 \d+ \S+ \S+ corrupt_chunk from 127\.0\.0\.1 cut: ", server.log, re.MULTILINE))
    wait_until(lambda: any("rows/c/47/0" in line for line in server.log.splitlines() if "cut after" in line))
    assert soon(lambda: server.metrics()["zarrd_streams_cut_total"], 2) == 2


def test_a_corrupt_chunk_of_the_first_band_is_told(serve, tmp_path, small):
    server = serve(f"work={tmp_path}", SMALL)
    (tmp_path / "rows/c/0/0").write_bytes(b"no gzip")
    answer = server.get(url("rows"))
    assert answer.status == 500 and answer.code == "corrupt_chunk"


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_text_that_is_cut_cannot_be_taken_for_whole(serve, tmp_path, small, version):
    server = serve(f"work={tmp_path}", SMALL)
    (tmp_path / "rows/c/47/0").write_bytes(b"no gzip")
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as client:
        client.sendall(f"GET {url('rows', '', 'csv')} HTTP/{version}\r\nHost: a\r\n\r\n".encode())
        head, body, was_reset = read_all(client)
    assert head.startswith(b"HTTP/1.1 200") and was_reset
    assert not body.endswith(b"0\r\n\r\n") or version == "1.0"


def test_an_object_that_is_replaced_cuts_the_stream(serve, cube_folder, tmp_path):
    folder, values = cube_folder
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    server = serve(f"work={tmp_path}", *BARE)
    client = begin(server, url("cube"), 65536)
    client.recv(1)
    new = tmp_path / "new"
    new.write_bytes(gzip.compress(np.zeros((256, 256), "<f4").tobytes(), 1))
    new.rename(tmp_path / "cube/c/15/3/3")
    _, body, was_reset = read_all(client)
    assert was_reset and len(body) < values.nbytes and values.tobytes().startswith(body)


def test_a_stop_lets_a_stream_end(serve, cube_folder):
    folder, values = cube_folder
    server = serve(f"work={folder}", *BARE, "--set=http.drain_ms=600000")
    client = begin(server, url("cube"), 65536)
    client.recv(1)
    server.process.terminate()
    wait_until(lambda: "stopping" in server.log)
    _, body, was_reset = read_all(client)
    assert not was_reset and body == values.tobytes()
    assert server.process.wait(DEADLINE_S) == 0


def test_a_stop_that_waits_no_longer_cuts_a_stream(serve, cube_folder):
    folder, values = cube_folder
    server = serve(f"work={folder}", *BARE, "--set=http.drain_ms=0")
    clients = [begin(server, url("cube"), 65536) for _ in range(4)]
    for client in clients:
        client.recv(1)
    server.process.terminate()
    assert server.process.wait(DEADLINE_S) == 0
    for client in clients:
        _, body, _ = read_all(client)
        assert len(body) < values.nbytes


@pytest.mark.parametrize("array, known", [("a", True), ("gone", True), ("shards", False)])
@pytest.mark.parametrize("query", ["", "?slice=0:40", "?slice=0:3", "?slice=5:5", "?format=json"])
def test_a_head_counts_the_chunks_as_its_body_would(small, tmp_path, plane, array, known, query):
    """Streamed or not: of chunks stored one by one it is known which are absent, of others once their index is at hand."""
    write_sharded(tmp_path / "shards", plane, (32, 100), (16, 25))
    write_array(tmp_path / "gone", plane.shape, (16, 25), [LITTLE], dtype="int32")
    target = f"/slices/{array}{query}"
    get, head = (small.request(method, "/v1/datasets/work" + target) for method in ("GET", "HEAD"))
    assert head.headers.get("etag") == get.headers.get("etag") is not None
    if known:
        touched, absent = map(int, get.headers["zarr-chunks"].split("/"))
        assert head.headers["zarr-chunks"] == get.headers["zarr-chunks"] and absent == (touched if array == "gone" else 0)
    else:
        counts = head.headers.get("zarr-chunks")
        assert counts is None or counts == get.headers.get("zarr-chunks", counts)
