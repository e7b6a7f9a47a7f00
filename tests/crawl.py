"""A crawler for tests: it surveys a site's pages, and it walks at random with odd input, looking for faults.

`python -m tests.crawl --site shopping --steps 10000 --seed 0` walks for long and prints what it finds.
"""

import argparse
import re
import sys
from collections import Counter, deque
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import lxml.html
from werkzeug.exceptions import HTTPException

from webarena_gym.browsers.cookies import CookieJar
from webarena_gym.browsers.http import is_web, resolve_url, without_fragment
from webarena_gym.pages.page import HostUnknownError
from webarena_gym.sites.catalogue import HOSTS, URLS
from webarena_gym.sites.layout import PLAIN, layout_of
from webarena_gym.sites.world import connect, load_site, load_world

MARKUP = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)",
    "</textarea></title><b onclick=x>",
)  # fmt: skip
ODD = (
    *MARKUP, "", " ", "x", "word " * 1000, "x" * 70_000, "\u00dcn\u00efc\u00f6d\u00e9 \u6f22\u5b57 \U0001f642 \u202e", "a\0b", "\udcff\udcfe",
    "'; DROP TABLE world; --", '" OR 1=1 --', "%", "_", "%s {0} {{ 7*7 }}", "-1", "0", "1.5", "99999999999999999999", "-9e999", "NaN", "\u0663",
    "1900-01-01", "2023-02-30", "9999-12-31", "0000-00-00", "1/1/2000", "null", "None", "[]", "../../etc/passwd", "javascript:alert(1)",
    "http://elsewhere.test/", "//elsewhere.test/", "\\\\elsewhere.test", "line\r\nSet-Cookie: a=b", "a@b", "* [x](javascript:alert(1)) `y`",
)  # fmt: skip
"""What people and programs type into fields that were meant for something else; surrogates stand for broken UTF-8."""

PLAUSIBLE = {
    "email": "someone@example.com", "number": "2", "date": "2023-05-05", "url": "http://example.com/", "tel": "555-0100",
}  # fmt: skip
_LEAVES = re.compile(r"(log|sign)[-_]?out")
_CHOICE = re.compile(r"<any\([^)]*\):(\w+)>")
_REDIRECTS = 10
_KEPT = 400  # addresses that a walk can return to


class Page(NamedTuple):
    """A page at the end of its redirects."""

    url: str
    status: int
    html: str
    root: Any  # None for what is no HTML

    @property
    def host(self):
        return urlsplit(self.url).netloc


class Fault(NamedTuple):
    """Something that must not happen: what, where, and what had been sent."""

    kind: str
    url: str
    detail: str

    def __str__(self):
        return f"{self.kind}: {self.url[:300]}\n    {self.detail[:1500]}"


class Visitor:
    """One person's requests to the sites of one world, signed in to `site` unless told otherwise."""

    def __init__(self, databases, world, site, layout=PLAIN, *, signed_in=True):
        self._network = connect(databases, layout)
        self._cookies = CookieJar.from_hosts(world.cookies([site] if signed_in else []))

    def ask(self, url):
        """Return the answer to a request without cookies."""
        return self._network.request("GET", url)

    def open(self, url, method="GET", body=b"", content_type=""):
        """Send a request and follow its redirects. Raises HostUnknownError when one leads out, and RecursionError."""
        redirects = 0
        while True:
            url = without_fragment(url)
            headers = {"Cookie": self._cookies.header(url), "Content-Type": content_type}
            answer = self._network.request(method, url, {name: value for name, value in headers.items() if value}, body)
            if self._network.errors:
                raise RuntimeError(self._network.errors.pop())
            for name, value in answer.headers:
                if name.lower() == "set-cookie":
                    self._cookies.receive(url, value)
            location = answer.header("Location")
            if not location:
                break
            if location.replace("\\", "/").startswith("//"):  # browsers read both as another host
                raise HostUnknownError(location)
            if redirects == _REDIRECTS:
                raise RecursionError(f"{url} redirects without end")
            redirects += 1
            url, method, body, content_type = resolve_url(url, location), "GET", b"", ""
        is_html = answer.header("Content-Type").startswith("text/html")
        html = answer.body.decode() if is_html else ""
        return Page(url, answer.status, html, lxml.html.document_fromstring(html) if html.strip() else None)


