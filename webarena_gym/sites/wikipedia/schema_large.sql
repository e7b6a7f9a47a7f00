-- What only the encyclopedia of a large world has: an index of the articles' newest texts.

CREATE TABLE search_word (word TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;  -- the words of all texts

CREATE VIRTUAL TABLE article_text USING fts5 (title, body, tokenize = 'porter unicode61');
CREATE TRIGGER article_text_added AFTER INSERT ON revision BEGIN
    DELETE FROM article_text WHERE rowid = new.article_id;
    INSERT INTO article_text (rowid, title, body) SELECT article_id, title, text FROM page WHERE article_id = new.article_id;
END;
CREATE TRIGGER article_text_removed AFTER DELETE ON revision BEGIN
    DELETE FROM article_text WHERE rowid = old.article_id;
    INSERT INTO article_text (rowid, title, body) SELECT article_id, title, text FROM page WHERE article_id = old.article_id;
END;
CREATE TRIGGER article_text_renamed AFTER UPDATE OF title ON article BEGIN
    UPDATE article_text SET title = new.title WHERE rowid = new.article_id;
END;
