-- The code host's database. Times are 'YYYY-MM-DD HH:MM:SS' on the world's clock, dates 'YYYY-MM-DD'; booleans are 0 or 1.

CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;  -- seed, now

CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;  -- data: a JSON object

-- People and groups share the names that come first in a URL.

CREATE TABLE user (
    user_id INTEGER PRIMARY KEY AUTOINCREMENT, username TEXT NOT NULL UNIQUE, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
    password TEXT NOT NULL, bio TEXT NOT NULL DEFAULT '', website TEXT NOT NULL DEFAULT '', location TEXT NOT NULL DEFAULT '',
    job_title TEXT NOT NULL DEFAULT '', organization TEXT NOT NULL DEFAULT '', pronouns TEXT NOT NULL DEFAULT '',
    status_emoji TEXT NOT NULL DEFAULT '', status_message TEXT NOT NULL DEFAULT '', is_busy INTEGER NOT NULL DEFAULT 0,
    is_profile_private INTEGER NOT NULL DEFAULT 0, theme TEXT NOT NULL DEFAULT 'Indigo',
    feed_token TEXT NOT NULL, created_at TEXT NOT NULL
);

CREATE TABLE follow (
    follower_id INTEGER NOT NULL REFERENCES user, followed_id INTEGER NOT NULL REFERENCES user,
    PRIMARY KEY (follower_id, followed_id)
) WITHOUT ROWID;

