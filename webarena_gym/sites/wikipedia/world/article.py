"""An article as the generator writes it, before it becomes rows."""

from dataclasses import dataclass

from webarena_gym.sites.wikipedia.markup import Section, links, whole


@dataclass(frozen=True)
class Fact:
    """A line of an infobox; `number` is what the text counts, measures or dates."""

    label: str
    text: str
    number: float | None = None

    @property
    def target(self) -> str | None:
        """The title of the article that the line links to first."""
        return next(iter(links(self.text)), None)


@dataclass(frozen=True)
class Article:
    """All that one page shows."""

    title: str
    kind: str
    lead: str
    facts: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    categories: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lead and the sections in markup; sections without a body are left out."""
        return whole([Section("", self.lead), *(section for section in self.sections if section.body)])


def count(label: str, number: int, unit: str = "") -> Fact:
    """Return a fact that is a number, written with thousands separators.

    >>> count("Area", 12345, "sq km")
    Fact(label='Area', text='12,345 sq km', number=12345)
    """
    return Fact(label, f"{number:,} {unit}".strip(), number)


def year(label: str, number: int) -> Fact:
    """Return a fact that is a year."""
    return Fact(label, str(number), number)


def link(label: str, title: str) -> Fact:
    """Return a fact that is an article."""
    return Fact(label, f"[[{title}]]")


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in markup."""
    return "\n".join([f"! {' | '.join(head)}", *(f"| {' | '.join(row)}" for row in rows)])


def bullets(lines: list[str]) -> str:
    """Return a list in markup."""
    return "\n".join(f"* {line}" for line in lines)
