"""What people store on a site makes no page slow: a view's time grows with the length of a text, whatever the text is made of."""

from itertools import cycle, islice
from random import Random
from urllib.parse import urlencode, urlsplit

import pytest

from tests.crawl import PLAUSIBLE, Visitor, rule, survey
from tests.growth import NASTY, cpu_seconds, outgrown, text_of
from webarena_gym.browsers.document import Document, SavedDocument, parse
from webarena_gym.browsers.forms import default_button
from webarena_gym.browsers.http import resolve_url, without_fragment
from webarena_gym.observation import observe
from webarena_gym.pages.form_data import construct_entry_list
from webarena_gym.pages.page import Page, Tab
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.layout import layout_of
from webarena_gym.sites.world import load_world

SIZES = ((15, 240), (75, 1_200), (1_250, 20_000))  # characters; a field that refuses the largest mostly takes the others
FLOOR = 0.12  # seconds of CPU time for storing a text and looking at it twice
PER_FIELD, PER_WIDE = 3, 16  # texts tried in each field, and in each that takes long ones; each site meets all of NASTY
WORLD = 1
MANY_FORMS = ("gitlab", "shopping_admin")
_TEXTS = ("text", "search", "url", "email", "tel", "password", "textarea")


def forms_of(site, layout):
    """Yield a page and a form of each kind that a site has with fields for text, with the names of these."""
    seen = set()
    for page in survey(site, WORLD, per_rule=1, limit=200, layout=layout):
        for form in parse(page.html.encode()).iter("form"):
            fields = form.iter("input", "textarea")
            kinds = {field.get("name"): field.get("type", field.tag).lower() for field in fields}
            names = [name for name, kind in kinds.items() if name and kind in _TEXTS]
            target = without_fragment(resolve_url(page.url, form.get("action") or ""))
            kind = (form.get("method", "get"), rule(site, target), *names)
            if names and kind not in seen:
                seen.add(kind)
                yield page.url, form, target, names


def filled(form, name, text):
    """What a form sends with a text in one field, and as it was or with plain words in all others."""
    kinds = {control.get("name"): control.get("type", control.tag).lower() for control in form.iter("input", "textarea")}
    words = PLAUSIBLE | dict.fromkeys(_TEXTS, "Plain words")
    sent = construct_entry_list(form, default_button(form))
    return [(key, text if key == name else value or words.get(kinds.get(key), "")) for key, value, *_ in sent]


def look(page):
    """Read a page as an agent's browser and observation do."""
    document = Document(SavedDocument(page.html.encode()))
    for style, elements in (("html", "id"), ("axtree", "label"), ("occam", "id")):
        observe(Page(page.url, document.tree.title, document.root, (Tab("", page.url),), 0), style=style, elements=elements)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("variation", ["content", pytest.param("layout", marks=pytest.mark.slow)])
@pytest.mark.parametrize("site", [pytest.param(name, marks=pytest.mark.slow) if name in MANY_FORMS else name for name in HOSTS])
def test_no_text_makes_a_page_slow(opened, site, variation):
    world, layout, rng = load_world(WORLD), layout_of(WORLD, variation), Random(f"{site} {variation}")
    databases = opened(world.open())
    visitor = Visitor(databases, world, site, layout)
    waiting = cycle(rng.sample(NASTY, len(NASTY)))
    for shown_on, form, target, names in forms_of(site, layout):
        method = form.get("method", "get").upper()

        def send(name, text, method=method, form=form, target=target):
            databases.reset()
            body = urlencode(filled(form, name, text))
            if method == "GET":
                return visitor.open(f"{target.partition('?')[0]}?{body}")
            return visitor.open(target, "POST", body.encode(), "application/x-www-form-urlencoded")

        for name in names:
            is_wide = method == "POST" and urlsplit(send(name, "word " * 3_000).url).path != urlsplit(target).path
            for start, unit in islice(waiting, PER_WIDE if is_wide else PER_FIELD):

                def store(size, send=send, name=name, start=start, unit=unit, shown_on=shown_on, method=method):
                    text = text_of(start, unit, size)

                    def work():
                        sent = send(name, text)
                        for page in (sent, *((visitor.open(sent.url), visitor.open(shown_on)) if method == "POST" else ())):
                            assert page.status < 500
                            look(page)

                    return work

                for shortest, longest in SIZES[is_wide:]:
                    if cpu_seconds(store(longest)) > FLOOR:
                        problem = outgrown(store, shortest, longest, FLOOR)
                        assert not problem, f"{start!r} + {unit!r} * n in {name} of {method} {urlsplit(target).path}: {problem}"
