"""The commands `webarena-gym evaluate` and `webarena-gym leaderboard`."""

import argparse
import os

from webarena_gym import suite as task_suite
from webarena_gym.console import Commands, decimal, existing_path, integer, validated_by, writable_path
from webarena_gym.options import add_options, add_source
from webarena_gym.sites.world import LARGEST_SEED

world_seed = integer(-LARGEST_SEED, LARGEST_SEED)
"""Parser of the option value of a world seed."""


_DESCRIPTION = """\
Score an agent: play each task, print success rates, and write the episodes and the results to a folder.
The same command resumes an interrupted run.

An agent is one of:
  my_agent.py:agent           a function in a file, called with (observation, info); it returns the reply as text
  my_package.my_module:agent  a function in a module
  chat:MODEL                  a model on an OpenAI-compatible server
  command:PROGRAM ARGUMENTS   a program in any language that plays over HTTP
  expert                      the reference solutions
  random                      random actions

Exit status: 0 if every episode was judged, 1 if some were not, 2 for invalid input."""


def add_templates(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add the option --template, with its help text."""
    parser.add_argument(
        "--template", type=validated_by(lambda name: task_suite.select_templates([name])), nargs="+", action="extend", metavar="NAME",
        help=meaning,
    )  # fmt: skip


def add_fresh_worlds(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the option --fresh-worlds, the number of additional worlds. `verb` is the action of the command, for the help."""
    parser.add_argument(
        "--fresh-worlds",
        type=integer(0, 1000),
        default=0,
        metavar="K",
        help=f"also {verb} the templates in K newly generated worlds",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the options --jobs and --json."""
    parser.add_argument(
        "--jobs",
        type=integer(1),
        default=os.cpu_count(),
        metavar="N",
        help="number of parallel processes (default: one per core)",
    )
    parser.add_argument("--json", action="store_true", help="also print the results as one JSON object on the last line")


def add_walks(parser: argparse.ArgumentParser, steps: int) -> None:
    """Add the options of random walks."""
    parser.add_argument(
        "--steps",
        "--states",
        type=integer(1),
        default=steps,
        metavar="N",
        help="number of random actions; --states is an alias (default: %(default)s)",
    )
    parser.add_argument(
        "--destructive",
        action="store_true",
        help="prefer actions that delete, cancel or edit, in long episodes of the in-process browser",
    )
    parser.add_argument("--seed", type=integer(0), default=0, metavar="N", help="random seed of the actions (default: 0)")


def add_commands(commands: Commands) -> None:
    """Add both commands to the subparsers of a command line. The default `run` of each is a function that returns the exit status."""
    evaluate = commands.add_parser(
        "evaluate",
        help="score an agent: a Python function, a chat model or a program",
        description=_DESCRIPTION,
        examples=[
            "--agent expert --limit 20",
            "--agent chat:MODEL --base-url http://localhost:8000/v1 --tools",
            "--agent my_agent.py:agent --elements label --split validation",
            "--agent my_agent.py:agent --elements label --application my-app",
        ],
    )
    add = evaluate.add_argument
    add(
        "--agent",
        required=True,
        help="the agent, in one of the forms above",
    )
    splits = ", ".join(task_suite.SPLITS)
    add(
        "--split", metavar="SPLIT",
        help=f"set of tasks to play: {splits}; or a split of --suite (default: test). Use validation while you develop",
    )  # fmt: skip
    add(
        "--template",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="only tasks of these templates, such as shopping.cart_add",
    )
    add(
        "--limit",
        type=integer(1),
        metavar="N",
        help="play only N tasks: a random sample, which depends only on --seed (0 by default)",
    )
    add(
        "--tasks",
        type=existing_path(),
        metavar="FILE",
        help="play the tasks of this file, in WebArena's JSON schema, instead of a split",
    )
    add(
        "--world-seed", type=world_seed, metavar="SEED",
        help="generate tasks of the split's templates in this world, instead of loading those of the split. With --tasks: world of the tasks "
        "whose file names none",
    )  # fmt: skip
    add_options(evaluate, "scale")
    add_fresh_worlds(evaluate, "play")
    add_source(
        evaluate,
        ". Plays the tasks of its task file, and as many tasks of each of its templates as its key `draws` sets (default: 3), drawn with seed "
        "0. With --world-seed, only tasks drawn from the templates with that seed",
    )
    add("--repeats", type=integer(1, 10_000), default=1, metavar="K", help="play each task K times, for pass@k and pass^k")
    add("--seed", type=integer(0), default=0, metavar="N", help="random seed (default: 0)")
    add(
        "--jobs", type=integer(1, 1000), metavar="N",
        help="number of parallel episodes (default: 8 for a chat model, 4 for a program, else 1)",
    )  # fmt: skip
    add(
        "--out",
        type=writable_path("folder"),
        metavar="FOLDER",
        help="folder for episodes.jsonl and result.json (default: runs/evaluate/AGENT-SPLIT, AGENT-APPLICATION, or AGENT-FILE with --tasks). The default is the same "
        "for all other settings, so pass --out to keep several runs",
    )
    add("--fresh", action="store_true", help="discard the episodes in the folder and play all again")
    add("--json", action="store_true", help="also print the results as one JSON object on the last line")
    env = evaluate.add_argument_group("environment")
    add = env.add_argument
    add(
        "--max-steps", type=integer(1), metavar="N",
        help="steps per episode (default: 30, as in the paper; 60 for the hard split)",
    )  # fmt: skip
    add(
        "--step-budget", type=decimal(above=0), metavar="X",
        help="also end an episode after X times the steps of the reference solution, for example 1.5; the goal states the limit",
    )  # fmt: skip
    add_options(env, "observation", "dialect", "elements", "history", "browser", "variation", has_pictures=True)
    add(
        "--env",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="another keyword of the environment, such as window=2000 (may be repeated)",
    )
    add = evaluate.add_argument_group("chat models", "The API key is read from $OPENAI_API_KEY.").add_argument
    add(
        "--base-url",
        metavar="URL",
        help="address of the server, such as http://localhost:8000/v1 (default: $OPENAI_BASE_URL, otherwise OpenAI's)",
    )
    add("--tools", action="store_true", help="offer the actions to the model as tools, and accept tool calls as replies")
    add(
        "--option",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help='another field of each request, such as temperature=0.5 or chat_template_kwargs={"enable_thinking": false} (may be repeated)',
    )
    add(
        "--too-long",
        choices=("failed", "lost"),
        default="failed",
        help="result of an episode whose prompt or reply is probably too long for the model: failed (not counted) or lost (reward 0). It is lost "
        "in any case if the server states that the prompt is too long",
    )
    limits = "In seconds, of chat models and programs."
    add = evaluate.add_argument_group("time limits", limits).add_argument
    add(
        "--timeout", type=decimal(above=0), default=300.0, metavar="S",
        help="time limit of one request, and of a program (default: 300)",
    )  # fmt: skip
    add(
        "--deadline", type=decimal(above=0), default=900.0, metavar="S",
        help="time limit of one reply of a chat model with all retries (default: 900)",
    )  # fmt: skip
    add(
        "--connect-timeout", type=decimal(above=0), default=5.0, metavar="S",
        help="time after which a server without a response counts as unreachable (default: 5)",
    )  # fmt: skip
    programs = "--base-url is the address of an episode server, with its token in $WEBARENA_GYM_TOKEN. Without it, the command starts one."
    add = evaluate.add_argument_group("programs", programs).add_argument
    add(
        "--mode",
        choices=("browse", "step"),
        default="browse",
        help="browse: the program uses its own browser; step: it sends actions",
    )
    evaluate.set_defaults(run=_evaluate)

    board = commands.add_parser(
        "leaderboard",
        help="verify submitted results and print a table of them",
        description="Verify results and print them as a table. A result is a folder that `evaluate` wrote. Its figures must follow from its "
        "episodes, no episode may be missing, and replaying their actions must give the same rewards. Exit status 1 if a result is wrong.",
        examples=["runs/evaluate", "runs/evaluate/expert-test --no-replay"],
    )
    board.add_argument(
        "folder",
        type=existing_path("folder"),
        metavar="FOLDER",
        help="a folder that `evaluate` wrote, or a folder of such folders",
    )
    board.add_argument("--no-replay", dest="replay", action="store_false", help="skip the replay of the episodes")
    board.set_defaults(run=_leaderboard)


def _evaluate(options: argparse.Namespace) -> int:
    from webarena_gym.evaluation.runner import run_command  # noqa: PLC0415 - keeps the start of other commands fast

    return run_command(options)


def _leaderboard(options: argparse.Namespace) -> int:
    from webarena_gym.evaluation.leaderboard import print_leaderboard  # noqa: PLC0415 - keeps the start of other commands fast

    return print_leaderboard(options.folder, with_replay=options.replay)
