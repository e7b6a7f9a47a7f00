"""`page.soup()`: the same document in Beautiful Soup, and the scripted agent of the documents."""

import re
import sys
from pathlib import Path

import pytest
from gymnasium.error import DependencyNotInstalled
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import expect_error
from tests.pages import page
from webarena_gym.env import WebArenaLite
from webarena_gym.suite import load

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "scripted-agents.md"
bs4 = pytest.importorskip("bs4", reason="pip install 'webarena-gym[soup]'")


def outline(element):
    """Return tags, attributes and texts of an lxml tree in the order of the document."""
    parts = [(element.tag, dict(element.attrib)), element.text]
    for child in element:
        if isinstance(child.tag, str):
            parts += [*outline(child), child.tail]
    return [part for part in parts if part]


def outline_of_soup(tag):
    parts = [(tag.name, {name: " ".join(value) if isinstance(value, list) else value for name, value in tag.attrs.items()})]
    for child in tag.children:
        if not isinstance(child, bs4.Comment):
            parts += outline_of_soup(child) if isinstance(child, bs4.Tag) else [str(child)]
    return parts


def alike(part):
    """Return a part as both write it: classes apart by one space, what is ticked or chosen without a value, blank texts as one sign."""
    if isinstance(part, str):
        return " \n"["\n" in part] if part.isspace() else part
    values = dict.fromkeys(("selected", "checked", "disabled"), lambda _: "") | {"class": lambda value: " ".join(value.split())}
    return part[0], {name: values.get(name, str)(value) for name, value in part[1].items()}


def assert_same(shown):
    assert list(map(alike, outline(shown.root))) == list(map(alike, outline_of_soup(shown.soup().find("html"))))


@pytest.mark.parametrize("site", ["shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia"])
def test_pages_of_all_sites_are_the_same_documents(opened, site):
    tasks = [task for task in load("test") + load("train") if site in task.sites][:3]
    env = opened(WebArenaLite(tasks=tasks, elements="label"))
    for task in tasks:
        env.reset(options={"task": task})
        assert_same(env.page)


@given(
    st.lists(
        st.tuples(st.sampled_from(["p", "b", "div", "li", "textarea", "a"]), st.text("ab<&\"'> é", max_size=8)), max_size=6
    )
)
def test_texts_and_attributes_survive(parts):
    import html  # noqa: PLC0415

    body = "".join(f'<{tag} title="{html.escape(text)}">{html.escape(text)}</{tag}>' for tag, text in parts)
    shown = page(f"<html><head><title>t</title></head><body>{body}</body></html>")
    soup = shown.soup()
    assert [tag["title"] for tag in soup.find_all(title=True)] == [text for _, text in parts]


def test_soups_contain_typed_values_and_are_copies(opened):
    env = opened(WebArenaLite(split="test", elements="label"))
    env.reset(options={"task": "shopping.order_total/1000/0"})
    env.step('do(action="Type", argument="lamp", element="Search entire store")')
    soup = env.page.soup()
    assert soup.find("input", value="lamp")
    before = env.observation.text
    soup.body.clear()
    env.step('do(action="Wait")')
    assert env.observation.text == before


def test_a_missing_beautiful_soup_is_reported_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bs4", None)
    with expect_error(DependencyNotInstalled, "webarena-gym[soup]"):
        page("<p>x").soup()


def test_the_scripted_agent_of_the_documents_is_right(capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile(code, str(GUIDE), "exec"), names)
    assert capsys.readouterr().out.startswith("1.0 ")
    for task in (task for task in load("train") if task.template == "shopping.order_total"):
        assert names["order_total"](names["env"], task.task_id)[1] == 1.0
