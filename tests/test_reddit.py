"""The forum, used as a person would: by its labels, in the in-process browser, judged by what is in the database."""

from urllib.parse import quote

import pytest
from werkzeug.test import Client

from tests.visitors import Visitor, rows_of, small_database

HOST = "http://forum.test"
NOW = "2023-06-10 12:00:00"
MUSES = "/f/books/1/who-are-the-muses"


@pytest.fixture(scope="module")
def base() -> bytes:
    return small_database("reddit", rows_of("forum_of_emma")).serialize()


class ForumVisitor(Visitor):
    """Somebody in the forum."""

    def __init__(self, base: bytes) -> None:
        super().__init__("forum.test", "reddit", base)

    def sign_in(self, user_id: int = 1) -> "ForumVisitor":
        return super().sign_in(user_id=user_id)

    @property
    def h1(self) -> str:
        (heading,) = self.browser.page().root.iter("h1")
        return heading.text_content()

    @property
    def names(self) -> list[str]:
        """The submissions of the list, in order."""
        return [link.text_content() for link in self.browser.page().root.cssselect("article.card h2 a")]


@pytest.fixture
def visitor(base: bytes, opened) -> ForumVisitor:
    return opened(ForumVisitor(base))


@pytest.fixture
def emma(visitor: ForumVisitor) -> ForumVisitor:
    return visitor.sign_in()


def test_guests_see_all_forums_and_members_their_own(visitor):
    assert visitor.h1 == "All forums"
    assert len(visitor.names) == 5
    visitor.db.execute("DELETE FROM subscription WHERE user_id = 1 AND forum_id = 2")
    assert visitor.sign_in().h1 == "Subscribed forums"
    visitor.lists("Who are the muses?", "My reading list", "Rules of books").click("All")
    assert len(visitor.names) == 5
    visitor.click("Moderated").at("/moderated")
    assert "Comet seen" not in visitor.names


def test_orders_of_a_forum(visitor):
    visitor.open("/f/books")
    assert visitor.names[0] == "Rules of books"  # sticky
    visitor.click("New").lists("Who are the muses?", "My reading list", "Rules of books")
    visitor.open("/all").click("Top").at("/all/top").lists("Who are the muses?")
    visitor.click("Month").lists("Comet seen", "My reading list", "Who are the muses?").click("All time").at("/all/top?t=all")
    assert visitor.names[-1] == "Launch delayed"
    assert visitor.click("Most commented", "All time").names[0] == "Who are the muses?"
    assert visitor.click("Controversial", "All time").names[:2] == ["Launch delayed", "Who are the muses?"]
    assert visitor.click("Active").names[0] == "Who are the muses?"


def test_lists_are_cut_into_pages_that_keep_their_order(visitor):
    columns, values = "forum_id, user_id, title, slug, body, created_at", "3, 2, ?, '-', '', '2023-01-01 00:00:00'"
    insertion = f"INSERT INTO submission ({columns}) VALUES ({values})"
    visitor.db.executemany(insertion, [(f"Number {n:02d}",) for n in range(60)])
    assert visitor.open("/f/quiet/top?t=all").names[0] == "Number 59"
    assert visitor.click("Next", "Next").at("/f/quiet/top?t=all&p=3").names[-1] == "Number 00"
    assert "Page 3 of 3" in visitor.click("Previous").open("/f/quiet/top?t=all&p=99").text


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
def test_what_cannot_be_posted(emma, typed, complaint):
    emma.open("/submit/books").fill(typed).click("Create submission").sees(complaint)
    assert emma.value("SELECT count(*) FROM submission") == 6
    emma.open("/submit").fill({"Title": "Nowhere"}).click("Create submission").sees("Forum: this field must not be empty.")


def test_editing_and_deleting_one_s_own_submission(emma):
    emma.open("/f/books/2/my-reading-list").click("Edit").fill({"Body": "One book.\nAnd another."}).click("Save")
    assert emma.rows("SELECT body, edited_at FROM submission WHERE submission_id = 2") == [("One book.\nAnd another.", NOW)]
    emma.click("Delete").at("/f/books")
    assert "My reading list" not in emma.names
    assert emma.open("/f/books/2/my-reading-list").h1 == "Not Found"


def test_what_belongs_to_others_is_refused(visitor):
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


