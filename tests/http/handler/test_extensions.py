"""The generic extensions of ZEP 10: what each changes for those who read."""

import json

import jsonschema
import numpy as np
import pytest
from arrays import write_node, write_values
from documents import LITTLE, array_document, extension, group_document


@pytest.fixture(scope="module")
def shifted(tmp_path_factory, serve_module):
    """An array of 7 x 9 that begins at (2, 3); its values are those of the stored array."""
    folder = tmp_path_factory.mktemp("shifted")
    values = np.arange(63, dtype="i4").reshape(7, 9)
    write_node(folder, group_document())
    write_values(folder / "a", values, (3, 4), extensions=[extension("offset", {"offset": [2, 3]})])
    return serve_module(f"d={folder}"), values


SLICES = ["", "0,0", "-1,-1", "-2:,:", "::-1,::2", "1:100,2", "...,0", "5:5,:", "4::-3,0", ":,-6"]


@pytest.mark.parametrize("text", SLICES)
def test_slices_count_from_the_offset(shifted, text):
    server, values = shifted
    expected = eval(f"values[2:, 3:][{text or '...'}]")
    answer = server.get(f"/v1/datasets/d/slices/a?slice={text}")
    assert answer.status == 200, answer
    assert answer.body == np.ascontiguousarray(expected).tobytes()
    assert answer.headers["zarr-shape"].strip() == ",".join(map(str, expected.shape))
    assert answer.headers["zarr-origin"] == "2,3"
    # What the answer says of itself selects the same again.
    again = server.get(f"/v1/datasets/d/slices/a?slice={answer.headers['zarr-selection']}")
    assert again.body == answer.body and again.headers["zarr-selection"] == answer.headers["zarr-selection"]


@pytest.mark.parametrize("text", ["", "0,0", "-1,-1", "-2:,:", "::-1,::2", "6,8"])
def test_the_stored_array_can_be_addressed(shifted, text):
    server, values = shifted
    expected = eval(f"values[{text or '...'}]")
    answer = server.get(f"/v1/datasets/d/slices/a?slice={text}&origin=stored")
    assert answer.status == 200 and answer.body == np.ascontiguousarray(expected).tobytes()
    posted = server.post("/v1/datasets/d/slices/a", {"slice": text, "origin": "stored"})
    assert posted.status == 200 and posted.body == answer.body


def test_bounds_are_judged_by_the_visible_shape(shifted):
    server, _ = shifted
    problem = server.get("/v1/datasets/d/slices/a?slice=5,0")
    assert problem.status == 400 and problem.code == "out_of_bounds"
    assert (problem.json()["index"], problem.json()["size"]) == (5, 5)
    assert server.get("/v1/datasets/d/slices/a?slice=5,0&origin=stored").status == 200
    assert server.get("/v1/datasets/d/slices/a?slice=-6,0").code == "out_of_bounds"
    assert server.get("/v1/datasets/d/slices/a?slice=&origin=elsewhere").code == "bad_parameter"
    assert server.get("/v1/datasets/d/slices/a?expected_shape=5,6").status == 200
    assert server.get("/v1/datasets/d/slices/a?expected_shape=7,9").code == "shape_mismatch"


def test_the_node_shows_the_shape_that_is_seen(shifted):
    server, _ = shifted
    node = server.get("/v1/datasets/d/nodes/a").json()
    assert node["array"]["shape"] == [5, 6] and node["array"]["origin"] == [2, 3]
    assert node["array"]["n_elements"] == 30 and node["array"]["n_bytes"] == 120
    assert node["metadata"]["shape"] == [7, 9]  # the document stays what it is
    assert node["array"]["chunk_grid_shape"] == [3, 3]  # of stored chunks, as chunks and keys name them
    assert server.get("/v1/datasets/d/chunks/a?index=0,0&decoded=1").status == 200
    row = server.get("/v1/datasets/d/tree/").json()["nodes"][1]
    assert row["array"]["shape"] == [5, 6]


def test_answers_of_both_origins_have_tags_of_their_own(shifted):
    server, _ = shifted
    tags = {server.get(f"/v1/datasets/d/slices/a?slice=2:3,3&format=json{more}").headers["etag"]
            for more in ("", "&origin=stored")}
    assert len(tags) == 2
    shown = server.get("/v1/datasets/d/slices/a?slice=0,0&format=json").json()
    stored = server.get("/v1/datasets/d/slices/a?slice=2,3&format=json&origin=stored").json()
    assert shown["data"] == stored["data"] and (shown["selection"], stored["selection"]) == ("0,0", "2,3")


