"""The data of an episode: its info dictionary, its state, and snapshots, which hold the state together with that of sites and browser."""

import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NotRequired, Self, TypedDict

from webarena_gym.errors import SnapshotError
from webarena_gym.evaluators.checklist import ChecklistInfo, Satisfied
from webarena_gym.observation.history import Message, Turn
from webarena_gym.tasks import Task
from webarena_gym.toolbox import ToolInfo, ToolUse


class Info(TypedDict):
    """The info dictionary of `reset` and `step`."""

    goal: str
    """the instruction of the task"""
    url: str
    """the URL of the current page"""
    page: str
    """the current page as text, without history"""
    messages: list[Message] | list[dict[str, Any]]
    """chat prompt of the next reply: the system prompt, then the content of the observation; with pictures, in OpenAI's multimodal format"""
    step: int
    """number of steps in this episode"""
    steps_left: NotRequired[int]
    """remaining steps of the step budget, if the task has one"""
    action_error: str
    """error message of the last action; "" if it succeeded"""
    task_id: str
    """the id of the task"""
    tools: NotRequired[ToolInfo]
    """calls of tools in this episode, if the env has tools"""
    checklist: NotRequired[list[ChecklistInfo]]
    """items of the task with `reward="checklist"` and "f1", and the steps at which they were satisfied"""
    answer_form: NotRequired[str]
    """instructions on the format of the answer, if the task declares the type of its answer"""
    success: NotRequired[bool]
    """at the end of an episode: True if the task was solved"""
    verdicts: NotRequired[list[dict[str, Any]]]
    """at the end: the fields of `evaluators.Verdict` of each check, and its reason"""
    side_effects: NotRequired[list[str]]
    """at the end, if all other checks passed: changes beyond the task"""
    site_errors: NotRequired[list[str]]
    """errors of the sites in this episode: exceptions of embedded sites, and responses of your application with a status of 500 or more"""
    replayed: NotRequired[int]
    """after `restore`: number of actions that were repeated, because the page could not be restored from its state"""
    failure: NotRequired[str]
    """description of an infrastructure failure that ended the episode"""


@dataclass
class Episode:
    """The state of a running episode, except that of its sites and browser."""

    task: Task
    goal: str
    turns: list[Turn] = field(default_factory=list)
    top: int = 0  # index of the first visible line of the page text
    action_error: str = ""
    is_over: bool = False
    max_steps: int | None = None  # step limit of `reset(options=...)`; the smaller one of this and the env's limit applies
    steps_left: int | None = None  # remaining steps of the step budget, if there is one; scrolling is free
    pictures: tuple[str, ...] = ()  # screenshots of the latest earlier pages, as data URLs, if the history includes pictures
    satisfied: Satisfied | None = field(default=None, repr=False)  # items of the checklist, if the reward is one
    tools: ToolUse | None = field(
        default=None, repr=False
    )  # if the env has tools; old snapshots are sealed by their repr without it


class Snapshot(NamedTuple("Snapshot", [("content", bytes), ("seal", bytes)])):
    """The complete state of an episode. It is small and picklable, and can be restored any number of times, in any env or process.

    The digest detects damage. It is not a signature and does not authenticate the snapshot, so restore only snapshots from sources that you
    trust.

    Attributes:
        content: pickle of the episode, the state of the sites and of the browser, the state of the random number generator, and those of
            wrappers.
        seal: SHA-256 digest of `content`.

    """

    __slots__ = ()

    def __new__(cls, *parts: Any) -> Self:
        """Return a snapshot from its content and seal, or from the four parts that earlier versions pickled."""
        if len(parts) != 4:
            return super().__new__(cls, *parts)
        *values, seal = parts
        try:
            representation = "Snapshot(episode={!r}, backend={!r}, random_state={!r}, seal=b'')".format(*values)
            is_intact = hashlib.sha256(representation.encode()).digest() == seal
        except Exception:  # noqa: BLE001 - damaged values may raise anything
            is_intact = False
        return cls.of(*values) if is_intact else super().__new__(cls, b"", b"")  # `unseal` raises SnapshotError for it

    @classmethod
    def of(cls, episode: Episode, backend: object, random_state: Mapping[str, Any], *wrappers: object) -> Self:
        """Return a snapshot that contains an episode, the states of a backend and of a numpy bit generator, and those of wrappers."""
        content = pickle.dumps((episode, backend, random_state, *wrappers), pickle.HIGHEST_PROTOCOL)
        return cls(content, hashlib.sha256(content).digest())

    def unseal(self) -> tuple[Episode, Any, Mapping[str, Any]]:
        """Return a new copy of the episode, the state of the backend, and the state of the bit generator.

        Raises:
            SnapshotError: if the content is damaged or was written by an incompatible version.

        """
        if not isinstance(self.content, bytes) or self.seal != hashlib.sha256(self.content).digest():
            raise SnapshotError(
                "the snapshot is damaged, or was saved by another version: its content does not match its digest"
            )
        try:
            episode, backend, random_state, *_ = pickle.loads(self.content)  # noqa: S301 - as trusted as the pickle that it came in
            # `replace` reads every field, and fails if an earlier version lacked one
            return replace(episode), backend, random_state
        except Exception as error:
            raise SnapshotError(f"the snapshot was saved by another version: {type(error).__name__}: {error}") from error

    def __repr__(self) -> str:
        content = f"{len(self.content):,} bytes" if isinstance(self.content, bytes) else repr(self.content)
        return f"{type(self).__name__}(content=<{content}>, seal={self.seal!r})"

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

    @property
    def wrappers(self) -> tuple[Any, ...]:
        """The states of wrappers with a state of their own, such as `candidates.CandidateActions`; empty in a snapshot of the env itself."""
        self.unseal()  # raises SnapshotError
        return tuple(pickle.loads(self.content)[3:])  # noqa: S301 - as in `unseal`
