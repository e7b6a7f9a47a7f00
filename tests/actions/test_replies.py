"""Calls in replies: quoting, prose, comments, brackets and tags, and a round trip of any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import expect_error
from webarena_gym.actions.replies import (
    Call,
    answer_part,
    bracket_groups,
    bracket_pairs,
    expect_single,
    find_calls,
    json_values,
    quote_text,
)
from webarena_gym.errors import ActionError

NAMES = ("do", "exit", "press")


def call(text, tools=()):
    (found,) = find_calls(text, NAMES, tools)
    return found


@pytest.mark.parametrize(
    ("text", "positional", "keywords"),
    [
        ("do(\"a\", x='b')", ("a",), {"x": "b"}),
        ('do(action = "a" , )', (), {"action": "a"}),
        ("do('it\\'s')", ("it's",), {}),
        ('do("a "b" c")', ('a "b" c',), {}),
        ('do("tab\\tline\\nhex\\x41\\u00e9")', ("tab\tline\nhexA\xe9",), {}),
        ('do("\\q")', ("\\q",), {}),
        ('do("\\ud83d\\ude00")', ("\U0001f600",), {}),
        ("do(['b'])", ("b",), {}),
        ("do(12, x=3)", ("12",), {"x": "3"}),
        ('I think: do("a")', ("a",), {}),
        ('`do("a")`', ("a",), {}),
    ],
)
def test_a_call_is_read(text, positional, keywords):
    assert call(text) == Call("do", positional, keywords)


@pytest.mark.parametrize(
    "text",
    ["do it (now)", "I press (Enter) later", 'redo("a")', 'x.do("a")', '# do("a")', "nothing"],
)
def test_prose_and_comments_are_no_calls(text):
    assert find_calls(text, NAMES) == []


def test_prose_next_to_a_call_is_no_call():
    assert call('I will press(the key) later: do("a")').positional == ("a",)


def test_all_calls_are_found_in_order():
    text = 'First do("a"), then exit("b").\n# do("c")\npress(Enter)'
    assert [(found.name, found.positional) for found in find_calls(text, NAMES)] == [
        ("do", ("a",)),
        ("exit", ("b",)),
        ("press", ("Enter",)),
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('do("a', "never closed"), ("do(1 2)", "expected ','"), ("I will press(the key) later", "expected ','"), ('do(x="a", "b")', "behind x="), ('do(x="a", x="b")', "twice"),
        ("do(['a', 'b'])", "several values"), ('exit(message="a (b "c") d")', "backslash"), ('do("a"', "the reply ends there"),
    ],
)  # fmt: skip
def test_malformed_calls_are_refused(text, part):
    with pytest.raises(ActionError, match=part):
        find_calls(text, NAMES)


def test_values_of_tools_are_json():
    found = call('do(3, True, name="a", rows=[1, {"k": null}], word=mill)', tools=("do",))
    assert found.positional == ("3", "true")
    assert found.keywords == {"name": '"a"', "rows": '[1, {"k": null}]', "word": '"mill"'}
    with expect_error(ActionError, "JSON", "do(...)"):
        call("do(x=[1, )", tools=("do",))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_quoted_text_is_read_as_itself(text):
    for mark in "\"'":
        assert call(f"do({quote_text(text, mark)}, x={quote_text(text, mark)})") == Call("do", (text,), {"x": text})


def test_arguments_are_bound_as_python_binds_them():
    assert Call("do", ("1",), {"b": "2"}).bind(["a", "b"]) == {"a": "1", "b": "2"}
    for wrong in (Call("do", ("1", "2", "3"), {}), Call("do", (), {"c": "1"}), Call("do", ("1",), {"a": "2"})):
        with pytest.raises(ActionError, match="do"):
            wrong.bind(["a", "b"])


@pytest.mark.parametrize(
    ("reply", "part"),
    [
        ("  do  ", "do"), ("<think>a</think> do", "do"), ("a </think> b </think> do", "do"), ("x <answer> do", "do"),
        ("<answer>old</answer> <answer>do</answer> y", "do"), ("<think>never closed do", "<think>never closed do"),
        ('<think>x</think>exit(message="see <answer>")', 'exit(message="see <answer>")'),
        ('<answer>exit(message="</answer>")</answer>', 'exit(message="</answer>")'),
    ],
)  # fmt: skip
def test_thoughts_are_left_out_and_answers_taken(reply, part):
    assert answer_part(reply) == part


def test_brackets_and_json_are_found():
    text = r"click [a [b]] [c] \[d]"
    pairs = bracket_pairs(text)
    assert [text[start:end] for start, end in bracket_groups(text, 5, pairs)] == ["[a [b]]", "[c]"]
    assert [(value, start) for value, start, _ in json_values('a {"x": [1]} {bad [2]')] == [({"x": [1]}, 2), ([2], 18)]


def test_one_action_is_expected():
    expect_single(["do"])
    for actions in ([], ["do", "exit"]):
        with pytest.raises(ActionError):
            expect_single(actions)
