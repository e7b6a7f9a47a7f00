"""Documents: their live state and saved state and the top layer."""

import pytest

from webarena_gym.browsers.document import Document, SavedDocument, parse


def document(body):
    return Document(SavedDocument(f"<!doctype html><title>Page</title><body>{body}".encode()))


def node(doc, element_id):
    return doc.root.get_element_by_id(element_id)


@pytest.mark.parametrize(
    ("html", "selected"),
    [
        ("<select><option>a<option>b</select>", ["a"]),
        ("<select><option disabled>a<option>b</select>", ["b"]),
        ("<select><option selected>a<option selected>b</select>", ["b"]),
        ("<select multiple><option>a<option>b</select>", []),
        ("<select multiple><option selected>a<option selected>b</select>", ["a", "b"]),
        ("<select size=2><option>a<option>b</select>", []),
    ],
)
def test_a_drop_down_list_has_one_selected_option(html, selected):
    root = parse(f"<!doctype html><body>{html}".encode())
    assert [option.text for option in root.iter("option") if "selected" in option.attrib] == selected


def test_the_last_checked_radio_button_of_a_form_and_a_name_stays_checked():
    root = parse(
        b"<!doctype html><body><form><input type=radio name=a id=1 checked><input type=radio name=a id=2 checked>"
        b"<input type=radio name=b id=3 checked><input type=radio id=4 checked></form><input type=radio name=a id=5 checked>"
    )
    assert [control.get("id") for control in root.iter("input") if "checked" in control.attrib] == ["2", "3", "4", "5"]


def test_only_the_first_of_open_details_with_equal_names_stays_open():
    root = parse(b"<!doctype html><body><details name=a open></details><details name=a open></details><details open></details>")
    assert ["open" in details.attrib for details in root.iter("details")] == [True, False, True]


def test_writes_are_kept_by_path_and_can_be_undone():
    doc = document("<input id=a value=1><input id=b value=2>")
    old = node(doc, "a")
    assert doc.value_before_edit(old) is None
    doc.write((old, "value", "x\x00y"))
    assert node(doc, "a").get("value") == "xy"
    assert doc.current(old) is node(doc, "a")
    assert doc.value_before_edit(node(doc, "a")) == "1"
    assert doc.value_before_edit(node(doc, "b")) is None
    saved = doc.save()
    assert doc.save() is saved
    doc.write((old, "value", "xy"))
    assert doc.save() is saved, "an equal value is no change"
    assert Document(saved).root.get_element_by_id("a").get("value") == "xy"
    doc.restore_defaults(lambda element: element.get("id") == "b")
    assert node(doc, "a").get("value") == "xy"
    doc.restore_defaults(lambda element: element.get("id") == "a")
    assert node(doc, "a").get("value") == "1"


def test_the_focus_is_saved_and_lost_by_an_element_that_cannot_have_it():
    doc = document("<input id=a><input id=b>")
    doc.focus(node(doc, "a"), selected=True)
    assert doc.is_selected
    again = Document(doc.save())
    assert again.focused is node(again, "a")
    assert again.is_selected
    assert again.tab_start is again.focused
    doc.write((node(doc, "a"), "disabled", ""))
    assert doc.focused is None
    assert not doc.is_selected
    assert doc.tab_start is node(doc, "a"), "the Tab key continues where the focus was"
    doc.reset_tab_start()
    assert doc.tab_start is None


def test_only_the_last_modal_dialog_is_marked_and_the_focus_returns():
    doc = document("<button id=opener></button><dialog id=one></dialog><dialog id=two></dialog><div id=hint popover></div>")
    doc.focus(node(doc, "opener"))
    assert not doc.has_top_layer
    doc.add_to_top_layer(node(doc, "one"), "modal", returns=True)
    doc.add_to_top_layer(node(doc, "two"), "modal", returns=False)
    doc.add_to_top_layer(node(doc, "hint"), "manual", returns=False)
    assert [element.get("id") for element, _ in doc.top_layer] == ["one", "two", "hint"]
    marks = {element.get("id"): value for element in doc.root.iter() for key, value in element.items() if "layer" in key}
    assert marks == {"two": "modal", "hint": "popover"}
    assert doc.remove_from_top_layer(node(doc, "two")) is None
    assert doc.remove_from_top_layer(node(doc, "one")) is node(doc, "opener")
    assert doc.remove_from_top_layer(node(doc, "one")) is None
    assert [element.get("id") for element, _ in doc.top_layer] == ["hint"]


def test_the_first_visit_through_the_history_is_recorded_once():
    doc = document("")
    assert [doc.mark_revisited(), doc.mark_revisited()] == [True, False]
    assert not Document(doc.save()).mark_revisited()
    doc.waited_ms = 5.0
    assert Document(doc.save()).waited_ms == 5.0


@pytest.mark.parametrize("name", ["data-listens", "data-top-layer", "DATA-Unreachable"])
def test_pages_cannot_set_the_marks_of_the_browsers(name):
    root = parse(f"<!doctype html><body><p {name}=modal>Text</p><button {name}>Go</button>".encode())
    assert not [element for element in root.iter() if name.lower() in element.attrib]
