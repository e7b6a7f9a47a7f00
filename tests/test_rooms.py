"""The rooms of `agents`: few on the top floor, imports between them in one direction, no import circle, no torch where none is needed."""

import dataclasses
import importlib
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter

import pytest

from agents.training.settings import STREAM_OPTIONS, TrainSettings, hidden_from_pointing_networks
from tests.test_layers import MODULES, ROOT, facts

ROOMS = {
    "command_lines": set(),
    "settings": {"command_lines"},
    "data": {"command_lines", "settings"},
    "models": {"command_lines", "settings", "data"},
    "rollouts": {"command_lines", "settings", "data", "models"},
    "training": {"command_lines", "settings", "data", "models", "rollouts"},
    "grpo": {"command_lines", "settings", "data", "models", "rollouts", "training"},
    "methods": {"command_lines", "settings", "data", "models", "rollouts", "training", "grpo"},
    "sb3": {"command_lines", "settings", "data", "models", "rollouts", "training"},
    "cluster": {"command_lines", "settings", "data", "models", "rollouts", "training", "grpo"},
    "evaluation": {"command_lines", "settings", "data", "models", "rollouts", "training", "methods", "sb3"},
    "integrations": {"command_lines", "settings", "data", "models", "rollouts"},
}
"""What each room may import from; commands, the modules on the top floor, may import from all."""


@cache
def graph():
    """Return for each module of `agents` and `benchmarks` the modules of both that it imports."""
    own = {name: path for name, path in MODULES.items() if not name.startswith("webarena_gym")}
    return {name: own.keys() & set(facts(path).imports) - {name} for name, path in own.items()}


def test_the_top_floor_has_at_most_ten_rooms():
    rooms = {path.name for path in (ROOT / "agents").iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert rooms == set(ROOMS) - {"command_lines", "settings", "sb3", "grpo"}
    assert len(rooms) <= 10


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_from_the_rooms_below_it_only(room):
    for module, imported in graph().items():
        parts = module.split(".")
        if parts[0] == "agents" and len(parts) > 1 and parts[1] == room:
            for name in imported:
                assert name.split(".")[:2] in [["agents", below] for below in {*ROOMS[room], room}], f"{module} imports {name}"


def test_there_is_no_circle_of_imports():
    list(TopologicalSorter(graph()).static_order())  # raises CycleError, which names the circle


KNOWS_POINTING_NETWORKS = {
    "agents.models.eyes", "agents.remember",
    "agents.evaluation.evaluate", "agents.models", "agents.models.critics", "agents.rollouts.pointer",
    "agents.agent_q", "agents.cluster.training", "agents.grpo", "agents.train_rl", "agents.average",
    "agents.training.pointer_cloning", "agents.training.pointing_networks",
    "benchmarks.compare", "benchmarks.coverage", "benchmarks.pointing", "benchmarks.tool_use",
}  # fmt: skip


def test_loops_do_not_know_kinds_of_models():
    for module, imported in graph().items():
        if any(name.startswith(("agents.models.pointer", "agents.rollouts.pointer")) for name in imported):
            assert module in KNOWS_POINTING_NETWORKS or module.startswith("agents.models.pointer"), module


def test_token_ids_and_trajectories_need_no_torch():
    code = "import agents.settings, agents.data.trajectories, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_no_class_has_more_than_two_bases():
    # An exception is also each builtin class that callers catch it as.
    known = {module: facts(path).classes for module, path in MODULES.items() if path.name != "errors.py"}
    assert {module: name for module, own in known.items() for name, bases in own.items() if bases > 2} == {}


def test_settings_have_at_most_25_fields_and_trainers_at_most_43_common_ones():
    named = [(module, name) for module, path in MODULES.items() for name in facts(path).classes if name.endswith("Settings")]
    kinds = [getattr(importlib.import_module(module), name) for module, name in named]
    assert len(kinds) > 20
    trainers = [kind for kind in kinds if issubclass(kind, TrainSettings)]
    many = {kind.__name__: own for kind in kinds if len(own := vars(kind).get("__annotations__", ())) > 25}
    assert not many, many
    hidden = hidden_from_pointing_networks() | STREAM_OPTIONS
    shown = {kind.__name__: len({item.name for item in dataclasses.fields(kind)} - hidden) for kind in trainers}
    assert shown.pop("GRPOSettings") <= 43
    assert max(shown.values()) <= 50, shown


def test_training_needs_the_packages_of_the_extra_train_alone(tmp_path):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {extra: {re.match(r"[\w-]+", line)[0].lower() for line in lines} for extra, lines in extras.items()}
    others = set().union(*(own for extra, own in names.items() if extra != "train")) - names["train"]
    modules = {"beautifulsoup4": "bs4", "django-oscar": "oscar", "pillow": "PIL", "whoosh-reloaded": "whoosh"}
    modules |= {name: name.replace("-", "_") for name in others if name not in modules}
    # Packages that transformers imports by itself where they are installed.
    absent = sorted(modules[name] for name in others - {"scipy", "pillow", "accelerate", "peft", "gguf", "networkx", "h11"})
    assert {"ray", "oscar", "roundup", "stable_baselines3", "sb3_contrib", "trl"} <= {*absent}
    code = (
        "import runpy, sys\n"
        f"sys.modules.update(dict.fromkeys({absent!r}))\n"  # importing one of these raises ModuleNotFoundError
        "for line in sys.argv[1:]:\n"
        "    sys.argv = line.split()\n"
        "    try:\n"
        "        runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, line\n"
    )
    tasks = "--templates shopping.wish_list_add --max-steps 3"
    lines = [
        f"agents.train_bc --model pointer --out {tmp_path}/bc --worlds 11 --templates shopping.wish_list_add --updates 1",
        f"agents.train_grpo --model {tmp_path}/bc --out {tmp_path}/rl --worlds 11 {tasks} --per-template 1 --updates 1 --processes 1",
        f"agents.evaluate --policy {tmp_path}/rl --split train {tasks} --limit 1 --save {tmp_path}/played.jsonl",
        f"agents.report --out {tmp_path}/report.html {tmp_path}/rl {tmp_path}/played.jsonl",
    ]
    run = [sys.executable, "-W", "ignore", "-c", code, *lines]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").is_file()
