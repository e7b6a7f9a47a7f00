"""Requests and responses of the episode server, as dataclasses. The HTTP layer validates them, and derives OpenAPI schemas from them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

from webarena_gym.arguments import expect_between
from webarena_gym.evaluators.outcome import describe_result
from webarena_gym.observation import Elements, Style
from webarena_gym.observation.history import History
from webarena_gym.options import EnvOptions, SideEffects, option_descriptions
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.sites.world import LARGEST_SEED
from webarena_gym.suite import SPLITS
from webarena_gym.texts import MAX_PAGE

Mode = Literal["browse", "step"]
Dialect = Literal["webrl", "webarena", "browsergym"]
Status = Literal["open", "over", "lost"]

BROKEN = "something broke down that is no fault of the player"
"""The failure that the player of a scored episode sees, because the real message may contain expected values."""

_PLAYER_INFO = ("goal", "url", "page", "messages", "step", "steps_left", "action_error", "answer_form", "tools")
_MAX_SEED = 2**63 - 1
_MAX_STEPS = 10_000


def player_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the env's `info` for the player of a scored episode: without verdicts, and without the task id and its world seed."""
    return {key: info[key] for key in _PLAYER_INFO if key in info}


class _StrictModel:
    """Base of requests: pydantic rejects unknown fields and values of other types."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}


def _field(description: str, **default: Any) -> Any:
    """Return a dataclass field with a description for the OpenAPI schema."""
    return field(**default, metadata={"description": description})


def _option(name: str, **default: object) -> Any:
    """Return a field for a keyword of the env, with the keyword's description, and its default unless one is passed."""
    meaning = option_descriptions()[name]
    is_for_all = name in ("variation", "scale", "side_effects")
    description = meaning[0].upper() + meaning[1:] if is_for_all else f"Step mode: {meaning}"
    return _field(description, **(default or {"default": getattr(EnvOptions, name)}))


@dataclass(frozen=True)
class NewEpisode(_StrictModel):
    """Request to create an episode: its task and its options. All fields are optional. Raises ValueError for numbers out of range."""

    task: str | None = _field(
        'Id of a task, such as "shopping.wish_list_add/1000/0". By default, a task is drawn from the split.', default=None
    )
    split: str = _field(
        f"Split from which the task is drawn: {', '.join(SPLITS)}; or one of the server's suite.", default="test"
    )
    seed: int | None = _field(
        "Random seed of the draw, which gives the task of `gymnasium.make(...).reset(seed=...)`. By default, the draw is random.",
        default=None,
    )
    world_seed: int | None = _field(
        "Draw from the split's templates in this world, instead of the suite's worlds.", default=None
    )
    mode: Mode = _field(
        '"browse": your browser visits the addresses of the sites. "step": you send actions and get observations, as with `env.step`.',
        default="browse",
    )
    variation: Variation = _option("variation")
    scale: Scale | None = _option("scale")
    side_effects: SideEffects = _option("side_effects", default="forbidden")
    scored: bool = _field(
        "Hide the verdict and the task id from the player, who needs only the id of the episode. Creating the episode and reading its "
        "result require the arena's token.",
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
    tools: list[Literal["lookup", "table_sql"]] = _option("tools", default_factory=list)
    tool_budget: int | None = _option("tool_budget")
    tool_window: int = _option("tool_window")
    tool_tag: str = _option("tool_tag")

    def __post_init__(self) -> None:
        expect_between("seed", self.seed or 0, 0, _MAX_SEED)
        expect_between("world_seed", self.world_seed or 0, -LARGEST_SEED, LARGEST_SEED)
        expect_between("window", self.window, 1, MAX_PAGE)
        expect_between("max_steps", 1 if self.max_steps is None else self.max_steps, 1, _MAX_STEPS)
        EnvOptions(**self.env_options())

    def env_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ENV_SETTINGS}


ENV_SETTINGS = tuple(
    item.name for item in fields(NewEpisode) if item.name not in ("task", "split", "seed", "world_seed", "mode", "scored")
)
"""The fields of NewEpisode that are keywords of the env."""


@dataclass(frozen=True)
class NewAction(_StrictModel):
    """Request for a step in step mode."""

    action: str = _field(
        "The complete reply of a model, with one action. An error of the action is reported in the next observation."
    )


