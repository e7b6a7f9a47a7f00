"""Worlds: everything that all sites show, drawn from one integer, built once and kept on disk.

A world is a handful of SQLite files, as bytes. An episode works on copies in memory (`kit.Database`), so a world is never
written to. The cache is keyed by the generators' own source, so a new generator never meets an old world.
"""

import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from webarena_gym.errors import WorldError
from webarena_gym.network import Network
from webarena_gym.sites.kit import Database, Site

HOSTS: Mapping[str, str] = {"shopping": "shop.test", "shopping_admin": "shop-admin.test"}
URLS: Mapping[str, str] = {
    "__SHOPPING__": "http://shop.test",
    "__SHOPPING_ADMIN__": "http://shop-admin.test/admin",
}
"""Placeholders of task files and where they lead."""

DATABASE_OF: Mapping[str, str] = {"shopping": "shopping", "shopping_admin": "shopping"}
"""The site whose folder holds the schema and the generator of a site's database."""

_DIGEST_BYTES = 32


@dataclass(frozen=True, eq=False)
class World:
    """One drawn world: the databases to copy, and the cookies of the sessions that tasks start with."""

    seed: int
    databases: Mapping[str, bytes]
    cookies: Mapping[str, Mapping[str, str]]

    def copy_databases(self) -> dict[str, Database]:
        """Return one fresh database for each generator; sites that share one share it here too."""
        return {name: Database(content) for name, content in self.databases.items()}


def load_site(name: str) -> Site:
    """Return a site by its key. Imported on demand, so that an import of the package stays light."""
    if name == "shopping":
        from webarena_gym.sites.shopping import site  # noqa: PLC0415
    else:
        from webarena_gym.sites.shopping_admin import site  # noqa: PLC0415
    return site


def connect(databases: Mapping[str, Database]) -> Network:
    """Return the network of one episode: every site bound to that episode's databases."""
    return Network({host: load_site(name).app(databases[DATABASE_OF[name]]) for name, host in HOSTS.items()})


@lru_cache(maxsize=8)
def load_world(seed: int) -> World:
    """Return the world of a seed, from this process's memory, from disk, or newly built. Raises WorldError."""
    databases = {name: _load(name, seed) for name in sorted(set(DATABASE_OF.values()))}
    return World(seed, databases, _cookies(databases))


def cache_folder() -> Path:
    """Return where worlds are kept: $WEBARENA_GYM_CACHE, else the user's cache folder."""
    given = os.environ.get("WEBARENA_GYM_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "webarena_gym"


def _generator(name: str) -> Callable[[sqlite3.Connection, int], None]:
    assert name == "shopping"
    from webarena_gym.sites.shopping.seed import seed  # noqa: PLC0415

    return seed


@cache
def _version(name: str) -> str:
    """A digest of all that decides what a generator makes: the sources and data of its site."""
    digest = hashlib.sha256()
    for file in sorted((Path(__file__).parent / name).rglob("*")):
        if file.suffix in (".py", ".sql", ".json", ".txt"):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _load(name: str, seed: int) -> bytes:
    """Read a database from the cache, or build it; a damaged file is built again."""
    path = cache_folder() / _version(name) / f"{name}-{seed}.world"
    try:
        stored = path.read_bytes()
    except OSError:
        stored = b""
    content = stored[_DIGEST_BYTES:]
    if len(stored) > _DIGEST_BYTES and hashlib.sha256(content).digest() == stored[:_DIGEST_BYTES]:
        return content
    content = build(name, seed)
    _store(path, hashlib.sha256(content).digest() + content)
    return content


def build(name: str, seed: int) -> bytes:
    """Draw a database from scratch and return it as the bytes of a SQLite file."""
    db = sqlite3.connect(":memory:")
    db.row_factory = sqlite3.Row
    schema = (Path(__file__).parent / name / "schema.sql").read_text(encoding="utf-8")
    db.executescript(schema)
    _generator(name)(db, seed)
    db.commit()
    db.execute("VACUUM")
    content = db.serialize()
    db.close()
    return content


def _store(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, also when several processes build the same world at once."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WorldError(
            f"cannot keep a world in {path.parent}: {error}; set WEBARENA_GYM_CACHE to a folder that can be written"
        ) from error


def _cookies(databases: Mapping[str, bytes]) -> dict[str, dict[str, str]]:
    """The cookies of the sessions that a generator has signed in, by host."""
    cookies = {}
    for content in databases.values():
        database = Database(content)
        rows = database.connection.execute("SELECT session_id, data ->> '$.site' AS site FROM session").fetchall()
        cookies.update({HOSTS[row["site"]]: {Site.cookie: row["session_id"]} for row in rows})
        database.close()
    return cookies
