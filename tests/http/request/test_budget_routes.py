"""Every route and method with the largest input that its limits allow, under memory.bytes=128MiB, alone and N_CLIENTS at once: resident memory
stays below 192 MiB, and the answers are right or refusals with their figures."""

import concurrent.futures
import http.client
import json
import struct

import pytest
from client import BYTES, JSON, PATCH, is_sanitized, memory_bytes
from documents import CRC, GROUP, GZIP, LITTLE, array_document, shard, transpose
from live import ROOT
from search_rounds import rounds

pytestmark = pytest.mark.large

MIB = 1 << 20
GIB = 1 << 30
BUDGET = 128 * MIB
RESIDENT_MAX = 192 * MIB
REFUSED = (413, 503, 507)
N_CLIENTS = rounds(32, 12)
TIMEOUT_S = 600
KEPT_BYTES = MIB  # of an answer
CROWD_BYTES = 16 * MIB  # that each of many clients reads of its answer, then it leaves
W = "/v1/datasets/w"
RAW = [{"name": "bytes"}]
N_CHILDREN = 3000
N_LISTED = 100_000  # in consolidated metadata of 12 MiB
N_ENTRIES = 1 << 24  # of the index of one shard: 256 MiB
FRAMES = {**JSON, "Accept": "application/vnd.zarrd.frames"}
ZEROS = bytes(64 * MIB)


def array(shape, chunks, codecs=RAW, **more):
    return array_document(shape, chunks, "uint8", codecs=codecs, **more)


def shards(index, inner=16):
    return [shard([inner], RAW, index=index)]


LARGE_ATTRIBUTES = {"a": [0] * 49_000, "b": "x" * 800_000}
ARRAYS = {
    "huge": array([1 << 40], [MIB]),          # as long as anybody may ask for
    "wide": array([GIB], [128 * MIB]),        # chunks larger than the budget of one request
    "many": array([100_000], [1]),            # as many stored objects as one slice may have
    "absent": array([1 << 30], [1 << 24], shards([LITTLE, CRC])),
    "plain": array([64, MIB], [1, MIB]),
    "zipped": array([64, MIB], [1, MIB], [*RAW, GZIP]),
    "indexed": array([N_ENTRIES * 16], [N_ENTRIES * 16], shards([LITTLE, CRC])),
    "permuted": array([N_ENTRIES * 16], [N_ENTRIES * 16], shards([transpose(1, 0), LITTLE])),
    "within": array([N_ENTRIES], [N_ENTRIES], [shard([N_ENTRIES], shards([LITTLE], 1), index=[LITTLE])]),
    "long": array([1024], [1024]),            # a chunk that is stored as 1 GiB
    "gap": array([32], [32], shards([LITTLE])),  # a shard with 1 GiB between its chunks and its index
    "long_many": array([64 * 1024], [1024]),  # 64 chunks of 32 MiB each
    "target": array([64, MIB], [1, MIB]),
    "sharded_target": array([N_ENTRIES], [N_ENTRIES], shards([LITTLE, CRC], 1)),
    "large_document": array([8], [8], attributes=LARGE_ATTRIBUTES),
}


