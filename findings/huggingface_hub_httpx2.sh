#!/usr/bin/env bash
# huggingface_hub 2.4.0: the exceptions of the HTTP client.
#
# Guess: errors of the connection are those of httpx (as in huggingface_hub 1.x), so that `except httpx.HTTPError`
#        catches them.
# Seen:  they are exceptions of the package httpx2. httpx is not installed; where it is, its classes are unrelated, and
#        such a handler catches nothing. HfHubHTTPError is a subclass of httpx2.HTTPError and of OSError, a refused
#        connection (httpx2.ConnectError) of neither.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet huggingface_hub==2.4.0 httpx==0.28.1
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import socket

import httpx
import httpx2
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

names = [requirement.split()[0] for requirement in importlib.metadata.requires("huggingface_hub") if "extra" not in requirement]
print("requires:", names)
assert any(name.startswith("httpx2") for name in names) and not any(name.startswith(("httpx<", "httpx>")) for name in names)
print("HfHubHTTPError:", [base.__module__ + "." + base.__name__ for base in HfHubHTTPError.__mro__[1:3]])
assert issubclass(HfHubHTTPError, httpx2.HTTPError) and issubclass(HfHubHTTPError, OSError)
assert not issubclass(HfHubHTTPError, httpx.HTTPError), "the behaviour has changed"
with socket.socket() as closed:
    closed.bind(("127.0.0.1", 0))
    endpoint = f"http://127.0.0.1:{closed.getsockname()[1]}"
try:
    HfApi(endpoint=endpoint).model_info("owner/model")
except Exception as error:
    print("connection refused:", type(error).__module__, type(error).__name__)
    assert isinstance(error, httpx2.ConnectError) and not isinstance(error, (OSError, httpx.HTTPError)), "the behaviour has changed"
else:
    raise AssertionError("the behaviour has changed: no error")
PYTHON
