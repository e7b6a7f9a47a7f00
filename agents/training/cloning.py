"""Behaviour cloning of a language model from the expert's demonstrations. Run `python -m agents.train_bc --help`.

With `--model pointer`, `agents.training.pointer_cloning` trains a pointer network, with other options. There is no validation during
training (`agents.evaluate` plays whole episodes), and only one device is used.
"""

import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tqdm import tqdm

from agents.data.demonstrations import Demonstration, demonstrate, read_demonstrations, thin, training_tasks
from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.trajectories import Sample
from agents.models import small
from agents.models.batches import autocast, batch_hidden, batch_logprobs, find_repeats, pack
from agents.models.checkpoints import expect_model, load_model
from agents.models.parameters import Optimizer, create_optimizer, prepare_for_training
from agents.training import losses
from agents.training.distributed import Ranks
from agents.training.runs import Run
from agents.training.settings import SMALL, BCSettings
from webarena_gym import suite as task_suite

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WARMUP = 0.03  # fraction of the training in which the learning rate rises
FINAL_RATE = 0.02  # final learning rate, relative to the maximum
_CHUNK = 256  # demonstrations that are encoded together to compute their lengths
_WINDOW = 512  # samples that are sorted by length together
_ERROR_UPDATE_RATE = 0.2  # of the moving mean of errors


