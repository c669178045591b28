"""Raw keys, as clients need them."""

import concurrent.futures
import email.utils
import http.client
import json
import os
import re
import socket
import threading
import time
import urllib.parse

import numpy as np
import pytest
from arrays import write_array
from client import READ_BYTES, READS, is_sanitized, memory_bytes
from documents import CRC, GZIP, LITTLE, ZSTD
from live import RawClient

STATUSES = "zarrd_store_statuses_total"
KEY = "a b+c/é.bin"
SMALL = bytes(range(256)) * 4
LARGE = bytes(range(251)) * 1200  # 301,200 bytes: beyond what is read whole for a range
SPARSE_SIZE = 1 << 30


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for name in (".zgroup", ".zattrs", ".zarray", ".zmetadata", "attributes.json"):
        (folder / name).write_text("{}")
    (folder / "a b+c").mkdir()
    (folder / KEY).write_bytes(SMALL)
    (folder / "d/e").mkdir(parents=True)
    (folder / "d/e/small").write_bytes(SMALL)
    (folder / "d/large").write_bytes(LARGE)
    (folder / "d/nothing").write_bytes(b"")
    (folder / "d/hollow").mkdir()
    (folder / "d/<&\">'").mkdir()
    with open(folder / "d/sparse", "wb") as file:
        file.truncate(SPARSE_SIZE)
    return folder


@pytest.fixture(scope="module")
def keys(store):
    from live import Server
    server = Server(f"k={store}", "--set", "limits.object_bytes=512MiB")
    yield server
    server.stop()


def test_the_path_is_decoded_once(keys):
    for spelled in ("a%20b+c/%C3%A9.bin", "a%20b%2Bc/%c3%a9.bin", urllib.parse.quote(KEY)):
        answer = keys.get(f"/zarr/k/{spelled}")
        assert answer.status == 200 and answer.body == SMALL, spelled
    assert keys.get("/zarr/k/a+b+c/%C3%A9.bin").status == 404  # a plus is a plus
    assert keys.get("/zarr/k/a%2520b+c/%C3%A9.bin").status == 404  # once


@pytest.mark.parametrize("query", ["token=x", "x-id=GetObject", "a=1&a=2", "%", "=", ""])
def test_unknown_parameters_are_ignored(keys, query):
    assert keys.get(f"/zarr/k/d/e/small?{query}").body == SMALL


@pytest.mark.parametrize("name", [".zgroup", ".zattrs", ".zarray", ".zmetadata"])
def test_dot_keys_are_served_and_listed(keys, name):
    assert keys.get(f"/zarr/k/{name}").body == b"{}"
    assert f'href="{name}"' in keys.get("/zarr/k/").body.decode()


def test_runs_of_slashes_collapse(keys):
    for target in ("/zarr/k//d/e/small", "/zarr/k/d//e///small", "/zarr/k///d/e/small"):
        assert keys.get(target).body == SMALL, target
    assert keys.get("/zarr/k//").body == keys.get("/zarr/k/").body


@pytest.mark.parametrize("path", [
    "../etc/passwd", "%2e%2e/etc/passwd", "d/../zarr.json", "d/./e/small", "d/%00", "d/e%2fsmall", "d/%5c", "%ff", "%"])
def test_nothing_leaves_the_store(keys, path):
    assert keys.get(f"/zarr/k/{path}").status in (400, 404)


def test_a_directory_redirects_to_its_slash(keys):
    for target, location in (("/zarr/k", "k/"), ("/zarr/k/d", "d/"), ("/zarr/k/d/e", "e/"), ("/zarr/k/a%20b+c", "a%20b%2Bc/")):
        for method in ("GET", "HEAD"):
            answer = keys.request(method, target)
            assert answer.status == 301, target
            assert answer.headers["location"] == location  # relative
            assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("path", [
    "absent", "d/absent", "absent/zarr.json", "zarr.json/x", "d/e/small/c/0", "d/e/sma", "x" * 300, "y/" * 500 + "z"])
def test_an_absent_key_is_404_and_nothing_else(keys, path):
    for _ in range(2):  # looked for, and remembered
        answer = keys.get(f"/zarr/k/{path}")
        assert answer.status == 404 and answer.code == "key_not_found"
        head = keys.head(f"/zarr/k/{path}")
        assert head.status == 404 and head.body == b""


def test_a_dataset_without_keys_is_denied_as_a_whole(serve, store):
    server = serve(config={"datasets": {"k": {"location": str(store), "allow_keys": False}}})
    for path in ("zarr.json", "absent", "", "d/"):
        answer = server.get(f"/zarr/k/{path}")
        assert answer.status == 403 and answer.code == "forbidden"


