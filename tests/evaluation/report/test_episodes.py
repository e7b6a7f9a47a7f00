"""Episodes of a report: their pages are played again, with the elements of actions marked."""

import json
import random
import re
from contextlib import closing
from dataclasses import replace

import gymnasium
import pytest
from lxml import html as lxml_html

from agents.data.trajectories import Candidate, Step
from agents.evaluation.report.episodes import Assets, Replayer, pack_episodes, write_page
from agents.evaluation.report.sources import mark, task_of
from agents.settings import ENV_ID, EnvSettings
from tests.reports import expert as expert
from tests.reports import numbered as numbered
from tests.reports import played, trajectory, unpacked
from tests.reports import shop_tasks as shop_tasks
from webarena_gym import suite as task_suite
from webarena_gym.pages.page import Network, Page


@pytest.mark.parametrize("settings", [{}, {"elements": "id", "variation": "layout", "window": 900}], ids=str)
def test_episodes_are_played_again_with_their_elements_marked(settings, shop_tasks):
    tasks = task_suite.draw(["shopping.cart_add"], world_seed=1000, count=1, variation=settings.get("variation", "content"))
    (episode,) = played(tasks, **settings)
    with Replayer() as replayer:
        replay = replayer.replay(tasks[0], episode)
    assert (replay.problem, len(replay.pages)) == ("", len(episode.steps) + 1)
    for shown, step in zip(replay.pages, episode.steps, strict=False):
        page = lxml_html.fromstring(shown.html)
        marked = page.xpath("//*[@data-marked]")
        assert len(marked) == (shown.address is not None)
        assert bool(mark(step.page, shown.address)[1]) == bool(marked)
        assert not page.xpath("//script | //img[@src] | //link[@href] | //base")
    assert {replayer.assets.contents[key][:10] for key in replay.assets} >= {"data:image"}
    assert any(not content.startswith("data:") for content in replayer.assets.contents.values())


def test_replays_omit_and_report_pages_that_differ(shop_tasks, expert):
    episode = next(item for item in expert if len(item.steps) > 1)
    task = task_of(episode)
    steps = (episode.steps[0], replace(episode.steps[1], page="other"), *episode.steps[2:])
    with Replayer() as replayer:
        half = replayer.replay(task, replace(episode, steps=steps))
        none = replayer.replay(task, replace(episode, steps=steps[1:]))
        other = replayer.replay(task, replace(episode, env=None))
        unknown = replayer.replay(task_of(trajectory()), trajectory())
        empty = replayer.replay(task, replace(episode, steps=()))
    assert (len(half.pages), half.problem) == (1, "From step 2 on, the current env has different pages.")
    assert (none.pages, none.problem) == ([], "From step 1 on, the current env has different pages.")
    assert (other.pages, other.problem) == ([], "The settings of its env are unknown.")
    assert (unknown.pages, unknown.problem) == ([], "Its task does not belong to a generated world.")
    assert (empty.pages, empty.problem) == ([], "It has no steps.")


def test_a_label_that_resembles_is_marked_as_the_env_reads_it(shop_tasks):
    with closing(gymnasium.make(ENV_ID, tasks=shop_tasks, elements="label", disable_env_checker=True)) as env:
        _, info = env.reset(seed=0)
        step = Step(info["page"], 'do(action="Click", element="sign ou")')
    episode = replace(trajectory(task_id=info["task_id"]), steps=(step,), env=EnvSettings())
    _, blocks, _ = pack_episodes({"one": [episode]}, max_bytes=10**6, pages=True)
    (shown, _) = unpacked(blocks["pages-0"])["pages"]
    assert info["page"][slice(*shown["mark"])] == "<a>Sign Out</a>"


@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_marked_on_the_page_by_their_elements(shop_tasks, numbered, seed):
    rng = random.Random(seed)
    first = numbered[0].steps[0]
    known = re.findall(r'id="(\d+)"', first.page)
    named = [rng.choice([None, "no such element", *known[:8]]) for _ in range(10)]
    candidates = tuple(Candidate(f"deed {place}", rng.random() / 10, each) for place, each in enumerate(named))
    step = replace(first, candidates=candidates)
    with Replayer() as replayer:
        replay = replayer.replay(shop_tasks[0], replace(numbered[0], steps=(step, *numbered[0].steps[1:])))
    chances = sorted(float(value) for value in re.findall(r'data-chance="([\d.]+)"', replay.pages[0].html))
    there = {each for each in named if each in known}
    expected = [sum(item.probability for item in step.candidates if item.element == each) for each in there]
    assert expected
    assert chances == pytest.approx(sorted(expected), abs=1e-3)
    assert not any("data-chance" in shown.html for shown in replay.pages[1:])


def test_a_page_is_written_without_its_addresses_and_stays_as_it_is():
    root = lxml_html.document_fromstring(
        "<link rel=stylesheet href=/a.css><link rel=icon href=/i.png><base href=/x/><script>1</script><img src=/b.png alt=B srcset='/b.png 1x'>"
        "<img src=http://elsewhere.test/c.png><meta http-equiv=refresh content=0><iframe src=/f></iframe><p id=p>Text</p>"
    )
    before = lxml_html.tostring(root)

    def site(environ, start_response):
        kind = "text/css; charset=utf-8" if environ["PATH_INFO"].endswith(".css") else "image/png"
        start_response("200 OK", [("Content-Type", kind)])
        return [b"body{}"]

    assets = Assets()
    page = Page("http://shop.test/", "", root, (), 0)
    written, keys = write_page(page, root.get_element_by_id("p"), Network({"shop.test": site}), assets)
    assert lxml_html.tostring(root) == before
    assert [assets.contents[key] for key in keys] == ["body{}", "data:image/png;base64,Ym9keXt9"]
    assert not re.search(r"href|src|script|iframe|refresh|icon", written)
    assert '<p id="p" data-marked="">' in written


def test_pages_are_left_out_before_steps(expert):
    heads, blocks, whole = pack_episodes({"expert": expert}, max_bytes=10**8, pages=True)
    needed = sum(len(name) + len(content) + 60 for name, content in blocks.items()) + len(json.dumps(heads))
    shown = pack_episodes({"expert": expert}, max_bytes=needed - 1000, pages=True)[2]["expert"]
    assert whole["expert"] == (len(expert),) * 3
    assert 0 < shown.pages < shown.steps == shown.episodes == len(expert)
