"""The start page, used as a person would."""

import re
from decimal import Decimal

import pytest

from tests.visitors import Visitor
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.country.names import population
from webarena_gym.sites.homepage.site import calculate, read
from webarena_gym.sites.world import build

HOST = "http://home.test"


@pytest.fixture
def visitor(opened):
    return opened(Visitor("home.test", "homepage", build("homepage", 1)))


def test_the_home_page_links_every_site_and_hides_passwords(visitor):
    assert population(1)[0].name in visitor.text
    links = visitor.browser.page().root.xpath("//main//a/@href")
    hosts = {re.sub(r"https?://([^/]+).*", r"\1", link) for link in links}
    assert hosts == {host for site, host in HOSTS.items() if site != "homepage"}
    person = population(1)[0]
    visitor.click("Accounts").sees(f"{person.first}.{person.last}@example.com".lower()).lacks("assword")
    assert "Not Found" in visitor.open("/nowhere").text


def test_the_calculator(visitor):
    for first, operation, second, result in (
        ("0.1", "plus", "0.2", "0.3"), ("1,200", "minus", "1300", "-100"), ("-2", "times", "3.50", "-7"),
        ("1", "divided by", "3", "0.333333333333"), ("999999999999", "times", "10", "9999999999990"),
    ):  # fmt: skip
        visitor.open("/calculator").fill({"First number": first, "Second number": second}).choose("Operation", operation)
        assert f"Result: {result}" in visitor.click("Calculate").text


def test_the_calculator_refuses_what_is_no_sum(visitor):
    for query, complaint in (
        ("first=a&operation=add&second=1", "two numbers"), ("first=1&operation=add", "two numbers"),
        ("first=1e9999999&operation=add&second=1", "two numbers"), ("first=%D9%A3&operation=add&second=1", "two numbers"),
        ("first=" + "9" * 5000 + "&operation=multiply&second=2", "two numbers"),
        ("first=1&operation=divide&second=0", "divided by zero"), ("first=0&operation=divide&second=0", "divided by zero"),
        ("first=1&operation=__import__&second=2", "choose one of the operations"), ("operation=add", ""),
    ):  # fmt: skip
        visitor.open(f"/calculator?{query}").sees(complaint).lacks("Result")


def test_numbers_are_read_and_written_plainly():
    assert read(".5") == Decimal("0.5")
    assert [read(text) for text in ("", "1,2,3", "--1", "1 2", "NaN", "Infinity")] == [None] * 6
    assert calculate(Decimal(5), "subtract", Decimal(5)) == "0"
    assert calculate(Decimal(100), "multiply", Decimal(10)) == "1000"


def test_the_scratchpad_keeps_one_note_and_does_not_lose_one_that_is_too_long(visitor):
    visitor.click("Scratchpad").fill({"Note": "<milk> & eggs\nbread"}).click("Save note").sees("The note was saved.")
    assert visitor.rows("SELECT text FROM note") == [("<milk> & eggs\nbread",)]
    visitor.open("/").click("Scratchpad").sees("&lt;milk> & eggs\nbread")
    visitor.fill({"Note": "  "}).click("Save note").sees("The scratchpad was cleared.").holds(0, "SELECT count(*) FROM note")
    visitor.fill({"Note": "x" * 10_001}).click("Save note").sees("The note is too long")
    assert visitor.find("Note").text.strip() == "x" * 10_001
    assert visitor.value("SELECT count(*) FROM note") == 0
