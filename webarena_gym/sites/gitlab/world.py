"""The generator of the code host's database: writes users, groups, projects, commits and planning into the tables."""

import hashlib
import sqlite3
from collections import Counter, defaultdict
from datetime import timedelta
from typing import Any

from webarena_gym.sites.country.dice import Dice, Scale, moment
from webarena_gym.sites.country.names import invented_word
from webarena_gym.sites.country.seeding import fill_words, insert, sign_in
from webarena_gym.sites.gitlab import world_projects
from webarena_gym.sites.gitlab.world_planning import Plan, Planner, issue_row, note_row
from webarena_gym.sites.gitlab.world_projects import ME, Host, Project, Repository, User

Row = tuple[Any, ...]
_TOKENS = (("deploy", "read_repository"), ("nightly backup", "read_api"), ("laptop", "api, read_user"), ("old phone", "api"))


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the empty tables of schema.sql with the world of a seed and scale, and commit."""
    host = world_projects.draw_host(seed, moment(seed), scale)
    projects = world_projects.draw_projects(host)
    repositories = world_projects.draw_repositories(host, projects)
    planner = Planner(host)
    plans = [planner.plan(repository) for repository in repositories]
    insert(db, "world", [("seed", str(seed)), ("now", str(host.now))])
    _insert_people(db, host)
    _insert_projects(db, host, projects, repositories, plans)
    _insert_repositories(db, seed, repositories)
    _insert_plans(db, plans)
    _insert_todos(db, seed)
    sign_in(db, site="gitlab", user_id=ME)
    fill_words(db)
    db.commit()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _insert_people(db: sqlite3.Connection, host: Host) -> None:
    """Write users with their follows, tokens, keys and snippets, and groups. The current user follows five people."""
    seed, now, users, dice = host.seed, host.now, host.users, Dice(f"code/extras/{host.seed}")
    rows: dict[str, list[Row]] = defaultdict(list)
    for user in users:
        feed = _digest(f"feed/{seed}/{user.user_id}")[:20]
        account = (user.user_id, user.username, user.name, user.email, world_projects.PASSWORD)
        rows["user"].append((*account, *_profile(dice, user), feed, user.created_at))
    for user in users:
        followed = dice.some([other for other in users if other is not user], 5 if user.user_id == ME else dice.below(9))
        rows["follow"] += [(user.user_id, other.user_id) for other in followed]
    for number, (name, scopes) in enumerate(_TOKENS, 1):  # tokens of the current user; the last one is revoked
        token = "cyat-" + _digest(f"token/{seed}/{number}")[:20]
        ends = str((now + timedelta(days=dice.between(20, 300))).date())
        born = now - timedelta(days=dice.between(20, 300), seconds=dice.below(9000))
        word = invented_word(seed, host.sizes.first_token_word + number, "work", host.scale)
        rows["access_token"].append((number, ME, f"{name} {word}", scopes, token, ends, born, int(number == 4)))
    for number, title in enumerate(("Laptop", "Office desktop"), 1):
        key = f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_digest(f'key/{seed}/{number}')[:43]} {title.lower()}"
        rows["ssh_key"].append((number, ME, title, key, None, now - timedelta(days=dice.between(30, 500))))
    for number, (title, file_name, content) in enumerate(
        dice.some(world_projects.pools()["snippets"], 12), 1
    ):  # the first three belong to the current user
        author = ME if number <= 3 else dice.pick(users[1:]).user_id
        born = now - timedelta(days=dice.between(3, 600), seconds=dice.below(80000))
        visibility = "private" if number == 2 else dice.weigh(("public", "internal", "private"), (6, 2, 1))
        rows["snippet"].append((number, author, title, "", file_name, content, visibility, born, born))
    for *group, members in host.groups:
        rows["user_group"].append(tuple(group))
        rows["group_member"] += [(group[0], user_id, *place) for user_id, place in sorted(members.items())]
    for table, content in rows.items():
        insert(db, table, content)


def _profile(dice: Dice, user: User) -> Row:
    """Return the columns `bio` to `theme` of a user's row."""
    pool = world_projects.pools()
    emoji, message = dice.pick(pool["statuses"]) if user.user_id != ME and dice.chance(40) else ("", "")
    bio = dice.pick(pool["bios"]) if dice.chance(60) else ""
    website = f"https://{user.username}.example" if dice.chance(35) else ""
    job = dice.pick(pool["jobs"]) if dice.chance(50) else ""
    is_busy = bool(message) and dice.chance(30)
    return (bio, website, "", job, "", "", emoji, message, int(is_busy), int(user.user_id != ME and dice.chance(5)), "Indigo")


