"""Whatever is typed or asked for, a site answers with a page of its own, and nothing leaves the env's databases."""

import pytest

from tests import crawl
from tests.crawl import Walk, survey
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


@pytest.mark.parametrize("site", HOSTS)
@pytest.mark.parametrize(("method", "headers", "body"), [
    *[(method, {}, body) for method, body in (("PUT", b"x"), ("HEAD", b""), ("POST", b""))],
    ("POST", {"Content-Type": "application/json"}, b"{"),
    ("POST", {"Content-Type": "multipart/form-data; boundary=x"}, b"--x\r\nbroken"),
    ("POST", {"Content-Type": FORM}, b"%ff=%fe&form_key=%00&=&&a"),
    ("POST", {"Content-Type": FORM}, b"a=" + b"x" * 2_100_000),
    ("GET", {"Cookie": 'sid="\\377;; x'}, b""),
    ("GET", {"Range": "bytes=9-1", "If-None-Match": "*", "Referer": "http://elsewhere.test/%ff"}, b""),
])  # fmt: skip
def test_requests_that_no_page_sends_are_no_surprise(site, method, headers, body):
    world = load_world(0)
    databases = world.open()
    cookie = "; ".join(f"{name}={value}" for name, value in world.cookies([site])[HOSTS[site]].items())
    network = connect(databases)
    for page in survey(site, 0, per_rule=1, limit=8):
        assert network.request(method, page.url, {"Cookie": cookie, **headers}, body).status < 500
    databases.close()


def test_nothing_reaches_outside_of_the_env_s_databases(tmp_path, monkeypatch):
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


@faulty.get("/")
def faulty_home(request):
    forms = "".join(f"<form action=/{name}><input name=q><button>Go</button></form>" for name in ("echo", "crash", "leave"))
    return f"{PAGE}<a href=/gone>gone</a>{forms}"


@faulty.get("/gone")
def faulty_gone(request):
    return Response(PAGE, status=404, content_type="text/html")


@faulty.get("/echo")
def faulty_echo(request):
    return f"{PAGE}<p>{request.args.get('q', '')}</p>"


@faulty.get("/crash")
def faulty_crash(request):
    return f"{PAGE}{int(request.args.get('q', '0'))}"


@faulty.get("/leave")
def faulty_leave(request):
    return redirect(request.args.get("q", "/"))


def test_the_walk_finds_what_is_wrong(monkeypatch):
    for module in (world, crawl):
        monkeypatch.setattr(module, "load_site", lambda _: faulty)
    faults = Walk("homepage", world_seed=0).run(4000)
    kinds = {fault.kind for fault in faults}
    assert {"a link leads to 404", "markup of a visitor", "RuntimeError", "led elsewhere"} <= kinds