def train(args: BCSettings, demonstrations: Sequence[Demonstration] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. By default, the expert plays the demonstrations."""
    if args.model != SMALL:
        expect_model(args.model)
    if args.threads:
        torch.set_num_threads(args.threads)
    run = Run(args)
    checkpoint = run.checkpoint
    if checkpoint and run.progress >= 1:
        return checkpoint.path
    loaded = _load_model(args, checkpoint.path if checkpoint else None)
    if demonstrations is None and args.demonstrations:
        demonstrations = read_demonstrations(args.demonstrations)
        worlds = (task_suite.world_of(item.task_id) for item in demonstrations)
        args.expect_training_worlds(f"demonstrations={str(args.demonstrations)!r}", worlds)
    elif demonstrations is None:
        tasks = training_tasks(args)
        options: dict[str, Any] = {
            "expert_thoughts": args.expert_thoughts,
            "mistakes": args.mistakes,
            "split": args,
            "seed": args.seed,
        }
        demonstrations = demonstrate(tasks, **options, **args.env_arguments())
    model, tokenizer = loaded or _create_small_model(args, demonstrations)
    model.to(Ranks.current().device)  # type: ignore[arg-type]
    prepare_for_training(model, args, args.seed)
    encoder = _create_encoder(args, model, tokenizer)
    lengths = measure(encoder, demonstrations)
    short = [number for number, (prompt, _) in enumerate(lengths) if prompt <= args.max_prompt_tokens]
    if not short:
        raise ValueError(
            f"max_prompt_tokens is {args.max_prompt_tokens}; expected at least {min(prompt for prompt, _ in lengths)}, the length of "
            "the shortest prompt"
        )
    if len(short) < len(lengths):
        _print_skipped([step.task_id for step in demonstrations], set(short), args.max_prompt_tokens)
    optimizer = create_optimizer(model, args.optimizer, args.learning_rate, args.weight_decay)
    totals = [sum(lengths[number]) for number in short]
    # The agent's limit fits 99.5 % of the replies. The longest ones would prolong every reply without an end token.
    limit = sorted(lengths[number][1] for number in short)[math.ceil(0.995 * len(short)) - 1]
    agent = args.agent() | {"max_new_tokens": max(64, math.ceil(limit / 32) * 32)}
    kinds = []  # template of each step, and the number of earlier steps in its prompt
    for step in (demonstrations[number] for number in short):
        earlier = sum(message["role"] == "assistant" for message in step.messages)
        kinds.append(f"{step.task_id.partition('/')[0]}/{earlier}")
    focus = Focus(kinds, args.focus) if args.focus else None
    plan: Updates | EpisodeUpdates
    if args.copy_weight:
        plan = Updates(totals, args.tokens_per_update, args.seed, focus)
    else:
        plan = EpisodeUpdates(
            find_episodes([demonstrations[number] for number in short]), totals, args.tokens_per_update, args.seed
        )
    if checkpoint:
        checkpoint.restore(optimizer)
        plan.restore(run.record["plan"])

    def take_update(progress: float) -> dict[str, float]:
        rate = learning_rate(args, progress)
        optimizer.set_rate(rate)
        rng = random.Random(f"{args.seed}/thin/{run.update}")
        indices, keep = next(plan), line_fraction(args, progress, rng)
        batch = [thin(demonstrations[short[index]], keep, rng) for index in indices]
        values, logprobs = optimize(model, optimizer, encode(encoder, batch), args)
        if focus:
            focus.update_errors(indices, logprobs)
        return {**values, "learning_rate": rate}

    def save() -> Path:
        run.record["plan"] = plan.record()
        return run.save(model, tokenizer, optimizer, agent)

    def describe(values: dict[str, float], update_s: float) -> str:
        return f"loss {values['loss']:.3f}, {values['tokens'] / update_s:.0f} tokens/s"

    model.train()
    return run.train("behaviour cloning", take_update, save, describe=describe)


def _load_model(args: BCSettings, checkpoint: Path | None) -> "tuple[PreTrainedModel, Any] | None":
    """Return the model and tokenizer of a checkpoint or of `args.model`; None for a new small model.

    Raises ValueError if its chat template does not support `args.chat_template_kwargs`, before the demonstrations are played, which takes
    minutes.
    """
    if not checkpoint and args.model == SMALL:
        return None
    model, tokenizer = load_model(checkpoint or args.model)
    _create_encoder(args, model, tokenizer)
    if args.inserted_layers and not checkpoint:
        model = small.insert_layers(model, args.inserted_layers, seed=args.seed)
    return model, tokenizer


def _create_encoder(args: BCSettings, model: object, tokenizer: object) -> PromptEncoder:
    system = system_prompt(args.system, **args.env_arguments())
    return PromptEncoder.of_model(model, tokenizer, system, args.chat_template_kwargs)


def _create_small_model(args: BCSettings, demonstrations: Sequence[Demonstration]) -> "tuple[PreTrainedModel, Any]":
    """Return a new small model, and a tokenizer trained on the demonstrations."""
    sample = random.Random(args.seed).sample(demonstrations, min(len(demonstrations), 2500))
    texts = [text for item in sample for text in (*(message["content"] for message in item.messages), item.reply)]
    tokenizer = small.train_tokenizer(texts, args.vocabulary)
    model = small.create_model(tokenizer, width=args.width, layers=args.layers, heads=args.heads, seed=args.seed)
    small.pretrain_copying(model, args.practice, first_id=len(small.SPECIAL_TOKENS), seed=args.seed)
    return model, tokenizer


def encode(encoder: PromptEncoder, demonstrations: Sequence[Demonstration]) -> list[Sample]:
    """Return the demonstrations as samples."""
    prompts = encoder.encode_all([demonstration.messages for demonstration in demonstrations])
    return [Sample(prompt, encoder.encode_reply(item.reply)) for prompt, item in zip(prompts, demonstrations, strict=True)]


def measure(encoder: PromptEncoder, demonstrations: Sequence[Demonstration]) -> list[tuple[int, int]]:
    """Return the numbers of tokens of each demonstration's prompt and reply.

    The token ids are not kept, since they take thirty times the memory of the text. Each update encodes its demonstrations again.
    """
    lengths: list[tuple[int, int]] = []
    starts = range(0, len(demonstrations), _CHUNK)
    for start in tqdm(starts, desc="measuring", unit=f"x{_CHUNK} steps", leave=False, disable=None):
        samples = encode(encoder, demonstrations[start : start + _CHUNK])
        lengths += [(len(sample.prompt_ids), len(sample.response_ids)) for sample in samples]
    return lengths


def _print_skipped(task_ids: Sequence[str], short: set[int], max_prompt_tokens: int) -> None:
    """Print the number of skipped steps, and the template with the largest fraction, which the model may not learn at all."""
    skipped: dict[str, list[bool]] = {}
    for number, task_id in enumerate(task_ids):
        skipped.setdefault(task_id.partition("/")[0], []).append(number not in short)
    template, is_skipped = max(skipped.items(), key=lambda item: sum(item[1]) / len(item[1]))
    print(
        f"{len(task_ids) - len(short):,} of {len(task_ids):,} steps are left out, because their prompts have more than "
        f"{max_prompt_tokens} tokens; of {template}, {100 * sum(is_skipped) / len(is_skipped):.0f} %. Demonstrations with a smaller "
        "--window, such as 3000, have shorter prompts.",
        file=sys.stderr,
    )


# An update.


def optimize(
    model: "PreTrainedModel", optimizer: Optimizer, samples: Sequence[Sample], args: BCSettings
) -> tuple[dict[str, float], list[float]]:
    """Take one optimizer step on the samples.

    The loss is the mean loss of the reply tokens, plus `copy_weight` times the mean loss of repeated tokens in the prompts.

    Returns:
        The metrics, and the log-probability of each reply before the step.

    """
    pad_id = model.config.pad_token_id or 0
    # `find_repeats` needs rows. Otherwise, samples share common prefixes: a system prompt, or the history of an episode.
    batches = pack(samples, args.tokens_per_pass, pad_id=pad_id, sharing="rows" if args.copy_weight else "auto", model=model)
    responses = sum(len(sample.response_ids) for sample in samples)
    total_loss, total_copy, reply_logprobs = 0.0, 0.0, [0.0] * len(samples)
    for batch in batches:
        with autocast(model, args.dtype):
            hidden = batch_hidden(model, batch)
            logprobs = batch_logprobs(model, batch, hidden=hidden)
        for index, part in zip(batch.samples, logprobs.detach().split(batch.lengths), strict=True):
            reply_logprobs[index] = part.sum().item()
        copy_loss = logprobs.new_zeros(())
        if args.copy_weight and len((repeats := find_repeats(batch.input_ids, pad_id))[0]):
            rows, columns = repeats
            with autocast(model, args.dtype):
                logits = model.get_output_embeddings()(hidden[rows, columns])
            copy_loss = -losses.token_logprobs(logits, batch.input_ids[rows, columns + 1].to(hidden.device)).mean()
        loss = -(logprobs * (1 / responses)).sum()
        (loss + args.copy_weight / len(batches) * copy_loss).backward()
        total_loss += loss.item()
        total_copy += copy_loss.item() / len(batches)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
    optimizer.step()
    tokens = sum(batch.input_ids.numel() for batch in batches)
    metrics = {"loss": total_loss, "copy_loss": total_copy, "grad_norm": norm.item(), "tokens": tokens, "samples": len(samples)}
    return metrics, reply_logprobs


def line_fraction(args: BCSettings, progress: float, rng: random.Random) -> float:
    """Return the fraction of a page's lines that remain in an update, by the progress of the training from 0 to 1."""
    if progress < args.curriculum:
        return 0.1 + 0.9 * math.pow(progress / args.curriculum, args.curriculum_power)
    if progress < 0.85 and rng.random() < args.thinned:
        return 0.05 + 0.95 * math.pow(rng.random(), 2)
    return 1.0


def learning_rate(args: BCSettings, progress: float) -> float:
    """Return the learning rate by the progress of the training from 0 to 1: a linear warmup, then a cosine decay."""
    if progress < WARMUP:
        return args.learning_rate * max(progress / WARMUP, 0.01)
    cosine = 0.5 * (1 + math.cos(math.pi * (progress - WARMUP) / (1 - WARMUP)))
    return args.learning_rate * (FINAL_RATE + (1 - FINAL_RATE) * cosine)


# Samples of each update, for any number of passes over them.


class Focus:
    """Samples steps by the model's errors: few steps of kinds that the model predicts well.

    A sampled reply differs from a target with log-probability l with probability e = 1 - exp(l). Each kind has a moving mean of e, which
    is initially 1/2 and covers about ten steps. A step is used with probability min(1, max(least, 2 e)).

    Args:
        kinds: Kind of each step.
        least: Minimum probability.

    """

    def __init__(self, kinds: Sequence[str], least: float) -> None:
        self._kinds, self._least = kinds, least
        self.errors = dict.fromkeys(kinds, 0.5)

    def draw(self, index: int, rng: random.Random) -> bool:
        """Return True if the step with this index is used now, which is random."""
        return rng.random() < max(self._least, 2 * self.errors[self._kinds[index]])

    def update_errors(self, indices: Sequence[int], logprobs: Sequence[float]) -> None:
        """Update the errors with the log-probabilities of the replies of these steps."""
        for index, logprob in zip(indices, logprobs, strict=True):
            kind = self._kinds[index]
            self.errors[kind] += _ERROR_UPDATE_RATE * (1 - math.exp(logprob) - self.errors[kind])


class Updates:
    """An endless iterator over updates, each a list of sample indices, epoch after epoch.

    The samples of an update have similar lengths, which saves padding, and at most `tokens` tokens, including padding. The order depends
    only on the seed and the focus.

    Args:
        lengths: Number of tokens of each sample.
        tokens: Maximum number of tokens of an update.
        seed: Random seed.
        focus: Selects the samples; by default, all are used.

    """

    def __init__(self, lengths: Sequence[int], tokens: int, seed: int, focus: Focus | None = None) -> None:
        self.focus = focus
        self._lengths, self._tokens, self._seed = lengths, tokens, seed
        self._ready: list[list[int]] = []
        self._start_epoch(0)

    def __next__(self) -> list[int]:
        while not self._ready:
            if self._position == len(self._order):
                self._start_epoch(self._epoch + 1)
            self._prepare()
        return self._ready.pop(0)

    def record(self) -> dict[str, Any]:
        """Return the position in the data and the errors of the focus as JSON."""
        position = {"epoch": self._epoch, "place": self._position, "ready": self._ready, "dice": self._rng.getstate()}
        return position | ({"errors": self.focus.errors} if self.focus else {})

    def restore(self, record: dict[str, Any]) -> None:
        """Continue from the position that `record` returned."""
        self._start_epoch(record["epoch"])
        version, state, gauss_next = record["dice"]
        self._rng.setstate((version, tuple(state), gauss_next))
        self._position, self._ready = record["place"], list(record["ready"])
        if self.focus:
            self.focus.errors.update(record["errors"])

    def _start_epoch(self, epoch: int) -> None:
        self._epoch, self._position = epoch, 0
        self._rng: random.Random = random.Random(f"{self._seed}/{epoch}")
        self._order = self._rng.sample(range(len(self._lengths)), len(self._lengths))

    def _prepare(self) -> None:
        """Make updates of the next samples. If a whole epoch were sorted, the pages of an update would be of few kinds."""
        window: list[int] = []
        while self._position < len(self._order) and len(window) < _WINDOW:
            index = self._order[self._position]
            self._position += 1
            if self.focus is None or self.focus.draw(index, self._rng):
                window.append(index)
        updates: list[list[int]] = [[]] if window else []
        for index in sorted(window, key=self._lengths.__getitem__):
            if updates[-1] and self._lengths[index] * (len(updates[-1]) + 1) > self._tokens:
                updates.append([])
            updates[-1].append(index)
        self._rng.shuffle(updates)
        self._ready = updates


def find_episodes(demonstrations: Sequence[Demonstration]) -> list[list[int]]:
    """Return the indices of the steps of each episode: consecutive steps of one task with growing conversations.

    Without a history, conversations do not grow. Then each step is an episode, since steps have no common prefix.
    """
    episodes: list[list[int]] = []
    previous: tuple[str, int] | None = None  # task id and number of messages
    for index, step in enumerate(demonstrations):
        if previous is None or step.task_id != previous[0] or len(step.messages) <= previous[1]:
            episodes.append([])
        episodes[-1].append(index)
        previous = step.task_id, len(step.messages)
    return episodes


class EpisodeUpdates:
    """An endless iterator over updates of whole episodes, whose steps share their history. See `Updates`.

    An update has one episode, or several with at most `tokens` tokens in total, where shared tokens count in each step.
    """

    def __init__(self, episodes: Sequence[Sequence[int]], lengths: Sequence[int], tokens: int, seed: int) -> None:
        self._episodes, self._lengths, self._tokens, self._seed = episodes, lengths, tokens, seed
        self._start_epoch(0)

    def __next__(self) -> list[int]:
        update: list[int] = []
        remaining_tokens = self._tokens
        for episode in self._order[self._position :]:
            length = sum(self._lengths[index] for index in episode)
            if update and length > remaining_tokens:
                break
            update, remaining_tokens = [*update, *episode], remaining_tokens - length
            self._position += 1
        if self._position == len(self._order):
            self._start_epoch(self._epoch + 1)
        return update

    def record(self) -> dict[str, Any]:
        """Return the position in the data as JSON."""
        return {"epoch": self._epoch, "place": self._position}

    def restore(self, record: dict[str, Any]) -> None:
        """Continue from the position that `record` returned."""
        self._start_epoch(record["epoch"])
        self._position = record["place"]

    def _start_epoch(self, epoch: int) -> None:
        self._epoch, self._position = epoch, 0
        self._order = random.Random(f"{self._seed}/{epoch}").sample(self._episodes, len(self._episodes))
