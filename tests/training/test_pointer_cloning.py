"""Training of pointer networks: cloning, M-GRPO, resuming, several processes. Few tasks of two templates, of the real sites."""

import multiprocessing
import threading
from dataclasses import replace
from functools import cache, partial

import pyarrow.parquet as pq
import pytest
import torch

from agents import train_rl
from agents.average import AverageSettings, average
from agents.data.expert import corrections, envs_with_tasks
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import CheckpointError, agent_record, checkpoints, is_pointer, is_small, load_model
from agents.models.pointer.network import load_pointer
from agents.models.pointer.reader import Reader
from agents.rollouts.players import LostProcessError
from agents.train_bc import main
from agents.training import cloning as train_bc
from agents.training import pointer_cloning
from agents.training.metrics import read_metrics
from agents.training.pointer_cloning import collect_decisions, draw, episodes, train_pointer
from agents.training.rollout_files import group_files, read_groups
from agents.training.settings import POINTER, PointerBCSettings
from tests import tiny
from tests.errors import expect_error
from tests.shared import shared_folder
from webarena_gym import suite as task_suite
from webarena_gym.actions import Action, Kind
from webarena_gym.tasks import Expert

TEMPLATES = ("reddit.subscription", "map.place_phone")


def clone_settings(out, **changes):
    own = {"templates": TEMPLATES, "worlds": (11, 12), "per_template": 2, "updates": 120, "max_steps": 10, "threads": 1}
    return PointerBCSettings(out=out, **{**own, "decisions_per_update": 16, "save_every": 60, **changes})


def rl_settings(model, out, method="grpo", **changes):
    own = {"templates": TEMPLATES, "worlds": (14,), "per_template": 2, "updates": 3, "max_steps": 8, "threads": 1}
    own |= {"tasks_per_update": 3, "group_size": 6, "save_every": 1}
    return train_rl.make_settings(method, model=str(model), out=out, **{**own, **changes})


