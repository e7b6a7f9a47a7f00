"""The documents as data: their blocks of code, links and anchors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCUMENTS = (README, *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(
    r"(?:^ *<!-- not run: (?P<excuse>[^\n]+?) -->\n\n?)?"
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\[(?P<text>[^\]\[]*)\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a document, and why it is not run, "" if it is."""

    document: Path
    line: int
    language: str
    code: str
    excuse: str

    def __str__(self) -> str:
        return f"{name(self.document)}:{self.line}"


def name(document: Path) -> str:
    """Return the path of a document in the repository."""
    return document.relative_to(ROOT).as_posix()


def blocks(document: Path, *languages: str) -> Iterator[Block]:
    """Yield the fenced blocks of a document in any of some languages, from top to bottom."""
    text = document.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        if found["language"] in languages:
            code = "".join(line.removeprefix(found["indent"]) for line in found["code"].splitlines(keepends=True))
            yield Block(document, text.count("\n", 0, found.start("code")), found["language"], code, found["excuse"] or "")


def links(document: Path) -> list[str]:
    """Return the targets of a document's links and images, but those to other hosts."""
    text = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", document.read_text(encoding="utf-8")))
    targets = [found["target"] for found in _LINK.finditer(text)]
    return [target for target in targets if not re.match(r"(?:https?|mailto):", target)]


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def commands(document: Path) -> list[str]:
    """Return the commands that a document tells: the lines of its shell blocks, and what stands between backquotes and begins as one.

    Commands of results, which name a commit, are those of that commit, and left out.
    """
    text = re.sub(r"`[^`\n]*`, commit", "", document.read_text(encoding="utf-8"))
    lines = [line for block in blocks(document, "sh", "bash") for line in block.code.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"^    ((?:webarena-gym|python -m|make|pip) .*)$", text, re.MULTILINE)
    lines += re.findall(r"`((?:webarena-gym|python -m|make|pip) [^`\n]*)`", text)
    bare = [re.sub(r"(?:^|\s)#.*$", "", line) for line in lines]
    found = [command.strip() for line in bare for command in re.split(r"&&|;|(?<!\\)\|(?!\w)", line)]
    return list(filter(None, found))
