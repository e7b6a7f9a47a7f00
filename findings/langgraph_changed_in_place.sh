#!/usr/bin/env bash
# langgraph 1.2.24: a node that changes its state in place, and a key that the state does not declare.
#
# Guess: a node gets a copy of the state, so that only what it returns counts, or its changes count everywhere; another key is an error.
# Seen:  a list that a node appends to is in the result of `invoke`, also in the caller's own list, but not in the checkpoint, from which
#        the next run begins. A node that is retried appends once for each try. An assignment is lost, and a returned key that is not
#        declared, such as a misspelled one, is dropped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langgraph==1.2.24 langgraph-checkpoint==4.3.2 langchain-core==1.8.3
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy


class State(TypedDict):
    actions: list
    reward: float


def graph(node, **options):
    builder = StateGraph(State)
    builder.add_node("act", node, **options)
    builder.add_edge(START, "act")
    builder.add_edge("act", END)
    return builder.compile(checkpointer=InMemorySaver())


def click(state):
    state["actions"].append("click")
    state["reward"] = 1.0
    return {"rewrad": 1.0}


config = {"configurable": {"thread_id": "episode"}}
app = graph(click)
actions = []
result = app.invoke({"actions": actions, "reward": 0.0}, config)
stored = app.get_state(config).values
print("result:", result)
print("checkpoint:", stored)
print("the caller's list:", actions)
assert result == {"actions": ["click"], "reward": 0.0}, "the behaviour has changed"
assert stored == {"actions": [], "reward": 0.0}, "the behaviour has changed"
assert actions == ["click"], "the behaviour has changed"
again = app.invoke({"reward": 0.5}, config)
print("next run of the same thread:", again)
assert again == {"actions": ["click"], "reward": 0.5}, "the behaviour has changed; one click after the first one"

tries = []


def click_with_timeouts(state):
    tries.append(1)
    state["actions"].append("click")
    if len(tries) < 3:
        raise ConnectionError("the page did not load")
    return {"reward": 1.0}


policy = RetryPolicy(max_attempts=3, initial_interval=0.01, backoff_factor=1, jitter=False)
result = graph(click_with_timeouts, retry_policy=policy).invoke({"actions": [], "reward": 0.0}, config)
print("after two retries:", result)
assert result == {"actions": ["click"] * 3, "reward": 1.0}, "the behaviour has changed"
PYTHON
