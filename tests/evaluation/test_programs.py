"""Programs as agents of the command evaluate, beside a judge that stands in for the episode server, and on the server."""

import importlib.util
import json
import sys

import pytest

from tests.documents import ROOT, blocks
from tests.evaluations import TASKS
from tests.evaluations import evaluate as evaluate
from webarena_gym.actions import DIALECTS
from webarena_gym.errors import AgentError
from webarena_gym.evaluation import leaderboard
from webarena_gym.evaluation.programs import ProgramWorker
from webarena_gym.evaluation.results import (
    EPISODES,
    EvaluationPlan,
    read_episodes,
)
from webarena_gym.suite import load as load_tasks
from webarena_gym.vector import ResetMonitor


class FakeArena:
    """An episode server that judges a file, in the place of the real one."""

    def __init__(self, folder):
        self.folder, self.ended = folder, []

    def open(self, trial):
        return {"WEBARENA_GYM_URL": str(self.folder), "WEBARENA_GYM_EPISODE": trial.task.task_id.replace("/", "-")}

    def outcome(self, episode):
        answer = self.folder / episode["WEBARENA_GYM_EPISODE"]
        return {"ending": "exited", "reward": float(answer.read_text() == "right")} if answer.exists() else None

    def submit_empty_answer(self, episode):
        (self.folder / episode["WEBARENA_GYM_EPISODE"]).write_text("")

    def delete(self, episode):
        self.ended.append(episode["WEBARENA_GYM_EPISODE"])

    def close(self):
        pass


def program(path, code):
    path.write_text(
        "import os, sys\nplace = os.path.join(os.environ['WEBARENA_GYM_URL'], os.environ['WEBARENA_GYM_EPISODE'])\n" + code
    )
    return f"{sys.executable} {path}"


@pytest.mark.parametrize(("code", "reward", "message"), [
    ("open(place, 'w').write('right')", 1.0, ""),
    ("open(place, 'w').write('wrong')", 0.0, ""),
    ("open(place, 'w').write('right'); sys.exit(3)", 1.0, ""),
    ("", 0.0, ""),
    ("sys.exit('no luck')", None, "ended with status 1, and had not answered: no luck"),
    ("import threading; threading.Event().wait()", None, "did not end within"),
])  # fmt: skip
def test_programs_are_judged_by_the_server_and_those_that_break_have_failed(tmp_path, code, reward, message):
    arena = FakeArena(tmp_path)
    seat = ProgramWorker(program(tmp_path / "agent.py", code), arena, 2.0 if "wait" in code else 60.0, ResetMonitor())
    record = seat.play(EvaluationPlan(tasks=TASKS[:1]).trials[0])
    assert record.reward == reward
    assert message in record.failure
    assert len(arena.ended) == 1


def test_a_program_that_is_not_there_is_a_failure(tmp_path):
    record = ProgramWorker("/no/such/program", FakeArena(tmp_path), 5, ResetMonitor()).play(
        EvaluationPlan(tasks=TASKS[:1]).trials[0]
    )
    assert "cannot be run" in record.failure
    with pytest.raises(AgentError):
        ProgramWorker(" ", FakeArena(tmp_path), 5, ResetMonitor())


PLAYER = """
import json, os, sys
from urllib.request import Request, urlopen

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    place = f"{os.environ['WEBARENA_GYM_URL']}/episodes/{os.environ['WEBARENA_GYM_EPISODE']}{path}"
    return json.load(urlopen(Request(place, data, {"Content-Type": "application/json"})))

state = ask("")
replies, answer = json.load(open(sys.argv[1]))[state["goal"]]
if state["mode"] == "step":
    for reply in replies:
        ask("/step", {"action": reply})
elif "cost" in state["goal"]:
    ask("/answer", {"answer": answer, "url": state["start_urls"][0]})
"""
served = pytest.mark.skipif(not importlib.util.find_spec("uvicorn"), reason="no episode server here")


@served
@pytest.mark.parametrize(
    ("mode", "steps", "success", "length"), [("step", 30, 1.0, 1.0), ("step", 1, 0.0, 0.0), ("browse", 30, 0.5, None)]
)
def test_programs_play_on_the_episode_server_which_knows_their_steps(
    evaluate, tmp_path, monkeypatch, mode, steps, success, length
):
    (tmp_path / "player.py").write_text(PLAYER)
    names = ("shopping.product_price", "shopping.order_total")
    tasks = [next(task for task in load_tasks("test") if task.template == name) for name in names]
    (tmp_path / "tasks.json").write_text(json.dumps([task.to_json() for task in tasks]))
    replies = {task.intent: [DIALECTS["webrl"].format(step.action) for step in task.solution] for task in tasks}
    known = {task.intent: (replies[task.intent], task.solution[-1].action.argument) for task in tasks}
    (tmp_path / "known.json").write_text(json.dumps(known))
    program = f"{sys.executable} {tmp_path / 'player.py'} {tmp_path / 'known.json'}"
    agent = ("--agent", f"command:{program}", "--mode", mode, "--max-steps", steps)
    status, result, output = evaluate(*agent, "--tasks", tmp_path / "tasks.json", "--jobs", 2)
    assert (status, result["judged"], result["failed"], result["suite"]["file"]) == (0, 2, 0, "tasks.json"), output
    assert result["success"]["success"] == success
    assert result["endings"] == {"truncated" if steps == 1 else "exited": 2}
    assert (result["spl"] and result["spl"]["success"]) == length
    if mode == "step":  # so that a row of a leaderboard can be checked
        monkeypatch.setattr(leaderboard, "load_tasks", lambda _: tasks)
        assert leaderboard.replay(*read_episodes(tmp_path / "run" / EPISODES)) == []


@served
@pytest.mark.parametrize(("place", "agent"), [(0, "{}:Agent"), (1, "command:python {}")])
def test_the_agents_of_the_reference_play(evaluate, tmp_path, place, agent):
    program = [block.code for block in blocks(ROOT / "docs/guides/evaluating.md", "python")][place]
    task = next(task for task in load_tasks("test") if task.template == "shopping.product_price")
    price = task.solution[-1].action.argument
    (tmp_path / "program.py").write_text(program.replace("$46.50", price))
    (tmp_path / "tasks.json").write_text(json.dumps([task.to_json()]))
    name = agent.replace("python", sys.executable).format(tmp_path / "program.py")
    _, result, output = evaluate("--agent", name, "--mode", "step", "--tasks", tmp_path / "tasks.json")
    assert (result["success"]["success"], result["failed"]) == (1.0, 0), output


@served
def test_unsupported_keywords_and_missing_extras_are_reported_to_programs(evaluate, monkeypatch):
    status, _, output = evaluate("--agent", "command:true", "--browser", "chromium")
    assert (status, "does not support the keyword browser" in output) == (2, True)
    monkeypatch.setitem(sys.modules, "webarena_gym.arena.app", None)
    status, _, output = evaluate("--agent", "command:true")
    assert (status, "webarena-gym[serve]" in output) == (2, True)
