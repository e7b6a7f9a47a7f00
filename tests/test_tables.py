"""The tables of results: what the documents show is what the result files say."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import tables


@pytest.mark.parametrize("path", tables.DOCUMENTS, ids=str)
def test_documents_show_what_the_results_say(path):
    document = path.read_text(encoding="utf-8")
    assert "<!-- begin " in document
    assert tables.written(document) == document, "run python -m benchmarks.tables"


@pytest.mark.parametrize("name", tables.TABLES)
def test_every_row_has_a_cell_for_every_head(name):
    rows = [line for line in tables.TABLES[name]().splitlines() if line.startswith("|")]
    assert len(rows) > 2
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows}) == 1


def test_a_table_of_no_name_is_refused():
    with pytest.raises(KeyError, match="magic"):
        tables.written("<!-- begin magic -->\n<!-- end magic -->")


def test_what_stands_around_a_table_stays(monkeypatch):
    monkeypatch.setitem(tables.TABLES, "learning", lambda: "| new |\n")
    document = "before\n<!-- begin learning -->\n| old |\n<!-- end learning -->\nafter"
    assert tables.written(document) == document.replace("old", "new")


def test_results_name_their_command_and_commit():
    for path in tables.RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert re.search(r'"command": *"python -m benchmarks', text), path
        assert '"commit"' in text, path
    assert Path("benchmarks/results/learning.json").exists()


@pytest.mark.parametrize("name", ["ensembles", "agent_q", "workflows", "unseen_states", "long_tasks"])
def test_results_of_rows_make_a_table(name, tmp_path, monkeypatch):
    lift = {"lift": 0.1, "low": -0.05, "high": 0.2, "p": None}
    row = {"title": "the agent", "success": 0.5, "low": 0.4, "high": 0.6, "n": 660, "seeds": 2, "tasks": 330, "lift": lift}
    extra = {"by_part": {"none": [0.5]}, "part": 32, "site": "map", "demonstrated_sign_in_pages": 0, "demonstrated_pages": 1234}
    extra |= {"templates": 3, "steps": 20.5, "piece_steps": 8, "overlap": 2, "step_limits": [10, 20]}
    origin = {"command": "python -m benchmarks.x", "commit": "abc", "machine": "a machine"}
    (tmp_path / f"{name}.json").write_text(
        json.dumps({"rows": [row, {**row, "env_steps": 5_000}], **extra, **origin}), encoding="utf-8"
    )
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    head, _, first, second, *rest = getattr(tables, name)().splitlines()
    assert head.count("|") == first.count("|") == second.count("|")
    assert "| the agent | 50.0 % (40 to 60) | +10.0 (-5.0 to +20.0) | 2 |" in first
    assert second.endswith("| 5,000 |")
    assert "330 tasks" in rest[-1]


def test_results_of_recovery_make_a_table(tmp_path, monkeypatch):
    lift = {"lift": 0.1, "low": -0.05, "high": 0.2, "p": None}
    row = {"success": 0.5, "low": 0.4, "high": 0.6, "n": 990, "tasks": 330, "lift": lift}
    limits = {limit: {"success": 0.25, "low": 0.2, "high": 0.3, "n": 990} for limit in ("5", "30")}
    result = {part: [row, row] for part in ("rows", "led", "forced")} | {"by_limit": {"plain": limits, "recovering": limits}}
    origin = {"command": "python -m benchmarks.x", "commit": "abc", "machine": "a machine", "seeds": [0], "mistakes": 0.25}
    (tmp_path / "recovery.json").write_text(json.dumps(result | origin | {"cloning_updates": 1200}), encoding="utf-8")
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    head, _, plain, recovering, *rest = tables.recovery().splitlines()
    assert head.count("|") == plain.count("|") == recovering.count("|")
    assert plain == "| plain | 50.0 % (40 to 60) | 50.0 % (40 to 60) | 50.0 % (40 to 60) | 25.0 % |"
    assert "50.0 % (40 to 60) [+10.0 (-5.0 to +20.0)]" in recovering
    assert "n = 330 tasks" in rest[-1]
