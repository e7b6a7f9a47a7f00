"""Fixtures of the tests of the command evaluate."""

import json
import sys

import pytest

from tests.chat_server import serving_chat
from webarena_gym.suite import load as load_tasks
from webarena_gym.tools.cli import main

TASKS = load_tasks("test")[:4]
FEW = ("--limit", "6", "--elements", "label", "--json")


@pytest.fixture
def evaluate(capsys, tmp_path):
    """Run the command; return its status, its figures and what it said on both outputs."""

    def run_command(*arguments, folder="."):
        status = main(["evaluate", "--out", str(tmp_path / folder / "run"), *FEW, *map(str, arguments)])
        printed = capsys.readouterr()
        last = printed.out.splitlines()[-1] if printed.out else ""
        return status, json.loads(last) if last.startswith("{") else None, printed.out + printed.err

    return run_command


def chat(address, *arguments):
    return "--agent", "chat:good", "--base-url", address, *arguments


@pytest.fixture
def chatted(evaluate):
    """Run the command with a model of that endpoint; return what `evaluate` does, and what the endpoint was asked."""

    def run_command(*arguments, folder=".", **endpoint):
        with serving_chat(**endpoint) as (server, address):
            return *evaluate(*chat(address, *arguments), folder=folder), server.requests

    return run_command


AGENT = """
from webarena_gym.evaluation.agents import Reply

def leave(observation, info):
    assert info["goal"] in observation
    return 'exit(message="")'

def broken(observation, info):
    raise RuntimeError("out of ideas")

def silent(observation, info):
    return None

def narrow(observation):
    return ""

def paid(observation, info):
    return Reply("", cost=-1e9)

def vague(observation, info):
    return "hello"

class Counting:
    made = 0
    def __init__(self):
        type(self).made += 1
        self.episodes = 0
    def reset(self):
        self.episodes += 1
    def __call__(self, observation, info):
        if info["step"] == 0:
            return Reply('go_backward()', 7, 2, 0.5)
        return Reply('exit(message="%d of %d")' % (self.episodes, self.made), 9)

class Unmakeable:
    def __init__(self):
        raise OSError("no model here")

class Uncallable:
    pass

number = 3
"""


@pytest.fixture
def agent(tmp_path):
    path = tmp_path / "my_agent.py"
    path.write_text(AGENT)
    yield f"{path}:"
    sys.modules.pop("my_agent", None)


RECORD = {"task_id": "a/1/0", "repeat": 0, "sites": ["shopping"], "checks": ["state"], "ending": "exited", "reward": 1.0}
