"""Ranks: the processes that train one model together, each on a part of the work.

The process group of `torch.distributed` is made by `launch`, or outside: by Ray Train (`agents.cluster`) or torchrun. One process needs none.
"""

import pickle
import signal
import socket
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

import cloudpickle  # type: ignore[import-untyped]
import torch
from torch import Tensor, distributed, nn

from agents.models.checkpoints import is_small
from agents.rollouts.players import PRELOADED, LostProcessError, process_count
from agents.settings import collect_rarely
from agents.training.rollouts import TrainedStep
from webarena_gym.processes import work_for_parent
from webarena_gym.vector.pool import CONTEXTS, without_main_module

T = TypeVar("T")

_PATIENCE = timedelta(days=7)  # of a process for the others
_ENDING_S = 5.0  # how long a process may take to end by itself
_READY = pickle.dumps(None)  # a process can join its group


@contextmanager
def _lost_rank_as_error() -> Iterator[None]:
    """Raise LostProcessError where torch cannot communicate with the other ranks."""
    try:
        yield
    except RuntimeError as error:
        raise LostProcessError(f"another process of the training has ended: {str(error).splitlines()[0]}") from error


@dataclass(frozen=True)
class Ranks:
    """The processes that train together; this one is number `index` of `count`. Rank 0 is the main one."""

    index: int = 0
    count: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - immutable
    gradient_scale: float = 1.0
    """what a loss is multiplied with, for ranks whose gradients are a mean"""

    @classmethod
    def here(cls) -> "Ranks":
        """Return the ranks of the process group that this process is in; alone, it is the only one."""
        device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
        if not distributed.is_initialized():
            return cls(device=device)
        return cls(distributed.get_rank(), distributed.get_world_size(), device)

    @property
    def is_main(self) -> bool:
        """True if this process writes metrics and checkpoints."""
        return self.index == 0

    def share(self, value: T | None = None) -> T:
        """Return rank 0's value in every process. Raises LostProcessError, as all methods that need the other ranks do."""
        values = [value]
        if self.count > 1:
            with _lost_rank_as_error():
                distributed.broadcast_object_list(values, src=0)
        return values[0]  # type: ignore[return-value]

    def gather(self, values: list[T]) -> list[T]:
        """Return the values of all processes, in the order of the ranks."""
        if self.count == 1:
            return values
        parts: list[list[T]] = [[] for _ in range(self.count)]
        with _lost_rank_as_error():
            distributed.all_gather_object(parts, values)
        return [value for part in parts for value in part]

    def part(self, steps: Sequence[TrainedStep], indices: Sequence[int]) -> list[int]:
        """Return which of these steps this process computes: those of groups that it has played, whose pages it knows."""
        return [index for index in indices if steps[index].episode.group % self.count == self.index]

    def add_up(self, parameters: Iterable[nn.Parameter]) -> None:
        """Give every process the sum of all gradients; a parameter that none has a gradient of keeps none."""
        if self.count == 1:
            return
        trained = list(parameters)
        has_gradient = torch.tensor([float(parameter.grad is not None) for parameter in trained])
        flat = torch.cat([
            (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).reshape(-1) for parameter in trained
        ])  # fmt: skip
        with _lost_rank_as_error():
            distributed.all_reduce(has_gradient)
            distributed.all_reduce(flat)
        for parameter, values, is_there in zip(
            trained, flat.split([parameter.numel() for parameter in trained]), has_gradient, strict=True
        ):
            parameter.grad = values.view_as(parameter) if is_there else None


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor put together from its shards. Every rank must call it."""
    gather = getattr(tensor, "full_tensor", None)  # that of a DTensor, whose module takes seconds to import
    return gather() if gather else tensor


ALONE = Ranks()
"""The ranks of a process that trains by itself on the CPU."""


def training_processes(args: Any) -> int:
    """Return the number of processes that train: as told, or one for each core where the model is small and no option is against it."""
    shares = not (args.processes or args.threads or args.vllm or torch.cuda.is_available()) and is_small(args.model)
    return args.processes or (process_count(0, args.tasks_per_update * args.group_size) if shares else 1)


def launch(work: Callable[..., T], count: int, *arguments: Any) -> T:
    """Call a function with the arguments in `count` processes on this machine, which are ranks of one group; return rank 0's result.

    This process is rank 0. An exception in another one is raised here, with its traceback as a note. Raises LostProcessError, which says how
    it ended, for a process that has ended without one, such as one that was killed.
    """
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    context: Any = get_context(CONTEXTS[0])
    if CONTEXTS[0] == "forkserver":
        context.set_forkserver_preload(PRELOADED)
    content = cloudpickle.dumps((work, arguments))
    others: list[tuple[Any, Connection]] = []
    for index in range(1, count):
        here, there = context.Pipe()
        process = context.Process(target=_rank, args=(there, content, index, count, port), name=f"rank {index}", daemon=True)
        with without_main_module():
            process.start()
        there.close()
        others.append((process, here))
    threads = torch.get_num_threads()
    try:
        for process, here in others:
            _wait_until_ready(process, here)
        with _group(0, count, port):
            return work(*arguments)
    except (LostProcessError, RuntimeError) as error:
        # What torch says of a lost process is less than what the process has said, or how it ended.
        for process, _ in others:
            process.join(_ENDING_S)
        for raised in (each for _, here in others for each in _errors(here)):
            if not isinstance(raised, LostProcessError):
                raise raised from error
        for process, _ in others:
            if process.exitcode:
                raise LostProcessError(_ended(process, count)) from error
        raise
    finally:
        torch.set_num_threads(threads)
        for process, here in others:
            here.close()
            process.join(_ENDING_S)
            if process.exitcode is None:
                process.kill()
                process.join()


def _wait_until_ready(process: Any, connection: Connection) -> None:
    """Wait until a process can join its group; torch would wait for one that has ended until the group's timeout."""
    wait([connection, process.sentinel])
    try:
        is_ready = connection.poll() and connection.recv_bytes() == _READY
    except EOFError:
        is_ready = False
    if not is_ready:
        raise LostProcessError(f"{process.name} has ended before it could begin")


def _errors(connection: Connection) -> Iterator[Exception]:
    """Yield the errors that a process has sent."""
    with suppress(EOFError, OSError):
        while connection.poll():
            if error := pickle.loads(connection.recv_bytes()):  # noqa: S301 - our own process
                yield error


def _ended(process: Any, count: int) -> str:
    """Return how a process of a group ended, in one line."""
    code = process.exitcode
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return f"process {process.pid}, {process.name} of {count}, {how}; the same command goes on from the newest checkpoint"


@contextmanager
def _group(index: int, count: int, port: int) -> Iterator[None]:
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=index, world_size=count, timeout=_PATIENCE
    )
    try:
        yield
        distributed.barrier()  # without it, gloo now and then aborts when one process leaves before the other
    finally:
        distributed.destroy_process_group()


def _rank(connection: Connection, content: bytes, index: int, count: int, port: int) -> None:
    """Work as one of the ranks that are not the main one."""
    work_for_parent(_ENDING_S)
    collect_rarely()
    work, arguments = cloudpickle.loads(content)
    connection.send_bytes(_READY)
    try:
        with _group(index, count, port):
            work(*arguments)
    except Exception as error:  # noqa: BLE001 - every error is reported to the parent process
        error.add_note(f"In process {index} of {count}:\n" + "".join(traceback.format_exception(error)).rstrip())
        with suppress(OSError):
            connection.send_bytes(pickle.dumps(error))
