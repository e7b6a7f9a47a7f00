"""The entries of a form and their encodings, as the HTML standard has them and Chromium sends them."""

import re

import pytest
from lxml.html import document_fromstring

from webarena_gym.pages.form_data import (
    MULTIPART,
    PLAIN,
    URLENCODED,
    FormEntry,
    construct_entry_list,
    directionality,
    encode_entries,
    file_names,
    file_type,
    hard_wrapped,
    pick_encoding,
)


def entries(fields, submitter="", files=()):
    root = document_fromstring(f"<form>{fields}</form>")
    button = root.get_element_by_id(submitter) if submitter else None
    return [entry[:2] for entry in construct_entry_list(root.find(".//form"), button, dict(files))]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("<input name=a value=1><input value=2><input name=b>", [("a", "1"), ("b", "")]),
        ("<input name=a value=1 disabled><fieldset disabled><input name=b></fieldset>", []),
        (
            "<input type=checkbox name=a checked><input type=checkbox name=b><input type=radio name=c value=x checked>",
            [("a", "on"), ("c", "x")],
        ),
        ("<select name=s><option>A<option selected value=b>B</select>", [("s", "b")]),
        (
            "<select name=s multiple><option selected>A<option selected disabled>B<option selected>C</select>",
            [("s", "A"), ("s", "C")],
        ),
        ("<textarea name=t>x</textarea>", [("t", "x")]),
        ("<input type=hidden name=_charset_ value=x>", [("_charset_", "UTF-8")]),
        ("<input name=a value=x dirname=a.dir>", [("a", "x"), ("a.dir", "ltr")]),
        ("<input type=submit name=go value=1><button name=b value=2>x</button>", []),
        ("<input type=file name=f>", [("f", "")]),
    ],
)
def test_the_entry_list(fields, expected):
    assert entries(fields) == expected


def test_only_the_button_that_submits_is_sent_and_an_image_with_a_position():
    fields = "<input name=a><button id=one name=b value=1>x</button><button id=two name=b value=2>y</button><input type=image id=i name=i>"
    assert entries(fields, "two") == [("a", ""), ("b", "2")]
    assert entries(fields, "i") == [("a", ""), ("i.x", "0"), ("i.y", "0")]


def test_files_are_sent_with_their_content_and_names_with_commas_are_names():
    assert file_names("a, b", {}) == ["a", "b"]
    assert file_names("a, b", {"a, b": b""}) == ["a, b"]
    assert file_names("", {}) == []
    root = document_fromstring("<form><input type=file name=f value='a.txt, b.png'></form>")
    got = construct_entry_list(root.find(".//form"), None, {"a.txt": b"A"})
    assert got == [FormEntry("f", "a.txt", True, b"A"), FormEntry("f", "b.png", True, b"")]
    assert [file_type(name) for name in ("a.txt", "b.png", "c")] == ["text/plain", "image/png", "application/octet-stream"]


@pytest.mark.parametrize(
    ("markup", "direction"),
    [
        ("<p>x", "ltr"),
        ("<p dir=rtl>x", "rtl"),
        ("<p dir=auto>\u05d0", "rtl"),
        ("<p dir=auto>1 a", "ltr"),
        ("<p dir=auto>12", "ltr"),
        ("<div dir=rtl><p>x", "rtl"),
    ],
)
def test_the_direction_of_an_element(markup, direction):
    assert directionality(document_fromstring(markup).find(".//p")) == direction


def test_a_text_is_wrapped_after_blanks_and_hyphens():
    assert hard_wrapped("one two three", 7) == "one two \nthree"
    assert hard_wrapped("abcdefgh", 3) == "abcd\nefgh"
    assert hard_wrapped("well-known", 4) == "well-\nknown"
    assert hard_wrapped("a\n\nb", 9) == "a\n\nb"


@pytest.mark.parametrize(
    ("labels", "name"), [("", "windows-1252"), ("latin1", "windows-1252"), ("nonsense UTF8", "UTF-8"), ("sjis", "Shift_JIS")]
)
def test_the_first_known_encoding_is_picked(labels, name):
    assert pick_encoding(document_fromstring(f"<form accept-charset='{labels}'>").find(".//form"), "windows-1252") == name


ENTRIES = [FormEntry("a b", "x&y\n~*é"), FormEntry("c", "1")]


def test_encodings_of_a_body():
    assert encode_entries(ENTRIES, URLENCODED) == (URLENCODED, b"a+b=x%26y%0D%0A%7E*%C3%A9&c=1")
    assert encode_entries(ENTRIES, "other")[0] == URLENCODED
    assert encode_entries(ENTRIES, PLAIN) == (PLAIN, "a b=x&y\r\n~*é\r\nc=1\r\n".encode())
    assert encode_entries([FormEntry("a", "\u20ac\u05d0")], URLENCODED, "windows-1252")[1] == b"a=%80%26%231488%3B"


def test_a_multipart_body_has_a_boundary_of_its_content():
    content_type, body = encode_entries([FormEntry('q"', "1"), FormEntry("f", "a.txt", True, b"A\nB")], MULTIPART)
    boundary = re.fullmatch(f"{MULTIPART}; boundary=(\\S+)", content_type)[1].encode()
    assert body.split(b"--" + boundary) == [
        b"",
        b'\r\nContent-Disposition: form-data; name="q%22"\r\n\r\n1\r\n',
        b'\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nA\nB\r\n',
        b"--\r\n",
    ]
    assert encode_entries([FormEntry("f", "a.txt", True, b"other")], MULTIPART)[0] != content_type
