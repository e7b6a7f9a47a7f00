"""The report: what it reads, what it keeps and says of it, and what a person sees of it in a real browser."""

import base64
import csv
import gzip
import hashlib
import json
import math
import random
import re
from contextlib import closing
from dataclasses import replace

import gymnasium
import pytest
from lxml import html as lxml_html

from agents.data.trajectories import Candidate, Step, Trajectory, read_trajectories, write_trajectories
from agents.evaluation.evaluate import evaluate
from agents.evaluation.report.curves import MAX_POINTS, thin
from agents.evaluation.report.document import write_report
from agents.evaluation.report.episodes import Assets, Replay, ReplayedPage, Replayer, pack_episodes, write_page
from agents.evaluation.report.sources import Sources, mark, read_sources, summarise_all, task_of
from agents.report import main
from agents.rollouts.policies import ExpertReplies, ScriptedPolicy
from agents.settings import ENV_ID, EnvSettings
from tests import needs
from tests.chat_server import call_of
from webarena_gym import suite as task_suite
from webarena_gym.actions import Action, Kind
from webarena_gym.evaluation.results import read_episodes
from webarena_gym.pages.page import Network, Page
from webarena_gym.tools import cli

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--<b>\u2028"
HOSTILE_PAGE = f"""<html><body onload="parent.hacked = 1"><a data-marked href="javascript:parent.hacked = 1">Here</a>
<style>@import "http://elsewhere.test/a.css"; b {{ background: url(http://elsewhere.test/b.png) }}</style><b>Bold</b>
<img data-asset="constructor" src="http://elsewhere.test/c.png">{HOSTILE}<meta http-equiv=refresh content="0;url=http://elsewhere.test">"""


def trajectory(reward=0.0, ending="exited", reply="go_backward()", task_id="t/1", page="<a>Tom & Jerry</a>"):
    verdicts = ({"check": "url", "passed": False, "reason": f"a<b {HOSTILE}", "decided_by": "equal text"},)
    return Trajectory(task_id, f"Buy {HOSTILE}", (Step(page, reply, f"no {HOSTILE}"),), reward, ending, verdicts=verdicts)


def played(tasks, **settings):
    with closing(ScriptedPolicy(ExpertReplies())) as policy:
        return evaluate(policy, tasks, EnvSettings(**settings), num_envs=2, quiet=True).trajectories


@pytest.fixture(scope="module")
def shop_tasks():
    return task_suite.draw(["shopping.cart_add", "shopping.reviews_place"], world_seed=1000, count=1)


@pytest.fixture(scope="module")
def expert(shop_tasks):
    return played(shop_tasks)


@pytest.fixture(scope="module")
def numbered(shop_tasks):
    """The episodes of the expert where elements have numbers."""
    return played(shop_tasks, elements="id")


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1))


# What it reads.


def write_metrics(folder, records):
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


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
def test_pages_are_played_in_an_env_of_the_header_as_far_as_it_answers_so(tmp_path, header, pages, problem):
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
            told = f"Task: {task.intent}\n\n{info['page']}"
            messages = [{"role": "system", "content": "System"}, {"role": "user", "content": told}]
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
    result = {"reward": 1.0, "verdicts": [{"check": "state", "passed": True, "reason": "x", "decided_by": "y"}]}
    state = {"task_id": "t/1", "mode": "browse", "goal": "Goal", "status": "over", "failure": ""}
    state |= {"log": [request], "result": result}
    path = tmp_path / f"arena{suffix}"
    others = [state | {"status": "open", "result": None}, state | {"status": "lost", "result": None, "failure": "gone"}]
    others = others if suffix == ".jsonl" else []
    path.write_text("".join(json.dumps(each) + "\n" for each in [state, *others]))
    first, *rest = read_sources([str(path)]).policies["arena"]
    assert (first.reward, first.steps[0].reply, first.steps[0].action_error) == (1.0, "GET shopping /cart", "status 404")
    assert [item.failure for item in rest] == ["gone"] * (suffix == ".jsonl")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_episodes_are_a_table_that_data_frames_are_made_of(tmp_path, suffix, capsys, expert):
    endings = [("truncated", 1.0), ("exited", 0.0), ("truncated", 0.0), ("too_long", 0.0), ("failed", float("nan"))]
    outcomes = ["solved", "wrong", "out of steps", "prompt too long", "broken, not counted"]
    write_trajectories(tmp_path / "mixed.jsonl", [*expert, *(trajectory(reward, ending) for ending, reward in endings)])
    out = tmp_path / "out" / f"table{suffix}"
    main(["--to-dataframe", str(out), str(tmp_path / "mixed.jsonl")])
    assert capsys.readouterr().out == f"{out}: {len(expert) + 5} episodes\n"
    assert not (tmp_path / "report.html").exists()
    with out.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file)) if suffix == ".csv" else [json.loads(line) for line in file]
    assert [row["outcome"] for row in found] == ["solved"] * len(expert) + outcomes
    assert [str(row["steps"]) for row in found[: len(expert)]] == [str(len(item.steps)) for item in expert]
    assert found[0]["goal"] == expert[0].goal
    assert found[-2]["goal"] == f"Buy {HOSTILE}"
    assert found[-1]["reward"] in ("", None)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(out) if suffix == ".csv" else pandas.read_json(out, lines=True)
    assert frame["reward"].sum() == len(expert) + 1
    assert frame["reward"].isna().sum() == 1


