"""arrays= and coords=: several arrays in one body, as numpy, json and the netCDF library read them."""

import io
import json
import tempfile
import zipfile

import netCDF4
import numpy as np
import pytest
import xarray
from arrays import write_array, write_node
from documents import LITTLE, array_document
from live import Server

P = "/v1/datasets/p/slices/"
RNG = np.random.default_rng(3)
U = RNG.normal(size=(6, 4, 5)).astype("<f4")
V = RNG.normal(size=(6, 4, 5)).astype("<f8")
LONG = RNG.integers(-99, 99, size=(40, 50, 60), dtype="<i2")
TIME = np.arange(6, dtype="<i4") * 6
LAT = np.linspace(60, 45, 4).astype("<f4")
LON = np.linspace(0, 8, 5).astype("<f4")
HEIGHT = RNG.normal(size=(4, 5)).astype("<f4")
MASK = RNG.integers(0, 2, size=(4, 5)).astype("|b1")
DIMENSIONS = {"u": ("time", "lat", "lon"), "v": ("time", "lat", "lon"), "sub/height": ("lat", "lon"), "mask": ("lat", "lon"), "time": ("time",), "lat": ("lat",), "lon": ("lon",)}
VALUES = {"u": U, "v": V, "sub/height": HEIGHT, "mask": MASK, "time": TIME, "lat": LAT, "lon": LON}


def change(path, **members):
    document = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps({**document, **members}))


