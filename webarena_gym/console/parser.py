"""A parser of command lines that tells what is wrong in one line, with what was probably meant.

Where the package argcomplete is installed, options, their choices and files are completed by the shell.
"""

import argparse
import os
import sys
from textwrap import fill
from typing import Any, NoReturn

from webarena_gym.arguments import shown, suggestion
from webarena_gym.console.ending import BAD_INPUT, complain
from webarena_gym.console.values import decimal, whole


class Help(argparse.RawDescriptionHelpFormatter):
    """Help whose options say their defaults once, and whose required ones say that they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        is_arranged = "\n" in text
        return super()._fill_text(text, width, indent) if is_arranged else fill(text, width, initial_indent=indent)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help or ""
        if not action.option_strings or "(default" in text or action.nargs == 0:
            return text
        if action.required:
            return f"{text} (required)".lstrip()
        if action.default in (None, "", argparse.SUPPRESS) or action.default == []:
            return text
        default = " ".join(map(_plain, action.default)) if isinstance(action.default, list | tuple) else _plain(action.default)
        return f"{text} (default: {default})".replace("%", "%%").replace("%%%%", "%%").lstrip() if default != "" else text


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line; its subparsers are of the same class."""

    def __init__(self, *, formatter_class: Any = Help, **options: Any) -> None:
        super().__init__(formatter_class=formatter_class, **options)
        self.register("type", int, whole())
        self.register("type", float, decimal())

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments, or complete them where the shell asks for that."""
        if "_ARGCOMPLETE" in os.environ:
            self._complete()
        return super().parse_args(args, namespace)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse all arguments. What is unknown is refused here, where the options of a subcommand are known."""
        given = sys.argv[1:] if args is None else list(args)
        if self._subparsers is None:  # a misspelled option is told of first, as it may be one that is required
            options = given[: given.index("--")] if "--" in given else given
            for option in (each for each in options if each.startswith("--")):
                name = option.partition("=")[0]
                if not any(known.startswith(name) for known in self._option_string_actions):
                    self._refuse(option)
        namespace, rest = super().parse_known_args(given, namespace)
        if rest:
            self._refuse(rest[0])
        return namespace, rest

    def _refuse(self, argument: str) -> NoReturn:
        name = argument.partition("=")[0]
        known = [each for each in self._option_string_actions if each.startswith("--")]
        hint = suggestion(name, known, tell_all=False) if name.startswith("-") else ""
        self.error(f"{shown(argument)} is not understood; {hint or f'see {self.prog} --help'}")

    def error(self, message: str) -> NoReturn:
        """End with a message in one line."""
        names, is_of_argument, rest = message.removeprefix("argument ").partition(": ")
        if message.startswith("argument ") and is_of_argument:
            name = next((each for each in names.split("/") if each.startswith("--")), names)
            message = rest if rest.startswith(name) else f"{name} {rest}" if rest.startswith("is ") else f"{name}: {rest}"
        elif "required" in message:
            message = f"{message}; see {self.prog} --help"
        complain(self.prog, message)
        raise SystemExit(BAD_INPUT)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(
                action, f"is {shown(str(value))}; {suggestion(str(value), list(map(str, action.choices)))}"
            )

    def _complete(self) -> None:
        try:
            import argcomplete  # noqa: PLC0415 - an extra
        except ImportError:
            return
        argcomplete.autocomplete(self)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
