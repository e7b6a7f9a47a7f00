"""Rows of new worlds."""

from datetime import datetime

from webarena_gym.sites.country.seeding import insert


def test_rows_are_inserted_whole_or_by_columns_with_times_as_text(database):
    db = database.connection
    insert(db, "note", [(1, "a", datetime(2023, 3, 5, 10))])
    insert(db, "note", iter([("b",)]), "(text)")
    insert(db, "note", [])
    assert [tuple(row) for row in db.execute("SELECT * FROM note")] == [(1, "a", "2023-03-05 10:00:00"), (2, "b", None)]
