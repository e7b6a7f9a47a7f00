"""Requests to an episode server and its answers. Plain dataclasses: the HTTP edge validates them and describes them to clients."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from webarena_gym.arguments import expect_between
from webarena_gym.observation import Elements, Style
from webarena_gym.observation.history import History
from webarena_gym.options import EnvOptions, SideEffects, option_meanings
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.sites.world import LARGEST_SEED
from webarena_gym.texts import MAX_PAGE

Mode = Literal["browse", "step"]
Split = Literal["train", "validation", "test", "pool", "hard"]
Dialect = Literal["webrl", "webarena", "browsergym"]
Status = Literal["open", "over", "lost"]

_LARGEST_DRAW = 2**63 - 1
_MOST_STEPS = 10_000


class _Answer:
    """Makes pydantic read the texts below the fields."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"use_attribute_docstrings": True}


class _Request:
    """Makes pydantic read the texts below the fields, and refuse what does not fit them."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True, "use_attribute_docstrings": True}


def _option(name: str, **default: Any) -> Any:
    """Return a field that is a keyword of the env, with its default and meaning, or a default of its own."""
    prefix = "" if name in ("variation", "scale", "side_effects") else "Step mode: "
    described = {"description": prefix + option_meanings()[name]}
    return field(**(default or {"default": getattr(EnvOptions, name)}), metadata=described)


@dataclass(frozen=True)
class NewEpisode(_Request):
    """A new episode: its task, and how it is played. All fields may be left out. Raises ValueError for numbers out of range."""

    task: str | None = None
    """The id of a task, such as "shopping.wish_list_add/1000/0". Without it, one is drawn from the split."""
    split: Split = "test"
    """The split that a task is drawn from."""
    seed: int | None = None
    """The seed of the draw: the task that `gymnasium.make(...).reset(seed=...)` draws. Without it, any."""
    world_seed: int | None = None
    """Draw the templates of the split in this world, instead of the suite's own."""
    mode: Mode = "browse"
    """"browse": your own browser visits the addresses. "step": you send actions and get observations, as of `env.step`."""
    variation: Variation = _option("variation")
    scale: Scale | None = _option("scale")
    side_effects: SideEffects = _option("side_effects", default="forbidden")
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
        """Return the keywords of the env."""
        return {name: getattr(self, name) for name in ENV_SETTINGS}


ENV_SETTINGS = tuple(
    each.name for each in fields(NewEpisode) if each.name not in ("task", "split", "seed", "world_seed", "mode")
)
"""The fields of a new episode that are keywords of the env."""


@dataclass(frozen=True)
class NewAction(_Request):
    """One step of an episode in step mode."""

    action: str
    """A model's whole reply, with one action in it. A malformed or impossible one is told in the next observation."""


@dataclass(frozen=True)
class NewAnswer(_Request):
    """The end of an episode."""

    answer: str = ""
    """The answer; empty if the task asks for none."""
    url: str | None = None
    """Browse mode: the address of the page where you have ended. Without it, that of the page that was served last."""


@dataclass(frozen=True)
class Restoration(_Request):
    """Which snapshot an episode returns to."""

    snapshot: str
    """The name that the snapshot was given."""


@dataclass(frozen=True)
class TasksWanted(_Request):
    """Which tasks are listed."""

    split: Split = "test"
    """The split."""
    world_seed: int | None = None
    """Its templates in this world, instead of the suite's own."""
    variation: Variation = _option("variation")
    scale: Scale | None = _option("scale")

    def __post_init__(self) -> None:
        expect_between("world_seed", self.world_seed or 0, -LARGEST_SEED, LARGEST_SEED)


@dataclass(frozen=True)
class ToolsWanted(_Request):
    """Which actions are described."""

    dialect: Dialect = "webrl"
    """How actions are written."""
    elements: Elements = "id"
    """How actions name elements."""


@dataclass(frozen=True)
class TaskLine(_Answer):
    """One task of a list."""

    task_id: str
    """The id of the task, for `task` of a new episode."""
    goal: str
    """What is asked for."""
    sites: list[str]
    """The sites that it needs."""


@dataclass(frozen=True)
class Verdict(_Answer):
    """What one check found."""

    check: str
    """Which check it is, such as "string_match/must_include"."""
    passed: bool
    """Whether it was met."""
    reason: str
    """What was expected against what was found, and why that is wrong, in one line."""
    decided_by: str
    """The rule that decided."""
    why: str = ""
    """Why the check was not met, where that can be said."""
    expected: Any = None
    """The text, texts or rows that were wanted; null where nothing was compared."""
    found: Any = None
    """The text or rows that were found."""
    place: str = ""
    """The page that was looked at, or the titles of the columns of rows."""


