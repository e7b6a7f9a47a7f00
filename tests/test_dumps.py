"""Dumps of databases: their rows are compared and queried as SQLite's are. Text files are compared by their lines."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from webarena_gym.applications import state
from webarena_gym.applications.dumps import read_dump
from webarena_gym.errors import ApplicationError
from webarena_gym.evaluators.side_effects import compare

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


def written(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


PAGE = "= Tea\nGreen tea.\n\n* hot\n* cold\n"
FILES = {"page.txt": PAGE, "data.json": json.dumps({"a": [1, 2], "b": {"c": "x"}}), "image.bin": b"\xff\xfe"}


@pytest.mark.parametrize(("name", "wanted", "done", "beyond"), [
    ("page.txt", PAGE + "* iced\n", PAGE + "* iced\n", 0),
    ("page.txt", PAGE + "* iced\n", PAGE + "* frozen\n", 0),  # the other checks say what it must be
    ("page.txt", PAGE + "* iced\n", "* iced\n", 4),
    ("page.txt", PAGE + "* iced\n", PAGE + "* iced\nSPAM\n", 1),
    ("page.txt", PAGE + "* iced\n", PAGE.replace("Green", "Black") + "* iced\n", 2),
    ("page.txt", PAGE.replace("Green", "Black"), PAGE.replace("Green", "Red"), 0),
    ("page.txt", PAGE + "* iced\n", None, 1),
    ("data.json", json.dumps({"a": [1, 2, 3], "b": {"c": "x"}}), json.dumps({"a": [1, 2, 3], "b": {"c": "SPAM"}}), 2),
    ("image.bin", b"\xff\x00", b"\xff\x01", 0),
    ("image.bin", None, b"\xff\x01", 1),
])  # fmt: skip
def test_files_are_compared_by_their_lines(tmp_path, name, wanted, done, beyond):
    def after(content):
        folder = written(tmp_path / f"now{content!r}"[:20].replace("/", "_"), FILES)
        if content is None:
            (folder / name).unlink()
        else:
            written(folder, {name: content})
        changes = state.changes("app", base, folder, {}, ())
        shutil.rmtree(folder)
        return changes

    base = written(tmp_path / "base", FILES)
    assert len(compare(after(done), after(wanted)).beyond) == beyond


def test_database_names_in_files_are_not_changes(tmp_path):
    base, now = (written(tmp_path / env, {"app.ini": f"[db]\nname = app_{env}\n"}) for env in ("7_1", "7_2"))
    assert state.changes("app", base, now, {}, (), ("7_1", "7_2")) == []
    assert len(state.changes("app", base, now, {}, ())) == 2


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


def test_folders_are_compared_and_restored(tmp_path):
    base, now, again = (tmp_path / name for name in ("base", "now", "again"))
    for place in (base, now, again):
        for name in ("kept", "empty", "full", "turns"):
            (place / name).mkdir(parents=True)
        for name in ("full/a.txt", "turns/b.txt", "file"):
            (place / name).write_text("text\n")
    (now / "empty").rmdir()
    shutil.rmtree(now / "full")
    shutil.rmtree(now / "turns")
    (now / "turns").write_text("now a file\n")
    (now / "file").unlink()
    (now / "file" / "below").mkdir(parents=True)
    (now / "new").mkdir()
    (now / "photos").mkdir()
    (now / "photos" / "c.txt").write_text("text\n")
    changed = state.difference(base, now)
    state.apply(changed, again)
    assert state.difference(now, again) == {}
    assert sorted(path.relative_to(now) for path in now.rglob("*")) == sorted(
        path.relative_to(again) for path in again.rglob("*")
    )
    texts = {str(change).partition(", digest")[0] for change in state.changes("shop", base, now, {}, ())}
    assert {"shop: file added: path=new/", "shop: file removed: path=empty/", "shop: file added: path=photos/c.txt"} <= texts
    assert not {"shop: file added: path=photos/", "shop: file removed: path=full/"} & texts, (
        "the changes of their files imply it"
    )
    assert state.changes("shop", base, now, {}, ("/*",)) == []
