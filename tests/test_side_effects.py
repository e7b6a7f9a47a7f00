"""More than was asked fails an episode, another way to the same end does not, and the audit finds where that is not so."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest

from webarena_gym import rewards, suite
from webarena_gym.actions import DIALECTS
from webarena_gym.backends.embedded import _solution_changes
from webarena_gym.changes import Change
from webarena_gym.env import WebArenaLite
from webarena_gym.evaluators.outcome import Verdict
from webarena_gym.evaluators.side_effects import compare, verdict
from webarena_gym.sites import world
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer, click, end_task, state
from webarena_gym.tools.audit import audit, side_effects
from webarena_gym.tools.audit.replays import do_all

WEBRL = DIALECTS["webrl"]
STRANGER = "INSERT INTO wishlist_item (customer_id, product_id, quantity, added_at) VALUES (1, ?, 1, 'now')"


def row(table, key, before=None, after=None):
    return Change("shop", table, (key,), before, after, {})


def added(table, **after):
    return row(table, 900, None, after)


@pytest.mark.parametrize(("done", "needed", "beyond", "missing"), [
    ([], [], 0, 0),
    ([added("item", product=1)], [added("item", product=1)], 0, 0),
    ([added("item", product=2)], [added("item", product=1)], 0, 0),  # the other checks say which
    ([added("item", product=1), added("item", product=2)], [added("item", product=1)], 1, 0),
    ([added("item", product=1)], [], 1, 0),
    ([], [added("item", product=1)], 0, 1),
    ([added("order", product=1)], [added("item", product=1)], 1, 1),
    ([row("item", 1, {"a": 1}, None)], [row("item", 1, {"a": 1}, None)], 0, 0),
    ([row("item", 2, {"a": 1}, None)], [row("item", 1, {"a": 1}, None)], 1, 1),
    ([row("item", 1, {"a": 1, "b": 1}, {"a": 2, "b": 1})], [row("item", 1, {"a": 1, "b": 1}, {"a": 3, "b": 1})], 0, 0),
    ([row("item", 1, {"a": 1, "b": 1}, {"a": 2, "b": 2})], [row("item", 1, {"a": 1, "b": 1}, {"a": 2, "b": 1})], 1, 0),
    ([row("item", 2, {"a": 1}, {"a": 2})], [row("item", 1, {"a": 1}, {"a": 2})], 1, 1),
    ([row("item", 1, {"a": 1}, None)], [row("item", 1, {"a": 1}, {"a": 2})], 1, 1),
    # Deleted and made anew, as the solution changes it, and the other way round.
    ([row("item", 1, {"a": 1, "b": 1}, None), added("item", a=2, b=1)], [row("item", 1, {"a": 1, "b": 1}, {"a": 2, "b": 1})], 0, 0),
    ([row("item", 1, {"a": 1, "b": 1}, None), added("item", a=2, b=2)], [row("item", 1, {"a": 1, "b": 1}, {"a": 2, "b": 1})], 2, 1),
    ([row("item", 1, {"a": 1, "b": 1}, {"a": 2, "b": 1})], [row("item", 1, {"a": 1, "b": 1}, None), added("item", a=2, b=1)], 0, 0),
])  # fmt: skip
def test_changes_are_held_against_those_of_a_solution(done, needed, beyond, missing):
    difference = compare(done, needed)
    assert (len(difference.beyond), len(difference.missing)) == (beyond, missing)
    assert verdict(difference, is_forbidden=True).passed is (beyond == 0)
    assert verdict(difference, is_forbidden=False).passed


def test_the_most_different_added_row_is_reported_and_read_only_solutions_change_nothing():
    required, other = added("review", product=1, text="good"), added("review", product=7, text="bad")
    difference = compare([other, added("review", product=1, text="nice")], [required])
    assert difference.beyond == [other]
    assert "beyond the task: shop: review added: product=7, text=bad" in verdict(difference, is_forbidden=True).reason
    tasks = [task for task in suite.load("test") if "state" not in task.eval_types]
    assert len(tasks) > 80
    for task in tasks:
        assert list(_solution_changes(task.solution, task.start_url, task.sites, task.world_seed, "content")) == [], (
            task.task_id
        )


def task_of(name, world_seed=1000):
    return suite.draw([name], world_seed=world_seed, count=1)[0]


def stepped(task, steps):
    return replace(task, solution=tuple(steps))


def play(env, task, meddle=lambda _: None):
    """Do a task's solution, meddle, and leave; the steps of the solution are what the task object has."""
    env.reset(options={"task": task})
    parting = do_all(env, task)
    meddle(env)
    _, reward, _, _, info = env.step(parting)
    return reward, info


def wish(env):
    (product,) = env.database("shopping").execute(
        "SELECT max(product_id) FROM product WHERE product_id NOT IN (SELECT product_id FROM wishlist_item)"
    ).fetchone()  # fmt: skip
    env.database("shopping").execute(STRANGER, (product,))


