"""`EnvOptions`: the keywords of the env, with types, defaults, descriptions and checks. Commands, servers and adapters derive theirs from it."""

import inspect
import os
import re
import sys
from argparse import _ActionsContainer
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache, cached_property
from math import inf
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

import numpy

from webarena_gym import suite as task_suite
from webarena_gym.actions import DIALECTS, Dialect
from webarena_gym.actions.computer import NAMES, Computer, Coordinates, Vendor
from webarena_gym.actions.dialect import RESULT_TAG
from webarena_gym.addresses import Account
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.suite import Suite, read_suite
from webarena_gym.arguments import as_int, expect_between, expect_one_of, expect_positive, field_descriptions, suggestion
from webarena_gym.errors import RenderModeError
from webarena_gym.evaluators import RULES, Judge
from webarena_gym.logins import Login
from webarena_gym.observation import Elements, Style
from webarena_gym.observation.history import History
from webarena_gym.observation.pictures import PictureFormat, PictureStyle
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import OnUnreadable, Task
from webarena_gym.texts import MAX_PAGE
from webarena_gym.toolbox import BUNDLED, ToolFunction, bundled_function

BrowserKind = Literal["inprocess", "chromium"]
Viewport = Literal["window", "layout"]
OnFailure = Literal["nan", "zero", "raise"]
SideEffects = Literal["forbidden", "reported", "ignored"]

MAX_STEPS = 15
"""Default step limit of an episode, as in the training of the WebAgent-R1 paper."""

HARD_STEPS = 60
"""Default step limit of an episode of a hard task."""

EVALUATION_STEPS = 30
"""Default step limit of the evaluation commands, as in the evaluation of the WebAgent-R1 paper; `HARD_STEPS` for the hard split."""


