"""The source files that decide what is in a database: its schema, its generator, what this imports, and the data that it reads.

Views and templates are none of them, so that a change to a page leaves the worlds as they are.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_FILE_NAME = re.compile(r"[\w-]+\.\w+")


def digest(database: str, package: Path = _PACKAGE) -> str:
    """Return 16 hexadecimal digits that tell these sources from others. `package` is the folder `webarena_gym`."""
    digested = hashlib.sha256()
    for file in sources(database, package):
        content = file.read_bytes()
        digested.update(f"{file.relative_to(package).as_posix()} {len(content)}\n".encode() + content)
    return digested.hexdigest()[:16]


def sources(database: str, package: Path = _PACKAGE) -> list[Path]:
    """Return the files, in a fixed order.

    Imports are followed from the module `world` of a site through all modules of this package. A folder's `__init__` is followed
    where something is imported from it, and not where a module beside it is. Data are those files that stand beside a module
    and are named in it, and the text files of a folder that is named so.
    """
    site = package / "sites" / database
    found = {file for file in (site / "schema.sql", site / "schema_large.sql") if file.is_file()}
    new = {site / "world.py"}
    while new:
        file = new.pop()
        found.add(file)
        if file.suffix == ".py":
            new |= references(file, package) - found
    return sorted(found)


@cache
def references(file: Path, package: Path) -> frozenset[Path]:
    """Return the files of the package that a module imports or names."""
    return frozenset(_found(file, package))


def _found(file: Path, package: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield from _module(f"{node.module}.{alias.name}", package) or _module(node.module, package)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module(alias.name, package)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _FILE_NAME.fullmatch(node.value):
            data = file.parent / node.value
            if data.is_file():
                yield data
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield from sorted((file.parent / node.value).glob("*.txt"))


def _module(name: str, package: Path) -> list[Path]:
    """Return the file of a module of the package; none for what is no module, or another package's."""
    top, *parts = name.split(".")
    if top != package.name:
        return []
    place = package.joinpath(*parts)
    return [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]
