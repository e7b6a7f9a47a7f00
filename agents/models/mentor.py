"""MENTOR (Huang et al., arXiv 2410.14972): a mixture of experts inside an actor, and perturbation towards the best agents of the run.

Three parts, independent of the network that uses them (`agents.models.eyes`):

- `MixtureOfExperts` replaces a hidden layer: a gate selects the top experts of each row, and their outputs are averaged by the gate's weights.
- `dormant_ratio` is the fraction of units of linear layers that are almost silent on a batch.
- `BestAgents` holds the weights of the best agents so far. `perturb` moves a network towards a sample from the normal distribution that is fitted
  to them, farther if more units are dormant.

Numbers are those of the released code (`cfgs/agent/mentor*.yaml` of github.com/suninghuang19/mentor). Differences: the load loss of the released
code is the variance of counts of selected experts, which has no gradient, so the loss of Switch Transformers (arXiv 2101.03961, equation 4) is used
here; a candidate for the best agents is the policy of a batch of rollouts instead of an episode, and its score is their mean reward; there is no
critic, and convolutions are never perturbed.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

DORMANT = 0.025  # a unit is dormant if its mean absolute output is below this fraction of its layer's mean
CAPACITY = 10  # number of best agents
RATE = 2.0  # decrease of the factor of the current weights by the dormant ratio
FACTORS = (0.2, 0.9)  # smallest and largest factor of the current weights
MIN_SPREAD = 1e-7  # smallest standard deviation of a sampled weight


class MixtureOfExperts(nn.Module):
    """A layer of `count` experts, of which the `top` experts with the largest gate weights compute a row.

    The output of a row x is the sum of g_i f_i(x) over its top experts, divided by the sum of their g_i. g is the softmax of the gate. Gate and
    experts are networks with one hidden layer of a quarter of the width, the ratio of the paper.
    """

    def __init__(self, width: int, count: int = 16, top: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        self.top, hidden = top, width // 4
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width)) for _ in range(count)
        )
        self.gate = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, count))
        self.loss: Tensor | float = 0.0  # `gate_loss` of the latest forward pass

    def forward(self, rows_NW: Tensor) -> Tensor:
        """Return the output (N, W), and store the gate's loss in `loss`."""
        weights_NE = self.gate(rows_NW).softmax(1)
        top_weights_NK, top_NK = weights_NE.topk(self.top, 1)
        self.loss = gate_loss(weights_NE, top_NK)
        outputs_NEW = torch.stack([expert(rows_NW) for expert in self.experts], 1)
        top_outputs_NKW = outputs_NEW.gather(1, top_NK[:, :, None].expand(-1, -1, outputs_NEW.shape[2]))
        shares_NK = top_weights_NK / top_weights_NK.sum(1, keepdim=True)
        return torch.einsum("nk,nkw->nw", shares_NK, top_outputs_NKW)


def gate_loss(weights_NE: Tensor, top_NK: Tensor) -> Tensor:
    """Return the load-balance loss plus the entropy of the gate, for gate weights of N rows and E experts and the K selected experts.

    The load-balance loss is E * sum_i f_i P_i, where f_i is the fraction of all selections that are expert i, and P_i its mean weight. It is 1 for
    an even load. The entropy is the mean over rows, in nats.

    >>> even = torch.full((2, 2), 0.5)
    >>> round(gate_loss(even, torch.tensor([[0], [1]])).item(), 4)  # 1 + log 2
    1.6931
    """
    experts = weights_NE.shape[1]
    fractions_E = functional.one_hot(top_NK, experts).float().mean((0, 1))
    entropy: Tensor = torch.special.entr(weights_NE).sum(1).mean()
    return experts * fractions_E @ weights_NE.mean(0) + entropy


def linear_layers(network: nn.Module) -> Iterator[nn.Linear]:
    """Yield the linear layers of a network, those of experts and gates included."""
    return (module for module in network.modules() if isinstance(module, nn.Linear))


@torch.no_grad()
def dormant_ratio(network: nn.Module, *inputs: object) -> float:
    """Return the fraction of units of linear layers that are dormant on these inputs.

    A unit is dormant if its mean absolute output over the batch is below 0.025 of the mean over its layer (Sokar et al., arXiv 2302.12902, with
    the outputs of linear layers as in DrM, arXiv 2310.19668). Layers that the network calls several times count once.
    """
    outputs: dict[nn.Module, list[Tensor]] = {layer: [] for layer in linear_layers(network)}
    hooks = [
        layer.register_forward_hook(lambda module, _, output: outputs[module].append(output.flatten(0, -2).abs()))
        for layer in outputs
    ]
    try:
        network(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    means = [torch.cat(parts).mean(0) for parts in outputs.values() if parts]
    dormant = sum(int((mean < DORMANT * mean.mean()).sum()) for mean in means)
    return dormant / max(sum(map(len, means)), 1)


def kept_fraction(dormant: float) -> float:
    """Return the factor of the current weights in a perturbation, 1 - 2 * dormant ratio within 0.2 and 0.9.

    >>> [kept_fraction(dormant) for dormant in (0.0, 0.25, 0.5)]
    [0.9, 0.5, 0.2]
    """
    return min(max(1 - RATE * dormant, FACTORS[0]), FACTORS[1])


class BestAgents:
    """The best agents of a run, at most ten, each with its score and the parameters of its linear layers, in their order."""

    def __init__(self, agents: Sequence[tuple[float, list[Tensor]]] = ()) -> None:
        self.agents = list(agents)

    def add(self, score: float, network: nn.Module) -> None:
        """Add a copy of the network's linear layers, in place of the worst agent if there are ten and it has a lower score."""
        if len(self.agents) == CAPACITY:
            worst = min(range(CAPACITY), key=lambda index: self.agents[index][0])
            if score <= self.agents[worst][0]:
                return
            del self.agents[worst]
        self.agents.append((score, [parameter.detach().clone() for parameter in _parameters(network)]))

    @torch.no_grad()
    def sample(self, generator: torch.Generator) -> list[Tensor]:
        """Return parameters of linear layers, sampled from normal distributions with the mean and standard deviation of the best agents'."""
        stacks = [torch.stack(parameters) for parameters in zip(*(parameters for _, parameters in self.agents), strict=True)]
        spreads = [stack.std(0, correction=min(1, len(stack) - 1)).clamp(min=MIN_SPREAD) for stack in stacks]
        return [torch.normal(stack.mean(0), spread, generator=generator) for stack, spread in zip(stacks, spreads, strict=True)]

    @torch.no_grad()
    def perturb(
        self, network: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator, *inputs: object
    ) -> dict[str, float]:
        """Replace each parameter p of the linear layers by a * p + (1 - a) * q, where q is a sample, and return metrics.

        a is the `kept_fraction` of the dormant ratio of the network on the inputs. The optimizer's state is reset. There must be an agent.
        """
        dormant = dormant_ratio(network, *inputs)
        factor = kept_fraction(dormant)
        for parameter, sample in zip(_parameters(network), self.sample(generator), strict=True):
            parameter.lerp_(sample, 1 - factor)
        optimizer.state.clear()
        return {"dormant_ratio": dormant, "kept_weights": factor}


def _parameters(network: nn.Module) -> list[nn.Parameter]:
    return [parameter for layer in linear_layers(network) for parameter in layer.parameters()]
