"""The benchmark of searches: a row for each, on the same tasks and within the same budget."""

import json

from benchmarks import searches


def test_every_search_has_a_row_within_its_budget(capsys):
    arguments = ["--policy", "random", "--limit", "2", "--budget", "12", "--max-steps", "6", "--json"]
    searches.main(arguments)
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    assert [row["title"] for row in rows] == list(searches.ROWS)
    assert rows[0]["lift"]["lift"] == 0
    for row in rows:
        assert row["n"] == 2
        assert 0 < row["env_steps"] <= 2 * 12
        assert row["success"] <= row["oracle_any"]["success"]
