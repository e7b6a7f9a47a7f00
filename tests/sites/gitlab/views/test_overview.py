"""Profiles of users, snippets and the search."""

from tests.code_host import ANN, BO, CY


def test_people_are_followed_and_a_private_profile_shows_nothing_but_the_name(visitor):
    visitor.open("/cy-d").click("Follow")
    assert visitor.rows("SELECT followed_id FROM follow WHERE follower_id = ? ORDER BY 1", ANN) == [(BO,), (CY,)]
    assert visitor.click("Followers").titles == ["Ann Arbor"]
    assert visitor.click("Unfollow").rows("SELECT followed_id FROM follow WHERE follower_id = ?", ANN) == [(BO,)]
    assert visitor.post("/users/ann/follow").status_code == 400
    assert visitor.become(None).post("/users/ann/follow").status_code == 302
    visitor.become(ANN).open("/-/profile").click("Private profile", "Update profile settings")
    visitor.become(BO).open("/ann").sees("This user has a private profile.").lacks("Likes")
    assert visitor.status("/users/ann/starred") == 404
    assert visitor.become(ANN).status("/users/ann/starred") == 200


def test_profile_tabs_respect_visibility_and_paths_resolve_to_users_or_groups(visitor):
    assert visitor.open("/bo.cole").click("Personal projects").titles == []  # the only one is private
    assert visitor.open("/users/bo.cole/contributed").titles == ["Ann Arbor / site"]
    assert visitor.open("/users/bo.cole/snippets").titles == ["For all"]
    assert visitor.open("/users/ann/starred").titles == ["The Labs / tool"]
    text = visitor.open("/users/bo.cole/activity").text
    assert "Fix the link" in text
    assert "Secret plan" not in text
    visitor.open("/ann").sees("Ann Arbor").open("/labs").sees("The Labs")
    assert [visitor.status(path) for path in ("/nobody", "/users/nobody/activity")] == [404, 404]
    assert "Handle dates" not in visitor.become(None).open("/users/bo.cole/activity").text
    assert visitor.become(BO).open("/users/bo.cole/projects").titles == ["Bo Cole / secret"]


def test_snippets_can_be_created_edited_and_deleted_only_by_their_author(visitor):
    assert visitor.open("/explore/snippets").titles == ["For all", "Mine"]
    assert visitor.status("/-/snippets/3") == 404
    assert visitor.status("/-/snippets/2/edit") == 403
    assert visitor.post("/-/snippets/2/delete").status_code == 403
    assert "Title can't be blank." in visitor.click("New snippet", "Create snippet").text
    visitor.fill({"Title": "Sum", "Content": "  1 + 1\n"}).click("Public", "Create snippet").at("/-/snippets/4")
    assert visitor.value("SELECT content FROM snippet WHERE snippet_id = 4") == "  1 + 1\n"
    visitor.click("Edit snippet").fill({"File name (optional)": "sum.txt"}).click("Save changes")
    visitor.holds("sum.txt", "SELECT file_name FROM snippet WHERE snippet_id = 4").click("Delete snippet").at("/-/snippets")
    assert visitor.titles == ["Mine"]
    assert visitor.become(None).open("/-/snippets").at("/explore/snippets").titles == ["For all"]


def test_search_tabs_match_all_words_in_visible_items(visitor):
    visitor.fill({"Search Codeyard": "link"}).click("Search", "Issues").at("/search?search=link&scope=issues")
    assert visitor.titles == ["Dark mode", "Broken link"]
    for scope, text, found in (
        ("projects", "site", ["Ann Arbor / site"]), ("projects", "secret", []), ("issues", "link page", ["Broken link"]),
        ("issues", "hidden", ["Hidden door"]), ("merge_requests", "LINK", ["Repair the link"]),
        ("milestones", "beta", ["Beta"]), ("users", "bo", ["Ann Arbor", "Bo Cole"]), ("odd", "", []),
    ):  # fmt: skip
        assert visitor.open(f"/search?scope={scope}&search={text}").titles == found