def test_suggestions_count_from_the_offset(tmp_path, serve):
    values = np.arange(400 * 30, dtype="i4").reshape(400, 30)
    write_values(tmp_path / "a", values, (50, 30), extensions=[extension("offset", {"offset": [60, 10]})])
    server = serve(f"d={tmp_path}", "--set", "limits.slice_bytes=4KiB")
    for origin, seen in (("array", values[60:, 10:]), ("stored", values)):
        problem = server.get(f"/v1/datasets/d/slices/a?slice=&origin={origin}")
        assert problem.code == "too_large"
        parts = [server.get(f"/v1/datasets/d/slices/a?slice={text}&origin={origin}").body
                 for text in problem.json()["suggestions"]]
        assert len(parts) == problem.json()["n_suggestions"]
        assert sorted(np.frombuffer(b"".join(parts), "i4")) == sorted(seen.ravel())


def test_an_offset_to_the_end_leaves_nothing(tmp_path, serve):
    write_values(tmp_path / "a", np.ones((4, 4), "u1"), (2, 2),
                extensions=[extension("offset", {"offset": [4, 0]})])
    server = serve(f"d={tmp_path}")
    answer = server.get("/v1/datasets/d/slices/a")
    assert answer.status == 200 and answer.body == b"" and answer.headers["zarr-shape"] == "0,4"


# ---- example.multiscale-arrays


def scales(*paths, **more):
    return extension("multiscale-arrays", {"multiscale": {"datasets": list(paths)}}, **more)


@pytest.fixture(scope="module")
def pyramid(tmp_path_factory, serve_module):
    """A group g with levels of 64 x 64, 32 x 32, and one in a group below of 16 x 16 that begins at (4, 4)."""
    folder = tmp_path_factory.mktemp("pyramid")
    full = np.arange(64 * 64, dtype="i4").reshape(64, 64)
    made = [full, full[::2, ::2].copy(), np.pad(full[::4, ::4], ((4, 0), (4, 0))).astype("i4")]
    write_node(folder, group_document())
    write_node(folder / "g", group_document([scales("s0", "s1", "b/s2")]))
    write_node(folder / "g" / "b", group_document())
    write_values(folder / "g" / "s0", made[0], (16, 16))
    write_values(folder / "g" / "s1", made[1], (16, 16))
    write_values(folder / "g" / "b" / "s2", made[2], (16, 16),
                extensions=[extension("offset", {"offset": [4, 4]})])
    return serve_module(f"d={folder}"), [full, full[::2, ::2], full[::4, ::4]]


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("text", ["", "3:9,::2", "-1,5"])
def test_a_level_of_a_group_is_sliced(pyramid, level, text):
    server, levels = pyramid
    expected = np.ascontiguousarray(eval(f"levels[{level}][{text or '...'}]"))
    answer = server.get(f"/v1/datasets/d/slices/g?level={level}&slice={text}")
    assert answer.status == 200 and answer.body == expected.tobytes()
    assert answer.headers["zarr-level"] == str(level)
    posted = server.post("/v1/datasets/d/slices/g", {"level": level, "slice": text})
    assert posted.body == answer.body
    head = server.head(f"/v1/datasets/d/slices/g?level={level}&slice={text}")
    assert head.headers["etag"] == answer.headers["etag"]
    assert server.get(f"/v1/datasets/d/slices/g?level={level}&slice={text}",
                      {"If-None-Match": answer.headers["etag"]}).status == 304


@pytest.mark.parametrize("query, level", [
    ("", 0), ("max_size=4096", 0), ("max_size=4095", 1), ("max_size=1024", 1), ("max_size=1023", 2), ("max_size=256", 2),
    ("slice=0:4,0:4&max_size=16", 0), ("slice=:,0&max_size=32", 1), ("slice=40,0&max_size=1", 0),
    ("slice=5:9&max_size=64", 2), ("reduce=max&max_size=1", 0), ("reduce=max&over=1&max_size=64", 0),
    ("reduce=max&over=1&max_size=63", 1), ("coarsen=0:8,1:8&max_size=64", 0), ("coarsen=0:8,1:8&max_size=63", 1)])
def test_the_finest_level_that_fits(pyramid, query, level):
    server, levels = pyramid
    answer = server.get(f"/v1/datasets/d/slices/g?{query}")
    assert answer.status == 200 and answer.headers["zarr-level"] == str(level), answer
    assert answer.headers["zarr-origin"] == "4,4" if level == 2 else "zarr-origin" not in answer.headers


