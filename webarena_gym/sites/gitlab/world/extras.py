"""What people keep besides projects: profiles, follows, tokens, keys, snippets, and their lists of things to do."""

import hashlib
import sqlite3
from datetime import datetime, timedelta
from typing import Any

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.words import invented
from webarena_gym.sites.gitlab.world.people import ME, User
from webarena_gym.sites.gitlab.world.pools import pools
from webarena_gym.sites.gitlab.world.sizes import SIZES

Row = tuple[Any, ...]


def profile(dice: Dice, user: User) -> Row:
    """Return the columns of a person's row from bio to theme."""
    pool = pools()
    emoji, message = dice.pick(pool["statuses"]) if user.user_id != ME and dice.chance(40) else ("", "")
    bio = dice.pick(pool["bios"]) if dice.chance(60) else ""
    website = f"https://{user.username}.example" if dice.chance(35) else ""
    job = dice.pick(pool["jobs"]) if dice.chance(50) else ""
    is_busy = bool(message) and dice.chance(30)
    return (bio, website, "", job, "", "", emoji, message, int(is_busy), int(user.user_id != ME and dice.chance(5)), "Indigo")


def follows(dice: Dice, users: list[User]) -> list[Row]:
    """Return who follows whom; I follow five."""
    return [
        (user.user_id, other.user_id)
        for user in users
        for other in dice.some([other for other in users if other is not user], 5 if user.user_id == ME else dice.below(9))
    ]


def tokens(dice: Dice, now: datetime, seed: int, scale: Scale = "standard") -> list[Row]:
    """Return my access tokens; the last has been revoked."""
    wanted = (("deploy", "read_repository"), ("nightly backup", "read_api"), ("laptop", "api, read_user"), ("old phone", "api"))
    rows = []
    for number, (name, scopes) in enumerate(wanted, 1):
        token = "cyat-" + hashlib.sha256(f"token/{seed}/{number}".encode()).hexdigest()[:20]
        ends = str((now + timedelta(days=dice.between(20, 300))).date())
        born = now - timedelta(days=dice.between(20, 300), seconds=dice.below(9000))
        word = invented(seed, SIZES[scale].first_token_word + number, "work", scale)
        rows.append((number, ME, f"{name} {word}", scopes, token, ends, born, int(number == 4)))
    return rows


def keys(dice: Dice, now: datetime, seed: int) -> list[Row]:
    """Return my SSH keys."""
    rows = []
    for number, title in enumerate(("Laptop", "Office desktop"), 1):
        digest = hashlib.sha256(f"key/{seed}/{number}".encode()).hexdigest()
        born = now - timedelta(days=dice.between(30, 500))
        rows.append((number, ME, title, f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{digest[:43]} {title.lower()}", None, born))
    return rows


def snippets(dice: Dice, now: datetime, users: list[User]) -> list[Row]:
    """Return the snippets, the first three of them mine."""
    rows = []
    for number, (title, file_name, content) in enumerate(dice.some(pools()["snippets"], 12), 1):
        author = ME if number <= 3 else dice.pick(users[1:]).user_id
        born = now - timedelta(days=dice.between(3, 600), seconds=dice.below(80000))
        visibility = "private" if number == 2 else dice.weigh(("public", "internal", "private"), (6, 2, 1))
        rows.append((number, author, title, "", file_name, content, visibility, born, born))
    return rows


def todos(db: sqlite3.Connection, seed: int) -> list[Row]:
    """Return what people have to do: what they are assigned to, have to review, or were mentioned in; some of it is done."""
    dice = Dice(f"code/todos/{seed}")
    rows: list[Row] = db.execute(
        """
        SELECT a.user_id, i.author_id, 'assigned' AS kind, i.issue_id, NULL AS merge_request_id, i.created_at
        FROM issue_assignee a JOIN issue i USING (issue_id) WHERE i.state = 'opened' AND a.user_id != i.author_id
        UNION ALL
        SELECT r.user_id, m.author_id, 'review_requested', NULL, m.merge_request_id, m.created_at
        FROM merge_request_reviewer r JOIN merge_request m USING (merge_request_id) WHERE m.state = 'opened'
        UNION ALL
        SELECT u.user_id, n.author_id, 'mentioned', n.issue_id, n.merge_request_id, n.created_at
        FROM note n JOIN user u ON u.username = substr(n.body, 2, instr(n.body, ' ') - 2) WHERE n.body LIKE '@%' AND NOT n.is_system AND u.user_id != n.author_id
        ORDER BY 6, 1, 4, 5
        """
    ).fetchall()
    return [
        (user_id, author_id, kind, issue_id, request_id, "done" if dice.chance(25) else "pending", created_at)
        for user_id, author_id, kind, issue_id, request_id, created_at in rows
    ]
