"""One page for each kind of control that applications have, as an application: `python control_pages.py PORT`.

A case is a kind, a variant, the body of a page, steps with "{v}" for a value, what stands behind "Out:" or is told after them, the values,
and whether HTML alone does it. `>` parts an element from its text. "Choose" clicks and picks a file; "Dialog" answers one; "Get" downloads.
"""

import base64
import hashlib
import struct
import sys
import time
from email import policy
from email.parser import BytesParser
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

FILES = {"a.csv": b"id,name\n1,Tea\n", "photo.png": b"\x89PNG\r\n\x1a\n\0\1\2", "two words.txt": b"hello"}
TEXTS = ["Ann", "two words", "Ümlaut & <b>"]
OUT = "<p>Out: <span id=out>none</span></p>"
SAY = "<script>function say(text) { document.getElementById('out').textContent = text }</script>"
POST = "<form method=post action=/echo>"
MULTI = "<form method=post action=/echo enctype=multipart/form-data>"


class Case(NamedTuple):
    kind: str
    variant: str
    body: str
    steps: str
    out: str
    values: tuple = ("",)
    is_html: bool = False
    how: str = "needs scripts"  # how the in-process browser tells what it lacks


def menu(css, shown, opener="<button id=b onclick=\"m.classList.toggle('on')\">Menu</button>"):
    return f"<style>#m {{{css}}} #m.on {{{shown}}}</style>{opener}<div id=m><a href=/echo?to=Profile>Profile</a> <button onclick=\"say('Settings')\">Settings</button></div>"


def case(kind, variant, body, steps, out, values=("",), html=False, how="needs scripts"):
    return Case(kind, variant, body, steps, out, tuple(values), html, how)


def shadow(inner, mode="open"):
    return f"<x-box></x-box><script>const root = document.querySelector('x-box').attachShadow({{mode: '{mode}'}}); root.innerHTML = `{inner}`;"


CALENDAR = """<label>Day <input id=d readonly onclick="c.hidden = false"></label><table id=c hidden><tr></tr></table><script>
    for (let day = 1; day < 29; day++) { const cell = c.rows[0].insertCell(); cell.textContent = day; cell.className = 'day';
    cell.onclick = () => { d.value = `2023-02-${String(day).padStart(2, '0')}`; c.hidden = true; say(d.value) } }</script>"""
LISTBOX = """<div id=box role=combobox tabindex=0 aria-label=Colour aria-expanded=false>None</div><ul id=list role=listbox hidden>
    <li role=option>Red<li role=option>Green<li role=option>Dark blue</ul><script>
    box.EVENT = () => { list.hidden = !list.hidden; box.setAttribute('aria-expanded', !list.hidden) };
    for (const each of list.children) each.EVENT = () => { box.textContent = each.textContent.trim(); list.hidden = true; say(box.textContent) }</script>"""
SCROLLED = """<style>#o {position: fixed; inset: 0; background: teal} #b {height: 100px; overflow: auto} #f {height: 300px; background: white} #l {height: 100px; overflow: auto}</style>
    <div id=l><p style="height: 120px"></p><button>Other</button></div><div id=o><div id=b><p style="height: 130px"></p><label>Name <input name=n></label></div>
    <div id=f><button onclick="say(document.querySelector('input').value); o.remove()">Save</button></div></div>"""
FILTER = """<input id=q aria-label=City placeholder=City autocomplete=off><ul id=list></ul><script>
    q.oninput = () => { list.innerHTML = ''; for (const city of ['Oslo', 'Oulu', 'Rome', 'Riga']) if (q.value && city.toLowerCase().startsWith(q.value.toLowerCase())) {
    const item = document.createElement('li'); item.textContent = city; item.onmousedown = () => { q.value = city; list.innerHTML = ''; say(city) }; list.append(item) } }</script>"""
SORTABLE = """<ul id=list><li draggable=true>One<li draggable=true>Two<li draggable=true>Three</ul><script>let held;
    for (const each of list.children) { each.ondragstart = () => { held = each }; each.ondragover = (event) => event.preventDefault();
    each.ondrop = () => { each.before(held); say([...list.children].map((one) => one.textContent.trim()).join(' ')) } }</script>"""
BASKET = """<p id=a>Apple</p><p id=p>Pear</p><div id=b tabindex=0 style="height: 80px">Basket</div><script>let held = null;
    for (const each of [a, p]) { each.style.userSelect = 'none'; each.onDOWN = (event) => { held = each; event.preventDefault() } }
    document.onUP = (event) => { if (held && document.elementsFromPoint(event.clientX, event.clientY).includes(b)) say(held.textContent); held = null }</script>"""
DROP = """<p id=a draggable=true>Apple</p><p id=p draggable=true>Pear</p><div id=b tabindex=0 style="height: 80px">Basket</div><script>
    for (const each of [a, p]) each.ondragstart = (event) => event.dataTransfer.setData('text/plain', each.textContent);
    b.ondragover = (event) => event.preventDefault(); b.ondrop = (event) => { event.preventDefault(); say(event.dataTransfer.getData('text/plain')) }</script>"""
FEED = """<div id=feed></div><p id=mark>.</p><script>let count = 0; const more = () => { for (let i = 0; i < 40 && count < 120; i++)
    feed.insertAdjacentHTML('beforeend', `<p style="height: 30px"><button onclick="say('${++count}')">Item ${count}</button></p>`) }; more(); HOW</script>"""
