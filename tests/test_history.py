"""The chat keeps all actions and only the newest page whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webarena_gym.observation import history
from webarena_gym.observation.history import PLACEHOLDER, Turn, as_text, compress
from webarena_gym.texts import cut

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


def test_full_keeps_pages_none_keeps_nothing_and_thoughts_may_be_dropped():
    assert compress("G", [], "P") == [{"role": "user", "content": "Task Instruction: G\n\nRound 0\n\nP"}]
    assert "<h1>One</h1>" in as_text(compress("G", [THINKING], "P", "full"))
    assert compress("G", [THINKING], "P", "none") == [{"role": "user", "content": "Task Instruction: G\n\nRound 1\n\nP"}]
    for thoughts, expected in ((True, THINKING.reply), (False, "go_backward()")):
        assert expected == compress("G", [THINKING], "P", thoughts=thoughts)[1]["content"]


@given(st.text(max_size=20), TURNS, st.text(max_size=20))
def test_the_chat_of_a_step_is_a_prefix_of_the_next_but_for_the_newest_page(goal, turns, page):
    chat = compress(goal, turns, page)
    longer = compress(goal, [*turns, Turn(page, "go_backward()")], "next")
    assert chat[:-1] == longer[: len(chat) - 1]
    assert [turn.reply for turn in turns] == [message["content"] for message in chat if message["role"] == "assistant"]
    assert chat[-1]["content"].endswith(page)


LIMITS = {"MAX_OBSERVATION": 2_000, "MAX_PAGE": 900, "MAX_GOAL": 200, "MAX_REPLY": 300}
LONG = st.sampled_from(["", "a", "b" * 90, "c" * 301, "d" * 5_000, "</think>" * 200, "<answer>" * 200])


@pytest.fixture(scope="module")
def small_limits():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS.items():
            patch.setattr(history, name, value)
        yield


@given(
    goal=LONG,
    turns=st.lists(st.builds(Turn, LONG, LONG), max_size=40),
    page=LONG,
    mode=st.sampled_from(["compressed", "full", "none"]),
    thoughts=st.booleans(),
)
def test_a_chat_stays_within_its_limit_and_says_what_is_missing(small_limits, goal, turns, page, mode, thoughts):
    chat = compress(goal, turns, page, mode, thoughts=thoughts)
    text = as_text(chat)
    assert len(text) <= LIMITS["MAX_OBSERVATION"]
    assert all(message["content"] in text for message in chat)
    kept = sum(message["role"] == "assistant" for message in chat)
    assert chat[-1]["content"].split("\n\n")[-1] == cut(page, LIMITS["MAX_PAGE"])
    assert f"Round {len(turns)}\n\n" in chat[-1]["content"]
    missing = len(turns) - kept if mode != "none" else 0
    assert (f"[{missing} earlier rounds are left out]" in chat[0]["content"]) == (missing > 0)
    assert ("characters were cut]" in text) >= (len(goal) > LIMITS["MAX_GOAL"] or len(page) > LIMITS["MAX_PAGE"])
    numbers = [int(message["content"].split("Round ")[1].split("\n")[0]) for message in chat if message["role"] == "user"]
    assert numbers == list(range(len(turns) - kept, len(turns) + 1))


def test_the_newest_rounds_stay(small_limits):
    turns = [Turn("p", f"reply {number} " + "x" * 200) for number in range(30)]
    chat = compress("G", turns, "P")
    assert chat[-2]["content"] == turns[-1].reply
    assert chat[0]["content"].startswith("Task Instruction: G\n\n[")
    assert 3 < len(chat) < 30
