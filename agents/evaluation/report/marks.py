"""Find the element of an action in an observation, and split a reply into thought and action. Pure functions of text."""

import re
from typing import NamedTuple

from webarena_gym.actions.replies import answer_part

_TAGS = re.compile(r"</?(?:think|answer)>")


class Parts(NamedTuple):
    """A text in three: what stands before an element, the element as written, what stands after it."""

    before: str
    marked: str
    after: str


def mark(page: str, address: str | None) -> Parts:
    """Split a page's text at the element that an action names, by its number or its label; in the end if it is not there.

    >>> mark('<a>Home</a> <button>Add to Cart [2]</button>', "add to cart [2]").marked
    '<button>Add to Cart [2]</button>'
    >>> mark('<a id="1">Home</a> <input id="12" label="Name">', "12").marked
    '<input id="12" label="Name">'
    """
    if address is None:
        return Parts(page, "", "")
    shown = re.escape(" ".join(address.split()).replace("<", "&lt;"))
    quoted = shown.replace('"', "&quot;")
    ways = (
        rf'<(\w+)\b[^<>]* id="{quoted}"[^<>]*>(?:[^<\n]*</\1>)?',
        rf'<\w+\b[^<>]* label="{quoted}"[^<>]*>',
        rf"<(\w+)\b[^<>]*>{shown}</\1>",
    )
    for way in (*ways, rf"(?m)^\s*\[{shown}\] .*$"):  # the last: a line of an accessibility tree
        if found := re.search(way, page, re.IGNORECASE):
            return Parts(page[: found.start()], found.group(), page[found.end() :])
    return Parts(page, "", "")


def split_reply(reply: str) -> tuple[str, str]:
    """Return the thought and the action of a reply.

    >>> split_reply("<think>Which?</think> The first. <answer>go_backward()</answer>")
    ('Which? The first.', 'go_backward()')
    """
    action = answer_part(reply)
    before = reply[: reply.rfind(action)] if action else reply
    return _TAGS.sub("", before).strip(), action
