"""Every interface that plays tasks plays those of a suite, or refuses it with the reason."""

import asyncio
import json
import sys
from contextlib import closing

import gymnasium
import pytest

from agents import demonstrations, evaluate, report, train_bc, train_rl
from agents.data.trajectories import read_trajectories
from agents.integrations import verl
from tests.chat_server import serving_chat
from tests.errands import ERRANDS, SOLVED
from tests.errors import expect_error
from tests.suites import errands
from webarena_gym.applications.application import Application
from webarena_gym.applications.suite import add_suite, read_suite
from webarena_gym.arena.app import run_server
from webarena_gym.arena.episodes import EpisodeStore, candidate_tasks
from webarena_gym.arena.mcp_tools import McpTools
from webarena_gym.arena.schema import NewEpisode
from webarena_gym.clients.rest import request_json
from webarena_gym.errors import AgentError, ArenaError, TaskError
from webarena_gym.evaluation.programs import EpisodeClient
from webarena_gym.evaluation.results import read_result
from webarena_gym.integrations.session import dataset_rows, select_tasks
from webarena_gym.integrations.trl import environment
from webarena_gym.integrations.vagen import WebArenaGym
from webarena_gym.options import EnvOptions, read_source
from webarena_gym.suite import load
from webarena_gym.tools.cli import main

__all__ = ["errands"]  # the fixture

ENV = {"split": "served", "elements": "label"}
WISH = "shopping.wish_list_add/1000/0"
APPLICATION = Application(name="shelf", folder=str(ERRANDS / "shelf"), wsgi="shelf:application", in_memory=True)


@pytest.fixture
def name(errands):
    """Return the name of the added suite, whose split "served" has one task."""
    add_suite("errands", errands)
    return "errands"


def vectorised(name, folder):
    with closing(gymnasium.make_vec("WebArenaLite-v0", num_envs=2, suite=name, **ENV)) as envs:
        envs.reset(seed=1)
        return [envs.step([reply] * 2)[1] for reply in SOLVED][-1].min()


def played_by_a_program(name, folder):
    (folder / "player.py").write_text(
        "import json, os\nfrom urllib.request import Request, urlopen\n"
        "url = f\"{os.environ['WEBARENA_GYM_URL']}/episodes/{os.environ['WEBARENA_GYM_EPISODE']}/step\"\n"
        f"for action in {SOLVED!r}:\n"
        "    urlopen(Request(url, json.dumps({'action': action}).encode(), {'Content-Type': 'application/json'})).read()\n"
    )
    agent = ["--agent", f"command:{sys.executable} {folder / 'player.py'}", "--mode", "step", "--elements", "label"]
    assert main(["evaluate", *agent, "--suite", name, "--split", "served", "--out", str(folder / "scores")]) == 0
    return read_result(folder / "scores" / "result.json")["success"]["success"]


def stepped_in_an_arena(name, folder):
    with run_server(suite=read_suite(name)) as service:
        settings = {"mode": "step", **ENV}
        episode = request_json(f"{service.url}/episodes", settings)
        (task,) = request_json(f"{service.url}/tasks?split=served")
        assert task["task_id"] == episode["task_id"] == "shelf.jam"
        for reply in SOLVED:
            stepped = request_json(f"{service.url}/episodes/{episode['id']}/step", {"action": reply})
        return stepped["reward"]


def played_by_mcp(name, folder):
    played = McpTools(EpisodeStore(suite=read_suite(name)), NewEpisode(**ENV), names_episodes=False)
    (reset, *_) = played.tools()
    assert reset.input_schema["properties"]["split"]["enum"] == ["easy", "served", "broken"]
    played.call("reset", {})
    played.call("type", {"element": "Thing", "argument": "jam"})
    played.call("click", {"element": "Put"})
    return float(played.call("submit", {"answer": ""}).result["success"])


