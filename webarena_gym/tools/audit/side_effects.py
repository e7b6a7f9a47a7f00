"""Side-effect probes: solutions with further actions must not be rewarded, solutions with detours must."""

import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache, partial
from itertools import islice
from operator import itemgetter
from random import Random
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from webarena_gym.backends.base import execute_solution
from webarena_gym.backends.embedded import EmbeddedBackend, WorldSpec
from webarena_gym.browsers.document import parse
from webarena_gym.browsers.forms import URLENCODED, FormEntry, default_button, encode_form, form_entries, form_request
from webarena_gym.browsers.http import Client, CookieJar, Request, is_web, resolve_url, without_fragment
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.evaluators import resolve
from webarena_gym.evaluators.side_effects import CHECK
from webarena_gym.pages import dom
from webarena_gym.pages.page import Network
from webarena_gym.sites.catalogue import HOSTS, SITES, URLS
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.world import load_site, load_world
from webarena_gym.tasks import Task
from webarena_gym.tools.audit.replays import Findings, do_all

_LOADED_A_RULE = 8  # and more where pages of another kind lead to it
_LOADED_A_LINK = 1
_MOST_A_RULE = 16
_PAGES_A_RULE = 3  # that show the same forms
_DEEDS_A_RULE = 3  # of one kind
_TRIES_A_RULE = 16
_VALUES: Mapping[str, str] = {
    "email": "somebody.else@example.org", "number": "3", "date": "2030-05-05", "url": "http://example.org/", "tel": "555-0199",
    "password": "Password.123",
}  # fmt: skip
_UNDOINGS = 12  # that are tried
_LEAVES = ("logout", "sign_out", "login", "sign_in")


class Deed(NamedTuple):
    """Something that a person does with one form of a page, and what it changes in a world as good as new."""

    site: str
    rule: str  # what of the site answers it
    request: Request
    told: str  # its first change
    touched: frozenset[tuple[Any, ...]]  # the rows that it changes: site of the database, table, key
    undoing: Request | None  # what takes it back, where a form that follows it does
    is_shown: bool  # the page of the form reads differently afterwards

    def __str__(self) -> str:
        return f"POST {self.rule}: {self.told}"


Repertoire = tuple[tuple[Deed, ...], tuple[str, ...]]
"""All that was found in a world: deeds, and addresses of pages."""


def visitor(network: Network, world_seed: int, scale: Scale) -> Client:
    """Return somebody who is signed in to all sites of a world, in the sessions that tasks begin with."""
    client = Client(network)
    client.cookies = CookieJar.from_hosts(load_world(world_seed, scale).cookies(HOSTS))
    return client


@lru_cache(maxsize=4)
def repertoire(place: WorldSpec) -> Repertoire:
    """Return what can be done in a world, with its sites built as the variation says."""
    visits: list[str] = []
    deeds: list[Deed] = []
    search = _Search(place)
    with closing(search.backend):
        for site in HOSTS:
            pages = list(search.pages(site))
            visits += [url for url, _ in pages]
            deeds += search.deeds(site, pages)
    return tuple(deeds), tuple(visits)


