"""Scores and gradients of the pointer network."""

from hypothesis import given, strategies

import webarena_gym  # noqa: F401 - registers the env
from agents.models.pointer.decoding import trajectory_choices
from agents.models.pointer.network import Scores
from agents.models.pointer.reader import Reader
from tests.pointing import make_policy, play, sample_tasks


def test_scores_and_gradients_do_not_depend_on_what_else_was_read():
    policy, fresh, used = make_policy(), Reader(), Reader()
    *others, chosen = play(policy, sample_tasks(4))
    for other in others:
        trajectory_choices(used, other)
    found = []
    for reader in (fresh, used):
        requests = [
            choice.question for step in trajectory_choices(reader, chosen) for choice in step if choice.question.stage == 0
        ]
        scores = policy.network(requests, reader.texts, policy.vocabulary).values
        policy.network.zero_grad()
        scores.square().sum().backward()
        gradients = [parameter.grad for parameter in policy.network.parameters() if parameter.grad is not None]
        found.append([scores.detach(), *(gradient.clone() for gradient in gradients)])
    assert all(one.equal(other) for one, other in zip(*found, strict=True))


@given(
    lengths=strategies.lists(strategies.integers(1, 9), min_size=1, max_size=5),
    temperature=strategies.sampled_from([0.5, 1.0, 2.0]),
    seed=strategies.integers(0, 99),
)
def test_log_probabilities_by_place_are_those_of_each_question(lengths, temperature, seed):
    import torch  # noqa: PLC0415

    scores = Scores(10 * torch.randn(sum(lengths), generator=torch.Generator().manual_seed(seed)), tuple(lengths))
    asked_S = torch.tensor([number for number, length in enumerate(lengths) for _ in range(length)])
    places = torch.cat([torch.arange(length) for length in lengths])
    expected = torch.cat(scores.logprobs(temperature))
    assert torch.allclose(scores.candidate_logprobs(asked_S, places, temperature), expected, atol=1e-5)
