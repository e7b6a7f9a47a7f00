"""Views of pages: locations of elements, notices on files, and elements that stay valid while the page does not change."""

from types import SimpleNamespace

import pytest
from lxml.html import fromstring

from tests import needs
from tests.browsers.chromium.pages import HOME, make_browser, press
from tests.errors import expect_error
from webarena_gym.browsers.chromium.view import PageView, file_notices, location_of
from webarena_gym.errors import ActionError


def test_elements_of_other_views_have_no_location():
    form = fromstring("<form><input aria-label=Name><button>Send</button></form>")
    view = PageView(SimpleNamespace(root=form), {form[0]: ("frame", 3)}, scripted=False)
    assert location_of(form[0], view) == ("frame", 3)
    for other in (view, None):
        with expect_error(ActionError, "Send"):
            location_of(form[1], other)


@pytest.mark.parametrize(
    ("page", "files", "is_open", "count"),
    [
        ("<input type=file>", ("a.txt",), False, 1),
        ("<input type=file>", (), False, 0),
        ("<input type=text>", ("a.txt",), False, 0),
        ("<p>Text</p>", ("a.txt",), True, 1),
        ("<input type=file>", ("a.txt",), True, 1),
    ],
)
def test_available_files_are_noticed_where_a_field_takes_them(page, files, is_open, count):
    notices = list(file_notices(fromstring(f"<div>{page}</div>"), files, is_open=is_open))
    assert len(notices) == count
    assert all("a.txt" in notice for notice in notices)


@needs.chromium
def test_elements_stay_valid_until_the_page_changes(opened):
    browser = opened(make_browser())
    browser.start([HOME + "late"], {})
    first = browser.page()
    assert browser.page().root is first.root
    press(browser, "Timer")
    assert browser.page().root is not first.root
    assert browser.page().root.findtext(".//p[@id='out']") == "late"
