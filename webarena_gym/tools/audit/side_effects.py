"""Side-effect probes: solutions with further actions must not be rewarded, solutions with detours must be."""

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
from webarena_gym.browsers.cookies import CookieJar
from webarena_gym.browsers.document import parse
from webarena_gym.browsers.forms import default_button, form_request
from webarena_gym.browsers.http import Client, LoadedPage, Request, is_web, resolve_url, without_fragment
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.evaluators import resolve
from webarena_gym.evaluators.side_effects import CHECK
from webarena_gym.pages import dom
from webarena_gym.pages.form_data import URLENCODED, FormEntry, construct_entry_list, encode_entries
from webarena_gym.pages.page import Network
from webarena_gym.sites.catalogue import HOSTS, SITES, URLS
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.world import load_site, load_world
from webarena_gym.tasks import Task
from webarena_gym.tools.audit.replays import AuditFindings, do_all

_LOADED_A_RULE = 8  # more if pages of other kinds link to it
_LOADED_A_LINK = 1
_MOST_A_RULE = 16
_PAGES_A_RULE = 3  # with the same forms
_SUBMISSIONS_A_RULE = 3  # with the same kind of changes
_TRIES_A_RULE = 16
_VALUES: Mapping[str, str] = {
    "email": "somebody.else@example.org", "number": "3", "date": "2030-05-05", "url": "http://example.org/", "tel": "555-0199",
    "password": "Password.123",
}  # fmt: skip
_UNDO_TRIES = 12
_LEAVES = ("logout", "sign_out", "login", "sign_in")


class FormSubmission(NamedTuple):
    """A submission of one form of a page, and the changes that it makes in a new world."""

    site: str
    rule: str  # the URL rule of the site that handles it
    request: Request
    first_change: str
    changed_rows: frozenset[tuple[Any, ...]]  # site of the database, table, key
    undo_request: Request | None  # reverts the submission, if a form on the resulting page can
    is_shown: bool  # the text of the form's page differs afterwards

    def __str__(self) -> str:
        return f"POST {self.rule}: {self.first_change}"


Repertoire = tuple[tuple[FormSubmission, ...], tuple[str, ...]]
"""All form submissions of a world, and the URLs of its pages."""


def visitor(network: Network, world_seed: int, scale: Scale) -> Client:
    """Return a client with the current user's sessions on all sites of a world, as at the start of tasks."""
    client = Client(network)
    client.cookies = CookieJar.from_hosts(load_world(world_seed, scale).cookies(HOSTS))
    return client


@lru_cache(maxsize=4)
def repertoire(spec: WorldSpec) -> Repertoire:
    """Return the form submissions and pages of a world."""
    visits: list[str] = []
    submissions: list[FormSubmission] = []
    search = _Search(spec)
    with closing(search.backend):
        for site in HOSTS:
            pages = list(search.pages(site))
            visits += [url for url, _ in pages]
            submissions += search.submissions(site, pages)
    return tuple(submissions), tuple(visits)


