"""Queries and changes of repositories of the code host: names, commits, diffs, merges and deletion."""

from contextlib import closing

import pytest
from werkzeug.exceptions import NotFound

from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.queries import Change
from webarena_gym.sites.world import load_world

NOW = "2030-01-02 03:04:05"


@pytest.fixture
def db():
    with closing(load_world(1000).open()) as databases:
        yield databases["gitlab"].connection


@pytest.fixture
def trunk(db):
    """The default branch of a project with files."""
    return db.execute(
        "SELECT b.* FROM branch b JOIN project p USING (project_id) WHERE b.name = p.default_branch AND head_id IS NOT NULL ORDER BY 1 LIMIT 1"
    ).fetchone()


def texts(db, branch):
    return {row["path"]: row["content"] for row in queries.files(db, branch["branch_id"])}


def commit(db, branch, changes, message="Change it\n\nWhy."):
    return queries.commit(db, branch, queries.user(db, 1), message, changes, NOW)


def test_private_projects_are_visible_to_members_only(db):
    members = {tuple(row) for row in db.execute("SELECT project_id, user_id FROM membership")}
    rows = db.execute("SELECT project_id, visibility FROM project").fetchall()
    for me in (None, 1, 5):
        expected = {
            row["project_id"] for row in rows
            if row["visibility"] == "public" or (row["visibility"] == "internal" and me is not None) or (row["project_id"], me) in members
        }  # fmt: skip
        assert {row["project_id"] for row in queries.find_projects(db, me)} == expected


def test_projects_groups_and_users_are_found_in_any_case(db):
    row = queries.find_projects(db, None)[0]
    assert queries.project(db, row["namespace"].upper(), row["path"].upper(), None)["project_id"] == row["project_id"]
    assert queries.project(db, row["namespace"], "absent", None) is None
    user = queries.user(db, 2)
    assert queries.user_named(db, user["username"].upper())["user_id"] == 2


@pytest.mark.parametrize(
    ("name", "is_valid"),
    [("a", True), ("-a", False), ("a.git", False), ("a.atom", False), ("a" * 101, False), ("a.b-c_d", True)],
)
def test_paths_of_projects(name, is_valid):
    assert queries.is_slug(name) == is_valid


def test_a_commit_changes_files_and_moves_the_branch(db, trunk):
    before = texts(db, trunk)
    gone, kept = sorted(before.keys() - {"LICENSE"})[:2]
    sha = commit(db, trunk, {gone: None, kept: "changed", "new/a.txt": "new", "LICENSE": "MIT License\n..."})
    after = texts(db, trunk)
    assert after == {path: text for path, text in before.items() if path != gone} | {
        kept: "changed",
        "new/a.txt": "new",
        "LICENSE": "MIT License\n...",
    }
    branch = queries.find_branch(db, trunk["project_id"], trunk["name"])
    row = db.execute("SELECT * FROM git_commit WHERE commit_id = ?", (branch["head_id"],)).fetchone()
    assert (row["sha"], row["title"], row["message"], row["parent_id"], row["created_at"]) == (
        sha,
        "Change it",
        "Why.",
        trunk["head_id"],
        NOW,
    )
    kinds = dict(db.execute("SELECT path, kind FROM file_change WHERE commit_id = ?", (branch["head_id"],)).fetchall())
    assert (kinds[gone], kinds[kept], kinds["new/a.txt"]) == ("deleted", "modified", "added")
    project = db.execute(
        "SELECT license, last_activity_at FROM project WHERE project_id = ?", (trunk["project_id"],)
    ).fetchone()
    assert tuple(project) == ("MIT License", NOW)


def test_folders_come_first_with_their_latest_commits(db, trunk):
    commit(db, trunk, {"zoo/deep/a.txt": "a", "zoo/b.txt": "b"})
    top = queries.entries(db, trunk["branch_id"], "")
    assert [entry["is_folder"] for entry in top] == sorted((entry["is_folder"] for entry in top), reverse=True)
    assert [(entry["name"], entry["path"], entry["is_folder"]) for entry in queries.entries(db, trunk["branch_id"], "zoo")] == [
        ("deep", "zoo/deep", True), ("b.txt", "zoo/b.txt", False),
    ]  # fmt: skip
    assert next(entry for entry in top if entry["name"] == "zoo")["created_at"] == NOW


