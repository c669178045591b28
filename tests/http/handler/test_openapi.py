"""The description says what the server does: openapi.yaml is valid, is what is served, and real answers obey it."""

import importlib.machinery
import importlib.util
import json
import re

import jsonschema
import openapi_spec_validator
import pytest
from live import ROOT
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
REGISTRY = Registry().with_resource("urn:openapi", Resource(contents=DOCUMENT, specification=DRAFT202012))


def test_the_json_is_made_from_the_yaml():
    loader = importlib.machinery.SourceFileLoader("build", str(ROOT / "openapi" / "build"))
    build = importlib.util.module_from_spec(importlib.util.spec_from_loader("build", loader))
    loader.exec_module(build)
    assert (ROOT / "openapi" / "openapi.json").read_text() == build.converted(), "run openapi/build"


def test_the_document_is_valid():
    openapi_spec_validator.validate(DOCUMENT)


def test_the_document_is_served(server):
    answer = server.get("/openapi.json")
    assert answer.status == 200 and answer.json() == DOCUMENT
    again = server.get("/openapi.json", {"If-None-Match": answer.headers["etag"]})
    assert again.status == 304 and again.body == b""


def test_every_problem_code_has_its_place():
    schema = DOCUMENT["components"]["schemas"]["ProblemCode"]
    source = (ROOT / "server/http/problem.c").read_text()
    codes = re.findall(r'^    \{"(\w+)", \d+, ', source, re.M)
    assert sorted(codes) == sorted(schema["enum"])


def resolve(thing):
    while "$ref" in thing:
        name = thing["$ref"]
        thing = DOCUMENT
        for part in name.removeprefix("#/").split("/"):
            thing = thing[part]
    return thing


def template_of(path):
    """The path template that a request path matches; {path} and {key} hold slashes, and may be empty with theirs."""
    for template in sorted(DOCUMENT["paths"], key=lambda t: t.count("{")):
        pattern = re.escape(template).replace(r"/\{path\}", "(/.*)?").replace(r"/\{key\}", "(/.*)?").replace(r"\{d\}", "[^/]+")
        if re.fullmatch(pattern, path):
            return template
    return None


def check_schema(schema, value, where):
    rooted = {"$ref": f"urn:openapi{schema['$ref']}"} if "$ref" in schema else schema
    text = json.dumps(rooted).replace('"#/components', '"urn:openapi#/components')
    try:
        jsonschema.Draft202012Validator(json.loads(text), registry=REGISTRY).validate(value)
    except jsonschema.ValidationError as error:
        raise AssertionError(f"{where}: {error.message} at {error.json_path}") from None


def check_answer(method, target, answer):
    """The status, the type, the headers and the JSON of an answer are among those described."""
    where = f"{method} {target} -> {answer.status}"
    template = template_of(target.split("?")[0])
    if template is None:
        assert answer.status in (404, 400, 405), where
        described = DOCUMENT["components"]["responses"]["Problem"]
    else:
        item = DOCUMENT["paths"][template]
        operation = item.get(method.lower()) or (item["get"] if method == "HEAD" else None)
        if operation is None:
            assert answer.status == 405, where
            described = DOCUMENT["components"]["responses"]["Problem"]
        else:
            described = resolve(operation["responses"].get(str(answer.status)) or operation["responses"]["default"])
    for name, header in described.get("headers", {}).items():
        header = resolve(header)
        value = answer.headers.get(name.lower())
        assert value is not None or not header.get("required"), f"{where}: no {name}"
        if value is not None:
            check_schema(header["schema"], value, f"{where}: {name}")
    content = described.get("content", {})
    if method == "HEAD" or answer.status in (301, 304, 308):
        assert answer.body == b"", where
        return
    media_type = answer.headers["content-type"].split(";")[0]
    assert media_type in content, f"{where}: {media_type} is none of {list(content)}"
    if media_type.endswith("json") and "schema" in content[media_type]:
        check_schema(content[media_type]["schema"], answer.json(), where)


def check_whole(schema, answer):
    """A whole document of that name: nothing that is required is missing."""
    check_schema({"$ref": f"#/components/schemas/{schema}"}, answer.json(), schema)


