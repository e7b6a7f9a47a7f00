"""What an agent is told before it begins: what it sees, what it can do, and how to answer."""

from collections.abc import Mapping
from functools import cache
from typing import Literal

from webarena_gym.actions.dialect import Dialect

_PAGES: Mapping[str, str] = {
    "html": "simplified HTML",
    "axtree": "an accessibility tree",
    "occam": "an outline of its accessibility tree",
}
_NAMES: Mapping[tuple[str, str], str] = {
    ("html", "id"): 'the number that stands in its tag, as in <a id="12">',
    ("axtree", "id"): "the number in brackets before it, as in [12] link",
    ("occam", "id"): "the number in brackets after its role, as in link [12]",
}
_BY_LABEL = 'the label that it shows, such as Add to Cart; the second element of that label is "Add to Cart [2]"'
_LEFT: Mapping[str, str] = {
    "occam": """ Of a page that you leave, only the elements that you highlight are shown again, with what stands around them. To highlight \
elements, begin your reply with a line that names them, such as OBSERVATION HIGHLIGHT: 12, 34."""
}

ANSWERS = """\
Answers:
- Give the bare value that was asked for, and nothing else: a name, a number with its unit, a date, "Yes" or "No".
- Separate the items of a list by semicolons, or give a JSON list.
- Write values as the pages show them. Give one answer, without alternatives, remarks or second values.
- To explain an answer, do so first, and end with a line "Answer: " and the bare value; what stands before it is not read.
- "N/A" is the answer to a task that cannot be done on these sites. Give it only when you have made sure of that.
- Leave the answer empty if the task asks for none."""
"""The rule for answers, which is the same in all dialects."""


@cache
def instructions(dialect: Dialect, observation: Literal["html", "axtree", "occam"] = "html") -> str:
    """Return the system prompt of an agent that writes a dialect and sees pages in a style.

    >>> from webarena_gym.actions import DIALECTS
    >>> instructions(DIALECTS["webarena"]).splitlines()[3]
    'click [id]: Click an element. Example: click [12]'
    """
    end = next(form for form in dialect.forms if form.kind == "Exit")
    named = _BY_LABEL if dialect.naming == "label" else _NAMES[observation, dialect.naming]
    actions = "\n".join(
        f"{dialect.syntax.signature(form)}: {form.meaning} Example: {dialect.example(form)}" for form in dialect.forms
    )
    return f"""\
You use websites for a person who has given you a task. Each turn shows you the newest page as {_PAGES[observation]}; earlier pages \
may be left out.{_LEFT.get(observation, "")} Reply to each turn with exactly one action. You may reason before it, inside <think> and </think>.

The actions:
{actions}

An element is named by {named}. A long page is shown in parts: scroll to see the others. A form takes effect when it is submitted.
Do what the task says and change nothing else. When it is done, end with {dialect.example(end)}, with your own answer in its place.

{ANSWERS}"""
