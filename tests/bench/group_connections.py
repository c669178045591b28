"""Many connections, all busy: none may stall, whatever their number."""

import data
from load import Hang, Request, check, load
from peers import running, zarrds

COUNTS = (1, 16, 127, 128, 129, 256, 384, 512, 1000)


def run(options, report):
    root = data.chunks(options, "keys")
    requests = [Request("/zarr/bench/k4/c/3", body=(root / "k4/c/3").read_bytes())]
    for start in zarrds(options, {"bench": root}):
        with running([start], options) as (peer,):
            check(peer.name, peer.port, requests)
            first_rate = None
            for n in COUNTS:
                title = f"{peer.name}: {n} connections"
                try:
                    sample = load(options, peer.port, requests, options.seconds, n)
                except Hang as hang:
                    report.failure(title, str(hang))
                    continue
                first_rate = first_rate or sample.rate
                report.figure(f"{title}: failed answers", sample.n_failed, "", goal=0,
                              note=f"{sample.rate:.0f} req/s, {sample.rate / first_rate:.2f}x of one, p99 {sample.p99_us:.0f} us")
