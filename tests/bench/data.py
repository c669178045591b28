"""The hierarchies that are measured: made once by zarrd-bench-data (chunks) or here (documents only), then kept."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile

ARRAY = json.dumps({
    "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}}, "chunk_key_encoding": {"name": "default"},
    "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {"units": "K"}})
GROUP = '{"zarr_format": 3, "node_type": "group"}'
GROUP_N = 1000  # arrays of one group
SELECT_N = 1000  # labels of each dimension of `labelled`
TIMES, WIDTH = 64, 512  # of the arrays of `slices`
N_PLAIN, INNER = 64, 128  # chunks of `plain`, and the side of each and of an inner chunk of `sharded`: 64 KiB


def kept(options, name, make):
    """The folder of that data set; under another name until it is whole."""
    folder = options.data.absolute() / name
    if not folder.exists():
        part = folder.with_name(f"{name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        make(part)
        part.rename(folder)
    return folder


def chunks(options, name):
    """`keys`, `slices`, `codecs` or `elements`, as make_data.c has them."""
    return kept(options, name, lambda folder: subprocess.run(
        [options.build / "zarrd-bench-data", folder, name], check=True, stdout=subprocess.DEVNULL))


def node_path(i):
    return f"g{i // GROUP_N:03}/a{i:06}"


def nodes(options, n_arrays):
    """That many small arrays, in groups of 1,000."""
    def make(root):
        root.mkdir()
        (root / "zarr.json").write_text(GROUP)
        for i in range(n_arrays):
            folder = root / node_path(i)
            if i % GROUP_N == 0:
                folder.parent.mkdir()
                (folder.parent / "zarr.json").write_text(GROUP)
            folder.mkdir()
            (folder / "zarr.json").write_text(ARRAY)

    return kept(options, f"nodes-{n_arrays}", make)


def labelled(options):
    """An array of SELECT_N times and latitudes, with coordinates: hours of CF, and floats that fall."""
    import numpy as np

    def write(root, name, values, dims, **attributes):
        document = {**json.loads(ARRAY), "shape": values.shape, "dimension_names": dims, "attributes": attributes,
                    "data_type": values.dtype.name, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": values.shape}}}
        place = root / name / "c" / "/".join("0" for _ in dims)
        place.parent.mkdir(parents=True)
        place.write_bytes(values.tobytes())
        (root / name / "zarr.json").write_text(json.dumps(document))

    def make(root):
        root.mkdir()
        (root / "zarr.json").write_text(GROUP)
        write(root, "time", np.arange(SELECT_N), ["time"], units="hours since 2001-01-01")
        write(root, "lat", np.linspace(90, -90, SELECT_N), ["lat"])
        write(root, "v", np.arange(SELECT_N**2, dtype="f4").reshape(SELECT_N, SELECT_N), ["time", "lat"])

    return kept(options, "labelled", make)


def field():
    """All values of an array of `slices`, as field.h computes them."""
    import numpy as np  # the other groups need no numpy

    time, row, column = (axis.astype("u4") for axis in np.ogrid[:TIMES, :WIDTH, :WIDTH])
    noise = time * np.uint32(73856093) ^ row * np.uint32(19349663) ^ column * np.uint32(83492791)
    noise ^= noise >> np.uint32(13)
    noise *= np.uint32(0x5BD1E995)
    noise = noise >> np.uint32(15) & np.uint32(7)
    smooth = 40 * time + (row * row >> 6) + (row * column >> 5) + 3 * column
    return ((8 * smooth + noise).astype("f4") / np.float32(64)).astype("<f4")


def remote_values(side=INNER, n=N_PLAIN):
    """Of `plain`: numbers without order, none the fill value."""
    import numpy as np

    return np.random.default_rng(1).random((n, side, side), "f4") + np.float32(1)


def remote_shard_values():
    """Of `sharded`: one shard of 8 x 8 inner chunks."""
    return remote_values(8 * INNER, 1)[0]


def remote(options):
    """Chunks of 64 KiB, as objects of their own and within a shard."""
    def make(root):
        from arrays import write_node, write_sharded, write_values  # they need numpy

        write_node(root, GROUP)
        write_values(root / "plain", remote_values(), (1, INNER, INNER))
        values = remote_shard_values()
        write_sharded(root / "sharded", values, values.shape, (INNER, INNER))

    return kept(options, "remote", make)


def hierarchy(options):
    """1,000 arrays in one group; `plain`, with the chunks of `remote`, is one of them."""
    def make(root):
        from arrays import write_node, write_values

        write_node(root, GROUP)
        for i in range(GROUP_N - 1):
            write_node(root / f"a{i:06}", ARRAY)
        write_values(root / "plain", remote_values(), (1, INNER, INNER))

    return kept(options, "hierarchy", make)


@contextlib.contextmanager
def files_of(root):
    """A folder in which the keys of `root` have the names that zarrd gives them: zarr/bench/KEY."""
    with tempfile.TemporaryDirectory(prefix="zarrd-bench-") as folder:
        www = pathlib.Path(folder)
        www.chmod(0o755)
        (www / "zarr").mkdir()
        (www / "zarr/bench").symlink_to(root)
        yield www
