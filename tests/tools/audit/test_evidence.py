"""Answers must stand on a page that the solution saw, or follow from a declared computation over what does."""

from dataclasses import replace
from itertools import product

import pytest

from tests.pages import page
from webarena_gym.errors import TaskError
from webarena_gym.pages.reading import MAX_LABEL, single_line
from webarena_gym.suite import draw, templates
from webarena_gym.tasks import parse_task
from webarena_gym.tasks.grounds import Ground, difference_of, joined, lacks, number_of, parse_grounds, says, sum_of
from webarena_gym.tasks.task import Task
from webarena_gym.tasks.template import Draw, Template, answer, click, end_task
from webarena_gym.tools.audit import audit
from webarena_gym.tools.audit.evidence import ObservedText, pieces, unsupported_answers, value_of

WORLD = 7


def seen(*markup):
    sightings = ObservedText()
    for each in markup:
        sightings.add(page(each))
    return sightings


def question_task(reference, intent="Which?", **grounds):
    return Task("t", ("shopping",), "__SHOPPING__", intent, answer(fuzzy_match=reference), grounds=grounds)


@pytest.mark.parametrize("variation", ["content", "layout"])
def test_steps_name_labels_as_pages_cut_them(monkeypatch, variation):
    label = "Withdraw the suggestion for " + " ".join(["a very long name"] * 6)

    def wordy(world):
        return Draw(slots={}, eval=answer(fuzzy_match="x"), solution=[click(label), click(f"{label} [2]"), end_task("x")])

    monkeypatch.setitem(templates(), "shopping.wordy", Template("shopping.wordy", ("shopping",), "Do it.", wordy))
    (task,) = draw(["shopping.wordy"], world_seed=WORLD, count=1, variation=variation)
    first, second, _ = (step.action.element for step in task.solution)
    assert first == single_line(label, MAX_LABEL) != label
    assert second == f"{first} [2]"


def problems(reference, markup, intent="Which?", grounds=None):
    return unsupported_answers(replace(question_task(reference, intent), grounds=grounds or {}), seen(markup))


@pytest.mark.parametrize(("reference", "markup", "stands"), [
    ("Ann Lee", "<p>by ANN  Lee, yesterday", True), ("Ann Lee, Bo Diaz", "<li>Bo Diaz<li>Ann Lee", True),
    ("A; B and C", "<p>A B and C", True), ("Ann > Bo", "<td>Bo<td>Ann", True), ("$1,234.50", "<p>1234.5 in all", True),
    ("16,630", "<p>16630", True), ("November 12, 2022", "<p>11/12/22", True),
    ("2022-11-12", "<p>Nov 12, 2022, 3:01 PM", True), ("1.2 km", "<p>1200 m", True), ("90 min", "<p>Time 1h 30min", True),
    ("Name; 120 m", "<p>Name <p>120 m", True), ("Inn: 120 m", "<p>Inn<p>120 m", True),
    ("Lee", "<input value='Lee' aria-label=Name>", True), ("red |OR| blue", "<p>blue", True),
    ("Octarine", "<p>nothing of the kind", False), ("Ann", "<p>Anna, Joann and Annette", False),
    ("Ann Lee, Bo Diaz", "<p>Ann Lee", False), ("$12.50", "<p>$12.05 and $112.50", False),
    ("November 12, 2022", "<p>Nov 13, 2022 and 12/11/2022", False), ("90 min", "<p>1h 20min", False),
    ("7", "<p>17 or 7.5, 2,017, May 7, 2022, 7/8, 7:30 or 2022-01-07", False),
    ("Yes", "<p>Yes", False),  # a word of the page, and not what is asked
    ("N/A", "<p>N/A", False),
])  # fmt: skip
def test_values_are_found_on_pages_in_any_format(reference, markup, stands):
    assert (problems(reference, markup) == []) is stands


@pytest.mark.parametrize(("reference", "ground", "markup", "intent", "message"), [
    ("$30.00", sum_of("$10.00", "$20.00"), "<p>$10.00 $20.00", "", ""),
    ("$31.00", sum_of("$10.00", "$20.00"), "<p>$10.00 $20.00", "", "is not the result of its operation 'sum'"),
    ("$30.00", sum_of("$10.00", "$20.00"), "<p>$10.00", "", "'$20.00' of its operation 'sum' is on no page"),
    ("1 h 5 min", sum_of("50 min", "15 min"), "<p>50 min <p>15 min", "", ""),
    ("15", sum_of("10 min", "5 min"), "<p>10 min 5 min", "", "is not the result of its operation 'sum'"),
    ("$5.00", difference_of(["$10.00"], ["$7.00", "$8.00"]), "<p>$10.00 $7.00 $8.00", "", ""),
    ("63", difference_of(["2021"], ["1958"]), "<p>2021 <p>1958", "", ""),
    ("2", number_of("a1", "b2"), "<p>a1 <p>b2", "", ""),
    ("2", number_of("a1", "a1"), "<p>a1", "", "is not the result of its operation 'count'"),
    ("git clone x/y", joined("x/y"), "<p>x/y", "The whole git command to clone it", ""),
    ("git clone x/y", joined("x/y"), "<p>x/y", "Which?", "is not the result of its operation 'joined'"),
    ("Yes", says("In stock"), "<p>In stock", "", ""),
    ("Yes", says("In stock"), "<p>Out of stock", "", "is on no page"),
    ("Yes", says(), "<p>In stock", "", "is not the result of its operation 'says'"),
    ("Octarine", says("In stock"), "<p>In stock", "", "is not the result of its operation 'says'"),
    ("N/A", lacks(["main"], ["try"]), "<p>main", "", ""),
    ("N/A", lacks(["main"], ["try"]), "<p>main try", "", "which its operation 'lacks' excludes"),
])  # fmt: skip
def test_computations_are_done_again(reference, ground, markup, intent, message):
    found = problems(reference, markup, intent, {reference: ground})
    assert bool(found) is bool(message)
    assert message in "".join(found)


