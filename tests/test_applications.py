"""Real work on applications that we did not write: the shop django-oscar and the tracker Roundup, through `gym.make` in Chromium.

Each flow is what one person does, a step a line: what is done, to which element, with what; and, behind "->", what must be
on the page then (`data/flows.txt`). Every step of every flow must work: the applications are the measure, not this package's own sites.
"""

from pathlib import Path

import gymnasium
import pytest

import webarena_gym  # noqa: F401 - registers the env
from tests import needs
from tests.bookshop import LOGIN as SHOP_LOGIN
from tests.bookshop import STAFF, selling
from tests.tracker import ANN, tracking
from tests.tracker import LOGIN as TRACKER_LOGIN
from webarena_gym.actions import Action, Kind
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer

pytestmark = needs.chromium


def read_flows():
    """Return the flows by name, each step as its line, an action, and the text that must be on the page afterwards."""
    flows = {}
    for line in (Path(__file__).parent / "data" / "flows.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            steps = flows[line.strip("[]")] = []
        elif line:
            does, _, shown = line.partition(" -> ")
            verb, _, rest = does.strip().partition(": ")
            element, _, argument = ("", "", rest) if verb == "Press" else rest.partition(" = ")
            steps.append((line, Action(Kind(verb), element or None, argument or None), shown))
    return flows


FLOWS = read_flows()


def play(env, info, flow):
    """Do the steps of a flow; return those that did not work, with what was said or seen instead."""
    failed = []
    dialect = env.unwrapped.dialect
    for line, action, shown in FLOWS[flow]:
        before = info["page"]
        _, _, _, _, info = env.step(dialect.format(action))
        refused = info["action_error"] and not (shown and shown in info["action_error"])
        if refused or shown not in info["page"] or "failure" in info:
            failed.append(f"{line}\n{info.get('failure') or info['action_error'] or info['page']}\n(before: {before})")
            break
    return failed


def make(site, address, account, login, **options):
    task = Task("one", (site,), f"__{site.upper()}__/", "Do it.", answer(exact_match="yes"), require_login=account is not None)
    return gymnasium.make(
        "WebArenaLite-v0", browser="chromium", tasks=[task], sites={site: address}, elements="label", dialect="browsergym",
        max_steps=300, accounts={site: account} if account else None, logins={site: login}, **options,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def sessions_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with selling(tmp_path_factory.mktemp("shop")) as address:
        yield address


@pytest.fixture(scope="module")
def tracker(tmp_path_factory):
    with tracking(tmp_path_factory.mktemp("tracker")) as (_, address, _):
        yield address


def test_the_documents_state_the_number_of_steps():
    text = (Path(__file__).parents[1] / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert f"`tests/test_applications.py` also performs {sum(map(len, FLOWS.values()))} steps" in text


@pytest.mark.parametrize(("account", "flows"), [
    pytest.param(None, ["visitor"], marks=pytest.mark.slow),
    pytest.param(None, ["buyer"], marks=pytest.mark.slow),
    pytest.param(STAFF, ["staff at work"], marks=pytest.mark.slow),
    pytest.param(STAFF, ["guest", "orders and customers"], marks=pytest.mark.slow),
], ids=["visitor", "buyer", "staff", "orders"])  # fmt: skip
def test_every_step_works_in_the_shop(shop, account, flows):
    for flow in flows:
        env = make("shopping", shop, None if flow == "guest" else account, SHOP_LOGIN)
        _, info = env.reset()
        assert play(env, info, flow) == []
        env.close()


def test_every_step_works_in_the_tracker(opened, tracker):
    env = opened(make("gitlab", tracker, ANN, TRACKER_LOGIN))
    _, info = env.reset()
    assert play(env, info, "reporter") == []
