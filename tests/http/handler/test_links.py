"""No link leads nowhere: all that the pages and the lists of links name is followed."""

import html.parser
import shutil
import urllib.parse

import numpy as np
from arrays import write_values

HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}  # as browsers say it
GROUP = '{"zarr_format": 3, "node_type": "group"}'
NAMES = ["a b", "a%b", "a%41", "a?b=c", "a#b", "a+b", "a&b", "a;b", "a:b", "http:", "a\"b", "a'b", "<a>", "é", "日本", "a\\b", "..a", "a..",
         ".a", "~", "a=b,c", "@", "[0]", "{d}", "a|b", "^", "`", "!$()*", "x" * 255, "é" * 127, "a\nb", "a\tb", "a\x7fb", b"\xff", "-", "0", "__x"]


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value.split("#")[0] for name, value in attrs if name in ("href", "src")]


def links_of(answer):
    parser = Links()
    parser.feed(answer.body.decode())
    return parser.found


def follow(server, start, n_each=None):
    """Every page and resource that can be reached from a page; of what a page lists and is no directory, at most n_each."""
    seen = {}
    waiting = [(start, "the test")]
    connection = server.connection()
    while waiting:
        target, source = waiting.pop()
        if target not in seen:
            answer = server.get(target, HTML, connection=connection)
            assert answer.status < 400, f"{source} links {target}: {answer.status} {answer.body[:200]}"
            seen[target] = source
            if answer.headers["content-type"].startswith("text/html"):
                links = links_of(answer)
                leaves = [link for link in links if not link.endswith("/")][n_each:] if n_each is not None else []
                waiting += [(urllib.parse.urljoin(target, link), target) for link in links if link not in leaves]
    connection.close()
    return set(seen)


def test_no_link_of_a_page_is_dead(serve, tmp_path):
    places = {name: tmp_path / name for name in ("whole", "empty", "rootless", "array", "broken", "unknown", "file", "gone", "lost", "odd", "hidden")}
    for folder in places.values():
        folder.mkdir()
    for name in ("whole", "hidden", "odd"):
        (places[name] / "zarr.json").write_text(GROUP)
        write_values(places[name] / "a" / "b", np.arange(4.0), [2])
    write_values(places["rootless"] / "a", np.arange(4.0), [2])
    write_values(places["array"], np.arange(4.0), [2])
    (places["broken"] / "zarr.json").write_text("{")
    (places["unknown"] / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "other": 1}')
    (places["file"] / "zarr.json").mkdir()
    for name in NAMES:
        path = (str(places["odd"]).encode() if isinstance(name, bytes) else str(places["odd"])) + (b"/" if isinstance(name, bytes) else "/") + name
        with open(path, "wb") as file:
            file.write(b"x")
    for name in ("dead", "loop"):
        (places["odd"] / name).symlink_to(tmp_path / "nowhere" if name == "dead" else places["odd"] / "loop")
    (places["odd"] / "inside").symlink_to("a")
    (places["odd"] / "d e").mkdir()
    (places["odd"] / "d e" / "f g").write_bytes(b"x")
    config = {name: {"location": str(folder), "allow_keys": name != "hidden", "title": f"<{name}> & \"more\""} for name, folder in places.items()}
    config["lost"]["revalidate_ms"] = 0
    shutil.rmtree(places["gone"])
    server = serve("--writable", "work=mem:", config={"datasets": config})
    shutil.rmtree(places["lost"])
    seen = follow(server, "/zarr/")
    for expected in ("/zarr/", "/v1", "/zarr/whole/a/b/c/0", "/v1/datasets/whole/tree/?pretty=1", "/v1/datasets/array/nodes/?pretty=1",
                     "/zarr/odd/a%20b", "/zarr/odd/d%20e/f%20g", "/zarr/empty/", "/zarr/work/"):
        assert expected in seen, expected
    assert not any(target.startswith(("/zarr/hidden", "/v1/datasets/empty/")) for target in seen)


def test_no_link_of_a_page_over_the_corpus_is_dead(server):
    assert len(follow(server, "/zarr/", 4)) > 100


def test_no_link_of_the_explorer_is_dead(server):
    links = [urllib.parse.urljoin("/", link) for link in links_of(server.get("/", HTML))]
    assert len(links) > 8
    for link in links:
        assert server.get(link, HTML).status < 400, link


def test_no_link_of_a_document_is_dead(server):
    waiting, seen = ["/v1", "/", "/v1/datasets", "/v1/datasets/codecs", "/v1/datasets/codecs/nodes/", "/v1/datasets/codecs/nodes/gzip_6"], set()
    documents = list(waiting)
    while documents:
        document = server.get(documents.pop()).json()
        for part in [document, *document.get("datasets", [])]:
            seen |= {target for name, target in part.get("links", {}).items()
                     if target is not None and (part.get("dialect", "v3") or name not in ("nodes", "tree"))}
    assert len(seen) > 20
    for target in seen:
        answer = server.head(target)
        assert answer.status < 400 or answer.status == 400, f"{target}: {answer.status}"
