"""Addresses of an arena: translation of pages and requests, and ports that no bytes harm."""

import socket
from functools import cache
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena import request
from tests.arena.clients import PORTS, WISH, begun
from webarena_gym.arena.gateway import Translation, Visit, is_target
from webarena_gym.sites.catalogue import HOSTS, URLS


@given(st.binary(max_size=300), st.booleans(), st.booleans())
@settings(max_examples=100)
def test_no_bytes_harm_a_port(client, port_of_a_site, content, is_request, is_site):
    place = urlsplit(port_of_a_site if is_site else client.url)
    head = b"GET /" if is_request else b""
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(head + content + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        found = connection.makefile("rb").read()
    assert found == b"" or found.split(b" ")[1][:1] != b"5", found
    assert client.ask("GET", "/health")[0] == 200
    assert request("GET", port_of_a_site).status == 200


@pytest.fixture(scope="module")
def port_of_a_site(client):
    return client.create_episode(task=WISH)["start_urls"][0]


def test_only_names_that_were_given_out_are_answered(client, port_of_a_site):
    for url in (f"{client.url}/health", port_of_a_site):
        assert request("GET", url, {"Host": "evil.example"}).status == 421
        assert request("GET", url, {"Host": f"localhost:{urlsplit(url).port}"}).status == 200
    assert client.ask("POST", "/episodes", {}, headers={"Origin": "http://evil.example"})[0] == 403


@given(st.text(max_size=30), st.sampled_from(list(HOSTS)), st.booleans())
def test_translation_there_and_back_is_the_same(text, site, is_encoded):
    sites = Translation(PORTS, "127.0.0.1", ("localhost",))
    own = URLS[f"__{site.upper()}__"].removesuffix("/admin")
    if is_encoded:
        own = own.replace(":", "%3A").replace("/", "%2F")
    text_parts = f"{text} {own}/{text}"
    outward = sites.outward_text(text_parts)
    assert HOSTS[site] not in outward.replace(text, "")
    assert sites.inward_text(outward) == text_parts
    assert sites.inward_text(outward.replace("127.0.0.1", "localhost")) == text_parts
    others = Translation(PORTS, "[::1]", ())
    assert others.inward_text(others.outward_text(text_parts)) == text_parts


@pytest.mark.parametrize(
    "text", ["http://shop.test.example/", "https://shop.test/", "http://shop.test:81/", "ann@shop.test", "myshop.test"]
)
def test_other_addresses_are_left_as_they_are(text):
    sites = Translation(PORTS, "127.0.0.1", ())
    assert sites.outward_text(text) == text
    for other in ("http://127.0.0.1:4000", "http://127.0.0.1:400001/", "http://127.0.0.1/", "http://other:40000/"):
        assert sites.inward_text(other) == other


@given(st.text(max_size=60))
def test_a_target_is_a_path_of_the_site_and_nothing_else(text):
    if is_target(text):
        _, episode = visited()
        assert episode.browse(Visit("shopping", "GET", text, {})).status < 500
    for target in (f"http://{text}", f"@{text}", ""):
        assert not is_target(target)


@cache
def visited():
    return begun()
