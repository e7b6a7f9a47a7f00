"""The launcher of an application, which starts an instance of it for each episode."""

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from webarena_gym.applications import state
from webarena_gym.applications.application import Application
from webarena_gym.applications.groups import create_group, remove_group
from webarena_gym.applications.instances import BASE, AppHost
from webarena_gym.applications.instances import AppInstance as AppInstance
from webarena_gym.applications.owners import has_ended, identity
from webarena_gym.applications.static_files import StaticFile
from webarena_gym.errors import ApplicationError

_numbers = count(1)
_OWNER = "owner"
"""Name of the file in the folder of a launcher that identifies its process."""


def copies_folder() -> Path:
    """Return the folder for the instances of all processes of this user. Raises ApplicationError if it belongs to another user."""
    folder = Path(tempfile.gettempdir(), f"webarena-gym-{os.getuid()}")
    folder.mkdir(0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise ApplicationError(f"{folder} belongs to another user; set TMPDIR to a folder of your own")
    return folder


def remove_orphans() -> None:
    """Remove the folders of launchers of this user whose processes were all killed, so that none could remove them (Linux)."""
    for file in copies_folder().glob(f"*/{_OWNER}"):
        with suppress(OSError):
            if has_ended(file.read_text()):
                shutil.rmtree(file.parent, ignore_errors=True)


class AppLauncher:
    """Starts instances of an application from its base state. The next instance starts in the background while one is in use.

    Attributes:
        base: folder of the base state.
        cookies: cookies of the signed-in user in the base state, by host and name; None before `prepare`.
        storage: local storage of the signed-in user, by origin and key.
        client_state: state of the pages at the start of an episode (see `Application.client_state`); None before the first.
        static_files: responses of the application that do not depend on its state, by path and `Accept` header.
        own_name: value of {env} in the base state.

    """

    own_name = ""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._group = create_group(next(_numbers)) if "processes" in application.limits and not application.image else None
        remove_orphans()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{application.name}-", dir=copies_folder()))
        (self._folder / _OWNER).write_text(identity(os.getpid()))
        self._host: AppHost | None = None
        self._next: Future[AppInstance] | None = None
        self._executor = None if application.load else ThreadPoolExecutor(1)
        self.base = self._folder / BASE
        self.base.mkdir(parents=True)
        if application.state:
            state.copy_folder(application.state_folder, self.base)
            state.clamp_times(self.base, application.clock)
        self.cookies: Mapping[str, Mapping[str, str]] | None = None
        self.storage: Mapping[str, Mapping[str, str]] = {}
        self.client_state: Mapping[str, Any] | None = None
        self.static_files: dict[tuple[str, str], StaticFile] = {}
        self._lock = threading.RLock()
        self._instances: list[AppInstance] = []
        self._retired: list[AppInstance] = []

    def start(self, files: state.Difference | None = None) -> AppInstance:
        """Return a running instance in the base state, or in the state that differs from it by `files`. Raises ApplicationError."""
        with self._lock:
            next_instance, self._next = self._next, None
            try:
                if next_instance:
                    with suppress(ApplicationError):  # it was killed during its start, and another takes its place
                        instance = next_instance.result()
                        if files:
                            self._next = next_instance  # reserve it for an episode that starts in the base state
                        elif instance.is_alive:
                            return instance
                        else:
                            instance.close()
                return self._start(files or {})
            except ApplicationError:
                if self._host is None or self._host.is_alive:
                    raise
                return self._start(files or {})  # the host process was killed, with all instances, so retry once with a new one

    def end(self, instance: AppInstance) -> None:
        """Close an instance that is no longer in use; with background starts, at the next call of `start_next`."""
        if self._executor:
            self._retired.append(instance)
        else:
            instance.close()

    def start_next(self) -> None:
        """Start the next instance and close unused ones, in the background."""
        with self._lock, suppress(RuntimeError):  # raised at interpreter exit, where `close` removes everything
            if self._executor and self._next is None:
                self._next = self._executor.submit(self._start, {})
            while self._executor and self._retired:
                self._executor.submit(self._retired[-1].close)
                self._retired.pop()

    def _start(self, files: state.Difference) -> AppInstance:
        if self._host is not None and not self._host.is_alive:
            self._host.close()
            self._host = None
        if self._host is None:
            self._host = AppHost(self.application, Path(tempfile.mkdtemp(prefix="host-", dir=self._folder)), self._group)
            self._warm()
        folder = self._folder / str(next(_numbers))
        (folder / "state").mkdir(parents=True)
        state.copy_folder(self.base, folder / "state")
        state.apply(files, folder / "state")
        self._instances = [instance for instance in self._instances if not instance.is_closed]
        numbers = {instance.number for instance in self._instances}
        try:
            number = next(number for number in count(1) if number not in numbers)
            self._instances.append(AppInstance(self.application, self._host, folder, number))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self._instances[-1]

    @property
    def is_isolated(self) -> bool:
        """True if instances run in namespaces that isolate them from each other, and from all other files and processes."""
        return self._host is not None and self._host.is_isolated

    def prepare(
        self, sign_in: Callable[[AppInstance], tuple[Mapping[str, Mapping[str, str]], Mapping[str, Mapping[str, str]]]]
    ) -> None:
        """Sign in once, before the first episode. The resulting state, cookies and storage are the base of all instances."""
        with self._lock:
            if self.cookies is not None:
                return
            instance = self._start({})
            try:
                self.cookies, self.storage = sign_in(instance)
                instance.save()
                instance.stop()
                self.own_name = instance.own_name
                shutil.rmtree(self.base)
                shutil.copytree(instance.state, self.base, symlinks=True)
            finally:
                instance.close()
            self._warm()

    def _warm(self) -> None:
        """Request the pages of `warm` from the application in the host process again, as the signed-in user, on a copy of the base state."""
        cookies = (self.cookies or {}).get(self.application.host)
        if self._host is None or not self.application.warm or not cookies:
            return
        fresh = self.base.parent / "warm"  # a folder in which the application cannot create links
        state.copy_folder(self.base, fresh)
        shutil.rmtree(self._host.folder / "state")
        fresh.rename(self._host.folder / "state")
        header = "; ".join(f"{name}={value}" for name, value in cookies.items())
        self._host.request(cookies=header)

    def close(self) -> None:
        """End all processes, and remove their folders."""
        with self._lock:
            next_instance, self._next = self._next, None
            if next_instance is not None and next_instance.exception() is None:
                next_instance.result().close()
            if self._executor:
                self._executor.shutdown()
            for instance in self._instances if self.application.drop else ():
                if not instance.is_closed:
                    instance.close()
            if self._host is not None:
                self._host.close()
            if self._group:
                remove_group(self._group)
            shutil.rmtree(self._folder, ignore_errors=True)


_launchers: dict[tuple[int, Application], AppLauncher] = {}


def launcher_of(application: Application) -> AppLauncher:
    """Return the launcher of an application in this process. Thread-safe without a lock, which a fork could copy in its locked state."""
    key = os.getpid(), application
    if key not in _launchers:
        launcher = AppLauncher(application)
        if _launchers.setdefault(key, launcher) is not launcher:  # another thread was faster
            launcher.close()
    return _launchers[key]


@atexit.register
def close_all() -> None:
    """End all applications of this process. They start again at the next use."""
    for process, key in list(_launchers):
        launcher = _launchers.pop((process, key))
        if process == os.getpid():
            launcher.close()