def test_what_is_no_run_and_no_episodes_and_two_of_one_name_are_told(tmp_path, capsys):
    (tmp_path / "log.eval").write_bytes(b"PK")
    with pytest.raises(ValueError, match="inspect log convert --to json"):
        read_sources([str(tmp_path / "log.eval")])
    (tmp_path / "log.eval").unlink()
    with pytest.raises(ValueError, match=r"gone does not exist; expected a run's folder with metrics.jsonl"):
        read_sources([str(tmp_path / "gone")])
    with pytest.raises(ValueError, match="contains no runs or episodes"):
        read_sources([str(tmp_path)])
    other = tmp_path / "other.jsonl"
    other.write_text('{"update": 1}\n')
    with pytest.raises(
        ValueError, match=r"other.jsonl has no valid episodes; expected a file of `agents.evaluate --save`: KeyError"
    ):
        read_sources([str(other)])
    write_trajectories(tmp_path / "one.jsonl", [trajectory()])
    with pytest.raises(SystemExit, match="2"):
        main(["--to-dataframe", str(tmp_path / "a.parquet"), str(tmp_path / "one.jsonl")])
    assert "a.parquet has the suffix '.parquet'; expected .csv or .jsonl" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "gone")])
    assert "gone does not exist; expected" in capsys.readouterr().err
    for folder in "ab":
        write_metrics(tmp_path / folder / "run", [{"update": 1}])
    places = [str(tmp_path / folder / "run") for folder in "ab"]
    with pytest.raises(ValueError, match="is used twice; expected distinct names, such as NAME="):
        read_sources(places)
    assert list(read_sources([places[0], f"b={places[1]}"]).runs) == ["run", "b"]


# What it says of results and curves.


def test_policies_are_compared_with_the_first_on_the_tasks_of_both_which_say_sites_and_checks(expert):
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


def test_long_runs_become_means_and_it_is_told_and_values_that_are_no_numbers_leave_a_gap():
    records = [{"update": 1, "kl": float("nan"), "phase": "first"}, {"update": 2, "kl": 0.5}, {"update": 3}]
    assert thin(records)["values"] == {"update": [1, 2, 3], "kl": [None, 0.5, None]}
    lines = thin([{"update": number, "loss": float(number)} for number in range(1, 3 * MAX_POINTS)])
    assert (lines["updates"], lines["stretch"]) == (3 * MAX_POINTS - 1, 3)
    assert (lines["values"]["update"][:2], lines["values"]["loss"][:2]) == ([3, 6], [2.0, 5.0])
    assert len(lines["values"]["loss"]) == MAX_POINTS


# What it marks.


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


# What it plays again.


@pytest.mark.parametrize("settings", [{}, {"elements": "id", "variation": "layout", "window": 900}], ids=str)
def test_episodes_are_played_again_with_their_elements_marked(settings, shop_tasks):
    tasks = task_suite.draw(["shopping.cart_add"], world_seed=1000, count=1, variation=settings.get("variation", "content"))
    (episode,) = played(tasks, **settings)
    with Replayer() as replayer:
        replay = replayer.replay(tasks[0], episode)
    assert (replay.problem, len(replay.pages)) == ("", len(episode.steps) + 1)
    for shown, step in zip(replay.pages, episode.steps, strict=False):
        page = lxml_html.fromstring(shown.html)
        marked = page.xpath("//*[@data-marked]")
        assert len(marked) == (shown.address is not None)
        assert bool(mark(step.page, shown.address)[1]) == bool(marked)
        assert not page.xpath("//script | //img[@src] | //link[@href] | //base")
    assert {replayer.assets.contents[key][:10] for key in replay.assets} >= {"data:image"}
    assert any(not content.startswith("data:") for content in replayer.assets.contents.values())


def test_pages_that_are_not_seen_again_are_left_out_and_it_is_told(shop_tasks, expert):
    episode = next(item for item in expert if len(item.steps) > 1)
    task = task_of(episode)
    steps = (episode.steps[0], replace(episode.steps[1], page="other"), *episode.steps[2:])
    with Replayer() as replayer:
        half = replayer.replay(task, replace(episode, steps=steps))
        none = replayer.replay(task, replace(episode, steps=steps[1:]))
        other = replayer.replay(task, replace(episode, env=None))
        unknown = replayer.replay(task_of(trajectory()), trajectory())
        empty = replayer.replay(task, replace(episode, steps=()))
    assert (len(half.pages), half.problem) == (1, "From step 2 on, the current env has different pages.")
    assert (none.pages, none.problem) == ([], "From step 1 on, the current env has different pages.")
    assert (other.pages, other.problem) == ([], "The settings of its env are unknown.")
    assert (unknown.pages, unknown.problem) == ([], "Its task does not belong to a generated world.")
    assert (empty.pages, empty.problem) == ([], "It has no steps.")


