"""Random actions on pages of other software in both browsers."""

from benchmarks import foreign_walks
from benchmarks.foreign_walks import compare
from tests import needs

FORM = (
    "<!doctype html><meta charset=utf-8><title>Form</title><form action=/send method=post><input name=a required><input name=m type=email>"
    "<select name=s><option>A<option>B</select><input type=checkbox name=c><input type=file name=f><button>Send</button></form>"
    "<a href=other.html>Other</a> <a href=https://elsewhere.test/x>Elsewhere</a><iframe src=other.html></iframe>"
)
COVERED = "<!doctype html><a href=/a>Skip</a><p style='position: absolute; left: 0; top: 0; width: 99%; height: 99px'>Text"


@needs.chromium
def test_walks_are_counted_and_their_first_differences_are_printed(tmp_path, capfd):
    for folder, files in {
        "forms": {"form.html": FORM, "other.html": "<p>Other"},
        "covered": {"covered.html": COVERED},
        "empty": {},
    }.items():
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)
    folders = [tmp_path / name for name in ("forms", "covered", "empty")]
    rows = compare(folders, 5, 12, 0)
    assert rows == {
        "forms": {"walks": 2, "equal": 2, "actions": 24},
        "covered": {"walks": 1, "equal": 0, "actions": 0, "text": 1},
    }
    printed = capfd.readouterr()
    assert "covered.html: text after 0 actions, opened" in printed.out + printed.err
    assert compare(folders[:1], 5, 1, 0, forms_only=True) == {"forms": {"walks": 1, "equal": 1, "actions": 1}}


@needs.chromium
def test_a_difference_of_the_requests_ends_the_walk(tmp_path, monkeypatch):
    (tmp_path / "form.html").write_text(FORM)
    perform = foreign_walks._perform

    def perform_wrongly(browser, action, start):
        return perform(browser, action, start + "?wrong" if isinstance(browser, foreign_walks.InProcessBrowser) else start)

    monkeypatch.setattr(foreign_walks, "_perform", perform_wrongly)
    assert compare([tmp_path], 1, 3, 0)[tmp_path.name] == {"walks": 1, "equal": 0, "actions": 0, "requests": 1}
