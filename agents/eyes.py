"""A vision agent that is trained from random weights on a CPU by `python -m agents.train_eyes`.

The observation is a screenshot with numbered marks (`observation="marks"`). A small network chooses one action: click a mark, select an
option, type into a field, scroll or exit. For a text, it then chooses piece after piece: names in the goal, labels of marks, or frequent
words of the solutions of training tasks. Its inputs are the patch of the screenshot under each mark, the mark's words and position, the
words of the goal, the previous choice, and, by attention, the whole screenshot. The network is trained by behaviour cloning and then by
GRPO (arXiv 2402.03300, section 4.1) with a clipped loss, on groups of episodes of one task from one seed. Each choice has the advantage
of its episode.

Tasks are MiniWoB++ tasks by name, or by default the bundled tasks with pictures (`split="pictures"`). The demonstrations of bundled tasks
are the reference solutions. MiniWoB++ has no reference solutions, so choices of the first page are tried until one is rewarded.
"""

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from math import isfinite, isnan
from random import Random
from statistics import fmean, pstdev
from typing import Any, NamedTuple
from zlib import crc32

import numpy
import torch
from PIL import Image
from torch import Tensor, nn

from agents.models.checkpoints import lock_folder, record_settings
from agents.models.pointer.goals import parse_goal
from agents.rollouts.curriculum import sampling_weight
from agents.settings import fixed_options, option_defaults
from agents.training.metrics import Metrics
from agents.training.settings import EyesSettings
from webarena_gym import suite as task_suite
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.console import writing
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluation.statistics import paired_difference, wilson
from webarena_gym.miniwob import MiniWobText
from webarena_gym.progress import Progress
from webarena_gym.tasks import Expert, Task

