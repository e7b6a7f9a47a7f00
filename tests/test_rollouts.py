import gymnasium
import pytest

from agents.batches import Sample
from agents.engine import Engine
from agents.policies import LanguageModelPolicy, Reply
from agents.prompts import PromptEncoder
from agents.rollouts import Collector, Episode, group_episodes
from agents.trajectories import grouped, read_trajectories, write_trajectories
from tests import tiny


class Oracle:
    """Right for even task numbers, else a click on nothing."""

    def act(self, requests):
        return [self._reply(request.env) for request in requests]

    def _reply(self, env):
        right = int(env.task.task_id.split("/")[1]) % 2 == 0
        return Reply(tiny.reply_to(env.task.target if right else "nothing"))


def collect(policy, episodes, **options):
    collector = Collector(tiny.tasks(9), env_id=tiny.ENV_ID, **{"num_envs": 4, **options})
    try:
        return collector.collect(policy, episodes, policy_version=3)
    finally:
        collector.close()


def test_trajectories_come_in_the_order_of_the_episodes():
    tasks = tiny.tasks(9)
    trajectories = collect(Oracle(), [Episode(task, seed, seed) for seed, task in enumerate(tasks)])
    assert [item.task_id for item in trajectories] == [task.task_id for task in tasks]
    assert [item.reward for item in trajectories] == [1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert {item.ending for item in trajectories[::2]} == {"exited"}
    assert {item.ending for item in trajectories[1::2]} == {"truncated"}
    assert trajectories[1].steps[0].action_error == "there is no such element"
    assert {item.policy_version for item in trajectories} == {3}


def test_infrastructure_errors_are_marked_and_left_out_of_groups():
    trajectories = collect(Oracle(), group_episodes(tiny.tasks(2), 2, seed=0), broken=True)
    assert [item.ending for item in trajectories] == ["failed"] * 4
    assert grouped(trajectories) == []


def test_bugs_are_not_swallowed():
    class Broken:
        def act(self, requests):
            return [Reply(None)] * len(requests)

    class Fussy(tiny.TinyShop):
        def step(self, action):
            raise TypeError(action)

    gymnasium.register("Fussy-v0", Fussy, disable_env_checker=True, order_enforce=False)
    with pytest.raises(TypeError):
        collect(Broken(), [Episode(tiny.tasks(1)[0], 0)], env_id="Fussy-v0")


def test_a_group_starts_before_the_same_page():
    episodes = group_episodes(tiny.tasks(3), 4, seed=10)
    assert [episode.group for episode in episodes] == [0] * 4 + [1] * 4 + [2] * 4
    for group in grouped(collect(Oracle(), episodes)):
        assert len(group) == 4
        assert len({item.steps[0].page for item in group}) == 1


def test_a_model_s_steps_keep_the_exact_tokens(tmp_path):
    model, tokenizer = tiny.tiny_model()
    encoder = PromptEncoder(tokenizer)
    policy = LanguageModelPolicy(Engine(model, encoder.stop_ids, max_new_tokens=5), encoder)
    trajectories = collect(policy, group_episodes(tiny.tasks(2), 2, seed=0))
    for item in trajectories:
        for step in item.steps:
            assert step.sample == Sample(step.prompt_ids, step.response_ids)
            assert encoder.decode(step.response_ids) == step.reply
            assert len(step.logprobs) == len(step.response_ids)
            assert step.page in tokenizer.decode(step.prompt_ids)
    write_trajectories(tmp_path / "episodes.jsonl", trajectories)
    assert read_trajectories(tmp_path / "episodes.jsonl") == trajectories


def test_a_prompt_that_is_too_long_ends_the_episode():
    model, tokenizer = tiny.tiny_model()
    encoder = PromptEncoder(tokenizer)
    policy = LanguageModelPolicy(Engine(model, encoder.stop_ids), encoder, max_prompt_tokens=3)
    (trajectory,) = collect(policy, [Episode(tiny.tasks(1)[0], 0)])
    assert (trajectory.ending, trajectory.reward, trajectory.steps) == ("too_long", 0.0, ())