def test_levels_that_there_are_not(pyramid):
    server, _ = pyramid
    get = lambda query: server.get(f"/v1/datasets/d/slices/{query}")
    problem = get("g?level=3")
    assert problem.status == 400 and problem.code == "out_of_bounds"
    assert (problem.json()["index"], problem.json()["size"]) == (3, 3)
    problem = get("g?max_size=255")
    assert problem.status == 413 and problem.code == "too_large"
    assert (problem.json()["limit"], problem.json()["requested"]) == (255, 256)
    assert get("g?reduce=max&over=9&max_size=4096").code == get("g?reduce=max&over=9").code == "bad_parameter"
    assert get("g?slice=64,0").code == "out_of_bounds" and get("g?slice=a&max_size=9").code == "bad_slice"
    assert get("g?level=-1").code == "bad_parameter" and get("g?level=1&max_size=9").code == "bad_parameter"
    assert get("g/s0?level=0").code == "bad_parameter"
    assert get("g/b?level=0").code == "not_an_array" and get("?level=0").code == "not_an_array"
    assert server.post("/v1/datasets/d/slices/g", {"level": "1"}).code == "bad_body"
    assert server.get("/v1/datasets/d/chunks/g?index=0,0").code == "not_an_array"


def test_the_group_shows_its_levels(pyramid):
    server, _ = pyramid
    node = server.get("/v1/datasets/d/nodes/g").json()
    assert node["levels"] == [{"path": "g/s0", "shape": [64, 64]}, {"path": "g/s1", "shape": [32, 32]},
                              {"path": "g/b/s2", "shape": [16, 16]}]
    assert node["warnings"] == [] and node["links"]["slices"] == "/v1/datasets/d/slices/g"
    assert "levels" not in server.get("/v1/datasets/d/nodes/g/b").json()
    assert server.get("/v1/datasets/d/nodes/g?fields=levels").json() == {"levels": node["levels"]}
    assert "levels" not in server.get("/v1/datasets/d/nodes/g?fields=path").json()


def test_levels_that_are_missing_are_warnings(tmp_path, serve):
    write_node(tmp_path, group_document([scales("gone", "s", "sub", must_understand=False)]))
    write_node(tmp_path / "sub", group_document())
    write_values(tmp_path / "s", np.arange(4, dtype="u1"), (2,))
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "revalidate_ms": 0}}})
    node = server.get("/v1/datasets/d/nodes/")
    assert [level["shape"] for level in node.json()["levels"]] == [None, [4], None]
    at = "/extensions/0/configuration/multiscale/datasets/"
    assert [(w["code"], w["pointer"]) for w in node.json()["warnings"]] == [
        ("missing_array", at + "0"), ("not_an_array", at + "2")]
    get = lambda query: server.get(f"/v1/datasets/d/slices/?{query}")
    assert get("level=0").code == "node_not_found" and get("level=2").code == "not_an_array"
    assert get("level=1").body == get("").body == get("max_size=4").body == bytes(range(4))
    # The array comes: the group's own document is the same, what is shown of it is not.
    write_values(tmp_path / "gone", np.arange(8, dtype="u1"), (8,))
    after = server.get("/v1/datasets/d/nodes/", {"If-None-Match": node.headers["etag"]})
    assert after.status == 200 and after.json()["levels"][0]["shape"] == [8]
    assert get("").body == bytes(range(8))


# ---- example.tiered-storage


def slow(*paths):
    return extension("tiered-storage", {"slow-arrays": list(paths)}, must_understand=False)


def write_tiers(folder):
    write_node(folder, group_document([slow("g/deep/far", "top")]))
    write_node(folder / "g", group_document([slow("cold")]))
    for path in ("top", "warm", "g/cold", "g/warm", "g/deep/far", "g/deep/near"):
        write_values(folder / path, np.arange(8, dtype="u1"), (4,))
    write_node(folder / "g" / "deep", group_document())


def with_tiers(folder):
    return {"datasets": {"d": {"location": str(folder), "revalidate_ms": 0}}}


@pytest.fixture(scope="module")
def tiers(tmp_path_factory, serve_module):
    folder = tmp_path_factory.mktemp("tiers")
    write_tiers(folder)
    return serve_module(config=with_tiers(folder))


SLOW = {"top", "g/cold", "g/deep/far"}


def test_nodes_say_that_they_are_slow(tiers):
    server = tiers
    for path in ("top", "warm", "g", "g/cold", "g/warm", "g/deep/far", "g/deep/near", ""):
        node = server.get(f"/v1/datasets/d/nodes/{path}").json()
        assert node.get("tier") == ("slow" if path in SLOW else None), path


@pytest.mark.parametrize("query", ["", "node_type=array", "match=g/deep/*", "depth=2", "limit=2", "limit=3&node_type=array"])
@pytest.mark.parametrize("start", ["", "g", "g/deep", "g/deep/far"])
def test_listings_say_that_they_are_slow(tiers, start, query):
    server = tiers
    cursor, seen = "", []
    while cursor is not None:
        more = f"&cursor={cursor}" if cursor else ""
        page = server.get(f"/v1/datasets/d/tree/{start}?{query}{more}").json()
        seen += page["nodes"]
        cursor = page["next"]
    for row in seen:
        assert row.get("tier") == ("slow" if row["path"] in SLOW else None), row["path"]
    assert seen or "match" in query


