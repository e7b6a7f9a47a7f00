"""Workflows: what solved a task, without the names that belong to that task alone, remembered for other tasks of the site.

After Agent Workflow Memory (Wang et al., arXiv 2409.07429): workflows are induced from episodes that were judged successful, offline
from given ones or online from the agent's own, and given back to the agent. The paper's induction by rules keeps one of the episodes with
equal sequences of actions, and drops steps that cannot be carried out; so does this one. What stands for a variable is found by a rule
as well: the words of the goal that are capitalised within a sentence, hold a digit, or are longer words of a quotation or of an address.
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
_JOINT = re.compile(r"[^\W_][/@_-][^\W_]")  # of projects, accounts and addresses
_LEAST_ALIKE = 0.4  # of the words of two goals, for one to be of use to the other


class WorkflowStep(NamedTuple):
    """An action without names: its kind, the label of its element, and what is typed or chosen, or answered."""

    kind: str
    label: str = ""
    argument: str = ""

    def __str__(self) -> str:
        """Write the deed as a line of a prompt."""
        return self.kind + (f' "{self.label}"' if self.label else "") + (f" with {self.argument}" if self.argument else "")


@dataclass(frozen=True)
class Workflow:
    """The goal without names, the site where the episode began, and the deeds that achieved it."""

    goal: str
    site: str
    deeds: tuple[WorkflowStep, ...]

    def __str__(self) -> str:
        """Write the workflow as a paragraph of a prompt."""
        return "\n".join([f"To do: {self.goal}", *(f"{number}. {deed}" for number, deed in enumerate(self.deeds, 1))])


@dataclass
class WorkflowMemory:
    """Workflows, each once, with those newest that were seen last."""

    workflows: list[Workflow] = field(default_factory=list)

    def add(self, trajectories: Iterable[Trajectory]) -> None:
        """Induce workflows from the successes among these episodes."""
        for item in trajectories:
            workflow = induce(item) if item.reward == 1 and item.ending != "failed" else None
            if workflow is not None:
                self.workflows = [*(each for each in self.workflows if each != workflow), workflow]

    def find(self, goal: str, page: str, most: int = 1) -> list[Workflow]:
        """Return the workflows of the page's site whose goals are most alike, the best first; of equals, the newest."""
        wanted, site = words_in(without_names(goal, names_of(goal))), site_of(page)
        own = [(place, words_in(each.goal)) for place, each in enumerate(self.workflows) if each.site == site]
        alike = [(len(wanted & words) / max(len(wanted | words), 1), place) for place, words in own]
        best = sorted((pair for pair in alike if pair[0] >= _LEAST_ALIKE), reverse=True)[:most]
        return [self.workflows[place] for _, place in best]

    def save(self, path: Path) -> None:
        """Write the workflows as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(each) for each in self.workflows], ensure_ascii=False, indent=1), encoding="utf-8")


def load_workflows(path: Path) -> WorkflowMemory:
    """Return the workflows of a file. Raises ValueError for a file of anything else."""
    try:
        records: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return WorkflowMemory([
            Workflow(each["goal"], each["site"], tuple(WorkflowStep(*deed) for deed in each["deeds"])) for each in records
        ])  # fmt: skip
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} holds no workflows ({error!r}); expected a file of python -m agents.workflows") from error


def induce(trajectory: Trajectory) -> Workflow | None:
    """Return the workflow of an episode; None where it has no step that could be carried out."""
    names = names_of(trajectory.goal)
    deeds: list[WorkflowStep] = []
    for step in trajectory.steps:
        action = action_of(step.reply)
        if action is not None and not step.action_error:
            deeds.append(deed_of(action, label_of(step.page, action.element), names))
    if not deeds:
        return None
    return Workflow(without_names(trajectory.goal, names), site_of(trajectory.steps[0].page), tuple(deeds))


def deed_of(action: Action, label: str, names: frozenset[str]) -> WorkflowStep:
    """Return an action on an element with this label, without names. Of a text that is typed or answered, it is kept whether it is a name."""
    argument = action.argument or ""
    kept = without_names(argument, names)
    stands_for_itself = action.kind is Kind.SELECT or argument in ("", "N/A", "Yes", "No")
    if kept != NAME and not stands_for_itself:
        kept = NAME if NAME in kept else "<text>"
    return WorkflowStep(str(action.kind), without_names(label, names), kept)


def next_deed(workflow: Workflow, done: Sequence[WorkflowStep]) -> WorkflowStep | None:
    """Return the first deed of a workflow that has not been done, after those that were done in its order; None at its end."""
    place = 0
    for deed in done:
        if place < len(workflow.deeds) and same(deed, workflow.deeds[place]):
            place += 1
    return workflow.deeds[place] if place < len(workflow.deeds) else None


def same(one: WorkflowStep, other: WorkflowStep) -> bool:
    """Return whether two deeds are of one kind, on elements of one label, with one option, or both with or without an answer."""
    return same_by(one) == same_by(other)


def same_by(deed: WorkflowStep) -> WorkflowStep:
    """Return what is equal of two deeds that are the same: what is typed, and which answer is given, is left out."""
    if deed.kind == Kind.EXIT:
        return deed if deed.argument in ("", "N/A") else deed._replace(argument="<text>")
    return deed if deed.kind == Kind.SELECT else deed._replace(argument="")


def names_of(goal: str) -> frozenset[str]:
    """Return the words of a goal that are names, in lower case.

    >>> sorted(names_of('Set the price of the Blue Mug to 12. Then add "free" to it.'))
    ['12', 'blue', 'free', 'mug']
    >>> sorted(names_of("Star kim/wooden-lamp for me."))
    ['lamp', 'wooden']
    """
    joined = [token for token in goal.split()[1:] if _JOINT.search(token)]
    found = {word.lower() for text in (*_QUOTED.findall(goal), *joined) for word in _WORD.findall(text) if len(word) > 3}
    for match in _WORD.finditer(goal):
        word = match[0]
        begins = not goal[: match.start()].rstrip(" \"'(") or goal[: match.start()].rstrip(" \"'(")[-1] in ".!?:\n"
        if any(character.isdigit() for character in word) or (word[0].isupper() and not begins and word != "I"):
            found.add(word.lower())
    return frozenset(found)


def without_names(text: str, names: frozenset[str]) -> str:
    """Return the text with one mark for each run of words that are names.

    >>> without_names("Reviews of Blue Mug (12)", frozenset({"blue", "mug"}))
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
    """Return the label of an element by its number in a page, or what names it, where that is its label already.

    >>> label_of('<a id="3">My Cart</a> <input id="4" label="Search">', "4")
    'Search'
    """
    if element is None:
        return ""
    place = page.find(f' id="{element}"')
    if place < 0:
        return element.partition(" [")[0]
    tag, _, rest = page[place:].partition(">")
    label = tag.partition('label="')[2].partition('"')[0]
    return label.replace("&quot;", '"') if label else rest.partition("<")[0].strip()


def site_of(page: str) -> str:
    """Return the host of a page's address."""
    first = next((line for line in page.split("\n", 3)[:3] if line.startswith("URL: ")), "")
    return urlsplit(first.removeprefix("URL: ")).netloc


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(text))
