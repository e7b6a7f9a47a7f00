"""Rows of the leaderboard: checks, replays and forgeries."""

import json
import re
import shutil

import pytest

from tests.evaluations import RECORD
from webarena_gym.errors import ResultError
from webarena_gym.evaluation import leaderboard
from webarena_gym.evaluation.results import (
    EPISODES,
    RESULT,
    EpisodesFile,
    Record,
    parse_record,
    read_result,
    summarise,
)
from webarena_gym.suite import load as load_tasks
from webarena_gym.tools.cli import main


@pytest.fixture(scope="module")
def row(tmp_path_factory):
    """A row of the whole test split, by an agent that leaves at once."""
    folder = tmp_path_factory.mktemp("board") / "nobody"
    (folder.parent / "leaving.py").write_text("def agent(observation, info):\n    return 'exit(message=\"N/A\")'\n")
    assert main(["evaluate", "--agent", f"{folder.parent / 'leaving.py'}:agent", "--out", str(folder), "--jobs", "2"]) == 0
    (folder / leaderboard.ROW).write_text('{"name": "nobody | at all", "authors": "the tests", "link": "https://example.com"}')
    return folder


def test_a_row_is_checked_and_printed(capsys, row):
    status = main(["leaderboard", str(row.parent)])
    output = capsys.readouterr().out
    assert status == 0, output
    assert r"| 1 | [nobody \| at all](https://example.com) |" in output
    assert output.count("| yes |") == 1
    assert f"{len(load_tasks('test'))} tasks of the test split" in output
    assert leaderboard.check_row(row).result["success"]["success"] == pytest.approx(1 / 165)  # the one that cannot be done


def edit_line(number, **values):
    def edit(text):
        lines = text.splitlines()
        lines[number] = json.dumps({**json.loads(lines[number]), **values})
        return "\n".join(lines) + "\n"

    return edit


def edit_result(**values):
    return lambda text: json.dumps(json.loads(text) | values)


@pytest.mark.parametrize(("name", "edit", "fault"), [
    (RESULT, edit_result(success={"success": 1.0, "n": 165, "low": 0.9, "high": 1}), "success of the result file does not"),
    (RESULT, edit_result(command=[]), "command is []"),
    (RESULT, edit_result(format=7), "format=1"),
    (EPISODES, edit_line(3, reward=1.0), "does not follow"),
    (EPISODES, lambda text: "\n".join(text.splitlines()[:-1]) + "\n", "there are 164 episodes"),
    (EPISODES, lambda text: text + text.splitlines()[3] + "\n", "has an earlier judged record; expected one judged episode"),
    (EPISODES, edit_line(3, steps=[]), "has no steps"),
    (EPISODES, edit_line(0, version="0.0.0"), "version is '0.0.0'"),
    (EPISODES, edit_line(0, env={"max_steps": 31}), "max_steps"),
    (EPISODES, edit_line(0, env={"max_steps": 30, "side_effects": "ignored"}), "other keywords"),
    (EPISODES, edit_line(0, suite={"split": "test", "templates": None, "limit": 5}), "the test split is incomplete"),
    (EPISODES, edit_line(0, suite={}), "the test split is incomplete|malformed"),
    (leaderboard.ROW, lambda _: "{}", "has no name"),
    (leaderboard.ROW, lambda _: '{"name": 1}', "expected an object of the strings"),
])  # fmt: skip
def test_a_row_that_is_not_right_is_found(row, tmp_path, name, edit, fault):
    folder = shutil.copytree(row, tmp_path / "changed")
    (folder / name).write_text(edit((folder / name).read_text()))
    found = leaderboard.check_row(folder)
    assert re.search(fault.replace("[]", r"\[\]"), "\n".join(found.faults)), found.faults


PASSED = {"check": "state", "passed": True, "reason": "trust me", "decided_by": "state"}


