"""Success rates of episodes: pass@k, intervals, and differences of two agents on the same tasks."""

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import expect_error
from webarena_gym.evaluation.statistics import (
    _correlation,
    clustered_score,
    mcnemar,
    mean_pass_rates,
    paired_difference,
    pass_all,
    pass_at,
    wilson,
)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_all_k_equal_the_mean_over_all_subsets(drawn):
    n, successes, k = drawn
    rewards = [1.0] * successes + [0.0] * (n - successes)
    if n <= 8:
        choices = list(combinations(rewards, k))
        assert pass_at(k, rewards) == pytest.approx(sum(any(choice) for choice in choices) / len(choices))
        assert pass_all(k, rewards) == pytest.approx(sum(all(choice) for choice in choices) / len(choices))
    assert pass_all(k, rewards) <= successes / n + 1e-9 <= pass_at(k, rewards) + 2e-9


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=3), min_size=2, max_size=30))
def test_intervals_of_repeats_lie_between_those_of_episodes_and_tasks(rewards):
    by_task = {str(number): values for number, values in enumerate(rewards)}
    score, n = clustered_score(by_task), 3 * len(rewards)
    widths = [wilson(score.success * size, size).high - wilson(score.success * size, size).low for size in (n, len(rewards))]
    assert (score.n, score.success) == (n, pytest.approx(sum(map(sum, rewards)) / n))
    assert widths[0] - 1e-9 <= score.high - score.low <= widths[1] + 1e-9


def test_constant_tasks_count_once_and_k_is_limited_by_the_fewest_repeats():
    rng = random.Random(0)
    fixed = {str(task): [float(rng.random() < 0.5)] * 5 for task in range(60)}
    free = {str(task): [float(rng.random() < 0.5) for _ in range(5)] for task in range(60)}
    assert clustered_score(fixed)[2:] == pytest.approx(wilson(sum(values[0] for values in fixed.values()), 60)[2:])
    assert clustered_score(free).high - clustered_score(free).low < 0.7 * (
        clustered_score(fixed).high - clustered_score(fixed).low
    )
    assert set(mean_pass_rates({"a": [1.0, 1.0], "b": [0.0]})["pass@k"]) == {"1"}


def test_wilson_intervals():
    assert wilson(0, 0) == (0.0, 0, 0.0, 1.0)
    for successes, n, low, high in [(0, 20, 0.0, 0.161), (20, 20, 0.839, 1.0), (8, 10, 0.490, 0.943)]:
        assert wilson(successes, n)[2:] == pytest.approx((low, high), abs=1e-3)


def test_large_differences_are_significant_and_disagreeing_seeds_widen_the_interval():
    rng = random.Random(0)
    before, same, after = ([[float(rng.random() < rate) for _ in range(200)] for _ in range(3)] for rate in (0.3, 0.3, 0.5))
    none, large = (paired_difference(before, other, resamples=1000) for other in (same, after))
    assert none == paired_difference(before, same, resamples=1000)
    assert none.low < 0 < none.high
    assert none.p is None
    assert 0.1 < large.low < large.lift < large.high < 0.35
    assert paired_difference(before[:1], same[:1]).p > 0.05
    assert paired_difference(before[:1], after[:1]).p < 0.001
    assert mcnemar([1, 0, 1], [1, 0, 1]) == 1.0
    agreeing = paired_difference([[0.0] * 100] * 2, [[1.0, 0.0] * 50] * 2, resamples=500)
    disagreeing = paired_difference([[0.0] * 100] * 2, [[1.0] * 100, [0.0] * 100], resamples=500)
    assert agreeing.lift == disagreeing.lift == 0.5
    assert disagreeing.high - disagreeing.low > 2 * (agreeing.high - agreeing.low)


@pytest.mark.parametrize(("before", "after"), [([], []), ([[1.0]], [[1.0, 0.0]]), ([1.0], [1.0]), ([[]], [[]])])
def test_rewards_that_do_not_pair_are_refused(before, after):
    with expect_error(ValueError, np.shape(before), np.shape(after)):
        paired_difference(before, after)
    with expect_error(ValueError, "2 seed groups", "3 templates", "1 and 3"):
        paired_difference([[0, 0, 1]], [[1, 1, 1]], templates=["a", "a", "b"], seed_groups=[0, 1])


def test_tasks_of_one_template_and_seeds_of_one_clone_that_agree_widen_the_interval():
    of_tasks = [[float(task % 10 < 5) for task in range(100)]]
    of_runs = [[float(task % 10 <= run // 3 * 4) for task in range(100)] for run in range(9)]
    templates, clones = [str(task % 10) for task in range(100)], [run // 3 for run in range(9)]
    for after, clusters, times in ((of_tasks, {"templates": templates}, 2), (of_runs, {"seed_groups": clones}, 1.3)):
        before = [[0.0] * 100] * len(after)
        apart, together = paired_difference(before, after), paired_difference(before, after, **clusters)
        assert apart.lift == together.lift
        assert together.high - together.low > times * (apart.high - apart.low)


@pytest.mark.parametrize(("groups", "correlation"), [
    ([[1, 0, 1], [0, 0, 1], [1, 1, 1]], 1 / 7),  # mean squares: 1/3 between and 2/9 within tasks
    ([[1, 1], [0, 0]], 1.0),
    ([[1, 0], [0, 1]], 0.0),
    ([[1], [0]], 0.0),
    ([[1, 1], [1, 1]], 1.0),
])  # fmt: skip
def test_the_intraclass_correlation_by_hand(groups, correlation):
    assert _correlation(groups) == pytest.approx(correlation)
