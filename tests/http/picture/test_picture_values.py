"""Images of what is selected by the values of coordinates (sel), and of what the attributes make of the elements (decode=cf): xarray says
what that is."""

import urllib.parse
import warnings

import numpy as np
import pytest
import xarray as xr
import zarr
from arrays import write_values
from documents import extension
from pictures import COLORS, blocks, indices
from png import Png

SHAPE, CHUNKS = (3, 20, 27), (2, 8, 10)
DIMS = ("t", "y", "x")
RANDOM = np.random.default_rng(11)
SMALL = RANDOM.integers(-20, 20, SHAPE).astype("i2")
COORDINATES = {
    "t": (np.array([0, 12, 36], "f8"), {"units": "hours since 2001-01-01", "calendar": "standard"}),
    "y": (np.linspace(90, -90, 20), {}),
    "x": (np.arange(27, dtype="f4") * 2.5, {}),
}
ARRAYS = {
    "plain": (SMALL, {}),
    "packed": (SMALL, {"scale_factor": 0.1, "add_offset": -3.25, "units": "K", "_FillValue": 3}),
    "missing": (SMALL, {"_FillValue": 3, "missing_value": [4, -5]}),
    "negative": (SMALL, {"scale_factor": -0.5}),
    "unsigned": (RANDOM.integers(-128, 127, SHAPE).astype("i1"), {"_Unsigned": "true", "_FillValue": -1, "scale_factor": 0.5}),
    "floats": (RANDOM.normal(size=SHAPE).astype("f4"), {"add_offset": 273.15}),
}


def create(group, name, values, attributes, fill=0):
    dims = DIMS if values.ndim == 3 else (name,)
    more = {"dimension_names": dims} if group.metadata.zarr_format == 3 else {}
    array = group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=CHUNKS[-values.ndim:], fill_value=fill, **more)
    array[...] = values
    if group.metadata.zarr_format == 2:
        attributes = {**attributes, "_ARRAY_DIMENSIONS": dims}
    array.attrs.update(attributes)


