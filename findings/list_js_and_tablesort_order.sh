#!/usr/bin/env bash
# list.js 2.3.1 and tablesort 5.6.0 (npm): the order of a list or table that a page sorts.
#
# Guess: ascending numbers begin with the smallest one, and ascending dates in ISO form with the first one.
# Seen:  list.js has 4.5 before 4.25, -5 before -12, and $1,250.00 before $8.50. tablesort with its plugins "number" and "date" sorts
#        numbers correctly, but has 2026-01-05 before 2025-12-31; without the plugin "date" it does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund list.js@2.3.1 tablesort@5.6.0 jsdom@29.1.1
cat > sort.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { JSDOM } from "jsdom";

const script = (name) => `<script>${readFileSync(`node_modules/${name}`, "utf8")}</script>`;
const page = (body) => new JSDOM(`<!doctype html><body>${body}`, { runScripts: "dangerously" }).window;
const texts = (window, selector) => [...window.document.querySelectorAll(selector)].map((element) => element.textContent).join(" ");

function byListJs(values) {
  const items = values.map((value) => `<li><span class="price">${value}</span></li>`).join("");
  const window = page(`<div id="shop"><ul class="list">${items}</ul></div>${script("list.js/dist/list.min.js")}`);
  new window.List("shop", { valueNames: ["price"] }).sort("price", { order: "asc" });
  return texts(window, "li");
}

function byTablesort(values, plugins) {
  const rows = values.map((value) => `<tr><td>${value}</td></tr>`).join("");
  const scripts = ["tablesort.min.js", ...plugins.map((name) => `sorts/tablesort.${name}.min.js`)].map((name) => script(`tablesort/dist/${name}`));
  const window = page(`<table><thead><tr><th>Value</th></tr></thead><tbody>${rows}</tbody></table>${scripts.join("")}`);
  new window.Tablesort(window.document.querySelector("table"));
  window.document.querySelector("th").click();
  return texts(window, "td");
}

function check(name, seen, expected) {
  console.log(`${name}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}

const numbers = ["4.5", "10", "4.25", "0.9"];
const prices = ["$99.00", "$8.50", "$1,250.00"];
const balances = ["-5", "3", "-12"];
const dates = ["2026-01-05", "2025-12-31", "2025-02-01"];
check("list.js, numbers", byListJs(numbers), "0.9 4.5 4.25 10");
check("list.js, prices", byListJs(prices), "$1,250.00 $8.50 $99.00");
check("list.js, balances", byListJs(balances), "-5 -12 3");
check("list.js, dates", byListJs(dates), "2025-02-01 2025-12-31 2026-01-05");
check("tablesort, numbers", byTablesort(numbers, ["number", "date"]), "0.9 4.25 4.5 10");
check("tablesort, prices", byTablesort(prices, ["number", "date"]), "$8.50 $99.00 $1,250.00");
check("tablesort, balances", byTablesort(balances, ["number", "date"]), "-12 -5 3");
check("tablesort, dates", byTablesort(dates, ["number", "date"]), "2025-02-01 2026-01-05 2025-12-31");
check("tablesort without the plugin, dates", byTablesort(dates, ["number"]), "2025-02-01 2025-12-31 2026-01-05");
process.exit(0);
JAVASCRIPT
node sort.mjs
