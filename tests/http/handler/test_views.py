"""/v3 and /v3-unsharded: every hierarchy as readers of final v3 see it."""

import json
import urllib.parse
import warnings
import zlib

import numcodecs
import numpy as np
import pytest
import tensorstore
import zarr
from arrays import digest
from live import CORPUS, SHARED, STORES, Server, cases

VALUES = np.arange(24, dtype="<i4").reshape(4, 6)
PLAIN = [{"name": "bytes", "configuration": {"endian": "little"}}]
ZARR_PYTHON_TYPES = ("fixed_length_utf32", "null_terminated_bytes", "raw_bytes")
UNREADABLE = ("blosc:snappy", "dtype:|V", "dtype:r")  # by zarr-python 3, in any form


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps(document).encode() if isinstance(document, dict) else bytes(document))


def zarray(**more):
    return {"zarr_format": 2, "shape": [4, 6], "chunks": [2, 4], "dtype": "<i4", "compressor": None, "fill_value": -1,
            "order": "C", "filters": None, **more}


def write_array(folder, separator=".", encode=bytes, values=VALUES, **more):
    write(folder / ".zarray", zarray(dimension_separator=separator, **more))
    padded = np.zeros((4, 8), values.dtype)
    padded[:, :6] = values
    for i in range(2):
        for j in range(2):
            if (i, j) != (1, 1):  # that one is not stored
                part = padded[i * 2:i * 2 + 2, j * 4:j * 4 + 4].tobytes(more.get("order", "C"))
                write(folder / f"{i}{separator}{j}", encode(part))


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A v2 hierarchy with names that look like parts of chunk keys."""
    root = tmp_path_factory.mktemp("views") / "old.zarr"
    write(root / ".zgroup", {"zarr_format": 2})
    write(root / ".zattrs", {"title": "old"})
    write_array(root / "plain")
    write_array(root / "c", "/")
    write_array(root / "c" / "7" / "9")
    write_array(root / "sub" / "0", "/", order="F")
    write(root / "sub" / ".zgroup", {"zarr_format": 2})
    write_array(root / "zstd", encode=numcodecs.Zstd(3).encode, compressor={"id": "zstd", "level": 3})
    write_array(root / "blosc", encode=numcodecs.Blosc("lz4", 5, 1).encode,
                compressor={"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0})
    write_array(root / "zlib", encode=zlib.compress, compressor={"id": "zlib", "level": 1})
    write_array(root / "delta", encode=numcodecs.Delta("<i4").encode, filters=[{"id": "delta", "dtype": "<i4"}])
    write_array(root / "big", values=VALUES.astype(">i4"), dtype=">i4")
    write(root / "scalar" / ".zarray", zarray(shape=[], chunks=[], dtype="<f8"))
    write(root / "scalar" / "0", np.float64(2.5).tobytes())
    write(root / "refused" / ".zarray", zarray(compressor={"id": "pickle"}))
    write(root / "refused" / "0.0", b"x" * 32)
    return root


@pytest.fixture(scope="module")
def views(serve_module, old):
    return serve_module(f"old={old}")


ARRAYS = ["plain", "c", "c/7/9", "sub/0", "zstd", "blosc", "zlib", "delta", "big"]
DECODED = {"zlib", "delta"}
LISTED = {*ARRAYS, "scalar"} - {"c/7/9"}  # that one is below an array


@pytest.mark.parametrize("node", ARRAYS)
def test_a_chunk_is_the_stored_bytes_or_its_elements(views, old, node):
    document = views.get(f"/v3/old/{node}/zarr.json").json()
    assert document["zarr_format"] == 3 and document["shape"] == [4, 6]
    assert document["chunk_key_encoding"] == {"name": "default", "configuration": {"separator": "/"}}
    separator = json.loads((old / node / ".zarray").read_text())["dimension_separator"]
    for i, j in ((0, 0), (0, 1), (1, 0)):
        answer = views.get(f"/v3/old/{node}/c/{i}/{j}")
        assert answer.status == 200, answer
        if node in DECODED:
            assert document["codecs"] == PLAIN
            elements = np.frombuffer(answer.body, "<i4").reshape(2, 4)[:, :6 - 4 * j]
            assert (elements == VALUES[i * 2:i * 2 + 2, j * 4:j * 4 + 4]).all()
        else:
            assert answer.body == (old / node / f"{i}{separator}{j}").read_bytes()
        etag = answer.headers["etag"]
        assert views.get(f"/v3/old/{node}/c/{i}/{j}", {"If-None-Match": etag}).status == 304
        part = views.get(f"/v3/old/{node}/c/{i}/{j}", {"Range": "bytes=3-6"})
        assert part.status == 206 and part.body == answer.body[3:7]
        head = views.head(f"/v3/old/{node}/c/{i}/{j}")
        assert head.status == 200 and head.headers["content-length"] == str(len(answer.body))
    assert views.get(f"/v3/old/{node}/c/1/1").status == 404
    assert views.head(f"/v3/old/{node}/c/1/1").status == 404


@pytest.mark.parametrize("key", [
    "", "/", "/plain", "/plain/", "/plain/.zarray", "/.zgroup", "/.zattrs", "/plain/0.0", "/plain/c/2/0", "/plain/c/0",
    "/plain/c/0/0/0", "/plain/c/00/0", "/plain/c", "/nothing/zarr.json", "/nothing/c/0/0", "/c/0/0", "/c/c/0/2", "/sub/c/0/0",
    "/sub/0/0/0", "/c/0", "/scalar/0", "/0", "/c/zarr.json/0", "/" + "0/" * 40 + "0", "/" + "x" * 2000,
])
def test_a_key_outside_the_view_is_not_found(views, key):
    assert views.get(f"/v3/old{key}").status in (404, 414)


def test_a_scalar_has_a_chunk(views):
    assert views.get("/v3/old/scalar/c").body == np.float64(2.5).tobytes()


def test_a_group_has_all_documents_below_it(views):
    answer = views.get("/v3/old/zarr.json")
    document = answer.json()
    assert document["node_type"] == "group" and document["attributes"] == {"title": "old"}
    listed = document["consolidated_metadata"]["metadata"]
    assert set(listed) == {*LISTED, "sub"}
    for node in LISTED:
        assert listed[node] == views.get(f"/v3/old/{node}/zarr.json").json()
    assert set(views.get("/v3/old/sub/zarr.json").json()["consolidated_metadata"]["metadata"]) == {"0"}
    assert views.get("/v3/old/zarr.json", {"If-None-Match": answer.headers["etag"]}).status == 304


def test_a_refused_picture_says_why(views):
    for key in ("zarr.json", "c/0/0"):
        answer = views.get(f"/v3/old/refused/{key}")
        assert answer.status == 404 and answer.json()["code"] == "key_not_found" and "pickle" in answer.json()["detail"]
    nodes = {node["path"]: node for node in views.get("/v1/datasets/old/tree/").json()["nodes"]}
    assert "pickle" in nodes["refused"]["refused"]["detail"]


def test_keys_that_are_not_served_are_in_no_view(serve, old):
    server = serve(config={"datasets": {"old": {"location": str(old), "allow_keys": False}}})
    for key in ("zarr.json", "plain/c/0/0", "nothing"):
        for view in ("v3", "v3-unsharded"):
            assert server.get(f"/{view}/old/{key}").status == 403


def test_a_view_is_only_read(views):
    for method in ("PUT", "DELETE", "POST", "PATCH"):
        answer = views.request(method, "/v3/old/plain/c/0/0", body=b"x" * 32)
        assert answer.status == 405 and answer.json()["code"] == "method_not_allowed"


SAMPLE = 8  # of a store of the shared collection
NUMBERS = {f"{order}{name}" for order in "<|" for name in "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()}
UNSUPPORTED = {"pcodec"}


def is_fixed(case):
    """Elements of variable length: tests/http/data/test_variable_length.py."""
    return not isinstance(case["dtype"], str) or not case["dtype"].startswith(("vlen", "string", "bytes"))


def whole_arrays(folder):
    """Of each store, and each order of the axes of N5, the arrays and what their library reads of them."""
    by_store = {}
    for case in cases(folder):
        whole = next((one for one in case["selections"] if one["slice"] == ""), None)
        plain = not set("%#?&") & set(case["node"]) and not any(need.startswith(UNREADABLE) for need in case["needs"])
        if whole and plain and is_fixed(case) and not case["store"].endswith(".zip"):
            by_store.setdefault((case["store"], case.get("axes")), []).append((case, whole["sha256"]))
    return by_store


def old_stores():
    for folder, stores in ((CORPUS, STORES), (SHARED, SHARED / "stores")):
        for (store, axes), group in sorted(whole_arrays(folder).items(), key=str):
            if not store.startswith("v3/") and not store.startswith("real/"):
                sample = group if folder is CORPUS else group[:: 1 + len(group) // SAMPLE]
                yield pytest.param(stores / store, axes, sample, id=f"{folder.parent.name}-{store}-{axes or ''}")


def read_by_zarr(url):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zarr.open_array(url, mode="r")[...]


def read_by_tensorstore(url):
    return tensorstore.open({"driver": "zarr3", "kvstore": url + "/"}, open=True, read=True).result().read().result()


def is_readable(document, read):
    """Data types that are no plain numbers are known to zarr-python alone, and structures to later versions of it."""
    if isinstance(document["data_type"], dict) and document["data_type"]["name"] == "struct":
        return False
    return read is read_by_zarr or (isinstance(document["data_type"], str) and document["data_type"] not in ZARR_PYTHON_TYPES)


@pytest.mark.parametrize("store, axes, group", old_stores())
def test_clients_of_v3_read_what_is_older(store, axes, group):
    dataset = {"location": str(store), **({"n5_axes": axes} if axes else {})}
    server = Server(config={"datasets": {"old": dataset}})
    try:
        connection = server.connection()
        for case, sha256 in group:
            path = urllib.parse.quote(case["node"])
            answer = server.get(f"/v3/old/{path}/zarr.json".replace("//", "/"), connection=connection)
            if answer.status == 404:  # only what v3 has no words for is not there
                assert str(case["dtype"]) not in NUMBERS or UNSUPPORTED & set(case["needs"]), (case["store"], case["node"], answer)
                continue
            for read in filter(lambda read: is_readable(answer.json(), read), (read_by_zarr, read_by_tensorstore)):
                where = (case["store"], case["node"], read)
                assert digest(read(f"{server.url}/v3/old/{path}".rstrip("/"))) == sha256, where
    finally:
        server.stop()


def test_clients_read_shards_as_plain_arrays(server):
    count = 0
    for case, sha256 in whole_arrays(CORPUS)["v3/sharding", None]:
        node = case["node"]
        document = server.get(f"/v3-unsharded/sharding/{node}/zarr.json").json()
        assert "sharding_indexed" not in json.dumps(document["codecs"]), node
        for read in (read_by_zarr, read_by_tensorstore):
            assert digest(read(f"{server.url}/v3-unsharded/sharding/{node}")) == sha256, (node, read)
        count += 1
    assert count > 10


def test_an_inner_chunk_is_served_by_its_own_key(server):
    seen = 0
    for one in server.get("/v1/datasets/sharding/tree/?node_type=array").json()["nodes"]:
        array, path = one["array"], one["path"]
        if array["inner_chunk_shape"] is None or "names" in one.get("refused", {}):
            continue
        n = [-(-size // chunk) for size, chunk in zip(array["shape"], array["inner_chunk_shape"])]
        for index in np.ndindex(*[min(count, 3) for count in n]):
            number = ",".join(map(str, index))
            document = server.get(f"/v3-unsharded/sharding/{path}/zarr.json").json()
            form = "&decoded=1" if document["codecs"] == PLAIN else ""
            inner = server.get(f"/v1/datasets/sharding/chunks/{path}?index={number}&level=inner{form}")
            view = server.get(f"/v3-unsharded/sharding/{path}/c/{number.replace(',', '/')}")
            if document["chunk_grid"]["configuration"]["chunk_shape"] == array["inner_chunk_shape"]:
                is_stored = inner.status == 200 and "zarr-chunk" not in inner.headers
                assert view.status == (200 if is_stored else 404) and (not is_stored or view.body == inner.body), path
                seen += 1
    assert seen > 30
