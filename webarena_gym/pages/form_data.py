"""Submission of forms: the entry list of a form and its encodings.

Each function implements the section of the HTML standard that its docstring links to, as Chromium does; `tests/data/forms.json`
contains Chromium's requests.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from mimetypes import MimeTypes
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote_plus

from lxml import etree
from lxml.html import HtmlElement

from webarena_gym.pages import dom

MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"
PLAIN = "text/plain"
_DIRNAME_TYPES = frozenset(("hidden", "text", "search", "tel", "url", "email", "password", "submit", "button", "textarea"))
ENCODINGS = {
    **dict.fromkeys(("utf-8", "utf8", "utf-16", "utf-16le", "utf-16be"), "UTF-8"),
    **dict.fromkeys(("iso-8859-1", "iso8859-1", "latin1", "l1", "ascii", "us-ascii", "windows-1252", "cp1252"), "windows-1252"),
    **{f"windows-{page}": f"windows-{page}" for page in (1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258)},
    **{f"iso-8859-{part}": f"ISO-8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **dict.fromkeys(("iso-8859-9", "latin5", "windows-1254"), "windows-1254"),
    **dict.fromkeys(("tis-620", "windows-874"), "windows-874"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j"), "Shift_JIS"),
    **dict.fromkeys(("gbk", "gb2312", "x-gbk"), "GBK"),
    **dict.fromkeys(("ks_c_5601-1987", "korean"), "EUC-KR"),
    **{name.lower(): name for name in ("KOI8-R", "KOI8-U", "EUC-JP", "ISO-2022-JP", "EUC-KR", "Big5", "gb18030")},
}
"""Names of encodings by some labels in lower case. Forms on pages in UTF-16 are sent in UTF-8.

https://encoding.spec.whatwg.org/#names-and-labels
"""
CODECS = {"Shift_JIS": "cp932", "EUC-KR": "cp949", "windows-874": "cp874"}
"""Names of Python's codecs for encodings that have another name there."""
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_TEXTS = etree.XPath("descendant::text()[not(ancestor::textarea) and not(ancestor::script) and not(ancestor::style)]")
_WORD = re.compile("([^ \\t\u00ad\u200b-]*[\u00ad\u200b-]+|[^ \\t\u00ad\u200b-]+)?([ \\t]*)")
_WIDTHLESS = re.compile("[\u00ad\u200b]")


class FormEntry(NamedTuple):
    """A name and value of a form submission. The value of a file is its name ("" if none is chosen), with its `content`."""

    name: str
    value: str
    is_file: bool = False
    content: bytes = b""


def file_names(value: str, files: Collection[str]) -> list[str]:
    """Return the file names in the value of a file field. A comma in the name of an available file does not separate."""
    return [value] if value in files else [name for name in value.split(", ") if name]


def file_type(name: str) -> str:
    """Return the media type of a file by its name. Unlike `mimetypes.guess_type`, it does not depend on the machine."""
    return MimeTypes().guess_type(name)[0] or "application/octet-stream"


def construct_entry_list(
    form: HtmlElement,
    submitter: HtmlElement | None,
    files: Mapping[str, bytes] = MappingProxyType({}),
    charset: str = "UTF-8",
) -> list[FormEntry]:
    """Return the entry list of a form submitted by `submitter`, in document order.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#constructing-the-form-data-set
    """
    entries: list[FormEntry] = []
    for control in dom.form_controls(form):
        if dom.is_disabled(control):  # unlike in the standard, a control in a `datalist` is sent
            continue
        type_name = dom.element_type(control)
        is_button = type_name in dom.BUTTON_TYPES
        has_direction = (
            "dirname" in control.attrib and type_name in _DIRNAME_TYPES and control.tag != "button" and control.get("name")
        )
        if _is_charset_field(control):
            has_direction = False
        direction = [FormEntry(control.get("dirname"), directionality(control))] if has_direction else []
        if is_button:  # of a button Chromium sends the direction first, and always
            entries += direction
        if control is submitter or not is_button:
            entries += _control_entries(control, files, charset)
        if not is_button:
            entries += direction
    return entries


def _control_entries(control: HtmlElement, files: Mapping[str, bytes], charset: str) -> Iterator[FormEntry]:
    name, type_name = control.get("name", ""), dom.element_type(control)
    if type_name == "image":
        prefix = f"{name}." if name else ""
        yield FormEntry(f"{prefix}x", "0")
        yield FormEntry(f"{prefix}y", "0")
    elif not name:
        return
    elif type_name in dom.CHECKABLE_TYPES:
        if "checked" in control.attrib:
            yield FormEntry(name, control.get("value", "on"))
    elif type_name == "select":
        for option in dom.selected_options(control):
            if not dom.is_disabled(option):
                yield FormEntry(name, dom.option_value(option))
    elif type_name == "file":
        for file in file_names(control.get("value", ""), files) or [""]:
            yield FormEntry(name, file, is_file=True, content=files.get(file, b""))
    elif _is_charset_field(control):
        yield FormEntry(name, charset)
    elif type_name == "textarea" and control.get("wrap", "").lower() in ("hard", "physical") and dom.is_rendered(control):
        yield FormEntry(
            name, hard_wrapped(dom.control_value(control), dom.parse_non_negative_integer(control.get("cols")) or 20)
        )
    else:
        yield FormEntry(name, dom.control_value(control))