CREATE TABLE access_token (
    token_id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL REFERENCES user, name TEXT NOT NULL, scopes TEXT NOT NULL,
    token TEXT NOT NULL, expires_on TEXT, created_at TEXT NOT NULL, is_revoked INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE ssh_key (
    key_id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL REFERENCES user, title TEXT NOT NULL, content TEXT NOT NULL,
    expires_on TEXT, created_at TEXT NOT NULL
);

CREATE TABLE user_group (
    group_id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, description TEXT NOT NULL DEFAULT '',
    visibility TEXT NOT NULL,  -- private, internal, public
    created_at TEXT NOT NULL
);

CREATE TABLE group_member (
    group_id INTEGER NOT NULL REFERENCES user_group, user_id INTEGER NOT NULL REFERENCES user,
    role TEXT NOT NULL,  -- Guest, Reporter, Developer, Maintainer, Owner
    expires_on TEXT, created_at TEXT NOT NULL, PRIMARY KEY (group_id, user_id)
) WITHOUT ROWID;

-- Projects. The full path of a project is <namespace>/<path>; the namespace is a user's or a group's.

CREATE TABLE project (
    project_id INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL,  -- user.username or user_group.path
    owner_id INTEGER REFERENCES user,  -- of a personal project
    group_id INTEGER REFERENCES user_group,  -- of a group's project
    path TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL DEFAULT '', topics TEXT NOT NULL DEFAULT '',  -- 'a, b'
    visibility TEXT NOT NULL,  -- private, internal, public
    default_branch TEXT NOT NULL DEFAULT 'main', forked_from_id INTEGER REFERENCES project,
    license TEXT NOT NULL DEFAULT '', is_archived INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL, last_activity_at TEXT NOT NULL,
    last_milestone INTEGER NOT NULL DEFAULT 0,  -- the highest number of a milestone that was deleted
    UNIQUE (namespace, path)
);
CREATE INDEX project_by_origin ON project (forked_from_id);

CREATE TABLE project_member (  -- direct members; the owner of a personal project is one
    project_id INTEGER NOT NULL REFERENCES project, user_id INTEGER NOT NULL REFERENCES user,
    role TEXT NOT NULL,  -- as group_member.role
    expires_on TEXT, created_at TEXT NOT NULL, PRIMARY KEY (project_id, user_id)
) WITHOUT ROWID;

CREATE VIEW current_group_member AS SELECT * FROM group_member
WHERE expires_on IS NULL OR expires_on > (SELECT date(value) FROM world WHERE key = 'now');

CREATE VIEW membership AS  -- whoever belongs to a project today; somebody invited who is in the group as well has two rows
SELECT project_id, user_id, role, expires_on, created_at, 1 AS is_direct FROM project_member
WHERE expires_on IS NULL OR expires_on > (SELECT date(value) FROM world WHERE key = 'now')
UNION ALL
SELECT p.project_id, m.user_id, m.role, m.expires_on, m.created_at, 0 FROM project p JOIN current_group_member m USING (group_id);

CREATE TABLE star (
    user_id INTEGER NOT NULL REFERENCES user, project_id INTEGER NOT NULL REFERENCES project, created_at TEXT NOT NULL,
    PRIMARY KEY (user_id, project_id)
) WITHOUT ROWID;
CREATE INDEX star_by_project ON star (project_id);

-- Repositories. A branch points at its newest commit; commits know their (first) parent; a branch has its files as they are now.

CREATE TABLE branch (
    branch_id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES project, name TEXT NOT NULL,
    head_id INTEGER REFERENCES git_commit, is_protected INTEGER NOT NULL DEFAULT 0, UNIQUE (project_id, name)
);

CREATE TABLE git_commit (
    commit_id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES project, sha TEXT NOT NULL,  -- 40 hex digits
    parent_id INTEGER REFERENCES git_commit, author_id INTEGER REFERENCES user,  -- null: somebody without an account here
    author_name TEXT NOT NULL, author_email TEXT NOT NULL, title TEXT NOT NULL, message TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL
);
CREATE INDEX commit_by_project ON git_commit (project_id, created_at);

CREATE TABLE commit_branch (  -- the branches that a commit is reachable from
    branch_id INTEGER NOT NULL REFERENCES branch, commit_id INTEGER NOT NULL REFERENCES git_commit,
    PRIMARY KEY (branch_id, commit_id)
) WITHOUT ROWID;

CREATE TABLE file_change (  -- what a commit did to a file
    commit_id INTEGER NOT NULL REFERENCES git_commit, path TEXT NOT NULL,
    kind TEXT NOT NULL,  -- added, modified, deleted
    before TEXT NOT NULL DEFAULT '', after TEXT NOT NULL DEFAULT '', PRIMARY KEY (commit_id, path)
) WITHOUT ROWID;

CREATE TABLE file (  -- the files at the head of a branch; folders follow from the paths
    branch_id INTEGER NOT NULL REFERENCES branch, path TEXT NOT NULL, content TEXT NOT NULL,
    commit_id INTEGER NOT NULL REFERENCES git_commit,  -- the last that changed it
    PRIMARY KEY (branch_id, path)
) WITHOUT ROWID;

-- Planning. iid counts within a project, issues and merge requests each on their own.

CREATE TABLE label (
    label_id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES project, name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '', color TEXT NOT NULL, UNIQUE (project_id, name)
);

CREATE TABLE milestone (
    milestone_id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES project, iid INTEGER NOT NULL, title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '', starts_on TEXT, due_on TEXT, state TEXT NOT NULL DEFAULT 'active',  -- active, closed
    UNIQUE (project_id, iid)
);

CREATE TABLE issue (
    issue_id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES project, iid INTEGER NOT NULL, title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '', author_id INTEGER NOT NULL REFERENCES user,
    state TEXT NOT NULL DEFAULT 'opened',  -- opened, closed
    milestone_id INTEGER REFERENCES milestone, due_on TEXT, is_confidential INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, closed_at TEXT, UNIQUE (project_id, iid)
);

CREATE TABLE issue_label (
    issue_id INTEGER NOT NULL REFERENCES issue, label_id INTEGER NOT NULL REFERENCES label, PRIMARY KEY (issue_id, label_id)
) WITHOUT ROWID;

CREATE TABLE issue_assignee (
    issue_id INTEGER NOT NULL REFERENCES issue, user_id INTEGER NOT NULL REFERENCES user, PRIMARY KEY (issue_id, user_id)
) WITHOUT ROWID;

CREATE TABLE merge_request (
    merge_request_id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES project, iid INTEGER NOT NULL,
    title TEXT NOT NULL, description TEXT NOT NULL DEFAULT '', author_id INTEGER NOT NULL REFERENCES user,
    source_branch TEXT NOT NULL, target_branch TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'opened',  -- opened, merged, closed
    is_draft INTEGER NOT NULL DEFAULT 0, milestone_id INTEGER REFERENCES milestone,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, merged_at TEXT, closed_at TEXT, UNIQUE (project_id, iid)
);

CREATE TABLE merge_request_label (
    merge_request_id INTEGER NOT NULL REFERENCES merge_request, label_id INTEGER NOT NULL REFERENCES label,
    PRIMARY KEY (merge_request_id, label_id)
) WITHOUT ROWID;

CREATE TABLE merge_request_assignee (
    merge_request_id INTEGER NOT NULL REFERENCES merge_request, user_id INTEGER NOT NULL REFERENCES user,
    PRIMARY KEY (merge_request_id, user_id)
) WITHOUT ROWID;

CREATE TABLE merge_request_reviewer (
    merge_request_id INTEGER NOT NULL REFERENCES merge_request, user_id INTEGER NOT NULL REFERENCES user,
    PRIMARY KEY (merge_request_id, user_id)
) WITHOUT ROWID;

CREATE TABLE note (  -- a comment on an issue or a merge request
    note_id INTEGER PRIMARY KEY AUTOINCREMENT, issue_id INTEGER REFERENCES issue, merge_request_id INTEGER REFERENCES merge_request,
    author_id INTEGER NOT NULL REFERENCES user, body TEXT NOT NULL,
    is_system INTEGER NOT NULL DEFAULT 0,  -- 'assigned to @ann', 'closed', ...
    created_at TEXT NOT NULL
);
CREATE INDEX note_by_issue ON note (issue_id);
CREATE INDEX note_by_merge_request ON note (merge_request_id);

CREATE TABLE todo (
    todo_id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL REFERENCES user, author_id INTEGER NOT NULL REFERENCES user,
    kind TEXT NOT NULL,  -- assigned, mentioned, review_requested, marked
    issue_id INTEGER REFERENCES issue, merge_request_id INTEGER REFERENCES merge_request,
    state TEXT NOT NULL DEFAULT 'pending',  -- pending, done
    created_at TEXT NOT NULL
);

CREATE TABLE snippet (
    snippet_id INTEGER PRIMARY KEY AUTOINCREMENT, author_id INTEGER NOT NULL REFERENCES user, title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '', file_name TEXT NOT NULL, content TEXT NOT NULL,
    visibility TEXT NOT NULL,  -- private, internal, public
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);

-- What visits leave behind, and what only follows from other changes (see ../changes.py). What a first attempt leaves in the history, and
-- what it tells somebody else to do, counts.
-- incidental: session
-- incidental: *.*_at
-- incidental: git_commit  -- the files that commits leave are what counts
-- incidental: commit_branch
-- incidental: +file_change WHERE (SELECT c.created_at FROM git_commit c WHERE c.commit_id = file_change.commit_id) < (SELECT value FROM world WHERE key = 'now')  -- a fork's
-- incidental: +file_change WHERE NOT EXISTS (SELECT 1 FROM file_change n WHERE n.path = file_change.path AND n.commit_id > file_change.commit_id AND n.before = file_change.after AND is_replaced(file_change.before, file_change.after, n.after))
-- incidental: branch.head_id
-- incidental: project.last_milestone
-- incidental: file.commit_id
-- incidental: +note WHERE is_system AND body NOT GLOB 'changed *'
-- incidental: +note WHERE is_system AND NOT EXISTS (SELECT 1 FROM note n WHERE n.is_system AND n.note_id > note.note_id AND n.issue_id IS note.issue_id AND n.merge_request_id IS note.merge_request_id AND substr(n.body, 1, 10) = substr(note.body, 1, 10))  -- 'changed mi(lestone to ...'
-- incidental: +todo WHERE state = 'done' OR kind = 'mentioned'
-- incidental: +todo WHERE kind = 'assigned' AND EXISTS (SELECT 1 FROM issue_assignee a WHERE a.issue_id = todo.issue_id AND a.user_id = todo.user_id)
-- incidental: +todo WHERE kind = 'assigned' AND EXISTS (SELECT 1 FROM merge_request_assignee a WHERE a.merge_request_id = todo.merge_request_id AND a.user_id = todo.user_id)
-- incidental: +todo WHERE kind = 'review_requested' AND EXISTS (SELECT 1 FROM merge_request_reviewer r WHERE r.merge_request_id = todo.merge_request_id AND r.user_id = todo.user_id)
-- incidental: +access_token WHERE is_revoked
