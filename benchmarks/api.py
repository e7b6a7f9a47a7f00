"""Summaries of the API pages: a table of the objects, and for each its signature, description, example, arguments, fields, methods, result and
exceptions, read from the source without importing it.

`benchmarks.tables` writes them above the directives `::: NAME` of `docs/api`, from which mkdocstrings builds the full reference. The
directives are in a comment, which `docs/site_hooks.py` opens, so that a reader of the repository does not see them.
"""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.reference import KEYWORDS

ROOT = Path(__file__).parent.parent
PAGES = tuple(sorted((ROOT / "docs" / "api").glob("*.md")))

_DIRECTIVE = re.compile(r"^::: ([\w.]+)$(?:\n    options:(?:\n      \w+: \w+)*\n      members: \[([^]]*)\])?", re.MULTILINE)
_SENTENCE = re.compile(r".+?\.(?=\s+[\"'`A-Z\[])")
_EXAMPLE = re.compile(r"^(?:>>> .*\n(?:.+\n?)*\n*)+", re.MULTILINE)
_RAISED = re.compile(r"\bRaises .+?\.(?= [A-Z`]|$)")
_LENGTH = 120  # of a signature with its annotations
_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises):\n((?:    .*\n?|\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^    \*{0,2}([\w.]+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_RECORDS = ("NamedTuple", "TypedDict", "dataclass")  # kinds of classes whose annotated names are fields
_GROUPS = {
    "env_tasks": "task selection", "env_observation": "observations and actions", "env_sites": "browser and sites",
    "env_pictures": "pictures", "env_rewards": "episodes and rewards", "env_tools": "tools",
}  # fmt: skip


class Member(NamedTuple):
    """A name of a module or class, its definition, and its docstring, "" without one."""

    name: str
    node: ast.stmt
    doc: str
    module: str = ""
    """the module that defines it; "" for a member of a class"""


def summary(page: Path) -> str:
    """Return the summary of an API page: a table of the objects of its directives, each object with its members, and the types in signatures.

    Raises:
        LookupError: for a directive, or one of its `members`, that the source does not define.

    """
    directives = _directives(page)
    parts = [
        "| object | description |\n| --- | --- |\n" + "".join(_row(path, names) for path, names in directives),
        f"`make docs` builds the full reference, with remarks, in `site/api/{page.stem}.html`.\n",
    ]
    for path, names in directives:
        parts += _object(path, names)
    if lines := "".join(_types(page, "\n".join(parts))):
        parts += ["### Types and constants in the signatures\n", lines]
    return "\n".join(parts)


def _directives(page: Path) -> list[tuple[str, list[str]]]:
    """Return the dotted name and the listed members of each directive of a page."""
    matches = _DIRECTIVE.findall(page.read_text(encoding="utf-8"))
    return [(path, [name.strip() for name in members.split(",") if name.strip()]) for path, members in matches]


def _row(path: str, names: Sequence[str]) -> str:
    """Return the row of a directive in the table of a page; a module with the names of its members."""
    definition = find(path)
    if isinstance(definition, ast.Module):
        members = [f"`{member.name}`" for member in _select(_members(definition.body), names, path)]
        text = f"{_first_sentence(ast.get_docstring(definition) or '')} {', '.join(members)}"
    else:
        text = _first_sentence(definition.doc)
    return f"| [`{path}`]({_anchor(path)}) | {text.replace('|', chr(92) + '|')} |\n"


def _anchor(path: str) -> str:
    return f"#{path.lower().replace('.', '')}"


@cache
def _homes() -> dict[str, str]:
    """Return the page and anchor of each object that a directive of any page describes, by its dotted name."""
    homes = {}
    for page in PAGES:
        for path, names in _directives(page):
            definition = find(path)
            homes[_full_name(path)] = f"{page.name}{_anchor(path)}"
            if isinstance(definition, ast.Module):
                for member in _select(_members(definition.body), names, path):
                    homes[f"{path}.{member.name}"] = f"{page.name}{_anchor(path)}"
    return homes


def _full_name(path: str) -> str:
    """Return a dotted name with the module that defines the object, instead of one that imports it."""
    definition = find(path)
    return f"{definition.module}.{definition.name}" if isinstance(definition, Member) and definition.module else path


def _types(page: Path, text: str) -> Iterator[str]:
    """Yield a line for each type and constant of this project that the signatures in `text` name, and that the page does not define itself.

    A type that another page describes is a link to it.
    """
    defined = set(re.findall(r"^(?:### `[\w.]*?|- `|`)(\w+)(?=[`(: ])", text, re.MULTILINE))
    signatures = " ".join(re.findall(r"^ *(?:- )?`([^`]*)`", text, re.MULTILINE))
    waiting = [(path, name) for path, _ in _directives(page) for name in sorted(set(re.findall(r"\b_?[A-Z]\w+", signatures)))]
    lines: dict[str, str] = {}
    while waiting:
        path, name = waiting.pop(0)
        if name in defined or name in lines:
            continue
        definition = find(path)
        module = path if isinstance(definition, ast.Module) else definition.module
        try:
            kind = find(f"{module}.{name}")
        except LookupError:
            continue  # of the standard library or another package
        if not isinstance(kind, Member):
            continue
        doc = f": {_first_sentence(kind.doc)}" if kind.doc else ""
        if home := _homes().get(f"{kind.module}.{kind.name}"):
            lines[name] = f"- [`{kind.module}.{name}`]({home.removeprefix(page.name)}){doc}\n"
        elif isinstance(kind.node, ast.ClassDef):
            is_protocol = "Protocol" in map(_code, kind.node.bases)
            details = _details(kind, has_methods=is_protocol) if is_protocol or _is_record(kind.node) else ()
            lines[name] = f"- `{kind.module}.{name}`{doc}\n{''.join(details)}"
        elif isinstance(kind.node, ast.Assign):
            lines[name] = f"- `{name} = {_code(kind.node.value)}`{doc}\n"
            waiting += [(kind.module, part.id) for part in ast.walk(kind.node.value) if isinstance(part, ast.Name)]
    yield from (lines[name] for name in sorted(lines))


def _object(path: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the paragraphs of an object: its name, its signature, its description with an example, and the list of its members."""
    definition = find(path)
    yield f"### `{path}`\n"
    if isinstance(definition, ast.Module):
        doc = ast.get_docstring(definition) or ""
        yield f"{_description(doc)}\n"
        yield from _examples(doc)
        if lines := "".join(map(_line, _select(_members(definition.body), names, path))):
            yield lines
        return
    if (title := _title(definition, definition.name)) != definition.name:
        yield f"`{title}`\n"
    yield f"{_description(definition.doc)}\n"
    yield from _examples(definition.doc)
    if details := "".join(_details(definition, has_members=False)):
        yield f"Arguments and exceptions:\n\n{re.sub('^  ', '', details, flags=re.MULTILINE)}"
    if path == "webarena_gym.options.EnvOptions":
        yield "".join(
            f"- [{_GROUPS[table]}](../keywords.md#{_GROUPS[table].replace(' ', '-')}): {', '.join(f'`{name}`' for name in names.split())}\n"
            for table, names in KEYWORDS.items()
        )
    elif isinstance(definition.node, ast.ClassDef) and (
        lines := "".join(map(_line, _select(_class_members(definition), names, path)))
    ):
        yield f"{'Fields' if _is_record(definition.node) else 'Methods and attributes'}:\n\n{lines}"


def _examples(doc: str) -> Iterator[str]:
    r"""Yield the examples of a docstring as one block, without the sentences between them.

    >>> list(_examples("Add.\n\n>>> 1 + 1\n2\n\nMore."))
    ['```pycon\n>>> 1 + 1\n2\n```\n']
    """
    if examples := _EXAMPLE.findall(doc):
        yield "```pycon\n" + "\n".join(re.sub(r"  # doctest:.*", "", example.strip()) for example in examples) + "\n```\n"


def find(path: str) -> Member | ast.Module:
    """Return the definition of a dotted name, following imports. Raises LookupError if there is none."""
    if (module := _module(path)) is not None:
        return module
    parent, _, name = path.rpartition(".")
    container = find(parent) if parent else None
    if isinstance(container, Member) and isinstance(container.node, ast.ClassDef):
        for member in _class_members(container):
            if member.name == name:
                return member
    elif isinstance(container, ast.Module):
        for member in _members(container.body, is_public=False):
            if member.name == name:
                return member._replace(module=parent)
        for node in ast.walk(container):
            if isinstance(node, ast.ImportFrom) and name in [alias.asname or alias.name for alias in node.names]:
                return find(f"{node.module}.{name}")
    raise LookupError(f"{path} is not defined; expected the dotted name of a module, class, function or attribute")


@cache
def _module(path: str) -> ast.Module | None:
    file = ROOT.joinpath(*path.split("."))
    for source in (file.with_suffix(".py"), file / "__init__.py"):
        if source.exists():
            return ast.parse(source.read_text(encoding="utf-8"))
    return None


def _members(body: Sequence[ast.stmt], *, is_public: bool = True) -> Iterator[Member]:
    """Yield the names that statements define, by default only the public ones."""
    for node, after in pairwise([*body, ast.Pass()]):
        text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name, text = node.name, ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = getattr(target, "id", "") or getattr(target, "attr", "_")
        else:
            continue
        if not (is_public and name.startswith("_")):
            yield Member(name, node, str(text))


def _class_members(member: Member) -> Iterator[Member]:
    """Yield the members of a class, with the descriptions of its "Attributes" section, and the documented attributes of `__init__`."""
    assert isinstance(member.node, ast.ClassDef)
    described = dict(_entries(member.doc, "Attributes", "Args"))
    for base in member.node.bases:  # NamedTuple("Name", [("field", type)])
        if isinstance(base, ast.Call) and base.args[1:] and isinstance(base.args[1], ast.List):
            for field in base.args[1].elts:
                assert isinstance(field, ast.Tuple)
                name = ast.literal_eval(field.elts[0])
                node = ast.AnnAssign(target=ast.Name(name), annotation=field.elts[1], simple=1)
                yield Member(name, node, described.get(name, ""))
    for inner in _members(member.node.body):
        if isinstance(inner.node, ast.AnnAssign) and "ClassVar" in _code(inner.node.annotation) and not inner.doc:
            continue
        yield inner._replace(doc=inner.doc or described.get(inner.name, ""))
    for node in member.node.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            yield from (inner for inner in _members(node.body) if inner.doc)


def _select(members: Iterator[Member], names: Sequence[str], path: str) -> Iterator[Member]:
    """Yield the named members in the order of their names; without names, all documented ones."""
    if not names:
        yield from (member for member in members if member.doc)
        return
    by_name = {member.name: member for member in members}
    for name in names:
        if name not in by_name:
            raise LookupError(f"{path} has no member {name!r}; expected one of {', '.join(by_name)}")
        yield by_name[name]


def _line(member: Member) -> str:
    return f"- `{_title(member, member.name)}`{_bases(member)}{_summary(member.doc)}\n{''.join(_details(member))}"


def _summary(doc: str) -> str:
    r"""Return a colon, the first paragraph of a docstring, and the sentence of a later one that names exceptions; "" without a docstring.

    >>> _summary("Find a task.\n\nThe id has three parts. Raises TaskError for an unknown id.")
    ': Find a task. Raises TaskError for an unknown id.'
    """
    first, _, remainder = _description(doc).partition("\n\n")
    raised = _RAISED.search(" ".join(remainder.split()))
    return f": {' '.join(first.split())}{f' {raised[0]}' if raised else ''}" if doc else ""


def _bases(member: Member) -> str:
    """Return the parents of an exception in parentheses; "" for other members."""
    if not isinstance(member.node, ast.ClassDef) or not member.name.endswith(("Error", "NothingToDraw")):
        return ""
    return f" ({', '.join(f'`{_code(base)}`' for base in member.node.bases)})"


def _details(member: Member, *, has_members: bool = True, has_methods: bool = True) -> Iterator[str]:
    """Yield indented lines: the described arguments of a function or class, its result, its exceptions, and the fields and methods of a class."""
    node = member.node
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    function: ast.stmt | None = node
    if isinstance(node, ast.ClassDef):
        function = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        described = dict(_entries(member.doc, "Args"))
        is_long = len(member.name) + len(_all_arguments(function, is_annotated=True)) > _LENGTH
        for text in _each_argument(function.args, is_annotated=True):
            name = re.split(r"[:=]", text.lstrip("*"), maxsplit=1)[0]
            if name in described or (is_long and name):
                doc = f": {described[name]}" if name in described else ""
                yield f"  - `{text}`{doc}\n"
    sections = dict(_SECTION.findall(member.doc))
    for title in ("Returns", "Yields"):
        if title in sections:
            yield f"  - {title.lower()}: {' '.join(sections[title].split())}\n"
    for name, text in _entries(member.doc, "Raises"):
        yield f"  - raises `{name}`: {text}\n"
    if isinstance(node, ast.ClassDef) and has_members:
        for inner in _class_members(member):
            is_field = isinstance(inner.node, ast.AnnAssign) and _is_record(node)
            if is_field or (inner.doc and (has_methods or isinstance(inner.node, ast.AnnAssign))):
                yield f"  - `{_title(inner, inner.name)}`{_summary(inner.doc)}\n"


def _is_record(node: ast.ClassDef) -> bool:
    return any(word in _code(part) for part in (*node.bases, *node.decorator_list) for word in _RECORDS)


def _entries(doc: str, *titles: str) -> Iterator[tuple[str, str]]:
    r"""Yield the names and descriptions of sections of a docstring.

    >>> list(_entries("Do it.\n\nArgs:\n    name: a name,\n        in two lines.\n", "Args"))
    [('name', 'a name, in two lines.')]
    """
    for title, body in _SECTION.findall(doc):
        if title in titles:
            yield from ((name, " ".join(text.split())) for name, text in _ENTRY.findall(body))


def _title(member: Member, name: str) -> str:
    """Return a name with its arguments, its type, or its value."""
    node = member.node
    if isinstance(node, ast.ClassDef):
        init = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
        return f"{name}{_arguments(init, name)}" if init else name
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        returned = _annotation(node.returns) if node.returns else ""
        if any(isinstance(item, ast.Name) and item.id in ("property", "cached_property") for item in node.decorator_list):
            return f"{name}: {returned}"
        return f"{name}{_arguments(node, name)}" + (f" -> {returned}" if returned and returned != "None" else "")
    if isinstance(node, ast.AnnAssign):
        value = _code(node.value).replace("field(default_factory=dict)", "{}") if node.value else ""
        value = f" = {value}" if 0 < len(value) < 30 else ""
        return f"{name}: {_code(node.annotation)}{value}"
    value = _code(node.value) if isinstance(node, ast.Assign) else ""
    return f"{name} = {value}" if 0 < len(value) < 60 and not isinstance(getattr(node, "value", None), ast.Call) else name


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    """Return the arguments of a function in parentheses, without `self`. Annotations of a long signature are left out; `_details` lists them."""
    full = _all_arguments(node, is_annotated=True)
    return full if len(name) + len(full) <= _LENGTH else _all_arguments(node, is_annotated=False)


def _all_arguments(node: ast.FunctionDef | ast.AsyncFunctionDef, *, is_annotated: bool) -> str:
    return f"({', '.join(_each_argument(node.args, is_annotated=is_annotated))})"


def _each_argument(arguments: ast.arguments, *, is_annotated: bool) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))

    def text(argument: ast.arg, default: ast.expr | None = None) -> str:
        hint = f": {_annotation(argument.annotation)}" if argument.annotation and is_annotated else ""
        return f"{argument.arg}{hint}" + (f"{' = ' if hint else '='}{_code(default)}" if default else "")

    for argument, default in zip(positional, [*defaults, *arguments.defaults], strict=True):
        if argument.arg not in ("self", "cls"):
            yield text(argument, default)
    if arguments.vararg:
        yield f"*{text(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    yield from map(text, arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg:
        yield f"**{text(arguments.kwarg)}"


def _annotation(node: ast.expr) -> str:
    return _code(node).strip('"')  # a quoted one, for names that are imported for type checks only


def _code(node: ast.expr) -> str:
    """Return an expression with double quotation marks."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return json.dumps(node.value, ensure_ascii=False)
    return re.sub(r"'([^'\"]*)'", r'"\1"', ast.unparse(node))


def _description(doc: str) -> str:
    """Return a docstring without its examples and its sections of arguments, results and exceptions."""
    return re.sub(r"\n{3,}", "\n\n", _EXAMPLE.sub("", _SECTION.sub("", doc))).strip()


def _first_sentence(doc: str) -> str:
    """Return the first sentence of a docstring on one line.

    >>> _first_sentence("Start an episode. It ends later.")
    'Start an episode.'
    """
    paragraph = " ".join(doc.partition("\n\n")[0].split())
    return match[0] if (match := _SENTENCE.match(paragraph)) else paragraph


TABLES = {f"api_{page.stem}": partial(summary, page) for page in PAGES}
