"""Suites of other projects: their file, tasks, clocks, states and solutions."""

import json
import os
from contextlib import closing
from pathlib import Path

import gymnasium
import pytest

from tests import needs
from tests.errands import CARD, ERRANDS, SOLVED
from tests.errors import expect_error
from tests.suites import errands, play, replaced
from webarena_gym import WebArenaLite
from webarena_gym.actions import Kind
from webarena_gym.applications import suite as suites
from webarena_gym.applications import variables
from webarena_gym.applications.state import json_changes
from webarena_gym.applications.suite import add_suite, read_solutions, read_suite, suites_folder
from webarena_gym.backends import application
from webarena_gym.backends.base import replay_solution
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.errors import ApplicationError, EvaluationError, TaskError
from webarena_gym.evaluation.results import read_result
from webarena_gym.suite import find, load
from webarena_gym.tasks import parse_task
from webarena_gym.tools.cli import main

__all__ = ["errands"]  # fixtures
SOLUTIONS = sorted(Path(suites.__file__).parent.glob("solutions/*/*.jsonl"))


def test_the_tasks_of_an_added_suite_are_played_by_their_ids(errands, capsys):
    assert main(["suite", "list"]) == 0
    assert "no suite was added yet" in capsys.readouterr().out
    assert main(["suite", "add", "errands", str(errands)]) == 0
    assert "errands (MIT): 2 applications, 3 tasks (2 easy, 1 served, 1 broken)" in capsys.readouterr().out
    assert main(["suite", "list"]) == 0
    assert "2 applications" in capsys.readouterr().out
    env = gymnasium.make("WebArenaLite-v0", suite="errands", split="easy", elements="label")
    assert [task.task_id for task in env.unwrapped.tasks] == ["shelf.jam", "board.card"]
    _, reward, _, _, info = play(env, "shelf.jam", SOLVED)
    assert (reward, info["verdicts"][0]["reason"]) == (1.0, "on the shelf are ['tea', 'jam']")
    assert play(env, "shelf.jam", ["exit()"])[1] == 0.0
    env.close()


@needs.chromium
def test_the_applications_of_a_suite_alternate(errands):
    env = WebArenaLite(suite=errands, split="easy", elements="label", browser="chromium")
    for _ in range(2):
        assert "tea" in env.reset(options={"task": "shelf.jam"})[0]
        assert "Board" in env.reset(options={"task": "board.card"})[0]
    env.close()


@needs.chromium
def test_a_page_that_keeps_its_state_is_judged_by_what_it_pushed(errands):
    env = WebArenaLite(suite=errands, split="easy", elements="label", browser="chromium")
    assert play(env, "board.card", CARD)[1] == 1.0
    assert play(env, "board.card", ["exit()"])[1] == 0.0
    assert play(env, "shelf.jam", SOLVED)[1] == 1.0
    env.close()


@needs.chromium
def test_static_files_of_a_suite_are_requested_once_and_the_state_each_time(errands, monkeypatch):
    requests, forward = [], application.AppInstance.wsgi
    monkeypatch.setattr(
        application.AppInstance,
        "wsgi",
        lambda instance, environ, *rest: requests.append(environ["PATH_INFO"]) or forward(instance, environ, *rest),
    )
    with closing(WebArenaLite(suite=errands, split="easy", elements="label", browser="chromium")) as env:
        pages = [env.reset(options={"task": "board.card"})[0] for _ in range(3)]
        responses = [env.network.request("GET", f"http://board.test/{path}") for path in ("", "", "api/state", "api/state")]
    # `Accept` differs between Chromium's requests and the others
    assert (len(set(pages)), requests.count("/"), requests.count("/api/state")) == (1, 2, 5), requests
    assert [response.status for response in responses] == [200] * 4
    assert responses[0].body == (errands.parent / "board" / "index.html").read_bytes()


@needs.chromium
def test_a_kept_static_file_is_requested_again_once_it_has_changed(board, errands):
    board.reset(options={"task": "board.card"})
    file, address = errands.parent / "board" / "index.html", "http://board.test/"
    for path in ("", "index.html"):
        before = board.network.request("GET", address + path).body
        file.write_bytes(before.replace(b"</body>", b"") + f"<p>{path or 'start'}</p>".encode())
        assert f"<p>{path or 'start'}</p>".encode() in board.network.request("GET", address + path).body
    assert "index.html" in board.reset(options={"task": "board.card"})[0]


