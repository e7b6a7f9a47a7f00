"""Two small sites that the browser tests visit: fixed pages, an echo of every request, redirects and cookies."""

import json

from werkzeug.wrappers import Request, Response

from webarena_gym.pages.page import Network

HOME = "http://site.test/"
OTHER = "http://other.site.test/"

PAGES = {
    "/": """<!DOCTYPE html><html><head><title> The
        site </title></head><body>
        <a id="relative" href="sub/page?x=1">Relative</a> <a id="nested" href="/plain"><b id="inner">Bold</b></a>
        <a id="fragment" href="#below">Below</a> <a id="top" href="#">Top</a> <a id="same" href="/">Home</a>
        <a id="mail" href="mailto:a@b.test">Mail</a> <a id="script" href="javascript:void(0)">Script</a>
        <a id="blank" href="/plain" target="_blank">New tab</a> <a id="self" href="/plain" target="_self">Same tab</a>
        <a id="other" href="http://other.site.test/echo">Other</a> <a id="gone" href="http://nowhere.test/x">Gone</a>
        <a id="silent" href="/echo" rel="noreferrer">Silent</a> <a id="echo" href="/echo?q=a b&amp;r=%C3%A9#end">Echo</a>
        <a id="file" href="/echo" download>File</a> <span id="text">Text</span> <input id="note" name="note">
        <details id="more"><summary id="summary">More</summary><a id="inside" href="/plain">Inside</a></details>
        <details id="full" open><summary>Full</summary><p>Shown</p></details>
        <p hidden><a id="hidden" href="/plain">Hidden</a></p><p style="display: none"><a id="unseen" href="/plain">Unseen</a></p>
        </body></html>""",
    "/sub/page": "<title>Sub</title><a id=up href='../plain'>Up</a><a id=here href='?y=2'>Here</a>",
    "/plain": "<title>Plain</title><p>Plain",
    "/based": "<base href='/sub/' target='_blank'><title>Based</title><a id=link href='page'>Page</a><a id=frag href='#x'>F</a>",
    "/form": """<title>Form</title><form id="main" action="/echo" method="post">
        <label for="name">Name</label><input id="name" name="name" value="Ann" maxlength="10">
        <label id="wrap">Colour <input id="colour" name="colour"></label>
        <input type="hidden" id="token" name="token" value="t&amp;1">
        <textarea id="story" name="story">
first
second</textarea>
        <input type="checkbox" id="news" name="news"><label id="news-label" for="news">News</label>
        <input type="checkbox" id="terms" name="terms" value="yes" checked>
        <input type="radio" id="red" name="paint" value="red" checked><input type="radio" id="blue" name="paint" value="blue">
        <select id="size" name="size"><option disabled>Choose</option><option value="s">Small</option>
          <optgroup label="Big"><option value="l">Large</option><option value="xl">  Extra
            large</option></optgroup>
          <optgroup label="Sold out" disabled><option>Giant</option></optgroup></select>
        <select id="tags" name="tags" multiple><option selected>one</option><option id="two">two</option><option>three</option>
        </select>
        <input type="number" id="count" name="count" min="1" max="9" value="2"><input type="date" id="day" name="day">
        <input id="off" name="off" value="off" disabled><input id="fixed" name="fixed" value="fixed" readonly>
        <fieldset disabled><legend><input id="legend" name="legend" value="on"></legend><input id="inset" name="inset"></fieldset>
        <input type="submit" id="send" name="do" value="send"><button id="save" name="do" value="save"><i id="icon">Save</i></button>
        <button id="get" formmethod="get" formaction="/echo?dropped=1">Get</button>
        <button id="tab" formtarget="_blank">In a new tab</button>
        <button id="multi" formenctype="multipart/form-data">Multipart</button>
        <input type="image" id="image" name="point" alt="Map"><button type="button" id="nothing">Nothing</button>
        <button type="reset" id="reset">Reset</button><button id="dead" disabled>Dead</button></form>
        <input id="outside" name="outside" value="o" form="main"><button id="loose">Loose</button>
        <input type="radio" id="alone" name="paint" value="none" checked>""",
    "/implicit": """<title>Implicit</title>
        <form id="one" action="/echo"><input id="a" name="a"><input type="checkbox" name="c" checked></form>
        <form id="many" action="/echo"><input id="b" name="b"><input name="bb"></form>
        <form id="blocked" action="/echo"><input id="d" name="d"><button disabled>No</button><button>Yes</button></form>
        <form id="first" action="/echo"><input id="e" name="e"><button type="button">X</button><button name="v" value="1">1</button>
        <button name="v" value="2">2</button><a id="link" href="/plain">L</a><textarea id="area" name="t"></textarea></form>
        <form id="here"><input id="f" name="f"></form>""",
    "/keys": """<title>Keys</title><form><label>List <select id="list"><option id="apple">Apple<option id="banana">Banana
        <option disabled>Blue<option id="cherry" selected>Cherry<option id="berry">berry<optgroup label="Out" disabled><option>Bad
        </optgroup><option id="boat">Boat</select></label>
        <input type="radio" name="r" id="one"><input type="radio" name="r" id="two" checked>
        <input type="radio" name="r" id="three" disabled><input type="radio" name="r" id="four">
        <details id="details"><summary id="summary">More</summary>text</details>
        <input name="a"><input name="b"></form>""",
    "/strict": """<title>Strict</title><form action="/echo"><label>Full name <input id="full" name="full" required></label>
        <input type="email" id="mail" name="mail" placeholder="E-mail">
        <input type="number" id="number" name="number" min="1" max="5" step="0.5" aria-label="Amount">
        <input id="code" name="code" pattern="[A-Z]{3}" title="three capitals"> <input type="checkbox" id="ok" name="ok" required>
        <button id="go">Go</button><button id="skip" formnovalidate>Skip</button></form>""",
    "/moved": "<title>Moved</title><form method=post><input name=a value=1>"
    + "".join(
        f"<button id=by-{status} formaction=/redirect/{status}>{status}</button>" for status in (301, 302, 303, 307, 308)
    ),
    "/odd": """<!-- first --><p>A<p>B<div @click="x" x<y="1" a:b='"'>C</div><?pi data?><textarea id=raw>

&lt;two lines</textarea>
        <select id=none></select><select id=last><option selected>1<option id=third selected>2</select>
        <input type=radio name=r checked><input type=radio name=r id=r2 checked><input id=auto autofocus value="a&#10;b\x01c">""",
}


