"""isel and sel, compared with what xarray selects in the same store; every refusal; coordinates that change, or that nobody should read."""

import io
import json
import re
import shutil
import urllib.parse

import numpy as np
import pytest
import xarray as xr
import zarr
from client import BYTES, DECODES

S = "/v1/datasets/p/slices/"
RNG = np.random.default_rng(5)


def sel_text(key):
    """What sel= says for a key of xarray: a value, or slice(a, b, step)."""
    if not isinstance(key, slice):
        return str(key)
    ends = [".." if end is None else str(end) for end in (key.start, key.stop)]
    return "/".join(ends + ([str(key.step)] if key.step else []))


def quoted(text):
    return urllib.parse.quote(text, safe="/:,.=-")


def query(sel=(), isel=(), **others):
    parts = [f"sel={quoted(f'{dim}={text}')}" for dim, text in dict(sel).items()]
    parts += [f"isel={quoted(f'{dim}={text}')}" for dim, text in dict(isel).items()]
    return "&".join(parts + [f"{name}={quoted(str(value))}" for name, value in others.items()])


def data_set():
    """Coordinates of many kinds; every data variable has one of them, and `cube` some at once."""
    time = xr.date_range("2000-02-25", periods=40, freq="6h")
    coords = {
        "time": time,
        "lat": np.linspace(90, -90, 19).astype("f4"),
        "lon": np.arange(0, 360, 22.5),
        "step": np.arange(-6, 7, 3, dtype="i2"),
        "third": (np.arange(9) / 3).astype("f4"),
        "station": ["Oslo", "Bergen", "Zürich", "a/b"],
        "mixed": np.array([3.0, 1.0, 2.0, 1.0]),
        "twice": [1, 2, 2, 3],
        "big": np.array([0, 2**53, 2**53 + 1, 2**63], "u8"),
        "noleap": xr.date_range("2001-02-26", periods=12, freq="12h", calendar="noleap", use_cftime=True),
        "days360": xr.date_range("2001-02-28", periods=12, freq="D", calendar="360_day", use_cftime=True),
    }
    cube = RNG.normal(size=(40, 19, 16)).astype("f4")
    made = xr.Dataset({"cube": (("time", "lat", "lon"), cube)}, coords)
    for name, values in coords.items():
        made[f"of_{name}"] = ((name,), np.arange(len(values), dtype="i4"))
    made["station"] = made["station"].astype("U8")
    made["time"].encoding.update(units="hours since 2000-02-28T00:00", dtype="f8")
    return made


@pytest.fixture(scope="module", params=[2, 3])
def served(request, serve_module, tmp_path_factory):
    path = tmp_path_factory.mktemp("select") / "store"
    data_set().to_zarr(path, zarr_format=request.param, consolidated=False, encoding={"cube": {"chunks": (7, 5, 16)}})
    with xr.open_zarr(path, consolidated=False, decode_timedelta=False) as opened:
        yield serve_module(f"p={path}"), opened.load()


def npy(answer):
    assert answer.status == 200, answer
    return np.load(io.BytesIO(answer.body))


EXACT = [
    ("lat", 50), ("lat", -90), ("lon", 22.5), ("lon", "2.25e1"), ("step", -3), ("step", "3.0"), ("third", 0.33333334), ("big", 2**53 + 1),
    ("station", "Zürich"), ("mixed", 2), ("time", "2000-02-28"), ("time", "2000-02-29T06:00"), ("time", "2000-03-01 18:00"),
    ("noleap", "2001-03-01T12:00:00"), ("days360", "2001-02-30T00:00:00"),
]


def chosen(opened, dim, value, **how):
    if isinstance(value, str) and dim in ("time", "noleap", "days360"):
        if dim == "time":
            value = np.datetime64(value.replace(" ", "T"), "ns")
        else:
            value = type(opened[dim].values[0])(*(int(part) for part in re.split("[-T:]", value)))
    elif isinstance(value, str) and dim != "station":
        value = float(value)
    return opened[f"of_{dim}"].sel({dim: value}, **how).values


@pytest.mark.parametrize("dim,value", EXACT)
def test_a_value_is_what_xarray_finds(served, dim, value):
    server, opened = served
    answer = server.get(f"{S}of_{dim}?{query(sel={dim: value}, format='npy')}")
    np.testing.assert_array_equal(npy(answer), chosen(opened, dim, value))
    assert answer.headers["zarr-selection"] == str(int(npy(answer)))
    assert answer.headers["zarr-shape"] == ""


NEAR = [("lat", 44.9), ("lat", 45), ("lat", -89), ("lat", 90), ("lon", 11.25), ("lon", 33.75), ("lon", 33.7), ("step", 1.5), ("step", 2),
        ("third", 0.5), ("time", "2000-02-27T01:01:01"), ("time", "2000-02-27T03:00:00"), ("noleap", "2001-02-28T18:00:00"),
        ("days360", "2001-03-04T12:00:00")]