class _Search:
    def __init__(self, spec: WorldSpec) -> None:
        self._spec = spec
        self.backend = EmbeddedBackend(InProcessBrowser, variation=spec.variation, scale=spec.scale)

    def _start_episode(self) -> Client:
        self.backend.start_episode(self._spec.world_seed, "__HOMEPAGE__", ())
        return visitor(self.backend.network, self._spec.world_seed, self._spec.scale)

    def pages(self, site: str) -> Iterator[tuple[str, HtmlElement]]:
        """Yield URLs and trees of pages found by the links and search forms of a site: a few of each kind."""
        client, host = self._start_episode(), HOSTS[site]
        loads, kinds = Counter[tuple[str, str]](), Counter[tuple[str, ...]]()
        home = URLS[f"__{site.upper()}__"] + "/"
        waiting, queued = deque([(home, "")]), {home}
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
            for target in (*(without_fragment(link) for link in linked if is_web(link)), *_searches(page, loaded[0])):
                if urlsplit(target).netloc == host and target not in queued:
                    queued.add(target)
                    waiting.append((target, rule))

    def submissions(self, site: str, pages: list[tuple[str, HtmlElement]]) -> Iterator[FormSubmission]:
        """Yield form submissions of some pages of a site that change data: several of each kind."""
        yielded, tried, sent = Counter[tuple[str, ...]](), Counter[str](), set[Request]()
        for url, page in pages:
            for request in _posts(page, url):
                rule = _rule(site, "POST", request.url)
                if request in sent or tried[rule] >= _TRIES_A_RULE or not rule:
                    continue
                sent.add(request)
                tried[rule] += 1
                answer = self._start_episode().load(request)
                changes = self.backend.changes()
                kind = (rule, *sorted({f"{change.table} {change.columns} {change.after is None}" for change in changes}))
                if changes and answer is not None and yielded[kind] < _SUBMISSIONS_A_RULE:
                    tried[rule] -= 1
                    yielded[kind] += 1
                    changed_rows = frozenset((change.site, change.table, change.key) for change in changes)
                    undo_request = self._undo_request(request, set(_posts(page, url)), answer) if yielded[kind] == 1 else None
                    yield FormSubmission(
                        site, rule, request, str(changes[0]), changed_rows, undo_request, self._is_shown(request, url)
                    )

    def _is_shown(self, request: Request, url: str) -> bool:
        """Return True if a request changes the text of a page, apart from one-time messages."""
        client = self._start_episode()
        before = client.load(Request(url))
        answer = client.load(request)
        after = client.load(Request(url)) if answer else None
        return before is not None and after is not None and _text(before[1]) != _text(after[1])

    def _undo_request(self, request: Request, known: set[Request], answer: LoadedPage) -> Request | None:
        """Return the request that reverts a submission, among the forms that only its response has; None if there is none."""
        for undo_request in list(dict.fromkeys(_posts(parse(answer[1]), answer[0])))[:_UNDO_TRIES]:
            if undo_request not in known:
                client = self._start_episode()
                client.load(request)
                client.load(undo_request)
                if not self.backend.changes():
                    return undo_request
        return None


def _text(content: bytes) -> str:
    return "\n".join(filter(None, (text.strip() for text in parse(content).itertext())))


def _rule(site: str, method: str, url: str) -> str:
    return _rule_of_path(site, method, urlsplit(url).path)


@lru_cache(maxsize=50_000)
def _rule_of_path(site: str, method: str, path: str) -> str:
    return load_site(site).rule(method, path)


def _searches(page: HtmlElement, url: str) -> Iterator[str]:
    """Yield the URLs of the search forms, with a letter in each empty field."""
    for form in page.iter("form"):
        sent = form_request(form, default_button(form), url, partial(resolve_url, url))
        if sent is not None and sent.method == "GET":
            filled = [entry._replace(value=entry.value or "a") for entry in construct_entry_list(form, default_button(form))]
            yield f"{sent.url.partition('?')[0]}?{encode_entries(filled, URLENCODED)[1].decode()}"


def _posts(page: HtmlElement, url: str) -> Iterator[Request]:
    """Yield a request for each submit button of a page's forms, with the initial values, other texts and other choices."""
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
            as_it_is = construct_entry_list(form, button)
            for altered in (as_it_is, [*_with_texts(as_it_is, controls)], [*_with_choices(as_it_is, controls)]):
                content_type, body = encode_entries(altered, sent.content_type.partition(";")[0])
                yield sent._replace(content_type=content_type, body=body)


def _with_texts(sent: list[FormEntry], controls: list[HtmlElement]) -> Iterator[FormEntry]:
    """Yield the form entries with another value in each text field."""
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
    """Yield the form entries with another option of each select and radio group, and with the unchecked boxes checked."""
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
        # the last other option, or the current one if there is no other
        chosen = ([other for other in others if other != entry.value] or others)[-1:]
        yield from (entry._replace(value=other) for other in chosen)
    yield from (
        FormEntry(box.get("name"), box.get("value", "on")) for box in boxes if box.get("name") and "checked" not in box.attrib
    )


SUBMISSIONS = 10  # for a task with changes, before and after its solution
FEW_SUBMISSIONS = 2  # for a task without changes
DETOURS = 2  # submissions that are reverted
VISITS = 12
DRAWS = 8  # other draws of the template
CLOSEST = 2  # of these, the number of solutions that are played before the task's own
TRACES = ("session", "search_term")


