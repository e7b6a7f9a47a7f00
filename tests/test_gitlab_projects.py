"""The code host's projects, repositories, members and groups, used by their labels and judged by what is in the database."""

from functools import cache
from typing import Any

import pytest

from tests.code_host import HOST, Developer
from webarena_gym.sites.world import build

ADD_MEMBER = "INSERT OR REPLACE INTO project_member VALUES (?, 40, ?, ?, '2000-01-01')"
ODD = (
    "", " ", "x" * 5000, "<b>&\"'", "'; DROP TABLE project; --", "\u202e\U0001f600\x00", "-1", "9" * 30, "../../etc", "a//b", "%",
)  # fmt: skip


@cache
def content() -> bytes:
    return build("gitlab", 1)


@pytest.fixture
def visitor(opened) -> Developer:
    return opened(Developer(content()))


MINE = "owner_id = 1 AND visibility = 'public' AND license != '' AND forked_from_id IS NULL"


def project(visitor: Developer, condition: str = MINE) -> dict[str, Any]:
    return visitor.row(f"SELECT *, namespace || '/' || path AS full FROM project p WHERE {condition} ORDER BY project_id")


def at(visitor: Developer, condition: str = MINE) -> dict[str, Any]:
    """Go to the page of a project."""
    row = project(visitor, condition)
    visitor.open(f"/{row['full']}")
    return row


FOREIGN = """visibility = 'public' AND owner_id > 1 AND NOT is_archived
    AND NOT EXISTS (SELECT 1 FROM membership m WHERE m.project_id = p.project_id AND user_id = 1)"""


def test_my_home_page_and_that_of_strangers_who_are_asked_to_sign_in_before_they_do_anything(visitor):
    assert visitor.title == "Projects · Codeyard"
    count = visitor.value("SELECT count(DISTINCT project_id) FROM membership WHERE user_id = 1")
    visitor.sees(f"{count} projects").click("Personal").sees("8 projects").at("/dashboard/projects/personal").become(None)
    count = visitor.value("SELECT count(*) FROM project WHERE visibility = 'public'")
    assert f"{count} projects" in visitor.text
    at(visitor)
    assert visitor.click("Star").path == "/users/sign_in"


def test_the_list_is_sorted_filtered_and_paged_topics_lead_to_it_and_a_project_shows_its_readme(visitor):
    visitor.click("Explore").choose("Sort by", "Most stars").click("Apply").at("/explore?name=&sort=stars_desc")
    stars = [int(text.split(" star")[0]) for text in visitor.browser.page().root.xpath("//p[@class='figures']/text()[1]")]
    assert stars == sorted(stars, reverse=True)
    assert len(stars) == 20
    first = visitor.names
    assert set(first).isdisjoint(visitor.click("Next").names)
    word = visitor.value("SELECT path FROM project WHERE visibility = 'public' AND forked_from_id IS NULL ORDER BY 1")
    visitor.open("/explore").fill({"Filter by name": word}).click("Apply")
    assert all(name.endswith(word) for name in visitor.names)
    topic = at(visitor, "topics != '' AND visibility = 'public'")["topics"].split(", ")[0]
    query = "SELECT count(*) FROM project WHERE ', ' || topics || ',' LIKE ? AND visibility != 'private'"
    assert f"{visitor.value(query, f'%, {topic},%')} project" in visitor.click(topic).text
    row = at(visitor)
    addresses = [f"git@code.test:{row['full']}.git", f"https://code.test/{row['full']}.git"]
    visitor.sees(row["description"], row["license"], *addresses, "Features", f"Default branch: {row['default_branch']}")


def test_private_and_internal_projects_are_not_there_for_others(visitor):
    row = project(visitor, "visibility = 'private' AND owner_id = 1")
    query = "SELECT user_id FROM user WHERE user_id NOT IN (SELECT user_id FROM membership WHERE project_id = ?)"
    for user_id in (None, visitor.value(query, row["project_id"])):
        visitor.become(user_id)
        for page in ("", "/-/tree/main", "/-/commits/main", "/-/branches", "/-/project_members", "/-/starrers", "/-/forks"):
            assert visitor.status(f"/{row['full']}{page}") == 404
        assert visitor.post(f"/{row['full']}/-/unstar").status_code in (302, 404)
    row = project(visitor, "visibility = 'internal' AND owner_id = 1")
    assert visitor.become(9).status(f"/{row['full']}") == 200
    assert visitor.become(None).status(f"/{row['full']}") == 404


