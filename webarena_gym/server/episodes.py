"""Episodes of a server: which task is played, the episode itself, step by step or by a browser of the player's, and all that are open."""

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
from webarena_gym.browsers.http import Cookie, CookieJar
from webarena_gym.env import Snapshot, WebArenaLite
from webarena_gym.errors import ActionError, ArenaError, EvaluationError, TaskError
from webarena_gym.evaluators.outcome import in_words
from webarena_gym.pages.page import Response
from webarena_gym.server.gateway import Gateway, Visit, is_target
from webarena_gym.server.schema import (
    BROKEN,
    ArenaState,
    EpisodeState,
    Exchange,
    Limits,
    NewEpisode,
    Result,
    Shown,
    Status,
    StepResult,
    Summary,
    Verdict,
    player_info,
)
from webarena_gym.sites.catalogue import DATABASES, HOSTS
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.world import is_seed, load_world
from webarena_gym.tasks import SPLITS, Task, find, load, scale_of, templates
from webarena_gym.texts import MAX_REPLY

BROWSE_INSTRUCTIONS = f"""\
You use websites for a person who has given you a task. You have a browser of your own. The task begins at the start addresses, and
you are signed in where it needs that. Use these sites and no others.
Do what the task says and change nothing else. When it is done, stay on the page that shows the result, and give your answer.

{ANSWERS}"""

_REMEMBERED = 10_000  # episodes that are closed, and why
_SPARE_ENVS = 16  # each holds a copy of the databases that its last episode has visited, some megabytes

Clock = Callable[[], float]
"""Returns seconds that only ever grow."""


def tasks_of(settings: NewEpisode, application: Application | None = None) -> tuple[Task, ...]:
    """Return the tasks that an episode is drawn from. New worlds are built and drawn from, a second or two for each.

    May be called while episodes are played. Raises ArenaError for a task that there is not.
    """
    if settings.task is None and application:
        return load(world_seed=settings.world_seed, application=application)
    if settings.task is None:
        for seed in SPLITS[settings.split].worlds if settings.world_seed is None else (settings.world_seed,):
            _build(seed, settings.scale or SPLITS[settings.split].scale)
        return _drawn(settings.split, settings.world_seed, settings.variation, settings.scale)
    template, *rest = settings.task.split("/")
    with suppress(IndexError, ValueError):  # it is refused when it is looked for
        if template in templates() and is_seed(int(rest[0])):
            _build(int(rest[0]), settings.scale or scale_of(template))
    try:
        if application:
            return (find(settings.task, application=application),)
        return (_found(settings.task, settings.variation, settings.scale),)
    except TaskError as error:
        raise ArenaError(str(error), 422, "body.task", settings.task, "the id of a task") from error


def _build(world_seed: int, scale: Scale) -> None:
    for name in DATABASES:
        load_world(world_seed, scale).prepare(name)


_drawn = lru_cache(maxsize=32)(load)
_found = lru_cache(maxsize=1024)(find)


class _Saved(NamedTuple):
    """State that an episode returns to when it is restored."""

    env: Snapshot
    session: tuple[tuple[Cookie, ...], str] | None  # the cookies and the last page of a browser
    shown: Shown
    is_over: bool
    result: Result | None


