"""Every page of every site is sound HTML, can be named by what is visible, and fits a phone."""

import base64
import json
import re
import shutil
import subprocess
from urllib.parse import urljoin

import pytest

from tests.crawl import Visitor, home, survey
from tests.markup import problems
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.layout import layout_of
from webarena_gym.sites.world import load_world

WORLD = 0
LARGEST = 64_000  # characters of a page
PHONE = 375  # CSS pixels
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

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


@pytest.mark.parametrize(("html", "said"), [
    ("<p><div>x</div></p>", "unexpected-end-tag"),
    ("<span><div>x</div></span>", "<div> in <span>"),
    ("<a href=/x><button>x</button></a>", "<button> in <a>"),
    ("<form><form></form></form>", "unexpected-start-tag"),
    ("<ul><a href=/x>x</a></ul>", "<a> in <ul>"),
    ("<input name=q>", "a field without a label: input q"),
    ("<label for=q>Q</label>", "for='q' names nothing"),
    ("<p id=a>x</p><p id=a>y</p>", "the id 'a' occurs 2 times"),
    ("<img src=/x.png>", "an image without alt"),
    ("<img src=//elsewhere.test/x.png alt=''>", "a resource from elsewhere"),
    ("<a href=/x><img src=/x alt=''></a>", "a <a> without a name"),
    ("<p onclick=x>x</p>", "an inline handler onclick"),
    ("<a href=javascript:x>x</a>", "a script in href"),
    ("<form method=post><button>x</button></form>", "a form without its key"),
    ("<h1>again</h1>", "the page has 2 <h1>"),
])  # fmt: skip
def test_the_checker_knows_what_is_wrong(html, said):
    assert problems(GOOD.format("<p>fine</p>")) == []
    assert said in " ".join(problems(GOOD.format(html)))


def framed(site, page):
    """The page as one text without links to files, for a frame of a phone's width."""
    own = visitor(site)

    def style(match):
        return f"<style>{own.ask(urljoin(page.url, match[1])).body.decode()}</style>"

    def image(match):
        content = base64.b64encode(own.ask(urljoin(page.url, match[1])).body).decode()
        return f'src="data:image/svg+xml;base64,{content}"'

    html = re.sub(r'<link rel="stylesheet" href="([^"]+)">', style, page.html)
    return re.sub(r'src="(/[^"]+)"', image, html)


MEASURE = """
const frames = PAGES.map(html => {
  const frame = document.createElement("iframe");
  frame.style = "width: WIDTHpx; height: 800px; border: 0";
  frame.srcdoc = html;
  document.body.append(frame);
  return frame;
});
addEventListener("load", () => {
  const widths = frames.map(frame => frame.contentDocument.documentElement.scrollWidth);
  document.body.innerHTML = `<pre>${JSON.stringify(widths)}</pre>`;
});
"""


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("site", HOSTS)
def test_pages_fit_a_phone(site, tmp_path):
    pages = list(survey(site, WORLD, per_rule=1, limit=30))
    sources = json.dumps([framed(site, page) for page in pages]).replace("<", "\\u003c")
    script = MEASURE.replace("PAGES", sources).replace("WIDTH", str(PHONE))
    file = tmp_path / "frames.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body><script>{script}</script>", encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run([CHROMIUM, *options, file.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    widths = json.loads(done.stdout.partition("<pre>")[2].partition("</pre>")[0])
    assert len(widths) == len(pages)
    assert {page.url: width for page, width in zip(pages, widths, strict=True) if width > PHONE} == {}
