"""Pages of the encyclopedia: articles, search, histories, edits, watchlist and accounts."""

import re
from urllib.parse import quote

import pytest

from tests.generated import column, content
from tests.visitors import Visitor
from webarena_gym.observation import observe
from webarena_gym.sites.country.geography import country
from webarena_gym.sites.wikipedia.markup import html, path, sections
from webarena_gym.sites.wikipedia.site import snippet


class Reader(Visitor):
    """Somebody who reads the encyclopedia of world 1."""

    def __init__(self, *, signed_in=False):
        super().__init__("wiki.test", "wikipedia", content("wikipedia", 1))
        if signed_in:
            self.use_session(self.value("SELECT session_id FROM session"))


@pytest.fixture
def reader(opened):
    return opened(Reader())


@pytest.fixture
def member(opened):
    return opened(Reader(signed_in=True))


def test_markup_becomes_html_and_snippets_show_what_was_found():
    for text, expected in (
        ("A <b> & [[Dorim]].\n\nNext", '<p>A &lt;b&gt; &amp; <a href="/wiki/Dorim">Dorim</a>.</p>\n<p>Next</p>'),
        ("* one\n* [[Nowhere|two]]", '<ul>\n<li>one</li>\n<li><a href="/wiki/Nowhere" class="missing">two</a></li>\n</ul>'),
        ("! a | b\n| [[Dorim|x]] | 2",
         '<div class="scroll"><table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td><a href="/wiki/Dorim">x</a></td><td>2</td></tr>\n</table></div>'),
        ("[[]] [[ | ]] ]] [[", '<p>[[]] <a href="/wiki/" class="missing"> </a> ]] [[</p>'),
    ):  # fmt: skip
        assert html(text, lambda title: title == "Dorim") == expected
    assert html('[[" onclick="x]]', lambda _: False).count('"') == 4
    text = "The beginning. " * 20 + "Here is the lighthouse of old. " + "And so on. " * 40
    assert "lighthouse" in snippet(text, "LIGHTHOUSE")
    assert snippet(text, "lighthouse").startswith("... ")
    assert snippet("Short (text).", "(") == "Short (text)."


def test_an_article_shows_its_facts_and_every_link_of_the_main_page_leads_somewhere(reader):
    labels = [label for label in observe(reader.browser.page(), elements="label", window=10**6).nodes if label[0].isupper()]
    for label in labels:
        if label not in ("Search Lexandria", "Search"):
            assert reader.open("/").click(label).browser.page().root.findtext(".//h1") not in (None, "No such page")
    town = country(1).towns[0]
    assert reader.open(path(town.name)).title == f"{town.name} - Lexandria"
    reader.sees(f"<td>{town.population:,}</td>", "<h2>Contents</h2>", "<a>Geography</a>", "<a>Towns</a>")
    assert reader.click(town.state).path == path(town.state)


def test_the_search(reader):
    title = reader.value("SELECT title FROM article WHERE kind = 'film' ORDER BY title")
    reader.open("/").type(Search_Lexandria=title.upper()).click("Search").at(path(title))
    reader.open(f"/search?search={quote(title)}&fulltext=1")
    assert "articles for:" in reader.text or "article for:" in reader.text
    reader.open("/search?search=festival+film")  # articles with all words, titles first
    found = re.findall(r"^<a>(.*Film Festival)</a>$", reader.text, re.MULTILINE)
    assert found == column(reader.db, "SELECT title FROM article WHERE title LIKE '%Film Festival'")
    assert "No article holds all of" in reader.open("/search?search=100%25_").text
    assert "Enter what to search for." in reader.open("/search?search=++").text
    first = reader.open("/search?search=the").text
    assert reader.click("Next page").at("/search?search=the&page=2").text != first
    assert "Page 1 of" in reader.click("Previous page").text
    for page in ("-3", "9" * 20):
        assert "Page 1 of" in reader.open(f"/search?search=the&page={page}").text


def test_other_names_last_names_categories_and_the_index_lead_to_articles(reader):
    team = country(1).teams[0].name
    for address, is_told in ((f"/wiki/{team.split()[-1]}", True), (path(team).lower(), False)):
        assert reader.open(address).path == path(team)
        assert ("Redirected from" in reader.text) == is_told
    last = reader.value("SELECT title FROM article WHERE kind = 'disambiguation' ORDER BY title")
    people = column(reader.db, "SELECT target FROM link JOIN article USING (article_id) WHERE title = ?", last)
    assert len(people) >= 4
    reader.open(path(last))
    assert all(person in reader.text for person in people)
    reader.open("/categories").click("Next page", "Universities").at("/wiki/Category:Universities")
    reader.sees("This category has 6 pages.").open("/wiki/Category:No_such")
    assert reader.browser.page().root.findtext(".//h1") == "No such page"
    reader.open("/contents").click("Contents A-Z", "0-9")
    assert set(re.findall(r"^<a>(\d{4}) ", reader.text, re.MULTILINE)) != set()
    assert "No article begins with this letter." in reader.click("X").text


