"""Settings of models: agent records, and options of language models only."""

from pathlib import Path

from agents.training.settings.models import MODEL_RECORD_FIELDS, ModelSettings, hidden_from_pointing_networks, template_record


def test_the_agent_record_has_the_prompt_and_the_limit_of_replies():
    record = ModelSettings(
        model="runs/a", out=Path("runs/b"), system="env", max_new_tokens=7, constrained=True, window=900
    ).agent()
    assert {name: record[name] for name in ("system", "max_new_tokens", "constrained", "window")} == {
        "system": "env", "max_new_tokens": 7, "constrained": True, "window": 900,
    }  # fmt: skip
    assert set(MODEL_RECORD_FIELDS) - record.keys() == {"chat_template_kwargs"}


def test_variables_of_templates_are_recorded_if_there_are_any():
    assert [template_record(values) for values in (None, {}, {"a": 1})] == [{}, {}, {"chat_template_kwargs": {"a": 1}}]


def test_pointing_networks_have_no_options_of_prompts_and_tokens():
    hidden = hidden_from_pointing_networks()
    assert {"system", "max_new_tokens", "constrained", "distilled", "window", "vllm"} <= hidden
    assert hidden.isdisjoint({"variation", "max_steps", "application", "suite", "learning_rate", "temperature"})


def test_methods_without_own_options_have_defaults():
    settings = ModelSettings(model="runs/a", out=Path("runs/b"))
    assert (settings.old_logprobs, settings.kl_weight, settings.distilled) == ("sampled", 0.0, 0.0)
