"""The generator of the code host's database: people, groups, projects, their history and their planning from one integer."""

import hashlib
import sqlite3
from datetime import datetime, timedelta
from typing import Any

from webarena_gym.sites.country.dice import Dice, Scale, moment
from webarena_gym.sites.country.names import invented
from webarena_gym.sites.country.seeding import fill_words, insert, sign_in
from webarena_gym.sites.gitlab.world_planning import Item, Plan, draw_plans, issue_row, note_row
from webarena_gym.sites.gitlab.world_projects import (
    ME,
    PASSWORD,
    SIZES,
    Group,
    Project,
    Repository,
    User,
    draw_groups,
    draw_projects,
    draw_repositories,
    draw_strangers,
    draw_users,
    pools,
)

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


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the tables of schema.sql, empty so far, with the world of that integer, and commit."""
    now = moment(seed)
    users = draw_users(seed, now, scale)
    groups = draw_groups(seed, now, users, scale)
    projects = draw_projects(seed, now, users, groups, scale)
    repositories = draw_repositories(seed, now, projects, groups, users, draw_strangers(seed, scale), SIZES[scale])
    plans = draw_plans(seed, now, repositories, groups, users, SIZES[scale])

    insert(db, "world", [("seed", str(seed)), ("now", str(now))])
    _insert_people(db, seed, scale, now, users, groups)
    _insert_projects(db, now, projects, repositories, plans)
    _insert_repositories(db, seed, repositories)
    _insert_plans(db, plans)
    insert(db, "todo", ((number, *row) for number, row in enumerate(todos(db, seed), 1)))
    sign_in(db, site="gitlab", user_id=ME)
    fill_words(db)
    db.commit()


def _insert_people(
    db: sqlite3.Connection, seed: int, scale: Scale, now: datetime, users: list[User], groups: list[Group]
) -> None:
    """Write accounts with what people keep in them, and groups."""
    dice = Dice(f"code/extras/{seed}")
    insert(
        db,
        "user",
        (
            (
                user.user_id, user.username, user.name, user.email, PASSWORD, *profile(dice, user),
                hashlib.sha256(f"feed/{seed}/{user.user_id}".encode()).hexdigest()[:20], user.created_at,
            )
            for user in users
        ),
    )  # fmt: skip
    insert(db, "follow", follows(dice, users))
    insert(db, "access_token", tokens(dice, now, seed, scale))
    insert(db, "ssh_key", keys(dice, now, seed))
    insert(db, "snippet", snippets(dice, now, users))
    insert(db, "user_group", ((g.group_id, g.path, g.name, g.description, g.visibility, g.created_at) for g in groups))
    insert(
        db,
        "group_member",
        ((g.group_id, user_id, m.role, m.expires_on, m.created_at) for g in groups for user_id, m in sorted(g.members.items())),
    )


def _insert_projects(
    db: sqlite3.Connection, now: datetime, projects: list[Project], repositories: list[Repository], plans: list[Plan]
) -> None:
    """Write projects, their members and stars."""
    rows = []
    for project, repository, plan in zip(projects, repositories, plans, strict=True):
        items: list[Item] = [*plan.issues, *plan.merge_requests]
        last = max([*(commit.created_at for commit in repository.commits), *(item.updated_at for item in items)])
        rows.append((
            project.project_id, project.namespace, project.owner_id, project.group_id, project.name, project.name,
            project.description, ", ".join(project.topics), project.visibility, project.default_branch,
            project.source.project_id if project.source else None, project.license, int(project.is_archived),
            project.created_at, last, 0,
        ))  # fmt: skip
    insert(db, "project", rows)
    insert(
        db,
        "project_member",
        (
            (project.project_id, user_id, place.role, place.expires_on, place.created_at)
            for project in projects
            for user_id, place in sorted(project.members.items())
        ),
    )
    stars = []
    for project in projects:
        dice = Dice(f"code/stars/{project.name}/{project.project_id}")
        for user_id in project.stars:
            starred = project.created_at + (now - project.created_at) * dice.below(1000) / 1000
            stars.append((user_id, project.project_id, starred.replace(microsecond=0)))
    insert(db, "star", stars)


def _insert_repositories(db: sqlite3.Connection, seed: int, repositories: list[Repository]) -> None:
    """Write commits with their changes, branches and files. A fork's commits have the names of those that they copy."""
    commit_id = branch_id = 0
    names: dict[tuple[str, str, str], str] = {}
    branches, commits, reachable, changes, files = [], [], [], [], []
    for repository in repositories:
        project_id, first = repository.project.project_id, commit_id + 1
        for commit in repository.commits:
            commit_id += 1
            author = commit.author
            mark = (str(commit.created_at), author.email, commit.changes[0][3])
            sha = names.setdefault(mark, hashlib.sha1(f"{seed}/{commit_id}".encode(), usedforsecurity=False).hexdigest())
            parent_id = None if commit.parent is None else first + commit.parent
            commits.append((
                commit_id, project_id, sha, parent_id, author.user_id or None, author.name, author.email, commit.title,
                commit.message, commit.created_at,
            ))  # fmt: skip
            changes += [(commit_id, *change) for change in commit.changes]
        for branch in repository.branches:
            branch_id += 1
            is_default = branch is repository.branches[0]
            branches.append((branch_id, project_id, branch.name, first + branch.commits[-1], int(is_default)))
            reachable += [(branch_id, first + place) for place in branch.commits]
            files += [(branch_id, path, file.content, first + file.commit) for path, file in sorted(branch.files.items())]
    for table, rows in (
        ("git_commit", commits), ("branch", branches), ("commit_branch", reachable), ("file_change", changes), ("file", files),
    ):  # fmt: skip
        insert(db, table, rows)


