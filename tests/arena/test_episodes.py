"""Episodes over real HTTP are those of the env, apart from each other, and judged."""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from benchmarks.arena import BIOGRAPHY, Client, Sockets, follow_solution, read_biographies, request, write_biography
from tests.arena.clients import TASKS, WISH, known
from tests.needs import chromium, has_chromium, opened_chromium
from tests.serving import serving_episodes
from webarena_gym.actions import DIALECTS
from webarena_gym.arena.app import run_server
from webarena_gym.arena.schema import Limits
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ArenaError
from webarena_gym.observation import observe
from webarena_gym.tasks import Expert

STATUS = "gitlab.status_set/1000/0"


# Playing.


@pytest.mark.parametrize("task", TASKS[::16], ids=lambda task: task.task_id)
def test_a_reference_solution_over_real_ports_is_rewarded(client, task):
    episode = client.create_episode(task=task.task_id)
    answer, url = follow_solution(episode, task)
    result = client.answer(episode, answer, url)
    assert result["success"], result
    assert result["reward"] == 1.0
    assert result["told"][0] == "Solved."
    assert client.delete(episode)["status"] == "over"


OTHER = {"step_budget": 2.0, "elements": "label", "observation": "axtree", "dialect": "webarena", "history": "full"}


@pytest.mark.parametrize("options", [{"max_steps": 60}, {"max_steps": 60, **OTHER}])
def test_step_mode_gives_what_the_env_gives(client, options):
    for task in TASKS[5::40]:
        env = WebArenaLite(tasks=[task], **options)
        text, info = env.reset()
        episode = client.create_episode(mode="step", task=task.task_id, **options)
        assert episode["shown"] == {"observation": text, "info": info}
        assert episode["system_prompt"] == env.system_prompt
        expert = Expert(task, DIALECTS[options.get("dialect", "webrl")])
        step = {"terminated": False}
        while not step["terminated"]:
            for reply in ("nonsense", expert.reply(env.page, env.observation)):
                names = ("observation", "reward", "terminated", "truncated", "info")
                expected = dict(zip(names, env.step(reply), strict=True))
                step = client.well("POST", f"/episodes/{episode['id']}/step", {"action": reply})
                assert step == json.loads(json.dumps(expected))
        assert step["reward"] == 1.0
        state = client.well("GET", f"/episodes/{episode['id']}")
        assert (state["status"], state["result"]["success"]) == ("over", True)


@pytest.mark.parametrize("error", [ArenaError("full", 503), RuntimeError("no loop"), OSError(24, "too many open files")])
def test_errors_while_an_arena_opens_are_raised(monkeypatch, error):
    def fail():
        raise error

    monkeypatch.setattr("webarena_gym.arena.app._raise_file_limit", fail)
    with pytest.raises(type(error)), serving_episodes():
        pass


def test_a_draw_is_that_of_the_env(client):
    for seed in (0, 1, 77):
        env = WebArenaLite(split="test")
        _, info = env.reset(seed=seed)
        assert client.create_episode(seed=seed)["task_id"] == info["task_id"]


def test_more_than_was_asked_for_fails_the_episode_unless_it_is_only_reported(client):
    for side_effects, success in (("forbidden", False), ("reported", True)):
        episode = client.create_episode(task=STATUS, side_effects=side_effects)
        follow_solution(episode, known(STATUS))
        at_the_shop = episode | {"start_urls": [episode["addresses"]["shopping"]]}
        _, url = follow_solution(at_the_shop, known("shopping.newsletter_subscribe/1000/0"))
        result = client.answer(episode, "", url)
        assert result["success"] is success
        assert result["side_effects"]
        assert any("newsletter_subscriber" in effect for effect in result["side_effects"])


@pytest.mark.parametrize("url", [None, "http://elsewhere.test/", "about:blank", "http://127.0.0.1:1/place/8"])
def test_the_last_served_page_is_judged_by_default(client, url):
    episode = client.create_episode(task="map.place_page/1000/0")
    follow_solution(episode, known("map.place_page/1000/0"))
    assert client.answer(episode, "", url)["success"] is (url is None)