def train(folder, **changes):
    train_pointer(clone_settings(folder, **changes))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of cloning, to its end."""
    return shared_folder(tmp_path_factory, "pointer", train)


@pytest.fixture(scope="module")
def unsure(tmp_path_factory):
    """A run of cloning that was too short to be sure."""
    return shared_folder(tmp_path_factory, "unsure_pointer", partial(train, updates=40))


@pytest.fixture(scope="module")
def whole(tmp_path_factory, unsure):
    """Give the run of M-GRPO with an average of parameters, which is trained once."""

    @cache
    def trained(average):
        out = tmp_path_factory.mktemp("whole")
        train_rl.train(rl_settings(unsure, out, average=average))
        return out

    return trained


def success(folder, world=15, templates=TEMPLATES, **changes):
    settings = EvaluationSettings(policy=str(folder), **{**policy_defaults(str(folder)), "threads": 1, **changes})
    tasks = task_suite.draw(list(templates), world_seed=world, count=4)
    return evaluate_policy(settings, tasks, quiet=True).total.success


def parameters(folder):
    return load_pointer(folder)[0].state_dict()


def assert_equal_parameters(one, other):
    assert all(torch.equal(one[name], other[name]) for name in one | other)


def test_cloning_raises_success(tmp_path, run):
    train_pointer(clone_settings(tmp_path, updates=0))
    assert success(tmp_path) <= 0.25
    assert success(run) > success(tmp_path)
    assert success(run, world=12) >= 0.5  # where half of the tasks were demonstrated


CRITICS = {"replay": 16, "tasks_per_update": 8, "group_size": 1}


@pytest.mark.parametrize(("method", "changes"), [
    pytest.param("grpo", {"average": 0.0}, marks=pytest.mark.slow),
    ("grpo", {"average": 0.9}),
    ("awr", CRITICS),
    pytest.param("webrl", CRITICS, marks=pytest.mark.slow),
])  # fmt: skip
def test_equal_runs_end_with_equal_parameters_killed_in_between_or_not(tmp_path, unsure, whole, monkeypatch, method, changes):
    one, other = tmp_path / "one", tmp_path / "other"
    if method == "grpo":
        one = whole(changes["average"])
    else:
        train_rl.train(rl_settings(unsure, one, method, **changes))
    tiny.killed_after(monkeypatch, 2, train_rl.train, rl_settings(unsure, other, method, **changes))
    assert checkpoints(other)[-1].update == 1
    train_rl.train(rl_settings(unsure, other, method, **changes))
    assert_equal_parameters(parameters(one), parameters(other))
    before = parameters(unsure)
    assert any(not torch.equal(value, before[name]) for name, value in parameters(one).items())


def test_a_killed_run_of_cloning_goes_on_exactly_and_detours_and_layouts_do(tmp_path, monkeypatch):
    own = {"worlds": (11,), "layout_worlds": (12, 13), "detours": 0.3, "updates": 5, "save_every": 2}
    assert is_pointer(train_pointer(clone_settings(tmp_path / "whole", **own)))
    tiny.killed_after(monkeypatch, 3, train_pointer, clone_settings(tmp_path / "killed", **own))
    assert [item.update for item in checkpoints(tmp_path / "killed")] == [2]
    train_pointer(clone_settings(tmp_path / "killed", **own))
    assert_equal_parameters(parameters(tmp_path / "killed"), parameters(tmp_path / "whole"))
    ours, theirs = ([row["loss"] for row in read_metrics(tmp_path / name)] for name in ("whole", "killed"))
    assert ours == theirs
    settings = clone_settings(tmp_path, **own)
    assert {item.world for item in collect_decisions(draw(settings), settings, Reader(), {})[0]} == {"11", "12", "13"}
    with expect_error(ValueError, "detours=1.0"):
        clone_settings(tmp_path, detours=1.0)


def test_templates_can_be_spread_over_the_worlds():
    names = ("reddit.subscription", "map.place_phone", "shopping.order_place", "shopping.account_place")
    for count in (1, 3, 5):
        settings = clone_settings("out", templates=names, worlds=range(11, 11 + count), per_template=1, one_world_each=True)
        assert sorted(task.template for task in draw(settings)) == sorted(names)
        assert len({task.task_id.split("/")[1] for task in draw(settings)}) == min(count, len(names))


@pytest.mark.parametrize("seed", range(2))
def test_detours_leave_the_episode_as_it_was(seed):
    tasks = task_suite.draw([*TEMPLATES, "gitlab.top_contributor", "shopping.order_place"], world_seed=12, count=2)
    env = clone_settings("out").env_arguments()
    plain = {task.task_id: steps for task, _, steps in episodes(tasks, seed=seed, **env)}
    detours = 0
    for task, _, steps in episodes(tasks, detours=0.9, seed=seed, **env):
        kept = list(steps)
        while any(not step.is_example for step in kept):
            place = next(place for place, step in enumerate(kept) if not step.is_example)
            wrong, back = kept[place : place + 2]
            is_left = back.page != wrong.page  # a link to the page itself needs no return
            assert not is_left or (back.is_example and back.action.kind is Kind.GO_BACKWARD)
            assert kept[place + 1 + is_left].page == wrong.page
            del kept[place : place + 1 + is_left]
            detours += 1
        assert [(step.page, step.action) for step in kept] == [(step.page, step.action) for step in plain[task.task_id]]
    assert detours


def test_a_run_is_known_as_a_pointing_network(run):
    assert is_pointer(run)
    assert is_pointer(checkpoints(run)[-1].path)
    assert is_small(run)
    with expect_error(CheckpointError, run):
        load_model(run)
    assert agent_record(run)["elements"] == policy_defaults(str(run))["elements"] == "id"
    options = vars(train_rl.make_settings("grpo", model=str(run), out="out"))
    assert (options["group_size"], options["elements"], options["max_steps"]) == (8, "id", 10)
    assert vars(train_rl.make_settings("grpo", model=str(run), out="out", group_size=5))["group_size"] == 5


@pytest.mark.parametrize(("method", "own"), [
    ("grpo", {}), ("grpo", {"processes": 2}), ("tsr", {"search_width": 3, "tasks_per_update": 4, "group_size": 4, "updates": 2}),
])  # fmt: skip
def test_the_learner_computes_the_log_probabilities_of_the_sampler(tmp_path, unsure, method, own):
    changes = {"epochs": 1, "minibatches": 1, "save_samples": True, "save_rollouts": 1, "replayed": 0, **own}
    train_rl.train(rl_settings(unsure, tmp_path, method, **changes))
    rows = [row for row in read_metrics(tmp_path) if "logprob_gap" in row]
    assert rows
    assert all(row["logprob_gap"] < 1e-5 for row in rows)
    assert any(row["env_steps"] and row["generated_tokens"] for row in rows)
    assert method != "tsr" or any(row["searched"] for row in rows)
    assert any(pq.read_table(file).num_rows for file in sorted((tmp_path / "samples").iterdir()))
    for update, file in group_files(tmp_path).items():
        rows = pq.read_table(tmp_path / "samples" / f"{update:06}.parquet").to_pylist()
        kept = {(own.group, *pair) for group in read_groups(file) for own in group for pair in enumerate(own.advantages)}
        assert {(row["group_id"], row["step"], row["advantage"]) for row in rows} <= kept
    assert len(group_files(tmp_path)) == read_metrics(tmp_path)[-1]["update"]


def test_processes_that_play_compute_the_gradients_that_one_would(tmp_path, unsure):
    changes = {"updates": 1, "average": 0.0, "replayed": 4, "group_size": 8}
    for processes in (1, 2):
        train_rl.train(rl_settings(unsure, tmp_path / str(processes), processes=processes, **changes))
    train_rl.train(rl_settings(unsure, tmp_path / "stale", processes=2, staleness=1, **{**changes, "updates": 3}))
    assert all(row["logprob_gap"] > 0 for row in read_metrics(tmp_path / "stale") if "logprob_gap" in row)
    (one,), (several,) = (read_metrics(tmp_path / str(processes)) for processes in (1, 2))
    for name in ("loss", "grad_norm", "clipped", "kl", "success", "trained_steps", "env_steps"):
        assert several[name] == pytest.approx(one[name], rel=1e-3, abs=1e-6), name
    assert one["grad_norm"] > 0
    before, alone, together = (parameters(folder) for folder in (unsure, tmp_path / "1", tmp_path / "2"))
    moved = sum((alone[name] - before[name]).abs().sum() for name in before)
    # Adam's first steps have the size of the learning rate, whichever sign a gradient of nearly nothing has.
    apart = sum((alone[name] - together[name]).abs().sum() for name in before)
    assert apart < 0.01 * moved


def test_a_killed_rank_ends_the_training_with_one_line_and_a_last_checkpoint(tmp_path, unsure):
    def kill():
        while not read_metrics(tmp_path):
            threading.Event().wait(0.05)
        (rank,) = [process for process in multiprocessing.active_children() if process.name == "rank 1"]
        rank.kill()

    settings = rl_settings(unsure, tmp_path, processes=2, updates=200, save_every=1_000)
    killer = threading.Thread(target=kill)
    killer.start()
    with expect_error(LostProcessError, "rank 1 of 2", "SIGKILL"):
        train_rl.train(settings)
    killer.join()
    last, done = checkpoints(tmp_path)[-1].update, read_metrics(tmp_path)[-1]["update"]
    assert last == done >= 1
    train_rl.train(replace(settings, updates=last + 1))
    assert read_metrics(tmp_path)[-1]["update"] == checkpoints(tmp_path)[-1].update == last + 1


def test_averaged_parameters_lie_between_initial_and_trained_ones(tmp_path, unsure, whole):
    plain, layout = whole(0.0), tmp_path / "layout"
    train_rl.train(rl_settings(unsure, layout, average=0.0, variation="layout"))
    first, trained, averaged, other = (parameters(item) for item in (unsure, plain, whole(0.9), layout))
    moved = sum((trained[name] - first[name]).norm() for name in first)
    assert 0 < sum((averaged[name] - first[name]).norm() for name in first) < moved
    runs = (str(plain), str(layout))
    average(AverageSettings(models=runs, out=tmp_path / "mean"))
    mean = parameters(tmp_path / "mean")
    assert all(torch.allclose(value, (trained[name] + other[name]) / 2) for name, value in mean.items())
    assert agent_record(tmp_path / "mean") == agent_record(runs[0])
    assert success(tmp_path / "mean") > 0


@pytest.fixture(autouse=True)
def few_episodes(monkeypatch):
    """Let methods of many episodes do with few."""
    monkeypatch.setattr("agents.methods.digirl.TOP", 0.5)
    monkeypatch.setattr("agents.methods.webrl.JUDGED_AFTER", 8)


MANY = {"replay": 96, "tasks_per_update": 40, "group_size": 1, "updates": 6}
GROUPS = {"tasks_per_update": 6, "group_size": 6, "updates": 6}


@pytest.mark.parametrize(("method", "options"), [
    *(pytest.param(name, MANY, marks=pytest.mark.slow) for name in ("filtered_bc", "awr", "digirl", "webrl")),
    ("structured", {**GROUPS, "outcome_weight": 0.0}),
    pytest.param("starpo", {**GROUPS, "starpo_kept": 0.5}, marks=pytest.mark.slow),
    pytest.param("tsr", {**GROUPS, "search_width": 3}, marks=pytest.mark.slow),
])  # fmt: skip
def test_every_method_lifts_an_unsure_pointing_network(tmp_path, unsure, method, options):
    train_rl.train(rl_settings(unsure, tmp_path, method, per_template=4, **options))
    rows = read_metrics(tmp_path)
    assert rows[-1]["success"] > rows[0]["success"] + 0.2
    assert sum(row["trained_steps"] for row in rows) > 0
    if method == "webrl":
        assert sum(row["new_tasks"] for row in rows) > 0


def test_rollouts_of_a_pointing_network_are_forked(tmp_path, unsure):
    forks = {"advantages": "forks", "fork_every": 3, "replayed": 0}
    sizes = {"tasks_per_update": 3, "group_size": 2, "updates": 1}
    train_rl.train(rl_settings(unsure, tmp_path, **sizes, **forks))
    (row,) = read_metrics(tmp_path)
    assert row["env_steps"] > row["rollouts"] * row["steps"]  # continuations are counted, too
    assert row["trained_steps"] > 0


@pytest.mark.parametrize(("changes", "values"), [
    ({"lora_rank": 2}, ("lora_rank", 2)),
    ({"contexts": "released"}, ("contexts", "'released'")),
    ({"elements": "label"}, ("elements", "'label'", "'id'")),
    ({"overlap": True, "staleness": 1}, ("overlap", True)),
])  # fmt: skip
def test_options_unsupported_by_pointer_networks_are_rejected(tmp_path, run, changes, values):
    with expect_error(ValueError, *values):
        train_rl.train(rl_settings(run, tmp_path, **changes))


def test_the_command_clones_a_pointing_network(tmp_path, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(pointer_cloning, "train_pointer", lambda settings: seen.append(settings) or tmp_path)
    main(["--model", POINTER, "--out", str(tmp_path), "--worlds", "3", "4", "--one-world-each", "--dropout", "0.2"])
    (settings,) = seen
    assert (settings.worlds, settings.one_world_each, settings.dropout) == ((3, 4), True, 0.2)
    assert (settings.elements, settings.window, settings.max_steps) == ("id", 20_000, 30)
    capsys.readouterr()
    with expect_error(ValueError, "model", "'pointer'"):
        train_bc.BCSettings(out=tmp_path, model=POINTER)


def test_fine_tuning_learns_what_the_first_network_did_not_know_and_keeps_its_size(tmp_path):
    first = {"templates": ("reddit.subscription",), "worlds": (11,), "per_template": 2, "width": 24, "hidden": 40}
    train_pointer(PointerBCSettings(out=tmp_path / "one", updates=20, max_steps=8, threads=1, **first))
    shown = task_suite.draw(["map.place_phone", "reddit.subscription"], world_seed=13, count=2)
    options = {"updates": 60, "learning_rate": 4e-3, "max_steps": 8, "threads": 1, "decisions_per_update": 16}
    tuned = train_pointer(PointerBCSettings(out=tmp_path / "two", begin_with=tmp_path / "one", **options), shown)
    (before, words), (after, same) = load_pointer(tmp_path / "one"), load_pointer(tuned)
    assert (after.width, after.hidden, same.words) == (before.width, before.hidden, words.words) == (24, 40, words.words)
    assert agent_record(tuned) == agent_record(tmp_path / "one")
    assert success(tuned, world=14) > success(tmp_path / "one", world=14) + 0.1


def test_dagger_corrections_earn_the_reward_after_one_mistake():
    tasks, wrong = task_suite.draw(list(TEMPLATES), world_seed=14, count=2), Action(Kind.CLICK, "0")
    for env, task in envs_with_tasks(tasks, quiet=True, elements="id", window=20_000):
        expert = Expert(task, env.dialect)
        assert list(corrections(env, task, lambda _, env=env, expert=expert: expert.reply(env.page, env.observation))) == []
        advice = []
        for _, steps in corrections(
            env, task, lambda _, env=env, replies=advice: env.dialect.format(replies[-1] if replies else wrong)
        ):
            assert [step.is_example for step in steps] == [False] * (len(steps) - 1) + [True]
            advice.append(steps[-1].action)
        assert advice[-1].kind is Kind.EXIT  # which is advised only where it earns the reward


def test_dagger_adds_what_leads_back_to_the_demonstrations(unsure, tmp_path):
    with expect_error(ValueError, "dagger", "begin_with"):
        clone_settings(tmp_path, dagger=1)
    tuned = {"begin_with": unsure, "updates": 30, "learning_rate": 1e-3}
    train_pointer(clone_settings(tmp_path / "more", **tuned))
    train_pointer(clone_settings(tmp_path / "dagger", **tuned, dagger=1))
    more, dagger = (load_pointer(tmp_path / name)[0].state_dict() for name in ("more", "dagger"))
    assert any(not torch.equal(more[name], dagger[name]) for name in more)
    assert success(tmp_path / "dagger") >= success(unsure)
