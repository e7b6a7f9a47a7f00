"""Places: every page of the embedded sites says which one it is, and url_match judges the page and not the words of its address."""

import copy
from collections import defaultdict
from contextlib import suppress
from functools import cache
from random import Random
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

import pytest

from webarena_gym.addresses import resolve
from webarena_gym.backends.base import build_outcome
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.kinds.url_match import matches_url, page_identity, read_address
from webarena_gym.observation import visible_text
from webarena_gym.sites.catalogue import HOSTS, URLS
from webarena_gym.suite import draw
from webarena_gym.tasks import Task

WORLD = 7
ODD = ("zzz", "", "0", "-1", "99999", "desc", "all", "2022-01-01", "2")
PAGES = {
    "shopping": ("/catalogsearch/result/?q=wooden", "/catalogsearch/advanced/result/?name=steel", "/toys-games/puzzles.html",
                 "/sales/order/history/"),
    "shopping_admin": ("/admin/sales/order/", "/admin/catalog/product/", "/admin/customer/index/", "/admin/admin/dashboard/",
                       "/admin/reports/report_sales/sales/?period_type=day&from=2022-01-01&to=2022-03-01",
                       "/admin/reports/report_review/product/", "/admin/admin/index/globalSearch/?query=julia",
                       "/admin/customer/index/edit/id/3/", "/admin/review/product/index/"),
    "reddit": ("/", "/all/new", "/all/top", "/forums", "/search?q=the", "/f/pics/top?t=all", "/f/books"),
    "gitlab": ("/explore", "/explore/groups", "/dashboard/todos", "/dashboard/issues", "/dashboard/merge_requests",
               "/search?search=the&scope=issues", "/dashboard/milestones"),
    "map": ("/", "/search?query=hotel", "/notes", "/query?lat=41&lon=-29", "/directions", "/nearby?place=3&category=hotel"),
    "wikipedia": ("/search?search=the&fulltext=1", "/contents", "/categories"),
    "homepage": ("/calculator?first=1&operation=%2B&second=2", "/"),
}  # fmt: skip
"""Pages that are made of the parameters of their addresses."""


def visit(site, world=WORLD):
    """Return a backend in which somebody is signed in on a site."""
    backend = EmbeddedBackend(InProcessBrowser, world)
    backend.enter(Task("visit", (site,), f"__{site.upper()}__", "", {}))
    return backend


def look(browser, url):
    browser.goto(url)
    return browser.page()


def reading(page):
    """Return what a person reads on a page, without what it says of the last action, case and the ways to write an amount."""
    main = page.root.find(".//main")
    root = copy.deepcopy(page.root if main is None else main)
    for message in root.xpath('.//*[@role="alert" or @role="status"]'):
        message.getparent().remove(message)
    return visible_text(root).lower().replace(".00", "")


def vocabulary(page):
    """Return the parameters that a page's own forms and links give to its address, with their values."""
    here = page.url.partition("?")[0]
    words = defaultdict(set, utm_source={"mail"})
    for form in page.root.iterfind(".//form"):
        if form.get("method", "get").lower() == "get" and urljoin(page.url, form.get("action", "")).partition("?")[0] == here:
            for field in form.iter("input", "select"):
                values = [option.get("value", "") for option in field.iter("option")] or [field.get("value", "")]
                words[field.get("name") or "unnamed"].update(values)
    links = [urljoin(page.url, link.get("href")) for link in page.root.iterfind(".//a[@href]")]
    for link in [page.url, *(link for link in links if link.partition("?")[0] == here)]:
        for key, value in parse_qsl(urlsplit(link).query):
            words[key].add(value)
    return {key: sorted(values) for key, values in words.items()}


def some_addresses(page, words, rng, count):
    """Yield addresses of a page with some of its parameters, many of them doubled, odd or in capitals."""
    here, _, query = page.url.partition("?")
    for _ in range(count):
        chosen = [(key, rng.choice((*words[key], rng.choice(ODD)))) for key in rng.choices(sorted(words), k=rng.randint(0, 3))]
        chosen += parse_qsl(query) if rng.random() < 0.5 else []
        yield f"{here}?{urlencode([(key, value.upper() if rng.random() < 0.2 else value) for key, value in chosen])}"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("site", PAGES)
