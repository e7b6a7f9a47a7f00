"""The check of plain English notices each habit, and its list of allowed counts can only shrink."""

import pytest

from tests import english

WRITTEN_OUT = {
    "a word of a docstring": ('"""The page tells the price."""', "tells"),
    "a word of a variable's docstring": ('SIZE = 1\n"""It is said here."""', "said"),
    "a word of a comment": ("x = 1  # drawn anew", "anew"),
    "a word of an error message": ("raise ValueError(f'{x} stands here')", "stands"),
    "whether": ('def f():\n    """Return whether it rains."""', "return whether"),
    "a participle as a type": ("class Told: ...", "`Told`"),
    "a participle at the end of a type": ("class StepTaken: ...", "`StepTaken`"),
    "a participle as a function": ("def _parted(): ...", "`_parted`"),
    "an irregular participle as a coroutine": ("async def shown(): ...", "`shown`"),
    "a pronoun as a method": ("class Page:\n    def each(self): ...", "`each`"),
    "a vague verb": ("def _tell(): ...", "`_tell`"),
    "a vague verb of two words": ("def _give_up(): ...", "`_give_up`"),
    "a participle as a variable": ("for found in x: ...", "`found`"),
    "a participle as a parameter": ("def count(wanted): ...", "`wanted`"),
}


@pytest.mark.parametrize(("source", "habit"), WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_each_habit_of_code_is_noticed(source, habit):
    assert [name for _, name in english.habits_of_code(source)] == [habit]


@pytest.mark.parametrize(
    "source",
    [
        "def seed(): ...", "def visited_pages(): ...", "def is_signed_in(): ...", "class PageChangedError(Exception): ...",
        "def __iter__(self): ...", "text = 'he said so'", "x = 1  # the option `told`", "def close_solved(): ...", "class Bed: ...",
    ],
)  # fmt: skip
def test_nouns_verbs_strings_and_quoted_code_are_no_habits(source):
    assert list(english.habits_of_code(source)) == []


def test_only_the_names_of_tests_are_checked_in_tests():
    source = "def test_what_it_says(): ...\n\ndef test_values():\n    told = 1  # alike\n"
    assert list(english.habits_of_tests(source)) == [(1, "`test_what_it_says`")]


def test_documents_are_read_without_their_code():
    text = "# A\n\n```sh\nsay told\n```\n\nIt `stands` there.\nAll are Alike.\n"
    assert list(english.habits_of_text(text)) == [(8, "alike")]


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Return the one Python file of a repository whose list allows `said` twice in it."""
    monkeypatch.setattr(english, "ROOT", tmp_path)
    monkeypatch.setattr(english, "ALLOWED", tmp_path / "allowed.txt")
    english.ALLOWED.write_text("agents/a.py: said 2\n", encoding="utf-8")
    (tmp_path / "agents").mkdir()
    return tmp_path / "agents" / "a.py"


def test_a_count_that_grows_fails_and_the_list_only_shrinks(source, capsys):
    source.write_text("# said\n# said\n", encoding="utf-8")
    assert english.main([]) == 0
    assert capsys.readouterr().out == ""
    source.write_text("# said\n# said\n# said\n# told\n", encoding="utf-8")
    assert english.main([]) == 1
    printed = capsys.readouterr().out
    assert "agents/a.py: said is used 3 times, allowed are 2 (lines 1, 2, 3)" in printed
    assert "agents/a.py: told is used 1 times, allowed are 0 (lines 4)" in printed
    assert english.main(["--tighten"]) == 1
    assert english.ALLOWED.read_text(encoding="utf-8") == "agents/a.py: said 2\n"
    source.write_text("# said\n", encoding="utf-8")
    assert english.main([]) == 0  # a use that is gone breaks nobody's check
    assert "1 allowed uses are gone" in capsys.readouterr().out
    assert english.main(["--tighten"]) == 0
    assert english.ALLOWED.read_text(encoding="utf-8") == "agents/a.py: said 1\n"
    source.write_text("", encoding="utf-8")
    assert english.main(["--tighten"]) == 0
    assert english.ALLOWED.read_text(encoding="utf-8") == ""