def test_backlinks_page_information_and_old_revisions(reader):
    university = reader.value("SELECT title FROM article WHERE kind = 'university' ORDER BY title")
    links = reader.value("SELECT count(*) FROM link WHERE target = ?", university)
    reader.open(path(university)).click("What links here").sees(f"{links} pages link here")
    reader.click("Page information").sees(f"<td>{links}</td>", "<th>Created by</th>")
    article = reader.value("SELECT article_id FROM revision GROUP BY 1 HAVING count(*) = 3 ORDER BY 1")
    title = reader.value("SELECT title FROM article WHERE article_id = ?", article)
    oldest = reader.value("SELECT min(revision_id) FROM revision WHERE article_id = ?", article)
    assert reader.open(path(title)).click("View history").text.count(" characters</td>") == 3
    reader.open(f"{path(title)}?oldid={oldest}").sees("This is an old revision")
    assert "No such page" in reader.open(f"{path(title)}?oldid=999999").text


def test_reading_needs_no_account_but_writing_does(reader):
    title = country(1).name
    reader.open(path(title)).lacks("Add to watchlist").click("Edit").at("/login")
    reader.type(Username_or_email=reader.value("SELECT username FROM user"), Password="wrong").click("Sign in [2]")
    reader.sees("is not correct").type(Password="lexandria1").click("Sign in [2]").at(f"/edit/{title}")


def test_an_edit_becomes_a_revision(member):
    title = country(1).landmarks[0].name
    member.open(path(title)).click("Edit")
    member.type(Text="A <school> by [[Nowhere]].\n\nSecond.", Summary_of_the_change="  shorter ").click("Save changes")
    member.at(path(title)).sees("Your edit was saved.", "A &lt;school> by")
    row = member.db.execute("SELECT * FROM revision ORDER BY revision_id DESC").fetchone()
    now = member.value("SELECT value FROM world WHERE key = 'now'")
    assert (row["user_id"], row["summary"], row["created_at"]) == (1, "shorter", now)
    assert row["text"].startswith("A <school> by [[Nowhere]].\n\nSecond.\n\n== History ==")
    member.holds(1, "SELECT count(*) FROM link WHERE target = 'Nowhere'").click("View history").sees("shorter")
    title = country(1).landmarks[1].name  # a section is edited alone
    before = sections(member.value("SELECT text FROM page WHERE title = ?", title))
    member.open(path(title)).click("Edit section History").type(Text="Long ago.").click("Save changes")
    after = sections(member.value("SELECT text FROM page WHERE title = ?", title))
    assert after == [before[0], ("History", "Long ago."), *before[2:]]


def test_edits_that_are_refused(member):
    before = member.value("SELECT count(*) FROM revision")
    for text, complaint in (("", "must not be empty"), ("x" * 20_001, "too long"), (None, "Nothing was changed")):
        member.open(path(country(1).landmarks[0].name)).click("Edit")
        if text is not None:
            member.type(Text=text)
        member.click("Save changes").sees(complaint).holds(before, "SELECT count(*) FROM revision")


def test_the_watchlist_and_preferences(member):
    title = country(1).landmarks[0].name
    member.open(path(title)).click("Add to watchlist").sees(f"{title} was added to your watchlist.")
    assert "You watch 4 pages." in member.click("Watchlist").text
    member.click(f"Stop watching {title}").at("/watchlist").holds(3, "SELECT count(*) FROM watch")
    assert "valid email" in member.click("Preferences").type(Email="nonsense").click("Save preferences").text
    member.type(Email="me@mail.test", Real_name="Me").click("Email me when a page on my watchlist changes", "Save preferences")
    assert member.rows("SELECT real_name, email, wants_mail FROM user WHERE user_id = 1") == [("Me", "me@mail.test", 1)]


def test_an_account_is_made(reader):
    reader.open("/create-account").type(Username="a b", Password="short").click("Create account [2]").sees("A username has")
    assert "A password has" in reader.text
    reader.type(Username="New.One", Password="long enough", Password_again="long enough").click("Create account [2]")
    reader.sees("Welcome, New.One.").holds("New.One", "SELECT username FROM user ORDER BY user_id DESC")
    assert "new.one" not in reader.click("Sign out").text.lower()


ODD = ("%00", "%FF", "<b>", "'", '"', "%", "..", "Category:", "x" * 3000, "\N{SNOWMAN}", "-1", "9" * 30, "a%2Fb", "[[x]]", "_")


@pytest.mark.parametrize("odd", ODD)
def test_odd_addresses_are_answered(member, odd):
    for place in ("wiki", "edit", "history", "info", "links", "user", "wiki/Category:"):
        member.open(f"/{place}/{odd}" if not place.endswith(":") else f"/{place}{odd}")
        assert member.browser.page().root.find(".//h1") is not None
    for query in ("search?search=", "contents?letter=", "categories?page=", "search?search=the&page=", "wiki/Towns?oldid="):
        member.open(f"/{query}{odd}")
        assert len(member.browser.page().root.findall(".//h1")) == 1
