"""The network of an episode and the record of its traffic: sizes, limits, faults of sites."""

import pytest

from webarena_gym.errors import HostUnknownError
from webarena_gym.pages import page
from webarena_gym.pages.page import NO_RESPONSE, Network, Response, Traffic

JSON = [("Content-Type", "application/json")]


@pytest.mark.parametrize("missing", [0, 1])
def test_traffic_is_recorded_up_to_a_size_of_which_every_part_counts(monkeypatch, missing):
    request = ("POST", "http://a.test/", {"accept": "x"}, b"body")
    sizes = [14 + 4 + len("accept") + 1, len("Content-Type") + len("application/json") + 2]
    monkeypatch.setattr(page, "MAX_TRAFFIC_BYTES", sum(sizes) - missing)
    traffic = Traffic()
    exchange = traffic.record_request(*request)
    assert exchange.status == NO_RESPONSE
    traffic.record_response(exchange, 200, JSON, b"{}")
    assert traffic.is_complete == (not missing)
    assert exchange.status == (NO_RESPONSE if missing else 200)
    assert exchange.response_body == (b"" if missing else b"{}")
    monkeypatch.setattr(page, "MAX_TRAFFIC_BYTES", sizes[0] - missing)
    traffic = Traffic()
    traffic.record_request(*request)
    assert len(traffic.exchanges) == 1 - missing


def test_only_bodies_of_json_are_recorded():
    traffic = Traffic()
    for kind, body in (("text/html", b""), ("application/json; charset=utf-8", b"[1]")):
        exchange = traffic.record_request("GET", "http://a.test/", {}, b"")
        traffic.record_response(exchange, 200, [("CONTENT-TYPE", kind)], b"[1]")
        assert exchange.response_body == body


def test_headers_of_a_response_are_found_in_any_case():
    response = Response(200, [("X-A", "1"), ("x-a", "2")], b"")
    assert (response.header("x-A"), response.header("b"), response.header("b", "c")) == ("1", "", "c")


def echo(environ, start_response):
    write = start_response("200 OK", [("X-Path", environ["PATH_INFO"]), ("X-Query", environ["QUERY_STRING"])])
    write(b"written ")
    return [environ["HTTP_ACCEPT"].encode(), environ["CONTENT_TYPE"].encode(), environ["wsgi.input"].read()]


def test_a_request_reaches_its_site_with_path_query_headers_and_body():
    network = Network({"a.test": echo})
    network.traffic = Traffic()
    headers = {"Accept": "x/y ", "Content-Type": "z "}
    response = network.request("POST", "http://A.test/a%20b?c=d", headers, b"body")
    assert (response.header("X-Path"), response.header("X-Query")) == ("/a b", "c=d")
    assert response.body == b"written x/y z body"
    assert [exchange.url for exchange in network.traffic.exchanges] == ["http://A.test/a%20b?c=d"]
    assert network.hosts == ("a.test",)
    for url in ("https://a.test/", "http://b.test/", "http://a.test:81/"):
        with pytest.raises(HostUnknownError):
            network.request("GET", url)


@pytest.mark.parametrize(
    ("status", "is_error"), [("200 OK", False), ("999 Odd", False), ("199 Low", True), ("1000 High", True)]
)
def test_a_fault_of_a_site_is_a_status_and_an_entry(status, is_error):
    def site(_, start_response):
        start_response(status, [])
        return [b""]

    network = Network({"a.test": site})
    response = network.request("GET", "http://a.test/")
    assert response.status == (500 if is_error else int(status.split()[0]))
    assert len(network.errors) == is_error
    network.request("GET", "http://a.test/", {"Accept": "image/png"})
    assert len(network.errors) == is_error, "pictures are not loaded by all browsers"
    assert all(error.startswith("GET http://a.test/: ValueError: ") for error in network.errors)
