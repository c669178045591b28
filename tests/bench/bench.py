"""Measures zarrd beside other servers; tests/bench/run installs and builds what this needs, then runs it.

Every answer is compared with the expected bytes before it is timed. Servers take turns in short slices of load, so read the
ratios of one run: times belong to the machine and the hour.
"""

import argparse
import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from peers import stalls  # noqa: E402
from proc import allow_many_files, cores  # noqa: E402
from table import Report  # noqa: E402

GROUPS = {
    "keys": "stored keys, against servers of files",
    "tree": "a listing of 1,000 arrays, against servers of files",
    "connections": "many connections, all busy",
    "slices": "decoded slices, against a Python slice server and the bare codecs",
    "images": "tiles as PNG, against the same elements as they are",
    "codecs": "chunks of 1 MiB, against the libraries that decode them, and against memcpy, numcodecs and NumPy",
    "stream": "a slice of 64 MiB",
    "formats": "a slice of 64 MiB in other formats, against raw",
    "start": "from start to first answer, and many nodes",
    "memory": "at rest, of idle connections, and of 256 slices in 512 MiB",
    "writes": "stored chunks, against the bare system calls and nginx's WebDAV",
    "overload": "ten times more than it can do",
    "remote": "a store of HTTP whose first bytes take 30 ms",
    "access": "requests with a credential, against the same without",
    "greedy": "others, beside each kind of greedy client",
}
STALL_MOST_MS = 20  # nobody else is served meanwhile


def arguments():
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", action="append", choices=GROUPS, help="only this group; repeatable: " + ", ".join(GROUPS))
    parser.add_argument("--only", default="", metavar="TEXT", help="only rows whose name has this text")
    parser.add_argument("--rounds", type=int, default=5, help="turns that each server has at a row")
    parser.add_argument("--seconds", type=float, default=2, help="length of one turn")
    parser.add_argument("--quick", action="store_true", help="2 rounds of 0.3 s, and smaller data")
    parser.add_argument("--unpinned", action="store_true", help="leave servers and client to all cores: where workers of slices matter")
    parser.add_argument("--no-calls", dest="calls", action="store_false", help="do not count system calls (needs strace)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="where zarrd and the helpers are")
    parser.add_argument("--against", type=pathlib.Path, metavar="ZARRD", help="another zarrd, as one more peer")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "build/bench-data", help="where data sets are kept")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = min(options.rounds, 2), min(options.seconds, 0.3)
    options.binaries = [("zarrd", options.build / "zarrd")] + ([("zarrd, other", options.against)] if options.against else [])
    options.client = options.build / "zarrd-bench-load"
    options.server_core, options.client_core = cores(options.unpinned)
    options.wants = lambda row: options.only in row.name
    return options


def main():
    options = arguments()
    allow_many_files()
    report = Report()
    where = ("servers and client wherever the kernel likes" if options.server_core is None else
             f"servers on core {options.server_core}, client on core {options.client_core}")
    print(f"{options.rounds} rounds of {options.seconds:g} s a server; {where}. Columns: see tests/bench/README.md.")
    for name, about in GROUPS.items():
        if name in (options.group or GROUPS):
            report.group(name, about)
            importlib.import_module(f"group_{name}").run(options, report)
    if stalls:
        seconds, name = max(stalls)
        report.group("loop", "how long it stood")
        report.figure("longest turn", seconds * 1000, "ms", goal=STALL_MOST_MS, note=name)
    report.summary()
    if options.json:
        report.save(options.json)


if __name__ == "__main__":
    main()
