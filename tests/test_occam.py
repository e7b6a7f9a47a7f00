"""AgentOccam: its outline of a page, what is kept of earlier pages, its plans, and a scripted endpoint that plays by them."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import evaluate as command
from agents.evaluation.evaluate import create_policy
from agents.evaluation.settings import OCCAM_ENV, EvaluationSettings, policy_defaults
from agents.rollouts.chat import OccamEpisode, OccamPolicy, PlanTree, parse_reply
from agents.rollouts.policies import Request, ScriptedPolicy
from tests import needs
from tests.chat_server import serving_chat
from tests.errors import expect_error
from tests.pages import page
from tests.test_observation import SHOP
from webarena_gym.actions import DIALECTS
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import observe, pivotal_text
from webarena_gym.observation.history import Turn, compress, parse_chat
from webarena_gym.suite import load
from webarena_gym.tasks import Expert

OUTLINE = """URL: http://shop.test/
RootWebArea 'Bags'
	link [0] 'Shop'
	textbox [1] 'Search entire store here...' value: 'red' button [2] 'Search'
	heading 'Bags all' link [3] 'all'
		text 'Good bags, for you & me <b>'
		link [4] 'Blue Bag' text '$3.00' button [5] 'Add to Cart'
		link [6] 'Red Bag' text '$4.00' button [7] 'Add to Cart' disabled: True
		| Order | Link |
		| --- | --- |
		| 1 | link [8] 'View' now |
		combobox [9] 'Qty' options: '1', '2' (selected) checkbox [10] 'Gift' checked: true textbox [11] 'note' value: 'one\\ntwo'
		link [12] 'inner'"""
TEMPLATE = "shopping.order_place"
WISH_LIST = "My Wish List"


def test_a_page_is_an_outline():
    assert observe(page(SHOP), style="occam").text == OUTLINE


@pytest.mark.parametrize(("html", "lines"), [
    ("<p><a href=/a>My Cart</a> My cart: <b>Two</b> of <i>them</i> <img src=x alt=Photo><button>Go</button>", "link [0] 'My Cart' text 'My cart: Two of them' button [1] 'Go'"),
    ("<p>Quantity: <input aria-label=Quantity value=2>", "textbox [0] 'Quantity' value: '2'"),
    ("<p><a href=/a>Chair 2000</a> <span>2</span>", "link [0] 'Chair 2000' text '2'"),
    ("<h1>A</h1><p>a<h3><a href=/b>B</a></h3><p>b<h2>C</h2><p>c<h2></h2><p>d", "heading 'A'\n\ttext 'a'\n\tlink [0] 'B'\n\t\ttext 'b'\n\theading 'C'\n\t\ttext 'c'\n\t\ttext 'd'"),
    ("<table><tr><th>Name<th aria-sort=ascending>Price</tr><tr><td>A|B<td><a href=/x>View</a></tr><tr><th>C<td></tr>", "| Name | Price (sorted: ascending) |\n| --- | --- |\n| A\\|B | link [0] 'View' |\n| C |  |"),
    ("<table><tr><td onclick=x()>Open<td>now<td hidden>never</table>", "| button [0] 'Open' | now |"),
])  # fmt: skip
def test_texts_are_merged_headings_nest_what_follows_and_tables_are_markdown(html, lines):
    found = observe(page(f"<body>{html}"), style="occam").text.split("\n")[2:]
    assert found == [f"\t{line}" for line in lines.split("\n")]


_MARKUP = re.compile(r'<img alt="[^"]*">|<[^<>]*?label="([^"]*)"[^<>]*?(?:value="([^"]*)")?[^<>]*>|<[^<>]*>')


def words_of(text):
    """The words of an observation, without markup and pictures."""
    text = _MARKUP.sub(lambda found: f" {found[1] or ''} {found[2] or ''} ", text)
    return set(re.findall(r"[\w$%.,]+", text.replace("&lt;", "<").replace("&quot;", '"').replace("\\n", " ")))


@pytest.mark.parametrize("variation", ["content", "layout"])
def test_no_word_of_a_page_is_lost(variation):
    env = WebArenaLite(split="test", variation=variation, window=10**9, max_steps=60)
    pages = 0
    for task in env.tasks[::8]:
        env.reset(options={"task": task})
        expert, done = Expert(task, env.dialect), False
        while not done:
            whole, short = (observe(env.page, style=style, window=10**9).text for style in ("html", "occam"))
            lost = {word for word in words_of(whole) - words_of(short) if not word.endswith("...")}  # where a long text is cut
            assert not lost, (env.page.url, lost)
            pages += 1
            done = any(env.step(expert.reply(env.page, env.observation))[2:4])
    assert pages > 50


BLOCK = st.sampled_from(
    ["<h1>{}</h1>", "<h2>{}</h2>", "<h3><a href=/x>{}</a></h3>", "<p>{}</p>", "<p><a href=/x>{}</a> {}</p>", "<table><tr><th>{}</tr><tr><td><a href=/>{}</a></tr></table>"]
)  # fmt: skip


def depth(line):
    return len(line) - len(line.lstrip("\t"))


@given(st.lists(BLOCK, min_size=1, max_size=30), st.lists(st.integers(0, 20), max_size=4))
def test_pivotal_lines_of_earlier_pages_keep_their_ancestors(blocks, target):
    html = "".join(block.format(f"Name {place}", f"more {place}") for place, block in enumerate(blocks))
    shown = observe(page(f"<body>{html}"), style="occam")
    reply = f"REASON: so\nOBSERVATION HIGHLIGHT: {', '.join(map(str, target))}\n\nclick [99]"
    kept, lines = pivotal_text(shown.text, reply).split("\n"), shown.text.split("\n")
    assert kept[:2] == lines[:2]
    places = iter(range(len(lines)))
    assert all(any(lines[place] == line for place in places) for line in kept)  # in their order
    named = [line for line in lines if any(f"link [{each}] '" in line for each in target)]
    assert set(named[:1]) <= set(kept)
    assert len(kept) > 2 or not named
    assert all(depth(later) <= depth(earlier) + 1 for earlier, later in pairwise(kept[1:]))
    assert pivotal_text("\n".join(kept), reply) == "\n".join(kept)
    assert pivotal_text(shown.text, "click [1]") == "\n".join(lines[:2])


@pytest.mark.parametrize("reply", [
    "OBSERVATION HIGHLIGHT: 4\nclick [5]", "OBSERVATION HIGHLIGHT:\n12, 4\n</think>\nclick [5]",
    "**Observation highlight:** [4]", "OBSERVATION HIGHLIGHT:\n- 4\n- 99\n\nREASON: 7", "OBSERVATION HIGHLIGHT: Blue Bag",
])  # fmt: skip
def test_pivotal_nodes_are_read_however_they_are_written(reply):
    kept = pivotal_text(OUTLINE.replace("[12]", "[13]"), reply).split("\n")
    assert kept == [OUTLINE.split("\n")[place] for place in (0, 1, 4, 6)]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
def test_a_highlight_changes_no_action_of_any_dialect(dialect):
    for form in dialect.forms:
        reply = f"OBSERVATION HIGHLIGHT: 4, 34\n{dialect.example(form)}"
        assert dialect.parse(reply) == dialect.parse(dialect.example(form))
        assert "link [4] 'Blue Bag'" in pivotal_text(OUTLINE, reply)


def test_a_row_stays_with_the_head_of_its_table_and_many_lines_are_cut():
    assert pivotal_text(OUTLINE, "OBSERVATION HIGHLIGHT: 8").split("\n")[3:] == OUTLINE.split("\n")[8:11]
    rows = "".join(f"<tr><td><a href=/{place}>View</a>" for place in range(50))
    many = observe(page(f"<body><table>{rows}</table>"), style="occam").text
    kept = pivotal_text(many, f"OBSERVATION HIGHLIGHT: {', '.join(map(str, range(50)))}").split("\n")
    assert kept[-1] == "[20 more lines were highlighted]"
    assert len(kept) == 33


TASK = next(task for task in load("test") if task.template == TEMPLATE)


def number(text, label, which=1):
    """Return the number of an element in an outline, by its label."""
    found = re.findall(rf"\w+ \[(\d+)\] '{re.escape(label)}'", text)
    return found[which - 1]


def play(env, replies):
    """Yield the page and the info at each step of an episode of some replies, which may be functions of the page."""
    _, info = env.reset(seed=0, options={"task": TASK})
    for reply in replies:
        yield info
        info = env.step(reply(info["page"]))[-1]
    yield info


REPLIES = [
    lambda text: f"OBSERVATION HIGHLIGHT: {number(text, 'My Account')}\nclick [{number(text, 'My Account')}]",
    lambda text: f"OBSERVATION HIGHLIGHT: {number(text, 'My Orders')}\nclick [{number(text, 'My Orders')}]",
    lambda _: "click [999]",
    lambda text: f"click [{number(text, 'Next')}]",
]


def test_the_history_keeps_what_was_highlighted_and_a_snapshot_carries_it():
    env, other = WebArenaLite(tasks=[TASK], **OCCAM_ENV), WebArenaLite(tasks=[TASK], **OCCAM_ENV)
    pages, urls = [], []
    for info in play(env, REPLIES):
        pages.append(info["page"])
        urls.append(info["url"])
        observation, restored = other.restore(env.snapshot())
        assert restored == info
        assert all(f"URL: {url}\n" in observation for url in urls)
    first, second, third, _ = (turn.page for turn in parse_chat(info["goal"], info["messages"])[0])
    outputs = [reply(page) for reply, page in zip(REPLIES[:3], pages, strict=False)]
    assert (first, second, third) == tuple(map(pivotal_text, pages, outputs))
    assert "'My Account'" in first
    assert "Welcome" in pages[0]
    assert "Welcome" not in first
    assert third.split("\n")[0].startswith("URL: ")
    assert len(third.split("\n")) == 2


@needs.chromium
def test_both_browsers_show_the_same():
    envs = [WebArenaLite(tasks=[TASK], browser=browser, **OCCAM_ENV) for browser in ("inprocess", "chromium")]
    for one, other in zip(*(play(env, REPLIES) for env in envs), strict=True):
        assert one == other
    for env in envs:
        env.close()


@given(st.lists(st.tuples(st.sampled_from("bp"), st.integers(0, 9)), max_size=12))
def test_a_tree_of_plans_holds_its_active_plan_and_nothing_that_was_pruned(acts):
    tree = PlanTree("Find it", "http://shop.test/")
    gone = set()
    for step, (act, target) in enumerate(acts):
        plan, before = tree.find(target), {each.number: each for _, each in tree.root.iterate()}
        assert target not in gone or plan is None
        if plan is None:
            continue
        plan.steps.append(step)
        if act == "b":
            tree.branch(plan, f"plan of {step}", f"http://shop.test/{step}", step)
            assert (tree.active, tree.active.steps) == (plan.children[-1], [])
        else:
            under = {each for _, each in plan.iterate()}
            tree.prune(plan, "no")
            assert tree.active is plan
            assert not plan.children
            assert {step for each in under for step in each.steps} <= set(plan.steps)
        there = {each.number: each for _, each in tree.root.iterate()}
        assert tree.active in there.values()
        assert len(there) == len(list(tree.root.iterate()))
        gone |= before.keys() - there.keys()
        assert str(tree).count("(active)") == 1


def test_plans_may_be_as_deep_as_an_episode_is_long():
    tree = PlanTree("Find it", "")
    for step in range(2_000):
        tree.branch(tree.active, "further", "", step)
    assert tree.find(2_000) is tree.active
    tree.prune(tree.root, "too deep")
    assert str(tree) == "[0] (active) Reach the objective: Find it; resumed because: too deep"


def scripted(payload):
    """Plan, go wrong under a plan of its own, prune it, and take the solution from there, by what the conversation shows alone."""
    content = payload["messages"][1]["content"]
    done, text = content.count("REASON: solution"), content.rpartition("CURRENT OBSERVATION:\n")[2]
    if "[1]" not in content.partition("PLANS:")[2].partition("INTERACTION")[0] and "resumed because" not in content:
        reason, action, pivot = "plan", "note [The account has the orders.]\nbranch [0] [Look into the wish list]", WISH_LIST
    elif "resumed because" not in content and "none under this plan" in content:
        reason, action, pivot = "try", f"click [{number(text, WISH_LIST)}]", WISH_LIST
    elif "resumed because" not in content:
        reason, action, pivot = "give up", "prune [0] [The wish list has no orders]", "My Account"
    else:
        target = TASK.solution[min(done, len(TASK.solution) - 1)].action
        reason, pivot = f"solution {done}", target.element or "My Account"
        action = f"click [{number(text, target.element)}]" if target.element else f"stop [{target.argument}]"
    parts = {
        "INTERACTION HISTORY SUMMARY": "as above",
        "OBSERVATION DESCRIPTION": "a page of the shop",
        "REASON": reason,
        "ACTION": action,
        "OBSERVATION HIGHLIGHT": number(text, pivot) if f"'{pivot}'" in text else "",
    }
    return {"content": "\n".join(f"{title}: {words}" for title, words in parts.items())}


def test_an_endpoint_plans_goes_wrong_prunes_and_solves(monkeypatch, capsys, tmp_path):
    with serving_chat(scripted) as (server, address):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        options = ["--policy", "chat:good", "--system", "occam", "--templates", TEMPLATE, "--limit", "1", "--max-steps", "12"]
        command.main([*options, "--save", str(tmp_path / "episodes.jsonl"), "--json"])
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["success"] == 1.0
    contents = [payload["messages"][1]["content"] for payload in server.requests]
    assert "[1] (active) Look into the wish list" in contents[1]
    assert "- Step 0: The account has the orders." in contents[1]
    assert "STEP:\n2 of 12" in contents[1]
    assert "REASON: try" in contents[2]
    assert "REASON: plan" not in contents[2]
    assert "[0] (active) Reach the objective" in contents[3]
    assert "resumed because: The wish list has no orders" in contents[3]
    assert "Look into" not in contents[3].partition("INTERACTION HISTORY")[0]
    assert contents[3].rpartition("CURRENT OBSERVATION:\n")[2] == contents[0].rpartition("CURRENT OBSERVATION:\n")[2]
    assert f"'{WISH_LIST}'" in contents[2].partition("CURRENT OBSERVATION")[0]  # what it highlighted
    assert "Best Sellers" not in contents[2].partition("CURRENT OBSERVATION")[0]
    (record,) = (json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines())
    assert [step["reply"].rpartition("\n")[2].partition(" ")[0] for step in record["steps"][:3]] == ["noop", "click", "goto"]
    assert all("OBSERVATION DESCRIPTION" in step["reply"] for step in record["steps"])
    assert not any(step.get("action_error") for step in record["steps"])


def test_a_fork_goes_on_with_the_same_plans():
    env, other = WebArenaLite(tasks=[TASK], **OCCAM_ENV), WebArenaLite(tasks=[TASK], **OCCAM_ENV)
    _, info = env.reset(seed=0)
    done = False
    while not done:
        _, restored = other.restore(env.snapshot())
        ways = []
        for step_info in (info, restored):
            chat = OccamPolicy(ScriptedPolicy(lambda request: scripted({"messages": request.info["messages"]})["content"]), 15)
            chat.ask([Request(0, None, step_info)])
            ways.append(chat.replies())
        assert ways[0] == ways[1]
        assert OccamEpisode(info).build_messages(15) == OccamEpisode(restored).build_messages(15)
        _, reward, done, _, info = env.step(ways[0][0][1].text)
    assert reward == 1.0


def episode(*replies):
    """An episode of the shop's first page, after some replies of the model."""
    turns, page = [], "URL: http://shop.test/\nRootWebArea 'Shop'\n\tlink [0] 'Cart'"
    for reply in replies:
        info = {"goal": "G", "step": len(turns), "messages": compress("G", turns, page, summarize=pivotal_text)}
        turns.append(Turn(page, OccamEpisode(info).wrap_reply(reply)))
    return OccamEpisode(
        {"goal": "G", "step": len(turns), "messages": compress("G", turns, page, summarize=pivotal_text)}
    ), turns


