"""Trajectories: one sample of an episode, and files of them."""

import gzip
import json

import pytest

from agents.data.trajectories import (
    Candidate,
    EpisodeSample,
    Step,
    Trajectory,
    action_of,
    append_trajectory,
    env_settings_of,
    episode_sample,
    from_record,
    read_trajectories,
    write_trajectories,
)  # fmt: skip
from agents.settings import EnvSettings
from tests.errors import expect_error
from webarena_gym.actions import Kind

STEPS = (
    Step("one", "a", prompt_ids=(1, 2), response_ids=(3, 4), logprobs=(-0.5, -0.25)),
    Step(
        "two",
        "b",
        "failed",
        prompt_ids=(1, 2, 3, 4, 5, 6),
        response_ids=(7,),
        logprobs=(-1.0,),
        candidates=(Candidate("b", 0.5, "9"),),
    ),
)
EPISODE = Trajectory(
    "t",
    "Buy milk",
    STEPS,
    1.0,
    "exited",
    group=3,
    verdicts=({"passed": True},),
    env=EnvSettings(window=700),
    advantages=(0.5, -0.5),
)


def test_an_episode_is_one_sequence_in_which_replies_are_trained_on():
    expected = EpisodeSample((1, 2), (3, 4, 5, 6, 7), (True, True, False, False, True), (-0.5, -0.25, 0.0, 0.0, -1.0))
    assert episode_sample(EPISODE) == expected


@pytest.mark.parametrize(("steps", "values"), [((), ("t has no steps",)), ((STEPS[0], STEPS[0]), ("step 1",))])
def test_other_episodes_are_no_sequence(steps, values):
    with expect_error(ValueError, *values):
        episode_sample(Trajectory("t", "", steps, 0.0, "exited"))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_files_keep_all_columns_and_episodes_are_appended(tmp_path, name):
    path, plain = tmp_path / "folder" / name, Trajectory("u", "", (), 0.0, "failed", failure="gone")
    append_trajectory(path, plain, is_first=True)
    append_trajectory(path, EPISODE)
    assert read_trajectories(path) == [plain, EPISODE]
    append_trajectory(path, EPISODE, is_first=True)
    assert read_trajectories(path) == [EPISODE]
    write_trajectories(path, [])
    assert read_trajectories(path) == []
    assert [file.name for file in path.parent.iterdir()] == [name]


def test_columns_with_defaults_are_left_out_and_files_are_plain_or_compressed(tmp_path):
    write_trajectories(tmp_path / "a.jsonl", [Trajectory("u", "", (Step("p", "r"),), 0.0, "exited")])
    record = json.loads((tmp_path / "a.jsonl").read_text())
    assert record == {"task_id": "u", "goal": "", "steps": [{"page": "p", "reply": "r"}], "reward": 0.0, "ending": "exited"}
    assert from_record(record).steps == (Step("p", "r", policy_s=3.0),)
    write_trajectories(tmp_path / "a.jsonl.gz", [EPISODE])
    assert json.loads(gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()))["env"]["window"] == 700


def test_symbolic_links_are_kept(tmp_path):
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "target.jsonl")
    write_trajectories(tmp_path / "link.jsonl", [EPISODE])
    assert (tmp_path / "link.jsonl").is_symlink()
    assert read_trajectories(tmp_path / "target.jsonl") == [EPISODE]


def test_replies_have_an_action_or_none():
    assert action_of('exit(message="x")').kind is Kind.EXIT
    assert action_of("I do not know") is None


def test_settings_of_envs_are_those_of_their_keywords():
    assert env_settings_of({"scale": "large"}) is None
    plain = env_settings_of({"window": 700, "observation": "html", "browser": "chromium", "elements": None})
    assert (plain.window, plain.elements, plain.keywords) == (700, "id", ())
    other = env_settings_of({"observation": "axtree", "dialect": "webarena", "browser": "chromium"})
    assert other.keywords == ('browser="chromium"', 'observation="axtree"', 'dialect="webarena"')
