"""The fields of the code host's forms."""

from typing import ClassVar

from webarena_gym.sites.kit import forms


class Field(forms.Field):
    """One text field of a form, with the code host's complaint about what is missing."""

    missing: ClassVar[str] = "{label} can't be blank."
