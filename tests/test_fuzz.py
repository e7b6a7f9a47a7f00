"""Whatever is typed or asked for, a site answers with a page of its own, and nothing leaves the env's databases."""

from contextlib import suppress
from random import Random
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import pytest

from tests import crawl
from tests.crawl import ODD, Visitor, Walk, _reads, fill, survey
from webarena_gym.browsers.http import resolve_url
from webarena_gym.pages.page import HostUnknownError
from webarena_gym.sites import world
from webarena_gym.sites.catalogue import DATABASES, HOSTS
from webarena_gym.sites.kit.requests import Response, redirect
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.world import connect, load_world

STEPS = 150


@pytest.mark.parametrize("site", HOSTS)
def test_a_random_walk_with_odd_input_finds_no_fault(site):
    assert [str(fault) for fault in Walk(site, world_seed=0, seed=1).run(STEPS)] == []


FORM = "application/x-www-form-urlencoded"


ODD_REQUESTS = [
    *[(method, {}, body) for method, body in (("PUT", b"x"), ("HEAD", b""), ("POST", b""))],
    ("POST", {"Content-Type": "application/json"}, b"{"),
    ("POST", {"Content-Type": "multipart/form-data; boundary=x"}, b"--x\r\nbroken"),
    ("POST", {"Content-Type": FORM}, b"%ff=%fe&form_key=%00&=&&a"),
    ("POST", {"Content-Type": FORM}, b"a=" + b"x" * 2_100_000),
    ("GET", {"Cookie": 'sid="\\377;; x'}, b""),
    ("GET", {"Range": "bytes=9-1", "If-None-Match": "*", "Referer": "http://elsewhere.test/%ff"}, b""),
]  # fmt: skip


@pytest.mark.parametrize("site", HOSTS)
def test_requests_that_no_page_sends_are_no_surprise(opened, site):
    world = load_world(0)
    databases = opened(world.open())
    cookie = "; ".join(f"{name}={value}" for name, value in world.cookies([site])[HOSTS[site]].items())
    network = connect(databases)
    for page in survey(site, 0, per_rule=1, limit=8):
        for method, headers, body in ODD_REQUESTS:
            assert network.request(method, page.url, {"Cookie": cookie, **headers}, body).status < 500, (method, page.url)


def test_walks_write_only_to_the_databases_of_the_env(tmp_path, monkeypatch):
    drawn = load_world(0)
    before = {name: drawn.content(name) for name in DATABASES}
    monkeypatch.chdir(tmp_path)
    walk = Walk("shopping", world_seed=0, seed=2)
    walk.run(STEPS)
    own = walk.databases["shopping"].connection.serialize()
    assert own != before["shopping"], "the walk has written something"
    fresh = drawn.open()
    assert all(drawn.content(name) == before[name] == fresh[name].connection.serialize() for name in DATABASES)
    assert list(tmp_path.iterdir()) == []


faulty = Site("faulty", __file__)
PAGE = "<!doctype html><title>t</title><h1>h</h1>"
FORMS = "".join(f"<form action=/{name}><input name=q><button>Go</button></form>" for name in ("echo", "crash", "leave"))
faulty.get("/")(lambda _: f"{PAGE}<a href=/gone>gone</a>{FORMS}")
faulty.get("/gone")(lambda _: Response(PAGE, status=404, content_type="text/html"))
faulty.get("/echo")(lambda request: f"{PAGE}<p>{request.args.get('q', '')}</p>")
faulty.get("/crash")(lambda request: f"{PAGE}{int(request.args.get('q', '0'))}")
faulty.get("/leave")(lambda request: redirect(request.args.get("q", "/")))


def test_the_walk_finds_what_is_wrong(monkeypatch):
    for module in (world, crawl):
        monkeypatch.setattr(module, "load_site", lambda _: faulty)
    faults = Walk("homepage", world_seed=0).run(4000)
    kinds = {fault.kind for fault in faults}
    assert {"a link leads to 404", "markup of a visitor", "RuntimeError", "led elsewhere"} <= kinds


TEXTS = 4  # odd ones, in each place


def odd_addresses(url, rng):
    """Yield a page's address with odd text in place of a part of its path, or of a parameter."""
    parts = urlsplit(url)
    steps, pairs = parts.path.split("/")[1:], parse_qsl(parts.query)
    for odd in rng.sample(ODD, TEXTS):
        text = quote(odd[:300], safe="", errors="surrogateescape")
        for place in range(len(steps)):
            path = "/".join(["", *steps[:place], text, *steps[place + 1 :]])
            yield urlunsplit(parts._replace(path=path))
        for place, (name, _) in enumerate([*pairs, ("p", ""), ("page", "")]):
            query = [*pairs[:place], (name, odd), *pairs[place + 1 :]]
            yield urlunsplit(parts._replace(query=urlencode(query, errors="surrogateescape")))


def odd_forms(page, rng):
    """Yield where the posted forms of a page lead, with odd text in one field each, or in all."""
    for form in page.root.iter("form"):
        if form.get("method", "get").lower() != "post":
            continue
        key = form.fields["form_key"]
        url = resolve_url(page.url, form.get("action") or "")
        usual = dict(fill(form, Random(1)))
        names = [name for name in form.fields if name and name != "form_key"]
        for odd in rng.sample(ODD, TEXTS):
            for changed in (*([name] for name in names), names):
                yield url, {**usual, **dict.fromkeys(changed, odd), "form_key": key}


@pytest.mark.parametrize("site", ["gitlab", "shopping", "shopping_admin"])
@pytest.mark.sampled(2)
def test_odd_text_gets_an_answer_and_leads_nowhere_else(site):
    rng, world = Random(site), load_world(0)
    databases = world.open()
    tried = 0
    for page in survey(site, 0, per_rule=1, limit=80):
        databases.reset()
        visitor = Visitor(databases, world, site)
        requests = [(url, "GET", b"", "") for url in odd_addresses(page.url, rng)]
        bodies = ((url, urlencode(fields, errors="surrogateescape").encode()) for url, fields in odd_forms(page, rng))
        requests += [(url, "POST", body, FORM) for url, body in bodies]
        for url, method, body, kind in requests:
            if urlsplit(url).netloc != HOSTS[site]:
                continue
            with suppress(*([] if body else [HostUnknownError])):  # an address of one's own may lead anywhere, a form may not
                shown = visitor.open(url, method, body, kind)
                assert [str(fault) for fault in _reads(shown, (method, url, body[:300]))] == []
            tried += 1
    databases.close()
    assert tried > 500