def test_stored_listings_say_so_too(tmp_path, serve):
    array = array_document((8,), (4,), "uint8")
    root = group_document([slow("g/b")]) | {"consolidated_metadata": {
        "kind": "inline", "must_understand": False,
        "metadata": {"a": array, "g": group_document([slow("c")]), "g/b": array, "g/c": array}}}
    write_node(tmp_path, root)
    server = serve(f"d={tmp_path}")
    rows = server.get("/v1/datasets/d/tree/?mode=stored").json()["nodes"]
    assert [(row["path"], row.get("tier")) for row in rows] == [
        ("", None), ("a", None), ("g", None), ("g/b", "slow"), ("g/c", "slow")]


@pytest.mark.parametrize("target", ["slices/{}?slice=0:2", "chunks/{}?index=0", "chunks/{}?index=0&decoded=1", "stats/{}"])
def test_answers_warn_of_slow_arrays(tiers, target):
    server = tiers
    for path in ("top", "warm", "g/cold", "g/warm", "g/deep/far"):
        answer = server.get("/v1/datasets/d/" + target.format(path))
        assert answer.status == 200
        assert answer.headers.get("zarr-warning") == ("slow_tier" if path in SLOW else None)


def test_batches_leave_slow_arrays_out(tiers):
    server = tiers
    frames = {"Accept": "application/vnd.zarrd.frames"}
    ask = {"indices": [[0], [1]]}
    warm = server.post("/v1/datasets/d/chunks/warm", ask, frames)
    assert len(warm.body) == 2 * (4 + 8 + 4) and "zarr-warning" not in warm.headers
    with server.cost() as cost:
        out = server.post("/v1/datasets/d/chunks/top", ask, frames)
    assert out.status == 200 and out.body == b"" and out.headers["zarr-warning"] == "slow_tier"
    assert cost["zarrd_decodes_total"] == 0
    assert b"Content-ID" not in server.post("/v1/datasets/d/chunks/top", ask).body
    taken = server.post("/v1/datasets/d/chunks/top?slow=1", ask, frames)
    assert taken.body == warm.body and taken.headers["zarr-warning"] == "slow_tier"
    assert server.post("/v1/datasets/d/chunks/warm?slow=1", ask, frames).body == warm.body
    assert server.post("/v1/datasets/d/chunks/top?slow=2", ask, frames).code == "bad_parameter"


def test_tags_follow_what_the_groups_say(tmp_path, serve):
    write_tiers(tmp_path)
    server, folder = serve(config=with_tiers(tmp_path)), tmp_path
    targets = ["nodes/g/warm", "tree/g?node_type=array", "tree/g/deep"]
    before = [server.get(f"/v1/datasets/d/{target}").headers["etag"] for target in targets]
    write_node(folder / "g", group_document([slow("warm", "deep/near")]))
    for target, tag in zip(targets, before):
        answer = server.get(f"/v1/datasets/d/{target}", {"If-None-Match": tag})
        assert answer.status == 200 and b'"tier":"slow"' in answer.body, target


# ---- what is known, and the modes


def test_extensions_are_described(serve, tmp_path):
    server = serve(f"d={tmp_path}")
    known = {entry["name"]: entry for entry in server.get("/v1/extensions").json()["extensions"]}
    assert set(known) >= {f"example.{name}" for name in (
        "offset", "array-statistics", "skip_empty_chunks", "multiscale-arrays", "tiered-storage", "template")}
    for entry in known.values():
        schema = entry["configuration"]
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert entry["read"] and entry["write"]


ONLY_READ = {"suffix", "numcodecs.json2", "numcodecs.msgpack2"}


def test_every_part_of_the_build_is_described(serve, tmp_path):
    server = serve(f"d={tmp_path}")
    known = server.get("/v1/extensions").json()
    for registry, entries in known.items():
        for entry in entries:
            assert {"name", "aliases", "read", "write", "configuration"} <= set(entry), (registry, entry)
    by_name = {registry: {entry["name"]: entry for entry in entries} for registry, entries in known.items()}
    assert by_name["dialects"]["v3"]["write"]
    assert {"raw": True, "npy": True, "json": True, "csv": False}.items() <= {
        name: entry["write"] for name, entry in by_name["formats"].items()}.items()
    assert by_name["formats"]["npy"]["media_type"] == "application/x-npy"
    assert by_name["data_types"]["complex64"]["aliases"] == ["complex_float32"] and by_name["data_types"]["int8"]["aliases"] == []
    for entry in known["codecs"] + known["chunk_grids"] + known["chunk_key_encodings"]:
        assert entry["write"] == (entry["name"] not in ONLY_READ) and entry["configuration"]["type"] == "object", entry


