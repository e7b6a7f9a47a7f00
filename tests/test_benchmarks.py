"""The benchmarks do what they say; how fast things are is not for tests to judge."""

import dataclasses
import inspect
import json
import os
import pkgutil
import re
import sys
from random import Random
from types import SimpleNamespace

import pytest

from agents.data.demonstrations import draw_tasks
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings
from agents.models.pointer.network import load_pointer
from agents.train_rl import make_settings
from benchmarks import (
    allocation,
    api,
    compare,
    env_speed,
    learning,
    playing,
    plots,
    reference,
    scaling,
    soak,
    suite_side_effects,
    tables,
    training_speed,
    unseen_states,
    virtual_time,
)
from benchmarks.allocation import AllocationSettings, Clone, Point, Run, configuration, expected_best, summary
from benchmarks.env_speed import PARTS, Stopwatch, serving
from benchmarks.machine import cores, family, resources_of, use_cores
from benchmarks.peers.contender import Contender, play_round
from benchmarks.recording import record, walk_only
from benchmarks.unseen_states import count_sign_in_pages, imitate, shows_sign_in, signed_out
from tests import needs, tiny
from tests.errors import expect_error
from webarena_gym import suite as task_suite
from webarena_gym.applications.application import Application
from webarena_gym.applications.state import json_changes
from webarena_gym.env import WebArenaLite
from webarena_gym.options import OPTION_NAMES
from webarena_gym.sites.catalogue import Account, Login

KEYS = {
    *(f"{name}_{figure}" for name in ("inprocess", "chromium", "browsergym") for figure in ("steps_per_s", "reset_ms", "mb_per_env")),
    "floor_steps_per_s", "browsergym_nowait_steps_per_s", "async_over_lockstep", "two_core_scaling", "commit", "machine", "versions",
}  # fmt: skip
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")


@pytest.fixture(autouse=True)
def all_cores():
    before = cores()
    yield
    use_cores(before)


@pytest.fixture(scope="module")
def walks():
    env = WebArenaLite(split="test", max_steps=60)
    return [walk_only(one) for one in record(env, [task for task in env.tasks if task.sites == ("shopping",)][:3])]


def speed(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["env_speed", "--quick", "--only", "inprocess", *arguments])
    monkeypatch.setattr(scaling, "rate", lambda use, *, batch, **_: scaling.Rate(100.0 * len(use) / batch, 100, 1.0))
    monkeypatch.setattr(env_speed, "QUICK", env_speed.QUICK._replace(suite_part=20, starts=1))
    env_speed.main()
    return capsys.readouterr()


def test_the_last_line_is_json_with_null_for_missing_peers(monkeypatch, capsys):
    result = json.loads(speed(monkeypatch, capsys, "--json").out.splitlines()[-1])
    assert set(result) >= KEYS
    assert result["inprocess_steps_per_s"] > 0
    assert result["suite_first_steps_per_s"] > 0
    assert result["inprocess_failures"] == []
    assert result["browsergym_steps_per_s"] is None
    assert result["inprocess_over_browsergym"] is None
    assert result["async_over_lockstep"] == 4
    assert set(result["step_parts_ms"]) == {"act", *PARTS}
    assert {"page_exponent", *(f"episode_exponent_{history}" for history in ("none", "compressed", "full"))} <= set(result)


def test_the_exponent_of_a_square_is_2():
    assert env_speed.slope([(1, 3), (2, 12), (4, 48)]) == 2


