"""Repositories: files, commits and branches."""

from tests.code_host import HOST
from tests.sites.gitlab.developer import FOREIGN, ODD, at, project

DOTFILES = "owner_id = 1 AND path LIKE '%-dotfiles'"


def test_folders_files_and_raw_texts_also_of_branches_with_a_slash(developer):
    row = at(developer, DOTFILES)
    developer.click("shell", "aliases.sh")
    query = """SELECT content FROM file JOIN branch USING (branch_id)
        WHERE project_id = ? AND file.path = 'shell/aliases.sh' AND name = ?"""
    content = developer.value(query, row["project_id"], row["default_branch"])
    assert content.strip() in developer.browser.page().root.find(".//main//pre").text_content()
    assert "Initial commit" in developer.click("History").text
    raw = developer.client.get(f"/{row['full']}/-/raw/{row['default_branch']}/shell/aliases.sh", base_url=HOST)
    assert (raw.text, raw.mimetype) == (content, "text/plain")
    row = developer.row(
        """SELECT p.namespace || '/' || p.path AS full, b.name FROM branch b JOIN project p USING (project_id)
        WHERE b.name LIKE '%/%' AND visibility = 'public' ORDER BY branch_id"""
    )
    for page in ("tree", "commits", "graphs"):
        assert developer.status(f"/{row['full']}/-/{page}/{row['name']}") == 200
    developer.open(f"/{row['full']}").choose("Branch", row["name"]).click("Switch branch")
    assert developer.path == f"/{row['full']}/-/tree/{row['name']}"


def test_editing_a_file_makes_one_commit_also_on_a_new_branch(developer):
    row = at(developer)
    developer.click("README.md", "Edit file")
    developer.fill({"File content": "# New\n\nText with  blanks\n", "Commit message": "Rewrite it"}).click("Commit changes")
    commit = developer.row("SELECT * FROM git_commit ORDER BY commit_id DESC")
    assert (commit["title"], commit["author_id"], commit["project_id"]) == ("Rewrite it", 1, row["project_id"])
    assert developer.value("SELECT kind FROM file_change WHERE commit_id = ?", commit["commit_id"]) == "modified"
    head = "SELECT head_id FROM branch WHERE project_id = ? AND name = ?"
    assert developer.value(head, row["project_id"], row["default_branch"]) == commit["commit_id"]
    text = developer.value("SELECT content FROM file WHERE commit_id = ?", commit["commit_id"])
    assert text == "# New\n\nText with  blanks\n"
    assert "Rewrite it" in developer.open(f"/{row['full']}/-/commit/{commit['sha'][:8]}").text
    developer.open(f"/{row['full']}").click("README.md", "Edit file", "Commit changes").sees("There is nothing to commit")
    expected = {"File name": "notes/today.txt", "File content": "x", "Target branch": "side/way"}
    developer.open(f"/{row['full']}").click("New file").fill(expected).click("Commit changes")
    assert developer.path == f"/{row['full']}/-/blob/side/way/notes/today.txt"
    assert developer.value("SELECT count(*) FROM file JOIN branch USING (branch_id) WHERE file.path = 'notes/today.txt'") == 1
    assert "1 commit ahead, 0 behind" in developer.click("Branches").text


def test_files_and_folders_cannot_be_in_each_other_s_place(developer):
    row = project(developer, DOTFILES)
    address = f"/{row['full']}/-/new/{row['default_branch']}"
    for name, message in (
        ("shell", "A folder called shell already exists"), ("README.md", "already exists"), ("README.md/x", "is a file"),
        ("", "can't be blank"), ("../x", "not valid"), ("a//b", "not valid"), ("x" * 300, "not valid"),
    ):  # fmt: skip
        response = developer.post(address, file_name=name, content="x", message="m", branch="")
        assert message.replace("'", "&#39;") in response.text
    assert "can&#39;t be blank" in developer.post(address, file_name="fine", content="x", message=" ").text
    assert "too long" in developer.post(address, file_name="fine", content="x" * 100_001, message="m").text


