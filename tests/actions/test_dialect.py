"""Every dialect reads what it writes, accepts what models really write, and refuses the rest with a reason."""

import json
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import expect_error
from tests.growth import grows_too_fast
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.actions.action import NEEDS_ARGUMENT, NEEDS_ELEMENT, NEEDS_POINTS
from webarena_gym.actions.dialect import MAX_REASON
from webarena_gym.errors import ActionError
from webarena_gym.observation.history import Turn, compress
from webarena_gym.texts import MAX_ERROR, MAX_REPLY

WEBRL = DIALECTS["webrl"]
KINDS = [kind for kind in Kind if kind not in {*NEEDS_POINTS, Kind.CALL}]  # tests of calls are in test_toolbox
# Pieces that mean something to a reader of replies; in the text of an action they are text.
SYNTAX = (
    "</think>", "<think>", "<answer>", "</answer>", "```", "\n", '"', "'", "\\", "[", "]", "] [", "[0]", "(", ")", '")', ",", "#", "{", "}",
    "click [5]", "\nstop [done]\n", 'exit(message="x")', 'click("7")', "do(", "</s>", "<|im_end|>", "Action:",
)  # fmt: skip
TEXT = st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=10) | st.sampled_from(SYNTAX), max_size=6).map(
    "".join
)
WORDS = st.text(st.sampled_from("abc XYZ019-.,'\"()é"), min_size=1, max_size=20).map(str.strip).filter(bool)


def actions(kinds, elements, arguments):
    def build(kind):
        if kind is Kind.SWITCH_TAB:
            return st.builds(Action, st.just(kind), argument=st.integers(0, 9).map(str))
        if kind is Kind.PRESS:
            return st.builds(Action, st.just(kind), argument=st.just("Enter"))
        element = elements if kind in NEEDS_ELEMENT else st.none()
        argument = arguments if kind in NEEDS_ARGUMENT else st.none()
        return st.builds(Action, st.just(kind), element, argument)

    return st.sampled_from(kinds).flatmap(build)


WEBRL_KINDS = [kind for kind in KINDS if kind not in {Kind.GOTO, Kind.NEW_TAB, Kind.CLOSE_TAB, Kind.DRAG}]


WEBARENA_KINDS = [kind for kind in KINDS if kind not in {Kind.RIGHT_CLICK, Kind.DRAG}]
WRITTEN = {
    "webrl": actions(WEBRL_KINDS, TEXT, TEXT),
    "webarena": actions(WEBARENA_KINDS, TEXT, TEXT.map(str.strip)),
    "browsergym": actions([kind for kind in KINDS if kind is not Kind.SEARCH], TEXT.filter(bool), TEXT),
}


@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data(), thought=TEXT.filter(lambda text: "</think>" not in text))
def test_a_dialect_reads_the_actions_that_it_writes(name, data, thought):
    dialect, action = DIALECTS[name], data.draw(WRITTEN[name])
    written = dialect.format(action)
    assert dialect.parse(written) == action
    assert dialect.parse(f"<think>{thought}</think>\n<answer>\n{written}\n</answer>") == action
    assert dialect.parse(f"{written}\n\nThis opens the page.<|im_end|>") == action
    if name != "webarena":
        assert dialect.parse(f"```python\n{written}\n```") == action


@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data())
def test_a_history_without_thoughts_keeps_whole_actions(name, data):
    written = DIALECTS[name].format(data.draw(WRITTEN[name]))
    _, kept, _ = compress("Goal", [Turn("<p>Page</p>", f"<think>do(it)</think> {written}")], "<p>Next</p>", thoughts=False)
    assert kept["content"] == written.strip()


@pytest.mark.parametrize(("dialect", "reply"), [
    ("webrl", 'exit(message="a", b)")'), ("webrl", 'exit(message="a (b "c") d")'), ("webrl", 'exit(message="a") b")'),
    ("webrl", 'exit(message="one\nsaid "x")\ntwo")'), ("webrl", "exit(message=$1,234.50)"), ("webrl", "exit($1,234.50)"),
    ("browsergym", 'select_option("5", ["a", "b"])'), ("browsergym", 'select_option("5", options="a", "b")'),
    ("webarena", "type [5] [a\nstop [done]"), ("webarena", "stop [a ]\nclick [5]\nb]"), ("webarena", "click [5] [6]"),
    ("webarena", "stop [$46.50] [$53.99]"),
])  # fmt: skip
def test_a_reply_whose_text_would_be_cut_is_refused(dialect, reply):
    with pytest.raises(ActionError):
        DIALECTS[dialect].parse(reply)


