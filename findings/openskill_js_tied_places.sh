#!/usr/bin/env bash
# openskill 5.0.1 (npm) and openskill 6.2.0 (PyPI): new players with equal places.
#
# Guess: players with equal ratings and equal places have equal ratings afterwards, and both languages return the same.
# Seen:  with `bradleyTerryPart` and `thurstoneMostellerPart` of npm, the first of two players on the second place has the rating of a third
#        place: 22.36 against 25.0, both 23.68 in Python. With the other three models they are equal in both languages.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openskill==6.2.0
cd "$folder"
npm install --silent --no-audit --no-fund openskill@5.0.1
cat > rate.mjs <<'JAVASCRIPT'
import { rate, rating } from "openskill";
import * as models from "openskill/models";

const names = ["plackettLuce", "bradleyTerryFull", "thurstoneMostellerFull", "bradleyTerryPart", "thurstoneMostellerPart"];
const results = names.map((name) => {
  const teams = rate([[rating()], [rating()], [rating()]], { model: models[name], rank: [1, 2, 2] });
  return [name, teams.map(([player]) => Number(player.mu.toFixed(2)))];
});
console.log(JSON.stringify(Object.fromEntries(results)));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from openskill import models

EXPECTED = {  # the means of the players on the places 1, 2 and 2: in JavaScript and in Python
    "PlackettLuce": ([27.87, 23.57, 23.57], [27.87, 23.57, 23.57]),
    "BradleyTerryFull": ([30.27, 22.36, 22.36], [30.27, 22.36, 22.36]),
    "ThurstoneMostellerFull": ([33.46, 20.77, 20.77], [33.46, 20.77, 20.77]),
    "BradleyTerryPart": ([27.64, 22.36, 25.0], [27.64, 23.68, 23.68]),
    "ThurstoneMostellerPart": ([27.11, 22.89, 25.0], [27.11, 23.95, 23.95]),
}
in_javascript = json.loads(subprocess.run(["node", "rate.mjs"], capture_output=True, text=True, check=True).stdout)
for name, expected in EXPECTED.items():
    model = getattr(models, name)()
    teams = model.rate([[model.rating()] for _ in range(3)], ranks=[1, 2, 2])
    seen = in_javascript[name[0].lower() + name[1:]], [round(player.mu, 2) for (player,) in teams]
    print(f"{name}: {seen[0]} in JavaScript, {seen[1]} in Python")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
