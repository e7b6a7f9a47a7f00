"""Every field of every form, and every part of every address, of the code host, the shop and its admin with odd text in it."""

from contextlib import suppress
from random import Random
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import pytest

from tests.crawl import ODD, Visitor, _reads, fill, survey
from webarena_gym.browsers.http import resolve_url
from webarena_gym.pages.page import HostUnknownError
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.world import load_world

FORM = "application/x-www-form-urlencoded"
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
