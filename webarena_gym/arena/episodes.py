"""Episodes of a server: selection of a task, the episode in step or browse mode, and the store of open episodes."""

import mmap
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gymnasium.utils.seeding import np_random

from webarena_gym import __version__
from webarena_gym.actions import Action, Kind
from webarena_gym.actions.dialect import ANSWERS
from webarena_gym.applications.application import Application
from webarena_gym.applications.suite import Suite
from webarena_gym.arena.gateway import Gateway, Visit, is_target
from webarena_gym.arena.schema import (
    BROKEN,
    ArenaState,
    EpisodeResult,
    EpisodeState,
    EpisodeSummary,
    Limits,
    LoggedRequest,
    NewEpisode,
    ResetResult,
    Status,
    StepResult,
    Verdict,
    player_info,
)
from webarena_gym.arguments import quote_value, suggestion
from webarena_gym.browsers.cookies import Cookie, CookieJar
from webarena_gym.env import WebArenaLite
from webarena_gym.episode import Snapshot
from webarena_gym.errors import ActionError, ArenaError, EvaluationError, TaskError
from webarena_gym.evaluators.outcome import describe_result
from webarena_gym.options import read_source
from webarena_gym.pages.page import Response
from webarena_gym.sites.catalogue import DATABASES, HOSTS
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.world import is_seed, load_world
from webarena_gym.suite import SPLITS, find, load, scale_of, templates
from webarena_gym.tasks import Task
from webarena_gym.texts import MAX_REPLY

BROWSE_INSTRUCTIONS = f"""\
You use websites for a person who has given you a task. You have a browser of your own. The task begins at the start addresses, and
you are signed in where it needs that. Use these sites and no others.
Do what the task says and change nothing else. When it is done, stay on the page that shows the result, and give your answer.

{ANSWERS}"""

_MAX_CLOSED = 10_000  # closed episodes whose reason is stored
_SPARE_ENVS = 16  # each holds copies of the databases of its last episode, some megabytes

Clock = Callable[[], float]
"""Returns monotonic seconds."""


def candidate_tasks(
    settings: NewEpisode, application: Application | None = None, suite: Suite | None = None, place: str = "body"
) -> tuple[Task, ...]:
    """Return the tasks from which the task of a new episode is drawn. Builds missing worlds, which takes a second or two for each.

    May be called from another thread than the episodes'. Raises ArenaError for an unknown task or split; `place` is that of the settings in
    the request.
    """
    names = tuple(suite.splits if suite else SPLITS)
    is_omitted = settings.task is not None and settings.split == NewEpisode.split  # a suite need not have the default split
    if settings.split not in names and not is_omitted:
        *others, last = map(repr, names)
        expected = f"{', '.join(others)} or {last}" if others else last
        message = f"{place}.split: there is no split {quote_value(settings.split)}; {suggestion(settings.split, names)}"
        raise ArenaError(message, 422, f"{place}.split", settings.split, expected)
    if settings.task is None and application:
        return load(world_seed=settings.world_seed, application=application)
    if settings.task is None:
        if suite:
            return _load_suite(suite, settings)
        for seed in SPLITS[settings.split].worlds if settings.world_seed is None else (settings.world_seed,):
            _build_world(seed, settings.scale or SPLITS[settings.split].scale)
        return _load(settings.split, settings.world_seed, settings.variation, settings.scale)
    template, *rest = settings.task.split("/")
    with suppress(IndexError, ValueError):  # `find` raises the error of a malformed id
        if template in templates() and is_seed(int(rest[0])):
            _build_world(int(rest[0]), settings.scale or scale_of(template))
    try:
        if application or suite:
            return (find(settings.task, application=application, suite=suite),)
        return (_find(settings.task, settings.variation, settings.scale),)
    except TaskError as error:
        raise ArenaError(str(error), 422, "body.task", settings.task, "the id of a task") from error


def _load_suite(suite: Suite, settings: NewEpisode) -> tuple[Task, ...]:
    """Return the tasks of a suite's split. Raises ArenaError for settings of worlds, which a suite does not have."""
    try:
        return load(settings.split, settings.world_seed, settings.variation, settings.scale, suite=suite)
    except TaskError as error:
        raise ArenaError(str(error), 422) from error