@Request.application
def site(request: Request) -> Response:
    path = request.path
    if path in PAGES:
        return Response(PAGES[path], content_type="text/html; charset=utf-8")
    if path == "/echo":
        return Response(json.dumps(_echo(request)), content_type="application/json")
    if path.startswith("/redirect/"):
        return Response(status=int(path.rsplit("/", 1)[1]), headers={"Location": request.args.get("to", "/echo")})
    if path == "/loop":
        return Response(status=302, headers={"Location": "/loop"})
    if path.startswith("/cookies"):
        lines = [("Set-Cookie", line) for line in request.args.getlist("set")]
        return Response("set", headers=lines, content_type="text/plain")
    if path == "/empty":
        return Response(b"", content_type="text/html")
    if path == "/nothing":
        return Response(status=204)
    if path == "/raw":
        return Response(request.args["body"].encode("latin-1"), content_type=request.args.get("type", ""))
    return Response("<title>Not found</title>", status=404, content_type="text/html")


def _echo(request: Request) -> dict[str, object]:
    return {
        "method": request.method,
        "host": request.host,
        "query": list(request.args.items(multi=True)),
        "form": list(request.form.items(multi=True)),
        "files": [[name, file.filename] for name, file in request.files.items(multi=True)],
        "type": request.mimetype,
        "referrer": request.headers.get("Referer"),
        "cookie": request.headers.get("Cookie"),
    }


def make_network() -> Network:
    return Network({"site.test": site, "other.site.test": site})
