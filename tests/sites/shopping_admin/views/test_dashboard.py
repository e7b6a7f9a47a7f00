"""Login, menu, dashboard, text pages, themes and configuration of the admin."""

import re
from datetime import date

import pytest

from tests.shopping_rows import NOW
from tests.sites.shopping_admin.person import HOME, Person
from webarena_gym.sites.country.texts import money
from webarena_gym.sites.shopping_admin.grids import parse_cents, parse_count, parse_date
from webarena_gym.sites.shopping_admin.site import site


def test_login_is_needed_everywhere_and_works():
    person = Person(is_signed_in=False)
    assert person.path == "/admin/"
    for path in sorted(paths("GET")):
        answer = person.network.request("GET", HOME + path)
        is_open = path in ("/admin/", "/static/style.css") or path.startswith("/pictures/")
        assert answer.status == 302 or is_open, path
    person.type(Username="admin", Password="wrong").click("Sign in")
    assert "incorrect" in person.messages[0]
    person.type(Username="admin", Password="admin1234").click("Sign in").at("/admin/admin/dashboard/")
    person.open("/").at("/admin/admin/dashboard/").browser.click(person.root.xpath("//a[.='Sign Out']")[0])
    person.at("/admin/")
    assert person.open("/admin/sales/order/").path == "/admin/"


def test_menu_leads_to_every_page(person):
    for name in ("Dashboard", "Sales", "Catalog", "Customers", "Marketing", "Content", "Reports", "Stores"):
        person.browser.click(person.root.xpath("//nav[@class='menu']//a[.=$name]", name=name)[0])
        assert person.root.xpath("//nav//a[@class='current']")[0].text == name
        for link in person.root.xpath("//nav//ul/li/ul//a/@href"):
            assert person.send("GET", link).status == 200, link


def test_dashboard(person):
    sales = "FROM sales_order WHERE status != 'canceled'"
    assert money(person.value(f"SELECT sum(grand_total_cents) {sales}")) in person.text
    assert money(person.value(f"SELECT CAST(round(avg(grand_total_cents)) AS INTEGER) {sales}")) in person.text
    latest = "SELECT customer_name FROM sales_order ORDER BY created_at DESC, order_id DESC LIMIT 5"
    person.holds([row[0] for row in person.table], latest)
    assert person.sql(
        """SELECT name FROM order_item JOIN sales_order USING (order_id) WHERE status != 'canceled'
           GROUP BY product_id ORDER BY sum(qty_ordered) DESC, product_id LIMIT 5"""
    ) == person.root.xpath("(//table)[last()]/tbody/tr/td[1]/text()")
    person.fill({"Search everything": "person4@"}).click("Search").sees("Customer Dora Éclair")


def test_pages_themes_and_configuration(person):
    person.open("/admin/cms/page/edit/page_id/1/").type(Page_Title="Who we are", URL_Key="Privacy!").click("Save")
    assert "hyphens" in person.messages[0]
    person.fill({"URL Key": "privacy"}).click("Save")
    assert "already" in person.messages[0]
    person.type(URL_Key="who", Content="New <words>").click("Enable Page", "Save")
    expected = ("Who we are", "who", "New <words>", 0, str(NOW))
    assert person.sql("SELECT title, url_key, content, is_enabled, updated_at FROM cms_page WHERE page_id = 1") == [expected]
    person.click("Delete Page", "Add New Page").fill({"Page Title": "Gift Cards"}).click("Save")
    assert person.sql("SELECT url_key FROM cms_page WHERE title = 'Gift Cards'") == ["gift-cards"]
    person.open("/admin/admin/system_design_theme/edit/id/1/").click("Apply Theme")
    assert person.sql("SELECT theme_id FROM theme WHERE is_applied") == [1]
    person.open("/admin/admin/system_config/").fill({"Phone": "555-0111"}).click("Save Config")
    assert person.sql("SELECT value FROM store_config") == ["United States", "Corner Shop", "555-0111"]
    assert "Corner Shop" in person.open("/admin/admin/system_store/").text


def paths(method: str, number: str = "1", word: str = "sales") -> set[str]:
    """Every route of that method, its slots filled in."""
    found = set()
    for rule in site._rules.iter_rules():
        if method not in rule.methods:
            continue
        choices = re.search(r"<any\(([^)]*)\)", rule.rule)
        for choice in choices[1].split(",") if choices else [""]:
            path = re.sub(r"<any\([^)]*\):\w+>", choice.strip(), rule.rule)
            found.add(re.sub(r"<int:\w+>", number, path).replace("<path:name>", "style.css").replace("<name>", word))
    return found


def test_parsers():
    assert [parse_cents(text) for text in ("0", ".5", "$1,000.25", "-7")] == [0, 50, 100025, -700]
    assert parse_date("2/29/2024") == date(2024, 2, 29).isoformat()
    for parse, *texts in ((parse_cents, ".", "1.234", "1e5"), (parse_count, "1.0"), (parse_date, "2/29/2023")):
        for text in texts:
            with pytest.raises(ValueError, match="please enter"):
                parse(text)
