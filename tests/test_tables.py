"""The tables of results: what the documents show is what the result files say."""

import json
import re

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


def test_what_stands_around_a_table_stays_and_results_name_their_command_and_commit(monkeypatch):
    with pytest.raises(KeyError, match="magic"):
        tables.written("<!-- begin magic -->\n<!-- end magic -->")
    monkeypatch.setitem(tables.TABLES, "learning", lambda: "| new |\n")
    document = "before\n<!-- begin learning -->\n| old |\n<!-- end learning -->\nafter"
    assert tables.written(document) == document.replace("old", "new")
    for path in tables.RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert re.search(r'"command": *"python -m benchmarks', text), path
        assert '"commit"' in text, path
    assert (tables.RESULTS / "learning.json").exists()


def result(**more):
    lift = {"lift": 0.1, "low": -0.05, "high": 0.2, "p": None}
    score = {"success": 0.5, "low": 0.4, "high": 0.6, "n": 660}
    row = {"method": "x", "title": "the agent", **score, "lift": lift, "seeds": 2, "tasks": 330, "cpu_minutes": 3.0}
    row["greedy"] = {"clone": score | {"success": 0.25}, "after": score, "lift": lift}
    origin = {"command": "python -m benchmarks.x --save y --jobs 2 --json", "commit": "abc", "machine": "a machine, 4 cores"}
    return {"rows": [row | {"title": "the start"}, row], "n": 330, "seeds": [0, 1], **origin, **more}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    return lambda name, **more: (tmp_path / f"{name}.json").write_text(json.dumps(result(**more)), encoding="utf-8")


def test_further_questions_are_rows_and_methods_begin_with_the_clone_that_they_share(kept, monkeypatch):
    monkeypatch.setattr(tables, "OTHERS", {"the question": ["a", 1]})
    kept("a", begun_at=["abc", "def"])
    *_, row, _, note = tables.others().splitlines()
    assert row == "| the question | 50.0 % (40 to 60) | +10.0 (-5.0 to +20.0) | 330 | 2 | `a` |"
    assert note == "`benchmarks.x`, commit abc (runs begun at def), 4 cores."
    kept("a")
    head, _, clone, row, _, note = tables.methods("a").splitlines()
    assert head == "| | success | lift | CPU minutes |"
    assert clone == "| the clone | 25.0 % (40 to 60) | | |"
    assert row == "| the agent | 50.0 % (40 to 60) | +10.0 (-5.0 to +20.0) | 3.0 |"
    assert note.startswith("n = 330, 2 seeds: `benchmarks.x`")
    assert len(tables.methods("a", columns=("before", "success")).splitlines()) == 5


def test_every_field_of_a_result_is_printed(kept):
    kept("a", curve=list(range(40)))
    text = tables.every_field("a")
    assert "| greedy.clone.success |" in text
    assert "0.25" in text
    assert "curve: 40 values\n" in text
    assert "command: python -m benchmarks.x --save y --jobs 2 --json\n" in text