def test_pages_with_equal_canonical_addresses_are_equal(site):
    rng, browser = Random(site), visit(site).browser
    starts = [f"http://{HOSTS[site]}{path}" for path in PAGES[site]]
    for start in list(starts):
        page = look(browser, start)
        links = [urljoin(page.url, link.get("href")) for link in page.root.iterfind(".//a[@href]")]
        own = [link for link in links if urlsplit(link).netloc == HOSTS[site] and "out" not in link]
        starts += rng.sample(own, min(4, len(own)))
    tried = 0
    for start in dict.fromkeys(starts):
        page, seen = look(browser, start), {}
        for url in some_addresses(page, vocabulary(page), rng, 14):
            page = look(browser, url)
            place, text = page_identity(page), reading(page)
            if place is None:
                continue
            tried += 1
            first, its_text = seen.setdefault(repr(place), (url, text))
            assert text == its_text, f"{url} and {first} call themselves {place}"
            (own,) = (link.get("href") for link in page.root.iterfind("head/link") if link.get("rel") == "self")
            again = look(browser, own)
            assert page_identity(again) == place, f"{url} calls itself {own}"
            assert reading(again) == text, f"{url} calls itself {own}"
    assert tried > 50


def ends_there(backend, url, reference):
    """Return whether an episode that ends at an address earns the reference."""
    backend.browser.goto(url)
    block = {"eval_types": ["url_match"], "reference_url": reference}
    return all(verdict.passed for verdict in evaluate(block, "", build_outcome(backend, "", {})))


@cache
def place_templates():
    return sorted({task.template for task in draw(None, world_seed=WORLD, count=1) if "url_match" in task.eval_types})


def place_tasks(*worlds, count):
    """Return tasks of which nothing but a place is asked."""
    drawn = (task for world in worlds for task in draw(place_templates(), world_seed=world, count=count))
    return [task for task in drawn if task.eval_types == ("url_match",)]


