"""Learning in states that no demonstration holds: `python -m benchmarks.unseen_states --models RUN_A RUN_B RUN_C --json`.

WebAgent-R1 (arXiv 2505.16421) names the case as a reason for learning on-policy: an agent that has logged out, and is then to edit its
profile, is in a state of which static data says nothing. Here tasks begin signed out, and no demonstration shows a form to sign in, which is
counted. The rows are a clone; the clone after filtered behaviour cloning on its own old rollouts; and after M-GRPO, with as many rollouts. The last line is one
JSON object.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import torch

from agents import grpo
from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import Trajectory
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.methods.replay import imitation_loss
from agents.models.checkpoints import agent_record, save_agent
from agents.settings import parse_settings
from agents.train_rl import make_settings, train
from agents.training.metrics import read_metrics
from agents.training.rollouts import weighted
from benchmarks.playing import MAX_STEPS, Measured, ResultSettings, hand_over, play, print_rows, rewards, rows, side_by_side
from webarena_gym import console
from webarena_gym import tasks as task_suite
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
and the query for the name and the password of the person who is signed in when tasks begin."""


def signed_out(task: Task) -> Task:
    """Return the task as it is for somebody who has signed out. Raises ValueError for a site without such a form here."""
    if task.sites[0] not in _SITES or len(task.sites) > 1:
        raise ValueError(f"{task.task_id} is a task of {', '.join(task.sites)}; expected one of {', '.join(_SITES)}")
    leave, link, label, button, query = _SITES[task.sites[0]]
    user, password = load_world(task.world_seed).database(task.sites[0]).connection.execute(query).fetchone()
    way = [Action(Kind.CLICK, link)] if link else []
    way += [Action(Kind.TYPE, label, user), Action(Kind.TYPE, _PASSWORD, password), Action(Kind.CLICK, button)]
    return replace(
        task,
        task_id=f"signed_out.{task.task_id}",
        start_url=task.start_url + leave,
        intent=f'Sign in as "{user}" with the password "{password}". Then do this: {task.intent}',
        solution=(*(Step(action) for action in way), *task.solution),
    )


def draw_signed_out(templates: Sequence[str], worlds: Sequence[int], per_template: int) -> list[Task]:
    """Return tasks of these templates in these worlds, for somebody who has signed out."""
    return [
        signed_out(task) for world in worlds for task in task_suite.draw(list(templates), world_seed=world, count=per_template)
    ]


def shows_sign_in(page: str) -> bool:
    """Return whether a page has a form to sign in."""
    return f'label="{_PASSWORD}"' in page and any(f'label="{label}"' in page for _, _, label, *_ in _SITES.values())


TEMPLATES = (
    *("reddit.biography", "reddit.subscription", "gitlab.star_count", "gitlab.status_set"),
    *("shopping.account_place", "shopping.wish_list_add"),
)
"""Templates of the tasks after signing in."""
_BATCH = 256  # successes in an update of filtered behaviour cloning


@dataclass(frozen=True, kw_only=True)
class UnseenStatesSettings(ResultSettings):
    """Learn tasks that begin signed out, from old rollouts and on-policy."""

    models: tuple[str, ...]
    """clones, one for each seed"""
    out: Path = Path("runs/unseen_states")
    """folder of all runs and episodes"""
    templates: tuple[str, ...] = TEMPLATES
    """what is to be done after signing in"""
    worlds: tuple[int, ...] = (61, 62, 63, 64, 65, 66)
    """training worlds"""
    per_template: int = 2
    """tasks of each template in each training world"""
    updates: int = 100
    """updates of both ways of learning"""
    tasks_per_update: int = 12
    """groups in an update of M-GRPO"""
    group_size: int = 16
    """rollouts of each; filtered behaviour cloning has as many old rollouts as all groups together"""
    training_steps: int = 15
    """steps of a rollout"""
    learning_rate: float = 5e-4
    """of both"""
    test_worlds: tuple[int, ...] = (2401, 2402)
    """worlds of the tasks that are measured"""
    per_test_template: int = 4
    """tasks of each template in each of them"""
    demonstration_worlds: tuple[int, ...] = (11,)
    """worlds in which it is counted how many pages of demonstrations show a form to sign in"""
    jobs: int = 1
    """models at the same time"""