@pytest.mark.parametrize("method", ["nearest", "ffill", "bfill"])
@pytest.mark.parametrize("dim,value", NEAR)
def test_methods_are_those_of_xarray(served, dim, value, method):
    server, opened = served
    answer = server.get(f"{S}of_{dim}?{query(sel={dim: f'{method}::{value}'}, format='npy')}")
    np.testing.assert_array_equal(npy(answer), chosen(opened, dim, value, method=method))


@pytest.mark.parametrize("dim,value,text,tolerance", [
    ("lat", 44, "4", 4), ("lat", 44, "3.9", 3.9), ("lon", 20, "2.5", 2.5), ("step", 2, "0.5", 0.5), ("third", 0.3, "0.033334", 0.033334),
    ("time", "2000-02-27T02:00:00", "PT2H", np.timedelta64(2, "h")), ("time", "2000-02-27T02:00:00", "119 min", np.timedelta64(119, "m"))])
def test_a_tolerance_is_that_of_xarray(served, dim, value, text, tolerance):
    server, opened = served
    answer = server.get(f"{S}of_{dim}?{query(sel={dim: f'nearest:{text}:{value}'}, format='npy')}")
    try:
        expected = chosen(opened, dim, value, method="nearest", tolerance=tolerance)
    except KeyError:
        assert (answer.status, answer.json()["code"], answer.json()["dim"]) == (400, "value_not_found", 0)
    else:
        np.testing.assert_array_equal(npy(answer), expected)


INTERVALS = [
    ("lat", slice(50, -20)), ("lat", slice(45, -25, 2)), ("lat", slice(95, 85)), ("lat", slice(None, 0)), ("lat", slice(0, None)),
    ("lon", slice(20, 90)), ("lon", slice(22.5, 22.5)), ("lon", slice(300, 400)), ("lon", slice(23, 24)), ("lon", slice(None, None, 5)),
    ("step", slice(-4, 2.5)), ("third", slice(0.3333333, 1)), ("twice", slice(2, 2)), ("big", slice(1, 2**53)),
    ("time", slice("2000-02-28", "2000-02-29")), ("time", slice("2000-02", "2000-02")), ("time", slice("2000-02-29T06", "2000-02-29T12")),
    ("time", slice("2000-03", None)), ("time", slice(None, "1999")), ("time", slice("2000-02-29T06:00", "2000-03-01T00:00:00", 2)),
    ("noleap", slice("2001-02-28", "2001-03-01")), ("noleap", slice("2001-03", "2001")), ("days360", slice("2001-02-30", "2001-03-02")),
]


@pytest.mark.parametrize("dim,key", INTERVALS, ids=lambda value: str(value).replace("/", "-"))
def test_an_interval_is_that_of_xarray(served, dim, key):
    server, opened = served
    answer = server.get(f"{S}of_{dim}?{query(sel={dim: sel_text(key)}, format='npy')}")
    expected = opened[f"of_{dim}"].sel({dim: key}).values
    np.testing.assert_array_equal(npy(answer), expected)
    start, stop, step = (int(n) for n in answer.headers["zarr-selection"].split(":"))
    np.testing.assert_array_equal(np.arange(opened.sizes[dim])[start:stop:step], expected)
    turned = slice(key.stop, key.start, key.step)
    is_nested = key == slice("2001-03", "2001")  # the one means a part of the other: either way is the coordinate's
    if key.start is not None and key.stop is not None and not is_nested:  # the same set, in stored order
        again = server.get(f"{S}of_{dim}?{query(sel={dim: sel_text(turned)}, format='npy')}")
        np.testing.assert_array_equal(npy(again), expected)


def test_dimensions_are_selected_together(served):
    server, opened = served
    answer = server.get(f"{S}cube?{query({'time': '2000-02-28/2000-02-29', 'lat': 'nearest::33'}, {'lon': '::-3'}, format='npy')}")
    expected = opened.cube.sel(time=slice("2000-02-28", "2000-02-29")).sel(lat=33, method="nearest").isel(lon=slice(None, None, -3))
    np.testing.assert_array_equal(npy(answer), expected.values)
    assert answer.headers["zarr-dimensions"] == "time,lon"
    same = server.get(f"{S}cube?{query(slice=answer.headers['zarr-selection'], format='npy')}")
    assert (same.body, same.headers["etag"]) == (answer.body, answer.headers["etag"])  # a selection can be shared


def test_selections_go_with_slice_and_numbers_of_dimensions(served):
    server, opened = served
    mixed = server.get(f"{S}cube?{query({'1': -20}, {'2': '-1'}, slice='3:30:4', format='npy')}")
    np.testing.assert_array_equal(npy(mixed), opened.cube.sel(lat=-20).isel(lon=-1, time=slice(3, 30, 4)).values)
    whole = server.get(f"{S}cube?{query({'lat': 50}, slice=':,0:19,5', format='npy')}")
    np.testing.assert_array_equal(npy(whole), opened.cube.sel(lat=50).isel(lon=5).values)


