"""The commands `webarena-gym evaluate` and `webarena-gym leaderboard`."""

import argparse
import os
from typing import Any

from webarena_gym import tasks as task_suite
from webarena_gym.console import decimal, existing_path, integer, validated_by, writable_path
from webarena_gym.options import add_application, add_options, option_descriptions
from webarena_gym.sites.world import LARGEST_SEED

world_seed = integer(-LARGEST_SEED, LARGEST_SEED)
"""Parser of the option value of a world seed."""


def add_templates(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add the option --template, with its help text."""
    parser.add_argument(
        "--template", type=validated_by(lambda name: task_suite.select_templates([name])), nargs="+", action="extend", metavar="NAME",
        help=meaning,
    )  # fmt: skip


def add_fresh_worlds(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the option --fresh-worlds, the number of additional worlds. `verb` is the action of the command, for the help."""
    parser.add_argument("--fresh-worlds", type=integer(0, 1000), default=0, metavar="K", help=f"{verb} in K fresh worlds too")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the options --jobs and --json."""
    parser.add_argument(
        "--jobs", type=integer(1), default=os.cpu_count(), metavar="N", help="processes (default: one for each core)"
    )
    parser.add_argument("--json", action="store_true", help="end with one JSON object on the last line")


def add_walks(parser: argparse.ArgumentParser, steps: int) -> None:
    """Add the options of random walks."""
    parser.add_argument(
        "--steps",
        "--states",
        type=integer(1),
        default=steps,
        metavar="N",
        help="number of steps, and so of states (default: %(default)s)",
    )
    parser.add_argument(
        "--destructive",
        action="store_true",
        help="long walks in the in-process browser that prefer deletions, cancellations and edits",
    )
    parser.add_argument("--seed", type=integer(0), default=0, metavar="N", help="random seed of the actions (default: 0)")


def add_commands(commands: Any) -> None:
    """Add both commands to the subparsers of a command line. The default `run` of each is a function that returns the exit status."""
    evaluate = commands.add_parser(
        "evaluate",
        help="score an agent: your own, a chat model, a program",
        description="Scores an agent: plays each task, prints success rates, and writes a file of episodes and a file of results. The same command resumes an interrupted "
        "run. Exit status: 0 if every episode was judged, 1 if any was not, 2 for invalid input.",
        examples=["--agent expert --limit 20", "--agent my_agent.py:agent --elements label"],
    )
    add = evaluate.add_argument
    add(
        "--agent",
        required=True,
        help="module:callable or file.py:callable, called with observation and info, returns the reply; random; expert; "
        "chat:MODEL on any OpenAI-compatible server; or command:PROGRAM ARGUMENTS, a client of the episode server",
    )
    splits = ", ".join(task_suite.SPLITS)
    add(
        "--split",
        default="test",
        metavar="SPLIT",
        help=f"split of the bundled suite (default: test): {splits}; or one of --suite",
    )
    add("--world-seed", type=world_seed, metavar="SEED", help="draw the split's templates in this world instead")
    add_options(evaluate, "scale")
    add_fresh_worlds(evaluate, "play")
    add("--tasks", type=existing_path(), metavar="FILE", help="a task file in WebArena's JSON schema, instead of a split")
    add_application(evaluate)
    add("--suite", metavar="NAME", help=option_descriptions()["suite"].partition(". ")[0])
    add("--template", nargs="+", action="extend", metavar="NAME", help="only tasks of these templates")
    add("--limit", type=integer(1), metavar="N", help="play only N tasks, sampled with the seed")
    add("--repeats", type=integer(1, 10_000), default=1, metavar="K", help="episodes of each task, for pass@k and pass^k")
    add("--seed", type=integer(0), default=0, metavar="N", help="random seed (default: 0)")
    add(
        "--jobs", type=integer(1, 1000), metavar="N",
        help="number of parallel episodes (default: 8 for a chat model, 4 for a program, else 1)",
    )  # fmt: skip
    add(
        "--out",
        type=writable_path("folder"),
        metavar="FOLDER",
        help="folder of both files (default: runs/evaluate/AGENT-SPLIT)",
    )
    add("--fresh", action="store_true", help="play all episodes again, including those in the folder")
    add("--json", action="store_true", help="print the results as one JSON object on the last line")
    env = evaluate.add_argument_group("environment")
    add = env.add_argument
    add(
        "--max-steps", type=integer(1), metavar="N",
        help="steps per episode (default: 30, as in the paper; 60 for the hard split)",
    )  # fmt: skip
    add(
        "--step-budget", type=decimal(above=0), metavar="X",
        help="also limit steps to X times those of the reference solution; the goal contains the limit",
    )  # fmt: skip
    add_options(env, "observation", "dialect", "elements", "history", "browser", "variation", has_pictures=True)
    add("--env", action="append", default=[], metavar="NAME=JSON", help="another keyword of the env (may be repeated)")
    add = evaluate.add_argument_group("chat models", "The API key is read from $OPENAI_API_KEY.").add_argument
    add("--base-url", metavar="URL", help="address of the server (default: $OPENAI_BASE_URL, else OpenAI's)")
    add("--tools", action="store_true", help="send the actions as tools, and accept tool calls as replies")
    add("--option", action="append", default=[], metavar="NAME=JSON", help="field of the requests, such as temperature=0.5")
    add(
        "--timeout", type=decimal(above=0), default=300.0, metavar="S",
        help="time limit of one request, and of a program, in seconds (default: 300)",
    )  # fmt: skip
    add(
        "--too-long",
        choices=("failed", "lost"),
        default="failed",
        help="ending of an episode if the token limit ends a reply before its first text, or the server rejects a later request "
        "without a clear message that it is too long; with a clear message the episode is lost",
    )
    add(
        "--deadline", type=decimal(above=0), default=900.0, metavar="S",
        help="time limit of one reply with all retries, in seconds (default: 900)",
    )  # fmt: skip
    add(
        "--connect-timeout", type=decimal(above=0), default=5.0, metavar="S",
        help="seconds after which a server without a response counts as unreachable (default: 5)",
    )  # fmt: skip
    programs = "--base-url is the address of an episode server, with its token in $WEBARENA_GYM_TOKEN. Without it, the command starts one."
    add = evaluate.add_argument_group("programs", programs).add_argument
    add("--mode", choices=("browse", "step"), default="browse", help="play with the program's own browser, or by actions")
    evaluate.set_defaults(run=_evaluate)

    board = commands.add_parser(
        "leaderboard",
        help="check the rows of a leaderboard, and print it",
        description="Checks that the results follow from the episodes, that the episodes are complete, and that their replies earn the "
        "same rewards when they are replayed. Exit status 1 if a row fails a check.",
        examples=["leaderboard", "runs/evaluate/expert-test --no-replay"],
    )
    board.add_argument("folder", type=existing_path("folder"), metavar="FOLDER", help="a folder of rows, or one row")
    board.add_argument("--no-replay", dest="replay", action="store_false", help="do not replay the episodes")
    board.set_defaults(run=_leaderboard)


def _evaluate(options: argparse.Namespace) -> int:
    from webarena_gym.evaluation.runner import evaluate  # noqa: PLC0415 - keeps the start of other commands fast

    return evaluate(options)


def _leaderboard(options: argparse.Namespace) -> int:
    from webarena_gym.evaluation.leaderboard import print_leaderboard  # noqa: PLC0415 - keeps the start of other commands fast

    return print_leaderboard(options.folder, with_replay=options.replay)
