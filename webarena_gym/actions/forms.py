"""The words of a dialect: for each action its name, its parameters and what it does. Prompts, errors and schemas are made of them."""

from typing import Literal, NamedTuple

from webarena_gym.actions.action import Kind

Type = Literal["element", "text", "integer", "number"]


class Parameter(NamedTuple):
    """One value of an action. It may be left out where it has a default."""

    name: str
    placeholder: str
    meaning: str
    example: str = ""  # of an element there is one for each way to name it
    type: Type = "text"
    choices: tuple[str, ...] = ()
    default: str | None = None


class Form(NamedTuple):
    """One action of a dialect. `name` is that of the function where actions are called as tools."""

    kind: Kind
    name: str
    parameters: tuple[Parameter, ...]
    meaning: str

    def find(self, name: str) -> Parameter | None:
        """Return the parameter of that name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


def element(name: str) -> Parameter:
    """Return the parameter that names an element."""
    return Parameter(name, "element", "the element", type="element")


def text(name: str) -> Parameter:
    """Return the parameter for what is typed into a field."""
    return Parameter(name, "text", "the text to type", "red shoes")


def option(name: str) -> Parameter:
    """Return the parameter that names an option of a drop-down list."""
    return Parameter(name, "option", "the text of the option", "Most popular")


def tab_index(name: str) -> Parameter:
    """Return the parameter that names a tab."""
    return Parameter(name, "index", "the index of the tab; the first is 0", "1", type="integer")


def url(name: str) -> Parameter:
    """Return the parameter for an address."""
    return Parameter(name, "url", "the URL to open", "http://shop.test/")


def key(name: str) -> Parameter:
    """Return the parameter that names a key."""
    return Parameter(name, "key", "the key, such as Enter, Tab, ArrowDown or a letter", "Enter")


def answer(name: str) -> Parameter:
    """Return the parameter for the answer."""
    meaning = 'the answer, as short as it can be; "N/A" if the task cannot be done; empty if none was asked for'
    return Parameter(name, "answer", meaning, "84.3 km", default="")