def test_guests_are_asked_to_log_in_led_back_and_may_sign_up(visitor):
    visitor.open("/f/books").click("Upvote My reading list").at("/login")
    visitor.fill({"Username": "emma", "Password": "wrong"}).click("Log in [2]").sees("not correct")
    visitor.fill({"Username": "emma", "Password": "secret-1"}).click("Log in [2]").at("/f/books").click("Log out")
    visitor.open("/messages").at("/login").open("/submit/books").at("/login")
    passwords = {"Password": "long-enough", "Repeat password": "long-enough"}
    visitor.click("Sign up").fill({"Username": "paul", "Email": "p@mail.test", **passwords}).click("Sign up [2]")
    assert "this name is taken" in visitor.text
    visitor.fill({"Username": "Paula", "Password": "long-enough", "Repeat password": "other"}).click("Sign up [2]")
    visitor.sees("not the same").fill(passwords).click("Sign up [2]").sees("Welcome to Plaza, Paula!")
    assert visitor.rows("SELECT username, email FROM user WHERE user_id > 3") == [("Paula", "p@mail.test")]


def test_subscribing_leads_back_to_this_site_only(emma):
    emma.open("/f/Space").click("Unsubscribe from Space").at("/f/Space").sees("2 subscribers")
    emma.click("Forums").click("Subscribe to quiet").at("/forums")
    assert emma.rows("SELECT forum_id FROM subscription WHERE user_id = 1") == [(1,), (3,)]
    for address, place in (("//evil.test/", "/f/quiet"), ("/forums", "/forums")):
        assert emma.post("/f/quiet/subscribe", return_url=address).location == place


def test_finding_forums_and_searching(visitor):
    def names():
        return [link.text_content() for link in visitor.browser.page().root.cssselect("ul.forums h2 a")]

    visitor.click("Forums")
    assert names() == ["quiet", "books", "Space"]  # by title
    visitor.click("By subscribers")
    assert names() == ["Space", "books", "quiet"]
    visitor.click("By submissions")
    assert names() == ["books", "Space", "quiet"]
    visitor.open("/forums?q=READ")
    assert names() == ["quiet", "books"]
    visitor.click("Tags", "science")
    assert names() == ["Space"]
    assert visitor.open("/forums?q=%25").sees("No forum fits").open("/tag/none").h1 == "Not Found"
    visitor.fill({"Search query": "COMET seen"}).click("Search").lists("Comet seen")
    visitor.open("/search?q=poets").sees("I meant the poets.").open("/search?q=pau").click("Paul").at("/user/Paul")
    visitor.open("/search?q=Space").click("Space").at("/f/Space").open("/search?q=%25").sees("No submission and no comment")
    visitor.open("/search?q=pills").lists().open("/search?q=").sees("Type some words")


def test_making_and_changing_a_forum(emma):
    emma.click("Create forum").fill({"Name": "BOOKS", "Title": "t", "Description": "d", "Sidebar": "s"}).click("Create forum")
    assert "already a forum of this name" in emma.text
    emma.fill({"Name": "no blanks", "Forum tags": "<b>"}).click("Create forum").sees("letters, digits and underscores")
    assert "Forum tags: 10 words at most" in emma.text
    emma.fill({"Name": "sea_air", "Title": "Sea Air", "Description": "Salt.", "Sidebar": "Waves\nWind"})
    emma.fill({"Forum tags": "Nature, sea"}).click("Create forum").at("/f/sea_air")
    forum = emma.rows("SELECT name, title, description, sidebar, created_at FROM forum WHERE forum_id = 4")
    assert forum == [("sea_air", "Sea Air", "Salt.", "Waves\nWind", NOW)]
    assert emma.rows("SELECT tag FROM forum_tag WHERE forum_id = 4") == [("nature",), ("sea",)]
    emma.click("Edit forum").fill({"Description": "Salt & sun."}).click("Save changes").at("/f/sea_air/edit")
    emma.open("/f/sea_air").sees("Salt & sun.").holds(1, "SELECT count(*) FROM subscription WHERE forum_id = 4 AND user_id = 1")


def test_what_moderators_do_and_a_locked_submission_takes_no_comments(emma):
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


def test_profiles_biographies_and_settings(emma):
    emma.open(MUSES).click("Paul").at("/user/Paul").sees("I meant the poets.")
    emma.click("Submissions (2)").lists("Who are the muses?", "Comet seen").click("Comments (1)").sees("1 point")
    assert (emma.open("/user/paul").h1, emma.open("/user/Nobody").h1) == ("Paul", "Not Found")
    emma.click("Emma", "Edit biography").fill({"Biography": "Writes <now>."}).click("Save").at("/user/Emma")
    assert "Writes &lt;now>." in emma.text
    emma.click("Account settings").fill({"Email": "e@mail.test"}).choose("Night mode", "On").choose("Front page", "All forums")
    emma.click("Save changes")
    account = emma.rows("SELECT biography, email, password, night_mode, front_page FROM user WHERE user_id = 1")
    assert account == [("Writes <now>.", "e@mail.test", "secret-1", "on", "all")]
    assert emma.open("/").h1 == "All forums"
    emma.open("/user/Emma/account").fill({"Email": "none", "New password": "short"}).click("Save changes")
    emma.sees("this is no email address", "8 characters or more")