@pytest.mark.parametrize("mode", ["browse", "step"])
def test_a_snapshot_is_returned_to_also_from_beyond_the_end(client, mode):
    task = known(WISH)
    episode = client.create_episode(task=WISH, mode=mode, elements="label")

    def solve():
        if mode == "browse":
            follow_solution(episode, task)
        else:
            for step in task.solution[:-1]:
                client.well("POST", f"/episodes/{episode['id']}/step", {"action": DIALECTS["webrl"].format(step.action)})

    empty = client.well("POST", f"/episodes/{episode['id']}/snapshot")["snapshot"]
    solve()
    done = client.well("POST", f"/episodes/{episode['id']}/snapshot")["snapshot"]
    assert client.answer(episode)["success"]
    for snapshot, success in ((empty, False), (done, True), (empty, False)):
        state = client.well("POST", f"/episodes/{episode['id']}/restore", {"snapshot": snapshot})
        assert (state["status"], state["result"]) == ("open", None)
        assert client.answer(episode)["success"] is success
    state = client.well("GET", f"/episodes/{episode['id']}")
    solved = [DIALECTS["webrl"].format(step.action) for step in task.solution[:-1]]
    assert state["judged"] == 4
    assert [step["reply"] for step in state["steps"]] == ([*solved, *['exit(message="")'] * 4] if mode == "step" else [])
    client.well("POST", f"/episodes/{episode['id']}/restore", {"snapshot": empty})
    solve()
    assert client.answer(episode)["success"]


def test_a_restored_snapshot_restores_the_login(client):
    episode = client.create_episode(task=WISH)
    before = client.well("POST", f"/episodes/{episode['id']}/snapshot")["snapshot"]
    shop = episode["addresses"]["shopping"]

    def is_signed_in():
        return b"Sign Out" in request("GET", f"{shop}/").body

    assert is_signed_in()
    browser = InProcessBrowser(Sockets())
    browser.start([shop], {})
    browser.click(observe(browser.page(), elements="label").element("Sign Out"))
    assert not is_signed_in()
    client.well("POST", f"/episodes/{episode['id']}/restore", {"snapshot": before})
    assert is_signed_in()


def test_the_log_lists_requests_with_their_times(client):
    episode = client.create_episode(task=WISH)
    follow_solution(episode, known(WISH))
    client.ask("POST", f"/episodes/{episode['id']}/step", {"action": "x"})
    state = client.well("GET", f"/episodes/{episode['id']}")
    log = state["log"]
    assert log[0]["what"] == "GET shopping /"
    assert any(line["what"].startswith("POST shopping /wishlist") and line["status"] == 302 for line in log)
    assert (log[-1]["what"], log[-1]["status"]) == ("step", 409)
    assert [line["at_s"] for line in log] == sorted(line["at_s"] for line in log)
    assert state["requests"] == len(log)


# Browsers that are none of ours: Playwright's from Node and from Python.

PLAYWRIGHT = "playwright-core@1.65.1"
OUTCOMES = {"state": True, "answer": True, "two sites": True, "wrong answer": False, "nothing done": False}


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory):
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("no Node here: apt-get install nodejs npm")
    if not has_chromium():
        pytest.skip("no Chromium here: apt-get install chromium")
    folder = tmp_path_factory.mktemp("node")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), PLAYWRIGHT]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"{PLAYWRIGHT} cannot be had from npm: {done.stderr[-200:]}")
    return folder / "node_modules"


def test_a_node_program_plays_and_is_judged_rightly(node_modules):
    from webarena_gym.browsers.chromium.driver import find_executable  # noqa: PLC0415 - where there is a Chromium

    with serving_episodes() as url:
        done = subprocess.run(
            ["node", str(Path(__file__).parent / "arena_player.cjs"), url, find_executable()],
            capture_output=True,
            text=True,
            env=os.environ | {"NODE_PATH": str(node_modules)},
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert {name: result["success"] for name, result in results.items()} == OUTCOMES, results


@chromium
def test_two_episodes_in_one_browser_stay_apart():
    """One browser context for two episodes: all ports share a host, and so would share cookies."""
    with serving_episodes() as url, opened_chromium() as browser:
        client = Client(url)
        episodes = [client.create_episode(task="shopping.newsletter_subscribe/1000/0") for _ in range(2)]
        context = browser.new_context()
        pages = [context.new_page() for _ in episodes]
        for page, episode in zip(pages, episodes, strict=True):
            page.goto(episode["start_urls"][0])
        pages[0].get_by_label("Email for our newsletter").fill("grace.weber@example.net")
        pages[0].get_by_role("button", name="Subscribe").click()
        pages[0].wait_for_load_state()
        pages[1].goto(f"{episodes[1]['addresses']['shopping']}/customer/account/")
        assert "My Account" in pages[1].content()
        results = [client.answer(episode, "", page.url)["success"] for episode, page in zip(episodes, pages, strict=True)]
    assert results == [True, False]


# Apart from each other.


def test_episodes_at_once_see_what_they_wrote_and_nothing_of_others(client):
    episodes = [client.create_episode(task=BIOGRAPHY) for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda place: write_biography(episodes[place], f"Writer {place}"), range(len(episodes))))
        seen = list(pool.map(read_biographies, episodes))
        results = list(pool.map(client.answer, episodes))
    assert seen == [{str(place)} for place in range(len(episodes))]
    for place, result in enumerate(results):
        assert f"'Writer {place}'" in result["verdicts"][0]["reason"]
    write_biography(episodes[0], "Writer again")
    assert [read_biographies(episode) for episode in episodes[:2]] == [{"again"}, {"1"}]


