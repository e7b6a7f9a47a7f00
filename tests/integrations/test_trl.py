"""TRL's GRPOTrainer on our tasks: its own tool loop, and rollouts with our context. A few updates of a tiny model each."""

import json
import math
import os
import signal
from contextlib import suppress
from dataclasses import fields
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

trl = pytest.importorskip("trl", reason="make test-integrations")

import torch
from datasets import Dataset, load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import get_json_schema
from trl.data_utils import prepare_multimodal_messages

from agents.training.settings import GRPO_CONFIG, GRPOSettings
from tests.processes import children
from webarena_gym.actions import DIALECTS, tools
from webarena_gym.browsers.chromium.driver import find_executable
from webarena_gym.errors import BrowserError
from webarena_gym.integrations.session import Session
from webarena_gym.integrations.trl import SMOKE_TOOLS, Rollouts, dataset_rows, environment, script_calls
from webarena_gym.suite import load

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
TASKS = [task for task in load("test") if task.template in ("shopping.order_total", "shopping.order_payment")]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"]


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


def make_tokenizer():
    """Return a tokenizer made here, with the chat template of a model that calls tools."""
    session = Session({"tasks": TASKS})
    texts = [session.reset(task) for task in TASKS] + [json.dumps(tools(session.dialect)), session.system_prompt]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet, special_tokens=SPECIAL))
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=template.read_text()
    )


def tiny_model(tokenizer):
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=16_384, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    return Qwen3ForCausalLM(config)


def train(tokenizer, tmp_path, rows, scripted=None, **options):
    settings = trl.GRPOConfig(
        output_dir=str(tmp_path), max_steps=2, per_device_train_batch_size=2, num_generations=2, max_completion_length=24,
        report_to=[], logging_steps=1, use_cpu=True, save_strategy="no", beta=0.0, learning_rate=1e-3, max_tool_calling_iterations=2,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        model=tiny_model(tokenizer), args=settings, train_dataset=Dataset.from_list(rows), processing_class=tokenizer, **options
    )
    if scripted:
        generate = trainer._generate_single_turn
        trainer._generate_single_turn = lambda ids, *rest: scripted(ids, generate(ids, *rest))
    trainer.train()
    return [line for line in trainer.state.log_history if "loss" in line]


def test_the_page_of_settings_has_the_defaults_of_trl():
    defaults = {item.name: item.default for item in fields(trl.GRPOConfig)}
    options = {item.name for item in fields(GRPOSettings)}
    for name, argument in GRPO_CONFIG.items():
        assert defaults[name] == argument.default, name
        assert argument.option in {*options, ""}, name


def test_the_tools_are_the_env_s_own():
    made = environment({"tasks": TASKS})()
    for tool in tools(DIALECTS["webrl"]):
        schema = get_json_schema(getattr(made, tool["function"]["name"]))["function"]
        known = tool["function"]["parameters"]
        assert schema["description"] == tool["function"]["description"]
        assert set(schema["parameters"]["properties"]) == set(known["properties"])
        assert schema["parameters"].get("required", []) == known["required"]


def test_an_environment_plays_and_is_judged():
    made = environment({"tasks": TASKS})()
    task = TASKS[0]
    first = made.reset(**dataset_rows(TASKS)[0])
    assert task.intent in first
    assert "Action error" in made.click(element="999")
    assert made.exit(message=task.solution[-1].action.argument) == "The episode is over."
    assert made.get_reward() == 1.0
    made.reset(task=task.task_id)
    assert made.get_reward() == 0.0


def test_an_environment_with_pictures_gives_them_as_images_and_clicks_at_places():
    made = environment({"tasks": TASKS, "browser": "chromium", "observation": "pixels", "dialect": "computer"})()
    picture, text = made.reset(**dataset_rows(TASKS)[0])
    assert (picture["type"], picture["image"].size) == ("image", (1280, 720))
    assert TASKS[0].intent in text["text"]
    clicked, text = made.click(x=544, y=35)
    assert clicked["image"].tobytes() != picture["image"].tobytes()  # the field has the focus
    assert "Action error" not in text["text"]
    assert made.answer(text=TASKS[0].solution[-1].action.argument) == "The episode is over."
    assert made.get_reward() == 1.0
    prompt = [{"role": "user", "content": [picture, text]}]
    assert prepare_multimodal_messages(prompt) == prompt
    made._session.close()


def test_two_updates_with_its_own_tool_loop(tokenizer, tmp_path):
    logs = train(tokenizer, tmp_path, dataset_rows(TASKS), environment_factory=environment({"tasks": TASKS}))
    assert len(logs) == 2
    assert all(math.isfinite(line["loss"]) for line in logs)


