"""The speed of training, in CPU seconds of one core: `python -m benchmarks.training_speed [--quick] --json`.

The first measure is an update with one prompt of 512 tokens and eight responses of 64, the rollout and the training step, against TRL's
GRPOTrainer if `make peers` has installed it. Both train the same untrained Qwen2 with random rewards. TRL's responses may end early by
chance; those of this package have the longest length.

The second is the training step on episodes of this package, whose steps share their compressed history, packed as padded rows and as
prefix trees. "token_ratio" is the number of tokens in rows per token in trees, "time_ratio" the ratio of the times.

The third is the engine against `generate` of transformers (one scene of `benchmarks.generation`), and asynchronous rollouts against
lock-step ones (`benchmarks.rollouts`, in wall time on all cores).

`--clone` measures behaviour cloning of SmolLM2's shape with adapters in bfloat16: updates of this package, of a plain loop with transformers
and peft, and of TRL's SFTTrainer, on the same samples. `--plan` measures nothing: it computes the memory and the time of the paper's run on 1
and 8 GPUs from the shape of Qwen2.5-3B, its assumptions, and the figures of earlier results. The last line is one JSON object. Its "tree_over_rows", "token_ratio" and
"max_rel_grad_error" are those of the widest model that trains on all episodes.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

import gymnasium
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

import webarena_gym  # noqa: F401 - registers the env
from agents.data.demonstrations import Demonstration, demonstrate, draw_tasks, training_tasks
from agents.data.prompts import PromptEncoder, with_system_prompt
from agents.data.trajectories import Sample, Step, Trajectory
from agents.grpo import Learner, clipped_loss
from agents.models import small
from agents.models.batches import Sharing, autocast, batch_logprobs, pack
from agents.models.parameters import Optimizer, create_optimizer, prepare_for_training
from agents.rollouts.engines.inprocess import InProcessEngine, generate
from agents.rollouts.policies import ExpertReplies, RandomReplies, Request
from agents.train_rl import make_settings
from agents.training.cloning import EpisodeUpdates, encode, find_episodes, optimize
from agents.training.credit import TrainedStep
from agents.training.language_models import LanguageModel
from agents.training.settings import BCSettings
from benchmarks import generation, rollouts
from benchmarks.machine import RESULTS, cores, log_progress, measure_time, report, rounded_median, use_cores
from webarena_gym import console
from webarena_gym.tasks import Task

MODEL: dict[str, Any] = {
    "vocab_size": 2048, "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 4, "tie_word_embeddings": True, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None,
}  # fmt: skip
TOKENS_PER_PASS = 8192
WIDE_STEPS = 10


def episodes(effort: "Effort") -> dict[str, Any]:
    """Return the figures of the training step on episodes, as rows and as trees, for models of some widths."""
    tasks = draw_tasks([11], 1)[::40][: effort.groups]
    log_progress(f"playing {effort.groups} groups of {effort.group_size}")
    steps = play(tasks, effort.group_size)
    texts = [text for step in steps for text in (*(message["content"] for message in step.messages), step.reply)]
    tokenizer = small.train_tokenizer(texts, MODEL["vocab_size"])
    samples = encode(PromptEncoder(tokenizer), steps)
    curve = []
    for width in effort.widths:
        # A wide model needs minutes for a few steps, which are enough to measure it.
        some, turns = (samples, effort.rounds) if width < 512 else (samples[:WIDE_STEPS], min(effort.rounds, 2))
        log_progress(f"{len(some)} steps at width {width}")
        curve.append(compare(some, width, turns))
    whole = [point for point in curve if point["steps"] == len(samples)][-1]
    return {
        "episode_steps": len(samples), "episode_tasks": [task.task_id for task in tasks], "episodes": curve,
        "tree_over_rows": whole["time_ratio"], "token_ratio": whole["token_ratio"],
        "max_rel_grad_error": max(point["max_rel_grad_error"] for point in curve),
    }  # fmt: skip


def play(tasks: Sequence[Task], group_size: int) -> list[Demonstration]:
    """Return the steps of episodes like those of a half-trained agent: the reference solution up to a random step, then random replies."""
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
                steps.append(Demonstration(task.task_id, tuple(with_system_prompt(info["messages"], "")), reply))
                _, _, terminated, truncated, info = env.step(reply)
                over = terminated or truncated
    env.close()
    return steps


def compare(samples: Sequence[Sample], width: int, rounds: int) -> dict[str, Any]:
    """Return the times of rows and trees on the samples: packing, forward and backward passes."""
    torch.manual_seed(0)
    shape = {"hidden_size": width, "intermediate_size": 4 * width}
    shape |= dict.fromkeys(("num_attention_heads", "num_key_value_heads"), width // 64)
    model = Qwen2ForCausalLM(Qwen2Config(**MODEL | shape))
    modes: tuple[Sharing, ...] = ("rows", "tree")
    every: tuple[Sharing, ...] = (*modes, "auto")
    tokens = {
        mode: sum(batch.input_ids.numel() for batch in pack(samples, TOKENS_PER_PASS, sharing=mode, model=model))
        for mode in every
    }
    times: dict[str, list[float]] = {mode: [] for mode in modes}
    train(model, samples[:4], "rows")
    for _ in range(rounds):
        for mode in modes:
            times[mode].append(measure_time(lambda mode=mode: train(model, samples, mode))["cpu_s"])
    token_ratio = tokens["rows"] / tokens["tree"]
    time_ratio = median(rows / tree for rows, tree in zip(times["rows"], times["tree"], strict=True))
    return {
        "width": width, "rounds": rounds, "steps": len(samples),
        **{f"{mode}_tokens": count for mode, count in tokens.items()},
        **{f"{mode}_cpu_s": rounded_median(values) for mode, values in times.items()}, "token_ratio": round(token_ratio, 3),
        "time_ratio": round(time_ratio, 3), "max_rel_grad_error": gradient_error(model, samples[:WIDE_STEPS]),
        "share_of_token_ratio": round(time_ratio / token_ratio, 3),
    }  # fmt: skip


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


def train(model: PreTrainedModel, samples: Sequence[Sample], sharing: Sharing) -> None:
    """Compute the gradients of all samples and discard them."""
    add_gradients(model, samples, sharing)
    model.zero_grad()


def add_gradients(model: PreTrainedModel, samples: Sequence[Sample], sharing: Sharing) -> None:
    """Add the gradients of all samples to those of the model's parameters."""
    for batch in pack(samples, TOKENS_PER_PASS, sharing=sharing, model=model):
        batch_logprobs(model, batch).sum().backward()


