"""Demonstrations: what they record, those in pieces, those of recovery, and step limits that grow."""

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from random import Random

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import demonstrations as command
from agents.data import demonstrations as demos
from agents.data.demonstrations import SplitSettings, demonstrate, episodes, pieces
from agents.data.prompts import PromptEncoder, system_prompt
from agents.models.batches import pack
from agents.models.checkpoints import agent_record
from agents.models.pointer.reader import Reader
from agents.settings import ENV_ID, EnvSettings
from agents.train_bc import main
from agents.train_rl import train
from agents.training import cloning as train_bc
from agents.training import pointer_cloning
from agents.training.cloning import EpisodeUpdates, Focus, Updates, encode, find_episodes, line_fraction, measure
from agents.training.metrics import read_metrics
from agents.training.pointer_cloning import collect, train_pointer
from agents.training.rollout_files import group_files, read_groups
from agents.training.settings import BCSettings, PointerBCSettings
from benchmarks import compare, playing
from tests import tiny
from tests.errors import expect_error
from tests.training.test_pointer_cloning import clone_settings, rl_settings, success, unsure  # noqa: F401 - a fixture
from webarena_gym import suite as task_suite
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.actions.replies import answer_part
from webarena_gym.errors import TaskError

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
        one.focus.update_errors([3], [-0.01])
    for _ in range(150):
        next(one)
    other.restore(json.loads(json.dumps(one.record())))
    assert [next(one) for _ in range(200)] == [next(other) for _ in range(200)]


def test_known_steps_are_sampled_rarely():
    kinds = ["known" if index % 2 else "hard" for index in range(1000)]
    focus = Focus(kinds, 0.1)
    for _ in range(40):
        focus.update_errors([1], [math.log(0.999)])
        focus.update_errors([0], [math.log(0.2)])
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
        model="small", out=tmp_path, updates=3, width=32, layers=2, heads=2, practice=1, vocabulary=300, max_prompt_tokens=200
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
def test_the_conversation_is_the_env_s_own(opened, thoughts):
    tasks = demos.draw_tasks([1001], 1, templates=["shopping.order_payment"])
    seen = []
    env = opened(gymnasium.make(ENV_ID, tasks=tasks, thoughts=thoughts, disable_env_checker=True))
    _, info = env.reset(seed=0, options={"task": tasks[0]})
    shown = demos.demonstrate(tasks, expert_thoughts="short", thoughts=thoughts)
    for step in shown:
        seen.append(info["messages"][1:])
        info = env.step(step.reply)[4]
    assert [list(step.messages) for step in shown] == seen
    assert info["success"]


def write(path, *records):
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return path


def test_a_file_of_demonstrations_is_written_and_learned_from(tmp_path, capsys):
    file = tmp_path / "new" / "demos.jsonl"
    options = "--worlds 901 --per-template 1 --templates shopping.order_payment map.town_population --elements id"
    command.main(["--out", str(file), *options.split(), *["--system", "think", "--expert-thoughts", "long", "--thoughts"]])
    assert "of 2 tasks" in capsys.readouterr().out
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    first, last = records[0], records[3]
    assert first["messages"][0] == {"role": "system", "content": system_prompt("think", elements="id")}
    assert [message.get("weight") for message in last["messages"]] == [None, *[None, 0] * 3, None, 1]
    assert (first["template"], first["world"], last["step"]) == ("shopping.order_payment", 901, 3)
    tasks = demos.draw_tasks([901], 1, templates=["shopping.order_payment", "map.town_population"])
    assert demos.read_demonstrations(file) == demos.demonstrate(tasks, expert_thoughts="long", elements="id", thoughts=True)
    assert demos.recorded_agent(file)["elements"] == "id"
    main(
        [
            "--model",
            "small",
            "--demonstrations",
            str(file),
            "--out",
            str(tmp_path / "run"),
            *TINY,
            "--max-prompt-tokens",
            "4000",
        ]
    )
    agent = agent_record(tmp_path / "run")
    assert (agent["elements"], agent["system"], agent["thoughts"]) == ("id", "think", True)