def test_head_is_get_without_a_body(keys):
    own = {"date", "x-request-id"}
    for path in ("zarr.json", "d/e/small", "d/large", "d/nothing", "d/", "d/hollow/"):
        get = keys.get(f"/zarr/k/{path}")
        head = keys.head(f"/zarr/k/{path}")
        assert head.status == get.status == 200
        assert head.body == b""
        for name in get.headers.keys() | head.headers.keys() - own:
            if name not in own:
                assert head.headers.get(name) == get.headers.get(name), (path, name)
        assert head.headers["content-length"] == str(len(get.body))


RANGES = [
    ("bytes=0-0", 0, 0), ("bytes=1-9", 1, 9), ("bytes=100-", 100, None), ("bytes=-1", -1, None), ("bytes=-100", -100, None),
    ("bytes=0-", 0, None), ("bytes=0-99999999", 0, None), ("bytes=-99999999", 0, None),
    ("bytes=5-18446744073709551615", 5, None), ("BYTES=1-2", 1, 2),
]


@pytest.mark.parametrize("path, data", [("d/e/small", SMALL), ("d/large", LARGE)], ids=["small", "large"])
@pytest.mark.parametrize("header, first, last", RANGES)
def test_ranges_are_206_even_over_the_whole(keys, path, data, header, first, last):
    answer = keys.get(f"/zarr/k/{path}", {"Range": header})
    first = first if first >= 0 else max(len(data) + first, 0)
    last = min(len(data) - 1 if last is None else last, len(data) - 1)
    assert answer.status == 206, answer.headers
    assert answer.body == data[first:last + 1]
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(data)}"
    assert answer.headers["content-length"] == str(last - first + 1)
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"] == keys.head(f"/zarr/k/{path}").headers["etag"]


@pytest.mark.parametrize("path, size, header", [
    ("d/e/small", 1024, "bytes=1024-"), ("d/e/small", 1024, "bytes=-0"), ("d/nothing", 0, "bytes=0-0"),
    ("d/nothing", 0, "bytes=-5"), ("d/large", len(LARGE), f"bytes={len(LARGE)}-"), ("d/sparse", SPARSE_SIZE, f"bytes={SPARSE_SIZE}-")])
def test_a_range_outside_is_416(keys, path, size, header):
    answer = keys.get(f"/zarr/k/{path}", {"Range": header})
    assert answer.status == 416 and answer.code == "range_not_satisfiable"
    assert answer.headers["content-range"] == f"bytes */{size}"
    assert "not satisfiable" in answer.json()["detail"]


@pytest.mark.parametrize("header", ["bytes=x", "bytes=2-1", "bytes", "items=0-1", "bytes=-", "", "bytes=0-1,5-6", "bytes=0-0,-1"])
def test_malformed_and_several_ranges_give_the_whole(keys, header):
    for path, data in (("d/e/small", SMALL), ("d/large", LARGE)):
        answer = keys.get(f"/zarr/k/{path}", {"Range": header})
        assert answer.status == 200 and answer.body == data
        assert "content-range" not in answer.headers


def test_if_range(keys):
    for path, data in (("d/e/small", SMALL), ("d/large", LARGE)):
        head = keys.head(f"/zarr/k/{path}").headers
        part = {"Range": "bytes=1-2"}
        assert keys.get(f"/zarr/k/{path}", {**part, "If-Range": head["etag"]}).status == 206
        assert keys.get(f"/zarr/k/{path}", {**part, "If-Range": '"other"'}).body == data
        assert keys.get(f"/zarr/k/{path}", {**part, "If-Range": head["last-modified"]}).body == data


def test_a_resumed_download_never_mixes_two_versions(tmp_path, serve):
    """A file changes twice in a second, or gets the time of the one before: its date says nothing, its tag does."""
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    key = tmp_path / "x"
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 0}}})
    second = int(time.time()) - 100
    for first_ns, later_ns in ((0, 0), (200_000_000, 700_000_000), (700_000_000, 200_000_000)):
        key.write_bytes(b"a" * 100)
        os.utime(key, ns=(second * 10**9 + first_ns,) * 2)
        before = server.get("/zarr/k/x")
        key.rename(tmp_path / "old")
        key.write_bytes(b"b" * 100)
        os.utime(key, ns=(second * 10**9 + later_ns,) * 2)
        for validator in (before.headers["last-modified"], before.headers["etag"]):
            rest = server.get("/zarr/k/x", {"Range": "bytes=50-", "If-Range": validator})
            assert (rest.status, rest.body) == (200, b"b" * 100), validator
            assert rest.headers["last-modified"] == before.headers["last-modified"]
        assert server.get("/zarr/k/x", {"Range": "bytes=50-", "If-Range": rest.headers["etag"]}).status == 206


