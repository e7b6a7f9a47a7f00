"""TRL's names of options: each is of our option, or has a remark."""

from dataclasses import fields

from agents.training.settings.learning import GRPOSettings
from agents.training.settings.trl import GRPO_CONFIG, trl_errors

OPTIONS = {item.name: item.default for item in fields(GRPOSettings)}


def test_each_argument_names_an_option_of_grpo_or_a_remark():
    assert {argument.option for argument in GRPO_CONFIG.values() if argument.option} <= OPTIONS.keys()
    assert all(argument.option or argument.remark for argument in GRPO_CONFIG.values())


def test_errors_name_the_option_except_for_names_that_are_equal():
    errors = trl_errors(OPTIONS)
    assert errors["--num-generations"].endswith("--group-size")
    assert "--temperature" not in errors
    assert GRPO_CONFIG["top_p"].remark in errors["--top-p"]


def test_options_that_a_command_lacks_have_no_error():
    errors = trl_errors({"epochs": 1})
    assert "--num-iterations" in errors
    assert "--num-generations" not in errors
    assert "--delta" in errors
