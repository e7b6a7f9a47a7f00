"""The adapter of TRL's GRPOTrainer: `.venv-trl/bin/python benchmarks/peers/trl_adapter.py '{"width": 256, ...}'`.

It imports nothing of this package, since TRL is installed in another environment. For each line of input it makes one update, the
rollout of one group and one training step, and answers with its time as a line of JSON.
"""

import json
import os
import random
import sys
import time
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


class Waiting(TrainerCallback):
    """A callback that waits for a line of input before each update and prints the update's time after it."""

    def __init__(self, answers: Any) -> None:
        self._answers = answers
        self._began = (0.0, 0.0)

    def on_step_begin(self, _args: Any, _state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop = not sys.stdin.readline()
        self._began = (time.process_time(), time.perf_counter())

    def on_step_end(self, *_: Any, **__: Any) -> None:
        cpu_s, wall_s = time.process_time() - self._began[0], time.perf_counter() - self._began[1]
        print(json.dumps({"cpu_s": cpu_s, "wall_s": wall_s}), file=self._answers, flush=True)


def main() -> None:
    """Train with the settings of the first argument, and report the time of each step."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    work = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    vocabulary = {"[PAD]": 0, "[END]": 1, **{f"w{number}": number for number in range(2, work["config"]["vocab_size"])}}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[END]"))  # noqa: S106 - no password
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", eos_token="[END]")  # noqa: S106 - as above
    rng = random.Random(0)
    prompts = [" ".join(f"w{rng.randrange(2, len(vocabulary))}" for _ in range(work["prompt_tokens"])) for _ in range(200)]
    settings = GRPOConfig(
        output_dir=work["out"], use_cpu=True, bf16=False, gradient_checkpointing=False, report_to=[], save_strategy="no",
        logging_strategy="no", disable_tqdm=True, max_steps=200, learning_rate=3e-4, beta=0.0, seed=0,
        per_device_train_batch_size=work["group_size"], num_generations=work["group_size"],
        max_completion_length=work["new_tokens"], temperature=1.0, dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=Qwen2ForCausalLM(Qwen2Config(**work["config"])),
        reward_funcs=lambda completions, **_: [rng.random() for _ in completions],
        args=settings,
        train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in prompts]),
        processing_class=tokenizer,
        callbacks=[Waiting(answers)],
    )
    trainer.train()


if __name__ == "__main__":
    main()
