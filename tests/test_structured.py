"""WorkForceAgent-R1's rewards: a reply against the expert's action, an episode against the expert's, and what is gamed."""

from random import Random

import pytest

from agents import grpo
from agents.data.demonstrations import draw_tasks
from agents.data.expert import ExpertStep, envs_with_tasks, play_expert
from agents.data.trajectories import Step, Trajectory
from agents.methods.structured import StepJudgement, align, judge, structured_rewards
from agents.rollouts.curriculum import Group
from agents.train_rl import make_settings
from tests import tiny
from tests.errors import expect_error
from tests.methods.episodes import method_of
from webarena_gym.actions import DIALECTS, Action, Kind

DIALECT = DIALECTS["webrl"]
TYPE = Action(Kind.TYPE, "7", "red shoes")
EXIT = Action(Kind.EXIT, argument="42 EUR")


def trajectory(*steps, reward=0.0):
    """An episode of pages and actions, or of pages and replies."""
    written = [(page, done if isinstance(done, str) else DIALECT.format(done)) for page, done in steps]
    made = tuple(Step(page, reply, "", (hash(page) % 1000,), (1,), (-1.0,)) for page, reply in written)
    return Trajectory("t", "goal", made, reward, "exited")


def settings_of(**options):
    return make_settings("structured", model="m", out="out", **options)


@pytest.mark.parametrize(("done", "expert", "right"), [
    (TYPE, TYPE, (True, True, True, True)),
    (Action(Kind.TYPE, "7", "Red  shoes"), TYPE, (True, True, True, True)),
    (Action(Kind.TYPE, "7", "boots"), TYPE, (True, True, True, False)),
    (Action(Kind.TYPE, "8", "red shoes"), TYPE, (True, True, False, False)),
    (Action(Kind.CLICK, "7"), TYPE, (True, False, False, False)),
    ("I would type red shoes.", TYPE, (False, False, False, False)),
    (EXIT, EXIT, (True, True, True, True)),
    (Action(Kind.EXIT, argument="41 EUR"), EXIT, (True, True, True, False)),
])  # fmt: skip
def test_each_part_of_a_reply_counts_only_behind_the_one_before(done, expert, right):
    reply = done if isinstance(done, str) else DIALECT.format(done)
    assert judge(reply, expert) == right
    assert judge(reply, None) == StepJudgement(right[0])


@pytest.mark.parametrize("seed", range(8))
def test_the_expert_earns_everything_and_whatever_is_put_before_it_never_more(seed):
    rng = Random(seed)
    actions = [Action(Kind.CLICK, str(rng.randint(1, 9))) for _ in range(rng.randint(1, 5))]
    pages = [f"page {rng.randint(0, 3)}" for _ in actions]  # pages may come again
    expected = [ExpertStep(page, action) for page, action in zip(pages, actions, strict=True)]
    expert = trajectory(*((shown.page, shown.action) for shown in expected), reward=1.0)
    settings = settings_of(progress_weight=1.0)
    judged, progress = align(expert, expected)
    assert judged == [StepJudgement(True, True, True, True)] * len(expected)
    assert progress == pytest.approx([number / len(expected) for number in range(len(expected) + 1)])
    assert sum(structured_rewards(expert, expected, settings)) == pytest.approx(len(expected) + 1)

    lost = trajectory(("elsewhere", "nonsense"), *((shown.page, shown.action) for shown in expected[:-1]))
    rewards = structured_rewards(lost, expected, settings)
    assert rewards[0] == -1 + align(lost, expected)[1][1]
    assert sum(rewards[1:]) <= len(expected)
    assert align(lost, expected)[1][-1] < 1


def test_pages_that_the_expert_never_saw_earn_the_format_alone_and_going_back_nothing():
    expected = [ExpertStep("start", TYPE), ExpertStep("end", EXIT)]
    episode = trajectory(("other", Action(Kind.CLICK, "1")), ("other", "nothing"), ("end", EXIT))
    assert structured_rewards(episode, expected, settings_of()) == pytest.approx([0.1, -1.0, 1.0])
    assert align(episode, expected)[1] == [0.0, 0.0, 0.5, 1.0]  # the page of the second step was reached without the first
    expected = [ExpertStep("a", Action(Kind.CLICK, "1")), ExpertStep("b", Action(Kind.CLICK, "2")), ExpertStep("c", EXIT)]
    episode = trajectory(("a", Action(Kind.CLICK, "1")), ("b", Action(Kind.GO_BACKWARD)), ("a", Action(Kind.CLICK, "1")))
    judged, progress = align(episode, expected)
    assert [bool(each.argument) for each in judged] == [True, False, True]
    assert progress == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])


def test_the_expert_of_a_real_task_is_found_again():
    (task,) = draw_tasks([1], 1, templates=["shopping.cart_add"])
    (found,) = [play_expert(env, task) for env, task in envs_with_tasks([task], quiet=True, elements="id")]
    goal, shown = found
    assert goal == task.intent
    expert = trajectory(*((step.page, step.action) for step in shown), reward=1.0)
    assert align(expert, shown)[0] == [StepJudgement(True, True, True, True)] * len(shown)


class Solved(tiny.TinyTask):
    solution = ("a step",)


class Unsolved(tiny.TinyTask):
    solution = ()


@pytest.fixture
def method(monkeypatch):
    """The method with an expert of its own, and one task."""
    task = Solved("t", "goal", "lamp")

    def make(**options):
        own = method_of("structured", [task], **options)
        own.expert_steps["t"] = [ExpertStep("start", TYPE), ExpertStep("end", EXIT)]
        return own, task

    return make


ROLLOUTS = [
    trajectory(("start", TYPE), ("end", EXIT), reward=1.0),
    trajectory(("start", TYPE), ("end", Action(Kind.EXIT, argument="7"))),
    trajectory(("start", Action(Kind.CLICK, "7")), ("far", "nothing at all")),
]


def test_structured_rewards_rank_steps_of_equal_outcomes(method):
    own, task = method(outcome_weight=0.0)
    trained, metrics = own.batch([Group(0, task, ROLLOUTS[1:])], Random(0))
    # The one that began as the expert, and the other.
    assert [item.advantage for item in trained] == pytest.approx([2.0, 0.0, -2.0, 0.0])
    assert metrics["kind_right"] == pytest.approx(2 / 3)
    assert metrics["format_right"] == metrics["known_steps"] == 3 / 4
    assert metrics["format_of_failures"] == pytest.approx(0.3 / (1.0 + 0.4 + 0.1))
    assert metrics["structured_of_successes"] == 0
    assert metrics["progress"] == pytest.approx(0.25)
    group = Group(0, method()[1], ROLLOUTS)
    outcome, both = (
        [item.advantage for item in method(outcome_weight=weight)[0].batch([group], Random(0))[0]] for weight in (0.0, 0.5)
    )
    of_rollouts = method()[0]
    whole = grpo.step_advantages(ROLLOUTS, of_rollouts.args)
    assert any(whole)
    assert any(outcome)
    assert both == pytest.approx([0.5 * first + second for first, second in zip(whole, outcome, strict=True)])


def test_tasks_without_a_solution_and_negative_rewards_are_refused(method):
    with expect_error(ValueError, "task t"):
        method_of("structured", [Unsolved("t", "goal", "lamp")])
    with expect_error(ValueError, "kind_reward", -1, 0):
        settings_of(kind_reward=-1)