def test_a_star_is_given_and_taken_back_and_starrers_are_listed_the_latest_first(visitor):
    row = at(visitor, FOREIGN + " AND project_id NOT IN (SELECT project_id FROM star WHERE user_id = 1)")
    for button, count in (("Star", 1), ("Unstar", 0)):
        assert visitor.click(button).path == f"/{row['full']}"
        assert visitor.value("SELECT count(*) FROM star WHERE user_id = 1 AND project_id = ?", row["project_id"]) == count
    row = project(visitor, "visibility = 'public' AND (SELECT count(*) FROM star s WHERE s.project_id = p.project_id) > 35")
    last = "SELECT name FROM star JOIN user USING (user_id) WHERE project_id = ? ORDER BY star.created_at DESC"
    visitor.open(f"/{row['full']}/-/starrers").sees(visitor.value(last, row["project_id"])).click("Next").sees("Previous")


def test_a_fork_has_the_repository_of_its_source_and_goes_only_where_i_may_create_projects(visitor):
    row = at(visitor, FOREIGN)
    visitor.click("Fork", "Fork project").at(f"/{visitor.me['username']}/{row['path']}").sees("Forked from")
    copy = project(visitor, "project_id = (SELECT max(project_id) FROM project)")
    commits = """SELECT group_concat(sha) FROM (SELECT sha FROM commit_branch JOIN git_commit USING (commit_id)
        JOIN branch USING (branch_id) WHERE branch.project_id = ? AND name = ? ORDER BY sha)"""
    copied, source = (visitor.value(commits, each["project_id"], row["default_branch"]) for each in (copy, row))
    assert copied == source
    assert (copy["forked_from_id"], copy["owner_id"], copy["license"]) == (row["project_id"], 1, row["license"])
    assert "has already been taken" in visitor.open(f"/{row['full']}").click("Fork", "Fork project").text
    mine, before = visitor.me["username"], visitor.value("SELECT count(*) FROM project")
    others = "SELECT path FROM user_group WHERE group_id NOT IN (SELECT group_id FROM group_member WHERE user_id = 1)"
    response = visitor.post(f"/{row['full']}/-/forks/new", namespace=visitor.value(others), visibility="public")
    assert "Select a namespace" in response.text
    internal = project(visitor, "visibility = 'internal' AND owner_id IS NOT NULL")
    response = visitor.post(f"/{internal['full']}/-/forks/new", namespace=mine, visibility="public")
    assert "cannot be more visible" in response.text
    assert visitor.value("SELECT count(*) FROM project") == before


def test_a_project_begins_with_a_readme_with_nothing_or_with_a_template(visitor):
    mine = visitor.me["username"]
    visitor.click("New project", "Create blank project").fill({"Project name": "Do it myself"})
    assert visitor.click("Public", "Create project").path == f"/{mine}/do-it-myself"
    assert visitor.value("SELECT content FROM file ORDER BY branch_id DESC") == "# Do it myself\n"
    visitor.open("/projects/new/blank").fill({"Project name": "empty_one"})
    visitor.click("Initialize repository with a README", "Create project").sees("The repository for this project is empty")
    made = visitor.row("SELECT * FROM project ORDER BY project_id DESC")
    assert (made["visibility"], made["owner_id"]) == ("private", 1)
    for page in ("tree/main", "commits/main", "graphs/main", "branches", "project_members"):
        assert visitor.status(f"/{mine}/empty_one/-/{page}") in (200, 302)
    visitor.click("New file").fill({"File name": "docs/a b.md", "File content": "hello"}).click("Commit changes")
    assert visitor.value("SELECT content FROM file WHERE path = 'docs/a b.md'") == "hello"
    visitor.open("/").click("New project", "Create from template", "Use Android template").fill({"Project name": "pocket"})
    assert "app" in visitor.click("Create project").text
    files = "SELECT count(*) FROM file JOIN branch USING (branch_id) WHERE project_id = (SELECT max(project_id) FROM project)"
    assert visitor.value(files) == 3


