"""Ensembles: the choices of pointer networks are averaged, other agents vote, and weights follow from what was measured."""

import itertools
import json

import numpy
import pytest
import torch

from agents import ensemble as command
from agents.data.trajectories import Step, Trajectory
from agents.data.workflows import site_of
from agents.evaluation.evaluate import VotingPolicy, create_policy, evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import CheckpointError, agent_record, is_small, load_model
from agents.models.ensembles import Ensemble, EnsembleWeights, fit_weights, load_ensemble, uniform_weights
from agents.models.pointer.decoding import Session
from agents.models.pointer.network import PointerEnsemble, PointerNetwork, Vocabulary
from agents.models.pointer.reader import Reader
from agents.rollouts.policies import Reply, Request, ScriptedPolicy
from agents.training.pointer_cloning import train_pointer
from agents.training.settings import PointerBCSettings
from tests.errors import expect_error
from webarena_gym import suite as task_suite

SHOP = 'URL: http://shop.test/\n<a id="1">Mug</a> <a id="2">Tent</a> <button id="3">Search</button>'
FORUM = SHOP.replace("shop.test", "forum.test")


def networks(count):
    for seed in range(count):
        torch.manual_seed(seed)
        vocabulary = Vocabulary(["<name>", "<number>", "mug", "tent", "search"][: 3 + seed])
        yield PointerNetwork(len(vocabulary)), vocabulary


def ask(page):
    reader = Reader()
    return reader, next(Session(reader, "Open the mug").reply(page, has_error=False))


@pytest.mark.parametrize("page", [SHOP, FORUM])
def test_the_mean_is_one_of_probabilities_with_the_weights_of_the_page(page):
    members = list(networks(3))
    weights = EnsembleWeights((1.0, 1.0, 1.0), {"shop.test": (0.0, 1.0, 3.0)})
    reader, question = ask(page)
    found = PointerEnsemble(members, weights)([question], reader.texts, members[0][1]).logprobs()[0].exp()
    each = [network([question], reader.texts, words).logprobs()[0].exp() for network, words in members]
    voices = weights.for_situation(site_of(page))
    expected = sum(voice * own for voice, own in zip(voices, each, strict=True)) / sum(voices)
    assert torch.allclose(found, expected, atol=1e-6)
    assert not torch.allclose(found, each[0], atol=1e-3)


def vote(weights, *replies, page=SHOP):
    policy = VotingPolicy([ScriptedPolicy(lambda _, own=own: own) for own in replies], weights)
    policy.ask([Request(4, None, {"page": page})])
    ((slot, reply),) = policy.replies()
    assert slot == 4
    assert policy.replies() == []
    return reply.text


def test_votes_are_weighted_by_site_and_exclude_failed_members():
    assert {vote(uniform_weights(3), *order) for order in itertools.permutations(["go", "go", "stop"])} == {"go"}
    weights = EnsembleWeights((1.0, 1.0, 1.0), {"forum.test": (1.0, 1.0, 5.0)})
    assert vote(weights, "go", "<think>so</think>go", "stop") == "go"
    assert vote(weights, "go", "go", "stop", page=FORUM) == "stop"
    assert vote(uniform_weights(3), "a", "b", "c") == "a"
    for kinds, expected in (([Broken, Broken, ScriptedPolicy], "go"), ([Broken, Broken], "")):
        policy = VotingPolicy([kind(lambda _: "go") for kind in kinds], uniform_weights(len(kinds)))
        policy.ask([Request(0, None, {"page": SHOP})])
        assert policy.replies()[0][1].text == expected


class Broken(ScriptedPolicy):
    def replies(self, timeout_s=None):
        return [(slot, Reply("", failure="gone")) for slot, _ in super().replies(timeout_s)]


def episodes(page, *rewards):
    return [Trajectory(f"t/{n}", "", (Step(page, "go"),), reward, "exited") for n, reward in enumerate(rewards)]


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_larger_where_an_agent_succeeds_more(seed):
    rng = numpy.random.default_rng(seed)
    shop, forum = (rng.permutation([1.0] * 30 + [0.0] * 10).tolist() for _ in range(2))
    one = episodes(SHOP, *shop) + episodes(FORUM, *[0.0] * 40)
    other = episodes(SHOP, *[0.0] * 40) + episodes(FORUM, *forum)
    weights = fit_weights([one, other])
    assert weights.for_situation("shop.test")[0] > 2 * weights.for_situation("shop.test")[1]
    assert weights.for_situation("forum.test")[1] > 2 * weights.for_situation("forum.test")[0]
    assert weights.for_situation("elsewhere.test") == pytest.approx((0.375, 0.375))
    switched = fit_weights([one, other], switch=True)
    assert (switched.for_situation("shop.test"), switched.for_situation("forum.test")) == ((1.0, 0.0), (0.0, 1.0))