@pytest.mark.parametrize("member,name,configurations", [
    ("chunk_grid", "regular", [{"chunk_shape": [2]}, {"chunk_shape": [-1]}, {"chunk_shape": ["2"]}, {}, {"chunk_shape": [2], "x": 1}]),
    ("chunk_grid", "rectilinear", [{"kind": "inline", "chunk_shapes": shapes} for shapes in (
        [4], [[4]], [[[4, 1]]], [[[1, 2], 2]], [[0, 4]], [[[4, 0]]], [[[4]]], [["4"]], ["4"], 4)]
     + [{"kind": "outside", "chunk_shapes": [4]}, {"chunk_shapes": [4]}, {"kind": "inline"}, {"kind": "inline", "chunk_shapes": [4], "x": 1}]),
    ("chunk_key_encoding", "default", [{}, {"separator": "/"}, {"separator": "."}, {"separator": "-"}, {"separator": 1}, {"x": 1}]),
    ("chunk_key_encoding", "v2", [{}, {"separator": "/"}, {"separator": ".", "x": 1}, {"separator": ""}]),
])
def test_the_served_schema_of_a_core_part_judges(serve, tmp_path, member, name, configurations):
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "writable": True, "durable": False}}})
    [schema] = [entry["configuration"] for entry in server.get("/v1/extensions").json()[f"{member}s"] if entry["name"] == name]
    for i, configuration in enumerate(configurations):
        document = {**array_document((4,), (4,), "int8", 0), member: {"name": name, "configuration": configuration}}
        answer = server.request("PUT", f"/v1/datasets/d/nodes/a{i}", {"Content-Type": "application/json"}, json.dumps(document).encode())
        assert (answer.status == 201) == jsonschema.Draft202012Validator(schema).is_valid(configuration), (configuration, answer)


def test_an_array_that_cannot_be_encoded_says_so(serve, tmp_path):
    write_node(tmp_path, group_document())
    for name, codecs in {"known": [LITTLE], "ignored": [LITTLE, {"name": "foobar", "must_understand": False}]}.items():
        write_node(tmp_path / name, {**array_document((4,), (4,), "int8", 0), "codecs": codecs})
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "writable": True, "accept_unknown": True}}})
    tree = {node["path"]: node["array"]["can"] for node in server.get("/v1/datasets/d/tree/?node_type=array").json()["nodes"]}
    for name, can_write in {"known": True, "ignored": False}.items():
        assert server.get(f"/v1/datasets/d/nodes/{name}").json()["array"]["can"] == tree[name]
        assert tree[name].pop("reason", "").endswith("cannot write its chunks") != can_write
        assert tree[name] == {"slice": True, "write": can_write}
        for target in [f"/v1/datasets/d/slices/{name}", f"/v1/datasets/d/chunks/{name}?index=0", f"/zarr/d/{name}/c/0"]:
            answer = server.request("PUT", target, {}, bytes(4))
            assert answer.status == 200 if can_write else answer.code == "unsupported_codec", (target, answer)


def test_the_served_schema_judges(serve, tmp_path):
    """What an outside validator makes of the served schemas is what the server makes of documents."""
    cases = {
        "example.offset": [{"offset": [1]}, {"offset": [-1]}, {"offset": ["1"]}, {}, {"offset": [0], "x": 1}],
        "example.array-statistics": [{"min": 1, "max": 2}, {"min": None, "max": 2}, {"min": 1}],
        "example.skip_empty_chunks": [{}, {"x": 1}],
        "example.template": [{"axis": 0}, {"axis": -1}, {"axis": 0.5}],
    }
    server = serve(f"d={tmp_path}")
    schemas = {entry["name"]: entry["configuration"] for entry in server.get("/v1/extensions").json()["extensions"]}
    for name, configurations in cases.items():
        for i, configuration in enumerate(configurations):
            path = f"{name}-{i}"
            write_node(tmp_path / path, array_document((4,), (4,), "int8", 0, [
                {"name": name, "configuration": configuration}]))
            is_valid = jsonschema.Draft202012Validator(schemas[name]).is_valid(configuration)
            node = server.get(f"/v1/datasets/d/nodes/{path}").json()
            assert ("refused" not in node) == is_valid, (name, configuration, node)
            if not is_valid:
                assert node["refused"]["pointer"].startswith("/extensions/0/configuration")


