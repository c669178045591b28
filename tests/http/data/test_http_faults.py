"""Faults of an HTTP origin: none is taken for absence or for data, and no answer has bytes of two generations of an object."""

import random

import numpy as np
import pytest
from arrays import write_array, write_sharded
from client import JSON, wait_until
from documents import LITTLE
from origin import Origin

GROUP = b'{"zarr_format":3,"node_type":"group"}'
LARGE = random.Random(5).randbytes(1 << 18)
VALUES = np.arange(64, dtype="<f4")
SIDE = 8 << 10  # elements of an inner chunk: those that are far from each other are read one by one
FAR = np.arange(16 * SIDE, dtype="<f4")
# One attempt, and an endpoint that is not left alone: each request shows what its own answer was.
ONCE = ["--set", "remote.retries=0", "--set", "remote.hedge_percent=0", "--set", "remote.breaker_ms=10"]
SILENT = ["--set", "remote.silence_ms=300"]
CALM = ["--set", "remote.hedge_percent=0"]

# What is asked: the path of the origin's request, its kind, the target, and the answer without a fault.
DOCUMENT = (r"x/zarr\.json$", "get head", "/v1/datasets/a/nodes/x", None, {})
CHUNK = (r"x/c/2$", "get head", "/v1/datasets/a/slices/x?slice=16:20", VALUES[16:20].tobytes(), {})
OBJECT = (r"x/c/3$", "get head", "/zarr/a/x/c/3", VALUES[24:32].tobytes(), {})
INDEX = (r"s/c/0$", "suffix", "/v1/datasets/a/slices/s?slice=8:10", FAR[8:10].tobytes(), {})
INNER = (r"s/c/0$", "range", "/v1/datasets/a/slices/s?slice=8:10", FAR[8:10].tobytes(), {})
RANGE = (r"large$", "range head", "/zarr/a/large", LARGE[100:300], {"Range": "bytes=100-299"})
LISTING = (r"/names/$", "list", "/v1/datasets/a/nodes/names", None, {})
WHOLE = [DOCUMENT, CHUNK, OBJECT]
PARTS = [INDEX, INNER, RANGE]


def make_store(folder):
    write_array(folder / "x", (64,), (8,), [LITTLE], VALUES)
    write_sharded(folder / "s", FAR, FAR.shape, (SIDE,))
    (folder / "zarr.json").write_bytes(GROUP)
    (folder / "large").write_bytes(LARGE)
    for name in ("names", "names/a", "names/b"):
        (folder / name).mkdir()
        (folder / name / "zarr.json").write_bytes(GROUP)
    return folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with Origin(make_store(tmp_path_factory.mktemp("origin"))) as running:
        yield running


@pytest.fixture
def origin(shared):
    shared.reset()
    yield shared
    shared.reset()


def start(serve, origin, settings=ONCE):
    """Nothing is trusted for longer than a request."""
    return serve(*settings, config={"datasets": {"a": {"location": origin.url, "revalidate_ms": 0}}})


def under(origin, asked, name, options):
    path, kinds, *_ = asked
    return origin.fault(name, path=path, times=None, when=lambda request: request.kind in kinds.split(), **options)


def expect_fault(answer, status, what):
    codes = {502: "store_error", 504: "store_timeout"}
    assert (answer.status, answer.code) in [(status, codes[status]), (503, "overloaded")], (what, answer)
    assert b"secret" not in answer.body


FAULTS = [
    ("status", {"status": 403}, 502), ("status", {"status": 401}, 502), ("status", {"status": 500}, 502), ("status", {"status": 503}, 502),
    ("status", {"status": 429, "retry_after": 1}, 502), ("status", {"status": 400}, 502), ("status", {"status": 204}, 502),
    ("html", {}, 502), ("html", {"status": 500}, 502), ("reset", {}, 502), ("reset", {"at": "request"}, 502), ("close", {}, 502),
    ("garbage", {}, 502), ("black_hole", {}, 504), ("redirect", {"to": "http://127.0.0.1:1/secret?secret=1"}, 502),
    ("redirect", {"to": "?again=1"}, 502), ("redirect", {}, 502), ("header", {"headers": {"Content-Encoding": "gzip"}}, 502),
    ("header", {"headers": {"Content-Length": "secret"}}, 502),
]
BODY_FAULTS = [
    ("reset", {"at": 3}, 502), ("truncated", {}, 502), ("truncated", {"short": 20}, 502), ("chunked", {"short": 1}, 502),
    ("hold", {"at": 1}, 504), ("drip", {}, 504),
]
PART_FAULTS = [
    ("wrong_range", {}, 502), ("wrong_range", {"shift": 0, "size": -(1 << 40)}, 502), ("wrong_range", {"text": "bytes */*"}, 502),
    ("no_content_range", {}, 502), ("surplus", {}, 502), ("shortened", {}, 502), ("part_as_200", {}, 502), ("no_length", {"short": 1}, 502),
]


def name_of(value):
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value) if isinstance(value, (str, int)) else None


