"""Policies that ask a chat model behind any endpoint of OpenAI's chat protocol: plainly, or as AgentOccam. They are prompted, not trained.

AgentOccam (Yang et al., arXiv 2410.13825, section 3) has few actions, notes, and a tree of plans. The model may click, type, select, go
back, go home, stop, take a note, branch (begin a plan under another) and prune (give up what came after a plan, and resume it on the page
where it began). Only the steps of the active plan are shown to it. Notes, branches and prunes take a step, as in the released code: they
reach the env as `noop`, and a prune as `goto`. The model's reply stays in the reply that the env gets, as its thoughts, and the state of an
episode is read anew from the conversation at each step. So a snapshot or a fork of the env holds it all.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agents.data.prompts import prompt_texts, with_system_prompt, with_workflows
from agents.data.workflows import WorkflowMemory
from agents.rollouts.engines import RequestPool
from agents.rollouts.policies import Policy, Reply, Request
from webarena_gym.actions.dialect import ANSWERS
from webarena_gym.errors import ServerError
from webarena_gym.observation import HIGHLIGHT, pivotal_text
from webarena_gym.observation.history import parse_chat
from webarena_gym.servers.chat import ChatModel, is_context_overflow
from webarena_gym.servers.rest import RefusedError
from webarena_gym.sites.catalogue import URLS

_WORKFLOWS = 3  # given to an episode
_LAST = "\n\nThis is the last step: use stop, with the best answer that you can give."
_TITLES = ("INTERACTION HISTORY SUMMARY", "OBSERVATION DESCRIPTION", "REASON", "ACTION", HIGHLIGHT.rstrip(":"))
_PASSED_ON = ("click", "type", "select", "go_back", "stop")
_VERBS = (*_PASSED_ON, "go_home", "note", "branch", "prune")
_VERB = re.compile(r"[a-z_]+(?![\w'])")
_PLANNED = re.compile(r"[a-z]+ ?\[(\d+)\] ?\[(.*)\]", re.DOTALL)
_THOUGHT, _ACTED = "<think>\n", "\n</think>\n"
_WHOLE = 3  # of the latest steps the pivotal nodes are shown, of others the description, as in the released settings


class ChatPolicy:
    """Replies with the text of a chat model, several requests at once.

    A request that fails after all attempts gives a reply with its failure. A conversation that does not fit the model gives a reply
    that is marked as too long. Whether equal seeds give equal replies depends on the server.

    Args:
        model: the model's name on the server.
        base_url: the endpoint's address; by default $OPENAI_BASE_URL, else OpenAI's own.
        api_key: sent as the bearer token; by default $OPENAI_API_KEY.
        system: replaces the env's system message; None keeps the env's, "" removes it.
        temperature: of sampling; None leaves it to the server, which some models require.
        max_new_tokens: longest reply; None leaves it to the server.
        max_requests: how many requests are on the server at once.
        timeout_s: how long one attempt at a request may take.
        deadline_s: how long one reply may take with all attempts; the pauses between them grow.
        memory: workflows, of which those of the site and of goals most alike are added to the system message.

    """

    def __init__(
        self, model: str, base_url: str | None = None, api_key: str | None = None, system: str | None = None, *,
        temperature: float | None = None, max_new_tokens: int | None = None, max_requests: int = 8,
        timeout_s: float = 120.0, deadline_s: float = 600.0, memory: WorkflowMemory | None = None,
    ) -> None:  # fmt: skip
        self._model = ChatModel(model, base_url=base_url, api_key=api_key, timeout_s=timeout_s, deadline_s=deadline_s)
        self._system = system
        self._memory = memory
        self._remembered: dict[int, str] = {}  # by slot, what its episode was with_workflows of
        wanted = {"temperature": temperature, "max_completion_tokens": max_new_tokens}
        self._options: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        self._pool: RequestPool[tuple[int, Reply]] = RequestPool(max_requests)

    @property
    def name(self) -> str:
        """The model's name and its endpoint."""
        return self._model.name

    def ask(self, requests: Sequence[Request]) -> None:
        for request in requests:
            said = request.info["messages"]
            messages = list(said) if self._system is None else with_system_prompt(said, self._system)
            if self._memory is not None:
                if request.info["step"] == 0 or request.slot not in self._remembered:  # found on its first page
                    found = self._memory.find(request.info["goal"], request.info["page"], _WORKFLOWS)
                    self._remembered[request.slot] = "\n\n".join(map(str, found))
                messages = with_workflows(messages, self._remembered[request.slot])
            self._pool.submit(partial(self._reply, request.slot, messages, request.seed))

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        return self._pool.take(timeout_s)

    def close(self) -> None:
        """Cancel the requests that have not been sent and wait for the others, without further attempts."""
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
class Plan:
    """A node of the tree of plans: where and when it began, the steps that were taken under it, and what was noted there."""

    number: int
    intent: str
    url: str
    step: int
    children: list["Plan"] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)  # for which reasons

    def walk(self) -> Iterator[tuple[int, "Plan"]]:
        """Yield the plan and all under it, each with its depth."""
        waiting = [(0, self)]
        while waiting:
            depth, plan = waiting.pop()
            yield depth, plan
            waiting += [(depth + 1, child) for child in reversed(plan.children)]