def test_few_episodes_move_weights_little_and_no_success_at_all_gives_equal_ones():
    often = episodes(SHOP, *[1.0, 0.0] * 20)
    weights = fit_weights([[*often, *episodes(FORUM, 0.0)], [*often, *episodes(FORUM, 1.0)]])
    few, many = (
        weights.for_situation("forum.test"),
        fit_weights([episodes(FORUM, 0.0, 1.0), episodes(FORUM, 1.0, 1.0)]).for_situation("forum.test"),
    )
    assert few[0] < few[1] < 1.5 * few[0]
    assert many[0] < many[1]
    assert fit_weights([episodes(SHOP, 0.0), episodes(SHOP, 0.0)]).for_situation("shop.test") == (1.0, 1.0)
    with expect_error(ValueError, "40, 0"):
        fit_weights([often, []])


@pytest.mark.parametrize("values", [(1.0,), (0.0, 0.0), (2.0, -1.0)])
def test_weights_that_mean_nothing_are_refused(values):
    with expect_error(ValueError, values):
        EnsembleWeights((1.0, 1.0), {"shop.test": values})


def make_members(folder, **options):
    """Two agents, each of which has seen another template."""
    for template in ("reddit.subscription", "gitlab.star_count"):
        own = {"templates": (template,), "out": folder / template, "max_steps": 10, "threads": 1, **options}
        train_pointer(PointerBCSettings(**own))
        yield str(folder / template)


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    return list(make_members(tmp_path_factory.mktemp("members"), worlds=(11,), per_template=1, updates=1))


def success(policy):
    settings = EvaluationSettings(**{**policy_defaults(policy), "policy": policy, "threads": 1})
    tasks = task_suite.draw(["reddit.subscription", "gitlab.star_count"], world_seed=15, count=4)
    return evaluate_policy(settings, tasks, quiet=True).total.success


@pytest.mark.slow
def test_the_best_agent_of_each_site_does_what_none_does_alone(tmp_path):
    members = list(make_members(tmp_path, worlds=(11, 12, 13), per_template=3, updates=160, decisions_per_update=16))
    weights = EnsembleWeights((1.0, 0.0), {"code.test": (0.0, 1.0), "forum.test": (1.0, 0.0)})
    Ensemble(tuple(members), weights).save(tmp_path)
    assert is_small(tmp_path)
    assert agent_record(tmp_path) == agent_record(members[0])
    assert load_ensemble(tmp_path) == Ensemble(tuple(members), weights)
    assert success(str(tmp_path)) > max(map(success, members))


def test_agents_that_read_pages_differently_make_no_ensemble(members, tmp_path):
    Ensemble(tuple(members), uniform_weights(2)).save(tmp_path / "good")
    with expect_error(CheckpointError, tmp_path / "good"):
        load_model(tmp_path / "good")
    other = tmp_path / "other"
    other.mkdir()
    (other / "agent.json").write_text(json.dumps({**agent_record(members[0]), "window": 9}), encoding="utf-8")
    (other / "config.json").touch()
    with expect_error(ValueError, other, "window=9", members[0]):
        Ensemble((members[0], str(other)), uniform_weights(2)).save(tmp_path / "bad")
    (other / "agent.json").write_text(json.dumps(agent_record(members[0])), encoding="utf-8")
    Ensemble((members[0], str(other)), uniform_weights(2)).save(tmp_path / "bad")
    with expect_error(ValueError, tmp_path / "bad", members[0]):
        create_policy(EvaluationSettings(policy=str(tmp_path / "bad")))
    (tmp_path / "bad" / "ensemble.json").write_text("{}", encoding="utf-8")
    with expect_error(CheckpointError, tmp_path / "bad" / "ensemble.json", "KeyError('weights')"):
        load_ensemble(tmp_path / "bad")


def test_the_command_makes_them(members, tmp_path, capsys):
    command.main(["--members", *members, "--out", str(tmp_path / "own"), "--limit", "2"])
    assert "everywhere else" in capsys.readouterr().out
    with expect_error(ValueError, (members[0],)):
        command.make_ensemble(command.EnsembleSettings(members=(members[0],), out=tmp_path))