def test_strict_datasets_know_no_extensions(serve, tmp_path):
    write_values(tmp_path / "plain", np.arange(4, dtype="u1"), (4,))
    write_values(tmp_path / "offset", np.arange(4, dtype="u1"), (4,), extensions=[extension("offset", {"offset": [1]})])
    write_values(tmp_path / "ignorable", np.arange(4, dtype="u1"), (4,),
                extensions=[extension("skip_empty_chunks", must_understand=False)])
    write_node(tmp_path / "group", group_document([slow("a")]))
    server = serve(config={"datasets": {"strict": {"location": str(tmp_path), "extensions": "strict"},
                                        "zep10": {"location": str(tmp_path), "extensions": "zep10"}}})
    assert server.get("/v1/datasets/strict/slices/plain").status == 200
    for path in ("offset", "ignorable"):
        assert server.get(f"/v1/datasets/zep10/slices/{path}").status == 200
        for resource in ("slices", "stats"):
            problem = server.get(f"/v1/datasets/strict/{resource}/{path}")
            assert problem.status == 422 and problem.code == "unsupported_extension"
            assert problem.json()["names"] == ["extensions"]
        assert server.get(f"/zarr/strict/{path}/zarr.json").status == 200  # keys are transport
    for path in ("offset", "ignorable", "group"):
        assert server.get(f"/v1/datasets/strict/nodes/{path}").json()["refused"]["pointer"] == "/extensions"
        assert "refused" not in server.get(f"/v1/datasets/zep10/nodes/{path}").json()


# ---- writing documents


def send(server, method, path, document, query=""):
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return server.request(method, f"/v1/datasets/w/nodes/{path}{query}", {"Content-Type": kind},
                          json.dumps(document).encode())


@pytest.fixture
def writable(serve, tmp_path):
    return serve("-w", f"w={tmp_path}")


@pytest.mark.parametrize("entry, pointer, expected", [
    (extension("offset", {"offset": [5, 0]}), "/offset/0", "an integer from 0 to 4"),
    (extension("offset", {"offset": [-1, 0]}), "/offset/0", "at least 0"),
    (extension("array-statistics", {"min": 300, "max": 1}), "/min", None),
    (extension("array-statistics", {"min": 2, "max": 1}), "/max", "at least min"),
    (extension("skip_empty_chunks", {"level": 1}), "/level", None),
    (extension("template", {"axis": 2}), "/axis", "less than the rank, 2")])
def test_faulty_configurations_are_not_stored(writable, entry, pointer, expected):
    document = array_document((4, 4), (2, 2), "uint8", 0, [entry])
    routes = [send(writable, "PUT", "a", document), send(writable, "PUT", "a", document, "?dry_run=1"),
              writable.request("PUT", "/zarr/w/a/zarr.json", {}, json.dumps(document).encode())]
    for answer in routes:
        assert answer.status == 422 and answer.code == "invalid_metadata", answer
        fault = answer.json()["errors"][0]
        assert fault["pointer"] == "/extensions/0/configuration" + pointer
        assert fault["expected"] and (expected is None or fault["expected"] == expected)
        assert fault["found"]
    assert writable.get("/v1/datasets/w/nodes/a").status == 404


def test_all_faults_are_told_at_once(writable):
    document = array_document((4, 4), (0, 2), "uint8", 0, [
        extension("array-statistics", {"min": []}), extension("offset", {"offset": "x"}, must_understand=False),
        extension("array-statistics", {"min": 0, "max": 1})])
    answer = send(writable, "PUT", "a", document)
    at = "/extensions/{}/configuration/{}"
    assert {fault["pointer"] for fault in answer.json()["errors"]} >= {
        "/chunk_grid/configuration/chunk_shape/0", at.format(0, "min"), at.format(0, "max"), at.format(1, "offset"),
        "/extensions/1/must_understand"}


def test_extensions_survive_a_patch_in_order(writable):
    listed = [{"name": "urn:example:other", "must_understand": False, "configuration": {"z": 1, "a": [None]}},
              "example.skip_empty_chunks", extension("offset", {"offset": [1, 0]})]
    assert send(writable, "PUT", "a", array_document((4, 4), (2, 2), "uint8", 0, listed)).status == 201
    assert send(writable, "PATCH", "a", {"attributes": {"x": 1}}).status == 200
    assert writable.get("/zarr/w/a/zarr.json").json()["extensions"] == listed
    # The shape is judged with the offset: what would leave it outside is refused.
    assert send(writable, "PATCH", "a", {"shape": [1, 4]}).json()["array"]["shape"] == [0, 4]
    assert send(writable, "PATCH", "a", {"shape": [0, 4]}).json()["errors"][0]["pointer"] == (
        "/extensions/2/configuration/offset/0")


