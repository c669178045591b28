"""Numbers as the explorer writes them: short enough for their place, and never another number."""

import json
import subprocess

import pytest
from live import ROOT

NAN, INF = "NaN", "Infinity"
FACTS = [
    (0, 4, "0"), (-0.25, 4, "-0.25"), (703.159, 4, "703.2"), (12345, 4, "12345"), (1.5e-9, 4, "1.5e-9"),
    (9_999_999, 4, "9999999"), (10_000_000, 4, "1e+7"), (96_372_690_000_000_000, 4, "9.637e+16"), (-6e8, 4, "-6e+8"),
    (0.000161487013521674, 7, "0.000161487"), (621124768.913417, 7, "621124800"), (4294967295, 7, "4294967295"),
    (3.14159265358979, 15, "3.14159265358979"), (1e15, 15, "1000000000000000"), (1e300, 15, "1e+300"),
    (NAN, 4, "NaN"), (INF, 4, "Infinity"), ("-Infinity", 4, "-Infinity"),
]
SCRIPT = """
import {pathToFileURL} from "node:url";
globalThis.document = {};
globalThis.location = {href: "http://localhost/"};
const {numberText} = await import(pathToFileURL(process.argv[1]));
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(([value, digits]) => numberText(typeof value === "string" ? Number(value) : value, digits))));
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    (folder / "package.json").write_text('{"type": "module"}')
    for module in (ROOT / "server/explorer").glob("*.js"):
        (folder / module.name).write_text(module.read_text())
    cases = json.dumps([[value, digits] for value, digits, _ in FACTS])
    done = subprocess.run(["node", "--input-type=module", "-e", SCRIPT, folder / "elements.js", cases], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("i", range(len(FACTS)), ids=[f"{value} in {digits}" for value, digits, _ in FACTS])
def test_a_number_is_written(written, i):
    assert written[i] == FACTS[i][2]