@needs.chromium
def test_old_contents_of_a_static_file_are_not_kept(board, errands):
    board.reset(options={"task": "board.card"})
    file = errands.parent / "board" / "index.html"
    files = application.launcher_of(board.backend.application).static_files
    for number in range(5):
        file.write_bytes(file.read_bytes() + f"<!-- {number} -->".encode())
        assert f"<!-- {number} -->".encode() in board.network.request("GET", "http://board.test/").body
    assert [key for key in files if key == ("/", "")] == [("/", "")]
    assert len({kept.content for kept in files.values() if kept.file == file and kept.is_current}) == 1


@needs.chromium
def test_the_kept_static_files_of_an_application_have_a_limit(board, monkeypatch):
    board.reset(options={"task": "board.card"})
    files = application.launcher_of(board.backend.application).static_files
    size = len(board.network.request("GET", "http://board.test/").body)
    monkeypatch.setattr(application, "_MAX_STATIC_BYTES", 4 * size)
    bodies = {board.network.request("GET", f"http://board.test/{'./' * count}index.html").body for count in range(20)}
    assert len(bodies) == 1
    assert size < sum(len(kept.content) for kept in files.values()) <= 4 * size


@pytest.fixture
def board(errands):
    """Return an env of the application whose pages keep its state."""
    env = WebArenaLite(suite=errands, split="easy", elements="label", browser="chromium")
    yield env
    env.close()


def click(name):
    return f'do(action="Click", element="{name}")'


@needs.chromium
def test_an_episode_starts_by_setting_the_state_without_another_process(board):
    first = board.reset(options={"task": "board.card"})[0]
    instance = board.backend._current
    board.step(click("Remove Pay rent"))
    assert [str(change) for change in board.changes()] == ["board: cards removed: id=2, title=Pay rent"]
    board.reset(options={"task": "shelf.jam"})
    assert board.reset(options={"task": "board.card"})[0] == first
    assert (board.changes(), board.backend._current is instance) == ([], True)
    instance._host.request(stop=instance._pid)
    assert board.reset(options={"task": "board.card"})[0] == first


@needs.chromium
def test_an_episode_goes_on_after_a_snapshot_as_without_it(board):
    board.reset(options={"task": "board.card"})
    for action in CARD[:-1]:
        board.snapshot()
        *_, info = board.step(action)
        assert info["action_error"] == ""
    assert board.step(CARD[-1])[1] == 1.0


@needs.chromium
def test_the_clock_of_pages_that_keep_their_state_begins_at_a_time_and_passes(errands, monkeypatch):
    monkeypatch.setattr(variables, "_faketime", lambda: pytest.fail("libfaketime is not needed"))
    replaced(errands, 'client_state = "/api/state"', 'client_state = "/api/state"\nclock = "2031-05-06 07:08:09"')
    env = WebArenaLite(suite=errands, split="easy", elements="label", browser="chromium")
    env.reset(options={"task": "board.card"})
    read = lambda: env.backend.browser.run_script("[new Date().toISOString(), Date.now()]")  # noqa: E731
    (text, first), (_, second) = read(), read()
    assert text.startswith("2031-05-06T07:08:")
    assert first < second
    env.close()


@needs.chromium
def test_damage_beside_the_goal_fails(board):
    *adding, _ = CARD
    assert play(board, "board.card", [*adding, "exit()"])[1] == 1.0
    for damage in ([click("Remove Pay rent"), *adding], [*adding, *adding]):
        _, reward, _, _, info = play(board, "board.card", [*damage, "exit()"])
        assert info["verdicts"][0]["passed"]
        assert (reward, len(info["side_effects"])) == (0.0, 1)


@needs.chromium
@pytest.mark.parametrize(("actions", "replayed"), [([], 0), ([CARD[0]], 0), (CARD[:2], 0), ([click("Help"), *CARD[:2]], 3)])
@pytest.mark.sampled(3)
def test_an_episode_is_forked_by_its_state_or_by_its_actions(board, errands, actions, replayed):
    result = board.reset(options={"task": "board.card"})
    for action in actions:
        result = board.step(action)
    snapshot, page = board.snapshot(), result[-1]["page"]
    board.step(click("Remove Buy stamps"))
    changed = WebArenaLite(suite=errands, split="easy", elements="label", browser="chromium")
    for env in (board, changed):
        for _ in range(2):
            observation, info = env.restore(snapshot)
            assert (observation, info["page"]) == (result[0], page)
            assert info.get("replayed", 0) == replayed
            assert env.step(click("Remove Pay rent"))[4]["action_error"] == ""
    changed.close()


