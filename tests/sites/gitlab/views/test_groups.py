"""Groups, and members of projects and groups."""

from tests.sites.gitlab.developer import at, project

ADD_MEMBER = "INSERT OR REPLACE INTO project_member VALUES (?, 40, ?, ?, '2000-01-01')"


def test_several_people_are_invited_at_once_and_one_of_several_of_a_name(developer):
    row = at(developer)
    absent = "user_id NOT IN (SELECT user_id FROM project_member WHERE project_id = ?)"
    place = "SELECT role, expires_on FROM project_member WHERE project_id = ? AND user_id = ?"
    query = f"SELECT * FROM user WHERE {absent} ORDER BY user_id LIMIT 3"
    people = developer.db.execute(query, (row["project_id"],)).fetchall()
    expected = f"{people[0]['username']}, {people[1]['name']}, {people[2]['email']}"
    developer.click("Members", "Invite members").fill({"Username, name or email address": expected})
    developer.fill({"Access expiration date (optional)": "2030-01-05"}).choose("Select a role", "Developer").click("Invite")
    for person in people:
        assert developer.rows(place, row["project_id"], person["user_id"]) == [("Developer", "2030-01-05")]
    first = developer.value(
        """SELECT substr(name, 1, instr(name, ' ') - 1) AS first FROM user
        WHERE user_id > 1 GROUP BY first HAVING count(*) > 1 ORDER BY 1"""
    )
    developer.open(f"/{row['full']}/-/project_members/invite").fill({"Username, name or email address": first})
    assert "Several people match" in developer.choose("Select a role", "Reporter").click("Invite").text
    person = developer.row(f"SELECT * FROM user WHERE name LIKE ? AND {absent}", f"{first} %", row["project_id"])
    developer.click(f"{person['name']} (@{person['username']})", "Invite")
    assert developer.value(place, row["project_id"], person["user_id"]) == "Reporter"


def test_odd_invitations_are_refused_with_a_message(developer):
    row, username = project(developer), developer.value("SELECT username FROM user WHERE user_id = 50")
    before = developer.value("SELECT count(*) FROM project_member")
    for fields in (
        {"names": ""}, {"names": "nobody at all"}, {"names": ", ,"}, {"names": "x" * 3000}, {"role": "King"}, {"role": ""},
        {"expires_on": "2001-01-01"}, {"expires_on": "soon"}, {"expires_on": "2030-02-31"}, {"user_id": "abc", "names": ""},
    ):  # fmt: skip
        response = developer.post(f"/{row['full']}/-/project_members/invite", **{"names": username, "role": "Guest", **fields})
        assert 'role="alert"' in response.text
        assert developer.value("SELECT count(*) FROM project_member") == before


def test_roles_and_days_change_members_go_and_a_membership_ends_on_its_day(developer):
    row = at(developer, "owner_id = 1 AND (SELECT count(*) FROM project_member m WHERE m.project_id = p.project_id) > 2")
    query = "SELECT u.* FROM project_member JOIN user u USING (user_id) WHERE project_id = ? AND user_id > 1 ORDER BY 1"
    person = developer.row(query, row["project_id"])
    held = "SELECT role || coalesce(expires_on, '') FROM project_member WHERE project_id = ? AND user_id = ?"
    developer.click("Members").choose(f"Role of {person['name']}", "Maintainer")
    developer.fill({f"Expiration date of {person['name']}": "2031-02-03"}).click(f"Update {person['name']}")
    developer.holds("Maintainer2031-02-03", held, row["project_id"], person["user_id"]).click(f"Remove {person['name']}")
    assert developer.value(held, row["project_id"], person["user_id"]) is None
    row = project(developer, "visibility = 'private' AND owner_id = 1")
    for day, status in (("2001-01-01", 404), ("2099-01-01", 200)):
        developer.db.execute(ADD_MEMBER, (row["project_id"], "Guest", day))
        assert developer.become(40).status(f"/{row['full']}") == status


def test_the_last_owner_stays_and_maintainers_make_no_owners(developer):
    row = project(developer)
    members = f"/{row['full']}/-/project_members"
    assert developer.post(f"{members}/leave").status_code == 403
    assert developer.post(members, user_id="1", role="Guest", action="update").status_code == 403
    assert developer.post(members, user_id="999", role="Guest", action="update").status_code == 404
    developer.db.execute(ADD_MEMBER, (row["project_id"], "Maintainer", None))
    username = developer.become(40).value("SELECT username FROM user WHERE user_id = 41")
    assert "Select a role" in developer.post(f"{members}/invite", names=username, role="Owner").text
    assert developer.post(members, user_id="1", action="remove").status_code == 403
    assert developer.post(f"/{row['full']}/-/delete", confirmation=row["full"]).status_code == 403


def test_a_group_is_made_filled_and_renamed_and_managed_by_owners_only(developer):
    username = developer.value("SELECT username FROM user WHERE user_id = 12")
    developer.click("New group").fill({"Group name": "N Lab"}).click("Public", "Create group").at("/groups/n-lab")
    developer.click("Group members", "Invite members").fill({"Username, name or email address": username})
    assert "Members were successfully added" in developer.choose("Select a role", "Guest").click("Invite").text
    developer.open("/groups/n-lab").click("New project in this group").fill({"Project name": "inside"}).click("Create project")
    assert developer.path == "/n-lab/inside"
    developer.open("/groups/n-lab").click("Group settings").fill({"Group URL (optional)": "other-lab"}).click("Save changes")
    assert developer.value("SELECT namespace FROM project WHERE path = 'inside'") == "other-lab"
    assert developer.post("/groups/other-lab/-/group_members/leave").status_code == 403
    taken = developer.post("/groups/new", name="x", path=developer.me["username"].upper(), visibility="public")
    assert "has already been taken" in taken.text
    assert "a word of the site" in developer.post("/groups/new", name="Explore", visibility="public").text
    mine = "SELECT path FROM user_group JOIN group_member USING (group_id) WHERE user_id = 1 AND role = 'Developer' ORDER BY group_id"
    for page in ("edit", "group_members", "group_members/invite"):
        answer = developer.post(f"/groups/{developer.value(mine)}/-/{page}", names="x", role="Guest", user_id="2")
        assert answer.status_code == 403