class _Search:
    def __init__(self, place: WorldSpec) -> None:
        self._place = place
        self.backend = EmbeddedBackend(InProcessBrowser, variation=place.variation, scale=place.scale)

    def _begin(self) -> Client:
        self.backend.start_episode(self._place.world_seed, "__HOMEPAGE__", ())
        return visitor(self.backend.network, self._place.world_seed, self._place.scale)

    def pages(self, site: str) -> Iterator[tuple[str, HtmlElement]]:
        """Yield addresses and trees of pages, as the links and searches of a site reach them: some of each kind."""
        client, host = self._begin(), HOSTS[site]
        loads, kinds = Counter[tuple[str, str]](), Counter[tuple[str, ...]]()
        home = URLS[f"__{site.upper()}__"] + "/"
        waiting, seen = deque([(home, "")]), {home}
        while waiting:
            url, source = waiting.popleft()
            rule = _rule(site, "GET", url)
            if not rule or any(word in url for word in _LEAVES):
                continue
            if loads[rule, ""] >= (_MOST_A_RULE if loads[rule, source] < _LOADED_A_LINK else _LOADED_A_RULE):
                continue
            loads.update([(rule, source), (rule, "")])
            loaded = client.load(Request(url))
            if loaded is None or urlsplit(loaded[0]).netloc != host:
                continue
            page = parse(loaded[1])
            kind = (rule, *sorted({_rule(site, "POST", request.url) for request in _posts(page, loaded[0])}))
            kinds[kind] += 1
            if kinds[kind] <= _PAGES_A_RULE:
                yield loaded[0], page
            linked = (resolve_url(loaded[0], link.get("href") or "") for link in page.iter("a"))
            for found in (*(without_fragment(each) for each in linked if is_web(each)), *_searches(page, loaded[0])):
                if urlsplit(found).netloc == host and found not in seen:
                    seen.add(found)
                    waiting.append((found, rule))

    def deeds(self, site: str, pages: list[tuple[str, HtmlElement]]) -> Iterator[Deed]:
        """Yield what the forms of some pages of a site change: several of each kind."""
        found, tried, sent = Counter[tuple[str, ...]](), Counter[str](), set[Request]()
        for url, page in pages:
            for request in _posts(page, url):
                rule = _rule(site, "POST", request.url)
                if request in sent or tried[rule] >= _TRIES_A_RULE or not rule:
                    continue
                sent.add(request)
                tried[rule] += 1
                answer = self._begin().load(request)
                changes = self.backend.changes()
                kind = (rule, *sorted({f"{change.table} {change.columns} {change.after is None}" for change in changes}))
                if changes and answer is not None and found[kind] < _DEEDS_A_RULE:
                    tried[rule] -= 1
                    found[kind] += 1
                    touched = frozenset((change.site, change.table, change.key) for change in changes)
                    undoing = self._undoing(request, set(_posts(page, url)), answer) if found[kind] == 1 else None
                    yield Deed(site, rule, request, str(changes[0]), touched, undoing, self._is_shown(request, url))

    def _is_shown(self, request: Request, url: str) -> bool:
        """Return True if the text of a page, loaded after the messages of a request were shown, differs from what it was."""
        client = self._begin()
        before = client.load(Request(url))
        answer = client.load(request)
        after = client.load(Request(url)) if answer else None
        return before is not None and after is not None and _text(before[1]) != _text(after[1])

    def _undoing(self, request: Request, known: set[Request], answer: tuple[str, bytes]) -> Request | None:
        """Return what takes a deed back, of the forms that its answer shows and that were not there before it."""
        for undoing in list(dict.fromkeys(_posts(parse(answer[1]), answer[0])))[:_UNDOINGS]:
            if undoing not in known:
                client = self._begin()
                client.load(request)
                client.load(undoing)
                if not self.backend.changes():
                    return undoing
        return None


def _text(content: bytes) -> str:
    return "\n".join(filter(None, (text.strip() for text in parse(content).itertext())))


def _rule(site: str, method: str, url: str) -> str:
    return _rule_of_path(site, method, urlsplit(url).path)


@lru_cache(maxsize=50_000)
def _rule_of_path(site: str, method: str, path: str) -> str:
    return load_site(site).rule(method, path)


def _searches(page: HtmlElement, url: str) -> Iterator[str]:
    """Yield where the forms for searching lead, with a letter in each empty field."""
    for form in page.iter("form"):
        sent = form_request(form, default_button(form), url, partial(resolve_url, url))
        if sent is not None and sent.method == "GET":
            filled = [entry._replace(value=entry.value or "a") for entry in form_entries(form, default_button(form))]
            yield f"{sent.url.partition('?')[0]}?{encode_form(filled, URLENCODED)[1].decode()}"


def _posts(page: HtmlElement, url: str) -> Iterator[Request]:
    """Yield what the forms of a page send when their buttons are pressed: as they are, with other texts, with other choices."""
    for form in page.iter("form"):
        controls = dom.form_controls(form)
        buttons = [
            control for control in controls if dom.element_type(control) in dom.SUBMIT_TYPES and not dom.is_disabled(control)
        ]
        pressed: list[HtmlElement | None] = [*buttons] or [None]
        for button in pressed:
            sent = form_request(form, button, url, partial(resolve_url, url))
            if sent is None or sent.method != "POST":
                continue
            as_it_is = form_entries(form, button)
            for altered in (as_it_is, [*_with_texts(as_it_is, controls)], [*_with_choices(as_it_is, controls)]):
                content_type, body = encode_form(altered, sent.content_type.partition(";")[0])
                yield sent._replace(content_type=content_type, body=body)


def _with_texts(sent: list[FormEntry], controls: list[HtmlElement]) -> Iterator[FormEntry]:
    """Yield what a form sends when all that can be written in it reads otherwise."""
    kinds = {control.get("name"): dom.element_type(control) for control in controls}
    for entry in sent:
        kind = kinds.get(entry.name, "")
        if kind not in dom.TYPEABLE_TYPES:
            yield entry
        elif kind in _VALUES or "mail" in entry.name:
            yield entry._replace(value=_VALUES.get(kind, _VALUES["email"]))
        else:
            yield entry._replace(value=str(int(entry.value) + 1) if entry.value.isdecimal() else f"{entry.value}Else")


