"""Statistics: numpy says what they are, and the store's counters what they cost."""

import json

import numpy as np
import pytest
from arrays import write_node, write_values
from client import DECODES, READS
from documents import array_document, extension

ALL = "min,max,mean,std,n_nan,n_fill"


def ask(server, path, more="", **headers):
    answer = server.get(f"/v1/datasets/d/stats/{path}?fields={ALL}{more}", headers)
    assert answer.status == 200, answer
    return answer.json()


def number(value):
    return float(value.replace("Infinity", "inf")) if isinstance(value, str) else value


def expected(values, fill, drop=False):
    """What numpy's nanmin and its kin say; drop: without the fill value, and a NaN that has its bits is that."""
    bits = values.view(f"u{values.itemsize}")
    is_nan = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    is_fill = values == fill
    if drop:
        is_fill |= is_nan & (bits == np.array([fill], values.dtype).view(bits.dtype))
    is_nan = is_nan & ~is_fill
    data = values[~is_nan & ~is_fill] if drop else values[~is_nan]
    wide = data.astype(np.longdouble)
    with np.errstate(all="ignore"):
        return {"count": data.size, "n_nan": int(is_nan.sum()), "n_fill": int(is_fill.sum()),
                "min": data.min().item() if data.size else None, "max": data.max().item() if data.size else None,
                "mean": float(wide.mean()) if data.size else None, "std": float(wide.std()) if data.size else None}


def check(found, wanted):
    for name, value in wanted.items():
        if value is None or name in ("count", "n_nan", "n_fill"):
            assert found[name] == value, (name, found, wanted)
        elif name in ("min", "max"):
            # Exact, in the data type: integers as integers.
            assert type(number(found[name])) is type(value) or isinstance(value, bool), (name, found, wanted)
            assert number(found[name]) == value, (name, found, wanted)
        else:
            assert number(found[name]) == pytest.approx(value, rel=1e-14, abs=1e-300, nan_ok=True), (name, found, wanted)


def samples():
    random = np.random.default_rng(5)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        info = np.iinfo(name)
        values = random.integers(info.min, info.max, (13, 17), dtype=name, endpoint=True)
        values[3, 4:9] = 0
        values[0, 0], values[12, 16] = info.min, info.max
        yield name, values, 0
    for name in ("float16", "float32", "float64"):
        values = random.normal(1000, 0.5, (13, 17)).astype(name)
        values[2, 2:5] = np.nan
        values[5, :3] = 7
        yield name, values, 7
    yield "bool", random.integers(0, 2, (13, 17)).astype(bool), False


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stats")
    made = {}
    for name, values, fill in samples():
        write_values(folder / name, values, (4, 5), fill=fill, skip={(1, 1), (3, 2)})
        values = values.copy()
        values[4:8, 5:10] = fill
        values[12:, 10:15] = fill
        made[name] = (values, fill)
    return folder, made


@pytest.fixture(scope="module")
def stats_server(arrays):
    from live import Server
    server = Server(f"d={arrays[0]}")
    yield server
    server.stop()


@pytest.mark.parametrize("name", [name for name, _, _ in samples()])
@pytest.mark.parametrize("text", ["", "2:11,3:15", "::-2,::3", "5", "-1,-1", "4:8,5:10", "0:0,:"])
def test_numpy_agrees(arrays, stats_server, name, text):
    values, fill = arrays[1][name]
    chosen = np.ascontiguousarray(np.atleast_1d(eval(f"values[{text or '...'}]")))
    for more in ("", "&fill=keep", "&fill=drop"):
        found = ask(stats_server, name, f"&slice={text}{more}")
        check(found, expected(chosen, fill, more == "&fill=drop"))
        assert found["source"] == "computed"
        n_out = found["n_nan"] + (found["n_fill"] if more == "&fill=drop" else 0)
        assert found["count"] + n_out == chosen.size
    shape = eval(f"values[{text or '...'}]").shape
    assert found["shape"] == list(shape)