def test_a_label_that_resembles_is_marked_as_the_env_reads_it(shop_tasks):
    with closing(gymnasium.make(ENV_ID, tasks=shop_tasks, elements="label", disable_env_checker=True)) as env:
        _, info = env.reset(seed=0)
        step = Step(info["page"], 'do(action="Click", element="sign ou")')
    episode = replace(trajectory(task_id=info["task_id"]), steps=(step,), env=EnvSettings())
    _, blocks, _ = pack_episodes({"one": [episode]}, max_bytes=10**6, pages=True)
    (shown, _) = unpacked(blocks["pages-0"])["pages"]
    assert info["page"][slice(*shown["mark"])] == "<a>Sign Out</a>"


@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_marked_on_the_page_by_their_elements(shop_tasks, numbered, seed):
    rng = random.Random(seed)
    first = numbered[0].steps[0]
    known = re.findall(r'id="(\d+)"', first.page)
    named = [rng.choice([None, "no such element", *known[:8]]) for _ in range(10)]
    candidates = tuple(Candidate(f"deed {place}", rng.random() / 10, each) for place, each in enumerate(named))
    step = replace(first, candidates=candidates)
    with Replayer() as replayer:
        replay = replayer.replay(shop_tasks[0], replace(numbered[0], steps=(step, *numbered[0].steps[1:])))
    chances = sorted(float(value) for value in re.findall(r'data-chance="([\d.]+)"', replay.pages[0].html))
    there = {each for each in named if each in known}
    wanted = [sum(item.probability for item in step.candidates if item.element == each) for each in there]
    assert wanted
    assert chances == pytest.approx(sorted(wanted), abs=1e-3)
    assert not any("data-chance" in shown.html for shown in replay.pages[1:])


def test_a_page_is_written_without_its_addresses_and_stays_as_it_is():
    root = lxml_html.document_fromstring(
        "<link rel=stylesheet href=/a.css><link rel=icon href=/i.png><base href=/x/><script>1</script><img src=/b.png alt=B srcset='/b.png 1x'>"
        "<img src=http://elsewhere.test/c.png><meta http-equiv=refresh content=0><iframe src=/f></iframe><p id=p>Text</p>"
    )
    before = lxml_html.tostring(root)

    def site(environ, start_response):
        kind = "text/css; charset=utf-8" if environ["PATH_INFO"].endswith(".css") else "image/png"
        start_response("200 OK", [("Content-Type", kind)])
        return [b"body{}"]

    assets = Assets()
    page = Page("http://shop.test/", "", root, (), 0)
    written, keys = write_page(page, root.get_element_by_id("p"), Network({"shop.test": site}), assets)
    assert lxml_html.tostring(root) == before
    assert [assets.contents[key] for key in keys] == ["body{}", "data:image/png;base64,Ym9keXt9"]
    assert not re.search(r"href|src|script|iframe|refresh|icon", written)
    assert '<p id="p" data-marked="">' in written


# What it keeps.


def test_equal_episodes_give_an_equal_file(tmp_path, expert):
    texts = []
    for name in "ab":
        write_report(tmp_path / name / "report.html", Sources({}, {"expert": expert}), title="Title")
        texts.append((tmp_path / name / "report.html").read_bytes())
    assert texts[0] == texts[1]


