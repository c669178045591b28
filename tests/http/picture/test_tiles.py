"""Tiles of images: put together they are the picture of the whole plane, in the colours of one range."""

import concurrent.futures

import numpy as np
import pytest
from arrays import write_gzipped, write_node, write_values
from documents import extension, group_document
from live import RawClient
from pictures import COLORS, blocks, indices
from png import Png

HEIGHT, WIDTH = 75, 101
SIZE = 16


def plane():
    values = np.random.default_rng(7).normal(-3, 9, (3, HEIGHT, WIDTH)).astype("f4")
    values[0, 30:40, 10:50] = np.nan
    values[1] *= 20  # the ends of the range lie in another plane
    return values


def scales(*paths):
    return extension("multiscale-arrays", {"multiscale": {"datasets": list(paths)}})


@pytest.fixture(scope="module")
def tiled(tmp_path_factory, serve_module):
    folder = tmp_path_factory.mktemp("tiles")
    values = plane()
    write_values(folder / "a", values, (2, 20, 33), fill="NaN")
    write_values(folder / "rgb", np.random.default_rng(8).integers(0, 255, (40, 50, 3), "u1"), (16, 16, 3))
    levels = [values[0], blocks(values[0], 2).astype("f4"), blocks(values[0], 4).astype("f4")]
    write_node(folder / "g", group_document([scales("0", "1", "2")]))
    for i, level in enumerate(levels):
        write_values(folder / "g" / str(i), level, (20, 20), fill="NaN")
    bounds = extension("array-statistics", {"min": -5, "max": 50})
    write_node(folder / "known", group_document([scales("0", "1")]))
    for i, more in enumerate(({"extensions": [extension("array-statistics", {"min": -70, "max": 70})]}, {})):
        write_values(folder / "known" / str(i), levels[i], (20, 20), fill=0, **more)
    write_values(folder / "bounded", values[0], (20, 20), fill=0, extensions=[bounds])
    server = serve_module(f"d={folder}")
    server.values, server.levels = values, levels
    return server


def get(server, query, status=200, **headers):
    answer = server.get(f"/v1/datasets/d/images/{query}", headers)
    assert answer.status == status, answer
    return answer