def test_a_world_that_was_left_is_as_new_for_the_next(client):
    """Episodes take over each other's envs; what was written, signed out of and looked at is gone."""
    seen = set()
    for turn in range(4):
        episode = client.create_episode(task=BIOGRAPHY, mode="browse" if turn % 2 == 0 else "step")
        if turn % 2 == 0:
            page = request("GET", episode["start_urls"][0]).body.replace(episode["addresses"]["reddit"].encode(), b"")
            seen.add(page)
            assert read_biographies(episode) == set()
            write_biography(episode, f"Writer {turn}")
            browser = InProcessBrowser(Sockets())
            browser.start(episode["start_urls"], {})
            browser.click(observe(browser.page(), elements="label").element("Log out"))
        client.delete(episode)
    assert len(seen) == 1


def test_a_lost_episode_reports_it_and_does_not_affect_others(monkeypatch):
    def fail(*_):
        raise RuntimeError("the site has a fault")

    with run_server() as service:
        client = Client(service.url)
        lost, other = client.create_episode(task=WISH), client.create_episode(task=WISH)
        monkeypatch.setattr(service.store.find(lost["id"]).gateway, "_network", SimpleNamespace(request=fail))
        assert request("GET", lost["start_urls"][0]).status == 500
        status, value = client.ask("POST", f"/episodes/{lost['id']}/answer", {"answer": "x"})
        assert (status, "reward" in value) == (500, False)
        assert "no reward: RuntimeError: the site has a fault" in value["error"]
        state = client.well("GET", f"/episodes/{lost['id']}")
        assert (state["status"], state["result"]) == ("lost", None)
        follow_solution(other, known(WISH))
        assert client.answer(other)["success"]


def test_clients_that_go_away_lose_nothing_of_others(client):
    """Clients hang up in the middle of their requests; whoever plays meanwhile is judged rightly."""
    chance = random.Random(7)
    hang_up_at_random(client, chance)
    for task in (known(WISH), known(STATUS)):
        episode = client.create_episode(task=task.task_id)
        hang_up_at_random(client, chance, urlsplit(episode["start_urls"][0]))
        answer, url = follow_solution(episode, task)
        assert client.answer(episode, answer, url)["success"]


def hang_up_at_random(client, chance, place=None):
    """Send beginnings of requests, and go away."""
    place = place or urlsplit(client.url)
    head = b"POST /episodes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n"
    whole = head + b" " * 18 + b"{}"
    for _ in range(20):
        with socket.create_connection((place.hostname, place.port)) as connection:
            connection.sendall(whole[: chance.randint(0, len(whole) - 1)])


def test_idle_episodes_are_closed_by_the_server(monkeypatch):
    monkeypatch.setattr("webarena_gym.arena.service._SWEEP_S", 0.01)
    with serving_episodes(limits=Limits(idle_s=0.05)) as url:
        client = Client(url)
        episode = client.create_episode(task=WISH)
        while (found := client.ask("GET", "/episodes"))[1]["episodes"]:
            assert found[0] == 200
        status, problem = client.ask("GET", f"/episodes/{episode['id']}")
        assert (status, "had no request" in problem["error"]) == (410, True)
        with pytest.raises(ConnectionRefusedError):
            request("GET", episode["start_urls"][0])


def test_the_package_and_the_command_need_no_extra():
    code = (
        "import sys, webarena_gym, webarena_gym.tools.serve, webarena_gym.tools.play\n"
        "print([name for name in ('pydantic', 'h11', 'mcp', 'uvicorn', 'starlette') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
