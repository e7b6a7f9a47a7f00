"""Random cases of the page fuzzer: a grammar of valid and slightly broken HTML, cookies, redirects and actions.

A case is a function of its seed.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from webarena_gym.tools.fuzz.shrinking import Case, Node, PageAction, Redirect

_DATES = ("2024-02-29", "2024-02-30", "0000-01-01", "12345-06-07", "2024-2-3", "03/04/2024")
_TIMES = ("15:07", "15:07:00", "15:07:30", "15:07:30.5", "15:07:30.1234", "24:00", "9:05")
_NUMBERS = ("5", "+5", "5.", ".5", "-0", "1e2", "1E+2", "1,234", "abc", "19.99", "500", "-7", "007", " 5 ", "1e400", "Infinity")
_VALUES = {
    "text": ("x", "a b", "a\nb", "  x  ", "é", "e\u0301", "\u05d0\u05d1", "a&b=c+d%20~*-._", "1x1", "A B", "\u0663"),
    "email": ("a@b.c", " a@b.c ", "a@b.c, d@e.f", "a@b", "a@-b.c", "a@b-.c", "é@b.c", "a@é.c", "a b@c.d", "a@b..c", "@b"),
    "url": ("http://a.b/", " http://a.b/ ", "a.b", "http://", "http:a", "mailto:x", "HTTP://A.B/ c", "http://a b/", "//a.b"),
    "number": _NUMBERS,
    "range": _NUMBERS,
    "date": _DATES,
    "month": ("2024-02", "2024-13", "2024-2", "0000-01", "12345-06"),
    "week": ("2024-W09", "2024-W53", "2020-W53", "2024-W00", "2024-9"),
    "time": _TIMES,
    "datetime-local": ("2024-03-05T15:07", "2024-03-05T15:07:00", "2024-03-05 15:07", "2024-03-05T15:07:30", "2024-03-05T24:00"),
    "color": ("#ff8800", "#FF8800", "red", "#f80", "#ff880011", "transparent", " #ff8800 ", "rgb(1,2,3)"),
}  # fmt: skip
_INPUT_TYPES = (
    *_VALUES, "text", "search", "tel", "password", "checkbox", "radio", "hidden", "file", "submit", "image", "reset", "button",
    "TEXT", "unknown", "",
)  # fmt: skip
_PATTERNS = (
    "[a-z]+", "[a-z-]+", "[\\w.-]+", "\\d{2}/\\d{2}", "\\p{L}+", "(?<y>\\d)x\\k<y>", "", "^[A-Z] [A-Z]$", "a|b", "[^\\s]+", "(", ".",
    "\\d+", "[A-Za-z0-9_\\-]+", "\\u{61}", "(?i)a", "x{1,}",
)  # fmt: skip
_NAMES = ("a", "b", "c", "a", "b", "", "_charset_", "isindex", "é", "a[]", "x y", 'q"')
_BOUNDS = ("0", "1", "5", "-3", "100", "abc", "")
_BOUNDS_OF = {
    "date": _DATES, "time": (*_TIMES, "22:00", "06:00"), "month": ("2024-01", "2023-05"), "week": ("2024-W01",),
    "datetime-local": ("2024-01-01T00:00", "2024-06-01 12:00"),
}  # fmt: skip
_STEPS = ("any", "10", "0.01", "0", "-1", "3", "abc", "60", "1")
_TEXTS = (
    "Text", "a &amp; b", "one<br>two", "a&nbsp;b", "x &lt; y &copy 2024", "  spaced   out  ", "line\nline", "caf\u00e9", "soft&shy;hyphen",
    "a&#8203;b", "&notit;", "&ampx", "1 < 2",
)  # fmt: skip
_TARGETS = ("_blank", "_self", "_parent", "_top", "win", "win", "frame", "_BLANK", "", " _blank", "_other")
_PATHS = ("/e", "e", "/e?x=1", "?y=2", "", "#part", "/e#part", "/x y/?q=a b&r=é|{}", "\\x\\y", "/a/%2e%2e/b/./c//d", "http:/x", "//other.test/e")  # fmt: skip
_FAR = ("http://other.test/e", "http://www.app.test/e", "/sub/e", "/r0", "/r0", "/r0")
_STRAY = ("</p>", "</br>", "</div>", "</form>", "</b>", "</table>", "</td>", "</a>", "<p>", "<td>", "<tr>", "<li>", "</select>", "</body>", "<image>", "<option>", "</h1>")  # fmt: skip
_WRAPPERS = ("div", "p", "b", "span", "section", "fieldset", "td", "li", "center", "h2", "i", "label", "a")
_COOKIE_ATTRIBUTES = (
    "Path=/", "Path=/sub", "Path=sub", "Path=", "Domain=app.test", "Domain=.app.test", "Domain=other.test", "Domain=test", "Domain=",
    "Max-Age=0", "Max-Age=60", "Max-Age=-1", "Max-Age=abc", "Expires=Thu, 01 Jan 1970 00:00:00 GMT", "Expires=Fri, 01 Jan 2010 00:00:00 GMT",
    "Expires=Wed, 09 Jun 2100 10:18:14 GMT", "Expires=Wednesday, 09-Jun-10 10:18:14 GMT", "Expires=never", "Expires=0", "Secure", "HttpOnly",
    "SameSite=Strict", "SameSite=Lax", "SameSite=None", "SameSite=None; Secure", "SameSite=odd", "Unknown=1", "Partitioned",
)  # fmt: skip
_COOKIE_PAIRS = ("n=1", "n=2", "m=1", "n=", "n", "=v", "n=a=b", 'n="q r"', "n = v", "n=a\tb", "n=a,b", "__Host-n=1", "__Secure-n=1", "n=é", "N=3")  # fmt: skip
_STATUSES = (301, 302, 303, 307, 308, 300, 304, 200, 201, 404, 204)
_ENCTYPES = ("multipart/form-data", "text/plain", "application/x-www-form-urlencoded", "application/json", "")
_REFRESHES = (
    "0; url=/e", "0;URL='/e'", "0, /e", "0.9; url=/e", "1; url=/e?x=1", "60; url=/e", "url=/e", "-1; url=/e", "0; url=#part",
    "0; url=//other.test/e", "0; url=/r0", "abc", "",
)  # fmt: skip
_KEYS = ("Enter", "Enter", "Enter", "Space", "Tab", "Shift+Tab", "ArrowDown", "x", "Backspace")


def make_case(seed: int) -> Case:
    """Return the case of a seed."""
    return _Maker(Random(seed)).case()


class _Maker:
    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self._count = 0
        self._acts: list[PageAction] = []  # what can be done on the page
        self._submits: list[PageAction] = []
        self._forms: list[str] = []
        self._sequences: list[tuple[PageAction, ...]] = []  # of actions that belong together

    def case(self) -> Case:
        dice = self.dice
        sections: Sequence[tuple[Callable[[], Node | str], int]] = (
            (self._form, 12), (self._table_form, 4), (self._misnested_tags, 4), (self._link, 5), (self._text, 4), (self._hiding, 5),
            (self._frame, 1), (self._loose, 2), (self._windows, 2), (self._layers, 3), (self._focusable_parts, 2), (self._nested_controls, 1),
        )  # fmt: skip
        makers, weights = zip(*sections, strict=True)
        parts: list[Node | str] = [make() for make in dice.choices(makers, weights, k=dice.choice((1, 1, 1, 2, 2, 3)))]
        head: list[Node | str] = ["<!doctype html>"] if self._is(0.9) else []
        head += ["<meta charset=utf-8>", "<title>T</title>"]
        if self._is(0.06):
            head.append(self._node("base", href=("/sub/", "http://other.test/x/", ""), target=_TARGETS))
        if self._is(0.02):
            refresh = self._node("meta", named=False, chance=1, http_equiv=("refresh", "Refresh"), content=_REFRESHES)
            (head if self._is(0.8) else parts).append(refresh)
            self._sequences.append((PageAction("wait", "", "1500"),))
        if self._is(0.1):
            parts.insert(dice.randint(0, len(parts)), dice.choice(_STRAY))
        cookies = tuple(self._cookie() for _ in range(dice.choice((1, 1, 2, 3)))) if self._is(0.15) else ()
        redirects = tuple(self._redirect(index) for index in range(dice.choice((1, 1, 2, 3))))
        page = Node("", (), (*head, *parts))
        return Case(page, self._chosen_acts(), cookies, redirects if "/r0" in str(page) else ())

    def _chosen_acts(self) -> tuple[PageAction, ...]:
        if self._sequences and self._is(0.8):
            return self.dice.choice(self._sequences)
        first = [self.dice.choice(self._acts)] if self._acts and self._is(0.6) else []
        if self._submits and (not first or self._is(0.6)):
            first.append(self.dice.choice(self._submits))
        if first and self._is(0.08):
            first.append(PageAction("back"))
        return tuple(first[:2])

    def _is(self, probability: float) -> bool:
        return self.dice.random() < probability

    def _node(
        self, tag: str, *children: "Node | str", named: bool = True, chance: float = 0.5, **attributes: Sequence[str] | None
    ) -> Node:
        """Return a node with an id, unless not `named`, and some of the attributes, each with one of its values."""
        chosen: list[tuple[str, str | None]] = [("id", self._identifier())] if named else []
        for name, values in attributes.items():
            if self._is(chance):
                chosen.append((name.rstrip("_").replace("_", "-"), None if values is None else self.dice.choice(values)))
        return Node(tag, tuple(chosen), children, "" if tag in {"input", "base", "area", "img", "meta"} else f"</{tag}>")

    def _identifier(self) -> str:
        self._count += 1
        return f"e{self._count}"

    def _address(self) -> str:
        return self.dice.choice(_FAR if self._is(0.5) else _PATHS)

    def _rare(self) -> dict[str, Any]:
        """Return attributes that any element may have, most often none."""
        if not self._is(0.12):
            return {}
        values: dict[str, Any] = {
            "hidden": ("", "until-found"), "inert": None, "tabindex": ("0", "-1", "2", "abc"), "title": ("Hint",), "autofocus": None,
            "style": ("display:none", "visibility:hidden", "display: block"), "aria_label": ("Name",), "contenteditable": ("", "false"),
            "dir": ("rtl", "auto"), "popover": None,
        }  # fmt: skip
        name = self.dice.choice(list(values))
        return {name: values[name]}

    def _field(self) -> Node:
        return self.dice.choices((self._input, self._select, self._textarea), (8, 3, 2))[0]()

    def _input(self) -> Node:
        kind = self.dice.choice(_INPUT_TYPES)
        base = kind.lower() if kind else "text"
        values = (*_VALUES.get(base, _VALUES["text"]), "") if self._is(0.9) else _VALUES["text"]
        limits: dict[str, Any] = {
            "required": None, "readonly": None, "disabled": None, "min": _BOUNDS_OF.get(base, _BOUNDS), "max": _BOUNDS_OF.get(base, _BOUNDS),
            "step": _STEPS, "minlength": ("2", "0", "-1", "x"), "maxlength": ("1", "2", "0", "-1"), "pattern": _PATTERNS, "multiple": None,
            "checked": None, "placeholder": ("P",), "dirname": ("a.dir", ""), "size": ("3", "0"), "autofocus": None, "list": ("dl",),
            "autocomplete": ("off", "on"), "form": (*self._forms, "none", ""), "alt": ("Alt",), "formaction": ("/f", "", "/r0"),
            "formmethod": ("post", "get", "dialog", "", "put"), "formenctype": _ENCTYPES, "formtarget": _TARGETS, "formnovalidate": None,
        }  # fmt: skip
        fitting = _FITTING.get(base, ("required", "minlength", "maxlength", "pattern", "dirname", "placeholder"))
        names = {self.dice.choice(fitting if self._is(0.8) else list(limits)) for _ in range(self.dice.choice((0, 0, 1, 1, 2)))}
        node = self._node("input", named=True, type=(kind,), chance=1)
        rest = self._node("input", named=False, name=_NAMES, value=values, chance=0.8)
        more = self._node("input", named=False, chance=1, **{name: limits[name] for name in sorted(names)}, **self._rare())
        node = node._replace(attributes=node.attributes + rest.attributes + more.attributes)
        identifier = str(node.attributes[0][1])
        if base in {"submit", "image"}:
            self._submits.append(PageAction("click", identifier))
        elif base in {"checkbox", "radio", "reset", "button"}:
            self._acts += [PageAction("click", identifier), PageAction("press", identifier, self.dice.choice(_KEYS))]
        elif base not in {"hidden", "file"}:
            self._acts.append(PageAction("type", identifier, self.dice.choice(values)))
            self._acts.append(PageAction("press", identifier, self.dice.choice(_KEYS)))
        return node

    def _select(self) -> Node:
        options: list[Node | str] = []
        for index in range(self.dice.choice((0, 1, 2, 2, 3))):
            text = self.dice.choice((f"Option {index}", "&nbsp;&nbsp;child", "Same", "a  b", "<b>B</b> bold", ""))
            option = self._node("option", text, named=False, chance=0.2, value=("", "v", "w "), selected=None, disabled=None, label=("L",), hidden=None)  # fmt: skip
            options.append(option._replace(end="" if self._is(0.3) else option.end))
        if self._is(0.15):
            options = [self._node("optgroup", *options, named=False, label=("G",), disabled=None)]
        if self._is(0.06):
            options.insert(0, self.dice.choice(("<input name=q value=1>", "<div>", "<button><selectedcontent></selectedcontent></button>", "<select>", "<hr>", "<p>x")))  # fmt: skip
        node = self._node("select", *options, chance=0.15, multiple=None, size=("0", "1", "3", "abc"), required=None, disabled=None, form=(*self._forms, "none"), **self._rare())  # fmt: skip
        node = node._replace(attributes=(*node.attributes, ("name", self.dice.choice(_NAMES))))
        identifier = str(node.attributes[0][1])
        self._acts += [PageAction("select", identifier, self.dice.choice(("Option 0", "Option 1", "Same", "L")))]
        self._acts.append(PageAction("press", identifier, self.dice.choice(("ArrowDown", "ArrowUp", "Enter", "o", "End"))))
        return node

    def _textarea(self) -> Node:
        text = self.dice.choice(("t", "\nfirst", "\n\nfirst", "a\r\nb", "one two three four five six", "<b>x", "", " y "))
        attributes: dict[str, Any] = {
            "wrap": ("hard", "soft"), "cols": ("10", "0", "4"), "rows": ("2",), "maxlength": ("3", "0"), "minlength": ("4",),
            "required": None, "readonly": None, "disabled": None, "dirname": ("d",), "placeholder": ("P",),
        }  # fmt: skip
        node = self._node("textarea", text, chance=0.12, **attributes, **self._rare())
        node = node._replace(attributes=(*node.attributes, ("name", self.dice.choice(_NAMES))))
        identifier = str(node.attributes[0][1])
        self._acts.append(PageAction("type", identifier, self.dice.choice(_VALUES["text"])))
        self._acts.append(PageAction("press", identifier, self.dice.choice(_KEYS)))
        return node

    def _button(self) -> Node:
        text = self.dice.choice(("Go", "<b>Go</b>", "", "Save &amp; go"))
        attributes: dict[str, Any] = {
            "type": ("submit", "submit", "submit", "button", "reset", "odd", ""), "name": _NAMES, "value": ("1", ""), "disabled": None,
            "formaction": ("/f", "", "/r0"), "formmethod": ("post", "get", "dialog", "", "put"), "formenctype": _ENCTYPES,
            "formtarget": _TARGETS, "formnovalidate": None, "form": (*self._forms, "none"),
        }  # fmt: skip
        node = self._node("button", text, chance=0.12, **attributes, **self._rare())
        action = (
            PageAction("click", str(node.attributes[0][1]))
            if self._is(0.8)
            else PageAction("press", str(node.attributes[0][1]), "Enter")
        )
        self._submits.append(action)
        return node

    def _maybe_wrap(self, node: "Node | str") -> "Node | str":
        """Return a field most often as it is, sometimes in a label, a fieldset or another element, closed or not."""
        if self._is(0.6):
            return node
        tag = self.dice.choice(("label", "label", "fieldset", "template", "noscript", "datalist", *_WRAPPERS))
        if tag == "label":
            label = self._node("label", "Label ", node)
            self._acts.append(PageAction("click", str(label.attributes[0][1])))
            return label
        if tag == "fieldset":
            legend = self._node("legend", "Legend", *([node] if self._is(0.3) else []), named=False)
            return self._node("fieldset", legend, node, named=False, chance=0.3, disabled=None)
        wrapped = self._node(tag, node, named=False)
        return wrapped._replace(end=self.dice.choice((wrapped.end, wrapped.end, "", "</div>")))

    def _form(self) -> Node:
        fields = [self._maybe_wrap(self._field()) for _ in range(self.dice.choice((1, 1, 2, 2, 3)))]
        if self._is(0.85):
            fields.append(self._button())
        form = self._form_node(*fields)
        return form._replace(end="" if self._is(0.05) else form.end)

    def _form_node(self, *children: "Node | str") -> Node:
        attributes: dict[str, Any] = {"enctype": _ENCTYPES, "target": _TARGETS, "novalidate": None, "accept_charset": ("utf-8", "iso-8859-1"), "autocomplete": ("off",)}  # fmt: skip
        form = self._node("form", *children, chance=0.1, **attributes)
        method = self._node("form", named=False, chance=0.8, method=("post", "post", "get", "dialog", "POST", "odd"))
        action = ("action", self._address())
        self._forms.append(str(form.attributes[0][1]))
        return form._replace(attributes=(*form.attributes, *method.attributes, *([action] if self._is(0.9) else [])))

    def _table_form(self) -> Node:
        """Return a form that begins or ends between the parts of a table."""
        cells: list[Node | str] = []
        for _ in range(self.dice.choice((1, 2, 2, 3))):
            cells.append(self._node("td", self._field(), named=False, chance=0.2, rowspan=("2", "0"), colspan=("2",)))
        cells.append(self._node("td", self._button(), named=False))
        row = self._node("tr", *cells, named=False)
        form = self._form_node()._replace(end="")
        rest: list[Node | str] = (
            [self._node("tr", self._node("td", self._field(), named=False), named=False)] if self._is(0.5) else []
        )
        match self.dice.randint(0, 3):
            case 0:
                parts = (form, row, *rest, "</form>")
            case 1:
                parts = (row._replace(children=(form, *row.children, "</form>")), *rest)
            case 2:
                parts = (self._node("tbody", form, row, *rest, named=False), "</form>")
            case _:
                parts = (row._replace(children=(*row.children, form)), *rest, self.dice.choice(_TEXTS), "</form>")
        return self._node("table", *parts, named=False)

    def _misnested_tags(self) -> Node:
        """Return parts whose tags are nested wrongly."""
        inner: list[Node | str] = [
            self._field(),
            self._button() if self._is(0.7) else self._link(),
            self.dice.choice(_STRAY),
            self.dice.choice(_TEXTS),
        ]
        self.dice.shuffle(inner)
        form = self._form_node(*inner)
        tag, other = self.dice.choice(_WRAPPERS), self.dice.choice(_WRAPPERS)
        match self.dice.randint(0, 4):
            case 0:
                return Node("", (), (Node(tag, (), (form._replace(end=""),), f"</{tag}>"), self._field(), self._button()))
            case 1:
                nested = self._form_node(self._field(), self._button())
                return form._replace(children=(*inner, nested, self._field()))
            case 2:
                return Node(tag, (), (Node(other, (), (form,), f"</{tag}>"), self.dice.choice(_TEXTS)), f"</{other}>")
            case 3:
                return Node("", (), (form._replace(end=f"</{tag}>"), self._field(), "</form>"))
            case _:
                return Node(
                    "table", (), (self.dice.choice(_TEXTS), form, Node("tr", (), (self._field(), "<td>x"), "")), "</table>"
                )

    def _link(self) -> Node:
        attributes: dict[str, Any] = {"target": _TARGETS, "rel": ("noreferrer", "noopener"), "download": ("f.txt",), "ping": ("/ping",), "referrerpolicy": ("no-referrer", "origin")}  # fmt: skip
        inner = self.dice.choice(("Link", "Link", "<b>Bold</b>", "<button>Button</button>", "<img alt=Pic>", ""))
        link = self._node("a", inner, chance=0.15, **attributes, **self._rare())
        identifier = str(link.attributes[0][1])
        self._submits += [
            PageAction("click", identifier),
            PageAction("click", identifier),
            PageAction("press", identifier, "Enter"),
        ]
        return link._replace(attributes=(*link.attributes, ("href", self._address())))

    def _loose(self) -> Node:
        return self.dice.choice((self._input, self._select, self._textarea, self._button))()

    def _text(self) -> Node:
        text, more = self.dice.choice(_TEXTS), self.dice.choice(_TEXTS)
        item = self._node("li", text, named=False, chance=0.3, value=("7", "x"))
        cell = self._node("td", more, named=False, chance=0.3, rowspan=("2", "0"), colspan=("2", "0"))
        match self.dice.randint(0, 6):
            case 0:
                return self._node(
                    "ol", item, "<li>" + more, named=False, start=("5", "-1", "x"), reversed=None, type=("a", "I")
                )
            case 1:
                return Node("table", (), ("<caption>C", Node("tr", (), (cell, "<th>H"), ""), f"<tr><td>{text}"), "</table>")
            case 2:
                tag = self.dice.choice(("del", "s", "ins", "sup", "sub", "q", "abbr", "mark", "ruby", "kbd", "small", "pre", "xmp", "listing"))  # fmt: skip
                return Node("p", (), ("Price ", Node(tag, (), (text,), f"</{tag}>"), f" {more}"), "</p>")
            case 3:
                return Node("dl", (), (f"<dt>{text}", f"<dd>{more}"), "</dl>")
            case 4:
                return Node(
                    "p",
                    (),
                    (text, "<meter value=.5>half</meter><progress value=3 max=10>30%</progress><output>out</output>"),
                    "</p>",
                )
            case 5:
                return Node("div", (), (f"<h2>{text}</h3>", f"<img alt='{text}'>", "<svg><title>Icon</title></svg>", "<video>v</video>", "<math><mi>x</mi></math>"), "</div>")  # fmt: skip
            case _:
                return Node("p", (), (text, f"<b><i>{more}</b>", "tail</i>", f"<p>{text}"), "")

    def _hiding(self) -> Node:
        """Return a part that can be closed, hidden or inert, and what opens it."""
        inner = self._node("p", self.dice.choice((self._link, self._field, self._button))(), named=False)
        match self.dice.randint(0, 5):
            case 0:
                summary = self._node("summary", "More")
                self._acts += [
                    PageAction("click", str(summary.attributes[0][1])),
                    PageAction("press", str(summary.attributes[0][1]), "Space"),
                ]
                return self._node("details", *([summary] if self._is(0.9) else []), inner, chance=0.3, open=None, name=("g",))
            case 1:
                close = Node("form", (("method", "dialog"),), (self._button(),), "</form>")
                return self._node("dialog", inner, close, chance=0.6, open=None)
            case 2:
                dialog = self._node("dialog", inner, named=True, chance=0.1, open=None)
                command = self.dice.choice(("show-modal", "close", "request-close", "toggle-popover"))
                return Node("", (), (self._opener(("command", command), ("commandfor", str(dialog.attributes[0][1]))), dialog))
            case 3:
                popover = self._node("div", inner, chance=1, popover=("", "auto", "manual", "hint"))
                action = self.dice.choice(("show", "hide", "toggle"))
                return Node("", (), (self._opener(("popovertarget", str(popover.attributes[0][1])), ("popovertargetaction", action)), popover))  # fmt: skip
            case 4:
                return self._node("div", inner, chance=0.5, hidden=("", "until-found", "x"), inert=None, aria_hidden=("true",))
            case _:
                area = self._node("area", chance=1, href=("/e",), coords=("0,0,9,9",), alt=("Area",))
                self._submits.append(PageAction("click", str(area.attributes[0][1])))
                return Node("", (), ("<img usemap=#m alt=Map width=20 height=20 src=/img>", Node("map", (("name", "m"),), (area,), "</map>")))  # fmt: skip

    def _windows(self) -> Node:
        """Return links and forms that open windows, often the same one."""
        names = self.dice.choices(_TARGETS, k=2) if self._is(0.4) else [self.dice.choice(("win", "_new", "w x", " _blank"))] * 2
        openers: list[Node | str] = []
        clicks = []
        for name in names:
            relation = self._node("a", named=False, chance=0.2, rel=("noopener", "opener", "noreferrer")).attributes
            attributes = (("target", name), *relation)
            control = self._node("a" if self._is(0.7) else "button", "Open")
            clicks.append(PageAction("click", str(control.attributes[0][1])))
            if control.tag == "a":
                openers.append(control._replace(attributes=(*control.attributes, ("href", self._address()), *attributes)))
            else:
                openers.append(Node("form", (("action", self._address()), *attributes), (control,), "</form>"))
        self._sequences.append((clicks[0], PageAction("tab", "", "0"), clicks[1]))
        return Node("", (), tuple(openers))

    def _layers(self) -> Node:
        """Return a popover or dialog that contains the button of a second one, and a field outside of them."""
        outer, inner = (self.dice.choice(("div", "div", "dialog")) for _ in range(2))
        first, second, field = self._identifier(), self._identifier(), self._identifier()
        openers = [self._layer_button(outer, first), self._layer_button(inner, second)]
        closers = [self._layer_button(outer, first, closes=True), self._layer_button(inner, second, closes=True)]
        layers = (
            self._layer(outer, first, "top: 40px", openers[1], closers[0], self._field()),
            self._layer(inner, second, "top: 200px", closers[1]),
        )
        identifiers = [str(button.attributes[0][1]) for button in (*openers, *closers)]
        rest = [
            PageAction("press", "", "Escape"), PageAction("press", "", "Tab"), PageAction("click", identifiers[2]),
            PageAction("click", identifiers[3]), PageAction("click", field), PageAction("click", identifiers[0]),
        ]  # fmt: skip
        opening = [PageAction("click", identifiers[0]), *([PageAction("click", identifiers[1])] if self._is(0.5) else [])]
        self._sequences.append((*opening, *self.dice.choices(rest, k=self.dice.choice((0, 1, 1, 2)))))
        return Node("", (), (openers[0], Node("input", (("id", field), ("style", "margin-top: 400px"))), *layers))

    def _layer(self, tag: str, identifier: str, position: str, *content: Node) -> Node:
        style = f"inset: auto; {position}; left: 0"
        if tag == "div":
            more: tuple[tuple[str, str | None], ...] = (("popover", self.dice.choice(("", "auto", "manual", "hint"))),)
        else:
            more = self._node(
                "dialog", named=False, chance=0.15, open=None, closedby=("any", "none", "closerequest")
            ).attributes
        return Node(tag, (("id", identifier), ("style", style), *more), ("Layer ", *content), f"</{tag}>")

    def _layer_button(self, tag: str, target: str, *, closes: bool = False) -> Node:
        """Return a button that opens a popover (a `div`) or a dialog, or closes it."""
        if tag == "div" and self._is(0.5):
            action = "hide" if closes else self.dice.choice(("show", "toggle"))
            attributes = (("popovertarget", target), ("popovertargetaction", action))
        else:
            commands = ("close", "request-close") if closes else ("show-modal",)
            if tag == "div":
                commands = ("hide-popover",) if closes else ("show-popover", "toggle-popover")
            attributes = (("commandfor", target), ("command", self.dice.choice(commands)))
        return Node("button", (("id", self._identifier()), ("type", "button"), *attributes), ("Layer",), "</button>")

    def _focusable_parts(self) -> Node:
        """Return parts that can or cannot have the focus, some with `autofocus`, and a fragment link to one of them."""
        parts = []
        for _ in range(self.dice.choice((2, 3))):
            tag = self.dice.choice(("input", "a", "div", "button", "summary", "select", "dialog", "label", "p"))
            attributes: dict[str, Any] = {"autofocus": None, "tabindex": ("0", "-1", "1"), "disabled": None, **self._rare()}
            part = self._node(tag, *([] if tag == "input" else ["Part"]), chance=0.3, **attributes)
            if tag == "a" and self._is(0.7):
                part = part._replace(attributes=(*part.attributes, ("href", "/e")))
            if tag == "dialog":
                part = part._replace(attributes=(*part.attributes, ("open", None)))
            parts.append(Node("details", (), (part,), "</details>") if tag == "summary" else part)
        identifiers = [str((part.children[0] if part.tag == "details" else part).attributes[0][1]) for part in parts]  # type: ignore[union-attr]
        link = Node("a", (("id", self._identifier()), ("href", f"#{self.dice.choice(identifiers)}")), ("Jump",), "</a>")
        tabs = [PageAction("press", "", self.dice.choice(("Tab", "Tab", "Shift+Tab"))) for _ in range(self.dice.choice((1, 2)))]
        start = self.dice.choice([PageAction("click", name) for name in (*identifiers, str(link.attributes[0][1]))])
        self._sequences.append((*([start] if self._is(0.7) else []), *tabs))
        return Node("", (), (link, *parts))

    def _nested_controls(self) -> Node:
        """Return a control in a link, a label or a summary."""
        control = self.dice.choice((self._input, self._button, self._select, self._textarea))()
        identifier = str(control.attributes[0][1])
        self._sequences.append((self.dice.choice((PageAction("click", identifier), PageAction("press", identifier, "Enter"))),))
        tag = self.dice.choice(("a", "a", "label", "summary"))
        outer = self._node(tag, "Text ", control)
        if tag == "a":
            outer = outer._replace(attributes=(*outer.attributes, ("href", self._address())))
        outer = Node("details", (), (outer, "Content"), "</details>") if tag == "summary" else outer
        return self._form_node(outer) if self._is(0.4) else outer

    def _opener(self, *attributes: tuple[str, str]) -> Node:
        opener = Node("button", (("id", self._identifier()), ("type", "button"), *attributes), ("Open",), "</button>")
        self._acts.append(PageAction("click", str(opener.attributes[0][1])))
        self._submits.append(self._acts[-1])
        return opener

    def _frame(self) -> Node:
        return self._node("iframe", "fallback", named=False, chance=0.6, name=("frame",), src=("/frame", "about:blank", ""), srcdoc=("<p>Inside",))  # fmt: skip

    def _cookie(self) -> str:
        count = self.dice.choice((0, 0, 1, 1, 2))
        return "; ".join((self.dice.choice(_COOKIE_PAIRS), *(self.dice.choice(_COOKIE_ATTRIBUTES) for _ in range(count))))

    def _redirect(self, index: int) -> Redirect:
        places = (
            "/e",
            f"/r{index + 1}",
            f"/r{index + 1}",
            "http://other.test/e",
            "http://www.app.test/e#there",
            "e?z=1",
            "",
            "/e#there",
        )
        cookies = (self._cookie(),) if self._is(0.3) else ()
        return Redirect(self.dice.choice(_STATUSES[:5] if self._is(0.85) else _STATUSES), self.dice.choice(places), cookies)


_FITTING = {
    **dict.fromkeys(("number", "range", "date", "month", "week", "time", "datetime-local"), ("min", "max", "step", "required", "readonly", "list")),
    **dict.fromkeys(("checkbox", "radio"), ("checked", "required", "disabled", "form")),
    **dict.fromkeys(("submit", "image"), ("formaction", "formmethod", "formenctype", "formtarget", "formnovalidate", "disabled", "alt", "form")),
    "hidden": ("dirname", "required", "form"), "file": ("multiple", "required"), "color": ("required", "list", "readonly"),
    "email": ("multiple", "required", "pattern", "maxlength"), **dict.fromkeys(("reset", "button"), ("disabled", "form")),
}  # fmt: skip
