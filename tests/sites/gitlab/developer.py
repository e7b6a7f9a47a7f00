"""Projects of a developer."""

from functools import cache
from typing import Any

from tests.code_host import Developer
from webarena_gym.sites.world import build

ODD = (
    "", " ", "x" * 5000, "<b>&\"'", "'; DROP TABLE project; --", "\u202e\U0001f600\x00", "-1", "9" * 30, "../../etc", "a//b", "%",
)  # fmt: skip


@cache
def content() -> bytes:
    return build("gitlab", 1)


MINE = "owner_id = 1 AND visibility = 'public' AND license != '' AND forked_from_id IS NULL"


def project(developer: Developer, condition: str = MINE) -> dict[str, Any]:
    return developer.row(f"SELECT *, namespace || '/' || path AS full FROM project p WHERE {condition} ORDER BY project_id")


def at(developer: Developer, condition: str = MINE) -> dict[str, Any]:
    """Go to the page of a project."""
    row = project(developer, condition)
    developer.open(f"/{row['full']}")
    return row


FOREIGN = """visibility = 'public' AND owner_id > 1 AND NOT is_archived
    AND NOT EXISTS (SELECT 1 FROM membership m WHERE m.project_id = p.project_id AND user_id = 1)"""
