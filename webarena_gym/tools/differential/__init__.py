"""Random acts on both browsers in step: whatever is done, both must show the same and do the same to the sites.

A walk is a function of its seed: it begins on a site of a world and does what an agent may do, sensible or not. After each act all
that `step` returns is compared, and at the end of the walk what is in the databases. A walk that ends in a difference is cut
down to the fewest replies that still lead to one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from webarena_gym.env import WebArenaLite
from webarena_gym.processes import workers
from webarena_gym.sites.catalogue import HOSTS, URLS
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.tools.differential.acts import Account, Scene, next_reply

STEPS = 40
"""Acts of a whole walk."""
_PIECE = 4  # walks that a process is given at a time
_REPLAYS = 200  # that may be spent on making a walk short

PRESENTATIONS: Sequence[Mapping[str, Any]] = (
    MappingProxyType({"observation": "html", "elements": "id", "dialect": "webarena"}),
    MappingProxyType({"observation": "axtree", "elements": "label", "dialect": "browsergym", "window": 300_000}),
    MappingProxyType({"observation": "html", "elements": "label", "dialect": "webarena", "window": 300_000}),
    MappingProxyType({"observation": "occam", "elements": "id", "dialect": "webarena", "window": 300_000}),
)
"""How walks see pages and write actions, one after the other; a large window shows all of a page."""


@dataclass(frozen=True)
class Walk:
    """One walk: where it begins, and the seed of what is done."""

    site: str
    world_seed: int
    variation: Variation
    seed: int
    steps: int = STEPS


class Difference(NamedTuple):
    """A walk that did not give the same on both browsers: as few of its replies as were found, and what differs after them."""

    walk: Walk
    replies: tuple[str, ...]
    what: str

    def __str__(self) -> str:
        walk = self.walk
        start = f"{walk.site}, world {walk.world_seed}, variation {walk.variation}, seed {walk.seed}"
        return "\n    ".join((f"{start}: {self.what}", *map(repr, self.replies)))


@dataclass
class Comparison:
    """What walks came to: the states that were compared, and the differences among them."""

    walks: int = 0
    states: int = 0
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: "Comparison") -> None:
        """Take in what other walks came to."""
        self.walks += other.walks
        self.states += other.states
        self.differences.extend(other.differences)


def plan(
    states: int,
    *,
    seed: int = 0,
    sites: Sequence[str] = tuple(HOSTS),
    world_seeds: Sequence[int] = (1000,),
    variation: Variation = "content",
) -> Iterator[Walk]:
    """Yield walks that compare at least that many states when nothing differs, over the sites and worlds in turn."""
    for number in range(-(-states // (STEPS + 1))):
        lap, place = divmod(number, len(sites))
        yield Walk(sites[place], world_seeds[lap % len(world_seeds)], variation, seed * 1_000_000 + number)


def compare(walks: Iterable[Walk], *, jobs: int = 1, on_progress: Callable[[Comparison], None] = lambda _: None) -> Comparison:
    """Take walks on both browsers and return what they came to, the same for any number of `jobs`, processes that share them."""
    chosen = list(walks)
    pieces = [chosen[start : start + _PIECE] for start in range(0, len(chosen), _PIECE)]
    total = Comparison()
    with workers(min(jobs, len(pieces))) as work:
        for found in work(take, pieces):
            total.add(found)
            on_progress(total)
    return total


def take(walks: Sequence[Walk]) -> Comparison:
    """Take some walks on both browsers in this process, one after the other."""
    total = Comparison()
    with ExitStack() as stack:

        @cache
        def pair(presentation: int, variation: Variation) -> _Pair:
            return stack.enter_context(_Pair(PRESENTATIONS[presentation], variation))

        for walk in walks:
            used = pair(walk.seed % len(PRESENTATIONS), walk.variation)
            replies, what = used.take(walk)
            total.walks += 1
            total.states += len(replies) + 1
            if what:
                total.differences.append(_shortest(used, walk, replies, what))
    return total


class _Pair:
    """Two envs in step, one on each browser."""

    def __init__(self, presentation: Mapping[str, Any], variation: Variation) -> None:
        self._envs = [
            WebArenaLite(variation=variation, browser=browser, max_steps=10 * STEPS, **presentation)
            for browser in ("inprocess", "chromium")
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for env in self._envs:
            env.close()

    def take(self, walk: Walk) -> tuple[list[str], str]:
        """Take a walk; return its replies up to a difference, and what that is, "" for none."""
        dice, env, replies = Random(walk.seed), self._envs[0], list[str]()
        what = self._begin(walk)
        accounts = _accounts(env, walk.site)
        while not what and len(replies) < walk.steps:
            scene = Scene(env.page, env.observation, tuple(URLS.values()), accounts)
            replies.append(next_reply(scene, env.dialect, dice))
            what = self._step(replies[-1])
        return replies, what or self._end()

    def replay(self, walk: Walk, replies: Iterable[str]) -> str:
        """Give the same replies where a walk begins; return the first difference, "" for none."""
        return self._begin(walk) or next(filter(None, map(self._step, replies)), "") or self._end()

    def _begin(self, walk: Walk) -> str:
        task = _task(walk)
        return _difference(*(env.reset(seed=walk.seed, options={"task": task}) for env in self._envs))

    def _step(self, reply: str) -> str:
        return _difference(*(env.step(reply) for env in self._envs))

    def _end(self) -> str:
        one, other = (env.snapshot().venue.databases for env in self._envs)
        differing = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        return f"the databases differ: {', '.join(differing)}" if differing else ""


def _task(walk: Walk) -> Task:
    """Return a task that begins where the walk does; one walk of four is not signed in."""
    return Task(
        f"walk/{walk.seed}",
        (walk.site,),
        f"__{walk.site.upper()}__/",
        "Walk.",
        {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}},
        require_login=walk.seed % 4 != 3,
        world_seed=walk.world_seed,
    )


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


def _shortest(pair: _Pair, walk: Walk, replies: Sequence[str], what: str) -> Difference:
    """Return the difference by as few replies as leaving some out can give."""
    kept, size, left = list(replies), len(replies), _REPLAYS
    again = pair.replay(walk, kept)
    if not again:
        return Difference(walk, tuple(kept), f"{what} (not when the same replies are given again)")
    what = again
    while size and left:
        place = 0
        while place < len(kept) and left:
            left -= 1
            fewer = kept[:place] + kept[place + size :]
            if found := pair.replay(walk, fewer):
                kept, what = fewer, found
            else:
                place += size
        size = min(size, len(kept)) // 2
    return Difference(walk, tuple(kept), what)


def _difference(one: Any, other: Any) -> str:
    """Return the first difference of what `reset` or `step` returned, "" for none."""
    if one == other:
        return ""
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
