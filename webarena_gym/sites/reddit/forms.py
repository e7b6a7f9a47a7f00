"""The fields of the forum's forms."""

import re
from typing import ClassVar

from webarena_gym.sites.kit import forms


class Field(forms.Field):
    """One text field of a form, with the forum's complaints."""

    missing: ClassVar[str] = "{label}: this field must not be empty."
    too_long: ClassVar[str] = "{label}: {length} characters are too many, {limit} at most."


EMAIL = Field("Email", pattern=forms.EMAIL.pattern, hint="this is no email address such as name@domain.com.")
USERNAME = Field(
    "Username", limit=25, pattern=re.compile(r"[A-Za-z0-9_-]{3,25}"), hint="3 to 25 letters, digits, dashes and underscores."
)
