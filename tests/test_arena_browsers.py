"""Browsers that are none of ours play in an arena: Playwright's from Node and from Python."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.arena_players import Client
from tests.needs import chromium, has_chromium
from tests.serving import serving_episodes

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
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    from webarena_gym.browsers.chromium.driver import find_executable  # noqa: PLC0415

    with serving_episodes() as url, sync_playwright() as playwright:
        client = Client(url)
        episodes = [client.begin(task="shopping.newsletter_subscribe/1000/0") for _ in range(2)]
        browser = playwright.chromium.launch(executable_path=find_executable(), args=["--no-sandbox"])
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
        browser.close()
    assert results == [True, False]