def sparse(path, size, *pieces):
    """A file of that size: zeros, but for (position, bytes)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        for position, data in pieces:
            file.seek(position)
            file.write(data)
        file.truncate(size)


def write_document(folder, document):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps(document, separators=(",", ":")))


def write_chunks(root):
    """Of the index of 2^24 entries only those of inner chunks 5 and 2^23 are true; no checksum is."""
    entries = [(16 + i * 16, struct.pack("<QQ", 0, 16)) for i in (5, 1 << 23)]
    sparse(root / "indexed/c/0", 16 + N_ENTRIES * 16 + 4, (0, b"0123456789abcdef"), *entries)
    sparse(root / "permuted/c/0", 16 + N_ENTRIES * 16)
    inner = [(1 + i * 16, struct.pack("<QQ", 0, 1)) for i in (5, 1 << 23)]
    n_inner = 1 + N_ENTRIES * 16
    sparse(root / "within/c/0", n_inner + 16, (0, b"x"), *inner, (n_inner, struct.pack("<QQ", 0, n_inner)))
    sparse(root / "long/c/0", GIB)
    sparse(root / "gap/c/0", GIB, (0, b"0123456789abcdef"), (GIB - 32, struct.pack("<QQQQ", 0, 16, 0, 16)))
    for i in range(64):
        sparse(root / f"plain/c/{i}/0", MIB, (0, bytes([i])))
        sparse(root / f"long_many/c/{i}", 32 * MIB)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("largest") / "store"
    write_document(root, GROUP)
    for name, document in ARRAYS.items():
        write_document(root / name, document)
    write_chunks(root)
    for i in range(N_CHILDREN):
        write_document(root / f"children/{i}", GROUP)
    write_document(root / "children", GROUP)
    children = {f"{i}/{'x' * 64}": {**GROUP, "attributes": {"n": i}} for i in range(N_LISTED)}
    write_document(root / "consolidated", {**GROUP, "consolidated_metadata": {
        "kind": "inline", "must_understand": False, "metadata": children}})
    sparse(root / "raw", 4 * GIB)
    return root


class Asked:
    """One answer, of which at most so many bytes are read, and the first are kept."""

    def __init__(self, server, method, target, headers, body, read_max):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
        try:
            self.n_bytes, self.body = 0, b""
            self._send(connection, method, target, headers, body)
            response = connection.getresponse()
            self.status, self.headers = response.status, response.headers
            while self.n_bytes < read_max and (piece := response.read1(min(MIB, read_max - self.n_bytes))):
                self.n_bytes += len(piece)
                self.body += piece[:max(KEPT_BYTES - len(self.body), 0)]
        finally:
            connection.close()

    @staticmethod
    def _send(connection, method, target, headers, body):
        """The server may answer before the body is complete, and closes then."""
        connection.putrequest(method, target, skip_accept_encoding=True)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        for name, value in headers.items():
            connection.putheader(name, value)
        try:
            connection.endheaders(body)
        except (BrokenPipeError, ConnectionResetError):
            pass


def ask(method, target, headers=None, body=None, expected=(200,), n_bytes=None, read_max=1 << 63):
    """One request of the table. n_bytes: of the body of a 200."""
    return {"request": (method, target, headers or {}, body), "expected": expected, "n_bytes": n_bytes, "read_max": read_max}


def text(document):
    return json.dumps(document, separators=(",", ":")).encode()


def batch(n, **members):
    return text({"indices": [[i] for i in range(n)], **members})


N_RAW_BYTES = 4 * GIB
D = "/v1/datasets/{d}"
K = "/zarr/{d}/{key}"
LARGEST = {
    "get /": [ask("GET", "/")],
    "get /explore/{path}": [ask("GET", "/explore/w/large_document", {"Accept-Encoding": "gzip"})],
    "get /explorer/{path}": [ask("GET", "/explorer/0/none.js", expected=(404,))],
    "get /livez": [ask("GET", "/livez")],
    "get /readyz": [ask("GET", "/readyz")],
    "get /healthz": [ask("GET", "/healthz")],
    "get /health": [ask("GET", "/health")],
    "get /metrics": [ask("GET", "/metrics")],
    "get /docs": [ask("GET", "/docs")],
    "get /docs.js": [ask("GET", "/docs.js")],
    "get /docs.css": [ask("GET", "/docs.css")],
    "get /openapi.json": [ask("GET", "/openapi.json")],
    "get /v1": [ask("GET", "/v1")],
    "get /v1/extensions": [ask("GET", "/v1/extensions")],
    "get /v1/limits": [ask("GET", "/v1/limits")],
    "post /v1/sign": [ask("POST", "/v1/sign", JSON, ZEROS[:MIB], (401,))],  # nobody signs without a credential
    "get /v1/datasets": [ask("GET", "/v1/datasets")],
    f"get {D}": [ask("GET", W)],
    f"get {D}/nodes/{{path}}": [
        ask("GET", f"{W}/nodes/large_document"),
        ask("GET", f"{W}/nodes/children"),
        ask("GET", f"{W}/nodes/consolidated"),
    ],
    f"put {D}/nodes/{{path}}": [
        ask("PUT", f"{W}/nodes/made", JSON, text(ARRAYS["large_document"]), (200, 201)),
        ask("PUT", f"{W}/nodes/made", JSON, ZEROS[:2 * MIB], (413,)),
    ],
    f"patch {D}/nodes/{{path}}": [ask("PATCH", f"{W}/nodes/huge", PATCH, text({"attributes": LARGE_ATTRIBUTES}))],
    f"delete {D}/nodes/{{path}}": [ask("DELETE", f"{W}/nodes/children?recursive=1&dry_run=1", expected=(204,))],
    f"get {D}/tree/{{path}}": [
        ask("GET", f"{W}/tree/children"),
        ask("GET", f"{W}/tree/children?format=zarr"),
        ask("GET", f"{W}/tree/consolidated?mode=stored", expected=(200, 413)),
        ask("GET", f"{W}/tree/consolidated?check=1", expected=(200, 413)),
    ],
    f"get {D}/chunks/{{path}}": [
        ask("GET", f"{W}/chunks/wide?index=0&decoded=1", expected=(200, 413)),
        ask("GET", f"{W}/chunks/plain?index=3,0", n_bytes=MIB),
        ask("GET", f"{W}/chunks/long?index=0", expected=(200, 413), n_bytes=GIB),
        ask("GET", f"{W}/chunks/long?index=0&decoded=1", expected=(500, 413)),
        ask("GET", f"{W}/chunks/gap?index=0", expected=(200, 413), n_bytes=GIB),
        ask("GET", f"{W}/chunks/gap?index=0&decoded=1", expected=(200, 413), n_bytes=32),
        ask("GET", f"{W}/chunks/gap?index=1&level=inner", n_bytes=16),
        ask("GET", f"{W}/chunks/indexed?index=0", expected=(413,)),
        ask("GET", f"{W}/chunks/indexed?index=0&decoded=1", expected=(413,)),
        ask("GET", f"{W}/chunks/indexed?index=5&level=inner", n_bytes=16),
        ask("GET", f"{W}/chunks/indexed?index=5&level=inner", {"If-None-Match": '"x"'}, n_bytes=16),
        ask("HEAD", f"{W}/chunks/indexed?index={1 << 23}&level=inner"),
        ask("GET", f"{W}/chunks/permuted?index=5&level=inner", expected=(413,)),
        ask("HEAD", f"{W}/chunks/permuted?index=5&level=inner", expected=(413,)),
        ask("GET", f"{W}/chunks/many?present=1"),
    ],
    f"put {D}/chunks/{{path}}": [
        ask("PUT", f"{W}/chunks/wide?index=0", BYTES, ZEROS, (413, 422)),
        ask("PUT", f"{W}/chunks/target?index=0,0&decoded=1", BYTES, ZEROS[:MIB]),
        ask("PUT", f"{W}/chunks/sharded_target?index=5&level=inner", BYTES, b"x", (413,)),
        ask("PUT", f"{W}/chunks/long?index=0", BYTES, ZEROS, (413, 422)),
    ],
    f"delete {D}/chunks/{{path}}": [
        ask("DELETE", f"{W}/chunks/indexed?index=7&level=inner", expected=(413,)),
        ask("DELETE", f"{W}/chunks/target?index=1,0", expected=(204,)),
    ],
    f"post {D}/chunks/{{path}}": [
        ask("POST", f"{W}/chunks/many", JSON, batch(4096)),
        ask("POST", f"{W}/chunks/long_many", FRAMES, batch(8), (200, 413)),
        ask("POST", f"{W}/chunks/long_many", FRAMES, batch(64), (413,)),
        ask("POST", f"{W}/chunks/long_many", FRAMES, batch(64, decoded=True), (500, 413)),
        ask("POST", f"{W}/chunks/plain", FRAMES, text({"indices": [[i, 0] for i in range(64)]}), n_bytes=64 * (MIB + 12)),
        ask("POST", f"{W}/chunks/indexed", FRAMES, text({"indices": [[5], [1 << 23]] * 32, "level": "inner"}), n_bytes=64 * 28),
        ask("POST", f"{W}/chunks/permuted", FRAMES, text({"indices": [[5]], "level": "inner"}), (413,)),
        ask("POST", f"{W}/chunks/wide", FRAMES, batch(1, decoded=True), (200, 413)),
    ],
    f"post {D}/consolidate/{{path}}": [ask("POST", f"{W}/consolidate/children?dry_run=1")],
    f"get {D}/slices/{{path}}": [
        ask("GET", f"{W}/slices/many?plan=1"),
        ask("GET", f"{W}/slices/indexed?slice=::1048576&plan=1"),
        ask("GET", f"{W}/slices/wide?slice=::1048576", expected=(200, 413), n_bytes=1024),
        ask("GET", f"{W}/slices/many?slice=:", n_bytes=100_000),
        ask("GET", f"{W}/slices/absent?slice=5", n_bytes=1),
        ask("GET", f"{W}/slices/plain?slice=:", n_bytes=64 * MIB),
        ask("GET", f"{W}/slices/plain?slice=:4&format=json"),
        ask("GET", f"{W}/slices/plain?layout=table&format=csv", expected=(413,)),
        ask("GET", f"{W}/slices/?arrays=plain,zipped"),
        ask("GET", f"{W}/slices/?arrays=many&format=netcdf&coords=1"),
        ask("GET", f"{W}/slices/plain?slice=:24&layout=table&format=json"),
        ask("GET", f"{W}/slices/plain?slice=:8&decode=cf&dtype=f8", n_bytes=64 * MIB),
        ask("GET", f"{W}/slices/plain?reduce=mean&over=0", n_bytes=8 * MIB),
        ask("GET", f"{W}/slices/plain?reduce=std", n_bytes=8),
        ask("GET", f"{W}/slices/plain?reduce=max&over=0&coarsen=0:{1 << 63}&agg=sum", n_bytes=8),
        ask("GET", f"{W}/slices/plain?coarsen=1:1000&dtype=f4", n_bytes=64 * 1049 * 4),
        ask("GET", f"{W}/slices/huge?slice=0:{64 * MIB}&reduce=sum", n_bytes=8),
        ask("GET", f"{W}/slices/huge?reduce=max", expected=(413,)),
        ask("GET", f"{W}/slices/wide?reduce=max", expected=(413,)),
        ask("GET", f"{W}/slices/zipped?slice=:", n_bytes=64 * MIB),
        ask("GET", f"{W}/slices/huge?slice=0:{512 * MIB}", n_bytes=512 * MIB),
        ask("GET", f"{W}/slices/huge?slice=0:{512 * MIB + 1}", expected=(413,)),
        ask("GET", f"{W}/slices/long?slice=:", expected=(500,)),
        ask("GET", f"{W}/slices/gap?slice=:", n_bytes=32),
        ask("GET", f"{W}/slices/indexed?slice={5 * 16}:{6 * 16}", n_bytes=16),
        ask("GET", f"{W}/slices/indexed?slice={5 * 16}:{(1 << 27) + 1}:{((1 << 23) - 5) * 16}", n_bytes=2),
        ask("GET", f"{W}/slices/within?slice=5:{(1 << 23) + 1}:{(1 << 23) - 5}", n_bytes=2),
        ask("GET", f"{W}/slices/within?slice=6", expected=(500,)),
        ask("GET", f"{W}/slices/within?slice=5", n_bytes=1),
        ask("GET", f"{W}/slices/permuted?slice=5", expected=(413,)),
    ],
    f"head {D}/slices/{{path}}": [
        ask("HEAD", f"{W}/slices/many?slice=:"),
        ask("HEAD", f"{W}/slices/indexed?slice=5"),
        ask("HEAD", f"{W}/slices/permuted?slice=5", expected=(200, 413)),
    ],
    f"put {D}/slices/{{path}}": [
        ask("PUT", f"{W}/slices/huge?slice=0:{1 << 34 | 1}&dry_run=1&broadcast=1", BYTES, b"x", (413,)),
        ask("PUT", f"{W}/slices/huge?slice=0:{1 << 26}&dry_run=1&broadcast=1", BYTES, b"x"),
        ask("PUT", f"{W}/slices/many?slice=:&dry_run=1&broadcast=1", BYTES, b"x", (413,)),
        ask("PUT", f"{W}/slices/wide?slice=0:1", BYTES, b"x", (413,)),
        ask("PUT", f"{W}/slices/target?slice=:", BYTES, ZEROS),
        ask("PUT", f"{W}/slices/sharded_target?slice=5", BYTES, b"x", (413,)),
    ],
    f"post {D}/slices/{{path}}": [
        ask("POST", f"{W}/slices/plain", JSON, text({"slice": ":"}), n_bytes=64 * MIB),
        ask("POST", f"{W}/slices/plain", JSON, b'{"slice": "' + b" " * (900 << 10) + b':4"}', n_bytes=4 * MIB),
    ],
    f"get {D}/events": [ask("GET", f"{W}/events", read_max=1)],
    f"head {D}/events": [ask("HEAD", f"{W}/events")],
    f"get {D}/stats/{{path}}": [
        ask("GET", f"{W}/stats/many"),
        ask("GET", f"{W}/stats/zipped"),
        ask("GET", f"{W}/stats/huge?slice=0:{16 * GIB + 1}", expected=(413,)),
        ask("GET", f"{W}/stats/huge?slice=0:{GIB}"),
        ask("GET", f"{W}/stats/wide", expected=(200, 413)),
        ask("GET", f"{W}/stats/permuted?slice=5", expected=(413,)),
    ],
    f"get {D}/images/{{path}}": [
        ask("GET", f"{W}/images/plain?max_size=1000000000", expected=(413,)),
        ask("GET", f"{W}/images/zipped"),
        ask("GET", f"{W}/images/zipped?size=4096x4096", expected=(200, 413)),
        ask("GET", f"{W}/images/plain?size=1000000x1000000", expected=(413,)),
        ask("GET", f"{W}/images/zipped?tile=0,0,0"),
        ask("GET", f"{W}/images/plain?tile=0,0,0&tile_size=4096", expected=(200, 413)),
    ],
    "get /v1/colormaps": [ask("GET", "/v1/colormaps")],
    "get /zarr/": [ask("GET", "/zarr/")],
    f"get {K}": [
        ask("GET", "/zarr/w/raw", expected=(200, 413), n_bytes=N_RAW_BYTES),
        ask("GET", "/zarr/w/raw", {"Range": f"bytes=0-{GIB - 1}"}, expected=(206,)),
        ask("GET", "/zarr/w/long_many/c/0", n_bytes=32 * MIB),
        ask("GET", "/zarr/w/consolidated/zarr.json"),
        ask("GET", "/zarr/w/children/"),
    ],
    f"head {K}": [ask("HEAD", "/zarr/w/raw")],
    "get /v3/{d}/{key}": [
        ask("GET", "/v3/w/zarr.json"),
        ask("GET", "/v3/w/large_document/zarr.json"),
        ask("GET", "/v3/w/long_many/c/0", n_bytes=32 * MIB),
    ],
    "head /v3/{d}/{key}": [ask("HEAD", "/v3/w/zarr.json")],
    "get /v3-unsharded/{d}/{key}": [
        ask("GET", "/v3-unsharded/w/zarr.json"),
        ask("GET", "/v3-unsharded/w/indexed/c/0", expected=(200, 404)),
        ask("GET", "/v3-unsharded/w/permuted/c/0", expected=(200, 404, 413)),
    ],
    "head /v3-unsharded/{d}/{key}": [ask("HEAD", "/v3-unsharded/w/zarr.json")],
    f"put {K}": [
        ask("PUT", "/zarr/w/foreign", BYTES, ZEROS, (200, 413)),
        ask("PUT", "/zarr/w/target/c/0/0", BYTES, ZEROS, (413, 422)),
        ask("PUT", "/zarr/w/made/zarr.json", JSON, text(ARRAYS["large_document"])),
    ],
    f"delete {K}": [ask("DELETE", "/zarr/w/target/c/1/0", expected=(204, 404))],
}
CASES = [(name, i) for name, cases in LARGEST.items() for i in range(len(cases))]


def test_no_route_is_left_out():
    paths = json.loads((ROOT / "openapi" / "openapi.json").read_text())["paths"]
    methods = ("get", "head", "put", "post", "patch", "delete")
    assert set(LARGEST) == {f"{method} {path}" for path, item in paths.items() for method in methods if method in item}


@pytest.fixture
def server(serve, store):
    return serve(f"w={store}", "--writable", "--set", f"memory.bytes={BUDGET}", "--set", "http.request_ms=300000")


def stays_small(server):
    high = memory_bytes(server, "VmHWM")
    assert is_sanitized(server) or high < RESIDENT_MAX, f"{high / MIB:.0f} MiB"


def check(case, answer, expected, read_max):
    assert answer.status in expected, (answer.status, answer.body[:1000])
    if answer.status == 200 and case["n_bytes"] is not None:
        assert answer.n_bytes == min(case["n_bytes"], read_max)
        assert answer.headers.get("Content-Length", str(case["n_bytes"])) == str(case["n_bytes"])
    if answer.status == 413 and case["request"][0] != "HEAD":
        problem = json.loads(answer.body)
        assert problem["requested"] > problem["limit"] > 0, problem


@pytest.mark.parametrize("name,i", CASES)
def test_the_largest_request_stays_within_the_budget(server, name, i):
    case = LARGEST[name][i]
    check(case, Asked(server, *case["request"], case["read_max"]), case["expected"], case["read_max"])
    stays_small(server)


@pytest.mark.parametrize("name,i", CASES)
def test_a_crowd_of_them_does_too(server, name, i):
    case = LARGEST[name][i]
    read_max = min(case["read_max"], CROWD_BYTES)
    with concurrent.futures.ThreadPoolExecutor(N_CLIENTS) as pool:
        for answer in pool.map(lambda _: Asked(server, *case["request"], read_max), range(N_CLIENTS)):
            check(case, answer, (*case["expected"], *REFUSED), read_max)
    stays_small(server)
    assert server.get("/livez").status == 200
