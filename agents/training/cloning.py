"""Behaviour cloning: a model learns to reply as the expert does. Run `python -m agents.train_bc --help`.

`--model pointer` trains a pointing network instead of a language model, with options of its own
(`agents.training.pointer_cloning`).

What it leaves out: validation during training (`agents.evaluate` plays whole episodes) and more than one device.
"""

import math
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tqdm import tqdm

from agents.data.demonstrations import Demonstration, demonstrate, draw_tasks, read_demonstrations, thin
from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.trajectories import Sample
from agents.models import small
from agents.models.batches import PackedBatch, Sharing, batch_hidden, batch_logprobs, pack, repeats
from agents.models.checkpoints import begin, load_model, save_checkpoint
from agents.models.optimizers import Optimizer, create_optimizer
from agents.training import losses
from agents.training.distributed import Ranks
from agents.training.epochs import EpisodeUpdates, Focus, Updates, find_episodes
from agents.training.metrics import Metrics
from agents.training.settings import SMALL, BCSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def train(settings: BCSettings, demonstrations: Sequence[Demonstration] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Demonstrations are drawn and played unless given."""
    if settings.run.threads:
        torch.set_num_threads(settings.run.threads)
    last = begin(settings, settings.run.out)
    update, record = (last.update, last.progress()) if last else (0, dict[str, Any](elapsed_s=0.0))
    if last and settings.run.progress(update, record["elapsed_s"]) >= 1:
        return last.path
    if demonstrations is None and settings.data.demonstrations:
        demonstrations = read_demonstrations(settings.data.demonstrations)
    elif demonstrations is None:
        tasks = draw_tasks(
            settings.data.worlds,
            settings.data.per_template,
            templates=settings.data.templates,
            variation=settings.env.variation,
        )
        demonstrations = demonstrate(
            tasks,
            expert_thoughts=settings.data.expert_thoughts,
            mistakes=settings.data.mistakes,
            split=settings.split,
            seed=settings.run.seed,
            **settings.env.env_arguments(),
        )
    model, tokenizer = load_model(last.path) if last else _start(settings, demonstrations)
    model.to(Ranks.here().device)  # type: ignore[arg-type]
    encoder = PromptEncoder(tokenizer, system_prompt(settings.data.system, elements=settings.env.elements))
    lengths = measure(encoder, demonstrations)
    fitting = [number for number, (prompt, _) in enumerate(lengths) if prompt <= settings.data.max_prompt_tokens]
    if not fitting:
        raise ValueError(f"no demonstration has a prompt of at most max_prompt_tokens={settings.data.max_prompt_tokens} tokens")
    if len(fitting) < len(lengths):
        _tell_left_out([step.task_id for step in demonstrations], set(fitting), settings.data.max_prompt_tokens)
    optimizer = create_optimizer(
        model, settings.optimization.optimizer, settings.optimization.learning_rate, settings.optimization.weight_decay
    )
    if last:
        last.restore(optimizer)
    elapsed_s = float(record["elapsed_s"])
    totals = [sum(lengths[number]) for number in fitting]
    agent = settings.agent() | {"max_new_tokens": _room([lengths[number][1] for number in fitting])}
    focus = Focus([_kind(demonstrations[number]) for number in fitting], settings.pace.focus) if settings.pace.focus else None
    plan: Updates | EpisodeUpdates
    if settings.optimization.copy_weight:
        plan = Updates(totals, settings.optimization.tokens_per_update, settings.run.seed, focus)
    else:
        wholes = find_episodes([demonstrations[number] for number in fitting])
        plan = EpisodeUpdates(wholes, totals, settings.optimization.tokens_per_update, settings.run.seed)
    if last:
        plan.restore(record["plan"])

    def save() -> Path:
        record = {"elapsed_s": elapsed_s, "plan": plan.record()}
        return save_checkpoint(settings.run.out, update, model, tokenizer, optimizer, record, agent).path

    model.train()
    with Metrics(settings.run.out, update, "cloning") as metrics:
        progress = settings.run.progress(update, elapsed_s)
        while progress < 1:
            started = time.perf_counter()
            rate = learning_rate(settings, progress)
            optimizer.set_rate(rate)
            rng = random.Random(f"{settings.run.seed}/thin/{update}")
            indices, keep = next(plan), kept_lines(settings, progress, rng)
            chosen = [thin(demonstrations[fitting[index]], keep, rng) for index in indices]
            values, logprobs = take_update(model, optimizer, encode(encoder, chosen), settings)
            if focus:
                for index, logprob in zip(indices, logprobs, strict=True):
                    focus.note(index, logprob)
            update += 1
            duration_s = time.perf_counter() - started
            elapsed_s += duration_s
            progress = settings.run.progress(update, elapsed_s)
            metrics.log(update, {**values, "learning_rate": rate, "elapsed_s": elapsed_s})
            metrics.show(progress, f"loss {values['loss']:.3f}, {values['tokens'] / duration_s:.0f} tokens/s")
            if update % settings.run.save_every == 0 and progress < 1:
                save()
    return save()


def take_update(
    model: "PreTrainedModel", optimizer: Optimizer, samples: Sequence[Sample], settings: BCSettings
) -> tuple[dict[str, float], list[float]]:
    """Do one update on the samples and return its metrics, and the log-probability that each reply had before."""
    pad_id = model.config.pad_token_id or 0
    # What repeats is looked for in rows. Without it, samples share whatever they can: a system prompt, an episode's history.
    sharing: Sharing = "rows" if settings.optimization.copy_weight else "auto"
    batches = pack(samples, settings.optimization.tokens_per_pass, pad_id=pad_id, sharing=sharing, model=model)
    responses = sum(len(sample.response_ids) for sample in samples)
    total_loss, total_copy = 0.0, 0.0
    found = [0.0] * len(samples)
    for batch in batches:
        logprobs, copy_loss = _losses(model, batch, pad_id, with_copying=settings.optimization.copy_weight > 0)
        for index, part in zip(batch.samples, logprobs.detach().split(batch.lengths), strict=True):
            found[index] = part.sum().item()
        loss = -(logprobs * (1 / responses)).sum()
        (loss + settings.optimization.copy_weight / len(batches) * copy_loss).backward()
        total_loss += loss.item()
        total_copy += copy_loss.item() / len(batches)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.optimization.max_grad_norm)
    optimizer.step()
    tokens = sum(batch.input_ids.numel() for batch in batches)
    metrics = {"loss": total_loss, "copy_loss": total_copy, "grad_norm": norm.item(), "tokens": tokens, "samples": len(samples)}
    return metrics, found


def encode(encoder: PromptEncoder, demonstrations: Sequence[Demonstration]) -> list[Sample]:
    """Return the demonstrations as samples."""
    prompts = encoder.encode_all([demonstration.messages for demonstration in demonstrations])
    return [Sample(prompt, encoder.encode_reply(item.reply)) for prompt, item in zip(prompts, demonstrations, strict=True)]


def measure(encoder: PromptEncoder, demonstrations: Sequence[Demonstration]) -> list[tuple[int, int]]:
    """Return the tokens of each demonstration's prompt and reply.

    The tokens themselves take some thirty times the memory of the text, so each update encodes its own again.
    """
    lengths: list[tuple[int, int]] = []
    for start in tqdm(
        range(0, len(demonstrations), _CHUNK), desc="measuring", unit=f"x{_CHUNK} steps", leave=False, disable=None
    ):
        encoded = encode(encoder, demonstrations[start : start + _CHUNK])
        lengths += [(len(sample.prompt_ids), len(sample.response_ids)) for sample in encoded]
    return lengths


def kept_lines(settings: BCSettings, progress: float, rng: random.Random) -> float:
    """Return the share of a page's lines that an update shows at a part of the training."""
    if progress < settings.pace.curriculum:
        return 0.1 + 0.9 * math.pow(progress / settings.pace.curriculum, settings.pace.curriculum_power)
    if progress < 0.85 and rng.random() < settings.pace.thinned:
        return 0.05 + 0.95 * math.pow(rng.random(), 2)
    return 1.0


def learning_rate(settings: BCSettings, progress: float) -> float:
    """Return the rate at a part of the training: a linear rise, then a cosine."""
    if progress < settings.optimization.warmup:
        return settings.optimization.learning_rate * max(progress / settings.optimization.warmup, 0.01)
    cosine = 0.5 * (1 + math.cos(math.pi * (progress - settings.optimization.warmup) / (1 - settings.optimization.warmup)))
    return settings.optimization.learning_rate * (
        settings.optimization.final_rate + (1 - settings.optimization.final_rate) * cosine
    )


def _kind(step: Demonstration) -> str:
    """Return the template of a step's task and how many earlier steps its prompt shows."""
    return f"{step.task_id.partition('/')[0]}/{sum(message['role'] == 'assistant' for message in step.messages)}"


def _tell_left_out(task_ids: Sequence[str], fitting: set[int], max_prompt_tokens: int) -> None:
    """Say how many steps are too long, and for which kind of task that is worst: a site that is never seen is never learned."""
    of_kind: dict[str, list[bool]] = {}
    for number, task_id in enumerate(task_ids):
        of_kind.setdefault(task_id.partition("/")[0], []).append(number not in fitting)
    kind, left_out = max(of_kind.items(), key=lambda item: sum(item[1]) / len(item[1]))
    print(
        f"{len(task_ids) - len(fitting):,} of {len(task_ids):,} steps are left out, as their prompts have more than "
        f"{max_prompt_tokens} tokens; of {kind}, {100 * sum(left_out) / len(left_out):.0f} %. Demonstrations with a smaller "
        "--window, such as 3000, have shorter prompts.",
        file=sys.stderr,
    )


def _room(reply_tokens: Sequence[int]) -> int:
    """Return the limit for replies that holds all but the longest in two hundred, which would let every endless one go on as long."""
    longest = sorted(reply_tokens)[math.ceil(0.995 * len(reply_tokens)) - 1]
    return max(64, math.ceil(longest / 32) * 32)


def _start(settings: BCSettings, demonstrations: Sequence[Demonstration]) -> "tuple[PreTrainedModel, Any]":
    """Return the model and tokenizer that training begins with."""
    if settings.run.model != SMALL:
        model, tokenizer = load_model(settings.run.model)
        if settings.network.inserted_layers:
            model = small.insert_layers(model, settings.network.inserted_layers, seed=settings.run.seed)
        return model, tokenizer
    some = random.Random(settings.run.seed).sample(demonstrations, min(len(demonstrations), 2500))
    texts = [text for item in some for text in (*(message["content"] for message in item.messages), item.reply)]
    tokenizer = small.train_tokenizer(texts, settings.network.vocabulary)
    model = small.create_model(
        tokenizer,
        width=settings.network.width,
        layers=settings.network.layers,
        heads=settings.network.heads,
        seed=settings.run.seed,
    )
    small.practise_copying(model, settings.network.practice, first_id=len(small.SPECIAL), seed=settings.run.seed)
    return model, tokenizer


def _losses(
    model: "PreTrainedModel", batch: PackedBatch, pad_id: int, *, with_copying: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the log-probabilities of the response tokens, and the mean loss on what repeats in the prompts."""
    hidden, head = batch_hidden(model, batch), model.get_output_embeddings()
    logprobs = batch_logprobs(model, batch, hidden=hidden)
    if not with_copying:
        return logprobs, logprobs.new_zeros(())
    rows, columns = repeats(batch.input_ids, pad_id)
    if not len(rows):
        return logprobs, logprobs.new_zeros(())
    repeated = losses.token_logprobs(head(hidden[rows, columns]), batch.input_ids[rows, columns + 1].to(hidden.device))
    return logprobs, -repeated.mean()


_CHUNK = 256  # demonstrations that are encoded at once to be measured
