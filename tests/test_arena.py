"""The arena over real HTTP: it plays and judges as the env does, keeps episodes apart, and says what is wrong with what it is sent."""

import asyncio
import json
import os
import random
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from math import inf
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena import BIOGRAPHY, Client, Sockets, follow_solution, read_biographies, request, write_biography
from tests.errors import expect_error
from tests.needs import chromium, has_chromium, opened_chromium
from tests.serving import serving_episodes
from webarena_gym.actions import DIALECTS
from webarena_gym.arena.app import OPERATIONS, openapi, run_server
from webarena_gym.arena.episodes import EpisodeStore
from webarena_gym.arena.gateway import Translation, Visit, is_target
from webarena_gym.arena.schema import Limits, NewEpisode
from webarena_gym.arena.service import ServerSettings
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ArenaError
from webarena_gym.observation import observe
from webarena_gym.sites.catalogue import HOSTS, URLS
from webarena_gym.suite import load
from webarena_gym.tasks import Expert

TASKS = load("test")
WISH = "shopping.wish_list_add/1000/0"
STATUS = "gitlab.status_set/1000/0"
PORTS = {site: 40_000 + place for place, site in enumerate(HOSTS)}


@pytest.fixture(scope="module")
def client():
    with serving_episodes() as url:
        yield Client(url)


def known(name):
    return next(task for task in TASKS if task.task_id == name)


def is_problem(value):
    return set(value) == {"error", "at", "value", "expected"} and bool(value["error"])


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
def test_whatever_keeps_an_arena_from_opening_is_raised(monkeypatch, error):
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
def test_the_page_that_was_served_last_is_judged_where_no_other_is_told(client, url):
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


def test_who_signs_out_is_signed_in_again_by_a_restored_snapshot(client):
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


def test_the_log_says_what_was_asked_and_when(client):
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


def test_an_episode_that_is_lost_says_so_and_leaves_the_others(monkeypatch):
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


# What is wrong is said.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from([*(field.name for field in fields(NewEpisode)), "answer", "url", "action", "snapshot"])


@given(st.data())
@settings(max_examples=150)
def test_whatever_is_sent_is_done_or_refused_with_what_was_wrong(client, data):
    path = data.draw(st.sampled_from([operation.path for operation in OPERATIONS if operation.method == "POST"]))
    if "{id}" in path:
        mode = data.draw(st.sampled_from(["browse", "step"]))
        path = path.replace("{id}", client.create_episode(mode=mode, task=WISH)["id"])
    body = data.draw(JSON | st.dictionaries(FIELDS, JSON, max_size=3))
    status, value = client.ask("POST", path, body)
    assert status < 500
    assert status in (200, 201) or is_problem(value), value
    for summary in client.well("GET", "/episodes")["episodes"]:
        client.delete(summary)


@pytest.mark.parametrize(("body", "at", "value", "expected"), [
    ({"task": 5}, "body.task", 5, "string"),
    ({"tusk": "x"}, "body.tusk", "x", "/docs"),
    ({"task": "nothing/1/0"}, "body.task", "nothing/1/0", "id of a task"),
    ({"split": "tist"}, "body.split", "tist", "'train', 'validation', 'test', 'pool', 'hard', 'pictures' or 'tools'"),
    ({"split": "tist", "task": WISH}, "body.split", "tist", "'train', 'validation', 'test', 'pool', 'hard', 'pictures' or 'tools'"),
    ({"seed": -1}, "body.seed", "-1", "0 to"),
    ({"world_seed": 10**9}, "body.world_seed", "1000000000", "999999999"),
    ({"mode": "step", "max_steps": 0}, "body.max_steps", "0", "1 to"),
    ({"mode": "step", "step_budget": -1.5}, "body.step_budget", "-1.5", "above 0"),
    ([], "body", "[]", "object"),
    ({"seed": -inf}, "body.seed", "-inf", "integer"),  # a number that JSON does not have
])  # fmt: skip
def test_an_error_names_the_place_the_value_and_what_was_expected(client, body, at, value, expected):
    status, problem = client.ask("POST", "/episodes", body)
    assert status == 422
    assert (problem["at"], problem["value"]) == (at, value)
    assert expected in problem["expected"]