TRL_PYTHON = Path(".venv-trl/bin/python")
PROMPT_TOKENS, NEW_TOKENS, GROUP_SIZE = 512, 64, 8


class Effort(NamedTuple):
    """The extent of the measurements."""

    rounds: int  # in which the contenders take turns
    widths: tuple[int, ...]  # of the models trained on episodes
    groups: int  # of episodes
    group_size: int


FULL = Effort(rounds=3, widths=(128, 256, 896), groups=2, group_size=8)
QUICK = Effort(rounds=1, widths=(128,), groups=1, group_size=4)


def main() -> None:
    """Run the benchmark and print the results."""
    parser = console.Parser(prog="python -m benchmarks.training_speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run, to see that everything works: its figures are rough")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--only", choices=PARTS, help="measure only one of the parts")
    choice.add_argument("--clone", action="store_true", help="measure behaviour cloning with adapters instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    choice.add_argument("--plan", action="store_true", help="compute the memory and time of the paper's run on GPUs instead")
    options = parser.parse_args()
    effort, start = QUICK if options.quick else FULL, time.perf_counter()
    every_core = cores()
    torch.set_num_threads(1)
    result: dict[str, Any] = {}
    parts = {"clone": cloning_updates} if options.clone else {"plan": plan} if options.plan else PARTS
    for name, part in parts.items():
        if options.only in (None, name):
            use_cores(every_core if name == "rollouts" else every_core[-1:])
            result |= part(effort)
    result |= {"elapsed_s": round(time.perf_counter() - start, 1), "quick": options.quick}
    report("training_speed", result, as_json=options.json)


def updates(effort: Effort) -> dict[str, Any]:
    """Return the figures of one update on one prompt, of this package and of TRL if it is installed."""
    ours = our_update()
    rounds: dict[str, list[dict[str, float]]] = {"ours": [], "trl": []}
    parts: list[list[float]] = []
    work = {"config": MODEL, "prompt_tokens": PROMPT_TOKENS, "new_tokens": NEW_TOKENS, "group_size": GROUP_SIZE}
    with trl_update(work) as theirs:
        for number in range(effort.rounds + 1):
            log_progress(f"update {number} of {effort.rounds}")
            parts.append([])
            took = measure_time(lambda: parts[-1].extend(ours()))
            others = theirs() if theirs else None
            # The first round warms up.
            if number:
                rounds["ours"].append(took)
                rounds["trl"] += [others] if others else []
    figures: dict[str, Any] = {"update_rounds": effort.rounds}
    for name, took in rounds.items():
        figures |= {
            f"{name}_step{clock}": rounded_median(item[key] for item in took)
            for clock, key in (("_s", "cpu_s"), ("_wall_s", "wall_s"))
        }
    rollouts_s, training_s = zip(*parts[1:], strict=True)
    figures |= {"ours_rollout_cpu_s": rounded_median(rollouts_s), "ours_training_cpu_s": rounded_median(training_s)}
    over = [trl["cpu_s"] / ours["cpu_s"] for ours, trl in zip(rounds["ours"], rounds["trl"], strict=False)]
    return figures | {"trl_over_ours": rounded_median(over), "trl_over_ours_of_rounds": [round(value, 2) for value in over]}


def our_update() -> Callable[[], list[float]]:
    """Return a function that makes one update and returns the CPU seconds of its rollout and of its training step."""
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**MODEL))
    engine = InProcessEngine(model, frozenset(), max_new_tokens=NEW_TOKENS)
    args = make_settings("grpo", model="", out=Path())
    trained = LanguageModel(model, None, args)
    optimizer = torch.optim.AdamW(model.parameters(), args.learning_rate, betas=(0.9, trained.beta2), weight_decay=0.0)
    learner, rng = Learner(trained, optimizer, partial(clipped_loss, args), args), Random(0)
    version = 0

    def update() -> list[float]:
        nonlocal version
        start = time.process_time()
        prompt = tuple(rng.randrange(2, MODEL["vocab_size"]) for _ in range(PROMPT_TOKENS))
        generations = generate(engine, [prompt] * GROUP_SIZE, [rng.randrange(2**31) for _ in range(GROUP_SIZE)])
        read = time.process_time()
        rewards = [rng.random() for _ in generations]
        made = [Step("", "", "", prompt, generation.response_ids, generation.logprobs) for generation in generations]
        episodes = [Trajectory("", "", (step,), reward, "exited") for step, reward in zip(made, rewards, strict=True)]
        mean, weight = sum(rewards) / GROUP_SIZE, 1 / (GROUP_SIZE * NEW_TOKENS)
        steps = [TrainedStep(episode, 0, episode.reward - mean, weight) for episode in episodes]
        learner.learn(steps, rng)
        version += 1
        engine.load(model, version)
        return [read - start, time.process_time() - read]

    return update


