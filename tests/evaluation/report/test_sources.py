"""Sources of a report: runs, episodes of every kind, their comparison, and the element of an action."""

import json
from contextlib import closing

import gymnasium
import pytest

from agents.data.trajectories import write_trajectories
from agents.evaluation.report.episodes import Replayer
from agents.evaluation.report.sources import mark, read_sources, summarise_all, task_of
from agents.settings import ENV_ID
from tests.chat_server import call_of
from tests.errors import expect_error
from tests.reports import expert as expert
from tests.reports import shop_tasks as shop_tasks
from tests.reports import trajectory, write_metrics
from webarena_gym import suite as task_suite
from webarena_gym.actions import Action, Kind
from webarena_gym.evaluation.results import read_episodes
from webarena_gym.tools import cli


def test_a_folder_gives_the_runs_and_the_episodes_in_it(tmp_path):
    write_metrics(tmp_path / "demo" / "cloning", [{"update": 1, "loss": 2.0}])
    write_trajectories(tmp_path / "demo" / "episodes_random.jsonl", [trajectory()])
    sources = read_sources([str(tmp_path / "demo"), f"again={tmp_path / 'demo'}", f"one={tmp_path / 'demo' / 'cloning'}"])
    assert list(sources.runs) == ["cloning", "again/cloning", "one"]
    assert list(sources.policies) == ["random", "again/random"]
    assert sources.policies["random"] == [trajectory()]


def test_episodes_of_the_evaluate_command_are_read(tmp_path):
    command = ["evaluate", "--agent", "random", "--limit", "3", "--max-steps", "4", "--jobs", "1"]
    assert cli.main([*command, "--out", str(tmp_path / "run")]) == 0
    _, records = read_episodes(tmp_path / "run" / "episodes.jsonl")
    episodes = read_sources([str(tmp_path / "run")]).policies["run"]  # the name of the folder, as all files have the same
    read, written = ([(item.task_id, item.reward, len(item.steps)) for item in items] for items in (episodes, records))
    assert read == written
    assert all(item.goal == task_of(item).intent for item in episodes)
    with Replayer() as replayer:
        replayed = [replayer.replay(task_of(item), item) for item in episodes]
    assert [(len(own.pages), own.problem) for own in replayed] == [(len(item.steps) + 1, "") for item in episodes]
    assert all(shown.text for own in replayed for shown in own.pages)


@pytest.mark.parametrize(("header", "pages", "problem"), [
    ({"observation": "axtree"}, 2, ""),
    ({"dialect": "browsergym"}, 1, "has different pages"),  # it has no exit()
    ({"scale": "large"}, 0, "settings of its env are unknown"),
])  # fmt: skip
def test_pages_are_replayed_with_the_env_of_the_header(tmp_path, header, pages, problem):
    record = {"task_id": "shopping.cart_add/1000/0", "repeat": 0, "sites": ["shopping"], "checks": ["state"]}
    record |= {"ending": "exited", "reward": 0.0, "steps": [{"reply": 'exit(message="x")'}]}
    lines = [{"format": 1, "suite": {}, "env": header}, record]
    path = tmp_path / "episodes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (episode,) = read_sources([f"x={path}"]).policies["x"]
    with Replayer() as replayer:
        replay = replayer.replay(task_of(episode), episode)
    assert len(replay.pages) == pages
    assert problem in replay.problem
    assert bool(problem) == bool(replay.problem)


