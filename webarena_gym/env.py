"""`WebArenaLite-v0`: one task on one world of one's own, as a Gymnasium environment."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, get_args

import gymnasium
from gymnasium.spaces import Text

from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.browsers import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError, SnapshotError, TaskError
from webarena_gym.evaluators import Judge, Outcome, Verdict, evaluate, resolve
from webarena_gym.history import History, Message, Turn, as_text, compress
from webarena_gym.observation import Elements, Observation, Style, observe, scrolled
from webarena_gym.page import Page
from webarena_gym.sites.kit import Database
from webarena_gym.sites.kit import Snapshot as DatabaseSnapshot
from webarena_gym.sites.world import URLS, Databases, World, connect, load_world
from webarena_gym.tasks import Task

MAX_OBSERVATION = 1_000_000  # characters
MAX_REPLY = 100_000  # characters
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

CHARSET = frozenset(
    chr(code)
    for first, last in ((0x20, 0x7E), (0xA0, 0xD7FF), (0xE000, 0xFFFD), (0x1F000, 0x1FAFF))
    for code in range(first, last + 1)
) | {"\n", "\t", "\r"}
"""What observations and actions are made of; any other character of a page is shown as U+FFFD."""


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


class Snapshot(NamedTuple):
    """A whole episode at one moment: small, picklable, to be restored any number of times, in any env or process."""

    task: Task
    world_seed: int
    databases: dict[str, DatabaseSnapshot]
    browser: Any
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
        browser: "inprocess"; "chromium" is not there yet.
        sites: real servers by URL are not there yet; None means the embedded sites.
        world_seed: draw the split's templates in this world instead of the suite's own.
        history: "compressed" (earlier pages become a placeholder), "none" (the newest page alone) or "full".
        observation: "html" (simplified) or "axtree" (WebArena's accessibility tree).
        dialect: how actions are written: "webrl", "webarena" or "browsergym".
        elements: "id" (numbered in the page) or "label" (actions name the visible label).
        max_steps: steps after which an episode is truncated.
        render_mode: None or "ansi" (the newest page as text).
        thoughts: whether past replies stay whole in the history, thoughts included.
        header: whether the URL and the tabs stand above the page.
        window: characters of a page that are shown at once; Scroll moves the window.
        judge: decides fuzzy matches, (intent, reference, answer) -> bool; by default they are compared by type.

    An episode ends with the reward 1.0 or 0.0 when the agent exits, and is truncated after `max_steps`, when it is judged
    with an empty answer. A malformed or impossible action changes nothing but is told in the next observation.

    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - the type is Gymnasium's

    def __init__(
        self,
        *,
        split: str = "train",
        tasks: str | Path | Sequence[str | Task] | None = None,
        browser: Literal["inprocess", "chromium"] = "inprocess",
        sites: Mapping[str, str] | None = None,
        world_seed: int | None = None,
        history: History = "compressed",
        observation: Style = "html",
        dialect: str = "webrl",
        elements: Elements = "id",
        max_steps: int = 15,
        render_mode: str | None = None,
        thoughts: bool = True,
        header: bool = True,
        window: int = 12_000,
        judge: Judge | None = None,
    ) -> None:
        _expect("history", history, get_args(History))
        _expect("observation", observation, get_args(Style))
        _expect("elements", elements, get_args(Elements))
        _expect("dialect", dialect, tuple(DIALECTS))
        _expect("browser", browser, ("inprocess", "chromium"))
        _expect_positive("max_steps", max_steps)
        _expect_positive("window", window)
        if browser == "chromium" or render_mode in ("rgb_array", "human"):
            raise NotImplementedError("Chromium is not supported yet; use browser='inprocess' and render_mode None or 'ansi'")
        if sites is not None:
            raise NotImplementedError("real servers are not supported yet; leave sites=None for the embedded sites")
        _expect("render_mode", render_mode, (None, "ansi"))
        self._tasks = task_suite.select(tasks) if tasks is not None else task_suite.load(split, world_seed)
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
        self._judge = judge
        self.observation_space = copy(_text_space(MAX_OBSERVATION))
        self.action_space = copy(_text_space(MAX_REPLY))
        self._world: World | None = None
        self._databases: Databases | None = None
        self._browser: Browser | None = None
        self._task: Task | None = None
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

    def database(self, site: str) -> Database:
        """The episode's own database of a site, to look at and, in tests, to change."""
        self._started()
        assert self._databases is not None
        return self._databases[site]

    # Gymnasium's interface.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start a task, drawn from the split or named by `options={"task": id}`, in a world as good as new.

        Raises TaskError for an unknown task or option.
        """
        super().reset(seed=seed)
        task = self._choose(options or {})
        self._enter_world(self._world_seed if task.world_seed is None else task.world_seed)
        assert self._world is not None
        assert self._browser is not None
        self._task = task
        self._turns = []
        self._top = 0
        self._action_error = ""
        self._done = False
        self._browser.start(
            [resolve(url.strip(), URLS) for url in task.start_url.split("|AND|")],
            self._world.cookies(task.sites) if task.require_login else {},
        )
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
        before = self._look()[2]
        self._action_error = ""
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
        self._turns.append(Turn(before, _within_charset(action)))
        terminated = exited is not None
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

    def render(self) -> str | None:
        """Return the newest page as text in the mode "ansi"."""
        return self._look()[2] if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Free the world; `reset` opens it again."""
        self._leave_world()
        self._done = True

    # Forking.

    def snapshot(self) -> Snapshot:
        """Return the whole episode: databases, cookies, open pages, history, random numbers."""
        task, browser = self._started()
        assert self._world is not None
        assert self._databases is not None
        return Snapshot(
            task,
            self._world.seed,
            self._databases.snapshot(),
            browser.snapshot(),
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
        self._enter_world(snapshot.world_seed)
        assert self._browser is not None
        assert self._databases is not None
        self._databases.restore(snapshot.databases)
        self._browser.restore(snapshot.browser)
        self._task = snapshot.task
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
        return known or task_suite.find(str(wanted))

    def _enter_world(self, seed: int | None) -> None:
        """Bring the world of a seed to its first state, in memory."""
        if seed is None:
            raise TaskError("the task names no world; give world_seed=, or sites= for tasks of real servers")
        if self._world is not None and self._world.seed == seed and self._databases is not None:
            self._databases.reset()
            return
        self._leave_world()
        self._world = load_world(seed)
        self._databases = self._world.open()
        self._browser = InProcessBrowser(connect(self._databases))

    def _leave_world(self) -> None:
        if self._browser is not None:
            self._browser.close()
        if self._databases is not None:
            self._databases.close()
        self._world, self._browser, self._task, self._seen, self._databases = None, None, None, None, None

    def _started(self) -> tuple[Task, Browser]:
        if self._task is None or self._browser is None:
            raise gymnasium.error.ResetNeeded("there is no episode; call reset() first")
        return self._task, self._browser

    def _act(self, action: Action) -> None:
        _, browser = self._started()
        if action.kind in (Kind.SCROLL_DOWN, Kind.SCROLL_UP):
            self._top = scrolled(self.observation, down=action.kind is Kind.SCROLL_DOWN)
            return
        if action.kind is Kind.WAIT:
            return
        before = self.page
        self._use(browser, action)
        after = browser.page()
        if (after.url, after.active_tab) != (before.url, before.active_tab):
            self._top = 0

    def _use(self, browser: Browser, action: Action) -> None:
        """Do one action in the browser. Raises ActionError."""
        argument = action.argument or ""
        element = self.observation.element(action.element) if action.element is not None else None
        match action.kind:
            case Kind.CLICK:
                browser.click(element)
            case Kind.RIGHT_CLICK:
                browser.right_click(element)
            case Kind.HOVER:
                browser.hover(element)
            case Kind.TYPE | Kind.SEARCH:
                browser.type(element, argument, enter=action.kind is Kind.SEARCH)
            case Kind.SELECT:
                browser.select(element, argument)
            case Kind.PRESS:
                browser.press(argument, element)
            case Kind.GOTO:
                browser.goto(argument)
            case Kind.NEW_TAB:
                browser.new_tab()
            case Kind.CLOSE_TAB:
                browser.close_tab()
            case Kind.SWITCH_TAB:
                browser.switch_tab(_tab_index(argument, len(self.page.tabs)))
            case Kind.GO_BACKWARD:
                browser.go_back()
            case Kind.GO_FORWARD:
                browser.go_forward()

    def _look(self) -> tuple[Page, Observation, str]:
        """Return the page, the observation and its text; computed once after each step."""
        if self._seen is None:
            page = self._started()[1].page()
            seen = observe(
                page, elements=self._elements, style=self._style, header=self._header, window=self._window, top=self._top
            )
            text = f"Action error: {self._action_error}\n{seen.text}" if self._action_error else seen.text
            self._seen = page, seen, _within_charset(text)
        return self._seen

    def _info(self) -> Info:
        task, _ = self._started()
        page, _, text = self._look()
        return {
            "goal": task.intent,
            "url": page.url,
            "page": text,
            "messages": compress(task.intent, self._turns, text, self._history, thoughts=self._thoughts),
            "step": len(self._turns),
            "action_error": self._action_error,
            "task_id": task.task_id,
        }

    def _evaluate(self, answer: str) -> list[Verdict]:
        task, browser = self._started()

        final = browser.page()

        def open_page(url: str) -> Page:
            browser.new_tab(url)
            page = browser.page()
            browser.close_tab()
            browser.switch_tab(final.active_tab)
            return page

        outcome = Outcome(answer, final, open_page, lambda site: self.database(site).connection, URLS)
        return evaluate(task.eval, task.intent, outcome, self._judge)


@cache
def _text_space(max_length: int) -> Text:
    """A space over CHARSET, whose tables take a tenth of a second to make; a copy shares them, not its random numbers."""
    return Text(max_length, min_length=0, charset=CHARSET)


def _expect(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, allowed))}")


def _expect_positive(name: str, value: int) -> None:
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected a positive integer")


def _tab_index(text: str, count: int) -> int:
    if not text.strip().isdigit() or int(text) >= count:
        raise ActionError(f"there is no tab {text!r}; the tabs are 0 to {count - 1}")
    return int(text)


def _within_charset(text: str) -> str:
    return text if CHARSET.issuperset(text) else "".join(char if char in CHARSET else _UNKNOWN for char in text)
