"""The tables of results: what the documents show is what the result files say."""

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
