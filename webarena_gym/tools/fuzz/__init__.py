"""Random acts on both browsers in step, or on one: nothing breaks, whatever is done, and both show the same and do the same to the sites.

A walk is a function of its seed: it begins on a site of a world and does what an agent may do, sensible or not; a destructive one is
longer, and deletes, leaves and saves what it can. After each act nothing may have been raised, and all that `step` returns is compared;
at the end of the walk what is in the databases, and the episode goes through a snapshot and is judged. A walk that ends in a fault
is cut down to the fewest replies that still lead to one.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from random import Random
from traceback import extract_tb
from types import MappingProxyType
from typing import Any, NamedTuple

from webarena_gym.actions import Action, Kind
from webarena_gym.applications.application import Application
from webarena_gym.console import Progress
from webarena_gym.env import WebArenaLite
from webarena_gym.options import BrowserKind
from webarena_gym.processes import workers
from webarena_gym.sites.catalogue import HOSTS, URLS, Account
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.tools.fuzz.acts import Places, Scene, next_reply

STEPS = 40
"""Acts of a whole walk."""
DESTRUCTIVE_STEPS = 120
"""Acts of a destructive one."""
BROWSERS: tuple[BrowserKind, ...] = ("inprocess", "chromium")
_PIECE = 4  # walks that a process is given at a time
_REPLAYED = 8000  # acts that may be spent on making a walk short

PRESENTATIONS: Sequence[Mapping[str, Any]] = (
    MappingProxyType({"observation": "html", "elements": "id", "dialect": "webarena"}),
    MappingProxyType({"observation": "axtree", "elements": "label", "dialect": "browsergym", "window": 300_000}),
    MappingProxyType({"observation": "html", "elements": "label", "dialect": "webarena", "window": 300_000}),
    MappingProxyType({"observation": "occam", "elements": "id", "dialect": "webarena", "window": 300_000}),
)
"""The observations and dialects of walks, one after the other; a large window shows all of a page."""


@dataclass(frozen=True)
class Walk:
    """One walk: where it begins, and the seed of what is done."""

    site: str
    world_seed: int
    variation: Variation
    seed: int
    steps: int = STEPS
    browsers: tuple[BrowserKind, ...] = BROWSERS
    is_destructive: bool = False
    application: Application | None = None


class Fault(NamedTuple):
    """A walk on which something broke, or was not the same on both browsers: as few of its replies as were found, and what comes of them."""

    walk: Walk
    replies: tuple[str, ...]
    what: str

    def __str__(self) -> str:
        walk = self.walk
        world = "" if walk.application else f"world {walk.world_seed}, variation {walk.variation}, "
        start = f"{walk.site}, {world}seed {walk.seed}"
        return "\n    ".join((f"{start}: {self.what}", *map(repr, self.replies)))


@dataclass
class Findings:
    """The results of walks: the states that they have seen, the rows that they have changed by table, and the faults."""

    walks: int = 0
    states: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)


def plan(
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
    """Yield walks that see at least that many states when there is no fault, over the sites and worlds in turn."""
    steps = min(DESTRUCTIVE_STEPS if is_destructive else STEPS, states)
    for number in range(-(-states // (steps + 1))):
        lap, place = divmod(number, len(sites))
        world_seed = world_seeds[lap % len(world_seeds)]
        own_seed = seed * 1_000_000 + number
        yield Walk(sites[place], world_seed, variation, own_seed, steps, browsers, is_destructive, application)


def search(walks: Iterable[Walk], *, jobs: int = 1, on_progress: Callable[[Findings], None] = lambda _: None) -> Findings:
    """Take walks and return what they came to, the same for any number of `jobs`, processes that share them."""
    chosen = list(walks)
    pieces = [chosen[start : start + _PIECE] for start in range(0, len(chosen), _PIECE)]
    total = Findings()
    with workers(min(jobs, len(pieces))) as work:
        for found in work(take, pieces):
            total = Findings(
                total.walks + found.walks,
                total.states + found.states,
                total.changes + found.changes,
                total.faults + found.faults,
            )
            on_progress(total)
    return total


def fuzz_sites(options: argparse.Namespace, application: Application | None = None) -> int:
    """Act at random, print what is found, and return the exit status."""
    start = time.perf_counter()
    alone: BrowserKind | None = "inprocess" if options.destructive else options.browser
    walks = plan(
        options.steps,
        seed=options.seed,
        sites=[application.name] if application else options.sites or tuple(HOSTS),
        world_seeds=options.world_seed or (1000,),
        variation=options.variation,
        browsers=(alone,) if alone else BROWSERS,
        is_destructive=options.destructive,
        application=application,
    )
    progress = Progress(options.steps, "states seen")
    progress.show(0)
    found = search(walks, jobs=options.jobs, on_progress=lambda total: progress.show(total.states))
    progress.clear()
    seconds = round(time.perf_counter() - start, 2)
    where = {"inprocess": "in the in-process browser", "chromium": "in Chromium", None: "on both browsers"}[alone]
    print(f"{found.states} states of {found.walks} walks {where}, {len(found.faults)} faults, in {seconds} s")
    if options.destructive:
        told = ", ".join(f"{table} {count}" for table, count in found.changes.most_common())
        print(f"{found.changes.total()} rows were changed: {told}")
    for fault in found.faults:
        print(f"  {fault}")
    if options.json:
        counts = {"states": found.states, "walks": found.walks, "faults": len(found.faults), "changes": found.changes.total()}
        setting = {"seed": options.seed, "variation": options.variation, "seconds": seconds}
        print(json.dumps({**counts, **setting}))
    return 1 if found.faults else 0


def take(walks: Sequence[Walk]) -> Findings:
    """Take some walks in this process, one after the other."""
    total = Findings()
    with ExitStack() as stack:

        @cache
        def players(
            presentation: int, variation: Variation, browsers: tuple[BrowserKind, ...], application: Application | None
        ) -> _Players:
            return stack.enter_context(closing(_Players(PRESENTATIONS[presentation], variation, browsers, application)))

        for walk in walks:
            used = players(walk.seed % len(PRESENTATIONS), walk.variation, walk.browsers, walk.application)
            replies, what = used.take(walk)
            total.walks += 1
            total.states += len(replies) + 1
            total.changes.update(used.changed)
            if what:
                total.faults.append(_shortest(used, walk, replies, what))
    return total


class _Players:
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
        self._first: dict[
            tuple[str, int, bool], str
        ] = {}  # what a walk begins with, by site, world, and whether it is signed in
        self._envs = [WebArenaLite(browser=browser, **options) for browser in browsers]
        self.changed: list[str] = []  # the tables of the rows that the last walk has changed, a name for each row

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def take(self, walk: Walk) -> tuple[list[str], str]:
        """Take a walk; return its replies up to a fault, and what that is, "" for none."""
        dice, env, replies = Random(walk.seed), self._envs[0], list[str]()
        what = self._begin(walk)
        own = self._application
        if own:
            accounts = [own.account] if own.account else []
        else:
            accounts = [] if what else _accounts(env, walk.site)
        places = Places(own.host if own else HOSTS[walk.site])
        homes = [own.url] if own else tuple(URLS.values())
        while not what and len(replies) < walk.steps:
            unseen = places.least_seen(env.page) if walk.is_destructive else ()
            scene = Scene(env.page, env.observation, homes, accounts, unseen)
            replies.append(next_reply(scene, env.dialect, dice, is_destructive=walk.is_destructive))
            what = self._step(replies[-1])
        return replies, what or self._end()

    def replay(self, walk: Walk, replies: Iterable[str]) -> str:
        """Give the same replies where a walk begins; return the first fault, "" for none."""
        return self._begin(walk) or next(filter(None, map(self._step, replies)), "") or self._end()

    def _begin(self, walk: Walk) -> str:
        task = _task(walk)
        fault = self._fault(lambda env: env.reset(seed=walk.seed, options={"task": task}))
        text = "" if fault else self._envs[0].observation.text
        first = self._first.setdefault((walk.site, walk.world_seed, task.require_login), text)
        return fault or (
            "" if text == first else f"it begins with another page than an earlier walk: {text[:300]!r}, and {first[:300]!r}"
        )

    def _step(self, reply: str) -> str:
        return self._fault(lambda env: env.step(reply))

    def _end(self) -> str:
        """Look at what was done, continue from a snapshot, and exit."""

        def end(env: WebArenaLite) -> Any:
            self.changed = [f"{change.site}.{change.table}" for change in env.changes()]
            state = None
            if not (self._application and self._application.in_memory):
                saved = env.snapshot()
                state = saved.backend.difference if self._application else saved.backend.databases
                if len(self._envs) == 1:
                    env.restore(saved)
            return state, env.step(env.dialect.format(Action(Kind.EXIT, argument="done")))

        return self._fault(end)

    def _fault(self, act: Callable[[WebArenaLite], Any]) -> str:
        """Return what is wrong with what an act comes to in the envs, "" for nothing."""
        results = []
        for env in self._envs:
            try:
                results.append(act(env))
            except Exception as error:  # noqa: BLE001 - whatever is raised is a fault
                places = " < ".join(f"{place.name}:{place.lineno}" for place in extract_tb(error.__traceback__)[:-5:-1])
                return f"{type(error).__name__}: {error} ({places})"
        *_, info = results[0]
        info = info[-1] if isinstance(info, tuple) else info
        broken = [*info.get("site_errors", ()), *([info["failure"]] if "failure" in info else ())]
        return broken[0] if broken else "".join(_difference(results[0], other) for other in results[1:])


def _task(walk: Walk) -> Task:
    block = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}}
    is_signed_in = walk.is_destructive or walk.seed % 4 != 3
    return Task(
        f"walk/{walk.seed}", (walk.site,), f"__{walk.site.upper()}__/", "Walk.", block,
        require_login=is_signed_in, world_seed=walk.world_seed,
    )  # fmt: skip


def _accounts(env: WebArenaLite, site: str) -> list[Account]:
    """Return who can sign in on a site: the rows of the tables that have passwords."""
    database = env.database(site)
    found = []
    for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name DESC").fetchall():
        columns = {row["name"] for row in database.execute(f"PRAGMA table_info({table})")}
        name = next((column for column in ("username", "email") if column in columns), "")
        if "password" in columns and name:
            found += [Account(*row) for row in database.execute(f"SELECT {name}, password FROM {table} ORDER BY 1 LIMIT 3")]
    return found


def _shortest(players: _Players, walk: Walk, replies: Sequence[str], what: str) -> Fault:
    """Return the fault by as few replies as leaving some out can give."""
    kept, size, left = list(replies), len(replies), _REPLAYED
    again = players.replay(walk, kept)
    if not again:
        return Fault(walk, tuple(kept), f"{what} (not when the same replies are given again)")
    what = again
    while size and left > 0:
        place = 0
        while place < len(kept) and left > 0:
            fewer = kept[:place] + kept[place + size :]
            left -= len(fewer) + 1
            if found := players.replay(walk, fewer):
                kept, what = fewer, found
            else:
                place += size
        size = min(size, len(kept)) // 2
    return Fault(walk, tuple(kept), what)


def _difference(one: Any, other: Any) -> str:
    """Return the first difference of what two browsers came to, "" for none."""
    if one == other:
        return ""
    if isinstance(one[0], dict):  # the end of a walk
        differing = [name for name in {**one[0], **other[0]} if one[0].get(name) != other[0].get(name)]
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
