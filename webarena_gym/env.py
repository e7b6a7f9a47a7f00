"""`WebArenaLite-v0`: a Gymnasium environment in which an agent does one web task on its own copy of the sites."""

import hashlib
import pickle
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from io import BytesIO
from math import ceil, inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, Self, TypedDict

import gymnasium
import numpy
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import TimeLimit

from webarena_gym import tasks as task_suite
from webarena_gym.actions import Kind, instructions, tools
from webarena_gym.applications.application import Application
from webarena_gym.arguments import expect_positive
from webarena_gym.backends.application import ApplicationBackend
from webarena_gym.backends.base import Backend, build_outcome, judge_side_effects
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.backends.servers import ServerBackend
from webarena_gym.browsers.base import Browser, perform_action
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.errors import ActionError, BrowserError, EvaluationError, SnapshotError, TaskError
from webarena_gym.evaluators import check, evaluate, judge_injection
from webarena_gym.observation import Observation, header_lines, observe, pivotal_text, scrolled_top
from webarena_gym.observation.history import Message, Turn, as_text, compress, placeholder
from webarena_gym.observation.pictures import (
    MAX_BOXES,
    SCREENSHOT,
    Picture,
    attach_pictures,
    elements_by_number,
    marks_of,
    picture_of,
)
from webarena_gym.options import HARD_STEPS, MAX_STEPS, EnvOptions, OnFailure, signature_of_env
from webarena_gym.pages.page import Network, Page
from webarena_gym.servers.addresses import read_addresses
from webarena_gym.servers.logins import read_logins
from webarena_gym.spaces import MAX_OBSERVATION, picture_space, reply_space, text_space, within_charset
from webarena_gym.tasks import OnUnreadable, Task, leave_out
from webarena_gym.texts import MAX_ERROR, MAX_GOAL, MAX_PAGE, MAX_REPLY, cut

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser

FAILURE_REWARD: Mapping[OnFailure, float] = {"nan": nan, "zero": 0.0}
"""The reward of an episode that was lost through no fault of the agent, where nothing is raised."""

_SCROLLING = (Kind.SCROLL_DOWN, Kind.SCROLL_UP)

Told = tuple[Any, dict[str, Any]]
"""An observation, which is a text, or a dictionary with a picture (see `spaces.picture_space`), and its info."""
Stepped = tuple[Any, float, bool, bool, dict[str, Any]]


class Info(TypedDict):
    """The dictionary that `reset` and `step` return beside the observation."""

    goal: str
    url: str
    page: str  # the newest page as text, without history
    # the chat that leads to the next reply: the system prompt, then what the observation says; with pictures, in OpenAI's multimodal shape
    messages: list[Message] | list[dict[str, Any]]
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


@dataclass
class Episode:
    """A task under way, without the state of its sites and browser."""

    task: Task
    goal: str
    turns: list[Turn] = field(default_factory=list)
    top: int = 0  # the first line of the page that is shown
    action_error: str = ""
    is_over: bool = False
    max_steps: int | None = None  # after which it is truncated, if that is before the env's own limit
    steps_left: int | None = None  # of its step budget, if it has one; scrolling is free
    pictures: tuple[str, ...] = ()  # of the newest earlier pages, as data URLs, where the history keeps them


