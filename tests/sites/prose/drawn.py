"""Generated reviews, threads and issues."""

import pytest

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose import grammar, issues, things, threads
from webarena_gym.sites.prose.things import WORKS

HALVES = pytest.mark.parametrize("is_held_out", [False, True], ids=["training", "held-out"])
USERS = [f"user_{number}" for number in range(60)]
NOUNS = [noun for noun, kind in things.kinds().items() if kind.group not in set(WORKS.values())]
FORUMS = sorted({*grammar.sections("cases"), *grammar.sections("debates"), "Velim"} - {"general", "town"})


def drawn_threads(count, is_held_out):
    dice = Dice(f"threads/{is_held_out}")
    for number in range(count):
        known = {"works": ["The Bako Letters"], "places": ["Velim", "Okra"], "is_held_out": is_held_out}
        thread = threads.draw_discussion(dice, FORUMS[number % len(FORUMS)], USERS, 9, **known)
        post = threads.compose_post(thread.post, dice, is_held_out=is_held_out)
        yield (
            thread,
            post,
            [threads.compose_comment(comment.facts, dice, is_held_out=is_held_out) for comment in thread.comments],
        )


def drawn_issues(count, is_held_out):
    dice = Dice(f"issues/{is_held_out}")
    for number in range(count):
        defect = issues.draw_defect(dice, is_held_out=is_held_out)
        bug = issues.Bug(defect=defect, version="2.4.1", platform=dice.pick(issues.PLATFORMS), since="2.3" if number % 2 else "",
                        register="formal")  # fmt: skip
        yield bug, issues.compose_issue(bug, dice, is_held_out=is_held_out)
