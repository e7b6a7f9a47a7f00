"""Popovers and dialogs: what opens and closes them, and where the focus goes."""

import pytest

from webarena_gym.browsers import top_layer
from webarena_gym.browsers.document import Document, SavedDocument
from webarena_gym.pages import dom

BODY = """<button id=first>First</button>
<button id=opener popovertarget=menu>Menu</button>
<div id=menu popover><button id=inner popovertarget=deep>Deep</button><div id=deep popover><input id=field autofocus></div></div>
<div id=other popover>Other</div><div id=tip popover=hint>Tip</div><div id=note popover=manual>Note</div>
<button id=modal commandfor=box command=show-modal>Box</button><button id=close commandfor=box command=close>Close</button>
<dialog id=box><p>Text</p><button id=ok>OK</button></dialog><dialog id=loose open closedby=any>Loose</dialog>
<form><button id=submit commandfor=box command=show-modal>Send</button></form>"""


@pytest.fixture
def document():
    return Document(SavedDocument(f"<!doctype html><title>Page</title><body>{BODY}".encode()))


def node(document, element_id):
    return document.root.get_element_by_id(element_id)


def open_ids(document):
    return [element.get("id") for element, _ in document.top_layer]


def show(document, popover, invoker="opener"):
    top_layer.show_popover(document, node(document, popover), node(document, invoker))


def test_an_automatic_popover_closes_others_except_those_around_it(document):
    show(document, "menu")
    show(document, "deep", "inner")
    assert open_ids(document) == ["menu", "deep"]
    assert document.focused.get("id") == "field"
    show(document, "other", "first")
    assert open_ids(document) == ["other"]


def test_hints_and_manual_popovers_close_less(document):
    show(document, "menu")
    show(document, "note", "first")
    show(document, "tip", "first")
    assert open_ids(document) == ["menu", "note", "tip"]
    top_layer.hide_popover(document, node(document, "menu"))
    assert "menu" not in open_ids(document)
    assert "note" in open_ids(document)


def test_the_focus_returns_from_a_popover_to_its_opener(document):
    document.focus(node(document, "inner"))
    document.focus(node(document, "opener"))
    show(document, "menu")
    document.focus(node(document, "inner"))
    top_layer.hide_popover(document, node(document, "menu"))
    assert (open_ids(document), document.focused.get("id")) == ([], "opener")


def test_a_click_outside_closes_popovers_and_dialogs_that_allow_it(document):
    show(document, "menu")
    top_layer.light_dismiss(document, node(document, "inner"))
    assert open_ids(document) == ["menu"]
    assert "open" not in node(document, "loose").attrib
    top_layer.light_dismiss(document, node(document, "first"))
    assert open_ids(document) == []


def test_a_modal_dialog_takes_the_focus_and_gives_it_back(document):
    document.focus(node(document, "modal"))
    assert top_layer.run_command(document, node(document, "modal"))
    assert (open_ids(document), document.focused.get("id")) == (["box"], "ok")
    assert dom.modal_dialog(document.root).get("id") == "box"
    top_layer.run_command(document, node(document, "modal"))  # it is open
    assert open_ids(document) == ["box"]
    assert top_layer.run_command(document, node(document, "close"))
    assert (open_ids(document), document.focused.get("id"), "open" in node(document, "box").attrib) == ([], "modal", False)


def test_buttons_of_forms_ignore_their_commands(document):
    assert top_layer.run_command(document, node(document, "submit"))
    assert open_ids(document) == []
    assert not top_layer.run_command(document, node(document, "first"))


def test_escape_closes_the_topmost_then_loose_dialogs_then_nothing(document):
    show(document, "menu")
    top_layer.show_modal(document, node(document, "box"))
    assert open_ids(document) == ["box"]  # a modal dialog closes the popovers
    closed = [top_layer.close_request(document) for _ in range(3)]
    assert (closed, open_ids(document)) == ([True, True, False], [])
