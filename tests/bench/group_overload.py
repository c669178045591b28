"""Ten times the capacity: a program of its own, overload.py, that prints its figures and ends with 1 when a goal is missed."""

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).with_name("overload.py")


def run(options, report):
    if not SCRIPT.exists():
        report.failure("overload.py", "is missing")
        return
    for name, binary in options.binaries:
        ran = subprocess.run([sys.executable, SCRIPT, binary], stdout=subprocess.PIPE, text=True)
        print(ran.stdout, end="")
        if ran.returncode != 0:
            report.failure(name, f"exit status {ran.returncode}")