def _build_world(world_seed: int, scale: Scale) -> None:
    for name in DATABASES:
        load_world(world_seed, scale).prepare(name)


# Cached, because the tasks of a split are the same for all episodes.
_load = lru_cache(maxsize=32)(load)
_find = lru_cache(maxsize=1024)(find)


class _SavedState(NamedTuple):
    """Snapshot of an episode. `session` holds cookies and last page in browse mode."""

    env: Snapshot
    session: tuple[tuple[Cookie, ...], str] | None
    shown: ResetResult
    is_over: bool
    result: EpisodeResult | None


class Episode:
    """A running episode. Its methods must not be called concurrently.

    In step mode, clients send actions. In browse mode, their browsers visit the sites through a `Gateway`, and they submit an answer.

    An infrastructure error in a method loses the episode: all later calls raise an ArenaError, and there is no reward.

    Args:
        name: id of the episode.
        settings: task and options.
        env: the env, which belongs to the episode.
        limits: limits on uploads, snapshots and the log.
        clock: monotonic clock.
        owner: session that may find the episode; "" on servers without sessions.

    Raises:
        ArenaError: for an unknown task.

    """

    def __init__(
        self, name: str, settings: NewEpisode, env: WebArenaLite, limits: Limits, clock: Clock = time.monotonic, owner: str = ""
    ) -> None:
        self.id = name
        self.settings = settings
        self.owner = owner
        self.env = env
        application = env.options.application if isinstance(env.options.application, Application) else None
        suite = env.options.suite if isinstance(env.options.suite, Suite) else None
        tasks = candidate_tasks(settings, application, suite)
        random, _ = np_random(settings.seed)
        self.task = tasks[int(random.integers(len(tasks)))]  # the same draw as the env's
        self.result: EpisodeResult | None = None
        self.failure = ""
        self.gateway: Gateway | None = None
        """Gateway to the sites in browse mode."""
        self._limits = limits
        self._clock = clock
        self._start_s = self._last_request_s = clock()
        self._is_over = self._is_started = False
        self._uploaded = 0
        self._requests = 0
        self._log: deque[LoggedRequest] = deque(maxlen=limits.log)
        self._steps: list[dict[str, str]] = []
        self._judgments = 0
        self._snapshots: dict[str, _SavedState] = {}
        self._snapshot_count = 0
        applications = suite.applications.values() if suite else [application] if application else []
        self._hosts = {item.name: item.host for item in applications} or HOSTS
        self.start()

    def start(self) -> None:
        """Start or restart the task."""
        with self._lose_on_error():
            text, info = self.env.reset(options={"task": self.task})
        self._current = ResetResult(text, info)
        self._start_urls = [tab.url for tab in self.env.page.tabs]
        self.result, self._is_over, self._is_started = None, False, True
        if self.settings.mode == "browse":
            translation = self.gateway and self.gateway.translation
            self.gateway = Gateway(self.env.network, self.env.cookies, info["url"], self._hosts)
            self.gateway.translation = translation or self.gateway.translation

    # State.

    @property
    def goal(self) -> str:
        """The goal of the task, in browse mode with addresses for the client."""
        goal = str(self._current.info["goal"])
        return goal if self.gateway is None else self.gateway.translation.outward_text(goal)

    @property
    def page(self) -> str:
        return str(self._current.info["page"])

    @property
    def status(self) -> Status:
        return "lost" if self.failure else "over" if self._is_over else "open"

    @property
    def idle_s(self) -> float:
        return self._clock() - self._last_request_s

    def summary(self) -> EpisodeSummary:
        return EpisodeSummary(self.id, self.task.task_id, self.settings.mode, self.status, round(self.idle_s, 3))

    def state(self) -> EpisodeState:
        translation = self.gateway and self.gateway.translation
        addresses = translation.addresses if translation else {}
        start_urls = [translation.outward_text(url) for url in self._start_urls] if translation and addresses else []
        return EpisodeState(
            id=self.id,
            task_id=self.task.task_id,
            mode=self.settings.mode,
            status=self.status,
            goal=self.goal,
            system_prompt=BROWSE_INSTRUCTIONS if self.gateway else self.env.system_prompt,
            start_urls=start_urls,
            addresses=dict(addresses),
            shown=None if self.gateway else self._current,
            age_s=round(self._clock() - self._start_s, 3),
            idle_s=round(self.idle_s, 3),
            requests=self._requests,
            log=list(self._log),
            steps=list(self._steps),
            judged=self._judgments,
            snapshots=list(self._snapshots),
            result=self.result,
            failure=self.failure,
        )

    # Requests.

    def step(self, action: str) -> StepResult:
        """Execute the action in a reply. Raises ArenaError in browse mode, and if the episode is not open."""
        if self.gateway is not None:
            expected = 'an episode that was created with {"mode": "step"}'
            raise ArenaError(f"the episode {self.id} is in browse mode, and has no steps", 409, expected=expected)
        self._expect_open()
        with self._lose_on_error():
            text, reward, terminated, truncated, info = self.env.step(action)
        self._record_step(action, info["action_error"])
        self._current = ResetResult(text, info)
        if terminated or truncated:
            self._finish(reward, info, truncated=truncated)
        if self.settings.scored:
            return StepResult(text, None if self._is_over else reward, terminated, truncated, player_info(info))
        return StepResult(text, reward, terminated, truncated, info)

    def browse(self, visit: Visit) -> Response:
        """Pass a request of the client's browser to a site, and return the response.

        Raises ArenaError in step mode, for a lost episode, for an invalid target, and above the limit on uploads.
        """
        if self.gateway is None:
            raise ArenaError(f"the episode {self.id} is in step mode, and has no addresses", 409)
        if self.failure:
            raise self._lost_error()
        if not is_target(visit.target):
            raise ArenaError("the target of the request is not a path", 400, "target", visit.target, "/path?query")
        self._uploaded += len(visit.target) + len(visit.body)
        if self._uploaded > self._limits.upload_mb * 1e6:
            raise ArenaError(f"the episode was sent more than {self._limits.upload_mb:g} MB", 413)
        with self._lose_on_error():
            return self.gateway.send(visit)

    def submit(self, answer: str, url: str | None = None) -> EpisodeResult:
        """End the episode with an answer, and judge it.

        Args:
            answer: the answer; "" for none.
            url: final page in browse mode; None is the page that was served last.

        Raises:
            ArenaError: if the episode is not open, for an answer that is too long, and for a URL that cannot be opened.

        """
        self._expect_open()
        if self.gateway is None and url is not None:
            raise ArenaError("an episode in step mode ends at its current page, without a url", 422, "body.url", url, "null")
        if len(answer) > MAX_REPLY:
            raise ArenaError(
                "the answer is too long", 422, "body.answer", f"{len(answer):,} characters", f"at most {MAX_REPLY:,}"
            )
        with self._lose_on_error():
            if self.gateway is None:
                text, reward, _, _, info = self.env.submit(answer)
                self._record_step(self.env.dialect.format(Action(Kind.EXIT, argument=answer)), "")
            else:
                inward = self.gateway.translation.inward_text
                final_url = self.gateway.last_page if url is None else inward(url)
                try:
                    text, reward, _, _, info = self.env.submit(inward(answer), final_url, self.gateway.cookies)
                except ActionError as error:
                    raise ArenaError(
                        f"the final page cannot be opened: {error}", 422, "body.url", url, "the URL of your final page"
                    ) from error
        self._current = ResetResult(text, info)
        result = self._finish(reward, info)
        return result.without_verdict() if self.settings.scored else result

    def snapshot(self) -> str:
        """Take a snapshot of the sites and of the client's session, and return its name. Raises ArenaError at the limit on snapshots."""
        if self.failure:
            raise self._lost_error()
        if len(self._snapshots) >= self._limits.snapshots:
            raise ArenaError(f"the episode has {self._limits.snapshots} snapshots, which is the limit", 409)
        with self._lose_on_error():
            env = self.env.snapshot()
        self._snapshot_count += 1
        name = f"s{self._snapshot_count}"
        session = None if self.gateway is None else (self.gateway.jar.contents(), self.gateway.last_page)
        self._snapshots[name] = _SavedState(env, session, self._current, self._is_over, self.result)
        return name

    def restore(self, name: str) -> None:
        """Restore a snapshot, also after the end of the episode. Raises ArenaError for an unknown name."""
        saved = self._snapshots.get(name)
        if saved is None:
            known = ", ".join(self._snapshots) or "none, since no snapshot was taken"
            raise ArenaError(f"the episode has no snapshot {name!r}", 404, "body.snapshot", name, known)
        if self.failure:
            raise self._lost_error()
        with self._lose_on_error():
            self.env.restore(saved.env)
        if self.gateway is not None and saved.session is not None:
            self.gateway.jar, self.gateway.last_page = CookieJar(saved.session[0]), saved.session[1]
        self._current, self._is_over, self.result = saved.shown, saved.is_over, saved.result

    @contextmanager
    def log_request(self, name: str) -> Iterator[Callable[[int], None]]:
        """Log a request under a name, as a context manager.

        It yields a function that sets the status of the log entry, by default 200. An exception sets the status of its error response.
        """
        start_s = self._last_request_s = self._clock()
        status = 200

        def set_status(value: int) -> None:
            nonlocal status
            status = value

        try:
            yield set_status
        except BaseException as error:
            status = error.status if isinstance(error, ArenaError) else 500
            raise
        finally:
            self._last_request_s = self._clock()
            self._requests += 1
            duration_ms = round(1000 * (self._last_request_s - start_s), 2)
            self._log.append(LoggedRequest(round(start_s - self._start_s, 4), duration_ms, name, status))

    # Helpers.

    def _record_step(self, reply: str, action_error: str) -> None:
        self._steps.append({"url": self._current.info["url"], "reply": reply, "action_error": action_error})

    def _finish(self, reward: float, info: Mapping[str, Any], *, truncated: bool = False) -> EpisodeResult:
        """Set the result of the episode from the last `info`, and return it. Raises ArenaError if the evaluation failed."""
        if "failure" in info:
            self.failure = str(info["failure"])
            self.env.close()
            raise self._lost_error()
        self._is_over = True
        self._judgments += 1
        verdicts = [Verdict(**verdict) for verdict in info["verdicts"]]
        side_effects = list(info.get("side_effects", ()))
        self.result = EpisodeResult(reward, bool(info["success"]), verdicts, side_effects, describe_result(info), truncated)
        return self.result

    def _expect_open(self) -> None:
        if self.failure:
            raise self._lost_error()
        if self._is_over:
            result = "" if self.settings.scored else "; its state has the result"
            raise ArenaError(f"the episode {self.id} is over and was judged{result}", 409)

    def _lost_error(self) -> ArenaError:
        is_operator = not self._is_started  # only the operator can create a scored episode
        why = BROKEN if self.settings.scored and not is_operator else self.failure
        return ArenaError(f"the episode {self.id} is lost through no fault of the player, and has no reward: {why}", 500)

    @contextmanager
    def _lose_on_error(self) -> Iterator[None]:
        """Lose the episode on any exception but ArenaError, which is an error of the client."""
        try:
            yield
        except ArenaError:
            raise
        except EvaluationError as error:
            self.failure = f"it cannot be judged: {error}"
            self.env.close()
            raise self._lost_error() from error
        except BaseException as error:
            self.failure = f"{type(error).__name__}: {error}"
            self.env.close()
            if self.settings.scored and isinstance(error, Exception):
                raise self._lost_error() from error
            raise


