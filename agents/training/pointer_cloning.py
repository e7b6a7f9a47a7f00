"""Behaviour cloning of a pointing network: `python -m agents.train_bc --model pointer`.

Each expert action is converted to decisions among the candidates of its page, and the network is trained to predict them.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from agents.data.demonstrations import SplitSettings, draw_tasks, pieces, training_tasks
from agents.data.expert import MOST_STEPS, ExpertStep, corrections, envs_with_tasks, play_expert, play_with_mistakes
from agents.models.checkpoints import open_run, save_checkpoint
from agents.models.pointer.decoding import Decision, Question, Session, expert_decisions
from agents.models.pointer.labels import LabelWorlds, record_labels, select_labels
from agents.models.pointer.network import UNKNOWN_WORDS, PointerNetwork, Vocabulary, load_pointer, tokenize
from agents.models.pointer.pages import parse_page
from agents.models.pointer.reader import FeatureRows, Reader
from agents.rollouts.pointer import PointerPolicy
from agents.rollouts.policies import Request
from agents.training.metrics import Metrics
from agents.training.pointing_networks import THREADS
from agents.training.settings import PointerBCSettings
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.tasks.suite import PARTS

_MOST_DETOURS = 4  # in a row
_AGAIN = 0.5  # probability of another detour after one
_SAME_LINE = 0.7  # probability that a detour takes a link of the same line, where there is one
_ROOM = 1 + 2 * _MOST_DETOURS  # steps of an episode with detours, as a multiple of those without
_WARMUP = 20  # updates in which the learning rate rises


class Imitation(NamedTuple):
    """A training example: a question with its right candidates first, followed by a sample of the wrong ones."""

    question: Question
    right: int  # number of right candidates
    wrong_weight: float  # weight of each wrong candidate, for those left out
    world: str  # of the task
    kind: str = ""  # the template, for reports


def imitation(decision: Decision, most: int, rng: numpy.random.Generator, world: str, kind: str = "") -> Imitation:
    """Return the decision with at most so many wrong candidates, drawn uniformly."""
    question, right = decision
    is_wrong = numpy.ones(len(question.rows.slots), bool)
    is_wrong[list(right)] = False
    order = numpy.concatenate([numpy.array(right, numpy.int64), numpy.flatnonzero(is_wrong)])
    rows = FeatureRows(question.rows.slots[order], question.rows.numbers[order].astype(numpy.float16))
    return thinned(Imitation(Question(question.stage, question.context, rows, ()), len(right), 1.0, world, kind), most, rng)


def thinned(item: Imitation, most: int, rng: numpy.random.Generator) -> Imitation:
    """Return the item with at most so many of its wrong candidates, sampled again."""
    rows, right = item.question.rows, item.right
    wrong = len(rows.slots) - right
    if wrong <= most:
        return item
    chosen = numpy.concatenate([numpy.arange(right), right + rng.choice(wrong, most, replace=False)])
    rows = FeatureRows(rows.slots[chosen], rows.numbers[chosen])
    return item._replace(question=item.question._replace(rows=rows), wrong_weight=item.wrong_weight * wrong / most)


def build_vocabulary(reader: Reader, imitations: Sequence[Imitation]) -> Vocabulary:
    """Return the marks of the imitations, and the words that occur in more than one world, which excludes names of a single world."""
    worlds: dict[int, set[str]] = {}
    for item in imitations:
        for number in {*item.question.rows.slots.ravel().tolist(), *item.question.context.slots.tolist()}:
            worlds.setdefault(number, set()).add(item.world)
    of_words: dict[str, set[str]] = {}
    for number, found in worlds.items():
        for token in tokenize(reader.texts.strings[number]):
            of_words.setdefault(token, set()).update(found)
    least = min(2, len({item.world for item in imitations}))
    words = sorted(token for token, found in of_words.items() if len(found) >= least)
    return Vocabulary([*UNKNOWN_WORDS, *(word for word in words if word not in UNKNOWN_WORDS)])


def imitation_logprobs(network: PointerNetwork, reader: Reader, vocabulary: Vocabulary, items: Sequence[Imitation]) -> Tensor:
    """Return the log-probability that each item's choice is right, shape (N,), in no particular order."""
    found = []
    for stage in (0, 1, 2):
        own = [item for item in items if item.question.stage == stage]
        if not own:
            continue
        scores = network([item.question for item in own], reader.texts, vocabulary)
        for item, values in zip(own, scores.values.split(scores.lengths), strict=True):
            right = values[: item.right].logsumexp(0)
            if len(values) > item.right:
                wrong = values[item.right :].logsumexp(0) + float(numpy.log(item.wrong_weight))
                found.append(right - torch.logaddexp(right, wrong))
            else:
                found.append(right - right)
    return torch.stack(found)


