"""Slices written by tests: arrays of every layout, random elements, and every form of body."""

import base64
import io
import json
import os

import numpy as np
from arrays import write_node
from documents import BIG, CRC, GZIP, LITTLE, ZSTD, array_document, blosc, shard, transpose
from files import contents

SEED = int(os.environ.get("ZD_SEED", "20261122"))
SHAPE = (13, 10, 7)
CHUNK = (4, 5, 3)
LAYOUTS = {
    "plain": (CHUNK, [LITTLE]),
    "big": (CHUNK, [BIG]),
    "one chunk": (SHAPE, [LITTLE, ZSTD]),
    "every element a chunk": ((1, 1, 1), [LITTLE]),
    "larger than the array": ((20, 20, 20), [LITTLE, GZIP]),
    "compressed": (CHUNK, [LITTLE, blosc(), CRC]),
    "transposed": (CHUNK, [transpose(2, 0, 1), BIG, ZSTD]),
    "sharded": ((8, 10, 6), [shard((4, 5, 3), [LITTLE, ZSTD])]),
    "sharded, index first": ((8, 10, 6), [shard((4, 5, 3), [LITTLE], "start")]),
    "transposed in shards": ((8, 10, 6), [transpose(2, 0, 1), shard((2, 2, 2), [BIG])]),
    "nested shards": ((8, 10, 12), [shard((4, 10, 6), [shard((2, 5, 3), [LITTLE, ZSTD])])]),
}
TYPES = {
    "bool": "?", "int8": "<i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint8": "<u1", "uint16": "<u2",
    "uint32": "<u4", "uint64": "<u8", "float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8",
    "complex128": "<c16", "r16": "V2", "r24": "V3",
}


def fill_of(dtype):
    if dtype.startswith("r"):
        return [7] * (int(dtype[1:]) // 8)
    return {"bool": True, "complex64": [1, -1], "complex128": [1, -1]}.get(dtype, 3)


def make_array(folder, shape=SHAPE, chunk=CHUNK, codecs=(LITTLE,), dtype="float32", fill=None, **more):
    write_node(folder, array_document(shape, chunk, dtype, fill_of(dtype) if fill is None else fill, codecs=codecs, **more))


def start(serve, tmp_path, faults=None, **options):
    return serve(faults=faults, config={"datasets": {"work": {"location": str(tmp_path), "writable": True, "durable": False, **options}}})


def put(server, path, values, text="", form="raw", query="", **headers):
    content_type, body = BODIES[form](np.asarray(values))
    target = f"/v1/datasets/work/slices/{path}?slice={text}{query}"
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.request("PUT", target, {"Content-Type": content_type, **headers}, body)


def get(server, path, text="", dtype="<f4", **headers):
    answer = server.get(f"/v1/datasets/work/slices/{path}?slice={text}", headers)
    assert answer.status == 200, answer
    shape = [int(n) for n in answer.headers["zarr-shape"].split(",") if n]
    return np.frombuffer(answer.body, dtype).reshape(shape)


def as_npy(values, version=(1, 0), swap=False):
    out = io.BytesIO()
    if swap and values.dtype.kind != "V":
        values = values.astype(values.dtype.newbyteorder(">"))
    np.lib.format.write_array(out, values, version=version)
    return out.getvalue()


def spell(value):
    if isinstance(value, (np.void, bytes)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, (complex, np.complexfloating)):
        return [spell(value.real), spell(value.imag)]
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if value != value:
            return "NaN"
        return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"
    return bool(value) if isinstance(value, np.bool_) else int(value)


def nested(values):
    return spell(values[()]) if values.ndim == 0 else [nested(values[i]) for i in range(len(values))]


def as_answer(values):
    name = next((name for name, kind in TYPES.items() if np.dtype(kind) == values.dtype), values.dtype.name)
    return {"shape": list(values.shape), "data_type": name, "dimensions": [None] * values.ndim, "selection": "...", "data": nested(values)}


BODIES = {
    "raw": lambda values: ("application/octet-stream", values.tobytes()),
    "npy": lambda values: ("application/x-npy", as_npy(values)),
    "npy2": lambda values: ("application/x-npy", as_npy(values, (2, 0))),
    "npy3, swapped": lambda values: ("application/x-npy; x=y", as_npy(values, (3, 0), True)),
    "json": lambda values: ("application/json", json.dumps(nested(values)).encode()),
    "json, pretty": lambda values: ("application/json; charset=utf-8", json.dumps(as_answer(values), indent=3).encode()),
}


def random_values(rng, shape, dtype):
    kind = np.dtype(TYPES[dtype])
    n = int(np.prod(shape))
    data = np.frombuffer(rng.randbytes(n * kind.itemsize), np.uint8)
    if kind.kind in "fc":
        values = np.frombuffer(rng.randbytes(2 * n), "<i2").astype("<f4")[:n].astype(kind)
        if n > 0 and rng.randrange(3) == 0:
            values[rng.randrange(n)] = rng.choice([np.nan, np.inf, -np.inf])
        return values.reshape(shape)
    if kind.kind == "b":
        return (data & 1).astype(bool).reshape(shape)
    return data.view(kind).reshape(shape)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def body(server, path, content_type, data, query="", **headers):
    return server.request("PUT", f"/v1/datasets/work/slices/{path}{query}", {"Content-Type": content_type, **headers}, data)


def npy(header, data=b"", version=b"\x01\x00"):
    header = header.encode() + b"\n"
    length = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + version + length + header + data


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
ZEROS = bytes(24)


def states(folder):
    """Every file but those that the store keeps for itself, and its time of change."""
    return sorted((key, (folder / key).stat().st_mtime_ns) for key in contents(folder))


def append(server, path, values, dim, form="raw", query="", **headers):
    content_type, data = BODIES[form](np.asarray(values))
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.request("PUT", f"/v1/datasets/work/slices/{path}?append={dim}{query}", {"Content-Type": content_type, **headers}, data)
