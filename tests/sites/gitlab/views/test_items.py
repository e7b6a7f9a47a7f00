"""Issues, merge requests, milestones and labels of the code host, used by their labels and judged by what is in the database."""

from tests.code_host import ANN, BO, CY, DI, NOW
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, Filters, ItemPlan, NamedRow, changes, mentions
from webarena_gym.sites.gitlab.queries import Change, diff_lines

ISSUES = "/ann/site/-/issues"
REQUESTS = "/ann/site/-/merge_requests"


def notes(visitor, item="issue_id", item_id=1):
    query = f"SELECT body FROM note WHERE {item} = ? AND created_at = ? ORDER BY note_id"
    return [body for (body,) in visitor.rows(query, item_id, NOW)]


def test_a_project_shows_its_open_issues_the_newest_first_and_filters_narrow_them_down(visitor):
    assert visitor.open("/ann/site").click("Issues").titles == ["Dark mode", "Broken link", "Hidden door"]
    assert visitor.click("Closed").titles == ["Crash"]
    assert visitor.click("All").titles == ["Dark mode", "Broken link", "Hidden door", "Crash"]
    visitor.at(f"{ISSUES}?sort=created_date&state=all").choose("Label", "bug").choose("Author", "Cy Dunn").click("Apply")
    assert visitor.titles == ["Broken link"]
    assert visitor.click("Remove filter: Author cy-d").titles == ["Broken link", "Crash"]
    assert "label_name%5B%5D=bug" in visitor.path
    assert visitor.click("Remove filter: Label bug").titles[0] == "Dark mode"
    assert visitor.open(f"{ISSUES}?state=all&label_name[]=bug&label_name[]=help+wanted").titles == ["Crash"]
    visitor.choose("Label", "Any label").click("Apply")
    assert visitor.path.count("label_name") == 2  # one of them is empty now


def test_a_list_follows_its_address(visitor):
    for query, found in (
        ("search=LINK", ["Dark mode", "Broken link"]), ("search=link+page", ["Broken link"]), ("search=%25", []),
        ("assignee_username=bo.cole", ["Broken link"]), ("assignee_username=None", ["Dark mode", "Hidden door"]),
        ("milestone_title=Beta", ["Broken link"]), ("milestone_title=None", ["Dark mode", "Hidden door"]),
        ("author_username=nobody", []),
        ("sort=created_asc", ["Hidden door", "Broken link", "Dark mode"]),
        ("sort=title_asc", ["Broken link", "Dark mode", "Hidden door"]),
        ("sort=due_date", ["Broken link", "Dark mode", "Hidden door"]),
        ("sort=updated_asc", ["Hidden door", "Broken link", "Dark mode"]),
        ("state=merged&sort=odd&page=-1", ["Dark mode", "Broken link", "Hidden door"]),
    ):  # fmt: skip
        assert visitor.open(f"{ISSUES}?{query}").titles == found


def test_the_dashboard_shows_what_is_mine_and_what_may_not_be_seen_is_nowhere(visitor):
    assert visitor.become(BO).click("Assigned issues").titles == ["Broken link"]
    assert visitor.click("Created by me").titles == ["Handle dates", "Secret plan", "Hidden door"]
    assert visitor.become(ANN).click("Review requests").titles == ["Repair the link"]
    assert visitor.at("/dashboard/merge_requests?reviewer_username=ann").click("Created by me").titles == []
    visitor.become(CY)
    assert "Hidden door" not in visitor.open(ISSUES).titles
    assert visitor.status(f"{ISSUES}/4") == 404
    assert visitor.status("/bo.cole/secret/-/issues") == 404
    assert visitor.open("/search?search=secret&scope=issues").titles == []
    assert visitor.open("/dashboard/issues").titles == ["Dark mode", "Broken link", "Handle dates", "Ancient"]
    visitor.become(DI)
    assert visitor.status(f"{ISSUES}/4") == 404  # a guest of the project
    assert visitor.become(None).status("/labs/tool/-/issues") == 404
    assert visitor.titles == [] or "Handle dates" not in visitor.text