WAYS = ("shopping.compare_two", "shopping.product_price", "shopping.search_place", "map.save_place")


@pytest.mark.parametrize(("name", "setting", "reward", "message"), [
    *((name, {}, 0.0, 1) for name in WAYS),
    ("shopping.compare_two", {"side_effects": "reported"}, 1.0, 1),
    ("shopping.product_price", {"side_effects": "ignored"}, 1.0, None),
])  # fmt: skip
def test_additional_changes_are_reported_and_fail_unless_allowed(opened, name, setting, reward, message):
    env = opened(WebArenaLite(split="test", max_steps=60, **setting))
    got, info = play(env, task_of(name), wish)
    assert (got, info["success"]) == (reward, bool(reward))
    assert len(info.get("side_effects", [])) == (message or 0)
    checks = [verdict for verdict in info["verdicts"] if verdict["check"] == "side_effects"]
    assert len(checks) == (message is not None)
    for check in checks:
        assert check["passed"] is bool(reward)
        assert "shopping: wishlist_item added: customer=" in check["reason"]
    got, info = play(env, task_of(name))
    assert (got, info.get("side_effects", [])) == (1.0, [])


def test_side_effects_are_looked_for_only_when_all_else_is_right(opened):
    env = opened(WebArenaLite(split="test", max_steps=60))
    env.reset(options={"task": task_of("shopping.product_price")})
    wish(env)
    info = env.step(WEBRL.format(end_task("no idea").action))[-1]
    assert "side_effects" not in info
    assert "side_effects" not in {verdict["check"] for verdict in info["verdicts"]}


def test_without_a_solution_only_what_an_answer_needs_is_known(opened):
    check = state("SELECT count(*) > 0 FROM wishlist_item", expected=[[1]], site="shopping")
    blocks = (answer(exact_match="a"), check)
    tasks = [Task("t", ("shopping",), "__SHOPPING__", "x", block, world_seed=1000) for block in blocks]
    env = opened(WebArenaLite(tasks=tasks))
    rewards = []
    for task in tasks:
        env.reset(options={"task": task})
        wish(env)
        _, reward, _, _, info = env.step(WEBRL.format(end_task("a").action))
        rewards.append((reward, info["verdicts"][-1]["passed"]))
    assert rewards == [(0.0, False), (1.0, True)]
    assert "no reference solution" in info["verdicts"][-1]["reason"]


def test_a_solution_that_cannot_be_replayed_is_no_measure(opened):
    task = task_of("shopping.wish_list_add")
    env = opened(WebArenaLite(tasks=[task], max_steps=60))
    env.reset(options={"task": stepped(task, [click("Nothing like it"), end_task()])})
    _, reward, _, _, info = env.step(do_all(env, task))
    assert (reward, info["verdicts"][-1]["passed"]) == (1.0, True)
    assert "cannot be replayed" in info["verdicts"][-1]["reason"]


def test_continued_episodes_are_judged_equally_in_any_env(opened):
    task = task_of("shopping.wish_list_add")
    env = opened(WebArenaLite(tasks=[task], max_steps=60))
    for meddle in (lambda _: None, wish):
        env.reset(options={"task": task})
        parting = do_all(env, task)
        meddle(env)
        snapshot = pickle.dumps(env.snapshot())
        here = env.step(parting)
        code = (
            "import pickle, sys; from webarena_gym.env import WebArenaLite; env = WebArenaLite(split='test');"
            " snapshot, parting = pickle.load(sys.stdin.buffer); env.restore(pickle.loads(snapshot)); done = env.step(parting);"
            " sys.stdout.buffer.write(pickle.dumps((done[1], done[4]['verdicts'])))"
        )
        sent = pickle.dumps((snapshot, parting))
        there = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True).stdout
        assert pickle.loads(there) == (here[1], here[4]["verdicts"])
        assert here[1] == (0.0 if meddle is wish else 1.0)


def in_two_commits(name, attempt):
    """Return a task that writes a file, and a solution that commits an attempt at the text before the text."""
    task = task_of(name)
    (content,) = (step for step in task.solution if step.action.element == "File content")
    attempted = replace(content, action=replace(content.action, argument=attempt(content.action.argument)))
    first = [attempted if step is content else step for step in task.solution[:-1]]
    return task, [*first, click("Edit file"), content, click("Commit changes"), end_task()]


