"""`webarena-gym suite`: add the applications and tasks of another project, and list what was added."""

import argparse
from pathlib import Path

from webarena_gym.applications.suite import Suite, add_suite, read_suite, suite_names
from webarena_gym.console import Parser
from webarena_gym.tasks import load


def add_suite_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands of `webarena-gym suite`."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    add = commands.add_parser(
        "add",
        help="add a suite from its file, or from a clone of WebArena-Infinity",
        description="Adds a suite under a name. Its applications and verifiers stay where they are; only their description is stored.",
        examples=["webarena-infinity ~/webarena-infinity", "errands errands/suite.toml"],
    )
    add.add_argument("name", metavar="NAME", help="the name, for --suite and suite=")
    add.add_argument("path", type=Path, metavar="PATH", help="a .toml or .json file, or the folder of a clone")
    add.set_defaults(run=_add)
    listing = commands.add_parser("list", help="print the added suites", description="Prints the added suites.")
    listing.set_defaults(run=_list)


def _add(options: argparse.Namespace) -> int:
    suite, path = add_suite(options.name, options.path)
    for split in suite.splits:
        load(split, suite=suite)  # raises an error for tasks that cannot be read
    print(_summary(suite))
    print(f"wrote {path}")
    return 0


def _list(_: argparse.Namespace) -> int:
    names = suite_names()
    for name in names:
        print(_summary(read_suite(name)))
    if not names:
        print("no suite was added yet: webarena-gym suite add NAME PATH")
    return 0


def _summary(suite: Suite) -> str:
    splits = ", ".join(f"{count} {split}" for split, count in suite.splits.items())
    return (
        f"{suite.name} ({suite.licence}): {len(suite.applications)} applications, {len(suite.tasks)} tasks ({splits})"
        f" in {suite.folder}"
    )