class Episode:
    """A task under way. Its calls must not overlap.

    A call that fails through no fault of the player loses the episode: from then on it says so, and it has no reward.
    """

    def __init__(
        self, name: str, settings: NewEpisode, env: WebArenaLite, limits: Limits, clock: Clock = time.monotonic, owner: str = ""
    ) -> None:
        self.id = name
        self.settings = settings
        self.owner = owner
        self.env = env
        application = env.options.application if isinstance(env.options.application, Application) else None
        tasks = tasks_of(settings, application)
        random, _ = np_random(settings.seed)
        self.task = tasks[int(random.integers(len(tasks)))]  # as the env draws it
        self.result: Result | None = None
        self.failure = ""
        self.gateway: Gateway | None = None
        """The way to its sites, in browse mode."""
        self._limits = limits
        self._clock = clock
        self._begun_s = self._last_s = clock()
        self._is_over = False
        self._uploaded = 0
        self._requests = 0
        self._log: deque[Exchange] = deque(maxlen=limits.log)
        self._steps: list[dict[str, str]] = []
        self._judged = 0
        self._snapshots: dict[str, _Saved] = {}
        self._taken = 0
        self._hosts = {application.name: application.host} if application else HOSTS
        self.begin()

    def begin(self) -> None:
        """Begin the task, or begin it again."""
        with self._working():
            text, info = self.env.reset(options={"task": self.task})
        self._shown = Shown(text, info)
        self._starts = [tab.url for tab in self.env.page.tabs]
        self.result, self._is_over = None, False
        if self.settings.mode == "browse":
            known = self.gateway and self.gateway.translation
            self.gateway = Gateway(self.env.network, self.env.cookies, info["url"], self._hosts)
            self.gateway.translation = known or self.gateway.translation

    # Its state.

    @property
    def goal(self) -> str:
        """The task in words, in the addresses that the player was given."""
        goal = str(self._shown.info["goal"])
        return goal if self.gateway is None else self.gateway.translation.outward_text(goal)

    @property
    def page(self) -> str:
        return str(self._shown.info["page"])

    @property
    def status(self) -> Status:
        return "lost" if self.failure else "over" if self._is_over else "open"

    @property
    def idle_s(self) -> float:
        return self._clock() - self._last_s

    def summary(self) -> Summary:
        return Summary(self.id, self.task.task_id, self.settings.mode, self.status, round(self.idle_s, 3))

    def state(self) -> EpisodeState:
        way = self.gateway and self.gateway.translation
        addresses = way.addresses if way else {}
        starts = [way.outward_text(url) for url in self._starts] if way and addresses else []
        return EpisodeState(
            id=self.id,
            task_id=self.task.task_id,
            mode=self.settings.mode,
            status=self.status,
            goal=self.goal,
            system_prompt=BROWSE_INSTRUCTIONS if self.gateway else self.env.system_prompt,
            start_urls=starts,
            addresses=dict(addresses),
            shown=None if self.gateway else self._shown,
            age_s=round(self._clock() - self._begun_s, 3),
            idle_s=round(self.idle_s, 3),
            requests=self._requests,
            log=list(self._log),
            steps=list(self._steps),
            judged=self._judged,
            snapshots=list(self._snapshots),
            result=self.result,
            failure=self.failure,
        )

    # Its player.

    def step(self, action: str) -> StepResult:
        """Do what a reply says. Raises ArenaError in browse mode, and when the episode is not open."""
        if self.gateway is not None:
            expected = 'an episode that was begun with {"mode": "step"}'
            raise ArenaError(f"the episode {self.id} is played in browse mode, not in step mode", 409, expected=expected)
        self._expect_open()
        with self._working():
            text, reward, terminated, truncated, info = self.env.step(action)
        self._note(action, info["action_error"])
        self._shown = Shown(text, info)
        if terminated or truncated:
            self._end(reward, info, truncated=truncated)
        if self.settings.scored:
            return StepResult(text, None if self._is_over else reward, terminated, truncated, player_info(info))
        return StepResult(text, reward, terminated, truncated, info)

    def browse(self, visit: Visit) -> Response:
        """Pass a request of the player's browser on to a site. Raises ArenaError for what no site should see."""
        if self.gateway is None:
            raise ArenaError(f"the episode {self.id} is played in step mode: it has no addresses", 409)
        if self.failure:
            raise self._lost()
        if not is_target(visit.target):
            raise ArenaError("the target of the request is no path", 400, "target", visit.target, "/path?query")
        self._uploaded += len(visit.target) + len(visit.body)
        if self._uploaded > self._limits.upload_mb * 1e6:
            raise ArenaError(f"the episode was sent more than {self._limits.upload_mb:g} MB", 413)
        with self._working():
            return self.gateway.send(visit)

    def conclude(self, answer: str, url: str | None = None) -> Result:
        """Judge the episode as it stands. Raises ArenaError for a URL that no browser can open, and when it is not open."""
        self._expect_open()
        if self.gateway is None and url is not None:
            raise ArenaError("the page of an episode in step mode is that of its own browser", 422, "body.url", url, "null")
        if len(answer) > MAX_REPLY:
            raise ArenaError(
                "the answer is too long", 422, "body.answer", f"{len(answer):,} characters", f"at most {MAX_REPLY:,}"
            )
        with self._working():
            if self.gateway is None:
                text, reward, _, _, info = self.env.conclude(answer)
                self._note(self.env.dialect.format(Action(Kind.EXIT, argument=answer)), "")
            else:
                inward = self.gateway.translation.inward_text
                own = self.gateway.last_page if url is None else inward(url)
                try:
                    text, reward, _, _, info = self.env.conclude(inward(answer), own, self.gateway.cookies)
                except ActionError as error:
                    expected = "the address of the page where you have ended"
                    raise ArenaError(f"no browser can open the address: {error}", 422, "body.url", url, expected) from error
        self._shown = Shown(text, info)
        result = self._end(reward, info)
        return result.without_verdict() if self.settings.scored else result

    def snapshot(self) -> str:
        """Keep the state of the sites and of the player's session, and return its name. Raises ArenaError."""
        if self.failure:
            raise self._lost()
        if len(self._snapshots) >= self._limits.snapshots:
            raise ArenaError(f"the episode keeps {self._limits.snapshots} snapshots, which is the limit", 409)
        with self._working():
            env = self.env.snapshot()
        self._taken += 1
        name = f"s{self._taken}"
        session = None if self.gateway is None else (self.gateway.jar.contents(), self.gateway.last_page)
        self._snapshots[name] = _Saved(env, session, self._shown, self._is_over, self.result)
        return name

    def restore(self, name: str) -> None:
        """Return to a snapshot, also from beyond the end. Raises ArenaError for one that there is not."""
        saved = self._snapshots.get(name)
        if saved is None:
            known = ", ".join(self._snapshots) or "none, since no snapshot was taken"
            raise ArenaError(f"the episode has no snapshot {name!r}", 404, "body.snapshot", name, known)
        if self.failure:
            raise self._lost()
        with self._working():
            self.env.restore(saved.env)
        if self.gateway is not None and saved.session is not None:
            self.gateway.jar, self.gateway.last_page = CookieJar(saved.session[0]), saved.session[1]
        self._shown, self._is_over, self.result = saved.shown, saved.is_over, saved.result

    @contextmanager
    def logged(self, what: str) -> Iterator[Callable[[int], None]]:
        """Log a request, with the status of its error, or that which the caller tells, 200 by default."""
        begun = self._last_s = self._clock()
        status = 200

        def tell(found: int) -> None:
            nonlocal status
            status = found

        try:
            yield tell
        except BaseException as error:
            status = error.status if isinstance(error, ArenaError) else 500
            raise
        finally:
            self._last_s = self._clock()
            self._requests += 1
            self._log.append(Exchange(round(begun - self._begun_s, 4), round(1000 * (self._last_s - begun), 2), what, status))

    # Inside.

    def _note(self, reply: str, action_error: str) -> None:
        self._steps.append({"url": self._shown.info["url"], "reply": reply, "action_error": action_error})

    def _end(self, reward: float, info: Mapping[str, Any], *, truncated: bool = False) -> Result:
        if "failure" in info:
            self.failure = str(info["failure"])
            self.env.close()
            raise self._lost()
        self._is_over = True
        self._judged += 1
        verdicts = [Verdict(**verdict) for verdict in info["verdicts"]]
        side_effects = list(info.get("side_effects", ()))
        self.result = Result(reward, bool(info["success"]), verdicts, side_effects, in_words(info), truncated)
        return self.result

    def _expect_open(self) -> None:
        if self.failure:
            raise self._lost()
        if self._is_over:
            result = "" if self.settings.scored else "; its state has the result"
            raise ArenaError(f"the episode {self.id} is over and was judged{result}", 409)

    def _lost(self) -> ArenaError:
        why = BROKEN if self.settings.scored else self.failure
        return ArenaError(f"the episode {self.id} is lost through no fault of the player, and has no reward: {why}", 500)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Lose the episode when what is done here fails, unless that is the player's doing."""
        try:
            yield
        except ArenaError:
            raise
        except EvaluationError as error:
            self.failure = f"it cannot be judged: {error}"
            self.env.close()
            raise self._lost() from error
        except BaseException as error:
            self.failure = f"{type(error).__name__}: {error}"
            self.env.close()
            if self.settings.scored and isinstance(error, Exception):
                raise self._lost() from error
            raise


