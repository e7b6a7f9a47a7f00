"""Pages of one form: how they show what was typed, and what is wrong with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from webarena_gym.sites.kit.forms import Field, checked
from webarena_gym.sites.kit.requests import Request


class Aside(NamedTuple):
    """A question below a form, and the link that answers it."""

    question: str
    address: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPage:
    """A page of text fields and one button, which posts them to `action`. A page of more has a template of its own."""

    title: str
    action: str
    fields: Mapping[str, Field]
    button: str
    aside: Aside | None = None

    def show(self, request: Request, values: Mapping[str, str] = MappingProxyType({}), errors: Sequence[str] = ()) -> str:
        """Return the page with what was typed, but for passwords, and what is wrong with it."""
        typed = {name: "" if field.type == "password" else values.get(name, "") for name, field in self.fields.items()}
        return request.render("form.html", title=self.title, form=self, values=typed, errors=errors)

    def read(self, request: Request) -> tuple[dict[str, str], list[str]]:
        """Return the posted text of each field, cleaned, and what is wrong with them."""
        return checked(request, self.fields)
