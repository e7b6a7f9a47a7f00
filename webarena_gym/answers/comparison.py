"""Whether an answer claims what a reference says, and which claim was read."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from webarena_gym.answers.about import about_asked, other_field, without_other_records
from webarena_gym.answers.goal import Goal, options, read_goal
from webarena_gym.answers.lexicon import FUNCTION, TRAVEL
from webarena_gym.answers.markup import Line, lines
from webarena_gym.answers.polarity import claims_not_available, read_polarity, says_not_available
from webarena_gym.answers.records import without_other_fields
from webarena_gym.answers.references import Asked, Part, Reference, readings
from webarena_gym.answers.scopes import Known, is_doubtful, is_identifier, negated
from webarena_gym.answers.sentences import Pattern, Sentence, Token, fold, pattern, sentences, words
from webarena_gym.answers.texts import check_texts
from webarena_gym.answers.topic import ranks_things, read_topic
from webarena_gym.answers.typed import (
    Candidate,
    candidates,
    claims,
    foreign_names,
    is_source,
    last_conclusion,
    last_correction,
    reduce,
    same,
)
from webarena_gym.answers.values import Amount, read

_LONGEST_CLAIM = 400  # words; a longer text is a page or a dump, unless it marks its answer
_RANKS = ("second", "third", "fourth", "fifth", "sixth")
_RANK = re.compile(r"(?:^|; )(?:rank|place|position|no\.?|nr\.?|#)(?: [a-z ]{1,30})?: (\d{1,2})\.?(?=;|$)", re.IGNORECASE)
_STEP = re.compile(r"(?:I|We|Open|Go|Sort|Click|Find|Search|Look|Check|Filter|Compare|Count|So|Then|Log|Visit|Read)\b")
_SHORTEST_CODE = 5
_LONGEST_WORD = 20  # characters, on average
_MOST_VALUES = 40  # in an answer to a question for one


class Finding(NamedTuple):
    """Whether an answer is right, and why: which claim was read, and what it was compared with."""

    is_right: bool
    reason: str


def compare(reference: str, answer: str, intent: str = "", asked: Asked | None = None) -> Finding:
    """Return whether `answer` claims what `reference` says, as an answer to the goal `intent`, and the reason."""
    asked = asked or Asked()
    goal = read_goal(intent)
    if not reference.strip():
        return Finding(not answer.strip(), "the reference is empty")
    if " ".join(answer.split()).casefold() == " ".join(reference.split()).casefold():
        return Finding(True, "the text is the same")
    found = lines(answer)
    tried = [
        _compare_all(wanted, _chosen(found, goal) if len(wanted.parts) == 1 else found, goal, asked)
        for wanted in readings(reference, goal, asked)
    ]
    right = next((finding for finding in tried if finding.is_right), None)
    return right or tried[-1]


def _chosen(found: list[Line], goal: Goal) -> list[Line]:
    """The lines without the items of a list of which another one alone is bold, or has the rank that is asked for."""
    rank = next((number for number, word in enumerate(_RANKS, start=2) if word in goal.words), 1)
    ranked = [(line, _RANK.search(line.text)) for line in found if line.kind == "row"]
    if len(ranked) > 1 and all(match for _, match in ranked):
        places = [int(match[1]) for _, match in ranked if match]
        if sorted(places) == list(range(1, len(places) + 1)) and rank in places:
            return [line for line in found if line.kind != "row" or line is ranked[places.index(rank)][0]]
    numbered = [line for line in found if line.number]
    if _is_ranking(numbered) and ranks_things(goal):
        return [line for line in found if not line.number or line.number == rank]
    items = [line for line in found if line.kind in ("item", "row") and line.text]
    bold = [line for line in items if line.is_bold]
    return (
        [line for line in found if line.kind not in ("item", "row") or line.is_bold] if len(bold) == 1 < len(items) else found
    )


def _is_ranking(numbered: Sequence[Line]) -> bool:
    """Whether numbered items are names one under the other, and no steps."""
    return (
        len(numbered) > 1
        and [line.number for line in numbered] == list(range(1, len(numbered) + 1))
        and not any(line.text.endswith((".", ":")) or _STEP.match(line.text) for line in numbered)
    )


def _compare_all(wanted: Reference, found: Sequence[Line], goal: Goal, asked: Asked) -> Finding:
    """Compare each of the answers that an answer marks as such, all of which must be right, or else the whole."""
    marked = sorted((line for line in found if line.answer), key=_answer_of)
    parts = [list(group) for _, group in groupby(marked, _answer_of)]
    beside = [line for line in found if line.kind == "row" and not line.answer and line.text] if marked else []
    if beside and wanted.kind not in ("na", "pairs"):
        said = sentences(beside, [part.pattern for part in wanted.parts for _ in range(2)], [], goal.phrases)
        topic = read_topic(goal, asked, wanted.source, kind=wanted.kind, is_ordered=wanted.ordered)
        other = other_field(said, topic, _known(wanted, goal, asked), frozenset(part.kind for part in wanted.parts))
        if other:
            return Finding(False, f"it is claimed of {other!r}")
    findings = [_compare_part(wanted, part, goal, asked) for part in parts or [list(found)]]
    return next((finding for finding in findings if not finding.is_right), findings[0])


def _answer_of(line: Line) -> int:
    return line.answer


def _compare_part(wanted: Reference, part: Sequence[Line], goal: Goal, asked: Asked) -> Finding:
    """Compare one of the answers that an answer marks as such, or all of it."""
    if not any(line.text for line in part):
        return Finding(False, "nothing is claimed")
    if (
        sum(line.text.count(" ") for line in part) > _LONGEST_CLAIM
        or sum(len(line.text) for line in part) > _LONGEST_CLAIM * _LONGEST_WORD
    ):
        return Finding(False, "so long a text claims nothing")
    patterns = [
        each
        for each_part in wanted.parts
        for each in (each_part.pattern, Pattern((), ()) if _way_of(each_part.label) else each_part.label)
    ]
    texts = all(each.value is None for each in wanted.parts) and wanted.kind == "parts"
    offered = [pattern(each) for each in options(goal, wanted.source)] if texts else []
    if texts and "," in wanted.source and all(line.kind == "row" for line in part if line.text):
        part = [Line("; ".join(line.text for line in part if line.text), "row")]  # an address by its fields
    said = sentences(part, patterns, offered, goal.phrases)
    if sum(token.kind == "value" for sentence in said for token in sentence.tokens) > _MOST_VALUES + 3 * len(wanted.parts):
        return Finding(False, "so many values claim nothing")
    return _decide(wanted, said, goal, asked)


def _decide(wanted: Reference, said: list[Sentence], goal: Goal, asked: Asked) -> Finding:
    if wanted.kind == "na":
        why = claims_not_available(said, goal)
        return Finding(not why, why or "N/A is claimed")
    topic = read_topic(goal, asked, wanted.source, kind=wanted.kind, is_ordered=wanted.ordered)
    known = _known(wanted, goal, asked)
    kinds = frozenset(part.kind for part in wanted.parts)
    said, why = without_other_records(said, topic, known, kinds)
    if wanted.kind == "parts":
        said = without_other_fields(said, wanted.parts, known)
    if any(says_not_available(sentence, negated(sentence)) for sentence in said):
        return Finding(False, "N/A is claimed")
    if any(is_doubtful(sentence) for sentence in said if not sentence.is_question):
        return Finding(False, "the answer is only supposed")
    for region in _regions(said):
        rest, other = about_asked(region, topic, known, kinds)
        why = why or other
        if _has_candidates(wanted, rest, goal):
            break
    else:
        return Finding(False, f"it is claimed of {why!r}" if why else "nothing of the kind is claimed")
    said = rest
    if wanted.kind in ("yes", "no"):
        given = read_polarity(said, goal, asked)
        words_of = " and ".join(sorted("yes" if each else "no" for each in given)) or "neither yes nor no"
        return Finding(given == {wanted.kind == "yes"}, f"{words_of} is claimed")
    check = _pairs if wanted.kind == "pairs" else _parts
    return check(wanted, said, goal, asked)


def _after_conclusion(said: Sequence[Sentence]) -> list[Sentence]:
    """The sentences from the last conclusion on; empty without one."""
    return _from(said, last_conclusion(said))


def _from(said: Sequence[Sentence], place: tuple[int, int] | None) -> list[Sentence]:
    """The sentences from a token on; empty without one."""
    if place is None:
        return []
    number, index = place
    first = said[number]
    rest = Sentence(first.tokens[index:], first.kind, first.at, first.opens, first.is_question)
    return [rest, *said[number + 1 :]]


def _known(wanted: Reference, goal: Goal, asked: Asked) -> Known:
    return Known(
        goal,
        [*(part.source for part in wanted.parts), *(asked.about or ()), *(name for names in asked.labels for name in names)],
    )


def _regions(said: list[Sentence]) -> list[list[Sentence]]:
    """Where an answer's claims may stand, the first that has some counts: behind its conclusion, or anywhere; never before a correction."""
    corrected = _from(said, last_correction(said))
    is_corrected = bool(corrected) and _says_something(corrected)
    if is_corrected:
        said = corrected
    concluded = _after_conclusion(said)
    if is_corrected and any(token.kind in ("ref", "value") for sentence in concluded for token in sentence.tokens):
        return [concluded]
    return [concluded, said] if concluded else [said]


