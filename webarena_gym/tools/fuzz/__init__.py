"""Random walks in both browsers in parallel, or in one: no action may fail, and both must show the same pages and change the same data.

A walk is a function of its seed: it starts on a site of a world and takes random actions that an agent could take; a destructive walk is
longer and prefers to delete, leave and save. After each action no exception may have been raised, and the results of `step`, the requests
for documents, the state of all elements, the focus and the tabs are compared; at the end of the walk the databases are compared, and the
episode is restored from a snapshot and evaluated. A walk with a fault is reduced to the fewest replies that still reproduce one.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import zip_longest
from random import Random
from traceback import extract_tb
from types import MappingProxyType
from typing import Any, NamedTuple

from webarena_gym.actions import Action, Kind
from webarena_gym.applications.application import Application
from webarena_gym.env import WebArenaLite
from webarena_gym.options import BrowserKind
from webarena_gym.pages.page import Traffic
from webarena_gym.processes import workers
from webarena_gym.progress import Progress
from webarena_gym.sites.catalogue import HOSTS, URLS, Account
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.tools.fuzz.pages import BOUNDARY, first_difference, page_state
from webarena_gym.tools.fuzz.shrinking import shortest_replies
from webarena_gym.tools.fuzz.walk_actions import AddressPool, WalkState, next_reply

STEPS = 40
"""Actions of a walk."""
DESTRUCTIVE_STEPS = 120
"""Actions of a destructive walk."""
BROWSERS: tuple[BrowserKind, ...] = ("inprocess", "chromium")
_PIECE = 4  # walks in one job of a worker process

PRESENTATIONS: Sequence[Mapping[str, Any]] = (
    MappingProxyType({"observation": "html", "elements": "id", "dialect": "webarena"}),
    MappingProxyType({"observation": "axtree", "elements": "label", "dialect": "browsergym", "window": 300_000}),
    MappingProxyType({"observation": "html", "elements": "label", "dialect": "webarena", "window": 300_000}),
    MappingProxyType({"observation": "occam", "elements": "id", "dialect": "webarena", "window": 300_000}),
)
"""Observations and dialects, which walks use in turn; a large window shows the whole page."""


@dataclass(frozen=True)
class Walk:
    """The settings of one walk: start page, seed and browsers."""

    site: str
    world_seed: int
    variation: Variation
    seed: int
    steps: int = STEPS
    browsers: tuple[BrowserKind, ...] = BROWSERS
    is_destructive: bool = False
    application: Application | None = None


class Fault(NamedTuple):
    """A walk with an exception or a difference between the browsers: the fewest replies found that reproduce it, and a description."""

    walk: Walk
    replies: tuple[str, ...]
    description: str

    def __str__(self) -> str:
        walk = self.walk
        world = "" if walk.application else f"world {walk.world_seed}, variation {walk.variation}, "
        start = f"{walk.site}, {world}seed {walk.seed}"
        return "\n    ".join((f"{start}: {self.description}", *map(repr, self.replies)))


@dataclass
class Findings:
    """The results of walks: visited states, changed rows by table, and faults."""

    walks: int = 0
    states: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)


def plan_walks(
    states: int,
    *,
    seed: int = 0,
    sites: Sequence[str] = tuple(HOSTS),
    world_seeds: Sequence[int] = (1000,),
    variation: Variation = "content",
    browsers: tuple[BrowserKind, ...] = BROWSERS,
    is_destructive: bool = False,
    application: Application | None = None,
) -> Iterator[Walk]:
    """Yield walks that visit at least `states` states if there is no fault, over the sites and worlds in turn."""
    steps = min(DESTRUCTIVE_STEPS if is_destructive else STEPS, states)
    for number in range(-(-states // (steps + 1))):
        lap, index = divmod(number, len(sites))
        world_seed = world_seeds[lap % len(world_seeds)]
        walk_seed = seed * 1_000_000 + number
        yield Walk(sites[index], world_seed, variation, walk_seed, steps, browsers, is_destructive, application)


def search(walks: Iterable[Walk], *, jobs: int = 1, on_progress: Callable[[Findings], None] = lambda _: None) -> Findings:
    """Run walks and return their findings, which do not depend on the number of `jobs`, the worker processes."""
    chosen = list(walks)
    pieces = [chosen[start : start + _PIECE] for start in range(0, len(chosen), _PIECE)]
    total = Findings()
    with workers(min(jobs, len(pieces))) as work:
        for part in work(run_walks, pieces):
            total = Findings(
                total.walks + part.walks,
                total.states + part.states,
                total.changes + part.changes,
                total.faults + part.faults,
            )
            on_progress(total)
    return total


def fuzz_sites(options: argparse.Namespace, application: Application | None = None) -> int:
    """Run random walks, print the findings, and return the exit status."""
    start = time.perf_counter()
    browser: BrowserKind | None = "inprocess" if options.destructive and application is None else options.browser
    walks = plan_walks(
        options.steps,
        seed=options.seed,
        sites=[application.name] if application else options.sites or tuple(HOSTS),
        world_seeds=options.world_seed or (1000,),
        variation=options.variation,
        browsers=(browser,) if browser else BROWSERS,
        is_destructive=options.destructive,
        application=application,
    )
    progress = Progress(options.steps, "states seen")
    progress.update(0)
    printed = 0

    def report(total: Findings) -> None:
        nonlocal printed
        if len(total.faults) > printed:
            progress.clear()
            print(*(f"  {fault}" for fault in total.faults[printed:]), sep="\n", flush=True)
            printed = len(total.faults)
        progress.update(total.states)

    findings = search(walks, jobs=options.jobs, on_progress=report)
    progress.clear()
    seconds = round(time.perf_counter() - start, 2)
    where = {"inprocess": "in the in-process browser", "chromium": "in Chromium", None: "on both browsers"}[browser]
    print(f"{findings.states} states of {findings.walks} walks {where}, {len(findings.faults)} faults, in {seconds} s")
    if options.destructive:
        tables = ", ".join(f"{table} {count}" for table, count in findings.changes.most_common())
        print(f"{findings.changes.total()} rows were changed: {tables}")
    if options.json:
        counts = {
            "states": findings.states,
            "walks": findings.walks,
            "faults": len(findings.faults),
            "changes": findings.changes.total(),
        }
        setting = {"seed": options.seed, "variation": options.variation, "seconds": seconds}
        print(json.dumps({**counts, **setting}))
    return 1 if findings.faults else 0


def run_walks(walks: Sequence[Walk]) -> Findings:
    """Run walks in this process, one after the other."""
    total = Findings()
    with ExitStack() as stack:

        @cache
        def runners(
            presentation: int, variation: Variation, browsers: tuple[BrowserKind, ...], application: Application | None
        ) -> _WalkRunner:
            return stack.enter_context(closing(_WalkRunner(PRESENTATIONS[presentation], variation, browsers, application)))

        for walk in walks:
            runner = runners(walk.seed % len(PRESENTATIONS), walk.variation, walk.browsers, walk.application)
            replies, fault = runner.run(walk)
            total.walks += 1
            total.states += len(replies) + 1
            total.changes.update(runner.changed)
            if fault:
                total.faults.append(Fault(walk, *shortest_replies(replies, fault, partial(runner.replay, walk))))
    return total


class _WalkRunner:
    def __init__(
        self,
        presentation: Mapping[str, Any],
        variation: Variation,
        browsers: Sequence[BrowserKind],
        application: Application | None,
    ) -> None:
        options = {**presentation, "variation": variation, "max_steps": 10 * DESTRUCTIVE_STEPS}
        if application:
            options |= {"application": application, "tasks": [_task(Walk(application.name, 0, variation, 0))]}
        self._application = application
        self._first: dict[tuple[str, int, bool], str] = {}  # the first observation, by site, world and require_login
        self._envs = [WebArenaLite(browser=browser, **options) for browser in browsers]
        self.changed: list[str] = []  # the table of each row that the last walk has changed

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def run(self, walk: Walk) -> tuple[list[str], str]:
        """Run a walk. Return its replies up to a fault, and the fault, "" for none."""
        dice, env, replies = Random(walk.seed), self._envs[0], list[str]()
        fault = self._start_episode(walk)
        application = self._application
        if application:
            accounts = [application.account] if application.account else []
        else:
            accounts = [] if fault else _accounts(env, walk.site)
        addresses = AddressPool(application.host if application else HOSTS[walk.site])
        homes = [application.url] if application else tuple(URLS.values())
        while not fault and len(replies) < walk.steps:
            unvisited = addresses.least_visited(env.page) if walk.is_destructive else ()
            state = WalkState(env.page, env.observation, homes, accounts, unvisited)
            replies.append(next_reply(state, env.dialect, dice, is_destructive=walk.is_destructive))
            fault = self._step(replies[-1])
        return replies, fault or self._end()

    def replay(self, walk: Walk, replies: Iterable[str]) -> str:
        """Repeat replies from the start of a walk. Return the first fault, "" for none."""
        return self._start_episode(walk) or next(filter(None, map(self._step, replies)), "") or self._end()

    def _start_episode(self, walk: Walk) -> str:
        task = _task(walk)
        fault = self._fault(lambda env: env.reset(seed=walk.seed, options={"task": task}))
        if not fault:
            for env in self._envs:
                env.network.traffic = Traffic()  # without requests of an earlier walk
            fault = self._page_difference()
        text = "" if fault else self._envs[0].observation.text
        first = self._first.setdefault((walk.site, walk.world_seed, task.require_login), text)
        return fault or (
            "" if text == first else f"it starts with another page than an earlier walk: {text[:300]!r}, and {first[:300]!r}"
        )

    def _step(self, reply: str) -> str:
        return self._fault(lambda env: env.step(reply)) or self._page_difference()

    def _page_difference(self) -> str:
        """Return the first difference between the pages of the browsers or the requests since the last call, "" for none."""
        states = []
        for env in self._envs if len(self._envs) > 1 else ():
            states.append({"requests": _document_requests(env.network.traffic), **page_state(env.page)})
            env.network.traffic = Traffic()
        for other in states[1:]:
            for aspect, one in states[0].items():
                if one != other[aspect]:
                    first, second = first_difference(one, other[aspect])
                    return f"{aspect}: {first!r} in-process, {second!r} in Chromium"
        return ""

    def _end(self) -> str:
        """Record the changes, restore a snapshot if there is one env, and exit."""

        def end(env: WebArenaLite) -> Any:
            changes = env.changes()
            self.changed = [f"{change.site}.{change.table}" for change in changes]
            state = None
            if not (self._application and self._application.in_memory):
                saved = env.snapshot()
                state = saved.backend.difference if self._application else saved.backend.databases
                if self._application and not self._application.clock:  # rows may contain the time
                    state = dict(Counter((change.table, change.before is None, change.after is None) for change in changes))
                if len(self._envs) == 1:
                    env.restore(saved)
            return state, env.step(env.dialect.format(Action(Kind.EXIT, argument="done")))

        return self._fault(end)

    def _fault(self, action: Callable[[WebArenaLite], Any]) -> str:
        """Apply a function to each env and return the fault or the first difference, "" for none."""
        results = []
        for env in self._envs:
            try:
                results.append(action(env))
            except Exception as error:  # noqa: BLE001 - every exception is a fault
                frames = " < ".join(f"{frame.name}:{frame.lineno}" for frame in extract_tb(error.__traceback__)[:-5:-1])
                return f"{type(error).__name__}: {error} ({frames})"
        *_, info = results[0]
        info = info[-1] if isinstance(info, tuple) else info
        broken = [*info.get("site_errors", ()), *([info["failure"]] if "failure" in info else ())]
        return broken[0] if broken else "".join(_difference(results[0], other) for other in results[1:])


def _document_requests(traffic: Traffic | None) -> tuple[tuple[Any, ...], ...]:
    """Return the requests for documents: method, URL, body, type, names of cookies, origin and referrer."""
    requests = []
    for exchange in traffic.exchanges if traffic else ():
        headers = {name.lower(): value for name, value in exchange.headers.items()}
        if headers.get("accept", "").startswith("text/html"):
            kind = headers.get("content-type", "").partition("boundary=")[0]
            cookies = [cookie.partition("=")[0] for cookie in headers.get("cookie", "").split("; ")]
            body = BOUNDARY.sub(b"--boundary", exchange.body)
            requests.append((exchange.method, exchange.url, body, kind, cookies, headers.get("origin"), headers.get("referer")))
    return tuple(requests)


def _task(walk: Walk) -> Task:
    block = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}}
    is_signed_in = walk.is_destructive or walk.seed % 4 != 3
    return Task(
        f"walk/{walk.seed}", (walk.site,), f"__{walk.site.upper()}__/", "Walk.", block,
        require_login=is_signed_in, world_seed=walk.world_seed,
    )  # fmt: skip


def _accounts(env: WebArenaLite, site: str) -> list[Account]:
    """Return accounts of a site: the first rows of each table with passwords."""
    database = env.database(site)
    accounts = []
    for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name DESC").fetchall():
        columns = {row["name"] for row in database.execute(f"PRAGMA table_info({table})")}
        name = next((column for column in ("username", "email") if column in columns), "")
        if "password" in columns and name:
            accounts += [Account(*row) for row in database.execute(f"SELECT {name}, password FROM {table} ORDER BY 1 LIMIT 3")]
    return accounts


def _difference(one: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    """Return the first difference between the results of two browsers, "" for none."""
    if one == other:
        return ""
    if isinstance(one[0], dict):  # the result of `_end`
        differing = [str(name) for name in {**one[0], **other[0]} if one[0].get(name) != other[0].get(name)]
        return f"the databases differ: {', '.join(differing)}" if differing else _difference(one[-1], other[-1])
    *_, info = one
    *_, other_info = other
    if "failure" in other_info:
        return f"Chromium failed: {other_info['failure']}"
    for name in sorted({**info, **other_info}, key=lambda name: name == "messages"):
        first, second = info.get(name), other_info.get(name)
        if first != second:
            if isinstance(first, str) and isinstance(second, str):
                lines = zip_longest(first.splitlines(), second.splitlines())
                first, second = next(pair for pair in lines if pair[0] != pair[1])
            return f"{name}: {first!r} in-process, {second!r} in Chromium"
    return f"{one[:-1]!r:.300} in-process, {other[:-1]!r:.300} in Chromium"
