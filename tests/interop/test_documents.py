"""README.md and docs/: every example runs, every link leads somewhere, and the README stays short."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest
from live import BINARY, ROOT, Server
from markdown import MARKS, RUNNABLE, SHOWN, anchors, blocks, documents, links, target_of

DEMO = pathlib.Path(os.environ.get("ZARRD_DEMO_BINARY", BINARY.parent / "zarrd-demo"))
SHIM = ROOT / "tests/support/event_source.mjs"
TOKEN = "the-token-of-ada"
TIMEOUT_S = 120
CURL = 'curl() { command curl -fsS --max-time 100 "$@"; }\n'
DOCUMENTS = documents()
GUIDES = [path for path in DOCUMENTS if path.parts[0] in ("README.md", "docs")]
SETUP = {"deploy/demo", "tests/run"}
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8", "fill_value": 0,
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}


def text_of(document):
    return (ROOT / document).read_text()


def has_examples(document):
    return any(block.language in RUNNABLE and block.mark != "no-run" for block in blocks(text_of(document)))


@pytest.fixture(scope="module")
def demo_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents") / "demo.zarr"
    subprocess.run([DEMO, folder], check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture
def server(demo_store, tmp_path):
    """The datasets of deploy/demo, a token that may read and write, and a key that signs."""
    (tmp_path / "work").mkdir()
    tokens, keys = tmp_path / "tokens.json", tmp_path / "keys.json"
    tokens.write_text(json.dumps({"tokens": [{"name": "ada", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest(), "scopes": ["read", "write"]}]}))
    keys.write_text(json.dumps({"keys": [{"id": "k1", "secret": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}]}))
    for path in (tokens, keys):
        path.chmod(0o600)
    started = Server("--set", f"access.tokens_file={tokens}", "--set", f"access.signing_keys_file={keys}",
                     config={"datasets": {"demo": {"location": str(demo_store)}, "work": {"location": str(tmp_path / "work"), "writable": True}}})
    yield started
    started.stop()


class Reader:
    """Someone who copies the examples of one document, from its top to its end, into a shell, Python and Node."""

    def __init__(self, server, folder):
        self.server = server
        self.folder = folder
        self.names = {}
        self.shell = {**os.environ, "PATH": f"{BINARY.parent}:{os.environ['PATH']}", "T": TOKEN}

    def here(self, text):
        return text.replace("http://localhost:8080", self.server.url)

    def command(self, block):
        if block.language == "sh":
            return ["bash", "-euc", ("" if block.mark == "problem" else CURL) + self.here(block.text)]
        script = self.folder / f"line{block.line}.{'mjs' if block.language == 'js' else 'py'}"
        script.write_text(self.here(block.text))
        return ["node", "--import", str(SHIM), str(script)] if block.language == "js" else [sys.executable, str(script)]

    def run(self, block):
        if block.mark == "waits":
            self.wait(block)
        elif block.language == "python":
            exec(compile(self.here(block.text), f"line {block.line}", "exec"), self.names)
        else:
            done = subprocess.run(self.command(block), cwd=self.folder, env=self.shell, capture_output=True, timeout=TIMEOUT_S, check=False)
            assert done.returncode == 0, (block.line, done.stderr.decode())
            assert block.mark != "problem" or b'"code"' in done.stdout, (block.line, done.stdout)

    def wait(self, block):
        """Writes until the example has printed a line."""
        self.server.request("PUT", "/v1/datasets/work/nodes/seen", {"Content-Type": "application/json"}, json.dumps(ARRAY).encode())
        running = subprocess.Popen(self.command(block), cwd=self.folder, env=self.shell, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        printed = threading.Event()
        threading.Thread(target=lambda: running.stdout.readline() and printed.set(), daemon=True).start()
        for number in range(TIMEOUT_S * 5):
            value = bytes([number % 100 + 1])
            assert self.server.request("PUT", "/v1/datasets/work/slices/seen", {"Content-Type": "application/octet-stream"}, value * 4).status == 200
            if printed.wait(0.2) or running.poll() is not None:
                break
        running.kill()
        running.wait()
        assert printed.is_set(), (block.line, running.stderr.read().decode())


@pytest.mark.parametrize("document", [path for path in GUIDES if has_examples(path)], ids=str)
def test_every_example_works(document, server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reader = Reader(server, tmp_path)
    for block in blocks(text_of(document)):
        if block.language in RUNNABLE and block.mark != "no-run":
            reader.run(block)


@pytest.mark.parametrize("document", GUIDES, ids=str)
def test_every_example_runs_or_says_why_not(document):
    for block in blocks(text_of(document)):
        if block.mark == "no-run":
            assert len(block.reason) > 10, f"{document}, line {block.line}: no-run needs a reason"
        elif block.language == "json":
            assert json.loads(block.text), (document, block.line)
        else:
            assert block.language in RUNNABLE | SHOWN, f"{document}, line {block.line}: a code block names its language"
        assert block.mark == "no-run" or block.mark in MARKS, f"{document}, line {block.line}: unknown mark '{block.mark}'"


def test_the_guides_read_the_demo_in_many_commands():
    run = [block for path in GUIDES for block in blocks(text_of(path)) if block.language == "sh" and block.mark == ""]
    lines = [line for block in run for line in block.text.splitlines() if line.startswith("curl ") and "/datasets/demo/" in line]
    assert len(lines) > 20


CONFIGURATIONS = [(path, block) for path in GUIDES for block in blocks(text_of(path)) if block.mark == "config"]


@pytest.mark.parametrize(("document", "block"), CONFIGURATIONS, ids=[f"{path}:{block.line}" for path, block in CONFIGURATIONS])
def test_every_configuration_is_accepted(document, block, tmp_path):
    (tmp_path / "zarrd.json").write_text(block.text)
    done = subprocess.run([BINARY, "--config", tmp_path / "zarrd.json", "--check-config"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_every_link_leads_to_a_file_and_a_heading(document):
    for link in links(text_of(document)):
        target = target_of(document, link)
        if target is None:
            continue
        path, anchor = target
        assert path.exists(), f"{document}: {link} leads nowhere"
        assert not anchor or anchor in anchors(path.read_text()), f"{document}: {link} leads to no heading"


def test_the_readme_is_short_and_has_two_commands_to_set_up():
    text = text_of("README.md")
    assert text.count("\n") <= 150
    lines = [line for block in blocks(text) if block.language == "sh" for line in block.text.splitlines()]
    repository = [line.split()[0] for line in lines if line.strip() and (ROOT / line.split()[0]).is_file()]
    assert sorted(repository) == sorted(SETUP)


def test_the_readme_names_the_versions_that_the_tests_use():
    pinned = dict(re.findall(r"^(\S+)==(\S+)$", text_of("tests/requirements.txt"), re.M))
    pinned["netCDF4"] = pinned["netCDF4"].partition(".post")[0].rpartition(".")[0]
    pinned |= json.loads(text_of("tests/interop/package.json"))["dependencies"]
    rows = re.findall(r"^\| clients in \w+ \| (.*) \|$", text_of("README.md"), re.M)
    named = [entry.split() for row in rows for entry in row.split(", ")]
    assert len(named) > 5
    assert named == [[name, pinned[name]] for name, _ in named]


def test_the_problem_in_the_guide_has_the_members_of_the_answer(server):
    [shown] = [json.loads(block.text) for block in blocks(text_of("docs/use/errors.md")) if block.language == "json"]
    answer = server.get("/v1/datasets/demo/slices/solar/irradiance?slice=999").json()
    assert list(shown) == list(answer)
    words = {"title", "detail", "instance"}
    assert {name: shown[name] for name in shown.keys() - words} == {name: answer[name] for name in answer.keys() - words}


def test_every_guide_is_linked_from_the_readme_or_its_neighbour():
    targets = [target_of(path, link) for path in DOCUMENTS for link in links(text_of(path))]
    linked = {target[0].resolve() for target in targets if target is not None}
    assert [path for path in GUIDES[1:] if not {ROOT / path, (ROOT / path).parent} & linked] == []


def test_the_screenshot_is_small():
    [image] = [link for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text_of("README.md"))]
    assert (ROOT / image).stat().st_size <= 150_000
