#!/usr/bin/env bash
# @formulajs/formulajs 4.6.1 and hyperformula 3.5.0 (npm): conditions and texts of a spreadsheet.
#
# Guess: conditions of COUNTIF and SUMIF ignore case and have wildcards, and SEARCH, VALUE and TEXT return what Excel returns. The readme
#        lists the differences from Excel, which are others.
# Seen:  in Formula.js "hat" does not count "Hat", and "red*" counts nothing, although MATCH ignores case. SEARCH has no
#        wildcards, VALUE("abc") is 0, TEXT(5, "000") is "5", and TIME(25, 0, 0) is more than a day. HyperFormula has Excel's values.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund hyperformula@3.5.0 @formulajs/formulajs@4.6.1
cat > conditions.mjs <<'JAVASCRIPT'
import * as formulas from "@formulajs/formulajs";
import { HyperFormula } from "hyperformula";

const names = ["red mug", "Red cup", "hat", "Hat"];
const prices = [1, 2, 4, 8];
const sheet = HyperFormula.buildFromArray([names, prices], { licenseKey: "gpl-v3" });
for (const [formula, value, excel, expected] of [
  ['COUNTIF(A1:D1,"hat")', formulas.COUNTIF(names, "hat"), 2, 1],
  ['COUNTIF(A1:D1,"<>hat")', formulas.COUNTIF(names, "<>hat"), 2, 3],
  ['COUNTIF(A1:D1,"red*")', formulas.COUNTIF(names, "red*"), 2, 0],
  ['SUMIF(A1:D1,"hat",A2:D2)', formulas.SUMIF(names, "hat", prices), 12, 4],
  ['SUMIF(A1:D1,"red*",A2:D2)', formulas.SUMIF(names, "red*", prices), 3, 0],
  ['AVERAGEIF(A1:D1,"hat",A2:D2)', formulas.AVERAGEIF(names, "hat", prices), 6, 4],
  ['SUMIFS(A2:D2,A1:D1,"hat")', formulas.SUMIFS(prices, names, "hat"), 12, 4],
  ['MATCH("HAT",A1:D1,0)', formulas.MATCH("HAT", names, 0), 3, 3],
  ['SEARCH("m?g","red mug")', formulas.SEARCH("m?g", "red mug"), 5, "#VALUE!"],
  ['VALUE("12%")', formulas.VALUE("12%"), 0.12, 0.12],
  ['VALUE("abc")', formulas.VALUE("abc"), "#VALUE!", 0],
  ['TEXT(5,"000")', formulas.TEXT(5, "000"), "005", "5"],
  ["ROUND(TIME(25,0,0)*24,6)", formulas.ROUND(formulas.TIME(25, 0, 0) * 24, 6), 1, 25],
]) {
  const write = (result) => (result instanceof Error ? result.message : result);
  const other = sheet.calculateFormula(`=${formula}`, 0);
  console.log(`${formula}: Excel ${excel}, HyperFormula ${other.value ?? other}, Formula.js ${write(value)}`);
  if ((other.value ?? other) !== excel) throw new Error(`HyperFormula has changed; expected ${excel}`);
  if (write(value) !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node conditions.mjs
