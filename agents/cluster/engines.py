"""An engine in a Ray actor, on any node of the cluster."""

import time
from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import ray
import torch
from ray.exceptions import RayActorError

from agents.data.trajectories import Ids
from agents.rollouts.constraints import Constraint
from agents.rollouts.engines import Completion, Engine

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SLICE_S = 0.05  # how long the actor samples before it accepts new requests and parameters


class RayEngine:
    """Any engine in a Ray actor, with a GPU if it is given one. It samples in the background.

    If the actor is lost, the requests under way fail, and a new actor is started. `make_engine` makes the engine for a model in the actor,
    and must be picklable by cloudpickle; `model` is the first one, version 0.
    """

    def __init__(self, make_engine: "Callable[[PreTrainedModel], Engine]", model: "PreTrainedModel", *, gpus: int = 0) -> None:
        self._make_engine = make_engine
        self._options = {"num_cpus": 1, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        self._actor: Any = None
        self._request_ids: set[int] = set()
        self._calls: list[Any] = []  # references to the calls whose end is not known yet
        self._working: Any = None  # a reference to the next completions
        self.load(model, 0)

    @property
    def policy_version(self) -> int:
        """The version of the parameters that sample the next requests."""
        return self._version

    @property
    def is_idle(self) -> bool:
        """True if the completion of every request has been taken."""
        return not self._request_ids

    def submit(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None = None) -> None:
        """Request a response to a prompt. An error in the request is raised by `take`. Raises ValueError for a constraint."""
        if constraint is not None:
            raise ValueError("a request to an engine of a cluster has a constraint, which is not sent; expected none")
        if request_id in self._request_ids:
            raise ValueError(f"request {request_id} is under way already; expected another id")
        self._request_ids.add(request_id)
        self._calls.append(self._actor.submit.remote(request_id, prompt_ids, seed))
        self._work()

    def take(self, timeout_s: float | None = None) -> list[Completion]:
        """Return what is complete; wait for the first completion at most `timeout_s` seconds."""
        until = time.monotonic() + (float("inf") if timeout_s is None else timeout_s)
        completions: list[Completion] = []
        while self._request_ids and not completions:
            patience = None if timeout_s is None else max(until - time.monotonic(), 0.0)
            if ray.wait([self._working], timeout=patience)[0]:
                completions = self._take_completions()
                self._request_ids.difference_update(completion.request_id for completion in completions)
                self._work()
            if time.monotonic() >= until:
                break
        return completions

    def load(self, model: "PreTrainedModel", version: int) -> None:
        """Sample with these parameters from now on. They are copied, so the model may be trained meanwhile."""
        on_cpu = model if model.device.type == "cpu" else deepcopy(model).cpu()
        self._weights, self._version = ray.put(on_cpu), version
        if self._actor is None:
            self._start()
        else:
            self._calls.append(self._actor.load.remote(self._weights, version))

    def close(self) -> None:
        """End the actor and drop the requests that are under way."""
        ray.kill(self._actor)
        self._request_ids.clear()

    def _start(self) -> None:
        actors = ray.remote(_Host).options(**self._options)
        self._actor = actors.remote(self._make_engine, self._weights, self._version)
        self._calls, self._working = [], None

    def _work(self) -> None:
        """Let the actor sample if it does not yet and requests are under way."""
        if self._working is None and self._request_ids:
            self._working = self._actor.take.remote(_SLICE_S)

    def _take_completions(self) -> list[Completion]:
        """Return the actor's completions. Raises any error in the actor except its loss."""
        calls, self._calls = self._calls, []
        try:
            completions: list[Completion] = ray.get(self._working)
            # Calls that were made after the sampling began may not be done yet.
            done, self._calls = ray.wait(calls, num_returns=len(calls), timeout=0) if calls else ([], [])
            ray.get(done)
        except RayActorError as error:
            self._start()
            return [Completion(request_id, None, f"the engine was lost: {error}") for request_id in sorted(self._request_ids)]
        self._working = None
        return completions


class _Host:
    """The actor: an engine in a process on some node."""

    def __init__(self, make_engine: "Callable[[PreTrainedModel], Engine]", model: "PreTrainedModel", version: int) -> None:
        self._engine = make_engine(_placed(model))
        self.load(model, version)

    def load(self, model: "PreTrainedModel", version: int) -> None:
        self._engine.load(_placed(model), version)

    def submit(self, request_id: int, prompt_ids: Ids, seed: int) -> None:
        self._engine.submit(request_id, prompt_ids, seed)

    def take(self, timeout_s: float) -> list[Completion]:
        return self._engine.take(timeout_s)


def _placed(model: "PreTrainedModel") -> "PreTrainedModel":
    return model.to("cuda") if torch.cuda.is_available() else model  # type: ignore[arg-type]
