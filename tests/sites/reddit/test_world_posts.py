"""The forum's generator: the same integer gives the same bytes, and every world is consistent in itself."""

import json

from tests.generated import assert_nothing_shared, assert_sound, column, none, opened, value, worlds
from webarena_gym.sites.reddit.world_posts import LONGEST_TITLE, SIZES, capitalize, pool, slug

SEEDS = (7, 1, 1003)
db = worlds("reddit", SEEDS[1:])


def test_worlds_share_no_title_and_held_out_ones_no_user_with_others():
    assert_nothing_shared("reddit", SEEDS, "SELECT title FROM submission")
    train, held_out = (set(column(opened("reddit", seed), "SELECT lower(username) FROM user")) for seed in (1, 1003))
    assert train.isdisjoint(held_out)


def test_sizes_names_and_addresses(db):
    assert len(db.serialize()) < 6_000_000
    assert [value(db, f"SELECT count(*) FROM {table}") for table in ("forum", "submission", "session")] == [36, 700, 1]
    assert 2_000 < value(db, "SELECT count(*) FROM comment") < 4_000
    assert value(db, "SELECT count(*) FROM image") > 30
    assert 60 <= value(db, "SELECT count(DISTINCT user_id) FROM submission") <= SIZES["standard"].writers
    assert value(db, "SELECT min(n) FROM (SELECT count(*) AS n FROM submission GROUP BY forum_id)") > 10
    assert_sound(db)
    for table, name in (("user", "lower(username)"), ("forum", "lower(name)"), ("submission", "title")):
        none(db, f"SELECT {name} FROM {table} GROUP BY {name} HAVING count(*) > 1")
    for row in db.execute("SELECT title, slug FROM submission"):
        assert row["slug"] == slug(row["title"])
        assert len(row["title"]) <= LONGEST_TITLE
        assert row["title"] == capitalize(row["title"])
    assert value(db, "SELECT count(DISTINCT body) * 1.0 / count(*) FROM comment") > 0.97


def test_time_runs_forward(db):
    now = value(db, "SELECT value FROM world WHERE key = 'now'")
    for table in ("submission", "comment", "message"):
        moments = column(db, f"SELECT created_at FROM {table} ORDER BY rowid")
        assert moments == sorted(moments)
        assert moments[-1] < now
    none(db, "SELECT created_at FROM submission GROUP BY created_at HAVING count(*) > 1")
    none(db, "SELECT 1 FROM comment c JOIN submission s USING (submission_id) WHERE c.created_at <= s.created_at")
    none(db, "SELECT 1 FROM comment c JOIN comment p ON p.comment_id = c.parent_id WHERE c.created_at <= p.created_at")
    none(db, "SELECT 1 FROM submission s JOIN user u USING (user_id) WHERE s.created_at <= u.created_at")
    none(db, "SELECT 1 FROM submission s JOIN forum f USING (forum_id) WHERE s.created_at <= f.created_at")
    none(db, "SELECT 1 FROM comment c JOIN comment p ON p.comment_id = c.parent_id WHERE c.submission_id != p.submission_id")
    lately = "SELECT count(*) FROM submission WHERE created_at > (SELECT datetime(value, ?) FROM world WHERE key = 'now')"
    assert value(db, lately, "-1 day") > 30
    assert value(db, lately, "-1 year") < 600


def test_votes_are_counted_and_a_submission_has_a_link_or_a_picture_or_neither(db):
    for what in ("submission", "comment"):
        counted = "x.up = coalesce(sum(v.choice = 1), 0) AND x.down = coalesce(sum(v.choice = -1), 0)"
        none(db, f"SELECT 1 FROM {what} x LEFT JOIN {what}_vote v USING ({what}_id) GROUP BY {what}_id HAVING NOT ({counted})")
        own = f"SELECT 1 FROM {what}_vote v WHERE v.{what}_id = x.{what}_id AND v.user_id = x.user_id AND choice = 1"
        none(db, f"SELECT 1 FROM {what} x WHERE NOT EXISTS ({own})")
    assert 0.05 < value(db, "SELECT avg(down > up) FROM comment") < 0.3
    assert value(db, "SELECT max(up - down) FROM submission") > 80
    assert value(db, "SELECT min(up - down) FROM submission") < 0
    assert value(db, "SELECT count(*) FROM submission_vote WHERE user_id = 1") > 10
    none(db, "SELECT 1 FROM submission WHERE url IS NOT NULL AND image_id IS NOT NULL")
    none(db, "SELECT image_id FROM image EXCEPT SELECT image_id FROM submission")
    for kind in ("url IS NOT NULL", "image_id IS NOT NULL", "url IS NULL AND image_id IS NULL"):
        assert value(db, f"SELECT avg({kind}) FROM submission") > 0.03
    none(db, "SELECT 1 FROM submission WHERE url IS NULL AND image_id IS NULL AND body = ''")


def test_i_have_posts_comments_subscriptions_a_forum_lists_and_mail(db):
    assert value(db, "SELECT count(DISTINCT forum_id) FROM submission WHERE user_id = 1 AND state = 'visible'") == 6
    counts = {"submission": 6, "comment": 14, "subscription": 9, "moderator": 1, "hidden_submission": 3}
    assert {table: value(db, f"SELECT count(*) FROM {table} WHERE user_id = 1") for table in counts} == counts
    assert value(db, "SELECT biography FROM user WHERE user_id = 1")
    assert value(db, "SELECT count(*) FROM message WHERE NOT is_read AND sender_id != 1") == 1
    assert column(db, "SELECT data FROM session") == [json.dumps({"site": "reddit", "user_id": 1})]
    none(db, "SELECT 1 FROM user_block WHERE blocked_id IN (SELECT user_id FROM comment UNION SELECT user_id FROM submission)")


def test_every_title_holds_a_name_that_belongs_to_one_world():
    own = ("{town}", "{work}", "{device}", "{landmark}", "{team}")
    titles = [title for forum in [*pool()["forums"], pool()["town"]] for title in forum["titles"]]
    assert [title for title in titles if not any(name in title for name in own)] == []