def _with_choices(sent: list[FormEntry], controls: list[HtmlElement]) -> Iterator[FormEntry]:
    """Yield what a form sends with another option of each list and of each set of circles, and with the other boxes ticked."""
    named = {control.get("name"): control for control in controls}
    boxes = [control for control in controls if dom.element_type(control) == "checkbox"]
    for entry in sent:
        control = named.get(entry.name)
        kind = "" if control is None else dom.element_type(control)
        others = [] if kind == "checkbox" else [entry.value]
        if control is not None and kind == "select":
            others = [dom.option_value(option) for option in control.iter("option")]
        elif control is not None and kind == "radio":
            others = [radio.get("value", "on") for radio in dom.radio_group(control)]
        # another than what was chosen, the last of them, or else the same
        chosen = ([other for other in others if other != entry.value] or others)[-1:]
        yield from (entry._replace(value=other) for other in chosen)
    yield from (
        FormEntry(box.get("name"), box.get("value", "on")) for box in boxes if box.get("name") and "checked" not in box.attrib
    )


DEEDS = 10  # for a task that changes something, before and after its solution
FEW_DEEDS = 2  # for one that changes nothing
DETOURS = 2  # of something that is done and taken back
VISITS = 12
DRAWS = 8  # other draws of the template that are looked at
CLOSEST = 2  # and of these, how many are done before the solution
TRACES = ("session", "search_term")


Reward = Literal["refused", "overwritten", "rewarded"]
"""The end of a solution done after something else: overwritten is a reward for the databases of the solution alone."""


def try_side_effects(env: WebArenaLite, task: Task, others: Iterable[Task], repertoire: Repertoire, findings: Findings) -> None:
    """Do a task's solution with something else before or after it, which must not be rewarded, and with detours, which must.

    What else is done changes other rows than the solution, or is what another draw of the template asks for. If it is done before
    the solution, it may be rewarded if the databases are those that the solution alone leaves.
    """
    trial = _Trial(env, task)
    try:
        parting, needed = trial.prepare()
    except ActionError:  # the replay of the solution has told it
        return
    snapshot = env.snapshot()
    rng = Random(f"side effects of {task.task_id}")
    rows = {(change.site, change.table, change.key) for change in needed}
    deeds = [deed for deed in _mixed(repertoire[0], task, rng) if not deed.touched & rows]
    count = DEEDS if needed else FEW_DEEDS

    def after(deed: Deed) -> Reward | None:
        env.restore(snapshot)
        trial.do(deed.request)
        return None if env.changes() == needed else "rewarded" if env.step(parting)[1] > 0 else "refused"

    def before(deed: Deed) -> Reward | None:
        ended = trial.play_after(partial(trial.do, deed.request))
        if needed and deed.is_shown and deed.site in task.sites and trial.is_right and ended in ("refused", "rewarded"):
            findings.shown_before += 1
        return ended

    attempts: Sequence[tuple[str, Callable[[Deed], Reward | None]]] = (("after", after), ("before", before))
    for when, attempt in attempts:
        tried = ((deed, ended) for deed in deeds if (ended := attempt(deed)) not in (None, "overwritten"))
        for deed, ended in islice(tried, count):
            findings.side_effects_tried += 1
            if ended == "rewarded":
                findings.side_effects_rewarded.append(f"{task.task_id}: {when} the solution, {deed}")
    candidates = [*islice(others, DRAWS if needed else 1)]
    for other in candidates[:1]:
        env.restore(snapshot)
        if trial.follow(other) and env.changes() != needed:
            findings.side_effects_tried += 1
            if env.step(parting)[1] > 0:
                findings.side_effects_rewarded.append(f"{task.task_id}: after the solution, that of {other.task_id}")
    if needed:
        _try_draws_before(trial, candidates, rows, findings)
    detours: dict[str, tuple[Request, ...]] = {
        "visits": tuple(map(Request, rng.sample(repertoire[1], min(VISITS, len(repertoire[1])))))
    }
    undone = [(deed, deed.undoing) for deed in deeds if deed.undoing is not None]
    detours |= {f"done and undone, {deed}": (deed.request, undoing) for deed, undoing in undone[:DETOURS]}
    for name, requests in detours.items():
        if task.setup and not trial.is_detour(*requests):
            continue
        findings.detours_tried += 1
        if trial.play(*requests) != 1.0:
            findings.detours_refused.append(f"{task.task_id}: {name}")


def _try_draws_before(trial: "_Trial", draws: Sequence[Task], rows: Collection[object], findings: Findings) -> None:
    """Do the closest of other draws before the solution, which must not be rewarded unless nothing of them is left."""
    for other in trial.closest(draws, rows)[:CLOSEST]:
        ended = trial.play_after(partial(trial.follow, other))
        if ended is not None:
            findings.side_effects_tried += 1
            findings.other_draws_before += 1
            place = {"rewarded": findings.side_effects_rewarded, "overwritten": findings.overwritten}.get(ended, [])
            place.append(f"{trial.task.task_id}: before the solution, that of {other.task_id}")


