"""Prompted policies that use an OpenAI-compatible chat server, directly or as AgentOccam.

AgentOccam (Yang et al., arXiv 2410.13825, section 3) has few actions, notes, and a tree of plans. The model may click, type, select, go
back, go home, stop, take a note, branch (start a plan under another one) and prune (abandon all plans after a plan, and resume it on the page
where it started). The prompt shows only the steps of the active plan. Notes, branches and prunes take a step, as in the released code. The
env receives `noop` for notes and branches, and `goto` for a prune. The model's reply is sent to the env as the thoughts of this action, and the
state of an episode is reconstructed from the conversation at each step. Hence snapshots and forks of the env include the state.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agents.data.prompts import prompt_texts, with_system_prompt
from agents.data.workflows import WorkflowMemory
from agents.rollouts.engines import RequestPool
from agents.rollouts.policies import Policy, Reply, Request, WorkflowPrompt
from webarena_gym.actions.dialect import ANSWERS
from webarena_gym.clients.chat import ChatModel, is_context_overflow
from webarena_gym.clients.rest import RefusedError
from webarena_gym.errors import ServerError
from webarena_gym.observation import HIGHLIGHT, pivotal_text
from webarena_gym.observation.history import parse_chat
from webarena_gym.sites.catalogue import URLS

_LAST_STEP_PROMPT = "\n\nThis is the last step: use stop, with the best answer that you can give."
_TITLES = ("INTERACTION HISTORY SUMMARY", "OBSERVATION DESCRIPTION", "REASON", "ACTION", HIGHLIGHT.rstrip(":"))
_ENV_VERBS = ("click", "type", "select", "go_back", "stop")
_VERBS = (*_ENV_VERBS, "go_home", "note", "branch", "prune")
_VERB_PATTERN = re.compile(r"[a-z_]+(?![\w'])")
_PLAN_COMMAND = re.compile(r"[a-z]+ ?\[(\d+)\] ?\[(.*)\]", re.DOTALL)
_THOUGHT_START, _THOUGHT_END = "<think>\n", "\n</think>\n"
_FULL_STEPS = 3  # newest steps with pivotal nodes instead of the model's description, as in the released settings


class ChatPolicy:
    """Replies with the text of a chat model, with several concurrent requests.

    If a request fails after all attempts, the reply contains the failure. If a conversation exceeds the model's context, the reply is marked
    as too long. Whether equal seeds give equal replies depends on the server.

    Args:
        model: Name of the model on the server.
        base_url: URL of the server; the default is $OPENAI_BASE_URL, or OpenAI's own.
        api_key: Bearer token; the default is $OPENAI_API_KEY.
        system: Replaces the env's system message; None keeps it, and "" removes it.
        temperature: Sampling temperature; None uses the server's default, which some models require.
        max_new_tokens: Maximum length of a reply in tokens; None uses the server's default.
        max_requests: Maximum number of concurrent requests.
        timeout_s: Time limit of one attempt at a request, in seconds.
        deadline_s: Time limit of one reply with all attempts, in seconds. The pauses between attempts increase.
        memory: Workflows. Those of the same site with the most similar goals are added to the system message.
        chat_template_kwargs: Variables of the model's chat template, which vLLM and SGLang read from the request.

    """

    def __init__(
        self, model: str, base_url: str | None = None, api_key: str | None = None, system: str | None = None, *,
        temperature: float | None = None, max_new_tokens: int | None = None, max_requests: int = 8,
        timeout_s: float = 120.0, deadline_s: float = 600.0, memory: WorkflowMemory | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._model = ChatModel(model, base_url=base_url, api_key=api_key, timeout_s=timeout_s, deadline_s=deadline_s)
        self._system = system
        self._workflows = None if memory is None else WorkflowPrompt(memory, system)
        options = {
            "temperature": temperature,
            "max_completion_tokens": max_new_tokens,
            "chat_template_kwargs": chat_template_kwargs or None,
        }
        self._options: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        self._pool: RequestPool[tuple[int, Reply]] = RequestPool(max_requests)

    @property
    def name(self) -> str:
        """The name of the model and the server's URL."""
        return self._model.name

    def ask(self, requests: Sequence[Request]) -> None:
        for request in requests:
            env_messages = request.info["messages"]
            if self._workflows is not None:
                messages = self._workflows.messages(request)
            else:
                messages = list(env_messages) if self._system is None else with_system_prompt(env_messages, self._system)
            self._pool.submit(partial(self._reply, request.slot, messages, request.seed))

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        return self._pool.take(timeout_s)

    def close(self) -> None:
        """Cancel the requests that have not been sent, and wait for the others without further attempts."""
        self._model.stop()
        self._pool.close()

    def _reply(self, slot: int, messages: list[Mapping[str, Any]], seed: int) -> tuple[int, Reply]:
        try:
            return slot, Reply(self._model.ask(messages, seed=seed, **self._options))
        except RefusedError as error:
            return slot, Reply("", too_long=True) if is_context_overflow(error) else Reply("", failure=str(error))
        except ServerError as error:
            return slot, Reply("", failure=str(error))


