"""Reading what people typed: nothing here trusts its input, and everything wrong becomes a message."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from webarena_gym.sites.kit import Request
from webarena_gym.sites.reddit.texts import clean

_EMAIL = re.compile(r"[^\s@<>\"',;]+@[^\s@<>\"',;]+\.[^\s@<>\"',;.]+")


@dataclass(frozen=True, slots=True)
class Field:
    """One text field of a form; `pattern` is what the whole text must look like, and `hint` says so in words."""

    label: str
    required: bool = True
    limit: int = 255
    pattern: re.Pattern[str] | None = None
    hint: str = ""

    def complaint(self, value: str) -> str:
        """Return what is wrong with the value, or nothing."""
        if not value:
            return f"{self.label}: this field must not be empty." if self.required else ""
        if len(value) > self.limit:
            return f"{self.label}: {len(value)} characters are too many, {self.limit} at most."
        if self.pattern and not self.pattern.fullmatch(value):
            return f"{self.label}: {self.hint}"
        return ""


EMAIL = Field("Email", pattern=_EMAIL, hint="this is no email address such as name@domain.com.")
USERNAME = Field(
    "Username", limit=25, pattern=re.compile(r"[A-Za-z0-9_-]{3,25}"), hint="3 to 25 letters, digits, dashes and underscores."
)


def read(request: Request, fields: Mapping[str, Field]) -> dict[str, str]:
    """Return the posted text of each field, cleaned."""
    return {name: clean(request.form.get(name, "")) for name in fields}


def complaints(values: Mapping[str, str], fields: Mapping[str, Field]) -> list[str]:
    """Return what is wrong with the values, in the order of the fields."""
    return [complaint for name, field in fields.items() if (complaint := field.complaint(values[name]))]
