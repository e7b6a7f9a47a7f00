#!/usr/bin/env bash
# smolagents 1.26.0: LocalPythonExecutor, which executes the programs of a CodeAgent, and CPython.
#
# Guess: a program has the result that Python has, or is an error that names what is not supported, as `yield` and `nonlocal` are.
# Seen:  some parts of programs are ignored without an error: `else` of a loop, `@property`, and other decorators. A function without
#        `return` returns its last expression, defaults are evaluated at each call, missing and unknown arguments are no error, a starred
#        list is a list of one element, and what is indexed by a call in `a[f()] += 1` calls it twice.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet smolagents==1.26.0
"$folder/venv/bin/python" - <<'PYTHON'
import subprocess
import sys

from smolagents.local_python_executor import LocalPythonExecutor

for name, program, right, seen in (
    ("a function", "def f(x):\n    return x + 1\nresult = f(1)", "2", "2"),
    ("else of for", "result = 0\nfor i in [1, 2]:\n    pass\nelse:\n    result = 5", "5", "0"),
    ("else of while", "result = 0\nwhile result > 1:\n    pass\nelse:\n    result = 5", "5", "0"),
    ("no return", "def f():\n    5\nresult = f()", "None", "5"),
    ("a list as the default", "def f(x=[]):\n    x.append(1)\n    return len(x)\nf()\nresult = f()", "2", "1"),
    ("a variable as the default", "n = 1\ndef f(x=n):\n    return x\nn = 2\nresult = f()", "1", "2"),
    ("a decorator", "def d(f):\n    return lambda x: 2 * f(x)\n@d\ndef g(x):\n    return x + 1\nresult = g(1)", "4", "2"),
    ("a starred list", "result = [*[1, 2], 3]", "[1, 2, 3]", "[[1, 2], 3]"),
    ("an index", "calls = []\ndef f():\n    calls.append(1)\n    return 0\na = [1]\na[f()] += 1\nresult = len(calls)", "1", "2"),
    ("a missing argument", "def f(a, b):\n    return a\nresult = f(1)", "TypeError", "1"),
    ("an argument too many", "def f(a):\n    return a\nresult = f(1, 2)", "TypeError", "1"),
    ("an unknown argument", "def f(a):\n    return a\nresult = f(1, limit=5)", "TypeError", "1"),
):
    process = subprocess.run([sys.executable, "-c", program + "\nprint(result)"], capture_output=True, text=True)
    in_python = process.stdout.strip() or process.stderr.strip().splitlines()[-1].split(":")[0]
    executor = LocalPythonExecutor([])
    executor.send_tools({})
    here = repr(executor(program + "\nresult").output)
    print(f"{name}: {in_python} in Python, {here} in smolagents")
    assert in_python == right, "the behaviour of Python has changed"
    assert here == seen, f"the behaviour has changed; expected {seen}"
executor = LocalPythonExecutor([])
executor.send_tools({})
order = executor("class Order:\n    def __init__(self):\n        self.price = 5\n    @property\n    def total(self):\n        return 2 * self.price\nOrder().total")
print(f"a property: {type(order.output).__name__}")
assert type(order.output).__name__ == "method", "the behaviour has changed"
PYTHON