def make(root):
    group = {"zarr_format": 3, "node_type": "group"}
    write_node(root, {**group, "attributes": {"title": "all"}})
    write_node(root / "g", {**group, "attributes": {"title": "winds", "n": 3}})
    write_node(root / "g" / "sub", group)
    for name, values in VALUES.items():
        home = root if name in ("lat", "lon") else root / "g"
        write_array(home / name, values.shape, tuple(-(-n // 2) for n in values.shape), [LITTLE], values, dtype=values.dtype.name)
        change(home / name, dimension_names=DIMENSIONS[name], fill_value=False if values.dtype == "?" else 0)
    change(root / "g" / "time", attributes={"units": "hours since 2001-01-01", "calendar": "standard"})
    change(root / "g" / "u", attributes={"units": "m/s"})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("arrays")
    make(root)
    g = root / "g"
    write_array(g / "long", LONG.shape, (7, 50, 60), [LITTLE], LONG, dtype="int16")
    change(g / "long", dimension_names=["time", "y", None])  # of another length than the coordinate
    write_array(g / "words", (3,), (2,), [{"name": "vlen-utf8"}], dtype="string")
    change(g / "words", fill_value="é,", dimension_names=["word"])
    write_array(g / "empty", (0, 4), (1, 4), [LITTLE])
    change(g / "empty", dimension_names=["none", "lat"])
    write_array(g / "scalar", (), (), [LITTLE], np.float64(4.5), dtype="float64")
    write_array(g / "far", (2,), (1,), [LITTLE], np.int64([10**6, 10**7]), dtype="int64")
    change(g / "far", attributes={"units": "days since 2001-01-01"})
    write_array(g / "huge", (2**28,), (2**20,), [LITTLE], dtype="uint8")
    write_array(g / "huger", (2**28 + 1,), (2**20,), [LITTLE], dtype="uint8")
    write_array(g / "crumbs", (60_000,), (1,), [LITTLE], dtype="uint8")
    write_array(g / "crumbs_too", (60_000,), (1,), [LITTLE], dtype="uint8")
    axes = [{"name": "lat", "type": "space"}, {"name": "lon", "type": "space"}]
    datasets = [{"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [2**k, 2**k]}]} for k in (0, 1)]
    write_node(g / "levels", {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}}})
    for k, n in ((0, 8), (1, 4)):
        write_array(g / "levels" / str(k), (n, n), (4, 4), [LITTLE])
        change(g / "levels" / str(k), dimension_names=["lat", "lon"])
    write_node(g / "broken", {**array_document((4,), (4,), "float32"), "codecs": [{"name": "nonsense"}]})
    running = Server(f"p={root}", "--set", "http.stream_bytes=64KiB", "--set", "limits.slice_chunks=100000")
    yield running
    running.stop()


def good(answer):
    assert answer.status == 200, answer
    return answer


def opened(answer):
    """The data set that xarray finds in a netCDF answer."""
    with tempfile.NamedTemporaryFile(suffix=".nc") as file:
        file.write(good(answer).body)
        file.flush()
        with xarray.open_dataset(file.name, engine="netcdf4", decode_times=False) as found:
            return found.load()


def test_npz_has_all_arrays(server):
    answer = good(server.get(P + "g?arrays=u,sub/height,mask,time"))
    archive = np.load(io.BytesIO(answer.body))
    assert archive.files == ["u", "sub/height", "mask", "time"]
    for name in archive.files:
        assert archive[name].dtype == VALUES[name].dtype
        np.testing.assert_array_equal(archive[name], VALUES[name])
    assert zipfile.ZipFile(io.BytesIO(answer.body)).testzip() is None
    assert answer.headers["content-type"] == "application/x-npz"
    assert answer.headers["content-disposition"] == 'inline; filename="g.npz"'
    assert answer.headers["zarr-chunks"] == "18/0"
    assert "zarr-shape" not in answer.headers


@pytest.mark.parametrize("ask", ["GET", "POST"])
def test_json_has_an_object_for_each(server, ask):
    if ask == "GET":
        answer = server.get(P + "g?arrays=time,scalar,words,empty&format=json&ints=string")
    else:
        body = json.dumps({"arrays": ["time", "scalar", "words", "empty"], "format": "json", "ints": "string"})
        answer = server.request("POST", P + "g", headers={"Content-Type": "application/json"}, body=body.encode())
    found = json.loads(good(answer).body)
    assert list(found) == ["time", "scalar", "words", "empty"]
    for name, one in found.items():
        assert one == json.loads(server.get(P + f"g/{name}?format=json&ints=string").body)
    assert ("etag" in answer.headers) == (ask == "GET")
    assert answer.headers["content-disposition"] == 'inline; filename="g.json"'


def test_json_can_be_pretty(server):
    answer = good(server.get(P + "g?arrays=scalar,time&format=json&pretty=1"))
    lines = answer.body.decode().splitlines()
    assert lines[:3] == ["{", '  "scalar": {', '    "shape": [],']
    assert lines[-3:] == ['    "data": [0, 6, 12, 18, 24, 30]', "  }", "}"]
    assert json.loads(answer.body)["time"]["data"] == TIME.tolist()


def test_netcdf_has_the_coordinates_and_attributes(server):
    found = opened(server.get(P + "g?arrays=u,v,sub/height&format=netcdf&coords=1"))
    assert set(found.coords) == {"time", "lat", "lon"}
    assert found.attrs == {"title": "winds", "n": 3}
    assert found.u.dims == ("time", "lat", "lon") and found.u.attrs["units"] == "m/s"
    assert found.time.attrs == {"units": "hours since 2001-01-01", "calendar": "standard"}
    for name, values in (("u", U), ("v", V), ("sub_height", HEIGHT), ("time", TIME), ("lat", LAT), ("lon", LON)):
        np.testing.assert_array_equal(found[name], values)


def test_without_coords_only_what_is_named(server):
    assert set(opened(server.get(P + "g?arrays=u,mask&format=netcdf")).variables) == {"u", "mask"}


def test_coords_are_named_as_seen_from_the_group(server):
    archive = np.load(io.BytesIO(good(server.get(P + "g?arrays=u&coords=1")).body))
    assert archive.files == ["u", "time", "lat", "lon"]
    archive = np.load(io.BytesIO(good(server.get(P + "?arrays=g/u&coords=1")).body))
    assert archive.files == ["g/u", "g/time", "lat", "lon"]
    np.testing.assert_array_equal(archive["lat"], LAT)
    assert list(np.load(io.BytesIO(good(server.get(P + "g?arrays=long,empty&coords=1")).body)).keys()) == ["long", "empty", "lat"]


def test_a_single_array_as_netcdf_has_its_coordinates(server):
    answer = server.get(P + "g/u?format=netcdf&slice=4:0:-2,1,1:3")
    found = opened(answer)
    assert set(found.variables) == {"u", "time", "lon"}
    np.testing.assert_array_equal(found.u, U[4:0:-2, 1, 1:3])
    np.testing.assert_array_equal(found.time, TIME[4:0:-2])
    np.testing.assert_array_equal(found.lon, LON[1:3])
    assert found.attrs == {}
    assert answer.headers["zarr-shape"] == "2,2"
    assert answer.headers["content-disposition"] == 'inline; filename="u.nc"'
    assert set(opened(server.get(P + "g/u?format=netcdf&coords=0")).variables) == {"u"}
    assert list(np.load(io.BytesIO(good(server.get(P + "g/u?format=npz&coords=1")).body)).keys()) == ["u", "time", "lat", "lon"]
    assert set(json.loads(good(server.get(P + "g/u?format=json&coords=1")).body)) == {"u", "time", "lat", "lon"}


def test_netcdf_of_a_level_says_which_one(server):
    answer = server.get(P + "g/levels?level=1&format=netcdf")
    np.testing.assert_array_equal(opened(answer).lat, LAT)
    assert answer.headers["zarr-level"] == "1" and answer.headers["zarr-shape"] == "4,4"


@pytest.mark.parametrize("query", ["g/u?format=netcdf&isel=time=0:0", "g?arrays=u,sub/height,mask&format=netcdf&coords=1&isel=time=0:0"])
def test_netcdf_without_elements_opens(server, query):
    found = opened(server.get(P + query))
    assert found.u.shape == (0, *U.shape[1:]) and found.time.shape == (0,)
    np.testing.assert_array_equal(found.lat, LAT)
    np.testing.assert_array_equal(found.lon, LON)
    if "arrays" in query:
        np.testing.assert_array_equal(found["sub_height"], HEIGHT)


@pytest.mark.parametrize("query", ["g?arrays=long,u,empty", "g?arrays=empty,long,u&format=json", "g?arrays=u,long&format=netcdf&coords=1", "g/long?format=netcdf"])
def test_long_bodies_are_streamed(server, query):
    if "arrays=u,long&format=netcdf" in query:
        query = query.replace("u,long", "long,mask")
    answer = good(server.get(P + query))
    assert len(answer.body) > 200_000
    if "json" in query:
        found = json.loads(answer.body)
        np.testing.assert_array_equal(found["long"]["data"], LONG)
        np.testing.assert_array_equal(np.float32(found["u"]["data"]), U)
        assert found["empty"]["data"] == []
    else:
        assert int(answer.headers["content-length"]) == len(answer.body)
    if "netcdf" in query:
        np.testing.assert_array_equal(opened(answer).long, LONG)
    elif "json" not in query:
        archive = np.load(io.BytesIO(answer.body))
        np.testing.assert_array_equal(archive["long"], LONG)
        np.testing.assert_array_equal(archive["u"], U)
    head = server.request("HEAD", P + query)
    assert head.headers.get("content-length") == answer.headers.get("content-length")
    assert head.headers["etag"] == answer.headers["etag"]


@pytest.mark.parametrize("format", ["npz", "json", "netcdf"])
def test_conditions_and_tags(server, format):
    query = P + f"g?arrays=u,time&format={format}"
    answer = good(server.get(query))
    tag = answer.headers["etag"]
    head = server.request("HEAD", query)
    assert head.headers["etag"] == tag and head.headers["zarr-chunks"] == "10/0"
    assert format == "json" or int(head.headers["content-length"]) == len(answer.body)
    assert server.get(query, headers={"If-None-Match": tag}).status == 304
    assert server.get(query, headers={"If-Match": '"other-1"'}).status == 412
    assert good(server.get(query)).headers["etag"] == tag
    others = {server.get(P + f"g?arrays={names}&format={format}").headers["etag"] for names in ("u", "time", "time,u", "u,time,mask")}
    assert tag not in others and len(others) == 4


def test_a_304_decodes_nothing(server):
    query = P + "g?arrays=long,sub/height"
    tag = server.request("HEAD", query).headers["etag"]
    with server.cost() as cost:
        assert server.get(query, headers={"If-None-Match": tag}).status == 304
    assert cost["zarrd_decodes_total"] == 0, cost


def test_a_parameter_applies_to_all_arrays(server):
    answer = good(server.get(P + "g?arrays=u,time&decode=cf&coords=1&format=json"))
    found = json.loads(answer.body)
    assert found["time"]["data"][:2] == ["2001-01-01T00:00:00.000000000", "2001-01-01T06:00:00.000000000"]
    archive = np.load(io.BytesIO(good(server.get(P + "g?arrays=v,u&coords=1&dtype=f4")).body))
    assert archive["v"].dtype == "<f4" and archive["time"].dtype == "<i4"
    np.testing.assert_array_equal(archive["v"], V.astype("<f4"))
    problem = json.loads(server.get(P + "g?arrays=time,u&dtype=u1").body)
    assert problem["code"] == "not_representable"


@pytest.mark.parametrize("ask", ["GET", "POST"])
def test_dimensions_are_selected_where_they_are(server, ask):
    if ask == "GET":
        answer = server.get(P + "g?arrays=u,sub/height,time&coords=1&isel=time=1::2&sel=lat=nearest::51&sel=lon=2/6")
    else:
        body = json.dumps({"arrays": ["u", "sub/height", "time"], "coords": True, "isel": {"time": "1::2"}, "sel": {"lat": "nearest::51", "lon": "2/6"}})
        answer = server.request("POST", P + "g", headers={"Content-Type": "application/json"}, body=body.encode())
    archive = np.load(io.BytesIO(good(answer).body))
    expected = {"u": U[1::2, 2, 1:4], "sub/height": HEIGHT[2, 1:4], "time": TIME[1::2], "lon": LON[1:4]}
    assert set(archive.files) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(archive[name], values)


def test_lists_and_points_come_to_a_chunk_again(server):
    points = [[i % 6, i % 4, i % 5] for i in range(500)]
    found = np.load(io.BytesIO(good(server.post(P + "g", {"arrays": ["u", "v"], "points": points})).body))
    for name, values in (("u", U), ("v", V)):
        np.testing.assert_array_equal(found[name], values[tuple(np.transpose(points))])
    times, lats = [0, 5] * 200, [3, 0, 3]
    found = opened(server.post(P + "g/u", {"slice": [times, lats], "format": "netcdf"}))
    np.testing.assert_array_equal(found.u, U[times][:, lats])
    np.testing.assert_array_equal(found.time, TIME[times])
    np.testing.assert_array_equal(found.lat, LAT[lats])


def test_arrays_are_reduced_over_dimensions_that_they_have(server):
    archive = np.load(io.BytesIO(good(server.get(P + "g?arrays=v,sub/height,time&reduce=max&over=time,lat&coords=1")).body))
    assert set(archive.files) == {"v", "sub/height", "time", "lon"}
    for name, values in (("v", V.max(axis=(0, 1))), ("sub/height", HEIGHT.max(axis=0)), ("time", TIME.max()), ("lon", LON)):
        np.testing.assert_array_equal(archive[name], values)
    archive = np.load(io.BytesIO(good(server.get(P + "g?arrays=v,mask&reduce=max&over=time")).body))
    np.testing.assert_array_equal(archive["mask"], MASK)
    archive = np.load(io.BytesIO(good(server.get(P + "g?arrays=v&coarsen=time:4,lon:2&agg=max&coords=1")).body))
    np.testing.assert_array_equal(archive["time"], TIME[::4])
    np.testing.assert_array_equal(archive["lon"], LON[::2])
    assert archive["v"].shape == (2, 4, 3)


def test_an_array_of_values_beyond_datetime64_stays_numbers(server):
    archive = np.load(io.BytesIO(good(server.get(P + "g?arrays=mask,far&decode=cf&coords=1")).body))
    np.testing.assert_array_equal(archive["far"], [10**6, 10**7])


@pytest.mark.parametrize("query, name", [("isel=depth=0", "isel"), ("sel=depth=0", "sel"), ("reduce=mean&over=time,depth", "over"), ("coarsen=depth:2", "coarsen")])
def test_a_dimension_that_no_array_has_is_refused(server, query, name):
    problem = json.loads(server.get(P + f"g?arrays=u,sub/height&{query}").body)
    assert problem["code"] == "bad_parameter" and problem["names"] == [name], problem
    assert problem["allowed"] == ["time", "lat", "lon"]


@pytest.mark.parametrize("query, status, code, facts", [
    ("g?arrays=u,w", 404, "node_not_found", {}),
    ("g?arrays=u,sub/heigth", 404, "node_not_found", {"suggestions": ["g/sub/height"]}),
    ("g?arrays=u,sub", 400, "not_an_array", {"names": ["arrays"]}),
    ("g?arrays=u,broken", 422, "unsupported_codec", {}),
    ("g?arrays=u,u", 400, "bad_parameter", {"found": "u", "names": ["arrays"]}),
    ("g?arrays=", 400, "bad_parameter", {"names": ["arrays"]}),
    ("g?arrays=u,,v", 400, "bad_parameter", {"names": ["arrays"]}),
    ("g?arrays=../lat", 400, "bad_parameter", {"names": ["arrays"]}),
    ("g?arrays=/lat", 400, "bad_parameter", {"names": ["arrays"]}),
    ("g?arrays=" + ",".join(f"a{i}" for i in range(257)), 413, "too_large", {"limit": 256, "requested": 257}),
    ("g/u?arrays=v", 400, "not_a_group", {}),
    ("g?arrays=u&slice=0", 400, "bad_parameter", {"names": ["slice"]}),
    ("g?arrays=u&expected_shape=6,4,5", 400, "bad_parameter", {"names": ["expected_shape"]}),
    ("g?arrays=u&layout=table", 400, "bad_parameter", {"names": ["layout=table"]}),
    ("g?arrays=u&plan=1", 400, "bad_parameter", {"names": ["plan"]}),
    ("g?arrays=u&level=0", 400, "bad_parameter", {"names": ["level"]}),
    ("g?arrays=u,v&format=csv", 406, "not_acceptable", {"allowed": ["json", "netcdf", "npz"]}),
    ("g?arrays=u,words&format=npz", 406, "not_acceptable", {"allowed": ["json"]}),
    ("g?arrays=u,long&format=netcdf", 406, "not_acceptable", {"allowed": ["json", "npz"]}),
    ("g?arrays=huge,huger", 413, "too_large", {"limit": 2**29, "requested": 2**29 + 1}),
    ("g?arrays=crumbs,crumbs_too", 413, "too_large", {"limit": 100_000, "requested": 120_000}),
    ("g", 400, "not_an_array", {}),
])
def test_impossible_requests_are_refused(server, query, status, code, facts):
    answer = server.get(P + query)
    problem = json.loads(answer.body)
    assert (answer.status, problem["code"]) == (status, code), problem
    assert {name: problem.get(name) for name in facts} == facts


def test_a_body_names_one_array_at_least_by_strings(server):
    for arrays in ("u", ["u", 3], {"u": 1}, []):
        body = json.dumps({"arrays": arrays})
        answer = server.request("POST", P + "g", headers={"Content-Type": "application/json"}, body=body.encode())
        assert answer.status == 400 and json.loads(answer.body)["code"] == "bad_body", answer
    answer = server.request("POST", P + "g/u", headers={"Content-Type": "application/json"}, body=b'{"coords": [1]}')
    assert json.loads(answer.body)["code"] == "bad_body"


def test_accept_chooses_the_format(server):
    answer = server.get(P + "g?arrays=u", headers={"Accept": "application/x-netcdf"})
    assert good(answer).headers["content-type"] == "application/x-netcdf" and "Accept" in answer.headers["vary"]
    assert good(server.get(P + "g?arrays=words")).headers["content-type"].startswith("application/json")
    assert server.get(P + "g?arrays=u", headers={"Accept": "text/csv"}).status == 406
