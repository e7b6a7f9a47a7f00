"""Projects: lists, stars, forks, creation and settings."""

from tests.sites.gitlab.developer import FOREIGN, ODD, at, project


def test_home_pages_of_users_and_of_signed_out_visitors(developer):
    assert developer.title == "Projects · Codeyard"
    count = developer.value("SELECT count(DISTINCT project_id) FROM membership WHERE user_id = 1")
    developer.sees(f"{count} projects").click("Personal").sees("8 projects").at("/dashboard/projects/personal").become(None)
    count = developer.value("SELECT count(*) FROM project WHERE visibility = 'public'")
    assert f"{count} projects" in developer.text
    at(developer)
    assert developer.click("Star").path == "/users/sign_in"


def test_project_lists_sort_filter_and_paginate_and_projects_show_their_readme(developer):
    developer.click("Explore").choose("Sort by", "Most stars").click("Apply").at("/explore?name=&sort=stars_desc")
    stars = [int(text.split(" star")[0]) for text in developer.browser.page().root.xpath("//p[@class='figures']/text()[1]")]
    assert stars == sorted(stars, reverse=True)
    assert len(stars) == 20
    first = developer.names
    assert set(first).isdisjoint(developer.click("Next").names)
    word = developer.value("SELECT path FROM project WHERE visibility = 'public' AND forked_from_id IS NULL ORDER BY 1")
    developer.open("/explore").fill({"Filter by name": word}).click("Apply")
    assert all(name.endswith(word) for name in developer.names)
    topic = at(developer, "topics != '' AND visibility = 'public'")["topics"].split(", ")[0]
    query = "SELECT count(*) FROM project WHERE ', ' || topics || ',' LIKE ? AND visibility != 'private'"
    assert f"{developer.value(query, f'%, {topic},%')} project" in developer.click(topic).text
    row = at(developer)
    addresses = [f"git@code.test:{row['full']}.git", f"https://code.test/{row['full']}.git"]
    developer.sees(row["description"], row["license"], *addresses, "Features", f"Default branch: {row['default_branch']}")


def test_private_and_internal_projects_are_not_there_for_others(developer):
    row = project(developer, "visibility = 'private' AND owner_id = 1")
    query = "SELECT user_id FROM user WHERE user_id NOT IN (SELECT user_id FROM membership WHERE project_id = ?)"
    for user_id in (None, developer.value(query, row["project_id"])):
        developer.become(user_id)
        for page in ("", "/-/tree/main", "/-/commits/main", "/-/branches", "/-/project_members", "/-/starrers", "/-/forks"):
            assert developer.status(f"/{row['full']}{page}") == 404
        assert developer.post(f"/{row['full']}/-/unstar").status_code in (302, 404)
    row = project(developer, "visibility = 'internal' AND owner_id = 1")
    assert developer.become(9).status(f"/{row['full']}") == 200
    assert developer.become(None).status(f"/{row['full']}") == 404


def test_a_star_is_given_and_taken_back_and_starrers_are_listed_the_latest_first(developer):
    row = at(developer, FOREIGN + " AND project_id NOT IN (SELECT project_id FROM star WHERE user_id = 1)")
    for button, count in (("Star", 1), ("Unstar", 0)):
        assert developer.click(button).path == f"/{row['full']}"
        assert developer.value("SELECT count(*) FROM star WHERE user_id = 1 AND project_id = ?", row["project_id"]) == count
    row = project(developer, "visibility = 'public' AND (SELECT count(*) FROM star s WHERE s.project_id = p.project_id) > 35")
    last = "SELECT name FROM star JOIN user USING (user_id) WHERE project_id = ? ORDER BY star.created_at DESC"
    developer.open(f"/{row['full']}/-/starrers").sees(developer.value(last, row["project_id"])).click("Next").sees("Previous")


