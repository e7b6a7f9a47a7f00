r"""What people write in Markdown as HTML: CommonMark with tables and struck text, rendered by markdown-it-py.

HTML in a text stays text. Links lead to http, https or this site; a picture becomes a link to it. The first level of headings is
an h2, as the page has its own h1. Each line break stays one.
"""

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

_DEEPEST = 20  # lists, quotes and brackets in each other; each level multiplies the time that a text of brackets takes
_LINK = re.compile(r"https?://|/(?![/\\])|#", re.IGNORECASE)


class _Renderer(RendererHTML):
    """Renders pictures as links, and headings one level lower."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Return a link to a picture."""
        token = tokens[idx]
        text = self.renderInlineAsText(token.children or [], options, env)
        return f'<a href="{escapeHtml(str(token.attrs["src"]))}">{escapeHtml(text)}</a>'

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Return the beginning of a heading."""
        del options, env
        return f"<{_lower(tokens[idx])}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Return the end of a heading."""
        del options, env
        return f"</{_lower(tokens[idx])}>\n"


def _lower(heading: Token) -> str:
    return f"h{min(int(heading.tag[1]) + 1, 6)}"


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt(
        "js-default", {"html": False, "linkify": False, "breaks": True, "maxNesting": _DEEPEST}, renderer_cls=_Renderer
    )
    parser.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    return parser


def render_markdown(text: str) -> Markup:
    r"""Return Markdown as HTML in which everything that was not made here is escaped.

    >>> render_markdown("# Hi\n\nSee **this** <b>\n- a\n- `b`")
    Markup('<h2>Hi</h2>\n<p>See <strong>this</strong> &lt;b&gt;</p>\n<ul>\n<li>a</li>\n<li><code>b</code></li>\n</ul>\n')
    """
    return Markup(_parser().render(text))  # noqa: S704 - the parser escapes all text, and lets no HTML through
