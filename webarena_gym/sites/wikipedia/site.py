"""The encyclopedia's `Site`, and what its pages know about the visitor: who is signed in, and which article is meant."""

import sqlite3

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.accounts import here, members_of, visitor
from webarena_gym.sites.kit.database import first
from webarena_gym.sites.kit.forms import clean, line
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.wikipedia import markup

NAME = "Lexandria"

site = Site("wikipedia", __file__, sign_in="/login")
current_user = visitor()
members_only = members_of(current_user, site.sign_in, "Please sign in to do that.")


def find(db: sqlite3.Connection, title: str) -> sqlite3.Row | None:
    """Return the page with that title or that other name; upper and lower case count only where titles differ by them."""
    for comparison in ("", " COLLATE NOCASE"):
        query = f"""SELECT p.* FROM page p WHERE p.title = ?1{comparison}
            UNION ALL SELECT p.* FROM page p JOIN alias a USING (article_id) WHERE a.title = ?1{comparison} LIMIT 1"""
        if row := first(db, query, (title,)):
            return row
    return None


def article(request: Request, address: str) -> sqlite3.Row:
    """Return the page of an address such as Some_title. Raises NotFound."""
    found = find(request.db, title(address))
    if found is None:
        raise NotFound(f"There is no article with the title {title(address)[:200]}.")
    request.shows(address=found["title"].replace(" ", "_"))
    return found


def title(address: str) -> str:
    """Return the title that an address means.

    >>> title("Battle_of__Dorim")
    'Battle of Dorim'
    """
    return " ".join(clean(address.replace("_", " ")).split())


site.templates.filters.update(path=markup.path, plain=markup.plain, line=line)
site.templates.globals.update(name=NAME, current_user=current_user, here=here)
