"""A tiny model."""

import pytest

from tests.tiny import tiny_model


@pytest.fixture
def model():
    return tiny_model()[0]
