"""The bar above the pages of an episode that a person plays: the goal, a box for the answer, and the verdict."""

from html import escape
from urllib.parse import parse_qs

from webarena_gym.arena.schema import Result

_STYLE = (
    "all:initial;display:block;position:sticky;top:0;z-index:2147483647;box-sizing:border-box;width:100%;padding:10px 16px;"
    "background:#1d2b3a;color:#fff;font:15px/1.4 sans-serif;border-bottom:3px solid {colour}"
)
_INPUT = "all:revert;font:15px sans-serif;width:22em;margin:6px 8px 0 0;padding:4px"
_BUTTON = "all:revert;font:15px sans-serif;padding:4px 12px"


def above(page: bytes, goal: str, result: Result | None) -> bytes:
    """Return a page with the bar at the head of its body; the page as it is, where it has none."""
    if result is None:
        colour = "#e0a030"
        below = (
            '<form method="post" action="/.arena/done" style="all:revert;margin:0">'
            f'<input name="answer" aria-label="Answer" placeholder="The answer, if the task asks for one" style="{_INPUT}">'
            f'<button style="{_BUTTON}">I am done</button></form>'
        )
    else:
        colour = "#3aa655" if result.success else "#c0392b"
        below = "".join(f'<div style="all:revert">{escape(sentence)}</div>' for sentence in result.told)
    html = f'<div id="arena-bar" style="{_STYLE.format(colour=colour)}"><b style="all:revert">{escape(goal)}</b>{below}</div>'
    begun = page.find(b"<body")
    place = page.find(b">", begun) + 1
    return page if begun < 0 or place == 0 else page[:place] + html.encode() + page[place:]


def read(form: bytes) -> str:
    """Return the answer that was written into the bar."""
    return parse_qs(form.decode("utf-8", "replace")).get("answer", [""])[0].strip()
