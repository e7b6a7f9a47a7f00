"""Keywords of the env: which of them exclude each other, and which belong elsewhere."""

import inspect

import pytest

from tests.errors import expect_error
from webarena_gym import WebArenaLite
from webarena_gym.options import VECTOR_KEYWORDS, EnvOptions
from webarena_gym.vector import WebArenaLiteVector

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


@pytest.mark.parametrize("name", VECTOR_KEYWORDS)
def test_keywords_of_the_vector_env_are_refused_by_other_envs_with_their_place(name):
    with expect_error(TypeError, f"'{name}'", f"gymnasium.make_vec(..., {name}=...)"):
        WebArenaLite(**{name: 2})
    assert tuple(inspect.signature(WebArenaLiteVector).parameters)[:-1] == VECTOR_KEYWORDS


def test_a_seed_belongs_to_reset():
    with expect_error(TypeError, "'seed'", "reset(seed=...)"):
        WebArenaLite(seed=1)
