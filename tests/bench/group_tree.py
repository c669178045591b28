"""The listing of 1,000 arrays, plain and compressed, against nginx that sends the same document as a file."""

import gzip
import json
import pathlib
import tempfile

import data
from load import Request, ask
from peers import Zarrd, file_servers, programs, running, zarrds
from rounds import Row, measure_all

TARGET = "/v1/datasets/bench/tree/"
FILE = TARGET + "document"  # a file cannot have the listing's own name
N_ARRAYS = 1000


def document(peer):
    """The listing, compared with what was written."""
    _, body = ask(peer.port, Request(TARGET))
    found = {node["path"] for node in json.loads(body)["nodes"]}
    expected = {"", "g000"} | {data.node_path(i) for i in range(N_ARRAYS)}
    assert found == expected, found ^ expected
    return body


def compressed(peer, coding, plain):
    """The request that asks for a coding, its body checked where Python can decode it; None when the answer is plain."""
    request = Request(TARGET, (("Accept-Encoding", coding),))
    answer, body = ask(peer.port, request)
    if answer.headers["Content-Encoding"] != coding:
        return None
    if coding == "gzip":
        assert gzip.decompress(body) == plain
    return Request(request.target, request.headers, body=body)


def rows(peers, plain, report):
    own = [peer for peer in peers if isinstance(peer, Zarrd)]
    files = {peer.name: [Request(FILE, body=plain)] for peer in peers if peer not in own}
    yield Row("plain", {**files, **{peer.name: [Request(TARGET, body=plain)] for peer in own}}, rate_goal=1.0)
    for coding in ("gzip", "zstd"):
        requests = {peer.name: compressed(peer, coding, plain) for peer in own}
        if None in requests.values():
            report.failure(coding, "the answer is not compressed")
        else:
            yield Row(coding, {**files, **{name: [request] for name, request in requests.items()}}, rate_goal=5.0)


def run(options, report):
    root = data.nodes(options, N_ARRAYS)
    with tempfile.TemporaryDirectory(prefix="zarrd-bench-") as folder:
        www = pathlib.Path(folder)
        www.chmod(0o755)
        starts = zarrds(options, {"bench": root}) + programs(file_servers(www))
        with running(starts, options) as peers:
            plain = document(peers[0])
            file = www / FILE[1:]
            file.parent.mkdir(parents=True)
            file.write_bytes(plain)
            measure_all(peers, rows(peers, plain, report), options, report)