def test_post_takes_objects(served):
    server, opened = served
    body = {"sel": {"time": "2000-02-28/2000-02-29", "lat": 50}, "isel": {"lon": 3}, "format": "npy"}
    answer = server.post(f"{S}cube", body)
    np.testing.assert_array_equal(npy(answer), opened.cube.sel(time=slice("2000-02-28", "2000-02-29"), lat=50).isel(lon=3).values)
    big = server.post(f"{S}of_big", {"sel": {"big": 2**63}, "format": "npy"})
    assert npy(big) == 3
    third = server.post(f"{S}of_third", {"sel": {"third": 1 / 3}, "format": "npy"})
    assert npy(third) == 1


def test_head_and_conditions_hold(served):
    server, _ = served
    target = f"{S}cube?{query({'lat': 'nearest::33'})}"
    get, head = server.get(target), server.head(target)
    assert head.status == 200 and head.headers["etag"] == get.headers["etag"]
    assert head.headers["content-length"] == str(len(get.body))
    assert server.get(target, {"If-None-Match": get.headers["etag"]}).status == 304
    part = server.get(target, {"Range": "bytes=100-199"})
    assert (part.status, part.body) == (206, get.body[100:200])
    shown = server.get(f"{target}&format=json").json()
    assert shown["selection"] == get.headers["zarr-selection"]


# node, sel, isel, slice -> code, and members of the problem
REFUSED = [
    ("cube", {"lat": 51}, {}, "", "value_not_found", {"dim": 1, "found": "50.0, 60.0"}),
    ("cube", {"time": "1999"}, {}, "", "value_not_found", {"dim": 0, "found": "2000-02-25T00:00:00, 2000-02-25T06:00:00"}),
    ("of_station", {"station": "oslo"}, {}, "", "value_not_found", {"dim": 0}),
    ("cube", {"lat": "ffill::91"}, {}, "", "value_not_found", {"dim": 1}),
    ("cube", {"lat": "north"}, {}, "", "bad_parameter", {"dim": 1, "names": ["sel"], "found": "north", "expected": "a number"}),
    ("cube", {"time": "5"}, {}, "", "bad_parameter", {"dim": 0, "found": "5"}),
    ("cube", {"time": "2000-02-30"}, {}, "", "bad_parameter", {"dim": 0}),
    ("cube", {"time": "nearest:3:2000-02-28"}, {}, "", "bad_parameter", {"dim": 0, "found": "3"}),
    ("cube", {"lat": "1/2/0"}, {}, "", "bad_parameter", {"dim": 1, "found": "0"}),
    ("cube", {"lat": "nearest:5"}, {}, "", "bad_parameter", {"dim": 1}),
    ("of_station", {"station": "Oslo/Bergen"}, {}, "", "bad_parameter", {"dim": 0}),
    ("of_mixed", {"mixed": "1/2"}, {}, "", "not_monotonic", {"dim": 0}),
    ("of_mixed", {"mixed": "nearest::1"}, {}, "", "not_monotonic", {"dim": 0}),
    ("of_twice", {"twice": "nearest::2"}, {}, "", "not_monotonic", {"dim": 0}),
    ("cube", {"height": 5}, {}, "", "bad_parameter", {"names": ["sel"], "found": "height", "allowed": ["time", "lat", "lon"]}),
    ("cube", {"3": 5}, {}, "", "bad_parameter", {"found": "3", "allowed": ["time", "lat", "lon"]}),
    ("cube", {}, {"Lat": 5}, "", "bad_parameter", {"names": ["isel"], "found": "Lat", "allowed": ["time", "lat", "lon"]}),
    ("cube", {}, {"lat": 19}, "", "out_of_bounds", {"dim": 1, "index": 19, "size": 19}),
    ("cube", {}, {"lat": -99}, "", "out_of_bounds", {"dim": 1, "index": -99, "size": 19, "names": ["isel"],
        "detail": "isel: index -99 of dimension 1 is out of bounds: the dimension has 19 elements"}),
    ("cube", {}, {"lat": "1:2:0"}, "", "bad_slice", {"dim": 1, "names": ["isel"]}),
    ("cube", {}, {"lat": "1,2"}, "", "bad_slice", {"dim": 1}),
    ("cube", {"lat": 50}, {}, ":,3", "bad_slice", {"dim": 1, "names": ["sel"]}),
    ("cube", {}, {"lat": 5}, ":,::-1", "bad_slice", {"dim": 1, "names": ["isel"]}),
    ("cube", {"lat": 50}, {"1": 5}, "", "bad_slice", {"dim": 1}),
    ("cube", {"lat": 50, "1": 50}, {}, "", "bad_slice", {"dim": 1}),
]


