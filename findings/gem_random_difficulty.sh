#!/usr/bin/env bash
# gem-llm 0.1.0 (GEM, a gym of text environments for language models): games that are registered with a random difficulty.
#
# Guess: each "game:...-random" draws its difficulty at each reset, and can be played like the variants with a fixed one.
# Seen:  two of six that need no download fail as soon as they are made or reset, since the difficulty stays None. The crossword
#        imports pandas, which the package does not require, so that the script installs it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gem-llm==0.1.0 pandas==3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import gem


def outcome(name):
    try:
        env = gem.make(name)
        for seed in range(5):
            env.reset(seed=seed)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    return "playable"


expected = {
    "game:Crosswords-v0-random": "ValueError",
    "game:FifteenPuzzle-v0-random": "TypeError",
    "game:GuessTheNumber-v0-random": "playable",
    "game:Mastermind-v0-random": "playable",
    "game:Minesweeper-v0-random": "playable",
    "game:Sokoban-v0-random": "playable",
    "game:Crosswords-v0-easy": "playable",
    "game:FifteenPuzzle-v0-easy": "playable",
}
for name, behaviour in expected.items():
    seen = outcome(name)
    print(name, "->", seen)
    assert seen == behaviour, f"the behaviour has changed; expected {behaviour}"
PYTHON
