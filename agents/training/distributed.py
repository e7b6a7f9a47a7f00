"""Data-parallel training: the ranks that train one model together.

The process group of `torch.distributed` is created by `launch`, by Ray Train (`agents.cluster`) or by torchrun. A single process needs none.
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
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import cloudpickle  # type: ignore[import-untyped]
import torch
from torch import Tensor, distributed, nn

from agents.command_lines import collect_rarely
from agents.models.checkpoints import is_small
from agents.rollouts.players import PRELOADED, LostProcessError, process_count
from agents.training.credit import TrainedStep
from agents.training.settings import TrainSettings
from webarena_gym.processes import work_for_parent
from webarena_gym.vector.pool import CONTEXTS, without_main_module

T = TypeVar("T")

_PATIENCE = timedelta(days=7)  # timeout of the process group
_SHUTDOWN_S = 5.0  # time for a process to exit before it is killed
_READY = pickle.dumps(None)  # sent by a process that can join the group


@contextmanager
def _raise_lost_rank() -> Iterator[None]:
    """Convert torch's communication errors to LostProcessError."""
    try:
        yield
    except RuntimeError as error:
        raise LostProcessError(f"another process of the training has ended: {str(error).splitlines()[0]}") from error


@dataclass(frozen=True)
class Ranks:
    """The ranks of a training: this process is rank `index` of `count`. Rank 0 is the main rank.

    Attributes:
        index: number of this rank, from 0.
        count: number of ranks.
        device: device of the model.

    """

    index: int = 0
    count: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - immutable
    gradient_scale: float = 1.0
    """factor of the loss, for process groups that average gradients instead of adding them"""

    @classmethod
    def current(cls) -> "Ranks":
        """Return the ranks of the current process group; a single rank if there is none."""
        device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
        if not distributed.is_initialized():
            return cls(device=device)
        return cls(distributed.get_rank(), distributed.get_world_size(), device)

    @property
    def is_main(self) -> bool:
        """True if this process writes metrics and checkpoints."""
        return self.index == 0

    def share(self, value: T | None = None) -> T:
        """Broadcast rank 0's value to all ranks. Raises LostProcessError, as do all methods that communicate."""
        values = [value]
        if self.count > 1:
            with _raise_lost_rank():
                distributed.broadcast_object_list(values, src=0)
        return values[0]  # type: ignore[return-value]

    def gather(self, values: list[T]) -> list[T]:
        """Return the values of all ranks, in rank order."""
        if self.count == 1:
            return values
        parts: list[list[T]] = [[] for _ in range(self.count)]
        with _raise_lost_rank():
            distributed.all_gather_object(parts, values)
        return [value for part in parts for value in part]

    def part(self, steps: Sequence[TrainedStep], indices: Sequence[int]) -> list[int]:
        """Return the indices of the steps that this rank computes: those of the groups that it has played."""
        return [index for index in indices if steps[index].episode.group % self.count == self.index]

    def add_up(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace gradients by their sums over all ranks. A parameter without a gradient on any rank keeps None."""
        if self.count == 1:
            return
        parameters = list(parameters)
        has_gradient = torch.tensor([float(parameter.grad is not None) for parameter in parameters])
        flat = torch.cat([
            (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).reshape(-1) for parameter in parameters
        ])  # fmt: skip
        with _raise_lost_rank():
            distributed.all_reduce(has_gradient)
            distributed.all_reduce(flat)
        for parameter, values, exists in zip(
            parameters, flat.split([parameter.numel() for parameter in parameters]), has_gradient, strict=True
        ):
            parameter.grad = values.view_as(parameter) if exists else None


def full_tensor(tensor: Tensor) -> Tensor:
    """Return the full tensor of a sharded one. All ranks must call it."""
    gather = getattr(tensor, "full_tensor", None)  # method of DTensor, whose module takes seconds to import
    return gather() if gather else tensor


SINGLE_RANK = Ranks()
"""A single rank on the CPU."""


def training_processes(args: TrainSettings) -> int:
    """Return the number of training processes: `processes`, or by default one per core if the model is small and no option rules it out."""
    shares = not (args.processes or args.threads or args.vllm or torch.cuda.is_available()) and is_small(args.model)
    return args.processes or (process_count(0, args.tasks_per_update * args.group_size) if shares else 1)


def launch(work: Callable[..., T], count: int, *arguments: object) -> T:
    """Call a function in `count` processes on this machine, which form one process group. Returns rank 0's result.

    This process is rank 0. An exception in another process is raised here, with its traceback as a note. Raises LostProcessError with
    the exit status if a process ended without an exception, for example because it was killed.
    """
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    context: Any = get_context(CONTEXTS[0])
    if CONTEXTS[0] == "forkserver":
        context.set_forkserver_preload(PRELOADED)
    content = cloudpickle.dumps((work, arguments))
    processes: list[tuple[BaseProcess, Connection]] = []
    for index in range(1, count):
        connection, child_end = context.Pipe()
        process = context.Process(
            target=_rank, args=(child_end, content, index, count, port), name=f"rank {index}", daemon=True
        )
        with without_main_module():
            process.start()
        child_end.close()
        processes.append((process, connection))
    threads = torch.get_num_threads()
    try:
        for process, connection in processes:
            _wait_until_ready(process, connection)
        with _group(0, count, port):
            return work(*arguments)
    except (LostProcessError, RuntimeError) as error:
        # The error or exit status of the lost process is more useful than torch's communication error.
        for process, _ in processes:
            process.join(_SHUTDOWN_S)
        for cause in (item for _, connection in processes for item in _errors(connection)):
            if not isinstance(cause, LostProcessError):
                raise cause from error
        for process, _ in processes:
            if process.exitcode:
                raise LostProcessError(_describe_exit(process, count)) from error
        raise
    finally:
        torch.set_num_threads(threads)
        for process, connection in processes:
            connection.close()
            process.join(_SHUTDOWN_S)
            if process.exitcode is None:
                process.kill()
                process.join()


def _wait_until_ready(process: BaseProcess, connection: Connection) -> None:
    """Wait until a process can join the group. For a process that has ended, torch would wait until the group's timeout."""
    wait([connection, process.sentinel])
    try:
        is_ready = connection.poll() and connection.recv_bytes() == _READY
    except EOFError:
        is_ready = False
    if not is_ready:
        raise LostProcessError(f"{process.name} ended before it joined the process group")


def _errors(connection: Connection) -> Iterator[Exception]:
    """Yield the exceptions sent by a process."""
    with suppress(EOFError, OSError):
        while connection.poll():
            if error := pickle.loads(connection.recv_bytes()):  # noqa: S301 - our own process
                yield error


def _describe_exit(process: BaseProcess, count: int) -> str:
    """Describe the exit of a process in one line."""
    code = process.exitcode or 0
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return f"process {process.pid}, {process.name} of {count}, {how}; run the same command again to resume from the newest checkpoint"


@contextmanager
def _group(index: int, count: int, port: int) -> Iterator[None]:
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=index, world_size=count, timeout=_PATIENCE
    )
    try:
        yield
        distributed.barrier()  # otherwise gloo sometimes aborts if one process leaves early
    finally:
        distributed.destroy_process_group()


def _rank(connection: Connection, content: bytes, index: int, count: int, port: int) -> None:
    """Entry point of the ranks other than 0."""
    work_for_parent(_SHUTDOWN_S)
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