def test_issues_are_created_with_all_fields_except_by_non_members(visitor):
    texts = {"Title": "404 for  many URLs", "Description (optional)": "See @bo.cole and @nobody"}
    visitor.open(ISSUES).click("New issue").fill(texts).click("Assign to me", "bug").choose("Milestone", "Beta")
    visitor.fill({"Due date (optional)": "2030-01-03"}).click("Create issue").at(f"{ISSUES}/5")
    row = visitor.rows("SELECT title, author_id, milestone_id, due_on, created_at FROM issue WHERE iid = 5")[0]
    assert row == ("404 for many URLs", ANN, 1, "2030-01-03", NOW)
    assert visitor.rows("SELECT user_id FROM issue_assignee WHERE issue_id = 8") == [(ANN,)]
    assert visitor.rows("SELECT user_id, kind FROM todo WHERE issue_id = 8") == [(BO, "mentioned")]
    visitor.sees("Jan 3, 2030").become(CY).open(ISSUES).click("New issue")
    assert "Milestone" not in visitor.text.split("<h1>")[1]
    visitor.post(ISSUES, title="Help", label="1", assignee=str(BO), milestone="1", due_date="2030-01-01", assign_to_me="on")
    assert visitor.rows("SELECT title, milestone_id, due_on FROM issue WHERE iid = 6") == [("Help", None, None)]
    assert visitor.rows("SELECT * FROM issue_label WHERE issue_id = 9") == []


def test_signed_out_visitors_are_asked_to_sign_in_and_come_back(visitor):
    visitor.become(None).open(ISSUES).click("New issue").at("/users/sign_in")
    visitor.fill({"Username or email": "cy@mail.test", "Password": "secret-cy1"}).click("Sign in [2]").at(f"{ISSUES}/new")


def test_edits_add_system_notes_only_for_changes(visitor):
    updated = "SELECT updated_at FROM issue WHERE issue_id = 1"
    visitor.open(f"{ISSUES}/1").click("Edit issue", "Save changes")
    assert (notes(visitor), visitor.value(updated)) == ([], "2023-02-09 10:00:00")
    visitor.click("Edit issue").fill({"Title": "Broken links"})
    visitor.choose("Assignee", "Unassigned").choose("Assignee 2", "Ann Arbor (@ann)").choose("Milestone", "No milestone")
    visitor.click("bug", "help wanted", "This issue is confidential").fill({"Due date (optional)": ""}).click("Save changes")
    assert notes(visitor) == [
        'changed title from "Broken link" to "Broken links"', "assigned to @ann", "unassigned @bo.cole", "added the label help wanted",
        "removed the label bug", "removed milestone", "removed due date", "made the issue confidential",
    ]  # fmt: skip
    assert visitor.value(updated) == NOW


def test_an_author_without_a_role_changes_the_text_alone(visitor):
    visitor.become(CY).open(f"{ISSUES}/1").click("Edit issue").fill({"Title": "Dead link"}).click("Save changes")
    visitor.post(f"{ISSUES}/1/edit", title="Dead link", label="2", assignee="")
    assert visitor.rows("SELECT title, milestone_id FROM issue WHERE issue_id = 1") == [("Dead link", 1)]
    assert visitor.rows("SELECT user_id FROM issue_assignee WHERE issue_id = 1") == [(BO,)]
    assert visitor.post(f"{ISSUES}/1/assign_to_me").status_code == 403
    assert visitor.status(f"{ISSUES}/2/edit") == 403
    assert visitor.post(f"{ISSUES}/2/state", state="closed").status_code == 403
    assert visitor.post(f"{ISSUES}/2/notes", body="Away with it", state="closed").status_code == 403
    assert notes(visitor, item_id=2) == []


def test_comments_close_and_reopen_and_are_not_empty(visitor):
    visitor.open(f"{ISSUES}/1").fill({"Write a comment": "Done, @cy-d <i>now</i>"}).click("Comment and close issue")
    assert notes(visitor) == ["Done, @cy-d <i>now</i>", "closed"]
    assert "<i>now</i>" not in "".join(visitor.browser.page().root.itertext("i"))
    assert visitor.rows("SELECT state, closed_at FROM issue WHERE issue_id = 1") == [("closed", NOW)]
    assert visitor.rows("SELECT user_id, kind FROM todo WHERE issue_id = 1 AND created_at = ?", NOW) == [(CY, "mentioned")]
    assert visitor.click("Reopen issue").rows("SELECT state, closed_at FROM issue WHERE issue_id = 1") == [("opened", None)]
    assert visitor.post(f"{ISSUES}/1/state", state="opened").status_code == 409
    assert visitor.post(f"{ISSUES}/1/state", state="merged").status_code == 409
    visitor.become(CY).open(f"{ISSUES}/2").click("Comment").sees("can't be blank")
    visitor.fill({"Write a comment": "Me too"}).click("Comment")
    assert visitor.path.startswith(f"{ISSUES}/2#note_")
    assert notes(visitor, item_id=2) == ["Me too"]


