"""What a change of a node holds is budgeted before it is read: its document and, of the groups above, the stored listings that are
written again. Under memory.bytes=128MiB the change is made, or refused with the figures, and the process stays below 192 MiB."""

import concurrent.futures
import json
import shutil

import pytest
from client import JSON, NODES, PATCH, PATIENT, SANITIZED, is_sanitized, memory_bytes
from documents import GROUP
from search_rounds import rounds

pytestmark = pytest.mark.large

MIB = 1 << 20
BUDGET = 128 * MIB
RESIDENT_MAX = 192 * MIB
N_CLIENTS = 6 if SANITIZED else rounds(32, 12)  # a sanitized server takes too long, and its memory is not judged
LISTING = MIB if SANITIZED else rounds(4, 2) * MIB
N_FILLERS = 16
DEEP = 16  # groups, each with a listing of 8 MiB: far more than a change may hold


def write(path, document):
    path.mkdir()
    (path / "zarr.json").write_text(json.dumps(document, separators=(",", ":")))


def make_store(root, depth, listing_bytes):
    """Groups one below the other, each with a listing of all below it; the last one is the smallest."""
    filler = {**GROUP, "attributes": {"x": "x" * (listing_bytes // N_FILLERS)}}
    write(root, GROUP)
    path, listings = root, {}
    for i in range(N_FILLERS):
        write(root / f"f{i:02}", filler)
    for level in range(depth):
        fillers = {f"f{i:02}": filler for i in range(N_FILLERS)}
        below = {"/".join(["g"] * n): GROUP for n in range(1, depth - level)}
        listings[path] = {**GROUP, "consolidated_metadata": {
            "kind": "inline", "must_understand": False, "metadata": {**fillers, **below}}}
        if level + 1 < depth:
            path = path / "g"
            write(path, GROUP)
    for holder, document in listings.items():
        (holder / "zarr.json").write_text(json.dumps(document, separators=(",", ":")))
    return "/".join(["g"] * (depth - 1))


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """A store with more listings than a change may hold, which no change here is made in, and its innermost group."""
    root = tmp_path_factory.mktemp("deep") / "store"
    return root, make_store(root, DEEP, 8 * MIB)


@pytest.fixture(scope="module")
def shallow(tmp_path_factory):
    """A store to be copied, and its innermost group."""
    root = tmp_path_factory.mktemp("shallow") / "store"
    return root, make_store(root, 3, LISTING)


def text(document):
    return json.dumps(document).encode()


CHANGED = {**GROUP, "attributes": {"a": 1}}
CHANGES = {  # of the innermost group, or below it; the statuses when there is room
    "PATCH": ("PATCH", NODES + "{path}", PATCH, b'{"attributes": {"a": 1}}', (200,)),
    "PUT": ("PUT", NODES + "{path}", JSON, text(CHANGED), (200,)),
    "PUT of a new node": ("PUT", NODES + "{path}/new{i}/below", JSON, text(GROUP), (201,)),
    "DELETE": ("DELETE", NODES + "{path}/f{i:02}", {}, None, (204, 404)),
    "PUT of a key": ("PUT", "/zarr/w/{path}/zarr.json", JSON, text(CHANGED), (200,)),
    "consolidate": ("POST", "/v1/datasets/w/consolidate/{path}", {}, None, (200,)),
    "PATCH above": ("PATCH", NODES, PATCH, b'{"attributes": {"a": 1}}', (200,)),
    "PUT above": ("PUT", NODES, JSON, text(CHANGED), (200,)),
}


def serve_small(serve, root):
    return serve(f"w={root}", "--writable", "--set", f"memory.bytes={BUDGET}", *PATIENT)


def ask(server, name, path, i=0):
    method, target, headers, body, _ = CHANGES[name]
    return server.request(method, target.format(path=path, i=i), headers, body)


def stays_small(server):
    high = memory_bytes(server, "VmHWM")
    assert is_sanitized(server) or high < RESIDENT_MAX, f"{high / MIB:.0f} MiB"


@pytest.mark.parametrize("name", [name for name in CHANGES if name not in ("DELETE", "consolidate", "PATCH above", "PUT above")])
def test_more_listings_than_may_be_held_are_refused_with_the_figures(serve, deep, name):
    root, path = deep
    server = serve_small(serve, root)
    before = {file: file.read_bytes() for file in root.rglob("zarr.json") if file.stat().st_size < MIB}
    answer = ask(server, name, path)
    assert answer.status == 413, answer
    assert answer.json()["requested"] > answer.json()["limit"] > 0
    assert {file: file.read_bytes() for file in root.rglob("zarr.json") if file.stat().st_size < MIB} == before
    stays_small(server)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("n_clients", [1, N_CLIENTS])
def test_a_change_with_large_listings_stays_small(serve, tmp_path, shallow, name, n_clients):
    root, path = shallow
    shutil.copytree(root, tmp_path / "store")
    server = serve_small(serve, tmp_path / "store")
    with concurrent.futures.ThreadPoolExecutor(n_clients) as pool:
        answers = list(pool.map(lambda i: ask(server, name, path, i), range(n_clients)))
    statuses = {answer.status for answer in answers}
    assert statuses <= {*CHANGES[name][-1], 413, 503} and statuses & set(CHANGES[name][-1]), statuses
    stays_small(server)
    assert server.get("/livez").status == 200


def test_changes_in_many_datasets_take_turns(serve, tmp_path):
    """Each locks its own dataset; together they are more than may be held."""
    names = [f"w{i}" for i in range(8)]
    for name in names:
        make_store(tmp_path / name, 2, LISTING + (0 if SANITIZED else MIB))
    server = serve(*(f"{name}={tmp_path / name}" for name in names), "--writable", "--set", f"memory.bytes={BUDGET}", *PATIENT)

    def change(i):
        return server.request("PATCH", f"/v1/datasets/{names[i % 8]}/nodes/g", PATCH, text({"attributes": {"a": i}})).status

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(change, range(16))) <= {200, 503}
    stays_small(server)
    for name in names:
        attributes = server.get(f"/v1/datasets/{name}/nodes/g").json()["metadata"]["attributes"]
        listed = json.loads((tmp_path / name / "zarr.json").read_text())["consolidated_metadata"]["metadata"]["g"]
        assert attributes == listed["attributes"] and attributes["a"] % 8 == names.index(name)
