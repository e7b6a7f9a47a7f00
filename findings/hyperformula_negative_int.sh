#!/usr/bin/env bash
# hyperformula 3.5.0 and @formulajs/formulajs 4.6.1 (npm): whole and rounded numbers of a spreadsheet.
#
# Guess: INT rounds down and ROUND rounds halves of the decimal number away from zero, as in Excel, so that MOD(n, d) is n - d * INT(n / d).
# Seen:  in hyperformula INT(-2.5) is -2, as TRUNC is, and MOD is not that difference. ROUND(1.005, 2) is 1 and ROUND(0.285, 2) 0.28,
#        although it compares 0.1 + 0.2 with 0.3 as Excel does. Formula.js has Excel's values for these, but not for FLOOR(0.7, 0.1).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund hyperformula@3.5.0 @formulajs/formulajs@4.6.1
cat > numbers.mjs <<'JAVASCRIPT'
import * as formulas from "@formulajs/formulajs";
import { HyperFormula } from "hyperformula";

const sheet = HyperFormula.buildFromArray([[]], { licenseKey: "gpl-v3" });
for (const [name, numbers, excel, inHyperFormula, inFormulaJs] of [
  ["INT", [2.5], 2, 2, 2],
  ["INT", [-2.5], -3, -2, -3],
  ["INT", [-0.5], -1, 0, -1],
  ["TRUNC", [-2.5], -2, -2, -2],
  ["MOD", [-3, 2], 1, 1, 1],
  ["ROUND", [2.5, 0], 3, 3, 3],
  ["ROUND", [1.45, 1], 1.5, 1.5, 1.5],
  ["ROUND", [1.005, 2], 1.01, 1, 1.01],
  ["ROUND", [-1.005, 2], -1.01, -1, -1.01],
  ["ROUND", [0.285, 2], 0.29, 0.28, 0.29],
  ["ROUND", [39.425, 2], 39.43, 39.42, 39.43],
  ["FLOOR", [0.7, 0.1], 0.7, 0.6, 0.6],
]) {
  const seen = [sheet.calculateFormula(`=${name}(${numbers.join()})`, 0), formulas[name](...numbers)].map((value) => Number(value.toFixed(9)) + 0);
  console.log(`${name}(${numbers.join(", ")}): Excel ${excel}, HyperFormula ${seen[0]}, Formula.js ${seen[1]}`);
  if (seen[0] !== inHyperFormula || seen[1] !== inFormulaJs) throw new Error(`the behaviour has changed; expected ${[inHyperFormula, inFormulaJs]}`);
}
const difference = sheet.calculateFormula("=-3-2*INT(-3/2)", 0);
console.log(`-3 - 2 * INT(-3 / 2): ${difference}`);
if (difference !== -1) throw new Error("the behaviour has changed; expected -1");
if (sheet.calculateFormula("=0.1+0.2=0.3", 0) !== true) throw new Error("comparisons have changed");
JAVASCRIPT
node numbers.mjs
