"""A small code host for tests of its planning and its people, and somebody who visits it."""

from functools import cache

from tests.visitors import Visitor, small_database

HOST = "http://code.test"
NOW = "2023-06-15 10:00:00"
ANN, BO, CY, DI = 1, 2, 3, 4
OLD = "2023-01-01 09:00:00"
PLAN = "(project_id, iid, title, description, author_id, state, milestone_id, due_on, is_confidential, created_at, updated_at)"

# One row a line reads as the table it is.
# fmt: off
ROWS = {
    "world": [("now", NOW), ("seed", "1")],
    "user (user_id, username, name, email, password, bio, feed_token, created_at)": [
        (ANN, "ann", "Ann Arbor", "ann@mail.test", "secret-ann", "Likes <b>bold</b> maps", "feed-ann", OLD),
        (BO, "bo.cole", "Bo Cole", "bo@mail.test", "secret-bo1", "", "feed-bo", OLD),
        (CY, "cy-d", "Cy Dunn", "cy@mail.test", "secret-cy1", "", "feed-cy", OLD),
        (DI, "di", "Di Éclair", "di@mail.test", "secret-di1", "", "feed-di", OLD),
    ],
    "user_group": [(1, "labs", "The Labs", "", "public", OLD)],
    "group_member": [(1, ANN, "Reporter", None, OLD), (1, BO, "Owner", None, OLD)],
    "project (project_id, namespace, owner_id, group_id, path, name, visibility, is_archived, created_at, last_activity_at)": [
        (1, "ann", ANN, None, "site", "site", "public", 0, OLD, OLD),
        (2, "bo.cole", BO, None, "secret", "secret", "private", 0, OLD, OLD),
        (3, "labs", None, 1, "tool", "tool", "internal", 0, OLD, OLD),
        (4, "cy-d", CY, None, "old", "old", "public", 1, OLD, OLD),
    ],
    "project_member": [
        (1, ANN, "Owner", None, OLD), (1, BO, "Developer", None, OLD), (1, DI, "Guest", None, OLD),
        (2, BO, "Owner", None, OLD), (4, CY, "Owner", None, OLD),
    ],
    "label": [(1, 1, "bug", "Broken", "#b3261e"), (2, 1, "help wanted", "", "#1d7044"), (3, 3, "bug", "", "#b3261e")],
    "milestone": [
        (1, 1, 1, "Beta", "First **try**", "2023-05-01", "2023-07-01", "active"), (2, 1, 2, "Alpha", "", None, None, "closed"),
    ],
    f"issue {PLAN}": [
        (1, 1, "Broken link", "It is on page 7.", CY, "opened", 1, "2023-08-01", 0, "2023-02-01 10:00:00", "2023-02-09 10:00:00"),
        (1, 2, "Dark mode", "Like a link to the night.", ANN, "opened", None, None, 0, "2023-03-01 10:00:00", "2023-03-01 10:00:00"),
        (1, 3, "Crash", "", BO, "closed", None, None, 0, "2023-01-05 10:00:00", "2023-01-06 10:00:00"),
        (1, 4, "Hidden door", "", BO, "opened", None, None, 1, "2023-01-07 10:00:00", "2023-01-07 10:00:00"),
        (2, 1, "Secret plan", "", BO, "opened", None, None, 0, "2023-01-08 10:00:00", "2023-01-08 10:00:00"),
        (3, 1, "Handle dates", "", BO, "opened", None, None, 0, "2023-01-09 10:00:00", "2023-01-09 10:00:00"),
        (4, 1, "Ancient", "", CY, "opened", None, None, 0, "2022-01-09 10:00:00", "2022-01-09 10:00:00"),
    ],
    "issue_label": [(1, 1), (3, 1), (3, 2)],
    "issue_assignee": [(1, BO)],
    "git_commit (commit_id, project_id, sha, parent_id, author_id, author_name, author_email, title, created_at)": [
        (1, 1, "a" * 40, None, ANN, "Ann Arbor", "ann@mail.test", "Initial commit", "2023-01-02 10:00:00"),
        (2, 1, "b" * 40, 1, BO, "Bo Cole", "bo@mail.test", "Fix the link", "2023-02-02 10:00:00"),
        (3, 1, "c" * 40, 1, BO, "Bo Cole", "bo@mail.test", "Another try", "2023-02-03 10:00:00"),
    ],
    "branch": [(1, 1, "main", 1, 1), (2, 1, "fix-link", 2, 0), (3, 1, "try", 3, 0), (4, 1, "idle", 1, 0)],
    "commit_branch": [(1, 1), (2, 1), (2, 2), (3, 1), (3, 3), (4, 1)],
    "file_change": [
        (1, "index.html", "added", "", "<a>one</a>\n"),
        (2, "index.html", "modified", "<a>one</a>\n", "<a>two</a>\n"), (2, "notes.md", "added", "", "Done.\n"),
        (3, "index.html", "modified", "<a>one</a>\n", "<a>three</a>\n"),
    ],
    "file": [
        (1, "index.html", "<a>one</a>\n", 1), (4, "index.html", "<a>one</a>\n", 1),
        (2, "index.html", "<a>two</a>\n", 2), (2, "notes.md", "Done.\n", 2), (3, "index.html", "<a>three</a>\n", 3),
    ],
    "merge_request (project_id, iid, title, author_id, source_branch, target_branch, created_at, updated_at)": [
        (1, 1, "Repair the link", BO, "fix-link", "main", "2023-02-04 10:00:00", "2023-02-04 10:00:00"),
        (1, 2, "Try again", BO, "try", "main", "2023-02-05 10:00:00", "2023-02-05 10:00:00"),
    ],
    "merge_request_reviewer": [(1, ANN)],
    "note (issue_id, merge_request_id, author_id, body, is_system, created_at)": [
        (1, None, CY, "Please **hurry**", 0, "2023-02-02 10:00:00"), (1, None, CY, "assigned to @bo.cole", 1, "2023-02-09 10:00:00"),
    ],
    "todo (user_id, author_id, kind, issue_id, merge_request_id, state, created_at)": [
        (ANN, BO, "review_requested", None, 1, "pending", "2023-02-04 10:00:00"),
        (ANN, CY, "mentioned", 1, None, "done", "2023-02-03 10:00:00"),
        (BO, CY, "assigned", 1, None, "pending", "2023-02-09 10:00:00"),
    ],
    "follow": [(ANN, BO)],
    "star": [(ANN, 3, OLD)],
    "access_token": [(1, ANN, "deploy", "api", "cyat-1", None, OLD, 0), (2, BO, "bo's", "api", "cyat-2", None, OLD, 0)],
    "ssh_key": [(1, ANN, "Laptop", "ssh-ed25519 AAAA ann", None, OLD)],
    "snippet": [
        (1, ANN, "Mine", "", "mine.py", "print(1)", "private", OLD, OLD), (2, BO, "For all", "", "", "x < y", "public", OLD, OLD),
        (3, BO, "Only Bo", "", "", "...", "private", OLD, OLD),
    ],
}
# fmt: on


@cache
def small_host() -> bytes:
    """Return the database of a small code host."""
    return small_database("gitlab", ROWS).serialize()


class Developer(Visitor):
    """Somebody at the code host, Ann at first."""

    def __init__(self, base: bytes) -> None:
        super().__init__("code.test", "gitlab", base)
        self.become(ANN)

    def become(self, user_id):
        return self.sign_in(**({"user_id": user_id} if user_id else {}))

    @property
    def me(self):
        """The first user's row."""
        return self.row("SELECT * FROM user WHERE user_id = ?", ANN)

    @property
    def titles(self):
        """The titles of a list's rows."""
        return [" ".join(item.text_content().split()) for item in self.browser.page().root.cssselect(".rows h2, .rows h3")]
