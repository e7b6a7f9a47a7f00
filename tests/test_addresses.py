"""Addresses and accounts of real servers, from arguments and from the environment."""

import pytest

from webarena_gym.addresses import (
    PUBLISHED_ACCOUNTS,
    Account,
    addresses_from_environment,
    find_account,
    hosts,
    placeholders,
    read_addresses,
    resolve_all,
)
from webarena_gym.errors import ServerError
from webarena_gym.logins import LOGINS
from webarena_gym.sites.catalogue import SITES


class TestAddresses:
    def test_given(self):
        given = {"shopping": "http://a.test:7770/", "shopping_admin": "https://a.test/admin"}
        assert read_addresses(given) == {"shopping": "http://a.test:7770", "shopping_admin": "https://a.test/admin"}

    @pytest.mark.parametrize(("given", "message"), [
        ({"My Shop": "http://a.test"}, "invalid site name 'My Shop'"),
        ({"map": "a.test:3000"}, "expected http://host:port"),
        ({"map": "ftp://a.test"}, "expected http://host:port"),
        ({"map": "http://"}, "expected http://host:port"),
        ({"map": "http://[x"}, "expected http://host:port"),
        ({"map": "http://a.test:99999"}, "expected http://host:port"),
        ({"map": None}, "expected http://host:port"),
        ({}, "no server addresses"),
    ])  # fmt: skip
    def test_wrong(self, given, message):
        with pytest.raises(ServerError) as caught:
            read_addresses(given)
        assert message in str(caught.value)

    def test_from_the_environment(self):
        values = {
            "SHOPPING": "http://a.test:1/", "WA_SHOPPING": "http://b.test:2", "HOMEPAGE": "index.html", "PATH": "http://x",
        }  # fmt: skip
        assert addresses_from_environment(values) == {"shopping": "http://b.test:2"}
        assert addresses_from_environment({}) == {}
        every = {site.upper(): f"http://{number}.test" for number, site in enumerate(SITES)}
        assert list(addresses_from_environment(every)) == list(SITES)

    def test_placeholders_and_hosts_of_addresses(self):
        addresses = {"shopping": "http://a.test:7770", "map": "http://b.test/map"}
        assert placeholders(addresses) == {"__SHOPPING__": "http://a.test:7770", "__MAP__": "http://b.test/map"}
        assert hosts(addresses) == {"a.test:7770", "b.test:80"}
        resolved = resolve_all({"url": "__MAP__/x", "n": [1, None, "__SHOPPING__"]}, placeholders(addresses))
        assert resolved == {"url": "http://b.test/map/x", "n": [1, None, "http://a.test:7770"]}


class TestAccounts:
    def test_the_nearest_wins(self):
        values = {"WEBARENA_GYM_REDDIT_USER": "bo", "WEBARENA_GYM_REDDIT_PASSWORD": "pw", "WEBARENA_GYM_MAP_USER": "cy"}
        assert find_account("reddit", environment={}) == PUBLISHED_ACCOUNTS["reddit"]
        assert find_account("reddit", environment=values) == Account("bo", "pw")
        assert find_account("reddit", {"reddit": Account("di", "x")}, values) == Account("di", "x")
        assert find_account("map", environment={}) is None
        assert find_account("map", environment=values) == Account("cy", "")
        assert list(LOGINS) == list(PUBLISHED_ACCOUNTS)
        assert "secret" not in f"{Account('ann', 'secret')!r} {[Account('ann', 'secret')]}"