@pytest.mark.parametrize("node,sel,isel,slices,code,members", REFUSED)
def test_impossible_selections_are_refused(served, node, sel, isel, slices, code, members):
    server, _ = served
    got = server.get(f"{S}{node}?{query(sel, isel, slice=slices)}")
    body = {"sel": {dim: str(text) for dim, text in sel.items()}, "isel": isel, "slice": slices}
    for answer in (got, server.post(f"{S}{node}", body)):
        document = answer.json()
        assert (answer.status, document["code"]) == (400, code), document
        assert {name: document.get(name) for name in members} == members
        assert document["detail"]


@pytest.mark.parametrize("asked,found", [("sel=lat", "lat"), ("sel=", ""), ("sel==5", ""), ("isel=lat", "lat")])
def test_a_parameter_without_a_dimension_is_refused(served, asked, found):
    server, _ = served
    document = server.get(f"{S}cube?{asked}").json()
    assert (document["code"], document["found"], document["allowed"]) == ("bad_parameter", found, ["time", "lat", "lon"])


@pytest.mark.parametrize("member,value,pointer", [
    ("sel", "lat=5", "/sel"), ("sel", {"lat": None}, "/sel/lat"), ("sel", {"lat": [1]}, "/sel/lat"), ("isel", {"lat": 1.5}, "/isel/lat")])
def test_members_of_other_types_are_refused(served, member, value, pointer):
    server, _ = served
    document = server.post(f"{S}cube", {member: value}).json()
    assert (document["code"], document["pointer"]) == ("bad_body", pointer)


def test_a_number_is_no_time(served):
    server, _ = served
    document = server.post(f"{S}cube", {"sel": {"time": 2000}}).json()
    assert (document["code"], document["found"]) == ("bad_parameter", "a number")


# ---- coordinates ----

def write(root, path, values, names, attributes=None, **how):
    group = zarr.open_group(root, mode="a", zarr_format=3)
    array = group.create_array(path, shape=values.shape, dtype=values.dtype, dimension_names=names, **how)
    array[...] = values
    array.attrs.update(attributes or {})


def refuse(server, target, code, text=""):
    answer = server.get(target)
    document = answer.json()
    assert document["code"] == code and text in document["detail"], document
    return document


def test_the_nearest_coordinate_counts(serve, tmp_path):
    """Beside the array, else in the nearest group above; what is no array of rank 1 is looked over."""
    values = np.arange(3)
    write(tmp_path, "x", values + 100, ["x"])
    write(tmp_path, "a/x", values + 10, ["x"])
    write(tmp_path, "a/b/x", np.zeros((2, 2)), ["p", "q"])
    write(tmp_path, "a/b/y", values, ["x"])
    write(tmp_path, "c/d/y", values, ["x"])
    write(tmp_path, "a/e", values, ["x"])
    write(tmp_path, "a/b/c/x/zz", values, None)
    write(tmp_path, "a/b/c/y", values, ["x"])
    server = serve(f"p={tmp_path}")
    for node, value in (("a/b/y", 11), ("c/d/y", 101), ("a/e", 11), ("a/x", 11), ("x", 101), ("a/b/c/y", 11)):
        assert server.get(f"{S}{node}?sel=x={value}").headers["zarr-selection"] == "1", node


@pytest.mark.parametrize("names,text", [(None, "no name"), (["../x"], "no coordinate"), (["a/x"], "no coordinate"), (["y"], "no coordinate"),
                                        ([""], "no coordinate"), (["g"], "no coordinate")])
def test_an_array_without_coordinate_is_refused(serve, tmp_path, names, text):
    write(tmp_path, "x", np.arange(3), ["x"])
    write(tmp_path, "a/x", np.arange(3), ["x"])
    write(tmp_path, "g/x", np.arange(3), ["x"])
    write(tmp_path, "v/data", np.arange(3), names)
    server = serve(f"p={tmp_path}")
    assert refuse(server, f"{S}v/data?sel=0=1", "no_coordinate", text)["dim"] == 0


@pytest.mark.parametrize("values,attributes,text", [
    (np.arange(4), {}, "has 4 elements, but its dimension of 'data' has 3"),
    (np.arange(3) * 1j, {}, "complex128"),
    (np.arange(3), {"units": "days since 2000-01-01", "calendar": "martian"}, "martian"),
    (np.arange(3), {"units": "days since 2001-02-29"}, "2001-02-29"),
])
def test_an_array_that_is_no_coordinate_is_refused(serve, tmp_path, values, attributes, text):
    write(tmp_path, "x", values, ["x"], attributes)
    write(tmp_path, "data", np.arange(3), ["x"])
    assert refuse(serve(f"p={tmp_path}"), f"{S}data?sel=x=1", "no_coordinate", text)["dim"] == 0


