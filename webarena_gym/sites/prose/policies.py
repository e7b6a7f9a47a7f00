"""Policies: typed rules, what they decide in a case, and the page of prose that states them.

Each rule has a method that decides a case exactly as its page says, precedence included, so that tables can hold the truth.
"""

from dataclasses import dataclass
from typing import Literal

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import capitalized, counted, listed
from webarena_gym.sites.prose.pools import Speaker, paragraphs

Start = Literal["delivery", "purchase"]


@dataclass(frozen=True, kw_only=True)
class Refund:
    """What a returns rule decides: whether the item is taken back, what percent of the price is kept, and by which rule."""

    is_accepted: bool
    fee_percent: int
    because: Literal["in time", "too late", "opened", "final", "faulty"]


@dataclass(frozen=True, kw_only=True)
class Returns:
    """A rule for returns. An `opened_fee_percent` of None excludes what was opened; `shorter` has categories with days of their own."""

    days: int
    start: Start
    faulty_days: int
    opened_fee_percent: int | None = None
    shorter: tuple[tuple[str, int], ...] = ()
    final: tuple[str, ...] = ()
    members_extra_days: int = 0

    def __post_init__(self) -> None:
        if self.faulty_days < max(self.days, *(days for _, days in self.shorter), 0):
            raise ValueError(f"faulty items cannot have less time than others, got {self.faulty_days} days")

    def decide(self, *, category: str, days: int, is_opened: bool, is_faulty: bool, is_member: bool) -> Refund:
        """Decide on an item of a category, so many days after the start."""
        extra = self.members_extra_days if is_member else 0
        if is_faulty and days <= self.faulty_days + extra:
            return Refund(is_accepted=True, fee_percent=0, because="faulty")
        if category in self.final:
            return Refund(is_accepted=False, fee_percent=0, because="final")
        if days > dict(self.shorter).get(category, self.days) + extra:
            return Refund(is_accepted=False, fee_percent=0, because="too late")
        if is_opened and self.opened_fee_percent is None:
            return Refund(is_accepted=False, fee_percent=0, because="opened")
        return Refund(is_accepted=True, fee_percent=self.opened_fee_percent or 0 if is_opened else 0, because="in time")


@dataclass(frozen=True, kw_only=True)
class Shipping:
    """A rule for what shipping costs, in cents. Surcharges and express are never waived."""

    flat_cents: int
    free_from_cents: int
    heavy_over_lb: int
    heavy_fee_cents: int
    remote: tuple[str, ...]
    remote_fee_cents: int
    express_cents: int
    express_before: str  # "1 PM"
    no_express: tuple[str, ...] = ()

    def cost(self, *, subtotal_cents: int, weight_lb: float, region: str, category: str, is_express: bool) -> int | None:
        """Return the cost in cents, or None where express is asked for and not possible."""
        if is_express and category in self.no_express:
            return None
        return (
            (0 if subtotal_cents >= self.free_from_cents else self.flat_cents)
            + (self.heavy_fee_cents if weight_lb > self.heavy_over_lb else 0)
            + (self.remote_fee_cents if region in self.remote else 0)
            + (self.express_cents if is_express else 0)
        )


Measure = Literal["leave", "remove", "remove and warn", "remove and ban", "ban for good"]


@dataclass(frozen=True, kw_only=True)
class Moderation:
    """A rule for posts: how many links they may have, from which age of the account, and how insults are met."""

    links: int
    min_age_days: int
    warnings: int
    ban_days: int
    exempts_moderators: bool = True

    def decide(
        self, *, links: int, age_days: int, is_insult: bool, warnings: int, reveals_private_data: bool, is_moderator: bool
    ) -> Measure:
        """Decide what happens to a post, the strictest measure first."""
        if reveals_private_data:
            return "ban for good"
        if is_insult:
            return "remove and ban" if warnings >= self.warnings else "remove and warn"
        if is_moderator and self.exempts_moderators:
            return "leave"
        return "remove" if links > (0 if age_days < self.min_age_days else self.links) else "leave"


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """A rule for merge requests: how many approvals a change needs, and what else."""

    approvals: int
    large_lines: int
    large_approvals: int
    docs_approvals: int
    maintainer_label: str

    def needed(self, *, lines: int, is_docs_only: bool) -> int:
        """Return how many approvals of others a change needs."""
        if is_docs_only:
            return self.docs_approvals
        return self.large_approvals if lines > self.large_lines else self.approvals

    def may_merge(
        self, *, lines: int, is_docs_only: bool, has_tests: bool, labels: tuple[str, ...], approvals: int, has_maintainer: bool
    ) -> bool:
        """Decide whether a change may be merged.

        `approvals` are those of others than the author; where the label asks for a maintainer, the maintainer's comes on top.
        """
        if self.maintainer_label in labels and not has_maintainer:
            return False
        return (is_docs_only or has_tests) and approvals >= self.needed(lines=lines, is_docs_only=is_docs_only)


