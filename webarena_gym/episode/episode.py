"""One task under way: what the agent was shown and replied so far, and what it is told next. Not where the task is done."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NotRequired, TypedDict

from webarena_gym.actions import Action, Dialect, Kind
from webarena_gym.browsers import Browser
from webarena_gym.episode.acting import act
from webarena_gym.episode.history import Message, Turn, as_text
from webarena_gym.episode.presentation import Presentation, Seen
from webarena_gym.episode.spaces import within_charset
from webarena_gym.errors import ActionError
from webarena_gym.observation import Observation, scrolled
from webarena_gym.tasks import Task
from webarena_gym.texts import MAX_ERROR, MAX_REPLY, cut

_SCROLLING = (Kind.SCROLL_DOWN, Kind.SCROLL_UP)


class Info(TypedDict):
    """What `reset` and `step` return beside the observation."""

    goal: str
    url: str
    page: str  # the newest page as text, without history
    messages: list[Message]  # the chat that leads to the next reply: the system prompt, then what the observation says
    step: int  # steps taken in this episode
    steps_left: NotRequired[int]  # of the step budget, where there is one
    action_error: str  # why the last action did nothing; empty when it was fine
    task_id: str
    answer_form: NotRequired[str]  # how the answer is to be given, where the task states its type
    success: NotRequired[bool]  # at the end of an episode
    verdicts: NotRequired[list[dict[str, Any]]]  # at the end: the fields of `evaluators.Verdict`, and its reason
    side_effects: NotRequired[list[str]]  # at the end, when all other checks have passed: what was changed beyond the task
    site_errors: NotRequired[list[str]]  # what the embedded sites have raised in this episode, each answered with status 500
    failure: NotRequired[str]  # what broke down, when the episode was lost through no fault of the agent


class Snapshot(NamedTuple):
    """A whole episode at one moment: small, picklable, to be restored any number of times, in any env or process.

    The seal is a digest of all else, which tells a damaged snapshot. It is no signature: whoever can write a pickle can seal it.
    """

    task: Task
    goal: str
    venue: Any  # the state of the sites and of the browser
    turns: tuple[Turn, ...]
    top: int
    action_error: str
    done: bool
    random_state: Mapping[str, Any]
    seal: bytes = b""
    max_steps: int | None = None
    steps_left: int | None = None

    def sealed(self) -> "Snapshot":
        """Return the snapshot with the seal of its content."""
        content = self._replace(seal=b"")
        return self._replace(seal=hashlib.sha256(repr(content).encode()).digest())


@dataclass
class Episode:
    """A task in a browser, one reply after the other."""

    task: Task
    goal: str
    browser: Browser
    presentation: Presentation
    dialect: Dialect
    turns: list[Turn] = field(default_factory=list)
    top: int = 0  # the first line of the page that is shown
    action_error: str = ""
    is_over: bool = False
    max_steps: int | None = None  # after which it is truncated, if that is before the env's own limit
    steps_left: int | None = None  # of its step budget, if it has one; scrolling is free
    _seen: Seen | None = None

    def look(self) -> Seen:
        """Return what the agent sees now; computed once after each reply. Raises BrowserError."""
        if self._seen is None:
            self._seen = self.presentation.show(self.browser.page(), self.top, self.action_error)
        return self._seen

    def tell(self, last: Seen | None = None) -> tuple[str, Info]:
        """Return the observation and the info of this moment, or, where nothing can be seen, with what was seen last."""
        seen = last or self.look()
        chat = self.presentation.chat(self.goal, self.turns, seen.text)
        messages: list[Message] = [{"role": "system", "content": self.presentation.system_prompt(self.dialect)}, *chat]
        info: Info = {
            "goal": self.goal,
            "url": seen.page.url,
            "page": seen.text,
            "messages": messages,
            "step": len(self.turns),
            "action_error": self.action_error,
            "task_id": self.task.task_id,
        }
        if self.steps_left is not None:
            info["steps_left"] = self.steps_left
        return as_text(chat), info

    def take(self, reply: str) -> str | None:
        """Do what a reply says. Returns the answer with which it exits, None when it does not.

        A malformed, too long or impossible action changes nothing but `action_error`. Raises BrowserError.
        """
        self.turns.append(Turn(self.look().text, within_charset(cut(reply, MAX_REPLY))))
        self.action_error = ""
        answer: str | None = None
        is_free = False
        try:
            action = self.dialect.parse(reply)
            is_free = action.kind in _SCROLLING
            if action.kind is Kind.EXIT:
                answer = action.argument or ""
            else:
                self._act(action)
        except ActionError as error:
            self.action_error = cut(within_charset(str(error)), MAX_ERROR)
        if self.steps_left is not None and not is_free:
            self.steps_left -= 1
        self._seen = None
        return answer

    def _act(self, action: Action) -> None:
        page, observation, _ = self.look()
        if action.kind in _SCROLLING:
            down = action.kind is Kind.SCROLL_DOWN
            self._scroll(observation, down=down)
            return
        element = None if action.element is None else observation.element(action.element)
        act(self.browser, action, element, observation.element(action.argument or "") if action.kind is Kind.DRAG else None)
        after = self.browser.page()
        if (after.url, after.active_tab) != (page.url, page.active_tab):
            self.top = 0

    def _scroll(self, observation: Observation, *, down: bool) -> None:
        """Move the window over the text; at its end, the browser's own over the page, which may load more."""
        if self.presentation.viewport == "layout":
            self.browser.scroll(down=down)
            return
        top = scrolled(observation, down=down)
        if top == self.top:
            self.browser.scroll(down=down, to_end=True)
            now = self.presentation.show(self.browser.page(), self.top, "").observation
            if down and now.total > observation.total:
                top = scrolled(now, down=True)
            if top == self.top:
                self.action_error = f"the page {'ends' if down else 'begins'} here: there is nothing more to scroll {'down' if down else 'up'} to"
        self.top = top
