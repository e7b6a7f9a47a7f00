"""Two envs on one world at the same time: each sees what it would have seen alone, and reset forgets everything."""

import subprocess
import sys
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.crawl import survey
from webarena_gym.env import WebArenaLite
from webarena_gym.sites.catalogue import DATABASES, HOSTS, URLS
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import at_url
from webarena_gym.tools.fuzz.walk_actions import WalkState, next_reply

WORLD = 0


def task(site, start_url):
    return Task("isolation", (site,), start_url, "Look around", at_url("http://nowhere.test/"), world_seed=WORLD)


@pytest.fixture(scope="module")
def envs():
    made = [WebArenaLite(tasks=[task("shopping", "about:blank")], max_steps=1000) for _ in range(3)]
    yield made
    for env in made:
        env.close()


@pytest.fixture(scope="module", params=HOSTS)
def site(request):
    return request.param


@pytest.fixture(scope="module")
def places(site):
    return [page.url for page in survey(site, WORLD, per_rule=1) if page.status == 200]


def reply(env, number):
    """What a number makes an agent do on the page that it sees."""
    state = WalkState(env.page, env.observation, tuple(URLS.values()), ())
    return next_reply(state, env.dialect, Random(number), is_destructive=True)


def begin(env, site, places, number):
    return env.reset(options={"task": task(site, places[number % len(places)])})[0]


NUMBERS = st.integers(0, 10**9)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.tuples(NUMBERS, NUMBERS), st.lists(st.tuples(st.booleans(), NUMBERS), min_size=4, max_size=12))
@pytest.mark.sampled(2)
def test_an_env_sees_nothing_of_another(envs, site, places, starts, turns):
    *pair, alone = envs
    together = [[begin(env, site, places, start)] for env, start in zip(pair, starts, strict=True)]
    for which, number in turns:
        together[which].append(pair[which].step(reply(pair[which], number))[0])
    for which in (False, True):
        seen = [begin(alone, site, places, starts[which])]
        seen += [alone.step(reply(alone, number))[0] for turn, number in turns if turn == which]
        assert seen == together[which]
        assert database(alone, site) == database(pair[which], site) or rows(alone, site) == rows(pair[which], site)


def database(env, site):
    return env.database(site).serialize()


def rows(env, site):
    """All rows of a database, for when its bytes differ in what SQLite leaves in unused corners of pages."""
    connection = env.database(site)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return {name: [tuple(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in tables}


@pytest.mark.sampled(2)
def test_reset_forgets_every_write(envs, site, places):
    env = envs[0]
    base = load_world(WORLD)
    changed = 0
    for number in range(30):
        begin(env, site, places, number)
        for step in range(4):
            env.step(reply(env, 7919 * number + 104_729 * step))
        changed += database(env, site) != base.content(site)
        env.reset(options={"task": task(site, "about:blank")})
        assert {name: database(env, name) == base.content(name) for name in DATABASES} == dict.fromkeys(DATABASES, True)
    assert changed or site == "homepage"


CLOSED_MEANWHILE = """
import sqlite3, threading
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.world import connect, load_world

world = load_world(1)
for _ in range(40):
    databases = world.open()
    network = connect(databases)
    begun = threading.Event()

    def ask():
        begun.set()
        try:
            for number in range(100):  # a lock is not fair: where the system wakes late, closing waits for all of them
                network.request("GET", f"http://{HOSTS['reddit']}/f/all?page={number}", [], b"")
        except sqlite3.ProgrammingError:
            pass  # it is closed

    thread = threading.Thread(target=ask)
    thread.start()
    begun.wait()
    for _ in range(3):
        databases.reset()
    databases.close()
    thread.join()
"""


def test_closing_waits_for_the_request_under_way():
    subprocess.run([sys.executable, "-c", CLOSED_MEANWHILE], check=True, timeout=300)
