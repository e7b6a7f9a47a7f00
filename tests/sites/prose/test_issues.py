"""Issues, questions and merge requests state their facts."""

import re

import pytest

from tests.sites.prose.drawn import HALVES, drawn_issues
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose import issues


@HALVES
def test_issues_contain_symptom_trigger_and_environment(is_held_out):
    for bug, (_, body) in drawn_issues(80, is_held_out):
        for text in (bug.defect.symptom, bug.defect.trigger, bug.version, bug.platform, bug.since):
            assert text.lower() in body.lower(), body


@HALVES
@pytest.mark.parametrize("kind", [issues.Inquiry, issues.Gap])
def test_questions_and_documentation_issues_contain_the_symptom(kind, is_held_out):
    dice = Dice(f"{kind.__name__}/{is_held_out}")
    for _ in range(40):
        where = {"version": "2.4.1", "platform": dice.pick(issues.PLATFORMS)} if kind is issues.Inquiry else {}
        facts = kind(defect=issues.draw_defect(dice, is_held_out=is_held_out), register="formal", **where)
        _, body = issues.compose_issue(facts, dice, is_held_out=is_held_out)
        for text in (facts.defect.symptom, *where.values()):
            assert text.lower() in body.lower(), body


@HALVES
def test_merge_requests_contain_their_change_and_closed_issue(is_held_out):
    dice = Dice(f"requests/{is_held_out}")
    for number in range(60):
        defect, wish = issues.draw_defect(dice, is_held_out=is_held_out), issues.draw_wish(dice, is_held_out=is_held_out)
        about, issue = (wish, "12") if number % 3 == 0 else (defect, "12" if number % 3 == 1 else "")
        facts = issues.Request(about=about, issue=issue, has_tests=number % 2 == 0, register="formal")
        _, body = issues.compose_request(facts, dice, is_held_out=is_held_out)
        assert (wish.wish if about is wish else defect.fix).lower() in body.lower(), body
        assert (re.search(r"[Cc]loses:? #12", body) is not None) == bool(issue), body