@needs.chromium
def test_a_fork_shows_the_page_that_was_compared_and_reads_it_once(board, monkeypatch):
    board.reset(options={"task": "board.card"})
    snapshot, pages, read = board.snapshot(), [], ChromiumBrowser.page
    monkeypatch.setattr(ChromiumBrowser, "page", lambda browser: pages.append(read(browser)) or pages[-1])
    board.restore(snapshot)
    assert [page is board.page for page in pages] == [True]


def test_the_changes_of_a_json_state_are_those_of_rows():
    before = {
        "cards": [{"id": 1, "title": "a", "tags": ["x"]}, {"id": 2, "title": "b"}, {"id": 3, "title": "c"}],
        "settings": {"theme": "light", "mail": {"sound": True}, "order": [1, 2]},
        "next": 4,
    }
    after = {
        "cards": [{"id": 3, "title": "c"}, {"id": 1, "title": "a", "tags": ["x", "y"]}, {"id": 4, "title": "d"}],
        "settings": {"theme": "dark", "mail": {"sound": False}, "order": [2, 3]},
        "next": 5,
    }
    assert json_changes("s", before, before) == []
    assert {str(change) for change in json_changes("s", before, after)} == {
        's: cards a changed: tags ["x"] -> ["x", "y"]',
        "s: cards removed: id=2, title=b",
        "s: cards added: id=4, title=d",
        "s: settings settings changed: theme light -> dark",
        "s: settings_mail settings_mail changed: sound True -> False",
        "s: settings_order removed: value=1",
        "s: settings_order added: value=3",
        "s: state  changed: next 4 -> 5",
    }
    declared = ("settings_mail", "settings_order", "*.t*", "+cards")
    assert {change.table for change in json_changes("s", before, after, declared)} == {"cards", "state"}


@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        ('licence = "MIT"', "", ("licence",)),
        ('licence = "MIT"', 'licence = "MIT"\ncolour = "red"', ("'colour'",)),
        ("verify_s = 60", 'verify_s = "long"', ("verify_s", "'long'")),
        ('folder = "shelf"', "", ("shelf", "hidden", "'verify_jam.py'")),
        ('task_id = "shelf.crash"', 'task_id = "shelf.jam"', ("'shelf.jam'",)),
        ('licence = "MIT"', 'licence = "MIT"\nleft_out = ["shelf.x"]', ("left_out", "'shelf.x'")),
        ('splits = ["broken"]', 'splits = "broken"', ("shelf.crash", "splits", "'broken'")),
        ('licence = "MIT"', 'licence = "MIT"\nsolutions = "none.jsonl"', ("none.jsonl",)),
    ],
)
def test_a_faulty_suite_is_refused_with_the_place(errands, old, new, values):
    replaced(errands, old, new)
    with expect_error((TaskError, ApplicationError), *values):
        read_suite(errands)


def test_missing_suites_splits_and_tasks_are_named(errands):
    add_suite("errands", errands)
    with expect_error(TaskError, "'errand'", "errands"):
        read_suite("errand")
    with expect_error(TaskError, "'train'", "'easy', 'served', 'broken'"):
        WebArenaLite(suite="errands")
    env = WebArenaLite(suite="errands", tasks=["shelf.jam"])
    with expect_error(TaskError, "'shelf.jar'", "'shelf.jam'"):
        env.reset(options={"task": "shelf.jar"})
    with expect_error(ValueError, "world_seed="):
        WebArenaLite(suite="errands", split="easy", world_seed=3)
    with expect_error(EvaluationError, "task shelf.jam", "'verifier'", "suite="):
        WebArenaLite(tasks=env.tasks)


@needs.chromium
def test_tasks_that_are_rewarded_without_an_action_or_whose_verifier_fails_are_left_out(errands, capsys):
    replaced(errands, 'browser = "inprocess"', 'browser = "chromium"')
    (errands.parent / "verify_card.py").write_text("def verify(url):\n    return True, 'there is a board'\n")
    add_suite("errands", errands)
    assert main(["suite", "check", "errands"]) == 1
    printed = capsys.readouterr().out
    assert "board.card: rewarded without an action: there is a board" in printed
    assert "shelf.crash: the verifier verify_crash.py has failed: it ended with status -6" in printed
    assert "2 of 3 tasks are faulty" in printed
    assert main(["suite", "check", "errands", "--leave-out"]) == 0
    assert main(["suite", "check", "errands"]) == 0
    assert dict(read_suite("errands").splits) == {"easy": 1, "served": 1}
    assert [task.task_id for task in load("easy", suite=read_suite("errands"))] == ["shelf.jam"]
    assert find("board.card", suite=read_suite("errands")).task_id == "board.card"


