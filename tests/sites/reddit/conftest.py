"""Visitors of the forums, signed out and signed in."""

import pytest

from tests.sites.reddit.visitor import ForumVisitor
from tests.visitors import rows_of, small_database


@pytest.fixture(scope="module")
def base() -> bytes:
    return small_database("reddit", rows_of("forum_of_emma")).serialize()


@pytest.fixture
def visitor(base: bytes, opened) -> ForumVisitor:
    return opened(ForumVisitor(base))


@pytest.fixture
def emma(visitor: ForumVisitor) -> ForumVisitor:
    return visitor.sign_in()
