"""The explorer as it is served: who gets it, how it is kept and compressed, and what it may do. tests/explorer opens it in a browser."""

import gzip
import re

import pytest
from live import ROOT

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}  # as browsers say it
FILES = sorted(path.name for path in (ROOT / "server/explorer").iterdir())
POLICY = {
    "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "connect-src": "'self'", "base-uri": "'none'",
    "form-action": "'none'", "frame-ancestors": "'none'", "require-trusted-types-for": "'script'", "trusted-types": "'none'"}


def page_of(server, target="/", headers=None):
    answer = server.get(target, {**HTML, **(headers or {})})
    assert answer.status == 200 and answer.headers["content-type"] == "text/html; charset=utf-8", answer
    return answer


def folder_of(server):
    return re.search(r'src="(/explorer/[0-9a-f]{16}/)app.js"', page_of(server).body.decode())[1]


@pytest.mark.parametrize("accept, is_page", [
    ("text/html", True), ("text/html,application/xhtml+xml,*/*;q=0.8", True), ("text/*, application/json;q=0.5", True),
    ("*/*", False), ("application/json", False), ("text/html;q=0.5, application/json", False), (None, False)])
def test_browsers_get_the_page_and_programs_get_links(server, accept, is_page):
    answer = server.get("/", {} if accept is None else {"Accept": accept})
    assert answer.status == 200 and "Accept" in answer.headers["vary"]
    assert answer.headers["content-type"].startswith("text/html" if is_page else "application/json")
    assert is_page or answer.json()["links"]["explorer"] == "/explore/"


@pytest.mark.parametrize("target", [
    "/explore", "/explore/", "/explore/codecs", "/explore/codecs/gzip_6?slice=0", "/explore/none/at%20all", "/explore/codecs/gzip_6?x=<script>"])
def test_the_page_is_the_same_for_every_path(server, target):
    answer = page_of(server, target)
    assert answer.body == page_of(server).body and answer.headers["etag"] == page_of(server).headers["etag"]


def test_the_page_is_for_people(server):
    answer = server.get("/explore/codecs", {"Accept": "application/json"})
    assert answer.status == 406 and answer.code == "not_acceptable" and answer.json()["allowed"] == ["text/html"]


def test_nothing_runs_in_the_page_but_its_own_files(server):
    answer = page_of(server)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "no-referrer"
    page = answer.body.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page) and "{{" not in page
    assert all(match[0].endswith("></script>") for match in re.finditer(r"<script[^>]*>.*?</script>", page, re.S))
    for name in FILES:
        text = (ROOT / "server/explorer" / name).read_text()
        assert not re.search(r"\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write", text), name
        hosts = set(re.findall(r"https?://([\w.-]+)", text)) - {"www.w3.org"}
        assert not hosts, f"{name} names {hosts}"


def test_the_page_is_revalidated_and_its_files_are_kept(server):
    page = page_of(server)
    assert page.headers["cache-control"] == "no-cache"
    assert server.get("/", {**HTML, "If-None-Match": page.headers["etag"]}).status == 304
    for name in FILES:
        answer = server.get(folder_of(server) + name)
        assert answer.status == 200 and answer.body == (ROOT / "server/explorer" / name).read_bytes()
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert server.get(folder_of(server) + name, {"If-None-Match": answer.headers["etag"]}).status == 304
        assert server.head(folder_of(server) + name).headers["content-length"] == str(len(answer.body))


@pytest.mark.parametrize("name, media_type", [("app.js", "text/javascript; charset=utf-8"), ("style.css", "text/css; charset=utf-8"), ("icon.svg", "image/svg+xml")])
def test_a_file_has_its_type(server, name, media_type):
    assert server.get(folder_of(server) + name).headers["content-type"] == media_type


def test_page_and_files_are_compressed(server):
    for target in ("/", "/explore/codecs", folder_of(server) + "tree.js", folder_of(server) + "style.css"):
        plain = server.get(target, HTML)
        coded = server.get(target, {**HTML, "Accept-Encoding": "gzip"})
        assert coded.headers["content-encoding"] == "gzip" and "Accept-Encoding" in coded.headers["vary"]
        assert gzip.decompress(coded.body) == plain.body and len(coded.body) < 0.7 * len(plain.body)
        assert coded.headers["etag"] != plain.headers["etag"]


@pytest.mark.parametrize("target", ["/explorer/", "/explorer/app.js", "/explorer/0000000000000000/app.js", "/explorer/{version}/none.js", "/explorer/{version}/",
                                    "/explorer/{version}/a/app.js"])
def test_no_other_file_and_no_other_version_is_served(server, target):
    answer = server.get(target.replace("{version}", folder_of(server).split("/")[2]))
    assert answer.status == 404 and answer.code == "no_such_route"


def test_the_page_needs_no_credential_even_if_all_data_do(serve):
    server = serve("w=mem:", "--set", "access.anonymous=none")
    assert server.get("/v1/datasets").status == 401
    assert b"app.js" in page_of(server, "/explore/w/a").body and server.get(folder_of(server) + "app.js").status == 200
    assert server.get("/?access_token=none", HTML).status == 401  # one that is wrong is refused everywhere
