"""The commands `webarena-gym evaluate` and `webarena-gym leaderboard`."""

import argparse
import os
from typing import Any

from webarena_gym import tasks as task_suite
from webarena_gym.console import accepted_by, decimal, present, whole, writable
from webarena_gym.options import add_application, add_options
from webarena_gym.sites.world import LARGEST_SEED

world_seed = whole(-LARGEST_SEED, LARGEST_SEED)
"""Reads the seed of a world."""


def add_templates(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add the option that names templates."""
    parser.add_argument(
        "--template", type=accepted_by(lambda name: task_suite.named([name])), nargs="+", action="extend", metavar="NAME",
        help=meaning,
    )  # fmt: skip


def add_fresh_worlds(parser: argparse.ArgumentParser, deed: str) -> None:
    """Add the option that says in how many further worlds something is done."""
    parser.add_argument("--fresh-worlds", type=whole(0, 1000), default=0, metavar="K", help=f"{deed} in K fresh worlds too")


def add_work(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who works, and how it is told."""
    parser.add_argument(
        "--jobs", type=whole(1), default=os.cpu_count(), metavar="N", help="processes (default: one for each core)"
    )
    parser.add_argument("--json", action="store_true", help="end with one JSON object on the last line")


def add_walks(parser: argparse.ArgumentParser, steps: int) -> None:
    """Add the options of random walks."""
    parser.add_argument(
        "--steps",
        "--states",
        type=whole(1),
        default=steps,
        metavar="N",
        help="steps to take: states to see (default: %(default)s)",
    )
    parser.add_argument(
        "--destructive",
        action="store_true",
        help="long walks in the in-process browser, which delete, leave, empty and change what they can",
    )
    parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help="the seed of what is done")


def add_commands(commands: Any) -> None:
    """Add both commands to the subparsers of a command line; each has a function `run`, which returns the exit status."""
    evaluate = commands.add_parser(
        "evaluate",
        help="score an agent: your own, a chat model, a program",
        description="Plays every task, writes one file of episodes and one of figures, and goes on where it was cut off. "
        "Ends with status 0 when every episode was judged, with 1 when any was not, with 2 for bad input.",
        examples=["--agent expert --limit 20", "--agent my_agent.py:agent --elements label"],
    )
    add = evaluate.add_argument
    add(
        "--agent",
        required=True,
        help="module:callable or file.py:callable (observation and info in, reply out); random; expert; "
        "chat:MODEL behind any server of OpenAI's chat protocol; or command:PROGRAM ARGUMENTS, which talks to the episode server",
    )
    add("--split", choices=tuple(task_suite.SPLITS), default="test", help="the tasks")
    add("--world-seed", type=world_seed, metavar="SEED", help="draw the split's templates in this world instead")
    add_options(evaluate, "scale")
    add_fresh_worlds(evaluate, "play")
    add("--tasks", type=present(), metavar="FILE", help="a task file in WebArena's JSON schema, instead of a split")
    add_application(evaluate)
    add("--template", nargs="+", action="extend", metavar="NAME", help="only tasks of these templates")
    add("--limit", type=whole(1), metavar="N", help="play N of the tasks only, chosen by the seed")
    add("--repeats", type=whole(1, 10_000), default=1, metavar="K", help="episodes of each task, for pass@k and pass^k")
    add("--seed", type=whole(0), default=0, metavar="N", help="of all that is random")
    add(
        "--jobs", type=whole(1, 1000), metavar="N",
        help="episodes at a time (default: 8 of a chat model, 4 of a program, else 1)",
    )  # fmt: skip
    add("--out", type=writable("folder"), metavar="FOLDER", help="where both files go (default: runs/evaluate/AGENT-SPLIT)")
    add("--fresh", action="store_true", help="play all episodes anew, also those that are in the folder")
    add("--json", action="store_true", help="end with the figures as one JSON object on the last line")
    env = evaluate.add_argument_group("what the agent is shown")
    add = env.add_argument
    add(
        "--max-steps", type=whole(1), metavar="N",
        help="steps of an episode (default: 30, as in the paper; 60 of the hard split)",
    )  # fmt: skip
    add(
        "--step-budget", type=decimal(above=0), metavar="X",
        help="at most X times the steps of the reference solution, beside that; the goal says how many",
    )  # fmt: skip
    add_options(env, "observation", "dialect", "elements", "history", "browser", "variation", has_pictures=True)
    add("--env", action="append", default=[], metavar="NAME=JSON", help="another keyword of the env (may be repeated)")
    add = evaluate.add_argument_group("chat models", "The key is that of $OPENAI_API_KEY.").add_argument
    add("--base-url", metavar="URL", help="the server (default: $OPENAI_BASE_URL, else OpenAI's own)")
    add("--tools", action="store_true", help="give the actions as tools, and take calls as replies")
    add("--option", action="append", default=[], metavar="NAME=JSON", help="a field of the requests, as temperature=0.5")
    add("--timeout", type=decimal(above=0), default=300.0, metavar="S", help="of one request, and of a program (default: 300)")
    add(
        "--too-long",
        choices=("failed", "lost"),
        default="failed",
        help="what becomes of an episode where a reply is cut off before it says anything, or a later request is refused in "
        "words that leave open whether it is too long; one that is said to be too long is lost",
    )
    add("--deadline", type=decimal(above=0), default=900.0, metavar="S", help="of one reply, with all tries (default: 900)")
    add(
        "--connect-timeout", type=decimal(above=0), default=5.0, metavar="S",
        help="until a silent server counts as dead (default: 5)",
    )  # fmt: skip
    programs = (
        "--base-url is then that of an episode server, whose token is in $WEBARENA_GYM_TOKEN; one is begun where none is given."
    )
    add = evaluate.add_argument_group("programs", programs).add_argument
    add("--mode", choices=("browse", "step"), default="browse", help="play by a browser of its own, or by actions")
    evaluate.set_defaults(run=_evaluate)

    board = commands.add_parser(
        "leaderboard",
        help="check the rows of a leaderboard, and print it",
        description="Checks that figures follow from episodes, that these are all of the suite, and that their replies earn the same "
        "rewards when they are played again. Ends with status 1 when a row is not right.",
        examples=["leaderboard", "runs/evaluate/expert-test --no-replay"],
    )
    board.add_argument("folder", type=present("folder"), metavar="FOLDER", help="a folder of rows, or one row")
    board.add_argument("--no-replay", dest="replay", action="store_false", help="do not play the episodes again")
    board.set_defaults(run=_leaderboard)


def _evaluate(options: argparse.Namespace) -> int:
    from webarena_gym.evaluation.runner import evaluate  # noqa: PLC0415 - keeps the other commands quick to start

    return evaluate(options)


def _leaderboard(options: argparse.Namespace) -> int:
    from webarena_gym.evaluation.leaderboard import show  # noqa: PLC0415 - keeps the other commands quick to start

    return show(options.folder, with_replay=options.replay)
