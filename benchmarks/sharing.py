"""The speed of training on prefix trees against padded rows, on the same episodes."""

from collections.abc import Sequence
from random import Random
from statistics import median
from typing import Any

import gymnasium
import torch
from transformers import PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

import webarena_gym  # noqa: F401 - registers the env
from agents.data.demonstrations import Demonstration, draw_tasks
from agents.data.prompts import PromptEncoder, told
from agents.data.tokens import Sample
from agents.models import small
from agents.models.batches import Sharing, batch_logprobs, pack
from agents.rollouts.policies import ExpertReplies, RandomReplies, Request
from agents.training.cloning import encode
from benchmarks.timing import middle, say, timed
from webarena_gym.tasks import Task

MODEL: dict[str, Any] = {
    "vocab_size": 2048, "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 4, "tie_word_embeddings": True, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None,
}  # fmt: skip
TOKENS_PER_PASS = 8192
WIDE_STEPS = 10


def episodes(widths: Sequence[int], rounds: int, groups: int, group_size: int) -> dict[str, Any]:
    """Return the figures of the training step on episodes, for models of some widths."""
    tasks = draw_tasks([11], 1)[::40][:groups]
    say(f"playing {groups} groups of {group_size}")
    steps = play(tasks, group_size)
    texts = [text for step in steps for text in (*(message["content"] for message in step.messages), step.reply)]
    tokenizer = small.train_tokenizer(texts, MODEL["vocab_size"])
    samples = encode(PromptEncoder(tokenizer), steps)
    curve = []
    for width in widths:
        # A wide model needs minutes for a few steps, and tells as much with them.
        some, turns = (samples, rounds) if width < 512 else (samples[:WIDE_STEPS], min(rounds, 2))
        say(f"{len(some)} steps at width {width}")
        curve.append(compare(some, width, turns))
    whole = [point for point in curve if point["steps"] == len(samples)][-1]
    return {
        "episode_steps": len(samples),
        "episode_tasks": [task.task_id for task in tasks],
        "episodes": curve,
        "tree_over_rows": whole["time_ratio"],
        "token_ratio": whole["token_ratio"],
        "max_rel_grad_error": max(point["max_rel_grad_error"] for point in curve),
    }


def play(tasks: Sequence[Task], group_size: int) -> list[Demonstration]:
    """Return the steps of groups of episodes as of a half-trained agent: the reference solution up to a random step, then random replies."""
    env = gymnasium.make("WebArenaLite-v0", tasks=tasks, disable_env_checker=True, elements="label")
    steps: list[Demonstration] = []
    for task in tasks:
        for member in range(group_size):
            rng, expert, wild = Random(f"{task.task_id}/{member}"), ExpertReplies(), RandomReplies(exit_rate=0.1)
            lost_at, over = rng.randrange(5), False
            _, info = env.reset(seed=0, options={"task": task})
            while not over:
                choose = expert if info["step"] < lost_at else wild
                reply = choose(Request(0, env.unwrapped, info, rng.randrange(2**31)))
                steps.append(Demonstration(task.task_id, tuple(told(info["messages"], "")), reply))
                _, _, terminated, truncated, info = env.step(reply)
                over = terminated or truncated
    env.close()
    return steps


def compare(samples: Sequence[Sample], width: int, rounds: int) -> dict[str, Any]:
    """Return the times of rows and trees on the samples: packing, forward and backward passes."""
    torch.manual_seed(0)
    shape = {
        "hidden_size": width,
        "intermediate_size": 4 * width,
        "num_attention_heads": width // 64,
        "num_key_value_heads": width // 64,
    }
    model = Qwen2ForCausalLM(Qwen2Config(**MODEL | shape))
    modes: tuple[Sharing, ...] = ("rows", "tree")
    tokens = {mode: count_tokens(model, samples, mode) for mode in (*modes, "auto")}
    times: dict[str, list[float]] = {mode: [] for mode in modes}
    train(model, samples[:4], "rows")
    for _ in range(rounds):
        for mode in modes:
            times[mode].append(timed(lambda mode=mode: train(model, samples, mode)).cpu_s)
    token_ratio = tokens["rows"] / tokens["tree"]
    time_ratio = median(rows / tree for rows, tree in zip(times["rows"], times["tree"], strict=True))
    return {
        "width": width,
        "rounds": rounds,
        "steps": len(samples),
        **{f"{mode}_tokens": count for mode, count in tokens.items()},
        **{f"{mode}_cpu_s": middle(values) for mode, values in times.items()},
        "token_ratio": round(token_ratio, 3),
        "time_ratio": round(time_ratio, 3),
        "max_rel_grad_error": gradient_error(model, samples[:WIDE_STEPS]),
        "share_of_token_ratio": round(time_ratio / token_ratio, 3),
    }


def gradient_error(model: PreTrainedModel, samples: Sequence[Sample]) -> float:
    """Return the largest difference between the gradients of rows and of trees, relative to the largest gradient of the tensor."""
    gradients: dict[str, list[torch.Tensor]] = {}
    modes: tuple[Sharing, ...] = ("rows", "tree")
    for mode in modes:
        add_gradients(model, samples, mode)
        gradients[mode] = [weights.grad.clone() for weights in model.parameters() if weights.grad is not None]
        model.zero_grad()
    pairs = zip(gradients["rows"], gradients["tree"], strict=True)
    return max(float((rows - tree).abs().max() / rows.abs().max()) for rows, tree in pairs if rows.any())


def count_tokens(model: PreTrainedModel, samples: Sequence[Sample], sharing: Sharing) -> int:
    """Return the number of tokens that the model reads, with padding."""
    batches = pack(samples, TOKENS_PER_PASS, sharing=sharing, model=model)
    return sum(batch.input_ids.numel() for batch in batches)


def train(model: PreTrainedModel, samples: Sequence[Sample], sharing: Sharing) -> None:
    """Compute the gradients of all samples and discard them."""
    add_gradients(model, samples, sharing)
    model.zero_grad()


def add_gradients(model: PreTrainedModel, samples: Sequence[Sample], sharing: Sharing) -> None:
    """Add the gradients of all samples to those of the model's parameters."""
    for batch in pack(samples, TOKENS_PER_PASS, sharing=sharing, model=model):
        batch_logprobs(model, batch).sum().backward()
