"""Judging an answer without a language model: the stated answer is compared with the reference as the kind of value that it is.

`matches("$1,234.50", "1234.5 dollars")` is true: both are amounts of money. A reply states its answer alone, in one of a few sentences,
or behind a mark such as a last line "Answer: ...".
"""

from collections.abc import Sequence

from webarena_gym.answers.form import Form as Form
from webarena_gym.answers.form import read_form as read_form
from webarena_gym.answers.judge import OR as OR
from webarena_gym.answers.judge import MatchResult as MatchResult
from webarena_gym.answers.judge import compare as compare
from webarena_gym.answers.judge import is_not_available as is_not_available


def matches(reference: str | Sequence[str], answer: str, intent: str = "", form: Form | None = None) -> bool:
    r"""Return True if `answer` gives the value of `reference`, as an answer to the goal `intent`.

    >>> matches("March 5, 2023", "3/5/2023")
    True
    >>> matches("3", "3, if not 4"), matches("3", "I counted 4 at first.\nAnswer: 3")
    (False, True)
    """
    return compare(reference, answer, intent, form).is_right
