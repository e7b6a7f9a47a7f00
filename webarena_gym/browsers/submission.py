"""Sending a form: its entries, their encoding, and the request that carries them."""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote_plus

from lxml.html import HtmlElement

from webarena_gym.browsers import urls
from webarena_gym.browsers.client import Request
from webarena_gym.browsers.forms import value
from webarena_gym.pages.dom import BUTTON_KINDS, TICK_KINDS, controls, is_disabled, kind, option_value, selected_options

MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class Entry(NamedTuple):
    """One name and value that a form sends; a file entry is the empty file that a browser sends when none was chosen."""

    name: str
    value: str
    is_file: bool = False


def request_of(form: HtmlElement, button: HtmlElement | None, page_url: str, resolve: Callable[[str], str]) -> Request | None:
    """Return the request that sends a form of the page at `page_url`; None for a form that leads to no site.

    What the pressed button says in `formaction`, `formmethod` and `formenctype` goes before what the form says. `resolve`
    makes an address of the page absolute.
    """
    own = {} if button is None else button.attrib
    method = own.get("formmethod", form.get("method", "")).strip().lower()
    action = own.get("formaction", form.get("action", "")).strip()
    enctype = own.get("formenctype", form.get("enctype", "")).strip().lower()
    url = resolve(action) if action else page_url
    if method == "dialog" or not urls.is_web(url):
        return None
    sent = entries(form, button)
    if method == "post":
        content_type, body = encode(sent, enctype)
        return Request(url, "POST", content_type, body, urls.referrer(page_url, url))
    address, mark, fragment = url.partition("#")
    _, query = encode(sent, URLENCODED)
    url = f"{address.partition('?')[0]}?{query.decode()}{mark}{fragment}"
    return Request(url, referrer=urls.referrer(page_url, url))


def entries(form: HtmlElement, submitter: HtmlElement | None) -> list[Entry]:
    """Return what a form sends when `submitter` is pressed, in document order."""
    return [
        entry
        for control in controls(form)
        if (control is submitter or kind(control) not in BUTTON_KINDS)
        and not is_disabled(control)
        and next(control.iterancestors("datalist"), None) is None
        for entry in _control_entries(control)
    ]


def _control_entries(control: HtmlElement) -> list[Entry]:
    name, what = control.get("name", ""), kind(control)
    if what == "image":
        prefix = f"{name}." if name else ""
        return [Entry(f"{prefix}x", "0"), Entry(f"{prefix}y", "0")]
    if not name:
        return []
    if what in TICK_KINDS:
        return [Entry(name, control.get("value", "on"))] if "checked" in control.attrib else []
    if what == "select":
        return [Entry(name, option_value(option)) for option in selected_options(control) if not is_disabled(option)]
    if what == "file":
        return [Entry(name, "", is_file=True)]
    if what == "hidden" and name.lower() == "_charset_":
        return [Entry(name, "UTF-8")]
    return [Entry(name, value(control))]


def encode(sent: Sequence[Entry], enctype: str) -> tuple[str, bytes]:
    """Return the content type and the body that carry the entries; URL-encoded unless `enctype` asks for multipart."""
    pairs = [(_crlf(entry.name), entry.value if entry.is_file else _crlf(entry.value), entry.is_file) for entry in sent]
    if enctype == MULTIPART:
        return _encode_multipart(pairs)
    return URLENCODED, "&".join(f"{_escape(name)}={_escape(text)}" for name, text, _ in pairs).encode()


def _encode_multipart(pairs: list[tuple[str, str, bool]]) -> tuple[str, bytes]:
    # A digest of the content makes a boundary that is the same for the same form and stands nowhere in it.
    boundary = "----form" + hashlib.sha256(repr(pairs).encode()).hexdigest()[:24]
    lines: list[str] = []
    for name, text, is_file in pairs:
        quoted = name.replace("\r\n", "%0D%0A").replace('"', "%22")
        lines.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted}"')
        lines.append('; filename=""\r\nContent-Type: application/octet-stream' if is_file else "")
        lines.append(f"\r\n\r\n{text}\r\n")
    return f"{MULTIPART}; boundary={boundary}", ("".join(lines) + f"--{boundary}--\r\n").encode()


def _crlf(text: str) -> str:
    return _LINE_BREAK.sub("\r\n", text)


def _escape(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")
