"""Checks of files: their conditions, what they require of a description, and what verdicts show."""

from dataclasses import replace

import pytest

from tests.errors import expect_error
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.kinds.file import KIND, file_holds
from webarena_gym.evaluators.outcome import answer_outcome


def verdicts(folder, *arguments, **conditions):
    (check,) = KIND.readers["native"](file_holds(*arguments, **conditions))
    return check("", replace(answer_outcome(""), files=folder), None)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"Tea, hot\r\nInk\n")
    (tmp_path / "a.json").write_text('{"rows": [{"n": 1}, {"n": 2}]}')
    (tmp_path / "long.txt").write_text("x" * 300)
    (tmp_path / "binary").write_bytes(b"\0\xffabc\0words here\0")
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "conditions", "passed"),
    [
        ("a.txt", {}, True),
        ("b.txt", {}, False),
        ("a.txt", {"contains": "hot\nInk"}, True),
        ("a.txt", {"contains": "hot\r\nInk"}, True),
        ("a.txt", {"contains": "cold"}, False),
        ("a.txt", {"contains": None}, False),
        ("b.txt", {"contains": None}, True),
        ("a.txt", {"excludes": "cold"}, True),
        ("a.txt", {"excludes": "hot"}, False),
        ("b.txt", {"excludes": "hot"}, False),
        ("a.txt", {"equals": "Tea, hot\nInk"}, True),
        ("a.txt", {"equals": "Tea, hot\nInk\n"}, True),
        ("a.txt", {"equals": "Tea, hot"}, False),
        ("b.txt", {"equals": ""}, False),
        ("a.json", {"json_path": "rows.1.n", "equals": 2}, True),
        ("a.json", {"json_path": "rows.1.n", "equals": 3}, False),
        ("a.json", {"json_path": "rows.5.n", "equals": 2}, False),
        ("a.txt", {"json_path": "rows", "equals": 2}, False),
        ("b.json", {"json_path": "rows", "equals": 2}, False),
        ("sub/", {"contains": ""}, True),
        ("a.txt/", {"contains": ""}, False),
        ("sub/", {"contains": None}, False),
        ("sub", {"contains": ""}, False),
    ],
)
def test_conditions(folder, path, conditions, passed):
    (verdict,) = verdicts(folder, path, **conditions)
    assert verdict.passed is passed


def test_two_conditions_have_two_verdicts(folder):
    one, other = verdicts(folder, "a.txt", contains="hot", excludes="Ink")
    assert (one.check, one.passed, other.check, other.passed) == ("file", True, "file/exclude", False)


def test_verdicts_show_the_first_difference_and_an_excerpt(folder):
    (verdict,) = verdicts(folder, "a.txt", equals="Tea, hot\nInc")
    assert verdict.why.startswith("first difference in line 2: ")
    (verdict,) = verdicts(folder, "long.txt", contains="y")
    assert str(verdict).count("x") < 250
    assert "(300 bytes)" in str(verdict)
    (verdict,) = verdicts(folder, "binary", contains="y")
    assert "words here" in str(verdict)
    assert "abc" not in str(verdict)


@pytest.mark.parametrize(
    "check",
    [
        {"path": "a"},
        {"path": "/etc/passwd", "contains": ""},
        {"path": "../a", "contains": ""},
        {"path": "a\n", "contains": ""},
        {"path": "a", "contains": None, "excludes": "x"},
        {"path": "a", "json_path": "x", "contains": "y"},
        {"path": "a", "json_path": "x", "contains": "y", "equals": 1},
        {"path": "a", "equals": 1},
        {"path": "a/", "equals": "x"},
        {"path": "a", "contains": "", "other": 1},
    ],
    ids=str,
)
def test_descriptions_that_mean_nothing_are_rejected(check):
    with pytest.raises(EvaluationError):
        KIND.readers["native"]({"file": [check]})


def test_only_files_of_the_state_are_read(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_text("secret")
    (folder / "link").symlink_to(outside)
    with expect_error(EvaluationError, "'link'"):
        verdicts(folder, "link", contains="secret")
    with pytest.raises(EvaluationError, match="only applications have files"):
        verdicts(None, "a.txt")
