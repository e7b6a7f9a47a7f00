"""The commands `webarena-gym evaluate` and `webarena-gym leaderboard`."""

import argparse
from pathlib import Path
from typing import Any, get_args

from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS
from webarena_gym.episode.history import History
from webarena_gym.sites.layout import Variation


def add_commands(commands: Any) -> None:
    """Add both commands to the subparsers of a command line; each has a function `run`, which returns the exit status."""
    evaluate = commands.add_parser(
        "evaluate",
        help="score an agent: your own, a chat model, a program",
        description="Plays every task, writes one file of episodes and one of figures, and goes on where it was cut off. "
        "Ends with status 0 when every episode was judged, with 1 when any was not, with 2 for bad input.",
    )
    evaluate.add_argument(
        "--agent",
        required=True,
        help="module:callable or file.py:callable (observation and info in, reply out); random; expert; "
        "chat:MODEL behind any server of OpenAI's chat protocol; or command:PROGRAM ARGUMENTS, which talks to the episode server",
    )
    evaluate.add_argument("--split", choices=tuple(task_suite.SPLITS), default="test", help="the tasks (default: test)")
    evaluate.add_argument("--world-seed", type=int, metavar="SEED", help="draw the split's templates in this world instead")
    evaluate.add_argument("--worlds", type=int, default=0, metavar="K", help="play in K fresh worlds too")
    evaluate.add_argument(
        "--tasks", type=Path, metavar="FILE", help="a task file in WebArena's JSON schema, instead of a split"
    )
    evaluate.add_argument("--template", action="append", metavar="NAME", help="only these templates (may be repeated)")
    evaluate.add_argument("--limit", type=int, metavar="N", help="play N of the tasks only, chosen by the seed")
    evaluate.add_argument(
        "--repeats", type=int, default=1, metavar="K", help="episodes of each task, for pass@k and pass^k (default: 1)"
    )
    evaluate.add_argument("--seed", type=int, default=0, help="of all that is random (default: 0)")
    evaluate.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="episodes at a time (default: 8 of a chat model, 4 of a program, else 1)",
    )
    evaluate.add_argument("--out", type=Path, metavar="FOLDER", help="where both files go (default: runs/evaluate/AGENT-SPLIT)")
    evaluate.add_argument("--fresh", action="store_true", help="play all episodes anew, also those that are in the folder")
    evaluate.add_argument("--json", action="store_true", help="end with the figures as one JSON object on the last line")
    env = evaluate.add_argument_group("what the agent is shown")
    env.add_argument(
        "--max-steps", type=int, default=30, metavar="N", help="steps of an episode (default: 30, as in the paper)"
    )
    env.add_argument("--observation", choices=("html", "axtree"), default="html", help="how pages are written (default: html)")
    env.add_argument("--dialect", choices=tuple(DIALECTS), default="webrl", help="how actions are written (default: webrl)")
    env.add_argument("--elements", choices=("id", "label"), default="id", help="how elements are addressed (default: id)")
    env.add_argument("--history", choices=get_args(History), default="compressed", help="what becomes of earlier pages")
    env.add_argument("--browser", choices=("inprocess", "chromium"), default="inprocess", help="(default: inprocess)")
    env.add_argument("--variation", choices=get_args(Variation), default="content", help="what differs from world to world")
    env.add_argument(
        "--env", action="append", default=[], metavar="NAME=JSON", help="another keyword of the env (may be repeated)"
    )
    chat = evaluate.add_argument_group("chat models", "The key is that of $OPENAI_API_KEY.")
    chat.add_argument("--base-url", metavar="URL", help="the server (default: $OPENAI_BASE_URL, else OpenAI's own)")
    chat.add_argument("--tools", action="store_true", help="give the actions as tools, and take calls as replies")
    chat.add_argument(
        "--option", action="append", default=[], metavar="NAME=JSON", help="a field of the requests, as temperature=0.5"
    )
    chat.add_argument(
        "--timeout", type=float, default=300.0, metavar="S", help="of one request, and of a program (default: 300)"
    )
    chat.add_argument("--deadline", type=float, default=900.0, metavar="S", help="of one reply, with all tries (default: 900)")
    chat.add_argument(
        "--connect-timeout", type=float, default=5.0, metavar="S", help="until a silent server counts as dead (default: 5)"
    )
    program = evaluate.add_argument_group(
        "programs", "--base-url is then that of an episode server; one is begun where none is given."
    )
    program.add_argument(
        "--mode",
        choices=("browse", "step"),
        default="browse",
        help="play by a browser of its own, or by actions (default: browse)",
    )
    evaluate.set_defaults(run=_evaluate)

    board = commands.add_parser(
        "leaderboard",
        help="check the rows of a leaderboard, and print it",
        description="Checks that figures follow from episodes, that these are all of the suite, and that their replies earn the same "
        "rewards when they are played again. Ends with status 1 when a row is not right.",
    )
    board.add_argument("folder", type=Path, help="a folder of rows, or one row")
    board.add_argument("--no-replay", dest="replay", action="store_false", help="do not play the episodes again")
    board.set_defaults(run=_leaderboard)


def _evaluate(options: argparse.Namespace) -> int:
    from webarena_gym.evaluation.session import evaluate  # noqa: PLC0415 - keeps the other commands quick to start

    return evaluate(options)


def _leaderboard(options: argparse.Namespace) -> int:
    from webarena_gym.evaluation.leaderboard import show  # noqa: PLC0415 - keeps the other commands quick to start

    return show(options.folder, with_replay=options.replay)
