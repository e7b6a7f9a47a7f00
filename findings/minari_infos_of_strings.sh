#!/usr/bin/env bash
# Minari 0.5.4: strings in infos.
#
# Guess: an info that is a str is a str when the dataset is read again, in either storage format.
# Seen:  with the default format "hdf5" it is bytes in an array of objects; with "arrow" it is a NumPy string. Texts in
#        observations and actions are str in both. A comparison of infos with a str is False for the default format.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "minari[create,hdf5,arrow]==0.5.4" gymnasium==1.4.0 pillow
cd "$folder"
cat > text_env.py <<'PYTHON'
import gymnasium
from gymnasium.spaces import Text


class TextEnv(gymnasium.Env):
    observation_space = Text(20)
    action_space = Text(20)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "start", {"goal": "buy"}

    def step(self, action):
        return "end", 1.0, True, False, {"goal": "buy"}
PYTHON
MINARI_DATASETS_PATH="$folder/data" "$folder/venv/bin/python" -W ignore - <<'PYTHON'
import gymnasium
import minari

gymnasium.register("TextEnv-v0", entry_point="text_env:TextEnv")
expected = {"hdf5": bytes, "arrow": str}
for data_format, kind in expected.items():
    collector = minari.DataCollector(gymnasium.make("TextEnv-v0"), record_infos=True, data_format=data_format)
    collector.reset(seed=0)
    collector.step("click")
    dataset = collector.create_dataset(f"web/{data_format}test-v0", algorithm_name="none", author="A", author_email="a@example.com",
                                       code_permalink="https://example.com", description="One episode.")  # fmt: skip
    episode = next(iter(dataset))
    goal = episode.infos["goal"][0]
    print(data_format, "->", repr(goal), episode.observations, episode.actions)
    assert isinstance(goal, kind) and (goal == "buy") is (kind is str), "the behaviour has changed"
    assert list(episode.observations) == ["start", "end"] and list(episode.actions) == ["click"], "the behaviour has changed"
PYTHON
