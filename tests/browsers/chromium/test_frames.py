"""Frames of a page in one tree: bodies of frames are inside of their elements, and elements have locations."""

from webarena_gym.browsers.chromium.frames import build_tree


def reading(xml, focused=-1, within=None):
    return {"xml": xml, "focused": focused, "within": within}


def test_the_body_of_a_frame_is_inside_of_its_element():
    main = reading("<html><head/><body><p>One</p><iframe/></body></html>", focused=3)
    inner = reading("<html><head/><body><b>Two</b><iframe/></body></html>", within=(0, 4))
    innermost = reading("<html><body><i>Three</i></body></html>", within=(1, 4))
    root, locations, focused = build_tree([main, inner, innermost], ["main", "inner", "innermost"])
    assert root.xpath("string(body/iframe/body/b)") == "Two"
    assert root.xpath("string(body/iframe/body/iframe/body/i)") == "Three"
    assert (focused.tag, focused.text) == ("p", "One")
    assert locations[root] == ("main", 0)
    assert locations[root.find(".//b")] == ("inner", 3)
    assert locations[root.find(".//i")] == ("innermost", 2)


def test_a_page_without_a_body_gets_one_and_frames_without_a_body_are_left_out():
    root, _, focused = build_tree([reading("<html><frameset/></html>"), reading("<svg/>", within=(0, 1))], ["main", "inner"])
    assert [child.tag for child in root] == ["frameset", "body"]
    assert len(root.find("frameset")) == 0
    assert focused is None
