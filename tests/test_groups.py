from threading import get_ident
from types import SimpleNamespace

import pytest

from agents.cluster.training import GroupStream
from agents.data.trajectories import Trajectory
from agents.rollouts.collector import Collector
from agents.rollouts.curriculum import Group, RolloutError
from agents.rollouts.policies import Reply
from tests import tiny
from tests.errors import expect_error
from tests.odd_policies import OneByOne

TASKS = tiny.tasks(60)


class Scripted(OneByOne):
    """Replies with the texts of a function; knows the version of its parameters, as an engine does."""

    def __init__(self, choose=lambda request: tiny.reply_to(tiny.target_of(request)), *, newest_first=False):
        super().__init__(self.respond, newest_first=newest_first)
        self.choose, self.version, self.loads = choose, 0, []

    def load(self, version):
        self.version = version
        self.loads.append((version, get_ident()))

    def respond(self, request):
        reply = self.choose(request)
        return reply if isinstance(reply, Reply) else Reply(reply, policy_version=self.version)


def half(request):
    """Succeed in half of the episodes of each group, but for every third task, in which all succeed."""
    succeeds = request.slot % 2 == 0 or tiny.number_of(request) % 3 == 0
    return tiny.reply_to(tiny.target_of(request) if succeeds else "nothing")


class Streaming:
    """A stream over tiny envs; `drawn` are the numbers of the groups that were drawn."""

    def __init__(self, policy, *, num_envs=4, begun=0, **settings):
        self.policy, self.drawn = policy, []
        self.envs = tiny.create_envs(TASKS, num_envs)
        sizes = {"tasks_per_update": 3, "group_size": 2, "dynamic_sampling": 1, "staleness": 0, "overlap": False}
        changed = SimpleNamespace(**{**sizes, **settings})
        self.stream = GroupStream(Collector(self.envs, policy), self.draw, policy.load, changed, group_count=begun)

    def draw(self, number):
        self.drawn.append(number)
        return TASKS[number]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.envs.close()

    def numbers(self, version):
        return [group.number for group in self.stream.batch(version).groups]


def trajectory(reward=1.0, ending="exited", version=0):
    return Trajectory("t", "g", (), reward, ending, policy_version=version)


def test_without_staleness_batches_start_after_the_previous_update():
    with Streaming(Scripted(newest_first=True)) as streaming:
        for version in range(3):
            assert streaming.numbers(version) == [3 * version + place for place in range(3)]
            assert len(streaming.drawn) == streaming.stream.group_count == 3 * (version + 1)
        assert [version for version, _ in streaming.policy.loads] == [0, 1, 2]
    with Streaming(Scripted(), begun=6) as resumed:
        assert resumed.numbers(2) == [6, 7, 8]


def test_a_group_has_the_rollouts_of_one_task_from_one_seed_in_order():
    with Streaming(Scripted(newest_first=True), group_size=4) as streaming:
        batch = streaming.stream.batch(0)
    assert sum(len(group.trajectories) for group in batch.groups) == 12
    for group in batch.groups:
        assert group.task is TASKS[group.number]
        assert {item.task_id for item in group.trajectories} == {group.task.task_id}
        assert len({item.steps[0].page for item in group.trajectories}) == 1
    assert sum(batch.shares.values()) == pytest.approx(1)


def test_with_staleness_whichever_groups_are_finished_first_make_a_batch():
    slow, policy = {0, 1}, Scripted()
    take = policy.replies

    def replies(timeout_s=None):
        policy.requests.sort(key=lambda request: tiny.number_of(request) in slow)
        return take(timeout_s)

    policy.replies = replies
    with Streaming(policy, num_envs=8, staleness=1) as streaming:
        assert streaming.numbers(0) == [2, 3, 4]
        assert len(streaming.drawn) <= 6
        slow.clear()
        assert set(streaming.numbers(1)) >= {0, 1}


