"""The requests that /docs shows for curl, Python and JavaScript run as they stand, against a server as deploy/demo makes it."""

import base64
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from live import BINARY, ROOT, Server

DEMO = pathlib.Path(os.environ.get("ZARRD_DEMO_BINARY", BINARY.parent / "zarrd-demo"))
TOKEN = {"name": "reader", "sha256": hashlib.sha256(b"TOKEN").hexdigest(), "scopes": ["read"]}
KEY = {"id": "one", "secret": base64.b64encode(bytes(range(48))).decode()}
STREAM_S = 2
# All examples of JavaScript run in one process, one after the other: each prints, and none may meet an error.
RUNNER = """
const { examples, array } = JSON.parse(process.argv[2]);
const json = { "Content-Type": "application/json" };
const plain = fetch;
const say = console.log;
let n = 0;
console.log = () => { n++; };
globalThis.fetch = async (...asked) => {
  const answer = await plain(...asked);
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
};
for (const [name, file, isStream] of examples) {
  await fetch(`${array}/nodes/a?erase_chunks=1`, { method: "PUT", headers: json, body: process.argv[3] });
  await fetch(`${array}/slices/a`, { method: "PUT", headers: json, body: "[1, 2, 3, 4]" });
  n = 0;
  const ended = import(file).then(() => n > 0 ? "" : "it prints nothing", error => String(error));
  const trouble = await (isStream ? Promise.race([ended, new Promise(done => setTimeout(done, 1000, ""))]) : ended);
  if (trouble !== "") say(`${name}: ${trouble}`);
}
process.exit(0);
"""


def load_build():
    loader = importlib.machinery.SourceFileLoader("openapi_build", str(ROOT / "openapi" / "build"))
    build = importlib.util.module_from_spec(importlib.util.spec_from_loader("openapi_build", loader))
    loader.exec_module(build)
    return build


BUILD = load_build()
WHOLE = BUILD.document()
OPERATIONS = [(method, operation) for _, method, operation, _ in BUILD.Page(WHOLE).operations()]


def secret_file(path, document):
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    subprocess.run([DEMO, folder / "demo.zarr"], check=True, capture_output=True)
    tokens, keys = secret_file(folder / "tokens.json", {"tokens": [TOKEN]}), secret_file(folder / "keys.json", {"keys": [KEY]})
    datasets = {"demo": {"location": str(folder / "demo.zarr")}, "work": {"location": "mem:", "writable": True}}
    server = Server("--set", f"access.tokens_file={tokens}", "--set", f"access.signing_keys_file={keys}", config={"datasets": datasets})
    yield server
    server.stop()


def make_array(server):
    """What an example may change: the array of the first example, with a chunk."""
    document = json.dumps(WHOLE["x-requests"]["putNode"]["json"]).encode()
    as_json = {"Content-Type": "application/json"}
    assert server.request("PUT", "/v1/datasets/work/nodes/a?erase_chunks=1", as_json, document).status in (200, 201)
    assert server.request("PUT", "/v1/datasets/work/slices/a", as_json, b"[1, 2, 3, 4]").status in (200, 204)


def run_curl(text, folder, timeout):
    return subprocess.run(["sh", "-c", "curl() { command curl -fsS \"$@\"; }\n" + text], cwd=folder, capture_output=True, timeout=timeout, check=True).stdout


def run_python(text, folder, timeout):
    if timeout is not None:
        return subprocess.run(["python3", "-c", text], cwd=folder, capture_output=True, timeout=timeout, check=True).stdout
    shown = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(shown):
        exec(compile(text, "example", "exec"), {})  # the text is ours
    return shown.getvalue().encode()


def examples_of(server, language):
    """Of each operation its name, what its example asks, and the text."""
    version = re.search(r"/explorer/([^/]+)/app.js", server.get("/", {"Accept": "text/html"}).body.decode())[1]
    for method, operation in OPERATIONS:
        text = BUILD.examples(WHOLE, operation, method)[language].replace(BUILD.HERE, server.url).replace("VERSION", version)
        yield operation["operationId"], BUILD.request_of(WHOLE, operation, method), text


@pytest.mark.parametrize("language, run", [("curl", run_curl), ("Python", run_python)], ids=["curl", "Python"])
def test_the_requests_of_the_page_run(server, tmp_path, language, run):
    for name, asked, text in examples_of(server, language):
        make_array(server)
        if asked["answer"] == "stream":
            with pytest.raises(subprocess.TimeoutExpired):
                run(text, tmp_path, STREAM_S)
            continue
        try:
            shown = run(text, tmp_path, None)
        except subprocess.CalledProcessError as error:
            raise AssertionError(f"{name}: {text}\n{error.stderr.decode()}") from None
        except OSError as error:
            raise AssertionError(f"{name}: {text}\n{error}") from None
        if "file" in asked:
            assert (tmp_path / asked["file"]).stat().st_size > 0, name
        else:
            assert shown != b"" or (language == "curl" and asked["answer"] in ("none", "npy")), name


def test_the_requests_of_the_page_run_in_javascript(server, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    examples = []
    for name, asked, text in examples_of(server, "JavaScript"):
        (tmp_path / f"{name}.mjs").write_text(text)
        examples.append([name, f"./{name}.mjs", asked["answer"] == "stream"])
    (tmp_path / "run.mjs").write_text(RUNNER)
    told = json.dumps({"examples": examples, "array": f"{server.url}/v1/datasets/work"})
    done = subprocess.run(["node", "run.mjs", told, json.dumps(WHOLE["x-requests"]["putNode"]["json"])], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "" and len(examples) == len(OPERATIONS)


def test_every_request_belongs_to_an_operation():
    assert set(WHOLE["x-requests"]) <= {operation["operationId"] for _, operation in OPERATIONS}
