"""OME-NGFF multiscales are levels of a group, as those of example.multiscale-arrays are."""

import json

import numpy as np
import pytest
from arrays import write_node, write_values
from documents import array_document, extension, group_document
from pictures import indices
from png import Png

PATHS = ("s0", "s1", "deep/s2")


def multiscales(*paths):
    return [{"axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": path} for path in paths]}]


def group(attributes, extensions=None):
    return {**group_document(extensions), "attributes": attributes}


def levels_of(full):
    return [full, full[::2, ::2].copy(), full[::4, ::4].copy()]


def write_v3(folder, attributes, extensions=None):
    write_node(folder, group(attributes, extensions))
    write_node(folder / "deep", group_document())
    for path, values in zip(PATHS, levels_of(FULL)):
        write_values(folder / path, values, (16, 16))


def write_v2(folder, attributes):
    for path in (folder, folder / "deep"):
        path.mkdir(parents=True)
        (path / ".zgroup").write_text('{"zarr_format": 2}')
    (folder / ".zattrs").write_text(json.dumps(attributes))
    for path, values in zip(PATHS, levels_of(FULL)):
        array = folder / path
        array.mkdir()
        (array / ".zarray").write_text(json.dumps({
            "zarr_format": 2, "shape": values.shape, "chunks": values.shape, "dtype": "<i4", "compressor": None, "filters": None,
            "fill_value": 0, "order": "C"}))
        (array / "0.0").write_bytes(values.tobytes())


FULL = np.arange(64 * 64, dtype="i4").reshape(64, 64)


def deep_levels():
    """t, c, z, y, x."""
    full = np.random.default_rng(2).integers(0, 1000, (2, 3, 2, 32, 32), "u2")
    return [full, full[..., ::2, ::2].copy()]


@pytest.fixture(scope="module")
def server(tmp_path_factory, serve_module):
    folder = tmp_path_factory.mktemp("ome")
    write_node(folder / "v3", group_document())
    write_v3(folder / "v3" / "new", {"ome": {"version": "0.5", "multiscales": multiscales(*PATHS)}})
    write_v3(folder / "v3" / "old", {"multiscales": multiscales(*PATHS)})
    own = extension("multiscale-arrays", {"multiscale": {"datasets": ["s1"]}})
    write_v3(folder / "v3" / "both", {"multiscales": multiscales(*PATHS)}, [own])
    write_node(folder / "v3" / "five", group({"multiscales": multiscales("0", "1")}))
    for i, values in enumerate(deep_levels()):
        write_values(folder / "v3" / "five" / str(i), values, (1, 1, 1, 12, 12), fill=0)
    write_v2(folder / "v2", {"multiscales": multiscales(*PATHS)})
    return serve_module(f"v3={folder / 'v3'}", f"v2={folder / 'v2'}")


GROUPS = ["v3 new", "v3 old", "v2 "]


@pytest.mark.parametrize("place", GROUPS)
def test_levels_are_sliced_and_shown(server, place):
    dataset, path = place.split(" ")
    wanted = levels_of(FULL)
    node = server.get(f"/v1/datasets/{dataset}/nodes/{path}").json()
    below = f"{path}/" if path else ""
    assert node["levels"] == [{"path": below + name, "shape": list(level.shape)} for name, level in zip(PATHS, wanted)]
    assert node["warnings"] == []
    for i, level in enumerate(wanted):
        answer = server.get(f"/v1/datasets/{dataset}/slices/{path}?level={i}&slice=1:7,::2")
        assert answer.body == np.ascontiguousarray(level[1:7, ::2]).tobytes() and answer.headers["zarr-level"] == str(i)
    assert server.get(f"/v1/datasets/{dataset}/slices/{path}?max_size=1500").headers["zarr-level"] == "1"
    assert server.get(f"/v1/datasets/{dataset}/slices/{path}?level=3").code == "out_of_bounds"
    assert server.get(f"/v1/datasets/{dataset}/slices/{path}?max_size=255").code == "too_large"


