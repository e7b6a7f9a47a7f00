"""Tools made of functions: the signatures that prompts show."""

from typing import Literal

from typing_extensions import TypeAliasType

from webarena_gym.toolbox import ToolFunction

Tree = TypeAliasType("Tree", "list[Tree] | None")


def prune(tree: Tree, names: list[Literal["a", "b"]], depth: int | None = None, *, side: Literal["left", 2] = 2) -> str:
    """Return a smaller tree."""
    return f"{tree} {names} {depth} {side}"


def test_signatures_show_types_with_recursive_ones_cut_at_a_depth_and_defaults():
    assert ToolFunction(prune).form.signature == (
        'prune(tree: list of any or null, names: list of ("a" or "b"), depth: integer or null = null, side: "left" or 2 = 2)'
    )
