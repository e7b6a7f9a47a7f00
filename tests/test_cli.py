"""The command line: lists, audits, plays and serves, and says what is wrong with its input."""

import json
from collections import Counter
from statistics import median

import pytest

from webarena_gym.suite import find, load, load_version, templates
from webarena_gym.tasks import read_tasks
from webarena_gym.tools import audit as auditing
from webarena_gym.tools.audit import AuditFindings
from webarena_gym.tools.cli import main


def run(capsys, *arguments):
    status = main([*map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err


def test_tasks_are_listed_and_exported(capsys, tmp_path):
    status, out, _ = run(capsys, "tasks")
    assert (0, len(load("test"))) == (status, len(out.splitlines()))
    path = tmp_path / "tasks.json"
    name = load("test")[0].template
    assert run(capsys, "tasks", "--draw", "2", "--world-seed", "5", "--template", name, "--export", str(path))[0] == 0
    assert [name, name] == [task.template for task in read_tasks(path)]
    _, out, _ = run(capsys, "tasks", "--list-templates")
    assert [line.split()[0] for line in out.splitlines()] == list(templates())


def test_tasks_are_counted_in_tables_beside_webarena_lite_s(capsys):
    _, out, _ = run(capsys, "tasks", "--split", "test", "--stats")
    rows = {line[:28].strip(): line[28:].split() for line in out.splitlines()}
    assert rows["tasks"] == [str(len(load("test"))), "165"]
    assert rows["shopping"][2:] == ["45", "27%"]
    assert rows["page or state"][2:] == ["48", "29%"]
    assert f"median {median(len(task.solution) for task in load('test')):g}" in out
    _, out, _ = run(capsys, "tasks", "--split", "all", "--stats")
    assert "WebArena-Lite" not in out


def test_tasks_are_drawn_evenly_from_all_templates(capsys):
    _, out, _ = run(capsys, "tasks", "--draw", "400", "--world-seed", "5")
    names = Counter(line.partition("/")[0] for line in out.splitlines())
    assert names.total() == 400
    assert names.keys() >= {name for name in templates() if name.startswith("shopping.")}
    assert max(names.values()) <= -(-400 // len(templates())) + 2
    _, out, err = run(capsys, "tasks", "--draw", "400", "--world-seed", "5", "--template", "map.town_population")
    assert err == f"webarena-gym: {len(out.splitlines())} of 400 tasks: world 5 has no more that differ\n"


def test_the_audit_plays_in_any_layout_and_ends_with_one_line_of_json(capsys):
    which = ("--template", load("test")[0].template, "--variation", "layout", "--world-seed", "6", "--fresh-worlds", "1")
    status, out, err = run(capsys, "audit", "--json", *which, "--draw", "1", "--jobs", "1", "--no-side-effects")
    result = json.loads(out.splitlines()[-1])
    assert status == 0
    assert all(line.endswith("tasks audited") for line in err.splitlines()), err  # a line a minute, on a slow machine
    assert {"noop_rewarded", "exit_rewarded", "other_rewarded", "browser", "world_seed", "seconds"} <= set(result)
    assert (result["tasks"], result["solved"], result["templates"], result["worlds"]) == (2, 2, 1, 2)
    assert (result["side_effects_tried"], result["detours_tried"], result["variation"]) == (0, 0, "layout")
    assert sum(value for key, value in result.items() if key.endswith("_rewarded")) == 0


def test_findings_of_the_audit_are_printed(capsys, monkeypatch):
    def audit(tasks, **_):
        return AuditFindings(tasks=1, other_rewarded=["a/1/0: by b"], excused=["c/1/0: any"], without_other=["d/1/0", "d/1/1"])

    monkeypatch.setattr(auditing, "audit", audit)
    status, out, _ = run(capsys, "audit")
    assert status == 1
    assert "  other rewarded: a/1/0: by b\n  excused: c/1/0: any\n" in out
    assert "  2 tasks of d could not be tested with the answer of another draw\n" in out


def test_the_audit_of_memorised_answers_needs_two_worlds_and_prints_their_success(capsys):
    which = ("audit", "--template", "shopping.order_total", "--memorised", "3")
    assert run(capsys, *which)[0] == 2
    status, out, _ = run(capsys, *which, "4", "--json")
    assert status == 0
    assert out.startswith("memorised: 0 of 2 tasks (0.0%)")
    assert json.loads(out.splitlines()[-1]) == {"memorised": 0, "tasks": 2, "worlds": 2, "share": 0.0}


def test_tasks_of_version_1_are_exported_and_not_drawn(capsys, tmp_path):
    kept = tmp_path / "tasks.json"
    status, out, _ = run(capsys, "tasks", "--suite-version", "1", "--split", "test", "--export", str(kept))
    assert (status, out) == (0, f"165 tasks in {kept}\n")
    assert read_tasks(kept) == load_version("test", 1)
    assert run(capsys, "tasks", "--suite-version", "1", "--world-seed", "3")[0] == 2


@pytest.mark.parametrize("words", [(), ("app",), ("suite",)])
def test_a_command_without_its_subcommand_prints_its_help(capsys, words):
    status, out, error = run(capsys, *words)
    assert (status, out) == (2, "")
    assert error.startswith(" ".join(["usage: webarena-gym", *words]))
    assert "positional arguments:\n  COMMAND\n" in error


def test_worlds_are_described(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))
    status, out, _ = run(capsys, "world", "12345")
    assert status == 0
    assert "product" in out
    assert str(tmp_path) in out


def test_the_tasks_of_a_file_are_audited(capsys, tmp_path):
    path, task = tmp_path / "tasks.json", find("shopping.product_price/1000/0")
    path.write_text(json.dumps([task.to_json() | {"task_id": "mine", "template": "", "world_seed": None}]))
    status, out, err = run(capsys, "audit", "--tasks", path, "--world-seed", 1000, "--json", "--jobs", 1, "--no-side-effects")
    assert (status, json.loads(out.splitlines()[-1])["tasks"]) == (0, 1), err
    status, _, err = run(capsys, "audit", "--tasks", path)
    assert (status, "mine" in err, "--world-seed" in err) == (2, True, True)
    for option in (("--split", "test"), ("--fresh-worlds", 1), ("--memorised", 1, 2), ("--draw", 3)):
        status, _, err = run(capsys, "audit", "--tasks", path, "--world-seed", 1000, *option)
        assert (status, option[0] in err, "--tasks" in err) == (2, True, True)
    status, _, err = run(capsys, "audit", "--tasks", path, "--world-seed", 1000, "--template", "shopping.cart_add")
    assert (status, "shopping.cart_add" in err) == (2, True)
    path.write_text(json.dumps([task.to_json() | {"task_id": "mine", "solution": []}]))
    status, _, err = run(capsys, "audit", "--tasks", path)
    assert (status, "mine" in err, "'solution'" in err) == (2, True, True)
