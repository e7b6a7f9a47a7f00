#!/usr/bin/env bash
# ragas 0.4.3: what `pip install ragas` installs (langchain-community 0.4.2).
#
# Guess: the package can be imported.
# Seen:  `import ragas` is a ModuleNotFoundError: it imports a module that langchain-community no longer has since 0.4.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ragas==0.4.3 langchain-community==0.4.2
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

print({package: version(package) for package in ("ragas", "langchain-community")})
try:
    import ragas  # noqa: F401
except ModuleNotFoundError as error:
    print(type(error).__name__, error)
    assert error.name == "langchain_community.chat_models.vertexai"
else:
    raise AssertionError("the behaviour has changed: no error")
PYTHON