def test_peers_that_are_not_installed_are_named_with_what_installs_them(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(env_speed, "PEERS_PYTHON", tmp_path / "python")
    env_speed.tell_absent(["inprocess", "browsergym"], ["inprocess"])
    assert "browsergym; `make peers` installs" in capsys.readouterr().err


def test_pictures_show_results_with_gaps_and_the_mean_of_runs(tmp_path):
    pytest.importorskip("matplotlib")
    result = dict.fromkeys(plots.BARS) | {"inprocess_steps_per_s": 700.0, "webarena_steps_per_s": 0.5}
    point = {"envs": 1, "steps_per_s": 5.0, "lockstep_steps_per_s": 4.0}
    plots.draw(result | {"scaling": [point, point | {"envs": 4}]}, tmp_path / "speed.png")
    curves = {name: [0.1, 0.4, 0.2] for name in plots.DYNAMICS}
    other = {name: [0.3, 0.6, 0.8] for name in plots.DYNAMICS}
    result = {
        "n": 10,
        "clones": 2,
        "bc": 0.3,
        "by_minutes": [{"updates": 3, "greedy": 0.5}],
        "dynamics": {"0/0": curves, "1/0": other},
    }
    plots.draw_dynamics(result, tmp_path / "learning.png")
    compared = json.loads((tables.RESULTS / "whole_suite.json").read_text(encoding="utf-8"))
    plots.draw_improvements(compared, tmp_path / "methods.png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("speed.png", "learning.png", "methods.png"))


def test_scaling_reports_the_rate_of_envs_in_worker_processes():
    measured = scaling.rate(cores()[-1:], envs=2, workers=1, batch=1, seconds=0.2, wait_ms=1, site="shopping", warm_up=2)
    assert measured.steps > 0
    assert measured.steps_per_s > 0


def test_unexpected_pages_are_failures_without_a_time_and_crashes_are_errors(walks):
    astray = walks[0]._replace(steps=(walks[0].steps[0]._replace(path="/elsewhere"),))
    ours = Contender("inprocess", ("benchmarks.peers.package_adapter", "inprocess"), warm_up=0)
    with serving(env_speed.WORLD) as served:
        measured = play_round(ours, [astray], walks, served)
    assert measured.step_ms == []
    assert "instead of /elsewhere" in measured.failures[0]
    assert all(step.index is not None and not step.reply.startswith("exit") for walk in walks for step in walk.steps)
    assert walks[0].steps[0].loads
    assert walks[0].steps[0].path != walks[0].start
    with serving(env_speed.WORLD) as served, expect_error(RuntimeError, "benchmarks.peers.nobody"):
        play_round(Contender("nobody", ("benchmarks.peers.nobody",)), walks[:1], walks, served)


def test_a_part_inside_another_interrupts_it(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(env_speed, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    watch = Stopwatch()

    def spend(seconds):
        now[0] += seconds

    def outer():
        spend(2)
        watch.around("inner", spend)(30)
        spend(1)

    watch.around("outer", outer)()
    assert (watch.seconds["outer"], watch.seconds["inner"]) == (3, 30)


@linux
def test_a_process_holds_memory_and_files_and_is_its_own_family():
    held = resources_of(os.getpid())
    assert held.mb > 10
    assert held.files >= 3
    assert os.getpid() in family(os.getpid())


def test_random_replies_are_in_the_dialect():
    env = WebArenaLite(split="test")
    _, info = env.reset(seed=0)
    random = Random(0)
    for _ in range(200):
        env.dialect.parse(soak.random_reply(info["page"], random))


@pytest.mark.parametrize("mode", [["--minutes", "0.02"], ["--kill", "--episodes", "4", "--every", "0.5"]])
def test_a_soak_ends_well_when_nothing_is_wrong(monkeypatch, capsys, mode):
    monkeypatch.setattr(sys, "argv", ["soak", "--envs", "2", "--workers", "2", *mode])
    monkeypatch.setattr(soak, "SETTINGS", {"max_steps": 60, "tasks": ["shopping.product_price/1000/0"]})
    with pytest.raises(SystemExit) as ended:
        soak.main()
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["wrong"] == []
    assert ended.value.code == 0


def write_application(folder, page):
    """Write an application with one page, and return its folder."""
    (folder / "one.py").write_text(
        f"def application(environ, start_response):\n    start_response('200 OK', [('Content-Type', 'text/html')])\n    return [{page.encode()!r}]\n"
    )
    (folder / "webarena-app.toml").write_text('name = "one"\nwsgi = "one:application"\n')
    return str(folder)


def test_a_soak_plays_on_an_application(tmp_path, monkeypatch, capsys):
    folder = write_application(tmp_path, "<!doctype html><title>T</title><p>One <a href=/a>first</a> and <a href=/b>second</a>")
    monkeypatch.setattr(sys, "argv", ["soak", "--envs", "2", "--workers", "1", "--minutes", "0.03", "--application", folder])
    with pytest.raises(SystemExit) as ended:
        soak.main()
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (result["lost"], result["wrong"]) == (0, [])
    assert result["steps"] > 0
    assert ended.value.code == 0


def test_a_soak_kills_no_workers_of_applications(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["soak", "--kill", "--application", "shop"])
    with pytest.raises(SystemExit) as ended:
        soak.main()
    assert ended.value.code == 2
    assert "--kill" in capsys.readouterr().err


def test_soak_reports_lost_episodes_without_kills_and_growing_memory():
    tally = soak.Tally()
    row = {"env": 3, "over": True, "reward": float("nan"), "failure": "gone", "page": "", "task": "t"}
    soak._judge(row, True, tally)
    assert tally.wrong == []
    soak._judge(row, False, tally)
    soak._judge(row | {"failure": "", "reward": 0.0}, True, tally)
    assert len(tally.wrong) == 2
    samples = [soak.Sample(minute, 100.0 + 5 * minute, 10, 3, 0) for minute in range(60)]
    assert soak._growth(samples, tally)["mb_second_half"] > 200
    assert "memory grew" in tally.wrong[-1]


@pytest.mark.slow
def test_the_arena_benchmark_reports_success(monkeypatch, capsys):
    from benchmarks import arena  # noqa: PLC0415 - needs the extra serve

    timed_ms = arena.timed_ms
    monkeypatch.setattr(arena, "timed_ms", lambda work, times: timed_ms(work, min(times, 3)))
    monkeypatch.setattr(arena, "_ROUNDS", 1)
    monkeypatch.setattr(sys, "argv", ["arena", "--tasks", "2", "--episodes", "3", "--cores", "2"])
    arena.main()
    found = json.loads(capsys.readouterr().out)
    assert found["solutions"] == {"tasks": 2, "browse_solved": 2, "step_solved": 2, "session_solved": 2}
    assert (found["crowd"]["saw_their_own_alone"], found["crowd"]["judged_by_their_own"]) == (3, 3)
    assert found["speed"]["step_1_client"]["steps_per_s"] > 0


def test_rollouts_are_timed_with_the_policy_included(monkeypatch, capsys):
    from benchmarks import policies  # noqa: PLC0415 - needs the extra serve

    monkeypatch.setattr(sys, "argv", ["policies", "--envs", "2", "--delays", "20", "--seconds", "0.1", "--json"])
    policies.main()
    starter, endpoint = json.loads(capsys.readouterr().out.splitlines()[-1])["points"]
    assert (starter["policy"], endpoint["policy"], endpoint["success"]) == ("starter", "20", 1.0)
    assert 0 < starter["waiting"] < 1
    assert 0 <= endpoint["idle"] < 1
    assert 0 < endpoint["waiting"] < 1


@pytest.mark.parametrize("path", tables.DOCUMENTS, ids=str)
def test_tables_of_documents_match_the_results(path):
    document = path.read_text(encoding="utf-8")
    assert "<!-- begin " in document
    assert tables.update_tables(document) == document, "run python -m benchmarks.tables"


@pytest.mark.parametrize("name", tables.TABLES)
def test_every_row_has_a_cell_for_every_head(name):
    for table in re.findall(r"(?:^\|.*\n)+", tables.TABLES[name](), re.MULTILINE):
        rows = table.splitlines()
        assert len(rows) > 2
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows}) == 1


def test_updates_replace_only_tables_and_results_name_command_and_commit(monkeypatch):
    with expect_error(KeyError, "'magic'"):
        tables.update_tables("<!-- begin magic -->\n<!-- end magic -->")
    monkeypatch.setitem(tables.TABLES, "learning", lambda: "| new |\n")
    document = "before\n<!-- begin learning -->\n| old |\n<!-- end learning -->\nafter"
    assert tables.update_tables(document) == document.replace("old", "new")
    for path in tables.RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert re.search(r'"command": *"python -m benchmarks', text), path
        assert '"commit"' in text, path
    assert (tables.RESULTS / "learning.json").exists()


def test_the_signatures_of_the_api_pages_have_the_arguments_of_the_functions():
    for page in api.PAGES:
        listed = api.summary(page)
        for path in re.findall(r"^### `([\w.]+)`$", listed, re.MULTILINE):
            value = pkgutil.resolve_name(path)
            if inspect.isfunction(value):
                signature = re.search(rf"### `{re.escape(path)}`\n\n`\w+\((.*)\)(?: -> .*?)?`(?:: |\n)", listed)[1]
                assert [*inspect.signature(value).parameters] == re.findall(r"(?:^|, )\*{0,2}(\w+)(?=: |=|, |$)", signature)
        assert api.summary(page) == listed


def test_the_api_pages_define_the_types_of_their_signatures_and_hide_the_directives():
    pages = {page.stem: page.read_text(encoding="utf-8") for page in api.PAGES}
    assert "- `Seed = int | Sequence[int | None] | None`: A seed" in pages["vector"]
    assert "- `webarena_gym.vector.envs.Result`: The result of a step or a reset of one env.\n" in pages["vector"]
    for name, text in pages.items():
        assert ":::" not in re.sub(r"<!-- mkdocstrings\n.*?-->", "", text, flags=re.DOTALL), name
        aliases = {
            part for line in re.findall(r"^- `\w+\(.*?\)`", text, re.MULTILINE) for part in re.findall(r": ([A-Z]\w+)", line)
        }
        assert not {alias for alias in aliases & {"Seed", "Options", "Judge"} if f"- `{alias} = " not in text}, name


@pytest.mark.parametrize("path", ["webarena_gym.magic", "webarena_gym.env.WebArenaLite.magic", "magic"])
def test_an_api_page_names_only_what_there_is(path, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"::: {path}\n", encoding="utf-8")
    with expect_error(LookupError, path):
        api.summary(page)
    page.write_text("::: webarena_gym.env\n    options:\n      members: [WebArenaLite, magic]\n", encoding="utf-8")
    with expect_error(LookupError, "'magic'"):
        api.summary(page)


def test_every_keyword_of_the_env_and_key_of_an_application_is_in_one_table():
    assert sorted(" ".join(reference.KEYWORDS.values()).split()) == sorted(OPTION_NAMES)
    keys = [item.name for item in dataclasses.fields(Application)]
    assert sorted(" ".join(reference.APPLICATION_KEYS.values()).split()) == sorted(keys)
    text = tables.TABLES["application_keys"]()
    assert [key for key in (*keys, *Account._fields, *Login._fields) if f"| `{key}` |" not in text] == []


def test_the_names_of_trl_exist():
    trl, transformers = pytest.importorskip("trl"), pytest.importorskip("transformers")
    for names, config in ((reference.GRPO_OPTIONS, trl.GRPOConfig), (reference.SFT_OPTIONS, trl.SFTConfig)):
        arguments = {item.name for item in dataclasses.fields(config)}
        named = {name for cell in names.values() if " of the " not in cell for name in re.findall("`(.+?)`", cell)}
        assert named <= arguments
    source = inspect.getsource(trl.GRPOTrainer) + inspect.getsource(transformers.Trainer)
    for name in (cell.strip("`") for cell in reference.TRL_METRICS.values()):
        assert f'"{name}"' in source, name


def test_a_metric_in_no_table_or_in_two_is_an_error(monkeypatch):
    monkeypatch.setattr(reference, "METRICS", {**reference.METRICS, "New": "loss newest"})
    with expect_error(ValueError, ["newest"]):
        list(reference.metrics())


def test_every_field_of_a_result_is_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    kept = {
        "rows": [{"title": "x", "greedy": {"clone": {"success": 0.25}}}],
        "command": "python -m x --json",
        "curve": [0] * 40,
    }
    (tmp_path / "a.json").write_text(json.dumps(kept), encoding="utf-8")
    text = tables.every_field("a")
    for part in ("| greedy.clone.success |", "0.25", "curve: 40 values\n", "command: python -m x --json\n"):
        assert part in text


SETTINGS = AllocationSettings(budgets=(1.0, 2.0), cloning_updates=(0, 10, 30), seeds=(0,), resamples=20, limit=1)
CLONES = [Clone(0, 0, 0.2, 0.0, 0.0), Clone(0, 10, 0.4, 0.2, 0.25), Clone(0, 30, 1.5, 0.5, 0.45)]


def drawn(number, *points):
    _, updates, options = configuration(SETTINGS, number)
    return Run(updates, options, [Point(*point) for point in points])


RUNS = [
    drawn(0, (1.0, 0.1, 0.15), (2.0, 0.2, 0.2)),  # from nothing
    drawn(1, (1.0, 0.4, 0.35), (2.0, 0.6, 0.65)),  # after 10 updates
    drawn(2, (2.0, 0.55, 0.6)),  # after 30
]


def test_allocation_summaries_have_the_best_switch_or_null():
    found = summary(SETTINGS, CLONES, [])
    assert found["mixed"] == found["rl_only"] == found["bc_only"] == found["best_switch"] == [None, None]
    found = summary(SETTINGS, CLONES, RUNS)
    assert (found["runs"], found["budgets"]) == (3, [1.0, 2.0])
    assert found["best_switch"] == [10, 10]
    assert found["rl_only"] == [0.15, 0.2]
    assert found["mixed"] == [0.35, 0.65]
    assert found["bc_only"] == [0.25, 0.45]  # only the short clone costs less than the first budget
    assert found["ci95"]["mixed"] == [[0.35, 0.35], [0.65, 0.65]]
    switches = [(row["budget"], row["updates"]) for row in found["by_switch"]]
    assert switches == [(1.0, 0), (1.0, 10), (2.0, 0), (2.0, 10), (2.0, 30)]
    assert set(found["options"]) == {*allocation.DRAWN, "tasks_per_update"}
    for rows in found["options"].values():
        assert sum(row["wins"] for row in rows) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_more_configurations_is_better_and_chosen_by_validation(seed):
    rng = Random(seed)
    points = [Point(1.0, value := rng.random(), value) for _ in range(20)]
    estimates = [expected_best(points, draws, 2000) for draws in (1, 3, 9)]
    assert estimates[0].test == pytest.approx(sum(point.test for point in points) / 20, abs=0.03)
    assert estimates[0].test < estimates[1].test < estimates[2].test <= max(point.test for point in points)
    for estimate in estimates:
        assert estimate.low <= estimate.test <= estimate.high
    unrelated = [Point(1.0, rng.random(), 0.5) for _ in range(20)]
    assert expected_best(unrelated, 9, 100).test == 0.5  # choosing by validation wins nothing that is not there
    assert expected_best([], 3, 10) is None


def test_more_runs_add_to_those_that_there_are_and_settings_without_sense_are_refused():
    for options, message in (({"budgets": (2.0, 1.0)}, "budgets are"), ({"cloning_updates": (5,)}, "expected 0")):
        with pytest.raises(ValueError, match=message):
            AllocationSettings(**options)
    first = [configuration(SETTINGS, number) for number in range(12)]
    assert first == [configuration(AllocationSettings(**{**vars(SETTINGS), "runs": 500}), number) for number in range(12)]
    assert [updates for _, updates, _ in first[:3]] == [0, 10, 30]
    assert len({json.dumps(options, sort_keys=True) for _, _, options in first}) > 9


def test_a_small_benchmark_is_run_resumed_and_drawn(tmp_path, monkeypatch, capsys):
    own = ["--budgets", "0.01", "0.02", "--cloning-updates", "0", "2", "--runs", "2", "--limit", "2", "--resamples", "10"]
    arguments = ["--quick", *own, "--groups", "1", "--out", str(tmp_path / "runs"), "--json"]
    allocation.main(arguments)
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"runs", "budgets", "best_switch", "bc_only", "rl_only", "mixed", "ci95"} <= set(found)
    assert found["runs"] == 2
    monkeypatch.setattr(playing, "evaluate", None)
    monkeypatch.setattr(allocation, "reinforce", None)
    allocation.main(arguments)
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert again == found
    if plots.is_possible():
        plots.draw_allocation(summary(SETTINGS, CLONES, RUNS), tmp_path / "allocation.png")
        assert (tmp_path / "allocation.png").stat().st_size > 5_000


FEW = [
    *("--seeds", "0", "1", "--worlds", "11", "--templates", "shopping.account_place", "--limit", "2", "--max-steps", "10"),
    *("--grpo-updates", "1", "2", "--threads", "1", "--tasks-per-update", "1", "--group-size", "2", "--json"),
]
KEPT = ("bc", "mgrpo", "lift", "random", "clone_converged", "by_minutes")


@pytest.mark.parametrize("kind", ["pointer networks", pytest.param("a language model", marks=pytest.mark.slow)])
def test_every_clone_is_reinforced_with_every_seed_and_evaluated_once(kind, capsys, monkeypatch, tmp_path):
    own = ["--clones", "2", "--cloning-updates", "2", "--converged-updates", "3"]
    if kind == "a language model":
        tiny.save_clone(tmp_path / "clone", max_steps=2, max_new_tokens=4)
        own = ["--cloned", str(tmp_path / "clone")]
    arguments = [*FEW, *own, "--out", str(tmp_path / "runs")]
    learning.main(arguments)
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    clones = 2 if kind == "pointer networks" else 1
    assert (result["n"], result["clones"], result["seeds"], result["expert"]) == (2, clones, 2, 1.0)
    assert len(result["bc_of_seeds"]) == 2 * clones
    assert len(result["lift_of_seeds"]) == 2 * clones
    assert result["lift"] == pytest.approx(result["mgrpo"] - result["bc"])
    assert result["lift_ci95"][0] <= result["lift"] <= result["lift_ci95"][1]
    assert (result["clone_converged"] is None) == (result["coverage"] is None) == (kind == "a language model")
    assert [mark["updates"] for mark in result["by_minutes"]] == [1, 2]
    assert result["by_minutes"][-1]["greedy"] == result["mgrpo"]
    assert min(result["env_steps"]) > 0
    assert list(result["by_training"]) == ["seen"]
    assert result["by_training"]["seen"]["lift"] == result["lift"]
    monkeypatch.setattr(playing, "evaluate", None)
    monkeypatch.setattr(playing, "RESULTS", tmp_path / "results")
    learning.main([*arguments, "--save", "learning"])
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {key: again[key] for key in KEPT} == {key: result[key] for key in KEPT}
    assert json.loads((tmp_path / "results" / "learning.json").read_text()) == again
    with expect_error(ValueError, "greedy.jsonl"):
        learning.main([*arguments, "--fresh-world", "1700"])


def test_results_separate_training_templates_from_new_ones():
    settings = learning.LearningSettings()
    tasks = learning.held_out(settings)
    known = [float(task.template in {known.template for known in task_suite.load("train")}) for task in tasks]
    clones = [{kind: {"greedy": [0.0] * len(tasks)} for kind in ("bc", "converged")}]
    found = learning.by_training(settings, tasks, clones, [(0, 0)], [{"marks": [{"greedy": known}]}])
    assert {name: (part["n"], part["bc"], part["mgrpo"], part["lift_over_converged"]) for name, part in found.items()} == {
        "new": (330 - sum(known), 0.0, 0.0, 0.0),
        "seen": (sum(known), 0.0, 1.0, 1.0),
    }


def test_clones_use_disjoint_worlds_and_a_held_out_evaluation_world():
    for demonstrations in (1, 2, 16):
        worlds = [learning.demonstration_worlds(demonstrations, clone) for clone in range(3)]
        assert len({world for own in worlds for world in own}) == sum(map(len, worlds))
    tasks = learning.held_out(learning.LearningSettings())
    assert len(tasks) == 330
    assert {task.world_seed for task in tasks[165:]} == {1907}
    assert {task.template for task in tasks[:165]} == {task.template for task in tasks[165:]}
    assert len(learning.held_out(learning.LearningSettings(limit=7))) == 7


CLONE = "agents/checkpoints/cloned-1"


@pytest.mark.parametrize("elements", ["id", "label"])
def test_the_expert_signs_in_and_solves_every_task(elements):
    tasks = list(map(signed_out, draw_tasks([21], 1, templates=compare._NUMBERS["unseen_states"]["templates"])))
    evaluation = evaluate_policy(EvaluationSettings(policy="expert", elements=elements, max_steps=30), tasks, quiet=True)
    assert evaluation.total.success == 1.0
    assert all(any(shows_sign_in(step.page) for step in item.steps) for item in evaluation.trajectories)
    assert len({item.task_id for item in evaluation.trajectories}) == len(tasks)


def test_signed_out_tasks_need_a_login_and_a_site_with_a_form():
    (task,) = task_suite.draw(["reddit.biography"], world_seed=21, count=1)
    out = signed_out(task)
    assert out.solution[-len(task.solution) :] == task.solution
    assert len(out.solution) > len(task.solution)
    assert out.intent.endswith(task.intent)
    lazy = evaluate_policy(EvaluationSettings(policy="random", max_steps=8), [out] * 4, quiet=True)
    assert lazy.total.success == 0.0
    (task,) = task_suite.draw(["map.place_hours"], world_seed=21, count=1)
    with expect_error(ValueError, task.task_id, "map"):
        signed_out(task)


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_no_demonstration_of_the_training_templates_shows_the_form(monkeypatch, every):
    tasks = draw_tasks([11], 1)[::every]
    monkeypatch.setattr(unseen_states, "draw_tasks", lambda *_: tasks)
    assert count_sign_in_pages([11]) == 0
    monkeypatch.setattr(
        unseen_states, "draw_tasks", lambda *_: [signed_out(task) for task in tasks if task.sites == ("reddit",)][:1]
    )
    assert count_sign_in_pages([11]) > 0


def test_imitating_nothing_changes_nothing(tmp_path):
    settings = make_settings("grpo", model=CLONE, out=tmp_path / "run", updates=5)
    imitate(CLONE, [], tmp_path / "same", settings, seed=0)
    same, clone = (load_pointer(folder)[0].state_dict() for folder in (tmp_path / "same", CLONE))
    assert all(bool((same[name] == clone[name]).all()) for name in clone)


def test_the_recipe_has_a_row_for_each_way_and_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    sizes = "updates=1 tasks_per_update=2 group_size=2 per_test_template=1 test_worlds=[22] worlds=[21] max_steps=3"
    arguments = ["unseen_states", "--agents", CLONE, "--out", str(tmp_path), "--json", "--set", *sizes.split()]
    monkeypatch.setattr(unseen_states, "count_sign_in_pages", lambda _: 0)
    found = []
    for _ in range(2):
        compare.main([*arguments, 'templates=["reddit.subscription"]'])
        found.append(json.loads(capsys.readouterr().out.splitlines()[-1])["rows"])
    assert [row["title"] for row in found[0]] == ["the clone", "filtered BC on the clone's rollouts", "M-GRPO"]
    assert (found[0][1]["rollouts"], found[0][0]["demonstrated_sign_in_pages"]) == (4, 0)
    assert found[0] == found[1]


@needs.chromium
def test_virtual_and_real_time_are_compared_on_an_application(tmp_path, monkeypatch, capsys):
    page = "<!doctype html><title>T</title><input aria-label=Q><button onclick='setTimeout(() => o.textContent++, 300)'>Go</button><p id=o>0"
    folder = write_application(tmp_path, page)
    monkeypatch.setattr(sys, "argv", ["virtual_time", folder, "--steps", "3", "--rounds", "1", "--repeats", "2", "--load", "1", "--json"])  # fmt: skip
    virtual_time.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])["one"]
    assert figures["real_pages_as_recorded"] == figures["virtual_pages_as_recorded"] == [3]
    assert figures["equal_repeats"] == 2
    assert figures["virtual_steps_per_s"] > 0


