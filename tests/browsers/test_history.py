"""The history of a tab."""

from webarena_gym.browsers.document import Document, SavedDocument
from webarena_gym.browsers.history import HistoryEntry, OpenTab


def document(text):
    return Document(SavedDocument(f"<!doctype html><title>Page</title><body>{text}".encode()))


def tab_of(*urls):
    tab = OpenTab([HistoryEntry(urls[0], document(urls[0]))])
    for url in urls[1:]:
        tab.visit(HistoryEntry(url, document(url)))
    return tab


def test_a_visit_drops_later_entries_and_the_oldest_beyond_fifty():
    tab = tab_of("a", "b", "c")
    assert [tab.traverse(1), tab.traverse(-3), tab.traverse(-2), tab.entry.url] == [False, False, True, "a"]
    tab.visit(HistoryEntry("d", document("")))
    assert [url for url, _ in tab.save().entries] == ["a", "d"]
    assert tab.position == 1
    long = tab_of(*map(str, range(60)))
    assert [long.save().entries[0][0], long.entry.url, len(long.save().entries)] == ["10", "59", 50]


def test_a_replaced_document_is_replaced_wherever_it_is_shared():
    tab = tab_of("a")
    shared = tab.entry.document
    tab.visit(HistoryEntry("a#x", shared))
    new = document("new")
    tab.visit(HistoryEntry("b", new), replace=True)
    assert [url for url, _ in tab.save().entries] == ["a", "b"]
    again = OpenTab.from_saved(tab.save())
    assert again.entry.url == "b"
    assert again.traverse(-1)
    assert b"new" in again.entry.document.html
    last = again.entry.document
    again.traverse(1)
    assert again.entry.document is last, "entries share the document again"
