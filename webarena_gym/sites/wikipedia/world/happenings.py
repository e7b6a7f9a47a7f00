"""The articles on events, prizes and teams."""

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.formats import long_date
from webarena_gym.sites.country.geography import Team
from webarena_gym.sites.wikipedia.markup import Section
from webarena_gym.sites.wikipedia.world.article import Article, Fact, bullets, link, table, year
from webarena_gym.sites.wikipedia.world.events import Event
from webarena_gym.sites.wikipedia.world.lore import Home, Lore
from webarena_gym.sites.wikipedia.world.people import Prize
from webarena_gym.sites.wikipedia.world.prose import Prose

_TOLLS = {
    "battle": "Casualties",
    "disaster": "Deaths",
    "festival": "Visitors in thousands",
    "exposition": "Visitors in thousands",
}
_HEADINGS = {"battle": "Course", "disaster": "Course", "festival": "Program", "exposition": "Exhibits"}
_COLORS = ("red", "blue", "green", "black", "white", "gold", "orange", "purple")


def articles(lore: Lore) -> list[Article]:
    """Return all of them."""
    return [
        *(_event(lore, event) for event in lore.events),
        *(_prize(lore, prize) for prize in lore.prizes),
        *(_team(lore, team) for team in lore.country.teams),
    ]


def _event(lore: Lore, event: Event) -> Article:
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{event.title}"))
    kind = event.kind
    facts = {
        "title": event.title, "town": event.town.name, "state": event.town.state, "day": long_date(str(event.day)), "toll": event.toll,
    }  # fmt: skip
    winners = [
        f"[[{work.title}]] by [[{work.maker.name}]], {won}"
        for work in lore.works
        for prize, won in work.awards
        if prize == event.title
    ]
    return Article(
        title=event.title,
        kind=kind,
        lead=f"{prose.passage(f'{kind}.opening', 1, **facts)} {prose.passage(f'{kind}.lead', 2, **facts)}",
        facts=(
            Fact("First held" if kind == "festival" else "Date", str(facts["day"]), event.day.year),
            link("Location", event.town.name), link("State", event.town.state), Fact(_TOLLS[kind], str(event.toll), event.toll),
        ),
        sections=(
            Section(_HEADINGS[kind], prose.passage(f"{kind}.course", 6, **facts)),
            Section("Winning films", bullets(winners)),
        ),
        categories=(f"{kind.capitalize()}s", f"Events in {event.town.state}"),
    )  # fmt: skip


def _prize(lore: Lore, prize: Prize) -> Article:
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{prize.name}"))
    facts = {"title": prize.name, "country": lore.country.name, "founded": prize.founded}
    rows = [[str(won), f"[[{winner.name}]]"] for won, winner in prize.winners]
    return Article(
        title=prize.name,
        kind="prize",
        lead=f"{prose.passage('prize.opening', 1, **facts)} {prose.passage('prize.lead', 2, **facts)}",
        facts=(
            link("Country", lore.country.name), year("First given", prize.founded), Fact("Given to", f"{prize.calling.capitalize()}s"),
            Fact("Times given", str(len(rows)), len(rows)),
        ),
        sections=(Section("History", prose.passage("prize.history", 3, **facts)), Section("Winners", table(["Year", "Winner"], rows))),
        categories=("Prizes",),
    )  # fmt: skip


def _team(lore: Lore, team: Team) -> Article:
    dice = Dice(f"wikipedia/article/{lore.seed}/{team.name}")
    prose = Prose(dice)
    homes = lore.homes[team.name]
    founded = homes[0].since
    facts = {
        "title": team.name, "sport": team.sport, "town": team.town, "state": lore.country.town(team.town).state,
        "founded": founded, "colors": " and ".join(dice.some(_COLORS, 2)),
    }  # fmt: skip
    ends: list[Home | None] = [*homes[1:], None]
    years = [f"{home.since} to {end.since}" if end else f"since {home.since}" for home, end in zip(homes, ends, strict=True)]
    rows = [[span, f"[[{home.stadium}]]"] for span, home in zip(years, homes, strict=True)]
    return Article(
        title=team.name,
        kind="team",
        lead=f"{prose.passage('team.opening', 1, **facts)} {prose.passage('team.lead', 2, **facts)}",
        facts=(
            Fact("Sport", team.sport.capitalize()), link("Town", team.town), year("Founded", founded),
            Fact("Home stadium", f"[[{team.stadium}]] ({years[-1]})", homes[-1].since),
            *(Fact("Former stadium", f"[[{home.stadium}]] ({span})", home.since) for home, span in zip(homes[:-1], years, strict=False)),
            Fact("Colors", str(facts["colors"]).capitalize()),
        ),
        sections=(
            Section("History", prose.passage("team.history", 3, **facts)),
            Section("Home stadiums", table(["Years", "Stadium"], rows)),
            Section("Supporters", prose.passage("team.supporters", 3, **facts)),
        ),
        categories=("Teams", f"{team.sport.capitalize()} teams"),
        aliases=(team.name.removeprefix(team.town).strip(),),
    )  # fmt: skip