def test_last_modified_is_never_later_than_date(tmp_path, serve):
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for name, ahead in (("x", 0), ("y", 100), ("z", 10**9)):
        (tmp_path / name).write_bytes(SMALL)
        os.utime(tmp_path / name, (time.time() + ahead,) * 2)
    os.utime(tmp_path / "zarr.json", (time.time() + 1000,) * 2)
    server = serve(f"k={tmp_path}")
    for target in ("/zarr/k/x", "/zarr/k/y", "/zarr/k/z", "/zarr/k/zarr.json"):
        for answer in (server.get(target), server.head(target), server.get(target), server.get(target, {"Range": "bytes=0-3"})):
            dates = [email.utils.parsedate_to_datetime(answer.headers[name]) for name in ("last-modified", "date")]
            assert dates[0] <= dates[1], (target, answer)


def test_range_on_head_gives_the_full_length(keys):
    head = keys.head("/zarr/k/d/large", {"Range": "bytes=0-1"})
    assert head.status == 200 and head.headers["content-length"] == str(len(LARGE))


def test_headers_of_a_key(keys):
    offers = {"Accept-Encoding": "gzip, br, zstd"}
    for path, media_type in (("zarr.json", "application/json"), (".zgroup", "application/json"),
                             (".zmetadata", "application/json"), ("attributes.json", "application/json"),
                             ("d/large", "application/octet-stream"), ("d/nothing", "application/octet-stream")):
        for answer in (keys.get(f"/zarr/k/{path}", offers), keys.head(f"/zarr/k/{path}", offers)):
            headers = answer.headers
            assert headers["accept-ranges"] == "bytes"
            assert "content-encoding" not in headers and "transfer-encoding" not in headers
            assert headers["content-length"].isdigit()
            assert headers["content-type"] == media_type
            assert headers["cache-control"] == "no-cache"
            assert re.fullmatch(r'"[0-9a-f]{16}-\d+"', headers["etag"])
            for name in ("date", "last-modified"):
                parsed = email.utils.parsedate_to_datetime(headers[name])
                assert headers[name] == email.utils.format_datetime(parsed, usegmt=True)
    part = keys.get("/zarr/k/d/large", {**offers, "Range": "bytes=0-9"})
    assert part.status == 206 and "content-encoding" not in part.headers


@pytest.mark.parametrize("path", ["d/e/small", "d/large"])
def test_conditions_on_a_key(keys, path):
    target = f"/zarr/k/{path}"
    headers = keys.head(target).headers
    tag = headers["etag"]
    bare = tag.strip('"')
    late = "Fri, 01 Jan 2100 00:00:00 GMT"
    early = "Thu, 01 Jan 1970 00:00:01 GMT"
    facts = [
        ({"If-None-Match": tag}, 304), ({"If-None-Match": bare}, 304), ({"If-None-Match": f"W/{tag}"}, 304),
        ({"If-None-Match": "*"}, 304), ({"If-None-Match": f'"x", {tag}'}, 304), ({"If-None-Match": '""'}, 200),
        ({"If-None-Match": '"x"'}, 200), ({"If-Match": tag}, 200), ({"If-Match": bare}, 200), ({"If-Match": "*"}, 200),
        ({"If-Match": '"x"'}, 412), ({"If-Modified-Since": late}, 304), ({"If-Modified-Since": early}, 200),
        ({"If-Unmodified-Since": early}, 412), ({"If-Unmodified-Since": late}, 200),
        ({"If-None-Match": '"x"', "If-Modified-Since": late}, 200),
        ({"If-None-Match": tag, "Range": "bytes=0-1"}, 304), ({"If-Match": '"x"', "Range": "bytes=0-1"}, 412),
    ]
    for sent, status in facts:
        for method in ("GET", "HEAD"):
            answer = keys.request(method, target, sent)
            assert answer.status == status, (method, sent)
            assert "access-control-allow-origin" in answer.headers
            if status == 304:
                assert answer.body == b"" and answer.headers["etag"] == tag


def test_immutable_datasets_may_be_kept_for_ever(serve, store):
    server = serve(config={"datasets": {"k": {"location": str(store), "immutable": True}}})
    assert server.get("/zarr/k/zarr.json").headers["cache-control"] == "public, max-age=31536000, immutable"
    server.get("/zarr/k/d/e/small")
    time.sleep(1.2)
    with server.cost() as cost:
        assert server.get("/zarr/k/d/e/small").body == SMALL
        assert server.head("/zarr/k/d/e/small").status == 200
    assert cost[READS] == 0 and cost[STATUSES] == 0


