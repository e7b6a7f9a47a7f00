"""Whether the reward tells a solution that does more than it was asked from one that takes a detour."""

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

from webarena_gym.backends.embedded import follow
from webarena_gym.browsers.http import Request
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.evaluators import resolve
from webarena_gym.sites.catalogue import URLS
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Task
from webarena_gym.tools.audit.deeds import Deed, Repertoire, visitor
from webarena_gym.tools.audit.findings import Findings
from webarena_gym.tools.audit.replays import do_all

DEEDS = 10  # for a task that changes something, before and after its solution
FEW_DEEDS = 2  # for one that changes nothing
DETOURS = 2  # of something that is done and taken back
VISITS = 12


def try_side_effects(env: WebArenaLite, task: Task, other: Task | None, repertoire: Repertoire, findings: Findings) -> None:
    """Do a task's solution with something else before or after it, which must not be rewarded, and with detours, which must.

    What is done before changes other tables than the solution, so that this cannot take it back; what is done after changes
    other rows, or is what another draw of the template asks for.
    """
    trial = _Trial(env, task)
    try:
        parting, needed = trial.prepare()
    except ActionError:  # the replay of the solution has told it
        return
    snapshot = env.snapshot()
    rng = Random(f"side effects of {task.task_id}")
    tables, rows = {(change.site, change.table) for change in needed}, {_row(change) for change in needed}
    others = [deed for deed in _mixed(repertoire, task, rng) if not deed.touched & rows]
    count = DEEDS if needed else FEW_DEEDS

    def after(deed: Deed) -> float | None:
        env.restore(snapshot)
        trial.do(deed.request)
        return None if env.changes() == needed else env.step(parting)[1]

    def before(deed: Deed) -> float | None:
        return trial.play(deed.request)

    for when, attempt, deeds in (
        ("after", after, others),
        ("before", before, [deed for deed in others if not deed.tables & tables]),
    ):
        for deed, reward in islice(_attempts(attempt, deeds), count):
            findings.side_effects_tried += 1
            if reward > 0:
                findings.side_effects_rewarded.append(f"{task.task_id}: {when} the solution, {deed}")
    if other is not None:
        env.restore(snapshot)
        if trial.follow(other) and env.changes() != needed:
            findings.side_effects_tried += 1
            if env.step(parting)[1] > 0:
                findings.side_effects_rewarded.append(f"{task.task_id}: after the solution, that of {other.task_id}")
    detours: dict[str, tuple[Request, ...]] = {
        "visits": tuple(map(Request, rng.sample(repertoire.visits, min(VISITS, len(repertoire.visits)))))
    }
    undone = [(deed, deed.undoing) for deed in others if deed.undoing is not None]
    detours |= {f"done and undone, {deed}": (deed.request, undoing) for deed, undoing in undone[:DETOURS]}
    for name, requests in detours.items():
        if task.setup and not trial.is_detour(*requests):
            continue
        findings.detours_tried += 1
        if trial.play(*requests) != 1.0:
            findings.detours_refused.append(f"{task.task_id}: {name}")


class _Trial:
    """One task in an env, with somebody beside the browser who is signed in to all sites."""

    def __init__(self, env: WebArenaLite, task: Task) -> None:
        assert task.world_seed is not None
        self._env, self._task, self._world_seed = env, task, task.world_seed

    def prepare(self) -> tuple[str, list[Change]]:
        """Do the whole solution but for leaving; return the reply that leaves, and the changes. Raises ActionError."""
        self._env.reset(options={"task": self._task})
        return do_all(self._env, self._task), self._env.changes()

    def do(self, *requests: Request) -> None:
        """Send requests beside the browser."""
        client = visitor(self._env.network, self._world_seed, self._task.scale)
        for request in requests:
            client.load(request)

    def follow(self, other: Task) -> bool:
        """Do another task's solution in a browser of its own; say whether it could be done."""
        browser = InProcessBrowser(self._env.network)
        urls = [resolve(url.strip(), URLS) for url in other.start_url.split("|AND|")]
        browser.start(urls, load_world(self._world_seed, self._task.scale).cookies(other.sites))
        try:
            follow(browser, other.solution)
        except ActionError:
            return False
        return True

    def is_detour(self, *requests: Request) -> bool:
        """Say whether requests change nothing in the end. In a world with planted rows, what takes a deed back may have another number."""
        self._env.reset(options={"task": self._task})
        self.do(*requests)
        return not self._env.changes()

    def play(self, *requests: Request) -> float | None:
        """Do something and then the solution; return the reward, None when the solution could not be done any more."""
        self._env.reset(options={"task": self._task})
        self.do(*requests)
        try:
            parting = do_all(self._env, self._task)
        except ActionError:
            return None
        return self._env.step(parting)[1]


def _attempts(attempt: Callable[[Deed], float | None], deeds: list[Deed]) -> Iterator[tuple[Deed, float]]:
    """Yield deeds with the rewards that they left, but for those that could not be tried."""
    for deed in deeds:
        reward = attempt(deed)
        if reward is not None:
            yield deed, reward


def _mixed(repertoire: Repertoire, task: Task, rng: Random) -> list[Deed]:
    """Return the deeds in an order of chance: those of the task's sites in turn with others, and first one of each kind."""
    deeds = rng.sample(repertoire.deeds, len(repertoire.deeds))
    firsts = list({deed.rule: deed for deed in reversed(deeds)}.values())
    own = [deed for deed in firsts if deed.site in task.sites]
    others = [deed for deed in firsts if deed.site not in task.sites]
    turns = [deed for pair in zip(own, others, strict=False) for deed in pair]
    return list(dict.fromkeys([*turns, *firsts, *deeds]))


def _row(change: Change) -> tuple[object, ...]:
    return change.site, change.table, change.key
