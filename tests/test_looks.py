"""A person can read every page, reach everything on it by keys, and drag the map; that nothing of it is there for agents."""

import re
from urllib.parse import urlsplit

import pytest

from tests import needs
from tests.crawl import Page, Visitor, home
from tests.looks import WIDTHS, Looker, faults_of, look
from webarena_gym.arena.app import run_server
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.world import load_world
from webarena_gym.tools.serve import WorldSites, addresses, for_people

SEED = 5
SAMPLE = ((1000, "content"), (3, "layout"))
"""The worlds of which a few pages are looked at here; `make looks` looks at many more."""

SOUND = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
body {{ margin: 0; font: 16px sans-serif }} a, input, button {{ outline-offset: 2px }} input {{ border: 1px solid #555 }}
:focus-visible {{ outline: 3px solid #1a56c4 }} a, button {{ display: inline-block; min-height: 24px; min-width: 24px }}
</style></head><body><header><nav><a href="/">Home</a></nav></header><main><h1>t</h1>{}</main></body></html>"""
FINE = '<form><input aria-label="q" placeholder="q"><button>Go</button></form><p>Some text</p>'


@pytest.fixture(scope="module")
def looker(chromium):
    return Looker(chromium.new_page())


@needs.chromium
@needs.axe
@pytest.mark.parametrize("site", HOSTS)
def test_pages_look_right_to_a_person(looker, site):
    pages = list(look(looker, 4, SEED, sites=(site,), layouts=SAMPLE))
    assert len(pages) >= 4
    assert {page.url: faults for page, faults in pages if faults} == {}


@needs.chromium
@needs.axe
@pytest.mark.parametrize(("html", "message"), [
    ("<p style='color:#aaa'>faint</p>", "color-contrast"),
    ("<input aria-label=q style='color:#fff'>", "what is typed has too little contrast"),
    ("<style>::placeholder {color: #ccc}</style><input aria-label=q placeholder=q>", "::placeholder has too little contrast"),
    ("<input aria-label=q style='border:0'>", "one cannot see where the field is"),
    ("<div style='width:3000px'>wide</div>", "the page is 3000 pixels wide"),
    ("<div style='width:90px'><p>someone.with.a.very.long.name@example.com</p></div>", "a text sticks out"),
    ("<div style='width:90px'><select aria-label=q style='width:300px'><option>q</select></div>", "sticks out: <select"),
    ("<button style='outline:none'>x</button>", "the focus cannot be seen"),
    ("<button style='outline-color:#eee'>x</button>", "the focus cannot be seen"),
    ("<button tabindex=-1>x</button>", "is left out by the Tab key"),
    ("<a href=/x tabindex=3>x</a>", "or out of order"),
    ("<div inert><button>x</button></div>", "takes no focus"),
    ("<img src=data:,>", "image-alt"),
    ("</main><footer>low</footer><main>", "the footer floats"),
    ("<style>header {height: 300px}</style>", "the header takes 300 pixels"),
    ("<p><div>x</div></p>", "unexpected-end-tag"),
])  # fmt: skip
def test_the_looker_knows_what_is_wrong(looker, html, message):
    world = load_world(0)
    visitor = Visitor(world.open(), world, "homepage")

    def faults(content):
        found = looker.faults(Page("http://home.test/x", 200, SOUND.format(content), None), visitor)
        return [fault for wrong in found.values() for fault in wrong]

    assert faults(FINE) == []
    assert message in " ".join(faults(FINE + html))


@needs.chromium
@pytest.mark.parametrize("site", HOSTS)
def test_the_tab_key_reaches_whatever_can_be_used(looker, site):
    world = load_world(0)
    visitor = Visitor(world.open(), world, site)
    looker.open(visitor.open(home(site)), visitor)
    looker.tab.evaluate("() => document.querySelectorAll('*').forEach((element, place) => { element.place = place; })")
    usable = "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]"
    expected = looker.tab.evaluate(f"() => {usable}.map((element) => element.place)")
    reached = []
    for _ in expected:
        looker.tab.keyboard.press("Tab")
        reached.append(looker.tab.evaluate("() => document.activeElement.place"))
    assert reached == expected


@pytest.fixture(scope="module")
def served():
    with run_server(sites=lambda port: WorldSites(port, 0)) as service:
        yield addresses(urlsplit(service.url).port)


@pytest.fixture(scope="module")
def tab(chromium):
    return chromium.new_page()


WINDOW = r"() => new URL(document.querySelector('.map img').src).search"


def window_of(tab):
    tab.wait_for_function("() => /width=/.test(document.querySelector('.map img').src)")
    values = dict(pair.split("=") for pair in tab.evaluate(WINDOW)[1:].split("&"))
    return float(values["lat"]), float(values["lon"]), int(values["zoom"])


def after(tab, act):
    """What the map shows when it has come to show something else."""
    before = tab.evaluate(WINDOW)
    act()
    tab.wait_for_function(f"(before) => ({WINDOW})() !== before", arg=before)
    return window_of(tab)


@needs.chromium
def test_people_drag_and_zoom_the_map(served, tab):
    tab.goto(served["map"])
    latitude, longitude, zoom = window_of(tab)
    frame = tab.locator(".map").bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2

    def drag():
        tab.mouse.move(x, y)
        tab.mouse.down()
        tab.mouse.move(x - 100, y)
        tab.mouse.up()

    dragged = after(tab, drag)
    assert dragged[1] > longitude
    assert dragged[::2] == (latitude, zoom)
    assert after(tab, lambda: tab.mouse.wheel(0, -100))[2] == zoom + 1
    assert after(tab, lambda: tab.keyboard.press("ArrowUp"))[0] > latitude
    assert after(tab, lambda: tab.keyboard.press("-"))[2] == zoom
    nearer = after(tab, lambda: tab.get_by_role("button", name="Zoom in here").click())
    assert nearer[2] == zoom + 1
    tab.get_by_role("link", name="What is here?").click()
    tab.wait_for_url(re.compile(rf"/query\?lat={nearer[0]:.5f}&lon={nearer[1]:.5f}"))


@needs.chromium
def test_a_map_is_there_when_its_page_is_and_fits_a_phone(served, tab):
    for width, zoom in ((1280, 8), (390, 7)):
        tab.set_viewport_size({"width": width, "height": WIDTHS[width]})
        tab.goto(served["map"])
        assert tab.evaluate("() => document.querySelector('.map img').naturalWidth") > 0
        assert window_of(tab)[2] == zoom


@needs.chromium
def test_the_first_link_leads_past_the_menus(served, tab):
    for address in served.values():
        tab.goto(address)
        tab.keyboard.press("Tab")
        assert tab.evaluate("() => document.activeElement.getBoundingClientRect().top") >= 0
        tab.keyboard.press("Enter")
        tab.wait_for_url(f"{address}**#main")
        tab.keyboard.press("Tab")
        assert tab.evaluate("() => document.activeElement.closest('main') !== null")


@needs.chromium
@needs.axe
def test_pages_for_people_have_no_layout_faults(served, tab):
    for address in (served["map"], f"{served['map']}place/3"):
        tab.goto(address)
        for width, height in WIDTHS.items():
            tab.set_viewport_size({"width": width, "height": height})
            assert faults_of(tab) == [], address


def test_people_get_the_pages_of_agents_with_a_link_and_a_script():
    page = b'<!doctype html><html><body class="x"><main><p class="map"><img></p></main></body></html>'
    parts = (
        b'<!doctype html><html><body class="x"><a class="skip" href="#main">Skip to the content</a><main id="main">',
        b'<p class="map"><img></p></main><script src="/static/map.js" defer></script></body></html>',
    )
    assert for_people(page) == b"".join(parts)
    assert b"script" not in for_people(page.replace(b'class="map"', b""))