@pytest.mark.parametrize("place", GROUPS)
def test_levels_are_images_and_tiles(server, place):
    dataset, path = place.split(" ")
    get = lambda query: server.get(f"/v1/datasets/{dataset}/images/{path}?{query}")
    for i, level in enumerate(levels_of(FULL)):
        answer = get(f"tile={i},0,0&tile_size=8")
        assert answer.headers["zarr-level"] == str(i) and Png(answer.body).indices.shape == (8, 8)
        whole = get(f"level={i}")
        assert Png(whole.body).indices.shape == level.shape
    assert get("max_size=300").headers["zarr-level"] == "2"
    for size, level in (("8x8", "2"), ("15x15", "2"), ("16x16", "1"), ("31x31", "1"), ("32x32", "0"), ("99x99", "0")):
        assert get(f"size={size}").headers["zarr-level"] == level  # shrunk by two at the most in each direction
    assert get("tile=3,0,0").code == "out_of_bounds"


def test_an_image_of_five_dimensions(server):
    get = lambda query: server.get(f"/v1/datasets/v3/images/five?{query}")
    deep = deep_levels()
    low, high = deep[1].min(), deep[1].max()
    for z, level in enumerate(deep):
        answer = get(f"slice=1,2,0&tile={z},1,0&tile_size=8")
        assert [float(end) for end in answer.headers["zarr-range"].split(",")] == [low, high]
        assert (Png(answer.body).indices == indices(level[1, 2, 0, 8:16, :8].astype(float), low, high)).all()
    assert get("slice=1,2&tile=0,0,0").code == "bad_slice"
    assert get("slice=1,3,0&tile=0,0,0").code == "out_of_bounds"


def test_the_extension_wins(server):
    assert server.get("/v1/datasets/v3/nodes/both").json()["levels"] == [{"path": "both/s1", "shape": [32, 32]}]


def test_paths_that_are_missing_or_no_arrays_are_warnings(tmp_path, serve):
    write_v3(tmp_path, {"ome": {"multiscales": multiscales("gone", "s1", "deep")}})
    server = serve(f"d={tmp_path}")
    node = server.get("/v1/datasets/d/nodes/").json()
    at = "/attributes/ome/multiscales/0/datasets/"
    assert [(w["code"], w["pointer"]) for w in node["warnings"]] == [("missing_array", at + "0"), ("not_an_array", at + "2")]
    assert [level["shape"] for level in node["levels"]] == [None, [32, 32], None]
    assert server.get("/v1/datasets/d/slices/?level=0").code == "node_not_found"
    assert server.get("/v1/datasets/d/images/?tile=0,0,0").code == "node_not_found"
    assert server.get("/v1/datasets/d/slices/").headers["zarr-level"] == "1"
    assert Png(server.get("/v1/datasets/d/images/?tile=1,0,0").body).width == 32


@pytest.mark.parametrize("attributes, code", [
    ({"multiscales": multiscales(*map(str, range(65)))}, "too_large"),
    ({"multiscales": multiscales(*map(str, range(20000)))}, "too_large"),
    ({"multiscales": multiscales("s0", "../../etc")}, "bad_path"),
    ({"multiscales": multiscales("s0", "a" * 70000)}, None),
    ({"multiscales": [{"datasets": [{"path": ["s0"]}]}]}, "wrong_type"),
    ({"multiscales": {"datasets": [{"path": "s0"}]}}, None),
    ({"multiscales": "s0"}, None),
])
def test_hostile_attributes(tmp_path, serve, attributes, code):
    write_v3(tmp_path, attributes)
    server = serve(f"d={tmp_path}")
    node = server.get("/v1/datasets/d/nodes/")
    assert node.status == 200
    assert [w["code"] for w in node.json()["warnings"]] == ([code] if code else ["missing_array"] if "levels" in node.json() else [])
    if code:
        assert "levels" not in node.json()
        assert server.get("/v1/datasets/d/slices/?level=0").code == "not_an_array"
        assert server.get("/v1/datasets/d/images/?tile=0,0,0").code == "not_an_array"
    assert server.get("/v1/datasets/d/nodes/s0").status == 200


def test_a_writer_may_store_the_attributes_before_the_arrays(tmp_path, serve):
    write_node(tmp_path, group_document())
    server = serve(f"d={tmp_path}", "--writable")
    send = lambda path, document: server.request("PUT", f"/v1/datasets/d/nodes/{path}", {"Content-Type": "application/json"}, json.dumps(document).encode())
    stored = send("image", group({"ome": {"multiscales": multiscales("s0")}}))
    assert stored.status == 201 and [w["code"] for w in stored.json()["warnings"]] == ["missing_array"]
    assert send("image/s0", array_document([4], [4], "uint8")).status == 201
    node = server.get("/v1/datasets/d/nodes/image").json()
    assert node["warnings"] == [] and node["levels"] == [{"path": "image/s0", "shape": [4]}]