def test_odd_names_of_projects_and_groups_are_refused_or_harmless(visitor):
    fields = {"namespace": visitor.me["username"], "visibility": "public"}
    for name in ODD:
        for answer in (
            visitor.post("/projects/new/blank", name=name, **fields),
            visitor.post("/projects/new/blank", name="fine", path=name or "-", **fields),
            visitor.post("/groups/new", name=name, visibility="public"),
        ):
            assert answer.status_code in (200, 302)
        assert visitor.value("SELECT count(*) FROM project WHERE path LIKE '%/%'") == 0
        assert visitor.status("/dashboard/projects/personal") == 200


DOTFILES = "owner_id = 1 AND path LIKE '%-dotfiles'"


def test_folders_files_and_raw_texts_also_of_branches_with_a_slash(visitor):
    row = at(visitor, DOTFILES)
    visitor.click("shell", "aliases.sh")
    query = """SELECT content FROM file JOIN branch USING (branch_id)
        WHERE project_id = ? AND file.path = 'shell/aliases.sh' AND name = ?"""
    content = visitor.value(query, row["project_id"], row["default_branch"])
    assert content.strip() in visitor.browser.page().root.find(".//main//pre").text_content()
    assert "Initial commit" in visitor.click("History").text
    raw = visitor.client.get(f"/{row['full']}/-/raw/{row['default_branch']}/shell/aliases.sh", base_url=HOST)
    assert (raw.text, raw.mimetype) == (content, "text/plain")
    row = visitor.row(
        """SELECT p.namespace || '/' || p.path AS full, b.name FROM branch b JOIN project p USING (project_id)
        WHERE b.name LIKE '%/%' AND visibility = 'public' ORDER BY branch_id"""
    )
    for page in ("tree", "commits", "graphs"):
        assert visitor.status(f"/{row['full']}/-/{page}/{row['name']}") == 200
    visitor.open(f"/{row['full']}").choose("Branch", row["name"]).click("Switch branch")
    assert visitor.path == f"/{row['full']}/-/tree/{row['name']}"


def test_editing_a_file_makes_one_commit_also_on_a_new_branch(visitor):
    row = at(visitor)
    visitor.click("README.md", "Edit file")
    visitor.fill({"File content": "# New\n\nText with  blanks\n", "Commit message": "Rewrite it"}).click("Commit changes")
    commit = visitor.row("SELECT * FROM git_commit ORDER BY commit_id DESC")
    assert (commit["title"], commit["author_id"], commit["project_id"]) == ("Rewrite it", 1, row["project_id"])
    assert visitor.value("SELECT kind FROM file_change WHERE commit_id = ?", commit["commit_id"]) == "modified"
    head = "SELECT head_id FROM branch WHERE project_id = ? AND name = ?"
    assert visitor.value(head, row["project_id"], row["default_branch"]) == commit["commit_id"]
    text = visitor.value("SELECT content FROM file WHERE commit_id = ?", commit["commit_id"])
    assert text == "# New\n\nText with  blanks\n"
    assert "Rewrite it" in visitor.open(f"/{row['full']}/-/commit/{commit['sha'][:8]}").text
    visitor.open(f"/{row['full']}").click("README.md", "Edit file", "Commit changes").sees("There is nothing to commit")
    wanted = {"File name": "notes/today.txt", "File content": "x", "Target branch": "side/way"}
    visitor.open(f"/{row['full']}").click("New file").fill(wanted).click("Commit changes")
    assert visitor.path == f"/{row['full']}/-/blob/side/way/notes/today.txt"
    assert visitor.value("SELECT count(*) FROM file JOIN branch USING (branch_id) WHERE file.path = 'notes/today.txt'") == 1
    assert "1 commit ahead, 0 behind" in visitor.click("Branches").text


