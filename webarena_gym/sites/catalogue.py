"""The sites of `sites.toml`, the one list of all sites.

The implementation of a site is in the package of its name: `schema.sql`, which also declares incidental changes (see `changes`),
`world.py`, `site.py`, `views`, `templates` and `static`.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Account(NamedTuple):
    """An account of a site. `repr` does not contain the password.

    Attributes:
        user: the username.
        password: the password.

    """

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Account({self.user!r}, ...)"


class Login(NamedTuple):
    """Login form of an application.

    Attributes:
        path: path of the form, relative to the site's base URL.
        user: CSS selector of the field of the username.
        password: CSS selector of the field of the password.
        proof: path of a page that requires a login: it redirects other users, or asks them for the password. A public page is an error.
            "{user}" is replaced by the username.
        word: a word that the page `proof` contains for signed-in users only; "" if the page redirects other users.

    """

    path: str
    user: str
    password: str
    proof: str
    word: str = ""


SITE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""Pattern of site names in task files. Sites other than the embedded ones need a URL."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Name, host, database and login of a site.

    `name` is the name in task files and of the package. `login` and `account` are those that WebArena publishes for its server of that
    name; sites without them require no login.
    """

    name: str
    host: str  # of the embedded site
    title: str
    about: str = ""  # description on the home page; "" for the home page itself
    signs_in_with: str = ""  # credentials named on the home page
    path: str = ""  # path of the front page
    works_on: str = ""  # the site whose database this one works on; "" for its own
    login: Login | None = None
    account: Account | None = None

    @property
    def placeholder(self) -> str:
        """Placeholder of the site's URL in task files."""
        return f"__{self.name.upper()}__"

    @property
    def url(self) -> str:
        """URL of the embedded site's front page, without a trailing slash."""
        return f"http://{self.host}{self.path}"

    @property
    def database(self) -> str:
        """The site whose package contains the schema and the generator of this site's database."""
        return self.works_on or self.name


def _entry(name: str, *, login: Sequence[str] = (), account: Sequence[str] = (), **values: str) -> Entry:
    return Entry(name=name, login=Login(*login) if login else None, account=Account(*account) if account else None, **values)


SITES: Mapping[str, Entry] = {
    name: _entry(name, **values)
    for name, values in tomllib.loads((Path(__file__).parent / "sites.toml").read_text(encoding="utf-8")).items()
}
"""The sites by name, in the order of all lists."""

HOSTS: Mapping[str, str] = {name: entry.host for name, entry in SITES.items()}
URLS: Mapping[str, str] = {entry.placeholder: entry.url for entry in SITES.values()}
"""URLs of the embedded sites by placeholder in task files."""

DATABASES = tuple(dict.fromkeys(entry.database for entry in SITES.values()))
"""The sites with their own databases."""


def schema(database: str, scale: str = "standard") -> str:
    """Return the `schema.sql` of a database, with the site's `schema_large.sql`, if it has one, for a large world."""
    folder = Path(__file__).parent / database
    files = [folder / "schema.sql", *([folder / "schema_large.sql"] if scale == "large" else [])]
    return "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())
