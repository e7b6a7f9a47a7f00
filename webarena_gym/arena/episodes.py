"""One episode of an arena: a task in an env of its own, played step by step or by a browser of the player's."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.actions.dialect import ANSWERS
from webarena_gym.arena.choice import choose
from webarena_gym.arena.envs import Envs
from webarena_gym.arena.gateway import Gateway, Memory, Visit, is_target
from webarena_gym.arena.schema import (
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
)
from webarena_gym.arena.translation import Translation
from webarena_gym.env import Snapshot
from webarena_gym.errors import ActionError, ArenaError, EvaluationError
from webarena_gym.evaluators.outcome import in_words
from webarena_gym.pages.page import Response
from webarena_gym.sites.world import load_world
from webarena_gym.texts import MAX_REPLY

BROWSE_INSTRUCTIONS = f"""\
You use websites for a person who has given you a task. You have a browser of your own. The task begins at the start addresses, and
you are signed in where it needs that. Use these sites and no others.
Do what the task says and change nothing else. When it is done, stay on the page that shows the result, and give your answer.

{ANSWERS}"""

Clock = Callable[[], float]
"""Returns seconds that only ever grow."""


@dataclass(frozen=True)
class _Saved:
    """What an episode returns to when it is restored."""

    env: Snapshot
    gateway: Memory | None
    shown: Shown
    is_over: bool
    result: Result | None


class Episode:
    """A task under way. Its calls must not overlap.

    A call that fails through no fault of the player loses the episode: from then on it says so, and it has no reward.
    """

    def __init__(self, name: str, settings: NewEpisode, limits: Limits, clock: Clock, envs: Envs) -> None:
        self.id = name
        self.settings = settings
        self._limits = limits
        self._clock = clock
        self._begun_s = self._last_s = clock()
        self.task = choose(settings)
        self._envs = envs
        self._env = envs.take(settings)
        self._is_over = False
        self._result: Result | None = None
        self._failure = ""
        self._uploaded = 0
        self._requests = 0
        self._log: deque[Exchange] = deque(maxlen=limits.log)
        self._steps: list[dict[str, str]] = []
        self._judged = 0
        self._snapshots: dict[str, _Saved] = {}
        self._taken = 0
        self._translation: Translation | None = None
        self._gateway: Gateway | None = None
        self._starts: list[str] = []
        with self._working():
            text, info = self._env.reset(options={"task": self.task})
        self._shown = Shown(text, info)
        if settings.mode == "browse":
            assert self.task.world_seed is not None
            signed_in = load_world(self.task.world_seed, self.task.scale).cookies(
                self.task.sites if self.task.require_login else ()
            )
            self._starts = [tab.url for tab in self._env.page.tabs]
            self._gateway = Gateway(self._env.network, signed_in, info["url"])

    # What it is.

    @property
    def task_id(self) -> str:
        """The task that is played."""
        return self.task.task_id

    @property
    def goal(self) -> str:
        """What the player is to do, in the addresses that it was given."""
        goal = str(self._shown.info["goal"])
        return goal if self._translation is None else self._translation.outward_text(goal)

    @property
    def status(self) -> Status:
        """Whether it is under way."""
        return "lost" if self._failure else "over" if self._is_over else "open"

    @property
    def idle_s(self) -> float:
        """Seconds since somebody asked it for something."""
        return self._clock() - self._last_s

    @property
    def result(self) -> Result | None:
        """How it was judged; None as long as it is not over."""
        return self._result

    @property
    def gateway(self) -> Gateway:
        """The way to its sites. Raises ArenaError in step mode."""
        if self._gateway is None:
            raise ArenaError(f"the episode {self.id} is played in step mode: it has no addresses", status=409)
        return self._gateway

    @property
    def translation(self) -> Translation:
        """The addresses of its sites. Raises ArenaError before they are served, and in step mode."""
        if self._translation is None:
            raise ArenaError(f"the sites of the episode {self.id} are not served", status=409)
        return self._translation

    def serve_at(self, translation: Translation) -> None:
        """Take the addresses at which the sites are served."""
        self._translation = translation

    def summary(self) -> Summary:
        """Return it in one line."""
        return Summary(self.id, self.task_id, self.settings.mode, self.status, round(self.idle_s, 3))

    def state(self) -> EpisodeState:
        """Return all that there is to say of it."""
        is_browsed = self._gateway is not None
        return EpisodeState(
            id=self.id,
            task_id=self.task_id,
            mode=self.settings.mode,
            status=self.status,
            goal=self.goal,
            system_prompt=BROWSE_INSTRUCTIONS if is_browsed else self._env.system_prompt,
            start_urls=self.start_urls(),
            addresses=dict(self._translation.addresses) if self._translation else {},
            shown=None if is_browsed else self._shown,
            age_s=round(self._clock() - self._begun_s, 3),
            idle_s=round(self.idle_s, 3),
            requests=self._requests,
            log=list(self._log),
            steps=list(self._steps),
            judged=self._judged,
            snapshots=list(self._snapshots),
            result=self._result,
            failure=self._failure,
        )

    def start_urls(self) -> list[str]:
        """Return the addresses at which a browser begins, one a tab."""
        if self._translation is None:
            return []
        return [self._translation.outward_text(url) for url in self._starts]

    # What a player does.

    def step(self, action: str) -> StepResult:
        """Do what a reply says. Raises ArenaError in browse mode, and when the episode is not open."""
        self._expect_mode("step")
        self._expect_open()
        with self._working():
            text, reward, terminated, truncated, info = self._env.step(action)
        self._note(action, info["action_error"])
        self._shown = Shown(text, info)
        if terminated or truncated:
            self._end(reward, info, truncated=truncated)
        return StepResult(text, reward, terminated, truncated, info)

    def browse(self, visit: Visit) -> Response:
        """Pass a request of the player's browser on to a site. Raises ArenaError for what no site should see."""
        gateway, translation = self.gateway, self.translation
        if self._failure:
            raise self._lost()
        if not is_target(visit.target):
            raise ArenaError(
                "the target of the request is no path", status=400, at="target", value=visit.target, expected="/path?query"
            )
        self._uploaded += len(visit.target) + len(visit.body)
        if self._uploaded > self._limits.upload_mb * 1e6:
            raise ArenaError(f"the episode was sent more than {self._limits.upload_mb:g} MB", status=413)
        with self._working():
            return gateway.send(visit, translation)

    def conclude(self, answer: str, url: str | None = None) -> Result:
        """Judge the episode as it stands. Raises ArenaError for a URL that no browser can open, and when it is not open."""
        self._expect_open()
        if self._gateway is None and url is not None:
            raise ArenaError(
                "the page of an episode in step mode is that of its own browser",
                status=422,
                at="body.url",
                value=url,
                expected="null",
            )
        if len(answer) > MAX_REPLY:
            raise ArenaError(
                "the answer is too long",
                status=422,
                at="body.answer",
                value=f"{len(answer):,} characters",
                expected=f"at most {MAX_REPLY:,}",
            )
        with self._working():
            if self._gateway is None:
                text, reward, _, _, info = self._env.conclude(answer)
                self._note(self._env.dialect.format(Action(Kind.EXIT, argument=answer)), "")
            else:
                own = self._gateway.last_page if url is None else self.translation.inward_text(url)
                try:
                    text, reward, _, _, info = self._env.conclude(
                        self.translation.inward_text(answer), own, self._gateway.cookies
                    )
                except ActionError as error:
                    raise ArenaError(
                        f"no browser can open the address: {error}",
                        status=422,
                        at="body.url",
                        value=url,
                        expected="the address of the page where you have ended",
                    ) from error
        self._shown = Shown(text, info)
        return self._end(reward, info)

    def snapshot(self) -> str:
        """Keep the state of the sites and of the player's session, and return its name. Raises ArenaError."""
        if self._failure:
            raise self._lost()
        if len(self._snapshots) >= self._limits.snapshots:
            raise ArenaError(f"the episode keeps {self._limits.snapshots} snapshots, which is the limit", status=409)
        with self._working():
            env = self._env.snapshot()
        self._taken += 1
        name = f"s{self._taken}"
        memory = None if self._gateway is None else self._gateway.remember()
        self._snapshots[name] = _Saved(env, memory, self._shown, self._is_over, self._result)
        return name

    def restore(self, name: str) -> None:
        """Return to a snapshot, also from beyond the end. Raises ArenaError for one that there is not."""
        saved = self._snapshots.get(name)
        if saved is None:
            known = ", ".join(self._snapshots) or "none, since no snapshot was taken"
            raise ArenaError(
                f"the episode has no snapshot {name!r}", status=404, at="body.snapshot", value=name, expected=known
            )
        if self._failure:
            raise self._lost()
        with self._working():
            self._env.restore(saved.env)
        if self._gateway is not None and saved.gateway is not None:
            self._gateway.restore(saved.gateway)
        self._shown, self._is_over, self._result = saved.shown, saved.is_over, saved.result

    def close(self) -> None:
        """Free its world."""
        self._snapshots.clear()
        if not self._failure:
            self._envs.give_back(self._env, self.settings)

    @contextmanager
    def logged(self, what: str) -> Iterator[Callable[[int], None]]:
        """Log a request, with the status that the caller tells; 500 where it tells none."""
        begun = self._last_s = self._clock()
        status = 500

        def tell(found: int) -> None:
            nonlocal status
            status = found

        try:
            yield tell
        finally:
            self._last_s = self._clock()
            self._requests += 1
            self._log.append(Exchange(round(begun - self._begun_s, 4), round(1000 * (self._last_s - begun), 2), what, status))

    # Inside.

    def _note(self, reply: str, action_error: str) -> None:
        self._steps.append({"url": self._shown.info["url"], "reply": reply, "action_error": action_error})

    def _end(self, reward: float, info: Mapping[str, Any], *, truncated: bool = False) -> Result:
        if "failure" in info:
            self._failure = str(info["failure"])
            self._env.close()
            raise self._lost()
        self._is_over = True
        self._judged += 1
        verdicts = [Verdict(**verdict) for verdict in info["verdicts"]]
        side_effects = list(info.get("side_effects", ()))
        self._result = Result(reward, bool(info["success"]), verdicts, side_effects, in_words(info), truncated)
        return self._result

    def _expect_mode(self, mode: str) -> None:
        if self.settings.mode != mode:
            raise ArenaError(
                f"the episode {self.id} is played in {self.settings.mode} mode, not in {mode} mode",
                status=409,
                expected=f'an episode that was begun with {{"mode": "{mode}"}}',
            )

    def _expect_open(self) -> None:
        if self._failure:
            raise self._lost()
        if self._is_over:
            raise ArenaError(f"the episode {self.id} is over and was judged; its state has the result", status=409)

    def _lost(self) -> ArenaError:
        return ArenaError(
            f"the episode {self.id} is lost through no fault of the player, and has no reward: {self._failure}", status=500
        )

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Lose the episode when what is done here fails, unless that is the player's doing."""
        try:
            yield
        except ArenaError:
            raise
        except EvaluationError as error:
            self._failure = f"it cannot be judged: {error}"
            self._env.close()
            raise self._lost() from error
        except BaseException as error:
            self._failure = f"{type(error).__name__}: {error}"
            self._env.close()
            raise
