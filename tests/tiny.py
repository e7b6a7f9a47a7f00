"""A tiny env of the same contract, and a tiny model, so that training can be tested in seconds.

Torch is imported where it is used: processes that hold envs do without it.
"""

import random
from contextlib import suppress

from agents.rollouts import envs
from tests.tiny_shop import ENV_ID, WORDS, TinyShop, TinyTask, number_of, reply_to, target_of, tasks

__all__ = ["ENV_ID", "WORDS", "TinyShop", "TinyTask", "number_of", "reply_to", "target_of", "tasks"]


def create_envs(tasks, num_envs, *, workers=0, broken=False, lenient=False, **_):
    """Tiny envs in place of the real ones, whose settings do not matter here."""
    options = {"broken": broken, "lenient": lenient}
    return envs.create_envs(tasks, num_envs, workers=workers, env_id=f"tests.tiny_shop:{ENV_ID}", **options)


def demonstrations(count, seed=0, right=1.0):
    """Clicks of a teacher who is right with this probability, and else clicks another name of the page."""
    from agents.data.demonstrations import Demonstration  # noqa: PLC0415

    env, rng, result = TinyShop(), random.Random(seed), []
    for number, task in enumerate(tasks(count, seed)):
        _, info = env.reset(seed=number, options={"task": task})
        others = [word for word in env.shown if word != task.target]
        clicked = task.target if rng.random() < right else rng.choice(others)
        result.append(Demonstration(task.task_id, tuple(info["messages"]), reply_to(clicked)))
    return result


def grouped(trajectories):
    """Return the trajectories by group, without failed ones."""
    groups = {}
    for trajectory in trajectories:
        if trajectory.ending != "failed":
            groups.setdefault(trajectory.group, []).append(trajectory)
    return list(groups.values())


def texts():
    return [text for item in demonstrations(60) for text in (item.messages[0]["content"], item.reply)]


def tiny_model(seed=0):
    import torch  # noqa: PLC0415

    from agents.models import small  # noqa: PLC0415

    tokenizer = small.train_tokenizer(texts(), 400)
    torch.manual_seed(seed)
    return small.create_model(tokenizer, width=32, layers=2, heads=2, seed=seed), tokenizer


def save_clone(folder, **used):
    """Save an untrained tiny model as a run of cloning, for an agent that is used so."""
    from agents.models.checkpoints import save_checkpoint  # noqa: PLC0415
    from agents.models.parameters import create_optimizer  # noqa: PLC0415
    from agents.training.settings import BCSettings  # noqa: PLC0415

    model, tokenizer = tiny_model()
    optimizer = create_optimizer(model, "adamw", 1e-3, 0.0)
    return save_checkpoint(
        folder, 1, model, tokenizer, optimizer, {"elapsed_s": 0.0}, BCSettings(model="small", out=folder).agent() | used
    ).path


def policy(max_new_tokens=5, **options):
    """Return the policy of a tiny language model in this process."""
    from agents.data.prompts import PromptEncoder  # noqa: PLC0415
    from agents.rollouts.engines.inprocess import InProcessEngine  # noqa: PLC0415
    from agents.rollouts.policies import LanguageModelPolicy  # noqa: PLC0415

    model, tokenizer = tiny_model()
    encoder = PromptEncoder(tokenizer)
    return LanguageModelPolicy(InProcessEngine(model, encoder.stop_ids, max_new_tokens=max_new_tokens), encoder, **options)


def language_model(network, tokenizer=None, method="grpo", **options):
    """Return a language model in training and its settings; critics begin with the network itself."""
    from pathlib import Path  # noqa: PLC0415

    from agents.data.prompts import PromptEncoder  # noqa: PLC0415
    from agents.models.critics import LanguageModelCritics  # noqa: PLC0415
    from agents.train_rl import make_settings  # noqa: PLC0415
    from agents.training.language_models import LanguageModel  # noqa: PLC0415

    args = make_settings(method, model="m", out=Path("out"), **options)
    model = LanguageModel(network, tokenizer, args)
    if tokenizer is not None:
        model.critics = LanguageModelCritics(lambda: network, PromptEncoder(tokenizer), 16_384)
    return model, args


def killed_after(monkeypatch, update, train, *arguments):
    """Train until so many updates are logged, as if killed before the next checkpoint."""
    from agents.training.metrics import Metrics  # noqa: PLC0415

    log = Metrics.log

    def note(self, number, values):
        log(self, number, values)
        if number == update:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(Metrics, "log", note)
        train(*arguments)
        raise AssertionError(f"it was over before update {update}")
