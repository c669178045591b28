"""Documents of Zarr v3: codecs, arrays and groups as tests write and send them."""

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
CRC = {"name": "crc32c"}
GROUP = {"zarr_format": 3, "node_type": "group"}


def blosc(cname="lz4", shuffle="noshuffle", typesize=1, clevel=1):
    return {"name": "blosc", "configuration": {
        "cname": cname, "clevel": clevel, "shuffle": shuffle, "typesize": typesize, "blocksize": 0}}


def transpose(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


def shard(inner, codecs=(LITTLE,), location="end", index=(LITTLE, CRC)):
    """The codec of shards whose inner chunks have the shape `inner`."""
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(inner), "codecs": list(codecs), "index_codecs": list(index), "index_location": location}}


def regular(*chunk_shape):
    """A regular chunk grid."""
    return {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape)}}


def array_document(shape, chunk_shape, data_type="float32", fill=0, extensions=None, codecs=(LITTLE,), **more):
    """An array of regular chunks."""
    document = {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
                "chunk_grid": regular(*chunk_shape), "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": fill, "codecs": list(codecs), **more}
    return document if extensions is None else {**document, "extensions": extensions}


def group_document(extensions=None):
    return GROUP if extensions is None else {**GROUP, "extensions": extensions}


def extension(name, configuration=None, **more):
    """An entry of `extensions`."""
    entry = {"name": f"example.{name}", **more}
    if configuration is not None:
        entry["configuration"] = configuration
    return entry


ARRAY = array_document([7, 8], [4, 6], "int16")
