"""Pointer policies of random networks, and episodes of them."""

import random
from contextlib import closing

import webarena_gym  # noqa: F401 - registers the env
from agents.models.pointer.decoding import trajectory_choices
from agents.models.pointer.network import UNKNOWN_WORDS, PointerNetwork, Vocabulary
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.envs import create_envs
from agents.rollouts.pointer import PointerPolicy
from webarena_gym import suite as task_suite
from webarena_gym.actions import DIALECTS

SETTINGS = {"elements": "id", "window": 20_000, "max_steps": 30}
UNSEEN = {"reddit.repost_image", "gitlab.website_title", "several.promote_project"}  # what they ask for is not shown whole


def sample_tasks(count, seed=0):
    tasks = [task for task in task_suite.load("validation") if task.template not in UNSEEN]
    return random.Random(seed).sample(tasks, count)


def make_policy(temperature=1.0, seed=0, **options):
    import torch  # noqa: PLC0415

    torch.manual_seed(seed)
    words = [*UNKNOWN_WORDS, "order", "search", "the", "#goal", "#page", "#done", "#search"]
    dialect = DIALECTS["webrl"].naming_by("id")
    return PointerPolicy(PointerNetwork(len(words)), Vocabulary(words), dialect, temperature=temperature, **options)


def play(policy, tasks, seed=0):
    settings = SETTINGS | {"max_steps": 5}
    with closing(create_envs(tasks, 4, **settings)) as envs:
        return Collector(envs, policy, seed=seed).collect([EpisodeSpec(task, 0, number) for number, task in enumerate(tasks)])


def questions_of(reader, trajectory):
    """The questions of an episode, with texts in place of the reader's numbers, as bytes."""
    found = []
    for choices in trajectory_choices(reader, trajectory):
        for question, _ in choices:
            texts = [reader.texts.strings[number] for number in (*question.context.slots, *question.rows.slots.ravel())]
            numbers = question.context.numbers.tobytes(), question.rows.numbers.tobytes()
            found.append((question.stage, texts, numbers, tuple(question.candidates)))
    return found