Reward = Literal["refused", "overwritten", "rewarded"]
"""Result of a solution that follows other changes. "overwritten": rewarded, with the databases of the solution alone."""


def try_side_effects(
    env: WebArenaLite, task: Task, others: Iterable[Task], repertoire: Repertoire, findings: AuditFindings
) -> None:
    """Play a task's solution after and before other changes, which must not be rewarded, and with detours, which must be.

    The other changes are form submissions that change other rows than the solution, and solutions of other draws of the template. If they
    precede the solution, a reward is right if the final databases equal those of the solution alone.
    """
    trial = _Trial(env, task)
    try:
        exit_reply, needed = trial.prepare()
    except ActionError:  # already reported by the replay of the solution
        return
    snapshot = env.snapshot()
    rng = Random(f"side effects of {task.task_id}")
    rows = {(change.site, change.table, change.key) for change in needed}
    submissions = [submission for submission in _interleave(repertoire[0], task, rng) if not submission.changed_rows & rows]
    count = SUBMISSIONS if needed else FEW_SUBMISSIONS

    def after(submission: FormSubmission) -> Reward | None:
        env.restore(snapshot)
        trial.do(submission.request)
        return None if env.changes() == needed else "rewarded" if env.step(exit_reply)[1] > 0 else "refused"

    def before(submission: FormSubmission) -> Reward | None:
        ended = trial.play_after(partial(trial.do, submission.request))
        if (
            needed
            and submission.is_shown
            and submission.site in task.sites
            and trial.is_right
            and ended in ("refused", "rewarded")
        ):
            findings.shown_before += 1
        return ended

    attempts: Sequence[tuple[str, Callable[[FormSubmission], Reward | None]]] = (("after", after), ("before", before))
    for when, attempt in attempts:
        tried = (
            (submission, ended) for submission in submissions if (ended := attempt(submission)) not in (None, "overwritten")
        )
        for submission, ended in islice(tried, count):
            findings.side_effects_tried += 1
            if ended == "rewarded":
                findings.side_effects_rewarded.append(f"{task.task_id}: {when} the solution, {submission}")
    candidates = [*islice(others, DRAWS if needed else 1)]
    for other in candidates[:1]:
        env.restore(snapshot)
        if trial.follow(other) and env.changes() != needed:
            findings.side_effects_tried += 1
            if env.step(exit_reply)[1] > 0:
                findings.side_effects_rewarded.append(f"{task.task_id}: after the solution, that of {other.task_id}")
    if needed:
        _try_draws_before(trial, candidates, rows, findings)
    detours: dict[str, tuple[Request, ...]] = {
        "visits": tuple(map(Request, rng.sample(repertoire[1], min(VISITS, len(repertoire[1])))))
    }
    undone = [(submission, submission.undo_request) for submission in submissions if submission.undo_request is not None]
    detours |= {
        f"done and undone, {submission}": (submission.request, undo_request) for submission, undo_request in undone[:DETOURS]
    }
    for name, requests in detours.items():
        if task.setup and not trial.is_detour(*requests):
            continue
        findings.detours_tried += 1
        if trial.play(*requests) != 1.0:
            findings.detours_refused.append(f"{task.task_id}: {name}")


def _try_draws_before(trial: "_Trial", draws: Sequence[Task], rows: Collection[object], findings: AuditFindings) -> None:
    """Play the solutions of the closest other draws before the task's own, which must not be rewarded unless it overwrites them."""
    for other in trial.closest(draws, rows)[:CLOSEST]:
        ended = trial.play_after(partial(trial.follow, other))
        if ended is not None:
            findings.side_effects_tried += 1
            findings.other_draws_before += 1
            spec = {"rewarded": findings.side_effects_rewarded, "overwritten": findings.overwritten}.get(ended, [])
            spec.append(f"{trial.task.task_id}: before the solution, that of {other.task_id}")


