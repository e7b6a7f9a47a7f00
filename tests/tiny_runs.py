"""Settings of tiny runs, their clones and weights."""

import re

import pytest
import torch

from agents import grpo as trainer
from agents.data.prompts import PromptEncoder
from agents.models.checkpoints import load_model
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.engines.inprocess import InProcessEngine
from agents.rollouts.policies import LanguageModelPolicy
from agents.train_rl import make_settings
from agents.training import cloning as train_bc
from agents.training.settings import BCSettings
from tests import tiny
from tests.shared import shared_folder


@pytest.fixture(autouse=True)
def tiny_envs(monkeypatch):
    """Let the trainers play the tiny env."""
    monkeypatch.setattr(trainer, "create_envs", tiny.create_envs)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A half-trained model, for tests that do not look at how good it becomes."""

    def train(folder):
        return train_bc.train(bc(folder, updates=70, width=64, heads=4, practice=60), tiny.demonstrations(300))

    return shared_folder(tmp_path_factory, "clone", train)


def bc(out, **changes):
    values = {
        "model": "small",
        "updates": 4,
        "width": 32,
        "layers": 2,
        "heads": 2,
        "practice": 5,
        "vocabulary": 400,
        "tokens_per_update": 400,
    }
    values["curriculum"] = 0.0  # the tiny pages are small enough
    return BCSettings(out=out, **{**values, **changes})


def weights(path):
    return list(load_model(path)[0].parameters())


def assert_same_weights(first, second):
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(weights(first), weights(second), strict=True))


def help_of(main, capsys, *arguments):
    with pytest.raises(SystemExit):
        main([*map(str, arguments), "--help"])
    text = capsys.readouterr().out
    titles_and_groups = re.split(r"^([a-z ]+) options:$", text, flags=re.MULTILINE)[1:]
    return text, {title: " ".join(group.split()) for title, group in zip(*[iter(titles_and_groups)] * 2, strict=True)}


def grpo(out, model, **changes):
    values = {"updates": 4, "group_size": 8, "tasks_per_update": 4, "max_new_tokens": 12, "temperature": 1.0}
    return make_settings("grpo", out=out, model=str(model), **{**values, **changes})


def unsure_clone(out):
    """Clone a teacher who is right three times in five: sampled, the clone is right about as often, and can become better."""
    settings = bc(out, updates=150, width=64, heads=4, practice=60, learning_rate=3e-3)
    return train_bc.train(settings, tiny.demonstrations(400, right=0.6))


def success(model_path, temperature=1.0):
    model, tokenizer = load_model(model_path)
    encoder = PromptEncoder(tokenizer)
    engine = InProcessEngine(model, encoder.stop_ids, max_new_tokens=12, temperature=temperature)
    tasks = tiny.tasks(200, seed=99)
    collector = Collector(tiny.create_envs(tasks, 32), LanguageModelPolicy(engine, encoder))
    trajectories = collector.collect([EpisodeSpec(task, 1000 + number, number) for number, task in enumerate(tasks)])
    return sum(item.reward for item in trajectories) / len(tasks)
