"""What is published: it is built, its description can be shown, and what is installed of it plays an episode in a clean environment elsewhere."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

pytest.importorskip("build", reason="make test-integrations")
pytest.importorskip("twine", reason="make test-integrations")

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]


def do(*command, cwd):
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of both distributions, built from a copy of what is tracked."""
    folder = tmp_path_factory.mktemp("built")
    copy = folder / "copy"
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in names:
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    do(sys.executable, "-m", "build", "--outdir", folder / "dist", copy, cwd=folder)
    return folder / "dist"


def test_the_pinned_versions_support_the_lowest_declared_python(tmp_path):
    lowest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[1]
    uv = (sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-deps", "--python-version", f"{lowest}.0")
    do(*uv, "--output-file", tmp_path / "pins.txt", ROOT / "constraints.txt", cwd=tmp_path)


def test_both_can_be_uploaded(built):
    do(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir(), cwd=built)


def test_the_wheel_holds_the_package_alone_and_is_light(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        metadata = message_from_bytes(file.read(next(name for name in names if name.endswith("METADATA"))))
    assert {name.partition("/")[0] for name in names} == {
        "webarena_gym",
        "webarena_gym_tasks.py",  # the one module beside it, for verifiers, which looks for such
        next(n for n in names if "dist-info" in n).partition("/")[0],
    }
    assert {"webarena_gym/py.typed", "webarena_gym/suite/data/test.json"} <= set(names)
    assert wheel.stat().st_size < 3e6
    assert len([need for need in metadata.get_all("Requires-Dist") if "extra ==" not in need]) <= 7
    description = metadata.get_payload()
    links = re.findall(r"\]\(([^)]*)\)", description)
    assert [link for link in links if not link.startswith("https://")] == []
    assert "pip install webarena-gym" in description


def test_the_source_distribution_holds_no_tests_that_need_what_it_has_not(built):
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as file:
        folders = {name.split("/")[1] for name in file.getnames() if name.count("/") > 1}
    assert folders == {"webarena_gym", "webarena_gym.egg-info", "docs"}


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_an_installed_distribution_plays(built, tmp_path, kind):
    (distribution,) = built.glob(kind)
    do(sys.executable, "-m", "venv", "--without-pip", "clean", cwd=tmp_path)
    python = tmp_path / "clean" / "bin" / "python"
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    install = [uv, "pip", "install", "--quiet"] if uv else [sys.executable, "-m", "pip", "install", "--quiet"]
    do(*install, "--python", python, distribution, cwd=tmp_path)
    code = (
        "import gymnasium, webarena_gym; env = gymnasium.make('WebArenaLite-v0', split='test'); "
        "_, info = env.reset(seed=7); *_, info = env.step('exit(message=\"x\")'); print(webarena_gym.__file__, info['success'])"
    )
    where, success = do(python, "-c", code, cwd=tmp_path).split()
    assert (Path(where).is_relative_to(tmp_path), success) == (True, "False")
    command = tmp_path / "clean" / "bin" / "webarena-gym"
    output = do(command, "evaluate", "--agent", "expert", "--limit", "3", "--out", "run", "--json", cwd=tmp_path)
    assert json.loads(output.splitlines()[-1])["success"]["success"] == 1.0
    assert do(python, "-m", "webarena_gym", "--version", cwd=tmp_path).strip()