def adapted_by_trl(name, folder):
    (row,) = dataset_rows("served", suite=name)
    player = environment({"suite": name, **ENV})()
    player.reset(task=row["task"])
    player.type(element="Thing", argument="jam")
    player.click(element="Put")
    return player.get_reward()


def trained_by_vagen(name, folder):
    async def play():
        env = WebArenaGym({"suite": name, **ENV})
        await env.reset(seed=1)
        results = [await env.step(action) for action in SOLVED]
        await env.close()
        return results[-1][1]

    return asyncio.run(play())


def asked_of_a_chat_model(name, folder):
    def say(payload):
        return {"content": SOLVED[sum(message["role"] == "assistant" for message in payload["messages"])]}

    with serving_chat(say) as (_, address), pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", address)
        options = ["--suite", name, "--split", "served", "--elements", "label", "--save", str(folder / "episodes.jsonl")]
        evaluate.main(["--policy", "chat:good", *options])
    return read_trajectories(folder / "episodes.jsonl")[0].reward


INTERFACES = [
    vectorised, played_by_a_program, stepped_in_an_arena, played_by_mcp, adapted_by_trl, trained_by_vagen, asked_of_a_chat_model,
]  # fmt: skip


@pytest.mark.parametrize("interface", INTERFACES)
def test_an_interface_plays_the_tasks_of_a_suite(name, tmp_path, interface):
    assert interface(name, tmp_path) == 1.0


def test_agents_are_trained_and_scored_on_a_suite(name, tmp_path):
    source, runs = ["--suite", name, "--split", "served"], tmp_path / "runs"
    demonstrations.main([*source, "--elements", "label", "--out", str(runs / "steps.jsonl")])
    assert {json.loads(line)["task_id"] for line in (runs / "steps.jsonl").read_text().splitlines()} == {"shelf.jam"}
    train_bc.main(["--model", "pointer", *source, "--updates", "1", "--width", "8", "--hidden", "8", "--out", str(runs / "bc")])
    few = ["--tasks-per-update", "1", "--group-size", "2", "--jobs", "1", "--updates", "1"]
    train_rl.main(["--method", "grpo", "--model", str(runs / "bc"), *source, *few, "--out", str(runs / "grpo")])
    episodes = runs / "episodes.jsonl"
    evaluate.main(["--policy", str(runs / "grpo"), "--split", "served", "--jobs", "1", "--save", str(episodes)])
    (episode,) = read_trajectories(episodes)
    assert (episode.task_id, episode.env.suite) == ("shelf.jam", name)
    report.main([str(episodes), "--out", str(runs / "report.html")])
    assert "Put jam on the shelf." in (runs / "report.html").read_text()
    verl.main(["--suite", name, "--split", "served", "--out", str(runs / "rows.jsonl")])
    assert json.loads((runs / "rows.jsonl").read_text())["extra_info"]["task"] == "shelf.jam"


def test_an_application_that_does_not_start_fails_its_own_episodes_only(errands, tmp_path, capsys):
    errands.write_text(errands.read_text().replace("server.py {port}", "missing.py {port}"))
    add_suite("errands", errands)
    saved = tmp_path / "episodes.jsonl"
    assert evaluate.main(["--policy", "expert", "--suite", "errands", "--split", "easy", "--save", str(saved)]) == 1
    shelf, board = read_trajectories(saved)
    assert (shelf.reward, board.ending) == (1.0, "failed")
    assert "board exited with status 2 before it was ready" in board.failure
    assert (
        "1 of 2 episodes failed, and are excluded from all statistics:\n  1 x ApplicationError: board "
        in capsys.readouterr().out
    )
    with closing(gymnasium.make_vec("WebArenaLite-v0", num_envs=2, suite="errands", **ENV | {"split": "easy"})) as envs:
        options = [{"task": task} for task in ("shelf.jam", "board.card")]
        envs.async_reset(options=options)
        results = envs.poll()
        while len(results) < 2:
            results |= envs.poll()
    assert [("failure" in results[env].info) for env in (0, 1)] == [False, True]