def other_ways():
    """Tasks with other solutions than their own, which lead to the same."""
    for name, last in (("shopping.compare_two", "Add to Compare"), ("gitlab.people_follow", "Follow")):  # the second first
        task = task_of(name)
        half = next(place for place, step in enumerate(task.solution) if step.action.element == last) + 1
        yield task, [*task.solution[half:-1], *task.solution[:half], end_task()]
    closings = suite.draw(["gitlab.issue_close"], world_seed=1000, count=9)
    task = next(task for task in closings if task.instantiation_dict["comment"])
    yield task, [*task.solution[:-2], click("Comment"), click("Close issue"), end_task()]
    yield task, [*task.solution[:-3], click("Close issue"), task.solution[-3], click("Comment"), end_task()]
    yield in_two_commits("several.films_of_time_readme", lambda text: text.rpartition("\n")[0])  # the last line later


@pytest.mark.parametrize(("task", "steps"), [pytest.param(*way, id=f"{way[0].task_id}-{len(way[1])}") for way in other_ways()])
def test_another_way_to_the_same_passes(opened, task, steps):
    env = opened(WebArenaLite(tasks=[task], max_steps=90))
    env.reset(options={"task": task})
    parting = do_all(env, stepped(task, steps))
    _, reward, _, _, info = env.step(parting)
    assert reward == 1.0, info["verdicts"]


@pytest.mark.parametrize("name", ["gitlab.file_new", "gitlab.website_title"])
def test_a_wrong_text_that_the_history_keeps_is_a_side_effect(opened, name):
    task, steps = in_two_commits(name, lambda text: f"{text} typing errer")
    env = opened(WebArenaLite(tasks=[task], max_steps=90))
    env.reset(options={"task": task})
    _, reward, _, _, info = env.step(do_all(env, stepped(task, steps)))
    assert reward == 0.0
    (effect,) = info["side_effects"]
    assert effect.startswith("gitlab: file_change added: ")


@pytest.mark.parametrize(("edits", "expected"), [
    (["\nRight."], 1),
    (["\nRight.", "\nRight.\nAlso right."], 1),  # a longer text takes nothing away
    (["\nWrong.", "\nRight."], 2),
    (["\nWrong.", ""], 0),  # undone
    (["\nWrong.", "", "\nRight."], 1),
    (["\nWrong.", "\nAlso wrong.", ""], 2),
])  # fmt: skip
def test_edits_that_the_next_one_replaces_are_side_effects(opened, edits, expected):
    env = opened(WebArenaLite(tasks=[task_of("shopping.product_price")]))
    env.reset()
    database = env.database("wikipedia")
    article, text = database.execute("SELECT article_id, text FROM page ORDER BY article_id").fetchone()
    (now,) = database.execute("SELECT value FROM world WHERE key = 'now'").fetchone()
    for edit in edits:
        row = (article, f"{text}{edit}", now)
        database.execute("INSERT INTO revision (article_id, user_id, text, summary, created_at) VALUES (?, 1, ?, '', ?)", row)
    assert len(env.changes()) == expected


def test_unspecified_values_are_free_but_additional_rows_are_not(opened):
    task = task_of("gitlab.issue_report")
    title = next(step for step in task.solution if step.action.element == "Title")
    words = replace(title.action, argument=f"{title.action.argument} (once more, in other words)")
    steps = [replace(title, action=words) if step is title else step for step in task.solution]
    env = opened(WebArenaLite(tasks=[task], max_steps=60))
    env.reset(options={"task": task})
    assert env.step(do_all(env, stepped(task, steps)))[1] == 1.0

    def label(env):
        labelled = "INSERT INTO issue_label SELECT max(issue_id), (SELECT min(label_id) FROM label) FROM issue"
        env.database("gitlab").execute(labelled)

    reward, info = play(env, task, label)
    assert reward == 0.0
    assert info["side_effects"][0].startswith("gitlab: issue_label added: issue=")


def test_a_list_that_is_to_hold_no_others_holds_none_of_anybody():
    for name in ("several.films_of_time_readme", "several.prized_films_readme"):
        task = task_of(name)
        director = task.instantiation_dict["director"]
        wiki = world.load_world(1000).open()
        query = """SELECT a.title FROM fact f JOIN article a USING (article_id)
        WHERE f.label = 'Directed by' AND f.target != ? AND a.kind = 'film' ORDER BY a.title"""
        (other,) = wiki["wikipedia"].connection.execute(query, (director,)).fetchone()
        wiki.close()
        (content,) = (step for step in task.solution if step.action.element == "File content")
        longer = replace(content, action=replace(content.action, argument=f"{content.action.argument}\n- {other}"))
        steps = [longer if step is content else step for step in task.solution]
        env = WebArenaLite(tasks=[task], max_steps=60)
        env.reset(options={"task": task})
        assert env.step(do_all(env, stepped(task, steps)))[1] == 0.0
        assert play(env, task)[0] == 1.0
        env.close()


LIMITS = {
    "_LOADED_A_RULE": 3,
    "_MOST_A_RULE": 4,
    "_PAGES_A_RULE": 1,
    "_SUBMISSIONS_A_RULE": 1,
    "_TRIES_A_RULE": 4,
    "_UNDO_TRIES": 6,
}


