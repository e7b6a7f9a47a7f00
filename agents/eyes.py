"""An agent that sees, from random weights on a CPU: what `python -m agents.train_eyes` trains.

A small network chooses among the marks of `observation="marks"`: which one to click, which option to select, where to type, or that it
exits. What it types or answers it then writes piece by piece: names of the goal, texts of marks, or words that solutions of the training
tasks are made of. It reads the patch of the picture under each mark, the mark's words and place, the words of the goal, what it chose
last, and, by attention, the whole picture. It is cloned from demonstrations and then improved by GRPO (arXiv 2402.03300, section 4.1)
with the clipped loss of `agents.grpo`'s kind, on groups of episodes of one task from one seed; every choice has its episode's advantage.

Tasks are those of MiniWoB++ by name, or without names the shipped ones that need eyes (`split="pictures"`). A demonstration is the
reference solution where there is one; the pages of MiniWoB++ have none, so there each mark is tried until one is rewarded.
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
from agents.settings import lasting
from agents.training.metrics import Metrics
from agents.training.settings import EyesSettings
from webarena_gym import console
from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.console import writing
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluation.statistics import paired_difference, wilson
from webarena_gym.miniwob import MiniWobText
from webarena_gym.tasks import Expert

WORDS = 2048  # rows of the table of words, which are hashed
WIDTH = 64
SCENE = (288, 256)  # height and width in pixels to which the picture is reduced
CELLS = (SCENE[0] // 16, SCENE[1] // 16)  # rows and columns of its features
PATCH = (16, 32)  # and what is under a mark
MARGIN = 2  # pixels around a mark that its patch shows
PLACE = 10  # features of a mark: its position, and its relation to the goal and the history
PIECES = 10  # a text is made of at most
SHARED = 3  # a word that the solutions of so many training tasks write may be written in any
HELD_OUT = 1_000_000  # first seed of the episodes of MiniWoB++ that are evaluated
CLIP = (0.2, 0.28)  # how far a probability ratio may fall and rise
NEWEST = "newest.pt"
WINDOW = (1280, 1440)  # pixels, in which most pages are seen whole
MINIWOB_WINDOW = (160, 210)  # of its small pages

_WORD = re.compile(r"\w+|[^\w\s]")
_MARK = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_LABEL = re.compile(r"'(.*?)'")
_FIELDS = {"searchbox": (Kind.SEARCH,), "textbox": (Kind.TYPE, Kind.SEARCH), "spinbutton": (Kind.TYPE,)}
_format = DIALECTS["webrl"].format
SCROLL = Action(Kind.SCROLL_DOWN)
END = ""  # of a text
_WRITTEN = (Kind.TYPE, Kind.SEARCH, Kind.EXIT)

Choice = Action | str
"""An action (without its text if it types or exits), or a piece of such a text."""


class View(NamedTuple):
    """A moment of an episode as the network reads it, with C choices and M marks."""

    scene: numpy.ndarray[Any, Any]  # uint8, 3 x SCENE
    patches: numpy.ndarray[Any, Any]  # uint8, (1 + M) x 3 x PATCH, the first of nothing
    goal: list[int]  # hashed words
    state: list[int]  # hashed words of what was chosen last
    words: list[list[int]]  # hashed, of each choice
    places: numpy.ndarray[Any, Any]  # float32, C x PLACE
    marks: list[int]  # of each choice, its row of `patches`
    choices: list[Choice]


class Decision(NamedTuple):
    """A choice that was made, or is to be made."""

    view: View
    chosen: int
    logprob: float = 0.0  # of the network that chose
    advantage: float = 1.0


Episode = tuple[list[Decision], float]
"""The decisions of an episode and its reward; nan where the browser has failed."""


# Observations.


class Course:
    """Choices of an episode so far, and the text that is being written. `vocabulary` are pieces of texts; without, marks are clicked alone."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self.chosen: set[Choice] = set()
        self.opened: Action | None = None
        self.written: list[str] = []
        self.last: list[int] = []
        self.picture: Any = None  # the newest one, and what the network reads of it
        self.scene = self.patches = numpy.zeros(0, numpy.uint8)
        self.patch_of: dict[tuple[int, ...], int] = {}

    def look(self, observation: Mapping[str, Any]) -> View:
        """Return what the network reads of an observation with marks."""
        if self.picture is not observation["screenshot"]:
            self._see(observation["screenshot"], observation["boxes"])
        height, width = self.picture.shape[:2]
        goal, known = observation["goal"].lower(), set(_hashed(observation["goal"]))
        words, places, marks, choices = [], [], [], list[Choice]()
        for choice, text, label, box in self._offered(observation):
            if choice in choices:
                continue
            place = [0.0] * 6
            if box:
                left, top, right, bottom = box
                place = [
                    left / width,
                    top / height,
                    right / width,
                    bottom / height,
                    (right - left) / width,
                    (bottom - top) / height,
                ]
            named, writes = _hashed(label), isinstance(choice, str) or choice.kind in _WRITTEN
            share = sum(word in known for word in named) / len(named)
            words.append(_hashed(text))
            places.append([*place, share, bool(label) and label.lower() in goal, choice in self.chosen, writes])
            marks.append(self.patch_of[box])
            choices.append(choice)
        state = [*self.last, *_hashed(f"written {len(self.written)} {' '.join(self.written[-1:])}" if self.opened else "acts")]
        placed = numpy.array(places, numpy.float32)
        return View(self.scene, self.patches, _hashed(observation["goal"]), state, words, placed, marks, choices)

    def _see(self, screenshot: Any, boxes: numpy.ndarray[Any, Any]) -> None:
        """Reduce a picture, and cut out what is under its marks."""
        self.picture, picture = screenshot, Image.fromarray(screenshot)
        patches: dict[tuple[int, ...], numpy.ndarray[Any, Any]] = {(): numpy.zeros((*PATCH, 3), numpy.uint8)}
        for left, top, right, bottom in boxes[boxes[:, 0] >= 0, 1:].tolist():
            first, last = (max(left - MARGIN, 0), max(top - MARGIN, 0)), (right + MARGIN, bottom + MARGIN)
            around = (*first, min(last[0], picture.width), min(last[1], picture.height))
            small = picture.crop(around).resize(PATCH[::-1], Image.Resampling.BILINEAR)
            patches[left, top, right, bottom] = numpy.asarray(small)
        self.patch_of = {box: row for row, box in enumerate(patches)}
        self.patches = numpy.stack(list(patches.values())).transpose(0, 3, 1, 2)
        self.scene = numpy.asarray(picture.resize(SCENE[::-1], Image.Resampling.BILINEAR)).transpose(2, 0, 1)

    def _offered(self, observation: Mapping[str, Any]) -> Iterator[tuple[Choice, str, str, tuple[int, ...]]]:
        """Yield the choices, each with its text, its label, and its mark's left, top, right and bottom; () for none."""
        if self.opened:
            yield END, "end of text", "", ()
        labels = dict(_MARK.findall(observation["text"]))
        boxes = observation["boxes"][observation["boxes"][:, 0] >= 0].tolist()
        for number, *edges in boxes:
            text, element, box = labels.get(str(number), ""), str(number), tuple(edges)
            label, *values = _LABEL.findall(text) or [""]
            role = text.split(" ", 1)[0]
            if self.opened:
                yield label, label, label, box
                continue
            yield Action(Kind.CLICK, element), text, label, box
            for kind in _FIELDS.get(role, ()) if self.vocabulary else ():
                yield Action(kind, element, ""), f"{kind} {text}", label, box
            if self.vocabulary and role == "combobox":
                yield from ((Action(Kind.SELECT, element, value), f"select {label} {value}", value, box) for value in values)
        if self.opened:
            for span in parse_goal(observation["goal"]).spans:
                if " " not in span.text or not span.text.islower():
                    yield span.text, f"{span.before} {span.text} {span.after}", span.text, ()
            yield from ((piece, piece, piece, ()) for piece in self.vocabulary)
            return
        if self.vocabulary:
            yield Action(Kind.EXIT, argument=""), "exit", "", ()
        if self.vocabulary or not boxes:
            yield SCROLL, "scroll down", "", ()

    def take(self, view: View, place: int) -> str | None:
        """Note a choice; return the reply to the env that is complete by it, None while a text is written."""
        choice = view.choices[place]
        self.chosen.add(choice)
        if isinstance(choice, Action):
            self.last = view.words[place]
            if choice.kind in _WRITTEN:
                self.opened = choice
                return None
            return _format(choice)
        if choice != END:
            self.written.append(choice)
            if len(self.written) < PIECES:
                return None
        assert self.opened is not None
        done = replace(self.opened, argument=" ".join(self.written))
        self.opened, self.written = None, []
        return _format(done)