def test_a_license_comes_from_a_template_and_goes_with_its_file(developer):
    row = at(developer)
    license_of = "SELECT license FROM project WHERE project_id = ?"
    expected = "MIT License" if row["license"] != "MIT License" else "BSD 3-Clause License"
    developer.click("LICENSE", "Edit file").choose("License template", expected).click("Apply template", "Commit changes")
    developer.holds(expected, license_of, row["project_id"]).sees(developer.me["name"])
    assert "LICENSE" not in developer.open(f"/{row['full']}").click("LICENSE", "Delete file").names
    assert developer.value(license_of, row["project_id"]) == ""


def test_only_developers_change_repositories(developer):
    row = at(developer, FOREIGN)
    developer.lacks("New file", "Settings")
    place, branch = f"/{row['full']}/-", row["default_branch"]
    paths = [f"new/{branch}", f"edit/{branch}/README.md", f"delete/{branch}/README.md", "branches/new", "branches/delete"]
    for path in (*paths, "edit", "archive", "delete", "project_members", "project_members/invite"):
        assert developer.post(f"{place}/{path}", file_name="x", content="x", message="x", name="x").status_code == 403, path
    assert developer.become(None).post(f"{place}/new/{branch}").location == "/users/sign_in"


def test_commits_are_narrowed_by_author_and_text_and_show_the_lines_that_changed(developer):
    row = developer.row(
        """SELECT p.namespace || '/' || p.path AS full, c.author_name, count(*) AS found FROM git_commit c
        JOIN project p USING (project_id) JOIN commit_branch USING (commit_id) JOIN branch b USING (branch_id)
        WHERE b.name = p.default_branch AND visibility = 'public' GROUP BY p.project_id, author_email HAVING found > 4 ORDER BY 1, 2"""
    )
    developer.open(f"/{row['full']}").click("Commits").choose("Author", row["author_name"])
    assert f"{row['found']} commits" in developer.click("Filter commits").text
    assert "No commits were found." in developer.fill({"Search by message": "zzz"}).click("Filter commits").text
    assert row["author_name"] in developer.open(f"/{row['full']}").click("Contributors").text
    counts = [int(cell.text_content().split()[0]) for cell in developer.browser.page().root.xpath("//tbody/tr/td[3]")]
    assert counts == sorted(counts, reverse=True)
    row = developer.row(
        """SELECT p.namespace || '/' || p.path AS full, c.* FROM git_commit c JOIN project p USING (project_id)
        WHERE visibility = 'public' AND c.title LIKE 'Raise a limit%' ORDER BY commit_id"""
    )
    root = developer.open(f"/{row['full']}/-/commit/{row['sha']}").browser.page().root
    assert len(root.find_class("added")) == len(root.find_class("removed")) == 1
    for odd in ("123", "zzzzzzzz", "0" * 40, "%25%25%25%25%25%25%25"):
        assert developer.status(f"/{row['full']}/-/commit/{odd}") == 404


def test_branches_are_made_and_deleted_and_odd_names_of_them_are_refused(developer):
    row = at(developer, "owner_id = 1 AND default_branch = 'main'")
    developer.click("Branches", "New branch").fill({"Branch name": "idea"}).click("Create branch")
    assert "The branch idea was created." in developer.text
    files = "SELECT count(*) FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ?"
    assert developer.value(files, row["project_id"], "idea") == developer.value(files, row["project_id"], "main")
    developer.click("Delete branch idea").holds(0, files, row["project_id"], "idea")
    assert developer.post(f"/{row['full']}/-/branches/delete", name="main").status_code == 403
    assert developer.post(f"/{row['full']}/-/branches/delete", name="idea").status_code == 404
    before = developer.value("SELECT count(*) FROM branch")
    for name in (*ODD, "main", "a..b", "-x", "x.lock", "main/x"):
        assert developer.post(f"/{row['full']}/-/branches/new", name=name, source="main").status_code in (200, 302)
    developer.holds(before + 1, "SELECT count(*) FROM branch").holds(
        "9" * 30, "SELECT name FROM branch ORDER BY branch_id DESC"
    )