@contextmanager
def trl_update(settings: dict[str, Any]) -> Iterator[Callable[..., dict[str, float]] | None]:
    """Yield a function that makes one update with TRL and takes its data, if any; None if TRL is not installed."""
    if not TRL_PYTHON.exists():
        log_progress("TRL is left out; `make peers` installs it")
        yield None
        return
    with tempfile.TemporaryDirectory() as out:
        command = [
            str(TRL_PYTHON),
            str(Path(__file__).parent / "peers" / "trl_adapter.py"),
            json.dumps(settings | {"out": out}),
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            assert process.stdin
            assert process.stdout
            report, hear = process.stdin, process.stdout

            def update(data: object = None) -> dict[str, float]:
                print(json.dumps(data), file=report, flush=True)
                if not (answer := hear.readline()):
                    raise RuntimeError("TRL ended before its update was complete; its last output is above")
                took: dict[str, float] = json.loads(answer)
                return took

            try:
                yield update
            finally:
                process.terminate()


SMOLLM2: dict[str, Any] = {
    "vocab_size": 49_152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9,
    "num_key_value_heads": 3, "tie_word_embeddings": True, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None,
}  # fmt: skip
CLONE_TEMPLATES = ("map.town_population", "shopping.product_price", "shopping_admin.customer_email", "gitlab.list_place")
CLONE_RATE = 5e-4


def cloning_updates(effort: Effort) -> dict[str, Any]:
    """Return the tokens per CPU second of behaviour cloning with adapters, and the losses before the first update.

    The contenders take turns with the same update: all steps of one or two episodes of the expert. Tokens are those of the samples, without
    padding, so a shared token counts once for each sample.
    """
    from peft import LoraConfig  # noqa: PLC0415 - an optional dependency

    config = SMOLLM2 | ({"num_hidden_layers": 2} if effort.rounds == 1 else {})
    args = BCSettings(
        model="small", out=Path(), templates=CLONE_TEMPLATES, per_template=1, worlds=(11,), window=2000, copy_weight=0, curriculum=0, lora_rank=32,
        dtype="bfloat16",
    )  # fmt: skip
    steps = demonstrate(training_tasks(args), **args.env_arguments())
    tokenizer = small.train_tokenizer([text for step in steps for text in (step.messages[-1]["content"], step.reply)], 2048)
    samples = encode(PromptEncoder(tokenizer), steps)
    lengths = [len(sample.prompt_ids) + len(sample.response_ids) for sample in samples]
    plan = EpisodeUpdates(find_episodes(steps), lengths, args.tokens_per_update, 0)
    torch.manual_seed(0)
    models = {"ours": LlamaForCausalLM(LlamaConfig(**config))}
    models["plain"] = deepcopy(models["ours"])
    prepare_for_training(models["ours"], args, 0)
    models["plain"].add_adapter(LoraConfig(r=args.lora_rank, lora_alpha=2 * args.lora_rank, target_modules="all-linear"))
    models["plain"].load_state_dict(models["ours"].state_dict())
    optimizers = {name: create_optimizer(model, "adamw", CLONE_RATE, 0.0) for name, model in models.items()}
    work = {"config": config, "lora_rank": args.lora_rank, "learning_rate": CLONE_RATE}
    rates: dict[str, list[float]] = {"ours": [], "plain": [], "trl": []}
    losses: dict[str, list[float]] = {"ours": [], "plain": []}
    with trl_update(work) as theirs:
        for number in range(effort.rounds + 1):
            log_progress(f"update {number} of {effort.rounds}")
            indices = next(plan)
            batch, tokens = [samples[index] for index in indices], sum(lengths[index] for index in indices)
            took = {
                "ours": measure_time(
                    lambda batch=batch: losses["ours"].append(
                        optimize(models["ours"], optimizers["ours"], batch, args)[0]["loss"]
                    )
                ),
                "plain": measure_time(
                    lambda batch=batch: losses["plain"].append(plain_update(models["plain"], optimizers["plain"], batch))
                ),
            }
            if theirs:
                took["trl"] = theirs([[sample.prompt_ids, sample.response_ids] for sample in batch])
            for name in took if number else ():  # the first round warms up
                rates[name].append(tokens / took[name]["cpu_s"])
    return {
        "clone_rounds": effort.rounds, "clone_layers": config["num_hidden_layers"],
        **{f"clone_{name}_tokens_per_cpu_s": rounded_median(values) for name, values in rates.items()},
        **{
            f"clone_ours_over_{name}": rounded_median(ours / other for ours, other in zip(rates["ours"], rates[name], strict=False))
            for name in ("plain", "trl")
        },
        "clone_loss_difference": abs(losses["ours"][0] - losses["plain"][0]),
    }  # fmt: skip


def plain_update(model: PreTrainedModel, optimizer: Optimizer, samples: Sequence[Sample]) -> float:
    """Take an update with the loss of transformers on padded rows, in bfloat16, and return the loss."""
    rows = [torch.tensor(sample.prompt_ids + sample.response_ids) for sample in samples]
    labels = [torch.tensor((-100,) * len(sample.prompt_ids) + sample.response_ids) for sample in samples]
    pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
    is_real = pad([torch.ones_like(row) for row in rows])
    with autocast(model, "bfloat16"):
        loss = model(input_ids=pad(rows), attention_mask=is_real, labels=pad(labels, padding_value=-100)).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


QWEN_3B: dict[str, Any] = {
    "vocab_size": 151_936, "hidden_size": 2048, "intermediate_size": 11_008, "num_hidden_layers": 36, "num_attention_heads": 16,
    "num_key_value_heads": 2, "tie_word_embeddings": True,
}  # fmt: skip


class PlanAssumptions(NamedTuple):
    """The run of `--plan`, and the fractions of a GPU's peak rates that it reaches. The first two values are those of WebAgent-R1."""

    tasks_per_update: int = 16
    group_size: int = 4
    updates: int = 100
    steps_per_episode: float = 8.0
    prompt_tokens: int = 4000  # mean of a step
    reply_tokens: int = 150  # mean of a step
    tokens_per_pass: int = 16_384
    token_ratio: float = 1.0  # sampled tokens per token that is computed, by shared prefixes
    env_step_s: float = 0.0
    env_cores: int = 16  # for each GPU
    peak_tflops: float = 312.0  # bfloat16, A100
    bandwidth_gb_s: float = 2000.0  # A100 with 80 GB
    memory_gb: float = 80.0
    training_efficiency: float = 0.35
    prefill_efficiency: float = 0.5
    decoding_efficiency: float = 0.5  # of the bandwidth


class ModelSize(NamedTuple):
    """Sizes of a decoder with gated MLP, grouped keys, biases of queries, keys and values, and a head that shares the embeddings."""

    parameters: int
    layer_parameters: int  # without embeddings
    key_value_bytes: int  # of a token, in bfloat16

    @classmethod
    def of(cls, config: dict[str, Any]) -> "ModelSize":
        """Return the sizes of a Qwen2 configuration."""
        width, hidden, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
        keys = config["num_key_value_heads"] * (width // config["num_attention_heads"])
        attention = 2 * width * width + width + 2 * (width + 1) * keys
        of_layers = layers * (attention + 3 * width * hidden + 2 * width) + width
        return cls(of_layers + config["vocab_size"] * width, of_layers, 2 * 2 * layers * keys)


def plan_run(config: dict[str, Any], gpus: int, assumed: PlanAssumptions) -> dict[str, Any]:
    """Return the memory of a GPU in GB, and the seconds of an update and the hours of the run.

    All weights are trained in float32 with AdamW, passes are in bfloat16 with gradient checkpointing, and a frozen reference model gives
    the KL penalty. Parameters, gradients, optimizer and reference are sharded. Each GPU decodes a part of the episodes with a copy of
    the model in bfloat16. Communication is not included.
    """
    size, layers, width = ModelSize.of(config), config["num_hidden_layers"], config["hidden_size"]
    context = assumed.prompt_tokens + assumed.reply_tokens
    episodes = assumed.tasks_per_update * assumed.group_size
    steps = episodes * assumed.steps_per_episode
    tokens = steps * context / assumed.token_ratio
    # Forward pass: 2 operations per parameter and token, and 2 x width x context per layer and token for causal attention. The head
    # computes replies only.
    forward = tokens * (2 * size.layer_parameters + 2 * layers * width * context)
    forward += steps * assumed.reply_tokens * 2 * (size.parameters - size.layer_parameters)
    # Old log-probabilities, the reference, the pass, its recomputation, and twice as much for the backward pass.
    training_s = 6 * forward / (gpus * assumed.peak_tflops * 1e12 * assumed.training_efficiency)
    prefill_s = forward / (gpus * assumed.peak_tflops * 1e12 * assumed.prefill_efficiency)
    key_values = episodes / gpus * context * size.key_value_bytes
    read_bytes = 2 * size.parameters + key_values
    tokens_in_turn = assumed.steps_per_episode * assumed.reply_tokens  # each episode waits for its own tokens
    decoding_s = tokens_in_turn * read_bytes / (assumed.bandwidth_gb_s * 1e9 * assumed.decoding_efficiency)
    env_s = steps * assumed.env_step_s / (gpus * assumed.env_cores)
    update_s = training_s + prefill_s + decoding_s + env_s
    activations = assumed.tokens_per_pass * (4 * layers * width + 2 * 4 * (4 * width + 3 * config["intermediate_size"]))
    logits = 2 * 4 * config["vocab_size"] * assumed.tokens_per_pass * assumed.reply_tokens / context
    memory = {
        "weights, gradients, AdamW (16 bytes per parameter)": 16 * size.parameters / gpus,
        "reference model": 4 * size.parameters / gpus,
        "copies in bfloat16 for passes and decoding": 4 * size.parameters,
        "activations of a pass": activations, "logits of replies": logits, "keys and values of decoding": key_values,
    }  # fmt: skip
    memory_gb = {name: round(value / 1e9, 1) for name, value in memory.items()}
    total_gb = sum(memory.values()) / 1e9
    return {
        "gpus": gpus, "memory_gb": memory_gb, "total_gb": round(total_gb, 1), "fits": total_gb <= assumed.memory_gb,
        "training_s": round(training_s, 1), "prefill_s": round(prefill_s, 1), "decoding_s": round(decoding_s, 1), "env_s": round(env_s, 2),
        "update_s": round(update_s, 1), "run_hours": round(assumed.updates * update_s / 3600, 2),
        "training_pflop": round(6 * forward / 1e15, 1),
    }  # fmt: skip


def plan(_effort: Effort) -> dict[str, Any]:
    """Return the plans for 1 and 8 GPUs, their assumptions, and the time of an update's training on one core of the measured CPU."""
    measured, env = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("training_speed", "env_speed"))
    assumed = PlanAssumptions(token_ratio=measured["token_ratio"], env_step_s=env["inprocess_step_ms"] / 1000)
    plans = [plan_run(QWEN_3B, gpus, assumed) for gpus in (1, 8)]
    point = measured["episodes"][-1]
    shape = MODEL | {
        "hidden_size": point["width"],
        "intermediate_size": 4 * point["width"],
        "num_key_value_heads": 1,
        "num_attention_heads": 1,
    }
    cpu_flops = 6 * ModelSize.of(shape).layer_parameters * point["tree_tokens"] / point["tree_cpu_s"]
    return {
        "plan_model": "Qwen2.5-3B", "plan_parameters": ModelSize.of(QWEN_3B).parameters, "plan_assumptions": assumed._asdict(),
        **{f"plan_{item['gpus']}_gpus": item for item in plans},
        "plan_measured_cpu_gflops": round(cpu_flops / 1e9, 1),
        "plan_core_days_per_update": round(plans[0]["training_pflop"] * 1e15 / cpu_flops / 86_400, 1),
    }  # fmt: skip


def engines(effort: Effort) -> dict[str, Any]:
    """Return the figures of the engine, with and without shared prefixes, and the difference of its log-probabilities."""
    model, figures = generation.create("middle"), dict[str, Any]()
    for scene, shared in (("apart", ""), ("trunk", "shared_")):
        log_progress(f"generation: {scene}")
        rates = generation.measure(model, generation.prompts_of(scene, 16), effort.rounds)
        figures |= {f"engine_{shared}tokens_per_s": rates["ours"], f"generate_{shared}tokens_per_s": rates["padded"]}
        figures[f"engine_{shared}over_generate"] = round(rates["ours"] / rates["padded"], 3)
    return figures | {"logprob_max_abs_diff": logprob_difference(model)}


def logprob_difference(model: PreTrainedModel) -> float:
    """Return the largest difference between the log-probabilities of the engine with its prefix cache and of the trainer on trees."""
    prompts = generation.prompts_of("trunk", GROUP_SIZE)
    made = generate(InProcessEngine(model, frozenset(), max_new_tokens=NEW_TOKENS), prompts, range(GROUP_SIZE))
    samples = [Sample(prompt, item.response_ids) for prompt, item in zip(prompts, made, strict=True)]
    with torch.no_grad():
        gaps = [
            (batch_logprobs(model, batch) - torch.tensor([value for index in batch.samples for value in made[index].logprobs]))
            for batch in pack(samples, TOKENS_PER_PASS, sharing="tree", model=model)
        ]
    return float(torch.cat(gaps).abs().max())


def collection(effort: Effort) -> dict[str, Any]:
    """Return the figures of asynchronous and lock-step rollouts, in wall time, since envs wait; each in a separate process."""
    log_progress("rollouts")
    num_envs, episodes_per_round, wait_s = (16, 32, 0.2) if effort.rounds > 1 else (4, 8, 0.01)
    measured = rollouts.measure(num_envs, episodes_per_round, effort.rounds, wait_s)
    return {name: measured[name] for name in ("async_over_lockstep", "async_rollouts_per_s", "lockstep_rollouts_per_s")}


PARTS = {"update": updates, "episodes": episodes, "engine": engines, "rollouts": collection}


if __name__ == "__main__":
    console.run("python -m benchmarks.training_speed", lambda _: main())
