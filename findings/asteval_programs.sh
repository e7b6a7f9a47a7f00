#!/usr/bin/env bash
# asteval 1.0.10: programs in Interpreter and in CPython.
#
# Guess: a program has the result that Python has, or is an error that names what is not supported, as classes and generators are.
# Seen:  `finally` is skipped after `break`, `continue` and `return`; `{**a}` has the key None; a list that is extended with += is a new
#        list; `except ValueError` is skipped when a list has another length than the names it is assigned to; and functions use the
#        variables of their caller.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet asteval==1.0.10
"$folder/venv/bin/python" - <<'PYTHON'
import subprocess
import sys

from asteval import Interpreter

broken = "r = []\nfor i in [0, 1, 2]:\n    try:\n        if i == 1:\n            {}\n    finally:\n        r.append(i)\nresult = r"
for name, program, right, seen in (
    ("a function", "def f(x):\n    return x + 1\nresult = f(1)", "2", "2"),
    ("finally", broken.format("pass"), "[0, 1, 2]", "[0, 1, 2]"),
    ("finally after break", broken.format("break"), "[0, 1]", "[0]"),
    ("finally after continue", broken.format("continue"), "[0, 1, 2]", "[0, 2]"),
    ("finally after return", "r = []\ndef f():\n    try:\n        return 1\n    finally:\n        r.append(1)\nf()\nresult = r", "[1]", "[]"),
    ("a merged dict", "a = {'x': 1}\nresult = {**a, 'y': 2}", "{'x': 1, 'y': 2}", "{None: {'x': 1}, 'y': 2}"),
    ("a list with two names", "a = [1]\nb = a\nb += [2]\nresult = a", "[1, 2]", "[1]"),
    ("two names in try", "result = 0\ntry:\n    a, b = [1, 2, 3]\nexcept ValueError:\n    result = 1", "1", "0"),
    ("a caller's variable", "n = 1\ndef g():\n    return n\ndef f():\n    n = 5\n    return g()\nresult = f()", "1", "5"),
    ("a lambda of a function", "def f(n):\n    return lambda x: x + n\ng = f(1)\nn = 100\nresult = g(1)", "2", "101"),
):
    process = subprocess.run([sys.executable, "-c", program + "\nprint(result)"], capture_output=True, text=True)
    in_python = process.stdout.strip() or process.stderr.strip().splitlines()[-1].split(":")[0]
    interpreter = Interpreter()
    interpreter(program)
    assert not interpreter.error, f"the behaviour has changed: {interpreter.error}"
    here = repr(interpreter.symtable["result"])
    print(f"{name}: {in_python} in Python, {here} in asteval")
    assert in_python == right, "the behaviour of Python has changed"
    assert here == seen, f"the behaviour has changed; expected {seen}"
PYTHON
