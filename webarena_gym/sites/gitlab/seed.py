"""The generator of the code host's database: people, groups, projects, their history and their planning from one integer."""

import hashlib
import sqlite3
from datetime import datetime
from typing import Any

from webarena_gym.sites.country.clock import moment
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.indexing import fill_words
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.seeding import insert
from webarena_gym.sites.gitlab.world import extras
from webarena_gym.sites.gitlab.world.people import ME, PASSWORD, Group, User, draw_groups, draw_strangers, draw_users
from webarena_gym.sites.gitlab.world.planning import Item, Plan, draw_plans
from webarena_gym.sites.gitlab.world.projects import Project, draw_projects
from webarena_gym.sites.gitlab.world.repositories import Repository, draw_repositories
from webarena_gym.sites.gitlab.world.sizes import SIZES
from webarena_gym.sites.gitlab.world.texts import issue_row, note_row
from webarena_gym.sites.kit.sessions import sign_in


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
    insert(db, "todo", ((number, *row) for number, row in enumerate(extras.todos(db, seed), 1)))
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
                user.user_id, user.username, user.name, user.email, PASSWORD, *extras.profile(dice, user),
                hashlib.sha256(f"feed/{seed}/{user.user_id}".encode()).hexdigest()[:20], user.created_at,
            )
            for user in users
        ),
    )  # fmt: skip
    insert(db, "follow", extras.follows(dice, users))
    insert(db, "access_token", extras.tokens(dice, now, seed, scale))
    insert(db, "ssh_key", extras.keys(dice, now, seed))
    insert(db, "snippet", extras.snippets(dice, now, users))
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


def _insert_plans(db: sqlite3.Connection, plans: list[Plan]) -> None:
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
