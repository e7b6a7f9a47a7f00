"""The frame of commands: option types, exit statuses with one line of error, help, and locks of folders."""

import subprocess
import sys
from argparse import ArgumentTypeError

import pytest

from tests.errors import expect_error
from webarena_gym import console
from webarena_gym.errors import ApplicationError, BrowserError, TaskError


@pytest.mark.parametrize(
    ("read", "values", "wrong"),
    [
        (console.integer(1), {"1": 1, " 12 ": 12}, ["0", "1.5", "x", "", "9" * 30]), (console.integer(-3, 3), {"-3": -3, "3": 3}, ["4", "-4"]),
        (console.integer(), {str(console.LARGEST): console.LARGEST}, [str(console.LARGEST + 1)]), (console.decimal(0), {"0": 0.0, "1e3": 1000.0}, ["-1", "nan", "inf", "x"]),
        (console.decimal(above=0), {"0.1": 0.1}, ["0", "-0.0"]),
    ],
)  # fmt: skip
def test_numbers_lie_in_their_range(read, values, wrong):
    assert {text: read(text) for text in values} == values
    for text in wrong:
        with expect_error(ArgumentTypeError, repr(text)):
            read(text)


def test_paths_exist_or_can_be_written(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    file, folder = str(tmp_path / "notes.txt"), str(tmp_path)
    assert str(console.existing_path()(file)) == file
    assert str(console.existing_path("file or folder")(folder)) == folder
    with expect_error(ArgumentTypeError, tmp_path / "notes.txt"):
        console.existing_path()(str(tmp_path / "note.txt"))
    for kind, path in (("file", folder), ("folder", file)):
        with pytest.raises(ArgumentTypeError, match=kind):
            console.existing_path(kind)(path)
        with pytest.raises(ArgumentTypeError, match=kind):
            console.writable_path(kind)(path)
    assert console.writable_path()(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    for path in ("", f"{file}/below", "x" * 5000):
        with pytest.raises(ArgumentTypeError):
            console.writable_path()(path)


def test_texts_are_validated_by_a_function():
    def validate(text):
        if text != "a":
            raise TaskError(f"no {text}")

    assert console.validated_by(validate)("a") == "a"
    with expect_error(ArgumentTypeError, "no b"):
        console.validated_by(validate)("b")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BrowserError("it\nbroke"), console.FAILED), (TaskError("wrong"), console.BAD_INPUT), (OSError(28, "No space left on device", "out.txt"), console.FAILED),
        (ModuleNotFoundError("no", name="some_package"), console.FAILED), (KeyboardInterrupt(), console.INTERRUPTED), (SystemExit(3), 3), (SystemExit("text"), console.FAILED),
    ],
)  # fmt: skip
def test_an_expected_error_is_one_line_and_a_status(error, code, capsys):
    def work():
        raise error

    assert console.status("prog", work) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == (
        not isinstance(error, KeyboardInterrupt | SystemExit) or isinstance(error.args[0] if error.args else 0, str)
    )
    assert all(line.startswith("prog: ") for line in lines)


def test_results_of_work_are_statuses():
    assert [console.status("prog", lambda value=value: value) for value in (None, 0, 4)] == [0, 0, 4]


def test_mistakes_in_the_code_keep_their_traceback():
    def mistake():
        raise LookupError("a mistake")

    with pytest.raises(LookupError):
        console.status("prog", mistake)
    with expect_error(ValueError, "'x'"):
        console.status("prog", lambda: parse_elsewhere("x"))


def parse_elsewhere(text):
    """Raise a ValueError whose last frame is in this module, which is none of the project's packages."""
    return int(text)


def test_an_error_of_an_application_keeps_its_lines(capsys):
    console.print_error("prog", ApplicationError("it failed:\n  trace"))
    assert capsys.readouterr().err.splitlines() == ["prog: it failed:", "  trace"]


def test_missing_packages_are_installed_with_their_extra(capsys):
    def work():
        raise ModuleNotFoundError("no", name="playwright.async_api")

    assert console.status("prog", work) == console.FAILED
    assert "pip install 'webarena-gym[" in capsys.readouterr().err


@pytest.fixture
def parser():
    parser = console.Parser(prog="prog", examples=["run --count 3"])
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser("run", help="run it")
    run.add_argument("--count", type=int, default=2, help="number of runs")
    run.add_argument("--name", required=True, help="name of the run")
    run.add_argument("--flag", action="store_true", help="a flag")
    return parser


def test_help_shows_defaults_required_options_and_examples(parser, capsys):
    assert "examples:\n  prog run --count 3" in parser.format_help()
    with pytest.raises(SystemExit):
        parser.parse_args(["run", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "number of runs (default: 2)" in text
    assert "name of the run (required)" in text
    assert "a flag (default" not in text


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "--cuont", "3"], "--count"),
        (["run", "--name", "a", "--count", "x"], "whole number"),
        (["run"], "--name"),
        (["urn"], "run"),
        (["run", "--nam", "a"], "--name"),
        ([], "usage"),
    ],
)
def test_wrong_arguments_are_refused_with_a_hint(parser, arguments, part, capsys):
    with pytest.raises(SystemExit) as error:
        parser.parse_args(arguments)
    assert error.value.code == console.BAD_INPUT
    assert part in capsys.readouterr().err


def test_a_folder_is_locked_against_other_processes(tmp_path):
    console.lock_folder(tmp_path)
    console.lock_folder(tmp_path)
    code = "import sys; from pathlib import Path; from webarena_gym.console import lock_folder; lock_folder(Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is in use by process" in done.stderr
    (tmp_path / ".lock").write_text("[1]")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "is in use by another process" in done.stderr


def test_errors_of_writing_name_the_file(tmp_path):
    with expect_error(OSError, tmp_path / "out.txt"), console.writing(tmp_path / "out.txt"):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("text", ["-1", "-0.5", "-.5", "-5.", "-1e-6", "-1E6", "-2.5e+3"])
@pytest.mark.parametrize("is_grouped", [False, True])
def test_negative_numbers_are_values_of_options(text, is_grouped):
    parser = console.Parser(prog="prog")
    commands = parser.add_subparsers(dest="command")
    command = commands.add_parser("run")
    target = command.add_argument_group("numbers") if is_grouped else command
    target.add_argument("--level", type=float)
    target.add_argument("--levels", type=float, nargs="+")
    assert parser.parse_args(["run", "--level", text, "--levels", text, "1"]).level == float(text)
    assert parser.parse_args(["run", "--levels", text, text]).levels == [float(text)] * 2
    with pytest.raises(SystemExit):
        parser.parse_args(["run", "--level", "-e6"])


@pytest.mark.parametrize("text", ["-007", "-1.50", "-.5", "-12"])
def test_texts_that_look_like_negative_numbers_stay_as_they_are(text):
    parser = console.Parser(prog="prog")
    parser.add_argument("--name")
    assert parser.parse_args(["--name", text]).name == text
