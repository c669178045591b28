"""Images: a PNG reader and numpy say what is in them."""

import numpy as np
import pytest
from arrays import write_array, write_node, write_sharded, write_values
from documents import LITTLE, extension, group_document
from pictures import COLORS, blocks, indices, palette, resized
from png import Png

SHAPE = (23, 31)
TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


def floats():
    values = np.random.default_rng(3).normal(10, 4, SHAPE).astype("f4")
    values[4, 5:9] = np.nan
    values[6, 2:4] = np.inf, -np.inf
    return values


def cube():
    return np.stack([np.where(np.isinf(floats()), 0, floats()) * i for i in range(4)]).astype("f4")


def of_type(name):
    """Numbers with the extremes of the type."""
    random = np.random.default_rng(4)
    if name == "bool":
        return random.integers(0, 2, SHAPE).astype(bool)
    if name.startswith("float"):
        return random.normal(0, 50, SHAPE).astype(name)
    most = np.iinfo(name)
    values = random.integers(most.min, most.max, SHAPE, name, endpoint=True)
    values[0, :2] = most.min, most.max
    return values


def patchy():
    values = of_type("float32")
    values[3:9, 4:30] = values[20, 20] = np.nan
    return values


def times():
    values = np.datetime64("2001-01-01", "s") + np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) * np.timedelta64(3600, "s")
    values[2, 3:8] = "NaT"
    return values


