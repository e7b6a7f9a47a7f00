"""Servers of an arena: names and addresses at which they listen, and the token."""

import socket
from urllib.parse import urlsplit

import pytest

from benchmarks.arena import Client, request
from tests.arena.clients import WISH
from tests.serving import serving_episodes
from webarena_gym.arena.service import ServerSettings
from webarena_gym.errors import ArenaError


def test_pages_lead_to_the_name_that_the_client_has_used():
    with serving_episodes(ServerSettings(names=("box.example",))) as url:
        client = Client(url.replace("box.example", "127.0.0.1"), name="box.example")
        episode = client.create_episode(task=WISH)
        shop = urlsplit(episode["addresses"]["shopping"])
        assert shop.hostname == "box.example"
        page = request("GET", f"http://127.0.0.1:{shop.port}/", {"Host": shop.netloc})
        assert episode["addresses"]["shopping"].encode() in page.body
        assert b"shop.test" not in page.body


def test_it_listens_on_an_address_of_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    with serving_episodes(ServerSettings("::1")) as url:
        assert url.startswith("http://[::1]:")
        client = Client(url)
        shop = client.create_episode(task=WISH)["addresses"]["shopping"]
        assert shop.startswith("http://[::1]:")
        assert shop.encode() in request("GET", shop).body


def test_an_arena_that_others_can_reach_wants_a_token():
    for address in (ServerSettings("0.0.0.0", names=("127.0.0.1",)), ServerSettings("0.0.0.0", token="secret")):
        with pytest.raises(ArenaError, match=r"token|--name"), serving_episodes(address):
            pass
    with serving_episodes(ServerSettings("0.0.0.0", names=("127.0.0.1",), token="secret")) as url:
        assert Client(url).ask("POST", "/episodes", {})[0] == 401
        assert Client(url, "wrong").ask("GET", "/episodes")[0] == 401
        client = Client(url, "secret")
        episode = client.create_episode(task=WISH)
        start, shop = episode["start_urls"][0], episode["addresses"]["shopping"]
        assert request("GET", shop).status == 401
        assert request("GET", start.rpartition("/")[0] + "x/").status == 401
        entered = request("GET", start)
        assert (entered.status, entered.header("Location")) == (302, "/")
        cookie = {"Cookie": f"other=1; {entered.header('Set-Cookie').partition(';')[0]}"}
        assert request("GET", shop, cookie).status == 200
        assert request("GET", shop, {"Authorization": "Bearer secret"}).status == 200
        other = client.create_episode(task=WISH)
        assert request("GET", other["addresses"]["shopping"], cookie).status == 401
        second = request("GET", other["start_urls"][0], cookie).header("Set-Cookie").partition(";")[0]
        both = {"Cookie": f"{cookie['Cookie']}; {second}"}
        assert second.partition("=")[0] not in cookie["Cookie"]
        assert [request("GET", each["addresses"]["reddit"], both).status for each in (episode, other)] == [200, 200]
