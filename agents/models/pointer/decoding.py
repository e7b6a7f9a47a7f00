"""Sessions: one episode of a pointing policy, as questions with candidates; whoever answers them makes actions.

The policy answers with what its network draws, the oracle with what an expert did, so that both see the same candidates.
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
from agents.data.workflows import WorkflowStep, deed_of, names_of
from agents.models.pointer.computing import derive
from agents.models.pointer.goals import read_goal, words_of
from agents.models.pointer.memory import Recalled, Situation
from agents.models.pointer.pages import Floats, Ids, path_of, read_page
from agents.models.pointer.reader import CONSTANTS, JOINERS, PIECE_NUMBERS, PIECE_SLOTS, SOURCES, Act, Reader, Rows, make_action
from webarena_gym.actions import Action, Kind

ACT, PIECE, JOIN = 0, 1, 2
"""Stages of a reply: the act, the next piece of its text, and the end of the text or the joint to another piece."""
_MAX_PIECES = 16  # of a text
_MAX_LENGTH = 4_000  # characters of a text
_NEXT = "next"
_ENDINGS = (None, _NEXT, *(text for text in CONSTANTS if text in JOINERS))
"""Continuations of a piece: nothing, another piece at once, or one of these texts and then a piece."""


class Context(NamedTuple):
    """Text ids and numbers that all candidates of a question share."""

    slots: Ids
    numbers: Floats


class Question(NamedTuple):
    """Candidates to choose one of, what they mean, and what a memory of steps has for them: for acts, where the reader has one."""

    stage: int
    context: Context
    rows: Rows
    meanings: Sequence[Act | str | None]
    recalled: Recalled | None = None


class Decision(NamedTuple):
    """A question, and the candidates that are right answers."""

    question: Question
    right: tuple[int, ...]


class _Done(NamedTuple):
    act: Act
    named: int  # text id of the kind and label
    path: str
    argument: str


@dataclass(frozen=True, slots=True)
class _Building:
    """The pieces of a text that is built, with all but what has been chosen so far."""

    act: Act
    context: Context
    texts: list[str]
    rows: Rows
    lines: Ids
    pages: Ids

    def piece(self, chosen: Sequence[int]) -> Question:
        """Return the question for the piece after those that were chosen."""
        rows, lines = self.rows, self.lines
        context = self._context(chosen)
        if not chosen:
            return Question(PIECE, context, rows, self.texts)
        numbers, last = rows.numbers.copy(), chosen[-1]
        near = self.pages == self.pages[last]
        numbers[:, -3] = near & (lines == lines[last])
        after = near & self._like(last)
        numbers[:, -2] = 0.3 * after
        if after.any():
            numbers[after & (lines == lines[after].min()), -2] = 1.0
        numbers[list(chosen), -1] = 1.0
        return Question(PIECE, context, Rows(rows.slots, numbers), self.texts)

    def join(self, chosen: Sequence[int], endings: Rows) -> Question:
        """Return the question for what follows the newest of the chosen pieces."""
        context, last = self._context(chosen), chosen[-1]
        follows = (self.pages == self.pages[last]) & self._like(last)
        context.numbers[-3] = float(follows.any() and self.lines[last] >= 0)
        return Question(JOIN, context, endings, _ENDINGS)

    def _like(self, last: int) -> NDArray[numpy.bool_]:
        """Return which pieces are of the kind and column of the last one, on a later line."""
        slots = self.rows.slots
        found: NDArray[numpy.bool_] = (
            (self.lines > self.lines[last]) & (slots[:, 7] == slots[last, 7]) & (slots[:, 6] == slots[last, 6])
        )
        return found

    def _context(self, chosen: Sequence[int]) -> Context:
        slots, numbers = self.context.slots.copy(), self.context.numbers.copy()
        slots[8] = self.rows.slots[chosen[-1], 7] if chosen else 0
        numbers[-4] = min(len(chosen), 6) / 6
        return Context(slots, numbers)


class Session:
    """One episode: the goal, the pages so far and what was done on them. Equal sessions of a reader ask the very same questions."""

    def __init__(self, reader: Reader, goal: str) -> None:
        self.reader = reader
        self._goal = goal
        self._texts: list[str] = []
        self._done: list[_Done] = []
        self._endings = Rows(
            numpy.zeros((len(_ENDINGS), PIECE_SLOTS), numpy.int32), numpy.zeros((len(_ENDINGS), PIECE_NUMBERS), numpy.float32)
        )
        for place, ending in enumerate(_ENDINGS):
            named = f"#join_{CONSTANTS.index(ending) if ending in CONSTANTS else _NEXT}"
            self._endings.slots[place, 7] = reader.texts("#end" if ending is None else named)
            self._endings.numbers[place, SOURCES.index("end" if ending is None else "constant")] = 1.0
        self._state = goal.encode()  # a digest of what was seen and done

    def reply(self, text: str, *, has_error: bool) -> Generator[Question, int, Action]:
        """Ask what to do on a page, and return the action that the answers make; an answer is the place of a candidate."""
        state = self._state = _digest(self._state, text.encode("utf-8", "surrogatepass"), b"!" if has_error else b"")
        question = self.reader.questions((state, ACT), lambda: self._ask(text, has_error=has_error))
        place = yield question
        self._state = _digest(state, str(place).encode())
        act = question.meanings[place]
        assert isinstance(act, Act)
        self._texts.append(text)
        argument = ""
        if act.takes_text:
            argument = yield from self._build(act, question.context, state)
        elif act.kind == "option":
            argument = act.argument
        named = f"{act.kind} {act.argument if act.kind == 'option' else act.label}"
        path = path_of(read_page(text).url)
        self._done.append(_Done(act, self.reader.texts(f"#{named}"), path, argument))
        self._state = _digest(self._state, argument.encode("utf-8", "surrogatepass"))
        return make_action(act, argument)

    def deeds(self) -> list[tuple[Action, str]]:
        """Return the actions so far, each with the label of its element."""
        return [(make_action(done.act, done.argument), done.act.label) for done in self._done]

    def _ask(self, text: str, *, has_error: bool) -> Question:
        """Return the question what to do on a page."""
        acts, rows = self.reader.acts(self._goal, text)
        slots, numbers = rows.slots, rows.numbers.copy()
        path = path_of(read_page(text).url)
        here = numpy.array([done.named for done in self._done if done.path == path], numpy.int32)
        numbers[:, -8] = numpy.isin(slots[:, 4], here)
        numbers[:, -7] = numpy.isin(slots[:, 4], [done.named for done in self._done])
        numbers[:, -6] = slots[:, 4] == (self._done[-1].named if self._done else -1)
        numbers[:, -5] = slots[:, 4] == (self._done[-2].named if len(self._done) > 1 else -1)
        if self._texts:
            _, before = self.reader.acts(self._goal, self._texts[-1])
            numbers[:, -4] = numpy.isin(slots[:, 4], before.slots[:, 4])
        typed = [self.reader.texts(done.argument) for done in self._done if done.argument]
        numbers[:, -3] = numpy.isin(slots[:, 0], typed)
        numbers[:, -2] = numpy.isin(slots[:, 3], typed) & (slots[:, 3] != 0)
        if self._done:
            numbers[:, -1] = numpy.isin(slots[:, 4], [done.named for done in self._done[-4:]])
        is_same = bool(self._texts) and self._texts[-1] == text
        context = self._context(text, has_error=has_error, is_same=is_same)
        memory, recalled = self.reader.memory, None
        if memory is not None:
            recalled = memory.look_up(self.situation(text), self.reader.offered(self._goal, text))
        return Question(ACT, context, Rows(slots, numbers), acts, recalled)

    def situation(self, text: str) -> Situation:
        """Return what a memory is looked up by on a page."""
        names, done = names_of(self._goal), self._done[-1:]
        before = [deed_of(make_action(each.act, each.argument), each.act.label, names) for each in done]
        return Situation(self._goal, text, before[0] if before else WorkflowStep(""))

    def _build(self, act: Act, context: Context, state: bytes) -> Generator[Question, int, str]:
        """Ask for one piece after another."""
        questions, key = self.reader.questions, (state, act.kind, act.label)

        def begin() -> _Building:
            texts, rows, lines, pages = self.reader.pieces(self._goal, self._texts, act.label)
            numbers = rows.numbers
            own = rows.slots[:, 0]
            typed = [self.reader.texts(done.argument) for done in self._done if done.argument]
            numbers[:, -5] = numpy.isin(own, typed) & (own != 0)
            values = [self.reader.texts(control.value) for control in read_page(self._texts[-1]).controls if control.value]
            numbers[:, -4] = numpy.isin(own, values) & (own != 0)
            slots = context.slots.copy()
            slots[7] = self.reader.texts(f"#{act.kind} {act.label}")
            return _Building(act, Context(slots, context.numbers), texts, rows, lines, pages)

        building = questions(key, begin)
        chosen: tuple[int, ...] = ()
        result, asked_for = "", 0
        while True:
            place = yield questions((*key, PIECE, chosen), partial(building.piece, chosen))
            piece = building.texts[place]
            result += piece
            asked_for += 1
            if asked_for >= _MAX_PIECES or len(result) > _MAX_LENGTH:
                return result
            if piece not in JOINERS:
                chosen = (*chosen, place)
                answer = yield questions((*key, JOIN, chosen), partial(building.join, chosen, self._endings))
                ending = _ENDINGS[answer]
                if ending is None:
                    return result
                result += "" if ending == _NEXT else ending

    def _context(self, text: str, *, has_error: bool, is_same: bool) -> Context:
        page = read_page(text)
        texts, done = self.reader.texts, self._done
        goal = read_goal(self._goal)
        last = [each.named for each in reversed(done[-3:])] + [0, 0, 0]
        labels = " ".join(dict.fromkeys(f"#did_{'_'.join(words_of(each.act.label)[:3])}" for each in done))
        slots = [
            texts("\x02" + self._goal), texts(path_of(page.url).replace("/", " ") + " #host_" + urlsplit(page.url).netloc),
            texts(page.title), *last[:3], texts(labels), 0, texts(" ".join(page.notices)),
        ]  # fmt: skip
        used = {word for each in done for word in words_of(f"{each.argument} {each.act.label}")}
        numbers = [
            min(len(done), 20) / 20, float(has_error), len(page.tabs) / 3,
            next((place for place, tab in enumerate(page.tabs) if tab[1]), 0) / 3,
            float(is_same), len(set(self._texts)) / 10, len(goal.names & used) / max(len(goal.names), 1), float(not done), *self.reader.goal_presence(self._goal, text), 0.0, 0.0,
            float(page.has_below), float(page.has_above),
        ]  # fmt: skip
        return Context(numpy.array(slots, numpy.int32), numpy.array(numbers, numpy.float32))


def demonstrate(session: Session, text: str, action: Action, *, has_error: bool) -> tuple[list[Decision], bool]:
    """Return the decisions that make an action on a page, and whether all of it could be made.

    Where several candidates give the same text, all of them are right. An act whose text cannot be made ends with the act.
    """
    decisions: list[Decision] = []
    questions = session.reply(text, has_error=has_error)
    parts: list[str | None] | None = None
    question = next(questions)
    while True:
        if question.stage == ACT:
            right = tuple(place for place, act in enumerate(question.meanings) if isinstance(act, Act) and _is(act, action))
        else:
            if parts is None:
                pieces = {piece for piece in question.meanings if isinstance(piece, str)}
                made_of, literals = derive(action.argument or "", pieces - set(CONSTANTS), CONSTANTS)
                parts = [] if literals else _in_turns(made_of)
            wanted = parts.pop(0) if parts else "\x00"
            right = tuple(place for place, meaning in enumerate(question.meanings) if meaning == wanted)
        if not right:
            return decisions, False
        decisions.append(Decision(question, right))
        try:
            question = questions.send(right[0])
        except StopIteration:
            return decisions, True


def _in_turns(parts: Sequence[str]) -> list[str | None]:
    """Return the answers to the questions for pieces and for what follows each."""
    answers: list[str | None] = []
    for place, part in enumerate(parts):
        if place and parts[place - 1] not in JOINERS:
            if part in JOINERS:
                answers.append(part)
                continue
            answers.append(_NEXT)
        answers.append(part)
    return [*answers, None]


def _is(act: Act, action: Action) -> bool:
    """Return whether an act makes an action with the right text."""
    if action.kind is Kind.EXIT:
        return act.kind == {"": "done", "N/A": "n/a"}.get(action.argument or "", "answer")
    return make_action(act, action.argument or "") == action


def _digest(state: bytes, *parts: bytes) -> bytes:
    digest = blake2b(state, digest_size=24)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


class Choice(NamedTuple):
    """A question that was asked, and the place of the candidate that was chosen."""

    question: Question
    place: int


def recall(reader: Reader, trajectory: Trajectory) -> list[list[Choice]]:
    """Return the choices of each step of an episode. Raises ValueError as `retrace` does."""
    return retrace(Session(reader, trajectory.goal), trajectory.steps)


def retrace(session: Session, steps: Sequence[Step]) -> list[list[Choice]]:
    """Lead a new session through the steps of an episode, and return the choices of each.

    The places of the candidates are the step's `response_ids`. Raises ValueError if the questions are not those that the replies were
    given to.
    """
    has_error = False
    found: list[list[Choice]] = []
    for number, step in enumerate(steps):
        choices: list[Choice] = []
        questions = session.reply(step.page, has_error=has_error)
        question: Question | None = next(questions)
        for place in step.response_ids:
            if question is None or place >= len(question.meanings):
                break
            choices.append(Choice(question, place))
            try:
                question = questions.send(place)
            except StopIteration:
                question = None
        if question is not None or len(choices) != len(step.response_ids):
            raise ValueError(f"step {number} of an episode is no reply of a pointing policy: {step.reply!r}")
        found.append(choices)
        has_error = bool(step.action_error)
    return found
