"""The adapter of BrowserGym: `python -m benchmarks.peers.browsergym_adapter CHROMIUM shipped` (or `nowait`).

It uses BrowserGym's own env, task, actions and observation. The only change is the Chromium that it launches, which no option selects: it
starts a second one for a chat window. With `nowait`, BrowserGym's two settings for waiting are zero.
"""

import json
import sys
from functools import partialmethod
from typing import Any
from urllib.parse import urlsplit

from browsergym.core.action.highlevel import HighLevelActionSet
from browsergym.core.env import BrowserEnv
from browsergym.core.task import OpenEndedTask
from playwright.sync_api import BrowserType

from benchmarks.peers.lines import USABLE, StepResult, Watch, serve

WAITS: dict[str, dict[str, Any]] = {"shipped": {}, "nowait": {"slow_mo": 0, "pre_observation_delay": 0.0}}
_ACTIONS = {
    "Click": "click({0})", "Type": "fill({0}, {1})", "Search": 'fill({0}, {1})\npress({0}, "Enter")',
    "Select Dropdown Option": "select_option({0}, {1})",
}  # fmt: skip
LOOKS = 5
"""Number of additional observations after an observation that preceded the next page, which happens without waits."""
_BID = "([usable, index]) => document.querySelectorAll(usable)[index]?.getAttribute('bid') ?? null"


class BrowserGym:
    """Envs of BrowserGym's open-ended task."""

    def __init__(self, waits: dict[str, Any]) -> None:
        self._waits = waits
        self._envs: dict[int, BrowserEnv] = {}

    def reset(self, env: int, episode: dict[str, Any]) -> StepResult:
        watch = Watch()
        if env not in self._envs:
            # A search, as others do it in one step, is two of its actions; multiaction lets it take both in one step.
            actions = HighLevelActionSet(multiaction=True).to_python_code
            self._envs[env] = BrowserEnv(OpenEndedTask, action_mapping=actions, **self._waits)
        self._envs[env].task_kwargs = {"start_url": episode["url"], "goal": episode["task_id"]}
        observation, _ = self._envs[env].reset(seed=0)
        return StepResult(watch.ms(), observation["url"])

    def step(self, env: int, step: dict[str, Any]) -> StepResult:
        page = self._envs[env].page
        bid = page.evaluate(_BID, [USABLE, step["index"]])
        if bid is None:
            return StepResult(0.0, page.url, "the element is not on the page, or has no bid")
        watch = Watch()
        actions = _ACTIONS[step["kind"]].format(json.dumps(bid), json.dumps(step["argument"]))
        observation, *_ = self._envs[env].step(actions)
        error = observation["last_action_error"]
        for _ in range(LOOKS):
            if error or urlsplit(observation["url"])[2:4] == urlsplit(step["path"])[2:4]:
                break
            observation, *_ = self._envs[env].step("noop(0)")
        return StepResult(watch.ms(), observation["url"], error)

    def close(self) -> None:
        for env in self._envs.values():
            env.close()


if __name__ == "__main__":
    BrowserType.launch = partialmethod(BrowserType.launch, executable_path=sys.argv[1])  # type: ignore[method-assign]
    serve(BrowserGym(WAITS[sys.argv[2]]))
