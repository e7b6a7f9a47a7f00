#!/usr/bin/env bash
# rlcard 1.2.0: an action that is not legal.
#
# Guess: `step` raises an error, or the game does not change.
# Seen:  another action is played. A raise too many in limit hold'em is a fold, which loses the game; in Dou Dizhu a card is played that
#        the player does not hold, and the hand stays as it is. An agent without a mask is trained on games that it did not play.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet rlcard==1.2.0 numpy==2.4.6 termcolor==3.3.0
"$folder/venv/bin/python" - <<'PYTHON'
import rlcard

env = rlcard.make("limit-holdem", config={"seed": 1})
state, player = env.reset()
while "raise" in state["raw_legal_actions"]:
    state, player = env.step(env.actions.index("raise"))
print(f"legal: {state['raw_legal_actions']}")
assert state["raw_legal_actions"] == ["call", "fold"]
env.step(env.actions.index("raise"))
print(f"limit-holdem: played {env.action_recorder[-1][1]}, game over {env.is_over()}, payoffs {env.get_payoffs()}")
assert (env.action_recorder[-1], env.is_over()) == ((player, "fold"), True), "the behaviour has changed"
assert env.get_payoffs()[player] < 0

env = rlcard.make("doudizhu", config={"seed": 1})
state, player = env.reset()
hand = state["raw_obs"]["current_hand"]
missing = next(card for card in "3456789" if card not in hand)
action = next(number for number in range(env.num_actions) if env._decode_action(number) == missing)
assert action not in state["legal_actions"]
env.step(action)
left = env.game.players[player].current_hand
print(f"doudizhu: hand {hand}, played {env.action_recorder[-1][1]}, {len(left)} cards are left of {len(hand)}")
assert env.action_recorder[-1] == (player, missing), "the behaviour has changed"
assert len(left) == len(hand) == 20
PYTHON