def test_an_address_begins_with_the_longest_name_of_a_branch(db, trunk):
    project = db.execute("SELECT * FROM project WHERE project_id = ?", (trunk["project_id"],)).fetchone()
    made = queries.create_branch(db, trunk["project_id"], "fix/dates", trunk)
    assert texts(db, made) == texts(db, trunk)
    branch, path = queries.branch_and_path(db, project, "fix/dates/docs/start.md/")
    assert (branch["name"], path) == ("fix/dates", "docs/start.md")
    with pytest.raises(NotFound):
        queries.branch_and_path(db, project, "no-such/branch")


@pytest.mark.parametrize(
    ("name", "has_complaint"),
    [
        ("", True),
        ("a b", True),
        ("a//b", True),
        ("a..b", True),
        ("a.lock", True),
        ("fix", True),
        ("fix/dates", True),
        ("fix/dates/x", True),
        ("fix/datesx", False),
    ],
)
def test_names_of_new_branches(db, trunk, name, has_complaint):
    queries.create_branch(db, trunk["project_id"], "fix/dates", None)
    assert bool(queries.branch_complaint(db, trunk["project_id"], name)) == has_complaint


@pytest.mark.parametrize(
    ("path", "has_complaint"),
    [
        ("", True),
        ("a/../b", True),
        ("/a", True),
        ("a\\b", True),
        ("a/b.txt", True),
        ("a", True),
        ("a/b.txt/c", True),
        ("a/c.txt", False),
        ("b" * 256, True),
    ],
)
def test_paths_of_new_files(db, trunk, path, has_complaint):
    commit(db, trunk, {"a/b.txt": "x"})
    assert bool(queries.path_complaint(db, trunk["branch_id"], path)) == has_complaint
    assert queries.path_complaint(db, None, "a/b.txt") == ""


def test_requests_have_the_total_changes_of_their_commits_and_are_merged(db, trunk):
    kept, other = sorted(texts(db, trunk))[:2]
    branch = queries.create_branch(db, trunk["project_id"], "topic", trunk)
    commit(db, branch, {kept: "one", "temporary.txt": "x", "new.txt": "1"}, "First")
    branch = queries.find_branch(db, trunk["project_id"], "topic")
    commit(db, branch, {kept: "two", "temporary.txt": None, "new.txt": "2"}, "Second")
    item = {
        "project_id": trunk["project_id"],
        "source_branch": "topic",
        "target_branch": trunk["name"],
        "state": "opened",
        "title": "T",
        "iid": 7,
    }
    commits, changes = queries.contents(db, item)
    assert [row["title"] for row in commits] == ["Second", "First"]
    before = texts(db, trunk)[kept]
    assert changes == sorted([Change(kept, "modified", before, "two"), Change("new.txt", "added", "", "2")])
    assert queries.conflict(db, item, changes) == ""
    assert "no changes" in queries.conflict(db, item, [])
    assert "absent" in queries.conflict(db, item | {"source_branch": "absent"}, changes)
    assert kept in queries.conflict(db, item, [Change(kept, "modified", "something else", "two")])
    queries.merge(db, item, queries.user(db, 1), NOW)
    assert (texts(db, trunk)[kept], texts(db, trunk)["new.txt"], "temporary.txt" in texts(db, trunk)) == ("two", "2", False)
    assert queries.commits_between(db, trunk["project_id"], "topic", trunk["name"]) == []
    assert other in texts(db, trunk)


def test_long_diffs_are_cut():
    lines = queries.diff_lines(Change("a", "added", "", "\n".join(map(str, range(500)))))
    assert (len(lines), lines[-1][0]) == (401, "hunk")
    (_, *first), _ = zip(*queries.diff_lines(Change("a", "modified", "a\nb\nc\nd\ne\nf", "a\nb\nc\nd\ne\ng")), strict=True)
    assert first == ["same", "same", "same", "removed", "added"]


def test_a_deleted_project_leaves_its_forks_and_no_rows(db, trunk):
    number = trunk["project_id"]
    db.execute("UPDATE project SET forked_from_id = ? WHERE project_id = (SELECT max(project_id) FROM project)", (number,))
    queries.delete_project(db, number)
    for table, condition in queries._OF.items():
        assert db.execute(f"SELECT count(*) FROM {table} WHERE {condition}", {"id": number}).fetchone()[0] == 0
    assert db.execute("SELECT count(*) FROM project WHERE forked_from_id = ?", (number,)).fetchone()[0] == 0
    opened = db.execute("SELECT count(*) FROM issue WHERE project_id = 2 AND state = 'opened'").fetchone()[0]
    assert queries.open_count(db, "issues", 2) == opened
