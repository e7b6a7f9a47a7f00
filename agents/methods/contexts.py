"""Contexts that actions are trained in: the very ones they were sampled in, or, as an ablation, the released trainer's."""

from agents.data.prompts import PromptEncoder
from agents.data.tokens import Ids
from agents.data.trajectories import Trajectory
from webarena_gym.observation.history import PLACEHOLDER, Turn, compress


def sampled_prompts(trajectory: Trajectory) -> list[Ids]:
    """Return the prompt that each step was sampled from."""
    return [step.prompt_ids for step in trajectory.steps]


def released_prompts(trajectory: Trajectory, encoder: PromptEncoder, *, thoughts: bool) -> list[Ids]:
    """Return the prompt of each step as WebAgent-R1's released trainer trains it, from an episode with compressed history.

    That trainer makes one sequence of a whole trajectory, in which every page but the last has given way to the placeholder:
    also the page that an action answers. So all actions but the last are trained in a context that they never saw. A goal and
    the replies hold all there is to know of such a context, so nothing more has to be kept of a step.
    """
    turns = [Turn(step.page, step.reply) for step in trajectory.steps]
    pages = [*[PLACEHOLDER] * (len(turns) - 1), *[turn.page for turn in turns[-1:]]]
    return encoder.encode_all(
        [compress(trajectory.goal, turns[:number], page, thoughts=thoughts) for number, page in enumerate(pages)]
    )
