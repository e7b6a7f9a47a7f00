"""Value functions of search states, and rules that choose one of several ends. None of them reads a reward."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from operator import itemgetter
from pathlib import Path
from typing import Any

from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.trajectories import Ending, Step
from agents.models.checkpoints import CheckpointError, agent_record, checkpoints, load_model
from agents.models.critics import Critic, CriticSettings, LanguageValueNetwork
from webarena_gym.actions import DIALECTS, Kind
from webarena_gym.actions.replies import answer_part
from webarena_gym.errors import ActionError


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A state of an episode as the policy sees it: the messages and replies so far, without reward.

    Only where a search collects data for training, an end has its reward.
    """

    number: int  # of the states of one search, as they were reached
    parent: "State | None"
    messages: Sequence[Mapping[str, Any]]  # the chat that leads to the next reply
    page: str
    steps: tuple[Step, ...]  # all from the beginning
    ending: Ending | None = None  # None: it can go on
    reward: float | None = None  # of an end, where it is told


Value = Callable[[Sequence[State]], Sequence[float]]  # higher is better
Choice = Callable[[Sequence[State]], State]

_WORST_TO_BEST = ("failed", None, "too_long", "truncated", "exited")  # endings; None: the budget was spent


# Values.


def confidence(states: Sequence[State]) -> list[float]:
    """Return the mean log-probability of all reply tokens up to each state; 0 if there are none.

    A weak value: likely replies need not be right, and loops are likely text. It needs no training and is a baseline for other values.
    """
    logprobs = [[value for step in state.steps for value in step.logprobs] for state in states]
    return [sum(values) / len(values) if values else 0.0 for values in logprobs]


def likelihood(states: Sequence[State]) -> list[float]:
    """Return the geometric mean of the probabilities of all reply tokens up to each state: the confidence, from 0 to 1."""
    return [exp(value) for value in confidence(states)]


def told_reward(states: Sequence[State]) -> list[float]:
    """Return the reward of each end, 0 of one that was lost: what training may read, and no search at test time."""
    return [state.reward or 0.0 for state in states]


def critic_value(critic: Critic, encoder: PromptEncoder, judge: Critic | None = None) -> Value:
    """Return the value function of a critic: the probability of success.

    The critics of AWR and DigiRL were not trained on ends. An end therefore has the value of its last page, so all answers on that page
    are equal, and the first is chosen. A `judge` of whole episodes, such as WebRL's outcome model, values the ends themselves.
    A critic is reliable only near the states that its policy reached in training.
    """

    def value(states: Sequence[State]) -> list[float]:
        over = [state.ending in ("exited", "truncated") for state in states]
        read = [state.parent or state if ended else state for state, ended in zip(states, over, strict=True)]
        prompts = encoder.encode_all([state.messages for state in read])
        values = critic.values(prompts)
        if judge is not None:
            ends = [index for index, ended in enumerate(over) if ended]
            texts = [prompts[index] + encoder.encode_reply(states[index].steps[-1].reply) for index in ends]
            for index, judged in zip(ends, judge.values(texts), strict=True):
                values[index] = judged
        return values

    return value


def load_critic(run: Path) -> Value:
    """Return the value function in the newest checkpoint of a run of `train_rl`.

    Raises CheckpointError for a run without a checkpoint or without a critic.
    """
    done = checkpoints(run)
    if not done:
        raise CheckpointError(f"{run} holds no checkpoint; expected a run of train_rl")
    trainer = _TrainerState()
    done[-1].restore(trainer)
    learned = trainer.state.get("method", {})
    name = next((name for name in ("critic", "step_critic") if name in learned), None)
    if name is None:
        raise CheckpointError(f"{done[-1].path} holds no critic; expected a run of train_rl by awr, digirl or webrl")
    model, tokenizer = load_model(run)
    critics: dict[str, Critic] = {}
    for part in (name, "reward_model"):
        if part in learned:
            critics[part] = Critic(LanguageValueNetwork(model), CriticSettings())
            critics[part].load_state_dict(learned[part])
    record = agent_record(run)
    encoder = PromptEncoder(tokenizer, system_prompt(record["system"], elements=record["elements"]))
    return critic_value(critics[name], encoder, critics.get("reward_model"))


@dataclass
class _TrainerState:
    """Keeps the state of a checkpoint's trainer as it is."""

    state: dict[str, Any] = field(default_factory=dict)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.state = state_dict


# Choices. Episodes that the agent has exited are preferred to truncated ones; of equals, the first is chosen.


def by_value(value: Value) -> Choice:
    """Return a function that chooses the end with the highest value."""

    def choose(ends: Sequence[State]) -> State:
        alike = _best_endings(ends)
        return max(zip(alike, value(alike), strict=True), key=itemgetter(1))[0]

    return choose


def majority(ends: Sequence[State]) -> State:
    """Return the first end with the most frequent outcome: self-consistency (Wang et al., arXiv 2203.11171).

    The outcome is the answer; without an answer, it is the last action and its page. Actions on earlier pages are not compared, so
    this says little about tasks that change something which the last page does not show.
    """
    alike = _best_endings(ends)
    outcomes = [_outcome(end) for end in alike]
    ((most_frequent, _),) = Counter(outcomes).most_common(1)
    return alike[outcomes.index(most_frequent)]


def _best_endings(ends: Sequence[State]) -> list[State]:
    best = max(_WORST_TO_BEST.index(end.ending) for end in ends)
    return [end for end in ends if end.ending == _WORST_TO_BEST[best]]


def _outcome(end: State) -> tuple[str, str]:
    reply = end.steps[-1].reply if end.steps else ""
    try:
        action = DIALECTS["webrl"].parse(reply)
    except ActionError:
        return reply, end.page
    if action.kind is Kind.EXIT and action.argument:
        return " ".join(action.argument.casefold().split()), ""
    return answer_part(reply), end.page
