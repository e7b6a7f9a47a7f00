"""Validity of controls, flag by flag: required controls, addresses, e-mails, patterns, lengths, ranges, and barred controls."""

import pytest
from lxml.html import fromstring

from webarena_gym.pages.constraints import interactively_validate, is_absolute_url, placeholder_label_option, validity


def control(markup):
    """Return the first control of a form with this content."""
    form = fromstring(f"<form>{markup}</form>")
    return next(form.iter("input", "select", "textarea"))


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("http://a.test", True), ("a.test", False), ("http:", False), ("http://", False), ("HTTP:\\\\a.test/b", True), ("file:", True),
        ("file://a.test:80/", False), ("mailto:a", True), ("x://", True), ("x://:80/", False), ("x://a b/", False), ("http://a%zz.test", False),
        ("http://a.test:65535/", True), ("http://a.test:65536/", False), ("http://a.test:x/", False), ("http://a.test:/", True),
        ("http://u:p@a.test/", True), ("http://[::1]/", True), ("http://[::1", False), ("http://[::1%1]/", False), ("http://[1.2]/", False),
        ("http://255.255.255.255/", True), ("http://256.1.1.1/", False), ("http://1.1.1.256/", False), ("http://1.1.65535/", True),
        ("http://1.1.65536/", False), ("http://1.16777215/", True), ("http://1.16777216/", False), ("http://4294967295/", True),
        ("http://4294967296/", False), ("http://1.2.3.4.5/", False), ("http://0x7f.1/", True), ("http://0xfff.1/", False),
        ("http://0300.1/", True), ("http://09.1/", False), ("http://1.1.1.1./", True), ("http://a.1b/", True), (" http://a.test\n", True),
        ("ht\ttp://a.test", True), ("http://a<b/", False), ("1http://a", False),
    ],
)  # fmt: skip
def test_absolute_addresses(text, is_valid):
    assert is_absolute_url(text) is is_valid
    field = control("<input type=url>")
    field.set("value", text)
    assert (validity(field) == "") is is_valid


@pytest.mark.parametrize(
    ("text", "more", "is_valid"),
    [
        ("a@b", "", True), ("a@b.c", "", True), ("a", "", False), ("@b", "", False), ("a@", "", False), ("a@-b", "", False), ("a@b-", "", False),
        ("a@b..c", "", False), ("a b@c", "", False), (f"a@{'b' * 63}", "", True), (f"a@{'b' * 64}", "", False), ("a@b,c@d", "", False),
        ("a@b,c@d", "multiple", True), ("a@b,c", "multiple", False),
    ],
)  # fmt: skip
def test_emails(text, more, is_valid):
    assert validity(control(f"<input type=email value='{text}' {more}>")) == ("" if is_valid else "typeMismatch")


@pytest.mark.parametrize(
    ("markup", "is_missing"),
    [
        ("<input required>", True), ("<input required value=x>", False), ("<input>", False), ("<textarea required></textarea>", True),
        ("<textarea required>x</textarea>", False), ("<input type=checkbox required>", True), ("<input type=checkbox required checked>", False),
        ("<input type=radio name=a required>", True), ("<input type=radio name=a><input type=radio name=a required>", True),
        ("<input type=radio name=a><input type=radio name=a required checked>", False), ("<input type=radio required>", False),
        ("<select required><option value='' selected>Any<option>a</select>", True), ("<select required><option selected>a<option value=''>Any</select>", False),
        ("<select required><option value=''>Any<option selected>a</select>", False), ("<select required size=2><option>a</select>", True),
        ("<select required size=2><option value='' selected>a</select>", False), ("<input type=range required value=''>", False),
        ("<input type=file required>", True), ("<input type=hidden required>", False), ("<input type=button required>", False),
        ("<input required readonly>", False), ("<input required disabled>", False), ("<datalist><input required></datalist>", False),
        ("<fieldset disabled><input required></fieldset>", False),
    ],
)  # fmt: skip
def test_missing_values(markup, is_missing):
    assert validity(control(markup)) == ("valueMissing" if is_missing else "")


@pytest.mark.parametrize(
    ("markup", "flag"),
    [
        ("<input pattern='[0-9]+' value=12>", ""), ("<input pattern='[0-9]+' value=a1>", "patternMismatch"),
        ("<input pattern='[' value=a>", ""), ("<input type=number pattern='[a]' value=1>", ""),
        ("<input type=email multiple pattern='.@x' value='a@x,b@x'>", ""), ("<input type=email multiple pattern='.@x' value='a@x,b@y'>", "patternMismatch"),
        ("<input type=number min=3 value=2>", "rangeUnderflow"), ("<input type=number min=3 value=3>", ""),
        ("<input type=number max=3 value=4>", "rangeOverflow"), ("<input type=number max=3 value=3>", ""),
        ("<input type=number min=0 value=1.5>", "stepMismatch"), ("<input type=number step=0.5 value=1.5>", ""),
        ("<input type=date min=2023-05-05 value=2023-05-04>", "rangeUnderflow"),
    ],
)  # fmt: skip
def test_patterns_and_ranges(markup, flag):
    assert validity(control(markup)) == flag


@pytest.mark.parametrize(
    ("text", "default", "flag"),
    [
        ("abc", "x", ""),
        ("ab", "x", "tooShort"),
        ("abcde", "x", "tooLong"),
        ("abcd", "x", ""),
        ("ab", None, ""),
        ("a\U0001f642", "x", ""),
        ("", "x", ""),
    ],
)
def test_lengths_are_limited_once_the_user_has_edited_the_text(text, default, flag):
    assert validity(control(f"<input minlength=3 maxlength=4 value='{text}'>"), default) == flag


@pytest.mark.parametrize(
    ("markup", "is_found"),
    [
        ("<select><option value=''>a</select>", True), ("<select><option>a</select>", False), ("<select multiple><option value=''>a</select>", False),
        ("<select><optgroup><option value=''>a</optgroup></select>", False), ("<select><hr><option value=''>a</select>", False), ("<select></select>", False),
    ],
)  # fmt: skip
def test_the_option_without_a_choice(markup, is_found):
    assert (placeholder_label_option(control(markup)) is not None) is is_found


@pytest.mark.parametrize(
    ("attributes", "button", "count"),
    [("", "", 2), ("novalidate", "", 0), ("", "formnovalidate", 0), ("novalidate", "formnovalidate", 0)],
)
def test_a_form_is_not_sent_because_of_its_invalid_controls(attributes, button, count):
    form = fromstring(
        f"<form {attributes}><input name=a required><input name=b><input name=c type=url value=x><button {button}>Send</button></form>"
    )
    invalid = interactively_validate(form, form.find(".//button"), lambda _: None)
    assert [field.get("name") for field in invalid] == ["a", "c"][:count]
    assert len(interactively_validate(form, None, lambda _: None)) == (0 if attributes else 2)
