"""Every command and every option of it: bad values end in one line with status 2, closed pipes and Ctrl-C quietly."""

import argparse
import importlib
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import closing, nullcontext, suppress
from dataclasses import MISSING, fields
from pathlib import Path
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from agents.command_lines import parse_settings
from agents.demo import DemoSettings
from agents.evaluation.settings import EvaluationSettings
from agents.training.settings import METHODS, PointerBCSettings
from tests.errors import expect_error
from webarena_gym import console
from webarena_gym.actions import DIALECTS
from webarena_gym.arguments import suggestion
from webarena_gym.errors import AgentError, ArenaError, TaskError, WorldError
from webarena_gym.suite import HELD_OUT, SPLITS, templates
from webarena_gym.tools.cli import main, make_parser
from webarena_gym.tools.play import expand_short_form

ROOT = Path(__file__).parent.parent
HUGE = str(10**30)
COMMANDS = {f"agents.{path.stem}" for path in (ROOT / "agents").glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}


def test_invalid_commands_are_rejected_without_importing_torch():
    command_lines = [[name, "--nonsense"] for name in sorted(COMMANDS)]
    command_lines += [[f"agents.{name}", "--policy", "nowhere"] for name in ("evaluate", "search")]
    code = (
        "import json, runpy, sys\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    sys.argv = words\n"
        "    try:\n"
        "        runpy.run_module(words[0], run_name='__main__', alter_sys=True)\n"
        "    except SystemExit as end:\n"
        "        print(end.code, [name for name in ('torch', 'transformers', 'huggingface_hub') if name in sys.modules])"
    )
    run = [sys.executable, "-W", "ignore", "-c", code, json.dumps(command_lines)]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.splitlines() == ["2 []"] * len(command_lines), done.stderr
    assert done.stderr.count("\n") == len(command_lines)


class CaughtError(Exception):
    """Carries a parser, or a kind of settings, out of a command before it parses anything."""


def caught(name):
    """Return the parser of a command, or the kind of its settings, either of which it makes when it is run."""

    def catch(made, *_, **__):
        raise CaughtError(made)

    command = importlib.import_module(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console.Parser, "parse_args", catch)
        patch.setattr(command, "parse_settings", catch, raising=False)
        with pytest.raises(CaughtError) as found:
            command.main([]) if inspect.signature(command.main).parameters else command.main()
    return found.value.args[0]


OF_SETTINGS = (
    *sorted(COMMANDS - {f"agents.{name}" for name in ("demo", "pretrained", "report", "train_grpo", "train_rl")}), "agents.integrations.verl",
    *(f"benchmarks.{name}" for name in ("allocation", "compare", "coverage", "learning", "methods", "vision")),
)  # fmt: skip
KINDS = {
    "agents.demo": DemoSettings,
    "agents.train_bc pointer": PointerBCSettings,
    **{name: caught(name) for name in OF_SETTINGS},
    **{f"agents.train_rl {name}": kind for name, kind in METHODS.items()},
}
BENCHMARKS = (
    "arena", "env_speed", "foreign_pages", "foreign_walks", "generation", "large_worlds", "miniwob", "page_sizes", "plots", "pointing", "policies", "rollouts", "scaling", "screenshots", "soak", "tables",
    "suite_side_effects", "tool_use", "training_speed", "virtual_time",
)  # fmt: skip