def _hashed(text: str) -> list[int]:
    return [crc32(word.encode()) % WORDS for word in _WORD.findall(text.lower())] or [0]


# The network.


class Eyes(nn.Module):
    """Log-probabilities of the choices of moments. Sizes: S moments, C choices of all of them, P places of a scene, W width."""

    def __init__(self) -> None:
        super().__init__()
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
        fading = [-torch.arange(1.0 - size, size).abs() / 2 for size in CELLS]  # with the distance
        even = [torch.zeros_like(each) for each in fading]
        # The four queries begin with what is around a mark, beside it, above or below it, and anywhere.
        self.rows = nn.Parameter(torch.stack([fading[0], fading[0], even[0], even[0]]))
        self.columns = nn.Parameter(torch.stack([fading[1], even[1], fading[1], even[1]]))
        self.patch = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(),
            nn.Linear(32 * (PATCH[0] // 4) * (PATCH[1] // 4), WIDTH), nn.ReLU(),
        )  # fmt: skip
        self.place = nn.Linear(PLACE, WIDTH)
        self.query, self.key = nn.Linear(4 * WIDTH, 4 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.named, self.told, self.asked = nn.Linear(WIDTH, WIDTH), nn.Linear(4 * WIDTH, WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.score = nn.Sequential(nn.Linear(13 * WIDTH, 2 * WIDTH), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2 * WIDTH, 1))

    def forward(self, views: Sequence[View]) -> list[Tensor]:
        """Return the log-probabilities (C,) of each moment's choices."""
        counts = [len(view.choices) for view in views]
        of_C = torch.arange(len(views)).repeat_interleave(torch.tensor(counts))
        pictures = {id(view.scene): view for view in views}  # moments share one while a text is written
        scene_PW = self.scene(_pixels([view.scene[None] for view in pictures.values()])).flatten(2).transpose(1, 2) + self.where
        seen = dict(zip(pictures, zip(scene_PW, self.key(scene_PW), strict=True), strict=True))
        starts = torch.tensor([0, *(len(view.patches) for view in pictures.values())][:-1]).cumsum(0)
        firsts = dict(zip(pictures, starts.tolist(), strict=True))
        marks_C = torch.tensor([mark + firsts[id(view.scene)] for view in views for mark in view.marks])
        patch_CW = self.patch(_pixels([view.patches for view in pictures.values()]))[marks_C]
        places = torch.from_numpy(numpy.concatenate([view.places for view in views]))
        place_CW = self.place(places)
        goal_CW = self._mean([view.goal for view in views])[of_C]
        state_CW = self._mean([view.state for view in views])[of_C]
        words_CW = self._mean([words for view in views for words in view.words])
        query_C4W = self.query(torch.cat([goal_CW, words_CW, place_CW, state_CW], 1)).view(len(of_C), 4, WIDTH)
        parts, matches = [], []
        for view, queries, where in zip(views, query_C4W.split(counts), places.split(counts), strict=True):
            values_PW, key_PW = seen[id(view.scene)]
            weights = (queries @ key_PW.T / WIDTH**0.5).view(-1, 4, *CELLS) + self._beside(where, torch.tensor(view.marks) > 0)
            parts.append((torch.softmax(weights.flatten(2), -1) @ values_PW).flatten(1))
            asked_CW, words_LW = self.asked(parts[-1]), self.word.weight[view.goal]
            matches.append(asked_CW * (torch.softmax(asked_CW @ words_LW.T, -1) @ words_LW))  # the closest words of the goal
        seen_CV = torch.cat(parts)
        products = (goal_CW * words_CW, goal_CW * self.named(patch_CW), words_CW * self.told(seen_CV), torch.cat(matches))
        scores_C = self.score(torch.cat([goal_CW, words_CW, patch_CW, place_CW, state_CW, seen_CV, *products], 1))[:, 0]
        return [part.log_softmax(0) for part in scores_C.split(counts)]

    def _beside(self, places: Tensor, is_mark: Tensor) -> Tensor:
        """Return what is added to the weight (C, 4, *CELLS) of each place of the picture for its distance from a mark."""
        bias: Tensor | float = 0.0
        for table, size, edges, axis in ((self.rows, CELLS[0], (1, 3), 3), (self.columns, CELLS[1], (0, 2), 2)):
            centre_C = (places[:, edges].mean(1) * size).long().clamp(0, size - 1)
            distance = torch.arange(size) - centre_C[:, None] + size - 1
            bias = bias + table[:, distance].transpose(0, 1).unsqueeze(axis)
        return bias * is_mark[:, None, None, None]

    def _mean(self, texts: Sequence[list[int]]) -> Tensor:
        """Return the mean vector (N, W) of the words of each text."""
        starts = torch.tensor([0, *map(len, texts)][:-1]).cumsum(0)
        mean: Tensor = self.word(torch.tensor([word for text in texts for word in text]), starts)
        return mean


def _pixels(parts: Sequence[numpy.ndarray[Any, Any]]) -> Tensor:
    return torch.from_numpy(numpy.concatenate(parts)).float() / 127.5 - 1


# Episodes.


class Tasks(NamedTuple):
    """The tasks of a run: their env, what is trained on, and what is evaluated, each as the id for `reset` and its template."""

    env: Any
    train: list[tuple[Any, str]]
    test: list[tuple[Any, str]]
    vocabulary: list[str]


def tasks_of(settings: EyesSettings) -> Tasks:
    """Return the tasks that the settings name. Raises TaskError for one that is not known."""
    common: dict[str, Any] = {"max_steps": settings.max_steps, "observation": "marks"}
    if settings.tasks:
        env: Any = MiniWobText(tasks=settings.tasks, window_size=MINIWOB_WINDOW, **common)
        train: list[tuple[Any, str]] = [(f"{name}/{seed}", name) for seed in range(settings.shown) for name in settings.tasks]
        held_out = range(HELD_OUT, HELD_OUT + settings.evaluated)
        return Tasks(env, train, [(f"{name}/{seed}", name) for name in settings.tasks for seed in held_out], [])
    drawn = {seed: task_suite.load("pictures", seed) for seed in (*settings.worlds, settings.test_world)}
    env = WebArenaLite(split="pictures", browser="chromium", window_size=WINDOW, **common)
    train = [(task, task.template) for seed in settings.worlds for task in drawn[seed]]
    texts = [
        {
            step.action.argument
            for step in task.solution
            if step.action.kind in _WRITTEN and step.action.argument not in task.intent
        }
        for task, _ in train
    ]
    counts = Counter(piece for own in texts for piece in {piece for text in own for piece in str(text).split(" ")})
    vocabulary = sorted(piece for piece, count in counts.items() if count >= SHARED)
    return Tasks(env, train, [(task, task.template) for task in drawn[settings.test_world]], vocabulary)


def demonstrate(tasks: Tasks, task: Any, rng: Random) -> list[Decision]:
    """Return the choices of an episode that is rewarded; empty where there is none."""
    env, course = tasks.env, Course(tasks.vocabulary)
    observation, _ = env.reset(options={"task": task})
    if not env.task.solution:
        view = course.look(observation)
        for place, chosen in enumerate(rng.sample(range(len(view.choices)), len(view.choices))):
            if place:
                env.reset(options={"task": task})
            if env.step(course.take(view, chosen))[1] == 1:
                return [Decision(view, chosen)]
        return []
    expert, decisions = Expert(env.task), list[Decision]()
    wanted: Action | None = None
    pieces: list[str] = []
    while True:
        view = course.look(observation)
        if course.opened:
            choice: Choice = pieces.pop(0) if pieces else END
        else:
            wanted = wanted or env.dialect.parse(expert.reply(env.page, env.observation))
            choice = replace(wanted, argument="") if wanted.kind in _WRITTEN else wanted
            choice = choice if choice in view.choices else SCROLL
        if choice not in view.choices:
            return []
        decisions.append(Decision(view, view.choices.index(choice)))
        reply = course.take(view, decisions[-1].chosen)
        if reply is None:
            if isinstance(choice, Action) and wanted:  # its text is about to be written
                text = wanted.argument or ""
                pieces = [text] if text in course.look(observation).choices else text.split(" ")
            continue
        wanted = wanted if choice == SCROLL != wanted else None
        observation, reward, terminated, truncated, _ = env.step(reply)
        if terminated or truncated:
            return decisions if reward == 1 else []


def play(network: Eyes, tasks: Tasks, task: Any, rng: Random | None, temperature: float = 1.0) -> Episode:
    """Return an episode of the network: sampled, or greedy without random numbers."""
    observation, _ = tasks.env.reset(options={"task": task})
    course, decisions = Course(tasks.vocabulary), list[Decision]()
    while True:
        view = course.look(observation)
        with torch.no_grad():
            logprobs = (network([view])[0] / temperature).log_softmax(0)
        weights = logprobs.exp().tolist()
        chosen = int(logprobs.argmax()) if rng is None else rng.choices(range(len(weights)), weights)[0]
        decisions.append(Decision(view, chosen, float(logprobs[chosen])))
        reply = course.take(view, chosen)
        if reply is not None:
            observation, reward, terminated, truncated, info = tasks.env.step(reply)
            if terminated or truncated:
                if not isfinite(reward) and "failure" not in info:
                    raise EvaluationError(f"task {task}: the env returned the reward {reward}; expected a finite number")
                return decisions, reward


# Training.


def batches(decisions: Sequence[Decision], size: int, rng: Random) -> Iterator[list[Decision]]:
    """Yield the decisions in random order, so many at a time."""
    order = rng.sample(decisions, len(decisions))
    yield from (order[start : start + size] for start in range(0, len(order), size))


def clone(network: Eyes, decisions: Sequence[Decision], settings: EyesSettings) -> float:
    """Train on the choices of demonstrations; return the loss of the last pass over them."""
    optimizer = torch.optim.AdamW(network.parameters(), settings.learning_rate, weight_decay=0.05)
    rng, update, losses = Random(settings.seed), 0, [0.0]
    network.train()
    while update < settings.clone_updates:
        losses = []
        for batch in batches(decisions, 32, rng):
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * max(1 - update / settings.clone_updates, 0.0)
            logprobs = network([each.view for each in batch])
            loss = -torch.stack([own[each.chosen] for own, each in zip(logprobs, batch, strict=True)]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            update += 1
    network.eval()
    return fmean(losses)


def draw(tasks: Sequence[tuple[Any, str]], rates: Mapping[str, float], count: int, rng: Random) -> list[tuple[Any, str]]:
    """Return tasks of drawn templates. Those near a success of one half come more often, as groups of equal rewards train nothing."""
    by_name: dict[str, list[tuple[Any, str]]] = defaultdict(list)
    for task in tasks:
        by_name[task[1]].append(task)
    weights = [sampling_weight(rates.get(name, 0.5)) for name in by_name]
    return [rng.choice(by_name[name]) for name in rng.choices(list(by_name), weights, k=count)]


def improve(
    network: Eyes, groups: Sequence[Sequence[Episode]], optimizer: Any, settings: EyesSettings, rng: Random
) -> dict[str, float]:
    """Take clipped policy-gradient steps with group-relative advantages. Returns metrics."""
    trained: list[Decision] = []
    for group in groups:
        rewards = [reward for _, reward in group if not isnan(reward)]
        if len(rewards) > 1 and pstdev(rewards) > 0:
            for decisions, reward in group:
                advantage = 0.0 if isnan(reward) else (reward - fmean(rewards)) / pstdev(rewards)
                trained += [each._replace(advantage=advantage) for each in decisions if advantage]
    losses = [0.0]
    for _ in range(settings.epochs):
        for batch in batches(trained, 64, rng):
            scores = network([each.view for each in batch])
            logprobs = [(own / settings.temperature).log_softmax(0) for own in scores]
            ratios = torch.stack([own[each.chosen] - each.logprob for own, each in zip(logprobs, batch, strict=True)]).exp()
            advantages = torch.tensor([each.advantage for each in batch])
            clipped = ratios.clamp(1 - CLIP[0], 1 + CLIP[1])
            loss = -torch.minimum(ratios * advantages, clipped * advantages).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    rewards = [reward for group in groups for _, reward in group if not isnan(reward)]
    success = fmean(rewards) if rewards else 0.0
    return {"loss": fmean(losses), "success": success, "rollouts": len(rewards), "trained_steps": len(trained)}


def train(settings: EyesSettings) -> dict[str, Any]:
    """Run the training and the evaluation. Returns the content of `result.json`; an interrupted run resumes from its last save."""
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    tasks, network, started_s = tasks_of(settings), Eyes(), time.process_time()
    file = settings.out / NEWEST
    lock_folder(settings.out)
    record_settings(settings.out, lasting(settings), is_resumed=file.is_file())
    state: dict[str, Any] = torch.load(file, weights_only=True) if file.is_file() else {}

    def save() -> None:
        beside = settings.out / f".unfinished_{NEWEST}"
        content = BytesIO()  # torch itself calls a full disk a fault of the program
        torch.save(state, content)
        with writing(file):
            beside.write_bytes(content.getbuffer())
            beside.replace(file)

    def scores() -> list[float]:
        bar, rewards = console.Progress(len(tasks.test), "episodes evaluated"), []
        for task, _ in tasks.test:
            rewards.append(play(network, tasks, task, None)[1])
            bar.show(len(rewards))
        bar.clear()
        return rewards

    with closing(tasks.env):
        if not state:
            bar = console.Progress(len(tasks.train), "tasks demonstrated")
            shown: list[list[Decision]] = []
            for task, _ in tasks.train:
                shown.append(demonstrate(tasks, task, Random(f"{settings.seed} {len(shown)}")))
                bar.show(len(shown))
            bar.clear()
            state["demonstrated"] = sum(map(bool, shown))
            decisions = [decision for steps in shown for decision in steps]
            state["clone_loss"] = clone(network, decisions, settings)
            state |= {"network": network.state_dict(), "update": 0, "clone": scores(), "rates": {}}
            save()
        network.eval().load_state_dict(state["network"])
        optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate / 3)
        if "optimizer" in state:
            optimizer.load_state_dict(state["optimizer"])
        with Metrics(settings.out, state["update"], "GRPO") as metrics:
            for update in range(state["update"], settings.updates):
                rng = Random(f"{settings.seed} {update}")
                drawn = draw(tasks.train, state["rates"], settings.tasks_per_update, rng)
                if settings.tasks:  # of whose episodes there are as many as one likes
                    drawn = [(f"{name}/{rng.randrange(HELD_OUT)}", name) for _, name in drawn]
                groups = [
                    [play(network, tasks, task, rng, settings.temperature) for _ in range(settings.group_size)]
                    for task, _ in drawn
                ]
                for (_, name), group in zip(drawn, groups, strict=True):
                    if rewards := [reward for _, reward in group if not isnan(reward)]:
                        state["rates"][name] = fmean([state["rates"].get(name, fmean(rewards)), fmean(rewards)])
                values = improve(network, groups, optimizer, settings, rng)
                metrics.log(update + 1, values | {"cpu_minutes": (time.process_time() - started_s) / 60})
                metrics.show((update + 1) / settings.updates, f"success {values['success']:.2f}")
                state |= {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "update": update + 1}
                save()
        scored = [(name, *pair) for (_, name), *pair in zip(tasks.test, state["clone"], scores(), strict=True)]
    names, before, after = zip(*[each for each in scored if not isnan(each[1] + each[2])], strict=True)
    lift = paired_difference([before], [after], templates=names)
    by_task: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, *pair in zip(names, before, after, strict=True):
        by_task[name].append((pair[0], pair[1]))
    result = {
        "clone": wilson(sum(before), len(before))._asdict(),
        "reinforced": wilson(sum(after), len(after))._asdict(),
        "lift": lift._asdict(),
        "demonstrated": state["demonstrated"],
        "clone_loss": state["clone_loss"],
        "tasks": {name: [fmean(own) for own in zip(*pairs, strict=True)] for name, pairs in by_task.items()},
    }
    with writing(settings.out / "result.json"):
        (settings.out / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result