@pytest.fixture(scope="module")
def pictured(tmp_path_factory, serve_module):
    folder = tmp_path_factory.mktemp("images")
    write_node(folder, group_document())
    write_values(folder / "floats", floats(), (8, 9), fill=0)
    for name in TYPES:
        write_values(folder / name, of_type(name), (6, 7), fill=False if name == "bool" else 0)
    write_array(folder / "time", SHAPE, (6, 7), [LITTLE], times(), {
        "name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}, fill="NaT")
    write_values(folder / "patchy", patchy(), (6, 7), fill=0)
    write_sharded(folder / "shards", floats(), (16, 16), (4, 8), missing={(0, 0), (3, 1)})
    write_array(folder / "absent", SHAPE, (6, 7), [LITTLE], floats(), "float32", skip={(1, 1), (3, 4)}, fill="NaN")
    write_array(folder / "cube", (4, *SHAPE), (3, 8, 9), [LITTLE], cube())
    colors = np.random.default_rng(5).integers(0, 256, (*SHAPE, 4), "u1")
    write_values(folder / "rgba", colors, (6, 7, 3), fill=0)  # a pixel is in two chunks
    write_values(folder / "rgb", colors[..., :3].copy(), (6, 7, 3), fill=0)
    write_values(folder / "five", np.zeros((4, 4, 5), "u1"), (4, 4, 5), fill=0)
    write_values(folder / "rgb16", colors[..., :3].astype("u2"), (6, 7, 3), fill=0)
    write_values(folder / "nothing", np.full(SHAPE, np.nan, "f4"), (6, 7), fill="NaN")
    write_values(folder / "same", np.full(SHAPE, 7, "i2"), (6, 7), fill=0)
    write_values(folder / "offset", floats(), (8, 9), fill=0, extensions=[extension("offset", {"offset": [5, 3]})])
    write_values(folder / "bounded", floats(), (8, 9), fill=0, extensions=[extension("array-statistics", {"min": -100, "max": 100})])
    write_array(folder / "empty", (0, 5), (1, 5), [LITTLE])
    write_array(folder / "complex64", (2, 2), (2, 2), [LITTLE], dtype="complex64", fill=[0, 0])
    write_array(folder / "string", (2, 2), (2, 2), [{"name": "vlen-utf8"}], dtype="string", fill="")
    write_array(folder / "huge", (10**6, 10**6), (1000, 1000), [LITTLE])
    write_array(folder / "wide", (1, 2**63), (1, 2**20), [LITTLE], dtype="int8")
    server = serve_module(f"d={folder}")
    server.colors = colors
    server.maps = server.get("/v1/colormaps").json()["colormaps"]
    return server


def image(server, query, status=200, **headers):
    answer = server.get(f"/v1/datasets/d/images/{query}", headers)
    assert answer.status == status, answer
    return answer


def ends(answer):
    return [float(end) for end in answer.headers["zarr-range"].split(",")]


def test_a_picture_of_floats(pictured):
    values = floats()
    answer = image(pictured, "floats")
    assert answer.headers["content-type"] == "image/png"
    found = Png(answer.body)
    finite = values[np.isfinite(values)]
    assert ends(answer) == [finite.min(), finite.max()]
    wanted = indices(values.astype(float))
    assert (found.indices == wanted).all()
    assert (found.pixels == palette(pictured.maps["viridis"])[wanted]).all()


def shown(server, query):
    return Png(image(server, query).body)


def close(found, wanted):
    """A mean that lies between two colours may fall to either; nothing else differs."""
    assert found.shape == wanted.shape
    assert ((found == COLORS) == (wanted == COLORS)).all()
    assert np.abs(found.astype(int) - wanted).max() <= 1 and (found != wanted).mean() < 0.02


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_number(pictured, name):
    values = of_type(name).astype(float)
    answer = image(pictured, name)
    assert ends(answer) == [values.min(), values.max()]
    assert (Png(answer.body).indices == indices(values)).all()


def test_times_are_numbers_and_nat_is_missing(pictured):
    values = times().astype("i8").astype(float)
    values[np.isnat(times())] = np.nan
    assert (shown(pictured, "time").indices == indices(values)).all()


@pytest.mark.parametrize("query, select", [
    ("shards", lambda a: a), ("absent", lambda a: a), ("floats?slice=::-1,3::2", lambda a: a[::-1, 3::2]),
    ("floats?slice=4:5,5:6", lambda a: a[4:5, 5:6]), ("offset", lambda a: a[5:, 3:]), ("offset?origin=stored", lambda a: a),
    ("offset?slice=-3:,:4", lambda a: a[-3:, 3:7])])
def test_selections_are_shown(pictured, query, select):
    values = floats().astype(float)
    if query == "shards":
        values[:4, :8] = values[12:16, 8:16] = 0
    if query == "absent":
        values[6:12, 7:14] = values[18:, 28:] = np.nan
    wanted = select(values)
    vmin, vmax = (0, 1) if not np.isfinite(wanted).any() else (None, None)
    assert (shown(pictured, query).indices == indices(wanted, vmin, vmax)).all()


def test_other_dimensions_have_an_index(pictured):
    answer = image(pictured, "cube?slice=:,2,:")
    wanted = cube()[:, 2].astype(float)
    assert (Png(answer.body).indices == indices(wanted)).all()
    assert answer.headers["zarr-selection"] == "0:4:1,2,0:31:1"


@pytest.mark.parametrize("vmin, vmax", [(0, 20), (20, 0), (5.5, None), (None, 11), (-1e3, -999), (7, 7), (-1.5e308, 1.5e308)])
@pytest.mark.parametrize("stretch", ["linear", "sqrt"])
def test_ends_and_stretches(pictured, vmin, vmax, stretch):
    given = "".join(f"&{name}={value}".replace("+", "") for name, value in (("vmin", vmin), ("vmax", vmax)) if value is not None)
    answer = image(pictured, f"floats?stretch={stretch}{given}")
    values = floats().astype(float)
    finite = values[np.isfinite(values)]
    low, high = finite.min() if vmin is None else vmin, finite.max() if vmax is None else vmax
    assert ends(answer) == [low, high]
    if low != high and high - low < 1e300:
        assert (Png(answer.body).indices == indices(values, low, high, stretch)).all()
    elif low == high:
        wanted = np.where(np.isnan(values), COLORS, np.where(values > low, COLORS - 1, 0))
        assert (Png(answer.body).indices == wanted).all()
    else:
        assert set(np.unique(Png(answer.body).indices)) == ({0, 127, 254, 255} if stretch == "linear" else {0, 180, 254, 255})


def test_a_logarithm(pictured):
    values = floats().astype(float)
    found = shown(pictured, "floats?stretch=log&vmin=0.5&vmax=30").indices
    close(found, indices(values, 0.5, 30, "log"))
    close(shown(pictured, "floats?stretch=log&vmin=30&vmax=0.5").indices, indices(values, 30, 0.5, "log"))


@pytest.mark.parametrize("query", ["vmin=0&vmax=9", "vmin=1&vmax=-1", "vmin=-2", ""])
def test_a_logarithm_needs_positive_ends(pictured, query):
    problem = image(pictured, f"floats?stretch=log&{query}", 400)
    assert problem.code == "bad_parameter" and "log" in problem.json()["detail"]


@pytest.mark.parametrize("name", ["viridis", "magma", "inferno", "plasma", "cividis", "turbo", "gray", "coolwarm", "RdBu"])
def test_colour_maps(pictured, name):
    table = pictured.maps[name]
    assert len(table) == 256 and pictured.maps[f"{name}_r"] == table[::-1]
    wanted = indices(floats().astype(float))
    for suffix, colors in (("", table), ("_r", table[::-1])):
        assert (shown(pictured, f"floats?cmap={name}{suffix}").pixels == palette(colors)[wanted]).all()


def test_missing_elements_have_their_colour(pictured):
    found = shown(pictured, "floats?nan=%23ff8001")
    missing = np.isnan(floats())
    assert (found.pixels[missing] == (255, 128, 1, 255)).all() and len(found.colors) == 256
    assert (shown(pictured, "floats?nan=transparent").pixels[missing] == (0, 0, 0, 0)).all()
    whole = Png(image(pictured, "int16?nan=%23FF8001").body)
    assert len(whole.colors) == COLORS  # nothing is missing
    nothing = shown(pictured, "nothing?nan=%23FF8001")
    assert (nothing.pixels == (255, 128, 1, 255)).all() and ends(image(pictured, "nothing")) == [0, 1]


def test_infinities_take_the_colours_at_the_ends(pictured):
    found = shown(pictured, "floats").indices
    assert list(found[6, 2:4]) == [COLORS - 1, 0]
    assert list(shown(pictured, "floats?vmin=9&vmax=1").indices[6, 2:4]) == [0, COLORS - 1]


@pytest.mark.parametrize("most", [2, 7, 40, 180, 712, 713, 10**6])
def test_the_least_factor_that_fits(pictured, most):
    factor = next(f for f in range(1, 40) if -(-SHAPE[0] // f) * -(-SHAPE[1] // f) <= most)
    answer = image(pictured, f"float64?max_size={most}")
    means = blocks(of_type("float64"), factor)
    assert Png(answer.body).indices.shape == means.shape
    np.testing.assert_allclose(ends(answer), [means.min(), means.max()], rtol=1e-12, atol=1e-12)
    close(Png(answer.body).indices, indices(means, *ends(answer)))


@pytest.mark.parametrize("width, height", [(31, 23), (30, 22), (7, 5), (1, 1), (62, 46), (100, 9), (9, 100), (31, 1), (1, 500)])
@pytest.mark.parametrize("name", ["patchy", "float32"])
def test_sizes(pictured, name, width, height):
    values = patchy() if name == "patchy" else of_type(name)
    found = shown(pictured, f"{name}?size={width}x{height}&vmin=-60&vmax=60")
    close(found.indices, indices(resized(values.astype(float), width, height), -60, 60))


def test_flipped(pictured):
    whole = shown(pictured, "floats").pixels
    assert (shown(pictured, "floats?flip=y").pixels == whole[::-1]).all()
    assert (shown(pictured, "floats?flip=y&size=9x50&vmin=0&vmax=9").pixels == shown(pictured, "floats?size=9x50&vmin=0&vmax=9").pixels[::-1]).all()


def test_bounds_that_are_declared(pictured):
    answer = image(pictured, "bounded")
    assert ends(answer) == [-100, 100]
    assert (Png(answer.body).indices == indices(floats().astype(float), -100, 100)).all()
    assert ends(image(pictured, "bounded?vmax=200")) == [-100, 200]
    assert ends(image(pictured, "bounded?vmin=200")) == [200, 200]  # what was not asked never turns the map


def test_equal_numbers(pictured):
    answer = image(pictured, "same")
    assert ends(answer) == [7, 7] and (Png(answer.body).indices == 0).all()


@pytest.mark.parametrize("name, channels", [("rgb", 3), ("rgba", 4)])
def test_colours(pictured, name, channels):
    colors = np.full((*SHAPE, 4), 255, "u1")
    colors[..., :channels] = pictured.colors[..., :channels]
    answer = image(pictured, name)
    assert (Png(answer.body).pixels == colors).all() and "zarr-range" not in answer.headers
    assert (shown(pictured, f"{name}?slice=2:9,::-3").pixels == colors[2:9, ::-3]).all()
    found = shown(pictured, f"{name}?max_size=200").pixels[..., :channels]
    means = blocks(colors[..., :channels], 2)
    assert np.abs(found - np.floor(means + 0.5)).max() <= 0
    assert (shown(pictured, f"{name}?slice=:,:,1&vmin=0&vmax=255").indices == indices(colors[..., 1].astype(float), 0, 255)).all()
    for query in ("cmap=gray", "vmin=1", "vmax=1", "stretch=sqrt", "nan=%23000000"):
        problem = image(pictured, f"{name}?{query}", 400)
        assert problem.code == "bad_parameter" and problem.json()["names"] == [query.split("=")[0]]


@pytest.mark.parametrize("query, status, code", [
    ("cube", 400, "bad_slice"), ("floats?slice=0", 400, "bad_slice"), ("floats?slice=0,0", 400, "bad_slice"),
    ("five", 400, "bad_slice"), ("rgb16", 400, "bad_slice"), ("empty", 400, "bad_slice"), ("floats?slice=5:5", 400, "bad_slice"),
    ("floats?slice=99,:", 400, "out_of_bounds"), ("floats?slice=x", 400, "bad_slice"),
    ("complex64", 422, "unsupported_data_type"), ("string", 422, "unsupported_data_type"),
    ("nowhere", 404, "node_not_found"), ("", 400, "not_an_array"),
    ("floats?cmap=jet", 400, "bad_parameter"), ("floats?cmap=Viridis", 400, "bad_parameter"), ("floats?cmap=", 400, "bad_parameter"),
    ("floats?vmin=x", 400, "bad_parameter"), ("floats?vmin=nan", 400, "bad_parameter"), ("floats?vmax=1e999", 400, "bad_parameter"),
    ("floats?vmin=Infinity", 400, "bad_parameter"), ("floats?vmin=", 400, "bad_parameter"), ("floats?vmin=0x10", 400, "bad_parameter"),
    ("floats?vmin=" + "1" * 400, 400, "bad_parameter"), ("floats?stretch=cube", 400, "bad_parameter"),
    ("floats?size=0x5", 400, "bad_parameter"), ("floats?size=5", 400, "bad_parameter"), ("floats?size=5x", 400, "bad_parameter"),
    ("floats?size=-1x5", 400, "bad_parameter"), ("floats?size=5x5x5", 400, "bad_parameter"),
    ("floats?size=99999999999x1", 400, "bad_parameter"), ("floats?size=5x5&max_size=9", 400, "bad_parameter"),
    ("floats?max_size=0", 400, "bad_parameter"), ("floats?max_size=-1", 400, "bad_parameter"),
    ("floats?flip=x", 400, "bad_parameter"), ("floats?nan=red", 400, "bad_parameter"), ("floats?nan=%23ff", 400, "bad_parameter"),
    ("floats?nan=%23gg0000", 400, "bad_parameter"), ("floats?nan=%2300000%00", 400, None),
    ("floats?level=0", 400, "bad_parameter"), ("floats?colormap=gray", 400, "unknown_parameter"),
    ("floats?vmin=1&vmin=2", 400, "unknown_parameter"), ("floats?format=png", 400, "unknown_parameter"),
    ("floats?size=1000000x1000000", 413, "too_large"), ("floats?size=2147483647x2147483647", 413, "too_large"),
    ("huge", 413, "too_large"), ("huge?size=10x10", 413, "too_large"), ("wide", 413, "too_large"),
    ("wide?slice=:,::4611686018427387904&size=8x8", 200, None),
])
def test_pictures_that_cannot_be_shown(pictured, query, status, code):
    with pictured.cost() as cost:
        answer = image(pictured, query, status)
    assert code is None or answer.code == code, answer
    assert status == 200 or cost["zarrd_decodes_total"] == 0


def test_a_large_array_is_shown_where_it_is_small(pictured):
    found = shown(pictured, "huge?slice=::10000,::10000&max_size=400")
    assert found.indices.shape == (20, 20) and (found.indices == 0).all()


def test_conditions_and_prepared_answers(pictured):
    answer = image(pictured, "floats?cmap=turbo")
    tag = answer.headers["etag"]
    path = "/v1/datasets/d/images/floats?cmap=turbo"
    again = image(pictured, "floats?cmap=turbo")
    assert again.body == answer.body and again.headers["zarr-range"] == answer.headers["zarr-range"]
    assert image(pictured, "floats?cmap=turbo", 304, **{"If-None-Match": tag}).body == b""
    assert image(pictured, "floats?cmap=turbo", 412, **{"If-Match": '"x"'}).code == "precondition_failed"
    assert image(pictured, "floats?cmap=turbo", 200, **{"If-Match": tag}).body == answer.body
    head = pictured.head(path)
    assert head.status == 200 and head.headers["etag"] == tag and head.body == b""
    tags = {image(pictured, f"floats?{query}").headers["etag"] for query in (
        "", "cmap=gray", "flip=y", "vmin=1", "vmax=1", "vmin=0", "stretch=sqrt", "size=31x23", "size=30x23", "max_size=99", "nan=%23000000",
        "nan=%23000001", "slice=::-1", "slice=1:", "vmin=1&vmax=1")}
    assert len(tags | {tag}) >= 15
    assert image(pictured, "floats", 406, Accept="image/jpeg").code == "not_acceptable"
    assert pictured.request("POST", path).status == 405


def test_the_picture_follows_the_array(tmp_path, serve):
    values = np.arange(12, dtype="u1").reshape(3, 4)
    write_values(tmp_path / "a", values, (2, 2), fill=0)
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "revalidate_ms": 0}}})
    before = server.get("/v1/datasets/d/images/a")
    values[0, 0] = 200
    write_values(tmp_path / "a", values, (2, 2), fill=0)
    after = server.get("/v1/datasets/d/images/a", {"If-None-Match": before.headers["etag"]})
    assert after.status == 200 and (Png(after.body).indices == indices(values.astype(float))).all()
    assert ends(after) == [1, 200]


def test_a_corrupt_chunk_is_a_fault(tmp_path, serve):
    write_values(tmp_path / "a", np.ones((4, 4), "u1"), (2, 2), fill=0)
    (tmp_path / "a/c/1/1").write_bytes(b"x")
    server = serve(f"d={tmp_path}")
    server.announced.append("corrupt_chunk")
    assert server.get("/v1/datasets/d/images/a").code == "corrupt_chunk"
    assert server.get("/v1/datasets/d/images/a?slice=:2").status == 200