@dataclass(frozen=True)
class Result(_Answer):
    """How an episode was judged."""

    reward: float
    """1 or 0."""
    success: bool
    """Whether the reward is 1."""
    verdicts: list[Verdict]
    """What each check found, in the order in which they were made."""
    side_effects: list[str]
    """What was changed beyond the task, where all other checks have passed."""
    told: list[str]
    """The same in plain words."""
    truncated: bool
    """Step mode: the steps were used up, and nothing was answered."""

    def in_words(self) -> str:
        """Return the reward and what was told, one sentence a line."""
        return "\n".join((f"reward {self.reward:g}", *self.told))


@dataclass(frozen=True)
class StepResult(_Answer):
    """What `env.step` returns."""

    observation: str
    """What the player sees now."""
    reward: float
    """1 or 0; 0 before the end."""
    terminated: bool
    """The player has ended the episode, and it is judged."""
    truncated: bool
    """The steps are used up, and it is judged."""
    info: dict[str, Any]
    """The `info` of the env, such as `action_error`, `page`, `url` and, at the end, `verdicts`."""


@dataclass(frozen=True)
class Shown(_Answer):
    """What `env.reset` returns: what a player in step mode sees."""

    observation: str
    """What the player sees: the goal, the rounds so far, and the page."""
    info: dict[str, Any]
    """The `info` of the env, such as `goal`, `page` and `url`."""


@dataclass(frozen=True)
class Exchange(_Answer):
    """One request that was made of an episode."""

    at_s: float
    """Seconds since the episode began."""
    ms: float
    """Milliseconds that it took."""
    what: str
    """A request of a browser, such as "GET shopping /cart", or what was asked of the arena, such as "step"."""
    status: int
    """The status of the answer."""


@dataclass(frozen=True)
class EpisodeState(_Answer):
    """An episode as it is now."""

    id: str
    """Its id, for the paths of this interface."""
    task_id: str
    """The task that is played."""
    mode: Mode
    """How it is played: "browse" or "step"."""
    status: Status
    """"over" has a result; "lost" has a failure and no reward."""
    goal: str
    """What is asked for."""
    system_prompt: str
    """How to act and how to answer."""
    start_urls: list[str]
    """Browse mode: the addresses to open, one a tab; the player is signed in as the task says."""
    addresses: dict[str, str]
    """Browse mode: the base address of each site."""
    shown: Shown | None
    """Step mode: the newest observation."""
    age_s: float
    """Seconds since it was begun."""
    idle_s: float
    """Seconds since the last request."""
    requests: int
    """How many requests were made; `log` holds the newest of them."""
    log: list[Exchange]
    """The newest requests, the oldest of them first."""
    steps: list[dict[str, str]]
    """Step mode: each action with the address that it was given at and what was wrong with it; undone ones are among them."""
    judged: int
    """How often it was judged: more than once where it was restored from beyond the end."""
    snapshots: list[str]
    """The names of its snapshots."""
    result: Result | None
    """How it was judged; none before the end."""
    failure: str
    """What broke down, where the episode was lost through no fault of the player."""


@dataclass(frozen=True)
class Taken(_Answer):
    """A snapshot that was taken."""

    snapshot: str
    """Its name, for /restore."""


@dataclass(frozen=True)
class Summary(_Answer):
    """One episode in the list of all."""

    id: str
    """Its id."""
    task_id: str
    """The task that is played."""
    mode: Mode
    """How it is played."""
    status: Status
    """"open", "over" or "lost"."""
    idle_s: float
    """Seconds since the last request."""


@dataclass(frozen=True)
class ArenaState(_Answer):
    """All episodes, and what is left of the limits."""

    version: str
    """The version of the package."""
    episodes: list[Summary]
    """All episodes that are there."""
    most_episodes: int
    """How many may be open at once."""
    memory_mb: float
    """Megabytes that the process holds."""
    most_memory_mb: float
    """Megabytes above which no episode is begun."""


@dataclass(frozen=True)
class Problem(_Answer):
    """Why a request was refused."""

    error: str
    """What was wrong, in a sentence."""
    at: str = ""
    """Where, such as "body.task"; empty where no value was at fault."""
    value: Any = None
    """What was there."""
    expected: str = ""
    """What should have been there."""


@dataclass(frozen=True)
class Limits:
    """How much an arena gives to whom.

    Args:
        episodes: how many may be open at once.
        idle_s: seconds without a request after which an episode is closed.
        memory_mb: megabytes of the process, beyond which no episode is begun.
        upload_mb: megabytes that the browser of one episode may send to its sites.
        snapshots: how many one episode may keep.
        log: how many requests of an episode its log holds.

    """

    episodes: int = 256
    idle_s: float = 1800.0
    memory_mb: float = 3000.0
    upload_mb: float = 64.0
    snapshots: int = 64
    log: int = 1000

    def __post_init__(self) -> None:
        for name in ("episodes", "idle_s", "memory_mb", "upload_mb"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected a positive number")
