"""Submissions, comments, votes and moderation."""

import pytest
from werkzeug.test import Client

from tests.sites.reddit.visitor import MUSES, NOW

HOST = "http://forum.test"


def test_a_thread_shows_text_comments_scores_times_and_images(visitor):
    visitor.open(MUSES)
    visitor.sees("Nine & counting.", "3 hours ago", "Jun 10, 2023, 9:00:00 AM", "3 comments", "0 points", "-1 points")
    visitor.sees("Then say so.").open("/f/books/1").at(MUSES).open("/f/Space/1/other").at(MUSES)
    visitor.open("/f/BOOKS/new").at("/f/books/new").open("/f/books").sees("&lt;Be> kind.")
    visitor.open("/f/Space/3/comet-seen").sees("A comet over a lake", f"Image address: <a>{HOST}/submission_images/1.svg</a>")
    response = Client(visitor.app).get("/submission_images/1.svg")
    assert (response.status_code, response.mimetype) == (200, "image/svg+xml")
    assert visitor.open("/submission_images/2.svg").h1 == "Not Found"


def test_a_vote_is_taken_back_by_voting_again(emma):
    emma.open("/f/books").click("Upvote Who are the muses?").at("/f/books")
    emma.holds(1, "SELECT choice FROM submission_vote WHERE submission_id = 1 AND user_id = 1").sees("1 point")
    emma.click("Downvote Who are the muses?")
    assert emma.rows("SELECT up, down FROM submission WHERE submission_id = 1") == [(1, 2)]
    emma.click("Retract downvote of Who are the muses?")
    assert emma.rows("SELECT up, down FROM submission WHERE submission_id = 1") == [(1, 1)]
    emma.open(MUSES).click("Upvote Paul's comment", "Retract downvote of Zed's comment")
    assert emma.rows("SELECT comment_id, up, down FROM comment") == [(1, 2, 0), (2, 1, 0), (3, 1, 1)]


def test_commenting_answering_editing_and_deleting(emma):
    emma.open(MUSES).fill({"Comment": "Calliope, for one."}).click("Post").at(f"{MUSES}#comment_4")
    emma.click("Reply to Zed").fill({"Reply to Zed's comment": "Why?"}).click("Post")
    comments = emma.rows("SELECT parent_id, user_id, body, created_at, up FROM comment WHERE comment_id > 3")
    assert comments == [(None, 1, "Calliope, for one.", NOW, 1), (3, 1, "Why?", NOW, 1)]
    emma.open(f"{MUSES}/comment/4/edit").fill({"Comment": "Calliope."}).click("Save").sees("Your comment was edited.")
    assert emma.value("SELECT body FROM comment WHERE comment_id = 4") == "Calliope."
    emma.open(f"{MUSES}/comment/4").click("Delete comment")
    emma.holds("deleted", "SELECT state FROM comment WHERE comment_id = 4").lacks("Calliope")
    emma.open(MUSES).fill({"Comment": "  "}).click("Post").sees("must not be empty")


def test_deleted_comments_leave_gaps_and_long_chains_of_answers_go_on_elsewhere(emma):
    columns = "comment_id, submission_id, parent_id, user_id, body, created_at"
    chain = [(number, number - 1, f"Depth {number}.", NOW) for number in range(4, 30)]
    emma.db.executemany(f"INSERT INTO comment ({columns}) VALUES (?, 1, ?, 2, ?, ?)", chain)
    emma.open(MUSES).lacks("Depth 29.")
    emma.click("Continue this thread", "Continue this thread", "Continue this thread").sees("Depth 29.")
    emma.db.execute("UPDATE comment SET state = 'deleted' WHERE comment_id = 1")
    emma.open(MUSES).sees("[deleted]").lacks("I meant the poets.")
    emma.db.execute("UPDATE comment SET state = 'deleted' WHERE comment_id = 2")
    assert "[deleted]" not in emma.open(MUSES).text


def test_posting_text_a_link_and_a_picture(emma):
    emma.open("/f/quiet").click("Submit").fill({"Title": "  Silence, please ", "Body": "Thanks."}).click("Create submission")
    assert emma.path == "/f/quiet/7/silence-please"
    emma.open("/submit").fill({"URL": "https://a.example/b?c", "Title": "A link"}).choose("Forum", "Space")
    emma.click("Create submission").open("/submit/books").fill({"Title": "Comet", "Body": "from /f/Space"})
    emma.fill({"Image address": f"{HOST}/submission_images/1.svg"}).click("Create submission")
    assert emma.rows("SELECT forum_id, title, url, image_id, body, up FROM submission WHERE submission_id > 6") == [
        (3, "Silence, please", None, None, "Thanks.", 1),
        (2, "A link", "https://a.example/b?c", None, "", 1),
        (1, "Comet", None, 1, "from /f/Space", 1),
    ]