def collect(
    tasks: Sequence[Task], reader: Reader, *, wrong_kept: int, seed: int, split: SplitSettings | None = None,
    seen: LabelWorlds | None = None, **options: Any,
) -> tuple[list[Imitation], int, int]:  # fmt: skip
    """Return the expert's decisions on tasks, the number of its episodes, and of those that the decisions express whole.

    A decision has at most `wrong_kept` wrong candidates. The options are those of `episodes`. With `split`, a decision remembers what is
    in its piece of the episode. `seen` counts the labels of the pages.
    """
    rng = numpy.random.default_rng(seed)
    items: list[Imitation] = []
    played = expressed = 0
    for task, goal, steps in episodes(tasks, seed=seed, **options):
        world, is_whole = task.task_id.partition("/")[2].partition("/")[0], True
        if seen is not None:
            for step in steps:
                record_labels(seen, step.page, options.get("variation", "content"), world)
        for piece in pieces(len(steps), split or SplitSettings()):
            session = Session(reader, goal)
            for number in piece.steps:  # a piece ends with a step that cannot be made
                step = steps[number]
                found, is_made = expert_decisions(session, step.page, step.action, has_error=step.has_error)
                if step.is_example and number in piece.learned:
                    items += [imitation(each, wrong_kept, rng, world, task.template) for each in found]
                if not is_made:
                    is_whole = False
                    break
        played, expressed = played + 1, expressed + is_whole
    return items, played, expressed


def choices(goal: str, steps: Sequence[ExpertStep]) -> list[tuple[int, ...]] | None:
    """Return the choices of a pointing network that make each of an episode's first steps, or None if it cannot make all of them."""
    session, found = Session(Reader(), goal), list[tuple[int, ...]]()
    for step in steps:
        decisions, is_whole = expert_decisions(session, step.page, step.action, has_error=step.has_error)
        if not is_whole:
            return None
        found.append(tuple(decision.correct[0] for decision in decisions))
    return found


def episodes(
    tasks: Sequence[Task], *, detours: float = 0.0, mistakes: float = 0.0, seed: int = 0,
    players: Sequence[Callable[[dict[str, Any]], str]] = (), **env_arguments: Any,
) -> Iterator[tuple[Task, str, list[ExpertStep]]]:  # fmt: skip
    """Yield the task, the goal and the steps of the expert's episode on each task.

    With probability `detours`, before a link of the expert's another link of the page is followed, and left by going back, once or
    several times. The return is an example to learn from, the wrong link is none. Where a detour changes any later page, as signing
    out does, the episode has none. With `mistakes`, each task has a second episode, in which wrong steps are taken with that
    probability and undone (`agents.data.expert`). Of each of `players` follow the ways back to the expert's path.
    """
    room = _ROOM if detours else MOST_STEPS if mistakes else 1
    for env, task in envs_with_tasks(tasks, **{**env_arguments, "max_steps": env_arguments.get("max_steps", 30) * room}):
        rng = random.Random(f"{seed}/{task.task_id}")
        goal, steps = play_expert(env, task)
        if detours:
            steps = _with_detours(env, task, steps, detours, rng) or steps
        yield task, goal, steps
        if mistakes:
            yield task, *play_with_mistakes(env, task, mistakes, rng)
        for player in players:
            for goal, steps in corrections(env, task, player):
                yield task, goal, steps


def _with_detours(
    env: Any, task: Task, steps: Sequence[ExpertStep], detours: float, rng: random.Random
) -> list[ExpertStep] | None:
    """Return the steps played again with detours, or None if one has changed a later page."""
    _, info = env.reset(seed=0, options={"task": task})
    played: list[ExpertStep] = []

    def do(action: Action, *, is_example: bool) -> None:
        nonlocal info
        played.append(ExpertStep(info["page"], action, bool(info["action_error"]), is_example))
        info = env.step(env.dialect.format(action))[-1]

    for number, step in enumerate(steps):
        chance = detours
        for _ in range(_MOST_DETOURS):
            wrong = _another_link(step.page, step.action, rng) if rng.random() < chance else None
            if wrong is None:
                break
            chance = _AGAIN
            do(wrong, is_example=False)
            if info["page"] != step.page:
                do(Action(Kind.GO_BACKWARD), is_example=True)
            if info["page"] != step.page:
                return None
        do(step.action, is_example=True)
        if number + 1 < len(steps) and info["page"] != steps[number + 1].page:
            return None
    return played


def _another_link(text: str, action: Action, rng: random.Random) -> Action | None:
    """Return a click on another link than the action's; None if the action is no click on a link, or there is no other."""
    controls = parse_page(text).controls if action.kind is Kind.CLICK else ()
    own = next((control for control in controls if control.element == action.element and control.use == "link"), None)
    if own is None:
        return None
    others = [control for control in controls if control.use == "link" and control.label not in ("", own.label)]
    near = [control for control in others if control.line == own.line]
    pool = near if near and rng.random() < _SAME_LINE else others
    return Action(Kind.CLICK, rng.choice(pool).element) if pool else None