def _insert_plans(db: sqlite3.Connection, plans: list[Plan]) -> None:  # noqa: C901 - one part a table
    """Write labels, milestones, issues and merge requests with all that belongs to them; ids count in the order of projects."""
    label_id = milestone_id = issue_id = request_id = 0
    rows: dict[str, list[tuple[Any, ...]]] = {}

    def add(table: str, *row: Any) -> None:
        rows.setdefault(table, []).append(row)

    for plan in plans:
        project_id, labels = plan.project.project_id, {}
        for name, color, description in plan.labels:
            label_id += 1
            labels[name] = label_id
            add("label", label_id, project_id, name, description, color)
        first = milestone_id + 1
        for iid, goal in enumerate(plan.milestones, 1):
            milestone_id += 1
            state = "closed" if goal.is_closed else "active"
            add("milestone", milestone_id, project_id, iid, goal.title, "", goal.starts_on, goal.due_on, state)
        for iid, issue in enumerate(plan.issues, 1):
            issue_id += 1
            goal_id = None if issue.milestone is None else first + issue.milestone
            add(
                "issue", issue_id, project_id, iid, issue.title, issue.description, issue.author_id, issue.state, goal_id,
                issue.due_on, int(issue.is_confidential), issue.created_at, issue.updated_at, issue.closed_at,
            )  # fmt: skip
            for name in issue.labels:
                add("issue_label", issue_id, labels[name])
            for user_id in issue.assignees:
                add("issue_assignee", issue_id, user_id)
            for note in issue.notes:
                add("note", issue_id, None, note.author_id, note.body, int(note.is_system), note.created_at, note.facts)
            if issue.subject.facts:
                add("issue_fact", issue_id, *issue_row(issue.subject.facts))
        for iid, request in enumerate(plan.merge_requests, 1):
            request_id += 1
            goal_id = None if request.milestone is None else first + request.milestone
            add(
                "merge_request", request_id, project_id, iid, request.title, request.description, request.author_id,
                request.source, request.target, request.state, int(request.is_draft), goal_id, request.created_at,
                request.updated_at,
                request.closed_at if request.state == "merged" else None,
                request.closed_at if request.state == "closed" else None,
            )  # fmt: skip
            for name in request.labels:
                add("merge_request_label", request_id, labels[name])
            for user_id in request.assignees:
                add("merge_request_assignee", request_id, user_id)
            for user_id in request.reviewers:
                add("merge_request_reviewer", request_id, user_id)
            for note in request.notes:
                add("note", None, request_id, note.author_id, note.body, int(note.is_system), note.created_at, None)
    notes = sorted(rows.pop("note"), key=lambda row: row[-2])
    for table, content in rows.items():
        insert(db, table, content)
    insert(db, "note", ((number, *row) for number, (*row, _) in enumerate(notes, 1)))
    if said := [(number, *note_row(facts)) for number, (*_, facts) in enumerate(notes, 1) if facts]:
        insert(db, "note_fact", said)
