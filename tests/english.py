"""The check of plain English in `make check`: words and names that CONTRIBUTING's rules ban, in code, documents and names of tests.

`python -m tests.english` compares the count of each habit in each file with `tests/data/english.txt`, the counts that are allowed, and fails
where one is larger. `--tighten` lowers the list to the present counts; no option raises it.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALLOWED = ROOT / "tests" / "data" / "english.txt"
FOLDERS = ("webarena_gym", "agents", "benchmarks", "examples", "docs", "findings", "tests")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")

WORDS = re.compile(r"\b(?:told|tells?|says?|said|alike|anew|stands?|returns? whether)\b(?!-)", re.IGNORECASE)
"""Words that replace return, report, log, contain, ... in docstrings, comments, error messages and documents."""

IRREGULAR = frozenset(
    "told said found given wanted taken seen kept left sent shown known done gone begun drawn held lost meant written"
    " spoken worn chosen hidden broken sought bought caught thought built".split()
)
PRONOUNS = frozenset("it them they this that these those each own other others one ones such what which who".split())
VAGUE = frozenset("tell say show look act leave begin know have give stand conclude give_up".split())
NOT_PARTICIPLES = frozenset("bed bleed breed embed exceed feed hundred indeed need proceed red seed shed speed succeed".split())
VARIABLES = frozenset("told said found given wanted taken seen kept own each".split())


def is_participle(word: str) -> bool:
    """Return True if a lower-case word is a participle, by its ending or by the list of irregular ones."""
    return word in IRREGULAR or (word.endswith("ed") and word not in NOT_PARTICIPLES)


def is_banned_name(name: str) -> bool:
    """Return True if a type or function is named by a participle, a pronoun or a verb that does not describe what it does."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    if name.startswith("__") or not words:
        return False
    if "_".join(words) in VAGUE or {"told", "said"} & set(words):
        return True
    is_type = name.strip("_")[0].isupper() and words[-1] not in ("error", "exception")
    if len(words) > 1 and not is_type:
        return False  # `visited_pages` and `close_solved` have a noun or a verb
    return is_participle(words[-1]) or words[-1] in PRONOUNS


def habits_of_code(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the habit, a word or a name, of each banned use in a Python file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and is_banned_name(node.name):
            yield node.lineno, f"`{node.name}`"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.strip("_") in VARIABLES:
            yield node.lineno, f"`{node.id}`"
        elif isinstance(node, ast.arg) and node.arg.strip("_") in VARIABLES:
            yield node.lineno, f"`{node.arg}`"
        texts: tuple[ast.Constant, ...] = ()  # docstrings, also of variables, and the messages of errors
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            texts = (node.value,)
        elif isinstance(node, ast.Raise) and node.exc:
            texts = tuple(part for part in ast.walk(node.exc) if isinstance(part, ast.Constant))
        for text in texts:
            if isinstance(text.value, str):
                yield from habits_of_text(text.value, text.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from habits_of_text(token.string, token.start[0])


def habits_of_text(text: str, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the line and the habit of each banned word in Markdown or a docstring; code blocks and quoted code do not count."""
    text = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    for match in WORDS.finditer(text):
        yield first_line + text.count("\n", 0, match.start()), match[0].lower()


def habits_of_tests(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each test whose name contains a banned word. Texts of tests are not checked."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and WORDS.search(node.name.replace("_", " ")):
            yield node.lineno, f"`{node.name}`"


def habits_of_file(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the habit of each banned use in a file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return habits_of_text(source)
    return habits_of_tests(source) if path.is_relative_to(ROOT / "tests") else habits_of_code(source)


def files() -> list[Path]:
    """Return the Python files and documents that are checked, without the applications that `examples/prepare.py` installs."""
    installed = [folder / name for folder in (ROOT / "examples").glob("*") for name in (".venv", "site", "state")]
    paths = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md") and not any(other in path.parents for other in installed)
    ]
    return sorted([*paths, *(path for document in DOCUMENTS if (path := ROOT / document).exists())])


def read_allowed(text: str) -> Counter[tuple[str, str]]:
    """Return the allowed count of each (file, habit) from lines such as `agents/envs.py: said 2, _tell 1`."""
    allowed: Counter[tuple[str, str]] = Counter()
    for path, _, entries in (line.partition(": ") for line in text.splitlines()):
        for entry in filter(None, entries.split(", ")):
            habit, _, count = entry.rpartition(" ")
            allowed[path, habit] = int(count)
    return allowed


def write_allowed(allowed: Counter[tuple[str, str]]) -> str:
    """Return the text of the list of allowed counts, a line for each file."""
    lines: dict[str, list[str]] = {}
    for (path, habit), count in sorted(allowed.items()):
        if count:
            lines.setdefault(path, []).append(f"{habit} {count}")
    return "".join(f"{path}: {', '.join(entries)}\n" for path, entries in lines.items())


def main(arguments: list[str] | None = None) -> int:
    """Compare all files with the list and return the exit status: 1 if a count is larger than allowed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.english", description="Check code and documents for banned words and names."
    )
    parser.add_argument("--tighten", action="store_true", help="lower the list of allowed counts to the present ones")
    options = parser.parse_args(arguments)
    allowed = read_allowed(ALLOWED.read_text(encoding="utf-8"))
    lines: dict[tuple[str, str], list[int]] = {}
    for path in files():
        for line, habit in habits_of_file(path):
            lines.setdefault((path.relative_to(ROOT).as_posix(), habit), []).append(line)
    present = Counter({key: len(numbers) for key, numbers in lines.items()})
    grown = present - allowed
    for name, habit in sorted(grown):
        at = ", ".join(map(str, sorted(lines[name, habit])))
        print(f"{name}: {habit} is used {present[name, habit]} times, allowed are {allowed[name, habit]} (lines {at})")
    if grown:
        print("Use a term of CONTRIBUTING, a noun for a thing and a verb for an act.")
    if options.tighten:
        ALLOWED.write_text(write_allowed(allowed & present), encoding="utf-8")
    elif unused := (allowed - present).total():
        print(f"{unused} allowed uses are gone: `python -m tests.english --tighten` takes them off the list.")
    return int(bool(grown))


if __name__ == "__main__":
    sys.exit(main())
