"""Pages and observations as the agent receives them: error and page in the text, keys of the info, and the notebook view."""

from types import SimpleNamespace

import pytest

from tests.pages import page
from webarena_gym import rendering
from webarena_gym.episode import Episode
from webarena_gym.observation.history import Turn
from webarena_gym.options import EnvOptions
from webarena_gym.rendering import Renderer, notebook_html
from webarena_gym.tasks import Task
from webarena_gym.texts import MAX_PAGE

TASK = Task("shopping.cart_add/1000/0", ("shopping",), "", "Buy it", {})
REQUIRED = {"goal", "url", "page", "messages", "step", "action_error", "task_id"}


def browser(html="<h1>Shop</h1><a href=/bag>Bag</a>"):
    return SimpleNamespace(page=lambda: page(html))


@pytest.mark.parametrize(
    ("viewport", "observation", "shows_layout"),
    [
        ("page", "text", False),
        ("layout", "text", True),
        ("page", "pixels", True),
        ("page", "marks", True),
        ("page", "text+pixels", False),
    ],
)
def test_the_layout_selects_the_visible_part(viewport, observation, shows_layout):
    options = SimpleNamespace(viewport=viewport, observation=observation)
    assert Renderer(options, "", None).shows_layout is shows_layout


def test_an_error_precedes_the_page():
    renderer = Renderer(EnvOptions(), "prompt", None)
    plain, failed = renderer.render(browser(), 0, ""), renderer.render(browser(), 0, "no such element")
    assert "Bag" in plain.text
    assert failed.text == f"Action error: no such element\n{plain.text}"
    assert plain.picture is None


def test_long_pages_are_cut_and_windows_move():
    long = browser("".join(f"<p>line {number} of a long page</p>" for number in range(300)))
    renderer = Renderer(EnvOptions(window=2000), "prompt", None)
    first, later = renderer.render(long, 0, ""), renderer.render(long, 100, "")
    assert "line 0 of" in first.text
    assert "line 0 of" not in later.text
    assert "line 110 of" in later.text
    longest = Renderer(EnvOptions(window=MAX_PAGE), "", None).render(long, 0, "x" * MAX_PAGE).text
    assert MAX_PAGE - 10 < len(longest) <= MAX_PAGE


@pytest.mark.parametrize(
    ("observation", "has_marks", "has_page"), [("marks", True, False), ("pixels", False, False), ("text+pixels", False, True)]
)
def test_pictures_have_marks_or_the_page_text_beside_them(monkeypatch, observation, has_marks, has_page):
    drawn = []

    def draw(capture, picture_format, *, marks, cursor):
        drawn.append((capture, marks))
        return "picture"

    monkeypatch.setattr(rendering, "picture_of", draw)
    monkeypatch.setattr(rendering, "marks_of", lambda page, numbers: f"marks of {[*numbers]}")
    shown = SimpleNamespace(
        **vars(browser()), capture=lambda elements, _: SimpleNamespace(boxes=[(1, 0, 0, 9, 9)], elements=elements)
    )
    current = Renderer(EnvOptions(browser="chromium", observation=observation), "prompt", None).render(shown, 0, "")
    ((capture, is_marked),) = drawn
    assert (is_marked, current.picture, len(capture.elements)) == (has_marks, "picture", 1)
    assert ("marks of [1]" in current.text) is has_marks
    assert ("Bag" in current.text) is has_page


def test_the_info_has_only_the_keys_that_apply():
    renderer = Renderer(EnvOptions(), "prompt", None)
    current = renderer.render(browser(), 0, "")
    episode = Episode(TASK, "Buy it")
    text, info = renderer.build_observation(episode, current, (), "", ())
    assert info.keys() == REQUIRED
    assert (info["goal"], info["page"], info["step"], info["task_id"]) == ("Buy it", current.text, 0, TASK.task_id)
    assert info["messages"][0] == {"role": "system", "content": "prompt"}
    assert current.text in text
    episode.steps_left, episode.turns, episode.satisfied = 3, [Turn("page", "click(Bag)")], ()
    _, info = renderer.build_observation(episode, current, (), "Answer with a number.", ["ValueError"])
    assert info.keys() == REQUIRED | {"steps_left", "checklist", "answer_form", "site_errors"}
    assert (info["step"], info["steps_left"], info["site_errors"], info["checklist"]) == (1, 3, ["ValueError"], [])


def test_notebooks_show_the_last_action_and_its_error():
    current = Renderer(EnvOptions(), "prompt", None).render(browser("<p>1 &lt; 2</p>"), 0, "")
    episode = Episode(TASK, "Buy <it>")
    start = notebook_html(episode, current)
    assert "<b>Goal</b> Buy &lt;it&gt;" in start
    assert "Last action" not in start
    assert "<b>Error</b>" not in start
    episode.turns, episode.action_error = [Turn("page", "click(A)"), Turn("page", "click(B)")], "gone"
    shown = notebook_html(episode, current)
    assert "<b>Last action</b> <code>click(B)</code>" in shown
    assert "<b>Error</b> gone" in shown
