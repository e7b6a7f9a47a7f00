"""Adaptation to a site that was left out: what is cloned without it, fine-tuning, and the benchmark."""

from agents.models.checkpoints import agent_record
from agents.models.pointer.network import load_pointer
from agents.training.pointer_cloning import train_pointer
from agents.training.settings import make_settings
from tests.test_agent_q import sampled_success
from webarena_gym import tasks as task_suite


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
