"""The plugins for verifiers, under a name of one word, as it looks for them: `vf-eval webarena-gym-tasks`."""

from webarena_gym.integrations.verifiers import WebArenaGymEnv, WebArenaGymHarness, WebArenaGymTaskset

__all__ = ["WebArenaGymEnv", "WebArenaGymHarness", "WebArenaGymTaskset"]
