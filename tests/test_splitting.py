"""Long tasks: demonstrations in pieces, and step limits that grow."""

import itertools
from collections import Counter

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.data.demonstrations import SplitSettings, demonstrate, episodes, pieces
from agents.models.pointer.reader import Reader
from agents.train_rl import train
from agents.training.cloning import find_episodes
from agents.training.metrics import read_metrics
from agents.training.pointer_cloning import collect, train_pointer
from agents.training.rollouts import group_files, read_groups
from agents.training.settings import BCSettings
from tests.test_pointer_training import clone_settings, rl_settings, success, unsure  # noqa: F401 - a fixture
from webarena_gym import tasks as task_suite
from webarena_gym.errors import TaskError

SPLIT = SplitSettings(piece_steps=4, shared_steps=2, early_steps=1)


@given(st.integers(1, 70), st.integers(1, 20), st.integers(0, 19), st.integers(1, 6))
def test_pieces_cover_all_steps_overlap_and_keep_the_first(count, size, overlap, early):
    overlap = min(overlap, size - 1)
    found = pieces(count, SplitSettings(piece_steps=size, shared_steps=overlap, early_steps=early))
    learned = Counter(step for piece in found for step in piece.learned)
    assert set(learned) == set(range(count))
    for before, piece in itertools.pairwise(found):
        assert len(set(before.learned) & set(piece.learned)) == overlap
        assert list(piece.context) == list(range(min(early, piece.learned.start)))
    assert all(len(piece.learned) <= size and list(piece.steps) == sorted(set(piece.steps)) for piece in found)
    assert len(found) == 1 or count > size
    assert pieces(count, SplitSettings()) == [(range(0), range(count))]


@pytest.mark.parametrize(("options", "said"), [
    ({"piece_steps": 3, "shared_steps": 3}, "shared_steps=3"), ({"piece_steps": -1}, "piece_steps=-1"), ({"early_steps": 0}, "early_steps=0"),
])  # fmt: skip
def test_pieces_that_cannot_be_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        SplitSettings(**options)


def test_a_language_model_s_conversation_is_that_of_the_piece():
    tasks = task_suite.draw(["gitlab.folder_new", "reddit.subscription"], world_seed=12, count=1)
    for whole, split in zip(episodes(tasks), episodes(tasks, split=SPLIT), strict=True):
        parts = pieces(len(whole), SPLIT)
        learned = [number for piece in parts for number in piece.learned]
        assert [step.reply for step in split] == [whole[number].reply for number in learned]
        assert [step.messages[-1]["content"] for step in split] == [whole[number].messages[-1]["content"] for number in learned]
        assert max(len(step.messages) for step in split) < 2 * (SPLIT.piece_steps + SPLIT.early_steps)
        for step, number in zip(split, learned, strict=True):
            rest = iter(whole[number].messages)
            assert all(message in rest for message in step.messages)  # in this order
        assert all(step.messages[0]["content"].startswith("Task Instruction") for step in split)
        assert len(find_episodes(split)) == len(parts)
    assert len(whole) < len(demonstrate(task_suite.draw(["gitlab.folder_new"], world_seed=12, count=1), split=SPLIT))


def test_a_file_of_demonstrations_is_not_split(tmp_path):
    with pytest.raises(ValueError, match="expected 0 of both with demonstrations"):
        BCSettings(out=tmp_path, demonstrations=tmp_path / "some.jsonl", piece_steps=4)


@pytest.mark.slow
def test_a_pointing_network_learns_from_pieces(tmp_path):
    tasks = task_suite.draw(["gitlab.folder_new"], world_seed=12, count=1)
    env = {"elements": "id", "window": 20_000, "max_steps": 30}
    whole, split = (collect(tasks, Reader(), wrong_kept=50, seed=0, split=own, **env) for own in (None, SPLIT))
    assert len(split[0]) > len(whole[0])
    assert split[1:] == whole[1:] == (1, 1)
    train_pointer(clone_settings(tmp_path, piece_steps=2, shared_steps=1))
    assert success(tmp_path) >= 0.5


@pytest.mark.parametrize("wanted", [1, 3, 40])
def test_an_episode_can_be_truncated_before_the_env_s_limit_from_a_snapshot_too(wanted):
    env = gymnasium.make("WebArenaLite-v0", max_steps=5).unwrapped
    env.reset(seed=0, options={"max_steps": wanted})
    begun = env.snapshot()
    for _ in range(2):
        ended = [env.step("do nothing")[3] for _ in range(min(wanted, 5))]
        assert ended == [False] * (min(wanted, 5) - 1) + [True]
        env.restore(begun)
    env.reset(seed=0)
    assert [env.step("do nothing")[3] for _ in range(5)] == [False] * 4 + [True]
    with pytest.raises(ValueError, match="max_steps is 0"):
        env.reset(options={"max_steps": 0})
    with pytest.raises(TaskError, match="no option 'steps'; expected task or max_steps"):
        env.reset(options={"steps": 2})
    env.close()


def test_a_learner_whose_step_limits_grow_learns(tmp_path, unsure):  # noqa: F811 - the fixture
    train(rl_settings(unsure, tmp_path, updates=12, step_limits=(4, 8), learning_rate=3e-3, save_rollouts=1))
    files = group_files(tmp_path).values()
    longest = [max(len(own.steps) for group in read_groups(file) for own in group) for file in files]
    assert all(steps <= limit for steps, limit in zip(longest, [4] * 6 + [8] * 6, strict=True))
    assert max(longest) > 4
    records = read_metrics(tmp_path)
    assert sum(record["success"] for record in records[-3:]) > sum(record["success"] for record in records[:3])
