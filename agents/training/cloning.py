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

from agents.data.demonstrations import Demonstration, demonstrate, read_demonstrations, thin, training_tasks
from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.trajectories import Sample
from agents.models import small
from agents.models.batches import autocast, batch_hidden, batch_logprobs, find_repeats, pack
from agents.models.checkpoints import expect_model, load_model, open_run, save_checkpoint
from agents.models.parameters import Optimizer, create_optimizer, prepare_for_training
from agents.training import losses
from agents.training.distributed import Ranks
from agents.training.metrics import Metrics
from agents.training.settings import SMALL, BCSettings
from webarena_gym import tasks as task_suite

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WARMUP = 0.03  # part of the training in which the learning rate rises
FINAL_RATE = 0.02  # what is left of it at the end of the cosine
_CHUNK = 256  # demonstrations that are encoded at once to be measured
_WINDOW = 512  # samples that are sorted by length together
_PACE = 0.2  # of the moving mean of errors


def train(args: BCSettings, demonstrations: Sequence[Demonstration] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Demonstrations are drawn and played unless given."""
    if args.model != SMALL:
        expect_model(args.model)
    if args.threads:
        torch.set_num_threads(args.threads)
    last = open_run(args, args.out)
    update, record = (last.update, last.progress()) if last else (0, dict[str, Any](elapsed_s=0.0))
    elapsed_s = float(record["elapsed_s"])
    if last and args.progress(update, elapsed_s) >= 1:
        return last.path
    if demonstrations is None and args.demonstrations:
        demonstrations = read_demonstrations(args.demonstrations)
        worlds = (task_suite.world_of(item.task_id) for item in demonstrations)
        args.expect_training_worlds(f"demonstrations={str(args.demonstrations)!r}", worlds)
    elif demonstrations is None:
        tasks = training_tasks(args)
        played: dict[str, Any] = {
            "expert_thoughts": args.expert_thoughts,
            "mistakes": args.mistakes,
            "split": args,
            "seed": args.seed,
        }
        demonstrations = demonstrate(tasks, **played, **args.env_arguments())
    model, tokenizer = load_model(last.path) if last else _start(args, demonstrations)
    model.to(Ranks.current().device)  # type: ignore[arg-type]
    prepare_for_training(model, args)
    encoder = PromptEncoder.of_model(model, tokenizer, system_prompt(args.system, elements=args.elements))
    lengths = measure(encoder, demonstrations)
    fitting = [number for number, (prompt, _) in enumerate(lengths) if prompt <= args.max_prompt_tokens]
    if not fitting:
        raise ValueError(f"no demonstration has a prompt of at most max_prompt_tokens={args.max_prompt_tokens} tokens")
    if len(fitting) < len(lengths):
        _tell_left_out([step.task_id for step in demonstrations], set(fitting), args.max_prompt_tokens)
    optimizer = create_optimizer(model, args.optimizer, args.learning_rate, args.weight_decay)
    totals = [sum(lengths[number]) for number in fitting]
    # A limit for replies that holds all but the longest in two hundred, which would let every endless one go on as long.
    longest = sorted(lengths[number][1] for number in fitting)[math.ceil(0.995 * len(fitting)) - 1]
    agent = args.agent() | {"max_new_tokens": max(64, math.ceil(longest / 32) * 32)}
    kinds = []  # the template of each step, and how many earlier steps its prompt shows
    for step in (demonstrations[number] for number in fitting):
        shown = sum(message["role"] == "assistant" for message in step.messages)
        kinds.append(f"{step.task_id.partition('/')[0]}/{shown}")
    focus = Focus(kinds, args.focus) if args.focus else None
    plan: Updates | EpisodeUpdates
    if args.copy_weight:
        plan = Updates(totals, args.tokens_per_update, args.seed, focus)
    else:
        plan = EpisodeUpdates(
            find_episodes([demonstrations[number] for number in fitting]), totals, args.tokens_per_update, args.seed
        )
    if last:
        last.restore(optimizer)
        plan.restore(record["plan"])

    def save() -> Path:
        record = {"elapsed_s": elapsed_s, "plan": plan.record()}
        return save_checkpoint(args.out, update, model, tokenizer, optimizer, record, agent).path

    model.train()
    with Metrics(args.out, update, "behaviour cloning") as metrics:
        while (progress := args.progress(update, elapsed_s)) < 1:
            started = time.perf_counter()
            rate = learning_rate(args, progress)
            optimizer.set_rate(rate)
            rng = random.Random(f"{args.seed}/thin/{update}")
            indices, keep = next(plan), kept_lines(args, progress, rng)
            chosen = [thin(demonstrations[fitting[index]], keep, rng) for index in indices]
            values, logprobs = take_update(model, optimizer, encode(encoder, chosen), args)
            if focus:
                focus.note(indices, logprobs)
            update += 1
            duration_s = time.perf_counter() - started
            elapsed_s += duration_s
            progress = args.progress(update, elapsed_s)
            metrics.log(update, {**values, "learning_rate": rate, "elapsed_s": elapsed_s})
            metrics.show(progress, f"loss {values['loss']:.3f}, {values['tokens'] / duration_s:.0f} tokens/s")
            if update % args.save_every == 0 and progress < 1:
                save()
    return save()


def _start(args: BCSettings, demonstrations: Sequence[Demonstration]) -> "tuple[PreTrainedModel, Any]":
    """Return the model and tokenizer that training begins with."""
    if args.model != SMALL:
        model, tokenizer = load_model(args.model)
        return small.insert_layers(model, args.inserted_layers, seed=args.seed) if args.inserted_layers else model, tokenizer
    some = random.Random(args.seed).sample(demonstrations, min(len(demonstrations), 2500))
    texts = [text for item in some for text in (*(message["content"] for message in item.messages), item.reply)]
    tokenizer = small.train_tokenizer(texts, args.vocabulary)
    model = small.create_model(tokenizer, width=args.width, layers=args.layers, heads=args.heads, seed=args.seed)
    small.pretrain_copying(model, args.practice, first_id=len(small.SPECIAL_TOKENS), seed=args.seed)
    return model, tokenizer


def encode(encoder: PromptEncoder, demonstrations: Sequence[Demonstration]) -> list[Sample]:
    """Return the demonstrations as samples."""
    prompts = encoder.encode_all([demonstration.messages for demonstration in demonstrations])
    return [Sample(prompt, encoder.encode_reply(item.reply)) for prompt, item in zip(prompts, demonstrations, strict=True)]


def measure(encoder: PromptEncoder, demonstrations: Sequence[Demonstration]) -> list[tuple[int, int]]:
    """Return the tokens of each demonstration's prompt and reply.

    The tokens themselves take some thirty times the memory of the text, so each update encodes its own again.
    """
    lengths: list[tuple[int, int]] = []
    starts = range(0, len(demonstrations), _CHUNK)
    for start in tqdm(starts, desc="measuring", unit=f"x{_CHUNK} steps", leave=False, disable=None):
        encoded = encode(encoder, demonstrations[start : start + _CHUNK])
        lengths += [(len(sample.prompt_ids), len(sample.response_ids)) for sample in encoded]
    return lengths


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


# An update.


def take_update(
    model: "PreTrainedModel", optimizer: Optimizer, samples: Sequence[Sample], args: BCSettings
) -> tuple[dict[str, float], list[float]]:
    """Do one update on the samples and return its metrics, and the log-probability that each reply had before.

    The loss is that of the replies and, with a `copy_weight`, the mean loss on what repeats in the prompts.
    """
    pad_id = model.config.pad_token_id or 0
    # What repeats is looked for in rows. Without it, samples share whatever they can: a system prompt, an episode's history.
    batches = pack(samples, args.tokens_per_pass, pad_id=pad_id, sharing="rows" if args.copy_weight else "auto", model=model)
    responses = sum(len(sample.response_ids) for sample in samples)
    total_loss, total_copy, found = 0.0, 0.0, [0.0] * len(samples)
    for batch in batches:
        with autocast(model, args.dtype):
            hidden = batch_hidden(model, batch)
            logprobs = batch_logprobs(model, batch, hidden=hidden)
        for index, part in zip(batch.samples, logprobs.detach().split(batch.lengths), strict=True):
            found[index] = part.sum().item()
        copy_loss = logprobs.new_zeros(())
        if args.copy_weight and len((places := find_repeats(batch.input_ids, pad_id))[0]):
            rows, columns = places
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
    return metrics, found


def kept_lines(args: BCSettings, progress: float, rng: random.Random) -> float:
    """Return the share of a page's lines that an update shows at a part of the training."""
    if progress < args.curriculum:
        return 0.1 + 0.9 * math.pow(progress / args.curriculum, args.curriculum_power)
    if progress < 0.85 and rng.random() < args.thinned:
        return 0.05 + 0.95 * math.pow(rng.random(), 2)
    return 1.0


def learning_rate(args: BCSettings, progress: float) -> float:
    """Return the rate at a part of the training: a linear rise, then a cosine."""
    if progress < WARMUP:
        return args.learning_rate * max(progress / WARMUP, 0.01)
    cosine = 0.5 * (1 + math.cos(math.pi * (progress - WARMUP) / (1 - WARMUP)))
    return args.learning_rate * (FINAL_RATE + (1 - FINAL_RATE) * cosine)


# Samples of each update, for any number of passes over them.


class Focus:
    """Learns most where most is still wrong: of a kind of step that rarely fails, few steps are taken.

    A reply of log-probability l is wrong with probability e = 1 - exp(l) when it is sampled. Each kind keeps a moving mean of e,
    over some ten of its steps, that begins at 1/2; a step is taken with probability min(1, max(least, 2 e)).
    """

    def __init__(self, kinds: Sequence[str], least: float) -> None:
        self._kinds, self._least = kinds, least
        self.errors = dict.fromkeys(kinds, 0.5)

    def takes(self, index: int, rng: random.Random) -> bool:
        """Return whether to learn from the sample now."""
        return rng.random() < max(self._least, 2 * self.errors[self._kinds[index]])

    def note(self, indices: Sequence[int], logprobs: Sequence[float]) -> None:
        """Take in how likely the model found the replies of samples."""
        for index, logprob in zip(indices, logprobs, strict=True):
            kind = self._kinds[index]
            self.errors[kind] += _PACE * (1 - math.exp(logprob) - self.errors[kind])


class Updates:
    """The indices of each update's samples, of which the lengths are given, epoch after epoch, without end.

    An update holds samples of like length, so that little is padded, and at most `tokens` tokens with the padding. The order
    depends on the seed alone, and on the focus if there is one. `record` is what another needs to go on from here.
    """

    def __init__(self, lengths: Sequence[int], tokens: int, seed: int, focus: Focus | None = None) -> None:
        self.focus = focus
        self._lengths, self._tokens, self._seed = lengths, tokens, seed
        self._ready: list[list[int]] = []
        self._begin(0)

    def __next__(self) -> list[int]:
        while not self._ready:
            if self._place == len(self._order):
                self._begin(self._epoch + 1)
            self._prepare()
        return self._ready.pop(0)

    def record(self) -> dict[str, Any]:
        """Return the place in the data, and what the focus has learned, as JSON."""
        place = {"epoch": self._epoch, "place": self._place, "ready": self._ready, "dice": self._dice.getstate()}
        return place | ({"errors": self.focus.errors} if self.focus else {})

    def restore(self, record: dict[str, Any]) -> None:
        """Go on from what `record` returned."""
        self._begin(record["epoch"])
        version, state, following = record["dice"]
        self._dice.setstate((version, tuple(state), following))
        self._place, self._ready = record["place"], list(record["ready"])
        if self.focus:
            self.focus.errors.update(record["errors"])

    def _begin(self, epoch: int) -> None:
        self._epoch, self._place = epoch, 0
        self._dice: random.Random = random.Random(f"{self._seed}/{epoch}")
        self._order = self._dice.sample(range(len(self._lengths)), len(self._lengths))

    def _prepare(self) -> None:
        """Make updates of the next samples. Sorting a whole epoch would make each one of the few kinds of page."""
        window: list[int] = []
        while self._place < len(self._order) and len(window) < _WINDOW:
            index = self._order[self._place]
            self._place += 1
            if self.focus is None or self.focus.takes(index, self._dice):
                window.append(index)
        updates: list[list[int]] = [[]] if window else []
        for index in sorted(window, key=self._lengths.__getitem__):
            if updates[-1] and self._lengths[index] * (len(updates[-1]) + 1) > self._tokens:
                updates.append([])
            updates[-1].append(index)
        self._dice.shuffle(updates)
        self._ready = updates


def find_episodes(demonstrations: Sequence[Demonstration]) -> list[list[int]]:
    """Return the indices of the steps of each episode: those of one task, one after the other, with ever longer conversations.

    Without a history no conversation grows, and each step, which shares nothing with the others, is an episode of its own.
    """
    episodes: list[list[int]] = []
    last: tuple[str, int] | None = None
    for index, step in enumerate(demonstrations):
        if last is None or step.task_id != last[0] or len(step.messages) <= last[1]:
            episodes.append([])
        episodes[-1].append(index)
        last = step.task_id, len(step.messages)
    return episodes


class EpisodeUpdates:
    """Updates of whole episodes, whose steps share what came before, else like `Updates` without a focus.

    Without sharing, an update has at most `tokens` tokens, or one episode.
    """

    def __init__(self, episodes: Sequence[Sequence[int]], lengths: Sequence[int], tokens: int, seed: int) -> None:
        self._episodes, self._lengths, self._tokens, self._seed = episodes, lengths, tokens, seed
        self._begin(0)

    def __next__(self) -> list[int]:
        update: list[int] = []
        room = self._tokens
        for episode in self._order[self._place :]:
            length = sum(self._lengths[index] for index in episode)
            if update and length > room:
                break
            update, room = [*update, *episode], room - length
            self._place += 1
        if self._place == len(self._order):
            self._begin(self._epoch + 1)
        return update

    def record(self) -> dict[str, Any]:
        """Return the place in the data, as JSON."""
        return {"epoch": self._epoch, "place": self._place}

    def restore(self, record: dict[str, Any]) -> None:
        """Go on from what `record` returned."""
        self._begin(record["epoch"])
        self._place = record["place"]

    def _begin(self, epoch: int) -> None:
        self._epoch, self._place = epoch, 0
        self._order = random.Random(f"{self._seed}/{epoch}").sample(self._episodes, len(self._episodes))