def test_a_coordinate_that_is_refused_or_damaged_is_said_to_be(serve, tmp_path):
    for name in ("x", "y"):
        write(tmp_path, name, np.arange(3), [name])
        write(tmp_path, f"of_{name}", np.arange(3), [name])
    document = json.loads((tmp_path / "x/zarr.json").read_text())
    document["codecs"].append({"name": "example.unknown"})
    (tmp_path / "x/zarr.json").write_text(json.dumps(document))
    (tmp_path / "y/c/0").write_bytes(b"nonsense")
    server = serve(f"p={tmp_path}")
    refuse(server, f"{S}of_x?sel=x=1", "no_coordinate", "metadata")
    answer = server.get(f"{S}of_y?sel=y=1")
    assert (answer.status, answer.json()["code"]) == (500, "corrupt_chunk")


def test_a_hostile_coordinate_is_refused_before_it_is_read(serve, tmp_path):
    for name, n, chunk in (("long", 10**9, 10**6), ("cut", 4 * 10**6, 1)):
        for node in (name, f"of_{name}"):
            zarr.create_array(tmp_path / node, shape=(n,), chunks=(chunk,), dtype="f8", dimension_names=[name])
    zarr.open_group(tmp_path, mode="a")
    server = serve(f"p={tmp_path}")
    document = refuse(server, f"{S}of_long?sel=long=1", "too_large", "limits.coordinate_bytes")
    assert (document["requested"], document["limit"]) == (8 * 10**9, 64 << 20)
    refuse(server, f"{S}of_cut?sel=cut=1", "too_large", "limits.slice_chunks")
    assert server.metrics()[DECODES] == 0


def test_labels_that_are_absent_or_nan_are_what_they_are(serve, tmp_path):
    zarr.create_array(tmp_path / "x", shape=(4,), chunks=(2,), dtype="f8", fill_value=7, dimension_names=["x"])[:2] = [np.nan, 5]
    write(tmp_path, "data", np.arange(4), ["x"])
    server = serve(f"p={tmp_path}")
    assert server.get(f"{S}data?sel=x=7").headers["zarr-selection"] == "2"
    refuse(server, f"{S}data?sel=x=5/7", "not_monotonic")
    assert refuse(server, f"{S}data?sel=x=6", "value_not_found")["found"] == "5.0, 7.0"


def test_a_large_coordinate_without_order_is_sorted_beside_the_loop(serve, tmp_path):
    values = RNG.permutation(400_000).astype("i4")
    write(tmp_path, "x", values, ["x"], chunks=(50_000,))
    write(tmp_path, "data", np.arange(400_000), ["x"], chunks=(50_000,))
    server = serve(f"p={tmp_path}")
    for value in (0, 123_456, 399_999):
        assert server.get(f"{S}data?sel=x={value}").headers["zarr-selection"] == str(int(np.flatnonzero(values == value)[0]))


def test_a_warm_coordinate_is_not_decoded_again_and_a_changed_one_is(serve, tmp_path):
    write(tmp_path, "x", np.arange(10), ["x"])
    write(tmp_path, "data", np.arange(10), ["x"])
    server = serve("--set", "cache.decoded_bytes=16MiB", config={
        "listen": ["127.0.0.1:0"], "datasets": {"p": {"location": str(tmp_path), "writable": True, "revalidate_ms": 0}}})
    first = server.get(f"{S}data?sel=x=4")
    decodes = server.metrics()[DECODES]
    assert server.get(f"{S}data?sel=x=4").headers["etag"] == first.headers["etag"]
    assert server.metrics()[DECODES] == decodes
    put = server.request("PUT", f"{S}x", BYTES, (np.arange(10) + 2).tobytes())
    assert put.status == 200, put
    second = server.get(f"{S}data?sel=x=4", {"If-None-Match": first.headers["etag"]})  # through this server
    assert (second.status, second.headers["zarr-selection"]) == (200, "2")
    shutil.rmtree(tmp_path / "x")
    write(tmp_path, "x", np.arange(10) - 1, ["x"])
    third = server.get(f"{S}data?sel=x=4")  # by another process
    assert (third.headers["zarr-selection"], third.headers["etag"]) == ("5", server.get(f"{S}data?slice=5").headers["etag"])
    shutil.rmtree(tmp_path / "x")
    refuse(server, f"{S}data?sel=x=4", "no_coordinate")


def test_an_origin_is_of_array_and_coordinate(serve, tmp_path):
    """example.offset: clients count from it, in both; origin=stored says where that is stored."""
    write(tmp_path, "x", np.arange(10) * 10, ["x"])
    write(tmp_path, "data", np.arange(10), ["x"])
    for node, offset in (("x", 4), ("data", 4)):
        document = json.loads((tmp_path / node / "zarr.json").read_text())
        document["extensions"] = [{"name": "example.offset", "configuration": {"offset": [offset]}}]
        (tmp_path / node / "zarr.json").write_text(json.dumps(document))
    server = serve(f"p={tmp_path}")
    answer = server.get(f"{S}data?sel=x=60&format=json")
    assert (answer.json()["data"], answer.headers["zarr-selection"]) == (6, "2")
    stored = server.get(f"{S}data?sel=x=60/80&origin=stored&format=json")
    assert (stored.json()["data"], stored.headers["zarr-selection"]) == ([6, 7, 8], "6:9:1")
    refuse(server, f"{S}data?sel=x=30", "value_not_found")


