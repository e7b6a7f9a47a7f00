"""Command lines made from dataclasses: one field is one option, its docstring the help."""

import ast
import inspect
import textwrap
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, BooleanOptionalAction
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

S = TypeVar("S")
ENV_ID = "WebArenaLite-v0"


@dataclass(frozen=True, kw_only=True)
class EnvSettings:
    """How the environment shows its pages. An agent must be used as it was trained."""

    variation: Literal["content", "layout"] = "content"
    """how worlds differ: in what is on the sites, or also in how the sites are built"""
    elements: Literal["label", "id"] = "label"
    """how actions name elements: by visible label, or by the numbers in the page"""
    history: Literal["compressed", "none", "full"] = "compressed"
    """what becomes of earlier pages: a placeholder each, nothing, or kept whole"""
    thoughts: bool = False
    """keep the thoughts of earlier replies in the history"""
    window: int = 12_000
    """characters of a page shown at once"""
    max_steps: int = 15
    """steps after which an episode is cut off"""

    def env_arguments(self) -> dict[str, Any]:
        """Return the keywords for `gymnasium.make`."""
        return {name: getattr(self, name) for name in ENV_FIELDS}


ENV_FIELDS = tuple(item.name for item in fields(EnvSettings))


@dataclass(frozen=True, kw_only=True)
class LengthSettings:
    """How long a run goes on, and how often it is saved."""

    minutes: float = 0.0
    """train for so long, schedules following the clock; 0: for `updates`"""
    updates: int = 100
    """train for so many updates, unless `minutes` is given; 0 saves what there is untrained"""
    save_every: int = 10
    """updates between checkpoints"""

    def __post_init__(self) -> None:
        if self.minutes < 0 or self.updates < 0 or self.save_every < 1:
            raise ValueError(
                f"minutes={self.minutes}, updates={self.updates}, save_every={self.save_every}; expected at least 0, 0 and 1"
            )

    def progress(self, update: int, elapsed_s: float) -> float:
        """Return the part of the training that is done after so many updates and seconds; 1 or more at its end."""
        if self.minutes:
            return elapsed_s / (60 * self.minutes)
        return update / self.updates if self.updates else 1.0


def parse_settings(kind: type[S], arguments: Sequence[str] | None = None, defaults: dict[str, Any] | None = None) -> S:
    """Return settings read from the command line (`sys.argv` by default).

    `defaults` overrides the dataclass's own. The program ends with a message on a wrong option, and with the help on --help.
    """
    documentation = field_docs(kind)
    hints = get_type_hints(kind)
    module = inspect.getmodule(kind)
    program = module.__spec__.name if module and module.__spec__ else kind.__module__  # a module that runs is "__main__"
    parser = ArgumentParser(
        description=inspect.getdoc(kind),
        usage="%(prog)s [options]",
        formatter_class=ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
        prog=f"python -m {program}",
    )
    groups: dict[type, Any] = {
        part: parser.add_argument_group(None, " ".join((inspect.getdoc(part) or "").partition("\n\n")[0].split()))
        for part in kind.__mro__[1:-1]
    }
    groups[kind] = parser
    own = {name: part for part in reversed(kind.__mro__[:-1]) for name in part.__annotations__}
    for item in sorted(fields(kind), key=lambda item: own[item.name] is not kind):  # type: ignore[arg-type]
        name, group = "--" + item.name.replace("_", "-"), groups[own[item.name]]
        default = (defaults or {}).get(item.name, item.default)
        options: dict[str, Any] = {"default": None if default is MISSING else default, "help": documentation[item.name]}
        options["required"] = default is MISSING
        hint = hints[item.name]
        if hint is bool:
            group.add_argument(name, action=BooleanOptionalAction, **options)
        elif get_origin(hint) is Literal:
            group.add_argument(name, choices=get_args(hint), **options)
        elif get_origin(hint) is tuple:
            group.add_argument(name, type=get_args(hint)[0], nargs="+", **options)
        else:
            optional = [argument for argument in get_args(hint) if argument is not type(None)]
            group.add_argument(name, type=optional[0] if optional else hint, metavar=item.name.upper(), **options)
    values = vars(parser.parse_args(arguments))
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def given(arguments: Sequence[str], option: str) -> str | None:
    """Return what a command line says of an option before all of it is parsed, as what it says may set defaults of others.

    >>> given(["--seed", "1", "--model=runs/bc"], "--model")
    'runs/bc'
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(option, dest="value")
    value: str | None = parser.parse_known_args(arguments)[0].value
    return value


def field_docs(kind: type) -> dict[str, str]:
    """Return the docstring that follows each field in a dataclass's source, bases included.

    >>> field_docs(EnvSettings)["max_steps"]
    'steps after which an episode is cut off'
    """
    documentation: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, following in zip(body.body, body.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
                text = str(following.value.value) if is_text else ""  # type: ignore[attr-defined]
                documentation[statement.target.id] = " ".join(text.split())
    return documentation
