"""The code host's generator: the same integer gives the same bytes, and every world is consistent in itself."""

from tests.generated import column, none, opened, value, worlds
from webarena_gym.sites.country.names import population
from webarena_gym.sites.gitlab.queries import VISIBLE, is_slug
from webarena_gym.sites.gitlab.site import RESERVED

SEEDS = (0, 1, 7, 1000, 1003)
db = worlds("gitlab", SEEDS)
FAULTS = [
    "PRAGMA foreign_key_check",
    "SELECT 1 FROM project p JOIN user u ON u.user_id = p.owner_id WHERE p.namespace != u.username OR group_id",
    "SELECT 1 FROM project p JOIN user_group g USING (group_id) WHERE p.namespace != g.path OR p.owner_id",
    "SELECT 1 FROM project WHERE owner_id IS NULL AND group_id IS NULL",
    "SELECT 1 FROM project p WHERE NOT EXISTS (SELECT 1 FROM membership m WHERE m.project_id = p.project_id AND role = 'Owner')",
    "SELECT description FROM project WHERE forked_from_id IS NULL GROUP BY description HAVING count(*) > 1",
    "SELECT 1 FROM branch WHERE head_id NOT IN (SELECT commit_id FROM commit_branch c WHERE c.branch_id = branch.branch_id)",
    "SELECT 1 FROM branch b JOIN git_commit h ON h.commit_id = b.head_id JOIN commit_branch r USING (branch_id) JOIN git_commit c ON c.commit_id = r.commit_id WHERE c.created_at > h.created_at",
    "SELECT 1 FROM project p WHERE NOT EXISTS (SELECT 1 FROM branch b WHERE b.project_id = p.project_id AND b.name = default_branch)",
    "SELECT 1 FROM git_commit c JOIN git_commit p ON p.commit_id = c.parent_id WHERE p.created_at > c.created_at OR p.project_id != c.project_id",
    "SELECT sha FROM git_commit GROUP BY project_id, sha HAVING count(*) > 1",
    "SELECT lower(title) FROM (SELECT title FROM issue UNION ALL SELECT title FROM merge_request) GROUP BY 1 HAVING count(*) > 1",
    "SELECT 1 FROM issue WHERE (state = 'closed') != (closed_at IS NOT NULL)",
    "SELECT 1 FROM merge_request WHERE (state = 'merged') != (merged_at IS NOT NULL) OR (state = 'closed') != (closed_at IS NOT NULL)",
    "SELECT 1 FROM merge_request m WHERE state = 'opened' AND NOT EXISTS (SELECT 1 FROM branch b WHERE b.project_id = m.project_id AND b.name = source_branch)",
]
"""Queries of what must not be in any world, a line each."""


def test_worlds_are_consistent_without_unfilled_texts_and_with_the_first_user(db):
    for query in FAULTS:
        none(db, query)
    for table in column(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'session'"):
        for row in db.execute(f"SELECT * FROM {table}"):
            assert not [cell for cell in row if isinstance(cell, str) and ("@o@" in cell or "@n@" in cell or "@c@" in cell)]
    seed = int(value(db, "SELECT value FROM world WHERE key = 'seed'"))
    assert value(db, "SELECT name FROM user WHERE user_id = 1") == population(seed)[0].name
    assert value(db, "SELECT data ->> '$.user_id' FROM session") == 1
    assert value(db, "SELECT count(*) FROM project WHERE owner_id = 1") == 8


def test_worlds_share_no_project_no_group_and_held_out_ones_no_title():
    seen, titles = {}, {False: set(), True: set()}
    for seed in SEEDS:
        connection = opened("gitlab", seed)
        names = column(connection, "SELECT DISTINCT name FROM project UNION SELECT path FROM user_group")
        assert [name for name in names if seen.setdefault(name, seed) != seed] == []
        titles[seed >= 1000] |= {*column(connection, "SELECT title FROM issue UNION SELECT title FROM merge_request")}
        connection.close()
    assert titles[False].isdisjoint(titles[True])


def test_sizes_names_and_stars(db):
    assert len(db.serialize()) < 6_000_000
    assert (value(db, "SELECT count(*) FROM user"), value(db, "SELECT count(*) FROM user_group")) == (60, 9)
    assert 80 <= value(db, "SELECT count(*) FROM project") <= 110
    assert 1500 <= value(db, "SELECT count(*) FROM git_commit") <= 2700
    assert 50 <= value(db, "SELECT count(*) FROM git_commit WHERE author_id IS NULL") <= 250  # of people without an account
    assert 350 <= value(db, "SELECT count(*) FROM issue") <= 700
    assert 110 <= value(db, "SELECT count(*) FROM merge_request") <= 240
    names = column(db, "SELECT lower(username) FROM user UNION ALL SELECT lower(path) FROM user_group")
    assert len(names) == len({*names})
    assert not {*names} & {*RESERVED}
    assert all(is_slug(name) for name in names)
    top = column(db, "SELECT count(*) FROM star GROUP BY project_id ORDER BY 1 DESC LIMIT 12")
    assert len({*top}) == len(top)
    query = f"SELECT count(*) FROM star s JOIN project p USING (project_id) WHERE s.user_id = :me AND NOT {VISIBLE}"
    assert [db.execute(query, {"me": user}).fetchone()[0] for user in range(1, 61)] == [0] * 60


def test_replaying_the_commits_of_a_branch_gives_its_files(db):
    for branch in db.execute("SELECT branch_id FROM branch ORDER BY branch_id").fetchall():
        files = {}
        history = "commit_branch JOIN git_commit USING (commit_id) JOIN file_change f USING (commit_id) WHERE branch_id = ?"
        for row in db.execute(f"SELECT f.* FROM {history} ORDER BY f.commit_id", (branch["branch_id"],)):
            assert files.get(row["path"], "") == row["before"]
            files[row["path"]] = row["after"]
        stored = db.execute("SELECT path, content FROM file WHERE branch_id = ?", (branch["branch_id"],))
        assert {row["path"]: row["content"] for row in stored} == files


def test_dates_lie_between_project_and_now_and_the_user_has_work(db):
    now = value(db, "SELECT value FROM world WHERE key = 'now'")
    for table in ("git_commit", "issue", "merge_request"):
        none(db, f"SELECT 1 FROM {table} t JOIN project p USING (project_id) WHERE t.created_at > ? OR t.created_at < ("
                 "SELECT min(created_at) FROM git_commit c WHERE c.project_id = p.project_id)", now)  # fmt: skip
    none(db, "SELECT 1 FROM note WHERE created_at > ?", now)
    for work in (
        "issue_assignee JOIN issue USING (issue_id) WHERE user_id = 1 AND state = 'opened'",
        "merge_request_reviewer JOIN merge_request USING (merge_request_id) WHERE user_id = 1 AND state = 'opened'",
        "merge_request_assignee JOIN merge_request USING (merge_request_id) WHERE user_id = 1 AND state = 'opened'",
        "todo WHERE user_id = 1 AND state = 'pending'",
        "issue WHERE author_id = 1",
    ):
        assert value(db, f"SELECT count(*) FROM {work}") >= 3
