"""Planning of a code host: texts that differ, comments, endings, and the dates and people of issues and merge requests."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

import pytest

from webarena_gym.sites.country.dice import Dice, moment
from webarena_gym.sites.gitlab import world_projects
from webarena_gym.sites.gitlab.world_planning import (
    KIND_LABELS,
    ComposedTexts,
    Item,
    Note,
    Planner,
    PooledTexts,
    Subject,
    issue_row,
    note_row,
)
from webarena_gym.sites.prose import issues as prose

WRITERS = {"pooled": PooledTexts, "composed": ComposedTexts}
NOW = datetime(2023, 6, 1, 12)


def writer(kind, seed=3):
    return WRITERS[kind](Dice(f"test/{seed}"), seed)


@cache
def plans():
    """The planning of the first projects of a world."""
    host = world_projects.draw_host(1, moment(1), "standard")
    projects = world_projects.draw_projects(host)
    planner = Planner(host)
    return host, [planner.plan(repository) for repository in world_projects.draw_repositories(host, projects)[:40]]


@pytest.mark.parametrize("kind", WRITERS)
def test_titles_of_a_project_differ(kind):
    texts = writer(kind)
    texts.start_project()
    titles = [texts.issue(name).title for name in KIND_LABELS for _ in range(40)] + [
        texts.request(None).title for _ in range(40)
    ]
    assert len({title.lower() for title in titles}) == len(titles) == 200
    assert not any("@" in title and "@ " not in title and title.count("@") > 1 for title in titles)


@pytest.mark.parametrize("kind", WRITERS)
def test_equal_dice_write_equal_texts(kind):
    first, again, other = ([writer(kind, seed).issue("bugs").title for _ in range(2)] for seed in (3, 3, 4))
    assert first == again != other


def test_a_title_that_is_taken_gets_a_number():
    texts = writer("composed")
    assert [texts._single(title) for title in ("Crash", "crash", "Crash")] == ["Crash", "crash (2)", "Crash (3)"]
    texts.start_project()
    assert texts._single("Crash") == "Crash"


def test_a_text_is_fresh_once_whatever_its_case_punctuation_and_contractions():
    subject = Subject(Dice("x"), "Title", "Body")
    assert subject.is_fresh("It does not work.")
    assert not subject.is_fresh("it doesn't work")
    assert subject.is_fresh("It does work.")
    assert (subject.description_text(), subject.ending()) == ("Body", ("", None))
    assert {len(subject.remarks(2)) for _ in range(50)} == {0, 1, 2}


def test_the_kind_of_an_issue_decides_its_facts():
    texts = writer("composed")
    rows = {kind: issue_row(texts.issue(kind).facts) for kind in KIND_LABELS}
    assert {kind: row[0] for kind, row in rows.items()} == {
        "bugs": "bug", "features_wanted": "wish", "docs_wanted": "gap", "questions": "question",
    }  # fmt: skip
    assert rows["bugs"][3].startswith(f"{texts.major}.")
    assert rows["questions"][3]
    assert rows["features_wanted"][3:] == rows["docs_wanted"][3:] == ("", "", "")


def test_versions_are_those_of_the_project_and_bugs_began_before_them():
    texts = writer("composed")
    since = [issue_row(texts.issue("bugs").facts)[3:6:2] for _ in range(60)]
    dated = [(version, begin) for version, begin in since if begin]
    assert 5 < len(dated) < 35
    assert all(float(begin) < float(version.rpartition(".")[0]) for version, begin in dated)


def test_comments_of_the_author_are_notes_and_others_confirm_or_refute():
    texts = writer("composed")
    author, others = set(), set()
    for _ in range(30):
        issue = texts.issue("bugs")
        author.add(issue.remark_text("", True)[1].kind)
        others |= {issue.remark_text("", False)[1].kind for _ in range(4)}
    assert author == {"note"}
    assert others >= {"confirms", "cannot reproduce", "workaround works", "suspects", "cause"}
    assert {texts.issue("docs_wanted").remark_text("", False)[1].kind for _ in range(9)} == {"note"}
    assert {texts.issue("features_wanted").remark_text("", False)[1].kind for _ in range(30)} == {"note", "supports"}


def test_the_comment_that_closes_an_issue_names_the_merge_request():
    texts = writer("composed")
    text, facts = texts.issue("bugs").ending(17)
    assert (facts.kind, facts.number) == ("fixed", "17")
    assert "17" in text
    kinds = [facts and facts.kind for _, facts in (texts.issue("bugs").ending() for _ in range(60))]
    assert {*kinds} == {None, "declined"}
    assert 8 < kinds.count("declined") < 36


def test_rows_of_comments_have_a_version_and_platform_where_these_are_reported():
    facts = writer("composed").issue("bugs").remark_text("", True)[1]
    for kind in ("confirms", "cannot reproduce"):
        row = note_row(replace(facts, kind=kind) if not hasattr(facts, "_replace") else facts._replace(kind=kind))
        assert row == (kind, facts.version, facts.platform, "")
    assert note_row(facts) == ("note", "", "", "")


def test_authors_of_merge_requests_reply_to_the_latest_request():
    texts = writer("composed")
    for _ in range(20):
        request = texts.request(None)
        for _ in range(3):
            request.remark_text("", False)
        waiting = len(request.open_changes)
        request.remark_text("", True)
        assert len(request.open_changes) == max(0, waiting - 1)


def test_a_merge_request_that_closes_an_issue_is_about_it():
    texts = writer("composed")
    issue = texts.issue("features_wanted")
    assert isinstance(issue.about, prose.Wish)
    assert "12" in texts.request((12, issue)).body


def test_an_ended_item_has_the_comment_and_the_event():
    item = Item(Subject(Dice("x"), "Title"), "", 4, NOW)
    assert (item.state, item.updated_at) == ("opened", NOW)
    item.end("closed", NOW + timedelta(days=1), 7, ("Done.", None))
    assert item.notes == [
        Note(7, "Done.", NOW + timedelta(days=1)), Note(7, "closed", NOW + timedelta(days=1), is_system=True),
    ]  # fmt: skip
    assert (item.state, item.closed_at, item.updated_at) == ("closed", NOW + timedelta(days=1), NOW + timedelta(days=1))
    silent = Item(Subject(Dice("x"), "Title"), "", 4, NOW)
    silent.end("merged", NOW, 7, ("", None))
    assert [note.body for note in silent.notes] == ["merged"]


def test_moments_of_a_project_are_in_order_and_end_a_day_before_now():
    host, projects = plans()
    for plan in projects:
        for items in (plan.issues, plan.merge_requests):
            assert [item.created_at for item in items] == sorted(item.created_at for item in items)
        assert all(
            plan.project.created_at <= item.created_at < host.now - timedelta(days=1) + timedelta(seconds=1)
            for item in plan.issues
        )
        for item in (*plan.issues, *plan.merge_requests):
            moments = [note.created_at for note in item.notes if not note.is_system]
            assert moments == sorted(moments)
            assert all(item.created_at <= note.created_at <= host.now for note in item.notes)


def test_people_of_items_are_members_and_are_announced():
    host, projects = plans()
    for plan in projects:
        members = host.members(plan.project)
        for item in (*plan.issues, *plan.merge_requests):
            events = [note.body for note in item.notes if note.body.startswith("assigned to")]
            assert events == [f"assigned to @{host.users[user - 1].username}" for user in item.assignees]
            assert item.milestone is None or 0 <= item.milestone < len(plan.milestones)
            assert set(item.labels) <= {label[0] for label in plan.labels}
        for issue in plan.issues:
            assert set(issue.assignees) <= members.keys()
            if plan.project.visibility == "private":
                assert issue.author_id in members


def test_milestones_of_the_past_are_mostly_closed_and_those_of_the_future_active():
    host, projects = plans()
    ends = [(due < str(host.now.date()), state) for plan in projects for _, _, due, state in plan.milestones]
    past = [state for is_past, state in ends if is_past]
    assert past.count("closed") > len(past) / 2
    assert {state for is_past, state in ends if not is_past} == {"active"}
    assert all(start < due for plan in projects for _, start, due, _ in plan.milestones)


def test_forks_have_no_items_and_closed_items_a_time():
    _, projects = plans()
    for plan in projects:
        if plan.project.source:
            assert plan.issues == plan.merge_requests == []
        for item in (*plan.issues, *plan.merge_requests):
            assert (item.state == "opened") is (item.closed_at is None)
    requests = [request for plan in projects for request in plan.merge_requests]
    assert {request.state for request in requests} == {"opened", "merged", "closed"}
    assert all(request.source != request.target for request in requests)
