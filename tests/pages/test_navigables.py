"""Targets of links and forms, named frames, and refreshes, as the HTML standard defines them."""

import pytest
from lxml import html

from webarena_gym.pages.navigables import (
    Refresh,
    Target,
    base_target,
    frame_named,
    get_target,
    has_document,
    names_window,
    shared_declarative_refresh,
)


def link(attributes, around=""):
    return html.document_fromstring(f"<body>{around}<a href=/ {attributes}>x</a></body>").find(".//a")


@pytest.mark.parametrize(
    ("attributes", "base", "target"),
    [
        ("", "", Target()),
        ("target=_SELF", "", Target()),
        ("target=_top", "", Target()),
        ("target=_Blank", "", Target("_blank", is_detached=True)),
        ("target=_blank rel=opener", "", Target("_blank")),
        ("target=_blank rel='opener noreferrer'", "", Target("_blank", is_detached=True, sends_referrer=False)),
        ("target=Side", "", Target("Side")),
        ("target=Side rel=NoOpener", "", Target("Side", is_detached=True)),
        ("target=''", "Side", Target("Side")),
        ("target=One", "Side", Target("One")),
        ("target='a&#10;<b'", "", Target("_blank", is_detached=True)),
        ("target='a<b'", "", Target("a<b")),
    ],
)
def test_a_link_has_a_target(attributes, base, target):
    assert get_target(link(attributes), None, base) == target


def test_a_submitter_has_precedence_over_its_form():
    form = html.fragment_fromstring("<form target=One><button formtarget=Two>a</button><button>b</button></form>")
    with_target, without = form
    assert [get_target(form, button, "").name for button in (with_target, without)] == ["Two", "One"]


def test_the_first_base_with_a_target_counts():
    root = html.document_fromstring("<head><base href=/><base target=One><base target=Two></head><body>x</body>")
    assert base_target(root) == "One"
    assert base_target(html.document_fromstring("<p>x</p>")) == ""


@pytest.mark.parametrize(
    ("attributes", "around", "is_named"),
    [
        ("target=Side", "", True), ("target=_blank", "", False), ("", "", False), ("target=Side", "<iframe name=Side></iframe>", False),
        ("target=Side", "<template><iframe name=Side></iframe></template>", True), ("target=Side", "<iframe name=Other></iframe>", True),
    ],
)  # fmt: skip
def test_a_link_names_a_window_unless_a_frame_has_the_name(attributes, around, is_named):
    assert names_window(link(attributes, around), None) is is_named


def test_the_first_frame_of_a_name_is_returned():
    root = html.document_fromstring(
        "<body><iframe id=1 name=a></iframe><object id=2 name=b></object><iframe id=3 name=b></iframe></body>"
    )
    assert frame_named(root, "b").get("id") == "2"
    assert frame_named(root, "c") is None


@pytest.mark.parametrize(
    ("content", "refresh"),
    [
        ("5", Refresh(5, "")), (" 5 ;url=/a", Refresh(5, "/a")), ("5, URL = '/a' b", Refresh(5, "/a")), ('0;"/a"', Refresh(0, "/a")),
        (".5;/a", Refresh(0, "/a")), ("99999999999", Refresh(1_000_000, "")), ("1.9 /a", Refresh(1, "/a")), ("5;urls", Refresh(5, "urls")),
        ("-1;/a", None), ("soon", None), ("5x", None), ("", None),
    ],
)  # fmt: skip
def test_a_refresh_is_parsed(content, refresh):
    assert shared_declarative_refresh([content]) == refresh


def test_the_earliest_refresh_counts_and_of_equal_ones_the_last():
    assert shared_declarative_refresh(["3;/a", "2;/b", "2;/c", "x"]) == Refresh(2, "/c")
    assert shared_declarative_refresh([]) is None


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ("<iframe></iframe>", False), ("<iframe src=about:blank></iframe>", False), ("<iframe src=/a></iframe>", True),
        ("<object data=/a></object>", True), ("<iframe srcdoc=''></iframe>", True), ("<iframe src=''></iframe>", False),
    ],
)  # fmt: skip
def test_frames_with_a_document(frame, expected):
    assert has_document(html.fragment_fromstring(frame)) is expected