REFUSED = [
    (lambda name: select_tasks("train", suite=name), TaskError, "has no split 'train'"),
    (lambda name: select_tasks("served", templates="shelf.jam", suite=name), TaskError, "has no template 'shelf.jam'"),
    (lambda name: load("served", 7, suite=read_suite(name)), TaskError, "has no worlds"),
    (lambda name: load("served", variation="layout", suite=read_suite(name)), TaskError, "has no worlds"),
    (lambda name: dataset_rows(["shelf.tea"], suite=name), TaskError, "has no task 'shelf.tea'"),
    (lambda name: read_source("app", name), ValueError, "omit application="),
    (lambda name: EnvOptions(suite=name, application="app"), ValueError, "omit application="),
    (lambda name: train_bc.main(["--model", "pointer", "--split", "served", "--out", "runs"]), ValueError, "there is no suite"),
    (lambda name: EpisodeStore(suite=read_suite(name)).create(NewEpisode(split="test")), ArenaError, "no split 'test'"),
    (lambda name: EpisodeStore(suite=read_suite(name)).create(NewEpisode(world_seed=7, split="easy")), ArenaError, "no worlds"),
    (lambda name: EpisodeStore().create(NewEpisode(split="served")), ArenaError, "no split 'served'"),
    (lambda name: EpisodeStore().create(NewEpisode(split="served", task=WISH)), ArenaError, "no split 'served'"),
    (
        lambda name: EpisodeStore(suite=read_suite(name)).create(NewEpisode(split="x", task="shelf.jam")),
        ArenaError,
        "no split 'x'",
    ),
    (lambda name: candidate_tasks(NewEpisode(split="served"), application=APPLICATION), ArenaError, "no split 'served'"),
    (lambda name: EpisodeClient({"suite": name, "browser": "chromium"}), AgentError, "does not support the keyword browser"),
    (
        lambda name: EpisodeClient({"application": "app", "browser": "chromium"}),
        AgentError,
        "does not support the keyword browser",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_unsupported_uses_of_suites_are_rejected_with_a_reason(name, call, error, message):
    with pytest.raises(error, match=message):
        call(name)


def test_a_task_of_a_suite_needs_no_split():
    assert candidate_tasks(NewEpisode(task="shelf.jam"), suite=read_suite(ERRANDS / "suite.toml"))[0].task_id == "shelf.jam"


@pytest.mark.parametrize("browser", ["inprocess", "chromium"])
def test_programs_play_a_suite_in_its_own_browser(errands, browser):
    errands.write_text(errands.read_text().replace('browser = "inprocess"', f'browser = "{browser}"'))
    EpisodeClient({"suite": str(errands), "browser": browser}).close()


def test_pages_with_scripts_are_not_played_in_another_browser(errands):
    errands.write_text(errands.read_text().replace('browser = "inprocess"', 'browser = "chromium"'))
    with expect_error(ArenaError, "errands", "Chromium"):
        EpisodeStore(suite=read_suite(errands)).create(NewEpisode(split="served", mode="browse"))


def test_the_commands_refuse_what_a_suite_cannot_do(name, tmp_path, capsys):
    for words, message in {
        (
            "evaluate",
            "--agent",
            "expert",
            "--suite",
            name,
            "--split",
            "easy",
            "--template",
            "shopping.cart_add",
        ): "has no template",
        ("evaluate", "--agent", "expert", "--suite", name, "--split", "easy", "--world-seed", "7"): "has no worlds",
        ("mcp", "--suite", name, "--split", "test"): "has no split 'test'",
        ("mcp", "--split", "served"): "no split 'served'",
        ("play", "--suite", name, "--session", str(tmp_path / "s.json"), "start"): "omit --application and --suite",
        ("play", "--suite", name, "--split", "test"): "has no split 'test'",
    }.items():
        assert main(list(words)) == 2
        assert message in capsys.readouterr().err