def test_defaults_and_fields(stats_server, arrays):
    values, fill = arrays[1]["int32"]
    found = stats_server.get("/v1/datasets/d/stats/int32").json()
    wanted = expected(values, fill)
    assert found == {"shape": [13, 17], "selection": "0:13:1,0:17:1", "count": wanted["count"],
                     "source": "computed", "min": wanted["min"], "max": wanted["max"]}
    assert list(stats_server.get("/v1/datasets/d/stats/int32?fields=n_fill,max").json())[4:] == ["max", "n_fill"]


def test_integers_of_64_bits_are_exact(tmp_path, serve):
    for name, low, high in (("int64", -2**63, 2**63 - 1), ("uint64", 1, 2**64 - 1)):
        values = np.array([high - 1, high, low, low + 1], name)
        write_values(tmp_path / name, values, (2,), fill=0)
    server = serve(f"d={tmp_path}")
    found = server.get("/v1/datasets/d/stats/int64").body
    assert b"-9223372036854775808" in found and b"9223372036854775807" in found
    assert json.loads(server.get("/v1/datasets/d/stats/uint64").body)["max"] == 2**64 - 1


def test_floats_stay_stable(tmp_path, serve):
    """Small differences of large numbers, in as many lots as there are chunks."""
    values = 1e9 + np.tile([0.0, 1.0], 50000)
    write_values(tmp_path / "a", values, (777,), fill=-1)
    write_values(tmp_path / "i", (2**60 + np.tile([0, 2], 5000)).astype("i8"), (77,), fill=-1)
    server = serve(f"d={tmp_path}")
    found = ask(server, "a")
    assert found["mean"] == 1e9 + 0.5 and found["std"] == pytest.approx(0.5, rel=1e-12)
    found = ask(server, "i")
    assert found["std"] == pytest.approx(1, rel=1e-12) and found["mean"] == float(2**60 + 1)


def test_infinities(tmp_path, serve):
    for name, values in (("up", [1, np.inf]), ("both", [-np.inf, 1, np.inf]), ("nan", [np.nan, np.nan])):
        write_values(tmp_path / name, np.array(values, "f4"), (2,), fill=0)
    server = serve(f"d={tmp_path}")
    up, both, nan = (ask(server, name) for name in ("up", "both", "nan"))
    assert (up["min"], up["max"], up["mean"], up["std"]) == (1, "Infinity", "Infinity", "NaN")
    assert (both["min"], both["mean"], both["std"]) == ("-Infinity", "NaN", "NaN")
    assert (nan["count"], nan["n_nan"], nan["min"], nan["mean"]) == (0, 2, None, None)


def test_a_nan_is_the_fill_value_when_it_has_its_bits(tmp_path, serve):
    values = np.array([0x7fc00000, 0x7fc00001, 0x3f800000], "u4").view("f4")
    write_values(tmp_path / "quiet", values, (3,), fill="NaN")
    write_values(tmp_path / "other", values, (3,), fill="0x7fc00001")
    server = serve(f"d={tmp_path}")
    for name in ("quiet", "other"):
        found = ask(server, name, "&fill=drop")
        assert (found["n_nan"], found["n_fill"], found["count"]) == (1, 1, 1)
        found = ask(server, name)
        assert (found["n_nan"], found["n_fill"], found["count"]) == (2, 0, 1)


def test_absent_chunks_are_the_fill_value(tmp_path, serve):
    write_node(tmp_path / "a", array_document((1000, 1000), (10, 10), "int16", 9))
    server = serve(f"d={tmp_path}")
    found = ask(server, "a", "&fill=drop")
    assert (found["count"], found["n_fill"], found["min"]) == (0, 10**6, None)
    found = ask(server, "a")
    assert (found["count"], found["min"], found["max"], found["mean"], found["std"]) == (10**6, 9, 9, 9, 0)
    assert found["n_fill"] == 10**6