def test_what_does_not_fit_is_left_out_in_turns_pages_before_steps_and_it_is_told(tmp_path, capsys, expert):
    noise = [hashlib.sha512(str(number).encode()).hexdigest() * 100 for number in range(60)]
    episodes = [trajectory(task_id=f"t/{number}", page="".join(noise[number:] + noise[:number])) for number in range(60)]
    write_trajectories(tmp_path / "a.jsonl", episodes)
    write_trajectories(tmp_path / "b.jsonl", episodes[:2])
    path = tmp_path / "report.html"
    main(["--out", str(path), "--megabytes", "0.4", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")])
    text = path.read_text("utf-8")
    heads = data_of(text)["episodes"]
    assert path.stat().st_size < 400_000
    assert len(heads) == 62  # none is left out of the lists
    assert [head["policy"] for head in heads[:5]] == ["a", "b", "a", "b", "a"]
    held = [head["holds"] != "" for head in heads]
    assert 4 < sum(held) < 62
    assert held == sorted(held, reverse=True)
    left = 62 - sum(held)
    assert f"a: the last {left} of 60 episodes are here without their steps" in text
    assert f"60 episodes of a ({left} without steps" in capsys.readouterr().out
    heads, blocks, whole = pack_episodes({"expert": expert}, max_bytes=10**8, pages=True)
    needed = sum(len(name) + len(content) + 60 for name, content in blocks.items()) + len(json.dumps(heads))
    shown = pack_episodes({"expert": expert}, max_bytes=needed - 1000, pages=True)[2]["expert"]
    assert whole["expert"] == (len(expert),) * 3
    assert 0 < shown.pages < shown.steps == shown.episodes == len(expert)


def test_nothing_of_an_episode_is_markup_and_only_the_own_script_may_run(tmp_path):
    path = tmp_path / "report.html"
    runs = {HOSTILE: [{"update": 1, HOSTILE: 1.0}]}
    write_report(path, Sources(runs, {HOSTILE: [trajectory()]}), title=HOSTILE, lead=HOSTILE, pages=False)
    text = path.read_text("utf-8")
    assert text.count("<script") == 3
    assert "<img" not in text.replace("<iframe", "")
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    (head,) = data_of(text)["episodes"]
    packed = re.search(r'<script type="application/gzip" id="steps-0">(.*?)</script>', text).group(1)
    assert (head["policy"], unpacked(packed)["steps"][0]["error"]) == (HOSTILE, f"no {HOSTILE}")
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'" in text


def test_the_command_line_writes_the_file_and_says_what_is_in_it(tmp_path, capsys):
    write_trajectories(tmp_path / "episodes_random.jsonl", [trajectory()])
    out = tmp_path / "out" / "report.html"
    main(["--out", str(out), "--no-pages", "--title", "A & B", str(tmp_path / "episodes_random.jsonl")])
    assert re.search(r"report.html: 0.\d MB; 1 episodes of random$", capsys.readouterr().out.strip())
    assert "<h1>A &amp; B</h1>" in out.read_text("utf-8")
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "python -m agents.report --out report.html runs/demo" in capsys.readouterr().out


# What a person sees.


@pytest.fixture(scope="module")
def report(tmp_path_factory, expert):
    """A report of the expert, of a policy whose every text and page is hostile, and of two runs."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    runs = {
        "first": [{"update": n, "elapsed_s": 2.0 * n, "success": n / 40, "loss": 1 / n} for n in range(1, 31)],
        "second": [{"update": n, "elapsed_s": 9.0 * n, "success": 0.5, "odd": 1.0} for n in range(1, 11)],
    }
    original = Replayer.replay

    def replay(self, task, episode):
        return original(self, task, episode) if task.template else Replay([ReplayedPage(HOSTILE_PAGE, "Here")] * 2, [])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Replayer, "replay", replay)
        write_report(path, Sources(runs, {"expert": expert, HOSTILE: [trajectory()]}), title="Title")
    return path.as_uri()


@pytest.fixture
def open_report(chromium, report):
    """Open the report, at a fragment, and fail for errors and for anything asked of a network: what a page asks for, the policy of the file stops."""
    problems, pages, asked = [], [], []

    def open_page(fragment="", **options):
        page = chromium.new_page(**options)
        pages.append(page)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked.append((page, request)) if request.url.startswith("http") else None)
        page.goto(report + fragment)
        page.wait_for_selector("#viewer:not([hidden])")
        return page

    yield open_page
    for page, request in asked:
        while request.failure is None:  # a page that is closed does not say how its requests ended
            page.wait_for_event("requestfailed")
    for page in pages:
        page.close()
    assert not problems + [request.url for _, request in asked if request.failure != "csp"]


def shown_page(page):
    return page.frame_locator("#frame")


@needs.chromium
def test_results_and_curves_are_seen(open_report):
    page = open_report()
    assert page.locator("#results tbody tr").first.inner_text().split()[:3] == ["expert", "100.0", "%"]
    assert page.locator("figcaption").all_inner_texts() == ["Training success of sampled rollouts (no score)", "Loss"]
    assert page.locator("figure .line").count() == 6  # each with its points behind the mean of five
    page.locator("#curve-smoothing").select_option("1")
    assert page.locator("figure .line").count() == 3
    legend = page.locator("figure .legend").first
    assert legend.inner_text().split() == ["first", "0.75", "at", "30", "second", "0.5", "at", "10"]
    page.locator("figure svg").first.hover(position={"x": 60, "y": 60})
    assert legend.inner_text().split()[:4] != ["first", "0.75", "at", "30"]
    page.get_by_role("checkbox", name="second").uncheck()
    page.get_by_role("checkbox", name="odd").check()
    page.locator("#curve-axis").select_option("elapsed_s")
    page.locator("#curve-smoothing").select_option("5")
    titles = ["Training success of sampled rollouts (no score)", "Loss"]  # only the second run has the metric "odd"
    assert page.locator("figcaption").all_inner_texts() == titles
    assert legend.inner_text().split() == ["first", "0.725", "at", "60"]
    notes = page.inner_text("#curve-notes")
    assert "first: 30 updates; every update is a point, and the strong line the mean of 5 points" in notes
    page.locator("figure svg").first.focus()
    page.keyboard.press("ArrowLeft")
    assert legend.inner_text().split()[-1] == "58"


@needs.chromium
def test_an_interval_is_a_band_around_its_line_and_no_metric_of_its_own(chromium, tmp_path):
    points = [
        {"update": n, "held_out": n / 40, "held_out_low": n / 50, "held_out_high": n / 30, "loss": 1.0} for n in (0, 10, 20)
    ]
    write_report(tmp_path / "report.html", Sources({"run": points, "other": [{"update": 1, "loss": 2.0}]}), title="Title")
    page = chromium.new_page()
    page.goto((tmp_path / "report.html").as_uri(), wait_until="commit")
    assert page.locator("figcaption").all_inner_texts() == ["Success on held-out worlds, with 95 % CI", "Loss"]
    assert page.locator("#curve-metrics label").count() == 2
    assert page.locator("figure").first.locator(".band").count() == 1
    assert page.locator("figure .band").count() == 1
    assert page.locator("figure .band").get_attribute("d").count("L") == 5  # three low points, and three high ones back
    assert page.locator("figure .legend").first.inner_text().split() == ["run", "0.5", "at", "20"]  # it is not smoothed
    page.close()


@pytest.fixture
def open_file(chromium, tmp_path):
    """Write a report of some policies, and open it at a fragment."""

    def write_and_open(policies, fragment="", **options):
        write_report(tmp_path / "report.html", Sources({}, policies), title="Title", **options)
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        opened.append(page)
        page.goto((tmp_path / "report.html").as_uri() + fragment, wait_until="commit")
        page.wait_for_selector("#viewer:not([hidden])")
        return page

    opened = []
    yield write_and_open
    for page in opened:
        page.close()


@needs.chromium
def test_it_opens_with_a_task_that_was_learned_and_one_that_was_not(open_file):
    outcomes = {"t/1": (1.0, 1.0), "t/2": (0.0, 0.0), "t/3": (0.0, 1.0)}
    before, after = ([trajectory(own[place], task_id=task) for task, own in outcomes.items()] for place in (0, 1))
    page = open_file({"cloned": before, "reinforced": after})
    page.wait_for_selector("#about:has-text('reinforced, t/3')")
    told = [line.split() for line in page.locator("#telling li").all_inner_texts()]
    assert [line[:3] for line in told] == [["Solved", "by", "“reinforced”"], ["Solved", "by", "neither"]]
    page.locator("#telling a").nth(2).click()
    page.wait_for_selector("#about:has-text('cloned, t/2')")
    first, second = (page.locator(part).bounding_box()["y"] for part in ("#viewer", "#results"))
    assert first < second


@needs.chromium
@pytest.mark.parametrize("width", [800, 1280])
def test_neither_a_page_nor_a_bar_is_cut_or_wrapped(open_report, width):
    page = open_report("#episode/expert/1/1", viewport={"width": width, "height": 800})
    shown_page(page).locator("[data-marked]").wait_for()
    for part in ("#window", "#stage", "#results .scroll", "body"):
        assert page.locator(part).first.evaluate("element => element.scrollWidth <= element.clientWidth"), part
    bars = page.locator(".interval").evaluate_all(
        "bars => bars.map(bar => bar.getBoundingClientRect().left - bar.closest('td').getBoundingClientRect().left)"
    )
    assert len(set(bars)) == 1


@needs.chromium
def test_an_episode_is_stepped_through_with_the_keyboard(open_report, expert):
    page = open_report("#episode/expert/1/1")
    steps = len(expert[0].steps)
    assert page.inner_text("#goal") == expert[0].goal
    for number, step in enumerate(expert[0].steps, 1):
        page.wait_for_selector(f"#strip a[aria-current=step]:text-is('{number}')")
        assert page.inner_text("#text") == step.page
        assert page.inner_text(".action") == step.reply
        if number < steps:  # the last reply leaves, and names no element
            marked = shown_page(page).locator("[data-marked]")
            marked.wait_for(state="visible")
            label = re.search(r'element="(.*?)"', step.reply).group(1)
            assert label in page.inner_text("#text mark")
            outer, inner = page.locator("#window").bounding_box(), marked.bounding_box()
            assert outer["y"] <= inner["y"] <= outer["y"] + outer["height"]
            assert marked.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"
        page.keyboard.press("j" if number % 2 else "ArrowRight")
    page.wait_for_selector("#strip a[aria-current=step]:text-is('end')")
    assert page.url.endswith("#episode/expert/1/end")
    assert page.locator(".verdicts li").count() == len(expert[0].verdicts)
    assert page.locator(".verdicts .good").count() == len(expert[0].verdicts)
    assert page.inner_text(".told").startswith("Solved.")
    assert not page.locator("#text-pane").is_visible()
    page.keyboard.press("k")
    page.wait_for_url(re.compile(f"#episode/expert/1/{steps}$"))
    page.keyboard.press("n")
    page.wait_for_url(re.compile("#episode/.*/1/1$"))
    assert not page.url.endswith("#episode/expert/1/1")


@needs.chromium
def test_the_page_has_the_look_and_the_pictures_of_its_site_and_fits_a_phone_and_the_dark(open_report):
    page = open_report("#episode/expert/1/1")
    picture = shown_page(page).locator("img").first
    picture.wait_for()  # before it, the frame may still be on its way from its empty page
    body = shown_page(page).locator("body")
    assert "serif" not in body.evaluate("element => getComputedStyle(element).fontFamily").replace("sans-serif", "")
    assert picture.evaluate("image => image.naturalWidth") > 0
    page = open_report("#episode/expert/1/1", viewport={"width": 375, "height": 700}, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    red, green, blue = map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3])
    assert max(red, green, blue) < 60


@needs.chromium
def test_episodes_are_filtered_as_the_address_says_and_a_search_may_have_nothing_to_look_at(open_report):
    page = open_report()
    page.wait_for_selector("#count:text-is('3 of 3 episodes')")
    page.get_by_role("combobox", name="Outcome").select_option("not solved")
    page.wait_for_selector("#count:text-is('1 of 3 episodes')")
    page.get_by_role("combobox", name="Outcome").select_option("")
    page.get_by_role("combobox", name="Template").select_option("shopping.cart_add")
    page.get_by_role("combobox", name="Policy").select_option("expert")
    page.get_by_role("combobox", name="Site").select_option("shopping")
    page.wait_for_url(re.compile(r"#episode/expert/.*/1\?policy=expert&site=shopping&template=shopping.cart_add$"))
    page.wait_for_selector("#about:has-text('shopping.cart_add')")
    page.get_by_role("button", name="Show all").click()
    page.wait_for_selector("#count:text-is('3 of 3 episodes')")
    page = open_report("#episodes?outcome=wrong&cause=url")
    page.wait_for_url(re.compile(r"#episode/.*/1/1\?outcome=wrong&cause=url$"))
    assert page.inner_text("#count") == "1 of 3 episodes"
    assert page.get_by_role("combobox", name="Failure cause").input_value() == "url"
    assert page.inner_text("#goal") == f"Buy {HOSTILE}"
    page.keyboard.press("j")
    page.wait_for_url(re.compile(r"/end\?outcome=wrong&cause=url$"))
    page = open_report()
    page.get_by_role("combobox", name="Policy").select_option("expert")
    page.get_by_role("combobox", name="Outcome").select_option("wrong")
    page.wait_for_selector("#count:text-is('0 of 3 episodes')")
    page.get_by_role("searchbox", name="Search").fill("a")
    page.wait_for_url(re.compile("q=a&"))
    assert page.inner_text("#count") == "0 of 3 episodes"
    page.get_by_role("combobox", name="Policy").select_option("")
    page.wait_for_selector("#count:text-is('1 of 3 episodes')")


PARTS = {
    "goals": lambda episode: episode.goal,
    "pages": lambda episode: episode.steps[-1].page.splitlines()[-1],
    "actions": lambda episode: episode.steps[0].reply,
}


@needs.chromium
@pytest.mark.parametrize("part", PARTS)
def test_what_is_searched_for_is_found_and_marked(open_report, expert, part):
    page = open_report()
    for number, episode in enumerate(expert, 1):
        words = PARTS[part](episode).replace('"', " ")
        fits = [all(word.lower() in PARTS[part](item).lower() for word in words.split()) for item in expert]
        own = [place for place, is_there in enumerate(fits, 1) if is_there]
        page.get_by_role("combobox", name="In", exact=True).select_option(label=part)
        page.get_by_role("searchbox", name="Search").fill(words)
        if own == [number]:
            page.wait_for_url(re.compile(rf"#episode/expert/{number}/\d+\?"))
        page.wait_for_selector("#viewer:not([data-found='0'])")
    page.get_by_role("searchbox", name="Search").fill("nothing is like this")
    page.wait_for_selector("#count:text-is('0 of 3 episodes')")


@needs.chromium
def test_tasks_are_sorted_and_chosen_in_their_table(open_report, expert):
    page = open_report()
    page.get_by_text("Tasks, side by side").click()
    rows = page.locator("#tasks-rows tr:not(.spacer)")
    for direction, name in ((1, "steps"), (-1, "steps ▲")):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_url(re.compile(rf"sort={'-' if direction < 0 else ''}steps$"))
        page.wait_for_selector(f"th[aria-sort={'ascending' if direction > 0 else 'descending'}]")
        steps = [float(row.locator("td").nth(2).inner_text()) for row in rows.all()]
        assert steps == sorted(steps, reverse=direction < 0)
        assert len(steps) == 3
    rows.get_by_role("link", name=expert[1].task_id).click()
    page.wait_for_url(re.compile("#episode/expert/2/1"))
    page.wait_for_selector(f"#count:has-text('1 of 3 episodes of the task {expert[1].task_id}')")


@needs.chromium
@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_episodes_open_and_are_filtered_and_searched(open_file, record_property, count):
    """In each of them one word is found that no other has."""
    noise = [hashlib.sha512(str(number).encode()).hexdigest() for number in range(500)]
    pages = ("\n".join([*noise[number % 400 : number % 400 + 60], f"word{number}x"]) for number in range(count))
    episodes = [trajectory(float(place % 3 == 0), page=page, task_id=f"t/{place}") for place, page in enumerate(pages)]
    page = open_file({"large": episodes}, f"#episode/large/{count - 1}/1", pages=False)
    record_property("opened_ms", page.evaluate("performance.now()"))
    assert f"word{count - 2}x" in page.inner_text("#text")
    assert page.locator("#list li").count() < 60
    assert page.locator("#list a[aria-current]").is_visible()
    page.get_by_role("combobox", name="Outcome").select_option("solved")
    page.wait_for_url(re.compile(r"#episode/large/1/1\?outcome=solved$"))
    assert page.inner_text("#count") == f"{-(-count // 3)} of {count} episodes"
    solved = (count - 1) // 3 * 3  # the last of them
    page.get_by_role("searchbox", name="Search").fill(f"word{solved}x")
    page.wait_for_url(re.compile(rf"#episode/large/{solved + 1}/1\?q=word{solved}x&outcome=solved$"), timeout=120_000)
    page.locator("#list").evaluate("list => { list.scrollTop = 1e9 }")
    page.wait_for_selector(f"#count:text-is('1 of {count} episodes')")


@needs.chromium
def test_runs_of_a_task_stand_side_by_side_where_their_states_are_equal(open_file):
    def run(*pages, ending="leave"):
        steps = (*(Step(page, f"do {page}") for page in pages[:-1]), Step(pages[-1], ending))
        return Trajectory("t/1", "Goal", steps, 0.0, "exited")

    policies = {
        "first, as given": [run("home", "shop", "cart")],
        "second": [run("home", "help", "shop", "cart")],
        "third": [run("home", "shop", "cart", ending="stay")],
    }
    page = open_file(policies, "#episode/second/1/2")
    for name in ("first, as given 1", "third 1"):
        page.locator("#others-list").get_by_role("link", name=name).click()
        page.wait_for_selector(f"#others-list a[aria-current]:has-text('{name}')")
    page.wait_for_selector("#compared-head th:nth-child(4)")
    cells = [[cell.inner_text() for cell in row.locator("td").all()] for row in page.locator("#compared-rows tr").all()]
    assert cells == [
        ["1  do home", "1  do home", "1  do home"], ["2  do help", "not here", "not here"],
        ["3  do shop", "2  do shop", "2  do shop"], ["4  leave", "3  leave", "3  stay"],
    ]  # fmt: skip
    assert page.inner_text("#parting") == "They part in state 2 of 4."
    assert page.locator("#compared-rows tr.parting").count() == 1
    page.get_by_role("link", name="3  stay").click()
    page.wait_for_url(re.compile(r"#episode/third/1/3\?with="))
    page.wait_for_selector("#compared-head th:nth-child(2):has-text('third 1')")


@needs.chromium
def test_sequences_are_aligned_by_a_longest_common_subsequence(open_report):
    page = open_report()
    drawn = random.Random(3)
    for _ in range(60):
        one, other = ([drawn.choice("abcd") for _ in range(drawn.randrange(9))] for _ in range(2))
        pairs = page.evaluate("([one, other]) => aligned(one, other).map(([a, b]) => [a ?? null, b ?? null])", [one, other])
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        assert [a for a, _ in pairs if a is not None] == list(range(len(one)))
        assert [b for _, b in pairs if b is not None] == list(range(len(other)))
        assert all(one[a] == other[b] for a, b in both)
        assert len(both) == longest_common(tuple(one), tuple(other))


def longest_common(one, other):
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + longest_common(one[1:], other[1:])
    return max(longest_common(one[1:], other), longest_common(one, other[1:]))


@needs.chromium
def test_what_changed_since_the_step_before_is_shown(open_report, expert):
    number, episode = next((number, item) for number, item in enumerate(expert, 1) if len(item.steps) > 1)
    page = open_report(f"#episode/expert/{number}/1")
    assert page.locator("#changes").is_disabled()
    page.keyboard.press("j")
    page.wait_for_selector("#changes:enabled")
    page.keyboard.press("d")
    page.wait_for_selector("#text ins")
    before, after = (re.sub(r' id="\d+"', "", step.page).splitlines() for step in episode.steps[:2])
    for tag, text, other in (("ins", after, before), ("del", before, after)):
        shown = [re.sub(r' id="\d+"', "", line)[2:].rstrip("\n") for line in page.locator(f"#text {tag}").all_text_contents()]
        assert set(text) - set(other) <= set(shown) <= set(text)
    page.keyboard.press("d")
    page.wait_for_selector("#text:not(:has(ins))")


@needs.chromium
def test_hostile_text_and_hostile_pages_do_nothing(open_report):
    page = open_report()
    page.get_by_role("combobox", name="Outcome").select_option("wrong")
    page.wait_for_selector("#count:text-is('1 of 3 episodes')")
    page.locator("#list a").click()
    shown_page(page).locator("[data-marked]").wait_for()
    assert page.inner_text("#goal") == f"Buy {HOSTILE}"
    assert page.locator("#turn .bad").inner_text().startswith("no </script><script>")
    assert page.locator("#frame").get_attribute("sandbox") == "allow-same-origin"
    page.locator("#window").click()
    page.keyboard.press("j")
    page.wait_for_selector(".verdicts li")
    assert page.evaluate("window.hacked") is None
    assert page.title() == "Title"


@needs.chromium
def test_each_token_has_its_probability_as_a_colour(open_file):
    rng = random.Random(0)
    steps = [
        Step(f"page {number}", "go_backward()", logprobs=tuple(-rng.expovariate(0.7) for _ in range(rng.choice((0, 1, 30)))))
        for number in range(4)
    ]
    steps.append(Step("page", "go_backward()", logprobs=(-0.01, -4.0)))
    page = open_file({"one": [Trajectory("t/1", "Goal", tuple(steps), 0.0, "truncated")]}, "#episode/one/1/1", pages=False)
    for number, step in enumerate(steps, 1):
        page.evaluate(f"location.hash = '#episode/one/1/{number}'")
        page.wait_for_selector(f"#strip a[aria-current=step]:text-is('{number}')")
        tokens = page.locator(".tokens li")
        assert tokens.all_inner_texts() == [str(int(100 * math.exp(value) + 0.5)) for value in step.logprobs]
        if step.logprobs:
            told = page.locator(".field", has=page.locator(".tokens")).locator("p").inner_text()
            entropy = float(re.search(r"entropy ([\d.]+) nats", told).group(1))
            assert entropy == pytest.approx(-sum(step.logprobs) / len(step.logprobs), abs=1e-3)
            assert told.startswith(f"{len(step.logprobs)} token{'' if len(step.logprobs) == 1 else 's'},")
    likely, unlikely = (
        tokens.nth(place).evaluate("element => getComputedStyle(element).borderBottomColor") for place in range(2)
    )
    assert likely != unlikely


@needs.chromium
def test_what_a_step_chose_from_and_took_is_shown(open_file, tmp_path, numbered):
    rng = random.Random(0)
    elements = re.findall(r'<a id="(\d+)"', numbered[0].steps[0].page)
    chances = [0.5, 0.3, 0.1, 0.04, 0.0001]
    chosen = rng.sample(elements, len(chances))
    step = replace(
        numbered[0].steps[0],
        candidates=tuple(Candidate(f"click <b>{each}", chance, each) for each, chance in zip(chosen, chances, strict=True)),
        logprobs=(-0.1, -2.0, -0.5),
        tokens=("<b>do", "\n(", "\u00e9)"),
        policy_s=rng.uniform(1, 2),
        env_s=rng.uniform(0.01, 0.02),
    )
    write_trajectories(tmp_path / "one.jsonl", [replace(numbered[0], steps=(step, *numbered[0].steps[1:]))])
    (read,) = read_trajectories(tmp_path / "one.jsonl")
    assert read.steps[0] == step
    assert (read.steps[0].policy_s, read.steps[0].env_s) == (step.policy_s, step.env_s)
    page = open_file({"one": [read]}, "#episode/one/1/1")
    heat = shown_page(page).locator("[data-heat]")
    heat.first.wait_for(state="attached")
    boxes = heat.evaluate_all("""boxes => boxes.map(box => {
      const same = [...document.querySelectorAll("[data-chance]")].find(element => {
        const [own, drawn] = [element.getBoundingClientRect(), box.getBoundingClientRect()];
        return ["left", "top", "width", "height"].every(side => Math.abs(own[side] - drawn[side]) < 1);
      });
      return [same && Number(same.dataset.chance), box.dataset.heat];
    })""")
    assert boxes
    told = {0.5: "50 %", 0.3: "30 %", 0.1: "10 %", 0.04: "4 %", 0.0001: ""}
    assert all(told[chance] == said for chance, said in boxes)
    assert page.locator(".candidates li").all_inner_texts() == [
        f"{told[chance] or '< 0.1 %'} click <b>{each}" for each, chance in zip(chosen, chances, strict=True)
    ]
    assert page.locator(".tokens li").all_inner_texts() == ["<b>do", "\u23ce(", "\u00e9)"]
    told = re.findall(r"([\d.]+) (m?s) for", page.locator(".seconds").inner_text())
    seconds = [float(value) / (1000 if unit == "ms" else 1) for value, unit in told]
    assert seconds == pytest.approx([step.policy_s, step.env_s], rel=0.05, abs=5e-5)
    page.keyboard.press("j")
    page.wait_for_selector("#strip a[aria-current=step]:text-is('2')")
    assert page.locator(".candidates").count() == 0
