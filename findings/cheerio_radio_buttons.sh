#!/usr/bin/env bash
# cheerio 1.2.0 (npm): choosing a radio button, and the fields of a form.
#
# Guess: `$("input").val(["2"])` checks the radio button with the value 2, as in jQuery, and `serialize` leaves out the fields of a
#        disabled `fieldset`.
# Seen:  it sets the value of each radio button and checkbox to "2" and checks none. Fields of a disabled `fieldset` are serialized.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund cheerio@1.2.0
cat > form.mjs <<'JAVASCRIPT'
import * as cheerio from "cheerio";

function check(name, seen, expected) {
  console.log(`${name}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}

const radio = cheerio.load("<form><input type=radio name=size value=1><input type=radio name=size value=2></form>");
radio("input").val(["2"]);
check("values", radio("input").map((_, element) => radio(element).attr("value")).get().join(), "2,2");
check("checked", radio("input:checked").length, 0);
check("form", radio("form").serialize(), "");

const boxes = cheerio.load("<form><input type=checkbox name=c value=a><input type=checkbox name=c value=b></form>");
boxes("input").val(["b"]);
check("values of checkboxes", boxes("input").map((_, element) => boxes(element).attr("value")).get().join(), "b,b");

const list = cheerio.load("<form><select name=s><option value=1>A<option value=2>B</select></form>");
list("select").val("2");
check("list", list("form").serialize(), "s=2");

const fields = cheerio.load("<form><fieldset disabled><input name=a value=1></fieldset><input name=b value=2></form>");
check("disabled fieldset", fields("form").serialize(), "a=1&b=2");
JAVASCRIPT
node form.mjs
