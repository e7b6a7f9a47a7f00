"""The words of the interface: which label stands for which of the plain layout.

The table `wording.json` has for each plain label what else it may be called. `{}` stands for a part that varies, which is
translated in its turn, and `{#}` for a number. No wording of one label is a wording of another, so two labels of a page never become one. A layout for
training may keep a plain label; held-out layouts use words that no layout for training has.
"""

import json
import re
from functools import cache
from pathlib import Path

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import is_held_out, share

_TABLE = Path(__file__).parent / "wording.json"
_DEEPEST = 4  # labels in each other; ours go two deep, what people write may go on and on
_BLANKS = {"{}": "(.+)", "{#}": "([0-9]+)"}  # and what may stand in their place


@cache
def table() -> dict[str, list[str]]:
    """Return every plain label with the other wordings that it has."""
    content: dict[str, list[str]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return content


class Wording:
    """The labels of one layout."""

    def __init__(self, seed: int) -> None:
        self._exact: dict[str, str] = {}
        self._patterns: list[tuple[re.Pattern[str], list[str]]] = []
        for plain, others in table().items():
            choices = share(others, seed) if is_held_out(seed) else [plain, *share(others, seed)]
            wording = Dice(f"layout/{seed}/{plain}").pick(choices)
            blank = next((blank for blank in _BLANKS if blank in plain), "")
            if blank:
                before, after = map(re.escape, plain.split(blank))
                self._patterns.append((re.compile(before + _BLANKS[blank] + after), wording.split(blank)))
            else:
                self._exact[plain] = wording

    def label(self, text: str, deep: int = _DEEPEST) -> str:
        """Return what a plain label is called here; whatever is none stays as it is, and so do labels in more than `deep` others.

        >>> Wording(1).label("a product's name")
        "a product's name"
        """
        if text in self._exact:
            return self._exact[text]
        for pattern, wording in self._patterns if deep else ():
            if found := pattern.fullmatch(text):
                return self.label(found.group(1), deep - 1).join(wording)
        return text
