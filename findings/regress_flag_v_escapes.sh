#!/usr/bin/env bash
# regress 2026.9.1: escapes that JavaScript refuses, with the flag v.
#
# Guess: Regex(pattern, "v") raises RegressError for the syntax errors of JavaScript's flag v.
# Seen:  "\h", "\A", "\Q", "(a)\2" and "a{,5}" compile, as they do without flags. With "uv" they are errors. JavaScript itself
#        refuses both flags together. A form's `pattern` with such an escape is ignored by browsers, and checked with "v" alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet regress==2026.9.1
"$folder/venv/bin/python" - <<'PYTHON'
from regress import Regex, RegressError


def compiles(pattern, flags):
    try:
        Regex(pattern, flags)
    except RegressError:
        return False
    return True


for pattern in (r"\h", r"\A", r"\Q", r"(a)\2", "a{,5}"):
    print(f"{pattern}: with v {compiles(pattern, 'v')}, with uv {compiles(pattern, 'uv')}")
    assert compiles(pattern, "v")
    assert not compiles(pattern, "uv")
assert not compiles("[a-z-]", "v")
PYTHON
