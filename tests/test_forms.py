"""Values, constraint validation and submission of forms, held against what Chromium itself does (`tests/data/forms.json`)."""

from werkzeug.wrappers import Request, Response

from tests import needs
from tests.raw_chromium import RawChromium, record, without_boundary
from tests.raw_tables import HOME, check_installed, page_of, read_table
from webarena_gym.browsers.document import parse
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.pages import constraints, dom
from webarena_gym.pages.page import Network
from webarena_gym.pages.reading import Labels

TABLE = read_table("forms")


class Site:
    """One page at the root, and a record of all other requests."""

    def __init__(self, html):
        self.html, self.requests = html, []

    def __call__(self, environ, start_response):
        request = Request(environ)
        if request.method == "GET" and request.path == "/" and "?" not in request.url:
            return Response(self.html, content_type="text/html; charset=utf-8")(environ, start_response)
        body = request.get_data().decode("utf-8", "backslashreplace")
        self.requests.append([request.method, environ["PATH_INFO"], environ["QUERY_STRING"], request.content_type or "", body])
        return Response("<title>Sent</title>", content_type="text/html")(environ, start_response)


def play(html, steps):
    site = Site(page_of(html))
    browser = InProcessBrowser(Network({"app.test": site}))
    browser.start([HOME], {})

    def element(element_id):
        return browser.page().root.get_element_by_id(element_id)

    try:
        for kind, *arguments in steps:
            try:
                if kind == "type":
                    browser.type(element(arguments[0]), arguments[1])
                elif kind == "click":
                    browser.click(element(arguments[0]))
                elif kind == "focus":
                    focused = element(arguments[0])
                else:
                    browser.press(arguments[0], focused)
            except ActionError:
                pass  # the browser says why nothing is sent
        page = browser.page()
        request = None
        if site.requests:
            method, _, _, content_type, body = site.requests[0]
            request = without_boundary([method, page.url.partition("#")[0], content_type, body])
        return {"request": request, "focus": "" if request or page.focused is None else page.focused.get("id", "")}
    finally:
        browser.close()


def control_value(html):
    control = next(parse(page_of(f"<form>{html}</form>").encode()).iter("input", "select", "textarea"))
    if control.tag == "select":
        return next(map(dom.option_value, dom.selected_options(control)), "")
    return control.get("value", "on") if dom.element_type(control) in dom.CHECKABLE_TYPES else dom.field_value(control)


def invalid_controls(html):
    form = next(parse(page_of(f"<form>{html}</form>").encode()).iter("form"))
    flags = [(control.get("name", ""), constraints.validity(control)) for control in dom.form_controls(form)]
    return [[name, flag] for name, flag in flags if flag]


def differences(expected, actual):
    return {key: (value, actual(key)) for key, value in expected.items() if actual(key) != value}


def test_values_after_loading_are_chromiums():
    assert differences(TABLE["values"], control_value) == {}


def test_invalid_controls_are_chromiums():
    first_flags = {html: [[name, flags.split()[0]] for name, flags in invalid] for html, invalid in TABLE["validity"].items()}
    assert differences(first_flags, invalid_controls) == {}


def test_names_of_controls_are_chromiums():
    def name(body):
        root = parse(page_of(body).encode())
        return Labels(root).name_of(root.get_element_by_id("e"))

    assert differences(TABLE["names"], name) == {}


def test_requests_and_focus_are_chromiums():
    cases = TABLE["submissions"]
    expected = {name: {"request": case["request"], "focus": case["focus"]} for name, case in cases.items()}
    assert differences(expected, lambda name: play(cases[name]["html"], cases[name]["steps"])) == {}


@needs.chromium
def test_the_table_is_of_the_installed_chromium():
    check_installed(TABLE, "submissions", 25, RawChromium, record)
