"""Groups of rollouts, the trees that the report draws of them, and a report that follows a run."""

import http.client
import json
import random
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

import pytest

from agents import search
from agents.data.trajectories import Step, Trajectory
from agents.evaluation.report.curves import successes, trees
from agents.evaluation.report.document import LiveReport, create_app, entry_names, render_report, write_report
from agents.evaluation.report.sources import RunGroup, Sources, newest_groups, read_sources
from agents.grpo import step_advantages
from agents.report import main
from agents.rollouts.curriculum import Group
from agents.train_rl import make_settings
from agents.training.credit import add_advantages, weight_steps
from agents.training.rollout_files import group_files, read_groups, write_groups
from tests import needs, tiny
from tests.errors import expect_error
from tests.reports import write_metrics
from tests.serving import serving_asgi
from webarena_gym.tasks import Task


def rollouts(seed, size=8, group=0):
    """Rollouts in a made-up site: what a step leads to follows from the steps before it."""
    drawn = random.Random(seed)
    made = []
    for _ in range(size):
        steps, path = [], "home"
        for _ in range(drawn.randrange(1, 5)):
            action = drawn.choice("ab")
            steps.append(
                Step(
                    f"URL: http://{path}.test/\n<h1>At {path}</h1>", f"go({action})", prompt_ids=tuple(path.encode()),
                    response_ids=(1,), logprobs=(-0.5,),
                )
            )  # fmt: skip
            path += action
        made.append(Trajectory("t/1", "Goal", tuple(steps), float(drawn.random() < 0.5), "exited", group=group))
    return made


def settings_of(**options):
    return make_settings("grpo", model="m", out="out", **options)


def steps_of(trajectories, settings):
    parts = [(group, step_advantages(group, settings)) for group in tiny.grouped(trajectories)]
    return weight_steps([part for part in parts if any(part[1])])


def group_of(seed, number=0):
    group = Group(number, Task("t/1", ("shopping",), "", "Goal", {}), rollouts(seed, group=number))
    return add_advantages([group], steps_of(group.trajectories, settings_of()))


def is_mixed(seed):
    return len({item.reward for item in rollouts(seed)}) > 1


@pytest.mark.parametrize("advantages", ["state", "trajectory", "gigpo"])
@pytest.mark.parametrize("seed", range(8))
def test_every_step_has_the_advantage_that_it_is_trained_with(seed, advantages):
    settings = settings_of(advantages=advantages)
    trajectories = [item for number in range(3) for item in rollouts(seed + number, group=number)]
    trajectories[2] = Trajectory("t/1", "Goal", trajectories[2].steps, float("nan"), "failed", failure="broken")
    groups = [
        Group(number, Task("t/1", ("shopping",), "", "Goal", {}), trajectories[8 * number : 8 * number + 8])
        for number in range(3)
    ]
    found = add_advantages(groups, steps_of(trajectories, settings))
    for own, of_group in zip(tiny.grouped(found), tiny.grouped(trajectories), strict=True):
        expected = step_advantages(of_group, settings)
        assert [replace(item, advantages=()) for item in own] == of_group
        assert [value for item in own for value in item.advantages] == (expected if any(expected) else [])


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_read_as_they_were_written_without_tokens(tmp_path, seed):
    groups = [group_of(seed, number) for number in range(4)]
    write_groups(tmp_path, 7, chain(*groups))
    assert list(group_files(tmp_path)) == [7]
    bare = {"prompt_ids": (), "response_ids": (), "logprobs": ()}
    assert read_groups(group_files(tmp_path)[7]) == [
        [replace(item, steps=tuple(replace(step, **bare) for step in item.steps)) for item in group] for group in groups
    ]


def test_the_newest_groups_with_different_rewards_come_first(tmp_path):
    equal = [replace(item, group=number) for number, item in enumerate(rollouts(0, 3), 100)]
    for update in (5, 10, 15):
        write_groups(
            tmp_path, update, [*equal, *chain(*(group_of(seed, update + seed) for seed in range(3) if is_mixed(seed)))]
        )
    found = newest_groups({"run": tmp_path}, 4)
    assert [group.update for group in found] == sorted((group.update for group in found), reverse=True)
    assert all(len({item.reward for item in group.rollouts}) == 2 for group in found)
    assert len(newest_groups({"run": tmp_path}, 1000)) > 4
    assert newest_groups({"none": tmp_path / "none"}) == []


def test_success_is_counted_by_template_and_update(tmp_path):
    for update in (2, 4, 6):
        write_groups(tmp_path, update, chain(*(group_of(seed, seed) for seed in range(update))))
    (counts,) = successes({"run": tmp_path, "none": tmp_path / "none"})["run"].values()
    for update, path in group_files(tmp_path).items():
        rewards = [item.reward for group in read_groups(path) for item in group]
        assert counts[update] == (sum(rewards), len(rewards))
    write_groups(tmp_path, 6, group_of(0))
    assert successes({"run": tmp_path})["run"]["t/1"][6][1] == 8


def states(state):
    yield state
    for branch in state["branches"]:
        for following in branch["states"]:
            yield from states(following)


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_holds_every_step_once(seed):
    group = group_of(seed)
    (drawn,) = trees([RunGroup("run", 3, group)])
    every = list(states(drawn["tree"]))
    branches = [branch for state in every for branch in state["branches"]]
    assert drawn["tree"]["visits"] == len(group)
    for state in every:
        assert state["visits"] == sum(branch["visits"] for branch in state["branches"])
        assert len({branch["action"] for branch in state["branches"]}) == len(state["branches"])
    for branch in branches:
        assert branch["visits"] == len(branch["ends"]) + sum(state["visits"] for state in branch["states"])
        own = [group[number - 1] for number, _, _ in branch["at"]]
        assert branch["value"] == pytest.approx(sum(item.reward for item in own) / len(own), abs=1e-4)
    found = {(number, step): advantage for branch in branches for number, step, advantage in branch["at"]}
    assert found == {
        (number, step): item.advantages[step - 1] if item.advantages else None
        for number, item in enumerate(group, 1)
        for step in range(1, len(item.steps) + 1)
    }