def right_variants(url, rng):
    """Yield other ways to write an address."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query)
    for _ in range(3):
        rng.shuffle(query)
        yield parts._replace(query=urlencode(query)).geturl()
        yield parts._replace(query=urlencode([*query, ("utm_source", "mail")])).geturl()
        yield parts._replace(query=urlencode(query + [(key, rng.choice(ODD)) for key, _ in query if "[]" not in key])).geturl()
    yield parts._replace(fragment="content").geturl()
    yield parts._replace(netloc=parts.netloc.upper() + ":80").geturl()
    yield url.removeprefix("http://")
    if not parts.path.endswith(".html"):  # which is a name, and with a "/" behind it none
        yield parts._replace(path=(parts.path[:-1] if parts.path.endswith("/") else f"{parts.path}/") or "/").geturl()
    quoted = (quote(unquote(part), safe="").replace("e", "%65") for part in parts.path.split("/"))
    yield parts._replace(path="/".join(quoted)).geturl()


@pytest.mark.parametrize("world", [WORLD, pytest.param(8, marks=pytest.mark.slow)])
def test_a_place_may_be_written_in_many_ways(world):
    rng, tried = Random(3), 0
    for task in place_tasks(world, count=1):
        backend = EmbeddedBackend(InProcessBrowser, WORLD)
        backend.enter(task)
        for reference in task.eval["reference_url"].split(" |OR| "):
            for url in right_variants(resolve(reference, URLS), rng):
                assert ends_there(backend, url, reference), f"{url} for {reference} of {task.task_id}"
                tried += 1
    assert tried > 500


SEARCHED = {
    "__SHOPPING__/catalogsearch/result/?q=cedar+window+box": "/catalogsearch/result/?q=Cedar+WINDOW++box",
    "__REDDIT__/search?q=Old+photo": "/search?q=old+PHOTO",
    "__GITLAB__/search?search=Fix&scope=issues": "/search?scope=issues&search=fIX",
    "__MAP__/search?query=restaurants+in+{town}": "/search?query=RESTAURANT++within+{town}",
    "__WIKIPEDIA__/search?search=the+town": "/search?fulltext=1&search=The+TOWN",
    "__SHOPPING_ADMIN__/sales/order/?grand_total_from=275": "/admin/sales/order/?grand_total_from=%24275.00&status=&p=2",
    "__SHOPPING_ADMIN__/reports/report_sales/sales/?period_type=day&from=01%2F05%2F2022&to=2022-03-01":
        "/admin/reports/report_sales/sales/?to=3%2F1%2F2022&from=2022-01-05&period_type=day&status=",
    "__GITLAB__/explore?name=Web&sort=stars_desc": "/explore?sort=stars_desc&name=web&topic=",
    "__REDDIT__/f/pics/top?t=day": "/f/PICS/top",
    "__REDDIT__/f/pics": "/f/pics/hot?t=year",
    "__GITLAB__/dashboard/todos?state=pending&type=mentioned": "/dashboard/todos?type=mentioned",
}  # fmt: skip


@pytest.mark.parametrize(("reference", "path"), SEARCHED.items(), ids=str)
def test_equivalent_addresses_of_a_site_are_the_same_place(reference, path):
    site = next(name for name in HOSTS if reference.startswith(f"__{name.upper()}__"))
    backend = visit(site)
    towns = EmbeddedBackend(InProcessBrowser, WORLD)
    towns.enter(Task("towns", ("map",), "__MAP__", "", {}))
    (town,) = towns.database("map").execute("SELECT name FROM town ORDER BY population DESC, town_id LIMIT 1").fetchone()
    reference, path = reference.replace("{town}", town), path.replace("{town}", town)
    assert ends_there(backend, f"http://{HOSTS[site]}{path}", reference)


def stuffed(url, others, rng):
    """Yield addresses that hold the words of a place and lead to another."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query)
    beside = [pair for other in others for pair in parse_qsl(urlsplit(other).query)]
    for odd in ODD:
        yield parts._replace(query=urlencode([(key, odd) for key, _ in query] + query)).geturl()
    yield parts._replace(query=urlencode(beside + query)).geturl()
    for _ in range(3):
        every = query + beside
        rng.shuffle(every)
        yield parts._replace(query=urlencode(every)).geturl()
    yield parts._replace(path="/", query=urlencode([("path", parts.path), *query])).geturl()
    yield parts._replace(path="/", query="", fragment=f"{parts.path}?{parts.query}").geturl()
    yield parts._replace(netloc="elsewhere.test", query=urlencode(query)).geturl()
    yield parts._replace(netloc=f"elsewhere.test:80@{parts.netloc}").geturl()
    yield parts._replace(netloc=f"{parts.netloc}.elsewhere.test").geturl()
    yield parts._replace(path=f"{parts.path}/x").geturl()


PRODUCT_LIST = ("product_list_order", "product_list_dir", "product_list_limit")


@pytest.mark.parametrize("world", [WORLD, pytest.param(8, marks=pytest.mark.slow)])
def test_no_address_earns_a_place_but_those_that_show_its_page(world):
    rng, tried, refused = Random(4), 0, 0
    tasks = place_tasks(world, count=2)
    for task in tasks:
        others = [resolve(other.eval["reference_url"], URLS) for other in tasks if other.template == task.template]
        backend = EmbeddedBackend(InProcessBrowser, WORLD)
        backend.enter(task)
        references = task.eval["reference_url"].split(" |OR| ")
        right = {reading(look(backend.browser, resolve(reference, URLS))) for reference in references}
        for url in [*others, *stuffed(resolve(references[0], URLS), others, rng)]:
            tried += 1
            if not ends_there(backend, url.split(" |OR| ")[0], task.eval["reference_url"]):
                refused += 1
            else:
                page = backend.browser.page()
                query = dict(reversed(parse_qsl(urlsplit(page.url).query)))
                arranged = any(key in query for key in ("sort", "dir", "p", "page", "layer", *PRODUCT_LIST))
                assert arranged or reading(page) in right, f"{page.url} earned {task.task_id}"
    assert tried > 1000
    assert refused > 500


