"""The speed of generation: the in-process engine against `generate` of transformers.

One core, random weights, no stop token: every response is as long as allowed. Each measure is the median of interleaved rounds
in CPU seconds. What is measured:

- `apart`: prompts of 440 to 500 tokens that share nothing;
- `trunk`: prompts of 512 tokens of which the first 448 are shared;
- `group`: one prompt of 470 tokens, for all.

Contenders: `ours` is the engine with an empty prefix cache in each round, as after an update; `padded` is `model.generate` on one
padded batch.
"""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel, Qwen2Config

from agents.data.trajectories import Ids
from agents.rollouts.engines.inprocess import InProcessEngine, generate
from benchmarks.machine import cores, origin, use_cores
from webarena_gym import console

VOCABULARY = 2048
NEW_TOKENS = 64
SCENES = ("apart", "trunk", "group")


def create(name: str) -> PreTrainedModel:
    """Return a model with random weights: "middle" (256 wide), or "small", as agents.models.small builds them (128 wide)."""
    torch.manual_seed(0)
    options: dict[str, Any] = {"vocab_size": VOCABULARY, "num_hidden_layers": 4, "num_attention_heads": 4, "eos_token_id": None}
    config: Qwen2Config | LlamaConfig
    if name == "middle":
        config = Qwen2Config(hidden_size=256, intermediate_size=1024, num_key_value_heads=4, **options)
    else:
        config = LlamaConfig(hidden_size=128, intermediate_size=384, num_key_value_heads=4, attention_bias=True, **options)
    config.pad_token_id = 0
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config)
    return model.eval()


def prompts_of(scene: str, count: int, seed: int = 0) -> list[Ids]:
    """Return the prompts of a scene."""
    rng = Random(seed)

    def ids(length: int) -> Ids:
        return tuple(rng.randrange(1, VOCABULARY) for _ in range(length))

    if scene == "apart":
        return [ids(rng.randint(440, 500)) for _ in range(count)]
    if scene == "trunk":
        trunk = ids(448)
        return [(*trunk, *ids(64)) for _ in range(count)]
    return [ids(470)] * count


def engine_contender(model: PreTrainedModel) -> Callable[[Sequence[Ids]], int]:
    """Return a contender: the number of tokens that the engine generates for prompts."""
    engine = InProcessEngine(model, frozenset(), max_new_tokens=NEW_TOKENS)

    def run(prompts: Sequence[Ids]) -> int:
        engine.load(model, engine.policy_version + 1)
        return sum(len(one.response_ids) for one in generate(engine, prompts, range(len(prompts))))

    return run


def padded_contender(model: PreTrainedModel) -> Callable[[Sequence[Ids]], int]:
    """Return a contender: `model.generate` on one batch, padded on the left."""
    make: Any = model.generate

    def run(prompts: Sequence[Ids]) -> int:
        longest = max(map(len, prompts))
        input_ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
        mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        sampling = {"do_sample": True, "top_k": 0, "top_p": 1.0, "max_new_tokens": NEW_TOKENS}
        made = make(input_ids, attention_mask=mask, eos_token_id=None, pad_token_id=0, **sampling)
        return int((made.shape[1] - longest) * len(prompts))

    return run


CONTENDERS = {"ours": engine_contender, "padded": padded_contender}


def measure(model: PreTrainedModel, prompts: Sequence[Ids], rounds: int) -> dict[str, float]:
    """Return the new tokens per CPU second of each contender: medians of interleaved rounds, after one to warm up."""
    runs = {name: make(model) for name, make in CONTENDERS.items()}
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            before = time.process_time()
            tokens = run(prompts)
            if number:
                rates[name].append(tokens / (time.process_time() - before))
    return {name: round(statistics.median(values), 1) for name, values in rates.items()}


def main() -> None:
    """Measure and print."""
    parser = console.Parser(prog="python -m benchmarks.generation", description=__doc__, examples=["--quick --json"])
    parser.add_argument("--models", nargs="+", choices=("middle", "small"), default=["middle", "small"])
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=SCENES)
    parser.add_argument("--counts", nargs="+", type=console.integer(1), default=[8, 16], help="prompts at once")
    parser.add_argument("--rounds", type=console.integer(1), default=5)
    parser.add_argument("--quick", action="store_true", help="one round of 8 prompts")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    rounds, counts = (1, [8]) if arguments.quick else (arguments.rounds, arguments.counts)
    use_cores(cores()[:1])
    torch.set_num_threads(1)
    results = []
    for name in arguments.models:
        model = create(name)
        for scene in arguments.scenes:
            for count in counts:
                rates = measure(model, prompts_of(scene, count), rounds)
                results.append({"model": name, "scene": scene, "prompts": count, "tokens_per_cpu_s": rates})
                summary = f"{rates} new tokens per CPU second; ours / padded {rates['ours'] / rates['padded']:.2f}"
                print(f"{name:7}{scene:7}{count:3} prompts  {summary}", flush=True)
    if arguments.json:
        print(json.dumps({"results": results, "rounds": rounds, **origin("generation")}))


if __name__ == "__main__":
    console.run("python -m benchmarks.generation", lambda _: main())