@needs.chromium
def test_a_group_is_one_click_from_the_front_page(chromium, tmp_path):
    groups = [RunGroup("M-GRPO", 3, group_of(seed, seed)) for seed in range(20) if is_mixed(seed)][:3]
    write_report(tmp_path / "report.html", Sources({}, {}, groups), title="Title", pages=False)
    page = chromium.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("#viewer:not([hidden])")
    page.get_by_role("link", name="Groups", exact=True).click()
    assert page.locator("#group .state").count() == len(list(states(trees(groups)[0]["tree"])))
    page.locator("#groups-list a").nth(2).click()
    page.wait_for_url(re.compile(f"#group/M-GRPO/3/{groups[2].number}$"))
    branch = trees(groups)[2]["tree"]["branches"][0]
    first = page.locator("#group .branch").first
    page.wait_for_selector("#groups-list li:nth-child(3) a[aria-current]")
    assert first.locator(".advantage").inner_text() == "A = " + (f"{branch['advantage']:+.4g}" if branch["advantage"] else "0")
    first.get_by_role("link").click()
    number, step, _ = branch["at"][0]
    page.wait_for_url(re.compile(f"#episode/M-GRPO%2C%20update%203/{number}/{step}$"))
    page.wait_for_selector(f".action:text-is('{branch['action']}')")
    page.close()


@needs.chromium
@pytest.mark.parametrize("method", ["tree", "mcts"])
def test_searches_are_drawn_as_trees(chromium, tmp_path, method):
    options = ["--policy", "random", "--split", "validation", "--limit", "2", "--method", method, "--budget", "20"]
    search.main([*options, "--max-steps", "6", "--save-trees", str(tmp_path / "searched")])
    sources = read_sources([str(tmp_path / "searched")])
    drawn = trees(sources.groups)
    assert len(drawn) == 2
    assert any(len(state["branches"]) > 1 for group in drawn for state in states(group["tree"]))
    write_report(tmp_path / "report.html", sources, title="Title", pages=False)
    page = chromium.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("#viewer:not([hidden])")
    for number, group in enumerate(drawn):
        page.locator("#groups-list a").nth(number).click()
        page.wait_for_selector(f"#groups-list li:nth-child({number + 1}) a[aria-current]")
        assert page.locator("#group .state").count() == len(list(states(group["tree"])))
    page.close()


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
        return render_report(sources, title="Title", pages=False, entries=entry_names(sources))[0]

    with serving_asgi(create_app(LiveReport([str(run)], render, groups=5))) as url:
        yield url


def fetch(url, path, host=None):
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
        assert fetch(url, "/news") == (200, json.dumps({"curves": {}, "heat": {}, "held": []}))
        (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records(3)))
        for update in range(4, 8):
            assert json.loads(fetch(url, "/news")[1])["curves"]["run"]["values"]["update"] == list(range(1, update))
            with (run / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(records(update)[-1]) + "\n" + '{"update": 9')  # the next line is being written
            (run / "metrics.jsonl").write_text((run / "metrics.jsonl").read_text().removesuffix('{"update": 9'))
        write_groups(run, 7, chain(*MIXED))
        assert json.loads(fetch(url, "/news")[1])["held"] == [f"run/7/{group[0].group}" for group in MIXED]


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
        found, body = fetch(url, path, host)
    assert found == status
    assert ("connect-src 'self'" in body) == (status == 200)


def test_the_page_is_made_again_when_files_have_changed_and_only_then(tmp_path):
    write_metrics(tmp_path / "run", records(2))
    made = []
    watched = LiveReport([str(tmp_path / "run")], lambda sources: made.append(len(sources.runs["run"])) or "page", groups=5)
    for _ in range(3):
        assert watched.page() == "page"
    append(tmp_path / "run", 5)
    watched.news()
    watched.page()
    assert made == [2, 5]


def test_the_watch_command_prints_its_url_and_rejects_missing_folders(tmp_path, capsys):
    with expect_error(SystemExit, 2):
        main(["--watch", str(tmp_path / "gone")])
    assert "gone does not exist; expected the folder of a run, which may be empty" in capsys.readouterr().err
    command = [sys.executable, "-m", "agents.report", "--watch", "--port", "0", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = re.match(r"(http://127.0.0.1:\d+)/ follows ", process.stdout.readline()).group(1)
        assert fetch(url, "/")[0] == 200
        process.kill()


@needs.chromium
def test_a_run_is_followed_in_the_browser(chromium, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    with watching(run) as url:
        page = chromium.new_page()
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        page.wait_for_selector("#watched-state:text-is('Nothing is there yet.')")
        (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records(2)))
        page.wait_for_selector("figure .legend:has-text('0.015 at 2')")  # the mean of both updates
        page.locator("#curve-smoothing").select_option("15")
        append(run, 5)
        page.wait_for_selector("#watched-state:has-text('run: 5 updates')")
        page.wait_for_selector("figure .legend:has-text('at 5')")
        assert page.locator("#curve-smoothing").input_value() == "15"  # it was not loaded again
        write_groups(run, 5, chain(*MIXED))
        page.wait_for_selector("#heat .cell[title^='t/1, update 5: ']")
        page.get_by_role("button", name="Load newer groups and episodes").click()
        page.wait_for_selector("#groups-list li:nth-child(2)")
        page.wait_for_selector("#watched-load", state="hidden")
        page.close()
    assert not problems
