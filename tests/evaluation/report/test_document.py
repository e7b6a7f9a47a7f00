"""The file of a report: equal episodes give equal bytes, and hostile text stays text."""

import base64
import hashlib
import re

from agents.evaluation.report.document import write_report
from agents.evaluation.report.sources import Sources
from tests.reports import HOSTILE, data_of, trajectory, unpacked
from tests.reports import expert as expert
from tests.reports import shop_tasks as shop_tasks


def test_equal_episodes_give_an_equal_file(tmp_path, expert):
    texts = []
    for name in "ab":
        write_report(tmp_path / name / "report.html", Sources({}, {"expert": expert}), title="Title")
        texts.append((tmp_path / name / "report.html").read_bytes())
    assert texts[0] == texts[1]


def test_reports_escape_all_episode_data_and_allow_only_their_script(tmp_path):
    path = tmp_path / "report.html"
    runs = {HOSTILE: [{"update": 1, HOSTILE: 1.0}]}
    write_report(path, Sources(runs, {HOSTILE: [trajectory()]}), title=HOSTILE, lead=HOSTILE, pages=False)
    text = path.read_text("utf-8")
    assert text.count("<script") == 3
    assert "<img" not in text.replace("<iframe", "")
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    (head,) = data_of(text)["episodes"]
    packed = re.search(r'<script type="application/gzip" id="steps-0">(.*?)</script>', text).group(1)
    assert (head["policy"], unpacked(packed)["steps"][0]["error"]) == (HOSTILE, f"no {HOSTILE}")
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'" in text
