"""Agent Q: iterations of tree search and preference optimization. Run `python -m agents.agent_q --model RUN --out runs/q`.

After Putta et al., arXiv 2408.07199. Each iteration searches tasks by Monte Carlo tree search over snapshots, with a budget of env
steps per task. Each tree yields pairs of actions in one state, and the model is trained on them by direct preference optimization (DPO).
In the paper, a large language model ranks actions, and the outcome comes from the env or the model. Here the policy's probabilities rank
actions, and the outcome is the env's reward.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from agents.command_lines import option_value, parse_settings
from agents.data.demonstrations import training_tasks
from agents.models.checkpoints import expect_model, open_run, save_checkpoint, usage_record
from agents.training.metrics import Metrics
from agents.training.settings import AgentQSettings
from webarena_gym import console
from webarena_gym.tasks import Task

EXPLORATION = 1.0  # weight of the exploration term of UCT
PAIRS_PER_STATE = 2  # maximum number of pairs per state, those with the largest differences of Q
BETA2 = 0.95  # of AdamW


def make_settings(**options: Any) -> AgentQSettings:
    """Create settings from options by name. The model's agent record overrides the defaults of the dataclasses."""
    return AgentQSettings(**{**usage_record(options["model"]), **options})


def train(args: AgentQSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. The default tasks are drawn from the worlds of the settings."""
    # Imported late, so that invalid options are reported without loading torch.
    import torch  # noqa: PLC0415

    from agents.evaluation.search import confidence, monte_carlo, preferences, true_reward  # noqa: PLC0415
    from agents.grpo import kind_of  # noqa: PLC0415
    from agents.methods.dpo import learn_preferences  # noqa: PLC0415
    from agents.rollouts.branching import search  # noqa: PLC0415
    from agents.rollouts.envs import create_envs  # noqa: PLC0415
    from agents.rollouts.policies import TrainedPolicy  # noqa: PLC0415

    expect_model(args.model)
    kind = kind_of(args.model)
    if threads := args.threads or kind.threads:
        torch.set_num_threads(threads)
    checkpoint = open_run(args, args.out)
    start_record = {"elapsed_s": 0.0, "env_steps": 0, "cpu_minutes": 0.0}
    iteration, record = (checkpoint.update, checkpoint.progress()) if checkpoint else (0, start_record)
    if checkpoint and iteration >= args.iterations:
        return checkpoint.path
    model = kind.load(checkpoint.path if checkpoint else args.model, args)
    optimizer = torch.optim.AdamW(model.network.parameters(), args.learning_rate, betas=(0.9, BETA2), weight_decay=0.0)
    if checkpoint:
        checkpoint.restore(optimizer)
    tasks = training_tasks(args, tasks)
    policy: TrainedPolicy = model.policy()
    envs = create_envs(tasks, min(args.num_envs, args.tasks_per_iteration), **args.env_arguments())
    method = partial(
        monte_carlo, value=confidence, outcome=true_reward, branching=args.branching, budget=args.budget,
        exploration=EXPLORATION, prior_weight=args.prior_weight,
    )  # fmt: skip
    env_steps, elapsed_s, cpu_minutes = record["env_steps"], record["elapsed_s"], record["cpu_minutes"]

    def save() -> Path:
        agent = {name: value for name, value in args.agent().items() if name != "constrained"}
        progress = {"elapsed_s": elapsed_s, "env_steps": env_steps, "cpu_minutes": cpu_minutes}
        keep = max(args.iterations + 1, 1)  # all checkpoints, since every iteration is evaluated later
        return save_checkpoint(args.out, iteration, model.network, model.tokenizer, optimizer, progress, agent, keep=keep).path

    path = args.out
    with closing(envs), closing(policy), Metrics(args.out, iteration, "Agent Q") as metrics:
        while iteration < args.iterations:
            start_s, start_cpu_s = time.perf_counter(), time.process_time()
            rng = Random(f"{args.seed}/{iteration}")
            policy.load(model.network, iteration)
            iteration_tasks = [rng.choice(tasks) for _ in range(args.tasks_per_iteration)]
            with tqdm(total=len(iteration_tasks), desc="searching", unit="task", disable=None) as bar:
                results = search(
                    [envs.local(env_id) for env_id in range(envs.num_envs)], policy, iteration_tasks, method,
                    seed=rng.randrange(2**31), with_rewards=True, on_finish=lambda _: bar.update(),
                )  # fmt: skip
            choose_pairs = partial(
                preferences,
                value=confidence,
                prior_weight=args.prior_weight,
                threshold=args.threshold,
                max_pairs=PAIRS_PER_STATE,
            )
            pairs = [pair for item in results for pair in choose_pairs(item)]
            values = learn_preferences(model, optimizer, pairs, args, rng)
            iteration, elapsed_s = iteration + 1, elapsed_s + time.perf_counter() - start_s
            cpu_minutes += (time.process_time() - start_cpu_s) / 60
            env_steps += sum(item.env_steps for item in results)
            values |= {
                "pairs": len(pairs),
                "env_steps": env_steps,
                "solved": sum(item.oracle.reward for item in results) / len(results),
                "elapsed_s": elapsed_s,
                "cpu_minutes": cpu_minutes,
            }
            metrics.log(iteration, values)
            metrics.show_progress(iteration / args.iterations, f"{len(pairs)} pairs, {100 * values['solved']:.0f} % solved")
            path = save()
        if not args.iterations:
            path = save()
    return path


def main(arguments: Sequence[str]) -> None:
    """Train with the options of the command line. The model's agent record sets the defaults of the env options."""
    model = option_value(arguments, "--model")
    settings = parse_settings(AgentQSettings, arguments, usage_record(model) if model else {}, program="agents.agent_q")
    print(train(settings))


if __name__ == "__main__":
    console.run("python -m agents.agent_q", main)
