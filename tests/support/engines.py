"""The real engines of tests: Ceph's gateway and nginx. They run once a test run.

    engines.py start FOLDER    # for tests/run: those that can run, in an empty directory; FOLDER/missing names the others
    engines.py stop FOLDER

Tests find them by the fixtures `ceph` and `nginx`, which start one of their own where ZARRD_TESTS_ENGINES names no such folder.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import ceph
import nginx

ENGINES = {"ceph": (ceph.Ceph, ceph.missing), "nginx": (nginx.Nginx, nginx.missing)}


def start(folder):
    stop(folder)
    folder.mkdir(parents=True)
    for name, (engine, missing) in ENGINES.items():
        reason = missing()
        if reason is None:
            try:
                engine(folder / name).start()
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                engine(folder / name).stop()
                reason = f"did not start: {error}"
        if reason:
            with open(folder / "missing", "a") as file:
                file.write(f"{name}: {reason}\n")


def stop(folder):
    for name, (engine, _) in ENGINES.items():
        engine(folder / name).stop()
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running(name):
    """The engine, or the reason why there is none (a str)."""
    engine, missing = ENGINES[name]
    shared = os.environ.get("ZARRD_TESTS_ENGINES")
    if shared:
        place = pathlib.Path(shared) / name
        notes = pathlib.Path(shared) / "missing"
        lines = notes.read_text().splitlines() if notes.exists() else []
        yield engine(place) if (place / "port").exists() else next((line for line in lines if line.startswith(name)), f"{name}: does not run")
        return
    if (reason := missing()) is not None:
        yield f"{name}: {reason}"
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"zarrd-{name}-"))
    own = engine(folder / name)
    try:
        yield own.start()
    finally:
        own.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    {"start": start, "stop": stop}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())