RICH = """<div><button type=button onmousedown="event.preventDefault()" onclick="document.execCommand('bold'); show()">Bold</button></div>
    <div id=e contenteditable role=textbox aria-label=Story style="min-height: 3em">TEXT</div>
    <script>const show = () => say(e.innerHTML.includes('<b>') ? 'bold ' + e.innerText : e.innerText); e.oninput = show</script>"""
BOX = """<div style='height: 90px; background: teal'>Head</div><div style='height: 300px; overflow-y: auto'>
<div id=b style='position: relative; height: 2000px'></div></div><div style='height: 90px; background: teal'>Foot</div><script>
for (const [name, top] of Object.entries({First: 0, Next: 330, Near: 1650, Last: 1975}))
    b.insertAdjacentHTML('beforeend', `<button style='position: absolute; top: ${top}px' onclick='say(this.textContent)'>${name}</button>`)</script>"""
LONG_DIALOG = """<style>.o {position: fixed; inset: 0; overflow: auto} .o div {background: white; margin: 5em; height: 1500px}</style>
    <button>First</button><p style="height: 2000px"></p><button>Far</button><div class=o style="background: #0008"></div>
    <div class=o><div><label>Name <input name=n></label><p style="height: 1300px"></p>
    <button onclick="say(document.querySelector('input').value)">Save</button></div></div>"""
CUT_MENU = """<style>#o {position: fixed; inset: 0; background: teal} #b {height: 90px; overflow: auto} #f {height: 300px; background: white}
    #m {position: absolute; width: 9em; max-height: 250px; overflow: auto; background: white} #m div {height: 30px; cursor: pointer}</style>
    <div id=o><div id=b><div style="position: relative"><button onclick="m.hidden = false">Colour</button><div id=m hidden></div></div></div><div id=f>Foot</div></div>
    <script>for (let count = 1; count < 13; count++) m.insertAdjacentHTML('beforeend', `<div>Shade ${count}</div>`);
    for (const shade of m.children) shade.onclick = () => say(shade.textContent)</script>"""
REVERSED = """<div style="overflow: auto; STYLE">BUTTONS</div>""".replace(
    "BUTTONS",
    " ".join(f'<button style="flex: none" onclick="say(this.textContent)">Button {number}</button>' for number in range(1, 9)),
)
MODAL = """<style>#o {position: fixed; inset: 0; background: #0008} #o div {background: white; margin: 5em; padding: 2em}</style>
    <button onclick="say('saved')">Save</button><div id=o><div role=dialog><p>We use cookies</p><button onclick="o.remove()">Accept</button></div></div>"""
HOVERS = {
    "by display": "#u ul {display: none} #u:hover ul {display: block}",
    "by visibility": "#u ul {visibility: hidden} #u:hover > ul {visibility: visible}",
    "faded": "#u ul {opacity: 0; pointer-events: none} #u:hover ul {opacity: 1; pointer-events: auto}",
    "clipped": "#u ul {max-height: 0; overflow: hidden; margin: 0} #u:hover ul {max-height: 300px}",
    "for a screen": "@media screen {#u ul {display: none} #u:hover ul, #u:focus-within ul {display: block}}",
}
HOVER_MENU = "<style>#u {display: inline-block; list-style: none} CSS</style><ul><li id=u><span>Products</span><ul><li><a href=/echo?to=Hats>Hats</a><li><a href=/echo?to=Caps>Caps</a></ul></ul>"
OPENED = {
    "display": ("display: none", "display: block"),
    "visibility": ("visibility: hidden", "visibility: visible"),
    "opacity": ("opacity: 0; pointer-events: none", "opacity: 1; pointer-events: auto"),
    "no height": ("max-height: 0; overflow: hidden", "max-height: 10em"),
    "off the canvas": ("position: fixed; left: -300px; width: 200px", "left: 50px"),
    "moved away": ("position: fixed; right: 0; transform: translateX(110%)", "transform: none"),
    "of no scale": ("transform: scale(0)", "transform: none"),
    "clip path": ("clip-path: inset(50%); pointer-events: none", "clip-path: none; pointer-events: auto"),
}  # fmt: skip
ICON = "<button onclick=\"say('gone')\" ATTRS>INNER</button>"
NATIVE = {"date": ["2023-02-03", "1999-12-31"], "time": ["15:07", "00:00"], "month": ["2023-02"], "week": ["2023-W10"],
          "datetime-local": ["2023-02-03T15:07"], "color": ["#ff8800"], "range": ["20", "80"], "number": ["12", "-3"]}  # fmt: skip
EDITABLE = {
    "a plain one": "<div id=e contenteditable aria-label=Story>old text</div>",
    "named by nothing but its text": "<div id=e contenteditable>Story</div>",
    "with a link and a list in it": "<div id=e contenteditable aria-label=Story>old <a href=/x>link</a><ul><li>item</ul></div>",
    "plain text only": "<div id=e contenteditable=plaintext-only aria-label=Story>old</div>",
    "of paragraphs": "<div id=e contenteditable role=textbox aria-multiline=true aria-label=Story><p>old</p><p>text</p></div>",
    "an empty one": "<div id=e contenteditable aria-label=Story style='min-height: 2em'></div>",
    "with a placeholder": "<div id=e contenteditable data-placeholder=Story aria-placeholder=Story style='min-height: 2em'></div>",
    "beside its label": "<span id=s>Story</span><div id=e contenteditable aria-labelledby=s><p>old</p></div>",
}

