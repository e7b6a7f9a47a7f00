"""Agent Q: search, compare actions, learn the preferences, and search again: `python -m agents.agent_q --model RUN --out runs/q`.

After Putta et al., arXiv 2408.07199. Each iteration searches tasks by Monte Carlo tree search over snapshots, within a budget of env
steps a task; of each tree come pairs of actions in one state; direct preference optimisation learns them. A large language model judges
the actions there and is given the outcome by the env, or by itself; here the policy's own probabilities rank the actions, and the env
tells the outcome.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import torch
from tqdm import tqdm

from agents.data.demonstrations import draw_tasks
from agents.evaluation.branches import Found, play
from agents.evaluation.search import confidence, monte_carlo, preferences, told_reward
from agents.methods.dpo import learn_preferences
from agents.models.checkpoints import agent_record, begin, save_checkpoint
from agents.rollouts.envs import InProcessEnvs
from agents.rollouts.policies import Policy
from agents.rollouts.settings import RolloutSettings, SamplingSettings
from agents.rollouts.setup import PlayerSettings
from agents.settings import ENV_ID, EnvSettings, MayChange, TaskSettings, build, given, parse_settings
from agents.training.kinds import kind_of
from agents.training.learner import Learner, UpdateSettings
from agents.training.metrics import Metrics
from agents.training.objectives import imitation
from webarena_gym import console
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class AgentQRunSettings:
    """Where a run begins and is kept, and how long it is."""

    model: str
    """a model folder or a run, of a language model or a pointing network"""
    out: MayChange[Path]
    """folder of the run: checkpoints, metrics"""
    iterations: MayChange[int] = 3
    """searches, each followed by learning; 0 saves what there is"""
    tasks_per_iteration: int = 128
    """tasks that are searched in an iteration"""
    num_envs: MayChange[int] = 16
    """tasks searched at the same time"""
    threads: MayChange[int] = 0
    """CPU threads; 0: torch's default, and one for a pointing network"""
    seed: int = 0
    """of the tasks, the sampling and the order of pairs"""


@dataclass(frozen=True, kw_only=True)
class MonteCarloSettings:
    """The search."""

    budget: int = 60
    """env steps spent on a task"""
    branching: int = 4
    """replies sampled in a state; equal actions count once"""
    exploration: float = 1.0
    """weight of the bound of rarely tried actions"""
    prior_weight: float = 0.25
    """weight of an action's rank by the policy in Q, against its mean reward"""


@dataclass(frozen=True, kw_only=True)
class PreferenceSettings:
    """What is learned of a tree."""

    threshold: float = 0.3
    """gap of Q that makes a pair"""
    pairs_per_state: int = 2
    """pairs of one state at most, the widest gaps"""
    beta: float = 0.1
    """how strongly preferences pull away from the policy that searched"""
    pairs_per_update: int = 64
    """pairs in one update"""


