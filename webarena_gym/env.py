"""`WebArenaLite-v0`: a Gymnasium environment in which an agent does one web task on its own copy of the sites."""

import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from html import escape
from inspect import signature
from io import BytesIO
from math import ceil, inf, nan
from pathlib import Path
from typing import Any, Literal, get_args

import gymnasium
import numpy

from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS, tools
from webarena_gym.arguments import (
    expect_above,
    expect_display,
    expect_no_layout,
    expect_one_of,
    expect_plain,
    expect_positive,
    suggestion,
)
from webarena_gym.browsers.maker import BrowserKind, BrowserMaker
from webarena_gym.changes import Change
from webarena_gym.episode.episode import Episode
from webarena_gym.episode.episode import Info as Info
from webarena_gym.episode.episode import Snapshot as Snapshot
from webarena_gym.episode.history import History
from webarena_gym.episode.presentation import Presentation, Seen, Viewport
from webarena_gym.episode.reference import SideEffects, judge
from webarena_gym.episode.spaces import CHARSET as CHARSET
from webarena_gym.episode.spaces import MAX_OBSERVATION, reply_space, text_space
from webarena_gym.episode.time_limits import outer_limit
from webarena_gym.errors import ActionError, BrowserError, EvaluationError, RenderModeError, SnapshotError, TaskError
from webarena_gym.evaluators import RULES, Judge, check, evaluate
from webarena_gym.evaluators.injections import judge_injection
from webarena_gym.observation import Elements, Observation, Style
from webarena_gym.pages.network import Network
from webarena_gym.pages.page import Page
from webarena_gym.recording import notebook_view
from webarena_gym.servers.accounts import Account
from webarena_gym.servers.addresses import read_addresses
from webarena_gym.servers.logins import Login, read_logins
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import OnUnreadable, Task, leave_out
from webarena_gym.venues.embedded import EmbeddedVenue
from webarena_gym.venues.servers import ServerVenue
from webarena_gym.venues.venue import Venue, outcome

MAX_STEPS = 15
"""Of an episode where nothing else is said, as in the paper's training."""

HARD_STEPS = 60
"""Of an episode of a hard task where nothing else is said."""

OnFailure = Literal["nan", "zero", "raise"]
FAILURE_REWARD: Mapping[OnFailure, float] = {"nan": nan, "zero": 0.0}
"""The reward of an episode that was lost through no fault of the agent, where nothing is raised."""