def test_a_true_zero_counts_where_zero_is_the_fill_value(tmp_path, serve):
    values = np.array([[0, 0.24], [3, np.nan]], "f4")
    write_values(tmp_path / "a", values, (2, 2), fill=0)
    found = ask(serve(f"d={tmp_path}"), "a")
    assert (found["min"], found["max"], found["count"]) == (np.nanmin(values), np.nanmax(values), 3)
    assert found["mean"] == pytest.approx(np.nanmean(values)) and found["std"] == pytest.approx(np.nanstd(values))
    assert (found["n_fill"], found["n_nan"]) == (1, 1)


def test_tags_and_conditions(tmp_path, serve):
    values = np.arange(100, dtype="i4").reshape(10, 10)
    write_values(tmp_path / "a", values, (5, 5), fill=-1)
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "revalidate_ms": 0}}})
    first = server.get("/v1/datasets/d/stats/a")
    tag = first.headers["etag"]
    with server.cost() as cost:
        same = server.get("/v1/datasets/d/stats/a", {"If-None-Match": tag})
    assert same.status == 304 and same.headers["etag"] == tag and cost[DECODES] == 0
    assert server.get("/v1/datasets/d/stats/a", {"If-Match": '"x-y"'}).code == "precondition_failed"
    assert server.get("/v1/datasets/d/stats/a", {"If-Match": tag}).status == 200
    head = server.head("/v1/datasets/d/stats/a")
    assert head.status == 200 and head.headers["etag"] == tag and head.body == b""
    others = {server.get(f"/v1/datasets/d/stats/a?{more}").headers["etag"]
              for more in ("fields=min", "fill=drop", "slice=0:5", "slice=::-1,:", "pretty=1")}
    assert len(others) == 5 and tag not in others
    (tmp_path / "a" / "c" / "0" / "0").write_bytes(np.full((5, 5), 1000, "i4").tobytes())
    changed = server.get("/v1/datasets/d/stats/a", {"If-None-Match": tag})
    assert changed.status == 200 and changed.json()["max"] == 1000 and changed.headers["etag"] != tag


def test_refused_requests(tmp_path, serve):
    write_values(tmp_path / "a", np.zeros((64, 64), "f8"), (32, 32))
    write_node(tmp_path / "c", array_document((2, 2), (2, 2), "complex64", [0, 0]))
    write_node(tmp_path / "r", array_document((2, 2), (2, 2), "r16", [0, 0]))
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    (tmp_path / "a" / "c" / "1" / "1").write_bytes(b"short")
    server = serve(f"d={tmp_path}", "--set", "limits.stats_bytes=20KiB")
    get = lambda text: server.get(f"/v1/datasets/d/stats/{text}")
    server.get("/v1/datasets/d/nodes/a")
    for path in ("c", "r"):
        assert get(path).status == 422 and get(path).code == "unsupported_data_type"
    with server.cost() as cost:
        problem = get("a")
    assert problem.status == 413 and problem.code == "too_large" and cost[READS] == 0
    assert problem.json()["limit"] == 20 << 10 and problem.json()["requested"] == 64 * 64 * 8
    assert get("a?slice=:32").status == 200
    broken = get("a?slice=32:,32:")
    assert broken.status == 500 and broken.code == "corrupt_chunk"
    assert get("").code == "not_an_array" and get("nothing").code == "node_not_found"
    assert get("a?fields=min,median").code == "bad_parameter" and get("a?fill=no").code == "bad_parameter"
    assert get("a?slice=64").code == "out_of_bounds" and get("a?slice=x").code == "bad_slice"
    assert get("a?format=json").code == "unknown_parameter"
    assert server.get("/v1/datasets/d/stats/a", {"Accept": "image/png"}).code == "not_acceptable"


# ---- example.array-statistics


