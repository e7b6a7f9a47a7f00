"""The modules that an application imports, and the packages of its interpreter that contain them, for its archive."""

import ast
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from webarena_gym.arguments import reason_of
from webarena_gym.errors import ApplicationError

_LIST_PACKAGES = """\
import platform, re, sys
from importlib.metadata import distributions, packages_distributions

def canonical(name):
    return re.sub("[-_.]+", "-", name).lower()

versions = {}
for item in distributions():
    versions.setdefault(canonical(item.metadata["Name"]), item)
selected = set(versions)
if len(sys.argv) > 1:
    owners = packages_distributions()
    due = [canonical(name) for module in sys.argv[1:] for name in owners.get(module, ())]
    selected = set()
    while due:
        name = due.pop()
        if name in versions and name not in selected:
            selected.add(name)
            lines = [line for line in versions[name].requires or () if "extra ==" not in line]
            due += [canonical(re.match(r"[\\w.-]+", line)[0]) for line in lines]
print(platform.python_version())
for name in sorted(selected - {"pip", "setuptools", "wheel"}):
    print(f"{versions[name].metadata['Name']}=={versions[name].version}")
"""


def imported_modules(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return the modules that Python files may import, as dotted names, by the name of the file.

    Texts with the form of a dotted name count too, because settings name modules. Files that cannot be parsed have none.
    """
    modules: dict[str, set[str]] = {}
    for name, path in files.items():
        if path.suffix != ".py":
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            continue
        package = name.split("/")[:-1]
        modules[name] = {module for node in ast.walk(tree) for module in _modules_of(node, package)}
    return modules


def _modules_of(node: ast.AST, package: list[str]) -> Iterable[str]:
    """Yield the modules that a node of a file's syntax tree may import; `package` has the folders of the file."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package[: len(package) - node.level + 1] if node.level else []
        base = ".".join([*parents, *filter(None, [node.module])])
        yield from [base, *(f"{base}.{alias.name}" if base else alias.name for alias in node.names)]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and all(map(str.isidentifier, node.value.split("."))):
        yield node.value


def list_packages(python: str, modules: Iterable[str]) -> tuple[str, str]:
    """Return the version of an interpreter, and packages with their versions as lines of a requirements file.

    Args:
        python: the interpreter.
        modules: names of top-level modules, whose packages and the packages that these require are listed; all packages if there are none.

    Raises:
        ApplicationError: if the interpreter cannot be run.

    """
    command = [python, "-c", _LIST_PACKAGES, *sorted(modules)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - the user's
    except (OSError, subprocess.CalledProcessError) as error:
        raise ApplicationError(f"the packages of {python} cannot be listed: {reason_of(error)}") from error
    version, _, packages = done.stdout.partition("\n")
    return version, packages
