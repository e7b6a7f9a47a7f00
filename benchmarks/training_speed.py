"""How fast training is: `python -m benchmarks.training_speed [--quick] --json`. On one core, in CPU-seconds, in turns.

First an update of the kind that other trainers are made for: one prompt of 512 tokens, eight responses of 64, the rollout and the
training step; beside TRL's GRPOTrainer where `make peers` has installed it. The model, an untrained Qwen2, is the same, and the
reward is random. (Its responses may end early by chance; ours run to the limit.)

Then the training step alone on episodes of this package: groups that begin before the same page, whose steps share their
compressed history, as plain rows and as trees of prefixes. "token_ratio" is how many tokens rows have for one of a tree,
"time_ratio" how much longer they take. The last line is one JSON object.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

import gymnasium
import torch
import transformers
from transformers import PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

import webarena_gym  # noqa: F401 - registers the env
from agents import small
from agents.batches import Sample, Sharing, batch_logprobs, pack
from agents.demonstrations import Demonstration, draw_tasks
from agents.engines.inprocess import InProcessEngine, generate
from agents.learner import Learner, UpdateSettings
from agents.lessons import Lesson, Origin
from agents.policies import ExpertReplies, RandomReplies, Request
from agents.prompts import PromptEncoder
from agents.train_bc import encode
from benchmarks.machine import cores, origin, use_cores
from webarena_gym.tasks import Task

TRL_PYTHON = Path(".venv-trl/bin/python")
PROMPT_TOKENS, NEW_TOKENS, GROUP_SIZE = 512, 64, 8
MODEL = {
    "vocab_size": 2048, "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 4, "tie_word_embeddings": True, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None,
}  # fmt: skip
TOKENS_PER_PASS = 8192
WIDE_STEPS = 10


class Effort(NamedTuple):
    """How much is measured."""

    rounds: int  # of everyone in turn
    widths: tuple[int, ...]  # of the models that train on episodes
    groups: int  # of episodes
    group_size: int


FULL = Effort(rounds=3, widths=(128, 256, 896), groups=2, group_size=8)
QUICK = Effort(rounds=1, widths=(128,), groups=1, group_size=4)


class Took(NamedTuple):
    """How long something took."""

    cpu_s: float
    wall_s: float


def main() -> None:
    """Run the benchmark and print what it measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small run, to see that everything works: its figures are rough")
    parser.add_argument("--only", choices=("update", "episodes"), help="measure only one of the two parts")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    effort, start = QUICK if options.quick else FULL, time.perf_counter()
    use_cores(cores()[-1:])
    torch.set_num_threads(1)
    result: dict[str, Any] = {}
    if options.only != "episodes":
        result |= updates(effort)
    if options.only != "update":
        result |= episodes(effort)
    result |= {"elapsed_s": round(time.perf_counter() - start, 1), "quick": options.quick, **origin("training_speed")}
    result["versions"] |= {"torch": torch.__version__, "transformers": transformers.__version__}
    for name, value in result.items():
        print(f"{name:<32}{json.dumps(value)}")
    if options.json:
        print(json.dumps(result))


def updates(effort: Effort) -> dict[str, Any]:
    """Return the figures of one update on one prompt: ours, and TRL's if it is here."""
    ours = our_update()
    rounds: dict[str, list[Took]] = {"ours": [], "trl": []}
    parts: list[list[float]] = []
    with trl_update() as theirs:
        for number in range(effort.rounds + 1):
            say(f"update {number} of {effort.rounds}")
            parts.append([])
            took = timed(lambda: parts[-1].extend(ours()))
            others = theirs() if theirs else None
            # The first round warms up.
            if number:
                rounds["ours"].append(took)
                rounds["trl"] += [others] if others else []
    figures: dict[str, Any] = {"update_rounds": effort.rounds}
    for name, took in rounds.items():
        figures |= {f"{name}_update_{key}": middle([getattr(item, key) for item in took]) for key in Took._fields}
    rollouts_s, training_s = zip(*parts[1:], strict=True)
    figures |= {"ours_rollout_cpu_s": middle(rollouts_s), "ours_training_cpu_s": middle(training_s)}
    over = [theirs.cpu_s / own.cpu_s for own, theirs in zip(rounds["ours"], rounds["trl"], strict=False)]
    return figures | {"update_over_trl": middle(over), "update_over_trl_of_rounds": [round(value, 2) for value in over]}


