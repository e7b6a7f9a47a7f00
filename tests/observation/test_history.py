"""The chat history of an episode: summaries, limits, and what is read back from it."""

import pytest

from webarena_gym.observation.history import (
    PLACEHOLDER,
    Turn,
    as_text,
    compress,
    keep_results,
    parse_chat,
    placeholder,
    round_page,
    task_message,
)
from webarena_gym.texts import MAX_OBSERVATION, MAX_PAGE

TURNS = [Turn("<a>One</a>", "<think>Think.</think>\ngo_back()"), Turn("<a>Two</a>", "exit()")]


@pytest.mark.parametrize(
    ("mode", "pages"),
    [
        ("compressed", [f"Round 0\n\n{PLACEHOLDER}", f"Round 1\n\n{PLACEHOLDER}"]),
        ("full", ["Round 0\n\n<a>One</a>", "Round 1\n\n<a>Two</a>"]),
        ("none", []),
    ],
)
def test_earlier_pages_are_summaries_whole_or_left_out(mode, pages):
    chat = compress("Buy milk", TURNS, "<h1>Now</h1>", mode)
    contents = [message["content"] for message in chat if message["role"] == "user"]
    assert [text.removeprefix("Task Instruction: Buy milk\n\n") for text in contents] == [*pages, "Round 2\n\n<h1>Now</h1>"]
    assert contents[0].startswith("Task Instruction: Buy milk\n\n")
    assert [message["role"] for message in chat] == ["user", "assistant"] * len(pages) + ["user"]


def test_thoughts_can_be_left_out_of_earlier_replies():
    replies = [message["content"] for message in compress("g", TURNS, "p", thoughts=False) if message["role"] == "assistant"]
    assert replies == ["go_back()", "exit()"]


def test_a_chat_that_is_too_long_lacks_its_earliest_rounds_and_counts_them():
    turns = [Turn("x" * MAX_PAGE, f"reply {number}") for number in range(MAX_OBSERVATION // MAX_PAGE + 3)]
    chat = compress("goal", turns, "page", "full")
    assert len(as_text(chat)) <= MAX_OBSERVATION
    replies = [message["content"] for message in chat if message["role"] == "assistant"]
    missing = len(turns) - len(replies)
    assert missing > 0
    assert replies == [turn.reply for turn in turns[missing:]]
    assert f"[{missing} earlier rounds are left out]\n\nRound {missing}" in chat[0]["content"]
    read, newest = parse_chat("goal", chat)
    assert ([turn.reply for turn in read], newest) == (replies, "page")
    assert [turn.page for turn in read] == [turn.page for turn in turns[missing:]]


def test_summaries_keep_the_beginning_of_results():
    summary = keep_results(placeholder, "result")
    assert summary("<a>Page</a>", "") == PLACEHOLDER
    text = summary("<result>\n" + "r" * 400 + "\n</result>\n<a>Page</a>", "")
    assert text.startswith("<result>\nrrr")
    assert text.endswith(f"\n</result>\n{PLACEHOLDER}")
    assert "r" * 301 not in text


def test_messages_of_tool_calls_have_the_goal_once():
    assert task_message("Buy milk", "<a>") == "Task: Buy milk\n\n<a>"
    assert task_message("Buy milk", "<a>", "Answer with a number.") == "Task: Buy milk\n\nAnswer with a number.\n\n<a>"
    first = compress("Buy milk", TURNS, "p")[0]["content"]
    assert round_page("Buy milk", first) == PLACEHOLDER
    assert (
        round_page("Buy milk", "[2 earlier rounds are left out]\n\nRound 2\n\nRound 5\n\nx")
        == "[2 earlier rounds are left out]\n\nRound 5\n\nx"
    )
    assert as_text([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]) == "u"
