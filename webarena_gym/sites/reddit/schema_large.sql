-- What only the forum of a large world has: an index of what was written.

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