class PlanTree:
    """Plans, one of which is active: at first the objective alone. What was pruned is not in the tree."""

    def __init__(self, goal: str, url: str) -> None:
        self.root = self.active = Plan(0, f"Reach the objective: {goal}", url, 0)
        self._begun = 1  # plans so far; no two have the same number

    def find(self, number: int) -> Plan | None:
        """Return the plan with that number, unless there is none or it was pruned."""
        return next((plan for _, plan in self.root.walk() if plan.number == number), None)

    def branch(self, parent: Plan, intent: str, url: str, step: int) -> None:
        """Begin a plan under another, and make it the active one."""
        self.active = Plan(self._begun, intent, url, step)
        self._begun += 1
        parent.children.append(self.active)

    def prune(self, plan: Plan, reason: str) -> None:
        """Give up what came after a plan, that is, all under it and its later siblings, and resume it. It takes over the steps that were taken there."""
        plan.steps = sorted({step for _, each in plan.walk() for step in (*each.steps, each.step)})
        plan.children.clear()
        plan.notes.clear()
        for _, parent in self.root.walk():
            if plan in parent.children:
                del parent.children[parent.children.index(plan) + 1 :]
        plan.resumed.append(reason)
        self.active = plan

    def __str__(self) -> str:
        lines = []
        for depth, plan in self.root.walk():
            indent, mark = "\t" * depth, " (active)" if plan is self.active else ""
            resumed = "".join(f"; resumed because: {reason}" for reason in plan.resumed)
            lines += [f"{indent}[{plan.number}]{mark} {plan.intent}{resumed}", *(f"{indent}- {note}" for note in plan.notes)]
        return "\n".join(lines)


class OccamEpisode:
    """An episode so far, with its plans, as the conversation in the info of an env tells it."""

    def __init__(self, info: Mapping[str, Any]) -> None:
        turns, self.page = parse_chat(info["goal"], info["messages"])
        self.info, self.turns = info, list(turns)
        for number, turn in enumerate(turns):
            if turn.reply.startswith(_THOUGHT):  # what the model said is in the reply that was sent to the env
                self.turns[number] = turn._replace(reply=turn.reply.removeprefix(_THOUGHT).rpartition(_ACTED)[0])
        self.tree = PlanTree(info["goal"], _url(turns[0].page if turns else self.page))
        for step, turn in enumerate(self.turns, info["step"] - len(turns)):
            self.take(turn.reply, _url(turn.page), step)

    def take(self, text: str, url: str, step: int) -> str:
        """Change the plans as a reply says that is given on the page at `url`; return its action in the env's dialect.

        What cannot be done is noted at the active plan, and the env does nothing.
        """
        (_, notes, actions), tree = read_reply(text), self.tree
        tree.active.notes += [f"Step {step}: {note}" for note in notes]
        if not actions and notes:
            tree.active.steps.append(step)
            return "noop"
        verb = _verb(actions[0]) if len(actions) == 1 else ""
        if verb in ("branch", "prune"):
            return self._plan(verb, actions[0], url, step)
        tree.active.steps.append(step)
        if verb == "go_home":
            return f"goto [{URLS['__HOMEPAGE__']}]"
        if verb:
            return actions[0]
        found = f"{len(actions)} actions" if actions else "no action"
        tree.active.notes.append(f"Step {step}: the reply had {found}; expected exactly one of {', '.join(_VERBS)}")
        return "noop"

    def messages(self, max_steps: int) -> list[dict[str, str]]:
        """Return the chat that leads to the next reply."""
        step, system = int(self.info["step"]), prompt_texts()["occam"].format(highlight=HIGHLIGHT, answers=ANSWERS)
        history = "\n".join(self._told(number) for number in self.tree.active.steps if number >= step - len(self.turns))
        parts = {
            "STEP": f"{step + 1} of {max_steps}", "OBJECTIVE": self.info["goal"], "PLANS": str(self.tree),
            "INTERACTION HISTORY": history or "none under this plan", "CURRENT OBSERVATION": self.page,
        }  # fmt: skip
        return [
            {"role": "system", "content": system + _LAST * (step + 1 >= max_steps)},
            {"role": "user", "content": "\n\n".join(f"{title}:\n{text}" for title, text in parts.items())},
        ]

    def reply(self, text: str) -> str:
        """Return the reply to the env that does what the model's text says, and holds the text."""
        action = self.take(text, _url(self.page), int(self.info["step"]))
        return f"{_THOUGHT}{text}{_ACTED}{action}"

    def _plan(self, verb: str, written: str, url: str, step: int) -> str:
        tree = self.tree
        match = _PLANNED.fullmatch(written)
        plan = tree.find(int(match[1])) if match and len(match[1]) < 9 else None
        if match is None or plan is None:
            numbers = ", ".join(str(each.number) for _, each in tree.root.walk())
            tree.active.notes.append(
                f"Step {step}: cannot do {written[:80]!r}; expected {verb} [plan] [text], with one of the plans {numbers}"
            )
            return "noop"
        if verb == "branch":
            tree.branch(plan, match[2].strip(), url, step)
            return "noop"
        tree.prune(plan, match[2].strip())
        return f"goto [{plan.url}]" if plan.url else "noop"

    def _told(self, step: int) -> str:
        """Return what is told of a step of the active plan."""
        turn = self.turns[step - int(self.info["step"]) + len(self.turns)]
        parts, _, _ = read_reply(turn.reply)
        latest = step in self.tree.active.steps[-_WHOLE:]
        shown = pivotal_text(turn.page, turn.reply) if latest else parts.get("OBSERVATION DESCRIPTION", "")
        told = {"OBSERVATION": shown, "REASON": parts.get("REASON", ""), "ACTION": parts["ACTION"]}
        return "\n".join([f"Step {step + 1}", *(f"{title}: {text}" for title, text in told.items() if text)])