def our_update() -> Callable[[], list[float]]:
    """Return a function that does one update and returns the CPU-seconds of its rollout and of its training."""
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**MODEL))
    engine = InProcessEngine(model, frozenset(), max_new_tokens=NEW_TOKENS)
    learner = Learner(model, UpdateSettings())
    rng = Random(0)
    version = 0

    def update() -> list[float]:
        nonlocal version
        start = time.process_time()
        prompt = tuple(rng.randrange(2, MODEL["vocab_size"]) for _ in range(PROMPT_TOKENS))
        generations = generate(engine, [prompt] * GROUP_SIZE, [rng.randrange(2**31) for _ in range(GROUP_SIZE)])
        read = time.process_time()
        rewards = [rng.random() for _ in generations]
        logprobs = [generation.logprobs for generation in generations]
        lesson = Lesson(
            samples=[Sample(prompt, generation.response_ids) for generation in generations],
            sampled_logprobs=logprobs,
            old_logprobs=logprobs,
            advantages=[reward - sum(rewards) / GROUP_SIZE for reward in rewards],
            weights=[1 / (GROUP_SIZE * NEW_TOKENS)] * GROUP_SIZE,
            origins=[Origin(0, rollout, 0, 1, reward, version) for rollout, reward in enumerate(rewards)],
        )
        learner.learn(lesson, rng)
        version += 1
        engine.load(model, version)
        return [read - start, time.process_time() - read]

    return update


@contextmanager
def trl_update() -> Iterator[Callable[[], Took] | None]:
    """Give a function that lets TRL do one update; None where it is not installed."""
    if not TRL_PYTHON.exists():
        say("TRL is left out; `make peers` installs it")
        yield None
        return
    with tempfile.TemporaryDirectory() as out:
        work = {"config": MODEL, "prompt_tokens": PROMPT_TOKENS, "new_tokens": NEW_TOKENS, "group_size": GROUP_SIZE, "out": out}
        command = [str(TRL_PYTHON), str(Path(__file__).parent / "peers" / "trl_adapter.py"), json.dumps(work)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            assert process.stdin
            assert process.stdout
            tell, hear = process.stdin, process.stdout

            def update() -> Took:
                print(file=tell, flush=True)
                if not (answer := hear.readline()):
                    raise RuntimeError("TRL has ended before its update was done; its last words are above")
                return Took(**json.loads(answer))

            try:
                yield update
            finally:
                process.terminate()


def episodes(effort: Effort) -> dict[str, Any]:
    """Return the figures of the training step on episodes, for models of some widths."""
    tasks = draw_tasks([11], 1)[::40][: effort.groups]
    say(f"playing {effort.groups} groups of {effort.group_size}")
    steps = play(tasks, effort.group_size)
    texts = [text for step in steps for text in (*(message["content"] for message in step.messages), step.reply)]
    tokenizer = small.train_tokenizer(texts, MODEL["vocab_size"])
    samples = encode(PromptEncoder(tokenizer), steps)
    curve = []
    for width in effort.widths:
        # A wide model needs minutes for a few steps, and tells as much with them.
        some, rounds = (samples, effort.rounds) if width < 512 else (samples[:WIDE_STEPS], min(effort.rounds, 2))
        say(f"{len(some)} steps at width {width}")
        curve.append(compare(some, width, rounds))
    return {"episode_steps": len(samples), "episode_tasks": [task.task_id for task in tasks], "episodes": curve}


def play(tasks: Sequence[Task], group_size: int) -> list[Demonstration]:
    """Return the steps of groups of episodes, as a half-trained agent plays them: well up to a random step, and then at random."""
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
                steps.append(Demonstration(task.task_id, tuple(info["messages"]), reply))
                _, _, terminated, truncated, info = env.step(reply)
                over = terminated or truncated
    env.close()
    return steps


def compare(samples: Sequence[Sample], width: int, rounds: int) -> dict[str, Any]:
    """Return how rows and trees compare on the samples: forward and backward of all of them, packing included."""
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
    token_ratio, time_ratio = (
        tokens["rows"] / tokens["tree"],
        middle([a / b for a, b in zip(times["rows"], times["tree"], strict=True)]),
    )
    return {
        "width": width,
        "rounds": rounds,
        "steps": len(samples),
        **{f"{mode}_tokens": count for mode, count in tokens.items()},
        **{f"{mode}_cpu_s": middle(values) for mode, values in times.items()},
        "token_ratio": round(token_ratio, 3),
        "time_ratio": time_ratio,
        "share_of_token_ratio": round(time_ratio / token_ratio, 3),
    }


def count_tokens(model: PreTrainedModel, samples: Sequence[Sample], sharing: Sharing) -> int:
    """Return how many tokens the model reads, padding included."""
    batches = pack(samples, TOKENS_PER_PASS, sharing=sharing, model=model)
    return sum(batch.input_ids.numel() for batch in batches)


def train(model: PreTrainedModel, samples: Sequence[Sample], sharing: Sharing) -> None:
    """Compute the gradients of all samples, and drop them."""
    for batch in pack(samples, TOKENS_PER_PASS, sharing=sharing, model=model):
        batch_logprobs(model, batch).sum().backward()
    model.zero_grad()


def timed(work: Callable[[], Any]) -> Took:
    """Do the work and return how long it took."""
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    work()
    return Took(time.process_time() - cpu_s, time.perf_counter() - wall_s)


def middle(values: Sequence[float]) -> float | None:
    """Return the median, rounded; None of nothing."""
    return round(median(values), 3) if values else None


def say(what: str) -> None:
    """Tell how far the run is, beside the result."""
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