@pytest.mark.parametrize(
    "operation", [operation for operation in OPERATIONS if operation.body is not type(None)], ids=lambda each: each.path
)
def test_every_wrong_argument_of_every_operation_is_told(client, operation):
    path = operation.path.replace("{id}", client.create_episode(task=WISH, mode="step")["id"])
    for name in (*(field.name for field in fields(operation.body)), "colour"):
        if operation.method == "GET":
            status, problem = client.ask("GET", f"{path}?{name}=%00x")
        else:
            status, problem = client.ask(operation.method, path, {name: {"x": 1}})
        assert (status, is_problem(problem)) == (422, True), (name, problem)
        assert f".{name}" in problem["error"]
    if "{id}" in operation.path:
        nowhere = operation.path.replace("{id}", "%00none")
        assert client.ask(operation.method, nowhere, {"action": "", "snapshot": ""})[0] in (404, 422)


def test_what_does_not_fit_the_protocol_is_told(client):
    name = client.create_episode(task=WISH)["id"]
    status, problem = client.ask("POST", "/episodes", {"tusk": WISH, "mode": "walk"})
    assert (status, "body.tusk" in problem["error"], "body.mode" in problem["error"]) == (422, True, True)
    status, problem = client.ask("POST", "/episodes", raw=b"{not json")
    assert (status, problem["value"]) == (422, "{not json")
    assert client.ask("POST", "/episodes", {}, headers={"Content-Type": "text/plain"})[0] == 415
    assert client.ask("POST", "/episodes", raw=b" " * 3_000_000)[0] == 413
    assert client.ask("GET", "/nothing")[0] == 404
    assert client.ask("PATCH", "/episodes")[0] == 405
    assert client.ask("GET", "/episodes/0")[0] == 404
    assert client.ask("GET", "/tasks?world_seed=x")[0] == 422
    assert client.ask("POST", f"/episodes/{name}/restore", {"snapshot": "s9"})[0] == 404
    assert client.ask("POST", f"/episodes/{name}/answer", {"answer": "x" * 300_000})[0] == 422
    assert client.ask("POST", f"/episodes/{name}/answer", {"url": "http://["})[0] == 422
    assert client.ask("POST", f"/episodes/{name}/answer", {"answer": ""})[0] == 200
    assert client.ask("POST", f"/episodes/{name}/answer", {"answer": ""})[0] == 409
    client.well("DELETE", f"/episodes/{name}")
    assert client.ask("GET", f"/episodes/{name}")[0] == 410


