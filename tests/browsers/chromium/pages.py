"""Pages with scripts, and what a browser shows of them."""

from werkzeug.wrappers import Request, Response

from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

HOME = "http://app.test/"
PAGES = {
    "/": "<h1>Home</h1><a href=/other>Other</a>",
    "/other": "<h1>Other</h1>",
    "/dialogs": """<button onclick="alert('Hello')">Alert</button><p id=said></p>
        <button onclick="said.textContent = confirm('Sure?') ? 'yes' : 'no'">Confirm</button>""",
    "/late": """<button onclick="setTimeout(() => out.textContent = 'late', 40)">Timer</button>
        <button onclick="fetch('/slow').then(r => r.text()).then(t => out.textContent = t)">Fetch</button>
        <button onclick="setTimeout(() => location = '/other', 20)">Leave</button><p id=out></p>""",
    "/checks": """<button onclick="out.textContent = isLoaded">Early</button><input aria-label=Name id=field><p id=out></p><script>
        var isLoaded = false; setTimeout(() => { isLoaded = true }, 1500);
        const held = field.value; setInterval(() => { if (field.value !== held) out.textContent = 'unsaved' }, 400)</script>""",
    "/keys": '<input aria-label=Find onkeyup="out.textContent += event.key"><p id=out></p>',
    "/popup": "<button onclick=\"window.open('/other')\">Open</button><button onclick='window.close()'>Close</button>",
    "/frames": "<p>Around</p><iframe src=/inner></iframe><iframe srcdoc='<p>Inline</p>'></iframe>",
    "/inner": "<p id=p>Inside</p><button onclick=\"p.textContent = 'Pressed'\">Press</button><input aria-label=Field>",
    "/shadow": """<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML =
        "<p id=p>Shade</p><button onclick=\\"this.previousSibling.textContent = 'Lit'\\">Light</button>"</script>""",
    "/layout": """<style>.gone {display: none} .ghost {visibility: hidden} .thin {width: 0; height: 0; overflow: hidden; border: 0;
        padding: 0} .lid {position: fixed; left: 0; top: 100px; width: 300px; height: 60px; background: white}</style>
        <button>Plain</button><button class=gone>Gone</button><button class=ghost>Ghost</button><button class=thin></button>
        <button style="position: absolute; left: 20px; top: 120px">Under</button><div class=lid>Lid</div>""",
    "/long": "".join(f"<p>Line {number}</p><a href=/other>Link {number}</a>" for number in range(100)),
    "/files": "<input type=file aria-label=File><a href=/download>Get</a>",
    "/editable": "<div contenteditable=true>old</div>",
    "/outside": "<img src='http://127.0.0.1:1/x.png' onerror=\"out.textContent = 'refused'\"><p id=out></p>",
    "/endless": "<p id=out>0</p><script>setInterval(() => out.textContent = +out.textContent + 1, 5)</script>",
}


@Request.application
def site(request):
    if request.path == "/slow":
        return Response("fetched")
    if request.path == "/empty":
        return Response(status=204)
    if request.path == "/moved":
        return Response(status=303, headers={"Location": "/empty"})
    if request.path == "/download":
        return Response("x", headers={"Content-Disposition": "attachment; filename=x.txt"})
    if request.path in PAGES:
        return Response(f"<!doctype html><html lang=en><title>T</title><body>{PAGES[request.path]}", content_type="text/html")
    return Response("none", status=404)


def make_browser(**options):
    return ChromiumBrowser(Network({"app.test": site}), **options)


def seen(browser):
    return observe(browser.page(), elements="label", header=False).text


def press(browser, label):
    browser.click(observe(browser.page(), elements="label").element(label))