class LoadedTasks(tuple[Task, ...]):
    """Value of the keyword `tasks`: the tasks that an env with the same other keywords has loaded, for further envs."""


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """The keywords of `gymnasium.make("WebArenaLite-v0", ...)`. Raises ValueError for invalid values and conflicting options."""

    split: str = "train"
    """split of the suite from which `reset` draws tasks"""
    tasks: str | Path | Sequence[str | Task] | None = None
    """instead of a split: task ids, `Task` objects, or the path of a task file in WebArena's schema"""
    browser: BrowserKind = "inprocess"
    """"inprocess" (no scripts, no layout, two milliseconds a step) or "chromium" (Playwright; needs the extra "chromium")"""
    sites: Mapping[str, str] | Literal["environment"] | None = None
    """real servers, as a mapping of site to URL, or "environment" for WebArena's environment variables; by default the embedded sites"""
    suite: str | Path | Suite | None = None
    """suite of another project: its name (see `webarena-gym suite add`), or the path of its file"""
    application: str | Path | Application | None = None
    """your web application: its `webarena-app.toml`, the folder with it, or an archive of `webarena-gym app pack`"""
    world_seed: int | None = None
    """world in which the tasks are generated, instead of the worlds of the split"""
    variation: Variation = "content"
    """differences between worlds: the content of the sites ("content"), or also their layout ("layout")"""
    scale: Scale | None = None
    """size of the worlds: "standard", or "large" with ten times the content; by default that of the split or template"""
    history: History = "compressed"
    """earlier pages: a placeholder ("compressed"), omitted ("none") or complete ("full")"""
    observation: Style | PictureStyle = "html"
    """format of pages: simplified HTML ("html"), accessibility tree ("axtree") or AgentOccam's outline ("occam"). With Chromium also
    pictures: "pixels", "text+pixels" or "marks" (with numbered boxes)"""
    window_size: tuple[int, int] = (1280, 720)
    """width and height of Chromium's window in pixels, for example `(390, 844)` for a phone"""
    pictures: int = 1
    """maximum number of pictures in `info["messages"]`"""
    picture_format: PictureFormat = "jpeg"
    """encoding of pictures: "jpeg" (small and fast) or "png" (exact)"""
    cursor: bool = False
    """draw the mouse cursor on pictures"""
    dialect: Literal["webrl", "webarena", "browsergym", "computer"] = "webrl"
    """format of actions: `do(action="Click", element="6")` ("webrl"), `click [6]` ("webarena") or `click("6")` ("browsergym"). With
    Chromium also "computer", mouse and keyboard at coordinates"""
    vendor: Vendor = "openai"
    """computer-use format of the instructions and examples; replies in all four formats are accepted"""
    coordinates: Coordinates = "pixels"
    """unit of coordinates: "pixels" of the picture, or "thousandths" of its width and height"""
    elements: Elements = "id"
    """names of elements in actions: their number in the page ("id"), or their visible label ("label")"""
    max_steps: int | None = None
    """number of steps after which an episode is truncated; by default 15, and 60 for hard tasks"""
    step_budget: float | None = None
    """additional step limit, as a multiple of the length of the reference solution"""
    render_mode: Literal["ansi", "rgb_array", "human"] | None = None
    """"ansi" (the page as text), or with Chromium "rgb_array" (a picture) or "human" (a window)"""
    thoughts: bool = True
    """keep the complete replies of earlier steps, including thoughts"""
    header: bool = True
    """show the URL and the tabs above the page"""
    viewport: Viewport = "window"
    """visible part of a page: `window` characters of its text ("window"), or what fits into `window_size` ("layout", Chromium)"""
    window: int = 12_000
    """number of visible characters of a page"""
    max_text: int | None = None
    """maximum number of characters of each text of a page; longer texts are cut"""
    bbox: bool = False
    """add `data-bbox` attributes with the positions of elements (Chromium)"""
    judge: Judge | None = None
    """function (intent, reference, answer) -> bool that judges fuzzy matches; by default values are compared by type"""
    rules: str = "native"
    """evaluation rules: "native", or those of "webarena", "verified", "vab" (VisualAgentBench) or "r1" (WebAgent-R1)"""
    on_failure: OnFailure = "nan"
    """result of a step if a browser or site fails: the reward NaN ("nan"), the reward 0.0 ("zero") or an exception ("raise")"""
    on_unreadable: OnUnreadable = "raise"
    """for tasks that cannot be read or judged: an exception ("raise"), or a warning without the task ("skip")"""
    accounts: Mapping[str, Account] | None = None
    """accounts on real servers, by site; by default WebArena's published accounts"""
    logins: Mapping[str, Login] | None = None
    """login forms of real servers, by site"""
    hosts: Iterable[str] = ()
    """further hosts, as "name:port", that the browser may access, for example the tile server of a map"""
    side_effects: SideEffects | None = None
    """changes beyond the task: they fail it ("forbidden"), are listed ("reported") or not computed ("ignored"); by default "forbidden"
    where they can be computed"""

    reward: Literal["binary", "checklist", "f1"] = "binary"
    """rewards: success at the end of the episode ("binary"), or parts of a checklist ("checklist", "f1")"""
    tools: Sequence[str | Callable[..., Any]] = ()
    """functions that a reply can call instead of an action (needs the extra "tools")"""
    tool_budget: int | None = None
    """maximum number of calls of tools in an episode; None for no limit except that of steps"""
    tool_window: int = 1_500
    """maximum number of characters of the result of a tool; longer results are cut and marked as cut"""
    tool_tag: str = RESULT_TAG
    """name of the tag around the result of a tool, as in `<information>`"""

    def __post_init__(self) -> None:
        self._read_application()
        for name in _ENUMERATED:
            expect_one_of(name, getattr(self, name), option_choices(name))
        self._read_numbers()
        if self.tasks is not None and self.suite is None:
            expect_one_of("split", self.split, task_suite.SPLITS)
        self._check_types()
        self._check_source()
        expect_one_of("rules", self.rules, RULES)
        if self.judge is not None and not callable(self.judge):
            raise ValueError(
                f"judge is {self.judge!r}; expected a function (intent, reference, answer) -> bool, such as ChatJudge(...)"
            )
        if self.scale == "large" and self.sites is not None:
            raise ValueError(f"scale={self.scale!r} is only for the embedded sites; omit sites=, or use scale='standard'")
        if self.rules == "verified" and self.sites is None:
            raise ValueError("rules='verified' evaluates the traffic with real servers, and needs sites=")
        if isinstance(self.hosts, str):
            raise ValueError(f"hosts is the str {self.hosts!r}; expected a list of str such as ['tiles.example:80']")  # noqa: TRY004 - as for other arguments
        object.__setattr__(self, "hosts", frozenset(self.hosts))
        if self.sites is None and (self.accounts or self.logins or self.hosts):
            raise ValueError("accounts, logins and hosts are only for real servers, and need sites=")
        if self.side_effects in ("forbidden", "reported") and not self.can_compare_changes:
            raise ValueError(
                f"side_effects is {self.side_effects!r}; expected 'ignored' or None: side effects are detected only on the embedded"
                " sites under the native rules"
            )
        if self.reward != "binary" and (not self.can_compare_changes or self.application is not None or self.suite is not None):
            raise ValueError(
                f"reward={self.reward!r} needs the embedded sites and the native rules; omit sites=, application=, suite= and rules="
            )
        self._check_pictures()
        self._check_tools()
        if self.browser == "inprocess":
            chromium_options = {"sites": self.sites, "viewport": self.viewport == "layout", "bbox": self.bbox}
            if any(chromium_options.values()):
                name = next(filter(chromium_options.get, chromium_options))
                raise ValueError(f"{name} needs a browser with scripts and layout: browser='chromium'")
            if self.render_mode not in (None, "ansi"):
                raise RenderModeError(
                    f"render_mode={self.render_mode!r} needs a browser with layout: browser='chromium', or render_mode='ansi'"
                )
        has_display = not sys.platform.startswith("linux") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
        if self.render_mode == "human" and not has_display:
            raise ValueError(
                "render_mode is 'human', which opens a window, but there is no display ($DISPLAY and $WAYLAND_DISPLAY are not set); "
                "expected 'rgb_array' for pictures, or a virtual display, as in `xvfb-run python ...`"
            )
        if self.tasks is None and self.suite is None:
            task_suite.expect_split(self.split)

    def _read_numbers(self) -> None:
        """Check numbers, and convert those of numpy to Python's. A size may be a list, as in JSON. `load_world` checks the range of seeds."""
        numbers: dict[str, Any] = {name: expect_positive(name, getattr(self, name)) for name in ("window", "pictures")}
        if self.max_steps is not None:
            numbers["max_steps"] = expect_positive("max_steps", self.max_steps)
        if self.max_text is not None:
            numbers["max_text"] = expect_positive("max_text", self.max_text)
        if self.tool_budget is not None:
            numbers["tool_budget"] = expect_positive("tool_budget", self.tool_budget)
        numbers["tool_window"] = expect_between("tool_window", self.tool_window, 1, MAX_PAGE // 2)
        numbers["world_seed"] = as_int(self.world_seed)
        budget = as_int(self.step_budget)
        is_number = isinstance(budget, Real) and not isinstance(budget, bool)
        if budget is not None and not (is_number and 0 < budget < inf):
            raise ValueError(f"step_budget is {budget!r}; expected a number above 0")
        numbers["step_budget"] = budget if budget is None or isinstance(budget, int) else float(budget)
        try:
            width, height = map(as_int, self.window_size)
        except (TypeError, ValueError):
            width = height = 0
        if not all(type(side) is int and _SIDE[0] <= side <= _SIDE[1] for side in (width, height)):
            raise ValueError(
                f"window_size is {self.window_size!r}; expected (width, height), each {_SIDE[0]} to {_SIDE[1]} pixels"
            )
        numbers["window_size"] = (width, height)
        for name, value in numbers.items():
            object.__setattr__(self, name, value)

    def _check_types(self) -> None:
        """Raise ValueError for values of another type than the documented ones, which would fail later or be ignored."""
        for name in _FLAGS:
            value = getattr(self, name)
            if not isinstance(value, bool | numpy.bool_):
                raise ValueError(f"{name} is {value!r}; expected True or False")  # noqa: TRY004 - as for other arguments
            object.__setattr__(self, name, bool(value))
        if self.tasks is not None and not isinstance(self.tasks, str | Path | Iterable):
            raise ValueError(f"tasks is {self.tasks!r}; expected task ids, Task objects, or the path of a task file")

    def _check_source(self) -> None:
        """Raise ValueError for options that select tasks, but that the source of the tasks does not use."""
        if isinstance(self.tasks, LoadedTasks):
            return
        sources = [f"{name}=" for name in ("tasks", "application") if getattr(self, name) is not None]
        if sources and self.split != EnvOptions.split:
            raise ValueError(f"split={self.split!r} has no effect with {sources[0]}; omit one of them")
        if self.world_seed is not None and isinstance(self.application, Application):
            if self.tasks is not None:
                raise ValueError(
                    f"world_seed={self.world_seed!r} has no effect with application= and tasks=; omit world_seed or tasks"
                )
            if not self.application.templates:
                raise ValueError(
                    f"world_seed={self.world_seed!r} has no effect: the application {self.application.name} has no templates, which would"
                    " draw tasks with it; omit world_seed"
                )

    def _check_pictures(self) -> None:
        """Raise ValueError for conflicting options of pictures."""
        if self.browser == "inprocess":
            if self.has_pictures:
                raise ValueError(
                    f"observation={self.observation!r} needs a browser that renders pictures; use browser='chromium', or observation='html'"
                )
            if self.dialect == "computer":
                raise ValueError("dialect='computer' needs a browser with a window; use browser='chromium', or dialect='webrl'")
        for names, is_used, remedy in (
            (("window_size",), self.browser == "chromium", "browser='chromium'"),
            (
                ("pictures", "picture_format", "cursor"),
                self.has_pictures,
                "observation='pixels' or another one with pictures, and browser='chromium'",
            ),
            (("vendor", "coordinates"), self.dialect == "computer", "dialect='computer' and browser='chromium'"),
        ):
            self._expect_effect(names, is_used, remedy)
        if self.observation == "marks" and self.elements == "label":
            raise ValueError("observation='marks' numbers the elements; use elements='id', or observation='text+pixels'")

    def _expect_effect(self, names: tuple[str, ...], is_used: bool, remedy: str) -> None:
        """Raise ValueError if an option of `names` is set although it is not used."""
        for name in names:
            if not is_used and getattr(self, name) != getattr(EnvOptions, name):
                raise ValueError(f"{name}={getattr(self, name)!r} has no effect here: it needs {remedy}")

    def _check_tools(self) -> None:
        """Raise ValueError for a function that cannot be a tool, and for a name that is already used."""
        if isinstance(self.tools, str) or callable(self.tools):
            raise ValueError(f"tools is {self.tools!r}; expected a list of functions and names")  # noqa: TRY004 - as for other arguments
        object.__setattr__(self, "tools", tuple(self.tools))
        for tool in self.tools:
            if isinstance(tool, str):
                expect_one_of("a tool", tool, BUNDLED)
        if "lookup" in self.tools and (self.sites is not None or self.application is not None or self.suite is not None):
            raise ValueError(
                "the tool 'lookup' searches the embedded encyclopedia; omit it with sites=, application= and suite="
            )
        if not isinstance(self.tool_tag, str) or not _TAG_NAME.fullmatch(self.tool_tag):
            raise ValueError(
                f"tool_tag is {self.tool_tag!r}; expected a name of at most 40 letters, digits, '-' and '_', and first a letter"
            )
        self._expect_effect(("tool_budget", "tool_window", "tool_tag"), bool(self.tools), "tools=[...]")
        names = [tool.name for tool in self.tool_functions]
        for index, name in enumerate(names):
            if name in _ACTION_NAMES:
                raise ValueError(f"the tool {name} has the name of an action; expected another name")
            if name in names[:index]:
                raise ValueError(f"there are two tools with the name {name}; expected different names")

    @cached_property
    def tool_functions(self) -> tuple[ToolFunction, ...]:
        return tuple(ToolFunction(bundled_function(tool) if isinstance(tool, str) else tool) for tool in self.tools)

    def _read_application(self) -> None:
        """Replace the path of an application's or a suite's description by the description."""
        for name, source in read_source(self.application, self.suite).items():
            object.__setattr__(self, name, source)
            if isinstance(source, Suite) and source.browser == "chromium":
                object.__setattr__(self, "browser", "chromium")
        has_site_options = self.sites is not None or self.scale is not None or self.variation != "content"
        for name in ("application", "suite"):
            if getattr(self, name) is not None and has_site_options:
                raise ValueError(f"sites=, scale= and variation= are options of the embedded sites; omit them with {name}=")
        if self.suite is not None and self.world_seed is not None:
            raise ValueError("suite= has its own applications and tasks; omit world_seed=")

    @classmethod
    def of(cls, keywords: Mapping[str, Any], owner: str = "WebArenaLite") -> Self:
        """Return the options of a mapping of keywords. Raises TypeError for an unknown keyword; `owner` names the callee in its message."""
        expect_option_names(keywords, owner)
        return cls(**keywords)

    @property
    def can_compare_changes(self) -> bool:
        """True if the changes in databases can be compared with those of the reference solution."""
        return self.sites is None and self.rules == "native"

    @cached_property
    def has_pictures(self) -> bool:
        """True if observations contain pictures."""
        return self.observation in get_args(PictureStyle)

    @cached_property
    def text_style(self) -> Style:
        """The format of the page text, which also defines the numbers of elements."""
        styles: Mapping[str, Style] = {"axtree": "axtree", "occam": "occam"}
        return styles.get(self.observation, "html")

    def build_dialect(self) -> Dialect:
        """Return the dialect of actions and tools, in which examples refer to elements by number or label as `elements` requires."""
        tools = tuple(tool.form for tool in self.tool_functions)
        if self.dialect == "computer":
            return Computer(
                vendor=self.vendor, window=self.window_size, coordinates=self.coordinates, tools=tools, result_tag=self.tool_tag
            )
        return DIALECTS[self.dialect].naming_by(self.elements).with_tools(tools, self.tool_tag)


OPTION_NAMES = tuple(option.name for option in fields(EnvOptions))
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_SIDE = (64, 4096)  # minimum and maximum of the width and height of a window, in pixels
_DIALECTS: tuple[Dialect, ...] = (*DIALECTS.values(), Computer())
_ACTION_NAMES = {form.name for dialect in _DIALECTS for form in dialect.forms} | {*NAMES, "do", "reset", "observe", "submit"}
"""The names of the actions of all dialects, and of the tools of the MCP server."""
_FLAGS = tuple(option.name for option in fields(EnvOptions) if option.type is bool)
_ENUMERATED = (
    "observation", "picture_format", "elements", "history", "viewport", "on_failure", "on_unreadable", "variation", "scale", "dialect", "vendor", "coordinates", "browser",
    "side_effects", "reward", "render_mode",
)  # fmt: skip
"""The options whose type lists their values."""


@cache
def option_choices(name: str) -> tuple[Any, ...]:
    """Return the possible values of an option, with None first if that is one; empty if the type of the option does not list them.

    >>> option_choices("elements"), option_choices("scale"), option_choices("window")
    (('id', 'label'), (None, 'standard', 'large'), ())
    """
    kind = get_type_hints(EnvOptions)[name]
    parts = (kind,) if get_origin(kind) is Literal else get_args(kind)
    values = tuple(value for part in parts if get_origin(part) is Literal for value in get_args(part))
    return (None, *values) if values and type(None) in parts else values


def option_descriptions() -> Mapping[str, str]:
    """Return the description of each option, from the docstring below its field in `EnvOptions`."""
    return field_descriptions(EnvOptions)


def add_options(parser: _ActionsContainer, *names: str, has_pictures: bool = False, **defaults: object) -> None:
    """Add a command-line option for each of the named fields of `EnvOptions`, whose types list their values.

    Args:
        parser: parser or argument group.
        names: names of the fields.
        has_pictures: also offer and describe the values that need pictures, which commands with text output do not support.
        defaults: defaults that differ from those of `EnvOptions`, by name.

    """
    unsupported = () if has_pictures else (*get_args(PictureStyle), "computer")
    field_defaults = {option.name: None if option.default is MISSING else option.default for option in fields(EnvOptions)}
    for name in names:
        text = option_descriptions()[name]
        if not (has_pictures and name in ("observation", "dialect")):
            text = text.partition(". ")[0]
        if name in defaults:
            text = text.partition("; by default")[0]
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            choices=[value for value in option_choices(name) if value is not None and value not in unsupported],
            default=defaults.get(name, field_defaults[name]),
            help=text,
        )


