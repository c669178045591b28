"""Stored keys against servers of files: documents, raw chunks, ranges, 304 and 404."""

import data
from load import Request, ask
from peers import file_servers, programs, running, zarrds
from rounds import Row, measure_all

PREFIX = "/zarr/bench/"
INNER_BYTES = 64 * 1024
N_INNER = 256


def whole(root, key):
    return Request(PREFIX + key, body=(root / key).read_bytes())


def inner_chunks(root):
    """A range for each inner chunk of the shard."""
    shard = (root / "shard/c/0").read_bytes()
    return [Request(PREFIX + "shard/c/0", headers=(("Range", f"bytes={i}-{i + INNER_BYTES - 1}"),), status=206,
                    body=shard[i:i + INNER_BYTES])
            for i in range(0, N_INNER * INNER_BYTES, INNER_BYTES)]


def not_modified(peers, key):
    """Each server's own entity tag."""
    requests = {}
    for peer in peers:
        answer, _ = ask(peer.port, Request(PREFIX + key))
        requests[peer.name] = [Request(PREFIX + key, (("If-None-Match", answer.headers["ETag"]),), 304, b"")]
    return requests


def rows(root, peers):
    return [
        Row("metadata document", [whole(root, "k256/zarr.json")], cpu_goal=1.1),
        Row("chunk of 4 KiB", [whole(root, "k4/c/3")], cpu_goal=1.1),
        Row("chunk of 64 KiB", [whole(root, "k64/c/3")], rate_goal=1.0),
        Row("chunk of 256 KiB", [whole(root, "k256/c/3")], rate_goal=1.0),
        Row("chunk of 1 MiB", [whole(root, "k1024/c/3")], rate_goal=1.0),
        Row("256 chunks of 256 KiB", [whole(root, f"k256/c/{i}") for i in range(256)], rate_goal=1.0),
        Row("ranges in a shard", inner_chunks(root), rate_goal=1.0),
        Row("304", not_modified(peers, "k256/zarr.json"), cpu_goal=1.0),
        Row("404", [Request(PREFIX + "k256/c/999999", status=404)], cpu_goal=1.0),
    ]


def run(options, report):
    root = data.chunks(options, "keys")
    with data.files_of(root) as www:
        starts = zarrds(options, {"bench": root}) + programs(file_servers(www))
        with running(starts, options) as peers:
            measure_all(peers, rows(root, peers), options, report)
