-- The encyclopedia. Times are 'YYYY-MM-DD HH:MM:SS' on the world's clock; texts are in the markup of markup.py.

CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;  -- seed, now

CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;  -- data: a JSON object

CREATE TABLE user (
    user_id INTEGER PRIMARY KEY AUTOINCREMENT, username TEXT NOT NULL UNIQUE COLLATE NOCASE, password TEXT NOT NULL,
    real_name TEXT NOT NULL, email TEXT NOT NULL,
    wants_mail INTEGER NOT NULL DEFAULT 0,  -- when something on the watchlist changes
    created_at TEXT NOT NULL
);

CREATE TABLE article (
    article_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,  -- 'town', 'university', 'film', 'list', ...
    is_featured INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE alias (title TEXT PRIMARY KEY, article_id INTEGER NOT NULL REFERENCES article) WITHOUT ROWID;  -- redirects

CREATE TABLE fact (  -- the lines of an infobox
    article_id INTEGER NOT NULL REFERENCES article, position INTEGER NOT NULL, label TEXT NOT NULL,
    text TEXT NOT NULL,  -- as it is shown
    target TEXT,  -- the title of the article that the text links to
    number REAL,  -- what the text counts or measures, or the year that it names
    PRIMARY KEY (article_id, position)
) WITHOUT ROWID;
CREATE INDEX fact_by_target ON fact (label, target);

CREATE TABLE category (article_id INTEGER NOT NULL REFERENCES article, name TEXT NOT NULL, PRIMARY KEY (article_id, name)) WITHOUT ROWID;
CREATE INDEX category_by_name ON category (name);

CREATE TABLE revision (  -- the newest of an article is what readers see
    revision_id INTEGER PRIMARY KEY AUTOINCREMENT, article_id INTEGER NOT NULL REFERENCES article, user_id INTEGER NOT NULL REFERENCES user,
    text TEXT NOT NULL, summary TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE INDEX revision_by_article ON revision (article_id);

CREATE TABLE link (  -- from the newest text and the infobox of an article to a title
    article_id INTEGER NOT NULL REFERENCES article, target TEXT NOT NULL, PRIMARY KEY (article_id, target)
) WITHOUT ROWID;
CREATE INDEX link_by_target ON link (target);

CREATE TABLE watch (
    user_id INTEGER NOT NULL REFERENCES user, article_id INTEGER NOT NULL REFERENCES article, PRIMARY KEY (user_id, article_id)
) WITHOUT ROWID;

CREATE VIEW page AS  -- articles with their newest text
    SELECT a.*, r.revision_id, r.text, r.created_at AS changed_at
    FROM article a JOIN revision r ON r.revision_id = (SELECT max(n.revision_id) FROM revision n WHERE n.article_id = a.article_id);

-- What visits leave behind, and what only follows from other changes (see ../changes.py).
-- incidental: session
-- incidental: *.*_at
-- incidental: link  -- follows from the texts
-- incidental: +revision WHERE revision_id < (SELECT max(n.revision_id) FROM revision n WHERE n.article_id = revision.article_id) AND NOT is_replaced((SELECT b.text FROM revision b WHERE b.article_id = revision.article_id AND b.revision_id < revision.revision_id ORDER BY b.revision_id DESC), text, (SELECT n.text FROM revision n WHERE n.article_id = revision.article_id AND n.revision_id > revision.revision_id ORDER BY n.revision_id))
-- incidental: +revision WHERE text = (SELECT r.text FROM revision r WHERE r.article_id = revision.article_id AND r.created_at < (SELECT value FROM world WHERE key = 'now') ORDER BY r.revision_id DESC)