def test_a_training_rejects_held_out_tasks_and_demonstrations_unless_they_are_allowed(tmp_path):
    held_out, own = task_suite.load("test")[:1], task_suite.load("train")[:1]
    settings = demos.TaskSettings()
    assert demos.training_tasks(settings, own) == list(own)
    with expect_error(ValueError, "tasks", 1000, "test"):
        demos.training_tasks(settings, held_out)
    assert demos.training_tasks(demos.TaskSettings(allow_held_out_worlds=True), held_out) == list(held_out)
    file = tmp_path / "demos.jsonl"
    options = ["--out", str(tmp_path / "run"), *TINY]
    command.main(["--out", str(file), *["--worlds", "1001", "--allow-held-out-worlds", "--templates", "map.town_population"]])
    with expect_error(ValueError, f"'{tmp_path / 'demos.jsonl'}'", 1001, "validation"):
        main(["--model", "small", "--demonstrations", str(file), *options])
    main(
        ["--model", "small", "--demonstrations", str(file), *options, "--max-prompt-tokens", "4000", "--allow-held-out-worlds"]
    )


def test_a_file_written_elsewhere_is_read(tmp_path):
    contents = {"system": "Be brief.", "user": "Round 0", "assistant": "exit()"}
    chat = [{"role": role, "content": content} for role, content in contents.items()]
    file = write(tmp_path / "theirs.jsonl", {"messages": chat})
    assert demos.read_demonstrations(file) == [demos.Demonstration("", ({"role": "user", "content": "Round 0"},), "exit()")]
    assert demos.recorded_agent(file) == {}


@pytest.mark.parametrize(("record", "message"), [
    ({"text": "x"}, "line 2: expected an object with a list of messages"),
    ({"messages": [{"role": "user", "content": "x"}]}, "line 2: expected a user message and an assistant reply at the end"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "line 2: expected a role of"),
    ({"messages": [{"role": "user", "content": ["x"]}]}, "line 2: expected a role of"),
    ({"messages": ["x"]}, "line 2: expected a role of"),
])  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(tmp_path, record, message):
    good = demos.to_record(tiny.demonstrations(1)[0])
    with pytest.raises(ValueError, match=message):
        demos.read_demonstrations(write(tmp_path / "demos.jsonl", good, record))


@pytest.mark.parametrize(("text", "message"), [("{", "line 1: invalid JSON"), ("", "contains no demonstrations")])
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
    settings = BCSettings(model="small", out=tmp_path, curriculum=0.5)
    shares = [line_fraction(settings, progress, Random(0)) for progress in (0.0, 0.25, 0.5, 0.9)]
    assert shares == [0.1, 0.55, 1.0, 1.0]
    assert line_fraction(
        BCSettings(model="small", out=tmp_path, curriculum=0.5, curriculum_power=2.0), 0.25, Random(0)
    ) == pytest.approx(0.325)
    assert line_fraction(BCSettings(model="small", out=tmp_path, curriculum=0.0), 0.0, Random(0)) == 1.0
    mixed = BCSettings(model="small", out=tmp_path, curriculum=0.0, thinned=0.5)
    shares = [line_fraction(mixed, 0.5, Random(number)) for number in range(200)]
    assert 0.3 < sum(share < 1 for share in shares) / 200 < 0.7
    assert min(shares) >= 0.05
    assert line_fraction(mixed, 0.9, Random(0)) == 1.0


SPLIT = SplitSettings(piece_steps=4, shared_steps=2, early_steps=1)


