"""Documents of others, with oddities that reading tolerates: what a change does not touch is no fault of it."""

import json

import pytest
from client import JSON, NODES, patch_node, put_node, stored
from documents import ARRAY, GROUP

S = "/v1/datasets/w/slices/"
LINE = {**ARRAY, "shape": [4], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "dimension_names": ["t"]}
BOUNDS = {"name": "example.array-statistics", "must_understand": False, "configuration": {"min": 0, "max": 0}}

# Where it stands, what it is, and the warning of it.
ODD = [
    ({**LINE, "attributes": {"v": float("nan")}}, "bare_nonfinite", "/attributes"),
    ({**LINE, "data_type": "float32", "fill_value": float("-inf")}, "bare_nonfinite", "/fill_value"),
    ({**LINE, "dimension_names": None}, None, "/dimension_names"),
]
ODD_GROUPS = [
    ({**GROUP, "attributes": {}, "consolidated_metadata": None}, "null_consolidated_metadata", "/consolidated_metadata"),
    ({**GROUP, "attributes": {"v": float("inf")}}, "bare_nonfinite", "/attributes"),
    ({**GROUP, "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": {
        f"n{i}": {**LINE, "dimension_names": None} for i in range(300)}}}, None, None),
    ({**GROUP, "consolidated_metadata": {"kind": "none", "must_understand": False, "metadata": {}}},
     "out_of_range", "/consolidated_metadata/kind"),
]


@pytest.fixture
def w(serve, tmp_path):
    (tmp_path / "zarr.json").write_text(json.dumps(GROUP))
    return serve("-w", f"w={tmp_path}")


def write(tmp_path, document):
    (tmp_path / "o").mkdir()
    text = document if isinstance(document, str) else json.dumps(document)
    (tmp_path / "o" / "zarr.json").write_text(text)
    return text


@pytest.mark.parametrize("document, code, pointer", ODD + ODD_GROUPS)
def test_a_patch_touches_nothing_else(w, tmp_path, document, code, pointer):
    write(tmp_path, document)
    answer = patch_node(w, "o", {"attributes": {"x": 1}})
    assert answer.status == 200, answer
    told = {(warning["code"], warning["pointer"]) for warning in answer.json().get("warnings", [])}
    assert pointer is None or pointer in {at for _, at in told}
    assert code is None or (code, pointer) in told
    attributes = {**document.get("attributes", {}), "x": 1}
    expected = json.dumps({**document, "attributes": attributes}, sort_keys=True)
    assert json.dumps(json.loads((tmp_path / "o/zarr.json").read_text()), sort_keys=True) == expected


@pytest.mark.parametrize("document, code, pointer", ODD)
def test_it_grows_by_appending(w, tmp_path, document, code, pointer):
    write(tmp_path, document)
    answer = w.request("PUT", S + "o?append=0", JSON, b"[1,2]")
    assert answer.status == 200, answer
    assert w.get(S + "o?slice=4:6&format=json").json()["data"] == [1, 2]
    left = json.loads((tmp_path / "o/zarr.json").read_text())
    assert json.dumps({**left, "shape": [4]}, sort_keys=True) == json.dumps(document, sort_keys=True)


@pytest.mark.parametrize("document, code, pointer", ODD)
def test_its_bounds_are_widened(w, tmp_path, document, code, pointer):
    write(tmp_path, {**document, "extensions": [BOUNDS]})
    assert "refused" not in w.get(NODES + "o").json()
    answer = w.request("PUT", S + "o", JSON, b"[1,2,3,4]")
    assert answer.status == 200, answer
    configuration = json.loads((tmp_path / "o/zarr.json").read_text())["extensions"][0]["configuration"]
    assert configuration["max"] == 4


@pytest.mark.parametrize("change, pointer", [
    ({"dimension_names": ["a", "b"]}, "/dimension_names"),
    ({"attributes": {}, "shape": [-1]}, "/shape/0"),
    ({"extensions": [{"extension": "http://e.com/x"}]}, "/extensions/0/extension"),
])
def test_new_faults_are_faults(w, tmp_path, change, pointer):
    text = write(tmp_path, {**LINE, "attributes": {"v": float("nan")}})
    answer = patch_node(w, "o", change)
    assert (answer.status, answer.code) == (422, "invalid_metadata"), answer
    assert pointer in {error["pointer"] for error in answer.json()["errors"]}
    assert (tmp_path / "o/zarr.json").read_text() == text