def test_archived_projects_take_nothing_new_and_others_assignees_and_to_dos(visitor):
    visitor.become(CY).open("/cy-d/old/-/issues/1").sees("comments are closed")
    for path in ("issues", "issues/1/notes", "issues/1/edit", "milestones", "labels", "issues/1/assign_to_me"):
        assert visitor.post(f"/cy-d/old/-/{path}", title="x", body="x", name="x", color="#000000").status_code == 403
    visitor.become(ANN).open(f"{ISSUES}/1").click("Assign to me")
    assert visitor.rows("SELECT user_id FROM issue_assignee WHERE issue_id = 1 ORDER BY 1") == [(ANN,), (BO,)]
    visitor.lacks("Assign to me").click("Add a to do").post(f"{ISSUES}/1/todo")
    assert visitor.rows("SELECT kind FROM todo WHERE user_id = ? AND issue_id = 1 AND state = 'pending'", ANN) == [("marked",)]


def test_a_merge_request_is_made_of_two_branches(visitor):
    visitor.become(BO).open(REQUESTS).click("New merge request").click("Compare branches and continue")
    assert "Select a source branch." in visitor.text
    visitor.choose("Source branch", "idle").choose("Target branch", "fix-link").click("Compare branches and continue")
    assert visitor.path == f"{REQUESTS}/new?source_branch=idle&target_branch=fix-link"
    visitor.choose("Reviewer", "Ann Arbor (@ann)").click("help wanted", "Mark as draft", "Create merge request")
    row = visitor.rows("SELECT title, source_branch, target_branch, is_draft, author_id FROM merge_request WHERE iid = 3")
    assert row == [("Idle", "idle", "fix-link", 1, BO)]
    assert visitor.rows("SELECT user_id, kind FROM todo WHERE merge_request_id = 3") == [(ANN, "review_requested")]


def test_some_branches_make_no_merge_request(visitor):
    for source, target, complaint in (
        ("fix-link", "main", "already an open merge request"), ("main", "main", "different branches"),
        ("gone", "main", "does not exist"), ("", "main", "Select a source branch"),
    ):  # fmt: skip
        visitor.open(f"{REQUESTS}/new?source_branch={source}&target_branch={target}").sees(complaint)
        assert complaint in visitor.post(REQUESTS, source_branch=source, target_branch=target, title="x").text


def test_a_merge_request_shows_what_merging_brings_into_the_target(visitor):
    assert visitor.open(f"{REQUESTS}/1").click("Commits [2]").titles == ["Fix the link"]
    visitor.click("Changes").at(f"{REQUESTS}/1/diffs")
    assert "+<a>two</a>" in visitor.browser.page().root.text_content()
    visitor.sees("2 changed files").open(f"{REQUESTS}/1").click("Merge")
    assert visitor.rows("SELECT state, merged_at FROM merge_request WHERE iid = 1") == [("merged", NOW)]
    files = visitor.rows("SELECT path, content FROM file WHERE branch_id = 1")
    assert files == [("index.html", "<a>two</a>\n"), ("notes.md", "Done.\n")]
    assert visitor.rows("SELECT commit_id FROM commit_branch WHERE branch_id = 1") == [(1,), (2,), (4,)]
    visitor.click("Changes").sees("2 changed files").open(f"{REQUESTS}/2").sees("Both branches changed index.html")
    assert visitor.post(f"{REQUESTS}/2/merge").status_code == 409
    assert visitor.post(f"{REQUESTS}/1/state", state="closed").status_code == 409


def test_only_maintainers_merge_into_a_protected_branch_and_nobody_a_draft(visitor):
    assert visitor.become(BO).open(f"{REQUESTS}/1").sees("the role Maintainer").post(f"{REQUESTS}/1/merge").status_code == 409
    visitor.become(ANN).open(f"{REQUESTS}/1").click("Edit merge request", "Mark as draft", "Save changes").sees("is a draft")
    assert notes(visitor, "merge_request_id") == ["marked this merge request as draft"]
    visitor.db.execute("UPDATE branch SET is_protected = 0")
    visitor.db.execute("UPDATE merge_request SET is_draft = 0")
    assert visitor.become(BO).post(f"{REQUESTS}/1/merge").status_code == 302


