"""The pointer policy: for each question of a session, the network scores the candidates and one is sampled."""

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

_CANDIDATES_PER_PASS = 8_000  # candidates in one forward pass, unless one question has more
_TRACED_CANDIDATES = 10  # candidates recorded for a step, if the policy is traced
_WORKFLOW_BONUS = 3.0  # added to the log-probability of a workflow's next action

LogProbs = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float32]]


@dataclass
class _PendingReply:
    """A reply whose questions are being answered."""

    request: Request
    reader: Reader
    session: Generator[Question, int, Action]
    question: Question
    rng: numpy.random.Generator | None
    indices: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    candidates: tuple[Candidate, ...] = ()


@dataclass
class PointerPolicy:
    """A pointer network as a policy. At temperature 0 it selects the best candidate of each question.

    The `response_ids` of a reply are the indices of the chosen candidates. Its `prompt_ids` are a digest of the goal, the pages and the
    earlier replies. `generated_tokens` counts the choices.
    """

    network: PointerNetwork | PointerEnsemble
    vocabulary: Vocabulary
    dialect: Dialect
    temperature: float = 0.0
    readers: SharedReader = field(default_factory=SharedReader)
    version: int = 0
    reply_count: int = 0
    generated_tokens: int = 0
    cpu_s: float = 0.0  # CPU time in other processes, which are not used
    memory: WorkflowMemory | None = None  # workflows, whose next actions are preferred
    labels: Callable[[str, str], str] | None = None  # replaces unknown labels of a page; see `create_label_matcher`
    traced: bool = False  # whether replies include the most probable candidates and a description of each choice
    _workflows: dict[int, Workflow] = field(default_factory=dict)  # by slot
    _sessions: dict[int, Session] = field(default_factory=dict)
    _states: dict[int, bytes] = field(default_factory=dict)  # by slot
    _waiting: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._use_memory()

    def ask(self, requests: Sequence[Request]) -> None:
        self._waiting += requests

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:  # noqa: ARG002 - the work is done here, without waiting
        waiting, self._waiting = self._waiting, []
        pending = [self._start_reply(request) for request in waiting]
        replies: list[tuple[int, Reply]] = []
        while pending:
            replies += self._answer_questions(pending)
            pending = [item for item in pending if item.question.stage >= 0]
        return replies

    def load(self, network: PointerNetwork, version: int) -> None:
        """Set the network. Active episodes keep their readers."""
        self.network, self.version = network, version
        self._use_memory()
        self.readers.limit_texts()

    def resume(self, slot: int, goal: str, steps: Sequence[Step]) -> None:
        """Set the episode of a slot to one with these earlier steps. Raises ValueError for steps of another policy."""
        session, state = Session(self.readers.current, goal), goal.encode()
        replay_steps(
            session, [replace(step, page=self._match_labels(goal, step.page)) for step in steps] if self.labels else steps
        )
        for step in steps:
            state = _extend_digest(_extend_digest(state, step.page), step.reply)
        self._sessions[slot], self._states[slot] = session, state
        self._workflows.pop(slot, None)

    def close(self) -> None:
        """Do nothing, since there is nothing to release."""

    def _use_memory(self) -> None:
        if isinstance(self.network, PointerNetwork):
            self.readers.set_memory(self.network.memory)

    def _match_labels(self, goal: str, page: str) -> str:
        return self.labels(goal, page) if self.labels else page

    def _start_reply(self, request: Request) -> _PendingReply:
        info, slot = request.info, request.slot
        if request.history is not None or info["step"] == 0:
            self.resume(slot, info["goal"], request.history or ())
            if self.memory and (
                workflows := self.memory.find(info["goal"], request.history[0].page if request.history else info["page"])
            ):
                self._workflows[slot] = workflows[0]
        self._states[slot] = _extend_digest(self._states[slot], info["page"])
        page = self._match_labels(info["goal"], info["page"])
        session = self._sessions[slot].reply(page, has_error=bool(info["action_error"]))
        rng = numpy.random.default_rng(request.seed) if self.temperature else None
        return _PendingReply(request, self._sessions[slot].reader, session, next(session), rng)

    def _answer_questions(self, pending: list[_PendingReply]) -> list[tuple[int, Reply]]:
        """Answer the current question of each pending reply, and return the complete replies."""
        replies: list[tuple[int, Reply]] = []
        for stage in (0, 1, 2):
            stage_items = [item for item in pending if item.question.stage == stage]
            for batch in _split_by_size(stage_items):
                questions = {id(item.question): item.question for item in batch}
                with torch.no_grad():
                    scores = self.network(list(questions.values()), batch[0].reader.texts, self.vocabulary)
                    logprobs = [values.numpy() for values in scores.logprobs(self.temperature or 1.0)]
                logprobs_by_question = dict(zip(questions, logprobs, strict=True))
                for item in batch:
                    replies += self._choose(item, self._apply_workflow(item, logprobs_by_question[id(item.question)]))
        return replies

    def _apply_workflow(self, item: _PendingReply, logprobs: LogProbs) -> LogProbs:
        """Return log-probabilities with a bonus for candidates that match the next action of the episode's workflow."""
        workflow = self._workflows.get(item.request.slot)
        if workflow is None or item.question.stage != ACTION:
            return logprobs
        names = names_of(item.request.info["goal"])
        past_steps = [
            workflow_step(action, label, names) for action, label in self._sessions[item.request.slot].labelled_actions()
        ]
        next_action = next_step(workflow, past_steps)
        candidate_steps = (
            workflow_step(*action_and_label(candidate), names)
            for candidate in item.question.candidates
            if isinstance(candidate, CandidateAction)
        )
        is_next = numpy.array([next_action is not None and is_same_step(step, next_action) for step in candidate_steps])
        adjusted = logprobs + numpy.float32(_WORKFLOW_BONUS) * is_next.astype(numpy.float32)
        normalised: LogProbs = adjusted - numpy.logaddexp.reduce(adjusted)
        return normalised

    def _choose(self, item: _PendingReply, logprobs: LogProbs) -> list[tuple[int, Reply]]:
        """Sample the answer to the current question. Return the slot and reply if the reply is complete, or an empty list."""
        noise = 0.0 if item.rng is None else item.rng.gumbel(size=len(logprobs))
        index = int((logprobs + noise).argmax())
        self.generated_tokens += 1
        item.indices.append(index)
        item.logprobs.append(float(logprobs[index]))
        if self.traced:
            candidates = item.question.candidates
            candidate_action = candidates[index]
            item.tokens.append(
                describe_action(candidate_action)
                if isinstance(candidate_action, CandidateAction)
                else candidate_action
                if candidate_action is not None
                else "(end)"
            )
            if item.question.stage == ACTION:
                best = numpy.argsort(-logprobs, kind="stable")[:_TRACED_CANDIDATES]
                item.candidates = tuple(
                    Candidate(describe_action(candidate), float(numpy.exp(logprobs[rank])), candidate.element or None)
                    for rank in best
                    if isinstance(candidate := candidates[rank], CandidateAction)
                )
        try:
            item.question = item.session.send(index)
        except StopIteration as end:
            item.question = item.question._replace(stage=-1)
            self.reply_count += 1
            text, slot = self.dialect.format(end.value), item.request.slot
            state = tuple(numpy.frombuffer(self._states[slot], numpy.int32).tolist())
            self._states[slot] = _extend_digest(self._states[slot], text)
            reply = Reply(
                text, state, tuple(item.indices), tuple(item.logprobs),
                policy_version=self.version, tokens=tuple(item.tokens), candidates=item.candidates,
            )  # fmt: skip
            return [(slot, reply)]
        return []


def _extend_digest(state: bytes, text: str) -> bytes:
    """Return the digest of a state after a page or reply is added."""
    return blake2b(state + b"\0" + text.encode(), digest_size=24).digest()


def _split_by_size(items: Sequence[_PendingReply]) -> list[list[_PendingReply]]:
    """Split pending replies into batches for one forward pass, each with questions of one reader."""
    batches: list[list[_PendingReply]] = []
    remaining = 0
    for item in items:
        count = len(item.question.rows.slots)
        if count > remaining or not batches or batches[-1][0].reader is not item.reader:
            batches.append([])
            remaining = _CANDIDATES_PER_PASS
        batches[-1].append(item)
        remaining -= count
    return batches
