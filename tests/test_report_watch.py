"""A report that follows runs: what its server tells, and what a person sees of it."""

import http.client
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from itertools import chain

import pytest

from agents.evaluation.report.document import Watched, create_app, held, render_report
from agents.report import main
from agents.training.rollouts import write_groups
from tests import needs
from tests.serving import serving_asgi
from tests.test_report import chromium, write_metrics  # noqa: F401 - a fixture
from tests.test_report_groups import group_of, is_mixed

MIXED = [group_of(seed, seed) for seed in range(20) if is_mixed(seed)][:2]


def records(updates):
    return [{"update": update, "success": update / 100, "loss": 1 / update} for update in range(1, updates + 1)]


def append(run, updates):
    with (run / "metrics.jsonl").open("a") as file:
        for record in records(updates)[-3:]:
            file.write(json.dumps(record) + "\n")


@contextmanager
def watching(run):
    def render(sources):
        return render_report(sources, title="Title", pages=False, watched=held(sources))[0]

    with serving_asgi(create_app(Watched([str(run)], render, groups=5))) as url:
        yield url


def asked(url, path, host=None):
    address = url.removeprefix("http://")
    connection = http.client.HTTPConnection(address)
    connection.request("GET", path, headers={"Host": host or address})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def test_news_are_what_the_run_has_reached(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    with watching(run) as url:
        assert asked(url, "/news") == (200, json.dumps({"curves": {}, "heat": {}, "held": []}))
        (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records(3)))
        for update in range(4, 8):
            assert json.loads(asked(url, "/news")[1])["curves"]["run"]["values"]["update"] == list(range(1, update))
            with (run / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(records(update)[-1]) + "\n" + '{"update": 9')  # the next line is being written
            (run / "metrics.jsonl").write_text((run / "metrics.jsonl").read_text().removesuffix('{"update": 9'))
        write_groups(run, 7, chain(*MIXED))
        assert json.loads(asked(url, "/news")[1])["held"] == [f"run/7/{group[0].group}" for group in MIXED]


@pytest.mark.parametrize(("path", "host", "status"), [
    ("/", None, 200),
    ("/", "localhost:80", 200),
    ("/", "elsewhere.test", 403),
    ("/news", "elsewhere.test:8090", 403),
    ("/../../etc/passwd", None, 404),
])  # fmt: skip
def test_only_this_machine_is_answered_and_only_with_the_report(tmp_path, path, host, status):
    write_metrics(tmp_path / "run", records(2))
    with watching(tmp_path / "run") as url:
        found, body = asked(url, path, host)
    assert found == status
    assert ("connect-src 'self'" in body) == (status == 200)


def test_the_page_is_made_again_when_files_have_changed_and_only_then(tmp_path):
    write_metrics(tmp_path / "run", records(2))
    made = []
    watched = Watched([str(tmp_path / "run")], lambda sources: made.append(len(sources.runs["run"])) or "page", groups=5)
    for _ in range(3):
        assert watched.page() == "page"
    append(tmp_path / "run", 5)
    watched.news()
    watched.page()
    assert made == [2, 5]


def test_the_command_says_where_it_is_and_what_is_not_there(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--watch", str(tmp_path / "gone")])
    assert "gone is not there; expected the folder of a run, which may be empty yet" in capsys.readouterr().err
    command = [sys.executable, "-m", "agents.report", "--watch", "--port", "0", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = re.match(r"(http://127.0.0.1:\d+)/ follows ", process.stdout.readline()).group(1)
        assert asked(url, "/")[0] == 200
        process.kill()


@needs.chromium
def test_a_run_is_followed_in_the_browser(chromium, tmp_path):  # noqa: F811 - the fixture
    run = tmp_path / "run"
    run.mkdir()
    with watching(run) as url:
        page = chromium.new_page()
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        page.wait_for_selector("#watched-state:text-is('Nothing is there yet.')")
        (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records(2)))
        page.wait_for_selector("figure .legend:has-text('0.02 at 2')")
        page.locator("#curve-smoothing").select_option("5")
        append(run, 5)
        page.wait_for_selector("#watched-state:has-text('run: 5 updates')")
        page.wait_for_selector("figure .legend:has-text('at 5')")
        assert page.locator("#curve-smoothing").input_value() == "5"  # it was not loaded again
        write_groups(run, 5, chain(*MIXED))
        page.wait_for_selector("#heat .cell[title^='t/1, update 5: ']")
        page.get_by_role("button", name="Load newer groups and episodes").click()
        page.wait_for_selector("#groups-list li:nth-child(2)")
        page.wait_for_selector("#watched-load", state="hidden")
        page.close()
    assert not problems
