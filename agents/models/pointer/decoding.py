"""Sessions: the decoding of a pointer policy's actions as a sequence of questions with candidates.

A session asks one question for the action, and two for each piece of the action's text, if it has one. The policy answers with samples from
its network. `expert_decisions` answers with an expert's action, so that demonstrations have the same candidates as rollouts.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy
from numpy.typing import NDArray

from agents.data.trajectories import Step, Trajectory
from agents.data.workflows import WorkflowStep, names_of, workflow_step
from agents.models.pointer.computing import decompose
from agents.models.pointer.goals import parse_goal, words_of
from agents.models.pointer.memory import Retrieval, Situation
from agents.models.pointer.pages import Floats, Ids, parse_page, path_of
from agents.models.pointer.reader import (
    CONSTANTS,
    JOINERS,
    PIECE_NUMBERS,
    PIECE_SLOTS,
    SOURCES,
    CandidateAction,
    FeatureRows,
    Reader,
    make_action,
)
from webarena_gym.actions import Action, Kind

ACTION, PIECE, JOIN = 0, 1, 2
"""Stages of a reply: the action, the next piece of its text, and the end of the text or the joint to another piece."""
_MAX_PIECES = 16  # pieces of a text
_MAX_LENGTH = 4_000  # characters of a text
_NEXT = "next"
_ENDINGS = (None, _NEXT, *(text for text in CONSTANTS if text in JOINERS))
"""Candidates of the stage JOIN: end of the text, another piece without a joint, or one of these texts and then a piece."""


class Context(NamedTuple):
    """Features of a question that all its candidates share: text ids (CONTEXT_SLOTS,) and numbers (CONTEXT_NUMBERS,)."""

    slots: Ids
    numbers: Floats


class Question(NamedTuple):
    """A choice of one of N candidates: features of the context and the candidates, and the candidates themselves.

    A candidate is an action in stage ACTION, a text in stage PIECE, and a continuation (see `_ENDINGS`) in stage JOIN. `retrieval` holds the
    retrieved steps for stage ACTION if the reader has a memory.
    """

    stage: int
    context: Context
    rows: FeatureRows
    candidates: Sequence[CandidateAction | str | None]
    retrieval: Retrieval | None = None


class Decision(NamedTuple):
    """A question and the indices of its correct candidates."""

    question: Question
    correct: tuple[int, ...]


class _PastAction(NamedTuple):
    candidate: CandidateAction
    label_id: int  # text id of the kind and label
    path: str
    argument: str


@dataclass(frozen=True, slots=True)
class _TextBuilder:
    """Creates the questions for a text from its N pieces and the indices of the pieces chosen so far."""

    candidate: CandidateAction
    context: Context
    texts: list[str]
    rows: FeatureRows
    lines: Ids
    pages: Ids

    def piece_question(self, chosen: Sequence[int]) -> Question:
        """Return the question for the next piece."""
        rows, lines = self.rows, self.lines
        context = self._context(chosen)
        if not chosen:
            return Question(PIECE, context, rows, self.texts)
        numbers, last = rows.numbers.copy(), chosen[-1]
        is_same_page = self.pages == self.pages[last]
        numbers[:, -3] = is_same_page & (lines == lines[last])
        is_later = is_same_page & self._is_similar_and_later(last)
        numbers[:, -2] = 0.3 * is_later
        if is_later.any():
            numbers[is_later & (lines == lines[is_later].min()), -2] = 1.0
        numbers[list(chosen), -1] = 1.0
        return Question(PIECE, context, FeatureRows(rows.slots, numbers), self.texts)

    def join_question(self, chosen: Sequence[int], endings: FeatureRows) -> Question:
        """Return the question for the continuation after the newest chosen piece."""
        context, last = self._context(chosen), chosen[-1]
        has_later = (self.pages == self.pages[last]) & self._is_similar_and_later(last)
        context.numbers[-3] = float(has_later.any() and self.lines[last] >= 0)
        return Question(JOIN, context, endings, _ENDINGS)

    def _is_similar_and_later(self, last: int) -> NDArray[numpy.bool_]:
        """Return a mask (N,) of the pieces on a later line than piece `last`, with the same kind and table column."""
        slots = self.rows.slots
        is_later: NDArray[numpy.bool_] = (
            (self.lines > self.lines[last]) & (slots[:, 7] == slots[last, 7]) & (slots[:, 6] == slots[last, 6])
        )
        return is_later

    def _context(self, chosen: Sequence[int]) -> Context:
        slots, numbers = self.context.slots.copy(), self.context.numbers.copy()
        slots[8] = self.rows.slots[chosen[-1], 7] if chosen else 0
        numbers[-4] = min(len(chosen), 6) / 6
        return Context(slots, numbers)


class Session:
    """One episode: its goal, and the pages and actions so far.

    Sessions of one reader with equal histories share their `Question` objects.
    """

    def __init__(self, reader: Reader, goal: str) -> None:
        self.reader = reader
        self._goal = goal
        self._pages: list[str] = []
        self._history: list[_PastAction] = []
        self._endings = FeatureRows(
            numpy.zeros((len(_ENDINGS), PIECE_SLOTS), numpy.int32), numpy.zeros((len(_ENDINGS), PIECE_NUMBERS), numpy.float32)
        )
        for index, ending in enumerate(_ENDINGS):
            label = f"#join_{CONSTANTS.index(ending) if ending in CONSTANTS else _NEXT}"
            self._endings.slots[index, 7] = reader.texts("#end" if ending is None else label)
            self._endings.numbers[index, SOURCES.index("end" if ending is None else "constant")] = 1.0
        self._state = goal.encode()  # the goal, and later a digest of all pages and choices

    def reply(self, text: str, *, has_error: bool) -> Generator[Question, int, Action]:
        """Yield the questions for one action on a page, receive the index of a candidate for each, and return the action.

        `text` is the page's text, and `has_error` is True if the previous action failed.
        """
        state = self._state = _digest(self._state, text.encode("utf-8", "surrogatepass"), b"!" if has_error else b"")
        question = self.reader.questions((state, ACTION), lambda: self._action_question(text, has_error=has_error))
        index = yield question
        self._state = _digest(state, str(index).encode())
        candidate = question.candidates[index]
        assert isinstance(candidate, CandidateAction)
        self._pages.append(text)
        argument = ""
        if candidate.takes_text:
            argument = yield from self._build_text(candidate, question.context, state)
        elif candidate.kind == "option":
            argument = candidate.argument
        label = f"{candidate.kind} {candidate.argument if candidate.kind == 'option' else candidate.label}"
        path = path_of(parse_page(text).url)
        self._history.append(_PastAction(candidate, self.reader.texts(f"#{label}"), path, argument))
        self._state = _digest(self._state, argument.encode("utf-8", "surrogatepass"))
        return make_action(candidate, argument)

    def labelled_actions(self) -> list[tuple[Action, str]]:
        """Return the actions so far, each with the label of its element."""
        return [(make_action(past.candidate, past.argument), past.candidate.label) for past in self._history]

    def _action_question(self, text: str, *, has_error: bool) -> Question:
        """Return the question for the action on a page."""
        candidates, rows = self.reader.candidates(self._goal, text)
        slots, numbers = rows.slots, rows.numbers.copy()
        path = path_of(parse_page(text).url)
        labels_on_path = numpy.array([past.label_id for past in self._history if past.path == path], numpy.int32)
        numbers[:, -8] = numpy.isin(slots[:, 4], labels_on_path)
        numbers[:, -7] = numpy.isin(slots[:, 4], [past.label_id for past in self._history])
        numbers[:, -6] = slots[:, 4] == (self._history[-1].label_id if self._history else -1)
        numbers[:, -5] = slots[:, 4] == (self._history[-2].label_id if len(self._history) > 1 else -1)
        if self._pages:
            _, previous = self.reader.candidates(self._goal, self._pages[-1])
            numbers[:, -4] = numpy.isin(slots[:, 4], previous.slots[:, 4])
        typed_ids = [self.reader.texts(past.argument) for past in self._history if past.argument]
        numbers[:, -3] = numpy.isin(slots[:, 0], typed_ids)
        numbers[:, -2] = numpy.isin(slots[:, 3], typed_ids) & (slots[:, 3] != 0)
        if self._history:
            numbers[:, -1] = numpy.isin(slots[:, 4], [past.label_id for past in self._history[-4:]])
        is_same = bool(self._pages) and self._pages[-1] == text
        context = self._context(text, has_error=has_error, is_same=is_same)
        memory, retrieval = self.reader.memory, None
        if memory is not None:
            retrieval = memory.look_up(self.situation(text), self.reader.candidate_ids(self._goal, text))
        return Question(ACTION, context, FeatureRows(slots, numbers), candidates, retrieval)

    def situation(self, text: str) -> Situation:
        """Return the key of a memory look-up on a page."""
        if not self._history:
            return Situation(self._goal, text, WorkflowStep(""))
        past = self._history[-1]
        previous = workflow_step(make_action(past.candidate, past.argument), past.candidate.label, names_of(self._goal))
        return Situation(self._goal, text, previous)

    def _build_text(self, candidate: CandidateAction, context: Context, state: bytes) -> Generator[Question, int, str]:
        """Yield the questions for the text of an action, piece by piece, and return the text."""
        questions, key = self.reader.questions, (state, candidate.kind, candidate.label)

        def create_builder() -> _TextBuilder:
            texts, rows, lines, pages = self.reader.pieces(self._goal, self._pages, candidate.label)
            numbers = rows.numbers
            text_ids = rows.slots[:, 0]
            typed_ids = [self.reader.texts(past.argument) for past in self._history if past.argument]
            numbers[:, -5] = numpy.isin(text_ids, typed_ids) & (text_ids != 0)
            values = [self.reader.texts(control.value) for control in parse_page(self._pages[-1]).controls if control.value]
            numbers[:, -4] = numpy.isin(text_ids, values) & (text_ids != 0)
            slots = context.slots.copy()
            slots[7] = self.reader.texts(f"#{candidate.kind} {candidate.label}")
            return _TextBuilder(candidate, Context(slots, context.numbers), texts, rows, lines, pages)

        builder = questions(key, create_builder)
        chosen: tuple[int, ...] = ()
        result, count = "", 0
        while True:
            index = yield questions((*key, PIECE, chosen), partial(builder.piece_question, chosen))
            piece = builder.texts[index]
            result += piece
            count += 1
            if count >= _MAX_PIECES or len(result) > _MAX_LENGTH:
                return result
            if piece not in JOINERS:
                chosen = (*chosen, index)
                answer = yield questions((*key, JOIN, chosen), partial(builder.join_question, chosen, self._endings))
                ending = _ENDINGS[answer]
                if ending is None:
                    return result
                result += "" if ending == _NEXT else ending

    def _context(self, text: str, *, has_error: bool, is_same: bool) -> Context:
        page = parse_page(text)
        texts, history = self.reader.texts, self._history
        goal = parse_goal(self._goal)
        last = [past.label_id for past in reversed(history[-3:])] + [0, 0, 0]
        labels = " ".join(dict.fromkeys(f"#did_{'_'.join(words_of(past.candidate.label)[:3])}" for past in history))
        slots = [
            texts("\x02" + self._goal), texts(path_of(page.url).replace("/", " ") + " #host_" + urlsplit(page.url).netloc),
            texts(page.title), *last[:3], texts(labels), 0, texts(" ".join(page.notices)),
        ]  # fmt: skip
        used_words = {word for past in history for word in words_of(f"{past.argument} {past.candidate.label}")}
        numbers = [
            min(len(history), 20) / 20, float(has_error), len(page.tabs) / 3,
            next((index for index, tab in enumerate(page.tabs) if tab[1]), 0) / 3,
            float(is_same), len(set(self._pages)) / 10, len(goal.names & used_words) / max(len(goal.names), 1), float(not history), *self.reader.goal_presence(self._goal, text), 0.0, 0.0,
            float(page.has_below), float(page.has_above),
        ]  # fmt: skip
        return Context(numpy.array(slots, numpy.int32), numpy.array(numbers, numpy.float32))


def expert_decisions(session: Session, text: str, action: Action, *, has_error: bool) -> tuple[list[Decision], bool]:
    """Return the decisions that produce an action on a page, and whether they produce all of it.

    If several candidates have the same text, all of them are correct. If the action is not a candidate, there are no decisions. If its
    text cannot be built from pieces, the decision about the action is the only one.
    """
    decisions: list[Decision] = []
    questions = session.reply(text, has_error=has_error)
    answers: list[str | None] | None = None
    question = next(questions)
    while True:
        if question.stage == ACTION:
            correct = tuple(
                index
                for index, candidate in enumerate(question.candidates)
                if isinstance(candidate, CandidateAction) and _produces(candidate, action)
            )
        else:
            if answers is None:
                pieces = {piece for piece in question.candidates if isinstance(piece, str)}
                parts_of_text, literals = decompose(action.argument or "", pieces - set(CONSTANTS), CONSTANTS)
                answers = [] if literals else _expected_answers(parts_of_text)
            expected = answers.pop(0) if answers else "\x00"
            correct = tuple(index for index, candidate in enumerate(question.candidates) if candidate == expected)
        if not correct:
            return decisions, False
        decisions.append(Decision(question, correct))
        try:
            question = questions.send(correct[0])
        except StopIteration:
            return decisions, True


def _expected_answers(parts: Sequence[str]) -> list[str | None]:
    """Return the candidates to choose, alternating between pieces and joints, to build a text from its parts."""
    answers: list[str | None] = []
    for index, part in enumerate(parts):
        if index and parts[index - 1] not in JOINERS:
            if part in JOINERS:
                answers.append(part)
                continue
            answers.append(_NEXT)
        answers.append(part)
    return [*answers, None]


def _produces(candidate: CandidateAction, action: Action) -> bool:
    """Return True if a candidate produces an action once its text, if it takes one, is correct."""
    if action.kind is Kind.EXIT:
        return candidate.kind == {"": "done", "N/A": "n/a"}.get(action.argument or "", "answer")
    return make_action(candidate, action.argument or "") == action


def _digest(state: bytes, *parts: bytes) -> bytes:
    digest = blake2b(state, digest_size=24)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


class Choice(NamedTuple):
    """A question and the index of the chosen candidate."""

    question: Question
    candidate_index: int


def trajectory_choices(reader: Reader, trajectory: Trajectory) -> list[list[Choice]]:
    """Return the choices of each step of a trajectory. Raises ValueError as `replay_steps` does."""
    return replay_steps(Session(reader, trajectory.goal), trajectory.steps)


def replay_steps(session: Session, steps: Sequence[Step]) -> list[list[Choice]]:
    """Replay the steps of an episode in a new session, and return the choices of each step.

    The indices of the chosen candidates are the step's `response_ids`.

    Raises:
        ValueError: The `response_ids` of a step do not answer the session's questions.

    """
    has_error = False
    choices_by_step: list[list[Choice]] = []
    for number, step in enumerate(steps):
        choices: list[Choice] = []
        questions = session.reply(step.page, has_error=has_error)
        question: Question | None = next(questions)
        for index in step.response_ids:
            if question is None or index >= len(question.candidates):
                break
            choices.append(Choice(question, index))
            try:
                question = questions.send(index)
            except StopIteration:
                question = None
        if question is not None or len(choices) != len(step.response_ids):
            raise ValueError(f"step {number} of the episode was not produced by a pointer policy: {step.reply!r}")
        choices_by_step.append(choices)
        has_error = bool(step.action_error)
    return choices_by_step