def test_files_and_folders_cannot_be_in_each_other_s_place(visitor):
    row = project(visitor, DOTFILES)
    address = f"/{row['full']}/-/new/{row['default_branch']}"
    for name, message in (
        ("shell", "A folder called shell already exists"), ("README.md", "already exists"), ("README.md/x", "is a file"),
        ("", "can't be blank"), ("../x", "not valid"), ("a//b", "not valid"), ("x" * 300, "not valid"),
    ):  # fmt: skip
        response = visitor.post(address, file_name=name, content="x", message="m", branch="")
        assert message.replace("'", "&#39;") in response.text
    assert "can&#39;t be blank" in visitor.post(address, file_name="fine", content="x", message=" ").text
    assert "too long" in visitor.post(address, file_name="fine", content="x" * 100_001, message="m").text


def test_a_license_comes_from_a_template_and_goes_with_its_file(visitor):
    row = at(visitor)
    license_of = "SELECT license FROM project WHERE project_id = ?"
    wanted = "MIT License" if row["license"] != "MIT License" else "BSD 3-Clause License"
    visitor.click("LICENSE", "Edit file").choose("License template", wanted).click("Apply template", "Commit changes")
    visitor.holds(wanted, license_of, row["project_id"]).sees(visitor.me["name"])
    assert "LICENSE" not in visitor.open(f"/{row['full']}").click("LICENSE", "Delete file").names
    assert visitor.value(license_of, row["project_id"]) == ""


def test_only_developers_change_repositories(visitor):
    row = at(visitor, FOREIGN)
    visitor.lacks("New file", "Settings")
    place, branch = f"/{row['full']}/-", row["default_branch"]
    paths = [f"new/{branch}", f"edit/{branch}/README.md", f"delete/{branch}/README.md", "branches/new", "branches/delete"]
    for path in (*paths, "edit", "archive", "delete", "project_members", "project_members/invite"):
        assert visitor.post(f"{place}/{path}", file_name="x", content="x", message="x", name="x").status_code == 403, path
    assert visitor.become(None).post(f"{place}/new/{branch}").location == "/users/sign_in"


def test_nobody_writes_to_an_archived_project_until_it_is_taken_back(visitor):
    row = at(visitor)
    visitor.click("Settings", "Archive project").sees("This project is archived")
    answer = visitor.post(f"/{row['full']}/-/new/{row['default_branch']}", file_name="x", content="x", message="x")
    assert answer.status_code == 403
    visitor.click("Settings", "Unarchive project")
    assert visitor.value("SELECT is_archived FROM project WHERE project_id = ?", row["project_id"]) == 0


def test_commits_are_narrowed_by_author_and_text_and_show_the_lines_that_changed(visitor):
    row = visitor.row(
        """SELECT p.namespace || '/' || p.path AS full, c.author_name, count(*) AS found FROM git_commit c
        JOIN project p USING (project_id) JOIN commit_branch USING (commit_id) JOIN branch b USING (branch_id)
        WHERE b.name = p.default_branch AND visibility = 'public' GROUP BY p.project_id, author_email HAVING found > 4 ORDER BY 1, 2"""
    )
    visitor.open(f"/{row['full']}").click("Commits").choose("Author", row["author_name"])
    assert f"{row['found']} commits" in visitor.click("Filter commits").text
    assert "No commits were found." in visitor.fill({"Search by message": "zzz"}).click("Filter commits").text
    assert row["author_name"] in visitor.open(f"/{row['full']}").click("Contributors").text
    counts = [int(cell.text_content().split()[0]) for cell in visitor.browser.page().root.xpath("//tbody/tr/td[3]")]
    assert counts == sorted(counts, reverse=True)
    row = visitor.row(
        """SELECT p.namespace || '/' || p.path AS full, c.* FROM git_commit c JOIN project p USING (project_id)
        WHERE visibility = 'public' AND c.title LIKE 'Raise a limit%' ORDER BY commit_id"""
    )
    root = visitor.open(f"/{row['full']}/-/commit/{row['sha']}").browser.page().root
    assert len(root.find_class("added")) == len(root.find_class("removed")) == 1
    for odd in ("123", "zzzzzzzz", "0" * 40, "%25%25%25%25%25%25%25"):
        assert visitor.status(f"/{row['full']}/-/commit/{odd}") == 404