@pytest.mark.parametrize(("reply", "sent", "noted"), [
    ("ACTION: click [0]", "click [0]", ""),
    ("**ACTION:**\n```\ntype [3] [red shoes] [1]\n```", "type [3] [red shoes] [1]", ""),
    ("I click.\nclick [0]", "click [0]", ""),
    ("ACTION: note [a]\nnote [b [2]]\nclick [0]", "click [0]", "- Step 0: a\n- Step 0: b [2"),
    ("ACTION: note [a]", "noop", "- Step 0: a"),
    ("ACTION: go_home", "goto [http://home.test]", ""),
    ("ACTION: prune [0] [wrong]", "goto [http://shop.test/]", "resumed because: wrong"),
    ("ACTION: stop [two\nlines]", "stop [two\nlines]", ""),
    ("ACTION: branch [7] [x]", "noop", "cannot do 'branch [7] [x]'; expected branch [plan] [text], with one of the plans 0"),
    ("ACTION: branch [99999999999999999999] [x]", "noop", "one of the plans 0"),
    ("ACTION: prune 0", "noop", "the reply had no action"),
    ("ACTION: scroll [down]", "noop", "the reply had no action; expected exactly one of click, type, select"),
    ("ACTION: click [0]\nclick [1]", "noop", "the reply had 2 actions"),
    ("", "noop", "the reply had no action"),
    ("<think>click [5]?</think>ACTION: click [0]", "click [0]", ""),
    ("ACTION: click [0]\nOBSERVATION HIGHLIGHT: 0", "click [0]", ""),
])  # fmt: skip
def test_replies_of_the_model_become_actions_or_notes(reply, sent, noted):
    now, turns = episode(reply)
    assert turns[0].reply.endswith(f"\n</think>\n{sent}")
    assert DIALECTS["webarena"].parse(turns[0].reply)
    assert noted in str(now.tree)
    assert now.turns[0].reply == reply
    assert now.build_messages(15)[1]["content"].startswith("STEP:\n2 of 15")