@pytest.mark.parametrize("prose", [
    "I can do (it) now.", "We could exit (leave).", "First scroll (down), no.", "I press (Enter) later.", "I will click(the link).", "# do(this)",
    'See (the "Sort by" list), then click (there).', "Scroll(down) is next; type (in) the name; stop (here).", "go_back (to the list) is wrong",
])  # fmt: skip
@pytest.mark.parametrize("name", ["webrl", "browsergym"])
def test_parentheses_in_prose_are_no_action(name, prose):
    dialect = DIALECTS[name]
    action = Action(Kind.CLICK, "5")
    written = dialect.format(action)
    for reply in (
        f"{prose}\n{written}",
        f"{written}  # {prose}",
        f"{written}\n{prose}",
        f"{prose.replace('#', '')} So: {written}",
    ):
        assert dialect.parse(reply) == action
    with pytest.raises(ActionError):
        dialect.parse(prose)


@pytest.mark.parametrize("reply", [
    "```python\nclick [5]\n```", "```text\nclick [5]\n```", "I open it.\n\n```bash\nclick [5]\n```", "click [5]\n\nThis opens the page.",
    "click [5]</s>", "click [5]<|im_end|>", "click [5]<end_of_turn>\n", "```click [5]```</s>", "```\nclick [5]\n", "  click [5]",
    "click [7] would open it.\nclick [5]", "click [7]\nis not right, so ```click [5]```",
])  # fmt: skip
def test_webarena_reads_fences_with_a_language_and_lines_with_other_text_around_them(reply):
    assert DIALECTS["webarena"].parse(reply) == Action(Kind.CLICK, "5")


MALFORMED = [
    ("", "no action"), ("   \n", "no action"), ("I am done.", "no action"), ("click 12", "no action"),
    ("<think>do(action='Wait')</think>", "no action"), ("<answer></answer>", "no action"),
    ("# do(action='Wait')", "no action"),
    ("redo(action='Wait')", "no action"), ("do()", "there is no action"), ("do(action='')", "there is no action"),
    ("do(action='Fly')", "there is no action 'Fly'"), ("do(action='Press')", "there is no action 'Press'"),
    ("do(action='Click')", "needs element"), ("do(action='Type', element='3')", "needs argument"),
    ("do(action='Type', argument='x')", "needs element"),
    ("do(action='Select Dropdown Option', element='3')", "needs argument"), ("do(action='Switch Tab')", "needs argument"),
    ("do(action='Wait', element='3')", "takes no element"),
    ("do(action='Click', element='3', argument='x')", "takes no argument"),
    ("do(action='Click', element='3', force='yes')", "no argument 'force'"),
    ("do('Click', '12')", "named arguments (action, argument, element)"),
    ("do(action='Click', action='Wait')", "given action twice"), ("do(action='Click', element='3'", "expected ',' or ')'"),
    ("do(action='Click', element=)", "expected a quoted value"), ("do(action='Click' element='3')", "there is no action"),
    ("do(action='Click', element='3", "never closed"), ("do(action=[1], element='3')", "expected a quoted value"),
    ("exit(answer='x')", "no argument 'answer'"), ("exit('a', 'b')", "named arguments (message)"),
    ("go_backward(2)", "named arguments (none)"), ("do(action='Wait') exit()", "2 actions"),
    ("do(action='Wait')\ndo(action='Wait')", "2 actions"), ("__import__('os').system('ls')", "no action"),
    ("do(action=__import__('os'))", "expected ',' or ')'"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "expected"), [
    ("click('a12')", Action(Kind.CLICK, "a12")),
    ('click("12", button="right")', Action(Kind.RIGHT_CLICK, "12")),
    ("scroll(0, -200.5)", Action(Kind.SCROLL_UP)),
    ("noop()", Action(Kind.WAIT)),
    ("noop(3000)", Action(Kind.WAIT, argument="3000")),
    ("noop(wait_ms='0.5')", Action(Kind.WAIT, argument="0.5")),
    ("drag_and_drop('7', to_bid='12')", Action(Kind.DRAG, "7", "12")),
    ("report_infeasible('no such page')", Action(Kind.EXIT, argument="N/A")),
    ("press('3', 'Enter')", Action(Kind.PRESS, "3", "Enter")),
    ("click [12]", Action(Kind.CLICK, "12")),
    ("Let's think. In summary, the next action is ```type [5] [a [b] c]```", Action(Kind.SEARCH, "5", "a [b] c")),
    ("type [5] [text] [press_enter_after=0]", Action(Kind.TYPE, "5", "text")),
    ("scroll [direction=up]", Action(Kind.SCROLL_UP)),
    ("type [Part [2] [3]] [a [b]] [0]", Action(Kind.TYPE, "Part [2] [3]", "a [b]")),
    ("type [5] [a] b] [1]", Action(Kind.SEARCH, "5", "a] b")),
    ("type [5] [[1]]", Action(Kind.SEARCH, "5", "[1]")),
    ("type [5] [a [b] [0]", Action(Kind.TYPE, "5", "a [b")),
    ("select [a] b] [c]", Action(Kind.SELECT, "a] b", "c")),
    ("click [a] b]", Action(Kind.CLICK, "a] b")),
    ("stop []", Action(Kind.EXIT, argument="")),
    ("stop", Action(Kind.EXIT, argument="")),
    ("goto [http://shop.test/a?b=1]", Action(Kind.GOTO, argument="http://shop.test/a?b=1")),
])  # fmt: skip
def test_the_other_dialects_accept_their_forms(reply, expected):
    dialect = DIALECTS["browsergym" if "(" in reply.partition("[")[0] else "webarena"]
    assert dialect.parse(reply) == expected


