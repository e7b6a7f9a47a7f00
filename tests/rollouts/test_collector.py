from contextlib import closing, contextmanager
from types import SimpleNamespace

import gymnasium
import pytest

from agents.data.trajectories import Sample, read_trajectories, write_trajectories
from agents.rollouts import collector as collector_module
from agents.rollouts import envs as env_module
from agents.rollouts.collector import Collector, EpisodeSpec, group_episodes, sampling_seed
from agents.rollouts.engines import Completion
from agents.rollouts.engines.inprocess import InProcessEngine
from agents.rollouts.policies import Reply, ScriptedPolicy
from tests import tiny
from tests.odd_policies import OneByOne


def oracle(request):
    """Right for even task numbers, else a click on nothing."""
    return tiny.reply_to(tiny.target_of(request) if tiny.number_of(request) % 2 == 0 else "nothing")


@contextmanager
def collector(policy, tasks, *, num_envs=4, seed=0, **options):
    with closing(tiny.create_envs(tasks, num_envs, **options)) as envs:
        yield Collector(envs, policy, seed=seed)


def collect(policy, episodes, **options):
    with collector(policy, [episode.task for episode in episodes], **options) as playing:
        return playing.collect(episodes)


def one_each(tasks):
    return [EpisodeSpec(task, number, number, number) for number, task in enumerate(tasks)]


def groups(tasks, size):
    return [episode for number, task in enumerate(tasks) for episode in group_episodes(task, number, size)]