@pytest.mark.parametrize("typed, complaint", [
    ({"Title": ""}, "Title: this field must not be empty."),
    ({"Title": "x" * 301}, "300 at most"),
    ({"Title": "x", "URL": "javascript:alert(1)"}, "begins with http"),
    ({"Title": "x", "Image address": "http://evil.test/submission_images/1.svg"}, "no such picture"),
    ({"Title": "x", "Image address": "/submission_images/99.svg"}, "no such picture"),
    ({"Title": "x", "Image address": "/a.svg"}, "only pictures of this site"),
    ({"Title": "x", "URL": "https://a.example/", "Image address": "/submission_images/1.svg"}, "not both"),
])  # fmt: skip
def test_invalid_submissions_are_rejected(emma, typed, complaint):
    emma.open("/submit/books").fill(typed).click("Create submission").sees(complaint)
    assert emma.value("SELECT count(*) FROM submission") == 6
    emma.open("/submit").fill({"Title": "Nowhere"}).click("Create submission").sees("Forum: this field must not be empty.")


def test_editing_and_deleting_one_s_own_submission(emma):
    emma.open("/f/books/2/my-reading-list").click("Edit").fill({"Body": "One book.\nAnd another."}).click("Save")
    assert emma.rows("SELECT body, edited_at FROM submission WHERE submission_id = 2") == [("One book.\nAnd another.", NOW)]
    emma.click("Delete").at("/f/books")
    assert "My reading list" not in emma.names
    assert emma.open("/f/books/2/my-reading-list").h1 == "Not Found"


def test_content_of_others_cannot_be_changed(visitor):
    visitor.sign_in(3)
    for path in ("/f/books/2/my-reading-list/edit", f"{MUSES}/comment/1/edit", "/f/books/edit", "/user/Emma/account"):
        assert visitor.open(path).h1 == "Forbidden"
    assert visitor.open("/f/books/6/buy-my-pills").h1 == "Buy my pills"  # its author may see it
    assert visitor.sign_in(2).open("/f/books/6/buy-my-pills").h1 == "Not Found"
    before = visitor.db.serialize()
    for path in (
        "/f/books/2/my-reading-list/delete", f"{MUSES}/comment/2/delete", f"{MUSES}/comment/2/remove", "/submission/1/lock",
        "/f/books/moderators", "/user/Emma/edit_biography", "/messages/99", "/f/books/edit", "/vote/submission/6",
    ):  # fmt: skip
        assert visitor.post(path, biography="x", username="Zed", choice="1").status_code in (403, 404), path
    assert visitor.post("/vote/submission/1", choice="7").status_code == 400
    assert visitor.post("/user/Paul/block").status_code == 403
    assert visitor.db.serialize() == before


def test_moderation_actions_and_locked_submissions(emma):
    emma.open(MUSES).click("Lock", "Make sticky")
    assert emma.rows("SELECT is_locked, is_sticky FROM submission WHERE submission_id = 1") == [(1, 1)]
    emma.click("Unlock", "Make not sticky", "Remove")
    assert emma.rows("SELECT state, is_locked, is_sticky FROM submission WHERE submission_id = 1") == [("removed", 0, 0)]
    assert "Who are the muses?" not in emma.open("/f/books").names
    emma.open(MUSES).click("Restore", "Remove Zed's comment").holds("removed", "SELECT state FROM comment WHERE comment_id = 3")
    emma.click("Moderators").fill({"Username": "nobody"}).click("Add moderator").sees("no user of this name")
    emma.fill({"Username": "zed"}).click("Add moderator")
    assert emma.rows("SELECT user_id FROM moderator WHERE forum_id = 1") == [(1,), (3,)]
    emma.open("/f/Space/4/launch-delayed").sees("This submission is locked.")
    assert emma.post("/f/Space/4/launch-delayed/comment", comment="Hello?").status_code == 200
    assert emma.value("SELECT count(*) FROM comment WHERE submission_id = 4") == 0
