"""Random mutations of valid documents: what this server accepts opens in zarr-python 3, or a rule here says why it does not;
what it refuses is told with its place. A seed in ZARRD_SEED repeats a run."""

import asyncio
import copy
import json
import os
import random
import re
import secrets
import warnings

import pytest
import zarr
from live import CORPUS, STORES
from search_rounds import rounds
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

N_MUTATIONS = rounds(10000)
EXAMPLES = CORPUS / "documents"
NUMBERS = [0, 1, 2, 3, 5, 7, 9, 10, 22, 23, 255, 256, -1, -128, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
           10**30, 0.5, 1.0, -0.0, 1e300, 1e-320]
STRINGS = ["", "NaN", "Infinity", "-Infinity", "0x7fc00000", "0x0", "/", ".", "int8", "uint64", "float16", "complex64", "bool",
           "r16", "little", "big", "bytes", "gzip", "zstd", "crc32c", "transpose", "regular", "default", "v2", "start", "end",
           "shuffle", "bitshuffle", "lz4", "example.x", "Foo", "7z", "https://e.com/x", "https://e.com/x?y", "é", "__a", "a/b"]
MEMBERS = ["zarr_format", "node_type", "attributes", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value",
           "codecs", "storage_transformers", "dimension_names", "extensions", "consolidated_metadata", "name", "configuration",
           "must_understand", "order", "endian", "level", "foo"]


def documents():
    """Valid documents of the examples, and what real writers wrote: those that open in zarr-python, or of which it is known why not."""
    paths = sorted(EXAMPLES.glob("valid/v3-*.json")) + sorted(EXAMPLES.glob("valid/zep10-*.json"))
    paths += sorted((STORES / "v3").glob("**/zarr.json"))
    found = [json.loads(path.read_text()) for path in paths if "NaN," not in path.read_text()]
    return [document for document in found if document.get("zarr_format") == 3 and is_explained(document, opens(document))]


def places(value, path=()):
    """Every place in a document but the whole."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, child in items:
        yield (*path, key)
        yield from places(child, (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def any_value(rng, document):
    kind = rng.randrange(8)
    if kind == 0:
        return copy.deepcopy(at(document, rng.choice(list(places(document)))))
    return [rng.choice([None, True, False]), rng.choice(NUMBERS), rng.choice(STRINGS), [], {}, [rng.choice(NUMBERS)],
            {rng.choice(MEMBERS): rng.choice(STRINGS + NUMBERS)}][kind - 1]


def mutate(rng, document):
    """One small change somewhere."""
    path = rng.choice(list(places(document)))
    parent, key = at(document, path[:-1]), path[-1]
    kind = rng.randrange(9)
    if kind == 0:
        del parent[key]
    elif kind == 1:
        parent[key] = any_value(rng, document)
    elif kind == 2 and type(parent[key]) is int:
        parent[key] += rng.choice([-1, 1])
    elif kind == 3 and isinstance(parent[key], list):
        rng.shuffle(parent[key])
    elif kind == 4 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    elif kind == 5 and isinstance(parent, dict):
        parent[rng.choice(MEMBERS)] = any_value(rng, document)
    elif kind == 6 and isinstance(parent, dict):
        parent[rng.choice(MEMBERS)] = parent.pop(key)
    elif kind == 7:
        document[rng.choice(MEMBERS)] = any_value(rng, document)
    elif isinstance(document.get("attributes"), dict):
        document["attributes"][rng.choice(STRINGS)] = any_value(rng, document)


def opens(document):
    """Whether zarr-python opens it; else why not."""
    store = MemoryStore()
    text = default_buffer_prototype().buffer.from_bytes(json.dumps(document).encode())
    try:
        asyncio.run(store.set("zarr.json", text))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.open(store, mode="r")
    except Exception as error:  # whatever it is, it does not open
        return f"{type(error).__name__}: {error}"
    return None


REGISTERED = re.compile(r"u?int[24]|bfloat16|float[468]_\w+|complex_\w+|struct")
REGISTERED_CODECS = ("bitround", "cast_value", "conditional", "n5_default", "packbits", "reshape", "scale_offset")
OF_GROUPS = {"zarr_format", "node_type", "attributes", "consolidated_metadata"}


def explained(document, why):
    """The rule by which a valid document need not open in zarr-python 3."""
    if "extensions" in document:
        return "ZEP 10 is not implemented there"
    if document["node_type"] == "group" and set(document) - OF_GROUPS:
        return "groups with any unknown member fail there"
    data_type = document["data_type"] if isinstance(document["data_type"], str) else document["data_type"]["name"]
    if "No Zarr data type found" in why and REGISTERED.fullmatch(data_type):
        return "registered data types that are not implemented there"
    if any(f"Unknown codec: '{name}'" in why for name in REGISTERED_CODECS):
        return "registered codecs that are not implemented there"
    names = [codec if isinstance(codec, str) else codec["name"] for codec in document.get("codecs", [])]
    if "inner `chunk_shape`" in why and "transpose" in names[:names.index("sharding_indexed")]:
        return "shards are compared there with the chunk before it was transposed"
    return None


def is_explained(document, why):
    return why is None or explained(document, why) is not None


@pytest.fixture
def rng():
    seed = os.environ.get("ZARRD_SEED") or secrets.token_hex(4)
    print(f"ZARRD_SEED={seed}")
    return random.Random(seed)


def test_accepted_documents_open_elsewhere(serve, rng):
    server = serve("-w", "w=mem:")
    connection = server.connection()
    sources = documents()
    counts = {"accepted": 0, "refused": 0, "explained": 0}
    for _ in range(N_MUTATIONS):
        document = copy.deepcopy(rng.choice(sources))
        for _turn in range(rng.choice([1, 1, 1, 2, 3])):
            if document:
                mutate(rng, document)
        answer = server.request("PUT", "/v1/datasets/w/nodes/a?dry_run=1", {"Content-Type": "application/json"},
                                json.dumps(document).encode(), connection=connection)
        if answer.status == 422:
            problem = answer.json()
            counts["refused"] += 1
            assert problem["errors"] and all("pointer" in error for error in problem["errors"]), document
            continue
        assert answer.status == 201, (answer, document)
        why = opens(answer.json()["metadata"])
        rule = why and explained(document, why)
        assert why is None or rule, (why, document)
        counts["explained" if why else "accepted"] += 1
    print(counts)
    assert counts["accepted"] > N_MUTATIONS / 20 and counts["refused"] > N_MUTATIONS / 20


def test_bytes_at_random_are_refused_or_good(serve, rng):
    server = serve("-w", "w=mem:")
    connection = server.connection()
    sources = [json.dumps(document).encode() for document in documents()]
    for _ in range(N_MUTATIONS // 5):
        text = bytearray(rng.choice(sources))
        for _turn in range(rng.choice([1, 2, 5])):
            first = rng.randrange(len(text))
            text[first:first + rng.choice([0, 1, 3])] = rng.choice([b"", b"\xff", b"{", b"]", b'"', b",", b"\\u0000", b"NaN", b"1e999"])
        answer = server.request("PUT", "/v1/datasets/w/nodes/a?dry_run=1", {"Content-Type": "application/json"}, bytes(text),
                                connection=connection)
        assert answer.status == 201 or (answer.status, answer.code) == (400, "bad_body") or answer.status == 422, bytes(text)
        if answer.status == 201:
            assert json.loads(text)
