"""The findings of an audit, and their union over processes."""

from dataclasses import dataclass, field, fields
from statistics import median, quantiles

_NO_FAULTS = ("excused", "without_other")
_COUNTED = ("steps", "pages")


@dataclass
class Findings:
    """The findings of an audit; each list holds `task id: reason` lines.

    `steps` and `pages` are those of the solutions, scrolling included, and the different pages that they were shown. `unseen` are facts from
    which a truth was computed and which the solution was not shown. `groundless` are answers that stand on no page and follow from nothing. `drawn_differently` are tasks that
    their templates do not draw again from the same seed. `different` are solutions that did not give the same on
    Chromium. `excused` are rewards for another draw's solution that EXCEPTIONS allows; `without_other` are tasks of templates that
    ask for nothing else in their world, so that there was no other solution to try. `side_effects_tried` are solutions with something
    else done before or after them, and `side_effects_rewarded` those of them that earned the reward; `detours_tried` are solutions
    with visits, or with something done and taken back, and `detours_refused` those that did not earn it. `right_answers` are right answers in
    every form, and `right_refused` those that were refused; `attacks` are answers that hold a right or a wrong one and must not be rewarded.
    """

    tasks: int = 0
    solved: int = 0
    templates: set[str] = field(default_factory=set)
    worlds: set[int | None] = field(default_factory=set)
    right_answers: int = 0
    right_refused: list[str] = field(default_factory=list)
    attacks: int = 0
    attacks_rewarded: list[str] = field(default_factory=list)
    unsolved: list[str] = field(default_factory=list)
    noop_rewarded: list[str] = field(default_factory=list)
    exit_rewarded: list[str] = field(default_factory=list)
    na_rewarded: list[str] = field(default_factory=list)
    wrong_rewarded: list[str] = field(default_factory=list)
    other_rewarded: list[str] = field(default_factory=list)
    groundless: list[str] = field(default_factory=list)
    drawn_differently: list[str] = field(default_factory=list)
    side_effects_tried: int = 0
    side_effects_rewarded: list[str] = field(default_factory=list)
    detours_tried: int = 0
    detours_refused: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    without_other: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)

    @property
    def faults(self) -> dict[str, list[str]]:
        """The findings that must be mended, by kind."""
        lists = (item.name for item in fields(self) if item.type == list[str])
        return {name: getattr(self, name) for name in lists if name not in _NO_FAULTS}

    @property
    def is_clean(self) -> bool:
        """True if every task is solved by its solution and by nothing else."""
        return not any(self.faults.values())

    def totals(self) -> dict[str, int]:
        """Return all that was counted, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in _COUNTED}
        counts = {name: value if isinstance(value, int) else len(value) for name, value in values.items()}
        return counts | {f"{name}_{what}": value for name in _COUNTED for what, value in self.spread(name).items()}

    def spread(self, name: str) -> dict[str, int]:
        """Return the median, the last tenth's first and the most of the `steps` or `pages` of solutions; nothing where none was solved."""
        values: list[int] = getattr(self, name)
        if len(values) < 2:
            return dict.fromkeys(("median", "last_tenth", "most"), values[0]) if values else {}
        return {"median": round(median(values)), "last_tenth": round(quantiles(values, n=10)[-1]), "most": max(values)}

    def add(self, other: "Findings") -> None:
        """Take in what was found in other tasks."""
        for item in fields(self):
            own, more = getattr(self, item.name), getattr(other, item.name)
            setattr(self, item.name, own | more if isinstance(own, set) else own + more)
