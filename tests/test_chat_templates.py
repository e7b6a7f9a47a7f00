"""Variables of chat templates: training and evaluation use the same ones, and unsuitable ones are refused."""

import json

import pytest

from agents import evaluate, train_rl
from agents import grpo as trainer
from agents.command_lines import parse_settings
from agents.data.prompts import PromptEncoder
from agents.evaluation import evaluate as evaluation
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import agent_record, save_agent
from agents.train_rl import make_settings
from agents.training import cloning
from agents.training.settings import METHODS, AgentQSettings, BCSettings
from tests import tiny
from tests.chat_server import serving_chat
from tests.errors import expect_error

# As Qwen3's: without thinking, a prompt ends with an empty thought, which earlier replies do not have.
TEMPLATE = (
    "{% if effort is defined and effort not in ('low', 'high') %}{{ raise_exception('unknown effort ' ~ effort) }}{% endif %}"
    "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% if m.role == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}"
    "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think></think>' }}{% endif %}{% endif %}"
)
OFF = {"enable_thinking": False}
CHAT = [{"role": "user", "content": "Round 0"}]


@pytest.fixture
def tokenizer():
    tokenizer = tiny.tiny_model()[1]
    tokenizer.chat_template = TEMPLATE
    return tokenizer


@pytest.fixture
def model(tmp_path, tokenizer):
    """The folder of a tiny model with this template."""
    save_agent(tmp_path / "model", tiny.tiny_model()[0], tokenizer, {})
    return str(tmp_path / "model")


@pytest.mark.parametrize("values", [None, {}, {"enable_thinking": True}])
def test_a_template_s_default_is_kept_without_variables(tokenizer, values):
    assert PromptEncoder(tokenizer, chat_template_kwargs=values).encode_all([CHAT]) == PromptEncoder(tokenizer).encode_all(
        [CHAT]
    )


def test_the_prompt_and_its_reply_are_those_of_the_template_with_its_variables(tokenizer):
    encoder = PromptEncoder(tokenizer, "Act.", chat_template_kwargs=OFF)
    (prompt,) = encoder.encode_all([CHAT])
    chat = [{"role": "system", "content": "Act."}, *CHAT]
    expected = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False, **OFF)
    assert expected.endswith("<|assistant|><think></think>")
    assert tokenizer.decode(prompt) == tokenizer.decode(tokenizer(expected, add_special_tokens=False)["input_ids"])
    assert encoder.decode(encoder.encode_reply("exit()")) == "exit()"
    assert encoder.encode_reply("exit()")[-1] in encoder.stop_ids


@pytest.mark.parametrize(("values", "reasons"), [
    ({"enable_thinkng": False}, ("variable 'enable_thinkng'", "'enable_thinking'")),
    ({"reasoning": 1}, ("variable 'reasoning'",)),
    ({"effort": "most"}, ("unknown effort most",)),
    ({"messages": []}, ("multiple values", "'messages'")),
    ({"add_generation_prompt": False}, ("multiple values", "'add_generation_prompt'")),
    ("enable_thinking", ("dict",)),
    ([1], ("dict",)),
])  # fmt: skip
def test_variables_that_a_template_does_not_support_are_refused(tokenizer, values, reasons):
    with expect_error(ValueError, "chat_template_kwargs", repr(values), *reasons):
        PromptEncoder(tokenizer, chat_template_kwargs=values)


def test_a_tokenizer_without_a_template_has_no_variables(tokenizer):
    tokenizer.chat_template = None
    with expect_error(ValueError, "'enable_thinking'"):
        PromptEncoder(tokenizer, chat_template_kwargs=OFF)


@pytest.mark.parametrize("kind", [BCSettings, EvaluationSettings, AgentQSettings, *METHODS.values()])
@pytest.mark.parametrize("text", ["[1]", "1", '"a"', "{", "enable_thinking=false"])
def test_an_option_that_is_no_json_object_is_refused_with_its_value(kind, text, capsys):
    required = ["--policy", "expert"] if kind is EvaluationSettings else ["--model", "m", "--out", "out"]
    with pytest.raises(SystemExit):
        parse_settings(kind, [*required, "--chat-template-kwargs", text], program="agents.x")
    assert capsys.readouterr().err == (
        f'python -m agents.x: --chat-template-kwargs is {text!r}; expected a JSON object, such as {{"enable_thinking": false}}\n'
    )
    settings = parse_settings(kind, [*required, "--chat-template-kwargs", json.dumps(OFF)], program="agents.x")
    assert settings.chat_template_kwargs == OFF


def test_evaluation_uses_the_variables_that_cloning_and_reinforcement_used(tmp_path, model, monkeypatch):
    monkeypatch.setattr(trainer, "create_envs", tiny.create_envs)
    monkeypatch.setattr(evaluation, "create_envs", tiny.create_envs)
    options = {"updates": 1, "copy_weight": 0.0, "curriculum": 0.0, "threads": 1}
    run = cloning.train(
        BCSettings(out=tmp_path / "bc", model=model, chat_template_kwargs=OFF, **options), tiny.demonstrations(8)
    )
    assert agent_record(run)["chat_template_kwargs"] == OFF
    assert "chat_template_kwargs" not in agent_record(
        cloning.train(BCSettings(out=tmp_path / "plain", model=model, **options), tiny.demonstrations(8))
    )
    seen = {}
    for name, changes in (("same", {}), ("other", {"chat_template_kwargs": {"enable_thinking": True}})):
        options = {"updates": 1, "group_size": 2, "tasks_per_update": 1, "max_new_tokens": 4, "temperature": 1.0}
        options |= {"model": str(run), "out": tmp_path / name}
        settings = make_settings("grpo", **{**agent_record(run), **changes, **options})
        rl = train_rl.train(settings, tiny.tasks(2))
        record = policy_defaults(str(rl))
        assert record["chat_template_kwargs"] == settings.chat_template_kwargs
        played = evaluation.evaluate_policy(EvaluationSettings(policy=str(rl), num_envs=2, **record), tiny.tasks(2), quiet=True)
        tokenizer = tiny.tiny_model()[1]
        seen[name] = [tokenizer.decode(step.prompt_ids) for item in played.trajectories for step in item.steps]
    assert all(text.endswith("<|assistant|><think></think>") for text in seen["same"])
    assert all(text.endswith("<|assistant|>") for text in seen["other"])


def test_a_chat_server_gets_the_variables_and_other_policies_refuse_them(monkeypatch, capsys):
    task = ["--limit", "1", "--max-steps", "1", "--templates", "shopping.order_total"]
    with serving_chat(lambda _: {"content": 'exit(message="")'}) as (server, address):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        for values in (None, OFF):
            option = ["--chat-template-kwargs", json.dumps(values)] if values else []
            evaluate.main(["--policy", "chat:good", *task, *option])
            assert server.requests[-1].get("chat_template_kwargs") == values
    for policy in ("expert", "agents/checkpoints/cloned-1"):
        with expect_error(ValueError, f"'{policy}'", "chat_template_kwargs"):
            evaluate.main(["--policy", policy, *task, "--chat-template-kwargs", json.dumps(OFF)])
    capsys.readouterr()
