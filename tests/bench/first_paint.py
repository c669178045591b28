#!/usr/bin/env python3
"""How long after the first byte Chromium paints the explorer over the demo, cold each time: the median and the worst of ten, against the goal.

    PYTHONPATH=tests/support ZARRD_BINARY=build/release/zarrd tests/bench/first_paint.py
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from live import BINARY, Server
from playwright.sync_api import sync_playwright

GOAL_MS = 300
ROUNDS = 10
DEMO = pathlib.Path(os.environ.get("ZARRD_DEMO_BINARY", BINARY.parent / "zarrd-demo"))
PAINTED = """() => {
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    return paint ? paint.startTime - performance.getEntriesByType("navigation")[0].responseStart : null;
}"""


def first_paint_ms(browser, url):
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    page.get_by_role("treeitem", name="types").wait_for()
    while (ms := page.evaluate(PAINTED)) is None:
        pass
    context.close()
    return ms


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        subprocess.run([DEMO, f"{folder}/demo.zarr"], check=True, capture_output=True)
        server = Server(f"demo={folder}/demo.zarr")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        first_paint_ms(browser, server.url)  # Chromium itself starts
        times = [first_paint_ms(browser, server.url) for _ in range(ROUNDS)]
        browser.close()
        server.stop()
    median = statistics.median(times)
    print(f"first paint {median:.0f} ms after the first byte (worst {max(times):.0f}), {'ok' if median <= GOAL_MS else 'LATE'}: goal {GOAL_MS} ms")
    return median > GOAL_MS


if __name__ == "__main__":
    sys.exit(main())
