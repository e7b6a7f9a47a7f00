"""The speed of rollouts including the policy: `python -m benchmarks.policies --json`.

The bundled starter plays the test split, and so does a chat endpoint that returns the expert's replies after a delay, in 1 to 256 envs on all
cores. `steps_per_s` counts the steps of finished episodes per second of wall time; `idle` is the fraction of it in which the policy has no
request, `waiting` the fraction of the envs' time in which they wait for a reply. The endpoint is a process on the same machine and answers
any number of requests at once.
"""

import asyncio
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from agents.evaluation.evaluate import create_policy
from agents.evaluation.settings import EvaluationSettings
from agents.rollouts.chat import ChatPolicy
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.policies import Policy, Reply, Request
from benchmarks.machine import cores, log_progress, report
from webarena_gym import console
from webarena_gym.actions import DIALECTS
from webarena_gym.suite import load
from webarena_gym.tasks import Task
from webarena_gym.vector import WebArenaLiteVector

STARTER = str(Path(__file__).parents[1] / "agents" / "checkpoints" / "starter")
MAX_STEPS = 30


def answer_chats(listening: socket.socket) -> None:
    """Serve OpenAI's chat protocol: the next action of a reference solution, after a delay in milliseconds that is the model's name."""
    import uvicorn  # noqa: PLC0415 - of this process alone
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.requests import Request as HttpRequest  # noqa: PLC0415
    from starlette.responses import JSONResponse  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    write = DIALECTS["webrl"].naming_by("label").format
    replies = {task.intent: [write(step.action) for step in task.solution] for task in load("test")}

    async def answer(request: HttpRequest) -> JSONResponse:
        asked = await request.json()
        turns = [message for message in asked["messages"] if message["role"] != "system"]
        goal = turns[0]["content"].removeprefix("Task Instruction: ").partition("\n\n")[0]
        await asyncio.sleep(int(asked["model"]) / 1000)
        reply = replies[goal][min(len(turns) // 2, len(replies[goal]) - 1)]
        return JSONResponse({"choices": [{"message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}]})

    app = Starlette(routes=[Route("/chat/completions", answer, methods=["POST"])])
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


@contextmanager
def chatting() -> Iterator[str]:
    """Serve the endpoint on a free port, and yield its URL."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        server = get_context("spawn").Process(target=answer_chats, args=(listening,), daemon=True)
        server.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.terminate()
            server.join()


class TimedPolicy:
    """A policy that measures the seconds without a pending request."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.close = policy, policy.close
        self.idle_s, self._asked, self._since = 0.0, 0, time.perf_counter()

    def ask(self, requests: Sequence[Request]) -> None:
        if requests and not self._asked:
            self.idle_s += time.perf_counter() - self._since
        self._asked += len(requests)
        self.policy.ask(requests)

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        replies = self.policy.replies(timeout_s)
        self._asked -= len(replies)
        if replies and not self._asked:
            self._since = time.perf_counter()
        return replies


def play(policy: Policy, envs: WebArenaLiteVector, tasks: Sequence[Task], seconds: float) -> dict[str, float]:
    """Play for some seconds, after a warm-up of one episode in each env, and return the figures."""
    watched = TimedPolicy(policy)
    collector = Collector(envs, watched)
    episodes = (EpisodeSpec(task, 0, number) for number, task in enumerate(cycle(tasks)))
    collector.submit([*islice(episodes, 2 * envs.num_envs)])
    steps, solved, warm_up, start, idle_s = 0, list[float](), envs.num_envs, 0.0, 0.0
    for _, trajectory in collector.play():
        if trajectory.failure:
            raise RuntimeError(f"an episode failed: {trajectory.failure}")
        collector.submit([next(episodes)])
        warm_up -= 1
        if warm_up == 0:
            start, idle_s = time.perf_counter(), watched.idle_s
            collector.take_time_fractions()
        elif warm_up < 0:
            steps += len(trajectory.steps)
            solved.append(trajectory.reward)
            if time.perf_counter() - start >= seconds:
                collector.stop()
    elapsed_s = time.perf_counter() - start
    return {
        "steps_per_s": round(steps / elapsed_s, 1),
        "success": round(mean(solved), 3),
        "idle": round((watched.idle_s - idle_s) / elapsed_s, 3),
        "waiting": round(collector.take_time_fractions()["generation"], 3),
    }


def main() -> None:
    """Run the benchmark and print the results."""
    parser = console.Parser(prog="python -m benchmarks.policies", description=__doc__)
    add = parser.add_argument
    add("--envs", type=console.integer(1), nargs="+", default=[1, 16, 64, 256], help="how many envs (default: 1 16 64 256)")
    add("--delays", type=console.integer(0), nargs="+", default=[0, 50, 200, 1000], help="in ms (default: 0 50 200 1000)")
    add("--seconds", type=console.decimal(0), default=10.0, help="how long each plays (default: 10)")
    add("--json", action="store_true", help="print one JSON object as the last line")
    add("--out", type=Path, help="also write the object to a file of this name in benchmarks/results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tasks = [task for task in load("test") if task.solution]
    points: list[dict[str, Any]] = []
    with chatting() as address:
        for name in ("starter", *map(str, options.delays)):
            for num_envs in options.envs:
                log_progress(f"{name}, {num_envs} envs")
                elements = "id" if name == "starter" else "label"
                keywords: dict[str, Any] = {"split": "test", "max_steps": MAX_STEPS, "elements": elements}
                envs = WebArenaLiteVector(num_envs, workers=min(len(cores()), num_envs), autoreset_mode="Disabled", **keywords)
                policy = (
                    create_policy(EvaluationSettings(policy=STARTER))
                    if name == "starter"
                    else ChatPolicy(name, address, max_requests=num_envs)
                )
                with closing(envs), closing(policy):
                    points.append({"policy": name, "envs": num_envs, **play(policy, envs, tasks, options.seconds)})
    report("policies", {"points": points}, as_json=options.json, out=options.out)


if __name__ == "__main__":
    console.run("python -m benchmarks.policies", lambda _: main())
