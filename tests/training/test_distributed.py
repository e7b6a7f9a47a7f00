"""Parts of a batch for several ranks, and errors of other processes."""

import os
import signal

import pytest

from agents.cluster.learners import split_by_tokens
from agents.data.trajectories import Sample
from agents.rollouts.players import LostProcessError
from agents.training.distributed import Ranks, launch
from tests.cluster.test_learners import lesson
from tests.errors import expect_error


def test_parts_hold_every_sample_once_and_about_as_many_tokens():
    samples = [Sample(item.step.prompt_ids, item.step.response_ids) for item in lesson(groups=10, trajectories=8)]
    parts = split_by_tokens(samples, 4)
    assert sorted(index for part in parts for index in part) == list(range(len(samples)))
    prompts = [{samples[index].prompt_ids for index in part} for part in parts]
    assert sum(map(len, prompts)) == len(set.union(*prompts))
    tokens = [sum(map(len, own)) for own in prompts]
    assert max(tokens) < 1.3 * min(tokens)
    # A rank may have nothing to do.
    assert split_by_tokens([Sample((1,), (2,)), Sample((1,), (3,))], 2) in ([[0, 1], []], [[], [0, 1]])
    assert split_by_tokens([], 2) == [[], []]


def fail_in_the_second():
    ranks = Ranks.current()
    if ranks.index == 1:
        raise ZeroDivisionError("a blunder")
    return ranks.gather([1])


class DiesWhenRead:
    """An argument of which a process dies that unpickles it."""

    def __reduce__(self):
        return os._exit, (7,)


def end_the_second(how):
    ranks = Ranks.current()
    if ranks.index == 1:
        os.kill(os.getpid(), signal.SIGKILL) if how == "killed" else os._exit(3)
    return ranks.gather([1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(("how", "message"), [
    ("killed", "was killed by SIGKILL"), ("left", "ended with status 3"), (DiesWhenRead(), "ended with status 7"),
])  # fmt: skip
def test_a_lost_process_is_reported_in_one_line(how, message, count, capfd):
    with pytest.raises(
        LostProcessError, match=rf"process \d+, rank [12] of {count}, {message}; run the same command again"
    ) as raised:
        launch(end_the_second, count, how)
    assert "\n" not in str(raised.value)
    assert "Traceback" not in capfd.readouterr().err


def test_an_error_in_another_process_is_raised_with_its_traceback():
    with expect_error(ZeroDivisionError, "a blunder") as raised:
        launch(fail_in_the_second, 2)
    assert "in fail_in_the_second" in str(raised.value.__notes__)
