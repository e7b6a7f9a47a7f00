"""Whatever an agent replies, an env goes on: no exception, no page that breaks down, nothing outside of its sites."""

from itertools import product
from random import Random
from typing import get_args
from urllib.parse import quote, urlsplit

import pytest

from tests.crawl import ODD, survey
from webarena_gym.actions import Action, Kind
from webarena_gym.browsers.document import Document, SavedDocument
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import Style, observe
from webarena_gym.pages.page import Page
from webarena_gym.sites.catalogue import HOSTS, URLS
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import at_url
from webarena_gym.tools.fuzz import walk_actions
from webarena_gym.tools.fuzz.walk_actions import WalkState, next_reply

STEPS = 250
WORLD = 0
NUMBERS = (
    "-1", "0", "1", "1e9", "1e308", "1e-999", "-0", "9" * 30, str(2**31), str(2**63 - 1), str(2**63), "9" * 5_000, "NaN", "inf", "0x10", "1_000",
    "\u0663", "\u00b2", "\u00bd", "+1", "1,5", "1;2", "--", "",
)  # fmt: skip
TEXTS = (
    *ODD, "\u202e" * 500, "\ud800", "\x00" * 50, "\r\n" * 200, "%00", "%ff%fe", "%" * 300, "&#0;", "&#x110000;", "\ufffe\uffff", "\U0010ffff",
    "]]>", "<!--", "{{ 7*7 }}", "{% if %}", "\\" * 500, "'" * 500, '"' * 500, "[" * 2_000, "** " * 2_000, "\u0130" * 100, "\ufb00" * 200,
    "\u2028\u2029\x85\x0b\x0c\x1c",
)  # fmt: skip
ADDRESSES = (
    "data:text/html,<h1>x</h1>", "javascript:alert(1)", "file:///etc/passwd", "about:config", "about:blank", "view-source:http://shop.test/",
    "blob:http://shop.test/1", "ftp://shop.test/", "https://shop.test/", "http://shop.test:80/", "http://shop.test:81/", "http://a:b@shop.test/",
    "http://shop.test./", "HTTP://SHOP.TEST/", "http://shop.test\\@elsewhere.test/", "//elsewhere.test/", "http:///x", "http://", "http://[::1]/",
    "http://[::1", "http://127.0.0.1:22/", "http://shop.test:99999/", "http://shop.test:abc/", "http://shop.test:-1/", "http://shop%2etest/",
    "http://\uff53hop.test/", "http://\x00/", "http://shop.test/%00", "http://shop.test/%zz", f"http://shop.test/{'a' * 50_000}",
    f"http://shop.test/?{'a=b&' * 5_000}", f"http://shop.test/{'/' * 5_000}", f"http://shop.test/{'../' * 3_000}", "mailto:a@b", "chrome://settings",
    "x", "/", "?", "#", " ", "", "http://a..b/", "http://shop.test/\ud800", "http://\ud800.test/", "http://0x7f.1/", "http:/shop.test/",
    "http://sh\nop.test/", "http://shop.test/static/../../../../etc/passwd", "http://shop.test/static/..%2f..%2fsite.py",
    "http://shop.test/static//etc/passwd",
)  # fmt: skip
NAMES = (
    "p", "page", "q", "search", "id", "sort", "state", "product_list_limit", "product_list_order", "price", "section", "oldid", "letter", "category",
    "lat", "lon", "zoom", "from", "to", "engine", "label_name[]", "author_username", "ref", "filters", "return_url", "form_key", "from_date",
)  # fmt: skip


def bent(url, rng):
    """An address near to a real one."""
    odd = quote(
        rng.choice(TEXTS + NUMBERS)[: rng.choice((20, 300, 3_000))], safe=rng.choice(("", "/%&=?#")), errors="surrogatepass"
    )
    address, _, query = url.partition("?")
    if rng.random() < 0.3:
        parts = address.split("/")
        parts[rng.randrange(3, len(parts))] = odd
        return f"{'/'.join(parts)}?{query}"
    pairs = [pair for pair in query.split("&") if pair]
    names = [pair.partition("=")[0] for pair in pairs] or NAMES
    pairs.append(f"{rng.choice(rng.choice((names, NAMES)))}={odd}")
    return f"{address}?{'&'.join(pairs * rng.choice((1, 1, 1, 50)))}"


def reply(env, places, rng):
    """A reply that does something odd: an address, a text in a field, a key, a click, or no action at all."""
    chance = rng.random()
    if chance < 0.12:
        return env.dialect.format(Action(rng.choice((Kind.GOTO, Kind.GOTO, Kind.NEW_TAB)), argument=rng.choice(ADDRESSES)))
    if chance < 0.45:
        place = rng.choice(places)
        return env.dialect.format(Action(Kind.GOTO, argument=bent(place, rng) if chance < 0.3 else place))
    return next_reply(WalkState(env.page, env.observation, tuple(URLS.values()), ()), env.dialect, rng)


@pytest.mark.parametrize("variation", ["content", "layout"])
@pytest.mark.parametrize("site", HOSTS)
@pytest.mark.sampled(3)
def test_an_env_outlives_every_reply(opened, site, variation, monkeypatch):
    monkeypatch.setattr(walk_actions, "ODD_TEXTS", (*TEXTS, *NUMBERS))
    rng = Random(f"{site} {variation}")
    places = [page.url for page in survey(site, WORLD, per_rule=1, limit=40)]
    task = Task("hostile", (site,), f"__{site.upper()}__/", "Look around", at_url("http://nowhere.test/"), world_seed=WORLD)
    styles = {"observation": rng.choice(get_args(Style)), "elements": rng.choice(("id", "label")), "variation": variation}
    env = opened(WebArenaLite(tasks=[task], dialect="browsergym", max_steps=40, **styles))
    is_over = True
    for number in range(STEPS):
        if is_over:
            env.reset(seed=number)
        message = reply(env, places, rng)
        _, _, terminated, truncated, info = env.step(message)
        is_over = terminated or truncated
        seen = env.page.root.text_content()
        assert "HTTP ERROR 5" not in seen, message[:300]
        assert "Internal Server Error" not in seen, message[:300]
        is_inside = urlsplit(info["url"]).netloc in HOSTS.values() and info["url"].startswith("http://")
        assert is_inside or info["url"] == "about:blank" or "can't be reached" in seen, message[:300]


def test_pages_may_nest_however_deep():
    pairs = "<div><span>", "<h1><b>", "<ul><li>", "<table><td>", "<label><a href=x>", "<button><i>", "<details open><summary>x"
    for pair, depth in product(pairs, (30, 99, 120, 3_000)):
        document = Document(SavedDocument(f"<p>begin{pair * depth}end".encode()))
        for style, elements in product(get_args(Style), ("id", "label")):
            seen = observe(Page("", "", document.root, (), 0), style=style, elements=elements, window=10**9)
            assert "begin" in seen.text or "nested more than 200 deep" in seen.text
