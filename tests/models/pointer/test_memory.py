"""Memory of steps: nearest steps, its file, and steps without names of their task."""

import copy
import pickle
import random

import numpy
import pytest

from agents.data.workflows import WorkflowStep, mask_names, names_of, words_in
from agents.models.pointer.memory import Situation, load_memory, stored_step
from tests.errors import expect_error
from tests.models.pointer.memories import DEEDS, drawn_memory, drawn_situation


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_steps_of_the_site_are_found(seed):
    rng = random.Random(seed)
    memory, situation = drawn_memory(rng), drawn_situation(rng)
    found = memory.look_up(situation, memory.candidate_ids(DEEDS))
    here = stored_step(situation, WorkflowStep(""))

    def nearness(step):
        one, other = words_in(step.goal), words_in(here.goal)
        numbers = (len(one & other) / max(len(one | other), 1), step.goal == here.goal, step.path == here.path)
        return (*numbers, step.title == here.title, step.previous == here.previous)

    own = [step for step in memory.steps if step.site == here.site]
    weighed = sorted((float(numpy.dot(nearness(step), (4, 1, 2, 1, 1))) for step in own), reverse=True)
    count = min(len(own), memory.nearest)
    assert (found.step_ids[:count] >= 0).all()
    assert (found.step_ids[count:] == -1).all()
    assert numpy.allclose(found.similarities[:count] @ (4, 1, 2, 1, 1), weighed[:count], atol=1e-5)
    of_own = [(nearness(step), memory.candidate_ids([step.action])[0]) for step in own]
    for row, of_deed in zip(found.similarities[:count], found.step_ids[:count], strict=True):
        assert any(numpy.allclose(near, row, atol=1e-5) and (does == of_deed).all() for near, does in of_own)


@pytest.mark.parametrize("seed", range(5))
def test_a_memory_is_read_as_it_was_written(tmp_path, seed):
    rng = random.Random(seed)
    memory, situation = drawn_memory(rng), drawn_situation(rng)
    memory.save(tmp_path / "memory.json")
    for other in (load_memory(tmp_path / "memory.json"), pickle.loads(pickle.dumps(memory)), copy.deepcopy(memory)):
        assert other.steps == memory.steps
        found, again = (each.look_up(situation, each.candidate_ids(DEEDS)) for each in (memory, other))
        assert all((one == same).all() for one, same in zip(found, again, strict=True))  # equal ids, too
    goal = memory.steps[0].source
    assert memory.without(goal).steps == tuple(step for step in memory.steps if step.source != goal)


@pytest.mark.parametrize("text", ["[]", "{}", "not JSON", '{"nearest": 8, "steps": [[1]]}', '{"nearest": "x", "steps": []}'])
def test_invalid_memory_files_are_rejected(tmp_path, text):
    (tmp_path / "memory.json").write_text(text, encoding="utf-8")
    with expect_error(ValueError, tmp_path / "memory.json"):
        load_memory(tmp_path / "memory.json")


def test_stored_steps_hold_no_names_of_their_task():
    goal = 'Add "Wooden Lamp" to the order of Kim.'
    page = "URL: http://shop.test/wooden-lamp/7\n<h1>Wooden Lamp</h1>"
    step = stored_step(Situation(goal, page, WorkflowStep("")), WorkflowStep("Click", "<name>"))
    shown = " ".join([step.goal, step.path, step.title]).lower()
    assert not names_of(goal) & words_in(shown)
    assert step.goal == mask_names(goal, names_of(goal))