WORDS = 2048  # rows of the embedding table of hashed words
WIDTH = 64
SCENE = (288, 256)  # height and width of the reduced screenshot in pixels
CELLS = (SCENE[0] // 16, SCENE[1] // 16)  # rows and columns of its features
PATCH = (16, 32)  # height and width of a mark's patch in pixels
MARGIN = 2  # pixels around a mark that are included in its patch
FEATURES = 10  # features of a choice: the position of its mark, and its relation to the goal and the history
MAX_PIECES = 10  # pieces of a text
MIN_TASKS = 3  # number of training tasks whose solutions must contain a word, for the word to be in the vocabulary
HELD_OUT = 1_000_000  # first seed of the evaluation episodes of MiniWoB++
CLIP = (0.2, 0.28)  # maximum decrease and increase of a probability ratio
NEWEST = "newest.pt"
WINDOW = (1280, 1440)  # width and height in pixels, enough for most pages without scrolling
MINIWOB_WINDOW = (160, 210)

_WORD = re.compile(r"\w+|[^\w\s]")
_MARK = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_LABEL = re.compile(r"'(.*?)'")
_FIELDS = {"searchbox": (Kind.SEARCH,), "textbox": (Kind.TYPE, Kind.SEARCH), "spinbutton": (Kind.TYPE,)}
_format = DIALECTS["webrl"].format
SCROLL = Action(Kind.SCROLL_DOWN)
END = ""  # choice that ends a text
_TEXT_ACTIONS = (Kind.TYPE, Kind.SEARCH, Kind.EXIT)

Choice = Action | str
"""An action, without its text if it has one, or a piece of the text."""


class View(NamedTuple):
    """Input of the network at one decision, with C choices and M marks."""

    scene: numpy.ndarray[Any, Any]  # reduced screenshot, uint8, 3 x SCENE
    patches: numpy.ndarray[Any, Any]  # uint8, (1 + M) x 3 x PATCH; the first is empty, for choices without a mark
    goal: list[int]  # hashed words of the goal
    state: list[int]  # hashed words of the previous action and the text so far
    words: list[list[int]]  # hashed words of each choice
    features: numpy.ndarray[Any, Any]  # float32, C x FEATURES
    marks: list[int]  # row of `patches` of each choice
    choices: list[Choice]


class Decision(NamedTuple):
    """A selected choice, or the target of behaviour cloning."""

    view: View
    choice_index: int
    logprob: float = 0.0  # log-probability under the policy that sampled it
    advantage: float = 1.0


Episode = tuple[list[Decision], float]
"""The decisions of an episode and its reward; nan if the browser failed."""


# Observations.


class EpisodeEncoder:
    """Encodes the observations of one episode, with its earlier choices and its unfinished text.

    `vocabulary` are pieces of texts. If it is empty, clicks on marks are the only choices.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self.history: set[Choice] = set()
        self.text_action: Action | None = None  # the action whose text is unfinished
        self.pieces: list[str] = []  # the pieces of the unfinished text
        self.last_words: list[int] = []  # hashed words of the previous action
        self.screenshot: numpy.ndarray[Any, Any] = numpy.zeros(
            0, numpy.uint8
        )  # the newest screenshot, with its encoding in the next attributes
        self.scene = self.patches = numpy.zeros(0, numpy.uint8)
        self.patch_rows: dict[tuple[int, ...], int] = {}  # by box

    def encode(self, observation: Mapping[str, Any]) -> View:
        """Return the network's input for an observation with marks."""
        if self.screenshot is not observation["screenshot"]:
            self._encode_screenshot(observation["screenshot"], observation["boxes"])
        height, width = self.screenshot.shape[:2]
        goal, goal_words = observation["goal"].lower(), set(_hash_words(observation["goal"]))
        words, features, marks, choices = [], [], [], list[Choice]()
        for choice, text, label, box in self._iterate_choices(observation):
            if choice in choices:
                continue
            position = [0.0] * 6
            if box:
                left, top, right, bottom = box
                position = [
                    left / width,
                    top / height,
                    right / width,
                    bottom / height,
                    (right - left) / width,
                    (bottom - top) / height,
                ]
            label_words, is_text = _hash_words(label), isinstance(choice, str) or choice.kind in _TEXT_ACTIONS
            overlap = sum(word in goal_words for word in label_words) / len(label_words)
            words.append(_hash_words(text))
            features.append([*position, overlap, bool(label) and label.lower() in goal, choice in self.history, is_text])
            marks.append(self.patch_rows[box])
            choices.append(choice)
        # The words "written" and "acts" are inputs of trained networks.
        progress = f"written {len(self.pieces)} {' '.join(self.pieces[-1:])}" if self.text_action else "acts"
        state = [*self.last_words, *_hash_words(progress)]
        features_CF = numpy.array(features, numpy.float32)
        return View(self.scene, self.patches, _hash_words(observation["goal"]), state, words, features_CF, marks, choices)

    def _encode_screenshot(self, screenshot: numpy.ndarray[Any, Any], boxes: numpy.ndarray[Any, Any]) -> None:
        """Reduce a screenshot, and crop the patches under its marks."""
        self.screenshot, image = screenshot, Image.fromarray(screenshot)
        patches: dict[tuple[int, ...], numpy.ndarray[Any, Any]] = {(): numpy.zeros((*PATCH, 3), numpy.uint8)}
        for left, top, right, bottom in boxes[boxes[:, 0] >= 0, 1:].tolist():
            area = (
                max(left - MARGIN, 0),
                max(top - MARGIN, 0),
                min(right + MARGIN, image.width),
                min(bottom + MARGIN, image.height),
            )
            patch = image.crop(area).resize(PATCH[::-1], Image.Resampling.BILINEAR)
            patches[left, top, right, bottom] = numpy.asarray(patch)
        self.patch_rows = {box: row for row, box in enumerate(patches)}
        self.patches = numpy.stack(list(patches.values())).transpose(0, 3, 1, 2)
        self.scene = numpy.asarray(image.resize(SCENE[::-1], Image.Resampling.BILINEAR)).transpose(2, 0, 1)

    def _iterate_choices(self, observation: Mapping[str, Any]) -> Iterator[tuple[Choice, str, str, tuple[int, ...]]]:
        """Yield the choices, each with its text, its label and the box (left, top, right, bottom) of its mark, () without a mark."""
        if self.text_action:
            yield END, "end of text", "", ()
        labels = dict(_MARK.findall(observation["text"]))
        boxes = observation["boxes"][observation["boxes"][:, 0] >= 0].tolist()
        for number, *edges in boxes:
            text, element, box = labels.get(str(number), ""), str(number), tuple(edges)
            label, *values = _LABEL.findall(text) or [""]
            role = text.split(" ", 1)[0]
            if self.text_action:
                yield label, label, label, box
                continue
            yield Action(Kind.CLICK, element), text, label, box
            for kind in _FIELDS.get(role, ()) if self.vocabulary else ():
                yield Action(kind, element, ""), f"{kind} {text}", label, box
            if self.vocabulary and role == "combobox":
                yield from ((Action(Kind.SELECT, element, value), f"select {label} {value}", value, box) for value in values)
        if self.text_action:
            for span in parse_goal(observation["goal"]).spans:
                if " " not in span.text or not span.text.islower():
                    yield span.text, f"{span.before} {span.text} {span.after}", span.text, ()
            yield from ((piece, piece, piece, ()) for piece in self.vocabulary)
            return
        if self.vocabulary:
            yield Action(Kind.EXIT, argument=""), "exit", "", ()
        if self.vocabulary or not boxes:
            yield SCROLL, "scroll down", "", ()

    def take(self, view: View, index: int) -> str | None:
        """Apply the choice at this index, and return the reply to the env, or None while a text is unfinished."""
        choice = view.choices[index]
        self.history.add(choice)
        if isinstance(choice, Action):
            self.last_words = view.words[index]
            if choice.kind in _TEXT_ACTIONS:
                self.text_action = choice
                return None
            return _format(choice)
        if choice != END:
            self.pieces.append(choice)
            if len(self.pieces) < MAX_PIECES:
                return None
        assert self.text_action is not None
        action = replace(self.text_action, argument=" ".join(self.pieces))
        self.text_action, self.pieces = None, []
        return _format(action)


def _hash_words(text: str) -> list[int]:
    return [crc32(word.encode()) % WORDS for word in _WORD.findall(text.lower())] or [0]


# The network.


class Eyes(nn.Module):
    """Computes log-probabilities of choices. Axes: C choices of all views, P cells of a scene, W width, L words of a goal."""

    def __init__(self) -> None:
        super().__init__()
        # The attribute names are the parameter names in saved checkpoints.
        self.word = nn.EmbeddingBag(WORDS, WIDTH, mode="mean")
        self.scene = nn.Sequential(
            nn.Conv2d(3, 32, 4, 4),
            nn.ReLU(),
            nn.Conv2d(32, WIDTH, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, 2, 1),
            nn.ReLU(),
        )
        self.where = nn.Parameter(0.02 * torch.randn(CELLS[0] * CELLS[1], WIDTH))
        near = [-torch.arange(1.0 - size, size).abs() / 2 for size in CELLS]  # decreases with the distance
        uniform = [torch.zeros_like(bias) for bias in near]
        # Initially, the four queries attend to cells around a mark, in the same rows, in the same columns, and to all cells.
        self.rows = nn.Parameter(torch.stack([near[0], near[0], uniform[0], uniform[0]]))
        self.columns = nn.Parameter(torch.stack([near[1], uniform[1], near[1], uniform[1]]))
        self.patch = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(),
            nn.Linear(32 * (PATCH[0] // 4) * (PATCH[1] // 4), WIDTH), nn.ReLU(),
        )  # fmt: skip
        self.place = nn.Linear(FEATURES, WIDTH)
        self.query, self.key = nn.Linear(4 * WIDTH, 4 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.named, self.told, self.asked = nn.Linear(WIDTH, WIDTH), nn.Linear(4 * WIDTH, WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.score = nn.Sequential(nn.Linear(13 * WIDTH, 2 * WIDTH), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2 * WIDTH, 1))

    def forward(self, views: Sequence[View]) -> list[Tensor]:
        """Return the log-probabilities (C,) of the choices of each view."""
        counts = [len(view.choices) for view in views]
        views_C = torch.arange(len(views)).repeat_interleave(torch.tensor(counts))
        scenes = {id(view.scene): view for view in views}  # views of one text have the same scene
        scene_PW = (
            self.scene(_to_floats([view.scene[None] for view in scenes.values()])).flatten(2).transpose(1, 2) + self.where
        )
        scene_values = dict(zip(scenes, zip(scene_PW, self.key(scene_PW), strict=True), strict=True))
        starts = torch.tensor([0, *(len(view.patches) for view in scenes.values())][:-1]).cumsum(0)
        first_rows = dict(zip(scenes, starts.tolist(), strict=True))
        marks_C = torch.tensor([mark + first_rows[id(view.scene)] for view in views for mark in view.marks])
        patch_CW = self.patch(_to_floats([view.patches for view in scenes.values()]))[marks_C]
        features = torch.from_numpy(numpy.concatenate([view.features for view in views]))
        features_CW = self.place(features)
        goal_CW = self._mean([view.goal for view in views])[views_C]
        state_CW = self._mean([view.state for view in views])[views_C]
        words_CW = self._mean([words for view in views for words in view.words])
        query_C4W = self.query(torch.cat([goal_CW, words_CW, features_CW, state_CW], 1)).view(len(views_C), 4, WIDTH)
        attention, matches = [], []
        for view, queries, view_features in zip(views, query_C4W.split(counts), features.split(counts), strict=True):
            values_PW, key_PW = scene_values[id(view.scene)]
            bias = self._position_bias(view_features, torch.tensor(view.marks) > 0)
            weights = (queries @ key_PW.T / WIDTH**0.5).view(-1, 4, *CELLS) + bias
            attention.append((torch.softmax(weights.flatten(2), -1) @ values_PW).flatten(1))
            query_CW, words_LW = self.asked(attention[-1]), self.word.weight[view.goal]
            matches.append(query_CW * (torch.softmax(query_CW @ words_LW.T, -1) @ words_LW))  # attention to words of the goal
        attention_CV = torch.cat(attention)  # V is 4 * W
        products = (goal_CW * words_CW, goal_CW * self.named(patch_CW), words_CW * self.told(attention_CV), torch.cat(matches))
        inputs = torch.cat([goal_CW, words_CW, patch_CW, features_CW, state_CW, attention_CV, *products], 1)
        scores_C = self.score(inputs)[:, 0]
        return [part.log_softmax(0) for part in scores_C.split(counts)]

    def _position_bias(self, features: Tensor, is_mark: Tensor) -> Tensor:
        """Return the attention bias (C, 4, *CELLS) of each cell by its distance from the choice's mark; 0 without a mark."""
        bias: Tensor | float = 0.0
        for table, size, edges, axis in ((self.rows, CELLS[0], (1, 3), 3), (self.columns, CELLS[1], (0, 2), 2)):
            centre_C = (features[:, edges].mean(1) * size).long().clamp(0, size - 1)
            distance = torch.arange(size) - centre_C[:, None] + size - 1
            bias = bias + table[:, distance].transpose(0, 1).unsqueeze(axis)
        return bias * is_mark[:, None, None, None]

    def _mean(self, texts: Sequence[list[int]]) -> Tensor:
        """Return the mean embedding (N, W) of the words of each text."""
        starts = torch.tensor([0, *map(len, texts)][:-1]).cumsum(0)
        mean: Tensor = self.word(torch.tensor([word for text in texts for word in text]), starts)
        return mean


def _to_floats(parts: Sequence[numpy.ndarray[Any, Any]]) -> Tensor:
    return torch.from_numpy(numpy.concatenate(parts)).float() / 127.5 - 1


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
            if step.action.kind in _TEXT_ACTIONS and str(step.action.argument) not in task.intent
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
            choice = replace(action, argument="") if action.kind in _TEXT_ACTIONS else action
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
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    rewards = [reward for group in groups for _, reward in group if not isnan(reward)]
    success = fmean(rewards) if rewards else 0.0
    return {"loss": fmean(losses), "success": success, "rollouts": len(rewards), "trained_steps": len(training_decisions)}


def train(settings: EyesSettings) -> dict[str, Any]:
    """Train and evaluate, and return the content of `result.json`. An interrupted run is resumed from its last checkpoint."""
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    tasks, network, start_s = create_tasks(settings), Eyes(), time.process_time()
    file = settings.out / NEWEST
    lock_folder(settings.out)
    record_settings(settings.out, fixed_options(settings), is_resumed=file.is_file(), defaults=option_defaults(settings))
    state: dict[str, Any] = torch.load(file, weights_only=True) if file.is_file() else {}

    def save() -> None:
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
        if not state:
            bar = Progress(len(tasks.train), "tasks demonstrated")
            demonstrations: list[list[Decision]] = []
            for task, _ in tasks.train:
                demonstrations.append(demonstrate(tasks, task, Random(f"{settings.seed} {len(demonstrations)}")))
                bar.update(len(demonstrations))
            bar.clear()
            state["demonstrated"] = sum(map(bool, demonstrations))
            decisions = [decision for demonstration in demonstrations for decision in demonstration]
            state["clone_loss"] = clone(network, decisions, settings)
            state |= {"network": network.state_dict(), "update": 0, "clone": evaluate(), "rates": {}}
            save()
        network.eval().load_state_dict(state["network"])
        optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate / 3)
        if "optimizer" in state:
            optimizer.load_state_dict(state["optimizer"])
        with Metrics(settings.out, state["update"], "GRPO", updates=settings.updates) as metrics:
            for update in range(state["update"], settings.updates):
                rng = Random(f"{settings.seed} {update}")
                update_tasks = sample_tasks(tasks.train, state["rates"], settings.tasks_per_update, rng)
                if settings.tasks:  # MiniWoB++ has an episode for every seed
                    update_tasks = [(f"{name}/{rng.randrange(HELD_OUT)}", name) for _, name in update_tasks]
                groups = [
                    [play(network, tasks, task, rng, settings.temperature) for _ in range(settings.group_size)]
                    for task, _ in update_tasks
                ]
                for (_, name), group in zip(update_tasks, groups, strict=True):
                    if rewards := [reward for _, reward in group if not isnan(reward)]:
                        state["rates"][name] = fmean([state["rates"].get(name, fmean(rewards)), fmean(rewards)])
                values = improve(network, groups, optimizer, settings, rng)
                metrics.log(update + 1, values | {"cpu_minutes": (time.process_time() - start_s) / 60})
                metrics.show_progress((update + 1) / settings.updates, f"success {values['success']:.2f}")
                state |= {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "update": update + 1}
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
        "tasks": {name: [fmean(rewards) for rewards in zip(*pairs, strict=True)] for name, pairs in by_task.items()},
    }
    with writing(settings.out / "result.json"):
        (settings.out / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result
