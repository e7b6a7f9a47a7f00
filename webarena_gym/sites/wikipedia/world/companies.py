"""The articles on companies: the makers of the brands that everybody knows from the shops."""

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.words import invented
from webarena_gym.sites.wikipedia.markup import Section
from webarena_gym.sites.wikipedia.world.article import Article, bullets, count, link, year
from webarena_gym.sites.wikipedia.world.lore import Lore
from webarena_gym.sites.wikipedia.world.prose import Prose

_FORMS = ("{} Company", "{} Works", "{} Brothers", "{} Industries", "{} Manufacturing")
_FOUNDED, _EMPLOYEES, _REVENUES = range(1834, 1996), range(140, 21_000, 10), range(12, 980)


def articles(lore: Lore) -> list[Article]:
    """Return an article for each company; no two were founded in one year or have equally many employees."""
    dice = Dice(f"wikipedia/companies/{lore.seed}")
    columns = [dice.some(values, lore.sizes.companies) for values in (_FOUNDED, _EMPLOYEES, _REVENUES)]
    return [_article(lore, index, *row) for index, row in enumerate(zip(*columns, strict=True))]


def _article(lore: Lore, index: int, founded: int, employees: int, revenue: int) -> Article:
    dice = Dice(f"wikipedia/company/{lore.seed}/{index}")
    prose = Prose(dice)
    brand = invented(lore.seed, index, "brand", lore.scale)
    name = dice.pick(_FORMS).format(brand)
    town = dice.weigh(lore.country.towns, lore.country.weights(8, 4, 1))
    facts = {
        "title": name, "brand": brand, "town": town.name, "state": town.state, "founded": founded, "employees": f"{employees:,}",
        "later": list(range(founded + 4, 2016)),
    }  # fmt: skip
    return Article(
        title=name,
        kind="company",
        lead=f"{prose.passage('company.opening', 1, **facts)} {prose.passage('company.lead', 3, **facts)}",
        facts=(
            link("Headquarters", town.name), link("State", town.state), year("Founded", founded), count("Employees", employees),
            count("Revenue", revenue, "million dollars a year"),
        ),
        sections=(
            Section("History", prose.passage("company.history", 5, **facts)),
            Section("Work", prose.passage("company.work", 5, **facts)),
            Section("See also", bullets([f"[[List of companies in {lore.country.name}]]"])),
        ),
        categories=("Companies", f"Companies in {town.state}"),
        aliases=(brand,),
    )  # fmt: skip