def _says_something(region: Sequence[Sentence]) -> bool:
    """Whether more than words of grammar follow a word that takes back what was said before."""
    return any(
        token.kind != "mark" and token.norm not in FUNCTION
        for sentence in region
        for token in sentence.tokens[sentence is region[0] :]
    )


def _has_candidates(wanted: Reference, region: Sequence[Sentence], goal: Goal) -> bool:
    """Whether a region speaks of every part: it has the texts, and values of the kinds."""
    refs = {token.ref for sentence in region for token in sentence.tokens if token.kind == "ref"}
    for index, part in enumerate(wanted.parts):
        if part.value is None:
            if 2 * index not in refs:
                return False
        elif part.kind == "code":
            if not any(_is_code(token.text) for sentence in region for token in sentence.tokens):
                return False
        elif not candidates(region, part, goal):
            return False
    return True


def _parts(wanted: Reference, region: list[Sentence], goal: Goal, asked: Asked) -> Finding:
    known = _known(wanted, goal, asked)
    kinds: dict[str, list[Part]] = {}
    for part in wanted.parts:
        kinds.setdefault(part.kind, []).append(part)
    texts = [2 * index for index, part in enumerate(wanted.parts) if part.value is None]
    agreed: list[str] = []
    settled: list[Candidate] = []
    for kind, parts in kinds.items():
        if kind == "text":
            continue
        if kind == "code":
            why = _codes(parts, region, goal)
        elif kind == "hours":
            why, used = _hours(parts[0], region, goal)
            settled += used
        else:
            why, used = _values(parts, region, goal, asked, is_ordered=wanted.ordered)
            settled += used
        if why:
            return Finding(False, why)
        agreed.append(", ".join(part.source for part in parts))
    if texts:
        has_numbers = any(character.isdigit() for index in texts for character in wanted.parts[index // 2].source)
        why = check_texts(region, texts, goal, known, is_closed=False, has_numbers=has_numbers)
        why = why or _other_addresses(region, [wanted.parts[index // 2].source for index in texts])
        if not why and wanted.ordered:
            why = _order(region, texts)
        if why:
            return Finding(False, why)
        agreed.append(", ".join(wanted.parts[index // 2].source for index in texts))
    if settled:
        foreign = foreign_names(region, settled, known, is_closed=asked.about is not None)
        if foreign:
            return Finding(False, f"it is claimed of {foreign[0]!r}")
    return Finding(True, f"{'; '.join(agreed)} is claimed")


def _values(
    parts: Sequence[Part], region: list[Sentence], goal: Goal, asked: Asked, *, is_ordered: bool
) -> tuple[str, list[Candidate]]:
    """Compare the claims of one kind with the values wanted of it; return what is wrong, and the claims."""
    wanted = [part.value.amount for part in parts if part.value]
    live, why = claims(region, parts[0], goal, wanted)
    if why:
        return why, []
    if len(parts) == 1 and any(_opens_range(region[each.at[0]].tokens, each.at[1]) for each in live):
        return "a range is claimed", []
    if len(parts) == 1:
        live = reduce(live, region)
    for each in live:
        if not any(same(parts[0].kind, amount, each.value) for amount in wanted):
            return f"{_text(each, region)!r} is claimed", []
        if each.is_inexact and len(parts) == 1:
            return f"{_text(each, region)!r} is only a bound", []
    for amount, part in zip(wanted, parts, strict=True):
        if not any(same(part.kind, amount, each.value) for each in live):
            return f"{part.source!r} is not claimed", []
    denied = [each for each in candidates(region, parts[0], goal) if each.is_denied]
    if any(same(parts[0].kind, amount, each.value) for each in denied for amount in wanted):
        return "what is wanted is denied", []
    if len(parts) == 1 and all(each.other_label for each in live) and _is_other_way(live, region, goal):
        return "it is claimed of another way of travel", []
    if is_ordered and len(parts) > 1:
        order = _labelled_order(live, region, asked) or [each.value.amount for each in live]
        distinct = [amount for place, amount in enumerate(order) if amount not in order[:place]]
        if len(set(wanted)) == len(wanted) and not (
            len(distinct) == len(wanted)
            and all(
                same(parts[0].kind, one, live[0].value._replace(amount=other))
                for one, other in zip(wanted, distinct, strict=True)
            )
        ):
            return "the order is another", []
    return "", live


def _opens_range(tokens: Sequence[Token], index: int) -> bool:
    return index > 0 and tokens[index - 1].norm == "between"


def _is_other_way(live: Sequence[Candidate], region: Sequence[Sentence], goal: Goal) -> bool:
    for each in live:
        tokens = region[each.at[0]].tokens
        ways = {way for way, known in TRAVEL.items() if any(token.norm in known for token in tokens)}
        if not ways or not goal.ways or ways & goal.ways:
            return False
    return True


def _text(candidate: Candidate, region: Sequence[Sentence]) -> str:
    return region[candidate.at[0]].tokens[candidate.at[1]].text


def _labelled_order(live: Sequence[Candidate], region: Sequence[Sentence], asked: Asked) -> list[Amount]:
    """The claims in the order of the task's labels, where each has the label of one part beside it; else empty."""
    if not asked.labels:
        return []
    known = [frozenset(word for name in names for word in words(name)) for names in asked.labels]
    placed: dict[int, Amount] = {}
    for each in live:
        place = _label_of(region[each.at[0]], each.at[1], known)
        if place is None:
            return []
        if place in placed and placed[place] != each.value.amount:
            return [-1.0, -1.0]
        placed[place] = each.value.amount
    return [placed[place] for place in sorted(placed)] if len(placed) == len(known) else []


def _label_of(sentence: Sentence, index: int, known: Sequence[frozenset[str]]) -> int | None:
    """Which of some labels a value has: the nearest before it, as far as the value before; else the nearest behind it."""
    tokens = sentence.tokens
    if index + 1 < len(tokens) and tokens[index + 1].norm == "(":
        for number, names in enumerate(known):
            if any(token.norm in names for token in tokens[index + 2 : index + 5]):
                return number
    place = index - 1
    while place >= 0 and tokens[place].kind != "value":
        for number, names in enumerate(known):
            if tokens[place].norm in names:
                return number
        place -= 1
    place = index + 1
    while place < len(tokens) and tokens[place].kind != "value":
        for number, names in enumerate(known):
            if tokens[place].norm in names:
                return number
        if tokens[place].norm in (",", ";"):
            break
        place += 1
    return None


def _order(region: Sequence[Sentence], wanted: Sequence[int]) -> str:
    """Why the texts do not come in the wanted order: every run that begins with the first and has them all must be it."""
    said: list[int] = []
    for sentence in region:
        for index, token in enumerate(sentence.tokens):
            if token.kind != "ref" or token.ref not in wanted or (said and said[-1] == token.ref):
                continue
            if token.ref == wanted[0] and said and _starts(sentence.tokens, index):
                said = [token.ref, *(each for each in said if each != token.ref)]  # "B, then C, starting from A"
            else:
                said.append(token.ref)
    runs = [said[start : start + len(wanted)] for start in range(len(said) - len(wanted) + 1)]
    full = [run for run in runs if run[0] == wanted[0] and set(run) == set(wanted)]
    return "" if full and all(run == list(wanted) for run in full) else "the order is another"


def _starts(tokens: Sequence[Token], index: int) -> bool:
    """Whether a text is called the start of a way."""
    return any(token.norm.startswith(("start", "begin", "depart", "leav")) for token in tokens[max(0, index - 3) : index])


def _other_addresses(region: Sequence[Sentence], texts: Sequence[str]) -> str:
    """Why an address on the web is claimed beside a text that holds one."""
    kinds = {value.kind for text in texts for value in read(text) if value.kind in ("url", "email")}
    for sentence in region:
        for index, token in enumerate(sentence.tokens):
            if (
                token.value is not None
                and token.value.kind in kinds
                and not sentence.depths[index]
                and not is_source(sentence, index, index + 1)
            ):
                return f"{token.text!r} is claimed as well"
    return ""


def _is_code(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 3


def _codes(parts: Sequence[Part], region: Sequence[Sentence], goal: Goal) -> str:
    """Compare numbers that are names: of orders, parcels."""
    wanted = [str(part.value.amount) for part in parts if part.value]
    said: list[str] = []
    for sentence in region:
        if sentence.is_question:
            continue
        flags = negated(sentence)
        for index, token in enumerate(sentence.tokens):
            if token.kind in ("mark", "echo", "option") or (
                token.value is not None and token.value.kind not in ("number", "phone")
            ):
                continue
            text = token.text.replace(" ", "")
            if not (_is_code(text) or is_identifier(token.text)) or (
                fold(token.text) in goal.words and not _is_bare(sentence.tokens, index)
            ):
                continue
            if flags[index]:
                if _is_same_code(text, wanted):
                    return "what is wanted is denied"
                continue
            if sentence.depths[index] and not _is_same_code(text, wanted):
                continue
            if (
                _is_same_code(text, wanted)
                or is_identifier(token.text)
                or len(text) >= _SHORTEST_CODE
                or fold(token.text) in goal.words
            ):
                said.append(text)
    for text in said:
        if not _is_same_code(text, wanted):
            return f"{text!r} is claimed"
    return "" if said else "nothing of the kind is claimed"


def _is_bare(tokens: Sequence[Token], index: int) -> bool:
    """Whether nothing says what a number of the goal is doing in an answer."""
    place = index - 1
    while place >= 0 and tokens[place].norm in ("#", "number", "no", ".", '"', "("):
        place -= 1
    if place > 0 and tokens[place].norm == ":":
        place -= 1
    before = tokens[place] if place >= 0 else None
    return before is None or before.kind != "word" or before.norm in ("or", "and", "is", "not")


def _is_same_code(text: str, wanted: Iterable[str]) -> bool:
    return any(text == each or (len(each) <= 9 and text.lstrip("0") == each) for each in wanted)


def _hours(part: Part, region: Sequence[Sentence], goal: Goal) -> tuple[str, list[Candidate]]:
    """Compare opening hours: the first time and the last one."""
    live, why = claims(region, part, goal, ())
    if why:
        return why, []
    if any(
        each.at[1] and any(token.norm == "closed" for token in region[each.at[0]].tokens[max(0, each.at[1] - 2) : each.at[1]])
        for each in live
    ):
        return "'closed' is claimed as well", []
    assert part.value is not None
    wanted = [float(each) for each in part.value.amount]  # type: ignore[union-attr]
    said = [float(each.value.amount) for each in live]  # type: ignore[arg-type]
    ordered = [amount for place, amount in enumerate(said) if amount not in said[:place]]
    if ordered == wanted or (ordered == wanted[::-1] and _closes_first(region)):
        return "", live
    return f"{' to '.join(_text(each, region) for each in live)!r} is claimed", []


def _closes_first(region: Sequence[Sentence]) -> bool:
    norms = [token.norm for sentence in region for token in sentence.tokens]
    closes = next((place for place, norm in enumerate(norms) if norm.startswith("clos")), -1)
    opens = next((place for place, norm in enumerate(norms) if norm.startswith("open")), -1)
    return 0 <= closes < opens


def _pairs(wanted: Reference, said: list[Sentence], goal: Goal, asked: Asked) -> Finding:
    """Compare values that each stand with a label: the name of a place, or a way of travel."""
    region = said
    ways = [_way_of(part.label) for part in wanted.parts]
    given: dict[int, set[object]] = {}
    for number, sentence in enumerate(region):
        if sentence.is_question:
            continue
        for label, each in _labelled(sentence, number, wanted.parts, ways, goal):
            if each.is_denied or label < 0:
                return Finding(
                    False, f"{_text(each, region)!r} is {'denied' if each.is_denied else 'claimed of something else'}"
                )
            given.setdefault(label, set()).add(each.value.amount)
    for place, part in enumerate(wanted.parts):
        assert part.value is not None
        amounts = given.get(place, set())
        if not amounts or not all(same(part.kind, part.value.amount, part.value._replace(amount=amount)) for amount in amounts):  # type: ignore[arg-type]
            return Finding(False, f"{part.source!r} is not what is claimed")
    if not all(ways):
        known = _known(wanted, goal, asked)
        why = check_texts(region, [2 * place + 1 for place in range(len(wanted.parts))], goal, known, is_closed=False)
        if why:
            return Finding(False, why)
    return Finding(True, f"{wanted.source} is claimed")


def _way_of(label: Pattern) -> str:
    """The way of travel that a label names, empty for another label."""
    return next((way for way, known in TRAVEL.items() if len(label.words) == 1 and label.words[0] in known), "")


def _labelled(
    sentence: Sentence, number: int, parts: Sequence[Part], ways: Sequence[str], goal: Goal
) -> list[tuple[int, Candidate]]:
    """Return the values of a sentence with the places of their labels; -1 where there is none."""
    found = {
        each.at[1]: each for each in candidates([sentence], parts[0], goal, [part.value.amount for part in parts if part.value])
    }
    sequence: list[tuple[int, Candidate | None]] = []
    for index, token in enumerate(sentence.tokens):
        label = (
            token.ref // 2
            if token.kind == "ref"
            else next((place for place, way in enumerate(ways) if way and token.norm in TRAVEL[way]), -1)
        )
        if label >= 0 and (not sequence or sequence[-1] != (label, None)):
            sequence.append((label, None))
        elif index in found:
            each = found[index]
            each.at = (number, index)
            sequence.append((-1, each))
    values = [each for _, each in sequence if each]
    labels = [label for label, each in sequence if each is None]
    if not values:
        return []
    half = len(labels)
    if half == len(values) > 1 and all(each is None for _, each in sequence[:half]):
        return list(zip(labels, values, strict=True))
    if half == len(values) > 1 and all(each for _, each in sequence[:half]):
        return list(zip(labels, values, strict=True))
    if sequence[0][1] is not None:
        sequence = sequence[::-1]
    last = -1
    assigned: list[tuple[int, Candidate]] = []
    for label, value in sequence:
        if value is None:
            last = label
        else:
            assigned.append((last, value))
    return assigned