def test_the_plan_counts_the_parameters_of_the_model():
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415 - seconds

    for heads, key_heads in ((4, 4), (8, 2)):
        config = training_speed.MODEL | {"num_attention_heads": heads, "num_key_value_heads": key_heads}
        model = Qwen2ForCausalLM(Qwen2Config(**config))
        size = training_speed.ModelSize.of(config)
        assert size.parameters == sum(weights.numel() for weights in model.parameters())
        assert size.parameters - size.layer_parameters == model.get_input_embeddings().weight.numel()
        assert size.key_value_bytes == 4 * 2 * 2 * key_heads * 256 // heads  # layers, keys and values, bytes
    assert training_speed.ModelSize.of(training_speed.QWEN_3B).parameters == 3_085_938_688


def test_the_plan_of_a_run_is_that_computed_by_hand():
    config = {
        "vocab_size": 5, "hidden_size": 2, "intermediate_size": 3, "num_hidden_layers": 1, "num_attention_heads": 1,
        "num_key_value_heads": 1,
    }  # fmt: skip
    assumed = training_speed.PlanAssumptions(
        tasks_per_update=1, group_size=2, updates=3600, steps_per_episode=1.0, prompt_tokens=3, reply_tokens=1, env_step_s=3.0,
        env_cores=1, peak_tflops=1e-12, bandwidth_gb_s=1e-9, training_efficiency=1.0, prefill_efficiency=1.0, decoding_efficiency=1.0,
    )  # fmt: skip
    # 56 parameters, 10 of them embeddings. Forward pass: 8 tokens x (2 x 46 + 2 x 2 x 4), and 2 replies x 2 x 10.
    one, two = (training_speed.plan_run(config, gpus, assumed) for gpus in (1, 2))
    assert (one["training_s"], one["prefill_s"], one["decoding_s"], one["env_s"]) == (6 * 904, 904, 2 * 56 + 2 * 4 * 8, 6)
    assert (two["training_s"], two["prefill_s"], two["decoding_s"], two["env_s"]) == (3 * 904, 452, 2 * 56 + 4 * 8, 3)
    assert (one["update_s"], one["run_hours"]) == (6510, 6510)
    halved = training_speed.plan_run(config, 1, assumed._replace(token_ratio=2.0))
    assert halved["training_s"] == 6 * (864 / 2 + 40)