def parsers():
    """All parsers by the name of their command."""
    yield from (
        (name, caught(name)) for name in ("agents.pretrained", "agents.report", *(f"benchmarks.{name}" for name in BENCHMARKS))
    )
    (commands,) = (action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    yield from ((f"webarena-gym {name}", parser) for name, parser in commands.choices.items())


PARSERS = dict(parsers())


def bad_values(action):
    """Values that an option must refuse, found out from what it accepts."""
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        return
    if action.choices is not None:
        yield from ("@nonsense", str(next(iter(action.choices))) + "x")
        return
    accepted = set()
    for sample in ("@nonsense", "1", "20000-20001", next(iter(templates())), "{}", str(ROOT), __file__):
        with suppress(argparse.ArgumentTypeError, ValueError, TypeError):
            (action.type or str)(sample)
            accepted.add(sample)
    if "@nonsense" not in accepted:
        yield "@nonsense"
    if "1" in accepted and "@nonsense" not in accepted:  # a number
        yield HUGE if isinstance(action.type("1"), int) else "nan"
        yield ""


CASES = [
    (name, action, value)
    for name, parser in PARSERS.items()
    for action in parser._actions
    if action.option_strings or action.type is not None
    for value in bad_values(action)
]


def test_every_command_is_tried_and_ends_at_the_edge():
    bad = {name for name, _, _ in CASES}
    assert len({(name, action.dest) for name, action, _ in CASES}) > 100
    ours = ["serve", "evaluate", "tasks", "audit", "fuzz", "play", "mcp", "world", "leaderboard", "doctor"]
    assert {"agents.report", *(f"webarena-gym {name}" for name in ours)} <= bad
    tried = {name.partition(" ")[0] for name in (*PARSERS, *KINDS)} | {"agents.train_grpo"}
    for path in sorted([*ROOT.glob("agents/**/*.py"), *ROOT.glob("benchmarks/*.py")]):
        text = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text:
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            assert re.search(rf'console\.run\(\s*"python -m {re.escape(name)}"', text)
            assert name in tried or f"{name} grpo" in KINDS


@pytest.mark.parametrize("name", PARSERS)
def test_bad_values_are_named_in_one_line(name, capsys):
    for command, action, value in CASES:
        if command != name:
            continue
        given = [f"{action.option_strings[0]}={value}"] if action.option_strings else [value]
        with pytest.raises(SystemExit) as ended:
            PARSERS[name].parse_args(given)
        output = capsys.readouterr()
        what = action.option_strings[0] if action.option_strings else action.metavar or action.dest
        assert (ended.value.code, output.out, output.err.count("\n")) == (2, "", 1), given
        assert what in output.err, (given, output.err)
        assert value in output.err, (given, output.err)


@pytest.mark.parametrize("name", KINDS)
def test_invalid_settings_are_reported_in_one_line(name, capsys):
    program, options = name.partition(" ")[0], [item.name for item in fields(KINDS[name]) if item.name != "keywords"]
    refused = 0
    for option in options if name.startswith(("agents.train_", "agents.evaluate")) else options[:6]:
        spelled = option.replace("_", "-")
        for wrong in (f"--{spelled}=@nonsense", f"--{spelled}x=1"):
            with suppress(SystemExit, ValueError, TaskError):
                parse_settings(KINDS[name], [wrong], program=program)
            output = capsys.readouterr().err
            if spelled not in output:
                continue  # a text, which the settings may refuse, or another option is missing
            refused += 1
            assert output.count("\n") == 1, output
            assert re.search(r"; expected|; did you mean|unknown argument|does not exist|is not writable|not there", output), (
                output
            )
            assert "could not" not in output
            assert "Errno" not in output
            assert output.startswith(f"python -m {program}: ")
    assert refused


OF_WORLDS = [
    (name, option.name)
    for name, kind in KINDS.items()
    for option in fields(kind)
    if option.name.endswith("worlds") and not option.name.startswith(("test_", "allow_", "fresh_"))
]
"""The commands that draw tasks to learn from, and the options that name their worlds."""


def test_the_held_out_worlds_are_those_of_the_splits_that_agents_are_evaluated_on():
    assert {world: {name for name, split in SPLITS.items() if world in split.worlds} for world in HELD_OUT} == {
        1000: {"test"}, 1001: {"validation"}, 1002: {"hard"}, 1003: {"pictures"}, 1004: {"tools"},
    }  # fmt: skip
    learning = "agent_q demonstrations remember train_bc train_eyes train_sb3"
    assert {name for name, _ in OF_WORLDS} >= {*(f"agents.{name}" for name in learning.split()), "agents.train_bc pointer"}


@pytest.mark.parametrize(("name", "option"), [*OF_WORLDS, ("agents.ensemble", "world_seed")])
def test_a_command_that_trains_rejects_held_out_worlds_unless_they_are_allowed(name, option, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    known = {"model": "model", "members": "a b"}
    required = {each.name: known.get(each.name, "x") for each in fields(KINDS[name]) if each.default is MISSING}
    arguments = [word for key, value in required.items() for word in (f"--{key.replace('_', '-')}", *value.split())]
    arguments += ["--begin-with", "model"] * (option == "layout_worlds")

    def parse(*more):
        return parse_settings(KINDS[name], [*arguments, *more], program=name.partition(" ")[0])

    spelled = "--" + option.replace("_", "-")
    for world in sorted(HELD_OUT.keys() - ({1001} if option == "world_seed" else set())):
        worlds = [str(world)] if option == "world_seed" else ["7", str(world)]
        with pytest.raises((SystemExit, ValueError)) as ended:
            parse(spelled, *worlds)
        output = f"{capsys.readouterr().err} {ended.value}"
        shown = f"--{option.replace('_', '-')}" if "_" in option else option
        assert f"{shown} includes {world}, the held-out world of the {HELD_OUT[world]} split" in output
        if name.startswith("agents.") and name != "agents.demo":
            assert str(world) in str(getattr(parse(spelled, *worlds, "--allow-held-out-worlds"), option))
    assert parse(spelled, "7")


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
@pytest.mark.parametrize(("user", "installed", "apt_status", "is_tried", "is_told"), [
    ("0", True, 0, False, False),  # nothing to do
    ("0", False, 0, True, False),
    ("0", False, 100, True, True),  # no network, or no such package
    ("0", False, None, False, True),  # another system
    ("1000", False, 0, False, True),  # an ordinary user
    ("1000", True, None, False, False),
])  # fmt: skip
def test_tests_run_for_any_user_with_chromium_or_without(tmp_path, user, installed, apt_status, is_tried, is_told):
    stubs = {"id": f"echo {user}"} | ({"chromium": ""} if installed else {})
    stubs |= {} if apt_status is None else {"apt-get": f"echo apt-get $1 >&2; exit {apt_status}"}
    for name, body in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [shutil.which("make"), "--no-print-directory", "chromium"], env={"PATH": str(tmp_path)}, capture_output=True, text=True,
        check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ("apt-get update" in done.stderr, "will be skipped and listed" in done.stdout) == (is_tried, is_told)
    assert "make test\n" in (ROOT / ".ci" / "run").read_text()
    assert "apt-get" not in (ROOT / ".ci" / "run").read_text()
    assert "\nmake test " in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_make_help_lists_every_command_of_the_makefile():
    done = subprocess.run(  # without the variables of the make that may run this test: a make inside another prints the folders it enters
        [shutil.which("make"), "help"], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
    assert sorted(line.split()[1] for line in done.stdout.splitlines()) == sorted(phony)
    assert all(len(line.split(maxsplit=2)) == 3 for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", PARSERS)
def test_misspelled_options_are_named_with_what_was_meant(name, capsys):
    options = [option for option in PARSERS[name]._option_string_actions if len(option) > 6]
    for option in options:
        with pytest.raises(SystemExit) as ended:
            PARSERS[name].parse_args([option[:4] + "~" + option[5:]])
        output = capsys.readouterr().err
        assert (ended.value.code, output.count("\n")) == (2, 1)
        assert "did you mean" in output, output


def examples_of(text):
    """The commands at the end of a help, each as the words after the program."""
    lines = text.rpartition("examples:\n")[2].splitlines()
    return [line.strip() for line in lines if line.strip().startswith(("python -m", "webarena-gym"))]


@pytest.fixture
def somewhere(tmp_path, monkeypatch):
    """A folder with what the examples name."""
    for name in ("agents", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("bc", "content", "layout", "a", "b", "evaluate/expert-test", "reinforced"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / "played.jsonl").touch()
    (tmp_path / "leaderboard").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def subparsers(parser):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield each
                yield from subparsers(each)


@pytest.mark.parametrize("name", [*(name for name in PARSERS if not name.startswith("webarena-gym")), "webarena-gym"])
def test_the_help_of_a_parser_ends_with_examples_that_it_accepts(name, somewhere):
    root = PARSERS[name] if name in PARSERS else make_parser()
    for parser in [root] if name in PARSERS else subparsers(root):
        commands = [line for line in examples_of(parser.format_help()) if line.startswith(parser.prog)]
        assert 1 <= len(commands) <= (5 if name == "agents.report" else 4), parser.prog
        for line in commands:
            root.parse_args(shlex.split(line.removeprefix(root.prog)))


@pytest.mark.parametrize("program", sorted({*(name.partition(" ")[0] for name in KINDS), "agents.train_grpo"}))
def test_the_help_of_settings_ends_with_examples_and_has_groups(program, somewhere, capsys, monkeypatch):
    module = importlib.import_module("agents.train_rl" if program == "agents.train_grpo" else program)
    real = parse_settings

    def run(words):
        if program == "agents.demo":
            parse_settings(DemoSettings, words, program=program)
        elif program == "agents.train_grpo":
            module.main(["--method", "grpo", *words], program=program)
        else:
            module.main(words)

    with pytest.raises(SystemExit):
        run(["searches", "--help"] if program == "benchmarks.compare" else ["--help"])
    text = capsys.readouterr().out
    assert not re.search(r"None[|}]|\(default: (None|)\)|\(default:\s+11 12 13", text)
    commands = examples_of(text)
    assert 1 <= len(commands) <= 2
    assert not re.search(r"\b(STR|INT|FLOAT|PATH)\b|\[[A-Z]+ \[", text)
    parts = re.split(r"^([a-z ]+) options:$", text, flags=re.MULTILINE)
    groups = dict(zip(parts[1::2], parts[2::2], strict=True))
    sizes = [len(re.findall(r"^ +--", group, re.MULTILINE)) for group in groups.values() or parts]
    assert 0 < max(sizes) <= 15, sizes
    if program in ("agents.train_grpo", "agents.train_rl"):
        special = ["language model prompt", "language model computation"]
        assert [*groups] == ["start", "task", "rollout", "optimizer", "loss", "run", *special]

    def stop(*arguments, **options):
        raise CaughtError(real(*arguments, **options))

    if program != "agents.demo":
        monkeypatch.setattr(module, "parse_settings", stop)
    for line in commands:
        words = shlex.split(line.removeprefix(f"python -m {program}"))
        with pytest.raises(CaughtError) if program != "agents.demo" else nullcontext():
            run(words)


@pytest.mark.parametrize("name", PARSERS)
def test_help_has_real_options_and_no_empty_defaults(name, capsys):
    with expect_error(SystemExit, 0):
        PARSERS[name].parse_args(["--help"])
    text = capsys.readouterr().out
    usage = text.partition("\n\n")[0]
    assert "OPTIONS" not in usage
    assert all(action.option_strings[0] in usage for action in PARSERS[name]._actions if action.option_strings)
    assert not re.search(r"\(default: (None|False|\[\]|\(\)|)\)", text)


def test_options_with_one_meaning_have_one_spelling():
    for name, parser in PARSERS.items():
        known = parser._option_string_actions
        for old, new in (("--templates", "--template"),):
            if old in known or new in known:
                assert new in known[new].option_strings[0], name
        if "--template" in known and not name.startswith("webarena-gym"):
            assert known["--template"] is known["--templates"], name


@pytest.mark.parametrize(("arguments", "value"), [
    (["taks"], "taks"),
    (["tasks", "--template", "shopping.product_pric"], "did you mean 'shopping.product_price'"),
    (["tasks", "--template", "product_price"], "did you mean 'shopping.product_price'"),
    (["play", "shopping.product_pric/1000/0"], "did you mean 'shopping.product_price/1000/0'"),
    (["play", "nope"], "'nope'"),
    (["play", "--split", "tset"], "'tset'; did you mean 'test'?"),
    (["play", "--seed", "-1"], "-1"),
    (["play", "--max-steps", "0"], "'0'"),
    (["world", HUGE], HUGE),
    (["tasks", "--draw", "2"], "--draw needs --world-seed"),
    *(
        ([*command, "--template", "shopping.product_price", "reddit.mention_of_nothing"], "reddit.mention_of_nothing")
        for command in (["tasks"], ["audit"], ["evaluate", "--agent", "random"])
    ),
    (["audit", "--template", "nothing", "--fresh-worlds", "1"], "'nothing'"),
    (["tasks", "--export", "/"], "'/'"),
    (["tasks", "--export", f"{__file__}/x.json"], "test_command_lines.py"),
    (["tasks", "--export", "x" * 5000 + "/y"], "xxx"),
    (["audit", "--jobs", "0"], "'0'"),
    (["audit", "--fresh-worlds", "-1"], "-1"),
    (["serve", "--port", "99999"], "99999"),
    (["mcp", "--http", "99999"], "99999"),
    (["mcp", "--task", "nope"], "'nope'"),
    (["evaluate", "--agent", "nope"], "'nope'"),
    (["evaluate", "--agent", "nope.py:f"], "the agent is 'nope.py:f', whose file is 'nope.py', which does not exist"),
    (["evaluate", "--agent", f"{__file__[:-4]}.py:f"], f"did you mean {__file__!r}"),
    (["evaluate", "--agent", "nope:f"], "the agent is 'nope:f', whose module is not installed; expected module:callable"),
    (["evaluate", "--agent", "command:/nowhere/player"], "/nowhere/player"),
    (["evaluate", "--agent", "random", "--application", "nope.toml"], "the application nope.toml does not exist"),
    (["serve", "--application", "nope.toml"], "the application nope.toml does not exist"),
    (["app", "check"], "there is no webarena-app.toml in the folder"),
    (["app", "check", "nowhere"], "the application nowhere does not exist"),
    (["app", "new", "b", "--wsgi", "app.py"], "--wsgi is 'app.py'; expected \"module:name\", such as app:app"),
    (["app", "new", "b", "--name", "My Notes"], "--name is 'My Notes'; expected lower-case letters"),
    (["play", "--session", "nope.json", "observe"], "cannot read the session nope.json: No such file"),
    (["evaluate", "--agent", "random", "--limit", "six"], "--limit is 'six'; expected a whole number of 1 or more"),
    (["evaluate", "--agent", "random", "--timeout", "six"], "--timeout is 'six'; expected a number above 0"),
    (["fuzz", "--seed", "six"], "--seed is 'six'; expected a whole number of 0 or more"),
    (["evaluate", "--agent", "random", "--tasks", f"{__file__}x"], f"did you mean {__file__!r}"),
    (["evaluate", "--agent", "random", "--out", __file__], __file__),
    (["leaderboard", "nowhere"], "nowhere"),
    (["doctor", "--sites", "{"], "--sites is '{', which is not valid JSON"),
    (["play", "--session", str(ROOT), "start"], str(ROOT)),
])  # fmt: skip
def test_mistakes_end_with_status_2_and_one_line(capsys, arguments, value):
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert value in output.err
    assert "Errno" not in output.err


@pytest.mark.parametrize(("name", "option"), [("evaluate", "--policy"), ("train_bc", "--model"), ("agent_q", "--model")])
def test_an_option_that_sets_defaults_of_others_needs_a_value(name, option, capsys):
    with expect_error(SystemExit, 2):
        importlib.import_module(f"agents.{name}").main([option])
    assert capsys.readouterr().err == f"python -m agents.{name}: {option} has no value; expected one\n"


PATHS = {"demonstrations", "begin_with", "episodes", "memory", "critic", "cloned"}


@pytest.mark.parametrize(("name", "option"), [
    (name, option)
    for name, kind in KINDS.items()
    for option, hint in get_type_hints(kind, include_extras=True).items()
    if "Path" in str(hint) and (option in PATHS or option.startswith(("out", "save")))
])  # fmt: skip
def test_an_option_that_names_a_file_or_folder_is_checked_before_anything_is_done(name, option, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # messages shorten long paths
    Path("file").write_text("")
    missing, odd = "fil", "file/x"
    for value in (missing, odd) if option in PATHS else (odd,):
        with expect_error(SystemExit, 2):
            parse_settings(KINDS[name], [f"--{option.replace('_', '-')}", value], program="prog")
        output = capsys.readouterr().err
        assert output.startswith(f"python -m prog: --{option.replace('_', '-')} is '{value}'")
        assert output.count("\n") == 1
        assert value != missing or "which does not exist; did you mean" in output


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arguments", [
    ["agents.evaluate", "--policy", "owner/name", "--limit", "1"], ["agents.train_grpo", "--model", "owner/name", "--out", "OUT"],
    ["agents.train_bc", "--model", "owner/name", "--out", "OUT"], ["agents.agent_q", "--model", "owner/name", "--out", "OUT"],
], ids=lambda arguments: arguments[0])  # fmt: skip
def test_an_unreachable_hub_is_reported_in_one_line(tmp_path, arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_ENDPOINT": "http://127.0.0.1:1", "HF_HOME": str(tmp_path / "hub")}
    words = [str(tmp_path / "out") if word == "OUT" else word for word in arguments]
    run = [sys.executable, "-W", "ignore", "-m", *words]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "there is no model 'owner/name': it is not a local folder, the Hub cannot be reached" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_port_in_use_is_reported_and_no_address_is_printed(capsys):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        for arguments in (["serve", "--port", port], ["mcp", "--http", port]):
            assert main(arguments) == 2
            output = capsys.readouterr()
            assert (output.out, output.err.count("\n")) == ("", 1)
            assert f"port {port}" in output.err


def test_folders_on_the_way_to_a_file_are_made(tmp_path, capsys):
    path = tmp_path / "a" / "b" / "tasks.json"
    assert main(["tasks", "--template", "shopping.product_price", "--export", str(path)]) == 0
    assert path.is_file()
    assert main(["play", "--session", str(tmp_path / "c" / "d.json"), "start", "shopping.product_price/1000/0"]) == 0
    capsys.readouterr()


def raising(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(("error", "code"), [
    (TaskError("x"), 2), (AgentError("x"), 2), (ArenaError("x", 500), 2), (ValueError("x"), 2), (WorldError("x"), 1),
    (OSError(28, "x", "file"), 1), (BrokenPipeError("x"), 1), (ModuleNotFoundError("x", name="x"), 1), (KeyboardInterrupt(), 130),
    (SystemExit(2), 2), (SystemExit("x"), 1), (SystemExit(), 0),
], ids=repr)  # fmt: skip
def test_errors_have_a_status_and_a_line(capsys, monkeypatch, error, code):
    monkeypatch.setattr("webarena_gym.console._OWN_PACKAGES", ("tests", "webarena_gym"))
    assert console.status("prog", raising(error)) == code
    output = capsys.readouterr().err
    assert output.count("\n") == (1 if "x" in str(error) else 0)
    assert output == "" or output.startswith("prog: ")


def test_faults_keep_their_tracebacks_and_a_variable_shows_those_of_errors(monkeypatch):
    for work in (lambda: {}["x"], lambda: [].index("x")):
        with pytest.raises((KeyError, ValueError)):
            console.status("prog", work)
    monkeypatch.setenv("WEBARENA_GYM_TRACEBACK", "1")
    with pytest.raises(TaskError):
        console.status("prog", raising(TaskError("x")))


def test_suggestions_for_misspelled_names():
    assert suggestion("chromum", ["inprocess", "chromium"]) == "did you mean 'chromium'?"
    assert suggestion("x", ["a", "b"], list_all=False) == ""
    assert len(suggestion("@" * 10**6, list(templates()))) < 600


def command(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": options.pop("unbuffered", "")}
    return subprocess.Popen([sys.executable, "-m", "webarena_gym", *arguments], env=environment, cwd=ROOT, **options)


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [("tasks", ""), ("tasks", "1"), ("leaderboard --help", ""), ("leaderboard --help", "1"), ("doctor --browser inprocess", ""), ("play", "1")],
)  # fmt: skip
def test_a_closed_pipe_ends_a_command_quietly(arguments, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdin": subprocess.DEVNULL, "stdout": writer, "stderr": subprocess.PIPE}
    process = command(*arguments.split(), unbuffered=unbuffered, **streams)
    os.close(writer)
    swallowed = unbuffered and "--help" in arguments  # by argparse, which prints at once
    assert (process.communicate(timeout=120)[1], process.returncode) == (b"", 0 if swallowed else 141)


def test_ctrl_c_ends_a_server_quietly_after_it_printed_its_addresses():
    process = command("serve", "--port", "0", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    url = urlsplit(process.stdout.readline().split()[-1].decode())
    page = urlopen(Request(f"http://127.0.0.1:{url.port}/", headers={"Host": url.netloc}), timeout=60).read()
    assert b"Tidewater Emporium" in page
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=120)[1], process.returncode) == (b"", 130)


def test_ctrl_c_ends_worker_processes_quietly(tmp_path):
    code = (
        "import time\nfrom pathlib import Path\nfrom webarena_gym import console\nfrom webarena_gym.processes import workers\n"
        "def work():\n"
        " with workers(2) as several:\n"
        f"  list(several(Path.touch, [Path({str(tmp_path)!r}) / str(number) for number in range(8)]))\n"
        "  busy = several(time.sleep, [1000] * 4)\n"
        "  print('busy', flush=True)\n"
        "  list(busy)\n"
        "if __name__ == '__main__':\n raise SystemExit(console.status('prog', work))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, script], env=environment, start_new_session=True, **streams)
    assert process.stdout.readline() == b"busy\n"
    os.killpg(process.pid, signal.SIGINT)
    assert (process.communicate(timeout=120)[1], process.returncode) == (b"", 130)


def test_settings_are_read_however_they_are_spelled():
    def read(*arguments):
        return parse_settings(EvaluationSettings, ["--policy", "random", *arguments], program="agents.evaluate")

    assert read("--max_steps=3") == read("--max-steps", "3") != read()
    assert read("--world-seed", "-3").world_seed == -3
    assert read("--template", "a", "b", "--jobs", "3") == read("--templates", "a", "b", "--processes", "3") != read()
    assert (read("--limit", "None").limit, read("--temperature", "None").temperature) == (None, None)
    assert (read("--thoughts").thoughts, read("--thoughts", "--no-thoughts").thoughts) == (True, False)
    assert read("--env", "a=1", "--env", "b=2").keywords == ("a=1", "b=2")
    for words in (["--json=1"], ["--limit"], ["--keywords", "a=1"]):
        with expect_error(SystemExit, 2):
            read(*words)
    with expect_error(SystemExit, 2):
        parse_settings(EvaluationSettings, [], program="agents.evaluate")


def test_missing_modules_are_reported_with_an_install_command(capsys):
    assert console.status("prog", lambda: importlib.import_module("no_such_package")) == 1
    assert "no_such_package is not installed: pip install no-such-package" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "extra"), [
    ("ray", "cluster"), ("sb3_contrib.ppo_mask", "baselines"), ("torch", "train"), ("playwright", "chromium"), ("mcp", "mcp"),
])  # fmt: skip
def test_a_missing_package_is_named_with_the_extra_that_has_it(capsys, module, extra):
    assert console.status("prog", raising(ModuleNotFoundError("x", name=module))) == 1
    output = capsys.readouterr().err
    assert output == f"prog: the package {module} is not installed: pip install 'webarena-gym[{extra}]'\n"


class TestPlay:
    @pytest.mark.parametrize(("line", "reply"), [
        ("click 6", 'do(action="Click", element="6")'),
        ("type 5 red shoes", 'do(action="Type", argument="red shoes", element="5")'),
        ('click "Add to Cart"', 'do(action="Click", element="Add to Cart")'),
        ("exit 3 of them", 'exit(message="3 of them")'),
        ("exit", 'exit(message="")'),
        ("down", 'do(action="Scroll Down")'),
        ("enter", 'do(action="Press Enter")'),
        ("back", "go_backward()"),
        ('exit(message="x")', 'exit(message="x")'),
        ("hello", "hello"),
    ])  # fmt: skip
    def test_short_forms(self, line, reply):
        assert expand_short_form(line, DIALECTS["webrl"]) == reply

    @pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
    def test_short_forms_are_read_in_every_dialect(self, dialect):
        for line in ("click 6", "hover 6", "type 5 red shoes", "down", "up", "back", "forward", "tab 1", "exit x"):
            assert dialect.parse(expand_short_form(line, dialect))
        for form in dialect.forms:
            assert expand_short_form(dialect.example(form), dialect) == dialect.example(form)

    @pytest.mark.parametrize("line", ["click", "type 5", "select 3", "tab", "click 6 7", "down 3"])
    def test_incomplete_ones_cost_no_step(self, line):
        with pytest.raises(ValueError, match="`"):
            expand_short_form(line, DIALECTS["webrl"])

    def play(self, capsys, monkeypatch, *lines, options=()):
        replies = iter(lines)
        prompts = []

        def answer(prompt):
            prompts.append(prompt)
            try:
                return next(replies)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", answer)
        assert main(["play", "shopping.product_price/1000/0", "--max-steps", "3", *options]) == 0  # leaving is no error
        return capsys.readouterr().out, prompts

    def test_steps_are_counted_and_errors_come_last(self, capsys, monkeypatch):
        out, prompts = self.play(capsys, monkeypatch, "", "help", "click", "hello", "down")
        assert prompts == ["step 1 of 3> "] * 4 + ["step 2 of 3> ", "step 3 of 3> "]
        assert out.count("Action error: the reply holds no action") == 1
        assert out.index("Action error") > out.rindex("http://shop.test", 0, out.index("Action error"))
        assert "\033" not in out

    def test_verdicts_are_in_plain_words(self, capsys, monkeypatch):
        out, _ = self.play(capsys, monkeypatch, 'click "Add to Cart"', "exit wrong", options=("--variation", "layout"))
        assert re.search(r"there is no element 'Add to Cart'; .*; with --elements label they are named by their labels\n", out)
        assert re.search(r"Not solved\. \(reward 0\)\nThe answer is not right: expected '.+', found 'wrong'", out)
        assert " against " not in out
        assert main(["play", "--seed", "3"]) == 0  # a task that is drawn, left at once

    @pytest.mark.parametrize(("more", "has_colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
    def test_colours_are_for_terminals(self, capsys, monkeypatch, more, has_colour):
        monkeypatch.delenv("NO_COLOR", raising=False)
        for name, value in ({"TERM": "xterm"} | more).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        out, _ = self.play(capsys, monkeypatch)
        assert "Task shopping.product_price/1000/0" in out
        assert ("\033[1m" in out) is has_colour


def test_a_window_needs_a_display(monkeypatch):
    from webarena_gym.env import WebArenaLite  # noqa: PLC0415

    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with expect_error(ValueError, "render_mode", "'human'", "xvfb-run"):
        WebArenaLite(browser="chromium", render_mode="human")


def shapes(kind):
    """What is written after each option of a command: nothing, a whole number, a number, a text, or several."""
    known = {bool: "nothing", int: "a number", float: "a number"}
    for option in fields(kind):
        hint = get_type_hints(kind)[option.name]
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        one = next(each for each in parts if each is not type(None))
        yield option.name, "several" if get_origin(one) is tuple else known.get(one, "a text")


def test_an_option_is_written_in_the_same_way_at_each_command_of_agents():
    found = {}
    for name, kind in KINDS.items():
        for option, shape in shapes(kind):
            if name.startswith("agents.") or option == "worlds":
                found.setdefault(option, {}).setdefault(shape, []).append(name)
    assert not {option: ways for option, ways in found.items() if len(ways) > 1}