CASES = [
    case("upload", "a field", MULTI + "<label>File <input type=file name=f></label><button>Send</button></form>", "Upload File > {v}; Click Send", "f={v}", FILES, html=True),
    case("upload", "a field that is required", MULTI + "<label>File <input type=file name=f required></label><button>Send</button></form>", "Upload File > {v}; Click Send", "f={v}", FILES, html=True),
    case("upload", "several files", MULTI + "<label>File <input type=file name=f multiple></label><button>Send</button></form>", "Upload File > a.csv; Upload File > {v}; Click Send", "f=a.csv f={v}", ["photo.png", "two words.txt"], html=True),
    case("upload", "hidden behind its label", MULTI + "<input type=file hidden id=f name=f><label for=f>Pick it</label><button>Send</button></form>", "Upload Pick it > {v}; Click Send", "f={v}", FILES, html=True),
    case("upload", "unseen, and far wider than its button", "<div style='position: absolute; top: 0; left: 0; height: 400px; width: 200px; background: teal'>Menu</div><div style='position: relative; overflow: hidden; margin-left: 600px; width: 280px'><button>Pick a file</button><input type=file aria-label=File style='position: absolute; top: 0; right: 0; width: 1473px; font-size: 68px; opacity: 0' onchange='say(files[0].name)'></div>", "Upload File > {v}", "{v}", FILES),
    case("upload", "a button that opens the chooser", "<button onclick='f.click()'>Attach</button><input id=f type=file style='display: none' onchange='say(f.files[0].name)'>", "Choose Attach > {v}", "{v}", FILES),
    case("upload", "what is read by a script", "<label>File <input type=file id=f onchange=\"f.files[0].text().then(say)\"></label>", "Upload File > {v}", "hello", ["two words.txt"]),
    case("upload", "a zone to drop or click", "<div id=z style='height: 60px'>Drop files here</div><input id=f type=file hidden><script>z.onclick = () => f.click(); f.onchange = () => say(f.files[0].size)</script>", "Choose Drop files here > {v}", "5", ["two words.txt"]),
    case("download", "an attachment", "<a href=/file/{v}>Fetch</a>", "Get Fetch", "Downloaded {v}", ["report.csv", "data.bin"], html=True),
    case("download", "a link that says so", "<a href=/page/x download='{v}'>Fetch</a>", "Get Fetch", "Downloaded {v}", ["mine.html"], html=True),
    case("download", "a form", "<form action=/file/report.csv><button>Fetch</button></form>", "Get Fetch", "Downloaded report.csv", html=True),
    case("download", "made by a script", "<button onclick=\"const a = document.createElement('a'); a.href = window.URL.createObjectURL(new Blob(['x,y'])); a.download = '{v}'; a.click()\">Export</button>", "Get Export", "Downloaded {v}", ["made.csv", "two words.csv"]),
    case("download", "sent back", MULTI + "<a href=/file/report.csv>Fetch</a> <label>File <input type=file name=f></label><button>Send</button></form>", "Get Fetch; Upload File > report.csv; Click Send", "f=report.csv", html=True),
    case("dialog", "alert", "<button onclick=\"alert('Hello'); say('after')\">Go</button>", "Dialog OK; Click Go", "after"),
    case("dialog", "confirm", "<button onclick=\"say(confirm('Sure?'))\">Go</button>", "Dialog {v}; Click Go", "{v}", ["OK", "Cancel"]),
    case("dialog", "confirm by keys", "<button onclick=\"say(confirm('Sure?'))\">Go</button>", "Dialog {v}; Click Go", "{v}", ["Enter", "Escape"]),
    case("dialog", "prompt", "<button onclick=\"say(prompt('Name?', 'Bob') ?? 'nobody')\">Go</button>", "Dialog = {v}; Click Go", "{v}", TEXTS),
    case("dialog", "prompt as it is", "<button onclick=\"say(prompt('Name?', 'Bob') ?? 'nobody')\">Go</button>", "Dialog {v}; Click Go", "{v}", ["OK", "Cancel"]),
    case("dialog", "two after each other", "<button onclick=\"say(`${confirm('One?')} ${confirm('Two?')}`)\">Go</button>", "Dialog {v}; Dialog OK; Click Go", "{v} true", ["OK", "Cancel"]),
    case("dialog", "before a form is sent", "<form method=post action=/echo onsubmit=\"return confirm('Send?')\"><input name=n value=1 aria-label=N><button>Send</button></form>" + SAY, "Dialog {v}; Click Send", "{v}", ["OK", "Cancel"]),
    case("dialog", "after a moment", "<button onclick=\"setTimeout(() => say(confirm('Late?')), 1500)\">Go</button>", "Dialog {v}; Click Go; Wait", "{v}", ["OK", "Cancel"]),
    case("dialog", "of the page's own", "<button onclick='d.showModal()'>Go</button><dialog id=d><p>Sure?</p><form method=dialog><button onclick=\"say('yes')\">Yes</button><button onclick=\"say('no')\">No</button></form></dialog>", "Click Go; Click {v}", "{v}", ["Yes", "No"]),
    case("frame", "written into the page", "<iframe srcdoc=\"<button onclick=&quot;parent.say('pressed')&quot;>Press</button>\"></iframe>", "Click Press", "pressed"),
    case("frame", "a form in it", "<iframe src='/frame'></iframe>", "Type Inner > {v}; Click Send", "n={v}", TEXTS),
    case("frame", "a frame in a frame", "<iframe src='/around' width=600 height=300></iframe>", "Type Inner > {v}; Click Send", "n={v}", TEXTS[:2]),
    case("frame", "in a sandbox", "<iframe sandbox='allow-scripts allow-forms' src='/frame'></iframe>", "Type Inner > {v}; Click Send", "n={v}", TEXTS[:1]),
    case("frame", "written by a script", "<div id=h></div><script>const f = document.createElement('iframe'); h.append(f); f.contentDocument.body.innerHTML = '<button>Press</button>'; f.contentDocument.querySelector('button').onclick = () => say('pressed')</script>", "Click Press", "pressed"),
    case("frame", "an editor in it", "<iframe id=f srcdoc='<body contenteditable aria-label=Story><p>old</p></body>'></iframe><button onclick='say(f.contentDocument.body.innerText)'>Show</button>", "Type Story > {v}; Click Show", "{v}", TEXTS),
    *(case("contenteditable", name, body + "<button onclick='say(e.innerText.trim())'>Show</button>", "Type Story > {v}; Click Show", "{v}", TEXTS) for name, body in EDITABLE.items()),
    case("contenteditable", "two lines", EDITABLE["a plain one"] + "<button onclick=\"say(e.innerText.trim().split('\\n').filter(Boolean).join('|'))\">Show</button>", "Type Story > one\ntwo; Click Show", "one|two"),
    case("contenteditable", "that a form sends", "<form method=post action=/echo onsubmit='h.value = e.innerText.trim()'><input type=hidden id=h name=h><div id=e contenteditable aria-label=Story>old</div><button>Send</button></form>", "Type Story > {v}; Click Send", "h={v}", TEXTS),
    case("rich editor", "written into", RICH.replace("TEXT", "old"), "Type Story > {v}", "{v}", TEXTS),
    case("rich editor", "a button of its bar", RICH.replace("TEXT", "old"), "Type Story > {v}; Press Story > Control+A; Click Bold", "bold {v}", TEXTS),
    case("rich editor", "in place of a text area", POST + "<textarea id=t name=t aria-label=Hidden style='display: none'></textarea><div id=e contenteditable aria-label=Story></div><button>Send</button></form><script>e.oninput = () => { t.value = e.innerText }</script>", "Type Story > {v}; Click Send", "t={v}", TEXTS),
    case("rich editor", "that listens to keys alone", "<div id=e tabindex=0 role=textbox aria-label=Story style='min-height: 2em'></div><script>e.onkeydown = (event) => { if (event.key.length === 1) { e.textContent += event.key; say(e.textContent) } }</script>", "Type Story > {v}", "{v}", TEXTS[:2]),
    case("rich editor", "a text area beneath", "<style>#t {position: absolute; opacity: 0; width: 2px; height: 1em}</style><div id=e onmousedown='setTimeout(() => t.focus())' style='min-height: 3em; cursor: text'>Write here<textarea id=t aria-label=Story></textarea></div><script>t.oninput = () => say(t.value)</script>", "Type Story > {v}", "{v}", TEXTS),
    *(case("drop-down", f"a list on {event}", LISTBOX.replace("EVENT", event), "Click Colour; Click {v}", "{v}", ["Red", "Dark blue"]) for event in ("onclick", "onmousedown", "onpointerup")),
    case("drop-down", "that filters", FILTER, "Type City > {w}; Click {v}", "{v}", ["Oslo", "Rome", "Riga"]),
    case("drop-down", "by keys", LISTBOX.replace("EVENT", "onclick") + "<script>let at = -1; box.onkeydown = ({key}) => { if (key === 'ArrowDown') at++; if (key === 'Enter') list.children[at].click() }</script>", "Click Colour; Press Colour > ArrowDown; Press Colour > ArrowDown; Press Colour > Enter", "Green"),
    case("drop-down", "at the end of the page", "<button id=b aria-haspopup=listbox>Size</button><p>Between</p><script>b.onclick = () => { document.body.insertAdjacentHTML('beforeend', \"<div id=l style='position: absolute; top: 60px'><div role=option onclick='say(this.textContent); l.remove()'>Small</div><div role=option onclick='say(this.textContent); l.remove()'>Large</div></div>\") }</script>", "Click Size; Click {v}", "{v}", ["Small", "Large"]),
    case("drop-down", "a native one", POST + "<label>Size <select name=s><option>Small<option>Large<option>Extra large</select></label><button>Send</button></form>", "Select Size > {v}; Click Send", "s={v}", ["Large", "Extra large"], html=True),
    case("drop-down", "a native one that a script hears", "<label>Size <select onchange='say(this.value)'><option>Small<option>Large<option>Extra large</select></label>", "Select Size > {v}", "{v}", ["Large", "Extra large"]),
    case("drop-down", "several of a native one", POST + "<select multiple name=s aria-label=Size><option>S<option>M<option>L</select><button>Send</button></form>", "Select Size > S; Select Size > {v}; Click Send", "s=S s={v}", ["M", "L"], html=True),
    case("drop-down", "a text with suggestions", POST + "<label>Size <input name=s list=l></label><datalist id=l><option>Small<option>Large</datalist><button>Send</button></form>", "Type Size > {v}; Click Send", "s={v}", ["Small", "Huge"], html=True),
    *(case("date picker", f"a field of the kind {kind}", POST + f"<label>When <input type={kind} name=d></label><button>Send</button></form>", "Type When > {v}; Click Send", "d={v}", values, html=True) for kind, values in NATIVE.items()),
    *(case("date picker", f"a field of the kind {kind} that a script hears", f"<label>When <input type={kind} onchange='say(this.value)'></label>", "Type When > {v}; Press When > Tab", "{v}", values) for kind, values in NATIVE.items()),
    case("date picker", "a calendar", CALENDAR, "Click Day; Click {v}", "2023-02-{v}", ["14", "27"]),
    case("date picker", "a mask", "<label>Day <input id=d oninput=\"d.value = d.value.replace(/[^0-9]/g, '').replace(/^(....)(..)(..).*/, '$1-$2-$3'); say(d.value)\"></label>", "Type Day > {v}", "2023-02-03", ["20230203"]),
    case("drag", "the browser's own", DROP, "Drag {v} > Basket", "{v}", ["Apple", "Pear"]),
    case("drag", "of the mouse", BASKET.replace("DOWN", "mousedown").replace("UP", "mouseup"), "Drag {v} > Basket", "{v}", ["Apple", "Pear"]),
    case("drag", "of the pointer", BASKET.replace("DOWN", "pointerdown").replace("UP", "pointerup"), "Drag {v} > Basket", "{v}", ["Apple", "Pear"]),
    case("drag", "a list that is sorted", SORTABLE, "Drag Three > {v}", "{v}", ["One", "Two"]),
    case("toast", "that stays for some seconds", "<button onclick=\"document.body.insertAdjacentHTML('beforeend', '<div role=status id=t>Saved <button>Undo</button></div>'); t.lastChild.onclick = () => { t.remove(); say('undone') }; setTimeout(() => globalThis.t?.remove(), 20000)\">Save</button>", "Click Save; Click Undo", "undone"),
    case("toast", "that comes late", "<button onclick=\"setTimeout(() => { t.hidden = false }, 400)\">Save</button><div id=t hidden><button onclick=\"say('seen')\">Details</button></div>", "Click Save; Wait; Click Details", "seen"),
    case("overlay", "that covers all", MODAL, "Unlisted Save; Click Accept; Click Save", "saved"),
    case("overlay", "a bar above what is needed", "<style>#o {position: fixed; top: 0; left: 0; right: 0; height: 200px; background: teal}</style><div id=o><button onclick='o.remove()'>Close</button></div><button onclick=\"say('saved')\">Save</button>", "Unlisted Save; Click Close; Click Save", "saved"),
    case("overlay", "that Escape closes", MODAL + "<script>document.onkeydown = ({key}) => { if (key === 'Escape') o.remove() }</script>", "Press > Escape; Click Save", "saved"),
    case("overlay", "a bar below, from under which it scrolls", "<style>#o {position: fixed; bottom: 0; left: 0; right: 0; height: 120px; background: teal}</style><div style='height: calc(100vh - 60px)'></div><label>Name <input name=n></label> <button onclick='say(document.querySelector(`input`).value)'>Save</button><div id=o>Unsaved</div><p style='height: 400px'></p>", "Type Name > {v}; Click Save", "{v}", TEXTS),
    case("overlay", "a dialog whose fields scroll above its buttons", SCROLLED, "Unlisted Other; Type Name > {v}; Click Save", "{v}", TEXTS),
    case("overlay", "a dialog above a long page", LONG_DIALOG, "Unlisted First; Unlisted Far; Type Name > {v}; Click Save", "{v}", TEXTS),
    case("overlay", "a menu that the scrolled part of a dialog cuts", CUT_MENU, "Click Colour; Click Shade {v}", "Shade {v}", ["1", "7", "12"]),
    case("overlay", "a box that begins at the bottom", REVERSED.replace("STYLE", "display: flex; flex-direction: column-reverse; height: 60px"), "Click {v}", "{v}", ["Button 1", "Button 8"]),
    case("overlay", "a box that begins at the right", REVERSED.replace("STYLE", "direction: rtl; white-space: nowrap; width: 120px"), "Click {v}", "{v}", ["Button 1", "Button 8"]),
    case("overlay", "a sticky head", "<style>#o {position: sticky; top: 0; height: 90px; background: teal}</style><div id=o>Head</div><p style='height: 2000px'></p><button onclick=\"say('saved')\">Save</button><p style='height: 900px'></p>", "Click Save", "saved"),
    case("overlay", "a head, under which a box scrolls", BOX, "Click Last; Click {v}", "{v}", ["First", "Near"]),
    case("overlay", "a head, under which a clipped box was scrolled", BOX.replace("overflow-y: auto'", "overflow: hidden' onclick='this.scrollTop = 1500'"), "Click First; Click {v}", "{v}", ["First", "Near"]),
    case("overlay", "a foot, from under which a box scrolls", BOX, "Click Next", "Next"),
    *(case("hover menu", name, HOVER_MENU.replace("CSS", css), "Unlisted Hats; Hover Products; Click {v}", "to={v}", ["Hats", "Caps"], how="") for name, css in HOVERS.items()),
    case("hover menu", "of a script", "<style>#u {width: 9em}</style><div id=u>Products<p id=m hidden><a href='/echo?to=Hats'>Hats</a> <a href='/echo?to=Caps'>Caps</a></p></div><script>u.addEventListener('mouseenter', () => { m.hidden = false }); u.addEventListener('mouseleave', () => { m.hidden = true })</script>", "Hover Products; Click {v}", "to={v}", ["Hats", "Caps"], how=""),
    case("hover menu", "a menu in a menu", "<style>li ul {display: none} li:hover > ul {display: block} li {width: 9em}</style><ul><li>Shop<ul><li>Clothes<ul><li><a href=/echo?to=Hats>Hats</a></ul></ul></ul>", "Hover Shop; Hover Clothes; Click Hats", "to=Hats", how=""),
    case("hover menu", "a row that shows its buttons", "<style>tr button {visibility: hidden} tr:hover button {visibility: visible}</style><table><tr><td>Tea<td><button onclick=\"say('Tea')\">Delete Tea</button><tr><td>Rope<td><button onclick=\"say('Rope')\">Delete Rope</button></table>", "Hover {v}; Click Delete {v}", "{v}", ["Tea", "Rope"]),
    case("infinite scroll", "at the end of the window", FEED.replace("HOW", "addEventListener('scroll', () => { if (innerHeight + scrollY > document.body.scrollHeight - 200) more() })"), "Scroll; Scroll; Click Item {v}", "{v}", ["3", "70", "110"]),
    case("infinite scroll", "when a mark is seen", FEED.replace("HOW", "new IntersectionObserver(([{isIntersecting}]) => isIntersecting && more()).observe(mark)"), "Scroll; Scroll; Click Item {v}", "{v}", ["3", "70", "110"]),
    case("infinite scroll", "by a button", FEED.replace("HOW", "").replace("<p id=mark>.</p>", "<button onclick='more()'>More</button>"), "Click More; Click Item {v}", "{v}", ["3", "70"]),
    case("shadow root", "a button", shadow("<button>Press</button>") + "root.querySelector('button').onclick = () => say('pressed')</script>", "Click Press", "pressed"),
    case("shadow root", "a field", shadow("<label>Name <input></label>") + "root.querySelector('input').oninput = ({target}) => say(target.value)</script>", "Type Name > {v}", "{v}", TEXTS),
    case("shadow root", "a list", shadow("<label>Size <select><option>Small<option>Large</select></label>") + "root.querySelector('select').onchange = ({target}) => say(target.value)</script>", "Select Size > Large", "Large"),
    case("shadow root", "a root in a root", shadow("<p></p>") + "const inner = root.querySelector('p').attachShadow({mode: 'open'}); inner.innerHTML = '<button>Press</button>'; inner.firstChild.onclick = () => say('pressed')</script>", "Click Press", "pressed"),
    case("shadow root", "a slot", "<x-tab><button id=b>Press</button></x-tab><script>document.querySelector('x-tab').attachShadow({mode: 'open'}).innerHTML = '<div><slot></slot></div>'; b.onclick = () => say('pressed')</script>", "Click Press", "pressed"),
    case("shadow root", "a closed one", shadow("<button>Press</button>", "closed") + "root.querySelector('button').onclick = () => say('pressed')</script>", "Click Press", "pressed"),
    case("icon", "aria-label", ICON.replace("ATTRS", "aria-label='{v}'").replace("INNER", "<svg width=9 height=9></svg>"), "Click {v}", "gone", ["Delete", "Remove item"]),
    case("icon", "title", ICON.replace("ATTRS", "title='{v}'").replace("INNER", "<i class='fa fa-trash'></i>"), "Click {v}", "gone", ["Delete", "Remove item"]),
    case("icon", "the title in a picture", ICON.replace("ATTRS", "").replace("INNER", "<svg width=9 height=9><title>{v}</title></svg>"), "Click {v}", "gone", ["Delete", "Remove item"]),
    case("icon", "a text for a picture", ICON.replace("ATTRS", "").replace("INNER", "<img alt='{v}' src='data:,' width=9 height=9>"), "Click {v}", "gone", ["Delete", "Remove item"]),
    case("icon", "the text of another", "<span id=n hidden>{v}</span>" + ICON.replace("ATTRS", "aria-labelledby=n").replace("INNER", "x"), "Click {v}", "gone", ["Delete", "Remove item"]),
    case("icon", "a div with a role", "<div role=button tabindex=0 aria-label='{v}' onclick=\"say('gone')\" style='width: 9px; height: 9px; background: red'></div>", "Click {v}", "gone", ["Delete", "Remove item"]),
    case("icon", "a link", "<a href=/echo?to=gone title='{v}'><i class=fa></i>*</a>", "Click *", "to=gone", ["Delete"], html=True),
    case("disabled", "a button", "<button disabled onclick=\"say('sent')\">Send</button>", "Refused Send", "none", how="disabled"),
    case("disabled", "in a group", "<fieldset disabled><input aria-label=Name oninput=\"say('written')\"></fieldset>", "Refused Name", "none", how="disabled"),
    case("disabled", "until something is entered", "<input aria-label=Name oninput='b.disabled = !this.value'><button id=b disabled onclick=\"say('sent')\">Send</button>", "Refused Send; Type Name > {v}; Click Send", "sent", TEXTS),
    case("disabled", "by aria", "<div role=button aria-disabled=true tabindex=0 onclick=\"this.ariaDisabled === 'true' || say('sent')\">Send</div>", "Click Send", "none"),
    *(case("closed menu", name, menu(*css), "Unlisted Profile; Click Menu; Click {v}", "{v}", ["Profile", "Settings"]) for name, css in OPENED.items()),
    case("closed menu", "details", "<details><summary>Menu</summary><a href=/echo?to=Profile>Profile</a></details>", "Unlisted Profile; Click Menu; Click Profile", "to=Profile", html=True),
    case("closed menu", "a popover", "<button popovertarget=m>Menu</button><div id=m popover><a href=/echo?to=Profile>Profile</a></div>", "Unlisted Profile; Click Menu; Click Profile", "to=Profile", how=""),
    case("context menu", "of a script", "<div id=r style='height: 50px' tabindex=0>Row</div><ul id=m hidden><li><button onclick=\"say('copied')\">Copy</button></ul><script>r.oncontextmenu = (event) => { event.preventDefault(); m.hidden = false }</script>", "RightClick Row; Click Copy", "copied"),
    case("socket", "a question and an answer", "<label>Name <input id=n></label><button onclick='socket.send(n.value)'>Send</button><script>const socket = new WebSocket(`ws://${location.host}/socket`); socket.onmessage = ({data}) => say(data)</script>", "Type Name > {v}; Click Send; Wait", "echo {v}", TEXTS),
    case("socket", "what the server says first", "<script>new WebSocket(`ws://${location.host}/socket?greet`).onmessage = ({data}) => say(data)</script>", "Wait", "welcome"),
    case("socket", "events", "<script>new EventSource('/events').onmessage = ({data}) => say(data)</script>", "Wait", "news"),
    case("script", "a form that is fetched", "<form id=f><label>Name <input name=n></label><button>Send</button></form><script>f.onsubmit = (event) => { event.preventDefault(); fetch('/plain', {method: 'POST', body: new URLSearchParams(new FormData(f))}).then((it) => it.text()).then(say) }</script>", "Type Name > {v}; Click Send", "n={v}", TEXTS,),
    case("script", "tags by Enter", "<input aria-label=Tag onkeydown=\"if (event.key === 'Enter') say(this.value)\">", "Type Tag > {v}; Press Tag > Enter", "{v}", TEXTS),
    case("script", "a shortcut", "<textarea aria-label=Text onkeydown=\"if (event.key === 'Enter' && event.ctrlKey) say(this.value)\"></textarea>", "Type Text > {v}; Press Text > Control+Enter", "{v}", TEXTS),
    case("script", "a slider", "<div role=slider tabindex=0 aria-label=Level aria-valuenow=3 style='height: 9px' onkeydown=\"if (event.key === 'ArrowRight') say(++this.ariaValueNow)\"></div>", "Press Level > ArrowRight; Press Level > ArrowRight", "5"),
    case("script", "a switch", "<div role=switch tabindex=0 aria-checked=false onclick=\"this.ariaChecked = this.ariaChecked !== 'true'; say(this.ariaChecked)\">Dark</div>", "Click Dark; Click Dark; Click Dark", "true"),
    case("script", "labels without fields", "<style>label {cursor: pointer}</style><label><i></i><span>Dark</span></label> <label><span>Wide</span></label><script>document.onclick = ({target}) => say(target.closest('label')?.lastElementChild.textContent ?? 'missed')</script>", "Click {v}", "{v}", ["Dark", "Wide"], how="the page has no interactive elements"),
    case("script", "tabs", "<button role=tab onclick='one.hidden = false; two.hidden = true'>First</button><button role=tab onclick='one.hidden = true; two.hidden = false'>Second</button><p id=one><button onclick=\"say('1')\">Do it</button></p><p id=two hidden><button onclick=\"say('2')\">Do it too</button></p>", "Unlisted Do it too; Click Second; Click Do it too", "2"),
    case("script", "stars", "<p id=s></p><script>for (let n = 1; n < 6; n++) { const star = document.createElement('span'); star.title = `${n} stars`; star.textContent = '*'; star.onclick = () => say(n); star.setAttribute('aria-label', star.title); s.append(star) }</script>", "Click {v} stars", "{v}", ["2", "5"]),
    case("script", "saved when one leaves the field", "<input aria-label=Name onblur='say(this.value)'><input aria-label=Other>", "Type Name > {v}; Click Other", "{v}", TEXTS),
    case("script", "lists that depend", "<select aria-label=Land onchange=\"o.innerHTML = '<option>-<option>' + this.value + ' City'\"><option>-<option>Peru<option>Chad</select><select aria-label=Town id=o onchange='say(this.value)'></select>", "Select Land > {v}; Select Town > {v} City", "{v} City", ["Peru", "Chad"]),
    case("script", "steps after each other", "<div id=w></div><script>const step = (n) => { w.innerHTML = n < 4 ? `<button>Next ${n}</button>` : 'end'; n < 4 ? w.firstChild.onclick = () => setTimeout(() => step(n + 1), 50) : say('done') }; step(1)</script>", "Click Next 1; Click Next 2; Click Next 3", "done"),
    case("script", "a double click", "<div tabindex=0 ondblclick=\"say('opened')\">Folder</div>", "Click Folder; Click Folder", "opened"),
    case("window", "another tab", "<a target=_blank href='/echo?to={v}'>Open</a>", "Click Open", "to={v}", ["Hats"], html=True),
    case("window", "opened by a script", "<button onclick=\"window.open('/echo?to={v}')\">Open</button>", "Click Open", "to={v}", ["Hats"]),
    case("window", "a download in another tab", "<a target=_blank href=/file/report.csv>Fetch</a>", "Get Fetch", "Downloaded report.csv", html=True),
    *(case("plain field", name, POST + f"<label>Name {field}</label><button>Send</button></form>", "Type Name > {v}; Click Send", "n={v}", TEXTS, html=True)
      for name, field in (("a line", "<input name=n>"), ("a text area", "<textarea name=n></textarea>"), ("of the kind search", "<input type=search name=n>"))),
    *(case("plain field", f"{name} that a script hears", f"<label>Name {field}</label>", "Type Name > {v}", "{v}", TEXTS)
      for name, field in (("a line", "<input oninput='say(this.value)'>"), ("a text area", "<textarea oninput='say(this.value)'></textarea>"), ("a line that is kept by a script", "<input oninput='const t = this.value; this.value = t; say(t)'>"))),
    case("tick box", "a plain one", POST + "<label><input type=checkbox name=t value=yes> Tick</label><button>Send</button></form>", "Click Tick; Click Send", "t=yes", html=True),
    case("tick box", "beneath its picture", POST + "<style>input {position: absolute; opacity: 0} label::before {content: 'x'}</style><input type=checkbox id=a name=t value=yes><label for=a>Tick</label><button>Send</button></form>", "Click Tick; Click Send", "t=yes", html=True),
    case("tick box", "a choice of one", POST + "<label><input type=radio name=r value=1> One</label><label><input type=radio name=r value=2> Two</label><button>Send</button></form>", "Click One; Click {v}; Click Send", "{v}", ["One", "Two"], html=True),
]  # fmt: skip
ALSO = {
    "OK": "true", "Cancel": "false", "Enter": "true", "Escape": "false", "Yes": "yes", "No": "no", "Settings": "Settings",
    "Profile": "to=Profile",
}  # fmt: skip


