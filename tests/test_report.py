"""`python -m agents.report`: its file, its table and its errors."""

import csv
import hashlib
import json
import re

import pytest

from agents.data.trajectories import write_trajectories
from agents.report import main
from tests.errors import expect_error
from tests.reports import HOSTILE, data_of, played, trajectory
from webarena_gym import suite as task_suite


def test_reports_over_the_size_limit_omit_pages_then_steps_and_state_it(tmp_path, capsys):
    noise = [hashlib.sha512(str(number).encode()).hexdigest() * 100 for number in range(60)]
    episodes = [trajectory(task_id=f"t/{number}", page="".join(noise[number:] + noise[:number])) for number in range(60)]
    write_trajectories(tmp_path / "a.jsonl", episodes)
    write_trajectories(tmp_path / "b.jsonl", episodes[:2])
    path = tmp_path / "report.html"
    main(["--out", str(path), "--megabytes", "0.4", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")])
    text = path.read_text("utf-8")
    heads = data_of(text)["episodes"]
    assert path.stat().st_size < 400_000
    assert len(heads) == 62  # none is left out of the lists
    assert [head["policy"] for head in heads[:5]] == ["a", "b", "a", "b", "a"]
    held = [head["holds"] != "" for head in heads]
    assert 4 < sum(held) < 62
    assert held == sorted(held, reverse=True)
    left = 62 - sum(held)
    assert f"a: the last {left} of 60 episodes are here without their steps" in text
    assert f"60 episodes of a ({left} without steps" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_episodes_are_a_table_that_data_frames_are_made_of(tmp_path, suffix, capsys):
    expert = played(task_suite.draw(["shopping.cart_add", "shopping.reviews_place"], world_seed=1000, count=1))
    endings = [("truncated", 1.0), ("exited", 0.0), ("truncated", 0.0), ("too_long", 0.0), ("failed", float("nan"))]
    outcomes = ["solved", "wrong", "out of steps", "prompt too long", "broken, not counted"]
    write_trajectories(tmp_path / "mixed.jsonl", [*expert, *(trajectory(reward, ending) for ending, reward in endings)])
    out = tmp_path / "out" / f"table{suffix}"
    main(["--to-dataframe", str(out), str(tmp_path / "mixed.jsonl")])
    assert capsys.readouterr().out == f"{out}: {len(expert) + 5} episodes\n"
    assert not (tmp_path / "report.html").exists()
    with out.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file)) if suffix == ".csv" else [json.loads(line) for line in file]
    assert [row["outcome"] for row in found] == ["solved"] * len(expert) + outcomes
    assert [str(row["steps"]) for row in found[: len(expert)]] == [str(len(item.steps)) for item in expert]
    assert found[0]["goal"] == expert[0].goal
    assert found[-2]["goal"] == f"Buy {HOSTILE}"
    assert found[-1]["reward"] in ("", None)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(out) if suffix == ".csv" else pandas.read_json(out, lines=True)
    assert frame["reward"].sum() == len(expert) + 1
    assert frame["reward"].isna().sum() == 1


def test_bad_arguments_end_with_the_status_2(tmp_path, capsys):
    write_trajectories(tmp_path / "one.jsonl", [trajectory()])
    with expect_error(SystemExit, 2):
        main(["--to-dataframe", str(tmp_path / "a.parquet"), str(tmp_path / "one.jsonl")])
    assert "a.parquet has the suffix '.parquet'; expected .csv or .jsonl" in capsys.readouterr().err
    with expect_error(SystemExit, 2):
        main([str(tmp_path / "gone")])
    assert "gone does not exist; expected" in capsys.readouterr().err


def test_the_report_command_writes_the_file_and_prints_a_summary(tmp_path, capsys):
    write_trajectories(tmp_path / "episodes_random.jsonl", [trajectory()])
    out = tmp_path / "out" / "report.html"
    main(["--out", str(out), "--no-pages", "--title", "A & B", str(tmp_path / "episodes_random.jsonl")])
    assert re.search(r"report.html: 0.\d MB; 1 episodes of random$", capsys.readouterr().out.strip())
    assert "<h1>A &amp; B</h1>" in out.read_text("utf-8")
    with expect_error(SystemExit, 0):
        main(["--help"])
    assert "python -m agents.report --out report.html runs/demo" in capsys.readouterr().out
