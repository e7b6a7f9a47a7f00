"""The chat keeps all actions and only the newest page whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webarena_gym.history import PLACEHOLDER, Turn, as_text, compress

TURNS = st.lists(st.builds(Turn, st.text(max_size=20), st.text(max_size=20)), max_size=6)
THINKING = Turn("<h1>One</h1>", "<think>Two?</think>\n<answer>go_backward()</answer>")


def test_the_paper_s_form():
    chat = compress("Find it", [Turn("<h1>A</h1>", "go_forward()"), Turn("<h1>B</h1>", "go_backward()")], "<h1>C</h1>")
    assert [
        {"role": "user", "content": f"Task Instruction: Find it\n\nRound 0\n\n{PLACEHOLDER}"},
        {"role": "assistant", "content": "go_forward()"},
        {"role": "user", "content": f"Round 1\n\n{PLACEHOLDER}"},
        {"role": "assistant", "content": "go_backward()"},
        {"role": "user", "content": "Round 2\n\n<h1>C</h1>"},
    ] == chat


def test_the_first_page_follows_the_task():
    assert compress("G", [], "P") == [{"role": "user", "content": "Task Instruction: G\n\nRound 0\n\nP"}]


def test_full_keeps_pages_and_none_keeps_nothing():
    assert "<h1>One</h1>" in as_text(compress("G", [THINKING], "P", "full"))
    assert compress("G", [THINKING], "P", "none") == [{"role": "user", "content": "Task Instruction: G\n\nRound 1\n\nP"}]


@pytest.mark.parametrize(("thoughts", "expected"), [(True, THINKING.reply), (False, "go_backward()")])
def test_thoughts_may_be_dropped(thoughts, expected):
    assert expected == compress("G", [THINKING], "P", thoughts=thoughts)[1]["content"]


@given(st.text(max_size=20), TURNS, st.text(max_size=20))
def test_the_chat_of_a_step_is_a_prefix_of_the_next_but_for_the_newest_page(goal, turns, page):
    chat = compress(goal, turns, page)
    longer = compress(goal, [*turns, Turn(page, "go_backward()")], "next")
    assert chat[:-1] == longer[: len(chat) - 1]
    assert [turn.reply for turn in turns] == [message["content"] for message in chat if message["role"] == "assistant"]
    assert chat[-1]["content"].endswith(page)