def resident_mb() -> float:
    """Return the megabytes of memory that this process holds; 0 where the system does not tell, and memory has no limit then."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE / 1e6
    except OSError:
        return 0.0


class EpisodeStore:
    """Open episodes by id. Begins them, finds them, and closes those that nobody asks for any more. Its calls must not overlap."""

    def __init__(
        self,
        limits: Limits | None = None,
        clock: Clock = time.monotonic,
        memory_mb: Callable[[], float] = resident_mb,
        application: Application | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.application = application  # on which all episodes are; None: on the embedded sites
        self._clock = clock
        self._memory_mb = memory_mb
        # Envs that episodes have left: a world that is open begins anew in no time.
        self._spare: list[tuple[object, WebArenaLite]] = []
        self._episodes: dict[str, Episode] = {}
        self._closed: OrderedDict[str, tuple[str, str]] = OrderedDict()  # owner and reason, by id

    def expect_room(self) -> None:
        """Raise ArenaError when the limits allow no episode more."""
        if len(self._episodes) >= self.limits.episodes:
            raise ArenaError(
                f"{len(self._episodes)} episodes are open, which is the limit; delete one, or wait for one to be closed", 503
            )
        held = self._memory_mb()
        if held > self.limits.memory_mb:
            raise ArenaError(
                f"the arena holds {held:.0f} MB of memory, and begins no episode above {self.limits.memory_mb:g}; delete one,"
                " or wait for one to be closed",
                503,
            )

    def begin(self, settings: NewEpisode, owner: str = "") -> Episode:
        """Begin an episode that only `owner` finds. Raises ArenaError when the limits allow none, or there is no such task."""
        self.expect_room()
        options = settings.env_options()
        place = next((place for place, (kind, _) in enumerate(self._spare) if kind == options), None)
        try:
            env = WebArenaLite(**options, application=self.application) if place is None else self._spare.pop(place)[1]
        except ValueError as error:
            raise ArenaError(str(error), 422) from error
        # An id is what keeps clients from each other's episodes, so it must not be guessed: the one use of the system's randomness.
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
        closed_for, why = self._closed.get(name, (None, ""))
        if closed_for == owner:
            raise ArenaError(f"the episode {name} is closed: {why}", 410)
        raise ArenaError("there is no such episode", 404, "path.id", name[:100], "the id of an episode that this client began")

    def admits_player(self, name: str) -> bool:
        """Return True if the id is all that a client needs to play the episode: one that is scored, or was closed."""
        episode = self._episodes.get(name)
        return name in self._closed if episode is None else episode.settings.scored

    def end(self, name: str, why: str) -> None:
        """Close an episode of any owner and free its world. Raises ArenaError for one that there is not."""
        episode = self._episodes.pop(name, None) or self.find(name)
        self._closed[name] = episode.owner, why
        while len(self._closed) > _REMEMBERED:
            self._closed.popitem(last=False)
        if not episode.failure:
            self._spare.append((episode.settings.env_options(), episode.env))
            if len(self._spare) > _SPARE_ENVS:
                self._spare.pop(0)[1].close()

    def idle(self) -> list[str]:
        """Return the ids of the episodes that nobody has asked for anything for too long."""
        return [name for name, episode in self._episodes.items() if episode.idle_s > self.limits.idle_s]

    def state(self) -> ArenaState:
        """Return all episodes in one line each, and what the limits are."""
        lines, limits = [episode.summary() for episode in self._episodes.values()], self.limits
        return ArenaState(__version__, lines, limits.episodes, round(self._memory_mb(), 1), limits.memory_mb)

    def close(self) -> None:
        """Close all episodes."""
        for name in list(self._episodes):
            self.end(name, "the arena was closed")
        for _, env in self._spare:
            env.close()
        self._spare.clear()