def run(settings: UnseenStatesSettings) -> dict[str, Any]:
    """Train and play what is not there yet, and return the rows."""
    tasks = _held_out(settings)
    found = side_by_side(learn, [(settings, seed) for seed in range(len(settings.models))], settings.jobs)
    titles = {"clone": "the clone", "replayed": "filtered BC on the clone's rollouts", "mgrpo": "M-GRPO"}
    measured = []
    for name, title in titles.items():
        spent = {"cpu_minutes": mean(item["cpu_minutes"][name] for item in found)} if name != "clone" else {}
        measured.append(Measured(title, [item[name] for item in found], spent))
    shown, pages = _demonstrated(settings)
    return {
        "rows": rows(measured, tasks),
        "models": settings.models,
        "rollouts": found[0]["rollouts"],
        "successes_in_replay": [item["successes"] for item in found],
        "demonstrated_pages": pages,
        "demonstrated_sign_in_pages": shown,
    }


def learn(settings: UnseenStatesSettings, seed: int) -> dict[str, Any]:
    """Return the rewards on the held-out tasks of a clone and of what it learns in both ways, and what was spent."""
    torch.set_num_threads(1)
    clone, out = settings.models[seed], settings.out / f"seed_{seed}"
    tasks = draw_signed_out(settings.templates, settings.worlds, settings.per_template)
    sizes = {name: getattr(settings, name) for name in ("updates", "tasks_per_update", "group_size", "learning_rate")}
    own = {"model": clone, "out": out / "mgrpo", "seed": seed, "threads": 1, "max_steps": settings.training_steps}
    rl = make_settings("grpo", **{**agent_record(clone), **sizes, **own})
    trained = train(rl, tasks)
    note = out / "replayed.json"
    if not note.is_file():
        started_s = time.process_time()
        wanted = settings.updates * settings.tasks_per_update * settings.group_size  # as many as M-GRPO plays
        sampled = {"max_steps": settings.training_steps, "temperature": 1.0, "threads": 1, "seed": seed, "policy": clone}
        evaluated = EvaluationSettings(**{**policy_defaults(clone), **sampled})
        old = evaluate_policy(evaluated, Random(seed).choices(tasks, k=wanted)).trajectories
        successes = [item for item in old if item.reward == 1 and item.steps]
        imitate(clone, successes, out / "replayed", rl, settings.updates, seed)
        spent = {"cpu_minutes": (time.process_time() - started_s) / 60, "successes": len(successes), "rollouts": len(old)}
        note.write_text(json.dumps(spent), encoding="utf-8")
    replay = json.loads(note.read_text(encoding="utf-8"))
    policies = {"clone": clone, "replayed": out / "replayed", "mgrpo": trained}
    measured = {
        name: rewards(play(str(policy), _held_out(settings), out / "episodes" / f"{name}.jsonl"))
        for name, policy in policies.items()
    }
    minutes = {"replayed": replay["cpu_minutes"], "mgrpo": read_metrics(out / "mgrpo")[-1]["cpu_minutes"]}
    return {**replay, **measured, "cpu_minutes": minutes}


def imitate(
    clone: str, successes: Sequence[Trajectory], out: Path, settings: grpo.GRPOSettings, updates: int, seed: int
) -> None:
    """Train a copy of the clone on successes of old, with the updates and the learning rate of `settings`; without any, it stays as it is."""
    own = replace(settings, epochs=1, minibatches=4, replayed=0, old_logprobs="sampled")
    model = grpo.kind_of(clone).load(clone, own)
    optimizer = torch.optim.AdamW(model.network.parameters(), own.learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    for update in range(updates if successes else 0):
        rng = Random(f"{seed}/{update}")
        drawn = rng.sample(list(successes), min(_BATCH, len(successes)))
        grpo.learn(model, optimizer, weighted([(drawn, [1.0 for item in drawn for _ in item.steps])]), imitation_loss, own, rng)
    save_agent(out, model.network, model.tokenizer, agent_record(clone))


def _demonstrated(settings: UnseenStatesSettings) -> tuple[int, int]:
    """Return how many pages of the expert's episodes on training tasks show a form to sign in, and how many pages there are."""
    expert = EvaluationSettings(policy="expert", elements="id", window=20_000, max_steps=MAX_STEPS)
    played = evaluate_policy(expert, draw_tasks(settings.demonstration_worlds, 1)).trajectories
    pages = [step.page for item in played for step in item.steps]
    return sum(map(shows_sign_in, pages)), len(pages)


def _held_out(settings: UnseenStatesSettings) -> list[Task]:
    return draw_signed_out(settings.templates, settings.test_worlds, settings.per_test_template)


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(UnseenStatesSettings, arguments, program="benchmarks.unseen_states")
    result = run(settings)
    print_rows(result["rows"])
    hand_over("unseen_states", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.unseen_states", main)
