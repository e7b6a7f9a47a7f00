"""No text makes a part slow: what reads foreign text takes linear time, and so does every regular expression of the sources."""

import ast
import re
import re._constants as codes
import re._parser as parser
from collections import deque
from html import escape
from importlib import import_module
from itertools import islice, product
from pathlib import Path

import pytest

from tests.growth import NASTY, outgrown, text_of
from webarena_gym.browsers import style_sheets
from webarena_gym.browsers.cookies import CookieJar
from webarena_gym.browsers.document import Document, SavedDocument
from webarena_gym.browsers.forms import format_problem
from webarena_gym.browsers.http import render_response, resolve_url
from webarena_gym.observation import observe
from webarena_gym.pages.page import Page, Response, Tab
from webarena_gym.sites.country import texts
from webarena_gym.sites.gitlab import planning
from webarena_gym.sites.gitlab.queries import is_slug, slug
from webarena_gym.sites.gitlab.site import render_markdown
from webarena_gym.sites.homepage.site import read
from webarena_gym.sites.kit import forms
from webarena_gym.sites.layout import Wording
from webarena_gym.sites.map.geometry import read_address, read_coordinates
from webarena_gym.sites.wikipedia import markup
from webarena_gym.sites.wikipedia.site import snippet
from webarena_gym.spaces import within_charset

ROOT = Path(__file__).parent.parent
FILES = sorted(file for package in ("webarena_gym", "agents") for file in (ROOT / package).rglob("*.py"))
METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
ONE_BY_ONE = ("match", "fullmatch", "search")  # the others go through a whole text, all alike
_USES = re.compile(rf"\.(?:{'|'.join(METHODS)})\b|pattern=|re\.compile")
FLOOR = 0.0001  # seconds; less tells nothing, and quadratic time is far above at the largest size
SHORTEST = 5  # characters: few, as exponential time never ends
LONGEST = 5_120  # characters: a quadratic search of them takes a millisecond
MOST_TEXTS = 500  # for a pattern
FEW_TEXTS = 260  # in tests that are not slow

STAND_INS = {
    "word": "word", "choice": "word", "wanted": "word", "answer": "word", "words": "word", "name": "textarea", "separator": r",\s", "names": ("do", "exit"), "phrase": "word",
    "values": "|".join(pattern.pattern for pattern in style_sheets._PROPERTIES.values()), "before": "Edit ", "blank": "{}", "after": " now", "pattern": "[a-z]+", "control": "<s>|</s>", "tag": "information", "called": r"(add|note)(?=[ \t]*\()", "alternatives": rb"shop\.test", "start": "[Ww]ord ([^.?!,:;]+)",
    "dates": (r"2025[-/.]0?3[-/.]0?5", r"20250305\d{0,6}", "0?5[-/.]0?3[-/.]2025", "0?5[ -](?:Mar|March)[ -]2025", r"(?:Mar|March) {1,2}0?5(?:,? 2025| [\d:]{5,8})"),
}  # fmt: skip
"""Values of the local names from which patterns are made while the package runs."""

HOW = {"sites/layout/__init__.py": {"fullmatch"}}
"""How patterns without names of their own are used."""

EXEMPT = {
    "browsers/http.py:_META_CHARSET": "reads the first 1,024 bytes of a page",
    "tools/fuzz/pages.py:_BOUNDARY": "reads requests of generated pages, when both browsers are compared",
    "agents/models/pointer/pages.py:_PARTS": "reads segments of at most 600 characters",
    "agents/evaluation/report/sources.py:match": "looks for one label on a page of a report, which a person opens",
    **dict.fromkeys(
        (
            "agents/data/demonstrations.py:_QUOTED", "agents/data/readings.py:DURATION", "agents/data/readings.py:_SELECT",
            "agents/data/readings.py:_SELECTED_OPTION", "agents/data/readings.py:_TAG", "agents/data/readings.py:_TITLE",
            "agents/data/thoughts.py:match", "agents/data/derivations.py:pattern", "agents/data/thoughts.py:_CONTROL",
            "agents/models/small.py:_MARKUP_CHUNKS", "agents/models/small.py:splitter",
        ),
        "reads demonstrations of the expert on the embedded sites, when they are made",
    ),
}  # fmt: skip
"""Patterns that need no linear time, and why."""


