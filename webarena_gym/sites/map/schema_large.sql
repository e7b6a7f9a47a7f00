-- What differs in the map of a large world: places may share a name.

DROP TABLE place;
CREATE TABLE place (
    place_id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, brand TEXT NOT NULL,
    street_id INTEGER NOT NULL REFERENCES street, number INTEGER NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL,
    edge_id INTEGER NOT NULL REFERENCES edge, metres INTEGER NOT NULL, phone TEXT NOT NULL, website TEXT NOT NULL,
    weekdays TEXT NOT NULL, saturday TEXT NOT NULL, sunday TEXT NOT NULL
);
CREATE INDEX place_by_name ON place (name);
CREATE INDEX place_by_category ON place (category);
CREATE INDEX place_by_street ON place (street_id, number);