def test_a_coordinate_outside_a_tokens_paths_is_forbidden(serve, tmp_path):
    import hashlib
    (tmp_path / "store").mkdir()
    write(tmp_path / "store", "x", np.arange(3), ["x"])
    write(tmp_path / "store", "open/data", np.arange(3), ["x"])
    entry = {"name": "t", "sha256": hashlib.sha256(b"secret-of-32-bytes-for-the-tests").hexdigest(), "scopes": ["read"], "datasets": ["p"],
             "paths": ["open/**"]}
    named = {**entry, "name": "named", "sha256": hashlib.sha256(b"both").hexdigest(), "paths": ["open/data", "x"]}
    whole = {**entry, "name": "all", "sha256": hashlib.sha256(b"all").hexdigest(), "paths": ["open/*", "x"]}
    (tmp_path / "tokens.json").write_text(json.dumps({"tokens": [entry, named, whole]}))
    (tmp_path / "tokens.json").chmod(0o600)
    server = serve(config={"listen": ["127.0.0.1:0"], "access": {"tokens_file": str(tmp_path / "tokens.json"), "anonymous": "none"},
                           "datasets": {"p": {"location": str(tmp_path / "store")}}})
    answer = server.get(f"{S}open/data?sel=x=1", {"Authorization": "Bearer secret-of-32-bytes-for-the-tests"})
    assert (answer.status, answer.json()["code"], answer.json()["scope"]) == (403, "forbidden", "read:p/x")
    assert server.get(f"{S}open/data?coords=1&format=npz", {"Authorization": "Bearer secret-of-32-bytes-for-the-tests"}).json()["scope"] == "read:p/x"
    table = server.get(f"{S}open/data?format=csv&layout=table", {"Authorization": "Bearer secret-of-32-bytes-for-the-tests"})
    assert table.status == 200 and table.body.startswith(b"x,")
    assert server.get(f"{S}open/data?isel=x=1", {"Authorization": "Bearer secret-of-32-bytes-for-the-tests"}).status == 200
    beside = server.get(f"{S}open/data?sel=x=1", {"Authorization": "Bearer both"})  # one there would come first
    assert (beside.status, beside.json()["scope"]) == (403, "read:p/open/x")
    assert server.get(f"{S}open/data?sel=x=1", {"Authorization": "Bearer all"}).status == 200


def test_images_take_them(served):
    server, _ = served
    by_value = server.get(f"/v1/datasets/p/images/cube?{query({'time': '2000-02-28', 'lat': '60/-60'}, {'lon': '2:9'})}")
    by_index = server.get("/v1/datasets/p/images/cube?slice=12,3:16,2:9")
    assert by_value.status == 200 and by_value.body == by_index.body
    assert by_value.headers["zarr-selection"] == "12,3:16:1,2:9:1"


# ---- lists and points: POST alone ----

LISTS = [
    [[3, 1, 1, -1], ":", 5],
    ["::-1", [18, 0, 9]],
    [5, "...", [15, 0, 3]],
    ["...", [0, 1, 2, 3, 8, 6, 4, 2]],
    [[39, 0], [4, 3, 2], [1, 1]],
    [":", "2:5", []],
    [[0], [0], [0]],
    ["1:3,4", [2, 0]],
]


@pytest.mark.parametrize("items", LISTS, ids=str)
def test_lists_are_orthogonal(served, items):
    server, opened = served
    flat = [part for item in items for part in (item.split(",") if isinstance(item, str) else [item])]
    if "..." in flat:
        at = flat.index("...")
        flat[at:at + 1] = [":"] * (4 - len(flat))
    keys = []
    for item in flat + [":"] * (3 - len(flat)):
        if isinstance(item, str):
            keys.append(slice(*(int(n) if n else None for n in item.split(":"))) if ":" in item else int(item))
        else:
            keys.append(np.array(item, "i8") if isinstance(item, list) else item)
    expected = opened.cube.isel(dict(zip(("time", "lat", "lon"), keys)))
    answer = server.post(f"{S}cube", {"slice": items, "format": "npy"})
    np.testing.assert_array_equal(npy(answer), expected.values)
    assert answer.headers["zarr-dimensions"] == ",".join(expected.dims)
    has_list = any(isinstance(item, list) and item for item in items)
    assert ("zarr-selection" in answer.headers) != has_list and "etag" not in answer.headers
    shown = server.post(f"{S}cube", {"slice": items, "format": "json"}).json()
    assert ("selection" in shown) != has_list and shown["shape"] == list(expected.shape)


