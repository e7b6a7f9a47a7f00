"""Search in all that was written, and in the names of forums and users."""

import json

from webarena_gym.sites.country.texts import folded, like
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.reddit.base import PER_PAGE, my_id, site
from webarena_gym.sites.reddit.queries import CARD, LISTED, REMARK

LONGEST = 100  # characters of a search that count
MOST_WORDS = 10
MOST_NAMES = 5  # forums and users that are shown above what they wrote
FOUND = f"""
    SELECT 'submission' AS kind, s.submission_id AS identity, s.created_at FROM submission s
    WHERE {LISTED} AND {{submission}}
    UNION ALL
    SELECT 'comment', c.comment_id, c.created_at FROM comment c JOIN submission s USING (submission_id)
    WHERE c.state = 'visible' AND {LISTED} AND {{comment}}
        AND c.user_id NOT IN (SELECT blocked_id FROM user_block WHERE user_id = :me)
"""
WEIGHTS = {"submission_text": (4.0, 1.0), "comment_text": (1.0,)}  # of the columns of the indexes
RANKED = f"""
    SELECT 'submission' AS kind, s.submission_id AS identity, s.created_at, r.value ->> '$.relevance' AS relevance
    FROM json_each(:submission_text) r JOIN submission s ON s.submission_id = r.value ->> '$.id' WHERE {LISTED}
    UNION ALL
    SELECT 'comment', c.comment_id, c.created_at, r.value ->> '$.relevance'
    FROM json_each(:comment_text) r JOIN comment c ON c.comment_id = r.value ->> '$.id' JOIN submission s USING (submission_id)
    WHERE c.state = 'visible' AND {LISTED} AND c.user_id NOT IN (SELECT blocked_id FROM user_block WHERE user_id = :me)
"""


@site.get("/search")
def results(request: Request) -> str:
    """Show the submissions and comments that have all words of `q`, the newest first, or where there is an index the most relevant."""
    phrase = clean(request.args.get("q", "")).replace("\n", " ")[:LONGEST]
    request.shows({"q": folded(phrase)})
    words = list(dict.fromkeys(phrase.split()))[:MOST_WORDS]
    values: dict[str, object] = {"me": my_id(request)} | {f"word{place}": like(word) for place, word in enumerate(words)}
    order = "created_at DESC, identity DESC"
    if words and ranking.has_index(request.db):
        found, order = RANKED, "relevance DESC, created_at DESC, identity DESC"
        for index, weights in WEIGHTS.items():
            relevances = ranking.ranked(request.db, index, phrase, weights)
            values[index] = json.dumps([{"id": key, "relevance": value} for key, value in relevances.items()])
    else:
        found = FOUND.format(
            submission=_all_words("s.title || ' ' || s.body || ' ' || coalesce(s.url, '')", len(words)),
            comment=_all_words("c.body", len(words)),
        )
    total = request.db.execute(f"SELECT count(*) FROM ({found})", values).fetchone()[0] if words else 0
    pager = Pager.of(request, total, PER_PAGE)
    rows = []
    if words:
        page = f"{found} ORDER BY {order} LIMIT :limit OFFSET :first"
        for hit in request.db.execute(page, values | {"limit": pager.limit, "first": pager.first}).fetchall():
            query = f"{CARD} WHERE s.submission_id = :identity" if hit["kind"] == "submission" else None
            query = query or f"{REMARK} WHERE c.comment_id = :identity"
            row = request.db.execute(query, {"me": my_id(request), "identity": hit["identity"]}).fetchone()
            rows.append((hit["kind"], row))
    return request.render(
        "search.html",
        phrase=phrase,
        rows=rows,
        pager=pager,
        order="the best matches" if found is RANKED else "the newest",
        forums=_named(request, "name", "forum", phrase),
        users=_named(request, "username", "user", phrase),
    )


def _named(request: Request, name: str, table: str, phrase: str) -> list[str]:
    """Return the names of forums or users that contain the phrase, the shortest first."""
    query = rf"SELECT {name} AS name FROM {table} WHERE {name} LIKE ? ESCAPE '\' ORDER BY length({name}), {name} LIMIT ?"
    return [row["name"] for row in request.db.execute(query, (like(phrase), MOST_NAMES))] if phrase else []


def _all_words(text: str, count: int) -> str:
    """Return the SQL condition that a text has every word."""
    return " AND ".join(rf"({text}) LIKE :word{place} ESCAPE '\'" for place in range(count)) or "0"