@dataclass(frozen=True)
class NewAnswer(_StrictModel):
    """Request to end an episode."""

    answer: str = _field("The answer; empty if the task asks for none.", default="")
    url: str | None = _field(
        "Browse mode: URL of the final page. By default, the page that was served last.",
        default=None,
    )


@dataclass(frozen=True)
class RestoreRequest(_StrictModel):
    """Request to restore a snapshot."""

    snapshot: str = _field("Name of the snapshot.")


@dataclass(frozen=True)
class TaskQuery(_StrictModel):
    """Query of a list of tasks."""

    split: str = _field(f"The split: {', '.join(SPLITS)}; or one of the server's suite.", default="test")
    world_seed: int | None = _field("The split's templates in this world, instead of the suite's worlds.", default=None)
    variation: Variation = _option("variation")
    scale: Scale | None = _option("scale")

    def __post_init__(self) -> None:
        expect_between("world_seed", self.world_seed or 0, -LARGEST_SEED, LARGEST_SEED)


@dataclass(frozen=True)
class ToolQuery(_StrictModel):
    """Query of the actions as tools."""

    dialect: Dialect = _field("Syntax of actions.", default="webrl")
    elements: Elements = _field("Form of references to elements in actions.", default="id")


@dataclass(frozen=True)
class TaskSummary:
    """One task of a list."""

    task_id: str = _field("Id of the task, for the field `task` of a new episode.")
    goal: str = _field("Goal of the task.")
    sites: list[str] = _field("Sites of the task.")


@dataclass(frozen=True)
class Verdict:
    """Result of one check."""

    check: str = _field('Name of the check, such as "string_match/must_include".')
    passed: bool = _field("True if the check passed.")
    reason: str = _field("Expected value, observed value and reason, in one line.")
    decided_by: str = _field("Comparison or judge that decided.")
    why: str = _field("Reason of a failed check, if the values do not show it.", default="")
    expected: Any = _field("Expected text, texts or rows; null if nothing was compared.", default=None)
    found: Any = _field("Observed text or rows.", default=None)
    place: str = _field("URL of the page that was checked, or the column titles of the rows.", default="")


@dataclass(frozen=True)
class EpisodeResult:
    """Judgment of an episode."""

    reward: float | None = _field("1 or 0; null for the player of a scored episode.")
    success: bool | None = _field("True if the reward is 1; null for the player of a scored episode.")
    verdicts: list[Verdict] = _field("Results of the checks, in order.")
    side_effects: list[str] = _field("Changes beyond the task, if all other checks passed.")
    told: list[str] = _field("The result as sentences.")
    truncated: bool = _field("Step mode: the step limit ended the episode without an answer.")

    def describe(self) -> str:
        """Return the reward and the sentences of the result, one per line."""
        reward = [] if self.reward is None else [f"reward {self.reward:g}"]
        return "\n".join((*reward, *self.told))

    def without_values(self) -> "EpisodeResult":
        """Return the result with the outcome of each check, but without compared values, for a player who may repeat the task."""
        verdicts = [Verdict(verdict.check, verdict.passed, "", verdict.decided_by) for verdict in self.verdicts]
        sentences = describe_result({"success": self.success, "verdicts": [asdict(verdict) for verdict in verdicts]})
        return replace(self, verdicts=verdicts, side_effects=[], told=sentences)

    def without_verdict(self) -> "EpisodeResult":
        """Return the result for the player of a scored episode, without reward and verdicts."""
        sentences = ["The episode is over. Its result is hidden from the player."]
        return replace(self, reward=None, success=None, verdicts=[], side_effects=[], told=sentences)


@dataclass(frozen=True)
class StepResult:
    """Return value of `env.step`."""

    observation: str = _field("The observation.")
    reward: float | None = _field("1 or 0; 0 before the end; null at the end of a scored episode.")
    terminated: bool = _field("True if the action ended the episode, which is then judged.")
    truncated: bool = _field("True if the step limit ended the episode, which is then judged.")
    info: dict[str, Any] = _field(
        "The `info` of the env, such as `action_error`, `page`, `url` and, at the end of an episode that is not scored, `verdicts`."
    )


