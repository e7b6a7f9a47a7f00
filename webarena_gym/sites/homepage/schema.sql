-- The start page. Times are 'YYYY-MM-DD HH:MM:SS' on the world's clock.

CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;  -- seed, now

CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;  -- data: a JSON object

CREATE TABLE owner (name TEXT NOT NULL, email TEXT NOT NULL);  -- whose start page it is: one row

CREATE TABLE note (text TEXT NOT NULL, saved_at TEXT NOT NULL);  -- the scratchpad: no row, or one

-- What visits leave behind, and what only follows from other changes (see ../changes.py).
-- incidental: session
-- incidental: note  -- the scratchpad is the visitor's own memory
