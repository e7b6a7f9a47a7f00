"""The API pages: their generated summaries agree with the classes and functions at run time."""

import dataclasses
import inspect
import re

import pytest

from benchmarks.api import PAGES
from webarena_gym import errors
from webarena_gym.actions import Action
from webarena_gym.candidates import Candidate
from webarena_gym.env import WebArenaLite
from webarena_gym.evaluation.agents import Reply
from webarena_gym.evaluators import Verdict
from webarena_gym.observation import Observation
from webarena_gym.suite import draw, find, load
from webarena_gym.tasks import Task
from webarena_gym.tasks.task import Step
from webarena_gym.vector import Result, WebArenaLiteVector

TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def items(name):
    """Return the names in the indented lists below the entries of a name, one list for each entry."""
    entries = re.findall(rf"^- `(?:[\w.]+\.)?{name}[(`][^\n]*\n((?:  [^\n]*\n)*)", TEXT, re.MULTILINE)
    return [re.findall(r"^  - `(\w+): [^`]+`", lines, re.MULTILINE) for lines in entries]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_section_has_members_or_a_signature(page):
    summary = page.read_text(encoding="utf-8").partition("<!-- end api_")[0]
    for section in re.split(r"^### ", summary, flags=re.MULTILINE)[1:]:
        assert re.search(r"^(?:- )?`\w+", section, re.MULTILINE), section


@pytest.mark.parametrize("record", [Action, Candidate, Observation, Reply, Result, Step, Task, Verdict])
def test_fields_have_types(record):
    names = [field.name for field in dataclasses.fields(record)] if dataclasses.is_dataclass(record) else record._fields
    assert list(names) in items(record.__name__)


@pytest.mark.parametrize("function", [load, find, draw, WebArenaLite.reset, WebArenaLite.submit, WebArenaLiteVector.send])
def test_arguments_have_types(function):
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    assert names in items(function.__name__)


def test_exceptions_have_their_parents():
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.WebArenaGymError):
            parents = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
            assert re.search(rf"^- `{name}[^`]*` \({parents}\): ", TEXT, re.MULTILINE), name
