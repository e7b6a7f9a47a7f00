"""Each interface and each command of the package on an application of one's own."""

import asyncio
import json
import re
import subprocess
import sys
import tomllib
from urllib.parse import urlencode
from urllib.request import urlopen

import gymnasium
import pytest

from agents import demonstrations, evaluate, report, train_bc, train_rl
from agents.data.trajectories import read_trajectories
from agents.evaluation.report.episodes import Replayer
from agents.evaluation.report.sources import task_of
from tests import needs
from tests.chat_server import serving_chat
from tests.errors import expect_error
from tests.own_application import ADD, TASKS, do, solve, state_check, task
from tests.own_application import folder as folder
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import read_application
from webarena_gym.arena.app import run_server
from webarena_gym.arena.episodes import EpisodeStore
from webarena_gym.arena.mcp_tools import McpTools
from webarena_gym.arena.schema import NewEpisode
from webarena_gym.browsers import http
from webarena_gym.clients.rest import request_json
from webarena_gym.errors import ApplicationError
from webarena_gym.evaluation.results import read_result
from webarena_gym.integrations.session import dataset_rows
from webarena_gym.integrations.trl import environment
from webarena_gym.integrations.vagen import WebArenaGym
from webarena_gym.tools.cli import main


def test_the_command_checks_it_proves_its_tasks_and_records_one(folder, capsys, monkeypatch):
    described = folder / "webarena-app.toml"
    assert main(["app", "check", str(folder), "--resets", "3", "--json", "--browser", "inprocess"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert any(
        "GET http://notes.test/crash: ApplicationError: notes gives no answer" in problem for problem in report["problems"]
    )
    described.write_text(described.read_text().replace("{ NOTES_DB", '{ NOTES_SOUND = "1", NOTES_DB'))
    assert main(["app", "check", str(folder), "--resets", "3", "--json", "--browser", "inprocess"]) == 0
    found = json.loads(capsys.readouterr().out)["browsers"]["inprocess"]
    assert found["equal_resets"]
    assert re.search("Visit 2.* and .*Visit 1", found["in_memory"]), "visits are lost when an episode is restored"
    assert found["need_scripts"] == ["http://notes.test/script"]
    assert found["statuses"] == {"200": 3}
    assert {"/files/export.txt"} <= set(found["changed"]), "by looking at it"
    assert set(found["tasks"].values()) == {"solved, and no cheaper attempt earns it"}
    assert found["controls"]["text field"] >= 2
    lines = iter(["type Title Ink", "click Add", "click Export", "exit", "click Export", "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    assert main(["app", "record", str(folder), "--goal", "Add Ink.", "--task-id", "ink"]) == 0
    assert 'click "Add to Cart"' in capsys.readouterr().out, "elements are named as they are then typed"
    recorded = json.loads((folder / "tasks.json").read_text())[-1]
    assert recorded["eval"]["eval_types"] == ["state"], "what was typed, and no file that came with it"
    query = 'SELECT count(*) FROM "note" WHERE "title" = ? AND "body" = ?'
    assert recorded["eval"]["state"] == [{"site": "notes", "query": query, "parameters": ["Ink", ""], "expected": [[1]]}]
    assert main(["app", "record", str(folder), "--goal", "Export.", "--task-id", "export"]) == 0
    checks = json.loads((folder / "tasks.json").read_text())[-1]["eval"]["file"]
    assert checks == [{"path": "files/export.txt", "contains": "all notes"}], "no archive, and nothing that is hidden"
    env = WebArenaLite(application=folder, elements="label")
    assert [solve(env, name)[1] for name in ("ink", "export")] == [1.0, 1.0]
    env.close()
    for text in ("[]", None, "[{"):
        (folder / "tasks.json").unlink() if text is None else (folder / "tasks.json").write_text(text)
        (folder / "templates.toml").unlink(missing_ok=True)
        described = (folder / "webarena-app.toml").read_text().replace('templates = "templates.toml"\n', "")
        (folder / "webarena-app.toml").write_text(described)
        assert main(["app", "check", str(folder), "--resets", "2"]) == {"[]": 0, None: 1, "[{": 2}[text], (
            "before there are any tasks"
        )
    printed = capsys.readouterr()
    assert "tasks.json'; expected an existing file" in printed.out
    assert "is not valid JSON" in printed.err
    (folder / "tasks.json").write_text('{"tasks": []}')
    assert main(["app", "record", str(folder), "--goal", "Add Ink.", "--task-id", "ink"]) == 2
    assert "expected a JSON list" in capsys.readouterr().err
    assert main(["app", "new", str(folder / "fresh"), "--name", "shop"]) == 0
    assert main(["app", "new", str(folder / "fresh")]) == 2
    assert main(["app", "new", str(folder / "other"), "--name", "shop", "--wsgi", "shop.web:make_app()"]) == 0
    assert tomllib.loads((folder / "other" / "webarena-app.toml").read_text())["wsgi"] == "shop.web:make_app()"
    command = 'php -S 127.0.0.1:{port} -t "www"'
    assert main(["app", "new", str(folder / "program"), "--name", "shop", "--command", command]) == 0
    program = tomllib.loads((folder / "program" / "webarena-app.toml").read_text())
    assert program == {"name": "shop", "command": command, "state": "state", "tasks": "tasks.json"}
    assert main(["app", "new", str(folder / "wrong"), "--command", "php -S 127.0.0.1"]) == 2
    assert "expected {port} in place of the port" in capsys.readouterr().err
    with expect_error(ApplicationError, folder / "fresh"):
        read_application(folder / "fresh")


def test_the_command_audits_it_and_acts_at_random(folder, capsys, monkeypatch):
    assert main(["app", "audit", str(folder), "--resets", "2", "--jobs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["tasks"], found["solved"], found["attacks_rewarded"]) == (7, 7, 0)
    assert found["right_answers"] > 10
    assert found["attacks"] > 100
    wrong = task("wrong", state_check("Tea", "Rope", "Soap"), ['exit(message="")'])
    check = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "Tea"}}
    wasteful = task("wasteful", check, [do("Click", "Export"), 'exit(message="Tea")'])
    (folder / "tasks.json").write_text(json.dumps([wrong, task("empty", state_check("Tea", "Rope"), ADD[-1:]), wasteful]))
    assert main(["app", "audit", str(folder), "--resets", "2", "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    assert "unsolved: wrong: not rewarded" in out
    assert "exit rewarded: empty" in out
    assert "changed: wasteful: notes: file added: path=files/.last-export" in out
    (folder / "tasks.json").write_text(json.dumps(TASKS[:1]))
    replays = iter(["", "", "too early", ""])
    monkeypatch.setattr("webarena_gym.tools.audit.replay", lambda *_: next(replays, ""))
    assert main(["app", "audit", str(folder), "--resets", "2", "--jobs", "1", "--repeats", "4"]) == 1
    assert "not always: add: 1 of 4 replays, too early" in capsys.readouterr().out
    assert main(["app", "fuzz", str(folder), "--steps", "120", "--seed", "1", "--jobs", "1"]) == 1
    assert "/crash: ApplicationError: notes gives no answer" in capsys.readouterr().out  # what kills it


@needs.chromium
def test_both_browsers_play_it_and_a_difference_is_found(folder, monkeypatch, capsys):
    described = folder / "webarena-app.toml"
    described.write_text(described.read_text().replace("{ NOTES_DB", '{ NOTES_SOUND = "1", NOTES_DB'))
    arguments = ["fuzz", "--application", str(folder), "--steps", "40", "--seed", "1", "--jobs", "1"]
    assert main(arguments) == 0, capsys.readouterr().out
    assert "on both browsers, 0 faults" in capsys.readouterr().out
    monkeypatch.setattr(http, "referrer_for", lambda *_: "")
    assert main(arguments) == 1
    assert ": requests: ('" in capsys.readouterr().out


def evaluated(folder):
    played = ["--agent", "expert", "--application", str(folder), "--template", "notes.write", "--out", str(folder / "scores")]
    assert main(["evaluate", *played]) == 0
    return read_result(folder / "scores" / "result.json")["success"]["success"]


def played_by_a_program(folder):
    (folder / "player.py").write_text(
        "import json, os\nfrom urllib.request import Request, urlopen\n"
        "url = f\"{os.environ['WEBARENA_GYM_URL']}/episodes/{os.environ['WEBARENA_GYM_EPISODE']}/step\"\n"
        f"for action in {ADD!r}:\n"
        "    urlopen(Request(url, json.dumps({'action': action}).encode(), {'Content-Type': 'application/json'})).read()\n"
    )
    (folder / "one.json").write_text(json.dumps(TASKS[:1]))
    own = ["--application", str(folder), "--tasks", str(folder / "one.json"), "--out", str(folder / "scores")]
    agent = ["--agent", f"command:{sys.executable} {folder / 'player.py'}", "--mode", "step", "--elements", "label"]
    assert main(["evaluate", *agent, *own]) == 0
    return read_result(folder / "scores" / "result.json")["success"]["success"]


def vectorised(folder):
    envs = gymnasium.make_vec("WebArenaLite-v0", num_envs=2, workers=2, application=folder, elements="label")
    envs.reset(options={"task": "add"})
    rewards = [envs.step([action, action])[1] for action in ADD][-1]
    envs.close()
    return rewards.mean()


def stepped_in_an_arena(folder):
    with run_server(application=read_application(folder)) as service:
        listed = request_json(f"{service.url}/tasks")
        assert [each["task_id"] for each in listed][:3] == ["add", "json", "file"]
        begun = request_json(f"{service.url}/episodes", {"mode": "step", "task": "add", "elements": "label"})
        for action in ADD:
            result = request_json(f"{service.url}/episodes/{begun['id']}/step", {"action": action})
    return result["reward"]


def served_to_a_person(folder):
    command = [sys.executable, "-m", "webarena_gym", "app", "serve", str(folder), "--task", "add", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        goal, url = (server.stdout.readline().strip() for _ in range(2))
        assert goal == "Do it."
        url = url.removeprefix("open ")
        for form, result in ((None, "I am done"), ({"title": "Soap", "body": "two bars"}, "Soap: two bars")):
            with urlopen(url, form and urlencode(form).encode()) as page:
                assert result in page.read().decode()
        with urlopen(f"{url}.arena/done", b"answer=") as page:
            text = page.read().decode()
        server.terminate()
    return float("Solved." in text)


def adapted(folder):
    with expect_error(ValueError, "'validation'"):
        dataset_rows("validation", application=folder)
    rows = dataset_rows(templates="notes.write", application=folder)
    assert rows[0]["task"] == "notes.write/0/0"
    player = environment({"application": folder, "elements": "label"})()
    assert "Title" in player.reset(task="file")
    player.click(element="Export")
    return player.get_reward()


def played_by_mcp(folder):
    settings = NewEpisode(elements="label", task="add")
    played = McpTools(EpisodeStore(application=read_application(folder)), settings, names_episodes=False)
    played.call("reset", {})
    for name, arguments in (
        ("type", {"element": "Title", "argument": "Soap"}), ("type", {"element": "Body", "argument": "two bars"}), ("click", {"element": "Add"}),
    ):  # fmt: skip
        assert not played.call(name, arguments).is_error
    return float(played.call("submit", {"answer": ""}).result["success"])


def trained_by_vagen(folder):
    async def play():
        env = WebArenaGym({"application": folder, "elements": "label", "tasks": ["add"]})
        await env.reset(seed=1)
        results = [await env.step(action) for action in ADD]
        await env.close()
        return results[-1][1]

    return asyncio.run(play())


def asked_of_a_chat_model(folder):
    def say(payload):
        return {"content": ADD[sum(message["role"] == "assistant" for message in payload["messages"])]}

    (folder / "tasks.json").write_text(json.dumps(TASKS[:1]))
    described = folder / "webarena-app.toml"
    described.write_text(described.read_text().replace("templates =", "# templates ="))
    with serving_chat(say) as (_, address), pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", address)
        options = ["--application", str(folder), "--elements", "label", "--save", str(folder / "episodes.jsonl")]
        evaluate.main(["--policy", "chat:good", *options])
    return read_trajectories(folder / "episodes.jsonl")[0].reward


def trained_by_skyrl(folder):
    pytest.importorskip("skyrl_gym", reason="make test-integrations")
    from webarena_gym.integrations import skyrl  # noqa: PLC0415 - where it is installed

    row = next(row for row in skyrl.dataset_rows(application=folder) if row["task"] == "add")
    env = skyrl.WebArenaGymEnv({"application": folder, "elements": "label"}, row)
    env.init([])
    reward = [env.step(action) for action in ADD][-1]["reward"]
    env.close()
    return reward


def served_by_openenv(folder):
    pytest.importorskip("openenv.core", reason="make test-integrations")
    from webarena_gym.integrations.openenv import WebArenaGymAction, WebArenaGymEnvironment  # noqa: PLC0415

    env = WebArenaGymEnvironment({"application": folder, "elements": "label"})
    env.reset(task="add")
    reward = [env.step(WebArenaGymAction(reply=action)) for action in ADD][-1].reward
    env.close()
    return reward


DOORS = [
    evaluated, played_by_a_program, vectorised, stepped_in_an_arena, served_to_a_person, adapted, played_by_mcp, trained_by_vagen,
    asked_of_a_chat_model, trained_by_skyrl, served_by_openenv,
]  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_every_interface_judges_the_application(folder, door):
    assert door(folder) == 1.0


def test_agents_learn_from_it_and_are_scored_and_shown_on_it(folder):
    own, runs = ["--application", str(folder)], folder / "runs"
    demonstrations.main([*own, "--worlds", "1", "--per-template", "1", "--out", str(runs / "steps.jsonl")])
    steps = (runs / "steps.jsonl").read_text().splitlines()
    assert {json.loads(line)["template"] for line in steps} == {"notes.write", "notes.body"}
    small = ["--worlds", "1", "--per-template", "1", "--updates", "1"]
    train_bc.main(["--model", "pointer", *own, *small, "--width", "8", "--hidden", "8", "--out", str(runs / "bc")])
    few = ["--tasks-per-update", "1", "--group-size", "2", "--jobs", "1"]
    train_rl.main(["--method", "grpo", "--model", str(runs / "bc"), *own, *small, *few, "--out", str(runs / "grpo")])
    episodes = runs / "episodes.jsonl"
    evaluate.main(["--policy", str(runs / "grpo"), "--limit", "2", "--jobs", "1", "--save", str(episodes)])
    played = read_trajectories(episodes)
    assert {episode.env.application for episode in played} == {str(folder)}, "it is scored where it has learned"
    with Replayer() as replayer:
        assert [replayer.replay(task_of(episode), episode).problem for episode in played] == ["", ""]
    report.main([str(episodes), "--out", str(runs / "report.html")])
    assert "Write a note" in (runs / "report.html").read_text() or "Add a note" in (runs / "report.html").read_text()