@dataclass(frozen=True, kw_only=True)
class AgentQSettings:
    """Improve a model by search and preferences. A run that was killed is resumed after its last iteration.

    --epochs passes over the pairs of each iteration; --learning-rate is of each update.
    """

    run: AgentQRunSettings
    search: MonteCarloSettings = field(default_factory=MonteCarloSettings)
    preference: PreferenceSettings = field(default_factory=PreferenceSettings)
    tasks: TaskSettings = field(default_factory=TaskSettings)
    env: EnvSettings = field(default_factory=EnvSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    update: UpdateSettings = field(default_factory=UpdateSettings)

    def player(self) -> PlayerSettings:
        """Return what has to be known to play."""
        return PlayerSettings(
            env=self.env,
            sampling=self.sampling,
            rollout=RolloutSettings(),
            tokens_per_pass=self.update.tokens_per_pass,
            out=self.run.out,
            seed=self.run.seed,
        )


def make_settings(**options: Any) -> AgentQSettings:
    """Return settings from options by name; how the model was used in training comes before the dataclasses' defaults."""
    return build(AgentQSettings, **{**agent_record(options["model"]), **options})


def train(settings: AgentQSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn from the settings' worlds unless given."""
    run = settings.run
    kind = kind_of(run.model)
    if threads := run.threads or kind.threads:
        torch.set_num_threads(threads)
    last = begin(settings, run.out)
    iteration, record = (last.update, last.progress()) if last else (0, {"elapsed_s": 0.0, "env_steps": 0, "cpu_minutes": 0.0})
    if last and iteration >= run.iterations:
        return last.path
    model, tokenizer = kind.load(last.path if last else run.model)
    family = kind.family(tokenizer, settings.player())
    # Each call of the learner is one update: the epochs and updates over pairs are counted here.
    learner = Learner(
        model,
        replace(settings.update, epochs=1, minibatches=1),
        imitation(),
        temperature=settings.sampling.temperature,
        family=family,
    )
    if last:
        last.restore(learner)
    if tasks is None:
        own = settings.tasks
        tasks = draw_tasks(own.worlds, own.per_template, templates=own.templates, variation=settings.env.variation)
    policy, load, *_ = family.sampler(settings.player(), learner.model)
    make_env = partial(gymnasium.make, ENV_ID, disable_env_checker=True, tasks=tasks, **settings.env.env_arguments())
    envs = InProcessEnvs(make_env, min(run.num_envs, run.tasks_per_iteration))
    env_steps, elapsed_s, cpu_minutes = record["env_steps"], record["elapsed_s"], record["cpu_minutes"]

    def save() -> Path:
        agent = {
            **settings.env.env_arguments(),
            "system": settings.sampling.system,
            "max_new_tokens": settings.sampling.max_new_tokens,
        }
        progress = {"elapsed_s": elapsed_s, "env_steps": env_steps, "cpu_minutes": cpu_minutes}
        kept = max(run.iterations + 1, 1)  # each iteration is measured
        return save_checkpoint(run.out, iteration, learner.result, tokenizer, learner, progress, agent, keep=kept).path

    path = run.out
    with closing(envs), closing(policy), Metrics(run.out, iteration, "Agent Q") as metrics:
        while iteration < run.iterations:
            started_s, started_cpu_s = time.perf_counter(), time.process_time()
            rng = Random(f"{run.seed}/{iteration}")
            load(learner.model, iteration)
            found = _search(settings, envs, policy, [rng.choice(tasks) for _ in range(run.tasks_per_iteration)], rng)
            wanted = settings.preference
            pairs = [
                pair
                for item in found
                for pair in preferences(
                    item,
                    value=confidence,
                    prior_weight=settings.search.prior_weight,
                    threshold=wanted.threshold,
                    most=wanted.pairs_per_state,
                )
            ]
            values = learn_preferences(
                learner,
                family,
                pairs,
                rng,
                beta=wanted.beta,
                epochs=settings.update.epochs,
                pairs_per_update=wanted.pairs_per_update,
                temperature=settings.sampling.temperature,
                tokens_per_pass=settings.update.tokens_per_pass,
            )
            spent_s = time.perf_counter() - started_s
            iteration, elapsed_s = iteration + 1, elapsed_s + spent_s
            cpu_minutes += (time.process_time() - started_cpu_s) / 60
            env_steps += sum(item.env_steps for item in found)
            values |= {
                "pairs": len(pairs),
                "env_steps": env_steps,
                "solved": sum(item.oracle.reward for item in found) / len(found),
                "elapsed_s": elapsed_s,
                "cpu_minutes": cpu_minutes,
            }
            metrics.log(iteration, values)
            metrics.show(iteration / run.iterations, f"{len(pairs)} pairs, {100 * values['solved']:.0f} % solved")
            path = save()
        if not run.iterations:
            path = save()
    return path


def _search(settings: AgentQSettings, envs: InProcessEnvs, policy: Policy, tasks: Sequence[Task], rng: Random) -> list[Found]:
    """Search the tasks by Monte Carlo tree search that is told the rewards of ends."""
    own = settings.search
    method = partial(
        monte_carlo,
        value=confidence,
        outcome=told_reward,
        branching=own.branching,
        budget=own.budget,
        exploration=own.exploration,
        prior_weight=own.prior_weight,
    )
    local = [envs.local(env_id) for env_id in range(envs.num_envs)]
    with tqdm(total=len(tasks), desc="searching", unit="task", disable=None) as bar:
        return play(
            local, policy, tasks, method, seed=rng.randrange(2**31), tells_rewards=True, on_finish=lambda _: bar.update()
        )


def main(arguments: Sequence[str]) -> None:
    """Train as the command line says; the model's own env settings are the defaults."""
    model = given(arguments, "--model")
    settings = parse_settings(AgentQSettings, arguments, agent_record(model) if model else {}, program="agents.agent_q")
    print(train(settings))


if __name__ == "__main__":
    console.run("python -m agents.agent_q", main)
