"""How a text stands in a goal, as numbers and as the words around it."""

from agents.models.pointer.goals import Goal, words_of

MATCH = 8
_NO_MATCH = (0.0,) * MATCH


def match_of(goal: Goal, text: str) -> tuple[float, ...]:
    """Return how the words of a text stand in the goal."""
    words = words_of(text)
    if goal.words.isdisjoint(words):
        return _NO_MATCH
    own = set(words)
    common = own & goal.words
    named = own & goal.names
    phrase = f" {' '.join(words)} "
    is_in = phrase in goal.lowered
    return (
        len(common) / len(own),
        len(named) / max(len(goal.names), 1),
        float(is_in),
        float(is_in and len(words) > 1),
        min(len(named), 4) / 4,
        2 * len(common) / (len(own) + len(goal.words)),
        float(text in goal.quotations),
        float(bool(named) and any(f" {name} " in phrase for name in goal.names_as_said)),
    )


def around_text(goal: Goal, text: str) -> str:
    """Return the words of the goal before and after a text, where it stands in it."""
    plain = " ".join(words_of(text))
    at = goal.lowered.find(f" {plain} ") if plain else -1
    if at < 0:
        return ""
    before, after = goal.lowered[:at].split()[-2:], goal.lowered[at + len(plain) + 1 :].split()[:1]
    return " ".join(["#before_" + word for word in before] + ["#after_" + word for word in after])


def around_name(goal: Goal, line: str) -> str:
    """Return the words of the goal before the longest of its names that stands in a line."""
    plain = f" {' '.join(words_of(line))} "
    found = max((name for name in goal.names_as_said if f" {name} " in plain), key=len, default="")
    return around_text(goal, found)
