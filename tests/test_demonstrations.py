import itertools
import json
import math
from random import Random

import gymnasium
import pytest

from agents import demonstrations as command
from agents.data import demonstrations as demos
from agents.data.prompts import PromptEncoder, system_prompt
from agents.models.batches import pack
from agents.models.checkpoints import agent_record
from agents.settings import ENV_ID, EnvSettings
from agents.train_bc import main
from agents.training import cloning as train_bc
from agents.training.cloning import EpisodeUpdates, Focus, Updates, encode, find_episodes, kept_lines, measure
from agents.training.settings import BCSettings
from tests import tiny

TINY = "--updates 1 --width 32 --layers 2 --heads 2 --practice 1 --vocabulary 300 --threads 1 --curriculum 0".split()  # noqa: SIM905


def test_the_expert_s_steps_become_samples():
    tasks = demos.draw_tasks([1001], 1, templates=["shopping.order_total", "gitlab.status_set", "reddit.biography"])
    shown = demos.demonstrate(tasks, **EnvSettings().env_arguments())
    assert {item.task_id for item in shown} == {task.task_id for task in tasks}
    assert sum(len(task.solution) for task in tasks) <= len(shown)
    assert all(item.messages[0]["role"] == "user" for item in shown)
    assert shown[0].messages[0]["content"].startswith(f"Task Instruction: {tasks[0].intent}")
    encoder = PromptEncoder(tiny.tiny_model()[1])
    for sample, item in zip(encode(encoder, shown), shown, strict=True):
        assert encoder.decode(sample.response_ids) == item.reply
        assert sample.response_ids[-1] in encoder.stop_ids


def test_an_epoch_holds_every_sample_once_within_the_budget():
    encoder = PromptEncoder(tiny.tiny_model()[1])
    shown = tiny.demonstrations(50)
    samples = [(len(sample.prompt_ids), len(sample.response_ids)) for sample in encode(encoder, shown)]
    assert measure(encoder, shown) == samples
    lengths = list(map(sum, samples))
    plan = Updates(lengths, 300, seed=4)
    seen: list[int] = []
    while len(seen) < len(lengths):
        update = next(plan)
        assert max(lengths[index] for index in update) * len(update) <= 300
        seen += update
    assert sorted(seen) == list(range(len(lengths)))
    assert next(Updates(lengths, 300, seed=4)) == next(Updates(lengths, 300, seed=4))


@pytest.mark.parametrize("focused", [False, True])
def test_the_order_goes_on_from_its_record(focused):
    def create():
        return Updates([10] * 600, 50, 7, Focus([f"kind {index % 5}" for index in range(600)], 0.1) if focused else None)

    one, other = create(), create()
    if one.focus:
        one.focus.note([3], [-0.01])
    for _ in range(150):
        next(one)
    other.restore(json.loads(json.dumps(one.record())))
    assert [next(one) for _ in range(200)] == [next(other) for _ in range(200)]


def test_what_is_known_is_seldom_taken():
    kinds = ["known" if index % 2 else "hard" for index in range(1000)]
    focus = Focus(kinds, 0.1)
    for _ in range(40):
        focus.note([1], [math.log(0.999)])
        focus.note([0], [math.log(0.2)])
    assert focus.errors == {"known": pytest.approx(0.001, abs=1e-3), "hard": pytest.approx(0.8, abs=1e-3)}
    plan, taken = Updates([10] * 1000, 50, 3, focus), list[int]()
    while len(taken) < 500:
        taken += next(plan)
    known = sum(kinds[index] == "known" for index in taken)
    assert 0.04 < known / len(taken) < 0.16  # 0.1 / (1 + 0.1), but for chance
    assert len(set(taken)) == len(taken)