def inspect_log(tasks, tmp_path):
    """A log as Inspect AI writes it, of the solutions of tasks after an action that there is not."""
    samples = []
    with closing(gymnasium.make(ENV_ID, tasks=tasks, elements="label", disable_env_checker=True)) as env:
        for task in tasks:
            _, info = env.reset(options={"task": task})
            prompt = f"Task: {task.intent}\n\n{info['page']}"
            messages = [{"role": "system", "content": "System"}, {"role": "user", "content": prompt}]
            for action in [Action(Kind.CLICK, element="no such"), *(step.action for step in task.solution)]:
                (call,) = call_of(action)["tool_calls"]
                function = {"function": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
                _, reward, over, _, info = env.step(env.unwrapped.dialect.format(action))
                content = [{"type": "text", "text": "A thought."}]
                messages.append({"role": "assistant", "content": content, "tool_calls": [function]})
                messages.append({"role": "tool", "content": "The episode is over." if over else info["page"]})
            score = {"value": reward, "metadata": {"verdicts": [dict(verdict) for verdict in info["verdicts"]]}}
            sample = {"id": task.task_id, "epoch": 1, "input": task.intent, "messages": messages}
            samples.append(sample | {"scores": {"judged": score}})
    broken = {"id": tasks[0].task_id, "epoch": 2, "input": "x", "messages": [], "scores": {}, "error": {"message": "It broke"}}
    path = tmp_path / "inspect.json"
    log = {"eval": {"task_args": {"env": {"elements": "label"}}}, "samples": [*samples, broken]}
    path.write_text(json.dumps(log, indent=2))
    return path


def test_logs_of_inspect_are_read_and_their_pages_played_again(shop_tasks, tmp_path):
    *episodes, broken = read_sources([f"model={inspect_log(shop_tasks, tmp_path)}"]).policies["model"]
    assert (broken.ending, broken.failure) == ("failed", "It broke")
    with Replayer() as replayer:
        for task, episode in zip(shop_tasks, episodes, strict=True):
            assert (episode.task_id, episode.reward, len(episode.steps)) == (task.task_id, 1.0, len(task.solution) + 1)
            assert "no such" in episode.steps[0].action_error
            assert episode.steps[0].reply.startswith("A thought.")
            replay = replayer.replay(task, episode)
            assert (replay.problem, len(replay.pages)) == ("", len(episode.steps) + 1)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_states_of_an_arena_are_read(tmp_path, suffix):
    request = {"what": "GET shopping /cart", "status": 404, "at_s": 0.1, "ms": 2.0}
    log = [request, *(request | {"status": status} for status in (399, 400))]
    result = {"reward": 1.0, "verdicts": [{"check": "state", "passed": True, "reason": "x", "decided_by": "y"}]}
    state = {"task_id": "t/1", "mode": "browse", "goal": "Goal", "status": "over", "failure": ""}
    state |= {"log": log, "result": result}
    path = tmp_path / f"arena{suffix}"
    others = [state | {"status": "open", "result": None}, state | {"status": "lost", "result": None, "failure": "gone"}]
    others = others if suffix == ".jsonl" else []
    path.write_text("".join(json.dumps(each) + "\n" for each in [state, *others]))
    first, *rest = read_sources([str(path)]).policies["arena"]
    assert (first.reward, first.steps[0].reply, first.steps[0].action_error) == (1.0, "GET shopping /cart", "status 404")
    assert [step.action_error for step in first.steps] == ["status 404", "", "status 400"]
    assert first.ending == "exited"
    assert [item.failure for item in rest] == ["gone"] * (suffix == ".jsonl")
    if rest:
        assert rest[0].ending == "failed"


def test_invalid_sources_and_duplicate_names_are_rejected(tmp_path):
    (tmp_path / "log.eval").write_bytes(b"PK")
    with expect_error(ValueError, "log.eval", "inspect log convert --to json"):
        read_sources([str(tmp_path / "log.eval")])
    (tmp_path / "log.eval").unlink()
    with expect_error(ValueError, tmp_path / "gone", "metrics.jsonl"):
        read_sources([str(tmp_path / "gone")])
    with expect_error(ValueError, tmp_path):
        read_sources([str(tmp_path)])
    other = tmp_path / "other.jsonl"
    other.write_text('{"update": 1}\n')
    with expect_error(ValueError, "other.jsonl", "agents.evaluate --save", "KeyError"):
        read_sources([str(other)])
    for folder in "ab":
        write_metrics(tmp_path / folder / "run", [{"update": 1}])
    places = [str(tmp_path / folder / "run") for folder in "ab"]
    with expect_error(ValueError, "NAME="):
        read_sources(places)
    assert list(read_sources([places[0], f"b={places[1]}"]).runs) == ["run", "b"]


def test_policies_are_compared_with_the_first_on_common_tasks(expert):
    first = [trajectory(0.0, task_id=f"t/{number}") for number in range(6)]
    second = [trajectory(1.0, task_id=f"t/{number}") for number in range(5)] + [trajectory(0.0, "failed", task_id="t/5")]
    results = summarise_all({"first": first, "second": second, "alone": [trajectory(task_id="other")]})
    assert [result.lift and result.lift.lift for result in results] == [None, 1.0, None]
    assert [result.evaluation.total.n for result in results] == [6, 5, 1]
    assert results[1].evaluation.failed == 1
    assert list(results[0].evaluation.by_site) == ["unknown"]
    evaluation = summarise_all({"expert": expert})[0].evaluation
    assert (evaluation.total.success, list(evaluation.by_site)) == (1.0, ["shopping"])
    assert set(evaluation.by_check) == {"+".join(task_of(episode).eval_types) for episode in expert}


def test_intervals_of_differences_resample_whole_templates_and_of_one_template_tasks():
    tasks = task_suite.draw(["shopping.cart_add", "shopping.reviews_place"], world_seed=1000, count=4)

    def difference(tasks):
        before = [trajectory(0.0, task_id=task.task_id) for task in tasks]
        after = [
            trajectory(float(task.template == "shopping.cart_add" or number % 2), task_id=task.task_id)
            for number, task in enumerate(tasks)
        ]
        return summarise_all({"before": before, "after": after})[1].lift

    assert difference(tasks)[:3] == (0.75, 0.5, 1.0)  # of two templates either one twice, or both
    low, high = difference(tasks[4:])[1:3]
    assert low < 0.5 < high


@pytest.mark.parametrize(("page", "address", "marked"), [
    ('<a id="1">One</a> <a id="12">Twelve</a>', "12", '<a id="12">Twelve</a>'),
    ("<a>Add</a> <button>Add [2]</button>", "Add [2]", "<button>Add [2]</button>"),
    ('<h2><a>5" Pipe &lt;new></a></h2>', '5" Pipe <new>', '<a>5" Pipe &lt;new></a>'),
    ('<select label="5&quot; or 6&quot;"><option>5</option></select>', '5" or 6"', '<select label="5&quot; or 6&quot;">'),
    ("<a>ADD</a>", "add", "<a>ADD</a>"),
    ("RootWebArea 'x'\n\t[3] link 'Home'\n[31] link 'Shop'", "31", "[31] link 'Shop'"),
    ("<a>Add</a>", "Remove", ""),
    ("<a>Add</a>", None, ""),
])  # fmt: skip
def test_the_element_of_an_action_is_found_in_the_text(page, address, marked):
    parts = mark(page, address)
    assert parts[1] == marked
    assert "".join(parts) == page