def test_calls_of_tools_earn_the_reward_in_training(tokenizer, tmp_path):
    answers = [task.solution[-1].action.argument for task in TASKS[:1]]
    call = f"<tool_call>\n{json.dumps({'name': 'exit', 'arguments': {'message': answers[0]}})}\n</tool_call><|im_end|>"
    wrong = f"<tool_call>\n{json.dumps({'name': 'exit', 'arguments': {'message': '$1'}})}\n</tool_call><|im_end|>"

    def scripted(ids, generated):
        texts = [(call if place % 2 else wrong) for place in range(len(ids))] if len(ids) == 2 else ["<|im_end|>"] * len(ids)
        token_ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        return (token_ids, generated[1], *generated[2:])

    logs = train(tokenizer, tmp_path, dataset_rows(TASKS[:1]), scripted, environment_factory=environment({"tasks": TASKS}))
    assert logs[0]["reward"] == pytest.approx(0.5)
    assert logs[0]["tools/call_frequency"] > 0


@pytest.mark.parametrize("chat_template_kwargs", [{}, {"enable_thinking": False}])
@pytest.mark.parametrize(("answer", "reward"), [(None, 1.0), ("$1", 0.0)])
def test_scripted_calls_play_a_task_in_one_update(tokenizer, tmp_path, answer, reward, chat_template_kwargs):
    calls = [("wait", {}), ("exit", {"message": answer or TASKS[0].solution[-1].action.argument})]
    args = trl.GRPOConfig(
        output_dir=str(tmp_path), logging_steps=1, save_strategy="no", chat_template_kwargs=chat_template_kwargs, **SMOKE_TOOLS
    )
    trainer = trl.GRPOTrainer(
        model=tiny_model(tokenizer), args=args, train_dataset=Dataset.from_list(dataset_rows(TASKS[:1])),
        processing_class=tokenizer, environment_factory=environment({"tasks": TASKS[:1], "window": 2000}),
    )  # fmt: skip
    script_calls(trainer, calls)
    trainer.train()
    (log,) = [line for line in trainer.state.log_history if "loss" in line]
    assert (log["reward"], log["tools/call_frequency"], log["tools/failure_frequency"]) == (reward, len(calls), 0.0)
    assert log["completions/clipped_ratio"] == 0.0


def test_demonstrations_with_tool_calls_train_the_replies_that_grpo_samples(tokenizer, tmp_path):
    demonstrations = pytest.importorskip("agents.data.demonstrations")
    keywords = {"window": 800, "max_steps": 15, "elements": "label"}
    episode = next(demonstrations.tool_call_episodes(TASKS[:1], **keywords))
    file = tmp_path / "demonstrations.jsonl"
    file.write_text(json.dumps(episode) + "\n")
    settings = trl.SFTConfig(
        str(tmp_path),
        assistant_only_loss=True,
        max_length=None,
        report_to=[],
        use_cpu=True,
        bf16=False,
        max_steps=1,
        save_strategy="no",
    )
    trainer = trl.SFTTrainer(
        model=tiny_model(tokenizer), args=settings, processing_class=tokenizer,
        train_dataset=load_dataset("json", data_files=str(file), split="train"),
    )  # fmt: skip
    (row,) = trainer.train_dataset
    mask = [label != -100 for label in row["labels"]]
    no_thought = "<think>\n\n</think>\n\n"
    calls = [message["tool_calls"][0]["function"] for message in episode["messages"] if message.get("tool_calls")]
    texts = [f'<tool_call>\n{{"name": "{call["name"]}", "arguments": {call["arguments"]}}}\n</tool_call>' for call in calls]
    trained = tokenizer.decode([token for token, is_trained in zip(row["input_ids"], mask, strict=True) if is_trained])
    assert trained == "".join(f"{no_thought}{text}<|im_end|>\n" for text in [*texts, "Done."])
    made = environment({"tasks": TASKS[:1], **keywords})()
    (example,) = dataset_rows(TASKS[:1])
    system, user = example["prompt"]
    names = [name for name in dir(made) if not name.startswith("_") and name not in ("reset", "get_reward")]
    prompt = tokenizer.apply_chat_template(
        [system, {**user, "content": made.reset(**example)}], tools=[getattr(made, name) for name in names], tokenize=False,
        add_generation_prompt=True, enable_thinking=False,
    )  # fmt: skip
    assert tokenizer.decode(row["input_ids"][: mask.index(True)]) + no_thought == prompt
    trainer.train()