def hrefs(answer):
    return re.findall(r'<a href="([^"]*)">', answer.body.decode())


def test_the_index_has_the_form_that_all_parsers_read(keys):
    answer = keys.get("/zarr/k/a%20b+c/")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.body.decode() == (
        "<!doctype html><html><head><title>Index of /zarr/k/a b+c/</title></head><body>\n"
        '<h1>Index of /zarr/k/a b+c/</h1><pre><a href="../">../</a>\n'
        '<a href="%C3%A9.bin">é.bin</a>\n'
        "</pre></body></html>\n")
    root = keys.get("/zarr/k/")
    assert "<title>Index of /zarr/k/</title>" in root.body.decode()
    assert hrefs(root)[0] == "../"
    assert sorted(hrefs(root)[1:]) == sorted(
        [".zgroup", ".zattrs", ".zarray", ".zmetadata", "attributes.json", "zarr.json", "a%20b%2Bc/", "d/"])
    below = keys.get("/zarr/k/d/")
    assert sorted(map(urllib.parse.unquote, hrefs(below)[1:])) == sorted(
        ["e/", "hollow/", "large", "nothing", "sparse", "<&\">'/"])
    assert "http" not in below.body.decode()  # no absolute address anywhere
    assert "&lt;&amp;&quot;&gt;" in below.body.decode()


def test_an_index_is_complete(serve, tmp_path):
    names = [f"{i:04}" for i in range(2500)]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    server = serve(f"k={tmp_path}")
    answer = server.get("/zarr/k/")
    assert hrefs(answer)[1:] == names
    again = server.get("/zarr/k/", {"If-None-Match": answer.headers["etag"]})
    assert again.status == 304


def test_head_of_a_directory(keys):
    assert keys.head("/zarr/k/d/").status == 200
    assert keys.head("/zarr/k/d/hollow/").status == 200  # no children, still a directory
    assert keys.get("/zarr/k/d/hollow/").status == 200
    for path in ("absent/", "d/absent/", "zarr.json/"):
        assert keys.head(f"/zarr/k/{path}").status == 404
        assert keys.get(f"/zarr/k/{path}").code == "key_not_found"


def test_an_empty_memory_store_has_an_empty_index(serve):
    server = serve("m=mem:")
    assert hrefs(server.get("/zarr/m/")) == ["../"]
    assert server.get("/zarr/m/zarr.json").status == 404


def test_a_range_of_a_huge_object_reads_only_the_range(keys):
    with keys.cost() as cost:
        answer = keys.get("/zarr/k/d/sparse", {"Range": "bytes=1000000-1000099"})
    assert answer.status == 206 and answer.body == bytes(100)
    assert cost[READS] == 1 and cost[READ_BYTES] == 100


def test_an_object_too_large_to_be_read_whole_is_413_and_still_has_ranges(keys):
    with keys.cost() as cost:
        answer = keys.get("/zarr/k/d/sparse")
        assert keys.head("/zarr/k/d/sparse").headers["content-length"] == str(SPARSE_SIZE)
    assert answer.status == 413 and answer.code == "too_large"
    document = answer.json()
    assert document["limit"] == 512 << 20 and document["requested"] == SPARSE_SIZE
    assert cost[READS] == 0
    assert keys.get("/zarr/k/d/sparse", {"Range": "bytes=-3"}).body == bytes(3)


@pytest.mark.parametrize("header", ["If-None-Match", "If-Match"])
def test_a_conditional_answer_reads_nothing(serve, store, header):
    server = serve(f"k={store}")
    tag = server.head("/zarr/k/d/large").headers["etag"]
    with server.cost() as cost:
        sent = tag if header == "If-None-Match" else '"x"'
        assert server.get("/zarr/k/d/large", {header: sent}).status in (304, 412)
        assert server.get("/zarr/k/d/large", {"Range": f"bytes={len(LARGE)}-"}).status == 416
    assert cost[READS] == 0 and cost[READ_BYTES] == 0


def test_head_reads_nothing(serve, store):
    server = serve(f"k={store}")
    with server.cost() as cost:
        for path in ("zarr.json", "d/e/small", "d/large", "d/sparse"):
            assert server.head(f"/zarr/k/{path}").status == 200
    assert cost[READS] == 0 and cost[READ_BYTES] == 0


def test_a_hot_key_is_not_read_again(serve, store):
    server = serve(f"k={store}")
    for path in ("zarr.json", "d/e/small", "d/large"):
        first = server.get(f"/zarr/k/{path}")
        with server.cost() as cost:
            for _ in range(5):
                assert server.get(f"/zarr/k/{path}").body == first.body
        assert cost[READS] == 0, path


