"""What a credential may not read does not exist for it: two servers, whose stores differ only in that, answer every request alike.

The stores are random, as are the requests; the seed is printed. On the second server an administrator reads and writes in between, so that
neither its caches nor its changes show. ZARRD_INTERFERENCE asks for another number of requests, ZARRD_INTERFERENCE_SEED for a seed.
"""

import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import threading

import jose
import numpy as np
import pytest
from arrays import write_array, write_node, write_values
from client import SANITIZED
from documents import LITTLE, array_document, extension, group_document, shard
from search_rounds import rounds
from test_tokens import bearer, entry, write_tokens

N = int(os.environ.get("ZARRD_INTERFERENCE") or (500 if SANITIZED else rounds(10000)))
SEED = int(os.environ.get("ZARRD_INTERFERENCE_SEED", random.SystemRandom().randrange(2**32)))
STORES = 2 if SANITIZED else 5
THREADS = 4
SHOWN_N = 40

# Paths that the limited credentials may read. Everything else in `a3` and `a2` is hidden.
PATHS = ["pub/**", "mix", "mix/a", "mix/x", "pyr", "pyr/s1", "pyr/s3", "ome", "ome/s1", "sec/deep/vis/**", "lone"]
VISIBLE = ["pub", "pub/a", "pub/b", "pub/x", "pub/y", "pub/sub", "pub/sub/c", "pub/pyr", "pub/pyr/s0", "pub/pyr/s1", "pub/gone", "mix", "mix/a", "mix/x",
           "pyr", "pyr/s1", "pyr/s3", "ome", "ome/s1", "sec/deep/vis", "sec/deep/vis/d", "sec/deep/vis/x", "lone"]
HIDDEN = ["", "t", "x", "y", "sec", "sec/deep", "sec/t", "mix/h", "mix/y", "mix/t", "mix/h/i", "pyr/s0", "pyr/s2", "pyr/y", "pyr/x", "ome/s0", "ome/s2",
          "other", "publi", "lon", "lone/x", "sec/deep/x", "sec/deep/vi"]
DATASETS = ["a3"] * 6 + ["a2"] * 4 + ["secret", "open", "nope"]
TIERED = "tiered-storage"
MERGE = {"Content-Type": "application/merge-patch+json"}


# ---- two stores ----


class Store:
    """Writes one hierarchy; the same calls give the same bytes, in v3 or in v2."""

    def __init__(self, folder, version):
        self.folder, self.version = folder, version

    def group(self, path, attributes=None, extensions=None):
        folder = self.folder / path
        if self.version == 3:
            write_node(folder, {**group_document(extensions), "attributes": attributes or {}})
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".zgroup").write_text('{"zarr_format": 2}')
        if attributes:
            (folder / ".zattrs").write_text(json.dumps(attributes))

    def array(self, path, values, chunks, dims=None, attributes=None, sharded=False):
        folder = self.folder / path
        if self.version == 3:
            more = {"attributes": attributes or {}, **({"dimension_names": dims} if dims else {})}
            if sharded:
                write_array(folder, values.shape, chunks, [shard(chunks, [LITTLE])], dtype=values.dtype.name, **more)
            else:
                write_values(folder, values, chunks, **more)
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".zarray").write_text(json.dumps({
            "zarr_format": 2, "shape": values.shape, "chunks": values.shape, "dtype": values.dtype.str, "compressor": None, "filters": None, "fill_value": 0,
            "order": "C"}))
        (folder / ".zattrs").write_text(json.dumps({**(attributes or {}), **({"_ARRAY_DIMENSIONS": dims} if dims else {})}))
        (folder / ".".join("0" * values.ndim)).write_bytes(values.tobytes())


    def consolidate(self, path, groups):
        """Consolidated metadata of a group that is there."""
        file = self.folder / path / ("zarr.json" if self.version == 3 else ".zmetadata")
        if self.version == 2:
            file.write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": {f"{name}/.zgroup": {"zarr_format": 2} for name in groups}}))
            return
        listing = {"kind": "inline", "must_understand": False, "metadata": {name: group_document() for name in groups}}
        document = json.dumps({**json.loads(file.read_text()), "consolidated_metadata": listing})
        file.unlink()  # it is a link to what both stores have
        file.write_text(document)


