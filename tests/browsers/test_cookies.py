"""The cookie jar: who may set a cookie, which requests carry it, and when it is gone."""

from datetime import UTC, datetime, timedelta

import pytest

from webarena_gym.browsers.cookies import NOW, Cookie, CookieJar, is_same_site, parse_cookie_date

URL = "http://shop.app.test/a/b"


def jar(*headers, url=URL, now=NOW):
    cookies = CookieJar()
    for header in headers:
        cookies.receive(url, header, now)
    return cookies


@pytest.mark.parametrize(
    ("header", "requests"),
    [
        ("n=1", {"http://shop.app.test/a/x": "n=1", "http://shop.app.test/": "", "http://app.test/a/x": ""}),
        ("n=1; Path=/", {"http://shop.app.test/": "n=1", "http://my.shop.app.test/": ""}),
        ("n=1; Path=/a", {"http://shop.app.test/a": "n=1", "http://shop.app.test/ab": "", "http://shop.app.test/a/": "n=1"}),
        ("n=1; Path=/; Domain=app.test", {"http://app.test/": "n=1", "http://x.app.test/": "n=1", "http://yapp.test/": ""}),
        ("n=1; Path=/; Domain=.APP.test", {"http://x.app.test/": "n=1"}),
        ("n=1; Path=/; Domain=other.test", {"http://shop.app.test/": "", "http://other.test/": ""}),
        ("n=1; Path=/; Domain=test", {"http://shop.app.test/": ""}),
        ("n=1; Path=x", {"http://shop.app.test/a/": "n=1", "http://shop.app.test/x": ""}),
        ("n=1; Path=/; Secure", {"http://shop.app.test/": "", "https://shop.app.test/": "n=1"}),
    ],
)  # fmt: skip
def test_a_cookie_is_sent_to_its_domain_and_path(header, requests):
    cookies = jar(header, url=URL.replace("http:", "https:") if "Secure" in header else URL)
    assert {url: cookies.header(url) for url in requests} == requests


@pytest.mark.parametrize(
    ("header", "sent"),
    [
        ("a=b=c", "a=b=c"),
        ("  a =  b ", "a=b"),
        ("plain", "plain"),
        ("=v", "v"),
        ("a=", "a="),
        ("", ""),
        ("=", ""),
        ("a=\x01", ""),
        ("a=b\tc", ""),
    ],
)
def test_names_and_values_are_read_as_chromium_reads_them(header, sent):
    assert jar(f"{header}; Path=/").header(URL) == sent


def test_longer_paths_come_first_and_then_older_cookies():
    assert jar("one=1; Path=/", "two=2; Path=/a", "three=3; Path=/").header(URL) == "two=2; one=1; three=3"
    assert jar("one=1; Path=/", "two=2; Path=/", "one=3; Path=/").header(URL) == "two=2; one=3"
    assert jar("one=1; Path=/", "two=2; Path=/", "one=1; Path=/").header(URL) == "one=1; two=2"


@pytest.mark.parametrize(
    "ending",
    ["Max-Age=0", "Max-Age=-5", "Expires=Thu, 01 Jan 1970 00:00:00 GMT", "Max-Age=0; Expires=Wed, 09 Jun 2100 10:18:14 GMT"],
)
def test_an_expired_cookie_deletes_an_earlier_one(ending):
    assert jar("n=1; Path=/", f"n=1; Path=/; {ending}").header(URL) == ""


@pytest.mark.parametrize(
    "ending", ["Max-Age=60", "Expires=never", "Max-Age=abc", "Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]
)
def test_a_cookie_without_a_valid_end_stays(ending):
    assert jar(f"n=1; Path=/; {ending}").header(URL) == "n=1"


def test_expiry_is_compared_with_the_time_of_the_response():
    header = "n=1; Path=/; Expires=Wed, 01 Mar 2023 00:00:00 GMT"
    moment = datetime(2023, 3, 1, tzinfo=UTC)
    assert jar(header, now=moment - timedelta(seconds=1)).header(URL) == "n=1"
    assert jar(header, now=moment).header(URL) == ""


@pytest.mark.parametrize(
    ("header", "initiator", "method", "is_sent"),
    [
        ("SameSite=Strict", "http://evil.test/", "GET", False),
        ("SameSite=Strict", "http://other.app.test/", "GET", True),
        ("SameSite=Strict", "", "GET", True),
        ("SameSite=Lax", "http://evil.test/", "GET", True),
        ("SameSite=Lax", "http://evil.test/", "POST", False),
        ("", "http://evil.test/", "POST", True),
        ("SameSite=odd", "http://evil.test/", "POST", True),
    ],
)
def test_same_site_cookies_are_withheld_from_requests_of_other_sites(header, initiator, method, is_sent):
    assert (jar(f"n=1; Path=/; {header}").header(URL, method, initiator) == "n=1") == is_sent


@pytest.mark.parametrize(
    ("header", "is_kept"),
    [
        ("__Host-n=1; Path=/; Secure", True), ("__Host-n=1; Path=/a; Secure", False), ("__Host-n=1; Path=/", False),
        ("__Host-n=1; Path=/; Secure; Domain=app.test", False), ("__Secure-n=1; Path=/; Secure", True), ("__Secure-n=1; Path=/", False),
        ("__HOST-n=1; Path=/", False),
    ],
)  # fmt: skip
def test_prefixes_of_names_demand_attributes(header, is_kept):
    assert bool(jar(header, url="https://shop.app.test/").contents()) == is_kept


def test_an_address_has_no_domain_above_it():
    cookies = jar("n=1; Path=/; Domain=0.0.1", url="http://127.0.0.1/")
    assert cookies.contents() == ()
    assert not is_same_site("http://127.0.0.1/", "http://9.0.0.1/")
    assert is_same_site("http://a.app.test:1/", "http://b.app.test:2/")
    assert not is_same_site("http://app.test/", "https://app.test/")


def test_a_jar_of_hosts_has_cookies_of_these_hosts_alone():
    cookies = CookieJar.from_hosts({"a.test": {"n": "1", "m": "2"}})
    assert cookies.contents() == (Cookie("a.test", "/", "n", "1", True), Cookie("a.test", "/", "m", "2", True))
    assert cookies.header("http://a.test/x") == "n=1; m=2"
    assert cookies.header("http://b.a.test/x") == ""


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Wed, 09 Jun 2021 10:18:14 GMT", datetime(2021, 6, 9, 10, 18, 14, tzinfo=UTC)),
        ("9 jun 69 1:2:3", datetime(2069, 6, 9, 1, 2, 3, tzinfo=UTC)),
        ("9 jun 70 1:2:3", datetime(1970, 6, 9, 1, 2, 3, tzinfo=UTC)),
        ("9 jun 1600 1:2:3", datetime.min.replace(tzinfo=UTC)),
        ("31 feb 2020 1:2:3", None), ("9 jun 2020", None), ("9 jun 2020 25:00:00", None), ("", None),
    ],
)  # fmt: skip
def test_dates_of_cookies(text, moment):
    assert parse_cookie_date(text) == moment
