"""Adaptation to a site that was left out: what is cloned without it, fine-tuning, and the benchmark."""

import json

import pytest

from agents.models.checkpoints import agent_record
from agents.models.pointer.network import load_pointer
from agents.training.pointer_cloning import train_pointer
from agents.training.settings import make_settings
from benchmarks import adaptation
from tests.test_agent_q import sampled_success
from webarena_gym import tasks as task_suite


def test_no_demonstration_of_the_other_sites_needs_the_site():
    settings = adaptation.AdaptationSettings(site="gitlab")
    own, others = (set(adaptation._templates(settings, of_site=of_site)) for of_site in (True, False))
    assert len(own) > 20
    assert not own & others
    for task in task_suite.load("train"):
        assert task.template not in others or "gitlab" not in task.sites


def test_fine_tuning_learns_what_the_first_network_did_not_know_and_keeps_its_size(tmp_path):
    first = {"templates": ("reddit.subscription",), "worlds": (11, 12), "per_template": 2, "width": 24, "hidden": 40}
    train_pointer(make_settings(out=tmp_path / "one", updates=60, max_steps=8, threads=1, **first))
    shown = task_suite.draw(["gitlab.star_count", "reddit.subscription"], world_seed=13, count=3)
    options = {"updates": 240, "learning_rate": 4e-3, "max_steps": 8, "threads": 1, "decisions_per_update": 16}
    tuned = train_pointer(make_settings(out=tmp_path / "two", begin_with=tmp_path / "one", **options), shown)
    (before, words), (after, same) = load_pointer(tmp_path / "one"), load_pointer(tuned)
    assert (after.width, after.hidden, same.words) == (before.width, before.hidden, words.words) == (24, 40, words.words)
    assert agent_record(tuned) == agent_record(tmp_path / "one")
    assert sampled_success(tuned) > sampled_success(tmp_path / "one") + 0.1


@pytest.mark.slow
def test_the_benchmark_has_a_row_for_each_number_of_demonstrations(tmp_path, capsys):
    sizes = [
        "--cloning-updates",
        "4",
        "--updates",
        "2",
        "--limit",
        "2",
        "--seeds",
        "0",
        "--worlds",
        "11",
        "--demonstrations",
        "0",
        "2",
    ]
    adaptation.main(["--site", "map", "--out", str(tmp_path), *sizes, "--split", "train", "--test-worlds", "12", "--json"])
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [row["title"] for row in result["rows"]] == ["after 0 demonstrations", "after 2 demonstrations"]
    with pytest.raises(ValueError, match="site is 'moon'; expected one of"):
        adaptation.run(adaptation.AdaptationSettings(site="moon", out=tmp_path))
