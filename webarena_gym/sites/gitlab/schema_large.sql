-- What only the code host of a large world has: what the texts say, and an index of projects, issues and merge requests.

CREATE TABLE issue_fact (  -- what an issue says; what is not said is ''
    issue_id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,  -- bug | wish | question | gap (of the manual)
    subject TEXT NOT NULL,  -- what is seen, or wished for
    trigger_text TEXT NOT NULL,  -- when it is seen, or why it is wished for
    version TEXT NOT NULL, platform TEXT NOT NULL, since TEXT NOT NULL
);

CREATE TABLE note_fact (  -- what a comment on an issue says; what is not said is ''
    note_id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,  -- confirms | cannot reproduce | cause | suspects | workaround works | ...
    version TEXT NOT NULL, platform TEXT NOT NULL, number TEXT NOT NULL  -- of the merge request that mends it
);

CREATE TABLE search_word (word TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;  -- the words of all texts

CREATE VIRTUAL TABLE project_text USING fts5 (name, path, topics, description, tokenize = 'porter unicode61');
CREATE TRIGGER project_text_added AFTER INSERT ON project BEGIN
    INSERT INTO project_text (rowid, name, path, topics, description)
    VALUES (new.project_id, new.name, new.namespace || '/' || new.path, new.topics, new.description);
END;
CREATE TRIGGER project_text_changed AFTER UPDATE OF name, namespace, path, topics, description ON project BEGIN
    UPDATE project_text SET name = new.name, path = new.namespace || '/' || new.path, topics = new.topics,
        description = new.description WHERE rowid = new.project_id;
END;
CREATE TRIGGER project_text_removed AFTER DELETE ON project BEGIN
    DELETE FROM project_text WHERE rowid = old.project_id;
END;

CREATE VIRTUAL TABLE issue_text USING fts5 (title, description, tokenize = 'porter unicode61');
CREATE TRIGGER issue_text_added AFTER INSERT ON issue BEGIN
    INSERT INTO issue_text (rowid, title, description) VALUES (new.issue_id, new.title, new.description);
END;
CREATE TRIGGER issue_text_changed AFTER UPDATE OF title, description ON issue BEGIN
    UPDATE issue_text SET title = new.title, description = new.description WHERE rowid = new.issue_id;
END;
CREATE TRIGGER issue_text_removed AFTER DELETE ON issue BEGIN
    DELETE FROM issue_text WHERE rowid = old.issue_id;
END;

CREATE VIRTUAL TABLE merge_request_text USING fts5 (title, description, tokenize = 'porter unicode61');
CREATE TRIGGER merge_request_text_added AFTER INSERT ON merge_request BEGIN
    INSERT INTO merge_request_text (rowid, title, description) VALUES (new.merge_request_id, new.title, new.description);
END;
CREATE TRIGGER merge_request_text_changed AFTER UPDATE OF title, description ON merge_request BEGIN
    UPDATE merge_request_text SET title = new.title, description = new.description WHERE rowid = new.merge_request_id;
END;
CREATE TRIGGER merge_request_text_removed AFTER DELETE ON merge_request BEGIN
    DELETE FROM merge_request_text WHERE rowid = old.merge_request_id;
END;
