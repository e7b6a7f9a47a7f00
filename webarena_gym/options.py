"""`EnvOptions`: the keywords of the env, with their types, defaults, meanings and checks. Commands, servers and adapters take theirs from it."""

import ast
import inspect
import os
import sys
from argparse import _ActionsContainer
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache, cached_property
from math import inf
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS, Dialect
from webarena_gym.actions.computer import Computer, Coordinates, Vendor
from webarena_gym.applications.application import Application, read_application
from webarena_gym.arguments import as_int, expect_one_of, expect_positive, suggestion
from webarena_gym.errors import RenderModeError
from webarena_gym.evaluators import RULES, Judge
from webarena_gym.observation import Elements, Style
from webarena_gym.observation.history import History
from webarena_gym.observation.pictures import PictureFormat, PictureStyle
from webarena_gym.servers.logins import Account, Login
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import OnUnreadable, Task

BrowserKind = Literal["inprocess", "chromium"]
Viewport = Literal["window", "layout"]
OnFailure = Literal["nan", "zero", "raise"]
SideEffects = Literal["forbidden", "reported", "ignored"]

MAX_STEPS = 15
"""Steps of an episode where nothing else is said, as in the paper's training."""

HARD_STEPS = 60
"""Steps of an episode of a hard task where nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """The keywords of `gymnasium.make("WebArenaLite-v0", ...)`. Raises ValueError for values that are wrong or do not go together."""

    split: str = "train"
    """the part of the shipped suite that `reset` draws from: "train", "validation" or "test"; "pool" for tasks of other templates, to
    train on; "hard" for tasks for strong agents; or "pictures" for tasks that need eyes"""
    tasks: str | Path | Sequence[str | Task] | None = None
    """instead of a split, a list of task ids, or the path of a task file in WebArena's own schema"""
    browser: BrowserKind = "inprocess"
    """the browser: "inprocess" (no scripts, no layout, a millisecond a step) or "chromium" (Playwright; needs the extra of that name)"""
    sites: Mapping[str, str] | Literal["environment"] | None = None
    """None for the embedded sites, or real servers: a mapping of site to URL, or "environment" for WebArena's variables"""
    application: str | Path | Application | None = None
    """instead of the embedded sites, a web application of one's own: its `webarena-app.toml`, or the folder of that"""
    world_seed: int | None = None
    """draw the split's templates in this world instead of the suite's own; with `tasks`, the world of those that name none; with an
    `application`, the seed of draws from its templates"""
    variation: Variation = "content"
    """differences of worlds: in the content of the sites ("content"), or also in how they are built ("layout"). A task that is given as such, and not
    by its id, is taken as it is, with a solution for the layout it was drawn in"""
    scale: Scale | None = None
    """size of the worlds, by default that of the split or template: "standard", or "large" with some ten times as much of everything, and
    ranked search, as hard ones have it. In worlds of the other scale, a split's templates are drawn in that of `world_seed`, or of the
    split's first seed. A task that is given as such keeps its own world"""
    history: History = "compressed"
    """earlier pages become a placeholder ("compressed"), are left out ("none") or stay whole ("full")"""
    observation: Style | PictureStyle = "html"
    """pages as simplified HTML ("html"), as WebArena's accessibility tree ("axtree"), or as AgentOccam's outline of it, of which earlier
    pages keep the elements that the agent highlighted ("occam"). With Chromium also as pictures: of the window alone ("pixels"), with
    numbered boxes on it and a list of them ("marks"), or beside simplified HTML ("text+pixels"); the observation is a dictionary then"""
    window_size: tuple[int, int] = (1280, 720)
    """width and height of Chromium's window in pixels, such as (390, 844) for a phone"""
    pictures: int = 1
    """pictures that `info["messages"]` hold at most, of the newest pages; a line stands for each earlier one"""
    picture_format: PictureFormat = "jpeg"
    """encoding of pictures: "jpeg" (small and fast) or "png" (exact)"""
    cursor: bool = False
    """draw the mouse cursor on pictures"""
    dialect: Literal["webrl", "webarena", "browsergym", "computer"] = "webrl"
    """how actions are written: as those projects do, or with Chromium as mouse and keyboard at places of a picture ("computer")"""
    vendor: Vendor = "openai"
    """the shape of computer use that instructions and examples have; those of all vendors are read"""
    coordinates: Coordinates = "pixels"
    """unit of places in the dialect "computer": "pixels" of the picture, or "thousandths" of its width and height"""
    elements: Elements = "id"
    """actions name elements by their number in the page ("id"), or by their visible label ("label")"""
    max_steps: int | None = None
    """steps after which an episode is truncated; by default 15, and 60 for hard tasks"""
    step_budget: float | None = None
    """limit of steps beside that, in times those of its reference solution, rounded up; None for no such limit. The goal
    says how many they are. Scrolling is free. Tasks without a solution have no budget"""
    render_mode: Literal["ansi", "rgb_array", "human"] | None = None
    """None, "ansi" (the newest page as text), and with Chromium "rgb_array" (a picture) or "human" (a window)"""
    thoughts: bool = True
    """keep past replies whole in the history, thoughts included"""
    header: bool = True
    """put the URL and the tabs above the page"""
    viewport: Viewport = "window"
    """extent of a page that is shown: "window" shows a page in windows of text; "layout" shows the part of it in the window of `window_size` (Chromium)"""
    window: int = 12_000
    """characters of a page that are shown at once in the viewport "window"; Scroll moves on by two thirds of it"""
    max_text: int | None = None
    """characters of one text after which it is cut and ends with "...", such as the 500 of WebAgent-R1; None shows every text to its end"""
    bbox: bool = False
    """give elements their `data-bbox`, as agents that were trained with it expect (Chromium)"""
    judge: Judge | None = None
    """decides fuzzy matches, (intent, reference, answer) -> bool; by default they are compared by type"""
    rules: str = "native"
    """how `eval` blocks are read: "native", or as the evaluators of "webarena", "vab" (VisualAgentBench) or "r1" (WebAgent-R1) do; or
    "verified" for the task file of the package webarena-verified, on real servers"""
    on_failure: OnFailure = "nan"
    """result of a step when the browser itself fails, or an episode ends without success in which a site has raised: "nan" (truncate
    with the reward NaN), "zero" (with the reward 0.0, for wrappers that add rewards up) or "raise" (BrowserError). `info["failure"]`
    says why in the first two cases"""
    on_unreadable: OnUnreadable = "raise"
    """treatment of tasks that cannot be read from a file, or not be judged by the rules: "raise" (an error that names them all) or
    "skip" (a warning for each, and the others are taken)"""
    accounts: Mapping[str, Account] | None = None
    """accounts to sign in with on real servers, by site; WebArena's published ones where none is given"""
    logins: Mapping[str, Login] | None = None
    """log-in forms of real servers that are not WebArena's own applications, by site (see `webarena_gym.Login`)"""
    hosts: Iterable[str] = ()
    """hosts that the browser may reach beside `sites`, as "name:port", such as the server of a map's tiles"""
    side_effects: SideEffects | None = None
    """changes beyond the task are "forbidden" (they fail it), "reported" (in the verdicts and in `info["side_effects"]`) or "ignored". By
    default they are forbidden on the embedded sites under the native rules, and ignored elsewhere, where nobody can see them"""

    def __post_init__(self) -> None:
        self._read_application()
        for name in _CHOSEN:
            expect_one_of(name, getattr(self, name), option_choices(name))
        self._read_numbers()
        if self.tasks is not None:
            expect_one_of("split", self.split, task_suite.SPLITS)
        expect_one_of("rules", self.rules, RULES)
        if self.scale == "large" and self.sites is not None:
            raise ValueError(f"scale={self.scale!r} is of the embedded sites: give no sites=, or scale='standard'")
        if self.rules == "verified" and self.sites is None:
            raise ValueError("rules='verified' judges the traffic with real servers: give sites=")
        if isinstance(self.hosts, str):
            raise ValueError(f"hosts is the text {self.hosts!r}; expected a list of texts such as 'tiles.example:80'")  # noqa: TRY004 - as of other arguments
        object.__setattr__(self, "hosts", frozenset(self.hosts))
        if self.sites is None and (self.accounts or self.logins or self.hosts):
            raise ValueError("accounts, logins and hosts are for real servers: give sites=, or none of them")
        if self.side_effects in ("forbidden", "reported") and not self.sees_changes:
            raise ValueError(
                f"side_effects is {self.side_effects!r}; expected 'ignored' or None: they are seen on the embedded sites"
                " under the native rules alone"
            )
        self._check_pictures()
        if self.browser == "inprocess":
            asked = {"sites": self.sites, "viewport": self.viewport == "layout", "bbox": self.bbox}
            if any(asked.values()):
                name = next(filter(asked.get, asked))
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
        if self.tasks is None:
            task_suite.expect_split(self.split)

    def _read_numbers(self) -> None:
        """Check the numbers, and replace numpy's by Python's. A size may be a list, as in JSON; the range of seeds is that of worlds."""
        numbers: dict[str, Any] = {name: expect_positive(name, getattr(self, name)) for name in ("window", "pictures")}
        if self.max_steps is not None:
            numbers["max_steps"] = expect_positive("max_steps", self.max_steps)
        if self.max_text is not None:
            numbers["max_text"] = expect_positive("max_text", self.max_text)
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
            raise ValueError(f"window_size is {self.window_size!r}; expected two sides of {_SIDE[0]} to {_SIDE[1]} pixels")
        numbers["window_size"] = (width, height)
        for name, value in numbers.items():
            object.__setattr__(self, name, value)

    def _check_pictures(self) -> None:
        """Raise ValueError for options of pictures that do not go together."""
        if self.browser == "inprocess":
            if self.has_pictures:
                raise ValueError(f"observation={self.observation!r} needs a browser that draws: browser='chromium', or 'html'")
            if self.dialect == "computer":
                raise ValueError("dialect='computer' needs a browser with a window: browser='chromium', or 'webrl'")
        if self.observation == "marks" and self.elements == "label":
            raise ValueError("observation='marks' numbers the elements: elements='id', or observation='text+pixels'")

    def _read_application(self) -> None:
        """Take the application's description in the place of its path."""
        if self.application is not None:
            object.__setattr__(self, "application", read_application(self.application))
        is_changed = self.sites is not None or self.scale is not None or self.variation != "content"
        if self.application is not None and is_changed:
            raise ValueError("application= has no sites=, scale= or variation= of the embedded sites: give none of them")

    @classmethod
    def of(cls, keywords: Mapping[str, Any], owner: str = "WebArenaLite") -> Self:
        """Return options of keywords. Raises TypeError for one that is not known."""
        for name in keywords:
            if name not in OPTION_NAMES:
                raise TypeError(f"{owner} has no keyword {name!r}: {suggestion(name, OPTION_NAMES)}")
        return cls(**keywords)

    @property
    def sees_changes(self) -> bool:
        """True if changes of databases can be compared with those of the reference solution."""
        return self.sites is None and self.rules == "native"

    @cached_property
    def has_pictures(self) -> bool:
        """True if observations hold pictures."""
        return self.observation in get_args(PictureStyle)

    @cached_property
    def text_style(self) -> Style:
        """The style in which elements are numbered and pages written."""
        styles: Mapping[str, Style] = {"axtree": "axtree", "occam": "occam"}
        return styles.get(self.observation, "html")

    def written_dialect(self) -> Dialect:
        """Return the dialect in which actions are written, with the way that its examples name elements."""
        if self.dialect == "computer":
            return Computer(vendor=self.vendor, window=self.window_size, coordinates=self.coordinates)
        return DIALECTS[self.dialect].naming_by(self.elements)


