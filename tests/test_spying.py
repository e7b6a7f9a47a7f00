"""An agent program earns nothing that it did not do: a spy tries every route to the expected answer but the pages."""

import ast
import json
import re
import shlex
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.arena import Client
from tests.errors import expect_error
from tests.notes_app import make_state
from tests.serving import serving_episodes
from webarena_gym.applications.processes import copies_folder
from webarena_gym.arena.episodes import EpisodeStore
from webarena_gym.arena.mcp_tools import McpTools
from webarena_gym.arena.schema import BROKEN, NewEpisode
from webarena_gym.errors import AgentError, EvaluationError
from webarena_gym.evaluation.programs import (
    TOKEN,
    EpisodeClient,
    ProgramWorker,
    isolated_command,
    isolation_problem,
    secret_paths,
)
from webarena_gym.evaluation.results import EPISODES, EvaluationPlan, read_episodes
from webarena_gym.sites.world import cache_folder
from webarena_gym.suite import draw, load
from webarena_gym.tools.cli import main
from webarena_gym.vector import ResetMonitor

pytestmark = pytest.mark.skipif(not find_spec("uvicorn"), reason="no episode server here: pip install 'webarena-gym[serve]'")

SEED = 7340
TEMPLATES = ("shopping.product_price", "shopping.order_total")
TASKS = draw(TEMPLATES, world_seed=SEED, count=1)
ANSWERS = [task.solution[-1].action.argument for task in TASKS]
SECRETS = [*ANSWERS, *TEMPLATES, f"/{SEED}/"]
WHY_OPEN = isolation_problem([])
closes = pytest.mark.skipif(bool(WHY_OPEN), reason=f"programs cannot be closed off here: {WHY_OPEN}")


