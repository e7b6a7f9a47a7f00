"""The `func:` of task files: a call of a helper function by name, with literal arguments. It is read, never evaluated."""

import ast
import inspect
from typing import NamedTuple

from webarena_gym.errors import EvaluationError
from webarena_gym.servers.helpers import HELPERS, Scene

PREFIX = "func:"
_PAGE = "__page__"
_LAST_URL = "__last_url__"


class Call(NamedTuple):
    """A call of a helper function. `arguments` are texts, in which __last_url__ stands for the address of the final page."""

    name: str
    arguments: tuple[str, ...]

    def __call__(self, scene: Scene, last_url: str) -> str:
        """Return what the helper says. Raises EvaluationError or ServerError."""
        arguments = (argument.replace(_LAST_URL, last_url) for argument in self.arguments)
        return HELPERS[self.name](scene, *arguments)


def parse_call(text: str) -> Call:
    """Read a call such as `func:reddit_get_post_url('__last_url__')`. Raises EvaluationError for anything else.

    >>> parse_call("func:gitlab_get_project_memeber_role(__page__, 'ann')")
    Call(name='gitlab_get_project_memeber_role', arguments=('ann',))
    """
    problem = f"{text!r} is no call of a helper function"
    try:
        node = ast.parse(text.removeprefix(PREFIX).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two for what is too deep
        raise EvaluationError(f"{problem}: {error}") from error
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        raise EvaluationError(f"{problem}; expected name('text', ...)")
    name = node.func.id
    if name not in HELPERS:
        raise EvaluationError(f"there is no helper function {name!r}; expected one of {', '.join(HELPERS)}")
    arguments = []
    for place, argument in enumerate(node.args):
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            arguments.append(argument.value)
        elif not (isinstance(argument, ast.Name) and argument.id == _PAGE and place == 0):
            raise EvaluationError(f"{problem}; its arguments must be texts, after {_PAGE} if it has that")
    try:
        inspect.signature(HELPERS[name]).bind(None, *arguments)
    except TypeError as error:
        raise EvaluationError(f"{problem}: {error}") from error
    return Call(name, tuple(arguments))
