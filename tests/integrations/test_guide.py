"""The snippets of docs/guides/use-it-from.md run as they stand, each where its library is installed."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integrations
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "use-it-from.md"
NEEDS = {
    "Gymnasium": "gymnasium", "BrowserGym": "browsergym", "SkyRL": "skyrl_gym", "Stable-Baselines3": "sb3_contrib", "CleanRL": "torch",
    "Tianshou": "tianshou", "TorchRL": "torchrl", "RLlib": "ray.rllib",
}  # fmt: skip
"""Those that run by themselves; the tests of TRL, Inspect AI, verifiers and OpenEnv run the same with a model or a server of their own."""

ANY_CHROMIUM = """\
from playwright.sync_api import BrowserType
launch = BrowserType.launch
BrowserType.launch = lambda self, **options: launch(self, **{**options, "executable_path": %r})
"""


def snippets():
    title, found = "", {}
    for part in re.split(r"^(#+ .*)$", GUIDE.read_text(), flags=re.MULTILINE):
        if part.startswith("#"):
            title = part.lstrip("# ")
        else:
            found.setdefault(title, []).extend(re.findall(r"^```python\n(.*?)^```$", part, flags=re.MULTILINE | re.DOTALL))
    return found


def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("library", NEEDS)
def test_a_snippet_runs(library, tmp_path):
    if not is_there(NEEDS[library]):
        pytest.skip("make test-integrations")
    (code,) = snippets()[library]
    if library == "BrowserGym" and (found := shutil.which("chromium") or shutil.which("google-chrome")):
        code = ANY_CHROMIUM % found + code
    path = tmp_path / "snippet.py"
    path.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(GUIDE.parents[2])}
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_snippet_is_short_and_can_be_read():
    for library, codes in snippets().items():
        for code in codes:
            assert len(code.splitlines()) <= 25, library
            compile(code, library, "exec")
