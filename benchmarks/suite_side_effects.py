"""Side effects on WebArena-Infinity: `python -m benchmarks.suite_side_effects CLONE --tasks 3 --damages 4`.

For each application, solutions of random tasks are replayed. Before one replay, the detour looks around: it opens views, messages and
dialogs, and closes them. It must not cost the reward. After another replay, records are damaged one at a time by `PUT /api/state`: a record of
a table that the solution does not change is deleted ("elsewhere"), or another record of a table that it changes ("beside"). The episode must
then be refused; how many of these states the verifier alone accepts is counted, too. The last line is one JSON object.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.machine import report
from webarena_gym import console
from webarena_gym.actions import Action, Kind
from webarena_gym.applications.suite import describe_infinity, is_infinity, read_suite
from webarena_gym.backends.base import build_outcome, judge_side_effects
from webarena_gym.changes import Change
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.evaluators import evaluate
from webarena_gym.sites.changes import incidental
from webarena_gym.tasks import Task, parse_task
from webarena_gym.tools.audit.replays import do_all

DETOURS: Mapping[str, Sequence[str]] = {
    "elation-clinical-records": ["📄 Templates", "+ New Template", "Cancel", "📁 Categories", "Edit", "Cancel", "⚙ Settings", "Edit [2]", "Cancel", "👤 Patients"],
    "elation-patient-communication": ["📨Patient Letters12", "James Rodriguez Prescription Refill Thank you so much, Dr. Chen! I'll pick it...", "📤Sent", "📝Drafts1", "🔔Reminders9", "👥Patients", "Abrams, Gregory", "📅Appointments", "📧Bulk Letters", "⚙Settings", "Admin Settings", "Message Routing", "Telehealth", "Practice Locations", "Billing Codes", "🏠Practice Home"],
    "elation-prescriptions": ["Meds Hx", "All Medications▾", "Discontinued", "Rx Requests8", "Deny", "Cancel", "Settings", "Custom Rx Sigs", "Drug Decision Support", "Preferences", "Chart", "Prescribe", "Discard", "Reconcile Meds", "Cancel", "Actions", "View Details", "Close"],
    "figma-slides": ["3 Q3 Highlights", "6 Q4 Roadmap", "Animate", "Design", "1 Q4 2025 Product Strategy"],
    "figma-text-and-typography": ["Typography", "Text Styles", "Fonts", "Settings", "Layers"],
    "gitlab-plan-and-track": ["Boards", "Epics", "Milestones", "Iterations", "Labels", "To-Do List", "Issues57", "Closed 10", "All", "Open 57", "Add tooltip to truncated sidebar labels", "Issues57"],
    "gmail": ["Social4", "Primary9", "Starred", "Sent", "Trash", "Inbox19", "Daily Brew: Fed signals rate cuts", "Back to list", "Settings", "Inbox18"],
    "gmail-accounts-and-contacts": ["history Frequently contacted", "star Starred 10", "person_outline Other contacts 20", "merge_type Merge & fix 2", "import_export Import & Export", "supervisor_account Delegates", "link Linked Services", "settings Settings", "people Contacts 40", "arrow_upward", "arrow_downward"],
    "handshake-career-exploration": ["Jobs", "Employers", "Events", "Messages 4", "Career Center", "Q&A", "Feed", "Saved", "Feed [2]", "Top Posts", "All"],
    "linear-account-settings": ["Preferences", "Notifications", "Security & Access", "Profile", "Edit Full name", "Cancel"],
    "paypal-my-wallet": ["receipt_long Transactions", "credit_card Cards", "account_balance Bank Accounts", "payment PayPal Debit Card", "account_balance_wallet Balance", "savings Savings", "currency_bitcoin Cryptocurrency", "credit_score PayPal Credit", "calendar_today Pay in 4", "star Rewards", "local_offer Offers", "card_giftcard Gift Cards", "settings Preferences", "dashboard My Wallet"],
    "superhuman-general": ["★ Starred", "✓ Done", "⏰ Reminders 6", "➤ Sent", "✎ Drafts 2", "👁 Recent Opens", "📄 Snippets", "⚠ Spam 3", "🗑 Trash", "✉ Inbox 10", "Other 4", "Calendar", "Important 6", "Sarah Chen Mar 7", "✉ Inbox 9"],
    "xero-invoicing": ["📄Invoices13", "INV-0060", "📋Quotes", "💳Credit Notes", "🔄Repeating Invoices", "⚙Invoice Settings", "🎨Branding Themes", "🔔Invoice Reminders", "▢Dashboard", "New Invoice", "▢Dashboard"],
}  # fmt: skip
"""Labels of the elements that a detour clicks, by application. It ends at the view in which it begins."""


@dataclass
class Result:
    """The result of an application."""

    detours: int = 0
    detours_rewarded: int = 0
    elsewhere: int = 0
    elsewhere_refused: int = 0
    beside: int = 0
    beside_refused: int = 0
    verifier_accepts: int = 0  # damaged states, of both kinds
    wrong: list[str] = field(default_factory=list)
    not_replayed: list[str] = field(default_factory=list)  # tasks in which an element has another label after the detour


def main() -> None:
    """Measure and print the results."""
    parser = console.Parser(prog="python -m benchmarks.suite_side_effects", description=__doc__)
    add = parser.add_argument
    add("clone", type=Path, help="folder of a clone of WebArena-Infinity")
    add(
        "--application",
        action="append",
        metavar="APP",
        choices=list(DETOURS),
        help="such as gmail; may be repeated (default: all)",
    )
    add("--tasks", type=console.integer(1), default=3, help="tasks of each application (default: 3)")
    add("--damages", type=console.integer(1), default=4, help="damages of each kind after each solution (default: 4)")
    add("--seed", type=console.integer(0), default=0, help="random seed (default: 0)")
    add("--json", action="store_true", help="print one JSON object as the last line (as always)")
    add("--out", type=Path, help="also write the object to a file of this name in benchmarks/results")
    options = parser.parse_args()
    if not is_infinity(options.clone):
        parser.error(f"argument CLONE: is {str(options.clone)!r}; expected the folder of a clone of WebArena-Infinity")
    with TemporaryDirectory() as folder:
        path = Path(folder, "suite.json")
        path.write_text(json.dumps(describe_infinity(options.clone.resolve())))
        suite = read_suite(path)
    tasks = [task for task in map(parse_task, suite.records()) if task.solution]
    results: dict[str, Result] = {}
    with closing(WebArenaLite(suite=suite, tasks=tasks, elements="label", window=10**6, max_steps=1000)) as env:
        for name in options.application or DETOURS:
            mine = [task for task in tasks if task.task_id.startswith(f"{name}.")]
            Random(options.seed).shuffle(mine)
            results[name] = measure(env, mine, DETOURS[name], options)
            print(name, {key: value for key, value in asdict(results[name]).items() if value != []}, flush=True)
    counts = [item.name for item in fields(Result) if item.type == "int" or item.type is int]
    totals = {key: sum(getattr(result, key) for result in results.values()) for key in counts}
    applications = {name: asdict(result) for name, result in results.items()}
    report("suite_side_effects", {"totals": totals, "applications": applications}, as_json=True, out=options.out)
    sys.exit(1 if any(result.wrong for result in results.values()) else 0)


def measure(env: WebArenaLite, tasks: Sequence[Task], detour: Sequence[str], options: argparse.Namespace) -> Result:
    """Return the result of an application, from the first tasks whose solution can be replayed after the detour."""
    result, random = Result(), Random(options.seed)
    for task in tasks:
        if result.detours == options.tasks:
            break
        try:
            exit_reply = _play(env, task, detour)
        except ActionError as error:
            result.not_replayed.append(f"{task.task_id}: {error}")
            continue
        _, reward, _, _, info = env.step(exit_reply)
        result.detours += 1
        result.detours_rewarded += reward == 1
        if reward != 1:
            result.wrong.append(
                f"{task.task_id} after the detour: {info.get('failure') or info.get('side_effects') or info['verdicts']}"
            )
        exit_reply = _play(env, task, ())
        _damage(env, task, options.damages, random, result)
        if (reward := env.step(exit_reply)[1]) != 1:
            result.wrong.append(f"{task.task_id}: reward {reward} after the damages were undone")
    return result


def _play(env: WebArenaLite, task: Task, detour: Sequence[str]) -> str:
    """Play a solution after a detour, and return the reply that ends the episode. Raises ActionError if a step fails."""
    env.reset(options={"task": task})
    for label in detour:
        if error := env.step(env.dialect.format(Action(Kind.CLICK, label)))[-1]["action_error"]:
            raise ActionError(f"detour: {error}")
    return do_all(env, task)


def _damage(env: WebArenaLite, task: Task, count: int, random: Random, result: Result) -> None:
    """Damage the state of a solved task in `count` places of each kind, one at a time, and count the verdicts."""
    state = _request(env, "GET")
    application = env.backend.application  # type: ignore[attr-defined]  # of the backend of a suite
    for kind, states in damaged_states(state, env.changes(), application.incidental, random).items():
        for table, damaged in random.sample(states, min(count, len(states))):
            _request(env, "PUT", damaged)
            verdicts = evaluate(task.eval, task.intent, build_outcome(env.backend, "", {}))
            is_accepted = all(verdict.passed for verdict in verdicts)
            is_refused = not is_accepted or not judge_side_effects(task, env.backend, is_forbidden=True)[0].passed
            result.verifier_accepts += is_accepted
            setattr(result, kind, getattr(result, kind) + 1)
            setattr(result, f"{kind}_refused", getattr(result, f"{kind}_refused") + is_refused)
            if not is_refused:
                result.wrong.append(f"{task.task_id}: damage {kind}, in {table}, is rewarded")
    _request(env, "PUT", state)


def damaged_states(
    state: Mapping[str, Any], changes: Sequence[Change], declared: tuple[str, ...], random: Random
) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """Return tables and states with one damage each, in a table without and with changes: a record is deleted, or a text in it is changed."""
    changed = {(change.table, *change.key) for change in changes}
    tables, ignored = {change.table for change in changes}, incidental(declared)
    states: dict[str, list[tuple[str, Mapping[str, Any]]]] = {"elsewhere": [], "beside": []}
    for path, rows in _tables(state, ()):
        table = "_".join(path)
        for index in random.sample(range(len(rows)), min(3, len(rows))):
            if (table, rows[index]["id"]) in changed:
                continue
            damaged = deepcopy(dict(state))
            copy: Any = damaged
            for key in path:
                copy = copy[key]
            texts = [
                key
                for key, value in rows[index].items()
                if isinstance(value, str) and key != "id" and not ignored.covers(table, key)
            ]
            if texts and random.random() < 0.5:
                copy[index][random.choice(texts)] += " (damaged)"
            else:
                del copy[index]
            states["beside" if table in tables else "elsewhere"].append((table, damaged))
    return states


def _tables(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """Yield the lists of records with an id in a state, with their paths."""
    for key, item in value.items():
        if isinstance(item, dict):
            yield from _tables(item, (*path, key))
        elif (
            isinstance(item, list)
            and item
            and all(isinstance(row, dict) and isinstance(row.get("id"), str | int) for row in item)
        ):
            yield (*path, key), item


def _request(env: WebArenaLite, method: str, state: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return or replace the state that the pages of an application push to its server."""
    application = env.backend.application  # type: ignore[attr-defined]  # of the backend of a suite
    body = b"" if state is None else json.dumps(state).encode()
    response = env.backend.network.request(
        method, application.url + application.client_state, {"Content-Type": "application/json"}, body
    )
    result: dict[str, Any] = json.loads(response.body) if state is None else {}
    return result


if __name__ == "__main__":
    console.run("python -m benchmarks.suite_side_effects", lambda _: main())