def test_many_who_want_one_cold_key_cost_one_read(serve, tmp_path):
    data = os.urandom(8 << 20)
    (tmp_path / "big").write_bytes(data)
    server = serve(f"k={tmp_path}", "--set", "cache.encoded_bytes=128MiB")
    with server.cost() as cost, concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: server.get("/zarr/k/big").body == data, range(32)))
    assert all(answers)
    assert cost[READS] == 1 and cost[READ_BYTES] == len(data)


def test_a_changed_object_is_seen_after_revalidate_ms(serve, tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 100}}})
    old = server.get("/zarr/k/x")
    assert server.get("/zarr/k/y").status == 404
    (tmp_path / "x").write_bytes(b"newer")
    (tmp_path / "y").write_bytes(b"here")
    time.sleep(0.2)
    new = server.get("/zarr/k/x")
    assert (old.body, new.body) == (b"old", b"newer")
    assert new.headers["etag"] != old.headers["etag"]
    assert server.get("/zarr/k/y").body == b"here"
    (tmp_path / "x").unlink()
    time.sleep(0.2)
    assert server.get("/zarr/k/x").status == 404


def test_an_unchanged_object_is_checked_but_not_read_again(serve, tmp_path):
    (tmp_path / "x").write_bytes(b"data")
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 50}}})
    server.get("/zarr/k/x")
    time.sleep(0.1)
    with server.cost() as cost:
        assert server.get("/zarr/k/x").body == b"data"
    assert cost[READS] == 0 and cost[STATUSES] == 1


def test_ranges_of_an_object_that_is_replaced_all_the_time_never_mix(serve, tmp_path):
    size = 1 << 19  # beyond what is read whole for a range
    target = tmp_path / "x"
    target.write_bytes(b"\0" * size)
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 5}}})
    stop = threading.Event()

    def replace():
        value = 0
        while not stop.is_set():
            value = (value + 1) % 256
            (tmp_path / "y").write_bytes(bytes([value]) * size)
            os.replace(tmp_path / "y", target)
            time.sleep(0.003)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for i in range(100):
            answer = server.get("/zarr/k/x", {"Range": "bytes=100000-500000"} if i % 2 else {})
            assert answer.status in (200, 206, 502)
            if answer.status != 502:
                assert len(set(answer.body)) == 1
    finally:
        stop.set()
        writer.join()


def test_a_large_object_is_sent_without_being_held(serve, tmp_path):
    data = np.random.default_rng(1).bytes(64 << 20)
    (tmp_path / "x").write_bytes(data)
    server = serve(f"k={tmp_path}")
    server.get("/zarr/k/none")
    before = memory_bytes(server, "VmHWM")
    with server.cost() as cost:
        whole = server.get("/zarr/k/x")
        assert whole.status == 200 and whole.body == data
        assert whole.headers["content-length"] == str(len(data))
        for header, first, last in (("bytes=5-", 5, len(data) - 1), ("bytes=-33000001", len(data) - 33000001, len(data) - 1),
                                    ("bytes=1000-10000999", 1000, 10000999)):
            part = server.get("/zarr/k/x", {"Range": header})
            assert part.status == 206 and part.body == data[first:last + 1]
            assert part.headers["content-range"] == f"bytes {first}-{last}/{len(data)}"
            assert part.headers["etag"] == whole.headers["etag"]
        assert server.head("/zarr/k/x").headers["content-length"] == str(len(data))
        assert server.get("/zarr/k/x", {"If-None-Match": whole.headers["etag"]}).status == 304
    assert cost[READ_BYTES] == 0
    assert is_sanitized(server) or memory_bytes(server, "VmHWM") - before <= 8 << 20


def test_a_large_object_that_shrinks_while_it_is_sent_breaks_off(serve, tmp_path):
    size = 64 << 20
    (tmp_path / "x").write_bytes(bytes(size))
    server = serve(f"k={tmp_path}")
    client = RawClient(server.port)
    client.send(b"GET /zarr/k/x HTTP/1.1\r\nHost: k\r\n\r\n")
    assert client.file.readline().startswith(b"HTTP/1.1 200")
    with open(tmp_path / "x", "r+b") as file:
        file.truncate(1000)
    try:
        n_bytes = len(client.file.read())
    except ConnectionResetError:
        n_bytes = 0
    assert n_bytes < size
    assert server.get("/zarr/k/none").status == 404


