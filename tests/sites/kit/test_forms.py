"""Forms of sites: fields, complaints, numbers and pages of lists."""

from webarena_gym.sites.gitlab.site import Field as CodeField
from webarena_gym.sites.kit import forms
from webarena_gym.sites.kit.forms import EMAIL, Field, Pager
from webarena_gym.sites.reddit.site import USERNAME


def test_fields_have_error_messages_in_the_wording_of_their_site():
    assert Field("Name").complaint("") == "Name is a required field."
    assert CodeField("Name").complaint("") == "Name can't be blank."
    assert Field("Name", required=False).complaint("") == ""
    assert CodeField("Name", limit=3).complaint("long") == "Name is too long: 4 characters, 3 at most."
    assert USERNAME.complaint("a b") == "Username: 3 to 25 letters, digits, dashes and underscores."
    assert EMAIL.complaint("ann@mail") == "Email: please enter a valid email address, for example name@domain.com."
    assert EMAIL.complaint("ann@mail.test") == ""


def test_forms_are_cleaned_validated_in_field_order_and_confirm_passwords(ask):
    fields = {"title": Field("Title"), "text": Field("Text", limit=5), "tag": Field("Tag")}
    values = forms.read(ask(text="  a\r\nb\rc\x07\t!  ", tag="\x00 "), fields)
    assert values == {"title": "", "text": "a\nb\nc\t!", "tag": ""}
    assert forms.clean("half of\ud800 a pair") == "half of a pair"
    assert forms.complaints(values, fields) == [
        "Title is a required field.", "Text is too long: 7 characters, 5 at most.", "Tag is a required field.",
    ]  # fmt: skip

    def errors_of(password, again):
        return forms.password_complaints({"password": password, "password_confirmation": again})

    assert errors_of("long enough", "long enough") == []
    assert errors_of("short", "short") == ["A password needs 8 characters or more."]
    assert errors_of("long enough", "another one") == ["The two passwords are not the same."]


def test_numbers_days_and_addresses_are_known_by_their_shape():
    for text in (None, "", "-1", "1.5", "1e3", "٣", "9999999999", "0x1", "100"):
        assert forms.whole_number(text, 1, 99) is None
    for text in (None, "", "2023-13-01", "2023-02-30", "0000-01-01", "31/12/2023", "20230205"):
        assert forms.day(text) is None
    assert {forms.day(text) for text in ("2023-02-05", "2023-2-5", " 02/05/2023 ", "2/5/2023")} == {"2023-02-05"}
    assert forms.is_email("a@b.cd")
    for text in ("", "a@b", "a b@c.de", "<a@b.cd>", "a" * 251 + "@b.cd"):
        assert not forms.is_email(text)


def test_pagers_clamp_page_numbers_and_have_one_url_per_page(ask):
    for expected, page in (("2", 2), ("99", 3), ("0", 1), ("-1", 1), ("x", 1), ("", 1), ("9" * 40, 1)):
        pager = Pager.of(ask(f"/list?p={expected}"), 25, 10)
        assert (pager.page, pager.pages, pager.first) == (page, 3, 10 * (page - 1))
    pager = Pager.of(ask("/list?tag=a&page=2&tag=%C3%BC"), 25, 10, "page")
    assert (pager.url(3), pager.url(1)) == ("/list?tag=a&tag=%C3%BC&page=3", "/list?tag=a&tag=%C3%BC")
    assert Pager.of(ask("/list?p=2"), 25, 10).url(1) == "/list"
    pager = Pager.of(ask("/list?p=3"), 25, 10)
    assert (pager.cut(range(25)), pager.amount) == ([20, 21, 22, 23, 24], "Items 21-25 of 25")
    assert [Pager.of(ask(), total, 10).amount for total in (0, 1, 2)] == ["0 Items", "1 Item", "2 Items"]
