"""Return addresses, and pages for members."""

from webarena_gym.sites.kit.accounts import members_of, return_url
from webarena_gym.sites.kit.requests import redirect


def test_forms_lead_to_no_other_site(ask):
    elsewhere = ("http://evil.test/", "//evil.test", "/\\evil.test", "/\t/evil.test", "/\n/evil.test", "\r//evil.test")
    for address in ("", "elsewhere", *elsewhere):
        assert return_url(ask(return_url=address), "/home") == "/home"
    assert return_url(ask(return_url="/a?b=c"), "/home") == "/a?b=c"


def test_member_pages_redirect_to_the_login_and_back(ask, database):
    row = database.connection.execute("SELECT 5 AS user_id").fetchone()
    guard = members_of(lambda request: row if request.session.get("user_id") else None, "/login", "Please sign in.", "/home")
    page = guard(lambda request, member, **_: str(member["user_id"]))

    stranger = ask("/secret?p=2")
    answer = page(stranger)
    assert (answer.status_code, answer.location) == (redirect("/login").status_code, "/login")
    assert stranger.session == {"after_login": "/secret?p=2", "messages": [["notice", "Please sign in."]]}
    for form, place in (({"return_url": "/there"}, "/there"), ({"return_url": "//evil.test"}, "/home")):
        stranger = ask("/secret", **form)
        page(stranger)
        assert stranger.session["after_login"] == place
    member = ask("/secret")
    member.session["user_id"] = 5
    assert page(member) == "5"
