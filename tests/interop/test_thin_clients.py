"""The clients of clients/, each by its example: with a token it lists, reads, writes, and is refused with what is allowed."""

import hashlib
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from live import ROOT
from test_demo import DEMO

CLIENTS = ROOT / "clients"
GO_CACHE = ROOT / "build" / "go"  # go compiles its library once, which takes half a minute
TOKEN = "a-token-of-the-test-of-thin-clients"
SLICE = "12,::24,::48"
SHAPE = (3, 3)
LINES_MAX = 80
COMMENT = re.compile(r"\s*(//|/\*\*|#|$)")
NUMBER = re.compile(r"-?\d+\.\d+")
BUILD_S = 300

# The file of each client; how its example is built, in the folder of the client; how that is run.
LANGUAGES = {
    "python": ("zarrd.py", [], ["python3", "example.py"]),
    "javascript": ("zarrd.js", [], ["node", "example.js"]),
    "go": ("zarrd.go", [["go", "build", "-o", "{out}/example", "./example"]], ["{out}/example"]),
    "rust": ("zarrd.rs", [["rustc", "--edition", "2021", "--crate-type", "lib", "--crate-name", "zarrd", "--out-dir", "{out}", "zarrd.rs"],
                          ["rustc", "--edition", "2021", "-L", "{out}", "--extern", "zarrd", "-o", "{out}/example", "example.rs"]],
             ["{out}/example"]),
    "java": ("Zarrd.java", [["javac", "-Werror", "-d", "{out}", "Zarrd.java", "Example.java"]], ["java", "-cp", "{out}", "Example"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("thin")
    subprocess.run([str(DEMO), str(folder / "demo.zarr")], check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture
def server(folder, serve):
    """The demo data for whoever has the token: nobody else sees it."""
    entry = {"name": "ada", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest(), "scopes": ["read", "write"], "datasets": ["demo"]}
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [entry]}))
    tokens.chmod(0o600)
    dataset = {"location": str(folder / "demo.zarr"), "writable": True, "access": "private"}
    return serve("--set", f"access.tokens_file={tokens}", config={"datasets": {"demo": dataset}})


def run(command, language, out, *arguments):
    words = [word.format(out=out) for word in command]
    environment = {**os.environ, "GOCACHE": str(GO_CACHE), "GOFLAGS": "-mod=mod", "GO111MODULE": "on"}
    done = subprocess.run([*words, *arguments], cwd=CLIENTS / language, capture_output=True, text=True, timeout=BUILD_S, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lines_of(text):
    return dict(line.split(":", 1) for line in text.splitlines())


def numbers_of(text):
    return [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_thin_client_is_short_and_does_it_all(server, tmp_path, language):
    source, builds, example = LANGUAGES[language]
    if shutil.which((builds[0] if builds else example)[0]) is None:
        pytest.skip(f"no compiler of {language} is there")
    code = [line for line in (CLIENTS / language / source).read_text().splitlines() if not COMMENT.match(line)]
    assert len(code) <= LINES_MAX
    for build in builds:
        run(build, language, tmp_path)
    base = f"{server.url}/v1/datasets/demo"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    noon = np.frombuffer(server.get(f"/v1/datasets/demo/slices/solar/irradiance?slice={SLICE}", headers).body, "<f4")

    out = lines_of(run(example, language, tmp_path, base, TOKEN))

    assert out["arrays"].split() == ["solar/irradiance", "solar/lat", "solar/lon", "solar/time"]
    np.testing.assert_allclose(numbers_of(out["noon"]), noon, atol=1e-3)
    assert tuple(int(n) for n in re.findall(r"\d+", out["noon"])[:2]) == SHAPE
    assert numbers_of(out["written"]) == [1.5, 2.5]
    assert "400" in out["refused"] and "index 999 of dimension 0 is out of bounds: the dimension has 576 elements" in out["refused"]


def test_r_needs_no_package(folder, serve, tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("no interpreter of R is there")
    server = serve(f"demo={folder / 'demo.zarr'}")
    script = re.search(r"```r\n(.*?)```", (CLIENTS / "README.md").read_text(), re.DOTALL)[1]
    (tmp_path / "noon.R").write_text(script.replace("http://localhost:8080", server.url))
    done = subprocess.run(["Rscript", "noon.R"], cwd=tmp_path, capture_output=True, text=True, timeout=BUILD_S)
    assert done.returncode == 0, done.stderr
    noon = np.frombuffer(server.get(f"/v1/datasets/demo/slices/solar/irradiance?slice={SLICE}").body, "<f4").reshape(SHAPE)
    rows = [line.split()[1:] for line in done.stdout.splitlines() if re.match(r"\s*\[\d", line)]
    np.testing.assert_allclose(np.array(rows, float), noon, rtol=1e-3, atol=1e-3)
