"""DigiRL: the curriculum of surprising episodes."""

import pytest

from agents.methods.digirl import doubly_robust_advantages, highest


@pytest.mark.parametrize(("surprises", "share", "indices"), [
    ([1 - 0.9, 0 - 0.1, 1 - 0.2, 0 - 0.8], 0.25, [2]),
    ([1 - 0.9, 0 - 0.1, 1 - 0.2, 0 - 0.8], 0.5, [0, 2]),
    ([0.5, 0.5, -0.5, -0.5], 0.1, [0, 1]),
    ([], 0.1, []),
])  # fmt: skip
def test_the_curriculum_of_digirl_takes_the_most_surprising_episodes(surprises, share, indices):
    assert highest(surprises, share) == indices


def test_advantages_are_between_those_of_the_next_value_and_of_the_outcome():
    assert doubly_robust_advantages([0.5, 0.7], 0.0, decay=0.5) == pytest.approx([0.5 * 0.2, 0.0])
    assert doubly_robust_advantages([0.5, 0.9], 0.0, decay=1.0) == [0.0, 0.0]
    assert doubly_robust_advantages([], 0.0, decay=0.5) == []
