"""Agent Q: search, compare actions, learn the preferences, and search again: `python -m agents.agent_q --model RUN --out runs/q`.

After Putta et al., arXiv 2408.07199. Each iteration searches tasks by Monte Carlo tree search over snapshots, within a budget of env
steps a task; of each tree come pairs of actions in one state; direct preference optimisation learns them. A large language model judges
the actions there and is given the outcome by the env, or by itself; here the policy's own probabilities rank the actions, and the env
tells the outcome.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal

import gymnasium
import torch
from tqdm import tqdm

from agents.data.demonstrations import draw_tasks
from agents.evaluation.search import confidence, monte_carlo, preferences, told_reward
from agents.grpo import load
from agents.methods.dpo import learn_preferences
from agents.models.checkpoints import agent_record, begin, save_checkpoint
from agents.models.pointer.network import is_pointer
from agents.rollouts.branching import Found, search
from agents.rollouts.envs import InProcessEnvs
from agents.rollouts.policies import Policy
from agents.settings import ENV_ID, MayChange, TaskSettings, build, given, parse_settings
from agents.training.metrics import Metrics
from agents.training.pointing_networks import THREADS
from agents.training.settings import LanguageModelSettings, TrainSettings
from webarena_gym import console
from webarena_gym.tasks import Task

EXPLORATION = 1.0  # weight of the bound of rarely tried actions
PAIRS_PER_STATE = 2  # at most, the widest gaps
BETA2 = 0.95  # of AdamW


@dataclass(frozen=True, kw_only=True)
class AgentQSettings(TaskSettings):
    """Improve a model by search and preferences. A run that was killed is resumed after its last iteration.

    --epochs passes over the pairs of each iteration; --learning-rate is of each update.
    """

    model: str
    """a model folder or a run, of a language model or a pointing network"""
    out: MayChange[Path]
    """folder of the run: checkpoints, metrics"""
    iterations: MayChange[int] = 3
    """searches, each followed by learning; 0 saves what there is"""
    tasks_per_iteration: int = 128
    """tasks that are searched in an iteration"""
    threads: MayChange[int] = 0
    """CPU threads; 0: torch's default, and one for a pointing network"""
    seed: int = 0
    """of the tasks, the sampling and the order of pairs"""
    budget: int = 60
    """env steps spent on a task"""
    branching: int = 4
    """replies sampled in a state; equal actions count once"""
    prior_weight: float = 0.25
    """weight of an action's rank by the policy in Q, against its mean reward"""
    threshold: float = 0.3
    """gap of Q that makes a pair"""
    beta: float = 0.1
    """how strongly preferences pull away from the policy that searched"""
    pairs_per_update: int = 64
    """pairs in one update"""
    epochs: int = 1
    """passes over the pairs of an iteration"""
    learning_rate: float = 3e-4
    """of each update"""
    temperature: float = 1.0
    """of sampling; log-probabilities are computed at the same"""
    variation: Literal["content", "layout"] = "content"
    """how worlds differ: in what is on the sites, or also in how the sites are built"""
    max_steps: int = 15
    """steps after which an episode is cut off"""
    language: LanguageModelSettings = field(default_factory=LanguageModelSettings)

    processes: ClassVar[int] = 1
    env, agent = TrainSettings.env, TrainSettings.agent


@dataclass(frozen=True)
class _OneUpdate:
    """Settings of `learn` for one update a call."""

    learning_rate: float
    epochs: int = 1
    minibatches: int = 1
    schedule: str = "constant"
    max_grad_norm: float = 1.0


def make_settings(**options: Any) -> AgentQSettings:
    """Return settings from options by name; how the model was used in training comes before the dataclasses' defaults."""
    return build(AgentQSettings, **{**agent_record(options["model"]), **options})


def train(settings: AgentQSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn from the settings' worlds unless given."""
    args: Any = settings
    if threads := args.threads or (THREADS if is_pointer(args.model) else 0):
        torch.set_num_threads(threads)
    last = begin(args, args.out)
    iteration, record = (last.update, last.progress()) if last else (0, {"elapsed_s": 0.0, "env_steps": 0, "cpu_minutes": 0.0})
    if last and iteration >= settings.iterations:
        return last.path
    model = load(last.path if last else args.model, args)
    optimizer = torch.optim.AdamW(model.network.parameters(), args.learning_rate, betas=(0.9, BETA2), weight_decay=0.0)
    if last:
        last.restore(optimizer)
    if tasks is None:
        tasks = draw_tasks(args.worlds, args.per_template, templates=args.templates, variation=args.variation)
    policy: Any = model.policy()
    make_env = partial(gymnasium.make, ENV_ID, disable_env_checker=True, tasks=tasks, **args.env().env_arguments())
    envs = InProcessEnvs(make_env, min(args.language.num_envs, args.tasks_per_iteration))
    env_steps, elapsed_s, cpu_minutes = record["env_steps"], record["elapsed_s"], record["cpu_minutes"]

    def save() -> Path:
        agent = {name: value for name, value in args.agent().items() if name != "constrained"}
        progress = {"elapsed_s": elapsed_s, "env_steps": env_steps, "cpu_minutes": cpu_minutes}
        kept = max(args.iterations + 1, 1)  # each iteration is measured
        checkpoint = save_checkpoint(args.out, iteration, model.network, model.tokenizer, optimizer, progress, agent, keep=kept)
        return checkpoint.path

    path = settings.out
    with closing(envs), closing(policy), Metrics(args.out, iteration, "Agent Q") as metrics:
        while iteration < args.iterations:
            started_s, started_cpu_s = time.perf_counter(), time.process_time()
            rng = Random(f"{args.seed}/{iteration}")
            policy.load(model.network, iteration)
            found = _search(args, envs, policy, [rng.choice(tasks) for _ in range(args.tasks_per_iteration)], rng)
            judged = {
                "value": confidence,
                "prior_weight": args.prior_weight,
                "threshold": args.threshold,
                "most": PAIRS_PER_STATE,
            }
            pairs = [pair for item in found for pair in preferences(item, **judged)]
            values = learn_preferences(
                model, optimizer, pairs, _OneUpdate(args.learning_rate), rng,
                epochs=args.epochs, beta=args.beta, pairs_per_update=args.pairs_per_update,
            )  # fmt: skip
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
            metrics.show(iteration / args.iterations, f"{len(pairs)} pairs, {100 * values['solved']:.0f} % solved")
            path = save()
        if not args.iterations:
            path = save()
    return path


def _search(args: AgentQSettings, envs: InProcessEnvs, policy: Policy, tasks: Sequence[Task], rng: Random) -> list[Found]:
    """Search the tasks by Monte Carlo tree search that is told the rewards of ends."""
    method = partial(
        monte_carlo,
        value=confidence,
        outcome=told_reward,
        branching=args.branching,
        budget=args.budget,
        exploration=EXPLORATION,
        prior_weight=args.prior_weight,
    )
    local = [envs.local(env_id) for env_id in range(envs.num_envs)]
    with tqdm(total=len(tasks), desc="searching", unit="task", disable=None) as bar:
        return search(
            local, policy, tasks, method, seed=rng.randrange(2**31), tells_rewards=True, on_finish=lambda _: bar.update()
        )


def main(arguments: Sequence[str]) -> None:
    """Train as the command line says; the model's own env settings are the defaults."""
    model = given(arguments, "--model")
    settings = parse_settings(AgentQSettings, arguments, agent_record(model) if model else {}, program="agents.agent_q")
    print(train(settings))


if __name__ == "__main__":
    console.run("python -m agents.agent_q", main)