def levels(*paths):
    return [extension("multiscale-arrays", {"multiscale": {"datasets": list(paths)}}, must_understand=False)]


def ome(*paths):
    return {"multiscales": [{"version": "0.4", "axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
                             "datasets": [{"path": path, "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]} for path in paths]}]}


def write_visible(store, rng):
    """What both stores have. The random numbers are the same for both."""
    n = rng.choice([6, 9])
    values = np.arange(4 * n * n, dtype=rng.choice(["f4", "i2", "f8"])).reshape(4, n, n)
    plane = values[0]
    store.group("pub", {"kind": "visible"})
    store.array("pub/a", values, (2, 4, 4), ["t", "y", "x"], {"units": "K"})
    store.array("pub/b", plane, (4, 4), ["y", rng.choice(["x", "z", "gone"])], sharded=rng.random() < 0.5)
    store.array("pub/x", np.linspace(0, 1, n), (n,), ["x"])
    if rng.random() < 0.5:
        store.array("pub/y", np.linspace(5, 6, n), (n,), ["y"])
    store.group("pub/sub")
    store.array("pub/sub/c", values, (4, n, n), ["t", "y", "x"])
    store.group("pub/pyr", None, levels("s0", "s1"))
    store.array("pub/pyr/s0", plane, (4, 4), ["y", "x"])
    store.array("pub/pyr/s1", plane[::2, ::2].copy(), (4, 4))
    store.group("mix", {"half": True}, [extension(TIERED, {"slow-arrays": ["a"]}, must_understand=False)])
    store.array("mix/a", values, (2, n, n), ["t", "y", "x"])
    if rng.random() < 0.7:
        store.array("mix/x", np.arange(n, dtype="f8"), (n,), ["x"])
    store.group("pyr", None, levels("s0", "s1", "s2", "s3"))
    store.array("pyr/s1", plane, (4, 4), ["y", "x"])
    if rng.random() < 0.5:
        store.array("pyr/s3", plane[::2, ::2].copy(), (4, 4), ["y", "x"])
    store.group("ome", ome("s0", "s1", "s2"))
    store.array("ome/s1", plane, (4, 4), ["y", "x"])
    store.group("sec/deep/vis", {"deep": 1})
    store.array("sec/deep/vis/d", values, (2, 4, 4), ["t", "y", "x"])
    store.array("sec/deep/vis/x", np.linspace(0, 1, n), (n,), ["x"])
    store.array("lone", plane, (4, 4), ["y", "x"])


def write_hidden(store, rng, n):
    """What the limited credentials may not read: another one in each store."""
    root = {"title": f"hidden {rng.random()}"}
    if rng.random() < 0.8:
        slow = rng.sample(["pub", "pub/a", "mix/a", "sec/deep/vis/d", "lone", "pyr/s1"], 2)
        store.group("", root, [extension(TIERED, {"slow-arrays": slow}, must_understand=False)])
    for path in ("sec", "sec/deep"):
        if rng.random() < 0.7:
            slow = [extension(TIERED, {"slow-arrays": ["vis/d", "deep/vis/d"]}, must_understand=False)] if rng.random() < 0.5 else None
            store.group(path, {"n": rng.randrange(99)}, slow)
    for path in ("t", "x", "y", "z", "sec/t", "sec/deep/y", "mix/y", "mix/t", "pyr/y", "pyr/x", "ome/x"):
        if rng.random() < 0.5:
            length = 4 if path.endswith("t") else n
            values = np.sort(np.array([rng.randrange(1000) for _ in range(length)], dtype="f8"))
            store.array(path, values, (length,), [path[-1]], {"units": rng.choice(["K", "m", "days since 2000-01-01"])})
    for path in ("pyr/s0", "pyr/s2", "ome/s0", "ome/s2"):
        kind = rng.choice(["array", "array", "group", "none", "broken", "small"])
        size = 1 if kind == "small" else rng.choice([n, 2 * n, n // 3])
        if kind in ("array", "small"):
            store.array(path, np.full((size, size), rng.randrange(1000), rng.choice(["f4", "i2"])), (size, size), rng.choice([["y", "x"], ["p", "q"], None]))
        elif kind == "group":
            store.group(path)
        elif kind == "broken":
            (store.folder / path).mkdir(parents=True)
            (store.folder / path / ("zarr.json" if store.version == 3 else ".zarray")).write_text("{")
    if rng.random() < 0.7:
        store.consolidate("mix", [f"{rng.choice(['h', '__h'])}{rng.randrange(99)}" for _ in range(3)])
    for path in ("mix/h", "mix/h/i", "other", "publi", "lon", "other/deep"):
        if rng.random() < 0.5:
            store.group(path) if rng.random() < 0.5 else store.array(path, np.zeros((3, 3)), (3, 3))
    if store.version == 3 and (store.folder / "zarr.json").exists() and rng.random() < 0.7:
        listing = {"kind": "inline", "must_understand": False, "metadata": {"pub/ghost": group_document(), "sec/ghost": group_document()}}
        document = json.loads((store.folder / "zarr.json").read_text())
        write_node(store.folder, {**document, "consolidated_metadata": listing})
    elif store.version == 2 and rng.random() < 0.7:
        (store.folder / ".zmetadata").write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": {"pub/ghost/.zgroup": {"zarr_format": 2}}}))


def write_common(folder, seed):
    """What both servers have."""
    for name, version in (("a3", 3), ("a2", 2)):
        (folder / name).mkdir(parents=True)
        write_visible(Store(folder / name, version), random.Random(seed))
    write_node(folder / "open", group_document())
    write_values(folder / "open" / "a", np.arange(6.0), [4])


def make_stores(common, folder, seed, which):
    """The data sets of one server. What is common is the same file: tags depend on when a file was changed."""
    names = ["a3", "a2", "open", *(["secret"] if which == 1 else [])]
    for name in names:
        shutil.copytree(common / ("a3" if name == "secret" else name), folder / name, copy_function=os.link)
    for name, version in (("a3", 3), ("a2", 2)):
        length = np.prod(json.loads((folder / name / "pub/x" / ("zarr.json" if version == 3 else ".zarray")).read_text())["shape"])
        write_hidden(Store(folder / name, version), random.Random(f"{seed} {which}"), int(length))
    return {name: {"location": str(folder / name), "writable": name != "open", **({} if name == "open" else {"access": "private"})} for name in names}


# ---- the requests ----


def some(rng, *values, chance=0.3):
    return rng.choice(values) if rng.random() < chance else None


def item_of(rng):
    return rng.choice(["0", "1", "0:2", "::2", ":", "-1", "9", "1:1"])


def shape_parameters(rng):
    """What selects and changes elements."""
    spec = rng.choice(["0", "nearest::0.4", "0/1", "ffill::3", "500", "nearest::700", "2000-01-05", "../..", "x"])
    return {
        "slice": some(rng, *[",".join(item_of(rng) for _ in range(rank)) for rank in (1, 2, 3)]),
        "sel": some(rng, *[f"{dim}={spec}" for dim in "txyz"], chance=0.35),
        "isel": some(rng, *[f"{dim}={item_of(rng)}" for dim in "txyz"], chance=0.1),
        "level": some(rng, *"012347", chance=0.25),
        "max_size": some(rng, "1", "4", "9", "36", "1000", "100000", chance=0.25),
        "decode": some(rng, "cf", chance=0.1),
        "reduce": some(rng, "mean", "min", chance=0.1),
        "coarsen": some(rng, "x:2", chance=0.05),
        "plan": some(rng, "1", chance=0.05),
    }


def slice_parameters(rng):
    names = ["a", "b", "x", "c", "h", "s0", "s1", "s2", "sub/c", "y", "t", "h/i", "gone"]
    return {
        **shape_parameters(rng),
        "format": some(rng, "json", "csv", "npz", "netcdf", "npy", "raw", "zip", chance=0.7),
        "layout": some(rng, "table", chance=0.2),
        "coords": some(rng, "0", "1"),
        "arrays": some(rng, *[",".join(rng.sample(names, k)) for k in (1, 2)], chance=0.2),
        "origin": some(rng, "stored", chance=0.05),
        "typo": some(rng, "1", chance=0.02),
    }


def image_parameters(rng):
    return {
        **shape_parameters(rng),
        "tile": some(rng, "0,0,0", "1,0,0", "2,0,0", "3,0,0", "4,0,0", "0,1,1", chance=0.6),
        "tile_size": some(rng, "4", "256"),
        "vmin": some(rng, "0", chance=0.15),
        "vmax": some(rng, "9", chance=0.15),
        "cmap": some(rng, "gray", "nope", chance=0.1),
        "size": some(rng, "4x4", chance=0.1),
    }


def tree_parameters(rng):
    return {
        "mode": some(rng, "auto", "live", "stored", chance=0.6),
        "check": some(rng, "1"),
        "depth": some(rng, "0", "1", "5"),
        "match": some(rng, "**/a", "pub/*"),
        "type": some(rng, "array", "group"),
        "limit": some(rng, "1", "2"),
        "format": some(rng, "json", "zarr", "zmetadata"),
        "fields": some(rng, "path", "metadata"),
        "cursor": some(rng, "cHVi", "x", chance=0.1),
    }


def node_parameters(rng):
    return {"fields": some(rng, "levels", "children", "warnings", "tier", "links", "path,shape", "levels.shape", "array")}


def chunk_parameters(rng):
    return {"index": some(rng, "0", "0,0", "0,0,0", "1,1", "9,9", chance=0.9), "decoded": some(rng, "1"), "level": some(rng, "0", "1"),
            "present": some(rng, "1", chance=0.1)}


RESOURCES = {"nodes": (node_parameters, 4), "tree": (tree_parameters, 2), "slices": (slice_parameters, 6), "stats": (shape_parameters, 2),
             "images": (image_parameters, 4), "chunks": (chunk_parameters, 2)}
PLAIN = ["/", "/v1", "/v1/datasets", "/v1/datasets", "/readyz", "/v1/limits", "/v1/extensions", "/v1/datasets/{d}", "/v1/datasets/{d}", "/zarr/", "/zarr/{d}/", "/livez",
         "/healthz", "/openapi.json", "/v1/colormaps", "/v1/dataset", "/zarr/{d}", "/explore/{d}/", "/v1/datasets/{d}/events?path=", "/docs", "/v1/sign"]
SUFFIXES = ["", "/", "/zarr.json", "/.zarray", "/.zattrs", "/.zgroup", "/.zmetadata", "/c/0/0", "/c/0/0/0", "/0.0", "/0.0.0", "/nothing"]


def path_of(rng):
    return rng.choice(VISIBLE if rng.random() < 0.65 else HIDDEN)


def query_of(rng, parameters):
    pairs = [f"{name}={value}" for name, value in parameters.items() if value is not None]
    if rng.random() < 0.7:
        pairs = rng.sample(pairs, min(2, len(pairs)))  # most of the rest contradict each other
    return "?" + "&".join(pairs) if pairs else ""


def target_of(rng, d):
    kind = rng.random()
    if kind < 0.12:
        return rng.choice(PLAIN).replace("{d}", d)
    if kind < 0.32:
        view = rng.choice(["zarr", "zarr", "v3", "v3-unsharded"])
        return "/".join([f"/{view}/{d}", *filter(None, [path_of(rng)])]) + rng.choice(SUFFIXES)
    resource = rng.choices(list(RESOURCES), [weight for _, weight in RESOURCES.values()])[0]
    path = "a" if d == "open" else path_of(rng)
    return f"/v1/datasets/{d}/{resource}/{path}{query_of(rng, RESOURCES[resource][0](rng))}"


def body_of(rng, d):
    """Some requests carry a body. (method, target, body) or None."""
    path = path_of(rng)
    base = f"/v1/datasets/{d}"
    return rng.choice([
        ("POST", f"{base}/chunks/{path}", {"indices": [[0, 0], [1, 1]], "decoded": rng.random() < 0.5}),
        ("POST", f"{base}/slices/{path}", {"sel": {rng.choice("txy"): rng.choice([0, "0/1", 0.5])}, "format": "json"}),
        ("POST", f"{base}/slices/{path}", {"arrays": rng.sample(["a", "b", "x", "h", "t", "s0"], 2), "format": "npz", "coords": rng.random() < 0.5}),
        ("POST", f"{base}/slices/{path}", {"points": [[0, 0], [1, 2]], "format": "json", "level": rng.randrange(4)}),
    ])


# ---- the comparison ----


def plain(text):
    """Without what is the server's own: ids of requests and of events, its place, the time, and what a plan learns from earlier requests."""
    for pattern, by in PLAIN_PATTERNS:
        text = pattern.sub(by, text)
    return text


PLAIN_PATTERNS = [(re.compile(pattern), by) for pattern, by in [
    (rb"127\.0\.0\.1:\d+", b"HOST"),
    (rb'"(uptime_s|started|instance)": ?[^,}]+', b""),
    (rb"id: [0-9a-f]{32}\n", b"id: ID\n"),
    (rb"zarrd-[0-9a-f]{16}", b"BOUNDARY"),
    (rb'"expected_ms":\{[^}]*\}|"(cached|measured|read_bytes|decode_bytes)":[^,}]+', b""),
]]
OWN_HEADERS = ("date", "x-request-id", "server-timing")


def shown(answer, folder, target):
    """What must be equal. Like /metrics, the limits tell how much memory and how many places requests of all clients have in use now:
    access.protect_service is for whoever minds."""
    if target.startswith("/v1/limits"):
        return answer.status, {}, b""
    own = (*OWN_HEADERS, "etag", "content-length") if "plan=1" in target else OWN_HEADERS  # what chunks took lately is in the tag of a plan
    headers = {name: plain(value.encode()) for name, value in answer.headers.items() if name not in own}
    return answer.status, headers, plain(answer.body.replace(answer.headers.get("x-request-id", "-").encode(), b"ID")).replace(str(folder).encode(), b"FOLDER")


class Pair:
    """Both servers, and a connection of each thread to each of them."""

    def __init__(self, servers, folders):
        self.servers, self.folders, self.own = servers, folders, threading.local()

    def ask(self, which, method, target, headers, body=None):
        if not hasattr(self.own, "connections"):
            self.own.connections = [server.connection() for server in self.servers]
        for attempt in range(2):
            connection = self.own.connections[which]
            try:
                return self.servers[which].request(method, target, headers, body, connection=connection)
            except (http.client.HTTPException, ConnectionError):
                connection.close()
                if attempt == 1:
                    raise
        return None

    def compare(self, method, target, headers, body=None):
        """The answer of the first server, and how that of the second one differs: "" if it does not."""
        answers = [self.ask(which, method, target, headers, body) for which in range(2)]
        both = [shown(answer, folder, target) for answer, folder in zip(answers, self.folders)]
        parts = [[("status", status), *head.items(), ("body", body)] for status, head, body in both]
        ways = [[part for part in own if part not in other] for own, other in (parts, parts[::-1])]
        return answers[0], f"{method} {target} {headers} {body}\n  {ways[0]}\n  {ways[1]}" if both[0] != both[1] else ""


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return jose.Key(tmp_path_factory.mktemp("jose"), "k", "EdDSA")


def credentials(key):
    # The path of a scope is all below it.
    below = [path.removesuffix("/**") for path in PATHS if path not in ("mix", "pyr", "ome")]
    scope = " ".join(f"read:{d}/{path}" for d in ("a3", "a2") for path in below)
    return {"nobody": {}, "reader": bearer("reader"), "writer": bearer("writer"), "else": bearer("else"), "jwt": {"Authorization": f"Bearer {key.token(scope)}"}}


@contextlib.contextmanager
def pair_of(tmp_path, serve, key, seed):
    (tmp_path / "keys.json").write_bytes(jose.jwks(key))
    limits = {"datasets": ["a3", "a2"], "paths": PATHS}
    file = write_tokens(tmp_path / "tokens.json", entry("reader", "read", **limits), entry("writer", "read", "write", **limits),
                        entry("else", "read", datasets=["open", "other"]),
                        entry("root", "read", "write", "admin", datasets=["a3", "a2", "open", "secret"]))
    settings = ["--listen", "0.0.0.0:0", "--set", f"access.tokens_file={file}", "--set", f"access.jwks_file={tmp_path / 'keys.json'}",
                "--set", f"access.jwt_issuer={jose.ISSUER}", "--set", f"access.jwt_audience={jose.AUDIENCE}"]
    servers, folders = [], []
    write_common(tmp_path / f"{seed}" / "common", seed)
    for which in range(2):
        folders.append(tmp_path / f"{seed}" / f"store-{which}")
        datasets = make_stores(tmp_path / f"{seed}" / "common", folders[-1], seed, which)
        servers.append(serve(*settings, config={"datasets": datasets}))
    yield Pair(servers, folders)


def hidden_writes(rng, d):
    """A change that only the administrator sees."""
    path = rng.choice(["other", "mix/h", "pyr/s2", "sec/new", "z"])
    document = group_document() if rng.random() < 0.3 else array_document([5], [5], "float64")
    return rng.choice([("PUT", f"/v1/datasets/{d}/nodes/{path}", json.dumps(document).encode()),
                       ("DELETE", f"/v1/datasets/{d}/nodes/{path}?recursive=1", None)])


def run_requests(pair, who, seed, n):
    rng = random.Random(seed)
    tags, n_good, found = [], 0, []
    for _ in range(n):
        d = rng.choice(DATASETS)
        method = rng.choices(["GET", "HEAD", "OPTIONS", "PROPFIND"], [20, 2, 1, 1])[0]
        target, body = target_of(rng, d), None
        if "/events" in target and method == "GET":
            method = "HEAD"  # a stream has no end
        if rng.random() < 0.1:
            method, target, document = body_of(rng, d)
            body = json.dumps(document).encode()
        headers = dict(who[rng.choice(["nobody", "reader", "reader", "reader", "writer", "writer", "jwt", "jwt", "else"])])
        if body is not None:
            headers["Content-Type"] = "application/json"
        if rng.random() < 0.1:
            headers["Accept"] = rng.choice(["text/html", "application/json", "application/x-netcdf", "text/csv", "image/png", "*/*"])
        if tags and rng.random() < 0.1:
            headers["If-None-Match"] = rng.choice(tags)
        if rng.random() < 0.05:
            headers["Range"] = rng.choice(["bytes=0-3", "bytes=-2", "bytes=100000-"])
        if rng.random() < 0.3:
            pair.ask(1, method, target, {**headers, **bearer("root")}, body)
        if rng.random() < 0.03:
            change, place, document = hidden_writes(rng, rng.choice(["a3", "a2"]))
            pair.ask(1, change, place, bearer("root"), document)
        answer, difference = pair.compare(method, target, headers, body)
        n_good += answer.status == 200
        found += filter(None, [difference])
        if "etag" in answer.headers and len(tags) < 100:
            tags.append(answer.headers["etag"])
    return n_good, found


def test_hidden_data_do_not_show(tmp_path, serve, key):
    print(f"seed {SEED}")
    n_good = 0
    who = credentials(key)
    for number in range(STORES):
        seed = SEED + number
        with pair_of(tmp_path, serve, key, seed) as pair, concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            runs = [pool.submit(run_requests, pair, who, f"{seed} {thread}", N // STORES // THREADS) for thread in range(THREADS)]
            results = [run.result() for run in runs]
        n_good += sum(result[0] for result in results)
        found = [difference for _, differences in results for difference in differences]
        assert not found, f"seed {SEED}: {len(found)} answers differ\n" + "\n".join(found[:SHOWN_N])
    assert n_good > N / 8


@pytest.mark.parametrize("version", [3, 2])
def test_warnings_do_not_name_what_may_not_be_read(tmp_path, serve, version):
    """Those of consolidated metadata name nodes below the group."""
    store = Store(tmp_path / "w", version)
    store.group("")
    store.group("mix")
    store.consolidate("mix", ["../secret"])
    file = write_tokens(tmp_path / "tokens.json", entry("group", "read", "write", paths=["mix"]), entry("below", "read", paths=["mix/**"]))
    server = serve("--listen", "0.0.0.0:0", "--set", f"access.tokens_file={file}",
                   config={"datasets": {"w": {"location": str(store.folder), "writable": True}}})
    target = "/v1/datasets/w/nodes/mix"
    patch = json.dumps({"attributes": {"n": 1}}).encode()
    assert b"secret" in server.get(target, bearer("below")).body
    for answer in (server.get(target, bearer("group")), server.request("PATCH", target, {**bearer("group"), **MERGE}, patch)):
        assert answer.status == 200 and b"secret" not in answer.body and answer.json()["warnings"] == []


def blocks_of(server, query, last_id=None):
    """The blocks of an event stream as name -> value, as they come."""
    connection = server.connection()
    connection.request("GET", f"/v1/datasets/a3/events{query}", headers={} if last_id is None else {"Last-Event-ID": last_id})
    answer = connection.getresponse()
    assert answer.status == 200
    fields = {}
    while line := answer.readline():
        name, _, value = line.decode().strip().partition(": ")
        if name:
            fields[name] = value
        else:
            yield fields
            fields = {}


def test_events_do_not_count_what_may_not_be_read(tmp_path, serve, key):
    """Both readers get the same lines, but for ids: those have one form, and no two of them are alike."""
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    with pair_of(tmp_path, serve, key, SEED) as pair:
        lines = []
        for which, server in enumerate(pair.servers):
            own = []
            feed = blocks_of(server, "?path=pub&access_token=reader-secret")
            own.append(next(feed))
            for n in range(10):
                for _ in range(rng.randrange(3) if which == 1 else 0):
                    pair.ask(which, "PUT", f"/v1/datasets/a3/nodes/other/{rng.randrange(9)}", bearer("root"), json.dumps(group_document()).encode())
                document = json.dumps({"attributes": {"n": n}}).encode()
                assert pair.ask(which, "PATCH", "/v1/datasets/a3/nodes/pub/sub", {**bearer("writer"), **MERGE}, document).status == 200
                own.append(next(feed))
            feed.close()
            again = blocks_of(server, "?path=pub&access_token=reader-secret", own[4]["id"])
            own += [next(again) for _ in range(7)]
            again.close()
            ids = [block.pop("id") for block in own]
            assert all(re.fullmatch("[0-9a-f]{32}", text) for text in ids) and len(set(ids)) == len(ids)
            lines.append([{name: re.sub(r'"etag":"[^,]*,', "", value) for name, value in block.items()} for block in own])
        assert lines[0] == lines[1]