REFUSED = {
    "webarena": ("click", "type [5]", "scroll [left]", "press", "fly [3]", "click [1]\nclick [2]", "go_back [1]", "type [1] [a] [2]"),
    "browsergym": (
        "click()", "click(1, 2, 3)", "scroll(1, 'x')", "scroll(5, 0)", "fill('1', v='x')", "noop() noop()", "noop(-1)", "noop('soon')",
        "noop(1e9)", "drag_and_drop('1')",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "reply"), [(dialect, reply) for dialect in REFUSED for reply in REFUSED[dialect]])
def test_the_other_dialects_refuse_what_is_no_action(dialect, reply):
    with pytest.raises(ActionError):
        DIALECTS[dialect].parse(reply)


@given(TEXT.filter(bool))
@pytest.mark.parametrize("dialect", ["webrl", "browsergym"])
def test_characters_may_be_written_by_their_codes_as_in_json_and_python(dialect, text):
    """JSON writes all but ASCII as four digits, or twice four; Python as two, four or eight."""
    as_python = "".join(
        f"\\x{ord(each):02x}" if ord(each) < 256 else f"\\u{ord(each):04x}" if ord(each) < 65536 else f"\\U{ord(each):08X}"
        for each in text
    )
    codes = {"\b": "\\u0008", "\f": "\\u000c"}
    as_json = "".join(codes.get(each) or json.dumps(each)[1:-1] for each in text)
    for written in (as_json, as_python):
        reply = f'do(action="Type", argument="{written}", element="1")' if dialect == "webrl" else f'fill("1", "{written}")'
        assert DIALECTS[dialect].parse(reply) == Action(Kind.TYPE, "1", text)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_actions_missing_from_a_dialect_raise_value_error(dialect):
    silent = []
    for kind in KINDS:
        action = Action(kind, "1" if kind in NEEDS_ELEMENT else None, "1" if kind in NEEDS_ARGUMENT else None)
        try:
            dialect.format(action)
        except ValueError:
            silent.append(kind)
        with expect_error(ValueError, dialect.name, kind):
            dialect.format(Action(kind, argument="x", points=((1, 2),)))
    assert {"webrl": 5, "webarena": 2, "browsergym": 1}[dialect.name] == len(silent)
    assert all(line.strip() for line in dialect.grammar().splitlines())


EVERY = pytest.mark.parametrize(
    "dialect", [each.naming_by(way) for each in DIALECTS.values() for way in ("id", "label")], ids=str
)


def refusal(dialect, reply):
    """Return why a reply is refused, None where it is read."""
    try:
        dialect.parse(reply)
    except ActionError as error:
        return str(error)
    return None


def assert_lists_the_forms(dialect, message):
    """Check that an error ends with the example of the action that the reply names, with at most three similar ones, or with all."""
    examples = [dialect.example(form) for form in dialect.forms]
    hint = re.search(r"(?:\. Expected the form |; did you mean )(.*?)\??\Z", message, re.DOTALL)
    if hint and "The actions are, with an example each" not in message:
        assert set(hint[1].split(" or ")) <= set(examples)
    else:
        assert message.splitlines()[-len(examples) :] == examples
    assert len(message) <= MAX_REASON + 100 + sum(len(example) + 1 for example in examples) <= MAX_ERROR


def misspelt(dialect):
    """Yield replies that are nearly actions: with an argument too few or too many, or with one of another name or type."""
    for form in dialect.forms:
        values = {each.name: dialect.example_of(each, form.kind) or each.default for each in form.parameters}
        optional = [each for each in form.parameters if each.default is not None]
        for each in form.parameters:
            others = {other.name: values[other.name] for other in form.parameters if other not in (each, *optional)}
            if each.default is None:
                yield dialect.spell(form.name, others)
            if dialect.name != "webarena":
                yield dialect.spell(form.name, others | {"wrong": "x"})
            if each.type == "number" or each.choices:
                yield dialect.spell(form.name, values | {each.name: "soon"})
        yield dialect.spell(form.name, values | {"more": "x"})
        yield dialect.spell(f"un{form.name}", values)


