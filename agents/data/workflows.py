"""Workflows: action sequences of solved tasks with task-specific names masked, reused for other tasks of the same site.

After Agent Workflow Memory (Wang et al., arXiv 2409.07429): workflows are induced from successful episodes, offline from recorded
episodes or online from the agent's own, and added to the agent's prompt. Like the paper's rule-based induction, this one keeps one of
the episodes with equal action sequences, and drops invalid steps. Names are found by a rule: words of the goal that are capitalized
within a sentence, contain a digit, or are longer words of a quotation or an address.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from agents.data.trajectories import Trajectory, action_of
from webarena_gym.actions import Action, Kind

NAME = "<name>"
_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r'"([^"]*)"')
_JOINT = re.compile(r"[^\W_][/@_-][^\W_]")  # joins the parts of project paths, accounts and addresses
_MIN_SIMILARITY = 0.4  # smallest Jaccard similarity of two goals for a workflow to be used


class WorkflowStep(NamedTuple):
    """An action with names masked: its kind, the label of its element, and the typed text, chosen option or answer."""

    kind: str
    label: str = ""
    argument: str = ""

    def __str__(self) -> str:
        """Return the step as a line of a prompt."""
        return self.kind + (f' "{self.label}"' if self.label else "") + (f" with {self.argument}" if self.argument else "")


@dataclass(frozen=True)
class Workflow:
    """A goal with names masked, the site of the episode's first page, and the steps that reached the goal."""

    goal: str
    site: str
    deeds: tuple[WorkflowStep, ...]

    def __str__(self) -> str:
        """Return the workflow as a paragraph of a prompt."""
        return "\n".join([f"To do: {self.goal}", *(f"{number}. {step}" for number, step in enumerate(self.deeds, 1))])


@dataclass
class WorkflowMemory:
    """Distinct workflows; the most recently added come last.

    Attributes:
        workflows: the workflows, from the oldest to the newest.

    """

    workflows: list[Workflow] = field(default_factory=list)

    def add(self, trajectories: Iterable[Trajectory]) -> None:
        """Add the workflows of the successful episodes."""
        for item in trajectories:
            workflow = induce_workflow(item) if item.reward == 1 and item.ending != "failed" else None
            if workflow is not None:
                self.workflows = [*(existing for existing in self.workflows if existing != workflow), workflow]

    def find(self, goal: str, page: str, max_count: int = 1) -> list[Workflow]:
        """Return up to `max_count` workflows of the page's site with the most similar goals, the best first; newer ones win ties."""
        query, site = words_in(mask_names(goal, names_of(goal))), site_of(page)
        goals = [(index, words_in(workflow.goal)) for index, workflow in enumerate(self.workflows) if workflow.site == site]
        similarities = [(len(query & words) / max(len(query | words), 1), index) for index, words in goals]
        best = sorted((pair for pair in similarities if pair[0] >= _MIN_SIMILARITY), reverse=True)[:max_count]
        return [self.workflows[index] for _, index in best]

    def save(self, path: Path) -> None:
        """Write the workflows as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps([asdict(workflow) for workflow in self.workflows], ensure_ascii=False, indent=1), encoding="utf-8"
        )


def load_workflows(path: Path) -> WorkflowMemory:
    """Read a file of workflows. Raises ValueError for any other file."""
    try:
        records: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return WorkflowMemory([
            Workflow(record["goal"], record["site"], tuple(WorkflowStep(*step) for step in record["deeds"])) for record in records
        ])  # fmt: skip
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{path} contains no workflows ({error!r}); expected a file written by python -m agents.workflows"
        ) from error


def induce_workflow(trajectory: Trajectory) -> Workflow | None:
    """Return the workflow of an episode; None if it has no valid step."""
    names = names_of(trajectory.goal)
    steps: list[WorkflowStep] = []
    for step in trajectory.steps:
        action = action_of(step.reply)
        if action is not None and not step.action_error:
            steps.append(workflow_step(action, label_of(step.page, action.element), names))
    if not steps:
        return None
    return Workflow(mask_names(trajectory.goal, names), site_of(trajectory.steps[0].page), tuple(steps))


def workflow_step(action: Action, label: str, names: frozenset[str]) -> WorkflowStep:
    """Return the workflow step of an action on the element with this label.

    Names are masked. A typed text or answer is replaced by NAME if it contains a name, and by "<text>" otherwise.
    """
    argument = action.argument or ""
    masked_argument = mask_names(argument, names)
    is_literal = action.kind is Kind.SELECT or argument in ("", "N/A", "Yes", "No")
    if masked_argument != NAME and not is_literal:
        masked_argument = NAME if NAME in masked_argument else "<text>"
    return WorkflowStep(str(action.kind), mask_names(label, names), masked_argument)


def next_step(workflow: Workflow, previous_steps: Sequence[WorkflowStep]) -> WorkflowStep | None:
    """Return the workflow's next step after those `previous_steps` that follow its order; None at its end."""
    index = 0
    for step in previous_steps:
        if index < len(workflow.deeds) and is_same_step(step, workflow.deeds[index]):
            index += 1
    return workflow.deeds[index] if index < len(workflow.deeds) else None