def test_the_loss_counts_replies_and_masks_pages(tokenizer, tmp_path):
    outputs = []
    settings = trl.GRPOConfig(
        output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=2, num_generations=2, max_completion_length=4096,
        report_to=[], use_cpu=True, save_strategy="no",
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        model=tiny_model(tokenizer), args=settings, train_dataset=Dataset.from_list(dataset_rows(TASKS[:1])),
        processing_class=tokenizer, environment_factory=environment({"tasks": TASKS[:1], "window": 800}),
    )  # fmt: skip
    replies = [call("wait"), call("exit", message="$1"), "Done.<|im_end|>"]
    turns = iter(replies)

    def generate(requests, *_, **__):
        ids = tokenizer(next(turns), add_special_tokens=False)["input_ids"]
        return [ids for _ in requests], None

    score = trainer._generate_and_score_completions
    trainer._generate_single_turn = generate
    trainer._generate_and_score_completions = lambda inputs: outputs.append(score(inputs)) or outputs[-1]
    trainer.train()
    (output,) = outputs
    ids, mask = output["completion_ids"][0], (output["completion_mask"] * output["tool_mask"])[0].bool()
    assert tokenizer.decode(ids[mask]) == "".join(replies)
    assert "URL: http://shop.test/" in tokenizer.decode(ids[~mask])


def test_two_updates_in_our_context(tokenizer, tmp_path):
    rollouts = Rollouts({"tasks": TASKS, "max_steps": 2})
    rows = [{"prompt": task.task_id} for task in TASKS]
    logs = train(tokenizer, tmp_path, rows, rollout_func=rollouts, reward_funcs=rollouts.reward)
    rollouts.close()
    assert len(logs) == 2
    assert all(math.isfinite(line["loss"]) for line in logs)
    assert logs[0]["reward"] == 0.0


def test_the_text_of_pages_becomes_no_control_token_in_our_context(tokenizer, monkeypatch):
    requests = []

    def generate(prompts, *_):
        requests.extend(prompts)
        return [tokenizer("exit()", add_special_tokens=False)["input_ids"] for _ in prompts], None

    trainer = SimpleNamespace(processing_class=tokenizer, chat_template_kwargs={}, _generate_single_turn=generate)
    for text in ("Shop", f"Shop {' '.join(SPECIAL)}"):
        monkeypatch.setattr(Session, "messages", [{"role": "user", "content": text}])
        rollouts = Rollouts({"tasks": TASKS})
        rollouts([TASKS[0].task_id], trainer)
        rollouts.close()
    plain, other = requests
    special = tokenizer.all_special_ids
    assert [token for token in other if token in special] == [token for token in plain if token in special]
    assert " ".join(SPECIAL) in tokenizer.decode(other)


def call(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call><|im_end|>"


def play(tokenizer, tmp_path, rows, steps=1, generations=4, **options):
    """Train with episodes in which every second model of a group says the right answer, after one call of another tool.

    Returns what was logged for each update, and the advantages of each group.
    """
    settings = trl.GRPOConfig(
        output_dir=str(tmp_path), max_steps=steps, per_device_train_batch_size=generations, num_generations=generations,
        max_completion_length=4096, max_tool_calling_iterations=3, report_to=[], logging_steps=1, use_cpu=True, save_strategy="no",
        beta=0.0, log_completions=True,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        model=tiny_model(tokenizer), args=settings, train_dataset=Dataset.from_list(rows), processing_class=tokenizer, **options
    )
    answer = TASKS[0].solution[-1].action.argument
    turns = count()
    by_tools = "environment_factory" in options

    def generate(requests, *_, **__):
        turn, wait, ending = next(turns) % 3 if by_tools else next(turns) % 2, 'do(action="Wait")<|im_end|>', "<|im_end|>"
        texts = [[wait, f'exit(message="{answer if place % 2 else "$1"}")<|im_end|>'] for place in range(generations)]
        if by_tools:
            texts = [
                [call("wait"), call("exit", message=answer if place % 2 else "$1"), ending] for place in range(generations)
            ]
        left = [each[turn] for each in texts][-len(requests) :]  # an episode that is lost ends before the others
        return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in left], None

    trainer._generate_single_turn = generate
    score, advantages = trainer._generate_and_score_completions, []

    def scored(inputs):
        output = score(inputs)
        advantages.append(output["advantages"].tolist())
        return output

    trainer._generate_and_score_completions = scored
    trainer.train()
    return [line for line in trainer.state.log_history if "loss" in line], advantages


def expected_advantages(rewards):
    """The advantages of GRPO within a group, 0 where there is no reward."""
    known = torch.tensor([reward for reward in rewards if reward is not None])
    deviation = known.std() if len(known) > 1 else 0.0
    return [0.0 if reward is None else float((reward - known.mean()) / (deviation + 1e-4)) for reward in rewards]


