"""Statistics of tasks are those of a count by hand, and the bundled test split has WebArena-Lite's tasks of each site."""

from dataclasses import replace

from webarena_gym.suite import load
from webarena_gym.suite.census import WEBARENA_LITE, count, tables


def test_the_test_split_matches_the_published_counts_by_site():
    here, published = count(load("test")), WEBARENA_LITE["test"]
    assert (here.templates, here.tasks, here.sites) == (published.templates, published.tasks, published.sites)
    assert sum(here.checks.values()) == here.tasks


def test_tasks_are_counted_by_site_and_tasks_on_several_sites_as_several():
    task = load("test")[0]
    both = replace(task, sites=("map", "reddit"))
    assert count([task, task, both]).sites == {task.sites[0]: 2, "several": 1}
    assert count([task, task, both]).templates == 1
    assert count([]).tasks == 0


def test_tables_show_shares_and_the_published_split_where_there_is_one():
    tasks = load("test")
    text = tables(tasks, "test")
    assert text.startswith(" ")
    assert "WebArena-Lite test" in text
    assert "WebArena-Lite" not in tables(tasks[:10], "pool")
    assert f"{len(tasks):>6}" in text.splitlines()[2]
    longest = max(len(task.solution) for task in tasks)
    assert f" to {longest}, median " in text
    assert tables([], "pool").splitlines()[2].split() == ["tasks", "0"]