@dataclass(eq=False)
class PlanNode:
    """A plan: its intent, the URL and step at which it started, its steps and notes, and its child plans."""

    number: int
    intent: str
    url: str
    step: int
    children: list["PlanNode"] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    resume_reasons: list[str] = field(default_factory=list)

    def iterate(self) -> Iterator[tuple[int, "PlanNode"]]:
        """Yield the plan and its descendants in depth-first order, each with its depth."""
        waiting = [(0, self)]
        while waiting:
            depth, plan = waiting.pop()
            yield depth, plan
            waiting += [(depth + 1, child) for child in reversed(plan.children)]


class PlanTree:
    """A tree of plans, one of which is active. The initial plan is to reach the objective. Pruned plans are removed."""

    def __init__(self, goal: str, url: str) -> None:
        self.root = self.active = PlanNode(0, f"Reach the objective: {goal}", url, 0)
        self._plan_count = 1  # number of the next plan; numbers are never reused

    def find(self, number: int) -> PlanNode | None:
        """Return the plan with this number, or None if it does not exist or was pruned."""
        return next((plan for _, plan in self.root.iterate() if plan.number == number), None)

    def branch(self, parent: PlanNode, intent: str, url: str, step: int) -> None:
        """Add a plan under another one, and make it active."""
        self.active = PlanNode(self._plan_count, intent, url, step)
        self._plan_count += 1
        parent.children.append(self.active)

    def prune(self, plan: PlanNode, reason: str) -> None:
        """Remove the notes, descendants and later siblings of a plan, and make it active. It takes over its descendants' steps."""
        plan.steps = sorted({step for _, node in plan.iterate() for step in (*node.steps, node.step)})
        plan.children.clear()
        plan.notes.clear()
        for _, parent in self.root.iterate():
            if plan in parent.children:
                del parent.children[parent.children.index(plan) + 1 :]
        plan.resume_reasons.append(reason)
        self.active = plan

    def __str__(self) -> str:
        lines = []
        for depth, plan in self.root.iterate():
            indent, marker = "\t" * depth, " (active)" if plan is self.active else ""
            reasons = "".join(f"; resumed because: {reason}" for reason in plan.resume_reasons)
            lines += [f"{indent}[{plan.number}]{marker} {plan.intent}{reasons}", *(f"{indent}- {note}" for note in plan.notes)]
        return "\n".join(lines)


class OccamEpisode:
    """The episode so far and its plans, reconstructed from the conversation in an env's `info`."""

    def __init__(self, info: Mapping[str, Any]) -> None:
        turns, self.page = parse_chat(info["goal"], info["messages"])
        self.info, self.turns = info, list(turns)
        for number, turn in enumerate(turns):
            if turn.reply.startswith(_THOUGHT_START):  # contains the model's reply
                self.turns[number] = turn._replace(reply=turn.reply.removeprefix(_THOUGHT_START).rpartition(_THOUGHT_END)[0])
        self.tree = PlanTree(info["goal"], _page_url(turns[0].page if turns else self.page))
        for step, turn in enumerate(self.turns, info["step"] - len(turns)):
            self.apply_reply(turn.reply, _page_url(turn.page), step)

    def apply_reply(self, text: str, url: str, step: int) -> str:
        """Apply the notes, branch or prune of a reply on the page at `url`, and return its action in the env's dialect.

        If the reply is invalid, a note about it is added to the active plan, and the action is "noop".
        """
        (_, notes, actions), tree = parse_reply(text), self.tree
        tree.active.notes += [f"Step {step}: {note}" for note in notes]
        if not actions and notes:
            tree.active.steps.append(step)
            return "noop"
        verb = _action_verb(actions[0]) if len(actions) == 1 else ""
        if verb in ("branch", "prune"):
            return self._edit_plans(verb, actions[0], url, step)
        tree.active.steps.append(step)
        if verb == "go_home":
            return f"goto [{URLS['__HOMEPAGE__']}]"
        if verb:
            return actions[0]
        problem = f"{len(actions)} actions" if actions else "no action"
        tree.active.notes.append(f"Step {step}: the reply had {problem}; expected exactly one of {', '.join(_VERBS)}")
        return "noop"

    def build_messages(self, max_steps: int) -> list[dict[str, str]]:
        """Return the messages of the prompt for the next reply. `max_steps` is the episode's step limit."""
        step, system = int(self.info["step"]), prompt_texts()["occam"].format(highlight=HIGHLIGHT, answers=ANSWERS)
        history = "\n".join(
            self._describe_step(number) for number in self.tree.active.steps if number >= step - len(self.turns)
        )
        parts = {
            "STEP": f"{step + 1} of {max_steps}", "OBJECTIVE": self.info["goal"], "PLANS": str(self.tree),
            "INTERACTION HISTORY": history or "none under this plan", "CURRENT OBSERVATION": self.page,
        }  # fmt: skip
        return [
            {"role": "system", "content": system + _LAST_STEP_PROMPT * (step + 1 >= max_steps)},
            {"role": "user", "content": "\n\n".join(f"{title}:\n{text}" for title, text in parts.items())},
        ]

    def wrap_reply(self, text: str) -> str:
        """Return the reply to the env: the model's text as thoughts, and its action."""
        action = self.apply_reply(text, _page_url(self.page), int(self.info["step"]))
        return f"{_THOUGHT_START}{text}{_THOUGHT_END}{action}"

    def _edit_plans(self, verb: str, command: str, url: str, step: int) -> str:
        tree = self.tree
        match = _PLAN_COMMAND.fullmatch(command)
        plan = tree.find(int(match[1])) if match and len(match[1]) < 9 else None
        if match is None or plan is None:
            numbers = ", ".join(str(node.number) for _, node in tree.root.iterate())
            tree.active.notes.append(
                f"Step {step}: cannot do {command[:80]!r}; expected {verb} [plan] [text], with one of the plans {numbers}"
            )
            return "noop"
        if verb == "branch":
            tree.branch(plan, match[2].strip(), url, step)
            return "noop"
        tree.prune(plan, match[2].strip())
        return f"goto [{plan.url}]" if plan.url else "noop"

    def _describe_step(self, step: int) -> str:
        """Return the description of a step of the active plan in the prompt."""
        turn = self.turns[step - int(self.info["step"]) + len(self.turns)]
        parts, _, _ = parse_reply(turn.reply)
        latest = step in self.tree.active.steps[-_FULL_STEPS:]
        observation = pivotal_text(turn.page, turn.reply) if latest else parts.get("OBSERVATION DESCRIPTION", "")
        parts_shown = {"OBSERVATION": observation, "REASON": parts.get("REASON", ""), "ACTION": parts["ACTION"]}
        return "\n".join([f"Step {step + 1}", *(f"{title}: {text}" for title, text in parts_shown.items() if text)])


