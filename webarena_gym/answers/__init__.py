"""Judging an answer without a language model: what it claims, compared with a reference as the kind of thing that this is.

`matches("$1,234.50", "It cost 1234.5 dollars.")` is true: both are amounts of money. An answer's claims are read off its
sentences: what echoes the goal, is an operand or an aside is left out; what is denied or doubted is no claim, and two different
claims of what was asked are none.
"""

from webarena_gym.answers.comparison import Finding as Finding
from webarena_gym.answers.comparison import compare as compare
from webarena_gym.answers.references import Asked as Asked
from webarena_gym.answers.references import read_asked as read_asked


def matches(reference: str, answer: str, intent: str = "", asked: Asked | None = None) -> bool:
    """Say whether `answer` claims what `reference` says, as an answer to the goal `intent`.

    >>> matches("March 5, 2023", "The order was placed on 3/5/2023.")
    True
    >>> matches("3", "There are 3 reviews and 4 stars")
    False
    """
    return compare(reference, answer, intent, asked).is_right


def list_matches(references: list[str], answer: str, intent: str = "", asked: Asked | None = None) -> bool:
    """Say whether the answer lists the references, all of them and nothing else, in any order."""
    return matches("\n".join(references), answer, intent, asked)


def is_not_available(text: str) -> bool:
    """Say whether a reference says that there is no answer.

    >>> [is_not_available(text) for text in ("N/A", "n/a.", "", "NA, sorry")]
    [True, True, False, False]
    """
    return text.strip().strip("\"'.").lower() in ("n/a", "na")