GETS = [
    "/", "/healthz", "/health", "/docs", "/docs.js", "/docs.css", "/livez", "/readyz", "/metrics", "/openapi.json", "/v1", "/v1/extensions", "/v1/limits", "/v1/datasets",
    "/v1/datasets/codecs", "/v1/datasets/absent",
    "/v1/datasets/codecs/nodes", "/v1/datasets/codecs/nodes/", "/v1/datasets/codecs/nodes/gzip_6",
    "/v1/datasets/codecs/nodes/gzip_6?fields=metadata.shape,array.dtype", "/v1/datasets/codecs/nodes/absent",
    "/v1/datasets/codecs/nodes/gzip_6?pretty=1", "/v1/datasets/codecs/nodes/gzip_6?pretty=yes",
    "/v1/datasets/codecs/tree", "/v1/datasets/codecs/tree/?limit=3", "/v1/datasets/codecs/tree/?fields=path",
    "/v1/datasets/consolidated/tree/?format=zarr", "/v1/datasets/consolidated/tree/?format=zmetadata",
    "/v1/datasets/consolidated/tree/?check=1", "/v1/datasets/consolidated_stale/tree/?check=1",
    "/v1/datasets/consolidated_stale/tree/?mode=stored",
    "/v1/datasets/codecs/tree/?depth=x", "/v1/datasets/codecs/tree/?what=1",
    "/v1/datasets/codecs/chunks/gzip_6?index=0,0", "/v1/datasets/codecs/chunks/gzip_6?index=0,0&decoded=1",
    "/v1/datasets/codecs/chunks/gzip_6?index=9,9", "/v1/datasets/codecs/chunks/gzip_6?present=1",
    "/v1/datasets/codecs/chunks/gzip_6?present=1&slice=0:1", "/v1/datasets/codecs/chunks/gzip_6",
    "/v1/datasets/codecs/slices/gzip_6", "/v1/datasets/codecs/slices/gzip_6?slice=0:2,::2&format=json",
    "/v1/datasets/codecs/slices/gzip_6?slice=0:2&format=npy", "/v1/datasets/codecs/slices/gzip_6?slice=0&format=csv",
    "/v1/datasets/codecs/slices/gzip_6?slice=x", "/v1/datasets/codecs/slices/gzip_6?slice=1000",
    "/v1/datasets/codecs/slices/gzip_6?format=png", "/v1/datasets/codecs/slices/gzip_6?expected_shape=1",
    "/v1/datasets/codecs/slices/gzip_6?plan=1",
    "/v1/datasets/codecs/stats/gzip_6?plan=1", "/v1/datasets/codecs/images/gzip_6?plan=1", "/v1/datasets/codecs/slices/", "/v1/datasets/dtypes/tree/", "/v1/datasets/fill/tree/", "/v1/datasets/sharding/tree/",
    "/v1/datasets/shapes/tree/", "/v1/datasets/metadata/tree/", "/v1/datasets/zarrita_js/tree/", "/v1/datasets/ts/tree/",
    "/zarr/codecs/zarr.json", "/zarr/codecs/absent", "/zarr/codecs/gzip_6/", "/zarr/codecs/gzip_6", "/zarr/codecs",
    "/v3/codecs/zarr.json", "/v3/codecs/gzip_6/zarr.json", "/v3/codecs/gzip_6/c/0/0", "/v3/codecs/absent", "/v3/codecs/",
    "/v3-unsharded/sharding/zarr.json", "/v3-unsharded/codecs/gzip_6/c/0/0",
    "/v1/datasets/codecs/nodes/%2e%2e", "/nothing",
]


@pytest.mark.parametrize("target", GETS)
def test_answers_are_as_described(server, target):
    check_answer("GET", target, server.get(target))
    check_answer("HEAD", target, server.head(target))


@pytest.mark.parametrize("target, headers", [
    ("/zarr/codecs/zarr.json", {"Range": "bytes=0-3"}),
    ("/zarr/codecs/zarr.json", {"Range": "bytes=999999-"}),
    ("/zarr/codecs/zarr.json", {"If-None-Match": "*"}),
    ("/zarr/codecs/zarr.json", {"If-Match": '"other-1"'}),
    ("/v1/datasets/codecs/slices/gzip_6", {"Range": "bytes=0-3"}),
    ("/v1/datasets/codecs/slices/gzip_6", {"If-None-Match": "*"}),
    ("/v1/datasets/codecs/nodes/", {"If-None-Match": "*"}),
    ("/v1/datasets/codecs/nodes/", {"Accept": "image/png"}),
    ("/", {"Accept": "text/html"}),
    ("/explore/codecs", {"Accept": "text/html"}),
    ("/explore/codecs", {"Accept": "image/png"}),
    ("/explorer/none/app.js", {}),
], ids=str)
def test_conditional_answers_are_as_described(server, target, headers):
    check_answer("GET", target, server.get(target, headers))


@pytest.mark.parametrize("target, document", [
    ("slices/gzip_6", {"slice": ["0:1", "0"], "format": "json"}),
    ("slices/gzip_6", {"slice": 1.5}),
    ("slices/gzip_6", b"{"),
    ("chunks/gzip_6", {"indices": [[0, 0]]}),
    ("chunks/gzip_6", {"indices": [[0]]}),
    ("chunks/gzip_6", {}),
    ("nodes/gzip_6", {}),
], ids=str)
def test_answers_to_bodies_are_as_described(server, target, document):
    target = f"/v1/datasets/codecs/{target}"
    check_answer("POST", target, server.post(target, document))


def test_whole_nodes_have_every_member(server):
    for store in ("codecs", "dtypes", "fill", "sharding", "shapes"):
        tree = server.get(f"/v1/datasets/{store}/tree/").json()
        for entry in tree["nodes"]:
            check_whole("Node", server.get(f"/v1/datasets/{store}/nodes/{entry['path']}"))
