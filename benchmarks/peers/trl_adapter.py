"""The adapter of TRL's trainers: `.venv-trl/bin/python benchmarks/peers/trl_adapter.py '{"config": {...}, ...}'`.

It imports nothing of this package, since TRL is installed in another environment. For each line of input it makes one update and answers
with its time as a line of JSON. An update of GRPOTrainer is the rollout of one group and one training step. If the settings contain
"lora_rank", it is the loss of SFTTrainer and an optimizer step with adapters in bfloat16 on the line's lists of prompt ids and response ids.
"""

import json
import os
import random
import sys
import time
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    TrainerCallback,
)
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer


class Waiting(TrainerCallback):
    """A callback that waits for a line of input before each update and prints the update's time after it."""

    def __init__(self, answers: object) -> None:
        self._answers = answers
        self._began = (0.0, 0.0)

    def on_step_begin(self, _args: object, _state: object, control: object, **_: object) -> None:
        control.should_training_stop = not sys.stdin.readline()
        self._began = (time.process_time(), time.perf_counter())

    def on_step_end(self, *_: object, **__: object) -> None:
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
    if "lora_rank" in work:
        clone(work, tokenizer, answers)
        return
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


def clone(work: dict[str, Any], tokenizer: PreTrainedTokenizerFast, answers: object) -> None:
    """Take a training step of SFTTrainer on the samples of each line, and report its time."""
    settings = SFTConfig(
        output_dir=work["out"], use_cpu=True, bf16=True, gradient_checkpointing=False, report_to=[], save_strategy="no",
        learning_rate=work["learning_rate"], weight_decay=0.0, completion_only_loss=True,
        dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = SFTTrainer(
        model=LlamaForCausalLM(LlamaConfig(**work["config"])),
        args=settings,
        train_dataset=Dataset.from_list([{"prompt": "w2", "completion": "w3"}]),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=work["lora_rank"], lora_alpha=2 * work["lora_rank"], target_modules="all-linear"),
    )
    trainer.create_optimizer()
    model, optimizer = trainer.accelerator.prepare(trainer.model, trainer.optimizer)
    model.train()
    for line in sys.stdin:
        began = time.process_time(), time.perf_counter()
        rows = [
            {"input_ids": prompt + response, "labels": [-100] * len(prompt) + response} for prompt, response in json.loads(line)
        ]
        trainer.accelerator.backward(trainer.compute_loss(model, trainer.data_collator(rows)))
        trainer.accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        cpu_s, wall_s = time.process_time() - began[0], time.perf_counter() - began[1]
        print(json.dumps({"cpu_s": cpu_s, "wall_s": wall_s}), file=answers, flush=True)


if __name__ == "__main__":
    main()