def test_levels_must_be_arrays_when_they_are_listed(writable):
    listing = group_document([scales("s0", "sub", "gone")])
    send(writable, "PUT", "g/s0", array_document((4,), (2,)))
    send(writable, "PUT", "g/sub", group_document())
    for query in ("", "?dry_run=1"):
        answer = send(writable, "PUT", "g", listing, query)
        assert answer.status == 422 and answer.code == "invalid_metadata"
        at = "/extensions/0/configuration/multiscale/datasets/"
        assert [(f["code"], f["pointer"], f["found"]) for f in answer.json()["errors"]] == [
            ("not_an_array", at + "1", "sub"), ("missing_array", at + "2", "gone")]
    key = writable.request("PUT", "/zarr/w/g/zarr.json", {}, json.dumps(listing).encode())
    assert key.status == 422
    assert send(writable, "PATCH", "g", {"extensions": listing["extensions"]}).status == 422
    assert "extensions" not in writable.get("/zarr/w/g/zarr.json").json()
    answer = send(writable, "PUT", "g", group_document([scales("s0")]))
    assert answer.status == 200 and answer.json()["levels"] == [{"path": "g/s0", "shape": [4]}]
    assert writable.get("/v1/datasets/w/nodes/g").headers["etag"] == answer.headers["etag"]
    # An array may go; what is stored is then warned of, and other members can be changed all the same.
    assert writable.request("DELETE", "/v1/datasets/w/nodes/g/s0").status == 204
    patched = send(writable, "PATCH", "g", {"attributes": {"x": 1}})
    assert patched.status == 200 and writable.get("/v1/datasets/w/nodes/g").json()["warnings"][0]["code"] == "missing_array"


def test_strict_datasets_store_no_extensions(serve, tmp_path):
    server = serve(config={"datasets": {"w": {"location": str(tmp_path), "extensions": "strict", "writable": True}}})
    document = array_document((4,), (2,), "uint8", 0, [extension("skip_empty_chunks", must_understand=False)])
    for answer in (send(server, "PUT", "a", document), send(server, "PUT", "g", group_document([slow("a")])),
                   server.request("PUT", "/zarr/w/a/zarr.json", {}, json.dumps(document).encode())):
        assert answer.status == 422 and answer.json()["errors"][0]["pointer"] == "/extensions"
    assert send(server, "PUT", "a", array_document((4,), (2,), "uint8")).status == 201
    assert send(server, "PATCH", "a", {"extensions": ["example.skip_empty_chunks"]}).status == 422
    assert list(tmp_path.glob("**/zarr.json")) and "extensions" not in server.get("/zarr/w/a/zarr.json").json()


# ---- writing elements


def put_key(server, path, values):
    return server.request("PUT", f"/zarr/w/{path}", {}, np.ascontiguousarray(values).tobytes())


def put_chunk(server, path, index, values, query=""):
    return server.request("PUT", f"/v1/datasets/w/chunks/{path}?index={index}{query}",
                          {"Content-Type": "application/octet-stream"}, np.ascontiguousarray(values).tobytes())


def put_slice(server, path, text, values, query=""):
    return server.request("PUT", f"/v1/datasets/w/slices/{path}?slice={text}{query}",
                          {"Content-Type": "application/octet-stream"}, np.ascontiguousarray(values).tobytes())


def bounds_of(server, path):
    entries = server.get(f"/zarr/w/{path}/zarr.json").json()["extensions"]
    found = [entry for entry in entries if isinstance(entry, dict) and entry["name"] == "example.array-statistics"]
    return found[0]["configuration"]["min"], found[0]["configuration"]["max"]


