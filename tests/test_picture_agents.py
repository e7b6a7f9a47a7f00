"""Agents that see: chat models and models in this process that get pictures, what the report shows of them, and MiniWoB++ by coordinates."""

import base64
import re

import pytest

from agents import evaluate as command
from agents.data.trajectories import read_trajectories
from agents.evaluation.report.episodes import Replayer
from agents.evaluation.report.sources import read_sources, task_of
from tests import needs
from tests.chat_server import serving_chat
from webarena_gym.tools import cli

pytestmark = [needs.chromium, pytest.mark.usefixtures("one_chromium")]
TASK = "shopping.product_price"  # of world 1000: asks for the price of Dimutre
REPLIES = (
    '{"type": "click", "x": 544, "y": 35, "button": "left"}',
    '{"type": "wait"}',
    '{"type": "answer", "text": "$46.50"}',
)  # fmt: skip


def reply(payload):
    """Say what comes next, after a look at the picture."""
    (kept,) = [message for message in payload["messages"] if message["role"] == "user" and pictures(message)]
    assert pictures(kept)[0].startswith(b"\xff\xd8")
    assert kept is payload["messages"][-1]
    return {"content": REPLIES[sum(message["role"] == "assistant" for message in payload["messages"])]}


def pictures(message):
    urls = [part["image_url"]["url"] for part in message["content"] if isinstance(part, dict) and part["type"] == "image_url"]
    return [base64.b64decode(url.removeprefix("data:image/jpeg;base64,")) for url in urls]


@pytest.mark.parametrize("ours", [True, False])
def test_a_chat_model_sees_pictures_and_the_report_shows_them_with_its_clicks(ours, tmp_path, monkeypatch):
    saved = tmp_path / "episodes.jsonl"
    with serving_chat(reply) as (state, address):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        if ours:
            keywords = ("browser=chromium", "observation=pixels", "dialect=computer")
            env = [part for keyword in keywords for part in ("--env", keyword)]
            command.main(["--policy", "chat:good", "--template", TASK, "--limit", "1", *env, "--save", str(saved)])
        else:
            env = ["--browser", "chromium", "--observation", "pixels", "--dialect", "computer"]
            asked = ["--agent", "chat:good", "--template", TASK, "--limit", "1", *env]
            assert cli.main(["evaluate", *asked, "--out", str(tmp_path)]) == 0
    assert [len(payload["messages"]) for payload in state.asked] == [2, 4, 6]
    assert '"type": "click"' in state.asked[0]["messages"][0]["content"]  # the env's own system prompt, of its dialect
    (episode,) = read_sources([f"x={saved}"]).policies["x"]
    assert (episode.reward, episode.ending, [step.action_error for step in episode.steps]) == (1.0, "exited", [""] * 3)
    assert [step.reply for step in episode.steps] == [*REPLIES]
    with Replayer() as replayer:
        replay = replayer.replay(task_of(episode), episode)
        shown = [replayer.assets.contents[key] for key in replay.assets]
    assert (len(replay.pages), replay.problem) == (4, "")
    sent = [payload["messages"][-1]["content"][1]["image_url"]["url"] for payload in state.asked]
    assert shown == [*dict.fromkeys(sent)]  # what the model has seen
    assert "left: 538px; top: 29px; width: 12px" in replay.pages[0].html  # the ring around (544, 35)
    assert [page.html.count("data-marked") for page in replay.pages] == [1, 0, 0, 0]


def test_the_report_marks_the_box_of_an_element_that_is_named_by_its_number(tmp_path):
    saved = tmp_path / "episodes.jsonl"
    env = ("--elements", "id", "--env", "browser=chromium", "--env", "observation=marks")
    command.main(["--policy", "expert", "--template", TASK, "--limit", "1", *env, "--save", str(saved)])
    (episode,) = read_trajectories(saved)
    assert episode.reward == 1.0
    with Replayer() as replayer:
        replay = replayer.replay(task_of(episode), episode)
    assert replay.problem == ""
    left, top, width, height = map(int, re.findall(r"(\d+)px; (?=top|width|height|border)", replay.pages[0].html))
    assert (left < 544 < left + width, top < 35 < top + height) == (True, True)  # the search field