class _Trial:
    """One task in an env, and a second client with sessions on all sites."""

    def __init__(self, env: WebArenaLite, task: Task) -> None:
        assert task.world_seed is not None
        self._env, self.task, self._world_seed = env, task, task.world_seed
        self.is_right = False  # True if all checks except side effects passed in the last call of `play_after`

    def prepare(self) -> tuple[str, list[Change]]:
        """Play the solution except its exit. Return the exit reply and the changes. Raises ActionError."""
        self._env.reset(options={"task": self.task})
        return do_all(self._env, self.task), self._env.changes()

    def do(self, *requests: Request) -> None:
        client = visitor(self._env.network, self._world_seed, self.task.scale)
        for request in requests:
            client.load(request)

    def follow(self, other: Task) -> bool:
        """Play another task's solution in a second browser and return True if all its steps could be done."""
        browser = InProcessBrowser(self._env.network)
        urls = [resolve(url.strip(), URLS) for url in other.start_url.split("|AND|")]
        browser.start(urls, load_world(self._world_seed, self.task.scale).cookies(other.sites))
        try:
            execute_solution(browser, other.solution)
        except ActionError:
            return False
        return True

    def closest(self, others: Iterable[Task], rows: Collection[object]) -> list[Task]:
        """Return the tasks whose solutions can be played, in descending order of the given rows that they change."""
        ranked: list[tuple[int, Task]] = []
        for other in others:
            self._env.reset(options={"task": self.task})
            if self.follow(other):
                changed_rows = {(change.site, change.table, change.key) for change in self._env.changes()}
                ranked.append((-len(changed_rows & set(rows)), other))
        return [other for _, other in sorted(ranked, key=itemgetter(0))]

    def play_after(self, first: Callable[[], object]) -> Reward | None:
        """Call `first`, then play the solution. Return the result, None if nothing was changed or the solution could not be played."""
        self._env.reset(options={"task": self.task})
        first()
        if not self._env.changes():
            return None
        try:
            exit_reply = do_all(self._env, self.task)
        except ActionError:
            return None
        _, reward, *_, info = self._env.step(exit_reply)
        self.is_right = any(verdict["check"] == CHECK for verdict in info["verdicts"])  # runs only if all others passed
        if reward == 0:
            return "refused"
        written = {change.site for change in self._env.changes()} | {SITES[site].database for site in self.task.sites}
        left = [self._env.database(name).serialize() for name in written]
        self.prepare()
        alone = [self._env.database(name).serialize() for name in written]
        return "rewarded" if any(map(_differ, left, alone)) else "overwritten"

    def is_detour(self, *requests: Request) -> bool:
        """Return True if requests change nothing in the end. In a world with planted rows, a reverted row may get another number."""
        self._env.reset(options={"task": self.task})
        self.do(*requests)
        return not self._env.changes()

    def play(self, *requests: Request) -> float | None:
        """Send requests, then play the solution. Return the reward, None if the solution could not be played."""
        self._env.reset(options={"task": self.task})
        self.do(*requests)
        try:
            exit_reply = do_all(self._env, self.task)
        except ActionError:
            return None
        return self._env.step(exit_reply)[1]


def _differ(one: bytes, other: bytes) -> bool:
    """Return True if the rows of two databases differ in any table except TRACES, which page visits change."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("ATTACH ':memory:' AS other")
        connection.deserialize(one)
        connection.deserialize(other, name="other")
        query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        tables = [f'"{name}"' for (name,) in connection.execute(query) if name not in TRACES]
        pairs = [(f"main.{table}", f"other.{table}") for table in tables]
        queries = (f"SELECT * FROM {a} EXCEPT SELECT * FROM {b}" for pair in pairs for a, b in (pair, pair[::-1]))
        return any(connection.execute(f"{query} LIMIT 1").fetchone() for query in queries)


def _interleave(submissions: Sequence[FormSubmission], task: Task, rng: Random) -> list[FormSubmission]:
    """Return the submissions in random order: the task's sites and others in turn, beginning with one of each rule."""
    submissions = rng.sample(submissions, len(submissions))
    firsts = list({submission.rule: submission for submission in reversed(submissions)}.values())
    of_task = [submission for submission in firsts if submission.site in task.sites]
    others = [submission for submission in firsts if submission.site not in task.sites]
    turns = [submission for pair in zip(of_task, others, strict=False) for submission in pair]
    return list(dict.fromkeys([*turns, *firsts, *submissions]))
