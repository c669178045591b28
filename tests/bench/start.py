"""From start to first answer, with few and with many nodes; and a whole tree in one answer. `tests/bench/start.py [BINARY]`

Times differ from machine to machine: read the ratios of one run.
"""

import json
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from live import ROOT, Server  # noqa: E402

ARRAY = json.dumps({
    "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}}, "chunk_key_encoding": {"name": "default"},
    "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {"units": "K"}})
GROUP = '{"zarr_format": 3, "node_type": "group"}'
ROUNDS = 7


def make(root, n_arrays):
    """n arrays in groups of 1,000."""
    (root / "zarr.json").write_text(GROUP)
    for i in range(n_arrays):
        group = root / f"g{i // 1000:03}"
        if i % 1000 == 0:
            group.mkdir()
            (group / "zarr.json").write_text(GROUP)
        (group / f"a{i:06}").mkdir()
        (group / f"a{i:06}" / "zarr.json").write_text(ARRAY)


def first_answer_ms(root, binary):
    began = time.perf_counter()
    server = Server(f"many={root}", binary=binary)
    answer = server.get("/v1/datasets/many/nodes/g000/a000003")
    spent = (time.perf_counter() - began) * 1000
    assert answer.json()["array"]["shape"] == [8]
    server.stop()
    return spent


def main():
    binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/zarrd")
    medians = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in (10, 10_000, 100_000):
            root = pathlib.Path(folder) / str(n)
            root.mkdir()
            make(root, n)
            times = sorted(first_answer_ms(root, binary) for _ in range(ROUNDS))
            medians[n] = times[ROUNDS // 2]
            mark = " (spread over 15 %)" if times[-1] > 1.15 * times[0] else ""
            print(f"{n:>7} arrays: start to first answer {medians[n]:6.1f} ms, {medians[n] / medians[10]:.2f} x that of 10{mark}")
        server = Server(f"many={pathlib.Path(folder) / '10000'}", binary=binary)
        for name in ("cold", "warm"):
            began = time.perf_counter()
            tree = server.get("/v1/datasets/many/tree/")
            spent = (time.perf_counter() - began) * 1000
            print(f"  10000 arrays: whole tree, {name}: {spent:.0f} ms, {len(tree.body) / 1e6:.1f} MB, {len(tree.json()['nodes'])} nodes")
        server.stop()


if __name__ == "__main__":
    main()