def test_groups_that_are_too_old_are_dropped_whole_and_counted():
    policy = Scripted()
    held = {}
    take = policy.replies

    def replies(timeout_s=None):
        if policy.version < 2:  # task 0 gets its replies late, but of old weights
            for request in [request for request in policy.requests if tiny.number_of(request) == 0]:
                policy.requests.remove(request)
                held[request.slot] = Reply(tiny.reply_to(tiny.target_of(request)), policy_version=0)
            return take(timeout_s)
        late, held_now = list(held.items()), held.clear()
        assert held_now is None
        return late or take(timeout_s)

    policy.replies = replies
    with Streaming(policy, num_envs=8, staleness=1) as streaming:
        batches = [streaming.stream.batch(version) for version in range(3)]
    assert [batch.stale for batch in batches] == [0, 0, 1]
    assert 0 not in [group.number for batch in batches for group in batch.groups]
    assert [len(batch.groups) for batch in batches] == [3, 3, 3]
    for version, batch in enumerate(batches):
        assert all(version - item.policy_version <= 1 for group in batch.groups for item in group.trajectories)


def test_no_more_groups_are_under_way_or_finished_than_there_is_room_for():
    with Streaming(Scripted(), num_envs=60, staleness=1) as streaming:
        streaming.stream.batch(0)
        assert streaming.stream.group_count == 6
        streaming.stream.batch(1)
        assert streaming.stream.group_count == 9
        assert streaming.policy.most <= 12


def test_dynamic_sampling_plays_other_groups_for_equal_ones_until_it_has_tried_long_enough():
    with Streaming(Scripted(half), dynamic_sampling=3) as streaming:
        batch = streaming.stream.batch(0)
        assert [group.number for group in batch.groups] == [0, 1, 2, 3, 4]
        assert [group.number for group in batch.groups if group.has_equal_rewards] == [0, 3]
        assert streaming.stream.group_count == 5  # none of them in vain
    with Streaming(Scripted(), dynamic_sampling=2) as streaming:  # it takes equal ones when it has tried long enough
        assert streaming.numbers(0) == list(range(6))


def test_the_next_batch_is_collected_while_the_model_learns():
    policy = Scripted()
    with Streaming(policy, overlap=True, staleness=1) as streaming:
        numbers = []
        for version in range(4):
            batch = streaming.stream.batch(version)
            numbers += [group.number for group in batch.groups]
            assert {item.policy_version for group in batch.groups for item in group.trajectories} == {max(0, version - 1)}
            assert streaming.stream._next_batch.result().stale == 0  # complete before it is asked for
    assert numbers == list(range(12))
    assert len({thread for _, thread in policy.loads}) == 1  # never while the other thread samples
    with expect_error(ValueError, "staleness", 0, "overlap"):
        Streaming(Scripted(), overlap=True)


def test_an_error_while_the_model_learns_is_raised_with_the_next_batch():
    def choose(request):
        if tiny.number_of(request) == 4:
            raise ZeroDivisionError("a blunder")
        return tiny.reply_to(tiny.target_of(request))

    with Streaming(Scripted(choose), overlap=True, staleness=1) as streaming:
        streaming.stream.batch(0)
        with expect_error(ZeroDivisionError, "a blunder"):
            streaming.stream.batch(1)


def test_closing_ends_what_is_collected_meanwhile():
    policy = Scripted()
    with Streaming(policy, overlap=True, staleness=1) as streaming:
        policy.replies = lambda timeout_s=None: [] if streaming.stream.group_count > 3 else Scripted.replies(policy, timeout_s)
        streaming.stream.batch(0)
    assert streaming.stream._next_batch.done()


def test_broken_rollouts_are_masked_and_a_batch_of_nothing_else_is_an_error():
    def choose(request):
        is_broken = request.slot % 2 or tiny.number_of(request) > 2
        return Reply("", failure="the server has gone") if is_broken else tiny.reply_to(tiny.target_of(request))

    with Streaming(Scripted(choose)) as streaming:
        batch = streaming.stream.batch(0)
        assert [len(group.valid) for group in batch.groups] == [1, 1, 1]
        assert all(group.has_equal_rewards for group in batch.groups)
        with expect_error(RolloutError, 6, "the server has gone"):
            streaming.stream.batch(1)


def test_group_staleness_and_mixing_ignore_failed_rollouts():
    group = Group(0, TASKS[0], [trajectory(version=4), trajectory(version=3), trajectory(ending="failed")])
    assert not group.is_stale(4, staleness=1)
    assert group.is_stale(5, staleness=1)
    assert not group.is_stale(5, staleness=2)
    # Broken rollouts make no group mixed.
    assert Group(0, TASKS[0], [trajectory(1.0), trajectory(0.0, "failed")]).has_equal_rewards
    assert Group(0, TASKS[0], []).has_equal_rewards
    assert not Group(0, TASKS[0], [trajectory(1.0), trajectory(0.0, "truncated")]).has_equal_rewards
