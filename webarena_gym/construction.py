"""The parts of an env that its keywords select: the backend with its browser, and the tasks from which `reset` draws."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy

from webarena_gym import suite as task_suite
from webarena_gym.addresses import read_addresses
from webarena_gym.applications.application import Application
from webarena_gym.applications.suite import Suite
from webarena_gym.arguments import suggestion
from webarena_gym.backends.application import ApplicationBackend, SuiteBackend
from webarena_gym.backends.base import Backend
from webarena_gym.backends.embedded import NO_WORLD, EmbeddedBackend, names_no_world
from webarena_gym.backends.live_sites import LiveSitesBackend
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.evaluators import check
from webarena_gym.logins import read_logins
from webarena_gym.options import EnvOptions
from webarena_gym.pages.page import Network
from webarena_gym.tasks import OnUnreadable, Task, leave_out

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser


def make_backend(options: EnvOptions, make_browser: Callable[[Network], Browser]) -> Backend:
    """Return the backend that the keywords of an env select.

    Args:
        options: the keywords.
        make_browser: creates the browser of all backends but that of real servers.

    Raises:
        ValueError: for addresses of real servers that the rules cannot evaluate.

    """
    if isinstance(options.suite, Suite):
        return SuiteBackend(make_browser, options.suite)
    if isinstance(options.application, Application):
        return ApplicationBackend(make_browser, options.application)
    if options.sites is None:
        return EmbeddedBackend(make_browser, options.world_seed, options.variation, options.scale or "standard")
    addresses = read_addresses(None if options.sites == "environment" else options.sites)
    for site, url in addresses.items() if options.rules == "verified" else ():
        if not url.startswith("http://"):
            raise ValueError(
                f"rules='verified' evaluates the network traffic, which is encrypted for {url} ({site}); expected http://"
            )
    return LiveSitesBackend(
        lambda site_hosts: _make_chromium(options, None, site_hosts.union(options.hosts)),
        addresses,
        accounts=options.accounts,
        logins=read_logins(options.logins),
    )


def make_browser(options: EnvOptions, network: Network) -> Browser:
    """Return the browser that the keywords of an env select, on the sites of a network."""
    if options.browser == "inprocess":
        return InProcessBrowser(network, strict=_is_foreign(options))  # the embedded sites hide nothing by style sheets
    return _make_chromium(options, network)


def _is_foreign(options: EnvOptions) -> bool:
    """Return True if the pages are those of an application or a suite."""
    return options.application is not None or options.suite is not None


def _make_chromium(options: EnvOptions, network: Network | None, hosts: frozenset[str] = frozenset()) -> "ChromiumBrowser":
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser  # noqa: PLC0415 - heavy, and an optional extra

    windowed = options.viewport == "layout"
    is_application = _is_foreign(options)
    # on pages other than the embedded sites', the layout decides which elements can be used
    strict = windowed or options.bbox or is_application or network is None
    return ChromiumBrowser(
        network,
        hosts=hosts,
        headless=options.render_mode != "human",
        strict=strict,
        windowed=windowed,
        viewport=options.window_size,
        record_traffic=options.rules == "verified",
        show_dialogs=is_application,
        for_pictures=options.has_pictures,
        static=network is not None and not is_application and options.render_mode != "human",
        load_images=strict or options.has_pictures or options.render_mode is not None,
    )


class TaskSelection:
    """The tasks that the keywords of an env select.

    Tasks are loaded at construction, so that errors in them are raised then. The tasks of large worlds other than the bundled ones are
    loaded at the first use, since generating them takes long, and few callers need them.

    Raises:
        TaskError: for tasks that cannot be read.
        EvaluationError: for tasks that the rules cannot judge.

    """

    def __init__(self, options: EnvOptions) -> None:
        self._options = options
        self._application = options.application if isinstance(options.application, Application) else None
        self._suite = options.suite if isinstance(options.suite, Suite) else None
        self._is_lazy = (
            options.tasks is None
            and self._application is None
            and self._suite is None
            and (options.scale or task_suite.SPLITS[options.split].scale) == "large"
            and not task_suite.is_suite_world(options.split, options.world_seed, options.scale)
        )
        if not self._is_lazy:
            assert self.tasks

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks from which `reset` draws."""
        options = self._options
        if options.tasks is None:
            tasks = task_suite.load(
                options.split, options.world_seed, options.variation, options.scale, self._application, options.on_unreadable,
                self._suite,
            )  # fmt: skip
        else:
            tasks = task_suite.select(
                options.tasks, options.variation, options.on_unreadable, options.scale, self._application, self._suite
            )
        tasks = self._select_judgeable(tasks, options.on_unreadable)
        return tasks if options.tasks is None else self._select_placed(tasks)

    def select(self, options: Mapping[str, Any], rng: numpy.random.Generator) -> Task:
        """Return the task of the options of `reset`, or a random one of the split. Raises TaskError and EvaluationError."""
        names = "task", "max_steps"
        unknown = [key for key in options if key not in names]
        if unknown:
            raise TaskError(f"reset has no option {unknown[0]!r}; {suggestion(str(unknown[0]), names)}")
        if "task" not in options:
            return self.tasks[int(rng.integers(len(self.tasks)))]
        task, known = options["task"], () if self._is_lazy else self.tasks
        if not isinstance(task, Task):
            if not isinstance(task, str | Integral):
                raise TaskError(
                    f"the option task has the type {type(task).__name__}; expected the id of one task, or a Task. A vector env takes a list of options"
                )
            task_id = str(task)
            loaded = next((task for task in known if task.task_id == task_id), None)
            task = loaded or task_suite.find(
                task_id, self._options.variation, self._options.scale, self._application, self._suite
            )
        if not any(task is judgeable for judgeable in known):
            self._select_judgeable([task], "raise")
        return task

    def _select_placed(self, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
        """Return all tasks but those of embedded sites that name no world, if the env has none either. Raises TaskError for them."""
        options = self._options
        if self._application or self._suite or options.sites is not None or options.world_seed is not None:
            return tasks
        stray = {task.task_id for task in tasks if names_no_world(task)}
        leave_out(
            [NO_WORLD.format(task_id) for task_id in sorted(stray)],
            len(tasks),
            "name no world",
            TaskError,
            options.on_unreadable,
        )
        return tuple(task for task in tasks if task.task_id not in stray)

    def _select_judgeable(self, tasks: Sequence[Task], on_unreadable: OnUnreadable) -> tuple[Task, ...]:
        """Return the tasks that the rules can judge.

        Raises:
            EvaluationError: naming all others, with `on_unreadable="raise"`.

        """
        rules, unsupported = self._options.rules, {}
        if self._options.sites is not None:
            unsupported["state"] = "reads a database; those of real servers cannot be read"
        if self._suite is None:
            unsupported["verifier"] = "calls a verifier of a suite; make the env with suite="
        judgeable, errors = [], []
        for task in tasks:
            try:
                check(task.eval, rules)
            except EvaluationError as error:
                errors.append(f"task {task.task_id}: {error}")
                continue
            kind = next((kind for kind in task.eval_types if kind in unsupported), None)
            if kind:
                errors.append(f"task {task.task_id}: a check of the kind {kind!r} {unsupported[kind]}")
            else:
                judgeable.append(task)
        leave_out(errors, len(tasks), f"cannot be judged by the rules {rules!r}", EvaluationError, on_unreadable)
        return tuple(judgeable)