ROUTES = {
    "key": lambda server, values: put_key(server, "a/c/1/0", values),
    "encoded": lambda server, values: put_chunk(server, "a", "1,0", values),
    "decoded": lambda server, values: put_chunk(server, "a", "1,0", values, "&decoded=1"),
    "slice": lambda server, values: put_slice(server, "a", "2:4,0:2", values),
    "slices": lambda server, values: put_slice(server, "a", "1:4,0:2", np.pad(values, ((1, 0), (0, 0)))),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("values, expected", [
    ([[1, 2], [3, 4]], (1, 9)), ([[0, 0], [0, 5]], (1, 9)), ([[-7, 2], [3, 4]], (-7, 9)), ([[1, 2], [3, 2**63 - 1]], (1, 2**63 - 1))])
def test_bounds_are_never_false(writable, route, values, expected):
    listed = ["example.skip_empty_chunks", extension("array-statistics", {"min": 1, "max": 9}, must_understand=False)]
    send(writable, "PUT", "a", array_document((4, 4), (2, 2), "int64", 0, listed))
    answer = ROUTES[route](writable, np.array(values, "i8"))
    assert answer.status == 200, answer
    assert bounds_of(writable, "a") == expected
    assert writable.get("/zarr/w/a/zarr.json").json()["extensions"][0] == "example.skip_empty_chunks"
    declared = writable.get("/v1/datasets/w/stats/a?fill=drop").json()
    counted = writable.get("/v1/datasets/w/stats/a?fill=drop&fields=min,max,count").json()
    assert (declared["source"], declared["min"], declared["max"]) == ("metadata", *expected)
    assert counted["source"] == "computed" and expected[0] <= counted["min"] <= counted["max"] <= expected[1]
    # With the fill value, of which the bounds say nothing, they answer only where it lies within.
    plain = writable.get("/v1/datasets/w/stats/a").json()
    everything = writable.get("/v1/datasets/w/stats/a?fields=min,max,count").json()
    assert plain["source"] == ("metadata" if expected[0] <= 0 else "computed")
    assert plain["min"] <= everything["min"] <= 0 <= everything["max"] <= plain["max"]
    assert writable.get("/v1/datasets/w/slices/a?slice=2:4,0:2").body == np.array(values, "i8").tobytes()


def test_refused_and_dry_writes_widen_nothing(writable):
    send(writable, "PUT", "a", array_document((4, 4), (2, 2), "int64", 0, [extension("array-statistics", {"min": 1, "max": 9})]))
    large = np.full((2, 2), 100, "i8")
    assert put_chunk(writable, "a", "0,0", large, "&decoded=1&dry_run=1").status == 200
    assert put_slice(writable, "a", "0:2,0:2", large, "&dry_run=1").status == 200
    assert put_key(writable, "a/c/0/0", large[:1]).code == "corrupt_chunk"
    assert put_slice(writable, "a", "0:2,0:3", large).code == "bad_body"
    assert bounds_of(writable, "a") == (1, 9)


@pytest.mark.parametrize("route", ROUTES)
def test_empty_chunks_are_not_stored(serve, tmp_path, route):
    server = serve(config={"datasets": {"w": {"location": str(tmp_path), "writable": True, "write_empty_chunks": True}}})
    send(server, "PUT", "a", array_document((4, 4), (2, 2), "int64", 0, ["example.skip_empty_chunks"]))
    key = tmp_path / "a" / "c" / "1" / "0"
    assert ROUTES[route](server, np.ones((2, 2), "i8")).status == 200 and key.exists()
    assert ROUTES[route](server, np.zeros((2, 2), "i8")).status == 200 and not key.exists()
    assert ROUTES[route](server, np.zeros((2, 2), "i8")).status == 200 and not key.exists()
    assert server.get("/v1/datasets/w/slices/a").body == bytes(4 * 4 * 8)


def test_empty_chunks_are_taken_out_of_shards(serve, tmp_path):
    """A shard that comes by its key keeps its full chunks only."""
    shard = [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2], "codecs": [LITTLE], "index_codecs": [LITTLE]}}]
    server = serve("-w", f"w={tmp_path}")
    plain = array_document((4,), (4,), "int64", 0) | {"codecs": shard}
    send(server, "PUT", "plain", plain)
    send(server, "PUT", "a", plain | {"extensions": ["example.skip_empty_chunks"]})
    values = np.array([0, 0, 5, 6], "i8")
    index = np.array([0, 16, 16, 16], "u8")
    whole = values.tobytes() + index.tobytes()
    for path, size in (("plain", len(whole)), ("a", len(whole) - 16)):
        assert server.request("PUT", f"/zarr/w/{path}/c/0", {}, whole).status == 200
        assert server.get(f"/v1/datasets/w/slices/{path}").body == values.tobytes()
        assert len(server.get(f"/zarr/w/{path}/c/0").body) == size


@pytest.mark.parametrize("text, query", [("0:2,1:3", ""), ("-1,:", ""), ("::-1,0", ""), ("2,3", "&origin=stored"), ("...", "")])
def test_slices_are_written_from_the_offset(serve, tmp_path, text, query):
    values = np.arange(1, 64, dtype="i4").reshape(7, 9)
    write_values(tmp_path / "a", values, (3, 4), extensions=[extension("offset", {"offset": [2, 3]})])
    server = serve("-w", f"w={tmp_path}")
    expected = values.copy()
    part = expected if query else expected[2:, 3:]
    new = -np.arange(1, 1 + np.size(eval(f"part[{text}]")), dtype="i4").reshape(np.shape(eval(f"part[{text}]")))
    exec(f"part[{text}] = new")
    answer = put_slice(server, "a", text, new, query)
    assert answer.status == 200, answer
    assert server.get("/v1/datasets/w/slices/a?origin=stored").body == expected.tobytes()
    assert server.get("/v1/datasets/w/slices/a").body == np.ascontiguousarray(expected[2:, 3:]).tobytes()


def test_an_array_with_an_offset_and_bounds_grows(writable):
    send(writable, "PUT", "a", array_document((4, 3), (2, 3), "int64", 0, [
        extension("offset", {"offset": [1, 1]}), extension("array-statistics", {"min": 1, "max": 9})],
        dimension_names=["time", "x"]))
    answer = writable.request("PUT", "/v1/datasets/w/slices/a?append=time&expected_shape=3,2",
                              {"Content-Type": "application/json"}, json.dumps([[5, 20], [-3, 7]]).encode())
    assert answer.status == 200, answer
    node = writable.get("/v1/datasets/w/nodes/a").json()
    assert node["metadata"]["shape"] == [6, 3] and node["array"]["shape"] == [5, 2]
    assert bounds_of(writable, "a") == (-3, 20)
    assert writable.get("/v1/datasets/w/slices/a?slice=-2:").body == np.array([[5, 20], [-3, 7]], "i8").tobytes()
