"""How pages and histories are presented to an agent: the env's keywords `observation`, `elements`, `history`, `viewport`, `window` and so on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from webarena_gym.actions import Dialect, instructions
from webarena_gym.arguments import expect_one_of, expect_positive
from webarena_gym.episode.history import History, Message, Turn, compress, placeholder
from webarena_gym.episode.spaces import within_charset
from webarena_gym.observation import Elements, Observation, Style, observe, pivotal
from webarena_gym.pages.page import Page
from webarena_gym.texts import MAX_PAGE, cut

Viewport = Literal["window", "layout"]


class Seen(NamedTuple):
    """A page, what an agent sees of it, and the text that it reads."""

    page: Page
    observation: Observation
    text: str


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """What an env's keywords of the same names choose. Raises ValueError for what is no choice."""

    observation: Style
    elements: Elements
    history: History
    thoughts: bool
    header: bool
    viewport: Viewport
    window: int
    bbox: bool

    def __post_init__(self) -> None:
        expect_one_of("observation", self.observation, get_args(Style))
        expect_one_of("elements", self.elements, get_args(Elements))
        expect_one_of("history", self.history, get_args(History))
        expect_one_of("viewport", self.viewport, get_args(Viewport))
        expect_positive("window", self.window)

    def show(self, page: Page, top: int, action_error: str) -> Seen:
        """Return what an agent sees of a page from the line `top` on, and above it why its last action did nothing."""
        seen = observe(
            page,
            elements=self.elements,
            style=self.observation,
            bbox=self.bbox,
            header=self.header,
            window=MAX_PAGE if self.viewport == "layout" else self.window,
            top=top,
        )
        text = f"Action error: {action_error}\n{seen.text}" if action_error else seen.text
        return Seen(page, seen, cut(within_charset(text), MAX_PAGE))

    def system_prompt(self, dialect: Dialect) -> str:
        """Return what an agent is told before it begins."""
        return instructions(dialect, self.observation)

    def chat(self, goal: str, turns: Sequence[Turn], text: str) -> list[Message]:
        """Return the chat that leads to the next reply, without a system message; `text` is the newest page."""
        left = pivotal if self.observation == "occam" else placeholder
        return compress(goal, turns, text, self.history, thoughts=self.thoughts, left=left)
