"""Helpers of the hard templates: checks of changed rows, planted pages and files, and expiring sessions."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from webarena_gym.sites.country.seeding import ENDS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import number_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import find_project
from webarena_gym.templates.shopping_admin import Ledger, others_stay
from webarena_gym.templates.ways import nth


def turn_into(world: t.Sampler, ledger: Ledger, changes: Mapping[Any, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a check that the rows of a ledger have new values and that its other rows are unchanged.

    `changes` are the new values by column, by key of the row.
    """
    keys = sorted(changes)
    marks = ", ".join("?" * len(keys))
    query = f"SELECT {ledger.key} AS own_key, {ledger.columns} FROM {ledger.table} WHERE {ledger.key} IN ({marks}) ORDER BY 1"
    expected = []
    for row in map(dict, world.rows(query, *keys)):
        key = row["own_key"]
        if unknown := changes[key].keys() - row.keys():
            raise ValueError(
                f"the ledger of {ledger.table} has no columns {', '.join(unknown)}; expected some of {ledger.columns}"
            )
        expected.append(list({**row, **changes[key]}.values()))
    return t.all_of(t.state(query, *keys, expected=expected), others_stay(world, ledger, *keys))


def rows_become(world: t.Sampler, query: str, *parameters: object, changes: Mapping[Any, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a check that a query returns its present rows with new values.

    `changes` are the new values by column, by value of the row's first column.
    """
    rows = map(dict, world.rows(query, *parameters))
    return t.state(
        query, *parameters, expected=[list({**row, **changes.get(next(iter(row.values())), {})}.values()) for row in rows]
    )


def counting_draw(
    slots: dict[str, str], things: Sequence[str], way: Sequence[Step], evidence: Sequence[str], thought: str, *, least: int = 0
) -> t.Draw:
    """Return a draw that asks for a number of things.

    Args:
        slots: Values of the slots in the phrasings.
        things: Texts of the things, which pages show.
        way: Steps of the solution to all of them.
        evidence: Texts that the solution must have seen.
        thought: Thought of the last step, which replies.
        least: Smallest number of things; fewer raise NothingToDraw.

    """
    total = len(things)
    t.skip_if(total < least, "a number that is not small")
    answer, steps = t.answer(fuzzy_match=str(total)), [*way, t.end_task(str(total), thought)]
    wrong = [str(total + 1), str(total - 1)]
    return t.Draw(slots, answer, steps, wrong_answers=wrong, grounds={str(total): number_of(*things)}, evidence=evidence)


def findable(world: t.Sampler, rows: Iterable[t.Row], table: str, column: str = "name") -> list[t.Row]:
    """Return the rows whose text in a column no other row of the table contains, ignoring case: a search has one result for each."""
    text = "\n".join(row[0].lower() for row in world.rows(f"SELECT {column} FROM {table}"))  # ten times as fast as in SQL
    return [row for row in rows if text.count(row[column].lower()) == 1]


def now(world: t.Sampler) -> datetime:
    """Return the time of the world."""
    return datetime.fromisoformat(world.value("SELECT value FROM world WHERE key = 'now'"))


def ago(world: t.Sampler, **span: int) -> str:
    """Return a time before now in the format of the databases; `ago(world, hours=3)` is three hours ago."""
    return str(now(world) - timedelta(**span))


def staff_page(world: t.Sampler, title: str, content: str) -> list[Step]:
    """Plant a content page in the shop, and return the steps to it in the admin."""
    page = world.plant(
        "cms_page",
        title=title,
        url_key=title.lower().replace(" ", "-"),
        content_heading=title,
        content=content,
        updated_at=ago(world, days=40),
    )
    pages = [row["page_id"] for row in world.rows("SELECT page_id FROM cms_page ORDER BY page_id")]
    return [t.click("Content"), t.click("Pages"), t.click(nth("Edit", pages.index(page)), f"This is the page {title}.")]


def repository_page(world: t.Sampler, row: t.Row, file: str, content: str) -> list[Step]:
    """Plant a file in the default branch of a project, and return the steps to it from any page of the code host.

    Raises NothingToDraw if the branch already has a file with this path.
    """
    default = "project_id = ? AND b.name = p.default_branch AND head_id IS NOT NULL"
    branch = world.pick(f"SELECT b.* FROM branch b JOIN project p USING (project_id) WHERE {default}", row["project_id"])
    if world.rows("SELECT 1 FROM file WHERE branch_id = ? AND path = ?", branch["branch_id"], file):
        raise t.NothingToDraw("a project without that file")
    world.plant("file", branch_id=branch["branch_id"], path=file, content=content, commit_id=branch["head_id"])
    return [*find_project(row), t.click("Repository"), t.click(file)]


def of_site(site: str, block: dict[str, Any]) -> dict[str, Any]:
    """Return a check with the site of its queries set to `site`, unless they have one."""
    return block | {"state": [check | {"site": check["site"] or site} for check in block["state"]]}


def concatenate(*ways: Iterable[Step]) -> list[Step]:
    """Return the steps of several paths, one after the other."""
    return [step for way in ways for step in way]


def end_session(world: t.Sampler, site: str, rule: str, times: int) -> None:
    """Let the session of the task expire at a request of the form `rule`, after `times` successful requests of it."""
    (row,) = world.rows("SELECT * FROM session WHERE json_extract(data, '$.site') = ?", site)
    data = {**json.loads(row["data"]), ENDS: [rule, times]}
    world.alter("session", {"session_id": row["session_id"]}, data=json.dumps(data))


def needs_facts(world: t.Sampler, table: str) -> None:
    """Raise NothingToDraw if a table of facts is missing: only texts of large worlds are composed from facts."""
    t.skip_if(not world.rows("SELECT 1 FROM sqlite_master WHERE name = ?", table), "texts that are composed of facts")


def opening(text: str) -> str:
    """Return the first sentence of a text, which is evidence that the solution has seen the text."""
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]


def as_written(day: date) -> str:
    """Return a date such as "March 5, 2023"."""
    return f"{day:%B} {day.day}, {day.year}"
