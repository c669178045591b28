"""Fixtures: one browser, and one server over the demo and some made datasets, for all scenarios of a process."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
from arrays import write_node, write_values
from documents import array_document, group_document
from live import BINARY, Server

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
DEMO = pathlib.Path(os.environ.get("ZARRD_DEMO_BINARY", BINARY.parent / "zarrd-demo"))
PATIENCE_MS = 60_000  # of a loaded machine
TOKEN = "the-token-of-ada"
N_MANY = 100_000
LARGE = (np.arange(2000)[:, None] * 3000.0 + np.arange(3000)).astype("f4")
HOLES = np.arange(100, dtype="i4").reshape(10, 10)
PACKED = np.arange(6 * 4 * 5, dtype="i2").reshape(6, 4, 5)
PACKED[0, 0, 0] = -1  # missing
HOSTILE = {
    "html": "<img src=x onerror=\"document.title='run'\"><b>bold</b>", "script": "<script>document.title='run'</script>", "link": "javascript:alert(1)",
    "bidi": "user\u202etxt.exe\u2066 \u200b", "long": "x" * 10_000_000, "<svg onload=alert(1)>": {"a": ["</script>", "{{constructor.constructor('alert(1)')()}}"]},
    "long_name": "<i>title</i>", "deep": {"a": {"b": {"c": {"d": {"e": 1}}}}}, "list": list(range(1000)),
}
playwright.expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield running
        running.close()


def write_odd(folder):
    """Nodes that are refused or hostile."""
    write_node(folder, group_document())
    write_node(folder / "refused", {**array_document([4], [2]), "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "none.such"}]})
    write_node(folder / "warned", {**array_document([4], [2]), "later": {"must_understand": False, "name": "later"}})
    write_node(folder / "hostile", {**group_document(), "attributes": HOSTILE})
    write_values(folder / "<img src=x onerror=alert(1)>", np.arange(4.0), [4])
    write_values(folder / "line\u202egnp.exe", np.arange(4.0), [4])


def write_grids(folder):
    """Arrays whose values say where they are."""
    write_node(folder, group_document())
    write_values(folder / "large", LARGE, [512, 512], dimension_names=["row", "column"])
    write_values(folder / "holes", HOLES, [4, 4], skip=[(0, 1), (2, 2)])
    packed = {"units": "K", "scale_factor": 0.5, "add_offset": 200.0, "_FillValue": -1, "long_name": "temperature"}
    write_values(folder / "packed", PACKED, [3, 4, 5], dimension_names=["time", "y", "x"], attributes=packed)
    write_values(folder / "time", np.arange(6.0) * 73, [6], dimension_names=["time"], attributes={"units": "days since 2001-01-01", "calendar": "noleap"})
    write_values(folder / "y", np.arange(4.0) * 10, [4], dimension_names=["y"], attributes={"units": "degrees_north"})


def write_many(path):
    """One group of so many arrays, as an archive."""
    document = json.dumps(array_document([4], [2])).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("zarr.json", json.dumps(group_document()))
        for i in range(N_MANY):
            archive.writestr(zipfile.ZipInfo(f"a{i:06}/zarr.json"), document)


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    subprocess.run([DEMO, folder / "demo.zarr"], check=True, capture_output=True)
    write_odd(folder / "odd")
    write_grids(folder / "grids")
    write_values(folder / "one", np.arange(6.0), [6])
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [{"name": "ada", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest(), "scopes": ["read"], "datasets": ["*", "secret"]}]}))
    tokens.chmod(0o600)
    places = {"demo": folder / "demo.zarr", "odd": folder / "odd", "grids": folder / "grids", "one": folder / "one"}
    datasets = {name: {"location": str(place)} for name, place in places.items()}
    datasets |= {"work": {"location": "mem:", "writable": True}, "secret": {"location": str(folder / "one"), "access": "private"}}
    server = Server("--set", f"access.tokens_file={tokens}", "--set", f"limits.document_bytes={32 << 20}", config={"datasets": datasets})
    server.places = places
    yield server
    server.stop()


@pytest.fixture
def many(tmp_path):
    write_many(tmp_path / "many.zip")
    server = Server(f"many={tmp_path / 'many.zip'}")
    yield server
    server.stop()


@pytest.fixture
def visit(browser):
    """visit(server, target) opens a page of a context of its own; at the end nothing may have failed in it but what the test announced."""
    opened = []

    def open_page(server, target="/", announced=(), before=None, **options):
        context = browser.new_context(base_url=server.url, viewport=options.pop("viewport", {"width": 1300, "height": 900}), **options)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        faults = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        # What is not there the browser says by itself; the explorer looks for coordinates that are not there.
        page.on("console", lambda message: message.type in ("error", "warning") and "404 (Not Found)" not in message.text and faults.append(message.text))
        page.on("dialog", lambda dialog: faults.append(f"a dialog: {dialog.message}"))
        page.on("request", lambda request: request.url.startswith(server.url + "/") or faults.append(f"another host: {request.url}"))
        opened.append((context, faults, announced))
        if before is not None:
            before(page)
        page.goto(target)
        return page

    yield open_page
    for context, faults, announced in opened:
        context.close()
        assert [fault for fault in faults if not any(word in fault for word in announced)] == []