def expected(one, value):
    """Return what a case shows at its end."""
    answers = {("prompt as it is", "OK"): "Bob", ("prompt as it is", "Cancel"): "nobody", ("before a form is sent", "OK"): "n=1", ("before a form is sent", "Cancel"): "none",
            ("a list that is sorted", "One"): "Three One Two", ("a list that is sorted", "Two"): "One Three Two", ("a choice of one", "One"): "r=1", ("a choice of one", "Two"): "r=2"}  # fmt: skip
    if (one.variant, value) in answers:
        return answers[one.variant, value]
    known = ALSO.get(value, value) if one.kind in ("dialog", "closed menu") else value
    return one.out.replace("{v}", known)


def body_of(one, value):
    return one.body.replace("{v}", escape(value))


def steps_of(one, value):
    """Return verbs with their elements and texts."""
    for step in one.steps.replace("{v}", value).replace("{w}", value[:2]).split("; "):
        verb, _, rest = step.partition(" ")
        element, _, text = (" " + rest).partition(" > ")
        yield verb, element.strip(), text


RUNS = [(one, value) for one in CASES for value in one.values]


def page_of(index):
    one, value = RUNS[index]
    script = SAY if "say(" in one.body or "(say)" in one.body else ""
    return f"<!doctype html><html lang=en><title>{one.kind}</title><body>{OUT}{script}{body_of(one, value)}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/socket":
            self.talk(url.query)
        elif url.path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"data: news\n\n")
            self.wfile.flush()
            self.close_connection = True
            time.sleep(600)
        elif url.path.startswith("/page/"):
            self.answer(page_of(int(url.path[6:])) if url.path[6:].isdigit() else "x")
        elif url.path.startswith("/file/"):
            name = url.path[6:]
            content = b"\0\1" if name == "data.bin" else b"id,name\n7,Report\n"
            self.answer(content, "application/octet-stream", [("Content-Disposition", f'attachment; filename="{name}"')])
        elif url.path == "/frame":
            self.answer("<form method=post action=/echo><label>Inner <input name=n></label><button>Send</button></form>")
        elif url.path == "/around":
            self.answer("<p>Around</p><iframe src=/frame></iframe>")
        else:
            self.echo(parse_qsl(url.query))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = self.headers.get("Content-Type", "")
        if kind.startswith("multipart/"):
            upload = BytesParser(policy=policy.HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
            sent = [(part.get_param("name", header="Content-Disposition"), part) for part in upload.iter_parts()]
            pairs = [
                (name, self.held(part) if part.get_filename() is not None else part.get_content().strip())
                for name, part in sent
            ]
        else:
            pairs = parse_qsl(body.decode(), keep_blank_values=True)
        if self.path == "/plain":
            self.answer(" ".join(f"{name}={value}" for name, value in pairs), "text/plain; charset=utf-8")
        else:
            self.echo(pairs)

    @staticmethod
    def held(part):
        name, content = part.get_filename(), part.get_payload(decode=True)
        return name if content == FILES.get(name, b"id,name\n7,Report\n") else f"{name} with other content {content!r}"

    def echo(self, pairs):
        fields = " ".join(f"{name}={value}" for name, value in pairs)
        self.answer(f"<!doctype html><title>Echo</title><p>Out: <span id=out>{escape(fields)}</span></p>")

    def answer(self, content, kind="text/html; charset=utf-8", more=()):
        content = content if isinstance(content, bytes) else content.encode()
        self.send_response(200)
        for name, value in [("Content-Type", kind), ("Content-Length", str(len(content))), *more]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def talk(self, query):
        """Speak WebSocket: echo short texts."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        for name, value in (
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        if query:
            self.say_by_socket(b"welcome")
        while len(head := self.rfile.read(2)) == 2 and head[0] & 15 == 1:
            mask, size = self.rfile.read(4), head[1] & 127
            self.say_by_socket(b"echo " + bytes(byte ^ mask[place % 4] for place, byte in enumerate(self.rfile.read(size))))

    def say_by_socket(self, text):
        self.wfile.write(struct.pack("BB", 129, len(text)) + text)
        self.wfile.flush()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
