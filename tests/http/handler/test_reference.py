"""docs/reference, the man page and the completions say what the program says of itself: docs/reference/build makes them."""

import importlib.machinery
import importlib.util
import re
import shutil
import subprocess

import pytest
from live import BINARY, ROOT

COMPLETION = ROOT / "deploy/completion"


def load_build():
    loader = importlib.machinery.SourceFileLoader("reference_build", str(ROOT / "docs" / "reference" / "build"))
    build = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference_build", loader))
    loader.exec_module(build)
    return build


def test_the_reference_is_made_from_the_program():
    for path, text in load_build().pages(BINARY).items():
        assert (ROOT / path).read_text() == text, f"{path}: run docs/reference/build"


def test_every_metric_of_the_source_is_in_the_reference():
    source = (ROOT / "server/handler/handler_metrics.c").read_text()
    page = (ROOT / "docs/reference/metrics.md").read_text()
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r'"((?:zarrd|http|process)_[a-z_]+)', source)}
    assert len(names) > 50
    assert {name for name in names if f"| `{name}` |" not in page} == set()


def test_every_setting_of_the_table_is_in_the_reference():
    rows = re.findall(r"^ZD_[A-Z]+\((\w+), (\w+),", (ROOT / "server/config/config.def").read_text(), re.M)
    page, manual = (ROOT / "docs/reference/settings.md").read_text(), (ROOT / "docs/zarrd.1").read_text()
    assert len(rows) > 50
    for group, name in rows:
        assert f"| `{group}.{name}` |" in page and f"\n.B {group}.{name}\n" in manual


def test_the_man_page_has_no_warning():
    command = next((words for words in (["man", "--warnings", "-E", "UTF-8", "-l"], ["groff", "-man", "-Tutf8", "-ww"], ["mandoc", "-W", "warning"])
                    if shutil.which(words[0])), None)
    if command is None:
        pytest.skip("neither man, groff nor mandoc is installed")
    done = subprocess.run([*command, ROOT / "docs/zarrd.1"], capture_output=True, text=True, check=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MANWIDTH": "100"})
    assert done.stderr == "" and "http.connections" in done.stdout


def complete(*words):
    """The words that bash offers for the last one of a command line."""
    script = '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _zarrd 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, COMPLETION / "zarrd.bash", *words], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_options_settings_values_and_files():
    assert "--check-config" in complete("zarrd", "--che") and "-c" in complete("zarrd", "-")
    assert complete("zarrd", "--set", "cache.dec") == ["cache.decoded_bytes="]
    assert complete("zarrd", "--set", "access.anonymous", "=") == ["read", "none", "write"]
    assert complete("zarrd", "--set", "access.anonymous", "=", "no") == ["none"]
    assert complete("zarrd", "--config", "READ") == ["README.md"] == complete("zarrd", "READ")
    assert complete("zarrd", "--new-token", "READ") == []


def test_zsh_reads_its_completion():
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    subprocess.run(["zsh", "-n", COMPLETION / "_zarrd"], check=True)


PAGES = [ROOT / "core/README.md", ROOT / "server/README.md", *sorted((ROOT / "docs/develop").glob("*.md")), *sorted((ROOT / "docs/decisions").glob("*.md"))]
FILES = [path.relative_to(ROOT) for top in ("core", "server", "tests", "docs", "openapi", "deploy", "cmake", "config", "clients")
         for path in (ROOT / top).rglob("*") if "node_modules" not in path.parts]
MEDIA = ("application", "text", "image", "multipart")


def is_there(name):
    """Whether a file is named so from the root, or, as `room/module`, below a folder of that name. Names in capitals stand for others."""
    if re.search(r"[A-Z<]", name) or name.startswith(("/", "build/")) or name.split("/")[0] in MEDIA or (ROOT / name.replace("*", "")).exists():
        return True
    *rooms, last = name.strip("/").split("/")
    pattern = re.compile(re.escape(last).replace(r"\*", ".*") + r"(\.\w+)?")
    return any(pattern.fullmatch(path.name) and set(rooms) <= set(path.parts[:-1]) for path in FILES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_pages_name_exist(page):
    names = re.findall(r"`([a-z0-9_./*<>A-Z-]+)`", page.read_text())
    named = {name for name in names if re.fullmatch(r"[\w.*<>-]+(/[\w.*<>-]+)+/?", name) or re.fullmatch(r"[a-z]\w+\.(c|h|py|def|cmake|js|md)", name)}
    assert sorted(name for name in named if not is_there(name)) == []


def test_the_names_of_the_code_that_pages_name_exist():
    """Names that stand for others end in an underscore, or begin zd_x_; style.md shows forms."""
    sources = [path for top in ("core", "server", "cmake") for path in (ROOT / top).rglob("*") if path.suffix in (".c", ".h", ".cmake")]
    known = set(re.findall(r"\b(?:zd|ZD)_\w+", "\n".join(path.read_text() for path in sources)))
    forms = {"zd_noun", "zd_module_verb", "ZD_UPPER"}
    named = {name for page in PAGES for name in re.findall(r"\b(?:zd|ZD)_[A-Za-z0-9_]+", page.read_text())}
    assert len(named) > 50
    unknown = {name for name in named - known - forms if not re.search(r"^zd_x_|_$|_(NAME|SCHEME|X)$", name)}
    assert unknown == set()


def test_the_tables_of_rooms_are_short_and_whole():
    for part in ("core", "server"):
        text = (ROOT / part / "README.md").read_text()
        assert len(text.splitlines()) < 60
        rooms = {str(path.parent.relative_to(ROOT / part)) for path in (ROOT / part).rglob("*.c")} - {"."}
        assert {room for room in rooms if f"`{room}`" not in text} == set()