def add_application(parser: _ActionsContainer, scope: str = "") -> None:
    """Add the option `--application`. `scope` is the end of its help, such as the tasks that the command plays."""
    parser.add_argument("--application", metavar="APPLICATION", help=f"{option_descriptions()['application']}{scope}")


def add_source(parser: _ActionsContainer, scope: str = "") -> None:
    """Add the options `--application` and `--suite`, which `read_source` reads. `scope` is the end of the help of the first."""
    add_application(parser, scope)
    parser.add_argument("--suite", metavar="NAME", help=option_descriptions()["suite"].partition(". ")[0])


def read_source(application: str | Path | Application | None = None, suite: str | Path | Suite | None = None) -> dict[str, Any]:
    """Return the application or suite that replaces the bundled tasks and sites.

    Returns:
        A keyword of `WebArenaLite` and of `load`, `find`, `select` and `select_templates`; empty for the embedded sites.

    Raises:
        ValueError: if there are both.
        ApplicationError: for an invalid application.
        TaskError: for an invalid suite.

    """
    if application is not None and suite is not None:
        raise ValueError("suite= has its own applications and tasks; omit application=")
    if suite is not None:
        return {"suite": read_suite(suite)}
    return {} if application is None else {"application": read_application(application)}


def signature_of_env() -> inspect.Signature:
    """Return the signature of an env whose keywords are the fields of `EnvOptions`."""
    keywords = inspect.signature(EnvOptions).parameters.values()
    return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *keywords])


VECTOR_KEYWORDS = (
    "num_envs", "batch_size", "workers", "autoreset_mode", "step_timeout_s", "context", "make_env", "max_episode_steps",
)  # fmt: skip
"""The keywords of `WebArenaLiteVector` itself, in addition to those of its envs."""


def expect_option_names(names: Iterable[str], owner: str, others: Sequence[str] = ()) -> None:
    """Raise TypeError for a name that is no option of the env. `others` are further keywords of the callee `owner`, for its message."""
    for name in names:
        if name in VECTOR_KEYWORDS and name not in others:
            raise TypeError(
                f"{owner} has no keyword {name!r}: use gymnasium.make_vec(..., {name}=...). With its vectorization_mode='sync' or 'async',"
                " Gymnasium's own vector env takes its keywords from vector_kwargs={...}"
            )
        if name == "seed":
            raise TypeError(f"{owner} has no keyword 'seed': pass it to reset(seed=...)")
        if name not in OPTION_NAMES:
            raise TypeError(f"{owner} has no keyword {name!r}: {suggestion(name, (*others, *OPTION_NAMES))}")