def test_points_are_elements_one_by_one(served):
    server, opened = served
    points = [[0, 0, 0], [39, 18, 15], [-1, 2, 3], [7, 5, 0], [7, 5, 0]] + RNG.integers(0, 16, (200, 3)).tolist()
    expected = opened.cube.values[tuple(np.array(points).T)]
    answer = server.post(f"{S}cube", {"points": points, "format": "npy"})
    np.testing.assert_array_equal(npy(answer), expected)
    assert (answer.headers["zarr-dimensions"], answer.headers["zarr-shape"], "zarr-selection" in answer.headers) == ("*", "205", False)
    assert npy(server.post(f"{S}cube", {"points": [], "format": "npy"})).shape == (0,)
    np.testing.assert_array_equal(npy(server.post(f"{S}of_lon", {"points": [[3], [1]], "format": "npy"})), [3, 1])


def test_lists_go_with_sel_and_tables_have_their_indices(served):
    server, opened = served
    answer = server.post(f"{S}cube", {"slice": [":", ":", [5, 2]], "sel": {"lat": 50}, "isel": {"time": 3}, "format": "npy"})
    np.testing.assert_array_equal(npy(answer), opened.cube.sel(lat=50).isel(time=3, lon=[5, 2]).values)
    table = server.post(f"{S}of_lon", {"slice": [[5, 2, 2]], "format": "csv", "layout": "table"})
    assert [line.split(",")[-1] for line in table.body.decode().split()] == ["of_lon", "5", "2", "2"]
    for body in ({"slice": [":", [1], ":"], "isel": {"lat": 3}}, {"slice": [":", [1], ":"], "sel": {"lat": 50}}):
        assert server.post(f"{S}cube", body).json()["code"] == "bad_slice"


@pytest.mark.parametrize("body,code,members", [
    ({"slice": [[0, 40]]}, "out_of_bounds", {"dim": 0, "index": 40, "size": 40}),
    ({"slice": [":", [-20]]}, "out_of_bounds", {"dim": 1, "index": -20, "size": 19}),
    ({"slice": [[0, 1.5]]}, "bad_body", {"pointer": "/slice/0/1"}),
    ({"slice": [[0, [1]]]}, "bad_body", {"pointer": "/slice/0/1"}),
    ({"slice": [[2**63]]}, "bad_body", {"pointer": "/slice/0/0"}),
    ({"slice": [[0], [0], [0], [0]]}, "bad_slice", {}),
    ({"points": 3}, "bad_body", {"pointer": "/points"}),
    ({"points": [3]}, "bad_body", {"pointer": "/points/0"}),
    ({"points": [[]]}, "bad_body", {"pointer": "/points"}),
    ({"points": [[1, 2, 3], [1, 2]]}, "bad_body", {"pointer": "/points/1"}),
    ({"points": [[1, 2, "3"]]}, "bad_body", {"pointer": "/points/0/2"}),
    ({"points": [[1, 2]]}, "bad_slice", {"pointer": "/points/0"}),
    ({"points": [[1, 2, 16]]}, "out_of_bounds", {"dim": 2, "index": 16, "size": 16}),
    ({"points": [[1, 2, 3]], "slice": "1"}, "bad_body", {"pointer": "/points"}),
    ({"points": [[1, 2, 3]], "isel": {"lat": 1}}, "bad_body", {"pointer": "/points"}),
], ids=str)
def test_bad_lists_and_points_are_refused(served, body, code, members):
    server, _ = served
    document = server.post(f"{S}cube", body).json()
    assert (document["code"], {name: document.get(name) for name in members}) == (code, members), document


def test_points_and_lists_are_of_bodies_alone(served):
    server, _ = served
    assert server.get(f"{S}cube?points=1,2,3").json()["code"] == "unknown_parameter"
    assert server.get(f"{S}cube?slice=[1,2],3").json()["code"] == "bad_slice"


def test_many_points_are_refused_before_any_is_read(serve, tmp_path):
    write(tmp_path, "x", np.arange(100), ["x"], chunks=(10,))
    server = serve(f"p={tmp_path}", "--set", "limits.slice_chunks=1000")
    before = server.metrics()[DECODES]
    document = server.post(f"{S}x", {"points": [[i % 100] for i in range(1001)]}).json()
    assert (document["code"], document["requested"], document["limit"], document["suggestions"]) == ("too_large", 1001, 1000, [])
    assert server.post(f"{S}x", {"slice": [[i * 37 % 100 for i in range(1001)]]}).json()["code"] == "too_large"
    assert server.metrics()[DECODES] == before
    np.testing.assert_array_equal(npy(server.post(f"{S}x", {"points": [[i % 100] for i in range(1000)], "format": "npy"})), np.arange(1000) % 100)