@dataclass(frozen=True)
class ResetResult:
    """Observation and info of the current page in step mode, as returned by `env.reset`."""

    observation: str = _field("The observation: the goal, the previous rounds, and the page.")
    info: dict[str, Any] = _field("The `info` of the env, such as `goal`, `page` and `url`.")


@dataclass(frozen=True)
class LoggedRequest:
    """Log entry of a request to an episode."""

    at_s: float = _field("Time in seconds since the start of the episode.")
    ms: float = _field("Duration in milliseconds.")
    what: str = _field('Request of a browser, such as "GET shopping /cart", or operation of the arena, such as "step".')
    status: int = _field("Status of the response.")


@dataclass(frozen=True)
class EpisodeState:
    """Current state of an episode."""

    id: str = _field("Id of the episode, for the paths of this interface.")
    task_id: str = _field("Id of the task; empty for the player of a scored episode.")
    mode: Mode = _field('"browse" or "step".')
    status: Status = _field('"open"; "over", with a result; or "lost", with a failure and without a reward.')
    goal: str = _field("Goal of the task.")
    system_prompt: str = _field("Instructions for actions and answers.")
    start_urls: list[str] = _field("Browse mode: URLs to open, one per tab; the player is signed in as the task requires.")
    addresses: dict[str, str] = _field("Browse mode: base URL of each site.")
    shown: ResetResult | None = _field("Step mode: the current observation.")
    age_s: float = _field("Seconds since the start of the episode.")
    idle_s: float = _field("Seconds since the last request.")
    requests: int = _field("Number of requests; `log` contains the latest of them.")
    log: list[LoggedRequest] = _field("The latest requests, in order.")
    steps: list[dict[str, str]] = _field(
        "Step mode: each reply with the URL of its page and its action error, including steps before a restored snapshot."
    )
    judged: int = _field("Number of judgments; more than one if a snapshot was restored after the end.")
    snapshots: list[str] = _field("Names of the snapshots.")
    result: EpisodeResult | None = _field("Result of the episode; null before the end.")
    failure: str = _field("Cause of the loss of an episode, through no fault of the player; else empty.")

    def for_player(self) -> "EpisodeState":
        """Return the state for the player of a scored episode, without the task id, verdicts and failure."""
        shown = self.shown and ResetResult(self.shown.observation, player_info(self.shown.info))
        result = self.result and self.result.without_verdict()
        return replace(self, task_id="", shown=shown, result=result, failure=self.failure and BROKEN)


@dataclass(frozen=True)
class SnapshotInfo:
    """Response to a request for a snapshot."""

    snapshot: str = _field("Name of the snapshot, for /restore.")


@dataclass(frozen=True)
class EpisodeSummary:
    """One episode of a list."""

    id: str = _field("Id of the episode.")
    task_id: str = _field("Id of the task.")
    mode: Mode = _field('"browse" or "step".')
    status: Status = _field('"open", "over" or "lost".')
    idle_s: float = _field("Seconds since the last request.")


@dataclass(frozen=True)
class ArenaState:
    """Episodes and limits of the server."""

    version: str = _field("Version of the package.")
    episodes: list[EpisodeSummary] = _field("Episodes that are not closed.")
    most_episodes: int = _field("Limit on open episodes.")
    memory_mb: float = _field("Memory of the process in megabytes.")
    most_memory_mb: float = _field("Limit on memory in megabytes, above which no episode is created.")


@dataclass(frozen=True)
class Problem:
    """Error of a request."""

    error: str = _field("Error message.")
    at: str = _field('Location of the invalid value, such as "body.task"; empty for other errors.', default="")
    value: Any = _field("The invalid value.", default=None)
    expected: str = _field("Description of valid values.", default="")


@dataclass(frozen=True)
class Limits:
    """Limits of an episode server.

    Attributes:
        episodes: number of open episodes.
        idle_s: seconds without a request after which an episode is closed.
        memory_mb: memory of the process in megabytes, above which no episode is created.
        upload_mb: megabytes that the browser of one episode may send to its sites.
        snapshots: number of snapshots of one episode.
        log: number of requests in the log of one episode.

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