def tiles(server, query, z, height, width, size=SIZE):
    """All tiles of a level as one array of colours, and what Zarr-Range says of each."""
    ranges, rows = set(), []
    for y in range(-(-height // size)):
        row = []
        for x in range(-(-width // size)):
            answer = get(server, f"{query}&tile={z},{y},{x}&tile_size={size}")
            found = Png(answer.body)
            assert (found.height, found.width) == (min(size, height - y * size), min(size, width - x * size))
            ranges.add(answer.headers.get("zarr-range"))
            row.append(found.indices if found.indices is not None else found.pixels)
        rows.append(np.concatenate(row, axis=1))
    return np.concatenate(rows), ranges


def ends(answer):
    return tuple(float(end) for end in answer.headers["zarr-range"].split(","))


def limits(values):
    finite = values[np.isfinite(values)].astype(float)
    return finite.min(), finite.max()


def close(found, wanted):
    """A mean that lies between two colours may fall to either; nothing else differs."""
    assert found.shape == wanted.shape
    assert ((found == COLORS) == (wanted == COLORS)).all()
    assert np.abs(found.astype(int) - wanted).max() <= 1 and (found != wanted).mean() < 0.01


@pytest.mark.parametrize("z", range(8))
def test_tiles_of_an_array_are_means_of_powers_of_two(tiled, z):
    height, width = -(-HEIGHT // 2**z), -(-WIDTH // 2**z)
    found, ranges = tiles(tiled, "a?slice=0", z, height, width)
    vmin, vmax = limits(tiled.values)
    assert ranges == {f"{vmin},{vmax}"}
    close(found, indices(blocks(tiled.values[0].astype(float), 2**z), vmin, vmax))


@pytest.mark.parametrize("query, turn", [
    ("slice=0", lambda plane: plane), ("slice=0,::-1,::-1", lambda plane: plane[::-1, ::-1]),
    ("slice=0,3:60:2,-90:", lambda plane: plane[3:60:2, -90:]), ("slice=0&flip=y", lambda plane: plane)])
def test_a_tile_is_of_what_the_slice_selects(tiled, query, turn):
    wanted = turn(tiled.values[0].astype(float))
    vmin, vmax = limits(tiled.values)
    for z in (0, 1):
        means = blocks(wanted, 2**z)
        found, _ = tiles(tiled, f"a?{query}", z, *means.shape)
        close(found, indices(means[::-1] if "flip" in query else means, vmin, vmax))


@pytest.mark.parametrize("z", range(3))
def test_tiles_of_a_group_are_its_levels(tiled, z):
    level = tiled.levels[z].astype(float)
    found, ranges = tiles(tiled, "g?cmap=magma", z, *level.shape)
    vmin, vmax = limits(tiled.levels[2])
    assert ranges == {f"{vmin},{vmax}"}
    assert (found == indices(level, vmin, vmax)).all()
    assert get(tiled, f"g?tile={z},0,0").headers["zarr-level"] == str(z)


def test_bounds_and_ends_that_are_given_come_first(tiled):
    assert ends(get(tiled, "bounded?tile=0,0,0&tile_size=4")) == (-5, 50)
    for z in (0, 1):
        assert ends(get(tiled, f"known?tile={z},0,0")) == (-70, 70)  # of the finest level
    assert ends(get(tiled, "a?slice=0&tile=0,0,0&vmin=-1&vmax=1")) == (-1, 1)
    assert ends(get(tiled, "a?slice=0&tile=0,0,0&vmin=-1")) == (-1, limits(tiled.values)[1])


def test_tiles_of_colours(tiled):
    whole = Png(get(tiled, "rgb").body).pixels
    found, ranges = tiles(tiled, "rgb?", 0, 40, 50)
    assert (found == whole).all() and ranges == {None}


def test_a_tile_of_256_is_what_is_asked_for(tiled):
    assert (Png(get(tiled, "a?slice=0&tile=0,0,0").body).pixels == Png(get(tiled, "a?slice=0&tile=0,0,0&tile_size=256").body).pixels).all()
    answer = get(tiled, "a?slice=0&tile=0,1,2&tile_size=16")
    assert answer.headers["zarr-selection"] == "0,16:32:1,32:48:1"


@pytest.mark.parametrize("query, code, facts", [
    ("a?slice=0&tile=8,0,0", "out_of_bounds", {"index": 8, "size": 8}),
    ("a?slice=0&tile=63,0,0", "out_of_bounds", {"index": 63, "size": 8}),
    ("a?slice=0&tile=18446744073709551615,0,0", "out_of_bounds", {"index": 2**63 - 1, "size": 8}),
    ("a?slice=0&tile=0,1,0", "out_of_bounds", {"index": 1, "size": 1}),
    ("a?slice=0&tile=0,0,18446744073709551615&tile_size=1", "out_of_bounds", {"size": WIDTH}),
    ("g?tile=3,0,0", "out_of_bounds", {"index": 3, "size": 3}),
    ("g?tile=2,9,0", "out_of_bounds", {"index": 9, "size": 1}),
    ("a?tile=0,0,0", "bad_slice", {}),
    ("a?slice=0,0:0&tile=0,0,0", "bad_slice", {}),
    ("a?slice=0&tile=0,0", "bad_parameter", {"name": "tile"}),
    ("a?slice=0&tile=0,0,-1", "bad_parameter", {"name": "tile"}),
    ("a?slice=0&tile=0,0,18446744073709551616", "bad_parameter", {"name": "tile"}),
    ("a?slice=0&tile=0,0,0,0", "bad_parameter", {"name": "tile"}),
    ("a?slice=0&tile=0,0,0&tile_size=0", "bad_parameter", {"name": "tile_size"}),
    ("a?slice=0&tile=0,0,0&tile_size=4097", "bad_parameter", {"name": "tile_size"}),
    ("a?slice=0&tile_size=256", "bad_parameter", {"name": "tile_size"}),
    ("a?slice=0&tile=0,0,0&size=8x8", "bad_parameter", {"name": "size"}),
    ("a?slice=0&tile=0,0,0&max_size=8", "bad_parameter", {"name": "max_size"}),
    ("g?tile=0,0,0&level=0", "bad_parameter", {"name": "level"}),
    ("a?slice=0&tile=0,0,0&level=0", "bad_parameter", {"name": "level"}),
    ("a?slice=0&tile=0,0,0&stretch=log", "bad_parameter", {"name": "vmin"}),
])
def test_tiles_that_there_are_not(tiled, query, code, facts):
    problem = get(tiled, query, 400)
    assert problem.code == code, problem
    found = problem.json()
    names = {"name": found.get("names", [None])[0] if found.get("names") else found.get("name")}
    assert {key: {**found, **names}.get(key) for key in facts} == facts, found


def test_conditions(tiled):
    answer = get(tiled, "a?slice=0&tile=0,1,1&tile_size=16")
    tag = answer.headers["etag"]
    assert get(tiled, "a?slice=0&tile=0,1,1&tile_size=16", 304, **{"If-None-Match": tag}).body == b""
    head = tiled.head("/v1/datasets/d/images/a?slice=0&tile=0,1,1&tile_size=16")
    assert head.headers["etag"] == tag and head.headers["zarr-range"] == answer.headers["zarr-range"]
    others = {get(tiled, f"a?slice=0&{query}").headers["etag"] for query in (
        "tile=0,1,2&tile_size=16", "tile=1,1,1&tile_size=16", "tile=0,0,0&tile_size=17", "tile=0,1,1&tile_size=16&vmin=0")}
    assert len(others) == 4 and tag not in others


def test_the_range_is_read_once(tmp_path, serve):
    write_gzipped(tmp_path / "a", np.arange(64 * 64, dtype="i4").reshape(64, 64), (16, 16))
    server = serve(config={"datasets": {"d": {"location": str(tmp_path)}}, "cache": {"decoded_bytes": 0}})
    path = "/v1/datasets/d/images/a?tile_size=16&tile=0,"
    with server.cost() as cost:
        assert server.get(f"{path}0,0").status == 200
    assert cost["zarrd_decodes_total"] == 16 + 1
    with server.cost() as cost, concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert {answer.status for answer in pool.map(lambda i: server.get(f"{path}1,{i % 4}"), range(4))} == {200}
    assert cost["zarrd_decodes_total"] == 4


def test_tiles_that_are_asked_together_read_the_range_once(tmp_path, serve):
    write_gzipped(tmp_path / "a", np.arange(512 * 512, dtype="i4").reshape(512, 512), (128, 128))
    server = serve(config={"datasets": {"d": {"location": str(tmp_path)}}, "cache": {"decoded_bytes": 0}})
    with server.cost() as cost, concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: server.get(f"/v1/datasets/d/images/a?tile_size=128&tile=0,{i // 4},{i % 4}"), range(16)))
    assert {ends(answer) for answer in answers} == {(0, 512 * 512 - 1)}
    assert cost["zarrd_decodes_total"] <= 2 * 16


def test_the_range_follows_the_array(tmp_path, serve):
    values = np.arange(64 * 64, dtype="i4").reshape(64, 64)
    write_values(tmp_path / "a", values, (16, 16), fill=0)
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "writable": True, "revalidate_ms": 0}}})
    path = "/v1/datasets/d/images/a?tile_size=16&tile=0,"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: server.get(f"{path}{i // 4},{i % 4}"), range(16)))
    assert {ends(answer) for answer in answers} == {(0, 4095)}
    tag = answers[0].headers["etag"]
    def write(place, value):
        body = np.int32(value).tobytes()
        assert server.request("PUT", f"/v1/datasets/d/slices/a?slice={place}", {"Content-Type": "application/octet-stream"}, body).status == 200

    # Another tile changes: the bytes of this one stay only as long as the range does.
    write("20,20", 7)
    assert server.get(f"{path}0,0", {"If-None-Match": tag}).status == 304
    write("63,63", 9000)
    after = server.get(f"{path}0,0", {"If-None-Match": tag})
    assert after.status == 200 and ends(after) == (0, 9000)
    # And by another process.
    changed = values.copy()
    changed[40, 40] = -8000
    write_values(tmp_path / "a", changed, (16, 16), fill=0)
    assert ends(server.get(f"{path}0,0")) == (-8000, 4095)


