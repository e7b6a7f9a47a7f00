"""Language models in training: prompts of released contexts."""

from itertools import pairwise

import gymnasium
import pytest

from agents.data.prompts import PromptEncoder
from agents.data.trajectories import Step, Trajectory
from agents.models import small
from agents.training.language_models import released_prompts
from tests import tiny
from webarena_gym.observation.history import PLACEHOLDER


@pytest.fixture(scope="module")
def encoder():
    return PromptEncoder(small.train_tokenizer([*tiny.texts(), PLACEHOLDER, "Round 0 1 2 3 4 5 6 7 8 9"], 400), "Be brief.")


def play(encoder, thoughts):
    """Play a real episode of four steps and record it as rollouts do."""
    with gymnasium.make("WebArenaLite-v0", split="train", thoughts=thoughts, disable_env_checker=True) as env:
        _, info = env.reset(seed=3)
        steps, goal = [], info["goal"]
        for _ in range(4):
            (prompt,) = encoder.encode_all([info["messages"]])
            reply = '<think>Down.</think>\n<answer>do(action="Scroll Down")</answer>'
            steps.append(Step(info["page"], reply, "", prompt, encoder.encode_reply(reply)))
            info = env.step(reply)[4]
    return Trajectory(info["task_id"], goal, tuple(steps), 0.0, "truncated")


@pytest.mark.parametrize("thoughts", [True, False])
def test_released_contexts_hold_no_page_but_the_last(encoder, thoughts):
    trajectory = play(encoder, thoughts)
    prompts = released_prompts(trajectory, encoder, thoughts=thoughts)
    # The last step is trained in the very context it was sampled in; the others never saw theirs.
    assert prompts[-1] == trajectory.steps[-1].prompt_ids
    texts = [encoder.decode(prompt) for prompt in prompts]
    for number, (text, step) in enumerate(zip(texts[:-1], trajectory.steps, strict=False)):
        assert prompts[number] != step.prompt_ids
        assert step.page not in text
        assert text.count(PLACEHOLDER) == number + 1
        assert (text.count("Down.") > 0) == (thoughts and number > 0)
    # They are parts of one sequence, so a sample for each step trains what the released trainer's one row for each trajectory does.
    assert not thoughts or all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(prompts))
    assert released_prompts(Trajectory("t", "g", (), 0.0, "too_long"), encoder, thoughts=True) == []