def losing(base, lost):
    """A class of envs whose browser is lost in the episodes of these numbers."""
    numbers = count()

    class Losing(base):
        def reset(self, **row):
            page = super().reset(**row)
            if next(numbers) in lost:
                self._session.env.step = Mock(side_effect=BrowserError("it was killed"))
            return page

    return Losing


def test_a_lost_episode_leaves_the_advantages_of_the_others(tokenizer, tmp_path):
    row = dataset_rows(TASKS[:1])
    env = {"tasks": TASKS[:1], "window": 800}
    _, advantages = play(tokenizer, tmp_path, row, environment_factory=losing(environment(env), {3}))
    assert advantages == [pytest.approx(expected_advantages([0.0, 1.0, 0.0, None]), abs=1e-4)]
    _, advantages = play(tokenizer, tmp_path, row, environment_factory=environment(env))
    assert advantages == [pytest.approx(expected_advantages([0.0, 1.0, 0.0, 1.0]), abs=1e-4)]


def test_a_lost_rollout_leaves_the_advantages_of_the_others(tokenizer, tmp_path, monkeypatch):
    rollouts = Rollouts({"tasks": TASKS[:1], "window": 800})
    step = Session.step

    def fail(self, reply):
        if self is rollouts._sessions[0]:
            raise BrowserError("it was killed")
        return step(self, reply)

    monkeypatch.setattr(Session, "step", fail)
    rows = [{"prompt": TASKS[0].task_id}]
    _, advantages = play(tokenizer, tmp_path, rows, rollout_func=rollouts, reward_funcs=rollouts.reward)
    rollouts.close()
    assert advantages == [pytest.approx(expected_advantages([None, 1.0, 0.0, 1.0]), abs=1e-4)]


@pytest.mark.skipif(find_executable() is None, reason="no Chromium here: apt-get install chromium")
def test_a_training_whose_browser_is_killed_in_every_tenth_episode_ends_normally(tokenizer, tmp_path):
    """All episodes of a process share one Chromium: those of the group that need it after that are lost as well."""
    numbers = count(1)

    class Killed(environment({"tasks": TASKS[:1], "window": 800, "browser": "chromium"})):
        def reset(self, **row):
            self._is_doomed = next(numbers) % 10 == 0
            return super().reset(**row)

        def _call(self, name, arguments):
            if self._is_doomed:
                for pid in children(os.getpid()):
                    with suppress(FileNotFoundError, ProcessLookupError):
                        if "chrom" in Path(f"/proc/{pid}/comm").read_text():
                            os.kill(pid, signal.SIGKILL)
            return super()._call(name, arguments)

    logs, advantages = play(tokenizer, tmp_path, dataset_rows(TASKS[:1]), steps=8, environment_factory=Killed)
    whole, first, last = [0.0, 1.0, 0.0, 1.0], [0.0, None, None, None], [0.0, 1.0, 0.0, None]
    rewards = [whole, whole, first, whole, last, whole, whole, first]  # episodes 10, 20 and 30
    assert advantages == [pytest.approx(expected_advantages(each), abs=1e-4) for each in rewards]
    means = [sum(known) / len(known) for known in ([each for each in group if each is not None] for group in rewards)]
    assert [line["reward"] for line in logs] == pytest.approx(means)
    assert all(math.isfinite(line["loss"]) for line in logs)


def test_several_environments_in_one_run_are_found_by_the_rows(tokenizer, tmp_path):
    maps = [task for task in load("test") if task.template == "map.place_page"][:1]
    factories = {
        "shop": environment({"tasks": TASKS[:1], "window": 800}, name="Shop"),
        "map": environment({"tasks": maps, "window": 800}, name="Map"),
    }
    rows = [*dataset_rows(TASKS[:1], environment="shop"), *dataset_rows(maps, environment="map")]
    logs, advantages = play(tokenizer, tmp_path, rows, steps=2, environment_factory=factories)
    groups = [expected_advantages([0.0, 1.0, 0.0, 1.0]), [0.0] * 4]  # the answer is that of the shop's task
    assert sorted(advantages, reverse=True, key=max) == [pytest.approx(each, abs=1e-4) for each in groups]
    assert sorted(line["reward"] for line in logs) == [0.0, 0.5]
    for name, mean in (("Shop", 0.5), ("Map", 0.0)):  # none in the update of the other
        assert [line[f"rewards/{name}/mean"] for line in logs if line[f"rewards/{name}/mean"] is not None] == [mean]
