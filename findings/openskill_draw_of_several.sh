#!/usr/bin/env bash
# openskill 6.2.0: the ratings of new players after one draw of all of them, by each model.
#
# Guess: a draw moves the ratings towards each other, and the order stays.
# Seen:  `ThurstoneMostellerFull` overshoots, as it adds the corrections of all pairs: five players with 20, 22, 24, 26 and 28 have
#        28, 26, 24, 22 and 20 after the draw, so that the last one is the first. The other four models keep the order.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openskill==6.2.0
"$folder/venv/bin/python" - <<'PYTHON'
from openskill.models import BradleyTerryFull, BradleyTerryPart, PlackettLuce, ThurstoneMostellerFull, ThurstoneMostellerPart

for model in (PlackettLuce, BradleyTerryFull, BradleyTerryPart, ThurstoneMostellerPart, ThurstoneMostellerFull):
    for before in ([20, 30], [24, 25, 26], [20, 22, 24, 26, 28]):
        players = [[model().rating(mu=mu)] for mu in before]
        after = [round(player.mu, 1) for [player] in model().rate(players, ranks=[1] * len(players))]
        print(f"{model.__name__}: {before} becomes {after}")
        if model is ThurstoneMostellerFull and len(before) > 2:
            assert after == sorted(after, reverse=True), "the behaviour has changed; expected the reverse order"
        else:
            assert after == sorted(after) and before[0] < after[0] and after[-1] < before[-1]
    if model is ThurstoneMostellerFull:
        assert after == before[::-1], "the behaviour has changed"
PYTHON