@EVERY
def test_misspelt_actions_are_rejected_with_all_forms(dialect):
    for reply in misspelt(dialect):
        message = refusal(dialect, reply)
        assert message is not None, reply
        if message is not None:
            assert_lists_the_forms(dialect, message)


@EVERY
@pytest.mark.parametrize("other", DIALECTS.values(), ids=DIALECTS)
def test_the_actions_of_another_dialect_are_refused_with_all_the_forms(dialect, other):
    for form in other.forms:
        message = refusal(dialect, other.example(form))
        if message is None or other.name == dialect.name:  # the two write it alike
            assert dialect.parse(other.example(form)).kind is form.kind
        else:
            assert_lists_the_forms(dialect, message)


@EVERY  # so any text is an action or an ActionError
@given(reply=st.text(max_size=80) | st.sampled_from([reply for reply, _ in MALFORMED]))
def test_any_refusal_lists_all_the_forms(dialect, reply):
    message = refusal(dialect, reply)
    assert message is None or assert_lists_the_forms(dialect, message) is None


@pytest.mark.parametrize(("dialect", "reply", "message"), [
    ("webrl", 'do(action="Clik", element="3")', "there is no action 'Clik'; did you mean do(action=\"Click\", element=\"12\")?"),
    ("webrl", "go_back()", "expected exactly one; did you mean go_backward()?"),
    ("webrl", "exit", 'Expected the form exit(message="84.3 km")'),
    ("webrl", 'do(action="Click"', 'the reply ends there. Expected the form do(action="Click", element="12")'),
    ("webrl", "exit(msg=3)", 'expected message. Expected the form exit(message="84.3 km")'),
    ("webrl", "click [6]", "an action of the dialect 'webarena', but the environment uses 'webrl'. The actions are"),
    ("webrl", 'click("6")', "an action of the dialect 'browsergym', but"), ("webarena", 'click("6")', "the dialect 'browsergym', but"),
    ("webarena", "clik [6]", "did you mean click [12]?"), ("webarena", 'exit(message="a")', "the dialect 'webrl', but"),
    ("webarena", "type [3]", "each in brackets. Expected the form type [12] [red shoes] [1]"),
    ("browsergym", "click [6]", "the dialect 'webarena', but"), ("browsergym", 'clik("6")', 'did you mean click("12")?'),
    ("browsergym", "noop", "Expected the form noop()"), ("browsergym", 'fill("3")', 'Expected the form fill("12", "red shoes")'),
])  # fmt: skip
def test_an_error_names_the_intended_action_or_the_dialect_of_the_reply(dialect, reply, message):
    error = refusal(DIALECTS[dialect], reply)
    assert message in error
    assert ("The actions are" in error) == ("of the dialect" in error or "the dialect" in message)


@EVERY
@pytest.mark.parametrize("piece", ["x", "do(", "do(action='", "exit() ", "click [1]\n", "```", "click(1, ", "'", "[", "\\"])
def test_errors_stay_short_however_long_the_reply(dialect, piece):
    for length in (MAX_REPLY, MAX_REPLY + 1, 3 * MAX_REPLY):
        message = refusal(dialect, (piece * length)[:length])
        assert message is not None
        assert_lists_the_forms(dialect, message)
        assert ("expected at most 100,000" in message) == (length > MAX_REPLY)


OPENINGS = {
    "webrl": ("", 'do(action="Type", argument="', "exit('", "do("),
    "webarena": ("", "click [", "```type [1] [", "stop "),
    "browsergym": ("", 'fill("1", "', "noop(", "click('"),
}
PIECES = ("'", '"', "\\", "(", ")", "[", "]", ",", "=", "#", "`", "```", " ", "\n", "a", "<answer>", "</think>", "u0041")


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_replies_of_any_pieces_are_read_in_linear_time(dialect):
    own = [dialect.example(dialect.forms[0]), dialect.forms[0].name + " ", f"{dialect.forms[-1].name}("]
    for opening, one, other in product(OPENINGS[dialect.name], PIECES, ["", *PIECES, *own]):

        def make(size, opening=opening, piece=one + other):
            return opening + piece * ((size - len(opening)) // len(piece))

        length = 250 if other else 2_000
        assert not grows_too_fast(lambda reply: refusal(dialect, reply), make, length), (opening, one, other)


@pytest.mark.parametrize("opening", ['do(action="Type", argument="', 'exit("'])
@pytest.mark.parametrize("piece", ['"', '" ', "\\"])
def test_the_reader_itself_is_linear_far_beyond_the_longest_reply(opening, piece):
    def read(text):
        with pytest.raises(ActionError):
            WEBRL.read(text)

    assert not grows_too_fast(read, lambda length: opening + piece * (length // len(piece)), length=50_000)
