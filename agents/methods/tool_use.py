"""Agents that call tools: M-GRPO with the rewards of Search-R1, ToRL, ARTIST, CM2, ASTRA and WebDancer.

The methods differ in the reward of an episode (`--tool-reward`), and in options of M-GRPO. Results of tools are in the prompts of later steps, so
they are never trained on. Each method is a recipe of `benchmarks.methods`; the sources of its numbers:

- `search_r1` (Jin et al., arXiv 2503.09516, and with rewards of the form arXiv 2505.15117): `search_r1_reward`. Its KL weight 0.001 and 5
  rollouts are those of the released `scripts/nq_hotpotqa/v0.3/train_grpo_format.sh`.
- `torl` (Li et al., arXiv 2503.23383): 16 rollouts and no KL term, as in the released `scripts/torl_1.5b.sh`. Its rewards are 1 and -1
  (`verl/utils/reward_score/math_verifier.py`), whose advantages are those of 1 and 0. Its penalty of 0.5 for code that fails
  (`verl/workers/reward_manager/naive.py`, off by default) is `--failed-call-cost 0.25` on that scale. An error of a tool is one line in the env.
- `artist` (Singh et al., arXiv 2505.01441): `artist_reward`. Its code is not public, and its hyperparameters are not set here.
- `cm2` (Zhang et al., arXiv 2602.12268): the sum over steps of newly satisfied items of the checklist. Advantages without standard deviation, token
  importance weights of at most 2, a KL weight of 0.0001, a mean over tokens and 4 rollouts are those of the released `pipeline/5_rl_training/traj_n48.sh`.
  `--credit turn` is its estimator `checklist`. Differences: items are judged without a language model, tokens with tiny importance weights are not
  vetoed, and turns that few rollouts reached are kept.
- `astra` (Tian et al., arXiv 2601.21558): the F1 value of completion and economy (`webarena_gym.evaluators.checklist.f1`), equations 30 and 31 of
  the paper, which count calls of tools where this counts steps. The mean over tokens and no KL term are the paper's, and the defaults. Its
  groups with equal rewards are replaced by new ones until the batch is full; here they are dropped. It adds irrelevant tools, which no option does here.
- `webdancer` (Wu et al., arXiv 2505.22648): cloning of ReAct episodes, and then DAPO with `webdancer_reward`. Its dynamic sampling plays
  at most three times as many groups here.

The learning rates of these papers are for models of 1.5 to 32 billion parameters, and are not set here either. All recipes have the tools and the
call budget of the BC agent, so that they differ in what is rewarded. The papers allow 4 calls with 3 passages (Search-R1) and 1 call (ToRL): `--tool-budget`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import fmean

from agents.data.trajectories import Trajectory, action_of
from agents.grpo import GRPO, Model, step_advantages
from agents.methods.replay import valid_trajectories
from agents.rollouts.curriculum import Group
from agents.rollouts.envs import InProcessEnvs
from agents.rollouts.policies import TrainedPolicy
from agents.training.credit import TrainedStep
from agents.training.settings import ToolUseSettings
from webarena_gym.actions.dialect import RESULT_TAG
from webarena_gym.tasks import Task

FORM, ANSWERED, RETRIEVED = 0.2, 0.1, 0.1
"""Parts of Search-R1's reward, of its `verl/utils/reward_score/qa_em_format.py`. Its script sets the last one to 0."""
ARTIST_ANSWER, ARTIST_FORM = 2.0, 0.5  # of summaries of the paper; one of them gives 0.5 to 1 for the form
WEBDANCER_FORM, WEBDANCER_ANSWER = 0.1, 0.9  # three summaries of the paper agree

_PART = re.compile(r"\w+(?:(?<=\d)[.,](?=\d)\w+)*|[^\w\s]")  # a word, a number such as 1,300.5, or another sign


