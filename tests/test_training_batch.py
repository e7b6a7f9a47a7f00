import pytest

from agents.data.trajectories import Step, Trajectory
from agents.methods.estimators import AdvantageSettings
from agents.methods.grpo import make_batch


def trajectory(reward, group, *steps, ending="exited", continuations=()):
    made = tuple(
        Step("", "", "", prompt, response, (-0.5,) * len(response), dict(continuations).get(number, ()))
        for number, (prompt, response) in enumerate(steps)
    )
    return Trajectory("t", "g", made, reward, ending, group)


FIRST, OWN, OTHER = ((1,), (2,)), ((3,), (4,)), ((5,), (6, 7))


def learn(trajectories, **changes):
    return make_batch(trajectories, AdvantageSettings(**changes))


def test_groups_of_equal_reward_and_broken_episodes_are_left_out():
    step = ((1, 2), (3, 4))
    lesson = learn(
        [
            trajectory(1, 0, step), trajectory(0, 0, step),
            trajectory(0, 1, step), trajectory(0, 1, step),
            trajectory(1, 2, step), trajectory(0, 2, step, ending="failed"),
        ]
    )  # fmt: skip
    assert len(lesson.samples) == 2
    assert lesson.advantages == pytest.approx([2.0, -2.0])


def test_state_advantages_spare_what_was_seen_once():
    group = [trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST, OTHER)]
    assert learn(group).advantages == pytest.approx([2.0, 0.0, -2.0, 0.0])
    assert learn(group, advantages="trajectory").advantages == pytest.approx([1.0, 1.0, -1.0, -1.0])


def test_gigpo_adds_the_advantage_at_equal_states_to_that_of_the_episode():
    group = [trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST, OTHER)]
    lesson = learn(group, advantages="gigpo", state_weight=0.5)
    assert lesson.advantages == pytest.approx([1.5, 1.0, -1.5, -1.0])
    unscaled = learn(group, advantages="gigpo", state_weight=0.5, scale_advantages=False)
    assert unscaled.advantages == pytest.approx([0.75, 0.5, -0.75, -0.5])


def test_a_discount_makes_the_way_that_ends_sooner_better():
    group = [trajectory(1, 0, FIRST), trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST)]
    # Returns 1, 0.5 and 0 at the first state; of the others' 0.25, 0.5 and 0.75 each.
    lesson = learn(group, discount=0.5, scale_advantages=False)
    assert lesson.advantages == pytest.approx([0.75, 0.0, 0.0, -0.75])


def test_forks_teach_in_a_group_of_one():
    lesson = learn(
        [trajectory(1, 0, FIRST, OWN, OTHER, continuations={0: (0, 0, 1, 0), 2: (1, 0)})], advantages="forks", weighting="paper"
    )
    assert lesson.advantages == pytest.approx([0.25, 0.25, 0.5])
    assert lesson.weights == pytest.approx([1 / 3, 1 / 3, 1 / 6])


def test_forks_need_continuations():
    with pytest.raises(ValueError, match="no step of a group has continuations"):
        learn([trajectory(1, 0, FIRST)], advantages="forks")


@pytest.mark.parametrize("advantages", ["state", "trajectory", "gigpo"])
def test_an_anchor_keeps_solved_groups_and_no_others(advantages):
    solved, failed = [trajectory(1, 0, FIRST, OWN)] * 2, [trajectory(0, 1, FIRST)] * 2
    mixed = [trajectory(1, 2, FIRST), trajectory(0, 2, FIRST)]
    lesson = learn([*solved, *failed, *mixed], advantages=advantages, anchor_weight=0.1)
    assert [origin.group for origin in lesson.origins] == [0, 0, 0, 0, 2, 2]
    assert lesson.advantages[:4] == [0.1] * 4
    assert lesson.advantages[4:] == learn(mixed, advantages=advantages).advantages
    assert learn([*solved, *failed], advantages=advantages).samples == []


def test_weights_follow_the_settings():
    group = [trajectory(1, 0, FIRST, OTHER), trajectory(0, 0, FIRST)]
    assert learn(group, weighting="paper").weights == pytest.approx([1 / 4, 1 / 8, 1 / 2])
    assert learn(group, weighting="constant", constant_steps=5).weights == pytest.approx([1 / 10, 1 / 20, 1 / 10])
    assert learn(group, weighting="dr_grpo", constant_tokens=8).weights == pytest.approx([1 / 16] * 3)
    assert learn(group, weighting="token_mean").weights == pytest.approx([1 / 4] * 3)


def test_a_part_of_a_lesson_keeps_its_weights():
    lesson = learn([trajectory(1, 0, FIRST, OTHER), trajectory(0, 0, FIRST)])
    part = lesson.only([2, 0])
    assert part.samples == [lesson.samples[2], lesson.samples[0]]
    assert (part.weights, part.advantages) == (lesson.weights[1:], [lesson.advantages[2], lesson.advantages[0]])
    assert [origin.rollout for origin in part.origins] == [1, 0]


def test_credit_is_that_of_the_sampled_contexts_whatever_is_trained_in():
    group = [trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST, OTHER)]
    lesson = make_batch(group, AdvantageSettings(), lambda item: [(9,)] * len(item.steps))
    assert lesson.advantages == learn(group).advantages
    assert {sample.prompt_ids for sample in lesson.samples} == {(9,)}