def test_blocking_and_hiding_take_off_lists_until_they_are_undone(emma):
    emma.open("/user/Paul").click("Block Paul")
    assert "Comet seen" not in emma.open("/all").names
    emma.open(MUSES).sees("[a comment by somebody you have blocked]").open("/search?q=muses").lists()
    emma.open("/user/Paul/compose_message").fill({"Message": "Hi"}).click("Send message").sees("You have blocked this user.")
    emma.click("Emma", "Block list", "Unblock Paul")
    assert "Comet seen" in emma.open("/all").names
    emma.db.execute("INSERT INTO user_block VALUES (2, 1, ?)", (NOW,))
    emma.open("/messages/1").fill({"Message": "Hi"}).click("Reply").sees("does not take messages from you")
    emma.db.execute("DELETE FROM user_block")
    emma.open(MUSES).click("Hide").at(MUSES)
    assert "Who are the muses?" not in emma.open("/f/books").names
    emma.click("Emma", "Hidden submissions", "Unhide Who are the muses?").at("/user/Emma/hidden_submissions")
    assert "Who are the muses?" in emma.open("/f/books").names


def test_messages(emma):
    emma.click("Messages (1)").sees("1 unread")
    emma.click("Conversation with Paul").sees("Hello &lt;Emma>").holds(1, "SELECT is_read FROM message")
    emma.fill({"Message": "Hello Paul"}).click("Reply")
    emma.open("/user/Zed").click("Send message").fill({"Message": "Hi Zed"}).click("Send message").at("/messages/2")
    sent = emma.rows("SELECT thread_id, sender_id, body FROM message WHERE message_id > 1")
    assert sent == [(1, 1, "Hello Paul"), (2, 1, "Hi Zed")]
    assert emma.sign_in(3).sees("Messages (1)").open("/messages/1").h1 == "Not Found"


ODD = ("", " ", "x" * 5000, "<script>alert(1)</script>", "'; DROP TABLE user; --", "-1", "0", "9" * 30, "\u00e9\u6f22\U0001f600\u202e", "a\x00b", "%",
       "\ud800")  # fmt: skip


def test_odd_addresses_and_texts_are_answered_without_a_failure(emma):
    for text in ODD:
        part = quote(text, safe="", errors="surrogatepass") or "-"
        for path in (
            f"/f/{part}", f"/f/books/{part}", f"/f/books/1/{part}", f"/user/{part}", f"/user/{part}/comments", f"/tag/{part}",
            f"/search?q={part}", f"/forums?q={part}&p={part}", f"/all/top?t={part}&p={part}", f"/submit/{part}", f"/{part}",
            f"/messages/{part}", f"/user/{part}/compose_message", f"/submission_images/{part}.svg", f"{MUSES}/comment/{part}",
        ):  # fmt: skip
            assert emma.open(path).browser.page().root.cssselect("script") == []
    texts = ("name", "title", "description", "sidebar", "tags")
    forms = {
        "/submit": ("title", "body", "url", "image", "forum"), f"{MUSES}/comment": ("comment",), f"{MUSES}/comment/1": ("comment",),
        "/create_forum": texts, "/f/books/edit": texts, "/f/books/moderators": ("username",), "/messages/1": ("message",),
        "/user/Emma/edit_biography": ("biography",), "/user/Paul/compose_message": ("message",), "/vote/submission/1": ("choice",),
        "/user/Emma/account": ("email", "night_mode", "front_page", "password", "password_confirmation"),
        "/vote/comment/1": ("choice",), "/submission/1/hide": ("return_url",), "/user/Paul/block": ("return_url",),
        "/login": ("username", "password"), "/registration": ("username", "email", "password", "password_confirmation"),
    }  # fmt: skip
    for path, names in forms.items():
        assert emma.post(path).status_code < 500
        for text in ODD:
            assert emma.post(path, **dict.fromkeys(names, text)).status_code < 500
    for path in ("/", MUSES, "/f/books", "/forums", "/user/Emma", "/messages"):
        assert emma.open(path).browser.page().root.cssselect("script") == []