@pytest.fixture(scope="module")
def valued(tmp_path_factory, serve_module):
    folder = tmp_path_factory.mktemp("values")
    for version in (2, 3):
        group = zarr.open_group(folder / f"v{version}", mode="w", zarr_format=version)
        for name, (values, attributes) in ARRAYS.items():
            create(group, name, values, attributes, 7)
        for name, (values, attributes) in COORDINATES.items():
            create(group, name, values, attributes, -999)
        create(group, "times", np.arange(np.prod(SHAPE), dtype="i4").reshape(SHAPE), {"units": "days since 2000-01-01"}, 2**31 - 1)
    bounds = extension("array-statistics", {"min": -30, "max": 50})
    write_values(folder / "own/bounded", SMALL, CHUNKS, fill=0, attributes={"scale_factor": -0.5, "add_offset": 1}, extensions=[bounds])
    write_values(folder / "own/bad", SMALL, CHUNKS, fill=0, attributes={"scale_factor": "x"})
    write_values(folder / "own/rgb", np.arange(4 * 5 * 3, dtype="u1").reshape(4, 5, 3), (4, 5, 3), fill=0, attributes={"title": "x"})
    server = serve_module(*[f"{name}={folder / name}" for name in ("v2", "v3", "own")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.decoded = {version: xr.open_zarr(folder / f"v{version}", consolidated=False, decode_times=False) for version in (2, 3)}
    return server


def get(server, query, status=200):
    answer = server.get(f"/v1/datasets/{query}")
    assert answer.status == status, answer
    return answer


def ends(answer):
    return tuple(float(end) for end in answer.headers["zarr-range"].split(","))


def limits(values):
    finite = values[np.isfinite(values)]
    return finite.min(), finite.max()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", [*ARRAYS, "times"])
def test_pictures_are_of_decoded_elements(valued, name, version):
    whole = valued.decoded[version][name].values.astype(float)
    plane = whole[1]
    answer = get(valued, f"v{version}/images/{name}?slice=1&decode=cf")
    assert ends(answer) == limits(plane)
    assert (Png(answer.body).indices == indices(plane)).all()
    tile = get(valued, f"v{version}/images/{name}?slice=1&decode=cf&tile=0,1,0&tile_size=16")
    assert ends(tile) == limits(whole)
    assert (Png(tile.body).indices == indices(plane[16:, :16], *limits(whole))).all()
    small = get(valued, f"v{version}/images/{name}?slice=1&decode=cf&tile=2,0,0")
    found, wanted = Png(small.body).indices.astype(int), indices(blocks(plane, 4), *limits(whole))
    assert ((found == COLORS) == (wanted == COLORS)).all() and np.abs(found - wanted).max() <= 1


def test_units_are_said(valued):
    for name, units in (("packed", "K"), ("times", "days since 2000-01-01")):
        answer = get(valued, f"v3/images/{name}?slice=1&decode=cf")
        assert urllib.parse.unquote(answer.headers["zarr-units"]) == units
        assert "zarr-units" not in get(valued, f"v3/images/{name}?slice=1").headers


def test_ends_are_of_decoded_numbers(valued):
    plane = valued.decoded[3]["packed"].values[0].astype(float)
    answer = get(valued, "v3/images/packed?slice=0&decode=cf&vmin=-4&vmax=-2.5")
    assert (Png(answer.body).indices == indices(plane, -4, -2.5)).all() and ends(answer) == (-4, -2.5)


def test_bounds_are_decoded_too(valued):
    for query in ("slice=0", "slice=0&tile=0,0,0"):
        assert ends(get(valued, f"own/images/bounded?{query}")) == (-30, 50)
        assert ends(get(valued, f"own/images/bounded?{query}&decode=cf")) == (-24, 16)


def test_decoded_and_packed_pictures_have_tags_of_their_own(valued):
    tags = {get(valued, f"v3/images/{query}").headers["etag"] for query in (
        "packed?slice=0", "packed?slice=0&decode=cf", "packed?slice=0&tile=0,0,0", "packed?slice=0&tile=0,0,0&decode=cf")}
    assert len(tags) == 4


def test_bodies_that_cannot_be_decoded(valued):
    assert get(valued, "own/images/bad?slice=0&decode=cf", 422).code == "invalid_metadata"
    assert get(valued, "v3/images/packed?slice=0&decode=x", 400).code == "bad_parameter"
    plain, decoded = (get(valued, f"own/images/rgb{query}").body for query in ("", "?decode=cf"))
    assert plain == decoded


def test_the_expected_shape(valued):
    assert get(valued, "v3/images/packed?slice=0&expected_shape=20,27").status == 200
    problem = get(valued, "v3/images/packed?slice=0&expected_shape=20,28", 409)
    assert problem.code == "shape_mismatch" and problem.json()["found"] == "20,27"


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("query, select", [
    ("sel=t=2001-01-01T12:00", lambda a: a.isel(t=1)),
    ("sel=t=nearest::2001-01-02T10:00&sel=y=45/-20", lambda a: a.isel(t=2).sel(y=slice(45, -20))),
    ("isel=t=-1&sel=x=10/../2&isel=y=::-1", lambda a: a.isel(t=-1, y=slice(None, None, -1)).sel(x=slice(10, None, 2))),
    ("isel=t=1:2&sel=x=ffill::33", lambda a: a.isel(t=slice(1, 2)).sel(x=33, method="ffill")),
    ("isel=y=3", lambda a: a.isel(y=3)),
])
def test_selections_by_value_are_shown(valued, version, query, select):
    wanted = select(valued.decoded[version]["packed"].assign_coords(t=[0, 1, 2])).values.astype(float)
    answer = get(valued, f"v{version}/images/packed?{query}&decode=cf")
    assert ends(answer) == limits(wanted)
    assert (Png(answer.body).indices == indices(wanted)).all()
    whole = valued.decoded[version]["packed"].values.astype(float)
    tile = get(valued, f"v{version}/images/packed?{query}&decode=cf&tile=0,0,0&tile_size=11&flip=y")
    assert (Png(tile.body).indices == indices(wanted[::-1][:11, :11], *limits(whole))).all()


@pytest.mark.parametrize("query, code", [
    ("sel=t=2001-01-03", "value_not_found"), ("sel=z=1", "bad_parameter"), ("isel=t=3", "out_of_bounds"),
    ("sel=t=1", "bad_parameter"), ("slice=0&sel=t=2001-01-01T12:00", "bad_slice"), ("sel=y=200/300&isel=t=0", "bad_slice")])
def test_selections_by_value_that_there_are_not(valued, query, code):
    assert get(valued, f"v3/images/packed?{query}", 400).code == code
