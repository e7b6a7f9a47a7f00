"""The parts of the suite: templates of each split, and numbers of tasks."""

import pytest

from webarena_gym import suite
from webarena_gym.suite.parts import EXCLUDED_TEMPLATES, PARTS, Part


def test_validation_and_training_share_templates_and_the_test_has_others():
    part = Part(("a",), ("b", "c"), ("d",), 7)
    assert [part.names(split) for split in ("train", "validation", "test")] == [("a", "d"), ("a", "d"), ("a", "b", "c")]
    assert [part.total(split) for split in ("train", "validation", "test")] == [7, 2, 3]


@pytest.mark.parametrize(("split", "total"), [("test", 165), ("train", 647), ("validation", 169)])
def test_the_parts_have_the_tasks_of_the_benchmark(split, total):
    assert sum(part.total(split) for part in PARTS.values()) == total == len(suite.load(split))


def test_each_template_is_in_one_part_and_excluded_ones_are_in_none():
    names = [name for part in PARTS.values() for name in (*part.both, *part.test_only, *part.train_only)]
    assert len(names) == len(set(names))
    assert set(names) <= suite.templates().keys()
    assert EXCLUDED_TEMPLATES.keys() <= suite.templates().keys()
    assert EXCLUDED_TEMPLATES.keys().isdisjoint(names)
    for site, part in PARTS.items():
        sites = {len(suite.templates()[name].sites) > 1 for name in part.names("test")}
        assert sites == {site == "several"}
