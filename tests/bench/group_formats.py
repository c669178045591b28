"""A large slice in formats that other programs open, against the same as raw bytes: what the server's core makes a second."""

import http.client
import statistics

import data
import reader
from peers import Zarrd, running

ARRAY = "map_raw"
TARGET = f"/v1/datasets/bench/slices/{ARRAY}"
BINARY = {"npz": "format=npz", "netcdf": "format=netcdf"}
RATIO_GOAL = 0.8  # of raw
TABLE = "slice=:8&layout=table"
TABLE_GOAL = 60  # MB a second of CPU


def length_of(peer, target):
    """Bytes of the body, all read."""
    connection = http.client.HTTPConnection("127.0.0.1", peer.port, timeout=reader.DEADLINE_S)
    connection.request("GET", target)
    response = connection.getresponse()
    assert response.status == 200, response.status
    n = 0
    while block := response.read(reader.BLOCK_BYTES):
        n += len(block)
    connection.close()
    return n


def rate(peer, query):
    """MB of body for a second of the server's CPU."""
    before = peer.group.cpu_us()
    n = length_of(peer, f"{TARGET}?{query}")
    return n / (peer.group.cpu_us() - before)


def run(options, report):
    root = data.chunks(options, "slices")
    for name, binary in options.binaries:
        with running([lambda core: Zarrd(name, binary, {"bench": root}, core=core)], options) as (peer,):  # noqa: B023
            rates = {query: [] for query in ("format=raw", *BINARY.values(), TABLE)}
            for query in rates:
                length_of(peer, f"{TARGET}?{query}")
            for _ in range(options.rounds):
                for query, found in rates.items():
                    found.append(rate(peer, query))
            raw = statistics.median(rates["format=raw"])
            for format, query in BINARY.items():
                report.figure(f"{name} {format}, x of raw", statistics.median(rates[query]) / raw, "x", RATIO_GOAL, at_least=True,
                              note=f"raw is {raw:.0f} MB a second of CPU")
            report.figure(f"{name} csv table", statistics.median(rates[TABLE]), "MB/s of CPU", TABLE_GOAL, at_least=True)