def test_trajectories_come_in_the_order_of_the_episodes():
    tasks = tiny.tasks(9)
    trajectories = collect(ScriptedPolicy(oracle), one_each(tasks))
    assert [item.task_id for item in trajectories] == [task.task_id for task in tasks]
    assert [item.reward for item in trajectories] == [1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert {item.ending for item in trajectories[::2]} == {"exited"}
    assert {item.ending for item in trajectories[1::2]} == {"truncated"}
    assert trajectories[1].steps[0].action_error == "there is no such element"
    assert collect(OneByOne(lambda request: Reply(oracle(request))), one_each(tasks)) == trajectories


def test_episodes_continue_in_the_order_of_replies_within_the_number_of_envs():
    policy = OneByOne()
    with collector(policy, tasks := tiny.tasks(4)) as playing:
        playing.submit(one_each(tasks))
        assert [item.group for _, item in playing.play()] == [3, 2, 1, 0]
    assert policy.most == 4
    policy = OneByOne()
    assert len(collect(policy, one_each(tiny.tasks(20)), num_envs=3)) == 20
    assert policy.most == 3


def test_episodes_can_be_submitted_while_others_run_and_playing_can_be_paused():
    tasks = tiny.tasks(12)
    episodes, seen = one_each(tasks), []
    with collector(OneByOne(), tasks, num_envs=3) as playing:
        playing.submit(episodes[:4])
        for episode, _ in playing.play():
            seen.append(episode.number)
            if len(seen) == 2:
                break
        assert playing.has_capacity
        playing.submit(episodes[4:])
        assert not playing.has_capacity
        playing.take_time_fractions()
        seen += [episode.number for episode, _ in playing.play()]
        assert playing.take_time_fractions()["queue"] > 0  # what was under way while nobody played
        assert sorted(seen) == list(range(12))
        playing.submit(episodes)
        stopped = []
        for episode, _ in playing.play():
            stopped.append(episode)
            playing.stop()
        assert len(stopped) == 1


def test_episodes_have_unique_numbers():
    with pytest.raises(ValueError, match="the same number"):
        collect(OneByOne(), [EpisodeSpec(task, 0) for task in tiny.tasks(2)])


def test_infrastructure_errors_are_marked_and_left_out_of_groups():
    trajectories = collect(OneByOne(), groups(tiny.tasks(2), 2), broken=True)
    assert [item.ending for item in trajectories] == ["failed"] * 4
    assert {item.reward for item in trajectories} == {0.0}
    assert all("the browser is gone" in item.failure for item in trajectories)
    assert tiny.grouped(trajectories) == []


def test_a_reply_that_broke_fails_its_episode_alone_and_its_env_plays_on():
    def reply(request):
        broken = tiny.number_of(request) == 1
        return Reply("", failure="the server has gone") if broken else Reply(tiny.reply_to(tiny.target_of(request)))

    trajectories = collect(OneByOne(reply), one_each(tiny.tasks(5)), num_envs=1)
    assert [item.ending for item in trajectories] == ["exited", "failed", "exited", "exited", "exited"]
    assert trajectories[1].failure == "the server has gone"


def test_bugs_are_not_swallowed():
    class Fussy(tiny.TinyShop):
        def step(self, action):
            raise TypeError(action)

    gymnasium.register("Fussy-v0", Fussy, disable_env_checker=True, order_enforce=False)
    tasks = tiny.tasks(1)
    with closing(env_module.create_envs(tasks, 1, env_id="Fussy-v0")) as envs, pytest.raises(TypeError):
        Collector(envs, OneByOne()).collect(one_each(tasks))


def test_groups_share_their_first_page_and_report_the_oldest_policy_version():
    episodes = groups(tiny.tasks(3), 4)
    assert [episode.group for episode in episodes] == [0] * 4 + [1] * 4 + [2] * 4
    assert [episode.number for episode in episodes] == list(range(12))
    for group in tiny.grouped(collect(OneByOne(), episodes)):
        assert len(group) == 4
        assert len({item.steps[0].page for item in group}) == 1
    versions = iter([7, 5])
    policy = OneByOne(lambda _: Reply("wait", policy_version=next(versions)))
    assert collect(policy, one_each(tiny.tasks(1)))[0].policy_version == 5


def test_samples_depend_on_run_episode_and_step_alone():
    seeds = []

    def noting(request):
        seeds.append(request.seed)
        return "wait"

    collect(ScriptedPolicy(noting), groups(tiny.tasks(2), 2), seed=3)
    assert sorted(seeds) == sorted(sampling_seed(3, number, step) for number in range(4) for step in range(2))
    assert len({sampling_seed(*parts) for parts in [(3, 1, 11), (3, 11, 1), (31, 1, 1), (3, 1, 1)]}) == 4


def test_replies_do_not_depend_on_the_number_of_envs_and_processes():
    episodes = groups(tiny.tasks(3), 3)
    alone = collect(tiny.policy(), episodes, num_envs=1)
    assert len({item.steps[0].reply for item in alone}) > 3
    for options in ({"num_envs": 9}, {"num_envs": 4, "workers": 2}):
        together = collect(tiny.policy(), episodes, **options)
        one, other = ([[step.reply for step in item.steps] for item in played] for played in (together, alone))
        assert one == other


def test_too_long_prompts_end_episodes_and_engine_failures_fail_them():
    (trajectory,) = collect(tiny.policy(max_prompt_tokens=3), one_each(tiny.tasks(1)))
    assert (trajectory.ending, trajectory.reward, trajectory.steps) == ("too_long", 0.0, ())

    class Broken(InProcessEngine):
        def take(self, timeout_s=None):
            return [Completion(answer.request_id, None, "out of order") for answer in super().take(timeout_s)]

    policy = tiny.policy()
    policy.engine.__class__ = Broken
    (trajectory,) = collect(policy, one_each(tiny.tasks(1)))
    assert (trajectory.ending, trajectory.failure, trajectory.steps) == ("failed", "out of order", ())


def test_the_time_of_all_envs_is_accounted_for():
    tasks = tiny.tasks(6)
    with collector(tiny.policy(), tasks, num_envs=4) as playing:
        playing.collect(one_each(tasks)[:2])
        shares = playing.take_time_fractions()
        assert sum(shares.values()) == pytest.approx(1)
        assert set(shares) == {"env", "generation", "queue", "idle"}
        assert shares["idle"] > 0.4  # two episodes in four envs
        assert shares["generation"] > shares["env"] > 0


@pytest.mark.parametrize(("policy_s", "env_s"), [(3.0, 0.5), (0.25, 7.0), (0.0, 0.0)])
def test_each_step_keeps_the_seconds_of_policy_and_env_which_are_not_compared(monkeypatch, tmp_path, policy_s, env_s):
    clock = SimpleNamespace(now_s=0.0, perf_counter=lambda: clock.now_s)
    monkeypatch.setattr(collector_module, "time", clock)

    def choose(request):
        clock.now_s += policy_s
        return oracle(request)

    tasks = tiny.tasks(4)
    untimed = collect(ScriptedPolicy(oracle), one_each(tasks), num_envs=1)
    with collector(ScriptedPolicy(choose), tasks, num_envs=1) as playing:
        poll = playing._envs.poll

        def slow_poll(timeout_s=None):
            clock.now_s += env_s
            return poll(timeout_s)

        monkeypatch.setattr(playing._envs, "poll", slow_poll)
        timed = playing.collect(one_each(tasks))
    steps = [step for item in timed for step in item.steps]
    assert [(step.policy_s, step.env_s) for step in steps] == [(policy_s, env_s)] * len(steps)
    assert timed == untimed
    assert list(map(hash, steps)) == [hash(step) for item in untimed for step in item.steps]
    write_trajectories(tmp_path / "episodes.jsonl", timed)
    read = [step for item in read_trajectories(tmp_path / "episodes.jsonl") for step in item.steps]
    assert [(step.policy_s, step.env_s) for step in read] == [(policy_s, env_s)] * len(steps)


def test_steps_keep_the_exact_tokens_and_their_texts_where_they_are_asked_for(tmp_path):
    tasks = tiny.tasks(3)
    policy = tiny.policy(traced=True)
    plain, traced = (collect(each, one_each(tasks)) for each in (tiny.policy(), policy))
    for before, after in zip(plain, traced, strict=True):
        assert [(step.reply, step.logprobs, step.tokens) for step in before.steps] == [
            (step.reply, step.logprobs, ()) for step in after.steps
        ]
    for step in (step for item in traced for step in item.steps):
        assert step.sample == Sample(step.prompt_ids, step.response_ids)
        assert policy.encoder.decode(step.response_ids) == step.reply
        assert step.page in policy.encoder.tokenizer.decode(step.prompt_ids)
        assert len(step.tokens) == len(step.response_ids) == len(step.logprobs)
        text = policy.encoder.tokenizer.decode(step.response_ids)
        assert "".join(step.tokens) == text or "\N{REPLACEMENT CHARACTER}" in "".join(step.tokens)
    write_trajectories(tmp_path / "episodes.jsonl", traced)
    assert read_trajectories(tmp_path / "episodes.jsonl") == traced
    encoder = policy.encoder
    for text in ('do(action="Click", element="Open the kettle")', "a  b\n c", "1, 2; don't"):
        ids = tuple(encoder.tokenizer.encode(text))
        assert "".join(encoder.texts(ids)) == encoder.tokenizer.decode(ids)
