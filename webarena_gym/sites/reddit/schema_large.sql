-- What only the forum of a large world has: what the texts say, and an index of what was written.

CREATE TABLE submission_fact (  -- what a post says; what is not said is ''
    submission_id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,  -- question | opening (of a debate) | report (on a work)
    subject TEXT NOT NULL,  -- the problem, the claim that its author holds, or the name of the work
    somebody TEXT NOT NULL,  -- for whom a question is asked, or who told the author
    span TEXT NOT NULL,  -- how long the problem lasts, or the author's experience: "3 week"
    place TEXT NOT NULL,  -- where the author lives
    is_first_hand INTEGER NOT NULL, has_turned INTEGER NOT NULL  -- whether the author used to hold the opposite
);

CREATE TABLE submission_point (  -- the points of a post
    submission_id INTEGER NOT NULL, position INTEGER NOT NULL, kind TEXT NOT NULL,  -- tried | reason | aspect
    point TEXT NOT NULL, verdict INTEGER,  -- 1 good, 0 bad, NULL none
    PRIMARY KEY (submission_id, position)
) WITHOUT ROWID;

CREATE TABLE comment_fact (  -- what a comment says; what is not said is ''
    comment_id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,  -- answer | thanks | stand | impression | detail | chatter
    stance TEXT NOT NULL,  -- worked | failed | heard | idea; helped | failed; side | agree | disagree | changed; own | heard; asks | reply
    subject TEXT NOT NULL,  -- the remedy, the claim that its author holds from then on, or the aspect
    reason TEXT NOT NULL,
    somebody TEXT NOT NULL,  -- the user that it names, or who told its author
    span TEXT NOT NULL, verdict INTEGER  -- 1 good, 0 bad, NULL none
);

CREATE TABLE search_word (word TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;  -- the words of all texts

CREATE VIRTUAL TABLE submission_text USING fts5 (title, body, tokenize = 'porter unicode61');
CREATE TRIGGER submission_text_added AFTER INSERT ON submission BEGIN
    INSERT INTO submission_text (rowid, title, body) VALUES (new.submission_id, new.title, new.body);
END;
CREATE TRIGGER submission_text_changed AFTER UPDATE OF title, body ON submission BEGIN
    UPDATE submission_text SET title = new.title, body = new.body WHERE rowid = new.submission_id;
END;
CREATE TRIGGER submission_text_removed AFTER DELETE ON submission BEGIN
    DELETE FROM submission_text WHERE rowid = old.submission_id;
END;

CREATE VIRTUAL TABLE comment_text USING fts5 (body, tokenize = 'porter unicode61');
CREATE TRIGGER comment_text_added AFTER INSERT ON comment BEGIN
    INSERT INTO comment_text (rowid, body) VALUES (new.comment_id, new.body);
END;
CREATE TRIGGER comment_text_changed AFTER UPDATE OF body ON comment BEGIN
    UPDATE comment_text SET body = new.body WHERE rowid = new.comment_id;
END;
CREATE TRIGGER comment_text_removed AFTER DELETE ON comment BEGIN
    DELETE FROM comment_text WHERE rowid = old.comment_id;
END;
