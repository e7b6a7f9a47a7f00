"""Registration, profiles, blocked users and messages."""

from urllib.parse import quote

from tests.sites.reddit.visitor import MUSES, NOW


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
