"""What Chromium itself does with plain pages, driven by Playwright without the product's rules.

`python -m tests.raw_chromium` records the expected values of `tests/data/forms.json` again, with Chromium's version.
"""

from contextlib import suppress

from tests.raw_tables import HOME, page_of, record_again

_VALUES = """(controls) => controls.map((html) => {
  document.body.innerHTML = `<form>${html}</form>`;
  return document.querySelector("input, select, textarea").value;
})"""
_VALIDITY = """() => [...document.forms[0].elements].filter((part) => part.willValidate && !part.validity.valid).map((part) => {
  const flags = [];
  for (const flag in part.validity) if (part.validity[flag]) flags.push(flag);
  return [part.name, flags.join(" ")];
})"""
_VALIDITIES = f"""(forms) => forms.map((html) => {{
  document.body.innerHTML = `<form>${{html}}</form>`;
  return ({_VALIDITY})();
}})"""

_WATCH = """() => document.addEventListener("submit", ({target, submitter}) => {
  const {formMethod} = submitter?.hasAttribute("formmethod") ? submitter : {formMethod: target.method};
  window.sends = formMethod !== "dialog";
})"""


class RawChromium:
    """One page of a Chromium, whose requests other than for `HOME` are recorded and answered with an empty page."""

    def __init__(self, chromium):
        self.version = chromium.version
        self._page = chromium.new_page()
        self._requests, self._html = [], ""
        self._page.route("**/*", self._respond)
        self.values([])

    def _respond(self, route):
        request = route.request
        if request.url == HOME and request.method == "GET":
            route.fulfill(body=self._html, content_type="text/html; charset=utf-8")
        elif not request.url.endswith("/favicon.ico"):
            body = (request.post_data_buffer or b"").decode("utf-8", "backslashreplace")
            self._requests.append([request.method, request.url, request.headers.get("content-type", ""), body])
            route.fulfill(body="<title>Sent</title>", content_type="text/html")

    def _load(self, body):
        self._requests, self._html = [], page_of(body)
        self._page.goto(HOME)
        self._page.evaluate(_WATCH)

    def values(self, controls):
        """Return the value of each control after loading."""
        self._load("")
        return self._page.evaluate(_VALUES, controls)

    def validity(self, forms):
        """Return the names and validity flags of the invalid controls of each form content, without edits by a user."""
        self._load("")
        return self._page.evaluate(_VALIDITIES, forms)

    def names(self, bodies):
        """Return the accessible name of the element with the id "e" in each body."""
        session = self._page.context.new_cdp_session(self._page)
        names = []
        for body in bodies:
            self._load(body)
            element = session.send("Runtime.evaluate", {"expression": "document.getElementById('e')"})["result"]
            arguments = {"objectId": element["objectId"], "fetchRelatives": False}
            node = session.send("Accessibility.getPartialAXTree", arguments)["nodes"][0]
            names.append(" ".join(node["name"]["value"].split()))
        return names

    def play(self, body, steps):
        """Return the request that a form sends after `steps`, or None, and the id of the element that has the focus if it sends none.

        Steps: ["type", id, text], ["click", id], ["press", key].
        """
        from playwright.sync_api import Error  # noqa: PLC0415 - not everybody has it

        self._load(body)
        for kind, *arguments in steps:
            if kind == "type":
                element_id, text = arguments
                self._page.evaluate(
                    "(id) => { const field = document.getElementById(id); field.focus(); field.select(); }", element_id
                )
                self._page.keyboard.press("Delete")
                self._page.keyboard.insert_text(text)
            elif kind == "focus":
                self._page.evaluate("(id) => document.getElementById(id).focus()", arguments[0])
            elif kind == "click":  # as with the mouse, but faster
                self._page.evaluate(
                    "(id) => { const target = document.getElementById(id); target.focus(); target.click(); }", arguments[0]
                )
            else:
                self._page.keyboard.press(arguments[0])
        sends, focus = True, ""
        with suppress(Error):  # the page navigates
            sends, focus = self._page.evaluate("[window.sends === true || document.title !== 'T', document.activeElement.id]")
        if not sends:
            return {"request": None, "focus": focus}
        while not self._requests:
            self._page.wait_for_timeout(10)
        self._page.wait_for_function("document.title === 'Sent'")
        return {"request": without_boundary(self._requests[0]), "focus": ""}


def without_boundary(request):
    """Return a request in which the boundary of a multipart body is "B"."""
    method, url, content_type, body = request
    kind, mark, boundary = content_type.partition("; boundary=")
    return [method, url, f"{kind}{mark}B" if mark else kind, body.replace(boundary, "B") if mark else body]


def record(table, raw):
    """Return the table with Chromium's results."""
    values, validity, names = list(table["values"]), list(table["validity"]), list(table["names"])
    return {
        "chromium": raw.version,
        "values": dict(zip(values, raw.values(values), strict=True)),
        "validity": dict(zip(validity, raw.validity(validity), strict=True)),
        "names": dict(zip(names, raw.names(names), strict=True)),
        "submissions": {
            name: {"html": case["html"], "steps": case["steps"], **raw.play(case["html"], case["steps"])}
            for name, case in table["submissions"].items()
        },
    }


if __name__ == "__main__":
    record_again("forms", RawChromium, record)
