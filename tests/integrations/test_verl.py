"""The agent loop with the output classes of verl's package. Its server is a stand-in, as it needs a GPU."""

import pytest

pytest.importorskip("verl", reason="make test-integrations")

from tests.test_verl import (  # noqa: F401 - fixtures and tests of the module, without its stand-in for these classes
    encoder,
    known,
    test_each_step_is_a_row_with_the_very_tokens_of_one_server,
    test_policy_failures_score_zero_and_too_long_pages_end_the_episode,
    tokenizer,
)

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