CRASH = {"task_id": "shelf.crash", "solution": [{"action": reply} for reply in SOLVED]}


def solved_by(errands, *lines):
    """Give the suite a file of solutions with these lines, and return the suite's file."""
    (errands.parent / "solutions.jsonl").write_text("".join(f"{line}\n" for line in lines))
    replaced(errands, 'licence = "MIT"', 'licence = "MIT"\nsolutions = "solutions.jsonl"')
    return errands


def test_a_suite_may_have_its_solutions_in_another_file(errands):
    suite, _ = add_suite("errands", solved_by(errands, json.dumps(CRASH)))
    for source in (suite, "errands", errands):
        assert find("shelf.crash", suite=read_suite(source)).solution == find("shelf.jam", suite=suite).solution


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (["{"], ("solutions.jsonl, line 1", "'{'")),
        ([json.dumps(CRASH), "3"], ("line 2", "'3'", "task_id")),
        ([json.dumps(CRASH | {"solution": []})], ("line 1", "task_id")),
        ([json.dumps(CRASH | {"reward": 1})], ("line 1", "task_id")),
        ([json.dumps(CRASH)] * 2, ("line 2", "'shelf.crash'")),
        ([json.dumps(CRASH | {"task_id": "shelf.jar"})], ("'shelf.jar'",)),
        ([json.dumps(CRASH | {"task_id": "shelf.jam"})], ("'shelf.jam'",)),
    ],
)
def test_a_faulty_file_of_solutions_is_refused_with_its_line(errands, lines, values):
    with expect_error(TaskError, *values):
        read_suite(solved_by(errands, *lines))


@needs.chromium
def test_solutions_are_replayed_and_those_without_a_reward_are_reported(errands, capsys):
    replaced(errands, 'browser = "inprocess"', 'browser = "chromium"')
    add_suite("errands", errands)
    assert main(["suite", "check", "errands", "--solutions"]) == 0
    printed = capsys.readouterr().out
    assert "board: 1 of 1 solutions are rewarded in 3 of 3 replays" in printed
    assert printed.endswith("2 of 2 solutions of 2 applications are rewarded in 3 of 3 replays\n")
    (errands.parent / "verify_card.py").write_text("def verify(url):\n    return False, 'no card'\n")
    assert main(["suite", "check", "errands", "--solutions", "--times", "2", "--application", "board"]) == 1
    printed = capsys.readouterr().out
    assert "board.card: 2 of 2 replays failed: not rewarded: verifier: no card" in printed
    assert printed.endswith("0 of 1 solutions of 1 applications are rewarded in 2 of 2 replays\n")


def test_a_check_of_solutions_that_cannot_be_is_refused(errands, capsys):
    words = ["suite", "check", str(errands)]
    for more, message in (
        (["--times", "2"], "expected --solutions with it"),
        (["--application", "bord"], "has no application 'bord'; did you mean 'board'"),
        (["--solutions", "--leave-out"], "not allowed with argument"),
    ):
        assert main([*words, *more]) == 2
        assert message in capsys.readouterr().err
    text = errands.read_text()
    errands.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("solution")))
    assert main([*words, "--solutions"]) == 2
    assert "the suite errands has no solutions here" in capsys.readouterr().err


@needs.chromium
def test_the_changes_of_a_solution_are_replayed_once(board, monkeypatch):
    calls = []
    monkeypatch.setattr(application, "replay_solution", lambda *args: calls.append(args) or replay_solution(*args))
    for _ in range(2):
        assert play(board, "board.card", CARD)[1] == 1.0
        assert play(board, "shelf.jam", SOLVED)[1] == 1.0
    assert len(calls) == 1


def test_a_task_id_that_is_no_text_is_refused_with_solutions(errands):
    replaced(errands, 'task_id = "shelf.jam"', 'task_id = ["shelf.jam"]')
    with pytest.raises(TaskError):
        read_suite(solved_by(errands, json.dumps(CRASH)))


