"""Web-agent reinforcement learning that anyone can run: `import webarena_gym`, then `gymnasium.make("WebArenaLite-v0")`."""

import gymnasium

__version__ = "0.1.0"

gymnasium.register(
    id="WebArenaLite-v0",
    entry_point="webarena_gym.env:WebArenaLite",
    vector_entry_point="webarena_gym.vector:WebArenaLiteVector",
)
gymnasium.register(id="WebArenaLiteCandidates-v0", entry_point="webarena_gym.candidates:make")
gymnasium.register(id="MiniWoBText-v0", entry_point="webarena_gym.miniwob:MiniWobText")