def test_a_milestone_is_made_changed_closed_and_deleted_and_leaves_its_issues_alone(visitor):
    visitor.open("/ann/site").click("Milestones", "New milestone")
    visitor.fill({"Title": "Beta", "Start date (optional)": "2023-07-10"})
    visitor.fill({"Due date (optional)": "2023-07-01"}).click("Create milestone")
    visitor.sees("Due date must be after the start date.", "already been taken")
    visitor.fill({"Title": "Launch", "Due date (optional)": "2023-07-20"}).click("Create milestone")
    assert visitor.path == "/ann/site/-/milestones/3"
    visitor.click("Edit milestone").fill({"Description (optional)": "Soon"}).click("Save changes", "Close milestone")
    row = visitor.rows("SELECT title, description, starts_on, due_on, state FROM milestone WHERE iid = 3")
    assert row == [("Launch", "Soon", "2023-07-10", "2023-07-20", "closed")]
    assert visitor.click("Reopen milestone").click("Delete milestone").titles == ["Beta"]
    assert "Broken link" in visitor.open("/ann/site/-/milestones/1").titles
    assert visitor.click("Delete milestone").rows("SELECT milestone_id FROM issue WHERE issue_id = 1") == [(None,)]
    assert visitor.open("/dashboard/milestones?state=all").titles == ["Alpha"]


def test_a_label_is_made_changed_and_deleted(visitor):
    visitor.open("/ann/site").click("Labels", "New label").fill({"Name": "bug", "Color": "red"}).click("Create label")
    visitor.sees("already been taken", "hexadecimal")
    visitor.fill({"Name": "urgent", "Color": "#ff0000"}).click("Create label", "Edit urgent")
    visitor.fill({"Description (optional)": "Now!"}).click("Save changes")
    assert visitor.rows("SELECT name, description, color FROM label WHERE label_id = 4") == [("urgent", "Now!", "#ff0000")]
    assert visitor.click("Delete bug").rows("SELECT * FROM issue_label") == [(3, 2)]
    assert visitor.titles == ["help wanted", "urgent"]
    assert visitor.click("Issues with help wanted").path == f"{ISSUES}?state=opened&label_name%5B%5D=help+wanted"


def test_planning_is_for_reporters_and_merge_requests_for_developers(visitor):
    for somebody in (CY, DI):
        visitor.become(somebody)
        for place in ("new", "1/edit"):
            for kind in ("milestones", "labels", "merge_requests"):
                assert visitor.status(f"/ann/site/-/{kind}/{place}") == 403
        for place in ("milestones", "milestones/1/delete", "milestones/1/state", "labels", "labels/1/delete"):
            assert visitor.post(f"/ann/site/-/{place}", title="x", name="x", color="#000000").status_code == 403
        assert visitor.post(REQUESTS, source_branch="idle", target_branch="try", title="x").status_code == 403
        assert visitor.status(f"{REQUESTS}/1/diffs") == 200
    assert visitor.become(ANN).status("/labs/tool/-/labels/1/edit") == 404  # a label of another project


def test_equal_plans_change_nothing_filters_survive_their_address_and_a_long_diff_is_cut():
    plan = ItemPlan("A", labels=(NamedRow(1, "bug"),), due_on="2023-01-01")
    assert changes(plan, plan) == []
    assert changes(ItemPlan("A", target_branch="x"), ItemPlan("A", target_branch="y")) == ["changed target branch from x to y"]
    assert mentions("@a @b.c, mail@d.e /@f @@g @a") == ["a", "b.c"]
    filters = Filters(MERGE_REQUEST, "merged", "a b", ("x", "y z"), {"reviewer": "ann"}, "None", "updated_asc")
    assert "label_name%5B%5D=y+z" in filters.query()
    gone = ['Search "a b"', "Label x", "Label y z", "Reviewer ann", "Milestone None"]
    assert [label for label, _ in filters.removals()] == gone
    assert [("due_date" in Filters.sorts(kind)) for kind in (ISSUE, MERGE_REQUEST)] == [True, False]
    lines = diff_lines(Change("a", "added", "", "\n".join("x" * 3 for _ in range(1000))))
    assert len(lines) == 401
    assert lines[-1][1].endswith("more lines")