def test_branches_are_made_and_deleted_and_odd_names_of_them_are_refused(visitor):
    row = at(visitor, "owner_id = 1 AND default_branch = 'main'")
    visitor.click("Branches", "New branch").fill({"Branch name": "idea"}).click("Create branch")
    assert "The branch idea was created." in visitor.text
    files = "SELECT count(*) FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ?"
    assert visitor.value(files, row["project_id"], "idea") == visitor.value(files, row["project_id"], "main")
    visitor.click("Delete branch idea").holds(0, files, row["project_id"], "idea")
    assert visitor.post(f"/{row['full']}/-/branches/delete", name="main").status_code == 403
    assert visitor.post(f"/{row['full']}/-/branches/delete", name="idea").status_code == 404
    before = visitor.value("SELECT count(*) FROM branch")
    for name in (*ODD, "main", "a..b", "-x", "x.lock", "main/x"):
        assert visitor.post(f"/{row['full']}/-/branches/new", name=name, source="main").status_code in (200, 302)
    visitor.holds(before + 1, "SELECT count(*) FROM branch").holds("9" * 30, "SELECT name FROM branch ORDER BY branch_id DESC")


def test_several_people_are_invited_at_once_and_one_of_several_of_a_name(visitor):
    row = at(visitor)
    absent = "user_id NOT IN (SELECT user_id FROM project_member WHERE project_id = ?)"
    place = "SELECT role, expires_on FROM project_member WHERE project_id = ? AND user_id = ?"
    query = f"SELECT * FROM user WHERE {absent} ORDER BY user_id LIMIT 3"
    people = visitor.db.execute(query, (row["project_id"],)).fetchall()
    wanted = f"{people[0]['username']}, {people[1]['name']}, {people[2]['email']}"
    visitor.click("Members", "Invite members").fill({"Username, name or email address": wanted})
    visitor.fill({"Access expiration date (optional)": "2030-01-05"}).choose("Select a role", "Developer").click("Invite")
    for person in people:
        assert visitor.rows(place, row["project_id"], person["user_id"]) == [("Developer", "2030-01-05")]
    first = visitor.value(
        """SELECT substr(name, 1, instr(name, ' ') - 1) AS first FROM user
        WHERE user_id > 1 GROUP BY first HAVING count(*) > 1 ORDER BY 1"""
    )
    visitor.open(f"/{row['full']}/-/project_members/invite").fill({"Username, name or email address": first})
    assert "Several people match" in visitor.choose("Select a role", "Reporter").click("Invite").text
    person = visitor.row(f"SELECT * FROM user WHERE name LIKE ? AND {absent}", f"{first} %", row["project_id"])
    visitor.click(f"{person['name']} (@{person['username']})", "Invite")
    assert visitor.value(place, row["project_id"], person["user_id"]) == "Reporter"


def test_odd_invitations_are_refused_with_a_message(visitor):
    row, username = project(visitor), visitor.value("SELECT username FROM user WHERE user_id = 50")
    before = visitor.value("SELECT count(*) FROM project_member")
    for fields in (
        {"names": ""}, {"names": "nobody at all"}, {"names": ", ,"}, {"names": "x" * 3000}, {"role": "King"}, {"role": ""},
        {"expires_on": "2001-01-01"}, {"expires_on": "soon"}, {"expires_on": "2030-02-31"}, {"user_id": "abc", "names": ""},
    ):  # fmt: skip
        response = visitor.post(f"/{row['full']}/-/project_members/invite", **{"names": username, "role": "Guest", **fields})
        assert 'role="alert"' in response.text
        assert visitor.value("SELECT count(*) FROM project_member") == before


