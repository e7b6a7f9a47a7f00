"""The list of sites: addresses, placeholders, databases and schemas."""

import pytest

from webarena_gym.sites import catalogue
from webarena_gym.sites.catalogue import DATABASES, HOSTS, SITES, URLS, Account, schema


def test_each_site_has_a_host_a_placeholder_and_a_url():
    assert [entry.name for entry in SITES.values()] == list(SITES) == list(HOSTS)
    assert (HOSTS["shopping"], SITES["shopping"].placeholder, URLS["__SHOPPING__"]) == (
        "shop.test",
        "__SHOPPING__",
        "http://shop.test",
    )
    assert URLS["__SHOPPING_ADMIN__"] == f"http://{HOSTS['shopping_admin']}{SITES['shopping_admin'].path}"
    assert len(set(URLS.values())) == len(SITES)
    assert all(catalogue.SITE_NAME.fullmatch(name) for name in SITES)


def test_the_admin_works_on_the_database_of_the_shop():
    assert SITES["shopping_admin"].database == SITES["shopping"].database == "shopping"
    assert "shopping_admin" not in DATABASES
    assert len(DATABASES) == len(set(DATABASES))


@pytest.mark.parametrize("name", [name for name, entry in SITES.items() if entry.login])
def test_logins_have_a_page_that_proves_them_and_an_account(name):
    login, account = SITES[name].login, SITES[name].account
    assert login.proof
    assert account.password not in repr(account)


def test_no_password_is_printed():
    assert repr(Account("ann", "secret")) == "Account('ann', ...)"


def test_large_worlds_have_the_tables_of_both_schemas():
    standard, large = schema("reddit"), schema("reddit", "large")
    assert large.startswith(standard)
    assert ("comment_fact" in large, "comment_fact" in standard) == (True, False)