def test_a_large_object_replaced_while_it_is_sent_stays_what_it_was(serve, tmp_path):
    size = 32 << 20
    (tmp_path / "x").write_bytes(b"a" * size)
    server = serve(f"k={tmp_path}")
    client = RawClient(server.port)
    client.send(b"GET /zarr/k/x HTTP/1.1\r\nHost: k\r\n\r\n")
    assert client.file.peek(1)
    (tmp_path / "y").write_bytes(b"b" * size)
    os.replace(tmp_path / "y", tmp_path / "x")
    status, body = client.receive()
    assert status == 200 and body == b"a" * size


def test_a_part_asked_for_again_costs_nothing(serve, tmp_path):
    data = np.random.default_rng(2).bytes(1 << 20)
    (tmp_path / "x").write_bytes(data)
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 600000}}})
    header = {"Range": "bytes=70000-140000"}
    first = server.get("/zarr/k/x", header)
    with server.cost() as cost:
        for identifier in (None, None, "sixteen.letters.", "x"):
            again = server.get("/zarr/k/x", {**header, **({"X-Request-Id": identifier} if identifier else {})})
            assert again.status == 206 and again.body == first.body == data[70000:140001]
            assert again.headers["content-range"] == first.headers["content-range"] == "bytes 70000-140000/1048576"
            assert identifier in (None, again.headers["x-request-id"])
        assert server.head("/zarr/k/x", header).headers["content-length"] == str(len(data))
    assert cost[READS] == 0
    etag = first.headers["etag"]
    assert server.get("/zarr/k/x", {**header, "If-None-Match": etag}).status == 304
    assert server.get("/zarr/k/x", {**header, "If-Match": '"other"'}).status == 412
    assert server.get("/zarr/k/x", {**header, "If-Range": '"other"'}).body == data
    assert server.get("/zarr/k/x", {**header, "If-Range": etag}).body == first.body
    assert server.get("/zarr/k/x").body == data


def test_404s_on_their_way_keep_their_own_ids(serve, tmp_path):
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 600000}}})
    own = server.get("/zarr/k/none").json()["instance"]
    n_asked = 8000  # more bytes of answers than sockets take: one is stuck half sent
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", server.port))
    request = b"GET /zarr/k/none HTTP/1.1\r\nHost: k\r\n"
    last = request + b"Connection: close\r\n\r\n"
    asking = threading.Thread(target=slow.sendall, args=((request + b"\r\n") * (n_asked - 1) + last,))
    asking.start()
    time.sleep(0.3)
    for _ in range(50):
        answer = server.get("/zarr/k/none")
        assert answer.status == 404 and answer.json()["instance"] == answer.headers["x-request-id"] != own
    assert server.get("/zarr/k/none", {"X-Request-Id": "mine"}).json()["instance"] == "mine"
    pattern = re.compile(rb'HTTP/1\.1 404 .*?X-Request-Id: (\w+)\r\n.*?\r\n\r\n\{.*?"instance":"(\w+)".*?\}', re.DOTALL)
    with slow.makefile("rb") as file:
        text = file.read()
    asking.join()
    slow.close()
    ids = pattern.findall(text)
    assert len(ids) == len({head for head, _ in ids}) == n_asked
    assert all(head == document for head, document in ids)


@pytest.mark.parametrize("size", [100, 1 << 20])
def test_304s_of_what_nobody_reads_cost_one_look_up(serve, tmp_path, size):
    (tmp_path / "x").write_bytes(b"1" * size)
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 600000}}})
    head = server.head("/zarr/k/x")
    tag = {"If-None-Match": head.headers["etag"]}
    first = server.get("/zarr/k/x", tag)
    n_asked = 20
    with server.cost() as cost:
        answers = [server.get("/zarr/k/x", tag) for _ in range(n_asked)]
    assert cost["zarrd_cache_hits_total"] >= n_asked > 2 >= cost["zarrd_cache_misses_total"]
    for answer in [first, *answers, server.head("/zarr/k/x", tag), server.get("/zarr/k/x", {**tag, "X-Request-Id": "mine"})]:
        assert answer.status == 304 and answer.body == b"" and answer.headers["etag"] == head.headers["etag"]
    assert server.get("/zarr/k/x", {"If-None-Match": '"other"'}).body == b"1" * size
    assert server.get("/zarr/k/x", {"If-Match": '"other"'}).status == 412
    assert server.get("/zarr/k/x", {"Range": "bytes=0-9"}).body == b"1" * 10
    assert server.head("/zarr/k/x").headers["content-length"] == str(size)
    assert server.get("/zarr/k/x", tag).status == 304