@pytest.fixture
def spy(tmp_path, monkeypatch):
    """Return the command line of the spy, which runs in an empty folder, and its file of notes."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    program, notes = Path(__file__).parent / "spy_agent.py", tmp_path / "notes.jsonl"
    folders = [] if WHY_OPEN else [str(tmp_path)]
    return shlex.join([sys.executable, str(program), str(notes), *folders]), notes


def read(notes):
    """Return what each route has found, and the secrets in it."""
    found = {}
    for line in map(json.loads, notes.read_text().splitlines()):
        found.setdefault(line["route"], []).extend(line["found"])
    return found, {name: [secret for secret in SECRETS if secret in "\n".join(texts)] for name, texts in found.items()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["step", "browse"])
@pytest.mark.parametrize("source", ["world", "file"])
def test_a_spying_program_earns_nothing_in_an_evaluation(spy, capsys, mode, source):
    command, notes = spy
    Path("tasks.json").write_text(json.dumps([task.to_json() for task in TASKS]))
    tasks = ["--tasks", "tasks.json"]
    if source == "world":
        Path("tasks.json").unlink()
        tasks = ["--world-seed", str(SEED), "--template", *TEMPLATES]
    status = main(["evaluate", "--agent", f"command:{command}", "--mode", mode, "--repeats", "2", "--jobs", "2", *tasks])
    output = capsys.readouterr()
    assert status == 0, output
    _, records = read_episodes(next(Path("runs").glob(f"**/{EPISODES}")))
    assert [record.reward for record in records] == [0.0] * 4
    answers = ANSWERS * 2
    assert sorted(record.verdicts[0]["expected"] for record in records) == sorted(answers)  # the judge's own file has them
    found, secrets = read(notes)
    assert {"second_episode", "verdict", "files"} <= found.keys()
    assert secrets == {route: [] for route in found}
    if not WHY_OPEN:
        assert {text.partition("[")[0] for text in found["processes"]} <= {
            "processes: 2",
            "open: /dev/null",
            "open: pipe:",
            "open: /proc/3/fd",
        }


def test_a_spy_learns_nothing_from_a_server_of_somebody_else(spy, capsys, monkeypatch):
    command, notes = spy
    monkeypatch.setenv(TOKEN, "the-token-of-the-operator")
    from webarena_gym.arena.service import ServerSettings  # noqa: PLC0415 - needs an extra

    with serving_episodes(ServerSettings(token="the-token-of-the-operator")) as url:
        agent = ["--agent", f"command:{command}", "--base-url", url, "--world-seed", str(SEED), "--template", TEMPLATES[0]]
        assert main(["evaluate", *agent, "--repeats", "2", "--jobs", "1"]) == 0, capsys.readouterr()
    _, records = read_episodes(next(Path("runs").glob(f"**/{EPISODES}")))
    assert [record.reward for record in records] == [0.0] * 2
    assert "the-token-of-the-operator" not in notes.read_text()
    assert not any(read(notes)[1].values())


def test_a_server_that_shows_verdicts_to_everybody_scores_nobody(capsys, monkeypatch):
    with serving_episodes() as url:
        assert main(["evaluate", "--agent", f"command:{sys.executable}", "--base-url", url]) == 2
        assert f"${TOKEN} is not set" in capsys.readouterr().err
        with expect_error(AgentError, f"${TOKEN}"):
            EpisodeClient({}, url=url)
        monkeypatch.setenv(TOKEN, "x")
        record = ProgramWorker("x", EpisodeClient({}, url=url, token="x"), 60.0, ResetMonitor()).play(
            EvaluationPlan(tasks=TASKS[:1]).trials[0]
        )
        assert "cannot be scored" in record.failure


# Parts of it.

PUBLIC = ("goal", "url", "page", "messages", "step", "action_error", "answer_form")
FORBIDDEN = [
    ("GET", "/episodes"), ("POST", "/episodes"), ("GET", "/tasks"), ("POST", "{}/snapshot"), ("POST", "{}/restore"), ("DELETE", "{}"),
    ("GET", "/episodes/unknown"), ("GET", "{other}"), ("POST", "{other}/answer"), ("POST", "{other}/step"),
]  # fmt: skip


@pytest.fixture(scope="module")
def arena():
    """Return the operator and a client without a token of an arena as evaluations start it."""
    from webarena_gym.arena.service import ServerSettings  # noqa: PLC0415 - needs an extra

    with serving_episodes(ServerSettings(operator="the operator")) as url:
        yield Client(url, "the operator"), Client(url)


@pytest.mark.parametrize(("method", "path"), FORBIDDEN)
def test_a_player_may_ask_only_for_its_own_scored_episode(arena, method, path):
    operator, player = arena
    own = operator.create_episode(task=TASKS[0].task_id, scored=True, mode="step")
    other = operator.create_episode(task=TASKS[0].task_id, mode="step")
    path = path.format(f"/episodes/{own['id']}", other=f"/episodes/{other['id']}")
    assert player.ask(method, path, {} if method == "POST" else None)[0] == 401
    assert operator.ask("GET", f"/episodes/{own['id']}")[1]["status"] == "open"
    for episode in (own, other):
        operator.delete(episode)


@pytest.mark.parametrize("mode", ["step", "browse"])
@pytest.mark.parametrize("is_right", [True, False])
def test_a_right_and_a_wrong_answer_look_the_same_to_the_player(arena, mode, is_right):
    operator, player = arena
    episode = operator.create_episode(task=TASKS[0].task_id, scored=True, mode=mode, max_steps=2)
    path = f"/episodes/{episode['id']}"
    seen = player.well("GET", path)
    assert (seen["task_id"], seen["result"], seen["goal"]) == ("", None, TASKS[0].intent)
    answer = ANSWERS[0] if is_right else "wrong"
    if mode == "step":
        assert set(seen["shown"]["info"]) <= set(PUBLIC)
        first, last = (player.well("POST", f"{path}/step", {"action": action}) for action in ("x", f'exit(message="{answer}")'))
        assert (first["reward"], last["reward"], last["terminated"]) == (0.0, None, True)
        assert set(first["info"]) == set(last["info"]) <= set(PUBLIC)
        judged = player.well("GET", path)["result"]
    else:
        judged = player.well("POST", f"{path}/answer", {"answer": answer})
        assert player.well("GET", path)["result"] == judged
    sentences = ["The episode is over. Its result is hidden from the player."]
    hidden = {"reward": None, "success": None, "verdicts": [], "side_effects": [], "told": sentences, "truncated": False}
    assert judged == hidden
    assert player.ask("POST", f"{path}/answer", {"answer": answer})[0] == 409
    assert operator.well("GET", path)["result"]["success"] is is_right
    operator.delete(episode)
    assert player.ask("GET", path)[0] == 410


def test_verdicts_are_hidden_from_players_at_the_step_limit(arena):
    operator, player = arena
    episode = operator.create_episode(task=TASKS[0].task_id, scored=True, mode="step", max_steps=1)
    last = player.well("POST", f"/episodes/{episode['id']}/step", {"action": "x"})
    assert (last["reward"], last["truncated"], set(last["info"]) <= set(PUBLIC)) == (None, True, True)
    operator.delete(episode)


@pytest.mark.parametrize("error", [EvaluationError, RuntimeError, OSError])
def test_evaluation_errors_do_not_reveal_the_expected_answer(arena, monkeypatch, error):
    operator, player = arena

    def fail(*_):
        raise error(f"cannot compare with {ANSWERS[0]}")

    monkeypatch.setattr("webarena_gym.rewards.evaluate", fail)
    episode = operator.create_episode(task=TASKS[0].task_id, scored=True)
    path = f"/episodes/{episode['id']}"
    for status, value in (player.ask("POST", f"{path}/answer", {"answer": "x"}), player.ask("GET", path)):
        assert (ANSWERS[0] in json.dumps(value), BROKEN in json.dumps(value)) == (False, True), (status, value)
    assert ANSWERS[0] in operator.well("GET", path)["failure"]
    operator.delete(episode)


@closes
def test_a_program_that_is_closed_off_sees_its_own_processes_and_ends_with_them(tmp_path):
    code = "import os, subprocess, sys; subprocess.Popen(['sleep', '100']); print(sum(map(str.isdecimal, os.listdir('/proc')))); sys.exit(3)"
    done = subprocess.run(
        isolated_command([sys.executable, "-c", code], []), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, ast.literal_eval(done.stdout)) == (3, 3)
    begun = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(isolated_command(["sleep", "100"], []), capture_output=True, timeout=1, check=False)
    assert time.monotonic() - begun < 60  # a survivor would hold the pipes for 100 s
    missing = subprocess.run(
        isolated_command(["/no/such/program"], []), capture_output=True, text=True, timeout=60, check=False
    )
    assert (missing.returncode, "cannot be run" in missing.stderr) == (127, True)


def test_a_system_that_cannot_close_programs_off_is_announced(spy, capsys, monkeypatch):
    monkeypatch.setattr("webarena_gym.evaluation.runner.isolation_problem", lambda _: "namespaces are switched off")
    agent = ["--agent", f"command:{sys.executable} -c ''", "--world-seed", str(SEED), "--template", TEMPLATES[0]]
    assert main(["evaluate", *agent]) == 0
    assert "the program can read the files and processes of this run: namespaces are switched off" in capsys.readouterr().err


@closes
def test_checks_of_applications_are_hidden_from_programs(tmp_path, monkeypatch):
    make_state(tmp_path / "notes" / "state")
    for name in ("tasks.json", "templates.toml"):
        (tmp_path / "notes" / name).write_text("what is expected")
    described = (
        'name = "notes"\nwsgi = "tests.notes_app:app"\nstate = "state"\ntasks = "tasks.json"\ntemplates = "templates.toml"\n'
    )
    (tmp_path / "notes" / "webarena-app.toml").write_text(described)
    (tmp_path / "mine.json").write_text("what is expected")
    hidden = secret_paths([tmp_path / "results", tmp_path / "mine.json"], str(tmp_path / "notes"))
    assert cache_folder() in hidden
    assert copies_folder() in hidden
    code = "import os, pathlib, sys; print([os.listdir(p) if os.path.isdir(p) else pathlib.Path(p).read_text() for p in sys.argv[1:]])"
    there = [str(path) for path in hidden if path.exists()]
    done = subprocess.run(
        isolated_command([sys.executable, "-c", code, *there], hidden), capture_output=True, text=True, timeout=60, check=True
    )
    assert sorted(map(str, ast.literal_eval(done.stdout))) == sorted(["", "", "", *["[]"] * (len(there) - 3)])
    assert len(there) >= 5
    monkeypatch.chdir(tmp_path)
    with expect_error(AgentError, "--out"):
        secret_paths([Path(".")])


def test_mcp_tools_and_session_files_reveal_no_expected_value(tmp_path, capsys):
    for name, given in (("submit", {"answer": "wrong"}), ("click", {"element": "x"})):
        played = McpTools(EpisodeStore(), NewEpisode(task=TASKS[0].task_id, max_steps=1), names_episodes=False)
        played.call("reset", {})
        judged = played.call(name, given)
        kept = {"check": "string_match/fuzzy_match", "passed": False, "decided_by": "typed comparison"}
        assert judged.result["verdicts"] == [kept | {"reason": "", "why": "", "expected": None, "found": None, "place": ""}]
        assert judged.text == "reward 0\nNot solved.\nThe answer is not right."
    file = tmp_path / "session.json"
    for words in (["start", TASKS[0].task_id], ["submit", "wrong"]):
        assert main(["play", "--session", str(file), *words]) == 0
    assert ANSWERS[0] not in file.read_text() + capsys.readouterr().out.partition("reward")[2]


def submitted(tools, session, answer, episode):
    """Return the reward of an answer in a session of MCP; None where it was refused."""
    judged = tools.call("submit", {"answer": answer, **({"episode": episode} if episode else {})}, session)
    assert judged.is_error is (judged.result is None)
    return judged.result and judged.result["reward"]


@pytest.mark.parametrize("names_episodes", [True, False])
def test_a_session_of_mcp_is_judged_on_each_task_once(names_episodes):
    tools = McpTools(EpisodeStore(), NewEpisode(), names_episodes=names_episodes)

    def begin(session="one", **task):
        returned = tools.call("reset", task, session)
        found = re.match(r"Episode (\w+)\n", returned.text)
        return returned.is_error, found and found[1]

    first, second = (begin(task=TASKS[0].task_id)[1] for _ in range(2))
    if not names_episodes:
        assert (first, second) == (None, None)
    assert submitted(tools, "one", "wrong", second) == 0
    assert submitted(tools, "one", ANSWERS[0], first) is None  # it was begun before the verdict
    assert begin(task=TASKS[0].task_id)[0]
    assert tools.call("observe", {"episode": first} if first else {}, "one").text
    if names_episodes:
        refused = tools.call("click", {"episode": first, "element": "x"}, "one")
        assert (refused.is_error, "is judged on each task once" in refused.text) == (True, True)
        error, other = begin("two", task=TASKS[0].task_id)
        assert (error, submitted(tools, "two", ANSWERS[0], other)) == (False, 1)
    error, other = begin(task=TASKS[1].task_id)
    assert (error, submitted(tools, "one", ANSWERS[1], other)) == (False, 1)


@pytest.mark.skipif(not find_spec("mcp"), reason="no SDK of MCP here: pip install 'webarena-gym[mcp]'")
def test_a_spy_with_the_official_client_of_mcp_learns_no_answer():
    import anyio  # noqa: PLC0415 - comes with the SDK
    import mcp  # noqa: PLC0415

    task = load("test")[0]
    answer = task.solution[-1].action.argument
    command = ["-m", "webarena_gym", "mcp", "--task", task.task_id]

    async def session():
        found, rewards = [], []
        async with mcp.Client(mcp.stdio_client(mcp.StdioServerParameters(command=sys.executable, args=command))) as client:
            found += [(await client.list_tools()).model_dump_json()]
            for given in ({}, {"task": task.task_id}):
                await client.call_tool("reset", given)
                for attempt in ("wrong", "", answer):
                    result = await client.call_tool("submit", {"answer": attempt})
                    found.append(result.model_dump_json())
                    rewards += [result.structured_content["reward"]] if result.structured_content else []
        return found, rewards

    found, rewards = anyio.run(session)
    assert rewards == [0.0]
    assert answer
    assert answer not in "\n".join(found)


# The spy itself: where something is left open, it finds it.


def test_the_spy_is_rewarded_where_the_server_shows_verdicts(spy):
    command, notes = spy
    with serving_episodes() as url:
        client = EpisodeClient({}, "step", url, "any")
        client._settings["scored"] = False
        records = [
            ProgramWorker(command, client, 60.0, ResetMonitor()).play(trial)
            for trial in EvaluationPlan(tasks=TASKS[:1], repeats=1).trials
        ]
    assert [record.reward for record in records] == [1.0]
    assert ANSWERS[0] in read(notes)[1]["second_episode"]


@closes
@pytest.mark.parametrize("is_hidden", [True, False])
def test_the_spy_reads_files_and_processes_that_are_not_hidden(spy, tmp_path, is_hidden):
    command, notes = spy
    (tmp_path / "results").mkdir()
    earlier = {"goal": TASKS[0].intent, "verdicts": [{"why": "", "expected": ANSWERS[0]}]}
    (tmp_path / "results" / EPISODES).write_text(json.dumps(earlier))
    hidden = secret_paths([tmp_path / "results"]) if is_hidden else None
    client = EpisodeClient({}, "step")
    try:
        record = ProgramWorker(command, client, 120.0, ResetMonitor(), hidden=hidden).play(
            EvaluationPlan(tasks=TASKS[:1]).trials[0]
        )
    finally:
        client.close()
    assert (record.reward, record.failure) == (float(not is_hidden), "")
    found, _ = read(notes)
    assert bool(found["files"]) is not is_hidden
    assert any(text.startswith("evaluation: ") for text in found["processes"]) is not is_hidden