class ToolUse(GRPO):
    """M-GRPO with rewards for the use of tools."""

    title = "tool use"

    args: ToolUseSettings

    def __init__(
        self, args: ToolUseSettings, tasks: Sequence[Task], model: Model, envs: InProcessEnvs | None = None,
        policy: TrainedPolicy | None = None,
    ) -> None:  # fmt: skip
        if model.encoder is None:
            raise ValueError(f"model is {args.model!r}, a pointer network, which cannot call tools; expected a language model")
        super().__init__(args, tasks, model, envs, policy)
        self.answers = {task.task_id: reference_texts(task) for task in tasks}

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Return the steps of all groups whose rewards differ, and metrics of calls and rewards."""
        steps, metrics = super().batch(groups, rng)
        items = valid_trajectories(groups)
        calls = [step.tool for item in items for step in item.steps if step.tool]
        rewards = [episode_reward(item, self.args, self.answers.get(item.task_id, ())) for item in items]
        return steps, metrics | {
            "tool_calls": len(calls) / max(len(items), 1),
            "failed_calls": calls.count("failed") / max(len(calls), 1),
            "tool_reward": fmean(rewards) if rewards else 0.0,
        }

    def advantages(self, group: Sequence[Trajectory]) -> list[float]:
        """Return the advantage of every step of a group, trajectory after trajectory."""
        if self.args.credit == "turn":
            return turn_advantages([[step.credit for step in item.steps] for item in group])
        rewards = [episode_reward(item, self.args, self.answers.get(item.task_id, ())) for item in group]
        if self.args.standardized:
            return step_advantages(
                [replace(item, reward=reward) for item, reward in zip(group, rewards, strict=True)], self.args
            )
        mean = fmean(rewards)
        return [reward - mean for item, reward in zip(group, rewards, strict=True) for _ in item.steps]


def episode_reward(item: Trajectory, args: ToolUseSettings, answers: Sequence[str]) -> float:
    """Return the reward of an episode; `answers` are the reference answers of its task."""
    cost = args.failed_call_cost if any(step.tool == "failed" for step in item.steps) else 0.0
    if args.tool_reward in ("checklist", "f1"):
        return sum(step.credit for step in item.steps) - cost
    if args.tool_reward == "search_r1":
        return search_r1_reward(item, answers, args.env_arguments().get("tool_tag", RESULT_TAG)) - cost
    if args.tool_reward == "artist":
        return artist_reward(item) - cost
    if args.tool_reward == "webdancer":
        return webdancer_reward(item) - cost
    return item.reward - cost


def search_r1_reward(item: Trajectory, answers: Sequence[str], tag: str = RESULT_TAG) -> float:
    """Return Search-R1's reward of outcome, form and retrieval. `tag` is the tag of results, the env's `tool_tag`.

    1 for a success in which every reply has the form of an action or call, and 0.8 for other successes. Of failures, 0.2 if all replies have the
    form, 0.3 if also the result of a tool contains an answer, 0.1 if the episode only ended with an answer, and 0 otherwise.
    """
    has_form = all_well_formed(item)
    if item.reward == 1:
        return 1.0 if has_form else 1.0 - FORM
    if has_form:
        return FORM + RETRIEVED * any(_contains(result, answers) for result in tool_results(item, tag))
    return ANSWERED * bool(final_answer(item))


def artist_reward(item: Trajectory) -> float:
    """Return ARTIST's reward: answer (2), form of all replies (0.5), and the fraction of calls that were executed without an error (up to 1)."""
    calls = [step.tool for step in item.steps if step.tool]
    executed = calls.count("ok") / len(calls) if calls else 0.0
    return ARTIST_ANSWER * (item.reward == 1) + ARTIST_FORM * all_well_formed(item) + executed


def webdancer_reward(item: Trajectory) -> float:
    """Return WebDancer's reward: 0.9 for the answer and 0.1 for the form of all replies."""
    return WEBDANCER_ANSWER * (item.reward == 1) + WEBDANCER_FORM * all_well_formed(item)


def turn_advantages(credits_ET: Sequence[Sequence[float]]) -> list[float]:
    """Return the credit of each turn minus the mean of the credits of this turn over the episodes that have it, episode after episode.

    >>> turn_advantages([[0.25, 0.75], [0.25], [0.0, 0.25, 0.0]])
    [0.08333333333333334, 0.25, 0.08333333333333334, -0.16666666666666666, -0.25, 0.0]
    """
    longest = max(map(len, credits_ET), default=0)
    means_T = [fmean(credits[turn] for credits in credits_ET if len(credits) > turn) for turn in range(longest)]
    return [credit - mean for credits in credits_ET for credit, mean in zip(credits, means_T, strict=False)]


def all_well_formed(item: Trajectory) -> bool:
    """Return True if every reply is an action, or a call of a tool within the budget."""
    return bool(item.steps) and all(step.tool or action_of(step.reply) is not None for step in item.steps)


def tool_results(item: Trajectory, tag: str = RESULT_TAG) -> list[str]:
    """Return the results of tools that the pages of an episode show within a tag."""
    start, end = f"<{tag}>\n", f"\n</{tag}>\n"
    return [step.page.removeprefix(start).partition(end)[0] for step in item.steps if step.page.startswith(start)]


def final_answer(item: Trajectory) -> str:
    """Return the answer with which an episode ended; "" if it did not."""
    action = action_of(item.steps[-1].reply) if item.ending == "exited" and item.steps else None
    return (action.argument or "") if action else ""


def reference_texts(task: object) -> tuple[str, ...]:
    """Return the reference answers of a task as texts.

    >>> reference_texts(Task("a", ("map",), "__MAP__", "?", {"eval_types": [], "reference_answers": {"must_include": ["Orr", "3"]}}))
    ('Orr', '3')
    """
    answers = (getattr(task, "eval", None) or {}).get("reference_answers") or {}
    values = [value for part in answers.values() for value in (part if isinstance(part, list) else [part])]
    return tuple(value for value in values if isinstance(value, str) and value)


def _contains(result: str, answers: Sequence[str]) -> bool:
    """Return True if the words and numbers of an answer follow one another in the result of a tool."""
    text = _normalize(result)
    return any(_normalize(answer) in text for answer in answers)


def _normalize(text: str) -> str:
    """Return the words, numbers and other signs of a text, with a space before and after each."""
    return f" {' '.join(_PART.findall(text.casefold()))} "