@given(st.integers(1, 70), st.integers(1, 20), st.integers(0, 19), st.integers(1, 6))
def test_pieces_cover_all_steps_overlap_and_keep_the_first(count, size, overlap, early):
    overlap = min(overlap, size - 1)
    found = pieces(count, SplitSettings(piece_steps=size, shared_steps=overlap, early_steps=early))
    learned = Counter(step for piece in found for step in piece.targets)
    assert set(learned) == set(range(count))
    for before, piece in itertools.pairwise(found):
        assert len(set(before.targets) & set(piece.targets)) == overlap
        assert list(piece.context) == list(range(min(early, piece.targets.start)))
    assert all(len(piece.targets) <= size and list(piece.steps) == sorted(set(piece.steps)) for piece in found)
    assert len(found) == 1 or count > size
    assert pieces(count, SplitSettings()) == [(range(0), range(count))]


@pytest.mark.parametrize(("make", "options", "values"), [
    (SplitSettings, {"piece_steps": 3, "shared_steps": 3}, ("shared_steps=3",)), (SplitSettings, {"piece_steps": -1}, ("piece_steps=-1",)),
    (SplitSettings, {"early_steps": 0}, ("early_steps=0",)),
    (BCSettings, {"focus": 0.1, "copy_weight": 0.0}, ("focus", "copy_weight=0")),
    (BCSettings, {"demonstrations": Path("some.jsonl"), "piece_steps": 4}, ("piece_steps 4", "demonstrations='some.jsonl'")),
    (PointerBCSettings, {"detours": 0.2, "mistakes": 0.2}, ("detours=0.2", "mistakes=0.2")),
    (PointerBCSettings, {"mistakes": 1.0}, ("mistakes=1.0",)),
])  # fmt: skip
def test_settings_that_do_not_go_together_are_refused(make, options, values):
    required = {"out": Path("out"), **({"model": "small"} if make is BCSettings else {})}
    with expect_error(ValueError, *values):
        make(**options if make is SplitSettings else required | options)


def test_a_language_model_s_conversation_is_that_of_the_piece():
    tasks = task_suite.draw(["gitlab.folder_new", "reddit.subscription"], world_seed=12, count=1)
    for whole, split in zip(episodes(tasks), episodes(tasks, split=SPLIT), strict=True):
        parts = pieces(len(whole), SPLIT)
        learned = [number for piece in parts for number in piece.targets]
        assert [step.reply for step in split] == [whole[number].reply for number in learned]
        assert [step.messages[-1]["content"] for step in split] == [whole[number].messages[-1]["content"] for number in learned]
        assert max(len(step.messages) for step in split) < 2 * (SPLIT.piece_steps + SPLIT.early_steps)
        for step, number in zip(split, learned, strict=True):
            rest = iter(whole[number].messages)
            assert all(message in rest for message in step.messages)  # in this order
        assert all(step.messages[0]["content"].startswith("Task Instruction") for step in split)
        assert len(find_episodes(split)) == len(parts)
    assert len(whole) < len(demonstrate(task_suite.draw(["gitlab.folder_new"], world_seed=12, count=1), split=SPLIT))


def test_an_episode_without_steps_does_not_count_as_reproduced(monkeypatch):
    tasks = task_suite.draw(["gitlab.folder_new"], world_seed=12, count=1)
    monkeypatch.setattr(pointer_cloning, "episodes", lambda tasks, **_: ((task, "goal", []) for task in tasks))
    assert collect(tasks, Reader(), wrong_kept=50, seed=0) == ([], 1, 0)


@pytest.mark.slow
def test_a_pointing_network_learns_from_pieces(tmp_path):
    tasks = task_suite.draw(["gitlab.folder_new"], world_seed=12, count=1)
    env = {"elements": "id", "window": 20_000, "max_steps": 30}
    whole, split = (collect(tasks, Reader(), wrong_kept=50, seed=0, split=own, **env) for own in (None, SPLIT))
    assert len(split[0]) > len(whole[0])
    assert split[1:] == whole[1:] == (1, 1)
    train_pointer(clone_settings(tmp_path, piece_steps=2, shared_steps=1))
    assert success(tmp_path) >= 0.5