class _Trial:
    """One task in an env, with somebody beside the browser who is signed in to all sites."""

    def __init__(self, env: WebArenaLite, task: Task) -> None:
        assert task.world_seed is not None
        self._env, self.task, self._world_seed = env, task, task.world_seed
        self.is_right = False  # whether all checks but that of side effects passed when `play_after` was last called

    def prepare(self) -> tuple[str, list[Change]]:
        """Do the whole solution but for leaving; return the reply that leaves, and the changes. Raises ActionError."""
        self._env.reset(options={"task": self.task})
        return do_all(self._env, self.task), self._env.changes()

    def do(self, *requests: Request) -> None:
        client = visitor(self._env.network, self._world_seed, self.task.scale)
        for request in requests:
            client.load(request)

    def follow(self, other: Task) -> bool:
        """Do another task's solution in a browser of its own; say whether it could be done."""
        browser = InProcessBrowser(self._env.network)
        urls = [resolve(url.strip(), URLS) for url in other.start_url.split("|AND|")]
        browser.start(urls, load_world(self._world_seed, self.task.scale).cookies(other.sites))
        try:
            execute_solution(browser, other.solution)
        except ActionError:
            return False
        return True

    def closest(self, others: Iterable[Task], rows: Collection[object]) -> list[Task]:
        """Return tasks whose solutions can be done, those first that change most of some rows."""
        ranked: list[tuple[int, Task]] = []
        for other in others:
            self._env.reset(options={"task": self.task})
            if self.follow(other):
                touched = {(change.site, change.table, change.key) for change in self._env.changes()}
                ranked.append((-len(touched & set(rows)), other))
        return [other for _, other in sorted(ranked, key=itemgetter(0))]

    def play_after(self, first: Callable[[], object]) -> Reward | None:
        """Do something and then the solution; return how it ended, None if nothing was changed or the solution could not be done."""
        self._env.reset(options={"task": self.task})
        first()
        if not self._env.changes():
            return None
        try:
            parting = do_all(self._env, self.task)
        except ActionError:
            return None
        _, reward, *_, info = self._env.step(parting)
        self.is_right = any(verdict["check"] == CHECK for verdict in info["verdicts"])  # looked for when all else has passed
        if reward == 0:
            return "refused"
        written = {change.site for change in self._env.changes()} | {SITES[site].database for site in self.task.sites}
        left = [self._env.database(name).serialize() for name in written]
        self.prepare()
        alone = [self._env.database(name).serialize() for name in written]
        return "rewarded" if any(map(_differ, left, alone)) else "overwritten"

    def is_detour(self, *requests: Request) -> bool:
        """Say whether requests change nothing in the end. In a world with planted rows, what takes a deed back may have another number."""
        self._env.reset(options={"task": self.task})
        self.do(*requests)
        return not self._env.changes()

    def play(self, *requests: Request) -> float | None:
        """Do something and then the solution; return the reward, None when the solution could not be done any more."""
        self._env.reset(options={"task": self.task})
        self.do(*requests)
        try:
            parting = do_all(self._env, self.task)
        except ActionError:
            return None
        return self._env.step(parting)[1]


def _differ(one: bytes, other: bytes) -> bool:
    """Return True if two databases have a row that the other has not, in any table but those that hold what visits leave behind."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("ATTACH ':memory:' AS other")
        connection.deserialize(one)
        connection.deserialize(other, name="other")
        query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        tables = [f'"{name}"' for (name,) in connection.execute(query) if name not in TRACES]
        pairs = [(f"main.{table}", f"other.{table}") for table in tables]
        queries = (f"SELECT * FROM {a} EXCEPT SELECT * FROM {b}" for pair in pairs for a, b in (pair, pair[::-1]))
        return any(connection.execute(f"{query} LIMIT 1").fetchone() for query in queries)


def _mixed(found: Sequence[Deed], task: Task, rng: Random) -> list[Deed]:
    """Return the deeds in an order of chance: those of the task's sites in turn with others, and first one of each kind."""
    deeds = rng.sample(found, len(found))
    firsts = list({deed.rule: deed for deed in reversed(deeds)}.values())
    own = [deed for deed in firsts if deed.site in task.sites]
    others = [deed for deed in firsts if deed.site not in task.sites]
    turns = [deed for pair in zip(own, others, strict=False) for deed in pair]
    return list(dict.fromkeys([*turns, *firsts, *deeds]))
