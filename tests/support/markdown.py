"""Code blocks, links and headings of the documents that people read.

A code block begins with three backticks, a language, and sometimes a mark:

    sh, python, js      the block runs against the servers of the demo
    sh no-run: REASON   the block does not run here; the reason says why
    sh waits            the block prints changes until it is stopped
    sh problem          the server answers the block's request with a problem document
    json config         `zarrd --check-config` accepts the block as a configuration
    json                the block parses
"""

import pathlib
import re
from dataclasses import dataclass

from live import ROOT

RUNNABLE = {"sh", "python", "js"}
MARKS = {"", "waits", "problem", "config"}
SHOWN = {"text", "c", "r", "julia", "yaml", "ini", "html", "cmake"}  # a block in these languages is only read
FOLDERS = ["*.md", "docs/**/*.md", "deploy/**/*.md", "clients/**/*.md", "core/**/*.md", "server/**/*.md", "tests/*/*.md"]


@dataclass
class Block:
    line: int
    language: str
    mark: str
    reason: str
    text: str


def documents():
    found = {path for folder in FOLDERS for path in ROOT.glob(folder) if "node_modules" not in path.parts}
    return sorted(path.relative_to(ROOT) for path in found)


def blocks(text):
    found = re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, re.M | re.S)
    result = []
    for match in found:
        language, _, rest = match[1].strip().partition(" ")
        mark, _, reason = rest.partition(":")
        result.append(Block(text.count("\n", 0, match.start()) + 1, language, mark.strip(), reason.strip(), match[2]))
    return result


def prose(text):
    """The text without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))


def links(text):
    return re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose(text))


def anchors(text):
    """The names that GitHub gives to headings."""
    headings = re.findall(r"^#+ +(.*?) *$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    names, seen = set(), {}
    for heading in headings:
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        names.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
    return names


def target_of(document, link):
    """The file and the heading that a relative link leads to; None for a link to another site."""
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = link.partition("#")
    return pathlib.Path(ROOT, document).parent / path if path else ROOT / document, anchor
