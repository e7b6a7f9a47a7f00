"""Summaries of the API pages: signature, first sentence, arguments, fields, result and exceptions of each public member, read from the source
without importing it.

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
_RAISED = re.compile(r"(?<=\. )Raises .+?\.(?= [A-Z`]|$)")
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
    """Return the summary of an API page: each object of its directives with its members, and the types in their signatures.

    Raises:
        LookupError: for a directive, or one of its `members`, that the source does not define.

    """
    parts = [
        "This summary has signatures, arguments, results and exceptions. `make docs` builds the full reference, with remarks and examples, in\n"
        f"`site/api/{page.stem}.html`.\n"
    ]
    directives = _DIRECTIVE.findall(page.read_text(encoding="utf-8"))
    for path, listed in directives:
        names = [name.strip() for name in listed.split(",")] if listed else []
        parts += _object(path, names)
    if lines := "".join(_types([path for path, _ in directives], "\n".join(parts))):
        parts += ["### Types and constants in the signatures\n", lines]
    return "\n".join(parts)


def _types(paths: Sequence[str], text: str) -> Iterator[str]:
    """Yield a line for each type and constant of this project that the signatures in `text` name, and that the page does not define itself."""
    defined = set(re.findall(r"^(?:### `[\w.]*?|- `|`)(\w+)(?=[`(: ])", text, re.MULTILINE))
    signatures = " ".join(re.findall(r"^(?:- )?`([^`]*)`:", text, re.MULTILINE))
    waiting = [(path, name) for path in paths for name in sorted(set(re.findall(r"\b_?[A-Z]\w+", signatures)))]
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
        if isinstance(kind, Member) and isinstance(kind.node, ast.ClassDef):
            lines[name] = f"- `{kind.module}.{name}`: {_first_sentence(kind.doc)}\n{''.join(_fields(kind))}"
        elif isinstance(kind, Member) and isinstance(kind.node, ast.Assign):
            doc = f": {_first_sentence(kind.doc)}" if kind.doc else ""
            lines[name] = f"- `{name} = {_code(kind.node.value)}`{doc}\n"
            waiting += [(kind.module, part.id) for part in ast.walk(kind.node.value) if isinstance(part, ast.Name)]
    yield from (lines[name] for name in sorted(lines))


def _object(path: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the paragraphs of an object: its name, its first sentence, and the list of its members."""
    definition = find(path)
    if isinstance(definition, ast.Module):
        yield f"### `{path}`\n"
        yield f"{_first_sentence(ast.get_docstring(definition) or '')}\n"
        members = list(_select(_members(definition.body), names, path))
        if lines := "".join(map(_line, members)):
            yield lines
        return
    yield f"### `{path}`\n"
    yield f"`{_title(definition, definition.name)}`{_bases(definition)}: {_first_sentence(definition.doc)}\n"
    if details := "".join(_details(definition, has_fields=False)):
        yield f"{re.sub('^  ', '', details, flags=re.MULTILINE)}"
    if path == "webarena_gym.options.EnvOptions":
        yield "".join(
            f"- [{_GROUPS[table]}](../keywords.md#{_GROUPS[table].replace(' ', '-')}): {', '.join(f'`{name}`' for name in names.split())}\n"
            for table, names in KEYWORDS.items()
        )
    elif isinstance(definition.node, ast.ClassDef) and (
        lines := "".join(map(_line, _select(_class_members(definition), names, path)))
    ):
        yield lines


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
    title = _title(member, member.name).replace("close_extras(", "close(", 1)  # the method that Gymnasium's `close` calls
    return f"- `{title}`{_bases(member)}{': ' if member.doc else ''}{_first_sentence(member.doc)}{_exceptions(member.doc)}\n{''.join(_details(member))}"


def _exceptions(doc: str) -> str:
    """Return a sentence of the first paragraph of a docstring, after its first one, that names exceptions.

    >>> _exceptions("Return the task. Raises TaskError for an unknown id.")
    ' Raises TaskError for an unknown id.'
    """
    match = _RAISED.search(" ".join(doc.partition("\n\n")[0].split()))
    return f" {match[0]}" if match else ""


def _bases(member: Member) -> str:
    """Return the parents of an exception in parentheses; "" for other members."""
    if not isinstance(member.node, ast.ClassDef) or not member.name.endswith(("Error", "NothingToDraw")):
        return ""
    return f" ({', '.join(f'`{_code(base)}`' for base in member.node.bases)})"


def _details(member: Member, *, has_fields: bool = True) -> Iterator[str]:
    """Yield indented lines: the fields of a record, or the described arguments of a function or class, its result, and its exceptions."""
    node = member.node
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if isinstance(node, ast.ClassDef) and _is_record(node):
        if has_fields:
            yield from _fields(member)
        return
    function = node
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


def _fields(member: Member) -> Iterator[str]:
    """Yield an indented line for each field of a record."""
    if isinstance(member.node, ast.ClassDef) and _is_record(member.node):
        for field in _class_members(member):
            if isinstance(field.node, ast.AnnAssign):
                doc = f": {_first_sentence(field.doc)}" if field.doc else ""
                yield f"  - `{_title(field, field.name)}`{doc}\n"


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


def _first_sentence(doc: str) -> str:
    """Return the first sentence of a docstring on one line.

    >>> _first_sentence("Start an episode. It ends later.")
    'Start an episode.'
    """
    paragraph = " ".join(doc.partition("\n\n")[0].split())
    return match[0] if (match := _SENTENCE.match(paragraph)) else paragraph


TABLES = {f"api_{page.stem}": partial(summary, page) for page in PAGES}