def test_a_place_of_which_no_more_is_asked_differs_with_what_is_asked():
    """One address must not earn whatever a template asks for, in every world."""
    target = defaultdict(dict)
    for task in place_tasks(*range(WORLD, WORLD + 4), count=3):
        target[task.template].setdefault(task.intent, set()).add(task.eval["reference_url"])
    for template, references in target.items():
        if len(references) > 1:
            assert len({frozenset(each) for each in references.values()}) > 1, template


def test_refusals_forms_with_faults_pages_of_others_and_what_leads_elsewhere_are_no_place():
    backend = visit("gitlab")
    assert not ends_there(backend, "http://code.test/nobody/nothing", "__GITLAB__/nobody/nothing")
    assert not ends_there(backend, "http://elsewhere.test/x", "http://elsewhere.test/x")
    assert not ends_there(backend, "https://code.test/explore", "__GITLAB__/explore")
    backend.browser.goto("http://code.test/-/snippets/new")
    forms = [form for form in backend.browser.page().root.iterfind(".//form") if form.find(".//textarea") is not None]
    (form,) = (form for form in forms if form.get("method", "").lower() == "post")
    backend.browser.click(form.find(".//button"))
    assert page_identity(backend.browser.page()) is None
    backend = visit("shopping")
    assert ends_there(backend, "http://shop.test/wishlist/", "__SHOPPING__/wishlist/")
    with pytest.raises(EvaluationError, match="is not a valid URL"):  # a fault of the task
        ends_there(backend, "http://shop.test/", "http://[shop.test/")
    backend.browser.start([], {})  # a stranger is sent to the form for signing in
    assert not ends_there(backend, "http://shop.test/wishlist/", "__SHOPPING__/wishlist/")
    assert backend.browser.page().url != "http://shop.test/wishlist/"


@pytest.mark.parametrize(("reference", "url", "expected"), [
    ("http://a.test/x/?b=2&a=1", "https://a.test/x?a=1&b=2&c=3", True), ("http://a.test:80/x", "http://A.test/x/#top", True),
    ("a.test/x%20y", "http://a.test/x y", True), ("http://a.test/x?q=cedar", "http://a.test/x?q=zzz&q=cedar", False),
    ("http://a.test/x?q=cedar", "http://a.test/x?q=cedar&q=zzz", False), ("http://a.test/x?q=1&q=1.00", "http://a.test/x?q=1.00", True),
    ("http://a.test/x?q=", "http://a.test/x", False), ("http://a.test/x?q=", "http://a.test/x?q=", True),
    ("http://a.test:8080/x", "http://a.test/x", False), ("http://a.test/x", "http://b.test/x", False),
])  # fmt: skip
def test_addresses_of_real_servers_are_compared_by_themselves(reference, url, expected):
    assert matches_url(reference, url) is expected


def test_repeated_query_keys_need_only_correct_values_and_any_address_is_parsed_or_rejected():
    rng = Random(5)
    for _ in range(2000):
        keys = rng.sample("abcdef", rng.randint(1, 4))
        reference = [(key, rng.choice("123")) for key in keys]
        given = reference + [(rng.choice("abcdef"), rng.choice("123")) for _ in range(rng.randint(0, 3))]
        rng.shuffle(given)
        expected = all(value == dict(reference)[key] for key, value in given if key in keys)
        assert matches_url(f"http://a.test/?{urlencode(reference)}", f"http://a.test/?{urlencode(given)}") is expected
    rng = Random(6)
    for _ in range(3000):
        text = "".join(rng.choice("ht:/[]@?#&=%a1. \t\\|é\0") for _ in range(rng.randint(0, 30)))
        with suppress(EvaluationError):
            assert matches_url(text, text) or read_address(text).values
