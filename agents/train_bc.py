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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tqdm import tqdm

from agents.data.demonstrations import Demonstration, demonstrate, draw_tasks, read_demonstrations, recorded_agent, thin
from agents.data.prompts import PromptEncoder, Style, system_prompt
from agents.data.splitting import SplitSettings
from agents.data.thoughts import Thoughts
from agents.data.tokens import Sample
from agents.models import small
from agents.models.batches import PackedBatch, Sharing, batch_hidden, batch_logprobs, pack, repeats
from agents.models.checkpoints import begin, load_model, save_checkpoint
from agents.models.optimizers import Optimizer, OptimizerName, create_optimizer
from agents.rollouts.players import collect_rarely
from agents.settings import EnvSettings, MayChange, RunSettings, TaskSettings, given, parse_settings
from agents.training import losses
from agents.training.distributed import Ranks
from agents.training.epochs import EpisodeUpdates, Focus, Updates, find_episodes
from agents.training.metrics import Metrics
from agents.training.pointer_cloning import DEFAULTS, POINTER, PointerBCSettings, train_pointer
from webarena_gym import console

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SMALL = "small"


@dataclass(frozen=True, kw_only=True)
class BCRunSettings(RunSettings):
    """Where a run begins and is kept, how long it is, and how often it is saved."""

    model: str = SMALL
    """"small" builds a model and its tokenizer from nothing, "pointer" a pointing network, which has options of its own; else a
    Hugging Face name or folder"""
    updates: MayChange[int] = 2000
    """train for so many updates, unless `minutes` is given; 0 saves a new model untrained"""
    save_every: MayChange[int] = 200
    """updates between checkpoints"""


@dataclass(frozen=True, kw_only=True)
class DataSettings(TaskSettings):
    """What is imitated: the expert's replies in tasks that are drawn, or a file of demonstrations."""

    demonstrations: Path | None = None
    """file of demonstrations to learn from, as `python -m agents.demonstrations` writes them; by default the expert plays anew"""
    expert_thoughts: Thoughts = "none"
    """what the expert thinks before it acts: nothing, a sentence, or a long chain that shows its working"""
    mistakes: float = 0.0
    """above 0, the expert plays each task once more and takes a wrong step before one of its own with this probability, and undoes it
    (WebCoT); wrong steps are seen, and not learned"""
    system: Style = "none"
    """the system prompt: none, act (the action alone) or think (reason first)"""
    max_prompt_tokens: int = 1400
    """demonstrated steps with a longer prompt are left out: few pages would take much of the time"""


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """The small model, where one is built."""

    vocabulary: int = 2048
    """tokens of the small model's tokenizer"""
    width: int = 128
    """hidden size of the small model"""
    layers: int = 4
    """layers of the small model"""
    heads: int = 4
    """attention heads of the small model"""
    inserted_layers: int = 0
    """new layers behind the first one of a small model that training goes on with; they change nothing until they are trained"""
    practice: int = 80
    """updates of copying random sequences before the small model sees a page"""


@dataclass(frozen=True, kw_only=True)
class OptimizationSettings:
    """How the model is updated."""

    optimizer: OptimizerName = "adamw"
    """adamw for all weights, or muon for the matrices of the layers, which learned more from as many pages in long runs, and less in short ones"""
    learning_rate: float = 2e-3
    """highest learning rate"""
    warmup: float = 0.03
    """part of the training in which the learning rate rises"""
    final_rate: float = 0.02
    """what is left of the learning rate at the end of the cosine"""
    weight_decay: float = 0.01
    """weight decay"""
    max_grad_norm: float = 1.0
    """gradients are scaled down to this norm"""
    tokens_per_update: int = 3072
    """tokens in one update, padding included, reckoned with whole pages: while pages are thinned, an update has fewer"""
    tokens_per_pass: MayChange[int] = 16_384
    """tokens in one forward pass; an update of more is accumulated"""
    copy_weight: float = 0.5
    """weight of predicting, in the pages themselves, what stood there before: it teaches to copy; 0 for pretrained models"""


@dataclass(frozen=True, kw_only=True)
class CurriculumSettings:
    """Which pages and steps come when."""

    curriculum: float = 0.6
    """part of the training in which pages grow from a tenth of their lines to whole ones; 0: whole from the start"""
    curriculum_power: float = 1.0
    """pages grow with this power of that part's progress; 2 keeps them small for longer, and so more of them are seen"""
    thinned: float = 0.0
    """part of the updates that see thinned pages after the curriculum too, until 0.85 of the training is done"""
    focus: float = 0.0
    """above 0, the better a kind of step is known the fewer are taken, but each with this probability at least; a step's kind is
    its task's template and how many of the episode's steps its prompt shows"""


@dataclass(frozen=True, kw_only=True)
class BCSettings:
    """Train a model to imitate the expert on drawn tasks. A run that was killed is resumed from its newest checkpoint."""

    run: BCRunSettings
    data: DataSettings = field(default_factory=DataSettings)
    split: SplitSettings = field(default_factory=SplitSettings)
    env: EnvSettings = field(default_factory=EnvSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    optimization: OptimizationSettings = field(default_factory=OptimizationSettings)
    pace: CurriculumSettings = field(default_factory=CurriculumSettings)

    def __post_init__(self) -> None:
        if self.run.model == POINTER:
            raise ValueError(f"model={POINTER!r} has settings of its own; expected PointerBCSettings")
        if self.data.demonstrations and (self.data.mistakes or self.split.piece_steps):
            raise ValueError(
                f"mistakes={self.data.mistakes} and piece_steps={self.split.piece_steps} are of episodes that the expert plays; expected 0 "
                f"of both with demonstrations={str(self.data.demonstrations)!r}"
            )
        if self.pace.focus and not self.optimization.copy_weight:
            raise ValueError(f"focus={self.pace.focus} draws single steps, but with copy_weight=0 whole episodes are learned")
        if self.network.inserted_layers and self.run.model == SMALL:
            raise ValueError(
                f"inserted_layers={self.network.inserted_layers} needs a trained model; a new one has layers={self.network.layers}"
            )

    def agent(self) -> dict[str, Any]:
        """Return how the trained model is to be used."""
        return {**self.env.env_arguments(), "system": self.data.system}


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
        loss = losses.imitation_loss(logprobs, torch.full_like(logprobs, 1 / responses))
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


def main(arguments: Sequence[str]) -> None:
    """Train as the command line says; what a file of demonstrations says of its env and prompt are the defaults."""
    if given(arguments, "--model") == POINTER:
        print(train_pointer(parse_settings(PointerBCSettings, arguments, DEFAULTS, program="agents.train_bc")))
        return
    file = given(arguments, "--demonstrations")
    print(train(parse_settings(BCSettings, arguments, recorded_agent(Path(file)) if file else None, program="agents.train_bc")))


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_bc", main)