@given(st.binary(max_size=300), st.booleans(), st.booleans())
@settings(max_examples=100)
def test_no_bytes_harm_a_port(client, port_of_a_site, content, is_request, is_site):
    place = urlsplit(port_of_a_site if is_site else client.url)
    head = b"GET /" if is_request else b""
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(head + content + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        found = connection.makefile("rb").read()
    assert found == b"" or found.split(b" ")[1][:1] != b"5", found
    assert client.ask("GET", "/health")[0] == 200
    assert request("GET", port_of_a_site).status == 200


@pytest.fixture(scope="module")
def port_of_a_site(client):
    return client.create_episode(task=WISH)["start_urls"][0]


def test_only_names_that_were_given_out_are_answered(client, port_of_a_site):
    for url in (f"{client.url}/health", port_of_a_site):
        assert request("GET", url, {"Host": "evil.example"}).status == 421
        assert request("GET", url, {"Host": f"localhost:{urlsplit(url).port}"}).status == 200
    assert client.ask("POST", "/episodes", {}, headers={"Origin": "http://evil.example"})[0] == 403


def test_pages_lead_to_the_name_that_the_client_has_used():
    with serving_episodes(ServerSettings(names=("box.example",))) as url:
        client = Client(url.replace("box.example", "127.0.0.1"), name="box.example")
        episode = client.create_episode(task=WISH)
        shop = urlsplit(episode["addresses"]["shopping"])
        assert shop.hostname == "box.example"
        page = request("GET", f"http://127.0.0.1:{shop.port}/", {"Host": shop.netloc})
        assert episode["addresses"]["shopping"].encode() in page.body
        assert b"shop.test" not in page.body


def test_it_listens_on_an_address_of_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    with serving_episodes(ServerSettings("::1")) as url:
        assert url.startswith("http://[::1]:")
        client = Client(url)
        shop = client.create_episode(task=WISH)["addresses"]["shopping"]
        assert shop.startswith("http://[::1]:")
        assert shop.encode() in request("GET", shop).body


def test_an_arena_that_others_can_reach_wants_a_token():
    for address in (ServerSettings("0.0.0.0", names=("127.0.0.1",)), ServerSettings("0.0.0.0", token="secret")):
        with pytest.raises(ArenaError, match=r"token|--name"), serving_episodes(address):
            pass
    with serving_episodes(ServerSettings("0.0.0.0", names=("127.0.0.1",), token="secret")) as url:
        assert Client(url).ask("POST", "/episodes", {})[0] == 401
        assert Client(url, "wrong").ask("GET", "/episodes")[0] == 401
        client = Client(url, "secret")
        episode = client.create_episode(task=WISH)
        start, shop = episode["start_urls"][0], episode["addresses"]["shopping"]
        assert request("GET", shop).status == 401
        assert request("GET", start.rpartition("/")[0] + "x/").status == 401
        entered = request("GET", start)
        assert (entered.status, entered.header("Location")) == (302, "/")
        cookie = {"Cookie": f"other=1; {entered.header('Set-Cookie').partition(';')[0]}"}
        assert request("GET", shop, cookie).status == 200
        assert request("GET", shop, {"Authorization": "Bearer secret"}).status == 200
        other = client.create_episode(task=WISH)
        assert request("GET", other["addresses"]["shopping"], cookie).status == 401
        second = request("GET", other["start_urls"][0], cookie).header("Set-Cookie").partition(";")[0]
        both = {"Cookie": f"{cookie['Cookie']}; {second}"}
        assert second.partition("=")[0] not in cookie["Cookie"]
        assert [request("GET", each["addresses"]["reddit"], both).status for each in (episode, other)] == [200, 200]


# The core, without sockets.


def begun(limits=None, clock=lambda: 0.0, memory_mb=lambda: 0.0, **settings):
    found = EpisodeStore(limits, clock, memory_mb)
    episode = found.create(NewEpisode(**{"task": WISH} | settings))
    if episode.gateway is not None:
        episode.gateway.translation = Translation(PORTS, "127.0.0.1", ("localhost",))
    return found, episode


@contextmanager
def refused(status, match=None):
    with pytest.raises(ArenaError, match=match) as caught:
        yield
    assert caught.value.status == status


def test_limits_hold():
    now, held = [0.0], [0.0]
    found, episode = begun(
        Limits(episodes=2, idle_s=60, memory_mb=100, upload_mb=0.01, snapshots=2), lambda: now[0], lambda: held[0]
    )
    held[0] = 101
    with refused(503, "101 MB"):
        found.create(NewEpisode())
    held[0] = 99
    second = found.create(NewEpisode())
    with refused(503, "2 episodes are open"):
        found.create(NewEpisode())
    now[0] = 50
    with second.log_request("something"):
        pass
    now[0] = 61
    assert found.idle() == [episode.id]
    found.close_episode(episode.id, "it was idle")
    with refused(410, "it was idle"):
        found.find(episode.id)
    second.gateway.translation = Translation(PORTS, "127.0.0.1", ())
    second.snapshot(), second.snapshot()
    with refused(409, "limit"):
        second.snapshot()
    with refused(413):
        second.browse(Visit("shopping", "POST", "/", {}, b"x" * 20_000))
    for field in ("episodes", "idle_s", "memory_mb", "upload_mb"):
        with expect_error(ValueError, field, 0):
            Limits(**{field: 0})


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


@given(st.text(max_size=30), st.sampled_from(list(HOSTS)), st.booleans())
def test_translation_there_and_back_is_the_same(text, site, is_encoded):
    sites = Translation(PORTS, "127.0.0.1", ("localhost",))
    own = URLS[f"__{site.upper()}__"].removesuffix("/admin")
    if is_encoded:
        own = own.replace(":", "%3A").replace("/", "%2F")
    said = f"{text} {own}/{text}"
    outward = sites.outward_text(said)
    assert HOSTS[site] not in outward.replace(text, "")
    assert sites.inward_text(outward) == said
    assert sites.inward_text(outward.replace("127.0.0.1", "localhost")) == said
    others = Translation(PORTS, "[::1]", ())
    assert others.inward_text(others.outward_text(said)) == said


@pytest.mark.parametrize(
    "text", ["http://shop.test.example/", "https://shop.test/", "http://shop.test:81/", "ann@shop.test", "myshop.test"]
)
def test_other_addresses_are_left_as_they_are(text):
    sites = Translation(PORTS, "127.0.0.1", ())
    assert sites.outward_text(text) == text
    for other in ("http://127.0.0.1:4000", "http://127.0.0.1:400001/", "http://127.0.0.1/", "http://other:40000/"):
        assert sites.inward_text(other) == other


@given(st.text(max_size=60))
def test_a_target_is_a_path_of_the_site_and_nothing_else(text):
    if is_target(text):
        _, episode = visited()
        assert episode.browse(Visit("shopping", "GET", text, {})).status < 500
    for target in (f"http://{text}", f"@{text}", ""):
        assert not is_target(target)


@cache
def visited():
    return begun()


def test_a_toolbar_is_above_the_pages_of_an_episode_for_people():
    task = known("shopping.product_price/1000/0")
    with run_server() as service:
        begun = asyncio.run_coroutine_threadsafe(
            service.create_episode(NewEpisode(task=task.task_id), has_toolbar=True), service.loop
        )
        start = begun.result().start_urls[0]
        page = request("GET", start).body.decode()
        assert task.intent in page
        assert "I am done" in page
        form = {"Content-Type": "application/x-www-form-urlencoded", "Referer": start}
        evil = form | {"Origin": "http://evil.example"}
        assert request("POST", f"{start}.arena/done", evil, b"answer=1").status == 403
        done = request("POST", f"{start}.arena/done", form, b"answer=%2446.50")
        assert (done.status, done.header("Location")) == (303, start)
        page = request("GET", start).body.decode()
        assert "Solved." in page
        assert "I am done" not in page
        assert request("POST", f"{start}.arena/again", form).header("Location") == start
        assert "I am done" in request("GET", start).body.decode(), "it is begun again"


# Its description.


def test_answers_are_as_they_are_described(client):
    described = openapi()

    def check(method, path, body=None, query="", name=""):
        status, value = client.ask(method, path.replace("{id}", name) + query, body)
        answers = described["paths"][path][method.lower()]["responses"]
        schema = answers.get(str(status), answers["default"])["content"]["application/json"]["schema"]
        jsonschema.validate(value, schema | {"components": described["components"]})
        return value

    check("POST", "/episodes", {"task": 5})
    name = check("POST", "/episodes", {"task": WISH, "mode": "step"})["id"]
    for what, body in (("step", {"action": "x"}), ("snapshot", {}), ("answer", {"answer": "x"})):
        check("POST", f"/episodes/{{id}}/{what}", body, name=name)
    check("GET", "/episodes/{id}", name=name)
    check("GET", "/episodes")
    check("GET", "/tasks", query="?split=test")
    check("GET", "/tools", query="?dialect=webarena")
    check("DELETE", "/episodes/{id}", name=name)
    status, page = client.ask("GET", "/docs")
    assert status == 200
    for operation in OPERATIONS:
        assert f"{operation.method} {operation.path}" in page
    for field in fields(NewEpisode):
        assert f"<td>{field.name}</td>" in page
    assert client.well("GET", "/openapi.json") == json.loads(json.dumps(described))
    schemas = described["components"]["schemas"]
    assert len(schemas) > 10
    for name, schema in schemas.items():
        assert all("description" in field for field in schema.get("properties", {}).values()), name


def test_the_package_and_the_command_need_no_extra():
    code = (
        "import sys, webarena_gym, webarena_gym.tools.serve, webarena_gym.tools.play\n"
        "print([name for name in ('pydantic', 'h11', 'mcp', 'uvicorn', 'starlette') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
