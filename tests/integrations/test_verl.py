"""The agent loop with the output classes of verl's package. Its server is a stand-in, as it needs a GPU."""

import pytest

pytest.importorskip("verl", reason="make test-integrations")

from tests.test_verl import (  # noqa: F401 - fixtures and tests of the module, without its stand-in for these classes
    encoder,
    known,
    test_a_failure_of_the_policy_is_a_reward_of_0_and_a_page_too_long_to_be_read_ends_the_episode,
    test_each_step_is_a_row_with_the_very_tokens_of_one_server,
    tokenizer,
)

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
