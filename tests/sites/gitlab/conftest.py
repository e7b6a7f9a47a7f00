"""Signed-in users of the code host: of a small one, and of a generated one."""

import pytest

from tests.code_host import Developer, small_host
from tests.sites.gitlab.developer import content


@pytest.fixture
def visitor(opened) -> Developer:
    return opened(Developer(small_host()))


@pytest.fixture
def developer(opened) -> Developer:
    return opened(Developer(content()))
