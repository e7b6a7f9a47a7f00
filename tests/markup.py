"""What is wrong with a page's HTML, as a list of sentences: a small checker for tests."""

from collections import Counter
from urllib.parse import urlsplit

import html5lib

HTML = "{http://www.w3.org/1999/xhtml}"
INTERACTIVE = frozenset({"a", "button", "input", "select", "textarea", "label", "summary", "details"})
INLINE_ONLY = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "span", "b", "i", "em", "strong", "small", "label", "button", "code", "time", "pre", "mark"}
)  # fmt: skip
BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure",
        "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
        "section", "table", "ul",
    }
)  # fmt: skip
CHILDREN = {
    "ul": {"li"}, "ol": {"li"}, "dl": {"dt", "dd", "div"}, "select": {"option", "optgroup"}, "optgroup": {"option"},
    "table": {"caption", "colgroup", "thead", "tbody", "tfoot", "tr"}, "tr": {"td", "th"},
}  # fmt: skip
UNLABELLED = frozenset({"hidden", "submit", "button", "reset", "image"})


def problems(html):
    """Return what a careful reader would mend, each once."""
    parser = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    root = parser.parse(html)
    found = [f"line {line}: {code} {values or ''}" for (line, _), code, values in parser.errors]
    parents = {child: parent for parent in root.iter() for child in parent}
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    for check in (_document, _names, _nesting, _resources):
        found += check(root, elements, parents)
    return list(dict.fromkeys(found))


def _document(root, elements, parents):
    """The frame of the page: language, title, viewport, landmarks."""
    tags = Counter(element.tag for element in elements)
    metas = [element for element in elements if element.tag == "meta"]
    phones = (meta.get("content", "") for meta in metas if meta.get("name") == "viewport")
    menus = (each for each in elements if each.tag == "a" and not {"main", "footer"} & _tags_around(each, parents))
    expected = {
        "has no language": root.get("lang"),
        "has no title": any(element.tag == "title" and (element.text or "").strip() for element in elements),
        "names no charset": any("charset" in meta.attrib for meta in metas),
        "has no viewport for phones": any("width=device-width" in content for content in phones),
        "names no icon, so that browsers ask for one": any(element.get("rel") == "icon" for element in elements),
        "has no <header>": tags["header"],
        "has links and no <nav>": tags["nav"] or next(menus, None) is None,
    }
    yield from (f"the page {fault}" for fault, is_there in expected.items() if not is_there)
    yield from (f"the page has {tags[tag]} <{tag}>" for tag in ("h1", "main") if tags[tag] != 1)
    yield from (f"the page has a <{tag}>" for tag in ("script", "iframe", "font", "center", "marquee") if tags[tag])


def _names(_, elements, parents):
    """Ids are unique and met; whatever can be used has a name, images an alternative text."""
    ids = Counter(element.get("id") for element in elements if "id" in element.attrib)
    for identity, count in ids.items():
        if count > 1 or not identity:
            yield f"the id {identity!r} occurs {count} times"
    labelled = {element.get("for") for element in elements if element.tag == "label"}
    for element in elements:
        for name in ("for", "aria-labelledby", "aria-describedby", "aria-controls", "list", "form"):
            for expected in element.get(name, "").split():
                if expected not in ids:
                    yield f"{name}={expected!r} names nothing"
        if element.tag == "img" and "alt" not in element.attrib:
            yield f"an image without alt: {element.get('src')}"
        if element.tag in ("input", "select", "textarea") and element.get("type", "").lower() not in UNLABELLED:
            wrapped = "label" in _tags_around(element, parents)
            if not (wrapped or element.get("id") in labelled or element.get("aria-label") or element.get("aria-labelledby")):
                yield f"a field without a label: {element.tag} {element.get('name')}"
        if element.tag in ("a", "button") and not _name(element):
            yield f"a <{element.tag}> without a name: {element.attrib}"


def _name(element):
    images = (image.get("alt", "") for image in element.iter("img"))
    return "".join((element.get("aria-label", ""), *element.itertext(), *images)).strip()


def _nesting(_, elements, parents):
    """Nothing stands where HTML does not allow it."""
    for element in elements:
        allowed = CHILDREN.get(element.tag)
        for child in element:
            if allowed and isinstance(child.tag, str) and child.tag not in allowed:
                yield f"<{child.tag}> in <{element.tag}>"
        around = _tags_around(element, parents)
        if element.tag in BLOCKS:
            for outer in INLINE_ONLY.intersection(around):
                yield f"<{element.tag}> in <{outer}>"
        if element.tag in INTERACTIVE:
            for outer in {"a", "button"}.intersection(around):
                yield f"<{element.tag}> in <{outer}>"
            if "label" in around and element.tag in ("a", "button", "label"):
                yield f"<{element.tag}> in <label>"
        if element.tag == "form" and "form" in around:
            yield "<form> in <form>"


def _tags_around(element, parents):
    tags = set()
    while element in parents:
        element = parents[element]
        tags.add(element.tag)
    return tags


def _resources(_, elements, __):
    """Everything comes from the site itself; nothing runs; every posted form carries its key."""
    for element in elements:
        for name, value in element.attrib.items():
            if name.startswith("on"):
                yield f"an inline handler {name}"
            if name in ("href", "src", "action", "formaction") and value.strip().lower().startswith(
                ("javascript:", "vbscript:")
            ):
                yield f"a script in {name}: {value}"
        names_the_page = element.tag == "link" and element.get("rel") in ("canonical", "self")  # which is not fetched
        source = element.get("src") or (element.get("href", "") if element.tag == "link" and not names_the_page else "")
        if urlsplit(source).netloc or urlsplit(source).scheme not in ("", "data"):
            yield f"a resource from elsewhere: {source}"
        if element.tag == "a" and element.get("href") == "":
            yield "a link to nowhere"
        keyed = any(field.get("name") == "form_key" for field in element.iter("input"))
        if element.tag == "form" and element.get("method", "").lower() == "post" and not keyed:
            yield f"a form without its key: {element.get('action')}"