@pytest.mark.parametrize("target", [1, 3, 5])
def test_an_episode_can_be_truncated_before_the_env_s_limit_from_a_snapshot_too(target):
    env = gymnasium.make("WebArenaLite-v0", max_steps=5).unwrapped
    env.reset(seed=0, options={"max_steps": target})
    begun = env.snapshot()
    for _ in range(2):
        ended = [env.step("do nothing")[3] for _ in range(target)]
        assert ended == [False] * (target - 1) + [True]
        env.restore(begun)
    env.reset(seed=0)
    assert [env.step("do nothing")[3] for _ in range(5)] == [False] * 4 + [True]
    for steps in (0, 6):
        with expect_error(ValueError, "max_steps", steps):
            env.reset(options={"max_steps": steps})
    with expect_error(TaskError, "'steps'", "'max_steps'"):
        env.reset(options={"steps": 2})
    env.close()


def test_a_learner_whose_step_limits_grow_learns(tmp_path, unsure):  # noqa: F811 - the fixture
    train(rl_settings(unsure, tmp_path, updates=12, step_limits=(4, 8), learning_rate=3e-3, save_rollouts=1))
    files = group_files(tmp_path).values()
    longest = [max(len(own.steps) for group in read_groups(file) for own in group) for file in files]
    assert all(steps <= limit for steps, limit in zip(longest, [4] * 6 + [8] * 6, strict=True))
    assert max(longest) > 4
    records = read_metrics(tmp_path)
    assert sum(record["success"] for record in records[-3:]) > sum(record["success"] for record in records[:3])


TEMPLATES = ("reddit.subscription", "gitlab.star_count", "shopping.order_place", "shopping.address_add", "gitlab.status_set")
BACK = DIALECTS["webrl"].format(Action(Kind.GO_BACKWARD))


def drawn(world, count=1):
    return task_suite.draw(list(TEMPLATES), world_seed=world, count=count)


@pytest.mark.parametrize("style", ["none", "short", "long"])
def test_a_language_model_sees_wrong_steps_and_learns_those_that_undo_them(style):
    tasks, options = drawn(12), {"elements": "label", "history": "compressed", "max_steps": 30, "expert_thoughts": style}
    backs = reflections = 0
    for plain, both in zip(episodes(tasks, seed=1, **options), episodes(tasks, mistakes=0.6, seed=1, **options), strict=True):
        assert both[: len(plain)] == plain
        steps = both[len(plain) :]
        longest = steps[-1].messages
        seen = [message["content"] for message in longest if message["role"] == "assistant"]
        learned = [step.reply for step in steps]
        assert len(seen) + 1 >= len(learned) >= len(plain)
        assert learned[-1].endswith(plain[-1].reply.rpartition("\n")[2])
        backs += sum(answer_part(reply) == BACK for reply in learned)
        reflections += sum("So I undo it" in reply for reply in learned)
    assert backs
    assert (reflections >= backs) == (style != "none")


@pytest.mark.slow
def test_the_benchmark_shows_that_recovery_is_learned(tmp_path, capsys):
    templates = 'templates=["reddit.subscription", "gitlab.star_count"]'
    numbers = ["cloning_updates=300", "limits=[5]", "demonstrations=3", "mistakes=0.4", templates]
    arguments = ["recovery", "--seeds", "0", "--out", str(tmp_path), "--json", "--set", *numbers]
    own = task_suite.draw(["reddit.subscription", "gitlab.star_count"], world_seed=33, count=6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(playing, "suite_tasks", lambda *_: own)
        compare.main(arguments)
        result = json.loads(capsys.readouterr().out.splitlines()[-1])
        patch.setattr(playing, "evaluate", None)
        compare.main(arguments)  # from what was kept
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["forced"] == result["forced"]
    plain, recovering = (row["success"] for row in result["forced"])
    assert recovering > plain
    parts = ("rows", "within_5", "led", "forced")
    titles = ["the plain clone", "the clone from demonstrations of recovery"]
    assert {part: [row["title"] for row in result[part]] for part in parts} == dict.fromkeys(parts, titles)
    assert {row["tasks"] for row in result["led"]} == {row["tasks"] for row in result["forced"]}