def test_clients_that_leave_do_not_take_the_range_along(tmp_path, serve):
    write_gzipped(tmp_path / "a", np.arange(1024 * 1024, dtype="i4").reshape(1024, 1024), (128, 128))
    server = serve(config={"datasets": {"d": {"location": str(tmp_path)}}, "cache": {"decoded_bytes": 0}})
    path = "/v1/datasets/d/images/a?tile=2,0,0"
    for _ in range(8):
        client = RawClient(server.port)
        client.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        client.socket.close()
        client.file.close()
    answer = server.get(path)
    assert answer.status == 200 and ends(answer) == (0, 1024 * 1024 - 1)


def test_a_failed_search_leaves_others_to_find_it(tmp_path, serve):
    values = np.arange(64 * 64, dtype="i4").reshape(64, 64)
    write_values(tmp_path / "a", values, (16, 16), fill=0)
    (tmp_path / "a" / "c" / "3" / "3").write_bytes(b"short")
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "revalidate_ms": 0}}})
    path = "/v1/datasets/d/images/a?tile_size=16&tile=0,0,0"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.get(path), range(8)))
    assert {(answer.status, answer.code) for answer in answers} == {(500, "corrupt_chunk")}
    server.announced.append("corrupt_chunk")
    assert server.get(f"{path}&vmin=0&vmax=9").status == 200
    write_values(tmp_path / "a", values, (16, 16), fill=0)
    assert ends(server.get(path)) == (0, 4095)


def test_an_array_too_large_for_a_range_is_refused_before_reading(tmp_path, serve):
    write_values(tmp_path / "a", np.zeros((4, 4), "f4"), (2, 2), fill=0)
    document = (tmp_path / "a" / "zarr.json").read_text()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "zarr.json").write_text(document.replace("[4, 4]", "[1000000, 1000000]").replace("[2, 2]", "[1000, 1000]"))
    server = serve(f"d={tmp_path}")
    get_b = lambda query: server.get(f"/v1/datasets/d/images/b?{query}")
    for query in ("tile=0,0,0", "tile=12,0,0", "tile=20,0,0"):
        problem = get_b(query)
        assert problem.status == 413 and problem.json()["requested"] > problem.json()["limit"], problem
    assert "vmin and vmax" in get_b("tile=0,0,0").json()["detail"]
    assert Png(get_b("tile=0,0,0&vmin=0&vmax=1").body).pixels.shape == (256, 256, 4)
    assert get_b("tile=19,0,0&vmin=0&vmax=1").status == 413  # 10^12 elements in four pixels
