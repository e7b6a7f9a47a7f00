"""A vision agent that is trained from random weights on a CPU by `python -m agents.train_eyes`.

The network (`agents.models.eyes`) chooses actions on a screenshot with numbered marks. It is trained by behaviour cloning and then by GRPO
(arXiv 2402.03300, section 4.1) with a clipped loss, on groups of episodes of one task from one seed. Each choice has the advantage of its
episode. With `experts` and `perturb_every`, it is trained by MENTOR (`agents.models.mentor`). With `explore_updates`, an unsupervised phase comes
first, as in URLB (arXiv 2110.15191): GRPO with curiosity (`agents.models.curiosity`) in place of the reward of the tasks.

Tasks are MiniWoB++ tasks by name, or by default the bundled tasks with pictures (`split="pictures"`). The demonstrations of bundled tasks
are the reference solutions. MiniWoB++ has no reference solutions, so choices of the first page are tried until one is rewarded.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from math import isfinite, isnan
from random import Random
from statistics import fmean, pstdev
from typing import Any, NamedTuple

import torch
from torch import nn

from agents.models.checkpoints import record_settings
from agents.models.curiosity import Curiosity
from agents.models.eyes import END, SCROLL, TEXT_ACTIONS, WIDTH, Choice, EpisodeEncoder, Eyes, View
from agents.models.mentor import BestAgents
from agents.rollouts.curriculum import sampling_weight
from agents.settings import fixed_options, option_defaults
from agents.training.metrics import Metrics
from agents.training.settings import EyesSettings
from webarena_gym import suite as task_suite
from webarena_gym.actions import Action
from webarena_gym.console import lock_folder, writing
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluation.statistics import paired_difference, wilson
from webarena_gym.miniwob import MiniWobText
from webarena_gym.progress import Progress
from webarena_gym.tasks import Expert, Task

MIN_TASKS = 3  # number of training tasks whose solutions must contain a word, for the word to be in the vocabulary
HELD_OUT = 1_000_000  # first seed of the evaluation episodes of MiniWoB++
CLIP = (0.2, 0.28)  # maximum decrease and increase of a probability ratio
NEWEST = "newest.pt"
WINDOW = (1280, 1440)  # width and height in pixels, enough for most pages without scrolling
MINIWOB_WINDOW = (160, 210)


class Decision(NamedTuple):
    """A selected choice, or the target of behaviour cloning."""

    view: View
    choice_index: int
    logprob: float = 0.0  # log-probability under the policy that sampled it
    advantage: float = 1.0


Episode = tuple[list[Decision], float]
"""The decisions of an episode and its reward; nan if the browser failed."""


# Episodes.


class Tasks(NamedTuple):
    """The env of a run, its training and test tasks, each as the argument of `reset` and the template, and the vocabulary of texts."""

    env: WebArenaLite
    train: Sequence[tuple[str | Task, str]]
    test: Sequence[tuple[str | Task, str]]
    vocabulary: list[str]


def create_tasks(settings: EyesSettings) -> Tasks:
    """Return the tasks of the settings. Raises TaskError for an unknown task."""
    common: dict[str, Any] = {"max_steps": settings.max_steps, "observation": "marks"}
    if settings.tasks:
        env: WebArenaLite = MiniWobText(tasks=settings.tasks, window_size=MINIWOB_WINDOW, **common)
        shown = [(f"{name}/{seed}", name) for seed in range(settings.shown) for name in settings.tasks]
        held_out = range(HELD_OUT, HELD_OUT + settings.evaluated)
        return Tasks(env, shown, [(f"{name}/{seed}", name) for name in settings.tasks for seed in held_out], [])
    tasks = {seed: task_suite.load("pictures", seed) for seed in (*settings.worlds, settings.test_world)}
    env = WebArenaLite(split="pictures", browser="chromium", window_size=WINDOW, **common)
    train = [(task, task.template) for seed in settings.worlds for task in tasks[seed]]
    texts = [
        {
            step.action.argument
            for step in task.solution
            if step.action.kind in TEXT_ACTIONS and str(step.action.argument) not in task.intent
        }
        for task, _ in train
    ]
    counts = Counter(
        piece for task_texts in texts for piece in {piece for text in task_texts for piece in str(text).split(" ")}
    )
    vocabulary = sorted(piece for piece, count in counts.items() if count >= MIN_TASKS)
    return Tasks(env, train, [(task, task.template) for task in tasks[settings.test_world]], vocabulary)


def demonstrate(tasks: Tasks, task: str | Task, rng: Random) -> list[Decision]:
    """Return the decisions of a successful episode, or an empty list if none was found."""
    env, encoder = tasks.env, EpisodeEncoder(tasks.vocabulary)
    observation, _ = env.reset(options={"task": task})
    if not env.task.solution:
        view = encoder.encode(observation)
        for attempt, index in enumerate(rng.sample(range(len(view.choices)), len(view.choices))):
            if attempt:
                env.reset(options={"task": task})
            if env.step(encoder.take(view, index) or "")[1] == 1:
                return [Decision(view, index)]
        return []
    expert, decisions = Expert(env.task), list[Decision]()
    action: Action | None = None  # the expert's next action
    pieces: list[str] = []
    while True:
        view = encoder.encode(observation)
        if encoder.text_action:
            choice: Choice = pieces.pop(0) if pieces else END
        else:
            action = action or env.dialect.parse(expert.reply(env.page, env.observation))
            choice = replace(action, argument="") if action.kind in TEXT_ACTIONS else action
            choice = choice if choice in view.choices else SCROLL
        if choice not in view.choices:
            return []
        decisions.append(Decision(view, view.choices.index(choice)))
        reply = encoder.take(view, decisions[-1].choice_index)
        if reply is None:
            if isinstance(choice, Action) and action:  # the choices after it are the pieces of its text
                text = action.argument or ""
                pieces = [text] if text in encoder.encode(observation).choices else text.split(" ")
            continue
        action = action if choice == SCROLL != action else None
        observation, reward, terminated, truncated, _ = env.step(reply)
        if terminated or truncated:
            return decisions if reward == 1 else []


def demonstrate_all(tasks: Tasks, settings: EyesSettings) -> list[list[Decision]]:
    """Return the demonstration of each training task, an empty list if none was found. Raises ValueError if all are empty."""
    bar, demonstrations = Progress(len(tasks.train), "tasks demonstrated"), list[list[Decision]]()
    for task, _ in tasks.train:
        demonstrations.append(demonstrate(tasks, task, Random(f"{settings.seed} {len(demonstrations)}")))
        bar.update(len(demonstrations))
    bar.clear()
    if not any(demonstrations):
        raise ValueError(
            f"none of the {len(tasks.train)} training tasks was demonstrated; expected at least one, or clone_updates 0"
        )
    return demonstrations


def play(network: Eyes, tasks: Tasks, task: str | Task, rng: Random | None, temperature: float = 1.0) -> Episode:
    """Play an episode with sampled decisions, or with greedy decisions if `rng` is None.

    Raises EvaluationError if the reward is not finite although the browser has not failed.
    """
    observation, _ = tasks.env.reset(options={"task": task})
    encoder, decisions = EpisodeEncoder(tasks.vocabulary), list[Decision]()
    while True:
        view = encoder.encode(observation)
        with torch.no_grad():
            logprobs = (network([view])[0] / temperature).log_softmax(0)
        weights = logprobs.exp().tolist()
        index = int(logprobs.argmax()) if rng is None else rng.choices(range(len(weights)), weights)[0]
        decisions.append(Decision(view, index, float(logprobs[index])))
        reply = encoder.take(view, index)
        if reply is not None:
            observation, reward, terminated, truncated, info = tasks.env.step(reply)
            if terminated or truncated:
                if not isfinite(reward) and "failure" not in info:
                    raise EvaluationError(f"task {task}: the env returned the reward {reward}; expected a finite number")
                return decisions, reward


# Training.


def batches(decisions: Sequence[Decision], size: int, rng: Random) -> Iterator[list[Decision]]:
    """Yield the decisions in random order, in batches of `size`."""
    order = rng.sample(decisions, len(decisions))
    yield from (order[start : start + size] for start in range(0, len(order), size))


def clone(network: Eyes, decisions: Sequence[Decision], settings: EyesSettings) -> float:
    """Train on demonstrations (behaviour cloning), and return the mean loss of the last epoch."""
    optimizer = torch.optim.AdamW(network.parameters(), settings.learning_rate, weight_decay=0.05)
    rng, update, losses = Random(settings.seed), 0, [0.0]
    network.train()
    while update < settings.clone_updates:
        losses = []
        for batch in batches(decisions, 32, rng):
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * max(1 - update / settings.clone_updates, 0.0)
            logprobs = network([decision.view for decision in batch])
            loss = -torch.stack(
                [values[decision.choice_index] for values, decision in zip(logprobs, batch, strict=True)]
            ).mean()
            loss = loss + settings.gate_weight * network.gate_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            update += 1
    network.eval()
    return fmean(losses)


def sample_tasks(
    tasks: Sequence[tuple[Any, str]], rates: Mapping[str, float], count: int, rng: Random
) -> list[tuple[Any, str]]:
    """Sample tasks by template, more often from templates with a success rate near one half.

    A group with equal rewards has no gradient. `rates` are the success rates by template.
    """
    by_name: dict[str, list[tuple[Any, str]]] = defaultdict(list)
    for task in tasks:
        by_name[task[1]].append(task)
    weights = [sampling_weight(rates.get(name, 0.5)) for name in by_name]
    return [rng.choice(by_name[name]) for name in rng.choices(list(by_name), weights, k=count)]


def play_groups(
    network: Eyes, tasks: Tasks, settings: EyesSettings, rates: Mapping[str, float], rng: Random
) -> tuple[list[str], list[list[Episode]]]:
    """Return the templates and the groups of an update. `rates` are those of `sample_tasks`."""
    update_tasks = sample_tasks(tasks.train, rates, settings.tasks_per_update, rng)
    if settings.tasks:  # MiniWoB++ has an episode for every seed
        update_tasks = [(f"{name}/{rng.randrange(HELD_OUT)}", name) for _, name in update_tasks]
    groups = [
        [play(network, tasks, task, rng, settings.temperature) for _ in range(settings.group_size)] for task, _ in update_tasks
    ]
    return [name for _, name in update_tasks], groups


def count_steps(groups: Sequence[Sequence[Episode]]) -> int:
    """Return the number of env steps of the episodes. Pieces of a text are decisions of one step."""
    return sum(
        isinstance(decision.view.choices[decision.choice_index], Action)
        for group in groups
        for decisions, _ in group
        for decision in decisions
    )


def improve(
    network: Eyes, groups: Sequence[Sequence[Episode]], optimizer: torch.optim.Optimizer, settings: EyesSettings, rng: Random
) -> dict[str, float]:
    """Take clipped policy-gradient steps with group-relative advantages, and return metrics."""
    training_decisions: list[Decision] = []
    for group in groups:
        rewards = [reward for _, reward in group if not isnan(reward)]
        if len(rewards) > 1 and pstdev(rewards) > 0:
            for decisions, reward in group:
                advantage = 0.0 if isnan(reward) else (reward - fmean(rewards)) / pstdev(rewards)
                training_decisions += [decision._replace(advantage=advantage) for decision in decisions if advantage]
    losses = [0.0]
    for _ in range(settings.epochs):
        for batch in batches(training_decisions, 64, rng):
            scores = network([decision.view for decision in batch])
            logprobs = [(values / settings.temperature).log_softmax(0) for values in scores]
            log_ratios = [
                values[decision.choice_index] - decision.logprob for values, decision in zip(logprobs, batch, strict=True)
            ]
            ratios = torch.stack(log_ratios).exp()
            advantages = torch.tensor([decision.advantage for decision in batch])
            clipped_ratios = ratios.clamp(1 - CLIP[0], 1 + CLIP[1])
            loss = -torch.minimum(ratios * advantages, clipped_ratios * advantages).mean()
            loss = loss + settings.gate_weight * network.gate_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    rewards = [reward for group in groups for _, reward in group if not isnan(reward)]
    success = fmean(rewards) if rewards else 0.0
    return {"loss": fmean(losses), "success": success, "rollouts": len(rewards), "trained_steps": len(training_decisions)}


@torch.no_grad()
def page_features(network: Eyes, decisions: Sequence[Decision]) -> torch.Tensor:
    """Return the features (N, W) of the pages of an episode, in order; decisions on one page have the same picture."""
    return network.scene_features(list({id(decision.view.scene): decision.view for decision in decisions}.values()))


def explore(network: Eyes, tasks: Tasks, settings: EyesSettings, state: dict[str, Any], save: Callable[[], None]) -> None:
    """Train the network by GRPO without the reward of the tasks, and store the progress in the state after each update.

    The reward of an episode is the mean curiosity about its pages after the first one, which all episodes of a group share.
    """
    curiosity = Curiosity(WIDTH)
    optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate / 3)
    parts: dict[str, Any] = {
        "network": network, "optimizer": optimizer, "curiosity": curiosity, "predictor": curiosity.optimizer
    }  # fmt: skip
    for name, content in state.get("exploration", {}).items():
        parts[name].load_state_dict(content)
    network.eval()
    bar, errors = Progress(settings.explore_updates, "updates of exploration"), state.setdefault("curiosity", [])
    for update in range(len(errors), settings.explore_updates):
        rng = Random(f"{settings.seed} exploration {update}")
        _, groups = play_groups(network, tasks, settings, {}, rng)
        features = [[page_features(network, decisions) for decisions, _ in group] for group in groups]
        with torch.no_grad():
            rewards = [[float(curiosity(pages[1:]).mean()) if len(pages) > 1 else 0.0 for pages in group] for group in features]
        curious = [
            [
                (decisions, reward if isfinite(task_reward) else task_reward)
                for (decisions, task_reward), reward in zip(group, values, strict=True)
            ]
            for group, values in zip(groups, rewards, strict=True)
        ]
        improve(network, curious, optimizer, settings, rng)
        pages_NW = torch.cat([pages for group in features for pages in group])
        errors.append(fmean(curiosity.learn(pages_NW) for _ in pages_NW))  # a gradient step for each page, of all pages
        state["env_steps"] = state.get("env_steps", 0) + count_steps(groups)
        state["exploration"] = {name: part.state_dict() for name, part in parts.items()}
        save()
        bar.update(update + 1)
    bar.clear()


def train(settings: EyesSettings, tasks: Tasks | None = None) -> dict[str, Any]:
    """Train and evaluate, and return the content of `result.json`. An interrupted run is resumed from its last checkpoint.

    The default tasks are those of the settings. Their env is closed.
    """
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    tasks, start_s = tasks or create_tasks(settings), time.process_time()
    network = Eyes(settings.experts, settings.top_experts)
    file = settings.out / NEWEST
    lock_folder(settings.out)
    record_settings(settings.out, fixed_options(settings), is_resumed=file.is_file(), defaults=option_defaults(settings))
    state: dict[str, Any] = torch.load(file, weights_only=True) if file.is_file() else {}
    earlier_minutes: float = state.get("cpu_minutes", 0.0)  # of a run that was interrupted

    def cpu_minutes() -> float:
        return earlier_minutes + (time.process_time() - start_s) / 60

    def save() -> None:
        state["cpu_minutes"] = cpu_minutes()
        temporary = settings.out / f".unfinished_{NEWEST}"
        content = BytesIO()  # written by Python, since torch does not raise OSError for a full disk
        torch.save(state, content)
        with writing(file):
            temporary.write_bytes(content.getbuffer())
            temporary.replace(file)

    def evaluate() -> list[float]:
        bar, rewards = Progress(len(tasks.test), "episodes evaluated"), []
        for task, _ in tasks.test:
            rewards.append(play(network, tasks, task, None)[1])
            bar.update(len(rewards))
        bar.clear()
        return rewards

    with closing(tasks.env):
        if "clone" not in state:
            if settings.explore_updates:
                explore(network, tasks, settings, state, save)
                del state["exploration"]
            demonstrations = demonstrate_all(tasks, settings) if settings.clone_updates else []
            state["demonstrated"] = sum(map(bool, demonstrations))
            decisions = [decision for demonstration in demonstrations for decision in demonstration]
            state["clone_loss"] = clone(network, decisions, settings)
            state |= {"network": network.state_dict(), "update": 0, "clone": evaluate(), "rates": {}}
            save()
        network.eval().load_state_dict(state["network"])
        optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate / 3)
        if "optimizer" in state:
            optimizer.load_state_dict(state["optimizer"])
        best = BestAgents(state.get("best", ()))
        with Metrics(settings.out, state["update"], "GRPO", updates=settings.updates) as metrics:
            for update in range(state["update"], settings.updates):
                rng = Random(f"{settings.seed} {update}")
                templates, groups = play_groups(network, tasks, settings, state["rates"], rng)
                for name, group in zip(templates, groups, strict=True):
                    if rewards := [reward for _, reward in group if not isnan(reward)]:
                        state["rates"][name] = fmean([state["rates"].get(name, fmean(rewards)), fmean(rewards)])
                if settings.perturb_every:
                    rewards = [reward for group in groups for _, reward in group if not isnan(reward)]
                    best.add(fmean(rewards or [0.0]), network)
                values = improve(network, groups, optimizer, settings, rng)
                if settings.perturb_every and (update + 1) % settings.perturb_every == 0:
                    views = [episode[0].view for group in groups for episode, _ in group]
                    values |= best.perturb(network, optimizer, torch.Generator().manual_seed(rng.getrandbits(32)), views)
                state["env_steps"] = state.get("env_steps", 0) + count_steps(groups)
                values["env_steps"] = state["env_steps"]
                metrics.log(update + 1, values | {"cpu_minutes": cpu_minutes()})
                metrics.show_progress((update + 1) / settings.updates, f"success {values['success']:.2f}")
                state |= {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "update": update + 1}
                state["best"] = best.agents
                save()
        results = [(name, *pair) for (_, name), *pair in zip(tasks.test, state["clone"], evaluate(), strict=True)]
    names, before, after = zip(*[item for item in results if not isnan(item[1] + item[2])], strict=True)
    difference = paired_difference([before], [after], templates=names)
    by_task: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, *pair in zip(names, before, after, strict=True):
        by_task[name].append((pair[0], pair[1]))
    result = {
        "clone": wilson(sum(before), len(before))._asdict(),
        "reinforced": wilson(sum(after), len(after))._asdict(),
        "lift": difference._asdict(),
        "demonstrated": state["demonstrated"],
        "clone_loss": state["clone_loss"],
        "curiosity": state.get("curiosity", []),
        "env_steps": state.get("env_steps", 0),
        "cpu_minutes": cpu_minutes(),
        "episodes": [(str(task), *pair) for (task, _), (_, *pair) in zip(tasks.test, results, strict=True)],
        "tasks": {name: [fmean(rewards) for rewards in zip(*pairs, strict=True)] for name, pairs in by_task.items()},
    }
    with writing(settings.out / "result.json"):
        (settings.out / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result