@given(st.lists(st.text(alphabet="abz[]0 1\n:<>/", max_size=40) | st.sampled_from(
    ["ACTION: branch [0] [x]", "ACTION: prune [1] [y]", "prune [0] [</think>]", "note [n]", "click [0]", "<answer>go_home", "OBSERVATION HIGHLIGHT: 0"]
), max_size=6))  # fmt: skip
def test_conversations_with_any_replies_can_be_parsed(replies):
    now, turns = episode(*replies)
    assert len(now.turns) == len(replies)
    assert sum(each.number == now.tree.active.number for _, each in now.tree.root.iterate()) == 1
    assert parse_reply(turns[-1].reply if turns else "")[0]


def test_a_long_conversation_loses_rounds_but_not_its_place():
    turns = [Turn("URL: http://shop.test/\n\tlink [0] 'Cart'", "note [x]" * 12_000) for _ in range(15)]
    chat = compress("G", turns, "URL: http://shop.test/", summarize=pivotal_text)
    assert "earlier rounds are left out" in chat[0]["content"]
    read, page = parse_chat("G", chat)
    assert 0 < len(read) < 15
    assert (read, page) == (turns[15 - len(read) :], "URL: http://shop.test/") or all(
        turn.page.startswith("URL") for turn in read
    )
    assert OccamEpisode({"goal": "G", "step": 15, "messages": chat}).build_messages(30)


WORD = st.sampled_from(["Round 1\n\n", "page", "Task Instruction: ", "\n\n", "[3 earlier rounds are left out]"])
WORDS = st.lists(WORD, min_size=1, max_size=4).map("".join)


@given(WORDS, WORDS, st.lists(st.builds(Turn, WORDS, WORDS), max_size=3))
def test_rounds_are_the_inverse_of_the_history(goal, page, turns):
    assert parse_chat(goal, compress(goal, turns, page, "full")) == (turns, page)


def test_settings_that_hide_the_plans_are_refused():
    given = policy_defaults("chat:good", "occam") | {"system": "occam"}
    create_policy(EvaluationSettings(policy="chat:good", **given)).close()
    for change, message in (
        ({"policy": "random"}, "policy 'random'; expected chat:MODEL"),
        ({"history": "none"}, "history 'none'"),
        ({"thoughts": False}, "thoughts False"),
        ({"elements": "label"}, "elements 'label'"),
    ):
        with expect_error(ValueError, "system", "'occam'", message):
            create_policy(EvaluationSettings(**{"policy": "chat:good", **given, **change}))