Policy = Returns | Shipping | Moderation | Contribution


def compose_policy(rule: Policy, dice: Dice, *, is_held_out: bool) -> str:
    """Return the page that states a rule, in paragraphs."""
    speaker = Speaker("policies", dice, {}, is_held_out=is_held_out)
    kind = type(rule).__name__.lower()
    match rule:
        case Returns():
            said = _returns(speaker, rule)
        case Shipping():
            said = _shipping(speaker, rule)
        case Moderation():
            said = _moderation(speaker, rule)
        case Contribution():
            said = _contribution(speaker, rule)
    closing = [speaker.say(f"{kind} closing")] if dice.chance(70) else []
    return capitalized(paragraphs([speaker.say(f"{kind} opening")], *said, closing))


def _returns(speaker: Speaker, rule: Returns) -> list[list[str]]:
    start = "the day of delivery" if rule.start == "delivery" else "the day of purchase"
    opened = (
        speaker.say("returns unopened")
        if rule.opened_fee_percent is None
        else speaker.say("returns fee", fee=str(rule.opened_fee_percent))
    )
    exceptions = [speaker.say("returns shorter", category=category.lower(), days=str(days)) for category, days in rule.shorter]
    if rule.final:
        exceptions.append(speaker.say("returns final", categories=_lower(rule.final)))
    members = [speaker.say("returns members", extra=str(rule.members_extra_days))] if rule.members_extra_days else []
    general = [speaker.say("returns days", days=str(rule.days), start=start), opened]
    return [general, exceptions, [speaker.say("returns faulty", days=str(rule.faulty_days))], members]


def _shipping(speaker: Speaker, rule: Shipping) -> list[list[str]]:
    express = [speaker.say("shipping express", express=_dollars(rule.express_cents), hour=rule.express_before)]
    if rule.no_express:
        express.append(speaker.say("shipping no express", categories=_lower(rule.no_express)))
    extra = [speaker.say("shipping heavy", heavy=str(rule.heavy_over_lb), fee=_dollars(rule.heavy_fee_cents))]
    if rule.remote:
        extra.append(speaker.say("shipping remote", regions=listed(rule.remote), fee=_dollars(rule.remote_fee_cents)))
    flat = speaker.say("shipping flat", flat=_dollars(rule.flat_cents), free=_dollars(rule.free_from_cents))
    return [[flat], extra, express]


def _moderation(speaker: Speaker, rule: Moderation) -> list[list[str]]:
    links = [
        speaker.say("moderation links", links=counted(rule.links, "link")),
        speaker.say("moderation young", age=str(rule.min_age_days)),
    ]
    if rule.exempts_moderators:
        links.append(speaker.say("moderation exempt"))
    insults = speaker.say("moderation warnings", warnings=counted(rule.warnings, "warning"), ban=str(rule.ban_days))
    return [links, [insults], [speaker.say("moderation private")]]


def _contribution(speaker: Speaker, rule: Contribution) -> list[list[str]]:
    approvals = [
        speaker.say("contribution approvals", approvals=counted(rule.approvals, "approval")),
        speaker.say("contribution large", lines=f"{rule.large_lines:,}", approvals=counted(rule.large_approvals, "approval")),
        speaker.say("contribution docs", approvals=counted(rule.docs_approvals, "approval")),
        speaker.say("contribution own"),
    ]
    return [approvals, [speaker.say("contribution tests"), speaker.say("contribution security", label=rule.maintainer_label)]]


def _lower(categories: tuple[str, ...]) -> str:
    return listed([category.lower() for category in categories])


def _dollars(cents: int) -> str:
    """Return an amount of money.

    >>> _dollars(500), _dollars(1250)
    ('$5', '$12.50')
    """
    return f"${cents // 100:,}" if cents % 100 == 0 else f"${cents / 100:,.2f}"
