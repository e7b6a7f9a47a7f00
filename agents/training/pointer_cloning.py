"""Behaviour cloning of a pointer network: `python -m agents.train_bc --model pointer`.

Each expert action is converted to decisions among the candidates of its page, and the network is trained to predict them.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from agents.data.demonstrations import SplitSettings, draw_tasks, pieces, training_tasks
from agents.data.expert import MOST_STEPS, ExpertStep, corrections, envs_with_tasks, play_expert, play_with_mistakes
from agents.models.pointer.decoding import Decision, Question, Session, expert_decisions
from agents.models.pointer.labels import LabelWorlds, record_labels, select_labels
from agents.models.pointer.network import UNKNOWN_WORDS, PointerNetwork, Vocabulary, load_pointer, tokenize
from agents.models.pointer.pages import parse_page
from agents.models.pointer.reader import FeatureRows, Reader
from agents.rollouts.pointer import PointerPolicy
from agents.rollouts.policies import Request
from agents.training.pointing_networks import THREADS
from agents.training.runs import Run
from agents.training.settings import PointerBCSettings
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.sites.layout import Variation
from webarena_gym.suite.parts import PARTS
from webarena_gym.tasks import Task

_MAX_DETOURS = 4  # consecutive detours
_REPEAT_PROBABILITY = 0.5  # of another detour after a detour
_SAME_LINE_PROBABILITY = 0.7  # of a detour over a link of the same line, if there is one
_DETOUR_FACTOR = 1 + 2 * _MAX_DETOURS  # maximum length of an episode with detours, relative to the episode without
_WARMUP = 20  # updates in which the learning rate rises


class Imitation(NamedTuple):
    """A training example: a question whose candidates are the right ones, followed by a sample of the wrong ones."""

    question: Question
    right: int  # number of right candidates
    wrong_weight: float  # number of wrong candidates that each sampled one represents
    world: str  # world of the task
    kind: str = ""  # template of the task, for reports


def create_imitation(decision: Decision, max_wrong: int, rng: numpy.random.Generator, world: str, kind: str = "") -> Imitation:
    """Return the training example of a decision, with at most `max_wrong` wrong candidates, sampled uniformly."""
    question, right = decision
    is_wrong = numpy.ones(len(question.rows.slots), bool)
    is_wrong[list(right)] = False
    order = numpy.concatenate([numpy.array(right, numpy.int64), numpy.flatnonzero(is_wrong)])
    rows = FeatureRows(question.rows.slots[order], question.rows.numbers[order].astype(numpy.float16))
    example = Imitation(Question(question.stage, question.context, rows, ()), len(right), 1.0, world, kind)
    return sample_wrong(example, max_wrong, rng)


def sample_wrong(item: Imitation, max_wrong: int, rng: numpy.random.Generator) -> Imitation:
    """Return the example with a sample of at most `max_wrong` of its wrong candidates."""
    rows, right = item.question.rows, item.right
    wrong = len(rows.slots) - right
    if wrong <= max_wrong:
        return item
    indices = numpy.concatenate([numpy.arange(right), right + rng.choice(wrong, max_wrong, replace=False)])
    rows = FeatureRows(rows.slots[indices], rows.numbers[indices])
    return item._replace(question=item.question._replace(rows=rows), wrong_weight=item.wrong_weight * wrong / max_wrong)


def build_vocabulary(reader: Reader, imitations: Sequence[Imitation]) -> Vocabulary:
    """Return the words of the examples that occur in at least two worlds, which excludes names of a single world.

    If there is only one world, all words are included.
    """
    worlds_by_text: dict[int, set[str]] = {}
    for item in imitations:
        for text_id in {*item.question.rows.slots.ravel().tolist(), *item.question.context.slots.tolist()}:
            worlds_by_text.setdefault(text_id, set()).add(item.world)
    worlds_by_word: dict[str, set[str]] = {}
    for text_id, worlds in worlds_by_text.items():
        for token in tokenize(reader.texts.strings[text_id]):
            worlds_by_word.setdefault(token, set()).update(worlds)
    min_worlds = min(2, len({item.world for item in imitations}))
    words = sorted(token for token, worlds in worlds_by_word.items() if len(worlds) >= min_worlds)
    return Vocabulary([*UNKNOWN_WORDS, *(word for word in words if word not in UNKNOWN_WORDS)])


def imitation_logprobs(network: PointerNetwork, reader: Reader, vocabulary: Vocabulary, items: Sequence[Imitation]) -> Tensor:
    """Return the log-probability of the right candidates of each example, shape (N,), in no particular order."""
    logprobs = []
    for stage in (0, 1, 2):
        stage_items = [item for item in items if item.question.stage == stage]
        if not stage_items:
            continue
        scores = network([item.question for item in stage_items], reader.texts, vocabulary)
        for item, values in zip(stage_items, scores.values.split(scores.lengths), strict=True):
            right = values[: item.right].logsumexp(0)
            if len(values) > item.right:
                wrong = values[item.right :].logsumexp(0) + float(numpy.log(item.wrong_weight))
                logprobs.append(right - torch.logaddexp(right, wrong))
            else:
                logprobs.append(right - right)
    return torch.stack(logprobs)


def collect(
    tasks: Sequence[Task], reader: Reader, *, wrong_kept: int, seed: int, split: SplitSettings | None = None,
    label_worlds: LabelWorlds | None = None, **options: Any,
) -> tuple[list[Imitation], int, int]:  # fmt: skip
    """Collect the expert's decisions on tasks.

    Args:
        tasks: The tasks.
        reader: Reader of the pages.
        wrong_kept: Maximum number of wrong candidates of a decision.
        seed: Random seed.
        split: Splits episodes into pieces. The context of a decision is its piece.
        label_worlds: Collects the labels of the pages, in place.
        **options: Options of `episodes`.

    Returns:
        The training examples, the number of episodes, and the number of episodes with steps that decisions reproduce completely.

    """
    rng = numpy.random.default_rng(seed)
    items: list[Imitation] = []
    episode_count = complete_count = 0
    for task, goal, steps in episodes(tasks, seed=seed, **options):
        world, is_complete = task.task_id.partition("/")[2].partition("/")[0], bool(steps)
        if label_worlds is not None:
            for step in steps:
                record_labels(label_worlds, step.page, options.get("variation", "content"), world)
        for piece in pieces(len(steps), split or SplitSettings()):
            session = Session(reader, goal)
            for number in piece.steps:  # up to the first step that decisions cannot reproduce
                step = steps[number]
                decisions, is_reproduced = expert_decisions(session, step.page, step.action, has_error=step.has_error)
                if step.is_example and number in piece.targets:
                    items += [create_imitation(decision, wrong_kept, rng, world, task.template) for decision in decisions]
                if not is_reproduced:
                    is_complete = False
                    break
        episode_count, complete_count = episode_count + 1, complete_count + is_complete
    return items, episode_count, complete_count


def choices(goal: str, steps: Sequence[ExpertStep]) -> list[tuple[int, ...]] | None:
    """Return the choices of a pointer network that reproduce each of these first steps of an episode, or None if it cannot."""
    session, step_choices = Session(Reader(), goal), list[tuple[int, ...]]()
    for step in steps:
        decisions, is_reproduced = expert_decisions(session, step.page, step.action, has_error=step.has_error)
        if not is_reproduced:
            return None
        step_choices.append(tuple(decision.correct[0] for decision in decisions))
    return step_choices


def episodes(
    tasks: Sequence[Task], *, detours: float = 0.0, mistakes: float = 0.0, seed: int = 0,
    players: Sequence[Callable[[dict[str, Any]], str]] = (), **env_arguments: Any,
) -> Iterator[tuple[Task, str, list[ExpertStep]]]:  # fmt: skip
    """Yield the task, the goal and the steps of the expert's episodes on each task.

    Args:
        tasks: The tasks.
        detours: Probability of a detour before a link of the expert: another link of the page is followed, and then the browser goes
            back. Only the return is a training target. An episode without detours is used if a detour changes a later page, as
            signing out does.
        mistakes: If it is above 0, each task has a second episode with wrong steps, which have this probability and are undone
            (`agents.data.expert`).
        seed: Random seed.
        players: Policies, from an env's info to a reply. For each of them, the expert's corrections of its episode follow (DAgger).
        **env_arguments: Keywords of the env.

    """
    factor = _DETOUR_FACTOR if detours else MOST_STEPS if mistakes else 1
    for env, task in envs_with_tasks(tasks, **{**env_arguments, "max_steps": env_arguments.get("max_steps", 30) * factor}):
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
    env: WebArenaLite, task: Task, steps: Sequence[ExpertStep], detours: float, rng: random.Random
) -> list[ExpertStep] | None:
    """Replay the steps with detours, and return all steps, or None if a detour changes a later page."""
    _, info = env.reset(seed=0, options={"task": task})
    all_steps: list[ExpertStep] = []

    def take_step(action: Action, *, is_example: bool) -> None:
        nonlocal info
        all_steps.append(ExpertStep(info["page"], action, bool(info["action_error"]), is_example))
        info = env.step(env.dialect.format(action))[-1]

    for number, step in enumerate(steps):
        probability = detours
        for _ in range(_MAX_DETOURS):
            click = _sample_other_link(step.page, step.action, rng) if rng.random() < probability else None
            if click is None:
                break
            probability = _REPEAT_PROBABILITY
            take_step(click, is_example=False)
            if info["page"] != step.page:
                take_step(Action(Kind.GO_BACKWARD), is_example=True)
            if info["page"] != step.page:
                return None
        take_step(step.action, is_example=True)
        if number + 1 < len(steps) and info["page"] != steps[number + 1].page:
            return None
    return all_steps


def _sample_other_link(text: str, action: Action, rng: random.Random) -> Action | None:
    """Return a click on a random link other than the action's, or None if the action is not a click on a link or no other link exists."""
    controls = parse_page(text).controls if action.kind is Kind.CLICK else ()
    target = next((control for control in controls if control.element == action.element and control.use == "link"), None)
    if target is None:
        return None
    links = [control for control in controls if control.use == "link" and control.label not in ("", target.label)]
    same_line = [control for control in links if control.line == target.line]
    pool = same_line if same_line and rng.random() < _SAME_LINE_PROBABILITY else links
    return Action(Kind.CLICK, rng.choice(pool).element) if pool else None


