"""Tasks over several sites: every template can be done in its tabs, and near misses earn nothing."""

from dataclasses import replace

import pytest

from webarena_gym.env import WebArenaLite
from webarena_gym.suite import draw, templates
from webarena_gym.tasks import Step
from webarena_gym.templates.several import holds, is_clear, tabs
from webarena_gym.tools.audit import replay

WORLD = 1
TEMPLATES = {name: template for name, template in templates().items() if name.startswith("several.")}


@pytest.fixture(scope="module")
def tasks():
    return {name: draw([name], world_seed=WORLD, count=1)[0] for name in TEMPLATES}


@pytest.fixture(scope="module")
def env(tasks):
    env = WebArenaLite(tasks=list(tasks.values()), max_steps=60)
    yield env
    env.close()


def with_text(task, label, change):
    """Return the task with another text typed into a field."""
    steps = [
        Step(replace(step.action, argument=change(step.action.argument))) if step.action.element == label else step
        for step in task.solution
    ]
    assert steps != list(task.solution)
    return replace(task, solution=tuple(steps))


def test_there_are_templates_of_every_kind_with_a_tab_for_each_site(tasks):
    kinds = [set(task.eval_types) for task in tasks.values()]
    assert kinds.count({"string_match"}) >= 4
    assert kinds.count({"state"}) >= 5
    assert kinds.count({"url_match", "state"}) >= 4
    assert all(len(template.sites) > 1 for template in TEMPLATES.values())
    for task in tasks.values():
        assert task.start_url == tabs(*task.sites)


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_reference_solution_earns_the_reward(env, tasks, name):
    assert replay(env, tasks[name]) == ""


def test_a_file_must_hold_everything_and_nothing_else(env, tasks):
    readmes = (f"{about}_readme" for about in ("films", "films_of_time", "prized_films", "winners", "discussed"))
    for name in (*readmes, "newest_urls"):
        short = with_text(tasks[f"several.{name}"], "File content", lambda text: text.rpartition("\n")[0] or "nothing")
        assert "not rewarded" in replay(env, short), name
    task = tasks["several.films_readme"]
    others = "SELECT title FROM article JOIN fact USING (article_id) WHERE label = 'Directed by' AND target != ? ORDER BY title"
    title = env.database("wikipedia").execute(others, (task.instantiation_dict["director"],)).fetchall()[0]["title"]
    assert "not rewarded" in replay(env, with_text(task, "File content", lambda text: f"{text}\n- {title}"))
    spaced = with_text(task, "File content", lambda text: "# Films\n\n" + text.replace("\n", "\n\n"))
    assert replay(env, spaced) == ""


@pytest.mark.parametrize("name", ["review_titles", "films_post"])
def test_a_post_must_be_whole_and_under_its_title(env, tasks, name):
    task = tasks[f"several.{name}"]
    assert "not rewarded" in replay(env, with_text(task, "Title", lambda text: f"{text}!"))
    assert "not rewarded" in replay(env, with_text(task, "Body", lambda text: text.rpartition("\n")[0]))


def test_a_link_must_be_the_project_s_and_a_route_lead_to_the_stadium(env, tasks):
    for name in ("promote_project", "share_repository"):
        task = tasks[f"several.{name}"]
        assert "not rewarded" in replay(env, with_text(task, "URL", lambda text: f"{text}/-/issues"))
    for name in ("stadium_route", "old_stadium_route"):
        task = tasks[f"several.{name}"]
        start = task.instantiation_dict["place"]
        assert "not rewarded" in replay(env, with_text(task, "To", lambda _, start=start: start))


def test_texts_are_counted_in_sql():
    assert holds("body", ["a"], ["b", "c"])[1] == ["a", "b", "c"]
    assert holds("body", [], []) == ("0, 0", [])
    assert not is_clear(["Too loud"], ["oud"])
