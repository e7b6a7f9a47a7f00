"""The pools of words that the world's texts are combined from, and how a text with slots is filled."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from webarena_gym.sites.country.dice import Dice

_SLOT = re.compile(r"@(\w+)@")


@cache
def pools() -> dict[str, Any]:
    """Return pools.json: lists of texts by name. Slots stand between @ signs."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "pools.json").read_text(encoding="utf-8"))
    return content


@cache
def licenses() -> dict[str, str]:
    """Return the texts of licenses by their names; @y@ is the year, @a@ the author."""
    content: dict[str, str] = json.loads((Path(__file__).parent / "licenses.json").read_text(encoding="utf-8"))
    return content


def fill(dice: Dice, text: str, **fixed: str) -> str:
    """Return a text with its slots filled: those in `fixed` as given, the general ones drawn, each once.

    General are @v@ and @V@ (a verb), @o@ (plural noun), @f@ (name of a function), @C@ (name of a class), @T@ (a heading), @n@.
    """
    pool = pools()
    verb, thing = dice.pick(pool["verbs"]), dice.pick(pool["objects"])
    values = {
        "v": verb,
        "V": verb.capitalize(),
        "o": thing,
        "f": f"{verb}_{thing}",
        "C": f"{verb}{thing}".title(),
        "T": f"{verb.capitalize()} the {thing}",
        "n": str(dice.between(12, 480)),
    } | fixed
    return _SLOT.sub(lambda match: values[match[1]], text)