class OccamPolicy:
    """Plays as AgentOccam with the replies of a chat policy, which keeps the system messages of its requests.

    It is asked with a conversation in which the last message holds everything. `max_steps` is an episode's, which the model is told.
    """

    def __init__(self, chat: Policy, max_steps: int) -> None:
        self._chat = chat
        self._max_steps = max_steps
        self._asked: dict[int, OccamEpisode] = {}  # by slot, of the requests that are under way

    def ask(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._asked[request.slot] = OccamEpisode(request.info)
        self._chat.ask([
            request._replace(info={**request.info, "messages": self._asked[request.slot].messages(self._max_steps)})
            for request in requests
        ])  # fmt: skip

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        done = []
        for slot, reply in self._chat.replies(timeout_s):
            episode = self._asked.pop(slot)
            is_said = not (reply.failure or reply.too_long)
            done.append((slot, reply._replace(text=episode.reply(reply.text)) if is_said else reply))
        return done

    def close(self) -> None:
        self._chat.close()


def read_reply(text: str) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the parts of a reply by their titles, its notes, and its other actions. Without titles, all of it is the action."""
    parts: dict[str, list[str]] = {}
    title = ""
    for line in text.rpartition("</think>")[2].splitlines():
        bare = line.strip(" *#")
        found = next((each for each in _TITLES if bare.upper().startswith(f"{each}:")), "")
        if found:
            title, line = found, bare[len(found) + 1 :].lstrip("* ")  # noqa: PLW2901 - the rest of the line
        parts.setdefault(title, []).append(line)
    whole = {name: "\n".join(lines).strip() for name, lines in parts.items()}
    whole.setdefault("ACTION", whole.get("", ""))
    commands: list[str] = []  # each begins on a line of its own and has the lines that follow
    for line in whole["ACTION"].splitlines():
        bare = line.strip(" `*")
        if _verb(bare):
            commands.append(bare)
        elif commands and bare:
            commands[-1] += f"\n{bare}"
    notes = [each.removeprefix("note").strip(" []") for each in commands if _verb(each) == "note"]
    return whole, notes, [each for each in commands if _verb(each) != "note"]


def _verb(text: str) -> str:
    """Return the verb that a text begins with; "" if that is none of the agent's."""
    match = _VERB.match(text)
    return match[0] if match and match[0] in _VERBS and text[match.end() :].lstrip(" ")[:1] in ("", "[") else ""


def _url(page: str) -> str:
    return next((line.removeprefix("URL: ") for line in page.split("\n") if line.startswith("URL: ")), "")