@pytest.fixture(autouse=True)
def fewer_pages(request, monkeypatch):
    """Let tests that are not slow look at fewer pages and forms of each kind."""
    if request.node.get_closest_marker("slow") is not None:
        side_effects.repertoire.cache_clear()
        return
    for name, limit in LIMITS.items():
        monkeypatch.setattr(side_effects, name, limit)


@pytest.fixture(autouse=True, scope="module")
def _():
    """Forget the pages that these tests have found."""
    yield
    side_effects.repertoire.cache_clear()


NAMED = (
    "shopping.compare_two", "gitlab.folder_new", "gitlab.license_change", "gitlab.invite_one", "gitlab.invite_two", "gitlab.issue_assign",
    "several.newest_urls", "several.films_of_time_readme", "shopping.product_price",
)  # fmt: skip


@pytest.mark.parametrize("names", [NAMED[5::3], pytest.param(NAMED, marks=pytest.mark.slow)], ids=len)
def test_solutions_with_something_else_beside_them_earn_nothing_and_detours_what_the_solution_does(names):
    found = audit([task_of(name) for name in names])
    assert (found.detours_refused, found.detours_tried) == ([], (1 + side_effects.DETOURS) * len(names))
    assert found.side_effects_rewarded == []
    assert found.side_effects_tried >= 20 * (len(names) - 1)
    assert found.is_clean


def test_every_process_finds_the_same_deeds():
    code = (
        "import pickle, sys; from webarena_gym.tools.audit import side_effects; from webarena_gym.tools.audit.side_effects import WorldSpec, _Search;"
        f" vars(side_effects).update({LIMITS}); search = _Search(WorldSpec(1000, 'layout', 'standard'));"
        " sys.stdout.buffer.write(pickle.dumps(list(search.submissions('map', list(search.pages('map'))))))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    search = side_effects._Search(side_effects.WorldSpec(1000, "layout", "standard"))  # with the hashes of this process
    found = list(search.submissions("map", list(search.pages("map"))))
    assert pickle.loads(run.stdout) == found
    assert len(found) > 3


def test_the_audit_finds_undetected_side_effects(monkeypatch):
    tasks = [task_of("gitlab.invite_one"), task_of("gitlab.website_title")]
    with monkeypatch.context() as blind:
        blind.setattr(rewards, "judge_side_effects", lambda *_, **__: (Verdict("side_effects", True, ""), []))
        findings = audit(tasks)
    assert len(findings.side_effects_rewarded) > 5
    assert findings.shown_before > 5
    assert any("before the solution, that of gitlab.website_title" in finding for finding in findings.side_effects_rewarded)
    assert not findings.is_clean
    with monkeypatch.context() as strict:
        strict.setattr("webarena_gym.backends.base.side_effects.compare", lambda done, _: compare(done, []))
        assert audit(tasks).detours_refused


@pytest.mark.parametrize(("template", "ended", "is_right"), [
    *((name, "overwritten", True) for name in ("shopping.address_change", "reddit.biography", "gitlab.role_change")),
    # Something of the first draw is left: other rows, and in the last ones a commit, a note, and somebody's list of things to do.
    *((name, "refused", False) for name in ("shopping.wish_list_add", "reddit.comment_here", "shopping_admin.change_group_and_list")),
    *((name, "refused", True) for name in ("gitlab.website_title", "gitlab.issue_milestone", "gitlab.request_reviewer")),
])  # fmt: skip
def test_another_draw_done_first_is_rewarded_only_where_nothing_of_it_is_left(opened, template, ended, is_right):
    task, *draws = suite.draw([template], world_seed=1000, count=6)
    env = opened(WebArenaLite(tasks=[task], max_steps=60))
    trial = side_effects._Trial(env, task)
    _, needed = trial.prepare()
    closest, *_ = trial.closest(draws, {(change.site, change.table, change.key) for change in needed})
    assert trial.play_after(partial(trial.follow, closest)) == ended
    assert trial.is_right is is_right


def test_comments_on_other_orders_are_side_effects(opened):
    task = task_of("shopping_admin.change_group_and_list")
    env = opened(WebArenaLite(tasks=[task], max_steps=60))
    trial = side_effects._Trial(env, task)
    deeds, _ = side_effects.repertoire(side_effects.WorldSpec(1000, "content", "standard"))
    comments = [deed for deed in deeds if "addComment" in deed.request.url]
    assert comments
    for deed in comments:
        assert trial.play_after(partial(trial.do, deed.request)) == "refused"
        assert trial.is_right
        assert deed.is_shown
        key, _, _ = deed.request.body.partition(b"&")
        for body in (deed.request.body.replace(key, b"form_key=x"), key + b"&comment="):
            assert trial.play_after(partial(trial.do, deed.request._replace(body=body))) is None