@pytest.fixture
def declared(tmp_path, serve):
    values = np.arange(1, 101, dtype="i2").reshape(10, 10)
    bounds = extension("array-statistics", {"min": -5, "max": 200}, must_understand=False)
    write_values(tmp_path / "a", values, (5, 5), fill=0, extensions=[bounds])
    write_values(tmp_path / "o", values, (5, 5), fill=0,
                extensions=[bounds, extension("offset", {"offset": [2, 0]})])
    write_values(tmp_path / "x", values, (5, 5), fill=300, extensions=[bounds])
    write_values(tmp_path / "n", values.astype("f4"), (5, 5), fill="NaN", extensions=[bounds])
    return serve(f"d={tmp_path}", "--set", "cache.decoded_bytes=0", "--set", "cache.encoded_bytes=0")


@pytest.mark.parametrize("text", ["a", "a?fields=min", "a?slice=:,:&fields=max,min", "a?slice=::-1", "o",
                                  "o?origin=stored", "a?fill=keep", "a?fill=drop", "n", "x?fill=drop"])
def test_declared_bounds_answer_without_reading(declared, text):
    declared.get(f"/v1/datasets/d/nodes/{text[0]}")
    with declared.cost() as cost:
        answer = declared.get(f"/v1/datasets/d/stats/{text}")
    found = answer.json()
    assert (found["source"], found["count"]) == ("metadata", None)
    assert {found.get("min", -5), found.get("max", 200)} == {-5, 200}
    assert cost[DECODES] == 0 and cost[READS] == 0
    tag = answer.headers["etag"]
    assert declared.get(f"/v1/datasets/d/stats/{text}", {"If-None-Match": tag}).status == 304


@pytest.mark.parametrize("text", ["a?slice=0:9", "a?fields=min,mean", "a?fields=count,min", "a?fields=n_fill",
                                  "x", "x?fields=min", "a?slice=0", "o?slice=1:,:", "o?slice=0:8&origin=stored"])
def test_declared_bounds_do_not_answer_what_they_do_not_know(declared, text):
    with declared.cost() as cost:
        found = declared.get(f"/v1/datasets/d/stats/{text}").json()
    assert found["source"] == "computed" and found["count"] > 0
    assert found.get("min", 1) >= 1 and cost[DECODES] > 0


def test_bounds_are_exact_in_the_data_type(tmp_path, serve):
    write_node(tmp_path / "u", array_document((4,), (4,), "uint64", 0, [
        extension("array-statistics", {"min": 0, "max": 2**64 - 1})]))
    write_node(tmp_path / "f", array_document((4,), (4,), "float32", 0, [
        extension("array-statistics", {"min": "-Infinity", "max": 0.1})]))
    write_node(tmp_path / "b", array_document((4,), (4,), "bool", False, [
        extension("array-statistics", {"min": False, "max": True})]))
    server = serve(f"d={tmp_path}")
    get = lambda path: server.get(f"/v1/datasets/d/stats/{path}").json()
    assert get("u")["max"] == 2**64 - 1 and (get("f")["min"], get("f")["max"]) == ("-Infinity", float(np.float32(0.1)))
    assert (get("b")["min"], get("b")["max"]) == (0, 1) and get("b")["min"] is not False


@pytest.mark.parametrize("bounds, pointer", [
    ({"min": 2, "max": 1}, "/max"), ({"min": "NaN", "max": 1}, "/min"), ({"min": 0.5, "max": 1}, "/min"),
    ({"min": 0, "max": 40000}, "/max"), ({"min": 0}, "/max"), ({"min": 0, "max": 1, "mean": 0.5}, "/mean")])
def test_faulty_bounds_refuse_the_node(tmp_path, serve, bounds, pointer):
    write_node(tmp_path / "a", array_document((4,), (4,), "int16", 0, [extension("array-statistics", bounds)]))
    server = serve(f"d={tmp_path}")
    problem = server.get("/v1/datasets/d/stats/a")
    assert problem.status == 422 and problem.code == "invalid_metadata"
    assert problem.json()["errors"][0]["pointer"] == "/extensions/0/configuration" + pointer
    assert problem.json()["errors"][0]["expected"]
