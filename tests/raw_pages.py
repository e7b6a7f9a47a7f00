"""What Chromium itself does with windows, focus, dialogs and navigation on plain pages, driven by Playwright without the product's rules.

`python -m tests.raw_pages` records the expected states of `tests/data/pages.json` again, with Chromium's version. A case has the
body of the page at `HOME` or pages by path, response headers of `HOME`, the `charset` of its pages unless UTF-8, and steps: ["click", id] at the centre of an element with
the mouse, ["press", key] in the focused element, ["point", x, y, id of the element there] with the mouse, ["focus", id], ["tab", index], ["back"], ["wait", ms].
"""

from contextlib import suppress

from tests.raw_tables import HOME, page_of, record_again

SENT = "<!doctype html><title>Sent</title><p>Sent"

_STATE = """() => {
  const shows = (element) => element.checkVisibility({visibilityProperty: true});
  const withoutBox = "option, optgroup, area, map, legend, source, head *, [hidden=until-found i]";
  return {
    focus: document.activeElement === document.body ? "" : document.activeElement?.id ?? "",
    shown: [...document.querySelectorAll("[id]")].filter((element) => !element.matches(withoutBox) && shows(element)).map(({id}) => id),
  };
}"""
_CENTRE = """(id) => {
  const element = document.getElementById(id);
  element.scrollIntoViewIfNeeded();
  const {x, y, width, height} = element.getClientRects()[0] ?? {x: 1200, y: 700, width: 0, height: 0};
  return [x + width / 2, y + height / 2];
}"""
_SETTLED_MS = 120  # popups and navigations start within it


class RawPages:
    """A Chromium whose requests are recorded and answered with the pages of a case, or with an empty page."""

    def __init__(self, chromium):
        self.version = chromium.version
        self._chromium = chromium

    def play(self, case):
        """Return the state of Chromium after the steps of a case; see the module."""
        from playwright.sync_api import Error  # noqa: PLC0415 - not everybody has it

        pages = case["html"] if isinstance(case["html"], dict) else {"/": case["html"]}
        charset = case.get("charset", "utf-8")
        requests = []
        navigated = []  # tabs; Chromium brings a window to the front that a link or form navigates, but a headless shell does not

        def respond(route):
            request = route.request
            with suppress(Error):  # raised for the first request of a new tab, which has no frame yet
                if request.is_navigation_request() and request.frame.parent_frame is None:
                    navigated.append(request.frame.page)
            path = request.url.partition("#")[0].removeprefix(HOME[:-1])
            if path in pages and request.method == "GET":
                headers = case.get("headers", {}) if path == "/" else {}
                body = page_of(pages[path], charset).encode(charset)
                route.fulfill(body=body, headers={"content-type": f"text/html; charset={charset}", **headers})
            elif request.url.endswith(("/favicon.ico", "/img")):
                route.fulfill(body="", content_type="text/plain")
            else:
                requests.append([request.method, request.url.removesuffix("?"), request.post_data or ""])
                route.fulfill(body=SENT, content_type="text/html")

        context = self._chromium.new_context()
        context.route("**/*", respond)
        try:
            tabs = [context.new_page()]
            context.on("page", lambda tab: tabs.append(tab))  # noqa: PLW0108 - Playwright sets an attribute of the function
            active = tabs[0]
            active.goto(HOME)
            self._settle(tabs)
            for kind, *arguments in case["steps"]:
                navigated.clear()
                count = len(tabs)
                if kind == "click":
                    active.mouse.click(*active.evaluate(_CENTRE, arguments[0]))
                elif kind == "point":
                    active.mouse.click(*arguments[:2])
                elif kind == "focus":
                    active.evaluate("(id) => document.getElementById(id).focus()", arguments[0])
                elif kind == "press":
                    active.keyboard.press(arguments[0])
                elif kind == "back":
                    active.evaluate("history.back()")
                elif kind == "wait":
                    active.wait_for_timeout(arguments[0])
                elif kind == "tab":
                    active = tabs[arguments[0]]
                    active.bring_to_front()
                self._settle(tabs)
                navigated[:0] = tabs[count:]
                active = navigated.pop(0) if navigated and kind != "back" else active
            state = {"requests": requests, "tabs": [tab.url for tab in tabs], "active": tabs.index(active)}
            return state | active.evaluate(_STATE)
        finally:
            context.close()

    def _settle(self, tabs):
        from playwright.sync_api import Error  # noqa: PLC0415 - not everybody has it

        tabs[0].wait_for_timeout(_SETTLED_MS)
        for tab in [tab for tab in tabs if not tab.is_closed()]:
            with suppress(Error):
                tab.wait_for_load_state("load", timeout=3000)
        tabs[0].wait_for_timeout(_SETTLED_MS)


def record(table, raw):
    """Return the table with Chromium's states."""
    cases = {}
    for name, case in table["cases"].items():
        given = {key: case[key] for key in ("html", "headers", "charset", "steps") if key in case}
        cases[name] = given | {"state": raw.play(case)}
    return {"chromium": raw.version, "cases": cases}


if __name__ == "__main__":
    record_again("pages", RawPages, record)
