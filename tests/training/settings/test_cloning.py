"""Settings of behaviour cloning: agent records, and options that exclude each other."""

from pathlib import Path

import pytest

from agents.training.settings.cloning import BCSettings, PointerBCSettings, RememberSettings
from tests.errors import expect_error

OUT = Path("runs/a")


def test_the_agent_record_has_the_prompt_and_the_variables_of_the_template():
    record = BCSettings(model="small", out=OUT, system="act", window=500).agent()
    assert (record["system"], record["window"], "chat_template_kwargs" in record) == ("act", 500, False)
    record = BCSettings(model="runs/b", out=OUT, chat_template_kwargs={"enable_thinking": False}).agent()
    assert record["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"model": "pointer"}, ("'pointer'", "PointerBCSettings")), ({"demonstrations": Path("a.jsonl"), "mistakes": 0.5}, ("mistakes is 0.5",)),
        ({"demonstrations": Path("a.jsonl"), "piece_steps": 3}, ("piece_steps 3",)), ({"focus": 0.1, "copy_weight": 0.0}, ("focus is 0.1",)),
        ({"chat_template_kwargs": {"a": 1}}, ("chat_template_kwargs",)), ({"inserted_layers": 2}, ("inserted_layers is 2",)),
    ],
)  # fmt: skip
def test_options_of_language_models_that_exclude_each_other(options, values):
    with expect_error(ValueError, *values):
        BCSettings(**{"model": "small", "out": OUT, **options})
    allowed = {"demonstrations": Path("a.jsonl"), "focus": 0.1}
    assert BCSettings(model="small", out=OUT, **allowed).focus == 0.1


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"layout_worlds": (1000,)}, ("layout_worlds", 1000)), ({"detours": 1.0}, ("detours=1.0",)), ({"mistakes": -0.1}, ("mistakes=-0.1",)),
        ({"detours": 0.1, "mistakes": 0.1}, ("detours=0.1",)), ({"elements": "label"}, ("'label'",)), ({"dagger": 2}, ("dagger is 2", "begin_with")),
        ({"application": "app", "one_world_each": True}, ("one_world_each",)),
    ],
)  # fmt: skip
def test_options_of_pointer_networks_that_exclude_each_other(options, values):
    with expect_error(ValueError, *values):
        PointerBCSettings(**{"out": OUT, **options})
    assert PointerBCSettings(out=OUT, detours=0.0, mistakes=0.99).detours == 0.0


def test_only_an_exploration_may_use_held_out_worlds():
    with expect_error(ValueError, 1000):
        RememberSettings(model=OUT, out=OUT, worlds=(1000,))
    assert RememberSettings(model=OUT, out=OUT, worlds=(1000,), walk=5).walk == 5
    with expect_error(ValueError, "nearest", 0):
        RememberSettings(model=OUT, out=OUT, nearest=0)
