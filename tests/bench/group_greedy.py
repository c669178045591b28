"""Greedy clients: a program of its own, greedy.py, that prints its figures and ends with 1 when a goal is missed."""

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).with_name("greedy.py")


def run(options, report):
    seconds = ["--seconds", "2"] if options.quick else []
    for name, binary in options.binaries:
        ran = subprocess.run([sys.executable, SCRIPT, *seconds, binary], stdout=subprocess.PIPE, text=True)
        print(ran.stdout, end="")
        if ran.returncode != 0:
            report.failure(name, f"exit status {ran.returncode}")
