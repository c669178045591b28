"""What somebody tries first works, or is answered with what does: slashes, health, names of other servers, pages for browsers."""

import base64
import hashlib
import html.parser
import json
import re

import numpy as np
import pytest
from arrays import write_values
from live import ROOT

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"}
JSON = {"Accept": "application/json"}
S = "/v1/datasets/d/slices/a"


@pytest.fixture(scope="module")
def server(serve_module, tmp_path_factory):
    root = tmp_path_factory.mktemp("guesses")
    (root / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(root / "a", np.arange(24.0).reshape(4, 6), [2, 6])
    (root / "a" / "c" / "1" / "0").unlink()
    (root / "broken").mkdir()
    (root / "broken" / "zarr.json").write_text("{")
    return serve_module(config={"datasets": {"d": {"location": str(root)}}})


FIXED = [path.replace("{d}", "d") for path, item in DOCUMENT["paths"].items()
         if "get" in item and not path.endswith(("}", "/", "/events"))] + ["/v1/datasets/d"]


@pytest.mark.parametrize("path", FIXED)
def test_a_slash_at_the_end_changes_nothing(server, path):
    plain, slashed = server.get(path, JSON), server.get(path + "/", JSON)
    assert (slashed.status, slashed.headers["content-type"]) == (plain.status, plain.headers["content-type"])
    assert path == "/metrics" or slashed.body == plain.body
    assert server.head(path + "/", JSON).status == plain.status
    assert server.get(path + "//").code == "bad_path"


@pytest.mark.parametrize("path", ["/healthz", "/health", "/healthz/"])
def test_other_names_of_health_say_whether_requests_should_come(server, path):
    answer = server.get(path)
    assert answer.status == 200 and answer.json() == server.get("/readyz").json()


USUAL = [
    # as other servers have it, ours, what the example has
    (S, "select=0:2", "slice", "slice="),
    (S, "selection=0:2", "slice", "slice="),
    (S, "slice_=0:2", "slice", "slice="),
    (S, "block=0,0", "slice", "slice="),
    (S, "BBOX=0,0,1,1", None, None),
    (S, "bbox=0,0,1,1", None, None),
    (S, "time=2001", None, None),
    (S, "datetime=2001", None, None),
    (S, "output=npy", "format", "format="),
    ("/v1/datasets/d/chunks/a", "block=0,0", "index", "index="),
    ("/v1/datasets/d/chunks/a", "chunk=0,0", "index", "index="),
    ("/v1/datasets/d/tree/", "offset=10", "cursor", "cursor="),
    ("/v1/datasets/d/images/a", "colormap_name=gray", "cmap", "cmap="),
    ("/v1/datasets/d/images/a", "rescale=0,1", "vmin", "vmax="),
    ("/v1/datasets/d/images/a", "width=10", "size", "size="),
]


@pytest.mark.parametrize("path, query, ours, example", USUAL)
def test_a_parameter_of_other_servers_is_answered_with_ours(server, path, query, ours, example):
    answer = server.get(f"{path}?{query}")
    document = answer.json()
    assert (answer.status, document["code"], document["names"]) == (400, "unknown_parameter", [query.split("=")[0]])
    [suggested] = document["suggestions"]
    assert suggested == ours if ours else suggested in ("sel", "slice")
    assert f"use {example or suggested + '='}" in document["detail"] or f"&{example}" in document["detail"]
    described = [parameter.get("name") or parameter["$ref"].rsplit("/", 1)[1]
                 for parameter in DOCUMENT["paths"][path.replace("/d/", "/{d}/").removesuffix("a").rstrip("/") + "/{path}"]["get"]["parameters"]]
    assert suggested in described


@pytest.mark.parametrize("member", ["selection", "block", "output"])
def test_a_member_of_other_servers_is_answered_with_ours(server, member):
    answer = server.post(S, {member: "0"})
    assert answer.code == "bad_body" and ("slice=" in answer.json()["expected"] or "format=" in answer.json()["expected"])


class Page(html.parser.HTMLParser):
    """The text of each element, and all elements and attributes."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.open, self.attributes = {}, [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.texts.setdefault(tag, "")
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        for tag in self.open:
            self.texts[tag] += data


PROBLEMS = [
    ("GET", "/nothing", 404), ("GET", "/v1/nothing", 404), ("GET", "/v1/datasets/other", 404), ("GET", "/zarr/other/x", 404),
    ("GET", "/v1/datasets/d/nodes/b", 404), ("GET", "/zarr/d/absent", 404), ("GET", "/v1/datasets/d/chunks/a?index=1,0", 404),
    ("GET", S + "?slice=9", 400), ("GET", S + "?slice=%3Cscript%3Ealert(1)%3C/script%3E", 400), ("GET", S + "?%3Cb%3E=1", 400),
    ("GET", S + "?format=%3Cimg%20src=x%3E", 406), ("GET", "/v1/datasets/d/nodes/%2e%2e", 400), ("GET", "/v1//datasets", 400),
    ("GET", "/v1/datasets/d/slices/broken", 422), ("POST", "/v1", 405), ("PUT", "/zarr/d/x", 405), ("DELETE", "/v1/datasets/d/nodes/a", 405),
    ("POST", S, 400), ("GET", "/v3/d/absent", 404),
]


@pytest.mark.parametrize("method, target, status", PROBLEMS)
def test_an_error_is_a_page_for_browsers_and_a_document_for_programs(server, method, target, status):
    body = b"{" if method in ("POST", "PUT") else None
    for _ in range(2):  # the second one may be prepared
        document = server.request(method, target, {"Accept": "*/*", "Content-Type": "application/json"}, body)
        answer = server.request(method, target, {**BROWSER, "Content-Type": "application/json"}, body)
        assert document.status == answer.status == status
        problem = document.json()
        page = Page(answer.body.decode())
        assert page.texts["title"] == f"{status} {problem['title']}" and problem["title"] in page.texts["h1"]
        assert problem["detail"] in page.texts["p"]
        shown = json.loads(page.texts["pre"])
        assert {**shown, "instance": None} == {**problem, "instance": None}
        assert all(text in page.texts.get("li", "") for text in problem.get("suggestions", []))
        assert not {"script", "img", "b"} & set(page.texts)
        own = ("content-type", "content-length", "content-security-policy", "date", "referrer-policy", "x-request-id")
        assert {**answer.headers, **dict.fromkeys(own)} == {**document.headers, **dict.fromkeys(own)}
        assert "Accept" in answer.headers["vary"] and answer.headers["content-type"] == "text/html; charset=utf-8"
        style = base64.b64encode(hashlib.sha256(page.texts["style"].encode()).digest()).decode()
        assert answer.headers["content-security-policy"].startswith(f"default-src 'none'; style-src 'sha256-{style}';")
        assert not page.attributes - {"lang", "charset", "name", "content", "href"}
    if method == "GET":
        head = server.head(target, BROWSER)
        assert head.body == b"" and head.headers["content-type"] == "text/html; charset=utf-8"
        assert (head.status, head.headers["content-length"]) == (status, answer.headers["content-length"])


def test_links_of_an_error_page_lead_somewhere(server):
    for link in re.findall('href="([^"]+)"', server.get("/nothing", BROWSER).body.decode()):
        assert server.get(link, BROWSER).status == 200


def test_a_body_that_is_refused_while_it_comes_gets_a_page_too(serve, tmp_path):
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    server = serve("--writable", f"w={tmp_path}")
    answer = server.request("PUT", "/v1/datasets/w/slices/none", {**BROWSER, "Content-Type": "application/octet-stream"}, bytes(1 << 20))
    assert answer.status == 404 and "There is no such node" in Page(answer.body.decode()).texts["h1"]


def test_a_credential_that_is_missing_is_told_to_a_browser(serve, tmp_path):
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    server = serve("--set", "access.anonymous=none", f"d={tmp_path}")
    answer = server.get("/v1/datasets/d", BROWSER)
    assert answer.status == 401 and "www-authenticate" in answer.headers
    assert "?access_token=TOKEN" in Page(answer.body.decode()).texts["p"]