def home(site):
    """Return the address at which tasks of a site begin."""
    return f"{URLS[f'__{site.upper()}__']}/"


def rule(site, url, *, choices=False):
    """Return the rule that answers an address of a site, empty when none does; `choices` names what its <any(...)> stand for."""
    parts = urlsplit(url)
    try:
        (_, found), values = load_site(site)._rules.bind(parts.netloc, query_args=parts.query).match(parts.path)
    except HTTPException:
        return ""
    return _CHOICE.sub(lambda choice: values[choice[1]], found) if choices else found


def links(page):
    """Return where the links of a page lead, each once, in order."""
    found = (resolve_url(page.url, link.get("href")) for link in page.root.iter("a") if link.get("href") is not None)
    return list(dict.fromkeys(without_fragment(url) for url in found if is_web(url)))


def searches(page):
    """Return where the page's forms for searching and sorting lead, with a letter in each text field."""
    found = []
    for form in page.root.iter("form"):
        if form.get("method", "get").lower() == "get":
            pairs = [(name, value or "a") for name, value in form.form_values() if name]
            found.append(resolve_url(page.url, f"{form.get('action') or ''}?{urlencode(pairs)}"))
    return found


def survey(site, world_seed, *, per_rule=2, limit=150, layout=PLAIN, signed_in=True, scale="standard"):
    """Yield pages of a fresh site, as its own links and searches reach them: up to `per_rule` of each kind."""
    world = load_world(world_seed, scale)
    databases = world.open()
    visitor = Visitor(databases, world, site, layout, signed_in=signed_in)
    waiting, seen, kinds = deque([home(site)]), {home(site)}, Counter()
    while waiting and sum(kinds.values()) < limit:
        url = waiting.popleft()
        kind = rule(site, url, choices=True)
        if kinds[kind] >= per_rule or _LEAVES.search(url):
            continue
        kinds[kind] += 1
        page = visitor.open(url)
        if page.root is None:
            continue
        yield page
        found = [link for link in (*links(page), *searches(page)) if urlsplit(link).netloc == HOSTS[site]]
        fresh = [link for link in dict.fromkeys(found) if link not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    databases.close()


def fill(form, rng):
    """Return what is sent with a form: plausible values, one odd value among them, or odd values everywhere."""
    names = [control.name for control in form.iter("input", "select", "textarea") if control.name]
    oddness = rng.choice(("none", "one", "all"))
    odd_one = rng.choice(names) if names else ""
    pairs = []
    radios = set()
    for control in form.iter("input", "select", "textarea"):
        name, kind = control.name, control.get("type", control.tag).lower()
        if not name or kind in ("submit", "button", "image", "reset"):
            continue
        is_odd = (oddness == "all" and rng.random() < 0.8) or (oddness == "one" and name == odd_one)
        if name == "form_key" or (kind == "hidden" and rng.random() < 0.9):
            is_odd = False
        elif rng.random() < 0.03:
            continue
        if kind == "radio":
            if name in radios:
                continue
            radios.add(name)
        pairs.append((name, rng.choice(ODD) if is_odd else _usual(form, control, kind, rng)))
        if rng.random() < 0.03 and name != "form_key":
            pairs.append((name, rng.choice(ODD)))
    buttons = form.xpath(".//button[@name] | .//input[@type='submit'][@name]")
    pressed = rng.choice([None, *buttons]) if rng.random() < 0.1 or not buttons else rng.choice(buttons)
    if pressed is not None:
        pairs.append((pressed.get("name"), pressed.get("value", "")))
    return [(name, value) for name, value in pairs if value is not None]


def _usual(form, control, kind, rng):
    """A value that a person might leave or choose; None for a box that is not ticked."""
    if kind == "select":
        options = list(control.iter("option"))
        return rng.choice(options).get("value", "") if options else None
    if kind == "checkbox":
        return control.get("value", "on") if rng.random() < 0.5 else None
    if kind == "radio":
        return rng.choice([radio.get("value", "on") for radio in form.iter("input") if radio.get("name") == control.name])
    kept = (control.text or "") if kind == "textarea" else control.get("value", "")
    if kind == "hidden" or (kept and rng.random() < 0.6):
        return kept
    return PLAUSIBLE.get(kind) or f"Plain words {rng.randrange(100)}"


def _reads(page, sent):
    """Yield what is wrong with a page, whatever was asked for."""
    if page.status >= 500:
        yield Fault("server error", page.url, f"{page.status} for {sent}")
    if page.root is None:
        return
    for element in page.root.iter("*"):
        if not isinstance(element.tag, str):
            continue
        handlers = [name for name in element.attrib if name.startswith("on")]
        address = next((element.get(name) for name in ("href", "src", "action") if element.get(name)), "")
        if element.tag == "script" or handlers or address.strip().lower().startswith(("javascript:", "vbscript:")):
            line = lxml.html.tostring(element, encoding="unicode", with_tail=False)
            yield Fault("markup of a visitor", page.url, f"{line[:200]} after {sent}")


class Walk:
    """A random walk over one site: links, forms with odd input, and addresses that nobody links to; `page` is its last page."""

    def __init__(self, site, world_seed=0, seed=0, layout=PLAIN):
        self.site = site
        self.faults = []
        self.rules, self.forms = Counter(), Counter()
        self.rng = Random(f"{site}/{seed}")
        self.world = load_world(world_seed)
        self.databases = self.world.open()
        known = self.databases[site].connection.execute("SELECT session_id, data FROM session")
        self._sessions = [tuple(row) for row in known]
        self._layout = layout
        self._places = [home(site)]
        self._start()

    def run(self, steps):
        """Take that many steps; `faults` holds what was found."""
        for step in range(steps):
            if step % 30 == 29:  # a walk may have signed out
                self._start()
            if step % 1500 == 1499:
                self.databases.reset()
                self._start()
            self._step()
        return self.faults

    def _start(self):
        self.databases[self.site].connection.executemany("REPLACE INTO session VALUES (?, ?)", self._sessions)
        signed_in = self.rng.random() < 0.9
        self._visitor = Visitor(self.databases, self.world, self.site, self._layout, signed_in=signed_in)
        self.page = None
        self._go(self.rng.choice(self._places[:50]))

    def _step(self):
        page, rng = self.page, self.rng
        if page is None or page.root is None or page.host != HOSTS[self.site] or rng.random() < 0.05:
            self._go(rng.choice(self._places))
            return
        forms = list(page.root.iter("form"))
        found = [link for link in links(page) if not _LEAVES.search(link) or rng.random() < 0.05]
        chance = rng.random()
        if chance < 0.05:
            self._go(self._bent(page.url))
        elif forms and (chance < 0.55 or not found):
            form = rng.choice(forms) if chance < 0.3 else min(forms, key=lambda form: self.forms[self._purpose(page, form)])
            self._send(page, form)
        elif found:
            self._go(self._new(found) if chance < 0.8 else rng.choice(found), shown_on=page.url)
        else:
            self._go(home(self.site))

    def _new(self, found):
        """The link to the kind of page that has been seen the least."""
        some = self.rng.sample(found, min(len(found), 60))
        return min(some, key=lambda url: (urlsplit(url).netloc != HOSTS[self.site], self.rules[rule(self.site, url)]))

    def _purpose(self, page, form):
        """What a form is for: where it leads, and what it asks."""
        path = urlsplit(resolve_url(page.url, form.get("action") or "")).path
        return "".join("#" if mark.isdigit() else mark for mark in path), len(form.fields)

    def _bent(self, url):
        """An address near to a real one."""
        address, mark, query = url.partition("?")
        odd = quote(self.rng.choice(ODD)[:300], safe="", errors="surrogateescape")
        if mark and self.rng.random() < 0.6:
            parts = query.split("&")
            place = self.rng.randrange(len(parts))
            parts[place] = f"{parts[place].partition('=')[0]}={odd}"
            return f"{address}?{'&'.join(parts)}"
        scheme, _, rest = address.partition("://")
        parts = rest.split("/")
        parts[self.rng.randrange(1, len(parts)) if len(parts) > 1 else 0] = odd
        return f"{scheme}://{HOSTS[self.site]}/{'/'.join(parts[1:])}{mark}{query}"

    def _go(self, url, shown_on=""):
        self.rules[rule(self.site, url)] += 1
        self._request(url, f"GET {url[:200]}" + (f", a link on {shown_on}" if shown_on else ""), shown_on=shown_on)

    def _send(self, page, form):
        self.forms[self._purpose(page, form)] += 1
        pairs = fill(form, self.rng)
        url = without_fragment(resolve_url(page.url, form.get("action") or ""))
        method = form.get("method", "get").upper()
        body = urlencode(pairs, errors="surrogateescape")
        shown = ", ".join(f"{name}={value[:60]!r}" for name, value in pairs)
        sent = f"{method} {url[:200]} with {shown}"
        if method == "GET":
            self._request(f"{url.partition('?')[0]}?{body}", sent)
        else:
            self._request(url, sent, "POST", body.encode(), "application/x-www-form-urlencoded")

    def _request(self, url, sent, method="GET", body=b"", content_type="", shown_on=""):
        try:
            self.page = page = self._visitor.open(url, method, body, content_type)
        except HostUnknownError as error:
            self.page = None
            if not shown_on:
                self.faults.append(Fault("led elsewhere", str(error), sent))
            elif urlsplit(url).netloc in HOSTS.values():
                self.faults.append(Fault("redirected elsewhere", str(error), sent))
            return
        except Exception as error:  # noqa: BLE001 - whatever a site raises is a finding
            self.page = None
            self.faults.append(Fault(type(error).__name__, url, f"{error} after {sent}"))
            return
        if shown_on and page.status >= 400:
            self.faults.append(Fault(f"a link leads to {page.status}", page.url, sent))
        self.faults += _reads(page, sent)
        if page.host == HOSTS[self.site] and page.status == 200:
            place = len(self._places) if len(self._places) < _KEPT else self.rng.randrange(1, _KEPT)
            self._places[place : place + 1] = [page.url]


def main():
    """Walk over sites, and print the faults that are unlike each other."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--site", choices=tuple(HOSTS), action="append", help="only these sites (may be repeated)")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world-seed", type=int, default=0)
    parser.add_argument("--variation", choices=("content", "layout"), default="content")
    options = parser.parse_args()
    found = False
    for site in options.site or HOSTS:
        layout = layout_of(options.world_seed, options.variation)
        walk, unlike = Walk(site, options.world_seed, options.seed, layout), {}
        for fault in walk.run(options.steps):
            unlike.setdefault((fault.kind, rule(site, fault.url)), []).append(fault)
        reached = {view for method, view in load_site(site)._views if method == "GET"}
        missed = sorted(reached - set(walk.rules))
        print(f"{site}: {options.steps} steps, {len(walk.rules)} kinds of pages, {len(unlike)} kinds of faults")
        print(f"  never seen: {', '.join(missed)}")
        for alike in unlike.values():
            print(f"  {len(alike)} times {alike[0]}")
        found = found or bool(unlike)
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