def train_pointer(args: PointerBCSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train on the expert's episodes, and return the folder of the last checkpoint. The default tasks are drawn by the settings."""
    torch.set_num_threads(args.threads or THREADS)
    run = Run(args)
    checkpoint = run.checkpoint
    if checkpoint and run.progress >= 1:
        return checkpoint.path
    reader, label_worlds, players = Reader(), LabelWorlds(), list[Callable[[dict[str, Any]], str]]()
    if args.dagger:
        assert args.begin_with is not None
        policy = PointerPolicy(*load_pointer(args.begin_with), DIALECTS["webrl"].naming_by(args.elements), temperature=1.0)
        draws = random.Random(f"{args.seed}/dagger")

        def player(info: dict[str, Any]) -> str:
            policy.ask([Request(0, None, info, draws.getrandbits(32))])
            return policy.replies()[0][1].text

        players = [player] * args.dagger

    items, coverage = collect_decisions(
        draw(args) if tasks is None else training_tasks(args, tasks), args, reader, label_worlds, players
    )
    source = checkpoint.path if checkpoint else args.begin_with
    initial_network, vocabulary = load_pointer(source) if source else (None, build_vocabulary(reader, items))
    if initial_network is not None and initial_network.memory is not None:
        raise ValueError(f"{source} has a memory of steps; expected a network without, since demonstrations have no retrievals")
    torch.manual_seed(args.seed)
    width, hidden = (initial_network.width, initial_network.hidden) if initial_network else (args.width, args.hidden)
    network = PointerNetwork(len(vocabulary), width, hidden, args.dropout)
    if initial_network is not None:
        network.load_state_dict(initial_network.state_dict())
    network.labels = select_labels(label_worlds)
    optimizer = torch.optim.AdamW(network.parameters(), args.learning_rate, betas=(0.9, 0.99), weight_decay=args.weight_decay)
    if checkpoint:
        checkpoint.restore(optimizer)

    def take_update(progress: float) -> dict[str, float]:
        # Random draws depend on the number of the update, so a resumed run repeats them.
        rng = numpy.random.default_rng([args.seed, run.update])
        torch.manual_seed(rng.integers(2**62))
        # An update takes the next `size` positions of an endless sequence of epochs, each in random order.
        size, count = min(args.decisions_per_update, len(items)), len(items)
        positions = range(run.update * size, (run.update + 1) * size)
        epochs = {position // count for position in positions}
        orders = {epoch: random.Random(f"{args.seed}/{epoch}").sample(range(count), count) for epoch in epochs}
        indices = [orders[position // count][position % count] for position in positions]
        batch = [sample_wrong(items[index], args.wrong_drawn, rng) for index in indices]
        rate = args.learning_rate * min(1.0, (run.update + 1) / _WARMUP) * max(0.03, 1 - progress)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = -imitation_logprobs(network, reader, vocabulary, batch).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(network.parameters(), args.max_grad_norm)
        optimizer.step()
        values = {"loss": loss.item(), "grad_norm": norm.item(), "decisions": len(batch), "coverage": coverage}
        return {**values, "learning_rate": rate}

    def save() -> Path:
        return run.save(network, vocabulary, optimizer, args.env_arguments())

    network.train()
    return run.train("behaviour cloning", take_update, save, describe=lambda values, _: f"loss {values['loss']:.3f}")


def collect_decisions(
    tasks: Sequence[Task], args: PointerBCSettings, reader: Reader, label_worlds: LabelWorlds,
    players: Sequence[Callable[[dict[str, Any]], str]] = (),
) -> tuple[list[Imitation], float]:  # fmt: skip
    """Return the expert's decisions on the tasks and in `layout_worlds`, and the fraction of episodes that they reproduce completely."""
    env = args.env_arguments()
    items: list[Imitation] = []
    complete_count = episode_count = 0
    varied = draw(args, args.layout_worlds, "layout") if args.layout_worlds else []
    for part, arguments in ((tasks, env), (varied, {**env, "variation": "layout"})):
        options: dict[str, Any] = {
            "detours": args.detours,
            "mistakes": args.mistakes,
            "split": args,
            "wrong_kept": args.wrong_kept,
            "label_worlds": label_worlds,
            "players": players,
        }
        if part:
            part_items, part_episodes, part_complete = collect(part, reader, seed=args.seed, **options, **arguments)
            items += part_items
            episode_count, complete_count = episode_count + part_episodes, complete_count + part_complete
    if not items:
        raise ValueError(f"none of the {episode_count} episodes has a decision to imitate; expected at least one")
    return items, complete_count / episode_count


def draw(args: PointerBCSettings, worlds: Sequence[int] | None = None, variation: Variation | None = None) -> list[Task]:
    """Draw tasks in the given worlds or, by default, in the worlds of the settings.

    With `one_world_each`, each template has tasks in only one world.
    """
    worlds, variation = args.worlds if worlds is None else worlds, variation or args.variation
    shares: list[tuple[Sequence[int], Sequence[str]]] = [(worlds, args.templates)]
    if args.one_world_each:
        names = args.templates or tuple(name for part in PARTS.values() for name in part.names("train"))
        shares = [([world], names[index :: len(worlds)]) for index, world in enumerate(worlds) if index < len(names)]
    options = {"variation": variation, **{name: getattr(args, name) for name in ("application", "suite", "split")}}
    return [
        task
        for share_worlds, templates in shares
        for task in draw_tasks(share_worlds, args.per_template, templates=templates, **options)
    ]
