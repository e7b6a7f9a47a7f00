#!/usr/bin/env bash
# nunjucks 3.2.4 (npm) and jinja2 3.1.6: prompts of an agent from one template.
#
# Guess: what nunjucks, which is inspired by Jinja, accepts has the result that it has in jinja2, or what it does not support is an error.
# Seen:  a loop with a condition and a loop over the keys of an object write nothing, and so does the last element with the index -1. An empty
#        list is true, "selectattr" ignores its test, the sum of an attribute is NaN, and -7 % 3 is -1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jinja2==3.1.6
cd "$folder"
npm install --silent --no-audit --no-fund nunjucks@3.2.4
cat > render.cjs <<'JAVASCRIPT'
const nunjucks = require("nunjucks");

const { templates, values } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
nunjucks.configure({ autoescape: false });
console.log(JSON.stringify(templates.map((template) => nunjucks.renderString(template, values))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from jinja2 import Environment

VALUES = {
    "pages": ["home", "cart"],
    "errors": [],
    "counts": {"mug": 1, "cup": 2},
    "products": [{"name": "mug", "price": 5}, {"name": "cup", "price": 9.5}],
}
CASES = (  # template, text in nunjucks, text in jinja2
    ("{{ pages[0] }} {{ pages | last }}", "home cart", "home cart"),
    ("{{ pages[-1] }}", "", "cart"),
    ("{% for page in pages %}{{ loop.index }} {{ page }} {% endfor %}", "1 home 2 cart ", "1 home 2 cart "),
    ("{% for item in products if item.price > 6 %}{{ item.name }}{% endfor %}", "", "cup"),
    ("{% for name in counts %}{{ name }} {% endfor %}", "", "mug cup "),
    ("{% if errors %}Errors: {{ errors | length }}{% else %}No errors{% endif %}", "Errors: 0", "No errors"),
    ("{{ products | selectattr('price', 'gt', 6) | list | length }}", "2", "1"),
    ("{{ products | sum(attribute='price') }}", "NaN", "14.5"),
    ("{{ -7 % 3 }}", "-1", "2"),
    ("{% set n = 0 %}{% for page in pages %}{% set n = n + 1 %}{% endfor %}{{ n }}", "2", "0"),
)
task = json.dumps({"templates": [template for template, *_ in CASES], "values": VALUES})
output = subprocess.run(["node", "render.cjs"], input=task, capture_output=True, text=True, check=True).stdout
for (template, *expected), in_nunjucks in zip(CASES, json.loads(output), strict=True):
    seen = [in_nunjucks, Environment().from_string(template).render(VALUES)]
    print(f"{template}: nunjucks {seen[0]!r}, jinja2 {seen[1]!r}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