def test_an_old_fault_does_not_excuse_a_new_one(w, tmp_path):
    """A patch replaces an array as a whole: it is judged as one that is written, wherever its faults stood before."""
    odd = {**BOUNDS, "configuration": {"min": 0, "max": "0x7f80"}}  # bits of too few digits
    text = write(tmp_path, {**LINE, "data_type": "float32", "extensions": [odd]})
    assert "refused" not in w.get(NODES + "o").json()
    assert patch_node(w, "o", {"attributes": {"x": 1}}, "?dry_run=1").status == 200
    assert patch_node(w, "o", {"attributes": {"x": 1}, "shape": [6]}, "?dry_run=1").status == 200
    for bits in ("0x7f80", "0x4242"):
        written = {**BOUNDS, "configuration": {"min": 0, "max": bits}}
        answer = patch_node(w, "o", {"extensions": [written]})
        assert (answer.status, answer.code) == (422, "invalid_metadata"), answer
        assert "/extensions/0/configuration/max" in {error["pointer"] for error in answer.json()["errors"]}
        assert (tmp_path / "o/zarr.json").read_text() == text
    assert patch_node(w, "o", {"extensions": [BOUNDS]}).status == 200


@pytest.mark.parametrize("document", ["{", '{"zarr_format":3,"node_type":"group","attributes":{"\\u0000":"a"}}', "[]"])
def test_an_unpatchable_document_is_no_bad_body(w, tmp_path, document):
    write(tmp_path, document)
    answer = patch_node(w, "o", {"attributes": {"x": 1}})
    assert (answer.status, answer.code) == (422, "invalid_metadata"), answer
    assert answer.json()["errors"]
    assert (tmp_path / "o/zarr.json").read_text() == document


ODD_STRINGS = r"""{"a":"\u0000","b":["x\uD800\n","\udfff",1e999],"c":{"d":"\ud83d\ude00"}}"""


def test_attributes_that_no_utf8_can_say_are_shown_and_kept(w, tmp_path):
    """U+0000 and halves of surrogate pairs in values are JSON (RFC 8259, 8.2), and other readers read them."""
    text = write(tmp_path, '{"zarr_format":3,"node_type":"group","attributes":%s}' % ODD_STRINGS)
    shown = w.get(NODES + "o")
    assert shown.status == 200 and "refused" not in shown.json(), shown
    attributes = json.loads(ODD_STRINGS)
    assert shown.json()["metadata"]["attributes"] == attributes
    for part in (r'"\u0000"', r'"x\uD800\n"', r'"\udfff"', "1e999"):
        assert part in shown.body.decode()
    assert w.get("/zarr/w/o/zarr.json").body.decode() == text
    tree = w.get("/v1/datasets/w/tree?mode=live").json()["nodes"]
    assert [node["metadata"]["attributes"] for node in tree if node["path"] == "o"] == [attributes]
    assert patch_node(w, "o", {"attributes": {"e": "\ud800"}}).status == 200
    changed = (tmp_path / "o/zarr.json").read_text()
    for part in (r'"\u0000"', r'"x\uD800\n"', r'"\udfff"', "1e999", r'"\ud800"'):
        assert part in changed
    finite = {**attributes, "b": attributes["b"][:2]}
    assert put_node(w, "p", {**GROUP, "attributes": finite}).status == 201
    assert w.get(NODES + "p").json()["metadata"]["attributes"] == finite
    assert w.post("/v1/datasets/w/consolidate/", b"").status == 200
    listed = w.get("/v1/datasets/w/tree?mode=stored&check=1").json()
    assert listed["check"]["differing"] == []
    refused = put_node(w, "q", {"zarr_format": 3, "node_type": "group", "attributes": {"a\ud800": 1}})
    assert refused.status in (400, 422) and "U+0000" in str(refused.json())


def test_client_writes_are_judged_as_before(w):
    for document in [ODD[0][0], ODD_GROUPS[0][0]]:
        assert put_node(w, "o", document).status in (400, 422)
        assert w.request("PUT", "/zarr/w/o/zarr.json", JSON, json.dumps(document).encode()).status in (400, 422)
    assert stored(w, "o/zarr.json") is None