def train_pointer(args: PointerBCSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn unless given, and played by the expert."""
    torch.set_num_threads(args.threads or THREADS)
    last = open_run(args, args.out)
    update, elapsed_s = (last.update, float(last.progress()["elapsed_s"])) if last else (0, 0.0)
    if last and args.progress(update, elapsed_s) >= 1:
        return last.path
    reader, seen, players = Reader(), LabelWorlds(), list[Callable[[dict[str, Any]], str]]()
    if args.dagger:
        assert args.begin_with is not None
        policy = PointerPolicy(*load_pointer(args.begin_with), DIALECTS["webrl"].naming_by(args.elements), temperature=1.0)
        draws = random.Random(f"{args.seed}/dagger")

        def player(info: dict[str, Any]) -> str:
            policy.ask([Request(0, None, info, draws.getrandbits(32))])
            return policy.replies()[0][1].text

        players = [player] * args.dagger

    items, coverage = collect_decisions(
        draw(args) if tasks is None else training_tasks(args, tasks), args, reader, seen, players
    )
    source = last.path if last else args.begin_with
    saved, vocabulary = load_pointer(source) if source else (None, build_vocabulary(reader, items))
    if saved is not None and saved.memory is not None:
        raise ValueError(f"{source} reads a memory of steps; expected a network without, as demonstrations recall nothing")
    torch.manual_seed(args.seed)
    width, hidden = (saved.width, saved.hidden) if saved else (args.width, args.hidden)
    network = PointerNetwork(len(vocabulary), width, hidden, args.dropout)
    if saved is not None:
        network.load_state_dict(saved.state_dict())
    network.labels = select_labels(seen)
    optimizer = torch.optim.AdamW(network.parameters(), args.learning_rate, betas=(0.9, 0.99), weight_decay=args.weight_decay)
    if last:
        last.restore(optimizer)

    def save() -> Path:
        progress = {"elapsed_s": elapsed_s}
        return save_checkpoint(args.out, update, network, vocabulary, optimizer, progress, args.env_arguments()).path

    network.train()
    with Metrics(args.out, update, "behaviour cloning") as metrics:
        while (progress := args.progress(update, elapsed_s)) < 1:
            started_s = time.perf_counter()
            # Random draws depend on the number of the update, so a resumed run repeats them.
            rng = numpy.random.default_rng([args.seed, update])
            torch.manual_seed(rng.integers(2**62))
            # All decisions in random order, epoch after epoch, without end.
            size, count = min(args.decisions_per_update, len(items)), len(items)
            places = range(update * size, (update + 1) * size)
            epochs = {place // count for place in places}
            orders = {epoch: random.Random(f"{args.seed}/{epoch}").sample(range(count), count) for epoch in epochs}
            drawn = [orders[place // count][place % count] for place in places]
            chosen = [thinned(items[index], args.wrong_drawn, rng) for index in drawn]
            rate = args.learning_rate * min(1.0, (update + 1) / _WARMUP) * max(0.03, 1 - progress)
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss = -imitation_logprobs(network, reader, vocabulary, chosen).mean()
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(network.parameters(), args.max_grad_norm)
            optimizer.step()
            update, elapsed_s = update + 1, elapsed_s + time.perf_counter() - started_s
            progress = args.progress(update, elapsed_s)
            values = {"loss": loss.item(), "grad_norm": norm.item(), "decisions": len(chosen), "coverage": coverage}
            metrics.log(update, {**values, "learning_rate": rate, "elapsed_s": elapsed_s})
            metrics.show(progress, f"loss {values['loss']:.3f}")
            if update % args.save_every == 0 and progress < 1:
                save()
    return save()


def collect_decisions(
    tasks: Sequence[Task], args: PointerBCSettings, reader: Reader, seen: LabelWorlds,
    players: Sequence[Callable[[dict[str, Any]], str]] = (),
) -> tuple[list[Imitation], float]:  # fmt: skip
    """Return the expert's decisions on the tasks and in the worlds with layouts, and the share of episodes that they express whole."""
    env = args.env_arguments()
    items: list[Imitation] = []
    expressed = count = 0
    for part, arguments in ((tasks, env), (draw(args, args.layout_worlds, "layout"), {**env, "variation": "layout"})):
        options: dict[str, Any] = {
            "detours": args.detours,
            "mistakes": args.mistakes,
            "split": args,
            "wrong_kept": args.wrong_kept,
            "seen": seen,
            "players": players,
        }
        found, played, whole = collect(part, reader, seed=args.seed, **options, **arguments) if part else ([], 0, 0)
        items, count, expressed = items + found, count + played, expressed + whole
    if not items:
        raise ValueError(f"none of the {count} episodes has a decision to imitate")
    return items, expressed / count


def draw(args: PointerBCSettings, worlds: Sequence[int] | None = None, variation: Variation | None = None) -> list[Task]:
    """Return tasks in worlds, by default those of the settings; with `one_world_each` each template has tasks in one world."""
    worlds, variation = args.worlds if worlds is None else worlds, variation or args.variation
    shares: list[tuple[Sequence[int], Sequence[str]]] = [(worlds, args.templates)]
    if args.one_world_each:
        names = args.templates or tuple(name for part in PARTS.values() for name in part.names("train"))
        shares = [([world], names[place :: len(worlds)]) for place, world in enumerate(worlds) if place < len(names)]
    options: dict[str, Any] = {"variation": variation, "application": args.application}
    return [task for some, own in shares for task in draw_tasks(some, args.per_template, templates=own, **options)]