def test_a_304_of_what_nobody_reads_ends_with_the_object(serve, tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 20}}})
    tag = {"If-None-Match": server.head("/zarr/k/x").headers["etag"]}
    for _ in range(3):
        assert server.get("/zarr/k/x", tag).status == 304
        time.sleep(0.03)
    (tmp_path / "x").write_bytes(b"newer")
    time.sleep(0.05)
    answer = server.get("/zarr/k/x", tag)
    assert answer.status == 200 and answer.body == b"newer"


def test_a_part_found_unchanged_is_not_read_again(serve, tmp_path):
    (tmp_path / "x").write_bytes(b"1" * (1 << 20))
    server = serve(config={"datasets": {"k": {"location": str(tmp_path), "revalidate_ms": 20}}})
    header = {"Range": "bytes=0-99999"}
    old = server.get("/zarr/k/x", header)
    time.sleep(0.05)
    with server.cost() as cost:
        assert server.get("/zarr/k/x", header).body == b"1" * 100000
    assert cost[READS] == 0 and cost[STATUSES] == 1
    (tmp_path / "x").write_bytes(b"2" * (1 << 20))
    time.sleep(0.05)
    new = server.get("/zarr/k/x", header)
    assert new.body == b"2" * 100000 and new.headers["etag"] != old.headers["etag"]


def test_a_fault_of_the_store_is_never_404(serve, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "out").symlink_to("/etc")
    server = serve(f"k={tmp_path}")
    for path in ("loop", "loop/zarr.json"):
        for method in ("GET", "HEAD"):
            assert server.request(method, f"/zarr/k/{path}").status == 502, path
    assert server.get("/zarr/k/out/hostname").status in (404, 502)


def test_the_index_of_a_removed_store_is_a_fault(serve, tmp_path):
    (tmp_path / "store").mkdir()
    server = serve(f"k={tmp_path / 'store'}")
    (tmp_path / "store").rmdir()
    assert server.get("/zarr/k/").status == 503
    assert server.get("/zarr/k/zarr.json").status == 503


def test_sixty_four_clients_and_an_array_made_of_shards(serve, tmp_path):
    """One read of the index, one of the inner chunk, one decode of each, however many ask."""
    import numpy as np
    inner, outer = (256, 256), (512, 512)
    codecs = [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(inner), "codecs": [LITTLE, ZSTD],
        "index_codecs": [LITTLE, CRC], "index_location": "end"}}]
    import zarr
    values = np.random.default_rng(3).normal(size=outer).astype("<f4")
    write_array(tmp_path / "a", outer, outer, codecs)
    zarr.open_array(str(tmp_path / "a"), mode="r+")[:] = values
    size = (tmp_path / "a/c/0/0").stat().st_size
    server = serve(f"work={tmp_path}")
    server.get("/v1/datasets/work/slices/a?slice=0:0")  # the node is known
    with server.cost() as cost, concurrent.futures.ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda i: server.get(f"/v1/datasets/work/slices/a?slice={i},300:512"), range(64)))
    assert all(answer.body == values[i, 300:512].tobytes() for i, answer in enumerate(answers))
    assert cost[READS] == 2 and cost["zarrd_decodes_total"] == 2
    assert cost[READ_BYTES] < size / 2
    with server.cost() as cost:
        server.get("/v1/datasets/work/slices/a?slice=0,0")
    assert cost[READS] == 1 and cost["zarrd_decodes_total"] == 1


def test_a_rewritten_shard_is_read_anew(serve, tmp_path):
    import numpy as np
    import zarr
    array = zarr.create_array(str(tmp_path / "a"), shape=(64, 64), shards=(64, 64), chunks=(16, 16), dtype="i4", fill_value=7)
    config = {"datasets": {"work": {"location": str(tmp_path), "revalidate_ms": 20}}}
    server = serve(config=config)
    for round_ in range(12):
        if round_ % 4 == 3:
            (tmp_path / "a/c/0/0").unlink(missing_ok=True)
            expected = np.full((64, 64), 7, "<i4")
        else:
            values = np.full((64, 64), 7, "<i4")
            values[:20 + 16 * (round_ % 4), :30] = round_ + 100
            array[:] = values
            expected = values
        time.sleep(0.05)
        answer = server.get("/v1/datasets/work/slices/a")
        assert answer.status == 200 and answer.body == expected.tobytes(), round_


def test_absent_chunks_are_remembered(serve, tmp_path):
    write_array(tmp_path / "small", (64, 64), (8, 8), [LITTLE])
    write_array(tmp_path / "large", (512, 512), (256, 256), [LITTLE])
    server = serve(f"work={tmp_path}")
    for name in ("small", "large"):
        first = server.get(f"/v1/datasets/work/slices/{name}?slice=3,3")
        with server.cost() as cost:
            assert server.get(f"/v1/datasets/work/slices/{name}?slice=3,4").body == first.body == bytes(4)
        assert cost[READS] == 0, name


