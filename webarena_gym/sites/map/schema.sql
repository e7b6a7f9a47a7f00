-- The map's database. Coordinates are degrees north and east, lengths metres; times are 'YYYY-MM-DD HH:MM:SS' on the world's clock.

CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;  -- seed, now, country, roads: a digest of the road tables

CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;  -- data: a JSON object

CREATE TABLE user (
    user_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL, created_at TEXT NOT NULL
);

CREATE TABLE state (
    state_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, abbreviation TEXT NOT NULL, capital TEXT NOT NULL,  -- a town's name
    latitude REAL NOT NULL, longitude REAL NOT NULL  -- its middle
);

CREATE TABLE state_border (  -- both ways round
    state_id INTEGER NOT NULL REFERENCES state, neighbour_id INTEGER NOT NULL REFERENCES state,
    PRIMARY KEY (state_id, neighbour_id)
) WITHOUT ROWID;

CREATE TABLE town (
    town_id INTEGER PRIMARY KEY AUTOINCREMENT, state_id INTEGER NOT NULL REFERENCES state, name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,  -- city | town | village
    population INTEGER NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL, postcode TEXT NOT NULL,  -- its first digits
    node_id INTEGER NOT NULL REFERENCES node  -- the crossing in the middle
);

CREATE TABLE node (node_id INTEGER PRIMARY KEY AUTOINCREMENT, latitude REAL NOT NULL, longitude REAL NOT NULL);  -- a crossing or a bend

CREATE TABLE street (
    street_id INTEGER PRIMARY KEY AUTOINCREMENT, town_id INTEGER REFERENCES town,  -- none for what leads from town to town
    name TEXT NOT NULL, kind TEXT NOT NULL,  -- motorway (cars only) | road | main | street | path (not for cars)
    postcode TEXT NOT NULL,  -- empty for what has no addresses
    length INTEGER NOT NULL
);
CREATE INDEX street_by_town ON street (town_id, name);

CREATE TABLE edge (
    edge_id INTEGER PRIMARY KEY AUTOINCREMENT, street_id INTEGER NOT NULL REFERENCES street, start INTEGER NOT NULL,  -- metres along the street
    node_a INTEGER NOT NULL REFERENCES node, node_b INTEGER NOT NULL REFERENCES node, length INTEGER NOT NULL,
    UNIQUE (node_a, node_b)
);
CREATE INDEX edge_by_street ON edge (street_id, start);

CREATE TABLE place (
    place_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, category TEXT NOT NULL,  -- a name of categories.CATEGORIES
    brand TEXT NOT NULL,  -- the chain, or empty
    street_id INTEGER NOT NULL REFERENCES street, number INTEGER NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL,
    edge_id INTEGER NOT NULL REFERENCES edge, metres INTEGER NOT NULL,  -- where its door is: that far along the edge
    phone TEXT NOT NULL, website TEXT NOT NULL,  -- empty when not known
    weekdays TEXT NOT NULL, saturday TEXT NOT NULL, sunday TEXT NOT NULL  -- 09:00-17:00 | closed | open all day
);
CREATE INDEX place_by_category ON place (category);
CREATE INDEX place_by_street ON place (street_id, number);

CREATE TABLE place_detail (
    place_id INTEGER NOT NULL REFERENCES place, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (place_id, name)
) WITHOUT ROWID;

CREATE TABLE saved_place (
    user_id INTEGER NOT NULL REFERENCES user, place_id INTEGER NOT NULL REFERENCES place, note TEXT NOT NULL, saved_at TEXT NOT NULL,
    PRIMARY KEY (user_id, place_id)
) WITHOUT ROWID;

CREATE TABLE map_note (
    note_id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL REFERENCES user, latitude REAL NOT NULL, longitude REAL NOT NULL,
    text TEXT NOT NULL, status TEXT NOT NULL,  -- open | resolved
    created_at TEXT NOT NULL
);

CREATE TABLE note_comment (
    comment_id INTEGER PRIMARY KEY AUTOINCREMENT, note_id INTEGER NOT NULL REFERENCES map_note, user_id INTEGER NOT NULL REFERENCES user,
    text TEXT NOT NULL, created_at TEXT NOT NULL
);

CREATE TABLE suggestion (  -- how somebody thinks that a place should read
    suggestion_id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL REFERENCES user, place_id INTEGER NOT NULL REFERENCES place,
    field TEXT NOT NULL, value TEXT NOT NULL, comment TEXT NOT NULL, status TEXT NOT NULL,  -- waiting | withdrawn
    created_at TEXT NOT NULL
);

-- What visits leave behind, and what only follows from other changes (see ../changes.py).
-- incidental: session
-- incidental: *.*_at
-- incidental: +suggestion WHERE status = 'withdrawn'
