"""Shrinking of what the fuzzers find: the page fuzzer's cases, which are pages as trees of nodes with actions, and the replies of walks.

A case that shows a difference is made smaller without parsing: each reduction removes a node, a pair of tags, an attribute, a cookie, a
redirect or an action.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

_REPLAYED = 8000  # actions that shortening a walk may take
_REPLAY_S = 60.0  # time limit of the same, because actions on an application, or a browser that dies, may be slow

HOME, HOSTS = "http://app.test/", ("app.test", "www.app.test", "other.test")
"""The address of a case's page, and the hosts that exist."""


class Node(NamedTuple):
    """An element of a page, or a sequence of nodes if `tag` is empty. Children that are strings are markup."""

    tag: str
    attributes: tuple[tuple[str, str | None], ...] = ()
    children: tuple["Node | str", ...] = ()
    end: str = ""  # the end tag as written; "" for none

    def __str__(self) -> str:
        start = f"<{self.tag}{''.join(map(_attribute, self.attributes))}>" if self.tag else ""
        return f"{start}{''.join(map(str, self.children))}{self.end}"


class Redirect(NamedTuple):
    """The response at the address /r followed by its index in the case."""

    status: int
    location: str
    cookies: tuple[str, ...] = ()


class PageAction(NamedTuple):
    """An action: click, type, select or press in the element with this id, press a key without one, or `back`, `wait` or `tab`."""

    kind: str
    target: str = ""
    argument: str = ""


class Case(NamedTuple):
    """A page with the cookies that it sets, the redirects that its links lead to, and what is done on it."""

    page: Node
    actions: tuple[PageAction, ...] = ()
    cookies: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()

    def __str__(self) -> str:
        cookies = [f"Set-Cookie: {cookie}" for cookie in self.cookies]
        redirects = [" ".join((f"/r{index}:", *map(str, redirect))) for index, redirect in enumerate(self.redirects)]
        actions = [f"{action.kind}({', '.join(map(repr, filter(None, action[1:])))})" for action in self.actions]
        return "\n".join((str(self.page), *cookies, *redirects, *actions))


def reductions(case: Case) -> Iterator[Case]:
    """Yield cases that are one step smaller, the largest steps first."""
    for name in ("actions", "redirects", "cookies"):
        parts = getattr(case, name)
        for index in range(len(parts)):
            yield case._replace(**{name: parts[:index] + parts[index + 1 :]})
    for index, redirect in enumerate(case.redirects):
        if redirect.cookies:
            fewer = (*case.redirects[:index], redirect._replace(cookies=()), *case.redirects[index + 1 :])
            yield case._replace(redirects=fewer)
    for page in _smaller(case.page):
        yield case._replace(page=page)


def nodes(page: Node) -> Iterator[Node]:
    """Yield a node and all nodes in it."""
    yield page
    for child in page.children:
        if isinstance(child, Node):
            yield from nodes(child)


def shape(page: Node) -> frozenset[str]:
    """Return the tags, types and attribute names of a page: what its difference depends on after all else was removed.

    >>> sorted(shape(Node("p", (), (Node("input", (("type", "date"), ("min", "1"))), "text"))))
    ['input', 'input min', 'input type=date', 'p']
    """
    parts = set()
    for node in nodes(page):
        parts |= {tag for child in node.children if isinstance(child, str) for tag in _TAGS.findall(child)}
        if node.tag:
            parts |= {node.tag, *(f"{node.tag} {name}" for name, _ in node.attributes if name not in {"id", "type"})}
            parts |= {f"{node.tag} type={value}" for name, value in node.attributes if name == "type"}
    return frozenset(parts)


def _attribute(attribute: tuple[str, str | None]) -> str:
    name, value = attribute
    if value is None:
        return f" {name}"
    return f" {name}={value}" if value.isalnum() else f' {name}="{escape(value)}"'


def _smaller(node: Node) -> Iterator[Node]:
    """Yield the node with one child less, one pair of tags less, one attribute less, or with the end tag that belongs to it."""
    children = node.children
    if len(children) > 3:
        half = len(children) // 2
        yield node._replace(children=children[half:])
        yield node._replace(children=children[:half])
    for index in range(len(children)):
        yield node._replace(children=children[:index] + children[index + 1 :])
    for index, child in enumerate(children):
        if isinstance(child, Node):
            if child.tag and child.children:
                yield node._replace(children=(*children[:index], *child.children, *children[index + 1 :]))
            for smaller in _smaller(child):
                yield node._replace(children=(*children[:index], smaller, *children[index + 1 :]))
    for index in range(len(node.attributes)):
        yield node._replace(attributes=node.attributes[:index] + node.attributes[index + 1 :])
    if node.end not in {"", f"</{node.tag}>"}:
        yield node._replace(end=f"</{node.tag}>")


_TAGS = re.compile(r"</?[a-z]\w*")  # of markup in a string


def shortest_replies(replies: Sequence[str], fault: str, replay: Callable[[Sequence[str]], str]) -> tuple[tuple[str, ...], str]:
    """Return the fewest replies that still show a fault, by leaving some out within limits of actions and time, and the fault that they show.

    Args:
        replies: the replies of a walk.
        fault: the fault that they showed.
        replay: repeats a walk with some replies, and returns its fault, "" for none.

    """
    shortest, size, budget = list(replies), len(replies), _REPLAYED
    end_s = time.monotonic() + _REPLAY_S
    again = replay(shortest)
    if not again:
        return tuple(shortest), f"{fault} (not reproduced by the same replies)"
    fault = again
    while size and budget > 0 and time.monotonic() < end_s:
        index = 0
        while index < len(shortest) and budget > 0 and time.monotonic() < end_s:
            fewer = shortest[:index] + shortest[index + size :]
            budget -= len(fewer) + 1
            if shorter := replay(fewer):
                shortest, fault = fewer, shorter
            else:
                index += size
        size = min(size, len(shortest)) // 2
    return tuple(shortest), fault