def resident_mb() -> float:
    """Return the resident memory of this process in megabytes; 0, which disables the limit, on systems without /proc."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE / 1e6
    except OSError:
        return 0.0


class EpisodeStore:
    """Open episodes by id. Its methods must not be called concurrently.

    Args:
        limits: limits on episodes and memory.
        clock: monotonic clock.
        memory_mb: returns the memory of the process in megabytes.
        application: the application of all episodes.
        suite: the suite of all episodes. With neither, they use the embedded sites.

    """

    def __init__(
        self,
        limits: Limits | None = None,
        clock: Clock = time.monotonic,
        memory_mb: Callable[[], float] = resident_mb,
        application: Application | None = None,
        suite: Suite | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.source = read_source(application, suite)
        self._clock = clock
        self._memory_mb = memory_mb
        # Envs of closed episodes, because an env with open worlds is much faster to reset than a new one.
        self._spare: list[tuple[object, WebArenaLite]] = []
        self._episodes: dict[str, Episode] = {}
        self._closed: OrderedDict[str, tuple[str, str]] = OrderedDict()  # owner and reason, by id

    def expect_room(self) -> None:
        """Raise ArenaError if the limits allow no more episodes."""
        if len(self._episodes) >= self.limits.episodes:
            raise ArenaError(
                f"{len(self._episodes)} episodes are open, which is the limit; delete one, or wait for one to be closed", 503
            )
        memory_mb = self._memory_mb()
        if memory_mb > self.limits.memory_mb:
            raise ArenaError(
                f"the arena uses {memory_mb:.0f} MB of memory, and its limit for new episodes is {self.limits.memory_mb:g};"
                " delete an episode, or wait for one to be closed",
                503,
            )

    def create(self, settings: NewEpisode, owner: str = "") -> Episode:
        """Create an episode that only `owner` can find. Raises ArenaError at the limits, and for an unknown task or invalid options."""
        self.expect_room()
        suite = self.source.get("suite")
        if suite and suite.browser == "chromium" and settings.mode == "browse":
            message = f"the suite {suite.name} needs Chromium, so its episodes cannot be played in another browser"
            raise ArenaError(message, 422, "body.mode", settings.mode, "step")
        options = settings.env_options()
        index = next((index for index, (spare_options, _) in enumerate(self._spare) if spare_options == options), None)
        try:
            tasks = [suite.tasks[0]["task_id"]] if suite else None  # the task of each episode is passed to `reset`
            env = WebArenaLite(**options, **self.source, tasks=tasks) if index is None else self._spare.pop(index)[1]
        except ValueError as error:
            raise ArenaError(str(error), 422) from error
        # The id protects episodes from other clients, so it must not be predictable: the only use of the system's randomness.
        episode = Episode(secrets.token_hex(8), settings, env, self.limits, self._clock, owner)
        self._episodes[episode.id] = episode
        return episode

    def find(self, name: str, owner: str = "") -> Episode:
        """Return an episode of an owner.

        Raises ArenaError with the reason for a closed episode, and with "there is no such episode" for an unknown id and for
        an episode of another owner, so that the error does not reveal whether the id is in use.
        """
        episode = self._episodes.get(name)
        if episode is not None and episode.owner == owner:
            return episode
        closed_owner, why = self._closed.get(name, (None, ""))
        if closed_owner == owner:
            raise ArenaError(f"the episode {name} is closed: {why}", 410)
        raise ArenaError("there is no such episode", 404, "path.id", name[:100], "the id of an episode of this client")

    def admits_player(self, name: str) -> bool:
        """Return True if a client needs only the id to play the episode: a scored or a closed one."""
        episode = self._episodes.get(name)
        return name in self._closed if episode is None else episode.settings.scored

    def close_episode(self, name: str, why: str) -> None:
        """Close an episode of any owner and free its world; later requests get the reason `why`. Raises ArenaError for an unknown id."""
        episode = self._episodes.pop(name, None) or self.find(name)
        self._closed[name] = episode.owner, why
        while len(self._closed) > _MAX_CLOSED:
            self._closed.popitem(last=False)
        if not episode.failure:
            self._spare.append((episode.settings.env_options(), episode.env))
            if len(self._spare) > _SPARE_ENVS:
                self._spare.pop(0)[1].close()

    def idle(self) -> list[str]:
        """Return the ids of the episodes without a request for longer than the limit."""
        return [name for name, episode in self._episodes.items() if episode.idle_s > self.limits.idle_s]

    def state(self) -> ArenaState:
        """Return summaries of all episodes, and the limits."""
        summaries, limits = [episode.summary() for episode in self._episodes.values()], self.limits
        return ArenaState(__version__, summaries, limits.episodes, round(self._memory_mb(), 1), limits.memory_mb)

    def close(self) -> None:
        """Close all episodes."""
        for name in list(self._episodes):
            self.close_episode(name, "the arena was closed")
        for _, env in self._spare:
            env.close()
        self._spare.clear()