class OccamPolicy:
    """Plays as AgentOccam with the replies of a chat policy, which must keep the system messages of its requests.

    The prompt is a system message and one message with the state of the episode. `max_steps` is the step limit of an episode, which the
    prompt contains.
    """

    def __init__(self, chat: Policy, max_steps: int) -> None:
        self._chat = chat
        self._max_steps = max_steps
        self._pending: dict[int, OccamEpisode] = {}  # episodes of pending requests, by slot

    def ask(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._pending[request.slot] = OccamEpisode(request.info)
        self._chat.ask([
            request._replace(info={**request.info, "messages": self._pending[request.slot].build_messages(self._max_steps)})
            for request in requests
        ])  # fmt: skip

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        replies = []
        for slot, reply in self._chat.replies(timeout_s):
            episode = self._pending.pop(slot)
            is_complete = not (reply.failure or reply.too_long)
            replies.append((slot, reply._replace(text=episode.wrap_reply(reply.text)) if is_complete else reply))
        return replies

    def close(self) -> None:
        self._chat.close()


def parse_reply(text: str) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the parts of a reply by title, its notes, and its other actions. A reply without titles is an action."""
    parts: dict[str, list[str]] = {}
    title = ""
    for line in text.rpartition("</think>")[2].splitlines():
        stripped = line.strip(" *#")
        new_title = next((name for name in _TITLES if stripped.upper().startswith(f"{name}:")), "")
        if new_title:
            title, line = new_title, stripped[len(new_title) + 1 :].lstrip("* ")  # noqa: PLW2901 - the rest of the line
        parts.setdefault(title, []).append(line)
    text_by_title = {name: "\n".join(lines).strip() for name, lines in parts.items()}
    text_by_title.setdefault("ACTION", text_by_title.get("", ""))
    commands: list[str] = []  # each starts on a new line and includes the following lines
    for line in text_by_title["ACTION"].splitlines():
        stripped = line.strip(" `*")
        if _action_verb(stripped):
            commands.append(stripped)
        elif commands and stripped:
            commands[-1] += f"\n{stripped}"
    notes = [command.removeprefix("note").strip(" []") for command in commands if _action_verb(command) == "note"]
    return text_by_title, notes, [command for command in commands if _action_verb(command) != "note"]


def _action_verb(text: str) -> str:
    """Return the verb at the start of a text, or "" if it is not a verb of the agent."""
    match = _VERB_PATTERN.match(text)
    return match[0] if match and match[0] in _VERBS and text[match.end() :].lstrip(" ")[:1] in ("", "[") else ""


def _page_url(page: str) -> str:
    return next((line.removeprefix("URL: ") for line in page.split("\n") if line.startswith("URL: ")), "")