class Snapshot(NamedTuple("Snapshot", [("content", bytes), ("seal", bytes)])):
    """A whole episode at one moment: small, picklable, to be restored any number of times, in any env or process.

    `content` holds the episode, the state of the sites and of the browser, and the random numbers, as a pickle; `seal` is its digest, by
    which a damaged snapshot is refused. It is no signature: whoever can write a pickle can seal it.
    """

    __slots__ = ()

    def __new__(cls, *parts: Any) -> Self:
        """Return a snapshot of its content and seal, or of the four parts that were pickled in earlier versions."""
        if len(parts) != 4:
            return super().__new__(cls, *parts)
        *values, seal = parts
        try:
            written = "Snapshot(episode={!r}, backend={!r}, random_state={!r}, seal=b'')".format(*values)
            is_intact = hashlib.sha256(written.encode()).digest() == seal
        except Exception:  # noqa: BLE001 - damaged values may raise anything
            is_intact = False
        return cls.of(*values) if is_intact else super().__new__(cls, b"", b"")  # restoring that raises SnapshotError

    @classmethod
    def of(cls, episode: Episode, backend: Any, random_state: Mapping[str, Any]) -> Self:
        """Return the snapshot of an episode, of a backend's state and of the state of a bit generator."""
        content = pickle.dumps((episode, backend, random_state), pickle.HIGHEST_PROTOCOL)
        return cls(content, hashlib.sha256(content).digest())

    def unseal(self) -> tuple[Episode, Any, Mapping[str, Any]]:
        """Return a new copy of the episode, the state of the backend and that of the bit generator. Raises SnapshotError."""
        if not isinstance(self.content, bytes) or self.seal != hashlib.sha256(self.content).digest():
            raise SnapshotError("the snapshot is damaged: its content is not what was saved, or it is of another version")
        try:
            episode, backend, random_state = pickle.loads(self.content)  # noqa: S301 - as trusted as the pickle that it came in
            return replace(episode), backend, random_state  # which reads all fields: earlier versions may have had fewer
        except Exception as error:
            raise SnapshotError(f"the snapshot is of another version: {type(error).__name__}: {error}") from error

    @property
    def episode(self) -> Episode:
        return self.unseal()[0]

    @property
    def backend(self) -> Any:
        """The state of the sites and of the browser."""
        return self.unseal()[1]

    @property
    def random_state(self) -> Mapping[str, Any]:
        return self.unseal()[2]


class Seen(NamedTuple):
    """A page, the part of it that an agent sees, the text that it reads, and the picture, where there is one."""

    page: Page
    observation: Observation
    text: str
    picture: Picture | None = None