OPTION_NAMES = tuple(each.name for each in fields(EnvOptions))
_SIDE = (64, 4096)  # pixels that a side of a window may have
_CHOSEN = (
    "observation", "picture_format", "elements", "history", "viewport", "on_failure", "on_unreadable", "variation", "scale", "dialect", "vendor", "coordinates", "browser",
    "side_effects", "render_mode",
)  # fmt: skip
"""The options that have one of some values."""


@cache
def option_choices(name: str) -> tuple[Any, ...]:
    """Return the values that an option may have, None first where it may be that; empty where its type does not list them.

    >>> option_choices("elements"), option_choices("scale"), option_choices("window")
    (('id', 'label'), (None, 'standard', 'large'), ())
    """
    kind = get_type_hints(EnvOptions)[name]
    parts = (kind,) if get_origin(kind) is Literal else get_args(kind)
    values = tuple(value for part in parts if get_origin(part) is Literal for value in get_args(part))
    return (None, *values) if values and type(None) in parts else values


@cache
def option_meanings() -> Mapping[str, str]:
    """Return the meaning of each option, as its docstring in `EnvOptions` tells it."""
    (definition,) = ast.parse(inspect.getsource(EnvOptions)).body
    assert isinstance(definition, ast.ClassDef)
    told = {}
    for place, text in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(place, ast.AnnAssign) and isinstance(place.target, ast.Name) and isinstance(text, ast.Expr):
            told[place.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return told


def add_options(parser: _ActionsContainer, *names: str, has_pictures: bool = False, **defaults: Any) -> None:
    """Add options that choose among the values of some fields of `EnvOptions`; a default other than its own is given by keyword.

    Commands that show texts offer no pictures, nor places in these.
    """
    left_out = () if has_pictures else (*get_args(PictureStyle), "computer")
    own = {each.name: None if each.default is MISSING else each.default for each in fields(EnvOptions)}
    for name in names:
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            choices=[value for value in option_choices(name) if value is not None and value not in left_out],
            default=defaults.get(name, own[name]),
            help=option_meanings()[name].partition(". ")[0],
        )


def add_application(parser: _ActionsContainer) -> None:
    """Add the option that names an application of one's own."""
    parser.add_argument("--application", metavar="FILE", help=option_meanings()["application"])


def signature_of_env() -> inspect.Signature:
    """Return the signature of an env that takes the fields of `EnvOptions` as keywords."""
    own = inspect.signature(EnvOptions).parameters.values()
    return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own])
