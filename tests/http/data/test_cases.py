"""Stores written by real libraries, compared byte for byte: tests/corpus always, and the shared collection when it is there."""

import io
import re
import urllib.parse

import numpy as np
import pytest
import small_floats
from live import CORPUS, SHARED, STORES, Server, cases
from selections import check_selection, slice_target

CORE_CODECS = {"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"}
NUMCODECS = {"zlib", "bz2", "lzma", "lz4", "shuffle"}  # and "numcodecs.X" in v3
NUMCODECS |= {"crc32", "adler32", "fletcher32", "jenkins_lookup3", "crc32c", "gzip", "zstd", "blosc", "base64"}
NUMCODECS |= {"delta", "fixedscaleoffset", "quantize", "astype", "bitround", "packbits", "zfpy", "categorize"}
ARRAY_CODECS = {"bitround", "packbits", "reshape", "scale_offset", "cast_value", "zfp"}  # of the registry, of elements
CORE_TYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
              "float64", "complex64", "complex128", "complex_float32", "r8", "r24", "r128", "numpy.datetime64",
              "numpy.timedelta64", "fixed_length_utf32", "null_terminated_bytes", "raw_bytes"}
CORE_TYPES |= {"struct", "structured"}
CORE_TYPES |= {*small_floats.FORMATS, *small_floats.COMPLEX, *small_floats.INTEGERS}
V2_TYPES = re.compile(r"\|b1|[<>|][iu][1248]|[<>]f[248]|[<>]c(8|16)|\|[SV]\d+|[<>]U\d+|[<>][Mm]8\[\w+\]")


def is_core(need):
    kind, _, name = need.partition(":")
    if need.startswith("numcodecs."):
        return need.removeprefix("numcodecs.") in NUMCODECS
    return need in CORE_CODECS | ARRAY_CODECS or kind in {"blosc", "keys", "grid"} and not name.startswith("zarrs.") or (
        kind == "dtype" and name in CORE_TYPES)


def is_core_v2(need):
    kind, _, name = need.partition(":")
    return need in NUMCODECS or kind in {"blosc", "order"} or (kind == "dtype" and V2_TYPES.fullmatch(name) is not None)


def is_core_draft_d(need):
    return need == "endian" or is_core(need)


def is_core_draft_b(need):
    spelled = {"dtype:bool": "dtype:|b1", "dtype:i1": "dtype:|i1", "dtype:u1": "dtype:|u1"}.get(need, need)
    return need == "storage_transformer:sharding" or is_core_v2(spelled)


KNOWN = {"v3": is_core, "v2": is_core_v2, "draft-b": is_core_draft_b, "draft-d": is_core_draft_d}


def is_known(case, need):
    if case["format"] == "v2" and need == "dtype:struct":
        return True
    return need.startswith("dtype:[[") or KNOWN[case["format"]](need)  # a structure of draft-b


def cases_of(folder, formats):
    return [case for case in cases(folder) if case["format"] in formats]


def core_cases(folder):
    return [case for case in cases_of(folder, KNOWN) if all(is_known(case, need) for need in case["needs"])]


def collections():
    found = []
    for folder, stores in ((CORPUS, STORES), (SHARED, SHARED / "stores")):
        by_store = {}
        for case in core_cases(folder):
            by_store.setdefault(case["store"], []).append(case)
        found += [pytest.param(stores / store, group, id=f"{folder.parent.name}-{store}")
                  for store, group in sorted(by_store.items())]
    return found


@pytest.mark.parametrize("store, group", collections())
def test_every_selection_gives_the_bytes_that_were_written(store, group):
    server = Server(f"data={store}")
    try:
        connection = server.connection()
        for case in group:
            for selection in case["selections"]:
                answer = check_selection(server, "data", case, selection, connection)
            target = slice_target("data", case, selection, "npy")
            values = np.load(io.BytesIO(server.get(target, connection=connection).body))
            assert values.tobytes() == answer.body and list(values.shape) == selection["shape"], target
    finally:
        server.stop()


def test_the_collection_in_the_project_is_not_empty():
    assert sum(len(case["selections"]) for case in core_cases(CORPUS)) > 500


def test_unknown_parts_of_old_formats_are_refused_with_their_place():
    """No case falls between: one that is not read says which member is the reason."""
    by_store = {}
    for case in cases_of(CORPUS, {"v2", "draft-b"}):
        is_variable = str(case["dtype"]).startswith("vlen-")  # test_variable_length
        if not is_variable and not all(is_known(case, need) for need in case["needs"]):
            by_store.setdefault(case["store"], []).append(case["node"])
    assert by_store
    server = Server(*(f"{number}={STORES / store}" for number, store in enumerate(by_store)))
    try:
        connection = server.connection()
        for number, nodes in enumerate(by_store.values()):
            for node in nodes:
                path = f"/v1/datasets/{number}/slices/{urllib.parse.quote(node)}"
                answer = server.get(path, connection=connection)
                assert answer.status == 422, f"{node}: {answer}"
                assert answer.json()["code"] in {"unsupported_codec", "unsupported_data_type"}, node
                assert re.match("/(dtype(/[0-9])*|data_type/type|(attributes/)?filters/[0-9]|compressor)$", answer.json()["pointer"]), node
    finally:
        server.stop()


NEVER_SERVED = re.compile(r"(numcodecs\.)?pcodec|zarrs\.\w+")


@pytest.mark.parametrize("folder, stores", [(CORPUS, STORES), (SHARED, SHARED / "stores")], ids=["tests", "shared"])
def test_only_arrays_with_unknown_codecs_are_refused(folder, stores):
    """Of all that is there, in every format: the list of what is missing, with its reasons."""
    names = {store: f"d{number}" for number, store in enumerate(sorted({case["store"] for case in cases(folder)}))}
    if not names:
        pytest.skip("the shared collection is not here")
    server = Server(*(f"{name}={stores / store}" for store, name in names.items()))
    try:
        connection = server.connection()
        for case in cases(folder):
            path = f"/v1/datasets/{names[case['store']]}/nodes/{urllib.parse.quote(case['node'])}"
            refused = server.get(path, connection=connection).json().get("refused")
            if refused is not None:
                where = f"{case['store']}/{case['node']}: {refused}"
                assert refused["code"].startswith("unsupported_") and refused["pointer"], where
                assert all(NEVER_SERVED.fullmatch(name) for name in refused["names"]), where
    finally:
        server.stop()