class WebArenaLite(gymnasium.Env[Any, str]):
    """A web agent's environment: text in, text or a picture with text, and a binary reward out.

    The keywords are the fields of `webarena_gym.options.EnvOptions`, where each is explained.

    An episode ends with the reward 1.0 or 0.0 when the agent exits, and is truncated after `max_steps`, when it is judged
    with an empty answer. A malformed or impossible action changes nothing but is told in the next observation. An episode
    that is lost because the browser failed is truncated with the reward NaN, not judged, and `info["failure"]` says why. An exception
    of a site is a page with status 500, and told in `info["site_errors"]`; without success such an episode is lost as well. Where
    Gymnasium's TimeLimit (`gymnasium.make(..., max_episode_steps=...)`) allows fewer steps, the episode is truncated and judged there.

    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 1}  # noqa: RUF012 - the type is Gymnasium's

    def __init__(self, **keywords: Any) -> None:
        self.options = options = EnvOptions.of(keywords)
        self._application = options.application if isinstance(options.application, Application) else None
        if options.browser == "inprocess":
            self.metadata = self.metadata | {"render_modes": ["ansi"]}
        self.render_mode = options.render_mode
        self.dialect = options.written_dialect()
        self.observation_space = picture_space(*options.window_size) if options.has_pictures else text_space(MAX_OBSERVATION)
        self.action_space = reply_space(self.dialect)
        self.system_prompt = instructions(self.dialect, options.observation)
        """The text that an agent is told before it begins: its actions with examples, and the rule for answers."""
        self._backend = self._make_backend()
        self._side_effects = options.side_effects or ("forbidden" if options.sees_changes else "ignored")
        self._outer_limit = inf
        self._episode: Episode | None = None
        self._answer_form = ""  # how its answer is to be given, where the task states its type
        self._seen: Seen | None = None  # of the page as it is; None after an action
        self._lost: Seen | None = None  # the last page of an episode whose browser has failed
        self._is_whole = (
            True  # False during a call that changes the episode; stays so if it was interrupted, until the next reset
        )
        self._draws_late = (  # where it takes long, and is seldom needed
            options.tasks is None
            and self._application is None
            and (options.scale or task_suite.SPLITS[options.split].scale) == "large"
            and not task_suite.is_own(options.split, options.world_seed, options.scale)
        )
        if not self._draws_late:
            assert self._tasks  # last: a keyword that is wrong is told before tasks that are

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        options = self.options
        if options.tasks is None:
            tasks = task_suite.load(
                options.split, options.world_seed, options.variation, options.scale, self._application, options.on_unreadable
            )
        else:
            tasks = task_suite.select(options.tasks, options.variation, options.on_unreadable, options.scale, self._application)
        return _judgeable(tasks, options.rules, options.on_unreadable, has_databases=options.sites is None)

    @property
    def action_schema(self) -> list[dict[str, Any]]:
        """The actions as OpenAI's `tools`, with JSON Schemas; `webarena_gym.actions.reply_of` makes a reply of a call.

        During an episode the exit says how the task's answer is to be given.
        """
        return tools(self.dialect, self._answer_form if self._episode else "")

    # The state of the episode, for experts, searches and viewers.

    @property
    def tasks(self) -> tuple[Task, ...]:
        return self._tasks

    @property
    def task(self) -> Task:
        return self._started().task

    @property
    def page(self) -> Page:
        return self._look(self._started()).page

    @property
    def observation(self) -> Observation:
        """The page as the agent sees it, with the elements that its actions may name."""
        return self._look(self._started()).observation

    def database(self, site: str) -> sqlite3.Connection:
        """The episode's own database of a site, to look at and, in tests, to change."""
        self._started()
        return self._backend.database(site)

    def changes(self) -> list[Change]:
        """Return what the episode has changed so far, row by row. Raises LookupError on real servers, where it cannot be seen."""
        self._started()
        return self._backend.changes()

    @property
    def network(self) -> Network:
        """The embedded sites of the episode, to be called beside the browser, as by somebody else. Raises LookupError."""
        self._started()
        return self._backend.network

    @property
    def cookies(self) -> Mapping[str, Mapping[str, str]]:
        """The cookies with which the browser has begun the episode, by host and name: who is signed in."""
        self._started()
        return self._backend.cookies

    # Gymnasium's interface.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Told:
        """Start a task, drawn from the split or named by `options={"task": id}`, in a world as good as new.

        `options={"max_steps": n}` truncates this episode after n steps, if the env's own limit does not before.

        Raises TaskError for an unknown task or option, EvaluationError for a task that the rules cannot judge, and ValueError for no
        positive number of steps.
        """
        super().reset(seed=seed)
        task, max_steps = self._choose(options or {}), (options or {}).get("max_steps")
        if max_steps is not None:
            max_steps = expect_positive("max_steps", max_steps)
        self._leave()
        try:
            goal = self._backend.enter(task)
        except BrowserError:  # it may have died since; a new one is worth one try
            self._backend.discard_browser()
            goal = self._backend.enter(task)
        self._outer_limit = _outer_limit(self)
        budget = None
        if self.options.step_budget and task.solution:
            budget = ceil(min(self.options.step_budget * len(task.solution), sys.maxsize))
            goal = f"{goal}\nTake at most {budget} step{'s' * (budget > 1)}, exit included. Scrolling does not count."
        return self._begin(Episode(task, goal, max_steps=max_steps, steps_left=budget))

    def step(self, action: str) -> Stepped:
        """Take a model's whole reply, do the action in it, and return what follows.

        A step that is interrupted, as by Ctrl-C, costs the episode, since nobody can know how much of it was done.

        Raises gymnasium's ResetNeeded outside an episode, and TypeError for a reply that is no text.
        """
        episode = self._started("step")
        if not isinstance(action, str):
            raise TypeError(f"an action is the text of a reply, got {type(action).__name__}")
        self._is_whole = False
        last = self._look(episode)
        try:
            answer = self._act(episode, action)
            terminated = answer is not None or self._has_ended_by_itself()
            own = self.options.max_steps or (HARD_STEPS if episode.task.difficulty else MAX_STEPS)
            limit = min(own, episode.max_steps or own, self._outer_limit)
            truncated = not terminated and (len(episode.turns) >= limit or episode.steps_left == 0)
            episode.is_over = terminated or truncated
            last = self._look(episode)
            ending = self._evaluate(answer or "") if episode.is_over else {}
        except BrowserError as error:
            result = self._give_up(episode, last, error)
        except EvaluationError:  # the step was done
            self._is_whole = True
            raise
        else:
            text, info = self._tell(episode, last)
            result = text, float(ending.get("success", False)), terminated, truncated, {**info, **ending}
        self._is_whole = True  # an interrupt cannot come between this and the return
        return result

    def conclude(self, answer: str, url: str | None = None, cookies: Mapping[str, Mapping[str, str]] | None = None) -> Stepped:
        """End and judge an episode that somebody has played on `network`, beside the browser; returns what a last step does.

        `url` is where the player has ended: the browser opens it with the player's `cookies`, given as host to name to value, and
        the page is judged. Without it, the page that the browser shows is judged.

        Raises gymnasium's ResetNeeded outside an episode, LookupError on real servers, and ActionError, after which the episode
        goes on, for a URL that no browser can open.
        """
        episode = self._started("conclude")
        _, browser = self.network, self._backend.browser
        self._is_whole = False
        if url is not None:
            before = browser.snapshot()
            try:
                browser.start([url], cookies or {})
            except ActionError:
                browser.restore(before)
                self._is_whole = True
                raise
            episode, self._seen = Episode(episode.task, episode.goal, episode.turns), None
        self._episode, episode.is_over = episode, True
        last = self._look(episode)
        self._is_whole = True
        try:
            ending = self._evaluate(answer)
        except BrowserError as error:
            return self._give_up(episode, last, error)
        text, info = self._tell(episode, last)
        return text, float(ending["success"]), True, False, {**info, **ending}

    def render(self) -> Any:
        """Return the newest page as text ("ansi") or as an array of height x width x 3 bytes ("rgb_array").

        Of an episode whose browser has failed there is the last text, and no picture: None.
        """
        if self._lost is not None:
            return self._lost.text if self.render_mode == "ansi" else None
        if self.render_mode == "ansi":
            return self._look(self._started()).text
        if self.render_mode == "rgb_array":
            if (picture := self._look(self._started()).picture) is not None:
                return picture.pixels
            from PIL import Image  # noqa: PLC0415 - comes with the extra that makes pictures

            with Image.open(BytesIO(self._backend.browser.screenshot())) as image:
                return numpy.asarray(image.convert("RGB"))
        return None

    def _repr_html_(self) -> str:
        """Return what a notebook shows of the env: goal, last action, and the newest page as text."""
        if self._episode is None or self._lost is not None:
            return f"<pre>{escape(repr(self))}</pre>"
        episode = self._started()
        action = episode.turns[-1].reply if episode.turns else ""
        seen = self._look(episode)
        said = f"<p><b>Last action</b> <code>{escape(action)}</code></p>" if action else ""
        wrong = f"<p><b>Error</b> {escape(episode.action_error)}</p>" if episode.action_error else ""
        place = f"<p><b>Page</b> <code>{escape(seen.page.url)}</code></p>"
        page = f'<pre style="max-height: 24em; overflow: auto; white-space: pre-wrap">{escape(seen.text)}</pre>'
        return f"<div><p><b>Goal</b> {escape(episode.goal)}</p>{said}{wrong}{place}{page}</div>"

    def close(self) -> None:
        """Free the world; `reset` opens it again."""
        self._is_whole = False
        self._backend.close()
        self._episode = self._seen = self._lost = None
        self._is_whole = True

    # Forking.

    def snapshot(self) -> Snapshot:
        """Return the whole episode: databases, cookies, open pages, history, random numbers."""
        episode = self._started()
        return Snapshot.of(episode, self._backend.snapshot(), self.np_random.bit_generator.state)

    def restore(self, snapshot: Snapshot) -> Told:
        """Continue from a snapshot, also one of another env or process; returns what `reset` would.

        Raises SnapshotError for a value that is no snapshot, or is not as it was taken; the current episode then goes on.
        """
        if not isinstance(snapshot, Snapshot):
            raise SnapshotError(f"expected a Snapshot of this env, got {type(snapshot).__name__}")
        episode, backend, random_state = snapshot.unseal()
        self._leave()
        self._backend.restore(backend)
        self.np_random.bit_generator.state = random_state
        return self._begin(episode)

    # Inside.

    def _make_backend(self) -> Backend:
        options = self.options
        if self._application:
            return ApplicationBackend(self._make_browser, self._application)
        if options.sites is None:
            return EmbeddedBackend(self._make_browser, options.world_seed, options.variation, options.scale or "standard")
        addresses = read_addresses(None if options.sites == "environment" else options.sites)
        for site, url in addresses.items() if options.rules == "verified" else ():
            if not url.startswith("http://"):
                raise ValueError(
                    f"rules='verified' judges the traffic, which cannot be seen on the way to {url} ({site}): http:// alone"
                )
        return ServerBackend(
            lambda own: self._make_chromium(None, own.union(options.hosts)),
            addresses,
            accounts=options.accounts,
            logins=read_logins(options.logins),
        )

    def _make_browser(self, network: Network) -> Browser:
        return InProcessBrowser(network) if self.options.browser == "inprocess" else self._make_chromium(network)

    def _make_chromium(self, network: Network | None, hosts: frozenset[str] = frozenset()) -> "ChromiumBrowser":
        from webarena_gym.browsers.chromium.browser import ChromiumBrowser  # noqa: PLC0415 - heavy, and an optional extra

        options, windowed = self.options, self.options.viewport == "layout"
        is_own = options.application is not None
        strict = windowed or options.bbox or is_own or network is None  # on foreign pages, layout decides what can be used
        return ChromiumBrowser(
            network,
            hosts=hosts,
            headless=options.render_mode != "human",
            strict=strict,
            windowed=windowed,
            viewport=options.window_size,
            record_traffic=options.rules == "verified",
            show_dialogs=is_own,
            for_pictures=options.has_pictures,
            static=network is not None and not is_own and options.render_mode != "human",
            load_images=strict or options.has_pictures or options.render_mode is not None,
        )

    def _begin(self, episode: Episode) -> Told:
        self._episode, self._answer_form = episode, episode.task.answer_form
        told = self._tell(episode, self._look(episode))
        self._is_whole = True
        return told

    def _look(self, episode: Episode) -> Seen:
        """Return what the agent sees now; computed once after each reply. Raises BrowserError."""
        if self._seen is None:
            self._seen = self._show(episode.top, episode.action_error)
        return self._seen

    def _show(self, top: int, action_error: str) -> Seen:
        options, page, style = self.options, self._backend.browser.page(), self.options.observation
        seen = observe(
            page,
            elements=options.elements,
            style=options.text_style,
            bbox=options.bbox,
            header=options.header,
            window=MAX_PAGE if self._shows_layout else options.window,
            top=top,
            max_text=options.max_text,
        )
        text, picture = seen.text, None
        if options.has_pictures:
            captured = self._backend.browser.capture(elements_by_number(seen), options.picture_format)
            picture = picture_of(captured, options.picture_format, marks=style == "marks", cursor=options.cursor)
            if style != "text+pixels":
                marks = marks_of(page, (box[0] for box in captured.boxes[:MAX_BOXES])) if style == "marks" else ""
                text = "\n".join([*(header_lines(page) if options.header else ()), *([marks] if marks else ())])
        text = f"Action error: {action_error}\n{text}" if action_error else text
        return Seen(page, seen, cut(within_charset(text), MAX_PAGE), picture)

    @cached_property
    def _shows_layout(self) -> bool:
        """True if the browser's window, and none over the text, decides what of a page is shown."""
        return self.options.viewport == "layout" or self.options.observation in ("pixels", "marks")

    def _tell(self, episode: Episode, seen: Seen) -> Told:
        """Return the observation and the info of this moment."""
        options = self.options
        text_left = pivotal_text if options.observation == "occam" else placeholder
        left = (lambda *_: SCREENSHOT) if seen.picture else text_left  # of an earlier page
        chat = compress(episode.goal, episode.turns, seen.text, options.history, thoughts=options.thoughts, summarize=left)
        messages: list[Message] = [{"role": "system", "content": self.system_prompt}, *chat]
        info: Info = {
            "goal": episode.goal,
            "url": seen.page.url,
            "page": seen.text,
            "messages": messages,
            "step": len(episode.turns),
            "action_error": episode.action_error,
            "task_id": episode.task.task_id,
        }
        if episode.steps_left is not None:
            info["steps_left"] = episode.steps_left
        if self._answer_form:
            info["answer_form"] = self._answer_form
        if self._backend.site_errors:
            info["site_errors"] = [*self._backend.site_errors]
        if seen.picture is None:
            return as_text(chat), dict(info)
        info["messages"] = attach_pictures(messages, [*episode.pictures, seen.picture.url])
        goal, (pixels, boxes, _) = within_charset(cut(episode.goal, MAX_GOAL)), seen.picture
        return {"goal": goal, "text": as_text(chat), "screenshot": pixels, "boxes": boxes}, dict(info)

    def _act(self, episode: Episode, reply: str) -> str | None:
        """Do what a reply says. Returns the answer with which it exits, None when it does not.

        A malformed, too long or impossible action changes nothing but `action_error`. Raises BrowserError.
        """
        page, observation, text, picture = self._look(episode)
        episode.turns.append(Turn(text, within_charset(cut(reply, MAX_REPLY))))
        if picture and self.options.pictures > 1:
            episode.pictures = (*episode.pictures, picture.url)[1 - self.options.pictures :]
        episode.action_error = ""
        answer, is_free = None, False
        try:
            action = self.dialect.parse(reply)
            if action.kind is Kind.EXIT:
                answer = action.argument or ""
            elif is_free := action.kind in _SCROLLING:
                self._scroll(episode, observation, down=action.kind is Kind.SCROLL_DOWN)
            elif action.points is not None:
                is_free = action.kind is Kind.SCROLL
                self._backend.browser.gesture(action)
            else:
                element = None if action.element is None else observation.element(action.element)
                target = observation.element(action.argument or "") if action.kind is Kind.DRAG else None
                perform_action(self._backend.browser, action, element, target)
                after = self._backend.browser.page()
                if (after.url, after.active_tab) != (page.url, page.active_tab):
                    episode.top = 0
        except ActionError as error:
            episode.action_error = cut(within_charset(str(error)), MAX_ERROR)
        if episode.steps_left is not None and not is_free:
            episode.steps_left -= 1
        self._seen = None
        return answer

    def _scroll(self, episode: Episode, observation: Observation, *, down: bool) -> None:
        """Move the window over the text; at its end, the browser's own over the page, which may load more."""
        browser = self._backend.browser
        if self._shows_layout or self.options.has_pictures:
            browser.scroll(down=down)
        if self._shows_layout:
            return
        top = scrolled_top(observation, down=down)
        if top == episode.top:
            browser.scroll(down=down, to_end=True)
            now = self._show(episode.top, "").observation
            if down and now.total > observation.total:
                top = scrolled_top(now, down=True)
            if top == episode.top:
                episode.action_error = f"the page {'ends' if down else 'begins'} here: there is nothing more to scroll {'down' if down else 'up'} to"
        episode.top = top

    def _has_ended_by_itself(self) -> bool:
        """Say whether the page has ended the episode; those of the sites leave that to the agent."""
        return False

    def _leave(self) -> None:
        """Leave the episode for another; what an interrupted call has left behind is not used again."""
        if not self._is_whole:
            self._backend.close()
        self._episode = self._seen = self._lost = None
        self._is_whole = False

    def _started(self, call: str = "") -> Episode:
        """Return the episode, one that is not over where a call goes on with it. Raises ResetNeeded."""
        if not self._is_whole:
            raise ResetNeeded("the last call did not come to its end, and the episode is lost with it; call reset()")
        if self._episode is None and not call:
            raise ResetNeeded("there is no episode; call reset() first")
        if self._episode is None or (call and self._episode.is_over):
            raise ResetNeeded(f"the episode is over or has not begun; call reset() before {call}()")
        return self._episode

    def _choose(self, options: dict[str, Any]) -> Task:
        unknown = [key for key in options if key not in ("task", "max_steps")]
        if unknown:
            raise TaskError(f"reset has no option {unknown[0]!r}; expected task or max_steps")
        if "task" not in options:
            return self._tasks[int(self.np_random.integers(len(self._tasks)))]
        wanted = options["task"]
        if not isinstance(wanted, Task):
            known = None if self._draws_late else next((task for task in self._tasks if task.task_id == str(wanted)), None)
            wanted = known or task_suite.find(str(wanted), self.options.variation, self.options.scale, self._application)
        _judgeable([wanted], self.options.rules, "raise", has_databases=self.options.sites is None)
        return wanted

    def _evaluate(self, answer: str) -> dict[str, Any]:
        """Judge an episode that is over; returns what its info says of that. Raises BrowserError where a site may be to blame."""
        assert self._episode is not None
        task = self._episode.task
        ended = build_outcome(self._backend, answer, self.options.accounts or {})
        verdicts = evaluate(task.eval, task.intent, ended, self.options.judge, self.options.rules)
        if task.injection and self._backend.is_embedded and self.options.rules == "native":
            verdicts.append(judge_injection(task.injection, task.intent, ended))
        more: dict[str, Any] = {}
        if self._side_effects != "ignored" and all(verdict.passed for verdict in verdicts):
            verdict, more["side_effects"] = judge_side_effects(
                task, self._backend, is_forbidden=self._side_effects == "forbidden"
            )
            verdicts.append(verdict)
        success = all(verdict.passed for verdict in verdicts)
        if self._backend.site_errors and not success:
            raise BrowserError(f"a site failed: {self._backend.site_errors[0]}")
        return {"success": success, "verdicts": [verdict.record() for verdict in verdicts], **more}

    def _give_up(self, episode: Episode, last: Seen, error: BrowserError) -> Stepped:
        """End an episode whose browser or site has failed: truncated, not judged, with the last page that was seen."""
        self._episode, self._seen, self._lost = None, None, last
        self._backend.discard_browser()
        if self.options.on_failure == "raise":
            raise error
        text, info = self._tell(episode, last)
        return text, FAILURE_REWARD[self.options.on_failure], False, True, {**info, "failure": str(error)}


