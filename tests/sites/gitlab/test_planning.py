"""Plans of issues and merge requests, and the filters of their lists with the addresses that change one of them."""

from urllib.parse import parse_qsl

import pytest
from werkzeug.datastructures import MultiDict

from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, Filters, ItemPlan, NamedRow, changes, mentions

ANN, BOB, BUG = NamedRow(1, "ann"), NamedRow(2, "bob"), NamedRow(4, "bug")


def read(query, kind=ISSUE):
    return Filters.read(MultiDict(parse_qsl(query, keep_blank_values=True)), kind)


@pytest.mark.parametrize(
    ("change", "notes"),
    [
        ({}, []), ({"description": "x"}, ["changed the description"]), ({"assignees": (ANN, BOB)}, ["assigned to @bob"]),
        ({"assignees": ()}, ["unassigned @ann"]), ({"assignees": (BOB,)}, ["assigned to @bob", "unassigned @ann"]),
        ({"labels": (BUG,)}, ["added the label bug"]), ({"milestone": None}, ["removed milestone"]), ({"milestone": NamedRow(9, "v2")}, ["changed milestone to v2"]),
        ({"due_on": ""}, ["removed due date"]), ({"due_on": "2024-02-29"}, ["changed due date to February 29, 2024"]), ({"is_confidential": True}, ["made the issue confidential"]),
        ({"reviewers": (BOB,)}, ["requested review from @bob"]), ({"is_draft": True}, ["marked this merge request as draft"]),
        ({"target_branch": "dev"}, ["changed target branch from main to dev"]),
    ],
)  # fmt: skip
def test_changes_of_a_plan_are_system_notes(change, notes):
    plan = ItemPlan("A", "", NamedRow(8, "v1"), (), (ANN,), "2024-01-01", target_branch="main")
    assert changes(plan, plan._replace(**change)) == notes


def test_a_person_is_assigned_once():
    plan = ItemPlan("A").assigned_to(ANN)
    assert plan.assignees == (ANN,)
    assert plan.assigned_to(ANN) is plan
    assert plan.assigned_to(BOB).assignees == (ANN, BOB)


@pytest.mark.parametrize(
    ("text", "names"), [("@a @b @a", ["a", "b"]), ("x@y.z", []), ("(@a.b).", ["a.b"]), ("@a-", ["a"]), ("/@a", []), ("@@a", [])]
)
def test_mentions(text, names):
    assert mentions(text) == names


def test_missing_and_invalid_values_become_defaults():
    assert read("") == Filters(ISSUE, "opened", "", (), {}, "", "created_date")
    assert read("state=nonsense&sort=nonsense&search=") == read("")
    assert read("state=merged") == read("")
    assert read("state=merged", MERGE_REQUEST).state == "merged"
    assert read("sort=due_date").sort == "due_date"
    assert read("sort=due_date", MERGE_REQUEST).sort == "created_date"
    assert read("reviewer_username=ann").people == {}
    assert read("label_name[]=a&label_name[]=b&label_name[]=a").labels == ("a", "b")
    assert len(read("&".join(f"label_name[]={number}" for number in range(30))).labels) == 10


QUERY = "sort=title_asc&state=all&search=lost+key&label_name[]=bug&label_name[]=ui&author_username=ann&assignee_username=None&milestone_title=v1"


def test_the_query_of_filters_gives_the_same_filters():
    assert read(read(QUERY).query()) == read(QUERY)
    assert read(read(QUERY).query(state="closed")) == read(QUERY)._replace(state="closed")


def test_each_filter_can_be_removed_alone():
    filters = read(QUERY)
    removed = {label: read(query) for label, query in filters.removals()}
    assert removed == {
        'Search "lost key"': filters._replace(search=""),
        "Label bug": filters._replace(labels=("ui",)),
        "Label ui": filters._replace(labels=("bug",)),
        "Author ann": filters._replace(people={"assignee": "None"}),
        "Assignee None": filters._replace(people={"author": "ann"}),
        "Milestone v1": filters._replace(milestone=""),
    }
    assert read("").removals() == []


def test_the_condition_has_a_parameter_for_each_filter():
    condition, parameters = read(QUERY).where()
    assert {"lost", "key", "bug", "ui", "ann", "v1"} <= {*parameters.values()}
    assert all(f":{name}" in condition for name, value in parameters.items() if value not in ("None",))
    assert read("").where()[0] == "1"
    assert read("milestone_title=None").where()[0] == "t.milestone_id IS NULL"


def test_filters_that_differ_in_order_or_case_alone_have_the_same_content():
    assert (
        read("search=Key+lost&label_name[]=ui&label_name[]=bug").content()
        == read("search=lost+key&label_name[]=bug&label_name[]=ui").content()
    )
    assert read("state=closed").content() != read("").content()
