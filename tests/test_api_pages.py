"""The API pages: their generated summaries agree with the classes and functions at run time."""

import dataclasses
import inspect
import re

import pytest

from agents.rollouts.engines import Engine
from agents.rollouts.policies import Policy
from benchmarks.api import PAGES
from webarena_gym import errors
from webarena_gym.actions import Action
from webarena_gym.backends.base import Backend
from webarena_gym.browsers.base import Browser
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_argument_field_and_type_has_a_description(page):
    summary = page.read_text(encoding="utf-8").partition("<!-- end api_")[0]
    assert re.findall(r"^ *- `[^`]*`(?: \([^:]*\))?$", summary, re.MULTILINE) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_table_of_a_page_links_to_each_section(page):
    table, *sections = re.split(r"^### ", page.read_text(encoding="utf-8").partition("<!-- end api_")[0], flags=re.MULTILINE)
    names = re.findall(r"^\| \[`([\w.]+)`\]\(#", table, re.MULTILINE)
    assert names == re.findall(r"^`([\w.]+)`$", "\n".join(section.partition("\n")[0] for section in sections), re.MULTILINE)


@pytest.mark.parametrize("protocol", [Backend, Browser, Engine, Policy])
def test_protocols_have_their_methods(protocol):
    section = re.search(rf"^### `[\w.]+\.{protocol.__name__}`\n(.*?)(?=^### |<!-- end)", TEXT, re.MULTILINE | re.DOTALL)
    nested = re.search(rf"^- `{protocol.__name__}`:[^\n]*\n((?:  [^\n]*\n)*)", TEXT, re.MULTILINE)
    entry = section or nested
    assert entry
    methods = {
        name
        for name, value in vars(protocol).items()
        if inspect.isfunction(value) and not name.startswith("_") and value.__doc__
    }
    assert methods
    assert methods <= set(re.findall(r"^ *- `(\w+)", entry[1], re.MULTILINE))


def test_spaces_of_the_environment_are_described():
    env = WebArenaLite()
    for name in ("observation_space", "action_space"):
        [line] = re.findall(rf"^- `{name}`: (.*)$", TEXT, re.MULTILINE)
        assert f"{getattr(env, name).max_length:,} characters" in line


@pytest.mark.parametrize("record", [Action, Candidate, Observation, Reply, Result, Step, Task, Verdict])
def test_fields_have_types(record):
    names = [field.name for field in dataclasses.fields(record)] if dataclasses.is_dataclass(record) else record._fields
    assert any(list(names) == entry[: len(names)] for entry in items(record.__name__))  # methods follow


@pytest.mark.parametrize("function", [load, find, draw, WebArenaLite.reset, WebArenaLite.submit, WebArenaLiteVector.send])
def test_arguments_have_types(function):
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    assert names in items(function.__name__)


def test_exceptions_have_their_parents():
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.WebArenaGymError):
            parents = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
            assert re.search(rf"^- `{name}[^`]*` \({parents}\): ", TEXT, re.MULTILINE), name
