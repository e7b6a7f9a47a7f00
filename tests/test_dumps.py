"""Dumps of databases: their rows are compared and queried as SQLite's are. Text files are compared by their lines."""

import sqlite3
from contextlib import closing

import pytest

from webarena_gym.applications import state
from webarena_gym.applications.dumps import read_dump
from webarena_gym.errors import ApplicationError

NUMBERS = ["1234567890123456.78", "0.12345678901234567890", "98765432109876543210", "9007199254740993", "10.00", "NaN", "2.5"]
ROWS = [
    (1, 'It\'s \\ "q"', "two\nlines; (x),(y)\t''", 1.5),
    (2, "NULL", None, None),
    (3, "", "\\N", -2.0),
    (4, "Größe, 'a')", ");\r\n", 0.25),
]
POSTGRESQL = r"""
\restrict BqoinIMgI7Cp41gUAibUJ9WTZBEPwXBf4DscCLzKfKasJcqfJ3c1cZBqycnfBbQ
SET client_encoding = 'UTF8';
CREATE TABLE public.note (
    id integer NOT NULL,
    title text NOT NULL,
    body character varying(99) DEFAULT 'a, b'::character varying,
    size numeric(5,2),
    CONSTRAINT positive CHECK ((id > 0))
);
ALTER TABLE public.note OWNER TO postgres;
CREATE TABLE other."Flag" (
    "Is on" boolean,
    "time" bigint
);
COPY other."Flag" ("Is on", "time") FROM stdin;
t	5
f	\N
\.
COPY public.note (id, title, body, size) FROM stdin;
1	It's \\ "q"	two\nlines; (x),(y)\t''	1.50
2	NULL	\N	\N
3		\\N	-2.00
4	Größe, 'a')	);\r\n	0.25
\.
ALTER TABLE ONLY public.note
    ADD CONSTRAINT note_pkey PRIMARY KEY (id);
"""
MYSQL = r"""
DROP TABLE IF EXISTS `note`;
CREATE TABLE `note` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `title` varchar(99) NOT NULL DEFAULT 'a,b',
  `body` text DEFAULT NULL,
  `size` decimal(5,2) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `t` (`title`),
  KEY `size` (`size`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO `note` VALUES
(1,'It\'s \\ \"q\"','two\nlines; (x),(y)\t\'\'',1.50),
(2,'NULL',NULL,NULL);
INSERT INTO `note` VALUES (3,'','\\N',-2.00),(4,'Größe, \'a\')',');\r\n',0.25);
"""


def rows(content, table="note"):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        return connection.execute(f'SELECT * FROM "{table}"').fetchall()


@pytest.mark.parametrize("dump", [POSTGRESQL, MYSQL], ids=["postgresql", "mysql"])
def test_a_dump_has_the_rows_of_its_tables(dump):
    content = read_dump(dump.encode())
    assert rows(content) == ROWS
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        assert connection.execute("SELECT name FROM pragma_table_info('note') WHERE pk").fetchall() == [("id",)]
    if dump is POSTGRESQL:
        assert rows(content, "other_Flag") == [(1, 5), (0, None)]


@pytest.mark.parametrize(("dump", "message"), [
    ("INSERT INTO public.note VALUES (1);", "with pg_dump, omit --inserts"),
    ("COPY public.note (id) FROM stdin;\n1\n\\.\n", "expected one of pg_dump"),
    (POSTGRESQL.replace("\tNULL\t", "\t"), "expected one of pg_dump"),
    (POSTGRESQL.partition("\n3\t\t")[0], "it ends within the rows of public.note"),
    (MYSQL.partition("  `body`")[0], "it ends within the table `note`"),
    (MYSQL.partition("(2,'NULL'")[0], "it ends within the rows of a table with the columns id, title, body, size"),
])  # fmt: skip
def test_another_dump_is_refused(dump, message):
    with pytest.raises(ApplicationError, match=message):
        read_dump(dump.encode())


def numbers_dump(path, numbers):
    names = [f"n{index}" for index in range(len(numbers))]
    columns = ",\n".join(f"    {name} numeric" for name in names)
    rows = "\t".join(numbers)
    path.write_text(f"CREATE TABLE public.t (\n{columns}\n);\nCOPY public.t ({', '.join(names)}) FROM stdin;\n{rows}\n\\.\n")
    return path


CHANGED = ["1234567890123456.74", "0.12345678901234567891", "98765432109876543211", "9007199254740992", "10.01", "0", "2.51"]


@pytest.mark.parametrize(("index", "number"), list(enumerate(CHANGED)))
def test_numbers_with_more_digits_than_a_float_are_compared_exactly(tmp_path, index, number):
    changed = [*NUMBERS[:index], number, *NUMBERS[index + 1 :]]
    base, now = numbers_dump(tmp_path / "base.sql", NUMBERS), numbers_dump(tmp_path / "now.sql", changed)
    assert state.database_changes("shop", base, base, ()) == []
    assert len(state.database_changes("shop", base, now, ())) == 1
    with closing(state.open_database(base)) as database:
        assert database.execute("SELECT n4 = 10, n6 > 2, n6 + 1, typeof(n3) FROM t").fetchone() == (1, 1, 3.5, "integer")
