"""Random acts show the same on both browsers; and where something is broken on one of them, they find it and tell how."""

import json
import shutil
from pathlib import Path

import pytest

from tests import needs
from tests.varying_app import make_state
from webarena_gym.applications.processes import close_all
from webarena_gym.browsers import inprocess
from webarena_gym.browsers.chromium.tab import Tab
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.sites.shopping import carts
from webarena_gym.tools import fuzz
from webarena_gym.tools.cli import main
from webarena_gym.tools.fuzz import STEPS, Walk, plan_walks, run_walks, search

pytestmark = needs.chromium


def test_walks_go_over_sites_and_worlds_in_turn_and_compare_what_was_asked_for():
    walks = list(plan_walks(1000, seed=3, sites=("map", "reddit"), world_seeds=(1, 2)))
    assert len(walks) * (STEPS + 1) >= 1000
    assert [(walk.site, walk.world_seed) for walk in walks[:4]] == [("map", 1), ("reddit", 1), ("map", 2), ("reddit", 2)]
    assert len({walk.seed for walk in (*walks, *plan_walks(1000, seed=4))}) > len(walks)


@pytest.mark.parametrize(
    ("variation", "seed", "states"),
    [("layout", 21, 60), *(pytest.param(*case, 550, marks=pytest.mark.slow) for case in (("content", 20), ("layout", 21)))],
)
def test_both_browsers_show_the_same_whatever_is_done(variation, seed, states):
    found = search(plan_walks(states, seed=seed, variation=variation))
    assert [str(fault) for fault in found.faults] == []
    assert found.states >= states


def break_history(monkeypatch):
    async def forget(self, answers):
        self.signals.has_new_document = False
        self.signals.history_event.clear()

    monkeypatch.setattr(Tab, "record_document", forget)


def break_fragments(monkeypatch):
    monkeypatch.setattr(inprocess, "_scroll_to_fragment", lambda entry: None)


def break_selects(monkeypatch):
    usual = InProcessBrowser.select

    def select(self, element, option):
        self._check_element(element)
        self._document.focus(element)
        usual(self, element, option)

    monkeypatch.setattr(InProcessBrowser, "select", select)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("broken", "walk", "most"), [
    (break_history, Walk("map", 1000, "content", 1000018000004), 3),
    (break_fragments, Walk("shopping", 77, "content", 1000035000036), 2),
    (break_selects, Walk("gitlab", 77, "content", 1000052), 3),
])  # fmt: skip
def test_faults_are_found_and_reduced_to_few_replies(monkeypatch, broken, walk, most):
    walks = [walk, *plan_walks(2000, seed=walk.seed, sites=(walk.site,), world_seeds=(walk.world_seed,))]
    broken(monkeypatch)
    found = next(found for found in (run_walks([each]) for each in walks) if found.faults)
    (fault,) = found.faults
    assert 1 <= len(fault.replies) <= most, str(fault)
    assert found.states >= len(fault.replies)
    assert all(repr(reply) in str(fault) for reply in fault.replies)
    monkeypatch.undo()
    assert run_walks([fault.walk]).faults == []


def test_the_command_counts_and_fails_for_differences(monkeypatch, capsys):
    arguments = ["fuzz", "--states", "40", "--site", "homepage", "--jobs", "1", "--json"]
    assert main(arguments) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["faults"] == 0
    assert result["states"] >= 40
    monkeypatch.setattr(InProcessBrowser, "go_back", lambda self: None)
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert json.loads(out.splitlines()[-1])["faults"] > 0
    assert "there is no earlier page" in out
    assert main(["fuzz", "--states", "0"]) == 2
    assert "--steps is '0'; expected a whole number of 1 or more" in capsys.readouterr().err


def test_destructive_walks_find_no_fault_and_name_what_a_site_raises(monkeypatch, capsys):
    arguments = ["fuzz", "--destructive", "--steps", "900", "--seed", "1", "--jobs", "1", "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["changes"] > 20
    monkeypatch.setattr(carts, "remove", lambda *_: 1 / 0)
    monkeypatch.setattr(carts, "obtain", lambda *_: 1 / 0)
    assert main([*arguments, "--sites", "shopping", "--steps", "500"]) == 1
    out = capsys.readouterr().out
    assert "ZeroDivisionError: division by zero" in out
    assert "shopping, world 1000" in out


def test_faults_are_printed_when_they_are_found(monkeypatch, capsys):
    walks = list(plan_walks(90, sites=["shopping"]))
    printed = []

    def search(walks, *, jobs, on_progress):
        found = fuzz.Findings()
        for walk in walks:
            found.faults.append(fuzz.Fault(walk, (), f"fault {walk.seed}"))
            on_progress(found)
            printed.append(capsys.readouterr().out)
        return found

    monkeypatch.setattr(fuzz, "search", search)
    assert main(["fuzz", "--steps", "90", "--sites", "shopping"]) == 1
    assert [f"fault {walk.seed}" in text for walk, text in zip(walks, printed, strict=True)] == [True] * len(walks)
    assert "fault" not in capsys.readouterr().out.replace("faults", "")


def test_rows_with_the_time_are_no_difference_between_the_browsers(tmp_path, capsys):
    make_state(tmp_path / "state")
    shutil.copy(Path(__file__).with_name("varying_app.py"), tmp_path)
    lines = ["name = 'notes'", "wsgi = 'varying_app:application'", "state = 'state'", "environment = { STATE = '{state}' }"]
    (tmp_path / "webarena-app.toml").write_text("\n".join([*lines, "databases = { notes = 'notes.db' }"]))
    main(["fuzz", "--application", str(tmp_path), "--steps", "20"])
    assert "the databases differ" not in capsys.readouterr().out
    close_all()
