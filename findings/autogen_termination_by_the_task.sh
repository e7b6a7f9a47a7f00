#!/usr/bin/env bash
# autogen-agentchat 0.7.5: conditions that end a team's run.
#
# Guess: `TextMentionTermination("TERMINATE")` and `MaxMessageTermination(3)` look at the messages of the agents.
# Seen:  both look at the task as well: a task that asks for the word ends the run before any agent is called, and three messages are two
#        replies. The word is searched as a part of others: "UNDONE" ends a run that waits for "DONE".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet autogen-agentchat==0.7.5 autogen-ext==0.7.5 autogen-core==0.7.5
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.replay import ReplayChatCompletionClient


def replies(task, condition, texts):
    """Run a team of one agent, whose model returns the texts, and return the agent's replies."""
    agent = AssistantAgent("agent", ReplayChatCompletionClient(texts))
    team = RoundRobinGroupChat([agent], termination_condition=condition, max_turns=len(texts))
    result = asyncio.run(team.run(task=task))
    return [message.content for message in result.messages if message.source == "agent"]


WORK = ["I search.", "I click.", "I compare.", "I answer: 5. TERMINATE"]
CASES = (
    ("Find the price. Say TERMINATE when you are done.", TextMentionTermination("TERMINATE"), WORK, []),
    ("Find the price. Say TERMINATE when you are done.", TextMentionTermination("TERMINATE", sources=["agent"]), WORK, WORK),
    ("Find the price.", MaxMessageTermination(3), WORK, WORK[:2]),
    ("Find the price.", MaxMessageTermination(1), WORK, []),
    ("Find the price.", TextMentionTermination("DONE"), ["Two tasks are UNDONE.", "I click.", "DONE"], ["Two tasks are UNDONE."]),
)
for task, condition, texts, expected in CASES:
    seen = replies(task, condition, texts)
    print(f"{type(condition).__name__}, task {task!r}: {len(seen)} of {len(texts)} replies {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