def _is_charset_field(control: HtmlElement) -> bool:
    return dom.element_type(control) == "hidden" and control.get("name", "").lower() == "_charset_"


def directionality(element: HtmlElement) -> str:
    """Return "ltr" or "rtl": the direction of an element's text.

    https://html.spec.whatwg.org/multipage/dom.html#the-directionality
    """
    for part in (element, *element.iterancestors()):
        direction: str = part.get("dir", "")
        if direction.lower() in ("ltr", "rtl"):
            return direction  # Chromium keeps its case
        if direction.lower() == "auto" or (part.tag == "bdi" and "dir" not in part.attrib):
            text = dom.field_value(part) if part.tag in ("input", "textarea") else "".join(_TEXTS(part))
            if (strong := _first_strong_direction(text)) or part.tag != "bdi":
                return strong or "ltr"
        if dom.element_type(part) == "tel":
            return "ltr"
    return "ltr"


def _first_strong_direction(text: str) -> str:
    """Return the direction of the first character that has one; "" if none has."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return "ltr" if kind == "L" else "rtl"
    return ""


def hard_wrapped(text: str, columns: int) -> str:
    """Return the text of a textarea with a line break where Chromium wraps it.

    https://html.spec.whatwg.org/multipage/form-elements.html#attr-textarea-wrap

    Characters have one width, as most have in Chromium's font. Lines end after blanks, which may exceed the width, and after
    hyphens. Chromium adds the width of a scroll bar, in which one more character fits.
    """
    width = columns + 1
    lines: list[str] = []
    for source in text.split("\n"):
        line, used = "", 0
        for word, blanks in _WORD.findall(source):
            if used and used + len(word) > width:
                lines.append(line)
                line, used = "", 0
            full = max(len(word) - 1, 0) // width * width  # characters of the lines that the word fills alone
            lines += [word[start : start + width] for start in range(0, full, width)]
            rest = word[full:]
            line, used = line + rest + blanks, used + len(_WIDTHLESS.sub("", rest))
            for blank in blanks:
                used += 8 - used % 8 if blank == "\t" else 1
        lines.append(line)
    return "\n".join(lines)


def pick_encoding(form: HtmlElement, document_encoding: str = "UTF-8") -> str:
    """Return the name of the encoding of a form's submission: the first known label of `accept-charset`, else the document's.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#picking-an-encoding-for-the-form
    """
    for label in form.get("accept-charset", "").split():
        if name := ENCODINGS.get(label.lower()):
            return name
    return document_encoding


def encode_entries(entries: Sequence[FormEntry], enctype: str, charset: str = "UTF-8") -> tuple[str, bytes]:
    """Return the content type and body of a submission; any `enctype` other than MULTIPART and PLAIN means URLENCODED.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data and the sections after it.
    """
    codec = CODECS.get(charset, charset)
    pairs = [
        [_LINE_BREAK.sub("\r\n", part).encode(codec, "xmlcharrefreplace") for part in (entry.name, entry.value)]
        for entry in entries
    ]
    if enctype == PLAIN:
        return PLAIN, b"".join(b"%b=%b\r\n" % (name, text) for name, text in pairs)
    if enctype != MULTIPART:
        query = "&".join("=".join(quote_plus(part, safe="*") for part in pair) for pair in pairs)
        return URLENCODED, query.replace("~", "%7E").encode()
    # A digest of the content is a deterministic boundary that does not occur in it.
    contents = [entry.content for entry in entries]
    identity = repr([(_text(name), _text(text), entry.is_file) for (name, text), entry in zip(pairs, entries, strict=True)])
    boundary = "----form" + hashlib.sha256(identity.encode() + b"".join(contents)).hexdigest()[:24]
    lines: list[bytes] = []
    for (name, text), entry in zip(pairs, entries, strict=True):
        head = b'--%b\r\nContent-Disposition: form-data; name="%b"' % (boundary.encode(), _in_quotes(name))
        if entry.is_file:
            head += b'; filename="%b"\r\nContent-Type: %b' % (_in_quotes(text), file_type(entry.value).encode())
        lines += [head, b"\r\n\r\n", entry.content if entry.is_file else text, b"\r\n"]
    return f"{MULTIPART}; boundary={boundary}", b"".join(lines) + f"--{boundary}--\r\n".encode()


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "backslashreplace")


def _in_quotes(name: bytes) -> bytes:
    return name.replace(b"\r\n", b"%0D%0A").replace(b'"', b"%22")
