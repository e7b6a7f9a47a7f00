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

_SLICE_S = 0.05  # duration of sampling in the actor before it accepts new requests and parameters


class RayEngine:
    """An engine in a Ray actor. It samples in the background. Implements `agents.rollouts.engines.Engine`.

    If the actor is lost, the pending requests fail, and a new actor is started.

    Args:
        make_engine: Creates the engine of a model in the actor. It must be picklable by cloudpickle.
        model: The model with the initial parameters, which have version 0.
        gpus: Number of GPUs of the actor.

    """

    def __init__(self, make_engine: "Callable[[PreTrainedModel], Engine]", model: "PreTrainedModel", *, gpus: int = 0) -> None:
        self._make_engine = make_engine
        self._options = {"num_cpus": 1, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        self._actor: Any = None
        self._request_ids: set[int] = set()
        self._calls: list[Any] = []  # references to calls whose result has not been checked
        self._take_call: Any = None  # reference to the pending call of `take`
        self.load(model, 0)

    @property
    def policy_version(self) -> int:
        """Version of the parameters for new requests."""
        return self._version

    @property
    def is_idle(self) -> bool:
        """True if the completions of all requests have been taken."""
        return not self._request_ids

    def submit(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None = None) -> None:
        """Request a response to a prompt. `take` raises the errors of a request.

        Raises:
            ValueError: The request has a constraint, or its id is pending.

        """
        if constraint is not None:
            raise ValueError(f"request {request_id} has a constraint, which engines of a cluster do not support; expected None")
        if request_id in self._request_ids:
            raise ValueError(f"request {request_id} is still pending; expected another id")
        self._request_ids.add(request_id)
        self._calls.append(self._actor.submit.remote(request_id, prompt_ids, seed))
        self._start_sampling()

    def take(self, timeout_s: float | None = None) -> list[Completion]:
        """Return new completions; wait for the first one for at most `timeout_s` seconds."""
        deadline_s = time.monotonic() + (float("inf") if timeout_s is None else timeout_s)
        completions: list[Completion] = []
        while self._request_ids and not completions:
            wait_s = None if timeout_s is None else max(deadline_s - time.monotonic(), 0.0)
            if ray.wait([self._take_call], timeout=wait_s)[0]:
                completions = self._take_completions()
                self._request_ids.difference_update(completion.request_id for completion in completions)
                self._start_sampling()
            if time.monotonic() >= deadline_s:
                break
        return completions

    def load(self, model: "PreTrainedModel", version: int) -> None:
        """Sample with the parameters of this model from now on. They are copied, so the model may change."""
        cpu_model = model if model.device.type == "cpu" else deepcopy(model).cpu()
        self._weights, self._version = ray.put(cpu_model), version
        if self._actor is None:
            self._start()
        else:
            self._calls.append(self._actor.load.remote(self._weights, version))

    def close(self) -> None:
        """End the actor, and discard pending requests."""
        ray.kill(self._actor)
        self._request_ids.clear()

    def _start(self) -> None:
        actors = ray.remote(_EngineActor).options(**self._options)
        self._actor = actors.remote(self._make_engine, self._weights, self._version)
        self._calls, self._take_call = [], None

    def _start_sampling(self) -> None:
        """Make the actor sample, unless it is sampling or there are no requests."""
        if self._take_call is None and self._request_ids:
            self._take_call = self._actor.take.remote(_SLICE_S)

    def _take_completions(self) -> list[Completion]:
        """Return the actor's completions. If the actor was lost, these are failures; other errors of the actor are raised."""
        calls, self._calls = self._calls, []
        try:
            completions: list[Completion] = ray.get(self._take_call)
            # Calls after the start of the sampling may still be pending.
            finished_calls, self._calls = ray.wait(calls, num_returns=len(calls), timeout=0) if calls else ([], [])
            ray.get(finished_calls)
        except RayActorError as error:
            self._start()
            return [Completion(request_id, None, f"the engine was lost: {error}") for request_id in sorted(self._request_ids)]
        self._take_call = None
        return completions


class _EngineActor:
    """The Ray actor of an engine."""

    def __init__(self, make_engine: "Callable[[PreTrainedModel], Engine]", model: "PreTrainedModel", version: int) -> None:
        self._engine = make_engine(_move_to_device(model))
        self.load(model, version)

    def load(self, model: "PreTrainedModel", version: int) -> None:
        self._engine.load(_move_to_device(model), version)

    def submit(self, request_id: int, prompt_ids: Ids, seed: int) -> None:
        self._engine.submit(request_id, prompt_ids, seed)

    def take(self, timeout_s: float) -> list[Completion]:
        return self._engine.take(timeout_s)


def _move_to_device(model: "PreTrainedModel") -> "PreTrainedModel":
    return model.to("cuda") if torch.cuda.is_available() else model  # type: ignore[arg-type]
