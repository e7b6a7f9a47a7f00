"""Constraints of single replies, and what makes them for a tokenizer."""

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

from agents.data.prompts import THINKING, PromptEncoder, Style
from agents.rollouts.constraints.actions import language_of
from agents.rollouts.constraints.automaton import Automaton
from agents.rollouts.constraints.language import Language, regex
from agents.rollouts.constraints.vocabulary import Vocabulary

_KEPT = 128  # automata of pages, of some megabytes each


@dataclass(frozen=True)
class Constraint:
    """The language that a reply is to be of, as an automaton over tokens and as a regular expression."""

    language: Language
    vocabulary: Vocabulary
    stop_ids: frozenset[int]

    @cached_property
    def automaton(self) -> Automaton:
        """The tokens that are allowed after each beginning of a reply."""
        return Automaton(self.language, self.vocabulary, self.stop_ids)

    @cached_property
    def regex(self) -> str:
        """A regular expression that the whole reply matches, for servers that decode by one."""
        return regex(self.language)


@dataclass
class Constraints:
    """Makes the constraints of the replies of one tokenizer. Equal goals and pages have equal constraints."""

    vocabulary: Vocabulary
    stop_ids: frozenset[int]
    _kept: "OrderedDict[tuple[str, str], Constraint]" = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, encoder: PromptEncoder) -> "Constraints":
        """Return the constraints for an encoder's tokenizer. Raises ValueError for a tokenizer that cannot be constrained."""
        return cls(Vocabulary.of(encoder.tokenizer), encoder.stop_ids)

    def on(self, goal: str, page: str) -> Constraint:
        """Return the constraint of a reply to a page."""
        key = goal, page
        if key not in self._kept:
            self._kept[key] = Constraint(language_of(goal, page), self.vocabulary, self.stop_ids)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def create_constraints(encoder: PromptEncoder, *, constrained: bool, system: Style) -> Constraints | None:
    """Return what constrains replies where they are to be. Raises ValueError where they cannot be: with thoughts before the action."""
    if constrained and system in THINKING:
        raise ValueError("constrained replies are actions alone, and system is 'think'; expected 'none', 'act' or 'env'")
    return Constraints.of(encoder) if constrained else None