def meets(serve, origin, asked, name, options, status):
    """Each is asked when nothing of it is known, and once more when the fault is over."""
    server = start(serve, origin, ONCE + SILENT * (status == 504))
    for one in asked:
        _, _, target, body, headers = one
        rule = under(origin, one, name, options)
        expect_fault(server.get(target, headers or JSON), status, (name, options, target))
        assert rule.n >= 1
        rule.remove()
        wait_until(lambda: (answer := server.get(target, headers or JSON)).status in (200, 206) and body in (None, answer.body))
    assert origin.count(path="secret") == 0


@pytest.mark.parametrize("name, options, status", FAULTS, ids=name_of)
def test_no_fault_is_absence_or_data(serve, origin, name, options, status):
    meets(serve, origin, [*WHOLE, *PARTS, LISTING], name, options, status)


@pytest.mark.parametrize("name, options, status", BODY_FAULTS, ids=name_of)
def test_no_body_that_ends_early_is_data(serve, origin, name, options, status):
    meets(serve, origin, [(path, kinds.removesuffix(" head"), *more) for path, kinds, *more in [*WHOLE, *PARTS, LISTING]], name, options, status)


@pytest.mark.parametrize("name, options, status", PART_FAULTS, ids=name_of)
def test_no_other_part_is_data(serve, origin, name, options, status):
    meets(serve, origin, [(path, kinds.removesuffix(" head"), *more) for path, kinds, *more in PARTS], name, options, status)


@pytest.mark.parametrize("name, options", [
    ("chunked", {}), ("no_length", {}), ("ignores_range", {}), ("weak_etag", {}), ("no_etag", {}), ("no_validators", {}),
    ("status", {"status": 405}), ("delay", {}), ("redirect", {"to": "{path}?again=1"})], ids=name_of)
def test_differences_between_servers_change_nothing(serve, origin, name, options):
    """405 is what some say to HEAD; the redirection leads to the same once more."""
    origin.fault(name, times=None, method="HEAD" if name == "status" else None, when=lambda request: not request.query, **options)
    server = start(serve, origin, CALM)
    for _, _, target, body, headers in [*WHOLE, *PARTS, LISTING]:
        answer = server.get(target, headers or JSON)
        assert answer.status in (200, 206), (target, answer)
        assert body is None or answer.body == body
    assert [node["name"] for node in server.get("/v1/datasets/a/nodes/names", JSON).json()["children"]] == ["a", "b"]


@pytest.mark.parametrize("obeys", [True, False])
@pytest.mark.parametrize("when, slice", [("suffix", "8:10"), ("range", f"8:{10 * SIDE}:{4 * SIDE}")])
def test_no_shard_is_mixed_of_two_generations(serve, origin, when, slice, obeys):
    """It is exchanged between its index and an inner chunk, or between two inner chunks, whether or not the origin obeys If-Match."""
    server = start(serve, origin, CALM)
    old = (origin.folder / "s/c/0").read_bytes()
    new = np.concatenate([-FAR[SIDE:], -FAR[:SIDE]]).tobytes() + old[FAR.nbytes:]
    origin.put("/s/c/0", old)
    origin.fault("call", path="s/c/0$", when=lambda request: request.kind == when, function=lambda _: origin.put("/s/c/0", new))
    if not obeys:
        origin.fault("ignores_conditions", times=None)
    expected = [np.frombuffer(data[:FAR.nbytes], "<f4")[wanted(slice)].tobytes() for data in (old, new)]
    answer = server.get(f"/v1/datasets/a/slices/s?slice={slice}")
    assert answer.body in expected if answer.status == 200 else answer.status in (409, 503), answer
    assert server.get(f"/v1/datasets/a/slices/s?slice={slice}").body == expected[1]


def wanted(text):
    return slice(*map(int, text.split(":")))


@pytest.mark.parametrize("name", ["call", "other_etag"])
def test_ever_changing_arrays_are_not_mixed_either(serve, origin, name):
    """Each question finds a newer shard, or the same under another tag."""
    server = start(serve, origin, CALM)
    data = (origin.folder / "s/c/0").read_bytes()
    origin.put("/s/c/0", data)
    options = {"function": lambda request: origin.put("/s/c/0", data)} if name == "call" else {}
    rule = origin.fault(name, path="s/c/0$", times=None, **options)
    answer = server.get("/v1/datasets/a/slices/s?slice=8:10")
    assert answer.body == FAR[8:10].tobytes() if answer.status == 200 else answer.status in (409, 502, 503), answer
    rule.remove()
    wait_until(lambda: server.get("/v1/datasets/a/slices/s?slice=8:10").body == FAR[8:10].tobytes())


def test_no_chunk_is_mixed_of_two_generations(serve, origin):
    """It is exchanged while it is asked for."""
    server = start(serve, origin)
    old, new = VALUES[8:16].tobytes(), (-VALUES[8:16]).tobytes()
    origin.put("/x/c/1", old)
    origin.fault("call", path=r"x/c/1$", method="GET", function=lambda _: origin.put("/x/c/1", new))
    answer = server.get("/v1/datasets/a/slices/x?slice=8:16")
    assert answer.body in (old, new) if answer.status == 200 else answer.status in (409, 502, 503), answer
    wait_until(lambda: server.get("/v1/datasets/a/slices/x?slice=8:16").body == new)