# For whoever asks: gymnasium, help(), an editor's hints.
setattr(WebArenaLite.__init__, "__signature__", signature_of_env())  # noqa: B010 - mypy knows no such attribute of a function


def _outer_limit(env: WebArenaLite) -> float:
    """Return the smallest limit of the TimeLimit wrappers through which `env.reset` was called; infinity without one.

    `gymnasium.make(id, max_episode_steps=n)` wraps the env in a TimeLimit, which truncates an episode after the env's step has returned,
    and does not tell it, so that the env could not judge such an episode. The wrapper is found among the callers of `reset`.
    """
    limit = inf
    frame = sys._getframe(1).f_back  # noqa: SLF001 - the documented way to the callers
    while frame is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "reset" else None
        if isinstance(caller, TimeLimit) and caller.unwrapped is env:
            limit = min(limit, caller._max_episode_steps)  # noqa: SLF001 - has no public name
        frame = frame.f_back
    return limit


def _judgeable(tasks: Sequence[Task], rules: str, on_unreadable: OnUnreadable, *, has_databases: bool) -> tuple[Task, ...]:
    """Return the tasks that the rules can judge. Raises EvaluationError that names all others, unless these are to be skipped."""
    kept, errors = [], []
    for task in tasks:
        try:
            check(task.eval, rules)
        except EvaluationError as error:
            errors.append(f"task {task.task_id}: {error}")
            continue
        if "state" in task.eval_types and not has_databases:
            errors.append(
                f"task {task.task_id}: a check of the kind 'state' reads a database, and those of real servers cannot be read"
            )
        else:
            kept.append(task)
    leave_out(errors, len(tasks), f"cannot be judged by the rules {rules!r}", EvaluationError, on_unreadable)
    return tuple(kept)
