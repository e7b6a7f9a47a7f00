"""The options of `webarena-gym evaluate` and `leaderboard`: defaults, limits, and the functions that they run."""

from pathlib import Path

import pytest

from webarena_gym.console import Parser
from webarena_gym.evaluation.command import add_commands


def parse(*arguments):
    parser = Parser(prog="webarena-gym")
    add_commands(parser.add_subparsers(parser_class=Parser))
    return parser.parse_args(arguments)


def test_defaults_are_those_of_a_run_with_one_repeat():
    options = parse("evaluate", "--agent", "expert")
    expected = {
        "split": None, "limit": None, "repeats": 1, "seed": 0, "fresh_worlds": 0, "jobs": None, "out": None, "fresh": False, "json": False,
        "max_steps": None, "step_budget": None, "too_long": "failed", "timeout": 300.0, "deadline": 900.0, "connect_timeout": 5.0,
        "mode": "browse", "env": [], "option": [], "tools": False, "application": None, "suite": None,
    }  # fmt: skip
    assert {name: getattr(options, name) for name in expected} == expected


def test_options_may_be_repeated_and_templates_are_joined():
    options = parse(
        "evaluate", "--agent", "chat:m", "--env", "window=2000", "--env", "header=false", "--option", "temperature=0.5",
        "--template", "shopping.cart_add", "--template", "map.save_place", "gitlab.star_one", "--world-seed", "-3",
    )  # fmt: skip
    assert (options.env, options.option) == (["window=2000", "header=false"], ["temperature=0.5"])
    assert options.template == ["shopping.cart_add", "map.save_place", "gitlab.star_one"]
    assert options.world_seed == -3


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--limit", "0"), ("--repeats", "10001"), ("--seed", "-1"), ("--jobs", "1001"), ("--fresh-worlds", "1001"), ("--max-steps", "0"),
        ("--step-budget", "0"), ("--timeout", "0"), ("--deadline", "-1"), ("--connect-timeout", "none"), ("--mode", "watch"),
        ("--too-long", "maybe"), ("--tasks", "/absent.json"), ("--world-seed", "1.5"),
    ],
)  # fmt: skip
def test_a_value_outside_of_its_limits_is_refused_with_the_option(option, value, capsys):
    with pytest.raises(SystemExit) as end:
        parse("evaluate", "--agent", "expert", option, value)
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert option in error
    assert value in error


def test_an_evaluation_needs_an_agent(capsys):
    with pytest.raises(SystemExit):
        parse("evaluate")
    assert "--agent" in capsys.readouterr().err


def test_both_commands_run_their_functions(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr("webarena_gym.evaluation.runner.run_command", lambda options: calls.append(options.agent) or 1)
    monkeypatch.setattr(
        "webarena_gym.evaluation.leaderboard.print_leaderboard",
        lambda folder, *, with_replay: calls.append((folder, with_replay)) or 0,
    )
    options = parse("evaluate", "--agent", "random")
    assert options.run(options) == 1
    for arguments, with_replay in (((), True), (("--no-replay",), False)):
        options = parse("leaderboard", str(tmp_path), *arguments)
        assert options.run(options) == 0
        assert calls[-1] == (Path(tmp_path), with_replay)
    assert calls[0] == "random"
