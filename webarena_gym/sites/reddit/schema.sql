-- The forum's tables. Times are text, 'YYYY-MM-DD HH:MM:SS'; a state is 'visible', 'deleted' (by its author) or 'removed'.

CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE user (
    user_id INTEGER PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL UNIQUE COLLATE NOCASE,
    email TEXT NOT NULL,
    password TEXT NOT NULL,
    biography TEXT NOT NULL DEFAULT '',
    night_mode TEXT NOT NULL DEFAULT 'auto', -- auto, off or on
    front_page TEXT NOT NULL DEFAULT 'subscribed', -- subscribed, all or moderated
    created_at TEXT NOT NULL
);

CREATE TABLE forum (
    forum_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    sidebar TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE forum_tag (
    forum_id INTEGER NOT NULL REFERENCES forum,
    tag TEXT NOT NULL,
    PRIMARY KEY (forum_id, tag)
) WITHOUT ROWID;
CREATE TABLE moderator (
    forum_id INTEGER NOT NULL REFERENCES forum,
    user_id INTEGER NOT NULL REFERENCES user,
    since TEXT NOT NULL,
    PRIMARY KEY (forum_id, user_id)
) WITHOUT ROWID;
CREATE TABLE subscription (
    forum_id INTEGER NOT NULL REFERENCES forum,
    user_id INTEGER NOT NULL REFERENCES user,
    PRIMARY KEY (forum_id, user_id)
) WITHOUT ROWID;
CREATE INDEX subscription_user ON subscription (user_id);

CREATE TABLE image (
    image_id INTEGER PRIMARY KEY AUTOINCREMENT,
    description TEXT NOT NULL
);
CREATE TABLE submission (
    submission_id INTEGER PRIMARY KEY AUTOINCREMENT,
    forum_id INTEGER NOT NULL REFERENCES forum,
    user_id INTEGER NOT NULL REFERENCES user,
    title TEXT NOT NULL,
    slug TEXT NOT NULL,
    url TEXT, -- of a link
    image_id INTEGER REFERENCES image, -- of an image; a submission with neither is text
    body TEXT NOT NULL,
    created_at TEXT NOT NULL,
    edited_at TEXT,
    state TEXT NOT NULL DEFAULT 'visible',
    is_locked INTEGER NOT NULL DEFAULT 0,
    is_sticky INTEGER NOT NULL DEFAULT 0,
    up INTEGER NOT NULL DEFAULT 0, -- votes, counted by triggers
    down INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX submission_forum ON submission (forum_id);
CREATE INDEX submission_user ON submission (user_id);
CREATE TABLE comment (
    comment_id INTEGER PRIMARY KEY AUTOINCREMENT,
    submission_id INTEGER NOT NULL REFERENCES submission,
    parent_id INTEGER REFERENCES comment,
    user_id INTEGER NOT NULL REFERENCES user,
    body TEXT NOT NULL,
    created_at TEXT NOT NULL,
    edited_at TEXT,
    state TEXT NOT NULL DEFAULT 'visible',
    up INTEGER NOT NULL DEFAULT 0, -- votes, counted by triggers
    down INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX comment_submission ON comment (submission_id);
CREATE INDEX comment_user ON comment (user_id);

CREATE TABLE submission_vote (
    submission_id INTEGER NOT NULL REFERENCES submission,
    user_id INTEGER NOT NULL REFERENCES user,
    choice INTEGER NOT NULL CHECK (choice IN (1, -1)),
    PRIMARY KEY (submission_id, user_id)
) WITHOUT ROWID;
CREATE TABLE comment_vote (
    comment_id INTEGER NOT NULL REFERENCES comment,
    user_id INTEGER NOT NULL REFERENCES user,
    choice INTEGER NOT NULL CHECK (choice IN (1, -1)),
    PRIMARY KEY (comment_id, user_id)
) WITHOUT ROWID;
CREATE TRIGGER submission_voted AFTER INSERT ON submission_vote BEGIN
    UPDATE submission SET up = up + (new.choice = 1), down = down + (new.choice = -1) WHERE submission_id = new.submission_id;
END;
CREATE TRIGGER submission_unvoted AFTER DELETE ON submission_vote BEGIN
    UPDATE submission SET up = up - (old.choice = 1), down = down - (old.choice = -1) WHERE submission_id = old.submission_id;
END;
CREATE TRIGGER comment_voted AFTER INSERT ON comment_vote BEGIN
    UPDATE comment SET up = up + (new.choice = 1), down = down + (new.choice = -1) WHERE comment_id = new.comment_id;
END;
CREATE TRIGGER comment_unvoted AFTER DELETE ON comment_vote BEGIN
    UPDATE comment SET up = up - (old.choice = 1), down = down - (old.choice = -1) WHERE comment_id = old.comment_id;
END;

CREATE TABLE user_block (
    user_id INTEGER NOT NULL REFERENCES user,
    blocked_id INTEGER NOT NULL REFERENCES user,
    since TEXT NOT NULL,
    PRIMARY KEY (user_id, blocked_id)
) WITHOUT ROWID;
CREATE TABLE hidden_submission (
    user_id INTEGER NOT NULL REFERENCES user,
    submission_id INTEGER NOT NULL REFERENCES submission,
    PRIMARY KEY (user_id, submission_id)
) WITHOUT ROWID;
CREATE TABLE message_thread (
    thread_id INTEGER PRIMARY KEY AUTOINCREMENT,
    sender_id INTEGER NOT NULL REFERENCES user,
    receiver_id INTEGER NOT NULL REFERENCES user
);
CREATE TABLE message (
    message_id INTEGER PRIMARY KEY AUTOINCREMENT,
    thread_id INTEGER NOT NULL REFERENCES message_thread,
    sender_id INTEGER NOT NULL REFERENCES user,
    body TEXT NOT NULL,
    created_at TEXT NOT NULL,
    is_read INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX message_of_thread ON message (thread_id);

-- What visits leave behind, and what only follows from other changes (see ../changes.py).
-- incidental: session
-- incidental: *.*_at
-- incidental: *.since
-- incidental: message.is_read
-- incidental: *.up  -- the votes are what counts
-- incidental: *.down
-- incidental: +submission WHERE state = 'deleted'  -- written and taken back
-- incidental: +comment WHERE state = 'deleted'
-- incidental: +submission_vote WHERE submission_id IN (SELECT submission_id FROM submission WHERE state = 'deleted')
-- incidental: +comment_vote WHERE comment_id IN (SELECT comment_id FROM comment WHERE state = 'deleted')
