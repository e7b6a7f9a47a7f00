"""The vision agent's input and network: choices on a screenshot with numbered marks (`observation="marks"`), and their log-probabilities.

The network chooses one action: click a mark, select an option, type into a field, scroll or exit. For a text, it then chooses piece after
piece: names in the goal, labels of marks, or words of a vocabulary. Its inputs are the patch of the screenshot under each mark, the mark's
words and position, the words of the goal, the previous choice, and, by attention, the whole screenshot.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from zlib import crc32

import numpy
import torch
from PIL import Image
from torch import Tensor, nn

from agents.models.mentor import MixtureOfExperts
from agents.models.pointer.goals import parse_goal
from webarena_gym.actions import DIALECTS, Action, Kind

WORDS = 2048  # rows of the embedding table of hashed words
WIDTH = 64
SCENE = (288, 256)  # height and width of the reduced screenshot in pixels
CELLS = (SCENE[0] // 16, SCENE[1] // 16)  # rows and columns of its features
PATCH = (16, 32)  # height and width of a mark's patch in pixels
MARGIN = 2  # pixels around a mark that are included in its patch
FEATURES = 10  # features of a choice: the position of its mark, and its relation to the goal and the history
MAX_PIECES = 10  # pieces of a text

_WORD = re.compile(r"\w+|[^\w\s]")
_MARK = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_LABEL = re.compile(r"'(.*?)'")
_FIELDS = {"searchbox": (Kind.SEARCH,), "textbox": (Kind.TYPE, Kind.SEARCH), "spinbutton": (Kind.TYPE,)}
_format = DIALECTS["webrl"].format
SCROLL = Action(Kind.SCROLL_DOWN)
END = ""  # choice that ends a text
TEXT_ACTIONS = (Kind.TYPE, Kind.SEARCH, Kind.EXIT)

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
            label_words, is_text = _hash_words(label), isinstance(choice, str) or choice.kind in TEXT_ACTIONS
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
            if choice.kind in TEXT_ACTIONS:
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
    """Computes log-probabilities of choices. Axes: C choices of all views, P cells of a scene, W width, L words of a goal.

    With `experts` above 0, the hidden layer of the scores is followed by a mixture of experts, of which `top_experts` compute a choice.
    """

    def __init__(self, experts: int = 0, top_experts: int = 4) -> None:
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
        mixture = [MixtureOfExperts(2 * WIDTH, experts, top_experts), nn.ReLU()] if experts else []
        self.score = nn.Sequential(
            nn.Linear(13 * WIDTH, 2 * WIDTH), nn.ReLU(), *mixture, nn.Dropout(0.2), nn.Linear(2 * WIDTH, 1)
        )

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

    def scene_features(self, views: Sequence[View]) -> Tensor:
        """Return the mean feature (N, W) of the whole screenshot of each view."""
        cells: Tensor = self.scene(_to_floats([view.scene[None] for view in views]))
        return cells.mean((2, 3))

    @property
    def gate_loss(self) -> Tensor | float:
        """The loss of the gate of experts in the latest forward pass; 0 without experts."""
        return sum(module.loss for module in self.score if isinstance(module, MixtureOfExperts))

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