def test_planned_memory_exceeds_one_gpu_and_sharding_divides_the_state():
    one, eight = (training_speed.plan_run(training_speed.QWEN_3B, gpus, training_speed.PlanAssumptions()) for gpus in (1, 8))
    assert (one["fits"], eight["fits"]) == (False, True)
    state = "weights, gradients, AdamW (16 bytes per parameter)"
    assert one["memory_gb"][state] == pytest.approx(8 * eight["memory_gb"][state], abs=0.4)
    for item in (one, eight):
        assert sum(item["memory_gb"].values()) == pytest.approx(item["total_gb"], abs=0.4)


def test_each_damage_changes_one_record_that_the_solution_does_not():
    rows = [{"id": number, "title": "a", "isRead": "no"} for number in range(6)]
    state = {"cards": rows, "box": {"mails": [dict(row) for row in rows]}, "next": 7, "tags": ["x"]}
    solved = json_changes("s", {**state, "cards": rows[:5]}, state)
    for seed in range(20):
        states = suite_side_effects.damaged_states(state, solved, ("*.isRead",), Random(seed))
        assert {table for table, _ in states["beside"]} == {"cards"}
        assert {table for table, _ in states["elsewhere"]} == {"box_mails"}
        for table, damaged in states["beside"] + states["elsewhere"]:
            (change,) = json_changes("s", state, damaged, ("*.isRead",))
            assert (change.table, change.after is None or change.columns == ("title",)) == (table, True)
            assert (change.table, change.key) != ("cards", (5,))
