"""File fields and file choosers behave alike in both browsers."""

import pytest

from tests import needs
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

FORM = "<form><input type=file id=f name=f><input id=t><button id=s>Send</button></form><a id=l href=/next>Link</a><a id=h href=#x>Part</a><p id=x>X"
PAGES = {
    "a form": FORM,
    "without a form": FORM.replace("<form>", "").replace("</form>", ""),
    "several files": FORM.replace("type=file", "type=file multiple"),
    "a hidden field": FORM.replace(
        "<input type=file id=f name=f>", "<label>Upload<input type=file id=f name=f style='display:none'></label>"
    ),
}
WALKS = (
    [("click", "f"), ("new_tab",), ("switch_tab", 0)],
    [("new_tab",), ("switch_tab", 0), ("click", "f"), ("switch_tab", 1), ("switch_tab", 0)],
    [("new_tab", "http://app.test/"), ("click", "f"), ("close_tab",)],
    [("click", "f"), ("type", "t", "x"), ("press", "Tab")],
    [("click", "f"), ("type", "t", "notes.txt")],
    [("click", "f"), ("type", "f", "none.txt"), ("type", "f", "notes.txt")],
    [("click", "f"), ("scroll",)],
    [("click", "f"), ("wait",)],
    [("click", "f"), ("go_back",)],
    [("type", "f", "notes.txt"), ("type", "t", "kept"), ("click", "l"), ("go_back",), ("go_forward",), ("go_back",)],
    [("select", "f", "notes.txt"), ("select", "f", "photo.png"), ("click", "s"), ("go_back",)],
    [("type", "f", "notes.txt"), ("click", "h"), ("go_back",)],
)


def network(page):
    def answer(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html")])
        is_start = environ["PATH_INFO"] == "/" and not environ["QUERY_STRING"]
        return [page[0].encode() if is_start else b"<title>Next</title><p>Next"]

    return Network({"app.test": answer}, {"notes.txt": b"Notes\n", "photo.png": b"x"})


def played(browser, walk):
    """The messages, texts and focused elements after each action."""
    browser.start(["http://app.test/"], {})
    states = []
    for method, *arguments in walk:
        message = ""
        try:
            if method == "scroll":
                browser.scroll(down=True, to_end=True)
            elif method in ("click", "type", "select"):
                element = next(part for part in browser.page().root.iter() if part.get("id") == arguments[0])
                getattr(browser, method)(element, *arguments[1:])
            else:
                getattr(browser, method)(*arguments)
        except ActionError as error:
            message = str(error)
        page = browser.page()
        states.append((message, observe(page).text, page.focused is not None and page.focused.get("id")))
    return states


@needs.chromium
@pytest.mark.parametrize("name", PAGES)
def test_files_are_chosen_and_forgotten_as_in_chromium(opened, name):
    page = [PAGES[name]]
    browsers = [opened(make(network(page), strict=True)) for make in (InProcessBrowser, ChromiumBrowser)]
    different = []
    for walk in WALKS:
        first, second = (played(browser, walk) for browser in browsers)
        if first != second:
            different.append((walk, first, second))
    assert different == []


def test_a_text_field_takes_text_while_a_file_chooser_is_open(opened):
    browser = opened(InProcessBrowser(network([FORM]), strict=True))
    states = played(browser, [("click", "f"), ("type", "t", "x")])
    assert states[-1][0] == ""
    assert 'value="x"' in states[-1][1]
