CREATE TABLE person (name text PRIMARY KEY, email text);
CREATE TABLE ticket (id serial PRIMARY KEY, title text NOT NULL, done boolean DEFAULT false, owner text REFERENCES person, price numeric(6,2));
CREATE TABLE tag (ticket integer, tag text);
INSERT INTO person VALUES ('ann', 'ann@a.test'), ('bob', NULL);
INSERT INTO ticket (title, owner, price) VALUES ('Roof leaks', 'ann', 5), (E'Two\nlines', NULL, 7.25);
INSERT INTO tag VALUES (1, 'urgent'), (2, 'later');
