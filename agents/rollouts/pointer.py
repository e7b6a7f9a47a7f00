"""The pointing policy at play: sessions ask, the network scores, and a choice is drawn for each question."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy
import torch

from agents.data.trajectories import Candidate, Step
from agents.data.workflows import Workflow, WorkflowMemory, is_same_step, names_of, next_step, workflow_step
from agents.models.pointer.decoding import ACTION, Question, Session, replay_steps
from agents.models.pointer.network import PointerEnsemble, PointerNetwork, Vocabulary
from agents.models.pointer.reader import CandidateAction, Reader, SharedReader, action_and_label, describe_action
from agents.rollouts.policies import Reply, Request
from webarena_gym.actions import Action, Dialect

_CANDIDATES = 8_000  # scored at once
_TOLD = 10  # candidates of a step, where the policy is traced
_ADVICE = 3.0  # nats by which a workflow's next deed is more likely

LogProbs = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float32]]


@dataclass
class _Pending:
    request: Request
    reader: Reader
    session: Generator[Question, int, Action]
    question: Question
    rng: numpy.random.Generator | None
    places: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    candidates: tuple[Candidate, ...] = ()


@dataclass
class PointerPolicy:
    """A pointing network as a policy. At temperature 0 it takes the best candidate of each question.

    A reply's `response_ids` are the places of its choices, its `prompt_ids` a digest of the state: the goal, the page and all
    earlier replies. It counts its replies and their choices, which are the tokens that it generates.
    """

    network: PointerNetwork | PointerEnsemble
    vocabulary: Vocabulary
    dialect: Dialect
    temperature: float = 0.0
    readers: SharedReader = field(default_factory=SharedReader)
    version: int = 0
    replied: int = 0
    generated_tokens: int = 0
    cpu_s: float = 0.0  # CPU time in other processes: none
    memory: WorkflowMemory | None = None  # of workflows, whose next deeds are preferred
    labels: Callable[[str, str], str] | None = None  # reads unknown labels of pages as known ones
    traced: bool = False  # whether replies tell the most probable candidates, and what each choice says
    _workflows: dict[int, Workflow] = field(default_factory=dict)  # by slot
    _sessions: dict[int, Session] = field(default_factory=dict)
    _states: dict[int, bytes] = field(default_factory=dict)  # by slot
    _waiting: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._use_memory()

    def ask(self, requests: Sequence[Request]) -> None:
        self._waiting += requests

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:  # noqa: ARG002 - nobody else works meanwhile
        waiting, self._waiting = self._waiting, []
        pending = [self._begin(request) for request in waiting]
        found: list[tuple[int, Reply]] = []
        while pending:
            found += self._turn(pending)
            pending = [item for item in pending if item.question.stage >= 0]
        return found

    def load(self, network: PointerNetwork, version: int) -> None:
        """Reply with the parameters of this network from now on. Episodes under way keep their readers."""
        self.network, self.version = network, version
        self._use_memory()
        self.readers.limit_texts()

    def resume(self, slot: int, goal: str, steps: Sequence[Step]) -> None:
        """Let a slot hold an episode that has come so far. Raises ValueError for steps of another policy."""
        session, state = Session(self.readers.current, goal), goal.encode()
        replay_steps(session, [replace(step, page=self._read(goal, step.page)) for step in steps] if self.labels else steps)
        for step in steps:
            state = _after(_after(state, step.page), step.reply)
        self._sessions[slot], self._states[slot] = session, state
        self._workflows.pop(slot, None)

    def close(self) -> None:
        """Do nothing, as there is nothing to release."""

    def _use_memory(self) -> None:
        if isinstance(self.network, PointerNetwork):
            self.readers.set_memory(self.network.memory)

    def _read(self, goal: str, page: str) -> str:
        return self.labels(goal, page) if self.labels else page

    def _begin(self, request: Request) -> _Pending:
        info, slot = request.info, request.slot
        if request.history is not None or info["step"] == 0:
            self.resume(slot, info["goal"], request.history or ())
            if self.memory and (
                found := self.memory.find(info["goal"], request.history[0].page if request.history else info["page"])
            ):
                self._workflows[slot] = found[0]
        self._states[slot] = _after(self._states[slot], info["page"])
        page = self._read(info["goal"], info["page"])
        session = self._sessions[slot].reply(page, has_error=bool(info["action_error"]))
        rng = numpy.random.default_rng(request.seed) if self.temperature else None
        return _Pending(request, self._sessions[slot].reader, session, next(session), rng)

    def _turn(self, pending: list[_Pending]) -> list[tuple[int, Reply]]:
        """Answer one question of each, and return the replies that are whole."""
        done: list[tuple[int, Reply]] = []
        for stage in (0, 1, 2):
            own = [item for item in pending if item.question.stage == stage]
            for part in _parted(own):
                distinct = {id(item.question): item.question for item in part}
                with torch.no_grad():
                    scores = self.network(list(distinct.values()), part[0].reader.texts, self.vocabulary)
                    logprobs = [values.numpy() for values in scores.logprobs(self.temperature or 1.0)]
                of_question = dict(zip(distinct, logprobs, strict=True))
                for item in part:
                    done += self._choose(item, self._advised(item, of_question[id(item.question)]))
        return done

    def _advised(self, item: _Pending, logprobs: LogProbs) -> LogProbs:
        """Return the log-probabilities with more weight on the acts that the episode's workflow does next."""
        workflow = self._workflows.get(item.request.slot)
        if workflow is None or item.question.stage != ACTION:
            return logprobs
        names = names_of(item.request.info["goal"])
        done = [workflow_step(action, label, names) for action, label in self._sessions[item.request.slot].labelled_actions()]
        wanted = next_step(workflow, done)
        offered = (
            workflow_step(*action_and_label(act), names) for act in item.question.candidates if isinstance(act, CandidateAction)
        )
        is_wanted = numpy.array([wanted is not None and is_same_step(deed, wanted) for deed in offered])
        advised = logprobs + numpy.float32(_ADVICE) * is_wanted.astype(numpy.float32)
        normalised: LogProbs = advised - numpy.logaddexp.reduce(advised)
        return normalised

    def _choose(self, item: _Pending, logprobs: LogProbs) -> list[tuple[int, Reply]]:
        noise = 0.0 if item.rng is None else item.rng.gumbel(size=len(logprobs))
        place = int((logprobs + noise).argmax())
        self.generated_tokens += 1
        item.places.append(place)
        item.logprobs.append(float(logprobs[place]))
        if self.traced:
            meanings = item.question.candidates
            chosen = meanings[place]
            item.tokens.append(
                describe_action(chosen) if isinstance(chosen, CandidateAction) else chosen if chosen is not None else "(end)"
            )
            if item.question.stage == ACTION:
                best = numpy.argsort(-logprobs, kind="stable")[:_TOLD]
                item.candidates = tuple(
                    Candidate(describe_action(act), float(numpy.exp(logprobs[rank])), act.element or None)
                    for rank in best
                    if isinstance(act := meanings[rank], CandidateAction)
                )
        try:
            item.question = item.session.send(place)
        except StopIteration as end:
            item.question = item.question._replace(stage=-1)
            self.replied += 1
            text, slot = self.dialect.format(end.value), item.request.slot
            state = tuple(numpy.frombuffer(self._states[slot], numpy.int32).tolist())
            self._states[slot] = _after(self._states[slot], text)
            reply = Reply(
                text, state, tuple(item.places), tuple(item.logprobs),
                policy_version=self.version, tokens=tuple(item.tokens), candidates=item.candidates,
            )  # fmt: skip
            return [(slot, reply)]
        return []


def _after(state: bytes, text: str) -> bytes:
    """Return the digest of a state to which a page or a reply was added."""
    return blake2b(state + b"\0" + text.encode(), digest_size=24).digest()


def _parted(items: Sequence[_Pending]) -> list[list[_Pending]]:
    """Return the items in parts of some thousands of candidates, each of one reader."""
    parts: list[list[_Pending]] = []
    room = 0
    for item in items:
        count = len(item.question.rows.slots)
        if count > room or not parts or parts[-1][0].reader is not item.reader:
            parts.append([])
            room = _CANDIDATES
        parts[-1].append(item)
        room -= count
    return parts
