-- What differs in the map of a large world: places may share a name, and towns and places have an index.

DROP TABLE place;
CREATE TABLE place (
    place_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, category TEXT NOT NULL, brand TEXT NOT NULL,
    street_id INTEGER NOT NULL REFERENCES street, number INTEGER NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL,
    edge_id INTEGER NOT NULL REFERENCES edge, metres INTEGER NOT NULL, phone TEXT NOT NULL, website TEXT NOT NULL,
    weekdays TEXT NOT NULL, saturday TEXT NOT NULL, sunday TEXT NOT NULL
);
CREATE INDEX place_by_name ON place (name);
CREATE INDEX place_by_category ON place (category);
CREATE INDEX place_by_street ON place (street_id, number);

CREATE TABLE search_word (word TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;  -- the words of all indexed texts

CREATE VIRTUAL TABLE town_text USING fts5 (name, state, tokenize = 'porter unicode61');
CREATE TRIGGER town_text_added AFTER INSERT ON town BEGIN
    INSERT INTO town_text (rowid, name, state) SELECT new.town_id, new.name, name FROM state WHERE state_id = new.state_id;
END;

CREATE VIRTUAL TABLE place_text USING fts5 (name, alias, category, address, tokenize = 'porter unicode61');
CREATE TRIGGER place_text_added AFTER INSERT ON place BEGIN
    INSERT INTO place_text (rowid, name, alias, category, address)
    SELECT new.place_id, new.name, '', new.category, s.name || ', ' || t.name || ', ' || a.name
    FROM street s JOIN town t USING (town_id) JOIN state a USING (state_id) WHERE s.street_id = new.street_id;
END;
CREATE TRIGGER place_text_changed AFTER UPDATE OF name, category ON place BEGIN
    UPDATE place_text SET name = new.name, category = new.category WHERE rowid = new.place_id;
END;
CREATE TRIGGER place_text_removed AFTER DELETE ON place BEGIN
    DELETE FROM place_text WHERE rowid = old.place_id;
END;
CREATE TRIGGER place_text_alias AFTER INSERT ON place_detail WHEN new.name = 'Also known as' BEGIN
    UPDATE place_text SET alias = new.value WHERE rowid = new.place_id;
END;
