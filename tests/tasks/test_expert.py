"""The expert replays a solution step by step: it scrolls to what is outside of the window, and refers to elements as the env does."""

import pytest

from tests.pages import page
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.errors import ActionError, TaskError
from webarena_gym.observation import observe
from webarena_gym.tasks import Expert, Step, parse_task

BLOCK = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
RECORD = {"task_id": 1, "sites": ["shopping"], "start_url": "__SHOPPING__", "intent": "", "eval": BLOCK}
FILLER = "".join(f"<p>{number}</p>" for number in range(400))
SHOP = page(f"<button>Buy</button>{FILLER}<button>Buy</button><a href=/cart>Cart</a>{FILLER}")
STEPS = (
    Step(Action(Kind.CLICK, "Buy [2]"), "I buy the second."),
    Step(Action(Kind.CLICK, "Buy")),
    Step(Action(Kind.EXIT, argument="x"), "Done."),
)


def expert(steps=STEPS):
    return Expert(parse_task(RECORD | {"solution": [step.to_json() for step in steps]}))


def test_it_scrolls_until_the_element_is_visible_and_gives_its_id_and_its_label():
    player, top, kinds = expert(), 0, []
    while True:
        seen = observe(SHOP, window=1_000, top=top)
        choice = player.choose(SHOP, seen)
        kinds.append(choice.action.kind)
        if choice.action.kind is Kind.EXIT:
            break
        if choice.action.kind is Kind.CLICK:
            element = seen.element(choice.action.element)
            assert observe(SHOP, elements="label").element(choice.named.element) is element
            assert element.text == "Buy"
        top += {Kind.SCROLL_DOWN: seen.height, Kind.SCROLL_UP: -seen.height}.get(choice.action.kind, 0)
        top = max(top, 0)
    clicks = [index for index, kind in enumerate(kinds) if kind is Kind.CLICK]
    assert len(clicks) == 2
    assert set(kinds[: clicks[0]]) == {Kind.SCROLL_DOWN}
    assert set(kinds[clicks[0] + 1 : clicks[1]]) == {Kind.SCROLL_UP}


def test_a_choice_has_the_reason_and_the_rest_of_the_solution():
    player, whole = expert(), observe(SHOP, window=10**9)
    choices = [player.choose(SHOP, whole) for _ in STEPS]
    assert [choice.thought for choice in choices] == [step.thought for step in STEPS]
    assert [choice.later for choice in choices] == [tuple(step.action for step in STEPS[index:]) for index in (1, 2, 3)]
    assert player.choose(SHOP, whole) == choices[-1]  # after the last step, that step again


def test_replies_are_in_the_dialect():
    whole = observe(SHOP, elements="label", window=10**9)
    assert expert().reply(SHOP, whole) == DIALECTS["webrl"].format(STEPS[0].action)


def test_an_element_that_is_not_there_and_a_task_without_a_solution_are_errors():
    with pytest.raises(ActionError):
        expert((Step(Action(Kind.CLICK, "Sell")),)).choose(SHOP, observe(SHOP))
    with pytest.raises(TaskError):
        Expert(parse_task(RECORD))