class WebArenaLite(gymnasium.Env[str, str]):
    """A web agent's environment: text in, text and a binary reward out.

    Args:
        split: "train", "validation" or "test": the part of the shipped suite that `reset` draws from; "pool": tasks of other
            templates, to train on; or "hard": tasks for strong agents.
        tasks: instead of a split, a list of task ids, or the path of a task file in WebArena's own schema.
        browser: "inprocess" (no scripts, no layout, a millisecond a step) or "chromium" (Playwright; needs the extra of that name).
        sites: None for the embedded sites, or real servers: a mapping of site to URL, or "environment" for WebArena's variables.
        world_seed: draw the split's templates in this world instead of the suite's own; with `tasks`, the world of those that
            name none.
        variation: "content" or "layout": whether worlds differ in what is on the sites, or also in how the sites are built.
            A task that is given as such, and not by its id, is taken as it is, with a solution for the layout it was drawn in.
        scale: "standard", or "large": worlds with some ten times as much of everything, and ranked search. By default it is that
            of the split or template, "large" of hard ones and else "standard". In worlds of the other scale, a split's templates
            are drawn in that of `world_seed`, or of the split's first seed. A task that is given as such keeps its own world.
        history: "compressed" (earlier pages become a placeholder), "none" (the newest page alone) or "full".
        observation: "html" (simplified), "axtree" (WebArena's accessibility tree) or "occam" (AgentOccam's outline of it, and of earlier
            pages the elements that the agent highlighted).
        dialect: how actions are written: "webrl", "webarena" or "browsergym".
        elements: "id" (numbered in the page) or "label" (actions name the visible label).
        max_steps: steps after which an episode is truncated; by default 15, and 60 for hard tasks.
        step_budget: how many steps an episode may take beside that, in times those of its reference solution, rounded up; None for no
            such limit. The goal says how many they are. Scrolling is free. Tasks without a solution have no budget.
        render_mode: None, "ansi" (the newest page as text), and with Chromium "rgb_array" (a picture) or "human" (a window).
        thoughts: whether past replies stay whole in the history, thoughts included.
        header: whether the URL and the tabs stand above the page.
        viewport: "window" shows a page in windows of text; "layout" shows what a window of 1280 x 720 pixels does (Chromium).
        window: characters of a page that are shown at once in the viewport "window"; Scroll moves on by two thirds of it.
        bbox: whether elements carry their `data-bbox`, as agents that were trained with it expect (Chromium).
        judge: decides fuzzy matches, (intent, reference, answer) -> bool; by default they are compared by type.
        rules: how `eval` blocks are read: "native", or as the evaluators of "webarena", "vab" (VisualAgentBench) or "r1"
            (WebAgent-R1) do; or "verified" for the task file of the package webarena-verified, on real servers.
        on_failure: what a step does when the browser itself fails, or an episode ends without success in which a site has raised: "nan"
            (truncate with the reward NaN), "zero" (with the reward 0.0, for wrappers that add rewards up) or "raise" (BrowserError).
            `info["failure"]` says why in the first two cases.
        accounts: with whom to sign in on real servers, by site; WebArena's published accounts where none is given.
        logins: how one signs in to real servers that are not WebArena's own applications, by site (see `servers.logins.Login`).
        on_unreadable: what is done about tasks that cannot be read from a file, or not be judged by the rules: "raise" (an error that
            names them all) or "skip" (a warning for each, and the others are taken).
        hosts: what the browser may reach beside `sites`, as "name:port", such as the server of a map's tiles.
        side_effects: what becomes of changes beyond the task: "forbidden" (they fail it), "reported" (in the verdicts and in
            `info["side_effects"]`) or "ignored". By default they are forbidden on the embedded sites under the native rules,
            and ignored elsewhere, where nobody can see them.

    An episode ends with the reward 1.0 or 0.0 when the agent exits, and is truncated after `max_steps`, when it is judged
    with an empty answer. A malformed or impossible action changes nothing but is told in the next observation. An episode
    that is lost because the browser failed is truncated with the reward NaN, not judged, and `info["failure"]` says why. An exception
    of a site is a page with status 500, and told in `info["site_errors"]`; without success such an episode is lost as well. Where
    Gymnasium's TimeLimit (`gymnasium.make(..., max_episode_steps=...)`) allows fewer steps, the episode is truncated and judged there.

    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 1}  # noqa: RUF012 - the type is Gymnasium's

    def __init__(
        self,
        *,
        split: str = "train",
        tasks: str | Path | Sequence[str | Task] | None = None,
        browser: BrowserKind = "inprocess",
        sites: Mapping[str, str] | Literal["environment"] | None = None,
        world_seed: int | None = None,
        variation: Variation = "content",
        scale: Scale | None = None,
        history: History = "compressed",
        observation: Style = "html",
        dialect: str = "webrl",
        elements: Elements = "id",
        max_steps: int | None = None,
        step_budget: float | None = None,
        render_mode: str | None = None,
        thoughts: bool = True,
        header: bool = True,
        viewport: Viewport = "window",
        window: int = 12_000,
        bbox: bool = False,
        judge: Judge | None = None,
        rules: str = "native",
        on_failure: OnFailure = "nan",
        on_unreadable: OnUnreadable = "raise",
        accounts: Mapping[str, Account] | None = None,
        logins: Mapping[str, Login] | None = None,
        hosts: Iterable[str] = (),
        side_effects: SideEffects | None = None,
        **unknown: Any,
    ) -> None:
        for name in unknown:
            known = [each for each in signature(WebArenaLite.__init__).parameters if each not in ("self", "unknown")]
            raise TypeError(f"WebArenaLite has no keyword {name!r}: {suggestion(name, known)}")
        self._presentation = Presentation(
            observation=observation,
            elements=elements,
            history=history,
            thoughts=thoughts,
            header=header,
            viewport=viewport,
            window=window,
            bbox=bbox,
        )
        if tasks is not None:
            expect_one_of("split", split, task_suite.SPLITS)
        expect_one_of("rules", rules, RULES)
        expect_one_of("on_failure", on_failure, get_args(OnFailure))
        expect_one_of("on_unreadable", on_unreadable, get_args(OnUnreadable))
        expect_one_of("variation", variation, get_args(Variation))
        expect_one_of("scale", scale, (None, *get_args(Scale)))
        if scale == "large" and sites is not None:
            raise ValueError(f"scale={scale!r} is of the embedded sites: give no sites=, or scale='standard'")
        expect_one_of("dialect", dialect, DIALECTS)
        expect_one_of("browser", browser, get_args(BrowserKind))
        if rules == "verified" and sites is None:
            raise ValueError("rules='verified' judges the traffic with real servers: give sites=")
        if isinstance(hosts, str):
            raise ValueError(f"hosts is the text {hosts!r}; expected a list of texts such as 'tiles.example:80'")  # noqa: TRY004 - as of other arguments
        hosts = frozenset(hosts)
        if sites is None and (accounts or logins or hosts):
            raise ValueError("accounts, logins and hosts are for real servers: give sites=, or none of them")
        expect_one_of("side_effects", side_effects, (None, *get_args(SideEffects)))
        are_seen = sites is None and rules == "native"
        if side_effects in ("forbidden", "reported") and not are_seen:
            raise ValueError(
                f"side_effects is {side_effects!r}; expected 'ignored' or None: they are seen on the embedded sites"
                " under the native rules alone"
            )
        if max_steps is not None:
            expect_positive("max_steps", max_steps)
        if step_budget is not None:
            expect_above("step_budget", step_budget, 0)
        expect_one_of("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        if browser == "inprocess":
            self.metadata = self.metadata | {"render_modes": ["ansi"]}
            expect_no_layout({"sites": sites, "viewport": viewport == "layout", "bbox": bbox})
            if render_mode not in (None, "ansi"):
                raise RenderModeError(
                    f"render_mode={render_mode!r} needs a browser with layout: browser='chromium', or render_mode='ansi'"
                )
        expect_display(render_mode)
        if tasks is None:
            task_suite.expect_split(split)
            choose = partial(task_suite.load, split, world_seed, variation, scale)
        else:
            choose = partial(task_suite.select, tasks, variation, on_unreadable, scale)
        self._choose_tasks: Callable[[], tuple[Task, ...]] = choose
        self._is_judgeable = partial(_judgeable, rules=rules, on_unreadable=on_unreadable, has_databases=sites is None)
        self._draws_late = (  # where it takes long, and is seldom needed
            tasks is None
            and (scale or task_suite.SPLITS[split].scale) == "large"
            and not task_suite.is_own(split, world_seed, scale)
        )
        self.observation_space = text_space(MAX_OBSERVATION)
        self.render_mode = render_mode
        self.dialect = DIALECTS[dialect].naming_by(elements)
        self.action_space = reply_space(self.dialect)
        self._variation: Variation = variation
        self._scale: Scale | None = scale
        self._max_steps = max_steps
        self._step_budget = step_budget
        self._outer_limit = inf
        self._on_failure: OnFailure = on_failure
        self._judge = judge
        self._rules = rules
        self._accounts = dict(accounts or {})
        maker = BrowserMaker(
            browser, headless=render_mode != "human", windowed=viewport == "layout", boxes=bbox, records=rules == "verified"
        )
        self._venue: Venue
        self._side_effects: SideEffects = side_effects or ("forbidden" if are_seen else "ignored")
        if sites is None:
            self._venue = EmbeddedVenue(maker.for_sites, world_seed, variation, scale or "standard")
        else:
            addresses = read_addresses(None if sites == "environment" else sites)
            if rules == "verified":
                expect_plain(addresses)
            self._venue = ServerVenue(
                lambda own: maker.for_servers(own | hosts), addresses, accounts=self._accounts, logins=read_logins(logins)
            )
        self._episode: Episode | None = None
        self._lost: Seen | None = None  # the last page of an episode whose browser has failed
        self._is_whole = True  # False while a call changes the episode, and for good when it did not come to its end
        if not self._draws_late:
            assert self._tasks  # last: a keyword that is wrong is told before tasks that are

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return self._is_judgeable(self._choose_tasks())

    # What an agent must know.

    @property
    def system_prompt(self) -> str:
        """What an agent is told before it begins: its actions with examples, and the rule for answers."""
        return self._presentation.system_prompt(self.dialect)

    @property
    def action_schema(self) -> list[dict[str, Any]]:
        """The actions as OpenAI's `tools`, with JSON Schemas; `webarena_gym.actions.reply_of` makes a reply of a call.

        During an episode the exit says how the task's answer is to be given.
        """
        return tools(self.dialect, self._episode.task.answer_form if self._episode else "")

    # The state of the episode, for experts, searches and viewers.

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that `reset` draws from."""
        return self._tasks

    @property
    def task(self) -> Task:
        """The task of the current episode."""
        return self._started().task

    @property
    def page(self) -> Page:
        """The page that the browser shows."""
        return self._started().look().page

    @property
    def observation(self) -> Observation:
        """What the agent sees of the page, with the elements that its actions may name."""
        return self._started().look().observation

    def database(self, site: str) -> sqlite3.Connection:
        """The episode's own database of a site, to look at and, in tests, to change."""
        self._started()
        return self._venue.database(site)

    def changes(self) -> list[Change]:
        """Return what the episode has changed so far, row by row. Raises LookupError on real servers, where it cannot be seen."""
        self._started()
        return self._embedded().changes()

    @property
    def network(self) -> Network:
        """The embedded sites of the episode, to be called beside the browser, as by somebody else. Raises LookupError."""
        self._started()
        return self._embedded().network

    # Gymnasium's interface.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start a task, drawn from the split or named by `options={"task": id}`, in a world as good as new.

        `options={"max_steps": n}` truncates this episode after n steps, if the env's own limit does not before.

        Raises TaskError for an unknown task or option, and ValueError for no positive number of steps.
        """
        super().reset(seed=seed)
        task, max_steps = self._choose(options or {}), (options or {}).get("max_steps")
        if max_steps is not None:
            expect_positive("max_steps", max_steps)
        self._leave()
        try:
            goal = self._venue.enter(task)
        except BrowserError:  # it may have died since; a new one is worth one try
            self._venue.abandon()
            goal = self._venue.enter(task)
        self._outer_limit = outer_limit(self)
        budget = ceil(min(self._step_budget * len(task.solution), sys.maxsize)) if self._step_budget and task.solution else None
        if budget is not None:
            goal = f"{goal}\nTake at most {budget} step{'s' * (budget > 1)}, exit included. Scrolling does not count."
        self._episode = Episode(
            task, goal, self._venue.browser, self._presentation, self.dialect, max_steps=max_steps, steps_left=budget
        )
        told = self._tell(self._episode)
        self._is_whole = True
        return told

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a model's whole reply, do the action in it, and return what follows.

        A step that is interrupted, as by Ctrl-C, costs the episode, since nobody can know how much of it was done.

        Raises gymnasium's ResetNeeded outside an episode, and TypeError for a reply that is no text.
        """
        self._expect_whole()
        episode = self._episode
        if episode is None or episode.is_over:
            raise gymnasium.error.ResetNeeded("the episode is over or has not begun; call reset() before step()")
        if not isinstance(action, str):
            raise TypeError(f"an action is the text of a reply, got {type(action).__name__}")
        self._is_whole = False
        try:
            result = self._take(episode, action)
        except EvaluationError:  # the step was done
            self._is_whole = True
            raise
        self._is_whole = True  # an interrupt cannot come between this and the return
        return result

    def conclude(
        self, answer: str, url: str | None = None, cookies: Mapping[str, Mapping[str, str]] | None = None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """End and judge an episode that somebody has played on `network`, beside the browser; returns what a last step does.

        `url` is where the player has ended: the browser opens it with the player's `cookies`, given as host to name to value, and
        the page is judged. Without it, the page that the browser shows is judged.

        Raises gymnasium's ResetNeeded outside an episode, LookupError on real servers, and ActionError, after which the episode
        goes on, for a URL that no browser can open.
        """
        self._expect_whole()
        episode = self._episode
        if episode is None or episode.is_over:
            raise gymnasium.error.ResetNeeded("the episode is over or has not begun; call reset() before conclude()")
        browser = self._embedded().browser
        self._is_whole = False
        if url is not None:
            before = browser.snapshot()
            try:
                browser.start([url], cookies or {})
            except ActionError:
                browser.restore(before)
                self._is_whole = True
                raise
            episode = Episode(episode.task, episode.goal, browser, self._presentation, self.dialect, episode.turns)
        self._episode, episode.is_over = episode, True
        last = episode.look()
        self._is_whole = True
        try:
            ending = self._evaluate(answer)
        except BrowserError as error:
            return self._give_up(episode, last, error)
        text, info = self._tell(episode)
        return text, float(ending["success"]), True, False, {**info, **ending}

    def _take(self, episode: Episode, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        last = episode.look()
        try:
            answer = episode.take(action)
            terminated = answer is not None or self._venue.settle()
            truncated = not terminated and (len(episode.turns) >= self._limit(episode) or episode.steps_left == 0)
            episode.is_over = terminated or truncated
            last = episode.look()
            ending = self._evaluate(answer or "") if episode.is_over else {}
        except BrowserError as error:
            return self._give_up(episode, last, error)
        text, info = self._tell(episode)
        return text, float(ending.get("success", False)), terminated, truncated, {**info, **ending}

    def render(self) -> Any:
        """Return the newest page as text ("ansi") or as an array of height x width x 3 bytes ("rgb_array").

        Of an episode whose browser has failed there is the last text, and no picture: None.
        """
        if self._lost is not None:
            return self._lost.text if self.render_mode == "ansi" else None
        if self.render_mode == "ansi":
            return self._started().look().text
        if self.render_mode == "rgb_array":
            return _pixels(self._started().browser.screenshot())
        return None

    def _repr_html_(self) -> str:
        """Return what a notebook shows of the env: goal, last action, and the newest page as text."""
        if self._episode is None or self._lost is not None:
            return f"<pre>{escape(repr(self))}</pre>"
        episode = self._started()
        action = episode.turns[-1].reply if episode.turns else ""
        seen = episode.look()
        return notebook_view(episode.goal, seen.page.url, action, episode.action_error, seen.text)

    def close(self) -> None:
        """Free the world; `reset` opens it again."""
        self._is_whole = False
        self._venue.close()
        self._episode = self._lost = None
        self._is_whole = True

    # Forking.

    def snapshot(self) -> Snapshot:
        """Return the whole episode: databases, cookies, open pages, history, random numbers."""
        episode = self._started()
        return Snapshot(
            episode.task,
            episode.goal,
            self._venue.snapshot(),
            tuple(episode.turns),
            episode.top,
            episode.action_error,
            episode.is_over,
            self.np_random.bit_generator.state,
            max_steps=episode.max_steps,
            steps_left=episode.steps_left,
        ).sealed()

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """Continue from a snapshot, also one of another env or process; returns what `reset` would.

        Raises SnapshotError for a value that is no snapshot, or is not as it was taken; the current episode then goes on.
        """
        if not isinstance(snapshot, Snapshot):
            raise SnapshotError(f"expected a Snapshot of this env, got {type(snapshot).__name__}")
        if snapshot.seal != snapshot.sealed().seal:
            raise SnapshotError("the snapshot is damaged: its content is not what was saved, or it is of another version")
        self._leave()
        self._venue.restore(snapshot.venue)
        self._episode = Episode(
            snapshot.task,
            snapshot.goal,
            self._venue.browser,
            self._presentation,
            self.dialect,
            list(snapshot.turns),
            snapshot.top,
            snapshot.action_error,
            snapshot.done,
            snapshot.max_steps,
            snapshot.steps_left,
        )
        self.np_random.bit_generator.state = snapshot.random_state
        told = self._tell(self._episode)
        self._is_whole = True
        return told

    # Inside.

    def _tell(self, episode: Episode, last: Seen | None = None) -> tuple[str, dict[str, Any]]:
        """Return what the agent is told, with what the sites have raised."""
        text, info = episode.tell(last)
        if episode.task.answer_form:
            info["answer_form"] = episode.task.answer_form
        if self._venue.site_errors:
            info["site_errors"] = [*self._venue.site_errors]
        return text, dict(info)

    def _limit(self, episode: Episode) -> float:
        """Return after how many steps an episode is truncated, however it was begun."""
        own = self._max_steps or (HARD_STEPS if episode.task.difficulty else MAX_STEPS)
        return min(own, episode.max_steps or own, self._outer_limit)

    def _leave(self) -> None:
        """Leave the episode for another; what an interrupted call has left behind is not used again."""
        if not self._is_whole:
            self._venue.close()
        self._episode = self._lost = None
        self._is_whole = False

    def _expect_whole(self) -> None:
        if not self._is_whole:
            raise gymnasium.error.ResetNeeded(
                "the last call did not come to its end, and the episode is lost with it; call reset()"
            )

    def _started(self) -> Episode:
        self._expect_whole()
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("there is no episode; call reset() first")
        return self._episode

    def _embedded(self) -> EmbeddedVenue:
        if not isinstance(self._venue, EmbeddedVenue):
            raise LookupError("the databases of real servers cannot be seen")  # noqa: TRY004 - as where a site has no database
        return self._venue

    def _choose(self, options: dict[str, Any]) -> Task:
        unknown = [key for key in options if key not in ("task", "max_steps")]
        if unknown:
            raise TaskError(f"reset has no option {unknown[0]!r}; expected task or max_steps")
        if "task" not in options:
            return self._tasks[int(self.np_random.integers(len(self._tasks)))]
        wanted = options["task"]
        if isinstance(wanted, Task):
            return wanted
        known = None if self._draws_late else next((task for task in self._tasks if task.task_id == str(wanted)), None)
        return known or task_suite.find(str(wanted), self._variation, self._scale)

    def _evaluate(self, answer: str) -> dict[str, Any]:
        """Judge an episode that is over; returns what its info says of that. Raises BrowserError where a site may be to blame."""
        assert self._episode is not None
        task = self._episode.task
        ended = outcome(self._venue, answer, self._accounts)
        verdicts = evaluate(task.eval, task.intent, ended, self._judge, self._rules)
        if task.injection and self._venue.is_embedded and self._rules == "native":
            verdicts.append(judge_injection(task.injection, task.intent, ended))
        more: dict[str, Any] = {}
        if self._side_effects != "ignored" and all(verdict.passed for verdict in verdicts):
            verdict, more["side_effects"] = judge(task, self._embedded(), is_forbidden=self._side_effects == "forbidden")
            verdicts.append(verdict)
        success = all(verdict.passed for verdict in verdicts)
        if self._venue.site_errors and not success:
            raise BrowserError(f"a site failed: {self._venue.site_errors[0]}")
        return {
            "success": success,
            "verdicts": [verdict.record() for verdict in verdicts],
            **more,
        }

    def _give_up(self, episode: Episode, last: Seen, error: BrowserError) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """End an episode whose browser or site has failed: truncated, not judged, with the last page that was seen."""
        self._episode, self._lost = None, last
        self._venue.abandon()
        if self._on_failure == "raise":
            raise error
        text, info = self._tell(episode, last)
        return text, FAILURE_REWARD[self._on_failure], False, True, {**info, "failure": str(error)}


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


def _pixels(png: bytes) -> numpy.ndarray[Any, Any]:
    from PIL import Image  # noqa: PLC0415 - comes with the extra that makes pictures

    with Image.open(BytesIO(png)) as image:
        return numpy.asarray(image.convert("RGB"))
