"""Learning in states that no demonstration contains: the recipe `unseen_states` of `benchmarks.compare`.

WebAgent-R1 (arXiv 2505.16421) gives this reason for on-policy learning: an agent that has logged out and must then edit its profile is in a
state that static data does not contain. Here tasks start signed out, and no demonstration shows a sign-in form; the recipe counts the
sign-in pages of demonstrations.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import torch

from agents import grpo
from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import Trajectory
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.methods.replay import imitation_loss
from agents.models.checkpoints import agent_record, save_agent
from agents.train_rl import make_settings, train
from agents.training.credit import weight_steps
from agents.training.metrics import read_metrics
from benchmarks.playing import MAX_STEPS, AgentResult, play, rewards
from webarena_gym.actions import Action, Kind
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Step, Task

_PASSWORD = "Password"  # noqa: S105 - the label of a field
_USER = "SELECT username, password FROM user WHERE user_id = 1"
_CUSTOMER = "SELECT email, password FROM customer WHERE customer_id = 1"
_SITES = {
    "reddit": ("/logout", "Log in", "Username", "Log in [2]", _USER),
    "gitlab": ("/users/sign_out", "", "Username or email", "Sign in [2]", _USER),
    "shopping": ("/customer/account/logout/", "Sign In", "Email", "Sign In", _CUSTOMER),
}
"""The path that signs out, the link from there to the form (none where it is the form), the labels of its first field and its button,
and the query for the name and the password of the current user of tasks."""


def signed_out(task: Task) -> Task:
    """Return the task with a start page that signs the user out, and steps that sign in. Raises ValueError for other sites."""
    if task.sites[0] not in _SITES or len(task.sites) > 1:
        raise ValueError(f"{task.task_id} is a task of {', '.join(task.sites)}; expected one of {', '.join(_SITES)}")
    path, link, label, button, query = _SITES[task.sites[0]]
    user, password = load_world(task.world_seed).database(task.sites[0]).connection.execute(query).fetchone()
    sign_in = [Action(Kind.CLICK, link)] if link else []
    sign_in += [Action(Kind.TYPE, label, user), Action(Kind.TYPE, _PASSWORD, password), Action(Kind.CLICK, button)]
    return replace(
        task,
        task_id=f"signed_out.{task.task_id}",
        start_url=task.start_url + path,
        intent=f'Sign in as "{user}" with the password "{password}". Then do this: {task.intent}',
        solution=(*(Step(action) for action in sign_in), *task.solution),
    )


def shows_sign_in(page: str) -> bool:
    """Return True if a page has a sign-in form."""
    return f'label="{_PASSWORD}"' in page and any(f'label="{label}"' in page for _, _, label, *_ in _SITES.values())


_BATCH = 256  # successes in an update of filtered behaviour cloning


def unseen_states(run: object, seed: int) -> Iterator[AgentResult]:
    """Evaluate a BC agent, the agent after filtered behaviour cloning on rollouts of its initial policy, and after M-GRPO, with equally many rollouts."""
    torch.set_num_threads(1)
    options, clone, out = run.options, run.settings.agents[seed], run.folder / f"seed_{seed}"
    tasks = list(map(signed_out, draw_tasks(options["worlds"], options["per_template"], templates=options["templates"])))
    sizes = {name: options[name] for name in ("updates", "tasks_per_update", "group_size", "learning_rate", "max_steps")}
    rl = make_settings(
        "grpo", **{**agent_record(clone), **sizes, "model": clone, "out": out / "mgrpo", "seed": seed, "threads": 1}
    )
    trained, note = train(rl, tasks), out / "replayed.json"
    if not note.is_file():
        started_s = time.process_time()
        count = rl.updates * rl.tasks_per_update * rl.group_size  # as in M-GRPO
        sampled = {"max_steps": rl.max_steps, "temperature": 1.0, "threads": 1, "seed": seed, "policy": clone}
        evaluated = EvaluationSettings(**{**policy_defaults(clone), **sampled})
        old = evaluate_policy(evaluated, Random(seed).choices(tasks, k=count)).trajectories
        successes = [item for item in old if item.reward == 1 and item.steps]
        imitate(clone, successes, out / "replayed", rl, seed)
        spent = {"cpu_minutes": (time.process_time() - started_s) / 60, "successes": len(successes), "rollouts": len(old)}
        note.write_text(json.dumps(spent), encoding="utf-8")
    minutes = {"cpu_minutes": read_metrics(out / "mgrpo")[-1]["cpu_minutes"]}
    agents: dict[str, tuple[Any, dict[str, float]]] = {
        "the clone": (clone, {"demonstrated_sign_in_pages": count_sign_in_pages(options["demonstration_worlds"])}),
        "filtered BC on the clone's rollouts": (out / "replayed", json.loads(note.read_text(encoding="utf-8"))),
        "M-GRPO": (trained, minutes),
    }
    for number, (title, (policy, costs)) in enumerate(agents.items()):
        yield AgentResult(title, [rewards(play(str(policy), run.tasks(), out / "episodes" / f"{number}.jsonl"))], costs)


def imitate(clone: str, successes: Sequence[Trajectory], out: Path, settings: grpo.GRPOSettings, seed: int) -> None:
    """Train a copy of the BC agent on recorded successes, with the updates and learning rate of `settings`. Without successes it is unchanged."""
    imitation = replace(settings, epochs=1, minibatches=4, replayed=0, old_logprobs="sampled")
    model = grpo.kind_of(clone).load(clone, imitation)
    optimizer = torch.optim.AdamW(model.network.parameters(), imitation.learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    learner = grpo.Learner(model, optimizer, imitation_loss, imitation)
    for update in range(settings.updates if successes else 0):
        rng = Random(f"{seed}/{update}")
        drawn = rng.sample(list(successes), min(_BATCH, len(successes)))
        learner.learn(weight_steps([(drawn, [1.0 for item in drawn for _ in item.steps])]), rng)
    save_agent(out, model.network, model.tokenizer, agent_record(clone))


def count_sign_in_pages(worlds: Sequence[int]) -> int:
    """Return the number of pages with a sign-in form in the expert's episodes on training tasks in these worlds."""
    expert = EvaluationSettings(policy="expert", elements="id", window=20_000, max_steps=MAX_STEPS)
    played = evaluate_policy(expert, draw_tasks(worlds, 1)).trajectories
    return sum(shows_sign_in(step.page) for item in played for step in item.steps)
