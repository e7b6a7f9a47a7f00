"""The methods that WebAgent-R1 compares with: a model plays tasks, and learns as one of them says.

Run `python -m agents.train_baseline --help`. Rollouts, learner, checkpoints and metrics are those of `agents.train_grpo`; the methods
are in `agents.methods`. To compare methods, look at equal `env_steps` or `cpu_minutes` of their metrics.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

import torch
from transformers import PreTrainedModel

from agents.data.demonstrations import draw_tasks
from agents.data.prompts import PromptEncoder, system_prompt
from agents.methods.awr import AdvantageWeightedRegression, AWRSettings
from agents.methods.digirl import DigiRL, DigiRLSettings
from agents.methods.filtered_bc import FilteredCloning
from agents.methods.method import Method
from agents.methods.webrl import WebRL, WebRLSettings
from agents.models.checkpoints import agent_record, begin, load_model, save_checkpoint
from agents.models.critics import Critic
from agents.rollouts.collector import Collector
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.envs import create_envs
from agents.rollouts.groups import Batch, GroupStream
from agents.rollouts.policies import LanguageModelPolicy
from agents.settings import given, parse_settings
from agents.training.batch import Lesson
from agents.training.distributed import Ranks
from agents.training.learner import Learner
from agents.training.loop import RunSettings, engine_factory, make_players, play_and_learn
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class BaselineSettings(RunSettings, AWRSettings, DigiRLSettings, WebRLSettings):
    """Improve a model by a method that is not M-GRPO. A run that was killed goes on where its newest checkpoint left it.

    The updates have the learner's options, but the loss is the method's own: options of the clipped loss do nothing.
    """

    method: Literal["filtered_bc", "awr", "digirl", "webrl"]
    """how to learn from the rollouts"""
    tasks_per_update: int = 256
    """groups in one batch of rollouts; as many episodes as M-GRPO plays for an update"""
    group_size: int = 1
    """rollouts of each task: no method but M-GRPO compares them"""
    minibatches: int = 4
    """updates in one pass; between those on one lesson, the KL constraint of webrl acts"""


@dataclass(frozen=True)
class Trainer:
    """What has a state beside the weights of the policy."""

    learner: Learner
    method: Method

    def state_dict(self) -> dict[str, Any]:
        """Return the states of both."""
        return {"learner": self.learner.state_dict(), "method": self.method.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        self.learner.load_state_dict(state_dict["learner"])
        self.method.load_state_dict(state_dict["method"])


def train(settings: BaselineSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn from the settings' worlds unless given."""
    if settings.overlap or settings.kl_weight:
        raise ValueError(
            f"overlap {settings.overlap} and kl_weight {settings.kl_weight} are for M-GRPO alone; expected neither of them"
        )
    if settings.threads:
        torch.set_num_threads(settings.threads)
    last = begin(settings)
    update, record = (last.update, last.progress()) if last else (0, dict[str, Any](elapsed_s=0.0, groups=0, spent={}))
    if last and settings.progress(update, record["elapsed_s"]) >= 1:
        return last.path
    if tasks is None:
        tasks = draw_tasks(settings.worlds, settings.per_template, templates=settings.templates, variation=settings.variation)
    model, tokenizer = load_model(last.path if last else settings.model)
    encoder = PromptEncoder(tokenizer, system_prompt(settings.system, elements=settings.elements))
    ranks = Ranks.here()
    if ranks.count > 1:
        raise ValueError(f"baselines are trained in one process; expected 1, not {ranks.count}")
    method = create_method(settings, tasks, encoder, model, ranks.device)
    trainer = Trainer(Learner(model, settings, ranks=ranks, objective=method.loss), method)
    if last:
        last.restore(trainer)
    create_engine = engine_factory(settings, encoder, temperature=settings.temperature, max_tokens=settings.tokens_per_pass)
    engine = create_engine(model)
    envs = create_envs(tasks, settings.num_envs, workers=settings.workers, **settings.env_arguments())
    policy = LanguageModelPolicy(engine, encoder, settings.max_prompt_tokens)
    players = make_players(settings, last.path if last else settings.model, tasks)

    def learn(batch: Batch, update: int, progress: float) -> tuple[Lesson, dict[str, float]]:
        # What is random in an update comes from its number, so a resumed run draws the same.
        rng = Random(f"{settings.seed}/{update}")
        lesson, values = method.teach(batch, rng)
        return lesson, values | trainer.learner.learn(lesson, rng, progress)

    def save(update: int, record: dict[str, Any]) -> Path:
        return save_checkpoint(settings.out, update, model, tokenizer, trainer, record, settings.agent()).path

    stream = GroupStream(
        players or Collector(envs, policy, seed=settings.seed),
        method.draw_task,
        lambda version: (players or engine).load(model, version),
        settings,
        begun=record["groups"],
    )
    with closing(envs):
        return play_and_learn(
            settings, players or policy, stream, learn, save, title=settings.method, update=update, record=record
        )


def create_method(
    settings: BaselineSettings, tasks: Sequence[Task], encoder: PromptEncoder, model: PreTrainedModel, device: torch.device
) -> Method:
    """Return the method of the settings, as it begins. Critics begin as the model that training sets out from, on the device."""
    curriculum = Curriculum(tasks, seek_mixed=False, seed=settings.seed)
    if settings.method == "filtered_bc":
        return FilteredCloning(settings, curriculum)
    first = load_model(settings.model)[0].to(device)  # type: ignore[arg-type]
    critic, other = (Critic(first, settings, tokens_per_pass=settings.tokens_per_pass) for _ in range(2))
    if settings.method == "awr":
        return AdvantageWeightedRegression(settings, curriculum, critic)
    if settings.method == "digirl":
        return DigiRL(settings, curriculum, encoder, critic, other, max_steps=settings.max_steps)
    return WebRL(settings, curriculum, encoder, critic, other, tasks=tasks, model=model, seed=settings.seed)


def main(arguments: Sequence[str]) -> None:
    """Train as the command line says; the model's own env settings are the defaults."""
    model = given(arguments, "--model")
    defaults = {"processes": 0, **(agent_record(model) if model else {})}
    print(train(parse_settings(BaselineSettings, arguments, defaults)))


if __name__ == "__main__":
    main(sys.argv[1:])