def test_roles_and_days_change_members_go_and_a_membership_ends_on_its_day(visitor):
    row = at(visitor, "owner_id = 1 AND (SELECT count(*) FROM project_member m WHERE m.project_id = p.project_id) > 2")
    query = "SELECT u.* FROM project_member JOIN user u USING (user_id) WHERE project_id = ? AND user_id > 1 ORDER BY 1"
    person = visitor.row(query, row["project_id"])
    held = "SELECT role || coalesce(expires_on, '') FROM project_member WHERE project_id = ? AND user_id = ?"
    visitor.click("Members").choose(f"Role of {person['name']}", "Maintainer")
    visitor.fill({f"Expiration date of {person['name']}": "2031-02-03"}).click(f"Update {person['name']}")
    visitor.holds("Maintainer2031-02-03", held, row["project_id"], person["user_id"]).click(f"Remove {person['name']}")
    assert visitor.value(held, row["project_id"], person["user_id"]) is None
    row = project(visitor, "visibility = 'private' AND owner_id = 1")
    for day, status in (("2001-01-01", 404), ("2099-01-01", 200)):
        visitor.db.execute(ADD_MEMBER, (row["project_id"], "Guest", day))
        assert visitor.become(40).status(f"/{row['full']}") == status


def test_the_last_owner_stays_and_maintainers_make_no_owners(visitor):
    row = project(visitor)
    members = f"/{row['full']}/-/project_members"
    assert visitor.post(f"{members}/leave").status_code == 403
    assert visitor.post(members, user_id="1", role="Guest", action="update").status_code == 403
    assert visitor.post(members, user_id="999", role="Guest", action="update").status_code == 404
    visitor.db.execute(ADD_MEMBER, (row["project_id"], "Maintainer", None))
    username = visitor.become(40).value("SELECT username FROM user WHERE user_id = 41")
    assert "Select a role" in visitor.post(f"{members}/invite", names=username, role="Owner").text
    assert visitor.post(members, user_id="1", action="remove").status_code == 403
    assert visitor.post(f"/{row['full']}/-/delete", confirmation=row["full"]).status_code == 403


def test_a_group_is_made_filled_and_renamed_and_managed_by_owners_only(visitor):
    username = visitor.value("SELECT username FROM user WHERE user_id = 12")
    visitor.click("New group").fill({"Group name": "N Lab"}).click("Public", "Create group").at("/groups/n-lab")
    visitor.click("Group members", "Invite members").fill({"Username, name or email address": username})
    assert "Members were successfully added" in visitor.choose("Select a role", "Guest").click("Invite").text
    visitor.open("/groups/n-lab").click("New project in this group").fill({"Project name": "inside"}).click("Create project")
    assert visitor.path == "/n-lab/inside"
    visitor.open("/groups/n-lab").click("Group settings").fill({"Group URL (optional)": "other-lab"}).click("Save changes")
    assert visitor.value("SELECT namespace FROM project WHERE path = 'inside'") == "other-lab"
    assert visitor.post("/groups/other-lab/-/group_members/leave").status_code == 403
    taken = visitor.post("/groups/new", name="x", path=visitor.me["username"].upper(), visibility="public")
    assert "has already been taken" in taken.text
    assert "a word of the site" in visitor.post("/groups/new", name="Explore", visibility="public").text
    mine = "SELECT path FROM user_group JOIN group_member USING (group_id) WHERE user_id = 1 AND role = 'Developer' ORDER BY group_id"
    for page in ("edit", "group_members", "group_members/invite"):
        answer = visitor.post(f"/groups/{visitor.value(mine)}/-/{page}", names="x", role="Guest", user_id="2")
        assert answer.status_code == 403


def test_settings_change_what_a_project_says_of_itself_and_it_is_deleted_when_its_path_is_typed(visitor):
    row = at(visitor)
    visitor.click("Settings").fill({"Project description (optional)": "Shorter.", "Topics (optional)": "a, b,, a "})
    visitor.click("Internal", "Save changes")
    after = "SELECT description, topics, visibility FROM project WHERE project_id = ?"
    assert visitor.rows(after, row["project_id"]) == [("Shorter.", "a, b", "internal")]
    assert "Project name can't be blank." in visitor.fill({"Project name": ""}).click("Save changes").text
    moved = f"/{row['namespace']}/moved"
    assert visitor.open(f"/{row['full']}/-/edit").fill({"Path": "moved"}).click("Change path").path == moved
    visitor.open(f"{moved}/-/edit").fill({"Full path to confirm": "yes"}).click("Delete project").sees("to confirm")
    assert visitor.fill({"Full path to confirm": moved[1:]}).click("Delete project").rows(after, row["project_id"]) == []
    assert visitor.db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert visitor.status(moved) == 404
