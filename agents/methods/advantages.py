"""Credit: how the rewards of episodes become an advantage and a weight for each token; functions of plain values.

Axes in names: S is the number of samples (steps of episodes); T the number of trajectories of one group.

Sources: WebAgent-R1, arXiv 2505.16421, equation 2 (the three means); DeepSeekMath, arXiv 2402.03300 (group advantages); Dr.GRPO,
arXiv 2503.20783 (no standard deviation, a constant length); DAPO, arXiv 2503.14476 (the token mean); AsyncWebRL, arXiv 2606.05597
(a constant in place of the number of steps); GiGPO, arXiv 2505.10978 (groups of equal states); VinePPO, arXiv 2410.01679 (values
from continuations).
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Literal

Weighting = Literal["paper", "constant", "dr_grpo", "token_mean"]
MIN_DEVIATION = 1e-6  # rewards closer together than this are equal: such a group teaches nothing


def trajectory_advantages(rewards_T: Sequence[float], *, scale: bool = True) -> list[float]:
    """Return (r - mean) / std of each trajectory in its group; `scale=False` leaves the division out (Dr.GRPO).

    The standard deviation is that of the group (divided by T). Groups of equal rewards get zeros.

    >>> trajectory_advantages([1, 0, 0, 1])
    [1.0, -1.0, -1.0, 1.0]
    """
    mean = fmean(rewards_T)
    centred = [reward - mean for reward in rewards_T]
    deviation = fmean(value * value for value in centred) ** 0.5
    if deviation < MIN_DEVIATION:
        return [0.0] * len(centred)
    return [value / deviation for value in centred] if scale else centred


def state_advantages(
    states_S: Sequence[Hashable], returns_S: Sequence[float], *, scale: bool = True, leave_one_out: bool = True
) -> list[float]:
    """Return each step's advantage among the visits of its own state in the group.

    A state is whatever makes two contexts equal, here the exact prompt. Where it was visited n >= 2 times with mixed returns,
    A = (R - mean) / std * n / (n - 1): the last factor makes R - mean the distance to the mean of the *other* visits; GiGPO
    goes without it (`leave_one_out=False`). Steps in states visited once, or with equal returns, get 0: the group
    holds no evidence about them.

    >>> state_advantages(["a", "a", "b"], [1, 0, 1])
    [2.0, -2.0, 0.0]
    """
    visits: dict[Hashable, list[int]] = defaultdict(list)
    for index, state in enumerate(states_S):
        visits[state].append(index)
    advantages = [0.0] * len(returns_S)
    for indices in visits.values():
        count = len(indices)
        if count < 2:
            continue
        factor = count / (count - 1) if leave_one_out else 1.0
        own = trajectory_advantages([returns_S[index] for index in indices], scale=scale)
        for index, advantage in zip(indices, own, strict=True):
            advantages[index] = advantage * factor
    return advantages


def fork_advantages(continuations_S: Sequence[Sequence[float]], reward: float) -> list[float]:
    """Return each step's advantage in one trajectory from the returns of continuations that were played from its states.

    The value of a state is the mean return of the continuations that began there. A step is worth the value of the state it led
    to, less that of the state it was taken in: A_t = V(s_t+1) - V(s_t) (VinePPO), and the last step led to the
    `reward`. Steps between two forks share what was gained from one to the next; those before the first fork get 0.

    >>> fork_advantages([[], [1, 0, 0, 0], [], [1, 1, 1, 0]], reward=1)
    [0.0, 0.5, 0.5, 0.25]
    """
    forks = [index for index, returns in enumerate(continuations_S) if returns]
    values = [*(fmean(continuations_S[index]) for index in forks), reward]
    advantages = [0.0] * len(continuations_S)
    for (start, end), (before, after) in zip(pairwise([*forks, len(continuations_S)]), pairwise(values), strict=True):
        advantages[start:end] = [after - before] * (end - start)
    return advantages


def token_weights(
    response_lengths_S: Sequence[int],
    trajectory_steps_S: Sequence[int],
    trajectories: int,
    weighting: Weighting,
    *,
    constant_steps: int = 15,
    constant_tokens: int = 1024,
) -> list[float]:
    """Return the weight of every token of each sample; the loss is the weighted sum over all tokens of the update.

    `response_lengths_S` is |a|, the number of tokens of a sample's response; `trajectory_steps_S` is |tau|, the number of steps
    of the trajectory it belongs to; `trajectories` counts those of the whole update. The denominators are those of the whole
    update, so micro-batches and processes only have to be summed.

    - "paper": 1/trajectories * 1/|tau| * 1/|a| (WebAgent-R1, equation 2)
    - "constant": 1/trajectories * 1/constant_steps * 1/|a| (AsyncWebRL): each step of a long failure counts fully
    - "dr_grpo": 1/trajectories * 1/constant_tokens (Dr.GRPO): each token counts fully, whatever the others' lengths
    - "token_mean": 1/tokens (DAPO): all tokens alike, and the more of them there are, the less each counts
    """
    if not response_lengths_S:
        return []
    if weighting == "token_mean":
        return [1.0 / sum(response_lengths_S)] * len(response_lengths_S)
    if weighting == "dr_grpo":
        return [1.0 / (trajectories * constant_tokens)] * len(response_lengths_S)
    steps_S = trajectory_steps_S if weighting == "paper" else [constant_steps] * len(response_lengths_S)
    return [1.0 / (trajectories * steps * length) for length, steps in zip(response_lengths_S, steps_S, strict=True)]
