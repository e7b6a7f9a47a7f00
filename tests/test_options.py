"""Keywords of the env: which of them exclude each other."""

import pytest

from tests.errors import expect_error
from webarena_gym.options import EnvOptions

OTHER_SOURCES = [
    {"sites": {"shopping": "http://shop.test"}, "browser": "chromium"},
    {"suite": "errands"},
    {"application": "app.toml"},
    {"rules": "webarena"},
]


@pytest.mark.parametrize("reward", ["checklist", "f1"])
@pytest.mark.parametrize("others", OTHER_SOURCES, ids=lambda others: next(iter(others)))
def test_rewards_of_a_checklist_need_the_embedded_sites_and_the_native_rules(monkeypatch, reward, others):
    monkeypatch.setattr(EnvOptions, "_read_application", lambda _: None)
    with expect_error(ValueError, f"reward={reward!r}"):
        EnvOptions(reward=reward, **others)
    assert EnvOptions(**others).reward == "binary"
    assert EnvOptions(reward=reward).reward == reward
