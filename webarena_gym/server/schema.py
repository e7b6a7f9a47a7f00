"""Requests to an episode server and its answers. Plain dataclasses: the HTTP edge validates them and describes them to clients."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

from webarena_gym.arguments import expect_between
from webarena_gym.evaluators.outcome import in_words
from webarena_gym.observation import Elements, Style
from webarena_gym.observation.history import History
from webarena_gym.options import EnvOptions, SideEffects, option_meanings
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.sites.world import LARGEST_SEED
from webarena_gym.texts import MAX_PAGE

Mode = Literal["browse", "step"]
Split = Literal["train", "validation", "test", "pool", "hard", "pictures"]
Dialect = Literal["webrl", "webarena", "browsergym"]
Status = Literal["open", "over", "lost"]

BROKEN = "something broke down that is no fault of the player"
"""The error that the player of a scored episode gets: the true one may quote what the judge expects."""

_PLAYER_INFO = ("goal", "url", "page", "messages", "step", "steps_left", "action_error", "answer_form")
_LARGEST_DRAW = 2**63 - 1
_MOST_STEPS = 10_000


def player_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the env's `info` that the player of a scored episode gets: no verdict, and no task id, which names the world."""
    return {key: info[key] for key in _PLAYER_INFO if key in info}


class _Request:
    """Makes pydantic refuse what does not fit."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}


def _field(meaning: str, **default: Any) -> Any:
    """Return a field whose meaning clients are told."""
    return field(**default, metadata={"description": meaning})


def _option(name: str, **default: Any) -> Any:
    """Return a field that is a keyword of the env, with its default and meaning, or a default of its own."""
    meaning = option_meanings()[name]
    is_for_all = name in ("variation", "scale", "side_effects")
    told = meaning[0].upper() + meaning[1:] if is_for_all else f"Step mode: {meaning}"
    return _field(told, **(default or {"default": getattr(EnvOptions, name)}))


@dataclass(frozen=True)
class NewEpisode(_Request):
    """A new episode: its task, and how it is played. All fields may be left out. Raises ValueError for numbers out of range."""

    task: str | None = _field(
        'The id of a task, such as "shopping.wish_list_add/1000/0". Without it, one is drawn from the split.', default=None
    )
    split: Split = _field("The split that a task is drawn from.", default="test")
    seed: int | None = _field(
        "The seed of the draw: the task that `gymnasium.make(...).reset(seed=...)` draws. Without it, any.", default=None
    )
    world_seed: int | None = _field("Draw the templates of the split in this world, instead of the suite's own.", default=None)
    mode: Mode = _field(
        '"browse": your own browser visits the addresses. "step": you send actions and get observations, as of `env.step`.',
        default="browse",
    )
    variation: Variation = _option("variation")
    scale: Scale | None = _option("scale")
    side_effects: SideEffects = _option("side_effects", default="forbidden")
    scored: bool = _field(
        "Keep the verdict and the id of the task from the player, who reaches this episode by its id alone. Only the holder of the "
        "arena's token can open such an episode and read its result.",
        default=False,
    )
    observation: Style = _option("observation")
    elements: Elements = _option("elements")
    dialect: Dialect = _option("dialect")
    history: History = _option("history")
    thoughts: bool = _option("thoughts")
    header: bool = _option("header")
    window: int = _option("window")
    max_steps: int | None = _option("max_steps")
    step_budget: float | None = _option("step_budget")

    def __post_init__(self) -> None:
        expect_between("seed", self.seed or 0, 0, _LARGEST_DRAW)
        expect_between("world_seed", self.world_seed or 0, -LARGEST_SEED, LARGEST_SEED)
        expect_between("window", self.window, 1, MAX_PAGE)
        expect_between("max_steps", 1 if self.max_steps is None else self.max_steps, 1, _MOST_STEPS)
        EnvOptions(**self.env_options())

    def env_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ENV_SETTINGS}


ENV_SETTINGS = tuple(
    each.name for each in fields(NewEpisode) if each.name not in ("task", "split", "seed", "world_seed", "mode", "scored")
)
"""The fields of a new episode that are keywords of the env."""


@dataclass(frozen=True)
class NewAction(_Request):
    """One step of an episode in step mode."""

    action: str = _field(
        "A model's whole reply, with one action in it. A malformed or impossible one is told in the next observation."
    )


@dataclass(frozen=True)
class NewAnswer(_Request):
    """The end of an episode."""

    answer: str = _field("The answer; empty if the task asks for none.", default="")
    url: str | None = _field(
        "Browse mode: the address of the page where you have ended. Without it, that of the page that was served last.",
        default=None,
    )


@dataclass(frozen=True)
class Restoration(_Request):
    """Return of an episode to a snapshot."""

    snapshot: str = _field("The name that the snapshot was given.")


@dataclass(frozen=True)
class TasksWanted(_Request):
    """Tasks that are listed."""

    split: Split = _field("The split.", default="test")
    world_seed: int | None = _field("Its templates in this world, instead of the suite's own.", default=None)
    variation: Variation = _option("variation")
    scale: Scale | None = _option("scale")

    def __post_init__(self) -> None:
        expect_between("world_seed", self.world_seed or 0, -LARGEST_SEED, LARGEST_SEED)


@dataclass(frozen=True)
class ToolsWanted(_Request):
    """Actions that are described."""

    dialect: Dialect = _field("How actions are written.", default="webrl")
    elements: Elements = _field("How actions name elements.", default="id")


@dataclass(frozen=True)
class TaskLine:
    """One task of a list."""

    task_id: str = _field("The id of the task, for `task` of a new episode.")
    goal: str = _field("What is asked for.")
    sites: list[str] = _field("The sites that it needs.")


@dataclass(frozen=True)
class Verdict:
    """Finding of one check."""

    check: str = _field('Which check it is, such as "string_match/must_include".')
    passed: bool = _field("Whether it was met.")
    reason: str = _field("What was expected against what was found, and why that is wrong, in one line.")
    decided_by: str = _field("The rule that decided.")
    why: str = _field("Why the check was not met, where that can be said.", default="")
    expected: Any = _field("The text, texts or rows that were wanted; null where nothing was compared.", default=None)
    found: Any = _field("The text or rows that were found.", default=None)
    place: str = _field("The page that was looked at, or the titles of the columns of rows.", default="")


@dataclass(frozen=True)
class Result:
    """Judgement of an episode."""

    reward: float | None = _field("1 or 0; null for the player of a scored episode.")
    success: bool | None = _field("Whether the reward is 1; null for the player of a scored episode.")
    verdicts: list[Verdict] = _field("What each check found, in the order in which they were made.")
    side_effects: list[str] = _field("What was changed beyond the task, where all other checks have passed.")
    told: list[str] = _field("The same in plain words.")
    truncated: bool = _field("Step mode: the steps were used up, and nothing was answered.")

    def in_words(self) -> str:
        """Return the reward and what was told, one sentence a line."""
        reward = [] if self.reward is None else [f"reward {self.reward:g}"]
        return "\n".join((*reward, *self.told))

    def without_values(self) -> "Result":
        """Return the result for a player who may begin the task again: which checks have passed, and no value that was compared."""
        verdicts = [Verdict(each.check, each.passed, "", each.decided_by) for each in self.verdicts]
        told = in_words({"success": self.success, "verdicts": [asdict(each) for each in verdicts]})
        return replace(self, verdicts=verdicts, side_effects=[], told=told)

    def without_verdict(self) -> "Result":
        """Return the result as the player of a scored episode gets it."""
        told = ["The episode is over. Its result is not told to the player."]
        return replace(self, reward=None, success=None, verdicts=[], side_effects=[], told=told)


@dataclass(frozen=True)
class StepResult:
    """Return value of `env.step`."""

    observation: str = _field("What the player sees now.")
    reward: float | None = _field("1 or 0; 0 before the end; null at the end of a scored episode.")
    terminated: bool = _field("The player has ended the episode, and it is judged.")
    truncated: bool = _field("The steps are used up, and it is judged.")
    info: dict[str, Any] = _field(
        "The `info` of the env, such as `action_error`, `page`, `url` and, at the end of an episode that is not scored, `verdicts`."
    )


@dataclass(frozen=True)
class Shown:
    """Return value of `env.reset`, as a player in step mode sees it."""

    observation: str = _field("What the player sees: the goal, the rounds so far, and the page.")
    info: dict[str, Any] = _field("The `info` of the env, such as `goal`, `page` and `url`.")


@dataclass(frozen=True)
class Exchange:
    """One request that was made of an episode."""

    at_s: float = _field("Seconds since the episode began.")
    ms: float = _field("Milliseconds that it took.")
    what: str = _field('A request of a browser, such as "GET shopping /cart", or what was asked of the arena, such as "step".')
    status: int = _field("The status of the answer.")


@dataclass(frozen=True)
class EpisodeState:
    """An episode as it is now."""

    id: str = _field("Its id, for the paths of this interface.")
    task_id: str = _field("The task that is played; empty for the player of a scored episode.")
    mode: Mode = _field('How it is played: "browse" or "step".')
    status: Status = _field('"over" has a result; "lost" has a failure and no reward.')
    goal: str = _field("What is asked for.")
    system_prompt: str = _field("How to act and how to answer.")
    start_urls: list[str] = _field("Browse mode: the addresses to open, one a tab; the player is signed in as the task says.")
    addresses: dict[str, str] = _field("Browse mode: the base address of each site.")
    shown: Shown | None = _field("Step mode: the newest observation.")
    age_s: float = _field("Seconds since it was begun.")
    idle_s: float = _field("Seconds since the last request.")
    requests: int = _field("How many requests were made; `log` holds the newest of them.")
    log: list[Exchange] = _field("The newest requests, the oldest of them first.")
    steps: list[dict[str, str]] = _field(
        "Step mode: each action with the address that it was given at and what was wrong with it; undone ones are among them."
    )
    judged: int = _field("How often it was judged: more than once where it was restored from beyond the end.")
    snapshots: list[str] = _field("The names of its snapshots.")
    result: Result | None = _field("How it was judged; none before the end.")
    failure: str = _field("What broke down, where the episode was lost through no fault of the player.")

    def for_player(self) -> "EpisodeState":
        """Return the state as the player of a scored episode gets it."""
        shown = self.shown and Shown(self.shown.observation, player_info(self.shown.info))
        result = self.result and self.result.without_verdict()
        return replace(self, task_id="", shown=shown, result=result, failure=self.failure and BROKEN)


@dataclass(frozen=True)
class Taken:
    """A snapshot that was taken."""

    snapshot: str = _field("Its name, for /restore.")


@dataclass(frozen=True)
class Summary:
    """One episode in the list of all."""

    id: str = _field("Its id.")
    task_id: str = _field("The task that is played.")
    mode: Mode = _field("How it is played.")
    status: Status = _field('"open", "over" or "lost".')
    idle_s: float = _field("Seconds since the last request.")


@dataclass(frozen=True)
class ArenaState:
    """All episodes, and what is left of the limits."""

    version: str = _field("The version of the package.")
    episodes: list[Summary] = _field("All episodes that are there.")
    most_episodes: int = _field("How many may be open at once.")
    memory_mb: float = _field("Megabytes that the process holds.")
    most_memory_mb: float = _field("Megabytes above which no episode is begun.")


@dataclass(frozen=True)
class Problem:
    """Refusal of a request."""

    error: str = _field("What was wrong, in a sentence.")
    at: str = _field('Where, such as "body.task"; empty where no value was at fault.', default="")
    value: Any = _field("What was there.", default=None)
    expected: str = _field("What should have been there.", default="")


@dataclass(frozen=True)
class Limits:
    """Limits on what an arena gives to its clients."""

    episodes: int = 256  # open at once
    idle_s: float = 1800.0  # without a request, after which an episode is closed
    memory_mb: float = 3000.0  # of the process, beyond which no episode is begun
    upload_mb: float = 64.0  # that the browser of one episode may send to its sites
    snapshots: int = 64  # that one episode may keep
    log: int = 1000  # requests of an episode that its log holds

    def __post_init__(self) -> None:
        for name in ("episodes", "idle_s", "memory_mb", "upload_mb"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected a positive number")
