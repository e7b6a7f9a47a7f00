"""A dialect: a way to write actions, read out of a model's reply, and explained to whoever has to write it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from webarena_gym.actions.action import Action, Kind
from webarena_gym.actions.forms import Form, Parameter
from webarena_gym.actions.replies import answer_part
from webarena_gym.errors import ActionError
from webarena_gym.texts import MAX_REPLY, cut

Naming = Literal["id", "label"]
"""How actions name elements: by the number that the observation gives them, or by their visible label."""

MAX_REASON = 300  # characters of what an error says before it lists the forms
_NUMBER, _LABEL = "12", "Add to Cart"
_LABELS: Mapping[Kind, str] = {Kind.TYPE: "Search entire store", Kind.SEARCH: "Search entire store", Kind.SELECT: "Sort By"}
"""Examples of elements: by number, by label, and those that are no buttons."""


class Syntax(Protocol):
    """What is particular to one dialect."""

    @property
    def name(self) -> str:
        """The dialect's name among DIALECTS."""
        ...

    @property
    def forms(self) -> tuple[Form, ...]:
        """All actions of the dialect."""
        ...

    def read(self, text: str) -> Action:
        """Return the one action in a text without thoughts. Raises ActionError when there is none, several, or a malformed one."""
        ...

    def write(self, action: Action) -> str:
        """Write an action; `read` gives it back. Raises ValueError for a kind that the dialect cannot express."""
        ...

    def spell(self, name: str, values: Mapping[str, str]) -> str:
        """Write a form by its name with the values of its parameters, also one that is not there, or with other values."""
        ...

    def signature(self, form: Form) -> str:
        """Return a form with the names of its parameters in the places of their values."""
        ...


@dataclass(frozen=True)
class Dialect:
    """Reads, writes and explains actions. `naming` is how its examples name elements; it reads both ways."""

    syntax: Syntax
    naming: Naming = "id"

    def __str__(self) -> str:
        return f"{self.name} by {self.naming}"

    @property
    def name(self) -> str:
        """The dialect's name among DIALECTS."""
        return self.syntax.name

    @property
    def forms(self) -> tuple[Form, ...]:
        """All actions of the dialect."""
        return self.syntax.forms

    def naming_by(self, naming: Naming) -> "Dialect":
        """Return the dialect with examples that name elements so."""
        return replace(self, naming=naming)

    def parse(self, reply: str) -> Action:
        """Return the one action in a model's reply.

        Raises ActionError when there is none, several, or a malformed one, or the reply is longer than MAX_REPLY; it lists the dialect's forms with an example each.

        >>> from webarena_gym.actions import DIALECTS
        >>> DIALECTS["webrl"].parse("<think>Search.</think><answer>do(action='Click', element=12)</answer>")
        Action(kind=<Kind.CLICK: 'Click'>, element='12', argument=None)
        """
        try:
            return self.syntax.read(answer_part(_checked(reply)))
        except ActionError as error:
            examples = "\n".join(map(self.example, self.forms))
            raise ActionError(f"{cut(str(error), MAX_REASON)}. The actions are, with an example each:\n{examples}") from None

    def format(self, action: Action) -> str:
        """Write an action; `parse` gives it back. Raises ValueError for a kind that the dialect cannot express.

        >>> from webarena_gym.actions import DIALECTS, Kind
        >>> DIALECTS["browsergym"].format(Action(Kind.TYPE, element="5", argument="red shoes"))
        'fill("5", "red shoes")'
        """
        return self.syntax.write(action)

    def grammar(self) -> str:
        """Return the list of actions with what they do, one a line, for a prompt."""
        return "\n".join(f"{self.syntax.signature(form)}: {form.meaning}" for form in self.forms)

    def example(self, form: Form) -> str:
        """Return a form with an example for each parameter that must be given.

        >>> from webarena_gym.actions import DIALECTS
        >>> DIALECTS["webarena"].example(DIALECTS["webarena"].forms[1])
        'type [12] [red shoes] [1]'
        """
        shown = (parameter for parameter in form.parameters if parameter.default is None or parameter.example)
        return self.syntax.spell(form.name, {parameter.name: self.example_of(parameter, form.kind) for parameter in shown})

    def example_of(self, parameter: Parameter, kind: Kind) -> str:
        """Return an example of the value of a parameter of this kind of action."""
        if parameter.type != "element":
            return parameter.example
        return _NUMBER if self.naming == "id" else _LABELS.get(kind, _LABEL)


def _checked(reply: str) -> str:
    if len(reply) > MAX_REPLY:
        raise ActionError(f"the reply has {len(reply):,} characters; expected at most {MAX_REPLY:,}")
    return reply