def test_without_copying_whole_episodes_are_learned_together_and_share_their_history():
    shown = demos.demonstrate(demos.draw_tasks([1001], 2, templates=["shopping.order_payment", "shopping.cart_add"]))
    episodes = find_episodes(shown)
    firsts = [{item.task_id} for item in shown if len(item.messages) == 1]
    assert [{shown[index].task_id for index in episode} for episode in episodes] == firsts
    model, tokenizer = tiny.tiny_model()
    encoder = PromptEncoder(tokenizer, system_prompt("act", elements="label"))
    samples = encode(encoder, shown)
    lengths = [len(sample.prompt_ids) + len(sample.response_ids) for sample in samples]
    plan = EpisodeUpdates(episodes, lengths, max(lengths) * 6, seed=1)
    seen: list[int] = []
    while len(seen) < len(samples):
        update = next(plan)
        seen += update
        together = pack([samples[index] for index in update], 10**6, sharing="auto", model=model)
        assert sum(batch.input_ids.numel() for batch in together) < 0.9 * sum(lengths[index] for index in update)
    assert sorted(seen) == list(range(len(samples)))


def test_steps_with_long_prompts_are_never_trained_on(tmp_path, monkeypatch):
    short, encoded = tiny.demonstrations(20), []
    long = [item._replace(messages=({"role": "user", "content": "word " * 500},)) for item in short]
    monkeypatch.setattr(train_bc, "encode", lambda encoder, items: encoded.append(items) or encode(encoder, items))
    settings = BCSettings(
        out=tmp_path, updates=3, width=32, layers=2, heads=2, practice=1, vocabulary=300, max_prompt_tokens=200
    )
    train_bc.train(settings, [*long, *short])
    assert len(encoded) == 1 + 3  # measured at once, then one update after the other
    assert {item.task_id for items in encoded[1:] for item in items} <= {item.task_id for item in short}
    assert not any("word word" in item.messages[-1]["content"] for items in encoded[1:] for item in items)


def test_the_steps_of_an_episode_share_their_messages_and_unsolved_tasks_leave_none():
    shown = demos.demonstrate(
        demos.draw_tasks([1001], 1, templates=["shopping.checkout"]), expert_thoughts="long", thoughts=True
    )
    for one, following in itertools.pairwise(shown):
        assert all(mine is theirs for mine, theirs in zip(one.messages[:-1], following.messages, strict=False))
        assert following.messages[-2]["content"] == one.reply
    tasks = demos.draw_tasks([1001], 1, templates=["shopping.checkout", "shopping.product_price"])
    shown = demos.demonstrate(tasks, max_steps=4)
    assert {item.task_id for item in shown} == {tasks[1].task_id}


@pytest.mark.parametrize("thoughts", [True, False])
def test_the_conversation_is_the_env_s_own(thoughts):
    tasks = demos.draw_tasks([1001], 1, templates=["shopping.order_payment"])
    seen = []
    env = gymnasium.make(ENV_ID, tasks=tasks, thoughts=thoughts, disable_env_checker=True)
    _, info = env.reset(seed=0, options={"task": tasks[0]})
    shown = demos.demonstrate(tasks, expert_thoughts="short", thoughts=thoughts)
    for step in shown:
        seen.append(info["messages"][1:])
        info = env.step(step.reply)[4]
    assert [list(step.messages) for step in shown] == seen
    assert info["success"]
    env.close()


def write(path, *records):
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return path


def test_a_file_of_demonstrations_is_written_and_learned_from(tmp_path, capsys):
    file = tmp_path / "new" / "demos.jsonl"
    options = "--worlds 1001 --per-template 1 --templates shopping.order_payment map.town_population --elements id"
    command.main(["--out", str(file), *options.split(), *["--system", "think", "--expert-thoughts", "long", "--thoughts"]])
    assert "of 2 tasks" in capsys.readouterr().out
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    first, last = records[0], records[3]
    assert first["messages"][0] == {"role": "system", "content": system_prompt("think", elements="id")}
    assert [message.get("weight") for message in last["messages"]] == [None, *[None, 0] * 3, None, 1]
    assert (first["template"], first["world"], last["step"]) == ("shopping.order_payment", 1001, 3)
    tasks = demos.draw_tasks([1001], 1, templates=["shopping.order_payment", "map.town_population"])
    assert demos.read_demonstrations(file) == demos.demonstrate(tasks, expert_thoughts="long", elements="id", thoughts=True)
    assert demos.recorded_agent(file)["elements"] == "id"
    main(["--demonstrations", str(file), "--out", str(tmp_path / "run"), *TINY, "--max-prompt-tokens", "4000"])
    agent = agent_record(tmp_path / "run")
    assert (agent["elements"], agent["system"], agent["thoughts"]) == ("id", "think", True)


