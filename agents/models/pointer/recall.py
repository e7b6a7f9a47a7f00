"""Recall: the questions that a pointing policy answered in an episode, and its answers, made again from the trajectory."""

from collections.abc import Sequence
from typing import NamedTuple

from agents.data.trajectories import Step, Trajectory
from agents.models.pointer.features import Reader
from agents.models.pointer.sessions import Question, Session


class Choice(NamedTuple):
    """A question that was asked, and the place of the candidate that was chosen."""

    question: Question
    place: int


def recall(reader: Reader, trajectory: Trajectory) -> list[list[Choice]]:
    """Return the choices of each step. The places of the candidates are the step's `response_ids`.

    Raises ValueError if the questions are not those that the replies were given to.
    """
    return retrace(Session(reader, trajectory.goal), trajectory.steps, trajectory.task_id)


def retrace(session: Session, steps: Sequence[Step], name: str = "") -> list[list[Choice]]:
    """Take the steps in a session that has just begun, and return the choices of each. Raises ValueError as `recall` does."""
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
            raise ValueError(f"step {number} of a trajectory of {name} is no reply of a pointing policy")
        found.append(choices)
        has_error = bool(step.action_error)
    return found