def test_forks_copy_the_repository_into_permitted_namespaces(developer):
    row = at(developer, FOREIGN)
    developer.click("Fork", "Fork project").at(f"/{developer.me['username']}/{row['path']}").sees("Forked from")
    copy = project(developer, "project_id = (SELECT max(project_id) FROM project)")
    commits = """SELECT group_concat(sha) FROM (SELECT sha FROM commit_branch JOIN git_commit USING (commit_id)
        JOIN branch USING (branch_id) WHERE branch.project_id = ? AND name = ? ORDER BY sha)"""
    copied, source = (developer.value(commits, each["project_id"], row["default_branch"]) for each in (copy, row))
    assert copied == source
    assert (copy["forked_from_id"], copy["owner_id"], copy["license"]) == (row["project_id"], 1, row["license"])
    assert "has already been taken" in developer.open(f"/{row['full']}").click("Fork", "Fork project").text
    mine, before = developer.me["username"], developer.value("SELECT count(*) FROM project")
    others = "SELECT path FROM user_group WHERE group_id NOT IN (SELECT group_id FROM group_member WHERE user_id = 1)"
    response = developer.post(f"/{row['full']}/-/forks/new", namespace=developer.value(others), visibility="public")
    assert "Select a namespace" in response.text
    internal = project(developer, "visibility = 'internal' AND owner_id IS NOT NULL")
    response = developer.post(f"/{internal['full']}/-/forks/new", namespace=mine, visibility="public")
    assert "cannot be more visible" in response.text
    assert developer.value("SELECT count(*) FROM project") == before


def test_a_project_begins_with_a_readme_with_nothing_or_with_a_template(developer):
    mine = developer.me["username"]
    developer.click("New project", "Create blank project").fill({"Project name": "Do it myself"})
    assert developer.click("Public", "Create project").path == f"/{mine}/do-it-myself"
    assert developer.value("SELECT content FROM file ORDER BY branch_id DESC") == "# Do it myself\n"
    developer.open("/projects/new/blank").fill({"Project name": "empty_one"})
    developer.click("Initialize repository with a README", "Create project").sees("The repository for this project is empty")
    made = developer.row("SELECT * FROM project ORDER BY project_id DESC")
    assert (made["visibility"], made["owner_id"]) == ("private", 1)
    for page in ("tree/main", "commits/main", "graphs/main", "branches", "project_members"):
        assert developer.status(f"/{mine}/empty_one/-/{page}") in (200, 302)
    developer.click("New file").fill({"File name": "docs/a b.md", "File content": "hello"}).click("Commit changes")
    assert developer.value("SELECT content FROM file WHERE path = 'docs/a b.md'") == "hello"
    developer.open("/").click("New project", "Create from template", "Use Android template").fill({"Project name": "pocket"})
    assert "app" in developer.click("Create project").text
    files = "SELECT count(*) FROM file JOIN branch USING (branch_id) WHERE project_id = (SELECT max(project_id) FROM project)"
    assert developer.value(files) == 3


def test_odd_names_of_projects_and_groups_are_refused_or_harmless(developer):
    fields = {"namespace": developer.me["username"], "visibility": "public"}
    for name in ODD:
        for answer in (
            developer.post("/projects/new/blank", name=name, **fields),
            developer.post("/projects/new/blank", name="fine", path=name or "-", **fields),
            developer.post("/groups/new", name=name, visibility="public"),
        ):
            assert answer.status_code in (200, 302)
        assert developer.value("SELECT count(*) FROM project WHERE path LIKE '%/%'") == 0
        assert developer.status("/dashboard/projects/personal") == 200


def test_nobody_writes_to_an_archived_project_until_it_is_taken_back(developer):
    row = at(developer)
    developer.click("Settings", "Archive project").sees("This project is archived")
    answer = developer.post(f"/{row['full']}/-/new/{row['default_branch']}", file_name="x", content="x", message="x")
    assert answer.status_code == 403
    developer.click("Settings", "Unarchive project")
    assert developer.value("SELECT is_archived FROM project WHERE project_id = ?", row["project_id"]) == 0


def test_project_settings_are_saved_and_deletion_needs_the_typed_path(developer):
    row = at(developer)
    developer.click("Settings").fill({"Project description (optional)": "Shorter.", "Topics (optional)": "a, b,, a "})
    developer.click("Internal", "Save changes")
    after = "SELECT description, topics, visibility FROM project WHERE project_id = ?"
    assert developer.rows(after, row["project_id"]) == [("Shorter.", "a, b", "internal")]
    assert "Project name can't be blank." in developer.fill({"Project name": ""}).click("Save changes").text
    moved = f"/{row['namespace']}/moved"
    assert developer.open(f"/{row['full']}/-/edit").fill({"Path": "moved"}).click("Change path").path == moved
    developer.open(f"{moved}/-/edit").fill({"Full path to confirm": "yes"}).click("Delete project").sees("to confirm")
    assert developer.fill({"Full path to confirm": moved[1:]}).click("Delete project").rows(after, row["project_id"]) == []
    assert developer.db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert developer.status(moved) == 404
