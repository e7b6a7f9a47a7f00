"""An engine on some node of a Ray cluster."""

import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import ray
import torch
from ray.exceptions import RayActorError
from transformers import PreTrainedModel

from agents.data.tokens import Ids
from agents.rollouts.engines import Answer, Engine

_SLICE_S = 0.05  # how long the actor works on before it looks for new prompts and newer weights


class RayEngine:
    """Any engine in an actor, on a GPU if it is given one. It samples on while whoever asked does something else.

    If the actor is lost, what is under way is answered with a failure, and another takes its place.

    Args:
        make_engine: makes the engine for a model, in the actor; takes what cloudpickle takes.
        model: what samples first, as version 0.
        gpus: how many GPUs the actor takes, beside one CPU.

    """

    def __init__(self, make_engine: Callable[[PreTrainedModel], Engine], model: PreTrainedModel, *, gpus: int = 0) -> None:
        self._make_engine = make_engine
        self._options = {"num_cpus": 1, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        self._actor: Any = None
        self._tickets: set[int] = set()
        self._told: list[Any] = []  # references to what the actor was told and has not said to have done
        self._working: Any = None  # a reference to the answers that come next
        self.load(model, 0)

    @property
    def policy_version(self) -> int:
        """The version of the weights that sample what is submitted now."""
        return self._version

    @property
    def is_idle(self) -> bool:
        """Whether every prompt that was submitted has been answered and taken."""
        return not self._tickets

    def submit(self, ticket: int, prompt_ids: Ids, seed: int) -> None:
        """Ask for a response to a prompt. What is wrong with it is raised by `take`."""
        if ticket in self._tickets:
            raise ValueError(f"ticket {ticket} is under way already; expected another")
        self._tickets.add(ticket)
        self._told.append(self._actor.submit.remote(ticket, prompt_ids, seed))
        self._work()

    def take(self, timeout_s: float | None = None) -> list[Answer]:
        """Return the answers that are complete; wait for the first at most `timeout_s` seconds."""
        until = time.monotonic() + (float("inf") if timeout_s is None else timeout_s)
        answers: list[Answer] = []
        while self._tickets and not answers:
            patience = None if timeout_s is None else max(until - time.monotonic(), 0.0)
            if ray.wait([self._working], timeout=patience)[0]:
                answers = self._answers()
                self._tickets.difference_update(answer.ticket for answer in answers)
                self._work()
            if time.monotonic() >= until:
                break
        return answers

    def load(self, model: PreTrainedModel, version: int) -> None:
        """Sample with these weights from now on. They are copied, so the model may be trained meanwhile."""
        on_cpu = model if model.device.type == "cpu" else deepcopy(model).cpu()
        self._weights, self._version = ray.put(on_cpu), version
        if self._actor is None:
            self._start()
        else:
            self._told.append(self._actor.load.remote(self._weights, version))

    def close(self) -> None:
        """End the actor; what is under way is lost."""
        ray.kill(self._actor)
        self._tickets.clear()

    def _start(self) -> None:
        actors = ray.remote(_Host).options(**self._options)
        self._actor = actors.remote(self._make_engine, self._weights, self._version)
        self._told, self._working = [], None

    def _work(self) -> None:
        """See to it that the actor works while there is something to do."""
        if self._working is None and self._tickets:
            self._working = self._actor.take.remote(_SLICE_S)

    def _answers(self) -> list[Answer]:
        """Return what the actor has answered. Raises what went wrong there, other than its loss."""
        told, self._told = self._told, []
        try:
            answers: list[Answer] = ray.get(self._working)
            # What was told after the work began may not be done yet.
            done, self._told = ray.wait(told, num_returns=len(told), timeout=0) if told else ([], [])
            ray.get(done)
        except RayActorError as error:
            self._start()
            return [Answer(ticket, None, f"the engine was lost: {error}") for ticket in sorted(self._tickets)]
        self._working = None
        return answers


class _Host:
    """An engine in a process on some node."""

    def __init__(self, make_engine: Callable[[PreTrainedModel], Engine], model: PreTrainedModel, version: int) -> None:
        self._engine = make_engine(_placed(model))
        self.load(model, version)

    def load(self, model: PreTrainedModel, version: int) -> None:
        self._engine.load(_placed(model), version)

    def submit(self, ticket: int, prompt_ids: Ids, seed: int) -> None:
        self._engine.submit(ticket, prompt_ids, seed)

    def take(self, timeout_s: float) -> list[Answer]:
        return self._engine.take(timeout_s)


def _placed(model: PreTrainedModel) -> PreTrainedModel:
    """Return the model where this actor computes."""
    return model.to("cuda") if torch.cuda.is_available() else model  # type: ignore[arg-type]