def test_lists_of_shards_origins_and_decoded_values(serve, tmp_path):
    values = RNG.integers(0, 100, (40, 30)).astype("i2")
    write(tmp_path, "s", values, ["x", "y"], {"scale_factor": 0.5, "_FillValue": 7}, chunks=(4, 5), shards=(20, 10))
    document = json.loads((tmp_path / "s/zarr.json").read_text())
    document["extensions"] = [{"name": "example.offset", "configuration": {"offset": [3, 2]}}]
    (tmp_path / "s/zarr.json").write_text(json.dumps(document))
    server = serve(f"p={tmp_path}", "--set", "http.stream_bytes=4KiB")
    rows, columns = RNG.integers(0, 37, 90), RNG.integers(0, 28, 70)
    seen = values[3:, 2:]
    body = {"slice": [rows.tolist(), columns.tolist()], "format": "npy"}
    np.testing.assert_array_equal(npy(server.post(f"{S}s", body)), seen[np.ix_(rows, columns)])
    stored = server.post(f"{S}s", {**body, "origin": "stored"})
    np.testing.assert_array_equal(npy(stored), values[np.ix_(rows, columns)])
    points = np.stack([rows[:70], columns], axis=1)
    decoded = npy(server.post(f"{S}s", {"points": points.tolist(), "format": "npy", "decode": "cf"}))
    expected = seen[rows[:70], columns].astype("f4") * np.float32(0.5)
    np.testing.assert_array_equal(decoded, np.where(seen[rows[:70], columns] == 7, np.nan, expected))


def test_lists_and_points_are_reduced_and_not_coarsened(served):
    server, opened = served
    rows = [[3, 1, 1, 38], ":", [15, 2]]
    part = opened.cube.values[np.ix_([3, 1, 1, 38], range(19), [15, 2])]
    for over, axes in ((["lat"], 1), (["time"], 0), (["time", "lon"], (0, 2))):
        answer = server.post(f"{S}cube", {"slice": rows, "reduce": "max", "over": over, "format": "npy"})
        np.testing.assert_array_equal(npy(answer), part.max(axis=axes))
    points = RNG.integers(0, 16, (50, 3))
    answer = server.post(f"{S}cube", {"points": points.tolist(), "reduce": "min", "format": "npy"})
    assert npy(answer) == opened.cube.values[tuple(points.T)].min()
    coarse = server.post(f"{S}cube", {"slice": [0, ":", [15, 2, 3]], "coarsen": "lat:2", "agg": "max", "format": "npy"})
    row = opened.cube.values[0][:, [15, 2, 3]]
    np.testing.assert_array_equal(npy(coarse), np.maximum.reduceat(row, range(0, 19, 2), axis=0))
    for body in ({"slice": [0, 0, [1, 2, 3]], "coarsen": "lon:2"}, {"points": [[0, 0, 0]] * 9, "max_size": 3}):
        assert server.post(f"{S}cube", body).json()["code"] == "bad_parameter"


def test_a_plan_has_the_selection_that_was_found(served):
    server, _ = served
    plan = server.get(f"{S}cube?{query({'lat': 'nearest::33'}, {'lon': '::2'}, format='npy', plan=1)}").json()
    asked = urllib.parse.urlsplit(plan["url"])
    assert urllib.parse.parse_qs(asked.query) == {"slice": ["0:40:1,6,0:16:2"], "format": ["npy"]}


def test_levels_are_counted_by_what_sel_finds_in_them(serve, tmp_path):
    """Each level has coordinates of its own; the finest is taken whose answer is small enough."""
    for level, n in enumerate((64, 32, 16)):
        write(tmp_path, f"{level}/v", np.arange(n), ["x"])
        write(tmp_path, f"{level}/x", np.arange(n) * (64 // n), ["x"])
    document = json.loads((tmp_path / "zarr.json").read_text())
    datasets = [f"{level}/v" for level in range(3)]
    document["extensions"] = [{"name": "example.multiscale-arrays", "configuration": {"multiscale": {"datasets": datasets}}}]
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    server = serve(f"p={tmp_path}")
    for size, level, selection in ((100, 0, "16:48:1"), (20, 1, "8:24:1"), (8, 2, "4:12:1")):
        answer = server.get(f"{S}?sel=x=16/47&max_size={size}")
        assert answer.status == 200, answer
        assert (answer.status, answer.headers["zarr-level"], answer.headers["zarr-selection"]) == (200, str(level), selection)
    assert server.get(f"{S}?sel=x=3&max_size=1").headers["zarr-level"] == "0"
    assert server.get(f"{S}?sel=x=16&level=2").headers["zarr-selection"] == "4"
    assert server.get(f"{S}?sel=x=3&level=2").json()["code"] == "value_not_found"
    assert server.get(f"{S}?sel=x=1.5&max_size=1").json()["code"] == "value_not_found"
    assert server.get(f"{S}?sel=y=1&max_size=1").json()["code"] == "bad_parameter"