def test_a_truncated_linear_chunk_is_corrupt_whatever_is_asked_of_it(serve, tmp_path):
    write_array(tmp_path / "a", (256, 256), (256, 256), [LITTLE])
    (tmp_path / "a/c/0").mkdir(parents=True)
    (tmp_path / "a/c/0/0").write_bytes(bytes(256 * 256 * 4 - 1))
    server = serve(f"work={tmp_path}")
    for query in ("slice=0,0", "slice=255,255", ""):
        answer = server.get(f"/v1/datasets/work/slices/a?{query}")
        assert answer.status == 500 and answer.code == "corrupt_chunk", query
        assert "a/c/0/0" in answer.json()["detail"]


@pytest.mark.parametrize("damage", ["short", "index", "checksum"])
def test_a_damaged_shard_is_corrupt_and_names_its_key(serve, tmp_path, damage):
    import zarr
    array = zarr.create_array(str(tmp_path / "a"), shape=(64, 64), shards=(64, 64), chunks=(16, 16), dtype="i4")
    array[:] = 5
    path = tmp_path / "a/c/0/0"
    data = bytearray(path.read_bytes())
    if damage == "short":
        data = data[:20]
    elif damage == "index":
        data[-4 - 16 * 16] ^= 0xff
    else:
        data[-1] ^= 0xff
    path.write_bytes(data)
    server = serve(f"work={tmp_path}")
    answer = server.get("/v1/datasets/work/slices/a?slice=0,0")
    assert answer.status == 500 and answer.code == "corrupt_chunk"
    assert "a/c/0/0" in answer.json()["detail"]
    path.write_bytes(b"")
    time.sleep(1.1)
    assert server.get("/v1/datasets/work/slices/a?slice=0,0").code == "corrupt_chunk"


def test_documents_are_checked_again(serve, tmp_path):
    config = {"datasets": {"work": {"location": str(tmp_path), "revalidate_ms": 20}}}
    server = serve(config=config)
    target = "/v1/datasets/work/slices/a?slice=0:0"
    assert server.get(target).code == "node_not_found"
    write_array(tmp_path / "a", (4, 6), (4, 6), [LITTLE])
    time.sleep(0.05)
    assert server.get(target).headers["zarr-shape"] == "0,6"
    document = json.loads((tmp_path / "a/zarr.json").read_text())
    document["shape"] = [4, 9]
    (tmp_path / "a/zarr.json").write_text(json.dumps(document))
    time.sleep(0.05)
    assert server.get(target).headers["zarr-shape"] == "0,9"
    time.sleep(0.05)
    with server.cost() as cost:
        assert server.get(target).status == 200
    assert cost[READS] == 0
    (tmp_path / "a/zarr.json").unlink()
    time.sleep(0.05)
    assert server.get(target).code == "node_not_found"


def test_work_that_nobody_waits_for_is_dropped(serve, tmp_path):
    """Deadlines end requests amid reads and decodes; what they wanted can be had afterwards."""
    import gzip

    import numpy as np
    n, side = 24, 1024
    write_array(tmp_path / "a", (n, side, side), (1, side, side), [LITTLE, GZIP])
    chunk = np.arange(side * side, dtype="<f4")
    stored = gzip.compress(chunk.tobytes(), 1)
    for i in range(n):
        (tmp_path / f"a/c/{i}/0").mkdir(parents=True)
        (tmp_path / f"a/c/{i}/0/0").write_bytes(stored)
    targets = ["/v1/datasets/work/slices/a"] * 6 + ["/v1/datasets/work/slices/a?slice=20:", "/v1/datasets/work/slices/a?slice=::2,3"]

    def outcome(target):
        try:
            return server.get(target).status
        except (OSError, http.client.IncompleteRead):
            return "cut"  # a deadline behind the head

    for request_ms in (100, 400, 1600, 6400):  # whether a read or a decode is cut short is chance, and how fast this machine is
        server = serve(f"work={tmp_path}", "--set", f"http.request_ms={request_ms}", "--set", "workers.count=1")
        for _ in range(4):
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                outcomes = set(pool.map(outcome, targets))
            assert outcomes <= {200, 503, 504, "cut"}
            n_dropped = server.metrics()["zarrd_jobs_dropped_total"]
            if n_dropped:
                break
        answers = [server.get(f"{targets[0]}?slice=5,7") for _ in range(4)]
        if n_dropped and answers[-1].status == 200:
            break
    assert n_dropped > 0 and answers[-1].body == chunk.reshape(side, side)[7].tobytes(), answers