def test_a_file_written_elsewhere_is_read(tmp_path):
    said = {"system": "Be brief.", "user": "Round 0", "assistant": "exit()"}
    chat = [{"role": role, "content": content} for role, content in said.items()]
    file = write(tmp_path / "theirs.jsonl", {"messages": chat})
    assert demos.read_demonstrations(file) == [demos.Demonstration("", ({"role": "user", "content": "Round 0"},), "exit()")]
    assert demos.recorded_agent(file) == {}


@pytest.mark.parametrize(("record", "message"), [
    ({"text": "x"}, "line 2: expected an object with a list of messages"),
    ({"messages": [{"role": "user", "content": "x"}]}, "line 2: expected a user's message and the assistant's reply last"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "line 2: expected a role of"),
    ({"messages": [{"role": "user", "content": ["x"]}]}, "line 2: expected a role of"),
    ({"messages": ["x"]}, "line 2: expected a role of"),
])  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(tmp_path, record, message):
    good = demos.to_record(tiny.demonstrations(1)[0])
    with pytest.raises(ValueError, match=message):
        demos.read_demonstrations(write(tmp_path / "demos.jsonl", good, record))


@pytest.mark.parametrize(("text", "message"), [("{", "line 1: no JSON"), ("", "holds no demonstrations")])
def test_lines_that_are_no_json_and_files_without_lines_are_refused(tmp_path, text, message):
    (tmp_path / "bad.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        demos.read_demonstrations(tmp_path / "bad.jsonl")


PAGE = "Task Instruction: Buy a lamp\n\nRound 0\n\nURL: http://shop.test/\n<a>Lamp</a>\n<a>Chair</a>\n<button>Add to Cart</button>\n$5.00"


def test_a_thinned_page_keeps_what_the_reply_names():
    def thinned(reply, keep=0.0):
        shown = demos.Demonstration("t", ({"role": "user", "content": PAGE},), reply)
        return demos.thin(shown, keep, Random(0)).messages[-1]["content"].partition("http://shop.test/")[2].split("\n")[1:]

    assert thinned('do(action="Click", element="Chair")') == ["<a>Chair</a>"]
    assert thinned('do(action="Click", element="Add to Cart [2]")') == ["<button>Add to Cart</button>"]
    assert thinned('exit(message="$5.00")') == ["$5.00"]
    assert thinned('exit(message="")') == []
    assert len(thinned('exit(message="")', keep=1.0)) == 4
    reasoned = '<think>"$5.00" it is.</think>\n<answer>do(action="Click", element="Chair")</answer>'
    assert thinned(reasoned) == ["<a>Chair</a>", "$5.00"]


def test_pages_grow_to_whole_ones(tmp_path):
    settings = BCSettings(out=tmp_path, curriculum=0.5)
    shares = [kept_lines(settings, progress, Random(0)) for progress in (0.0, 0.25, 0.5, 0.9)]
    assert shares == [0.1, 0.55, 1.0, 1.0]
    assert kept_lines(BCSettings(out=tmp_path, curriculum=0.5, curriculum_power=2.0), 0.25, Random(0)) == pytest.approx(0.325)
    assert kept_lines(BCSettings(out=tmp_path, curriculum=0.0), 0.0, Random(0)) == 1.0
    mixed = BCSettings(out=tmp_path, curriculum=0.0, thinned=0.5)
    shares = [kept_lines(mixed, 0.5, Random(number)) for number in range(200)]
    assert 0.3 < sum(share < 1 for share in shares) / 200 < 0.7
    assert min(shares) >= 0.05
    assert kept_lines(mixed, 0.9, Random(0)) == 1.0
    with pytest.raises(ValueError, match="draws single steps"):
        BCSettings(out=tmp_path, focus=0.1, copy_weight=0.0)
