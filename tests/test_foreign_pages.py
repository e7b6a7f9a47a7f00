"""The comparison of both browsers on pages of other software."""

from benchmarks.foreign_pages import compare, first_difference
from tests import needs

PAGES = {
    "equal.html": "<title>A</title><p>One",
    "styled.html": "<title>B</title><link rel=stylesheet href=css/s.css><p class=x>Hidden<p>Shown",
    "scripted.html": "<title>C</title><p id=p>One<script>p.textContent = 'Two'</script>",
    "handled.html": "<title>D</title><p onclick='a()' id=p>One</p><form action=/a onsubmit=\"return b('>')\"><button>Send</button></form>",
    "covered.html": "<title>E</title><a href=/a>Skip</a><p style='position: absolute; left: 0; top: 0; width: 99%; height: 99px'>Text",
}


@needs.chromium
def test_equal_pages_are_counted_with_styles_and_without(tmp_path, capfd):
    (tmp_path / "manual" / "css").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "manual" / name).write_text(f"<!doctype html><meta charset=utf-8>{text}")
    (tmp_path / "manual" / "css" / "s.css").write_text(".x { display: none }")
    rows = compare([tmp_path / "manual", tmp_path / "empty"], 10, 0)
    assert rows == {"manual": {"pages": 5, "without_styles": 3, "with_styles": 4}}
    differences = capfd.readouterr()
    assert "covered.html" in differences.out + differences.err


def test_the_first_different_lines_are_printed():
    assert "'b'" in first_difference(["a", "b"], ["a", "c"])
    assert "'c'" in first_difference(["a"], ["a", "c"])