def _insert_projects(
    db: sqlite3.Connection, host: Host, projects: list[Project], repositories: list[Repository], plans: list[Plan]
) -> None:
    """Write projects, their members and stars."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for project, repository, plan in zip(projects, repositories, plans, strict=True):
        items = [item.updated_at for item in (*plan.issues, *plan.merge_requests)]
        last = max([*(commit.created_at for commit in repository.commits), *items])
        rows["project"].append((
            project.project_id, project.namespace, project.owner_id, project.group_id, project.name, project.name,
            project.description, ", ".join(project.topics), project.visibility, project.default_branch,
            project.source.project_id if project.source else None, project.license, int(project.is_archived),
            project.created_at, last, 0,
        ))  # fmt: skip
        rows["project_member"] += [(project.project_id, user_id, *place) for user_id, place in sorted(project.members.items())]
        dice = Dice(f"code/stars/{project.name}/{project.project_id}")
        for user_id in project.stars:
            time = project.created_at + (host.now - project.created_at) * dice.below(1000) / 1000
            rows["star"].append((user_id, project.project_id, time.replace(microsecond=0)))
    for table, content in rows.items():
        insert(db, table, content)


def _insert_repositories(db: sqlite3.Connection, seed: int, repositories: list[Repository]) -> None:
    """Write commits with their changes, branches and files. Copied commits of a fork keep their hashes."""
    commit_id = branch_id = 0
    names: dict[tuple[str, str, str], str] = {}
    rows: dict[str, list[Row]] = defaultdict(list)
    for repository in repositories:
        project_id, first = repository.project.project_id, commit_id + 1
        for author, title, message, made, parent, changes in repository.commits:
            commit_id += 1
            mark = (str(made), author.email, changes[0][3])
            sha = names.setdefault(mark, hashlib.sha1(f"{seed}/{commit_id}".encode(), usedforsecurity=False).hexdigest())
            parent_id = None if parent is None else first + parent
            by = (author.user_id or None, author.name, author.email)
            rows["git_commit"].append((commit_id, project_id, sha, parent_id, *by, title, message, made))
            rows["file_change"] += [(commit_id, *change) for change in changes]
        for index, branch in enumerate(repository.branches):
            branch_id += 1
            rows["branch"].append((branch_id, project_id, branch.name, first + branch.commits[-1], int(index == 0)))
            rows["commit_branch"] += [(branch_id, first + commit) for commit in branch.commits]
            files = sorted(branch.files.items())
            rows["file"] += [(branch_id, path, file.content, first + file.commit) for path, file in files]
    for table in ("git_commit", "branch", "commit_branch", "file_change", "file"):
        insert(db, table, rows[table])


def _insert_plans(db: sqlite3.Connection, plans: list[Plan]) -> None:
    """Write labels, milestones, issues and merge requests with their notes; ids follow the order of the projects."""
    rows: dict[str, list[Row]] = defaultdict(list)
    last: Counter[str] = Counter()  # ids by table
    notes = []
    for plan in plans:
        project_id, labels, first = plan.project.project_id, {}, last["milestone"] + 1
        for name, color, description in plan.labels:
            last["label"] += 1
            labels[name] = last["label"]
            rows["label"].append((last["label"], project_id, name, description, color))
        for iid, (title, starts_on, due_on, state) in enumerate(plan.milestones, 1):
            last["milestone"] += 1
            rows["milestone"].append((last["milestone"], project_id, iid, title, "", starts_on, due_on, state))
        items = [("issue", iid, item) for iid, item in enumerate(plan.issues, 1)]
        items += [("merge_request", iid, item) for iid, item in enumerate(plan.merge_requests, 1)]
        for table, iid, item in items:
            last[table] += 1
            row_id, goal_id, is_issue = (
                last[table],
                None if item.milestone is None else first + item.milestone,
                table == "issue",
            )
            row: Row = (row_id, project_id, iid, item.subject.title, item.description, item.author_id)
            dates, closed = (item.created_at, item.updated_at), item.closed_at
            if is_issue:
                row = (*row, item.state, goal_id, item.due_on, int(item.is_confidential), *dates, closed)
            else:
                ends = (closed if item.state == "merged" else None, closed if item.state == "closed" else None)
                row = (*row, item.source, item.target, item.state, int(item.is_draft), goal_id, *dates, *ends)
            rows[table].append(row)
            rows[f"{table}_label"] += [(row_id, labels[name]) for name in item.labels]
            for role, people in (("assignee", item.assignees), ("reviewer", item.reviewers)):
                rows[f"{table}_{role}"] += [(row_id, user_id) for user_id in people]
            ids = (row_id, None) if is_issue else (None, row_id)
            notes += [((*ids, note.author_id, note.body, int(note.is_system), note.created_at), note) for note in item.notes]
            if item.subject.facts:
                rows["issue_fact"].append((row_id, *issue_row(item.subject.facts)))
    notes.sort(key=lambda pair: pair[1].created_at)
    for number, (row, note) in enumerate(notes, 1):
        rows["note"].append((number, *row))
        if note.facts:
            rows["note_fact"].append((number, *note_row(note.facts)))
    for table, content in rows.items():
        insert(db, table, content)


def _insert_todos(db: sqlite3.Connection, seed: int) -> None:
    """Write a to-do for each assignment, review request and mention; a quarter of them are done."""
    dice = Dice(f"code/todos/{seed}")
    rows = db.execute(
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
    insert(db, "todo", [(i, *row[:5], "done" if dice.chance(25) else "pending", row[5]) for i, row in enumerate(rows, 1)])
