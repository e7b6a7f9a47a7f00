"""Every page of every site is sound HTML, can be named by what is visible, and fits a phone."""

import pytest

from tests import needs
from tests.crawl import Visitor, home, survey
from tests.looks import Looker
from tests.markup import problems
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.layout import layout_of
from webarena_gym.sites.world import load_world

WORLD = 0
LARGEST = 64_000  # characters of a page
PHONE = 375  # CSS pixels

GOOD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1"></head><body>
<header><nav><a href="/">Home</a></nav></header><main><h1>t</h1>{}</main></body></html>"""


def visitor(site):
    world = load_world(WORLD)
    return Visitor(world.open(), world, site)


@pytest.fixture(scope="module", params=HOSTS)
def pages(request):
    missing = visitor(request.param).open(home(request.param) + "no-such-page/at/all/1")
    assert missing.status == 404
    found = [missing, *(page for known in (False, True) for page in survey(request.param, WORLD, per_rule=1, signed_in=known))]
    return list({page.html: page for page in found}.values())


def test_every_page_is_sound_html_and_not_too_large_to_read(pages):
    assert {page.url: found for page in pages if (found := problems(page.html))} == {}
    assert {page.url: len(page.html) for page in pages if len(page.html) > LARGEST} == {}


@pytest.mark.parametrize("site", HOSTS)
def test_other_layouts_are_as_sound(site):
    pages = survey(site, WORLD, per_rule=1, limit=25, layout=layout_of(3, "layout"))
    assert {page.url: found for page in pages if (found := problems(page.html))} == {}


@pytest.mark.parametrize(("html", "message"), [
    ("<p><div>x</div></p>", "unexpected-end-tag"), ("<span><div>x</div></span>", "<div> in <span>"),
    ("<a href=/x><button>x</button></a>", "<button> in <a>"), ("<form><form></form></form>", "unexpected-start-tag"),
    ("<ul><a href=/x>x</a></ul>", "<a> in <ul>"), ("<input name=q>", "a field without a label: input q"),
    ("<label for=q>Q</label>", "for='q' names nothing"), ("<p id=a>x</p><p id=a>y</p>", "the id 'a' occurs 2 times"),
    ("<img src=/x.png>", "an image without alt"), ("<img src=//elsewhere.test/x.png alt=''>", "a resource from elsewhere"),
    ("<a href=/x><img src=/x alt=''></a>", "a <a> without a name"), ("<p onclick=x>x</p>", "an inline handler onclick"),
    ("<a href=javascript:x>x</a>", "a script in href"),
    ("<form method=post><button>x</button></form>", "a form without its key"), ("<h1>again</h1>", "the page has 2 <h1>"),
])  # fmt: skip
def test_the_checker_knows_what_is_wrong(html, message):
    assert problems(GOOD.format("<p>fine</p>")) == []
    assert message in " ".join(problems(GOOD.format(html)))


@pytest.mark.sampled(3)
@needs.chromium
@pytest.mark.parametrize("site", HOSTS)
def test_pages_fit_a_phone(chromium, site):
    looker, own, widths = Looker(chromium.new_page()), visitor(site), {}
    for page in survey(site, WORLD, per_rule=1, limit=30):
        looker.open(page, own)
        looker.tab.set_viewport_size({"width": PHONE, "height": 800})
        widths[page.url] = looker.tab.evaluate("document.documentElement.scrollWidth")
    looker.tab.close()
    assert {url: width for url, width in widths.items() if width > PHONE} == {}
    assert widths
