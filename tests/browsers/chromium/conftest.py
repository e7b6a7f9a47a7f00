"""Browsers with pages that have scripts."""

import pytest

from tests.browsers.chromium.pages import HOME, make_browser


@pytest.fixture
def browser(opened):
    made = opened(make_browser())
    made.start([HOME], {})
    return made
