"""Accounts: sign-in, profile, keys, tokens and to-dos."""

from tests.code_host import ANN, BO, NOW

TOKENS = "/-/profile/personal_access_tokens"


def me(visitor, columns):
    return visitor.rows(f"SELECT {columns} FROM user WHERE user_id = ?", ANN)[0]


def test_signing_in_takes_a_username_or_an_email_and_an_account_is_made(visitor):
    visitor.become(None).open("/users/sign_in").fill({"Username or email": "ANN", "Password": "wrong"}).click("Sign in [2]")
    visitor.sees("Invalid login or password.").fill({"Password": "secret-ann"}).click("Sign in [2]").at("/")
    visitor.click("Sign out").at("/users/sign_in").lacks("Sign out")
    visitor.open("/users/sign_up").fill({"Full name": "Eve Ek", "Username": "labs", "Email": "nowhere", "Password": "short"})
    visitor.click("Register [2]")
    visitor.sees("Username has already been taken.", "Email must be a valid address", "Password is too short")
    visitor.fill({"Username": "eve", "Email": "eve@mail.test", "Password": "long enough"}).click("Register [2]")
    assert visitor.rows("SELECT username, name, created_at FROM user WHERE user_id = 5") == [("eve", "Eve Ek", NOW)]
    assert visitor.click("My profile").path == "/eve"


def test_some_usernames_and_websites_are_refused(visitor):
    for website in ("javascript:alert(1)", "no site", "http://", "x" * 300, "<b>.org"):
        assert visitor.post("/-/profile", name="Ann", website=website).status_code == 200
        assert me(visitor, "name, website") == ("Ann Arbor", "")
    for name in ("", "a", "-ab", "ab.", "a b", "dashboard", "ANN", "labs", "ä" * 3, "x" * 65):
        assert visitor.become(ANN).post("/-/profile/account", username=name).status_code == (302 if name == "ANN" else 200)
        assert visitor.become(BO).post("/-/profile/account", username=name).status_code == 200


def test_username_changes_move_projects_and_password_changes_need_the_old_one(visitor):
    visitor.open("/-/profile/account").fill({"Username": "ann.a"}).click("Update username")
    assert [visitor.status(path) for path in ("/ann.a/site", "/ann/site", "/ann.a")] == [200, 404, 200]
    wrong = {"Current password": "x", "New password": "1234567", "Password confirmation": "2"}
    visitor.open("/-/profile/password/edit").fill(wrong).click("Save password")
    visitor.sees("Current password is not right.", "8 to 128 characters", "is not the same")
    assert me(visitor, "password") == ("secret-ann",)
    new = {"new_password": "12345678", "password_confirmation": "12345678"}
    visitor.post("/-/profile/password/edit", current_password="secret-ann", **new)
    assert me(visitor, "password") == ("12345678",)


def test_a_profile_is_changed_and_shown(visitor):
    visitor.open("/-/profile").fill({"Status message (optional)": "Enjoying life", "Website (optional)": "ann.example"})
    visitor.fill({"Location (optional)": "Rome", "Job title (optional)": "Baker", "Organization (optional)": "Oven & Co"})
    visitor.choose("Status emoji", "rocket").click("Busy", "Update profile settings", "My profile")
    text = visitor.browser.page().root.text_content()
    for message in ("Busy", "🚀 Enjoying life", "ann.example", "Rome", "Baker at Oven & Co", "Likes <b>bold</b> maps"):
        assert message in text
    assert visitor.find("ann.example").get("href") == "https://ann.example"


def test_a_token_is_shown_once_and_revoked_and_the_feed_token_is_reset(visitor):
    button, expected = "Create personal access token", {"Token name": "phone", "Expiration date (optional)": "2023-06-15"}
    visitor.open(TOKENS).fill(expected).click(button).sees("must be a date in the future", "one scope at least")
    visitor.fill({"Expiration date (optional)": "2023-09-01"}).click("api: complete access to the API", button)
    made = "SELECT token FROM access_token WHERE name = 'phone' AND scopes = 'api' AND expires_on = '2023-09-01'"
    token = visitor.value(made)
    visitor.sees(token).open(TOKENS).lacks(token).click("Revoke deploy")
    assert visitor.rows("SELECT token_id FROM access_token WHERE is_revoked") == [(1,)]
    assert visitor.post(f"{TOKENS}/2/revoke").status_code == 404  # Bo's
    assert "Feed token: feed-ann" in visitor.open(TOKENS).text
    visitor.click("Reset feed token").sees(me(visitor, "feed_token")[0]).lacks("feed-ann")


def test_keys_are_added_and_removed_and_the_theme_is_one_of_the_list(visitor):
    visitor.open("/-/profile/keys").fill({"Key": "hello"}).click("Add key").sees("Key is not valid")
    assert "already been taken" in visitor.fill({"Key": "ssh-ed25519 AAAA ann"}).click("Add key").text
    visitor.fill({"Key": "ssh-rsa BBBB ann@desk"}).click("Add key", "Remove Laptop")
    assert visitor.rows("SELECT title FROM ssh_key") == [("ann@desk",)]
    visitor.open("/-/profile/preferences").choose("Color theme", "Dark").click("Save changes")
    visitor.post("/-/profile/preferences", theme="Plaid")
    assert me(visitor, "theme") == ("Dark",)
    assert visitor.browser.page().root.body.get("class") == "theme-dark"
    assert visitor.become(BO).post("/-/profile/keys/2/remove").status_code == 404


def test_to_dos_are_done_and_come_back_and_have_reasons(visitor):
    assert visitor.click("To-Do List").titles == ["Repair the link"]
    assert visitor.choose("Reason", "Mentioned").click("Apply").titles == []
    assert visitor.click("Done").titles == ["Broken link"]
    visitor.open("/dashboard/todos").click("Mark as done: Repair the link", "Done")
    assert visitor.titles == ["Repair the link", "Broken link"]
    visitor.click("Put back: Broken link")
    assert visitor.rows("SELECT state FROM todo WHERE user_id = ? ORDER BY todo_id", ANN) == [("done",), ("pending",)]
    assert visitor.post("/dashboard/todos/3", state="done").status_code == 404  # Bo's
    visitor.post("/dashboard/todos/all_done")
    visitor.holds(0, "SELECT count(*) FROM todo WHERE user_id = ? AND state = 'pending'", ANN)


def test_settings_are_for_those_who_are_signed_in_and_reading_needs_no_account(visitor):
    visitor.become(None)
    for path in ("/-/profile", "/-/profile/keys", TOKENS, "/dashboard/todos", "/dashboard/issues", "/-/snippets/new"):
        assert visitor.open(path).path == "/users/sign_in"
    assert visitor.post("/-/profile", name="Nobody").status_code == 302
    assert me(visitor, "name") == ("Ann Arbor",)
    for path in ("/ann", "/explore/snippets", "/ann/site/-/issues", "/ann/site/-/merge_requests/1", "/-/snippets/2"):
        assert visitor.status(path) == 200