def is_same_step(first: WorkflowStep, second: WorkflowStep) -> bool:
    """Return True if two steps have the same kind, label and option. Of answers, only their presence is compared."""
    return comparison_key(first) == comparison_key(second)


def comparison_key(step: WorkflowStep) -> WorkflowStep:
    """Return the step without the parts that `is_same_step` ignores: typed texts, and answers other than "N/A"."""
    if step.kind == Kind.EXIT:
        return step if step.argument in ("", "N/A") else step._replace(argument="<text>")
    return step if step.kind == Kind.SELECT else step._replace(argument="")


def names_of(goal: str) -> frozenset[str]:
    """Return the words of a goal that are names, in lower case.

    >>> sorted(names_of('Set the price of the Blue Mug to 12. Then add "free" to it.'))
    ['12', 'blue', 'free', 'mug']
    >>> sorted(names_of("Star kim/wooden-lamp for me."))
    ['lamp', 'wooden']
    """
    compounds = [token for token in goal.split()[1:] if _JOINT.search(token)]
    words = {word.lower() for text in (*_QUOTED.findall(goal), *compounds) for word in _WORD.findall(text) if len(word) > 3}
    for match in _WORD.finditer(goal):
        word = match[0]
        begins = not goal[: match.start()].rstrip(" \"'(") or goal[: match.start()].rstrip(" \"'(")[-1] in ".!?:\n"
        if any(character.isdigit() for character in word) or (word[0].isupper() and not begins and word != "I"):
            words.add(word.lower())
    return frozenset(words)


def mask_names(text: str, names: frozenset[str]) -> str:
    """Return the text with each run of names replaced by NAME.

    >>> mask_names("Reviews of Blue Mug (12)", frozenset({"blue", "mug"}))
    'Reviews of <name> (12)'
    """
    parts: list[str] = []
    end, in_name = 0, False
    for match in _WORD.finditer(text):
        between, is_name = text[end : match.start()], match[0].lower() in names
        if not (is_name and in_name):
            parts += [between, NAME if is_name else match[0]]
        end, in_name = match.end(), is_name
    return "".join([*parts, text[end:]])


def label_of(page: str, element: str | None) -> str:
    """Return the label of an element, given by its id in the page text or by its label.

    >>> label_of('<a id="3">My Cart</a> <input id="4" label="Search">', "4")
    'Search'
    """
    if element is None:
        return ""
    index = page.find(f' id="{element}"')
    if index < 0:
        return element.partition(" [")[0]
    tag, _, rest = page[index:].partition(">")
    label = tag.partition('label="')[2].partition('"')[0]
    return label.replace("&quot;", '"') if label else rest.partition("<")[0].strip()


def site_of(page: str) -> str:
    """Return the host of the URL in a page text; empty if it has none."""
    url_line = next((line for line in page.split("\n", 3)[:3] if line.startswith("URL: ")), "")
    return urlsplit(url_line.removeprefix("URL: ")).netloc


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(text))