def test_lines_of_solutions_end_with_line_feeds_and_may_be_blank(tmp_path):
    line = json.dumps({"task_id": "a", "solution": [{"action": "one\u2028two\x85three"}]}, ensure_ascii=False)
    (tmp_path / "solutions.jsonl").write_text(f"\n{line}\n\n", encoding="utf-8")
    assert read_solutions(tmp_path / "solutions.jsonl") == {"a": [{"action": "one\u2028two\x85three"}]}


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_the_solutions_of_the_package_can_be_read(path):
    solutions = read_solutions(path)
    assert list(solutions) == sorted(solutions)
    for task_id, solution in solutions.items():
        assert task_id.startswith(f"{path.stem}.")
        task = parse_task(find("shelf.jam", suite=read_suite(ERRANDS / "suite.toml")).to_json() | {"solution": solution})
        kinds = [step.action.kind for step in task.solution]
        assert kinds.index(Kind.EXIT) == len(kinds) - 1


def test_the_suite_of_webarena_infinity_is_derived_from_a_clone(errands, tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "_INFINITY_SOLUTIONS", tmp_path)
    lines = [CRASH | {"task_id": f"call-sheet.{name}"} for name in ("r1", "r2")]  # another commit may have other tasks
    (tmp_path / "call-sheet.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    folder = tmp_path / "clone" / "apps" / "call-sheet"
    for name in ("function-tasks", "real-tasks"):
        (folder / name).mkdir(parents=True)
        (folder / name / "task_1.py").write_text("def verify(server_url):\n    return False, ''\n")
        task = {"id": f"{name[0]}1", "instruction": "Do it.", "verify": f"{name}/task_1.py"}
        tasks = [task if name.startswith("function") else task | {"difficulty": "hard"}]
        (folder / f"{name}.json").write_text(json.dumps(tasks))
    (folder / "sanity_check_real.py").write_text("")
    suite, _ = add_suite("infinity", tmp_path / "clone")
    assert dict(suite.splits) == {"function": 1, "real-hard": 1}
    (sheet,) = suite.applications.values()
    assert (sheet.name, sheet.client_state) == ("call_sheet", "/api/state")
    states = ({"mails": [{"id": 1, "isRead": is_read, "text": "a"}], "_nextId": int(is_read)} for is_read in (False, True))
    assert json_changes("s", *states, sheet.incidental) == []
    assert set(sheet.hidden) == {path.name for path in folder.iterdir()}
    (task,) = load("real-hard", suite=suite)
    assert (task.task_id, task.start_url) == ("call-sheet.r1", "__CALL_SHEET__/")
    assert len(task.solution) == len(SOLVED)
    assert find("call-sheet.f1", suite=suite).solution == ()
    assert task.eval["verifier"] == [{"file": "apps/call-sheet/real-tasks/task_1.py"}]


@pytest.mark.skipif("WEBARENA_INFINITY" not in os.environ, reason="no clone of WebArena-Infinity: set WEBARENA_INFINITY to one")
@needs.chromium
def test_every_application_of_webarena_infinity_starts_and_rewards_nothing_for_nothing(errands):
    suite, _ = add_suite("infinity", Path(os.environ["WEBARENA_INFINITY"]))
    first = {record["sites"][0]: record["task_id"] for record in reversed(suite.records("real-hard"))}
    assert first.keys() == suite.applications.keys()
    env = WebArenaLite(suite=suite, split="real-hard")
    for task_id in first.values():
        page = env.reset(options={"task": task_id})[1]["page"]
        assert len(page) > 500
        assert env.step("exit()")[1] == 0.0
        assert env.reset(options={"task": task_id})[1]["page"] == page
    env.close()


def test_a_folder_that_is_no_known_project_is_refused(errands, capsys):
    assert main(["suite", "add", "errands", str(errands.parent)]) == 2
    assert "is not a clone of WebArena-Infinity" in capsys.readouterr().err
    assert not suites_folder().exists()


def test_an_agent_is_scored_on_a_split(errands, tmp_path, capsys):
    add_suite("errands", errands)
    out = tmp_path / "out"
    words = ["evaluate", "--suite", "errands", "--elements", "label", "--max-steps", "3", "--out", str(out), "--split"]
    assert main([*words, "served", "--agent", "expert"]) == 0
    result = read_result(out / "result.json")
    assert result["success"]["success"] == 1.0
    assert result["suite"] | {"suite": "errands", "split": "served"} == result["suite"]
    assert main([*words, "broken", "--fresh", "--agent", "random"]) == 1  # an episode was not judged
    assert "ended with status -6" in str(read_result(out / "result.json")["failures"])
    assert main([*words, "hard", "--agent", "random"]) == 2
    assert "has no split 'hard'" in capsys.readouterr().err
