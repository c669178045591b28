"""A slice server as one writes it in Python today: FastAPI, zarr-python, uvicorn. `slice_server.py FOLDER PORT`

It stands in for the servers of its kind: the same URLs as zarrd's slices, raw bytes, one process.
"""

import functools
import pathlib
import sys

import fastapi
import uvicorn
import zarr

FOLDER = pathlib.Path(sys.argv[1])
app = fastapi.FastAPI()


@functools.cache
def array_at(path):
    return zarr.open_array(FOLDER / path, mode="r")


def item(text):
    parts = [int(part) if part else None for part in text.split(":")]
    return parts[0] if len(parts) == 1 else slice(*parts)


@app.get("/v1/datasets/bench/slices/{path:path}")
def answer(path: str, slice: str):
    values = array_at(path)[tuple(item(text) for text in slice.split(","))]
    return fastapi.Response(values.tobytes(), media_type="application/octet-stream")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False)
