"""Stable-Baselines3 has a vector API of its own; this is all that stands between it and ours, and its wrappers then work."""

import numpy
import pytest
from gymnasium.wrappers.vector import DictInfoToList

from tests.test_vector import DONE, LIST, vector

vec_env = pytest.importorskip("stable_baselines3.common.vec_env", reason="pip install 'webarena-gym[baselines]'")


class StableBaselinesVector(vec_env.VecEnv):
    """A vector env in the mode SAME_STEP, for Stable-Baselines3."""

    def __init__(self, envs):
        self.envs = envs
        self._with_lists = DictInfoToList(envs)
        self._actions = ()
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self):
        pages, self.reset_infos = self._with_lists.reset(seed=self._seeds)
        self._reset_seeds()
        return numpy.array(pages, dtype=object)

    def step_async(self, actions):
        self._actions = actions

    def step_wait(self):
        pages, rewards, terminated, truncated, infos = self._with_lists.step(self._actions)
        for info, over, cut in zip(infos, terminated, truncated, strict=True):
            info["TimeLimit.truncated"] = bool(cut and not over)
            if "final_obs" in info:
                info["terminal_observation"] = info.pop("final_obs")
        return numpy.array(pages, dtype=object), rewards, terminated | truncated, infos

    def close(self):
        self.envs.close()

    def get_attr(self, attr_name, indices=None):
        return [self.envs.get_attr(attr_name)[index] for index in self._get_indices(indices)]

    def set_attr(self, attr_name, value, indices=None):
        self.envs.set_attr(attr_name, value)

    def env_method(self, method_name, *positional, indices=None, **named):
        return [self.envs.call(method_name, *positional, **named)[index] for index in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False for _ in self._get_indices(indices)]


def test_its_wrappers_work():
    with vector(autoreset_mode="SameStep") as envs:
        wrapped = vec_env.VecMonitor(StableBaselinesVector(envs))
        wrapped.seed(5)
        first = wrapped.reset()
        pages, rewards, done, infos = wrapped.step([DONE, LIST])
        assert (rewards.tolist(), done.tolist()) == ([1.0, 0.0], [True, False])
        assert infos[0]["episode"]["l"] == 1
        assert infos[0]["terminal_observation"].startswith(first[0].partition("URL")[0])
        assert "terminal_observation" not in infos[1]
        assert pages[0] != infos[0]["terminal_observation"]
        assert wrapped.get_attr("render_mode") == [None, None]
