"""`WebArenaLite-v0`: one task on one world of one's own, as a Gymnasium environment."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cache
from io import BytesIO
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NotRequired, TypedDict, get_args

import gymnasium
import numpy
from gymnasium.spaces import Text

from webarena_gym import tasks as task_suite
from webarena_gym.acting import act
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.browsers import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError, BrowserError, EvaluationError, SnapshotError, TaskError
from webarena_gym.evaluators import RULES, Judge, Outcome, Verdict, View, check, evaluate, no_scripts
from webarena_gym.history import History, Message, Turn, as_text, compress
from webarena_gym.network import Network
from webarena_gym.observation import Elements, Observation, Style, observe, scrolled
from webarena_gym.page import Page
from webarena_gym.servers.accounts import Account
from webarena_gym.servers.addresses import read_addresses
from webarena_gym.servers.venue import ServerVenue
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.venues import EmbeddedVenue, Venue

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium import ChromiumBrowser

MAX_OBSERVATION = 1_000_000  # characters
MAX_REPLY = 100_000  # characters
_PICTURES = ("rgb_array", "human")
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

_RANGES = ((" ", "~"), ("\xa0", "\ud7ff"), ("\ue000", "\ufffd"), ("\U0001f000", "\U0001faff"))
CHARSET = frozenset(chr(code) for first, last in _RANGES for code in range(ord(first), ord(last) + 1)) | {"\n", "\t", "\r"}
"""What observations and actions are made of; any other character of a page is shown as U+FFFD."""

_OUTSIDE_CHARSET = re.compile(f"[^{''.join(f'{first}-{last}' for first, last in _RANGES)}\n\t\r]")


class Info(TypedDict):
    """What `reset` and `step` return beside the observation."""

    goal: str
    url: str
    page: str  # the newest page as text, without history
    messages: list[Message]  # the chat that leads to the next reply, with history compressed
    step: int  # steps taken in this episode
    action_error: str  # why the last action did nothing; empty when it was fine
    task_id: str
    success: NotRequired[bool]  # at the end of an episode
    verdicts: NotRequired[list[dict[str, Any]]]  # at the end: check, passed, reason
    failure: NotRequired[str]  # what broke down, when the episode was lost through no fault of the agent


class Snapshot(NamedTuple):
    """A whole episode at one moment: small, picklable, to be restored any number of times, in any env or process."""

    task: Task
    goal: str
    venue: Any  # the state of the sites and of the browser
    turns: tuple[Turn, ...]
    top: int
    action_error: str
    done: bool
    random_state: Mapping[str, Any]


class WebArenaLite(gymnasium.Env[str, str]):
    """A web agent's environment: text in, text and a binary reward out.

    Args:
        split: "train" or "test": the part of the shipped suite that `reset` draws from.
        tasks: instead of a split, a list of task ids, or the path of a task file in WebArena's own schema.
        browser: "inprocess" (no scripts, no layout, a millisecond a step) or "chromium" (Playwright; needs the extra of that name).
        sites: None for the embedded sites, or real servers: a mapping of site to URL, or "environment" for WebArena's variables.
        world_seed: draw the split's templates in this world instead of the suite's own.
        variation: "content" or "layout": whether worlds differ in what is on the sites, or also in how the sites are built.
            A task that is given as such, and not by its id, is taken as it is, with a solution for the layout it was drawn in.
        history: "compressed" (earlier pages become a placeholder), "none" (the newest page alone) or "full".
        observation: "html" (simplified) or "axtree" (WebArena's accessibility tree).
        dialect: how actions are written: "webrl", "webarena" or "browsergym".
        elements: "id" (numbered in the page) or "label" (actions name the visible label).
        max_steps: steps after which an episode is truncated.
        render_mode: None, "ansi" (the newest page as text), and with Chromium "rgb_array" (a picture) or "human" (a window).
        thoughts: whether past replies stay whole in the history, thoughts included.
        header: whether the URL and the tabs stand above the page.
        viewport: "window" shows a page in windows of text; "layout" shows what a window of 1280 x 720 pixels does (Chromium).
        window: characters of a page that are shown at once in the viewport "window"; Scroll moves on by two thirds of it.
        bbox: whether elements carry their `data-bbox`, as agents that were trained with it expect (Chromium).
        judge: decides fuzzy matches, (intent, reference, answer) -> bool; by default they are compared by type.
        rules: how `eval` blocks are read: "native", or as the evaluators of "webarena", "vab" (VisualAgentBench) or "r1"
            (WebAgent-R1) do; or "verified" for the task file of the package webarena-verified, on real servers.
        accounts: with whom to sign in on real servers, by site; WebArena's published accounts where none is given.
        hosts: what the browser may reach beside `sites`, as "name:port", such as the server of a map's tiles.

    An episode ends with the reward 1.0 or 0.0 when the agent exits, and is truncated after `max_steps`, when it is judged
    with an empty answer. A malformed or impossible action changes nothing but is told in the next observation. An episode
    that is lost because the browser failed is truncated with the reward NaN, not judged, and `info["failure"]` says why.

    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 1}  # noqa: RUF012 - the type is Gymnasium's

    def __init__(
        self,
        *,
        split: str = "train",
        tasks: str | Path | Sequence[str | Task] | None = None,
        browser: Literal["inprocess", "chromium"] = "inprocess",
        sites: Mapping[str, str] | Literal["environment"] | None = None,
        world_seed: int | None = None,
        variation: Variation = "content",
        history: History = "compressed",
        observation: Style = "html",
        dialect: str = "webrl",
        elements: Elements = "id",
        max_steps: int = 15,
        render_mode: str | None = None,
        thoughts: bool = True,
        header: bool = True,
        viewport: Literal["window", "layout"] = "window",
        window: int = 12_000,
        bbox: bool = False,
        judge: Judge | None = None,
        rules: str = "native",
        accounts: Mapping[str, Account] | None = None,
        hosts: Iterable[str] = (),
    ) -> None:
        _expect("rules", rules, tuple(RULES))
        _expect("viewport", viewport, ("window", "layout"))
        _expect("variation", variation, get_args(Variation))
        _expect("history", history, get_args(History))
        _expect("observation", observation, get_args(Style))
        _expect("elements", elements, get_args(Elements))
        _expect("dialect", dialect, tuple(DIALECTS))
        _expect("browser", browser, ("inprocess", "chromium"))
        if rules == "verified" and sites is None:
            raise ValueError("rules='verified' judges the traffic with real servers: give sites=")
        _expect_positive("max_steps", max_steps)
        _expect_positive("window", window)
        _expect("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        if browser == "inprocess":
            self.metadata = self.metadata | {"render_modes": ["ansi"]}
            _need_chromium(
                {"sites": sites, "viewport": viewport == "layout", "bbox": bbox, "render_mode": render_mode in _PICTURES}
            )
        self._tasks = task_suite.load(split, world_seed, variation) if tasks is None else task_suite.select(tasks, variation)
        for task in self._tasks:
            check(task.eval, rules)
        self._variation: Variation = variation
        self._world_seed = world_seed
        self._history: History = history
        self._style: Style = observation
        self._elements: Elements = elements
        self.dialect = DIALECTS[dialect]
        self._max_steps = max_steps
        self.render_mode = render_mode
        self._thoughts = thoughts
        self._header = header
        self._window = window
        self._viewport = viewport
        self._bbox = bbox
        self._judge = judge
        self._rules = rules
        self._accounts = dict(accounts or {})
        self.observation_space = copy(_text_space(MAX_OBSERVATION))
        self.action_space = copy(_text_space(MAX_REPLY))
        self._browser_kind = browser
        self._venue: Venue
        if sites is None:
            self._venue = EmbeddedVenue(self._make_browser, world_seed, variation)
        else:
            addresses = read_addresses(None if sites == "environment" else sites)
            reachable = frozenset(hosts)
            if rules == "verified":
                _expect_plain(addresses)
            self._venue = ServerVenue(
                lambda own: self._make_chromium(None, own | reachable), addresses, accounts=self._accounts
            )
        self._task: Task | None = None
        self._goal = ""
        self._turns: list[Turn] = []
        self._top = 0
        self._action_error = ""
        self._seen: tuple[Page, Observation, str] | None = None
        self._done = True

    # The state of the episode, for experts, searches and viewers.

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that `reset` draws from."""
        return self._tasks

    @property
    def task(self) -> Task:
        """The task of the current episode."""
        return self._started()[0]

    @property
    def page(self) -> Page:
        """The page that the browser shows."""
        return self._look()[0]

    @property
    def observation(self) -> Observation:
        """What the agent sees of the page, with the elements that its actions may name."""
        return self._look()[1]

    def database(self, site: str) -> sqlite3.Connection:
        """The episode's own database of a site, to look at and, in tests, to change."""
        self._started()
        return self._venue.database(site)

    # Gymnasium's interface.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start a task, drawn from the split or named by `options={"task": id}`, in a world as good as new.

        Raises TaskError for an unknown task or option.
        """
        super().reset(seed=seed)
        task = self._choose(options or {})
        self._task = None
        try:
            self._goal = self._venue.enter(task)
        except BrowserError:  # it may have died since; a new one is worth one try
            self._venue.abandon()
            self._goal = self._venue.enter(task)
        self._task = task
        self._turns = []
        self._top = 0
        self._action_error = ""
        self._done = False
        self._seen = None
        info = self._info()
        return as_text(info["messages"]), dict(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a model's whole reply, do the action in it, and return what follows.

        Raises gymnasium's ResetNeeded outside an episode, and TypeError for a reply that is no text.
        """
        if self._done:
            raise gymnasium.error.ResetNeeded("the episode is over or has not begun; call reset() before step()")
        if not isinstance(action, str):
            raise TypeError(f"an action is the text of a reply, got {type(action).__name__}")
        before = self._look()
        self._action_error = ""
        self._turns.append(Turn(before[2], _within_charset(action)))
        try:
            return self._take(action)
        except BrowserError as error:
            return self._give_up(before, str(error))

    def _take(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do the action in a reply and look at what came of it. Raises BrowserError."""
        exited: str | None = None
        try:
            parsed = self.dialect.parse(action)
            if parsed.kind is Kind.EXIT:
                exited = parsed.argument or ""
            else:
                self._act(parsed)
        except ActionError as error:
            self._action_error = str(error)
        self._seen = None
        terminated = exited is not None or self._is_over()
        truncated = not terminated and len(self._turns) >= self._max_steps
        self._done = terminated or truncated
        info = self._info()
        reward = 0.0
        if self._done:
            verdicts = self._evaluate(exited or "")
            info["success"] = all(verdict.passed for verdict in verdicts)
            info["verdicts"] = [verdict._asdict() for verdict in verdicts]
            reward = float(info["success"])
        return as_text(info["messages"]), reward, terminated, truncated, dict(info)

    def _give_up(self, last: tuple[Page, Observation, str], failure: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """End an episode whose browser has failed: truncated, not judged, with the last page that was seen."""
        self._done = True
        self._seen = last
        info = self._info()
        info["failure"] = failure
        self._task = None
        self._venue.abandon()
        return as_text(info["messages"]), nan, False, True, dict(info)

    def render(self) -> Any:
        """Return the newest page as text ("ansi") or as an array of height x width x 3 bytes ("rgb_array")."""
        if self.render_mode == "ansi":
            return self._look()[2]
        if self.render_mode == "rgb_array":
            return _pixels(self._started()[1].screenshot())
        return None

    def close(self) -> None:
        """Free the world; `reset` opens it again."""
        self._venue.close()
        self._task, self._seen = None, None
        self._done = True

    # Forking.

    def snapshot(self) -> Snapshot:
        """Return the whole episode: databases, cookies, open pages, history, random numbers."""
        task, _ = self._started()
        return Snapshot(
            task,
            self._goal,
            self._venue.snapshot(),
            tuple(self._turns),
            self._top,
            self._action_error,
            self._done,
            self.np_random.bit_generator.state,
        )

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """Continue from a snapshot, also one of another env or process; returns what `reset` would.

        Raises SnapshotError for a value that is no snapshot.
        """
        if not isinstance(snapshot, Snapshot):
            raise SnapshotError(f"expected a Snapshot of this env, got {type(snapshot).__name__}")
        self._venue.restore(snapshot.venue)
        self._task = snapshot.task
        self._goal = snapshot.goal
        self._turns = list(snapshot.turns)
        self._top = snapshot.top
        self._action_error = snapshot.action_error
        self._done = snapshot.done
        self.np_random.bit_generator.state = snapshot.random_state
        self._seen = None
        info = self._info()
        return as_text(info["messages"]), dict(info)

    # Inside.

    def _choose(self, options: dict[str, Any]) -> Task:
        unknown = [key for key in options if key != "task"]
        if unknown:
            raise TaskError(f"reset has no option {unknown[0]!r}; expected task")
        if "task" not in options:
            return self._tasks[int(self.np_random.integers(len(self._tasks)))]
        wanted = options["task"]
        if isinstance(wanted, Task):
            return wanted
        known = next((task for task in self._tasks if task.task_id == str(wanted)), None)
        return known or task_suite.find(str(wanted), self._variation)

    def _is_over(self) -> bool:
        """Say whether the pages have ended the episode by themselves; the tasks of this env leave that to the agent."""
        return False

    def _make_browser(self, network: Network) -> Browser:
        if self._browser_kind == "inprocess":
            return InProcessBrowser(network)
        return self._make_chromium(network)

    def _make_chromium(self, network: Network | None, hosts: frozenset[str] = frozenset()) -> "ChromiumBrowser":
        """Make a browser on the sites of an episode or on real ones, where layout decides what can be used."""
        from webarena_gym.browsers.chromium import ChromiumBrowser  # noqa: PLC0415 - heavy, and an optional extra

        windowed = self._viewport == "layout"
        return ChromiumBrowser(
            network, hosts=hosts, headless=self.render_mode != "human", strict=network is None or windowed or self._bbox,
            windowed=windowed, records=self._rules == "verified",
        )  # fmt: skip

    def _started(self) -> tuple[Task, Browser]:
        if self._task is None:
            raise gymnasium.error.ResetNeeded("there is no episode; call reset() first")
        return self._task, self._venue.browser

    def _act(self, action: Action) -> None:
        _, browser = self._started()
        if action.kind in (Kind.SCROLL_DOWN, Kind.SCROLL_UP):
            if self._viewport == "layout":
                browser.scroll(down=action.kind is Kind.SCROLL_DOWN)
            else:
                self._top = scrolled(self.observation, down=action.kind is Kind.SCROLL_DOWN)
            return
        before = self.page
        act(browser, action, None if action.element is None else self.observation.element(action.element))
        after = browser.page()
        if (after.url, after.active_tab) != (before.url, before.active_tab):
            self._top = 0

    def _look(self) -> tuple[Page, Observation, str]:
        """Return the page, the observation and its text; computed once after each step."""
        if self._seen is None:
            page = self._started()[1].page()
            seen = observe(
                page,
                elements=self._elements,
                style=self._style,
                bbox=self._bbox,
                header=self._header,
                window=MAX_OBSERVATION if self._viewport == "layout" else self._window,
                top=self._top,
            )
            text = f"Action error: {self._action_error}\n{seen.text}" if self._action_error else seen.text
            self._seen = page, seen, _within_charset(text)
        return self._seen

    def _info(self) -> Info:
        task, _ = self._started()
        page, _, text = self._look()
        return {
            "goal": self._goal,
            "url": page.url,
            "page": text,
            "messages": compress(self._goal, self._turns, text, self._history, thoughts=self._thoughts),
            "step": len(self._turns),
            "action_error": self._action_error,
            "task_id": task.task_id,
        }

    def _evaluate(self, answer: str) -> list[Verdict]:
        task, browser = self._started()

        def view() -> View:
            run = no_scripts if isinstance(browser, InProcessBrowser) else browser.run_script
            return View(browser.page(), run, not browser.has_failed)

        final = view()

        @contextmanager
        def open_page(url: str) -> Iterator[View]:
            try:
                browser.new_tab(url)
            except ActionError as error:
                raise EvaluationError(f"a check looks at {url!r}, which no browser can open") from error
            try:
                yield view()
            finally:
                browser.close_tab()
                browser.switch_tab(final.page.active_tab)

        outcome = Outcome(answer, final, open_page, self.database, self._venue.urls, self._accounts, browser.traffic)
        return evaluate(task.eval, task.intent, outcome, self._judge, self._rules)


@cache
def _text_space(max_length: int) -> Text:
    """A space over CHARSET, whose tables take a tenth of a second to make; a copy shares them, not its random numbers."""
    return Text(max_length, min_length=0, charset=CHARSET)


def _expect(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, allowed))}")


def _need_chromium(wanted: Mapping[str, Any]) -> None:
    for name, value in wanted.items():
        if value:
            raise ValueError(f"{name} needs a browser with scripts and layout: browser='chromium'")


def _expect_plain(addresses: Mapping[str, str]) -> None:
    for site, url in addresses.items():
        if not url.startswith("http://"):
            raise ValueError(
                f"rules='verified' judges the traffic, which cannot be seen on the way to {url} ({site}): http:// alone"
            )


def _expect_positive(name: str, value: int) -> None:
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected a positive integer")


def _pixels(png: bytes) -> numpy.ndarray[Any, Any]:
    from PIL import Image  # noqa: PLC0415 - comes with the extra that makes pictures

    with Image.open(BytesIO(png)) as image:
        return numpy.asarray(image.convert("RGB"))


def _within_charset(text: str) -> str:
    return _OUTSIDE_CHARSET.sub(_UNKNOWN, text)
