"""The snippets of the guides use-it-from and train-with-trl run as printed, each if its library is installed, without a GPU."""

import importlib.util
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.chat_server import call_of, serving_chat
from webarena_gym.actions import Action, Kind

pytestmark = pytest.mark.integrations
ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
SECTIONS = dict(
    re.findall(r"^##+ ([^\n]*)\n(.*?)(?=^##+ |\Z)", (GUIDES / "use-it-from.md").read_text(), re.MULTILINE | re.DOTALL)
)
SECTIONS["BrowserGym"] += SECTIONS.pop("The adapter")
SECTIONS["TRL"] = (GUIDES / "train-with-trl.md").read_text()
LIBRARIES = {
    "BrowserGym": "browsergym.core", "TRL": "trl", "Inspect AI": "inspect_ai", "verifiers": "verifiers",
    "OpenEnv": "openenv.core", "SkyRL": "skyrl_gym", "NeMo Gym": "nemo_gym", "Stable-Baselines3": "sb3_contrib", "CleanRL": "torch",
    "Tianshou": "tianshou", "TorchRL": "torchrl", "RLlib": "ray.rllib tree", "skrl": "skrl", "Minari": "minari h5py jax",
}  # fmt: skip
"""The modules that have to be there for the snippets of a section."""


def blocks(section):
    """Return language and text of each block, without installations, and without those that say why they are not run."""
    found = re.findall(r"^(<!-- not run: .*? -->\n)?```(python|sh)\n(.*?)^```$", SECTIONS[section], re.MULTILINE | re.DOTALL)
    if section == "TRL":  # its other commands need a checkpoint; tests/test_documents.py runs the snippet without TRL
        return [
            (language, as_settings(text)) for excuse, language, text in found if language == "python" and "yours" not in excuse
        ]
    return [(language, text) for excuse, language, text in found if not excuse and not text.startswith("pip install")]


def as_settings(code):
    """Return a program with settings for a GPU as one that also makes its GRPOConfig with them, on a CPU and without vLLM."""
    check = 'GRPOConfig(output_dir="runs/trl", **GPU | {"use_vllm": False, "use_cpu": True, "bf16": False})\n'
    return code + check if "\nGPU = {" in code else code


def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def give_up(payload):
    return call_of(Action(Kind.EXIT, None, "N/A")) if payload.get("tools") else {"content": 'exit(message="N/A")'}


@contextmanager
def background(code, environment, folder):
    """Run a server until what follows is done."""
    with subprocess.Popen(["sh", "-c", code], cwd=folder, env=environment, start_new_session=True) as server:
        try:
            end = time.monotonic() + 120
            while time.monotonic() < end and server.poll() is None:
                with suppress(OSError), urllib.request.urlopen("http://localhost:8000/health"):
                    break
                threading.Event().wait(0.1)
            assert server.poll() is None, "the server has ended; is its port taken?"
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)


def tiny_qwen(folder):
    """Stand in for the models that snippets name: Transformers takes a folder of that name before it asks the Hub."""
    from tests.integrations.test_trl import make_tokenizer, tiny_model  # noqa: PLC0415

    tokenizer = make_tokenizer()
    for each in (tokenizer, tiny_model(tokenizer)):
        for name in ("Qwen3-0.6B", "Qwen3-1.7B"):
            each.save_pretrained(folder / "Qwen" / name)


@pytest.mark.parametrize("section", LIBRARIES)
def test_the_snippets_of_a_section_run(section, tmp_path):
    if not all(is_there(name) for name in LIBRARIES[section].split()):
        pytest.skip("make test-integrations")
    if section == "TRL":
        tiny_qwen(tmp_path)
        for export in re.findall(r"^python (-m agents\.demonstrations .*)$", SECTIONS[section], re.MULTILINE):
            words = shlex.split(export.replace("--out ", f"--out {tmp_path}/", 1))
            if "--templates" not in words:  # all templates take longer
                words += ["--templates", "shopping.product_price", "map.place_phone"]
            subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # what is installed must do
    environment["MINARI_DATASETS_PATH"] = str(tmp_path / "minari")
    with serving_chat(give_up) as (_, address):
        environment |= {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "x"}
        environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        output = run(blocks(section), environment, tmp_path)
    if section == "Stable-Baselines3":
        assert float(output.splitlines()[-1]) > 0.4  # what it earns in a world that it has not seen
    if section == "Tianshou":
        assert output == "4 tasks\n"  # the copies have different seeds
    if section == "Minari":
        assert [line.split()[0].split("/")[1:] for line in output.splitlines()] == [["1000", "2"], ["1000", "0"], ["1000", "0"]]
    if section == "Inspect AI":
        assert "success" in output.splitlines()[-1]


def run(todo, environment, folder):
    """Run blocks one after the other; the first that fails is told. Return what the last said."""
    output = ""
    for place, (language, code) in enumerate(todo):
        if code.startswith("uvicorn"):
            with background(code, environment, folder):
                return run(todo[place + 1 :], environment, folder)
        command = [sys.executable, "-c", code] if language == "python" else ["sh", "-ec", code]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False)
        output = done.stdout
        assert done.returncode == 0, f"{code}\n{output[-2000:]}\n{done.stderr[-3000:]}"
    return output


def test_install_commands_of_the_guide_match_those_of_the_makefile():
    expected = dict(
        re.findall(r"^needs_(\w+) := (.*?)$", (ROOT / "Makefile").read_text().replace("$(TORCH)", "torch"), re.MULTILINE)
    )
    of = {
        "BrowserGym": "browsergym", "TRL": "trl", "Inspect AI": "inspect_ai", "verifiers": "verifiers",
        "OpenEnv": "openenv", "SkyRL": "skyrl",
    }  # fmt: skip
    for section, library in of.items():
        packages = re.search(r"pip install (?!--no-deps)([^`;\n]*)", SECTIONS[section]).group(1)
        installed = expected[library]
        # Tests of adapters that hand on pictures try these as well.
        assert names(packages) in (names(installed), names(installed.replace(".[chromium]", "."))), section


def names(requirements):
    return {re.split(r"[=<>~]", each)[0] for each in requirements.replace("'", "").split()}


def test_every_snippet_is_short_and_can_be_read():
    for section in SECTIONS:
        for language, code in blocks(section):
            assert section == "TRL" or len(code.splitlines()) <= 27, section  # the TRL page has longer programs
            if language == "python":
                compile(code, section, "exec")