@pytest.mark.parametrize(("header", "record", "about"), [
    ({}, {"reward": 1.0, "verdicts": [PASSED]}, {}),
    ({}, {"ending": "too_long", "reward": 1.0, "verdicts": []}, {}),
    ({}, {"verdicts": [PASSED | {"passed": False}]}, {}),
    ({}, {"steps": [{"url": "http://shop.test/", "reply": 'exit(message="N/A")', "action_error": "the env's fault"}]}, {}),
    ({}, {"verdicts": ["passed"]}, {}),
    ({}, {"steps": [{"reply": 1}]}, {}),
    ({}, {"side_effects": ["none"]}, {}),
    *(({}, {name: value}, {}) for name in ("cost", "seconds", "prompt_tokens") for value in (-1e9, float("nan"), float("inf"), 10**400)),
    ({}, {"sites": ["map"]}, {}),
    ({}, {"checks": []}, {}),
    *(({}, {"reference_steps": value}, {}) for value in (None, -1, 1000)),
    ({"repeats": 10**12}, {}, {}),
    ({"seed": None, "env": {"max_steps": 30, "window": -1}}, {}, {}),
    ({"env": {"max_steps": 30, "history": "all"}}, {}, {}),
    ({"env": {"max_steps": 30, "browser": "my own"}}, {}, {}),
    *(({"suite": {name: value}}, {}, {}) for name, value in (("tasks", 9999), ("variation", "easy"), ("worlds", [10**30]), ("worlds", [*range(10**5)]))),
    *(({}, {}, {"link": link}) for link in ("javascript:alert(1)", "data:text/html,x", "https://", "https://x)<img src=x>", "https://x|y", " https://x", "//x")),
    ({}, {}, {"name": 1}),
])  # fmt: skip
def test_no_forged_row_passes(row, tmp_path, capsys, header, record, about):
    """Figures are made to follow from what is forged, as a forger would."""
    forge(row, tmp_path, header, record, about)
    assert main(["leaderboard", str(tmp_path)]) == 1
    assert "| yes |" not in capsys.readouterr().out


@pytest.mark.parametrize(("header", "record", "options", "why"), [
    ({"env": {"max_steps": 30, "browser": "chromium"}}, {}, (), "played in Chromium"),
    ({"agent": {"name": "command:x", "mode": "browse"}}, {"steps": []}, (), "played by a program with its own browser"),
    ({}, {}, ("--no-replay",), "not requested"),
])  # fmt: skip
def test_unverified_rows_are_not_ranked(row, tmp_path, capsys, header, record, options, why):
    forge(row, tmp_path, header, record, {"name": "<script>[x](javascript:y)`*\x1b|", "link": ""})
    assert main(["leaderboard", str(tmp_path), *options]) == 0
    output = capsys.readouterr().out
    assert f"| no: {why} |" in output
    assert "not replayed, and not ranked" in output
    assert r"|  | &lt;script&gt;\[x\](javascript:y)\`\* \| | 0.6 %" in output


def forge(row, tmp_path, header, record, about):
    """Copy a row, with parts of its header, of one of its episodes and of its description replaced."""
    folder = tmp_path / "forged"
    folder.mkdir()
    known, *lines = map(json.loads, (row / EPISODES).read_text().splitlines())
    suite = header.get("suite", {})
    known |= {**header, "suite": known["suite"] | suite}
    lines[2] |= record
    (folder / EPISODES).write_text("\n".join(map(json.dumps, [known, *lines])) + "\n")
    try:
        result = summarise(known, [Record(**line) for line in lines], ["webarena-gym", "evaluate"])
    except (TypeError, AttributeError, OverflowError):  # what nobody can make figures of
        result = json.loads((row / RESULT).read_text())
    (folder / RESULT).write_text(json.dumps(result))
    (folder / leaderboard.ROW).write_text(json.dumps({"name": "nobody"} | about))


def test_incomplete_files_and_folders_without_rows_are_rejected(tmp_path, capsys):
    assert main(["leaderboard", str(tmp_path)]) == 2
    with pytest.raises(ResultError):
        read_result(tmp_path / "none.json")
    file = EpisodesFile(tmp_path / "a" / EPISODES, {"format": 1})
    file.add(parse_record(RECORD, ""))
    assert main(["leaderboard", str(tmp_path)]) == 1
    assert f"{tmp_path / 'a'}: cannot read {tmp_path / 'a' / leaderboard.ROW}" in capsys.readouterr().out
    assert EpisodesFile(tmp_path / "a" / EPISODES, {"format": 1}).records.keys() == {("a/1/0", 0)}
