"""The adapter of this package, one env after the other: `python -m benchmarks.peers.package_adapter inprocess` (or `chromium`)."""

import sys
from typing import Any

import gymnasium

import webarena_gym  # noqa: F401 - registers the env
from benchmarks.peers.lines import StepResult, Watch, serve

WHOLE = 10**9  # characters of a window that shows whole pages, like the others


class Package:
    """Envs of this package with default settings."""

    def __init__(self, browser: str) -> None:
        self._browser = browser
        self._envs: dict[int, Any] = {}

    def reset(self, env: int, episode: dict[str, Any]) -> StepResult:
        if env not in self._envs:
            made = gymnasium.make("WebArenaLite-v0", split="test", browser=self._browser, window=WHOLE, max_steps=60)
            self._envs[env] = made.unwrapped
        watch = Watch()
        _, info = self._envs[env].reset(options={"task": episode["task_id"]})
        return StepResult(watch.ms(), info["url"])

    def step(self, env: int, step: dict[str, Any]) -> StepResult:
        watch = Watch()
        _, _, _, _, info = self._envs[env].step(step["reply"])
        return StepResult(watch.ms(), info["url"], info.get("failure") or info["action_error"])

    def close(self) -> None:
        for env in self._envs.values():
            env.close()


if __name__ == "__main__":
    serve(Package(sys.argv[1]))