def test_values_and_a_piece_of_an_answer_with_a_ground_of_its_own():
    assert value_of("$1,200.00") == value_of("1200") == ("number", 1200.0)
    assert value_of("2h 5min") == ("s", 7500.0)
    assert value_of("Nov 1, 2022") == value_of("11/1/2022") != value_of("2022-11-02")
    assert [value_of(text) for text in ("", "x", "3 of 4", "Ann 3", "13/45/2022")] == [None] * 5
    assert problems("Ann; 2", "<p>Ann <p>a <p>b", grounds={"2": number_of("a", "b")}) == []
    assert problems("Ann; 3", "<p>Ann <p>a <p>b", grounds={"3": number_of("a", "b")})
    assert pieces("car: 5 min; Inn: 33 min", "as car: 1 min") == ["5 min", "Inn", "33 min"]


def test_an_agent_was_shown_what_stood_on_its_screens_and_no_more():
    sightings = ObservedText()
    long = page("<p>The beginning." + "<p>Between." * 10 + "<p>The end.")
    sightings.add(long, "The beginning.\nBetween.")
    assert sightings.has_text("The end")
    assert not sightings.was_observed("The end")
    sightings.add(long, "Between.\nThe end.")
    assert sightings.was_observed("The end")
    assert sightings.page_count == 2


def planted(colour):
    """A template whose answer nobody can read anywhere."""

    def moon(world):
        name = world.pick("SELECT name FROM product ORDER BY product_id")["name"]
        return Draw(slots={"place": name}, eval=answer(fuzzy_match=colour), solution=[end_task(colour)])

    return Template("shopping.moon", ("shopping",), "What colour is the moon as seen from {place}?", moon)


@pytest.mark.parametrize("colour", ["Octarine", "Yes", "N/A", "$1,234.56", "Octarine, Fuligin", "March 3, 1703"])
def test_a_made_up_answer_fails_the_audit(monkeypatch, colour):
    monkeypatch.setitem(templates(), "shopping.moon", planted(colour))
    findings = audit(draw(["shopping.moon"], world_seed=WORLD, count=2), side_effects=False)
    assert findings.solved == 2
    assert len(findings.groundless) >= 2
    assert not findings.is_clean
    assert findings.totals()["groundless"] == len(findings.groundless)


@pytest.mark.parametrize(
    ("variation", "every"),
    [("content", 50), *(pytest.param(name, 1, marks=pytest.mark.slow) for name in ("content", "layout"))],
)
def test_every_answer_of_every_template_has_its_ground(variation, every):
    standard = [name for name, template in templates().items() if not template.difficulty]  # hard ones take long to draw
    names = [*sorted(standard)[::every], "shopping.orders_sum"] if every > 1 else sorted(templates())
    tasks = [task for task in draw(names, world_seed=WORLD, count=1, variation=variation) if "string_match" in task.eval_types]
    assert len(tasks) > 200 / every
    assert sum(bool(task.grounds) for task in tasks) >= 35 // every
    assert audit(tasks, variation=variation, side_effects=False).groundless == []


def test_grounds_are_kept_in_task_files_and_refused_where_they_cannot_be_read():
    (task,) = draw(["shopping.orders_sum"], world_seed=WORLD, count=1)
    assert task.grounds
    assert parse_task(task.to_json()).grounds == task.grounds
    assert parse_grounds({"x": {"operation": "sum", "operands": ["1"]}}, "task") == {"x": Ground("sum", ("1",))}
    for record in (
        [], {"x": 5}, {"x": {"operation": "guess", "operands": []}}, {"x": {"operation": "sum", "operands": "a"}},
        {"x": {"operation": "sum", "operands": [1]}}, {"x": {"operation": "sum", "operands": ["1"], "more": 1}},
        {"x": {"operation": ["sum"], "operands": ["1"]}},
    ):  # fmt: skip
        with pytest.raises(TaskError, match=r"grounds|ground of 'x'"):
            parse_grounds(record, "task")


def test_long_texts_are_observed_to_their_end():
    for words, element in product((10, 60, 90, 300), ("<p>{}</p>", '<form><textarea name="a">{}</textarea></form>')):
        text = " ".join(f"word{number}" for number in range(words))
        sighted = seen(element.format(text))
        assert sighted.has_text("word5")
        assert sighted.was_observed("word5")
        assert sighted.was_observed(f"word{words - 1}")