def uses():
    """Yield every use of a regular expression: where, its file, its pattern, its flags, and the methods by which it is used."""
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    trees = {path: ast.parse(text) for path, text in texts.items() if _USES.search(text)}
    calls = {path: list(_calls(tree)) for path, tree in trees.items()}
    for path, tree in trees.items():
        owners, made = {}, []
        for node in ast.walk(tree) if "import re\n" in texts[path] else ():
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                owners |= {id(part): name for name in names for part in ast.walk(node.value)}
            is_use = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _name(node.func.value) == "re"
            if is_use and node.func.attr in ("compile", *METHODS):
                made.append(node)
        for node in made:
            name = owners.get(id(node), "")
            methods = {node.func.attr} if node.func.attr in METHODS else _methods(calls, path, name, node)
            place = 1 if node.func.attr == "compile" else 2 if node.func.attr not in ("sub", "subn") else 4
            flags = [argument for argument in node.args[place:] if "re." in ast.unparse(argument)]
            flags += [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
            yield f"{_place(path)}:{name or node.lineno}", path, node.args[0], flags, methods


def _calls(tree):
    """Yield what is called in a file by a method of patterns, and what is made the pattern of a form's field, with the method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "pattern":
            yield node.value, "fullmatch"
        elif isinstance(node, ast.Attribute) and node.attr in METHODS:
            yield node.value, node.attr


def _place(path):
    """Where a file is: its path within webarena_gym, or that within agents with "agents/" before it."""
    return path.relative_to(ROOT).as_posix().removeprefix("webarena_gym/")


def _name(node):
    return node.id if isinstance(node, ast.Name) else ""


def _methods(calls, path, name, made):
    """How the pattern that is `made` in a file, and called by a name, is used; in the strictest ways when that cannot be seen."""
    places = [path] if name.startswith("_") or not name else calls
    found = {method for other in places for value, method in calls[other] if value is made or (name and _called(value) == name)}
    return found or HOW.get(_place(path)) or {"finditer", "fullmatch"}


def _called(node):
    """By which name an expression calls something: `name`, `module.name` or `name[...]`."""
    if isinstance(node, ast.Subscript):
        return _called(node.value)
    return node.attr if isinstance(node, ast.Attribute) else _name(node)


def _value(path, node):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return eval(compile(ast.Expression(node), "", "eval"), vars(import_module(module)) | STAND_INS)


def run(pattern, method, text):
    """Let a pattern look through a text as far as the method does."""
    if method in ONE_BY_ONE:
        getattr(pattern, method)(text)
    else:
        deque(pattern.finditer(text), maxlen=0)


MARKS = " \n\tab1A_.,-/*[](){}<>=|#'\"`@:$\\~\x00é"


def _members(items, flags):
    """The characters, out of a few of every kind, that one set or category of a parsed pattern holds."""
    return [mark for mark in MARKS if _fits(items, mark, flags)] or ["?"]


def _fits(items, mark, flags):
    negated = bool(items) and items[0][0] is codes.NEGATE
    return negated != any(_fits_one(kind, value, mark, flags) for kind, value in items)


def _fits_one(kind, value, mark, flags):
    if kind is codes.LITERAL:
        return chr(value) == mark or (bool(flags & re.IGNORECASE) and chr(value).lower() == mark.lower())
    if kind is codes.RANGE:
        return value[0] <= ord(mark) <= value[1]
    if kind is codes.CATEGORY:
        name = str(value).removeprefix("CATEGORY_")
        has = {"SPACE": mark.isspace(), "DIGIT": mark.isdigit(), "WORD": mark.isalnum() or mark == "_"}
        return not has[name.removeprefix("NOT_")] if name.startswith("NOT_") else has[name]
    return False


def parts(tree, flags, written=""):
    """Yield what a pattern is made of: (text before it, its marks, whether it repeats), in the order of a text that fits."""
    for kind, value in tree:
        if kind is codes.LITERAL:
            yield written, [chr(value)], False
            written += chr(value)
        elif kind in (codes.IN, codes.NOT_LITERAL, codes.ANY):
            no = 10 if kind is codes.ANY else value
            marks = _members(value if kind is codes.IN else [(codes.NEGATE, None), (codes.LITERAL, no)], flags)
            yield written, marks, False
            written += "a" if "a" in marks else marks[0]
        elif kind in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            least, _, inner = value
            found = list(parts(inner, flags, written))
            for before, marks, _ in found:
                yield before, marks, True
            if least and found:
                written = found[-1][0] + found[-1][1][0]
        elif kind in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
            found = list(parts(value if kind is codes.ATOMIC_GROUP else value[-1], flags, written))
            yield from found
            written = found[-1][0] + found[-1][1][0] if found else written
        elif kind is codes.BRANCH:
            ends = [list(parts(branch, flags, written)) for branch in value[1]]
            for found in ends:
                yield from found
            written = ends[0][-1][0] + ends[0][-1][1][0] if ends[0] else written


def pumps(pattern):
    """Yield texts in three parts, of which the one in the middle is repeated: what a backtracking search finds hard."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    found = list(parts(parser.parse(source, pattern.flags & ~re.UNICODE), pattern.flags))
    repeated, last = (written for written, _, repeats in found if repeats), found[-1:] and [found[-1][0]]
    before = list(dict.fromkeys(("", "a", *repeated, *last)))
    marks = [marks for _, marks, _ in found]
    two, blanks = (mark for group in marks for mark in group[:2]), (m for g in marks for m in g if m in " \n")
    single = list(dict.fromkeys((" ", "a", "1", *two, *blanks)))
    starts = [f"{written}{mark} " for written, marks, repeats in found if repeats for mark in ["", *marks[:2], "a"]]
    units = list(dict.fromkeys((*before[1:], *starts, *single)))
    pairs = ["".join(pair) for pair in product(single, repeat=2) if pair[0] != pair[1]]
    ends = ("\x7f", "", "\n\x7fx", "a")
    yield from ((start, unit, end) for start in before for unit in units for end in ends)
    yield from (("", unit, "\x7f") for unit in pairs)
    yield from ((start, unit, "\x7f") for start in before[1:] for unit in pairs)


def slow(pattern, methods, count):
    """Return the texts that take a pattern more than linear time, with what was measured: none for a good one."""
    is_bytes = isinstance(pattern.pattern, bytes)
    methods = {method if method in ONE_BY_ONE else "finditer" for method in methods}
    for start, unit, end in islice(dict.fromkeys(islice(pumps(pattern), 9 * count)), count):
        for method in methods:

            def work(size, start=start, unit=unit, end=end, method=method):
                text = start + unit * (size // len(unit)) + end
                sent = text.encode("latin-1", "replace") if is_bytes else text
                return lambda: run(pattern, method, sent)

            if problem := outgrown(work, SHORTEST, LONGEST, FLOOR):
                yield f"{method} in {start!r} + {unit!r} * n + {end!r}: {problem}"


@pytest.mark.parametrize("count", [FEW_TEXTS, pytest.param(MOST_TEXTS, marks=pytest.mark.slow)])
def test_patterns_take_linear_time(count):
    tried, found = 0, []
    for where, path, node, flags, methods in uses():
        if where in EXEMPT:
            continue
        try:
            pattern = _value(path, node)
        except ModuleNotFoundError:  # of a package that agents need
            assert path.is_relative_to(ROOT / "agents")
            continue
        if not isinstance(pattern, re.Pattern):
            pattern = re.compile(pattern, sum(_value(path, flag) for flag in flags))
        tried += 1
        found += [f"{where}, line {node.lineno}: {problem}" for problem in islice(slow(pattern, methods, count), 1)]
    assert found == []
    assert tried > 150


@pytest.mark.parametrize(("source", "method"), [
    (r"^== *(.+?) *==[ \t]*$", "split"), (r"(#{1,6})\s+(.+?)\s*#*", "fullmatch"), (r"\*\*(?=\S)(.+?)(?<=\S)\*\*", "sub"),
    (r"[ \t]+$", "sub"), (r"https?://[^\s/]+[^\s]*", "fullmatch"), (r"Target.*closed", "search"), (r"(a+)+b", "match"),
    (r"<head(\s[^>]*)?>", "search"), (r"\s*°?\s*,\s*°?", "search"), (r"\[(.*?)\]\s*\[(.*?)\]", "search"),
])  # fmt: skip
def test_slow_patterns_are_found(source, method):
    assert next(slow(re.compile(source, re.MULTILINE), [method], FEW_TEXTS), "")


def exists(title):
    return len(title) % 2 == 0


def browse(text):
    response = Response(200, [("Content-Type", "text/html; charset=utf-8")], text.encode("utf-8", "replace"))
    document = Document(SavedDocument(render_response(response)[0]))
    for style, elements in (("html", "id"), ("axtree", "label"), ("occam", "id")):
        observe(Page("", document.tree.title, document.root, (Tab("", ""),), 0), style=style, elements=elements)


SCANNERS = {
    "code host: Markdown": render_markdown,
    "code host: mentions": planning.mentions,
    "code host: names": lambda text: (slug(text), is_slug(text)),
    "encyclopedia: sections": lambda text: markup.whole(markup.sections(text)),
    "encyclopedia: a body": lambda text: markup.html(text, exists),
    "encyclopedia: a search": lambda text: snippet(markup.plain(text), "needle"),
    "encyclopedia: links": markup.links,
    "map: places": lambda text: (read_coordinates(text), read_address(text)),
    "forms: texts": lambda text: (forms.clean(text), forms.line(text), texts.slug(text), texts.like(text)),
    "forms: values": lambda text: (forms.is_email(text), forms.day(text), forms.whole_number(text, 0, 9), read(text)),
    "layouts: labels": Wording(1).label,
    "browser: addresses": lambda text: [resolve_url("http://shop.test/a?b", it) for it in (text, f"/{text}/..")],
    "browser: cookies": lambda it: CookieJar().receive("http://shop.test/", f"a={it}; path={it}; expires={it}; max-age={it}"),
    "browser: fields": lambda text: [format_problem(kind, text) for kind in ("number", "date", "time", "week", "color")],
    "browser: a page": browse,
    "browser: a label": lambda it: browse(f"<label>{escape(it)}<input></label><select><option>{escape(it)}</select><p>{it}"),
    "spaces": within_charset,
}
"""What reads foreign text by more than a pattern."""


@pytest.mark.parametrize("scan", SCANNERS.values(), ids=SCANNERS)
def test_scanners_take_linear_time(scan):
    for start, unit in NASTY:

        def work(size, start=start, unit=unit):
            text = text_of(start, unit, size)
            return lambda: scan(text)

        assert not outgrown(work, SHORTEST, 4 * LONGEST, 10 * FLOOR), f"{start!r} + {unit!r} * n"
