"""/docs: the API as a page, made from openapi.yaml, that asks no other host for anything."""

import html.parser
import importlib.machinery
import importlib.util
import json
import re

import pytest
import yaml
from live import ROOT

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
METHODS = ("get", "put", "patch", "post", "delete")


class Links(html.parser.HTMLParser):
    """All elements, ids and links of a page, and what stands in <style> and in attributes that run scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.handlers = set(), set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                assert value not in self.ids
                self.ids.add(value)
            if name in ("href", "src", "action"):
                self.links.append(value)
            if name.startswith("on") or name == "style":
                self.handlers.append(name)


@pytest.fixture(scope="module")
def server(serve_module):
    return serve_module("w=mem:")


def test_the_page_is_made_from_the_description():
    loader = importlib.machinery.SourceFileLoader("build", str(ROOT / "openapi" / "build"))
    build = importlib.util.module_from_spec(importlib.util.spec_from_loader("build", loader))
    loader.exec_module(build)
    assert (ROOT / "openapi" / "docs.html").read_text() == build.page(), "run openapi/build"


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_the_page_has_every_operation_and_schema(server, path):
    answer = server.get(path)
    assert answer.status == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
    page = Links(answer.body.decode())
    operations = {item[method]["operationId"] for item in DOCUMENT["paths"].values() for method in METHODS if method in item}
    assert operations | {f"schema-{name}" for name in DOCUMENT["components"]["schemas"]} <= page.ids
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    assert "{{" not in answer.body.decode()
    for code in DOCUMENT["components"]["schemas"]["ProblemCode"]["enum"]:
        assert code in answer.body.decode()


def test_nothing_of_the_page_comes_from_elsewhere(server):
    answer = server.get("/docs")
    page = Links(answer.body.decode())
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not page.handlers and "style" not in page.tags
    assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in page.links)
    script, style = server.get("/docs.js"), server.get("/docs.css")
    assert (script.headers["content-type"], style.headers["content-type"]) == ("text/javascript; charset=utf-8", "text/css; charset=utf-8")
    assert script.body == (ROOT / "openapi/docs.js").read_bytes() and style.body == (ROOT / "openapi/docs.css").read_bytes()
    assert not re.search(rb"https?:|innerHTML|eval\(|document\.write", script.body + style.body) and b"url(" not in style.body
    for file in (answer, script, style):
        again = server.get("/docs" if file is answer else "/docs.js" if file is script else "/docs.css", {"If-None-Match": file.headers["etag"]})
        assert again.status == 304


def test_links_have_the_prefix_of_a_proxy(serve):
    server = serve("--set", "http.trusted_proxies=127.0.0.1", "w=mem:")
    page = Links(server.get("/docs", {"X-Forwarded-Prefix": "/data"}).body.decode())
    assert all(link.startswith(("/data/", "#")) for link in page.links)


def test_everybody_may_read_it(serve):
    server = serve("--set", "access.anonymous=none", "w=mem:")
    assert [server.get(path).status for path in ("/docs", "/docs.js", "/docs.css")] == [200, 200, 200]


def test_examples_belong_to_operations_that_get():
    tries = yaml.safe_load((ROOT / "openapi/openapi.yaml").read_text())["x-try"]
    gets = {item["get"]["operationId"] for item in DOCUMENT["paths"].values() if "get" in item}
    assert set(tries) <= gets
