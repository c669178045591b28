"""What slices answer with besides the elements as they are: decoded as the attributes say and converted to another type. xarray and
numpy compute the same from the same store."""

import base64
import io
import random
import struct
import warnings

import numpy as np
import pytest
import xarray as xr
import zarr
from client import is_sanitized, memory_bytes
from live import Server

S = "/v1/datasets/p/slices/"
SHAPE = (7, 9, 11)
CHUNKS = (3, 4, 5)
NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
TIMES = ["time_days", "time_hours", "time_float", "time_noleap", "time_v2"]
FLOAT_FILL = base64.b64encode(struct.pack("<d", -999.0)).decode()


def values_of(dtype, rng):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, SHAPE, dtype, endpoint=True)
    values = (rng.normal(size=SHAPE) * 1000).astype(dtype)
    values.flat[::17] = np.nan
    values.flat[5::31] = -999
    return values


def write(group, name, values, dims=("t", "y", "x"), **attributes):
    chunks = CHUNKS if values.ndim == 3 else (max(values.size // 4, 1),) * values.ndim
    more = {"dimension_names": dims[:values.ndim]} if group.metadata.zarr_format == 3 else {}
    fill = attributes.pop("fill_value", 0)
    array = group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=chunks, fill_value=fill, **more)
    array[...] = values
    if group.metadata.zarr_format == 2:
        attributes["_ARRAY_DIMENSIONS"] = list(dims[:values.ndim])
    array.attrs.update(attributes)


def small(rng, dtype="i2"):
    return rng.integers(-20, 20, SHAPE).astype(dtype)


def fill_v3(group, rng):
    for dtype in NUMBERS:
        write(group, dtype, values_of(dtype, rng))
        write(group, f"{dtype}_packed", values_of(dtype, rng), scale_factor=0.1, add_offset=-3.25, units="K")
        write(group, f"{dtype}_scaled", values_of(dtype, rng), scale_factor=0.01)
        write(group, f"{dtype}_moved", values_of(dtype, rng), add_offset=7)
    for dtype in ["i1", "i2", "i4", "i8"]:
        write(group, f"{dtype}_missing", small(rng, dtype), _FillValue=3, missing_value=[4, -5])
        write(group, f"{dtype}_all", small(rng, dtype), _FillValue=3, scale_factor=0.5, add_offset=1.5)
        write(group, f"{dtype}_unsigned", values_of(dtype, rng), _Unsigned="true", _FillValue=-1, scale_factor=0.5)
        write(group, f"{dtype}_whole", small(rng, dtype), scale_factor=10)
    for dtype in ["f4", "f8"]:
        write(group, f"{dtype}_missing", values_of(dtype, rng), _FillValue=FLOAT_FILL)
        write(group, f"{dtype}_all", values_of(dtype, rng), _FillValue=FLOAT_FILL, scale_factor=0.3)
    since = {"units": "days since 2001-01-01", "calendar": "standard"}
    write(group, "time_days", np.arange(30, dtype="i4"), ("n",), **since)
    write(group, "time_hours", np.where(np.arange(30) % 7 == 2, -1, np.arange(30)), ("n",),
          units="hours since 1990-05-06 07:08:09", _FillValue=-1)
    write(group, "time_float", np.where(np.arange(30) % 7 == 2, np.nan, np.arange(30) / 3), ("n",), **since)
    write(group, "time_noleap", np.arange(30, dtype="i4"), ("n",), units="days since 2001-01-01", calendar="noleap")
    write(group, "length", np.arange(30, dtype="i4"), ("n",), units="days")
    write(group, "bounded", small(rng), valid_min=-5, valid_max=9)
    write(group, "ranged", small(rng), valid_range=[-5, 9], scale_factor=2.0)


def fill_v2(group, rng):
    write(group, "zero", small(rng), fill_value=0)
    write(group, "nan", values_of("f4", rng), fill_value=np.nan, scale_factor=0.1)
    write(group, "packed", small(rng), fill_value=-7, scale_factor=0.1, add_offset=3.0)
    write(group, "time_v2", np.arange(30, dtype="i8"), ("n",), fill_value=5, units="seconds since 2020-02-03T04:05:06")
    write(group, "none", small(rng), fill_value=None)


BAD = {
    "bad_scale": {"scale_factor": "ten"}, "long_scale": {"scale_factor": "9" * 100_000}, "bad_offset": {"add_offset": [1, 2]},
    "bad_range": {"valid_range": [1]}, "bad_min": {"valid_min": {}}, "bad_fill": {"_FillValue": "x"},
    "many": {"missing_value": list(range(100))}, "bad_calendar": {"units": "days since 2001-01-01", "calendar": "mayan"},
    "bad_date": {"units": "days since 2001-13-45"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    top = zarr.open_group(root / "p3", mode="w", zarr_format=3)
    fill_v3(top, rng)
    others = zarr.open_group(root / "bad", mode="w", zarr_format=3)
    for name, attributes in BAD.items():
        write(others, name, np.arange(3, dtype="i2"), ("n3",), **attributes)
    write(others, "early", np.array([0, 10**9], "i8"), ("n2",), units="days since 2001-01-01")
    write(others, "odd_units", np.arange(3, dtype="i2"), ("n3",), units="weeks since \u00fcber")
    write(top, "half", np.array([0.1, 65504, np.nan, -np.inf], "f2"), ("n4",))
    write(top, "flags", np.array([True, False, True]), ("n3",))
    write(top, "wide", np.array([2**53, -2**60, 5], "i8"), ("n3",))
    write(top, "wider", np.array([1, 2**53 + 1], "i8"), ("n2",))
    write(top, "full", np.array([2**64 - 2**11, 7], "u8"), ("n2",))
    write(top, "pairs", np.array([1 + 2j, -3j], "c8"), ("n2",))
    write(top, "fraction", np.array([1.9, -1.9, 254.5], "f8"), ("n3",))
    write(top, "outside", np.array([[1.0, 2.0], [300.0, 3.0]], "f4"), ("n2", "m2"))
    write(top, "scalar", np.array(7, "i2"), (), scale_factor=0.5)
    write(top, "empty", np.zeros((0, 4), "i2"), ("n0", "m4"), scale_factor=0.5)
    write(top, "long", np.arange(3_000_000, dtype="i4") % 1000, ("l",), scale_factor=0.5, fill_value=0)
    fill_v2(zarr.open_group(root / "p2", mode="w", zarr_format=2), rng)
    running = Server(f"p={root / 'p3'}", f"q={root / 'p2'}", f"b={root / 'bad'}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running.xarray = {v: xr.open_zarr(root / f"p{v}", consolidated=False, chunks=None, zarr_format=v).load() for v in (2, 3)}
    running.root = root / 'p3'
    yield running
    running.stop()


def npy(server, path, expected=200):
    answer = server.get(path + ("&" if "?" in path else "?") + "format=npy")
    assert answer.status == expected, answer.body
    return answer.headers, np.load(io.BytesIO(answer.body))


def same(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


V3 = [f"{dtype}{more}" for dtype in NUMBERS for more in ("", "_packed", "_scaled", "_moved")]
V3 += [f"{dtype}_{more}" for dtype in ("i1", "i2", "i4", "i8") for more in ("missing", "all", "unsigned", "whole")]
V3 += ["f4_missing", "f8_missing", "f4_all", "f8_all", "time_days", "time_hours", "time_float", "scalar", "empty", "flags", "pairs"]


@pytest.mark.parametrize("name", V3)
def test_decodes_as_xarray_does(server, name):
    headers, found = npy(server, f"{S}{name}?decode=cf")
    expected = server.xarray[3][name].values
    same(found, expected)
    assert headers["zarr-dtype"] == expected.dtype.str
    assert headers.get("zarr-units") == ("K" if name.endswith("_packed") else None)


@pytest.mark.parametrize("name", ["zero", "nan", "packed", "time_v2", "none"])
def test_the_fill_value_of_v2_means_that_nothing_is_there(server, name):
    _, found = npy(server, f"/v1/datasets/q/slices/{name}?decode=cf")
    same(found, server.xarray[2][name].values)


def test_calendars_that_datetime64_lacks_and_lengths_stay_numbers(server):
    for name, units in [("time_noleap", "days%20since%202001-01-01"), ("length", "days")]:
        headers, found = npy(server, f"{S}{name}?decode=cf")
        same(found, np.arange(30, dtype="i4"))
        assert headers["zarr-units"] == units


@pytest.mark.parametrize("name", ["bounded", "ranged"])
def test_bounds_are_those_of_packed_values(server, name):
    _, packed = npy(server, f"{S}{name}")
    _, found = npy(server, f"{S}{name}?decode=cf")
    expected = np.where((packed < -5) | (packed > 9), np.nan, packed.astype("f8") * (2 if name == "ranged" else 1))
    same(found, expected.astype("f8" if name == "ranged" else "f4"))


@pytest.mark.parametrize("name", BAD)
def test_attributes_that_say_nothing_are_refused_with_their_place(server, name):
    attribute = "units" if name == "bad_date" else [*BAD[name]][-1]
    for path in (f"/v1/datasets/b/slices/{name}?decode=cf", f"/v1/datasets/b/slices/{name}?decode=cf&slice=0:0"):
        answer = server.get(path)
        assert (answer.status, answer.code) == (422, "invalid_metadata")
        problem = answer.json()
        assert problem["pointer"] == f"/attributes/{attribute}" and problem["names"] == [attribute]
        assert problem["expected"]
    assert server.get(f"/v1/datasets/b/slices/{name}").status == 200


CONVERSIONS = [
    (name, dtype)
    for name in ("half", "flags", "fraction", "wide", "i1", "u2", "f4_all", "bounded")
    for dtype in ("f4", "float64", "<f8", "bool", "u1", "i2", "int32", "i8", "u8", "c8", "complex128", "f2")]


def fits(values, dtype):
    """Values as the type, and the index of the first that it does not hold."""
    with np.errstate(all="ignore"):
        whole = np.trunc(values) if values.dtype.kind == "f" else values
        found = values.astype(dtype)
    if np.dtype(dtype).kind not in "iu" or values.dtype.kind == "b":
        return found, None
    info = np.iinfo(dtype)
    bad = [index for index in np.ndindex(values.shape)
           if not (np.isfinite(float(whole[index])) and info.min <= int(whole[index]) <= info.max)]
    return found, bad[0] if bad else None


@pytest.mark.parametrize("name,dtype", CONVERSIONS)
def test_converts_as_numpy_does_and_refuses_what_does_not_fit(server, name, dtype):
    _, values = npy(server, f"{S}{name}")
    expected, bad = fits(values, dtype)
    if bad is None:
        headers, found = npy(server, f"{S}{name}?dtype={dtype}")
        same(found, expected)
        assert headers["zarr-dtype"] == expected.dtype.str
        assert ("zarr-fill-value" in headers) == (values.dtype == expected.dtype)
    else:
        answer = server.get(f"{S}{name}?dtype={dtype}")
        assert (answer.status, answer.code) == (400, "not_representable")
        assert answer.json()["index"] == list(bad)


@pytest.mark.parametrize("name,dtype", [
    ("half", "f4"), ("flags", "u1"), ("i1", "i1"), ("u1", "u1"), ("i4", "i4"), ("f4", "f4"), ("f8", "f8"), ("wide", "f8"),
    ("full", "f8"), ("wider", None), ("pairs", None)])
def test_safe_is_what_javascript_holds(server, name, dtype):
    _, values = npy(server, f"{S}{name}")
    if dtype is not None:
        same(npy(server, f"{S}{name}?dtype=safe")[1], values.astype(dtype))
        return
    answer = server.get(f"{S}{name}?dtype=safe")
    assert answer.code == ("not_representable" if name == "wider" else "bad_parameter")
    if name == "wider":
        assert answer.json()["index"] == [1]


def test_times_are_converted_to_their_ticks(server):
    _, times = npy(server, f"{S}time_hours?decode=cf")
    same(npy(server, f"{S}time_hours?decode=cf&dtype=i8")[1], times.astype("i8"))
    answer = server.get(f"{S}time_hours?decode=cf&dtype=f4")
    assert answer.code == "bad_parameter" and "float64" in answer.json()["allowed"]


@pytest.mark.parametrize("query,names", [
    ("dtype=", "dtype"), ("dtype=f5", "dtype"), ("dtype=%3Ef4", "dtype"), ("dtype=string", "dtype"), ("dtype=M8[ns]", "dtype"),
    ("dtype=" + "f" * 300, "dtype"), ("decode=xx", "decode"), ("decode=", "decode"), ("dtype=f4%00", None)])
def test_bad_values_are_refused_with_what_is_allowed(server, query, names):
    answer = server.get(f"{S}i2?{query}")
    assert answer.status == 400
    if names is not None and len(query) < 300:
        assert answer.code == "bad_parameter"
        assert answer.json()["names"] == [names]
        assert ("cf" if names == "decode" else "safe") in answer.json()["allowed"]


def test_decodes_before_it_converts(server):
    _, found = npy(server, f"{S}i2_all?decode=cf&dtype=f4")
    same(found, server.xarray[3]["i2_all"].values.astype("f4"))


def test_post_head_and_text_tell_the_same_result(server):
    query = {"slice": "2,::-1", "decode": "cf", "dtype": "f4", "format": "npy"}
    body = server.post(f"{S}i2_packed", query).body
    answer = server.get(f"{S}i2_packed?slice=2,::-1&decode=cf&dtype=f4&format=npy")
    assert answer.body == body
    head = server.head(f"{S}i2_packed?slice=2,::-1&decode=cf&dtype=f4&format=npy")
    for name in ("zarr-shape", "zarr-dtype", "zarr-data-type", "zarr-units", "zarr-selection", "etag", "content-length"):
        assert head.headers[name] == answer.headers[name]
    assert answer.headers["zarr-selection"] == "2,8::-1,0:11:1"
    text = server.get(f"{S}i2_packed?slice=2,::-1&decode=cf&dtype=f4&format=json").json()
    assert text["data_type"] == "float32" and text["selection"] == "2,8::-1,0:11:1"
    np.testing.assert_array_equal(np.array(text["data"], "f4"), np.load(io.BytesIO(body)))


def test_tags_tell_results_apart_and_nothing_is_decoded_for_304(server):
    queries = ["", "decode=cf", "dtype=f4", "dtype=f8", "decode=cf&dtype=f4", "decode=cf&dtype=f8"]
    tags = {server.get(f"{S}i2_packed?{query}").headers["etag"] for query in queries}
    assert len(tags) == len(queries)
    tag = server.get(f"{S}i2_packed?decode=cf").headers["etag"]
    assert server.get(f"{S}i2_packed?decode=cf", {"If-None-Match": tag}).status == 304


def test_ranges_and_streams_are_those_of_the_result(server):
    path = f"{S}long?decode=cf&format=npy"
    whole = server.get(path)
    values = np.load(io.BytesIO(whole.body))
    same(values, (np.arange(3_000_000) % 1000) * 0.5)
    for first, last in [(0, 10), (100, 100_003), (11_999_995, 23_000_000), (23_999_999, 24_000_050)]:
        part = server.get(path, {"Range": f"bytes={first}-{last}"})
        assert part.status == 206 and part.body == whole.body[first:last + 1]
    assert server.get(f"{S}long?decode=cf&dtype=i4&slice=::2").body == (np.arange(0, 3_000_000, 2) % 1000 * 0.5).astype("i4").tobytes()


def test_expected_shape_and_limits_are_of_the_result(server):
    assert server.get(f"{S}i2?decode=cf&expected_shape=7,9,11").status == 200
    small = Server(f"p={server.root}", "--set", "limits.slice_bytes=2KiB")
    try:
        path = f"{S}i1?slice=:,:,:9"
        assert small.get(path).status == 200
        answer = small.get(f"{path}&dtype=f8")
        assert (answer.status, answer.code) == (413, "too_large")
        problem = answer.json()
        assert (problem["limit"], problem["requested"]) == (2048, 7 * 9 * 9 * 8)
        for text in problem["suggestions"]:
            assert small.get(f"{S}i1?slice={text}&dtype=f8").status == 200
    finally:
        small.stop()


def test_times_beyond_datetime64_stay_numbers(server):
    for query in ("", "&dtype=i8", "&format=json", "&reduce=max", "&coarsen=n2:2&agg=min"):
        answer = server.get(f"/v1/datasets/b/slices/early?decode=cf{query}")
        assert answer.status == 200, answer
        assert answer.headers["zarr-units"] == "days%20since%202001-01-01"
        assert answer.headers["zarr-data-type"] == "int64"
    assert server.get("/v1/datasets/b/slices/early?decode=cf").body == np.array([0, 10**9], "i8").tobytes()
    assert server.get("/v1/datasets/b/slices/early?decode=cf&slice=:1").headers["zarr-dtype"] == "<M8[ns]"


def test_a_range_of_times_is_of_the_whole_answer(server):
    """Elements that datetime64 holds, beside one that it does not, are numbers as well."""
    path = "/v1/datasets/b/slices/early?decode=cf"
    whole = server.get(path)
    part = server.get(path, {"Range": "bytes=8-15"})
    assert part.status == 206 and part.body == whole.body[8:]
    for first, last in [(0, 7), (3, 4)]:
        part = server.get(path, {"Range": f"bytes={first}-{last}"})
        assert part.body == (whole.body if part.status == 200 else whole.body[first:last + 1]), part
    assert server.get(f"{path}&slice=:1", {"Range": "bytes=0-3"}).status == 200


# ---- several elements become one ----

REDUCED = ["i1", "u1", "i2", "u4", "i4", "i8", "f2", "f4", "f8", "f4_missing"]
OPERATIONS = ["min", "max", "mean", "sum", "std", "var", "count"]
OVERS = [("t",), ("x",), ("y",), ("t", "x"), ("y", "x"), ("t", "y", "x")]


def exact(values, operation, axes, skipna):
    """The result in long double, or in integers of any size, with its type."""
    kind, bits = values.dtype.kind, values.dtype.itemsize
    missing = np.isnan(values) if kind == "f" else np.zeros(values.shape, bool)
    if operation == "count":
        return (~missing if skipna else np.ones(values.shape, bool)).sum(axes, dtype="i8")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if operation in ("min", "max"):
            name = f"nan{operation}" if skipna and kind == "f" else operation
            return getattr(np, name)(values, axes)
        if operation == "sum" and kind != "f":
            return values.sum(axes, dtype="u8" if kind == "u" else "i8")
        if operation == "mean" and kind != "f":
            total = np.asarray(values.astype(object).sum(axes), object)
            return np.array([int(n) / (values.size // total.size) for n in total.flat], "f8").reshape(total.shape)
        name = f"nan{operation}" if skipna else operation
        found = getattr(np, name)(values.astype(np.longdouble), axes)
        narrow = bits == 4 and kind == "f" or operation == "sum" and bits == 2
        return found.astype("f4" if narrow else "f8")


def close(found, expected, n):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    ulps = max(np.log2(max(n, 2)), 1)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    far = np.abs(found[finite].astype("f8") - expected[finite].astype("f8"))
    assert (far <= ulps * np.spacing(np.abs(expected[finite])).astype("f8")).all()


def axes_of(over):
    return tuple("tyx".index(name) for name in over)


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_reduces_as_numpy_does(server, name, operation):
    _, values = npy(server, f"{S}{name}")
    for over in OVERS:
        for skipna in (1, 0):
            query = f"reduce={operation}&over={','.join(over)}&skipna={skipna}"
            if operation == "sum" and name == "i8":
                query = f"slice=:,:,:&{query}"
                total = values.astype(object).sum(axes_of(over))
                fits = np.all((np.array(total) >= -2**63) & (np.array(total) < 2**63))
                if not fits:
                    answer = server.get(f"{S}{name}?{query}")
                    assert answer.code == "not_representable"
                    continue
            headers, found = npy(server, f"{S}{name}?{query}")
            expected = np.asarray(exact(values, operation, axes_of(over), skipna))
            close(found, expected, values.size // max(found.size, 1))
            assert headers["zarr-shape"].strip() == ",".join(map(str, expected.shape))
            assert headers["zarr-dimensions"].strip() == ",".join(d for d in "tyx" if d not in over)
            assert headers["zarr-selection"] == "0:7:1,0:9:1,0:11:1"


def blocks(values, factors, operation, skipna=True):
    """The blocks of each dimension, the last of which may be smaller, reduced."""
    shape = [-(-n // f) for n, f in zip(values.shape, factors)]
    sample = exact(values[:1, :1, :1], operation, (0, 1, 2), skipna)
    found = np.empty(shape, np.asarray(sample).dtype)
    for index in np.ndindex(*shape):
        block = values[tuple(slice(i * f, (i + 1) * f) for i, f in zip(index, factors))]
        found[index] = exact(block, operation, (0, 1, 2), skipna)
    return found


@pytest.mark.parametrize("name", ["i2", "u1", "f4", "f8", "i8"])
@pytest.mark.parametrize("agg", ["mean", "min", "max", "sum", "nearest", None])
def test_coarsens_in_blocks_of_which_the_last_may_be_smaller(server, name, agg):
    _, values = npy(server, f"{S}{name}?slice=::-1,1:,:")
    for factors in [(1, 2, 2), (2, 1, 3), (4, 4, 4), (1, 1, 100), (3, 7, 1)]:
        query = ",".join(f"{d}:{f}" for d, f in zip("tyx", factors)) + (f"&agg={agg}" if agg else "")
        if agg == "sum" and name == "i8":
            continue
        _, found = npy(server, f"{S}{name}?slice=::-1,1:,:&coarsen={query}")
        if agg == "nearest":
            same(found, values[tuple(slice(None, None, f) for f in factors)])
        else:
            expected = blocks(values, factors, agg or "mean")
            close(found, expected, np.prod(factors))


def test_reduces_decodes_and_coarsens_in_their_order(server):
    decoded = server.xarray[3]["i2_all"].values
    _, found = npy(server, f"{S}i2_all?decode=cf&reduce=max&over=t&coarsen=y:2,x:3&agg=mean&dtype=f4")
    expected = blocks(np.nanmax(decoded, 0)[None], (1, 2, 3), "mean")[0].astype("f4")
    close(found, expected, 6)
    times = server.xarray[3]["time_hours"].values
    _, found = npy(server, f"{S}time_hours?decode=cf&reduce=min")
    same(found, np.nanmin(times))
    _, found = npy(server, f"{S}time_hours?decode=cf&reduce=max&skipna=0")
    assert np.isnat(found)


@pytest.mark.parametrize("shape,limit,factor", [
    ("", 7 * 9 * 11, 1), ("", 7 * 5 * 6, 2), ("", 7 * 9 * 11 - 1, 2), ("", 7, 16), ("0,:,:", 20, 4), ("0,0,:", 3, 4), ("0,0,0", 1, 1)])
def test_max_size_takes_the_least_power_of_two(server, shape, limit, factor):
    for agg in ("nearest", "mean", None):
        _, values = npy(server, f"{S}i2?slice={shape}")
        more = f"&agg={agg}" if agg else ""
        _, found = npy(server, f"{S}i2?slice={shape}&max_size={limit}{more}")
        assert found.size <= limit
        if factor == 1 or agg != "mean":
            same(found, values[(..., *[slice(None, None, factor)] * min(values.ndim, 2))] if values.ndim else values)
        else:
            assert found.dtype == np.float64


@pytest.mark.parametrize("query,name,allowed", [
    ("reduce=median", "reduce", "mean"), ("reduce=mean&over=z", "over", "t"), ("reduce=mean&over=3", "over", "y"),
    ("reduce=mean&over=t,t", "over", "t"), ("reduce=mean&over=", "over", "t"), ("slice=0&reduce=mean&over=t", "over", "x"),
    ("over=t", "over", None), ("coarsen=t", "coarsen", "t"), ("coarsen=t:0", "coarsen", "t"), ("coarsen=t:-1", "coarsen", "t"),
    ("coarsen=q:2", "coarsen", "t"), ("coarsen=t:2,t:2", "coarsen", "t"), ("coarsen=t:99999999999999999999", "coarsen", "t"),
    ("coarsen=x:2&agg=median", "agg", "nearest"), ("coarsen=x:2&agg=std", "agg", "nearest"), ("agg=mean", "agg", None),
    ("skipna=0", "skipna", None), ("coarsen=x:2&max_size=4", "max_size", None),
    ("slice=0:0&reduce=min", "reduce", None), ("reduce=mean&over=t&coarsen=t:2", "coarsen", "y")])
def test_bad_reductions_are_refused(server, query, name, allowed):
    answer = server.get(f"{S}i2?{query}")
    assert (answer.status, answer.code) == (400, "bad_parameter"), answer
    problem = answer.json()
    assert problem["names"] == [name]
    if allowed is not None:
        assert allowed in problem["allowed"]


def test_hostile_reductions_are_refused_or_done(server):
    _, values = npy(server, f"{S}i2")
    _, found = npy(server, f"{S}i2?coarsen=t:{2**63},y:{2**64 - 1},x:{2**62}&agg=sum")
    same(found, values.sum(dtype="i8").reshape(1, 1, 1))
    assert server.get(f"{S}i2?max_size=0").code == "too_large"
    assert server.get(f"{S}pairs?reduce=mean").status == 422
    assert server.get(f"{S}empty?reduce=mean&over=n0&decode=cf&format=json").json()["data"] == ["NaN"] * 4
    assert server.get(f"{S}empty?reduce=sum&over=n0&format=json").json()["data"] == [0] * 4
    assert server.get(f"{S}empty?reduce=sum&over=m4&format=json").json()["data"] == []
    same(npy(server, f"{S}scalar?reduce=mean&decode=cf")[1], np.array(3.5))
    same(npy(server, f"{S}flags?reduce=sum")[1], np.array(2, "i8"))


def test_reductions_are_told_by_post_head_tags_and_ranges(server):
    path = f"{S}f4?reduce=mean&over=t&coarsen=x:2&format=npy"
    answer = server.get(path)
    query = {"reduce": "mean", "over": ["t"], "coarsen": "x:2", "format": "npy", "skipna": True}
    assert server.post(f"{S}f4", query).body == answer.body
    head = server.head(path)
    for name in ("zarr-shape", "zarr-dtype", "zarr-selection", "etag", "content-length"):
        assert head.headers[name] == answer.headers[name]
    assert server.get(path, {"If-None-Match": answer.headers["etag"]}).status == 304
    part = server.get(path, {"Range": "bytes=130-180"})
    assert part.status == 206 and part.body == answer.body[130:181]
    assert server.get(f"{path}&expected_shape=9,6").status == 200
    assert server.get(f"{path}&expected_shape=9,7").code == "shape_mismatch"
    queries = ["reduce=mean", "reduce=max", "reduce=mean&over=t", "reduce=mean&over=x", "reduce=mean&skipna=0", "coarsen=x:2",
               "coarsen=x:3", "coarsen=x:2&agg=max", "coarsen=x:2&agg=nearest", "max_size=99", ""]
    assert len({server.get(f"{S}f4?{query}").headers["etag"] for query in queries}) == len(queries)


def test_selections_by_name_are_reduced(server):
    _, values = npy(server, f"{S}f8")
    headers, found = npy(server, f"{S}f8?isel=t=1:4&isel=y=::-2&reduce=max&over=t&max_size=12&agg=min")
    expected = np.nanmax(values[1:4, ::-2], 0)
    while expected.size > 12:
        expected = blocks(expected[None], (1, 2, 2), "min")[0]
    same(found, expected)
    assert headers["zarr-selection"] == "1:4:1,8::-2,0:11:1"


def test_many_cells_are_not_for_the_loop_thread(tmp_path):
    """Ten elements come last, of two million results that are joined: that is no small piece of work."""
    group = zarr.open_group(tmp_path / "s", mode="w", zarr_format=3)
    n = 1 << 21
    group.create_array("a", shape=(1, n + 10), chunks=(1, n), dtype="f8", fill_value=1.0, dimension_names=["t", "x"])
    server = Server(f"p={tmp_path / 's'}")
    try:
        path = f"{S}a?reduce=mean&over=t&coarsen=x:{n + 10}&agg=sum"
        answer = server.get(path)
        assert answer.status == 200 and np.frombuffer(answer.body) == [n + 10]
        with server.cost() as cost:
            assert server.get(path).body == answer.body
        assert cost["zarrd_jobs_total"] >= 2 and cost["zarrd_jobs_inline_total"] == 0
    finally:
        server.stop()


@pytest.mark.large
def test_a_mean_holds_chunks_and_its_answer_and_not_what_it_reads(tmp_path):
    """768 MiB, of which all chunks have the same bytes, in memory for less than 64 of them."""
    n, side = 768, 512
    group = zarr.open_group(tmp_path / "s", mode="w", zarr_format=3)
    array = group.create_array("a", shape=(n, side, side), chunks=(1, side, side), dtype="f4", dimension_names=["t", "y", "x"])
    first = (np.arange(side * side, dtype="f4") % 1000 / 8).reshape(side, side)
    array[0] = first
    chunk = tmp_path / "s" / "a" / "c" / "0" / "0" / "0"
    for t in range(1, n):
        (chunk.parent.parent.parent / str(t) / "0").mkdir(parents=True)
        (chunk.parent.parent.parent / str(t) / "0" / "0").hardlink_to(chunk)
    small = Server(f"p={tmp_path / 's'}", "--set", "memory.bytes=64MiB")
    try:
        for query in ("reduce=mean&over=t", "reduce=max&over=t&decode=cf", "reduce=mean&over=t&dtype=f8"):
            _, found = npy(small, f"{S}a?{query}")
            same(found, first.astype("f8" if "f8" in query else "f4"))
        _, found = npy(small, f"{S}a?reduce=sum&dtype=f8")
        assert abs(found / (first.sum(dtype="f8") * n) - 1) < 1e-6
        assert is_sanitized(small) or memory_bytes(small, "VmHWM") < 112 << 20
    finally:
        small.stop()
