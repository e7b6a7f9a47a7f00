"""The reader of pages: questions, bounded caches."""

import numpy
from hypothesis import given, strategies

import webarena_gym  # noqa: F401 - registers the env
from agents.models.pointer import reader as reader_module
from agents.models.pointer.decoding import trajectory_choices
from agents.models.pointer.reader import Cache, Reader
from tests.pointing import make_policy, play, questions_of, sample_tasks


def test_questions_do_not_depend_on_what_was_read_before_or_is_kept():
    trajectories = play(make_policy(), sample_tasks(6))
    used = Reader()
    for trajectory in trajectories:
        first, second = (trajectory_choices(used, trajectory) for _ in range(2))
        for ones, others in zip(first, second, strict=True):  # equal episodes ask the same questions once
            assert all(one.question is other.question for one, other in zip(ones, others, strict=True))
    for trajectory in trajectories:
        fresh = questions_of(Reader(), trajectory)
        assert fresh == questions_of(used, trajectory)
        assert fresh == questions_of(Reader(cache_mb=0.001), trajectory)


def test_the_cache_of_a_reader_is_bounded(monkeypatch):
    trajectories = play(make_policy(), sample_tasks(8))
    small = Reader(cache_mb=1)
    unbounded = Reader()
    monkeypatch.setattr(reader_module, "_MAX_MATCHES", 2_000)
    for trajectory in trajectories:
        trajectory_choices(small, trajectory)
        trajectory_choices(unbounded, trajectory)
    assert unbounded.cached_bytes > 2e6
    assert small.cached_bytes <= 1e6
    assert small.match_count <= 2_000 + 10_000  # those of one page are kept in any case
    monkeypatch.setattr(reader_module, "_MAX_TEXTS", len(small.texts.strings))
    assert small.successor() is not small
    monkeypatch.setattr(reader_module, "_MAX_TEXTS", len(small.texts.strings) + 1)
    assert small.successor() is small


@given(sizes=strategies.lists(strategies.integers(0, 3_000), max_size=30), most=strategies.integers(0, 6_000))
def test_a_cache_gives_what_was_made_and_keeps_no_more_than_its_size(sizes, most):
    cache = Cache(most / 1e6)
    for key, size in enumerate(sizes):
        made = numpy.full(size, key)
        found = cache(key, lambda made=made: made)
        assert found is made
        assert not len(cache) or cache(key, lambda: None) is made
        assert cache.size <= most
