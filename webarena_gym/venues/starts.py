"""The first pages of a task, and the error when one cannot be opened."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from webarena_gym.errors import ActionError, TaskError
from webarena_gym.servers.placeholders import resolve
from webarena_gym.tasks.task import Task


def first_pages(start_url: str, urls: Mapping[str, str]) -> list[str]:
    """Return the addresses at which a task begins."""
    return [resolve(url.strip(), urls) for url in start_url.split("|AND|")]


@contextmanager
def opening(task: Task) -> Iterator[None]:
    """Turn what a browser says of an address that it cannot open into a TaskError."""
    try:
        yield
    except ActionError as error:
        raise TaskError(f"the task {task.task_id} begins at {task.start_url!r}, which no browser can open: {error}") from error
