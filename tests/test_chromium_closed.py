"""Nothing but the sites is reached from Chromium, by whatever way a page tries, and whichever of its processes dies."""

import contextlib
import os
import signal
import socket
import subprocess
import threading

import numpy
import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from webarena_gym.browsers.chromium import driver
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import BrowserError
from webarena_gym.pages.page import Network

pytestmark = needs.chromium

TASK = {"task": "shopping.cart_add/1000/0"}


class Elsewhere:
    """A foreign machine: one port that takes connections and packets, and counts them."""

    def __init__(self):
        self.stream = socket.create_server(("127.0.0.1", 0))
        self.port = self.stream.getsockname()[1]
        self.packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.packets.bind(("127.0.0.1", self.port))
        self.reached = []
        for receive in (self._accept, self._receive):
            threading.Thread(target=receive, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.stream.accept()
                with connection:
                    connection.settimeout(2)
                    with contextlib.suppress(OSError):
                        self.reached.append(connection.recv(200))
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 7\r\n\r\nforeign")

    def _receive(self):
        with contextlib.suppress(OSError):
            while True:
                self.reached.append(self.packets.recv(2000))

    def close(self):
        for part in (self.stream, self.packets):
            with contextlib.suppress(OSError):
                part.shutdown(socket.SHUT_RDWR)
            part.close()


@pytest.fixture
def elsewhere(opened):
    return opened(Elsewhere())


WAYS = {
    "image": "<img src=URL/>",
    "frame": "<iframe src=URL/></iframe>",
    "style": "<link rel=stylesheet href=URL/ ><style>@import 'URL/import'; p {background: url(URL/background)}</style>",
    "hints": "<link rel=dns-prefetch href=URL><link rel=preconnect href=URL><link rel=prefetch href=URL/p><link rel=preload as=image href=URL/i>"
    "<link rel=prerender href=URL/r><link rel=modulepreload href=URL/m><link rel=icon href=URL/icon><link rel=manifest href=URL/m>",
    "speculation": '<script type=speculationrules>{"prefetch": [{"urls": ["URL/s"]}], "prerender": [{"urls": ["URL/t"]}]}</script>',
    "fetch": "<script>fetch('URL/', {mode: 'no-cors'}).catch(String); fetch('URL/k', {mode: 'no-cors', keepalive: true}).catch(String)</script>",
    "beacon": "<script>navigator.sendBeacon('URL/', 'x')</script>",
    "events": "<script>new EventSource('URL/')</script>",
    "socket": "<script>new WebSocket('ws://HOST/'); try { new WebSocket('wss://HOST/') } catch {}</script>",
    "transport": "<script>try { new WebTransport('https://HOST/').ready.catch(String) } catch {}</script>",
    "worker": "<script>navigator.serviceWorker?.register('/worker.js').catch(String); new Worker('/worker.js')</script>",
    "media": "<video src=URL/ autoplay></video><audio src=URL/a preload=auto></audio><object data=URL/o></object><embed src=URL/e>",
    "ping": "<a id=link ping=URL/ href=#x>Go</a><script>link.click()</script>",
    "window": "<script>window.open('URL/')</script>",
    "leave": "<script>setTimeout(() => location = 'URL/', 10)</script>",
    "refresh": "<meta http-equiv=refresh content='0; url=URL/'>",
    "form": "<form id=form action=URL/ method=post></form><script>form.submit()</script>",
    "name": "<script>fetch('http://localhost:PORT/').catch(String); fetch('http://[::1]:PORT/').catch(String)</script>",
    "trying": "<script>setInterval(() => { fetch('URL/', {mode: 'no-cors'}).catch(String); new Image().src = 'URL/i'; new WebSocket('ws://HOST/') }, 20)</script>",
    "headers": "<img src=/x.png><script>1</script>",
    "call": """<script>
        for (const urls of ['stun:HOST', 'turn:HOST', 'turn:HOST?transport=tcp', 'stun:localhost:PORT']) {
          const call = new RTCPeerConnection({iceServers: [{urls, username: 'u', credential: 'c'}]});
          window.found ??= []; window.calls ??= []; calls.push(call);
          call.onicecandidate = ({candidate}) => { if (candidate?.candidate) found.push(candidate.candidate); };
          call.createDataChannel('x');
          call.createOffer().then((offer) => call.setLocalDescription(offer));
        }</script>""",
}
GATHERED = """new Promise((done) => {
    for (const call of calls) call.onicegatheringstatechange = () => {
      if (calls.every((each) => each.iceGatheringState === "complete")) done(found);
    };
    calls[0].onicegatheringstatechange();
  })"""


@pytest.fixture
def browser(elsewhere):
    host = f"127.0.0.1:{elsewhere.port}"

    def site(environ, start_response):
        path = Request(environ).path.strip("/")
        page = WAYS.get(path, "").replace("URL", f"http://{host}").replace("HOST", host).replace("PORT", str(elsewhere.port))
        kind, headers = "text/html", {}
        if path == "worker.js":
            page, kind = f"fetch('http://{host}/worker', {{mode: 'no-cors'}}).catch(String)", "text/javascript"
        if path == "headers":
            headers = {
                "Link": f"<http://{host}>; rel=preconnect, <http://{host}/x>; rel=prefetch",
                "Reporting-Endpoints": f'default="http://{host}/reports"',
                "NEL": '{"report_to": "default", "max_age": 9, "success_fraction": 1}',
                "Content-Security-Policy-Report-Only": f"default-src 'none'; report-uri http://{host}/csp; report-to default",
            }
        answer = Response(f"<!doctype html><title>T</title><p>{path}</p>{page}", content_type=kind, headers=headers)
        return answer(environ, start_response)

    made = ChromiumBrowser(Network({"app.test": site}))
    made.start(["http://app.test/"], {})
    yield made
    made.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.sampled(3)
def test_no_way_of_a_page_leads_elsewhere(browser, elsewhere, way):
    browser.goto(f"http://app.test/{way}")
    browser.wait()
    if way == "call":
        assert [candidate for candidate in browser.run_script(GATHERED) if " udp " in candidate.lower()] == []
    browser.goto("http://app.test/end")
    assert elsewhere.reached == []


def processes():
    """The processes of Chromium below this one, by id: what each is, "" for the browser itself."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,stat,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 3) for line in listed.splitlines()[1:]]
    found, parents = {}, {str(os.getpid())}
    while parents:
        mine = [row for row in rows if row[1] in parents and "Z" not in row[2]]
        parents = {row[0] for row in mine}
        for pid, _, _, line in mine:
            if "chrom" in line.split()[0]:
                words = [word.partition("=")[2] for word in line.split() if word.startswith(("--type=", "--utility-sub-type="))]
                found[int(pid)] = " ".join(words)
    return found


def kill(kind):
    killed = [pid for pid, what in processes().items() if (kind in what if kind else not what)]
    assert killed, processes()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def envs():
    """One env that is played in, and one whose pages lie beside its own."""
    made = [WebArenaLite(split="test", browser="chromium", dialect="webarena") for _ in range(2)]
    yield made
    for env in made:
        env.close()


KINDS = ("", "zygote", "network.mojom.NetworkService", "gpu-process", "renderer")
PLANS = {"typed": "goto [ELSEWHERE]", "site": "goto [http://shop.test/contact/]", "link": "click [7]", "tab": "new_tab"}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sampled(3)
def test_killed_processes_reach_no_other_host_and_give_no_zero_reward(envs, elsewhere, kind, plan, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.context.OPENING_S", 2.0)
    env, other = envs
    url = f"http://127.0.0.1:{elsewhere.port}/"
    env.reset(options=TASK)
    other.reset(options=TASK)
    kill(kind)
    first = PLANS[plan].replace("ELSEWHERE", url)
    for reply in (first, f"goto [{url}]", "goto [http://shop.test/]", "new_tab", "goto [http://shop.test/cart]"):
        _, reward, terminated, truncated, info = env.step(f"```{reply}```")
        if truncated:
            assert numpy.isnan(reward)
            assert info["failure"]
            assert "success" not in info
            break
        assert not terminated
        assert info["action_error"] == ""
        expected = reply.partition("[")[2].rstrip("]")
        assert expected == info["url"] or not expected.startswith("http"), (reply, info["url"])
    else:
        assert kind in ("gpu-process", "renderer"), "it was told of nothing"
    assert elsewhere.reached == []
    assert env.reset(options=TASK)[1]["url"] == "http://shop.test/"
    for reply in (f"goto [{url}]", "goto [http://shop.test/contact/]", "new_tab", "go_back", "goto [http://shop.test/]"):
        info = env.step(f"```{reply}```")[4]
        assert "failure" not in info
    assert info["url"] == "http://shop.test/"
    assert elsewhere.reached == []


def test_a_session_that_has_lost_its_cookies_is_not_saved(envs, monkeypatch):
    env = envs[0]
    env.reset(options=TASK)
    kill("NetworkService")
    with monkeypatch.context() as patch:
        patch.setattr(driver, "_CALL_TIMEOUT_S", 3.0)
        with pytest.raises(BrowserError, match=r"network process has died|did not answer"):
            env.snapshot()
    env.reset(options=TASK)
    assert env.snapshot().backend.browser.cookies


def test_pages_of_a_killed_network_try_in_vain(browser, elsewhere):
    """Scripts go on asking while nobody acts, and the process that comes in place of the killed one knows no proxy."""
    browser.goto("http://app.test/trying")
    kill("NetworkService")
    assert not threading.Event().wait(1.0)
    with pytest.raises(BrowserError):
        browser.goto("http://app.test/")
    assert elsewhere.reached == []
    browser.start(["http://app.test/"], {})
    assert browser.page().title == "T"
