"""Lists of forums and of submissions, subscriptions, search and settings of forums."""

from tests.sites.reddit.visitor import NOW


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
