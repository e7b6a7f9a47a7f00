"""An open tab: the pages it went through, and where it is among them."""

from collections.abc import Sequence
from typing import NamedTuple

from webarena_gym.browsers.document import Document, SavedDocument

_HISTORY_LIMIT = 50  # entries, as in Chromium


class Entry(NamedTuple):
    """One step of a tab's history. Entries that differ only in the URL's fragment share one document."""

    url: str
    document: Document


class SavedTab(NamedTuple):
    """A tab as a picklable value."""

    entries: tuple[tuple[str, SavedDocument], ...]
    position: int


class OpenTab:
    """A tab, which always shows one entry of its history."""

    def __init__(self, entries: Sequence[Entry], position: int = 0) -> None:
        self._entries = list(entries)
        self._position = position

    @property
    def entry(self) -> Entry:
        """The page that is shown."""
        return self._entries[self._position]

    def visit(self, entry: Entry, *, replace: bool = False) -> None:
        """Show a new page after the one that is shown, where what lay ahead is forgotten, or in its place.

        A document that takes another's place does so in all entries.
        """
        if replace:
            old = self.entry.document
            shown = [Entry(url, entry.document if document is old else document) for url, document in self._entries]
            self._entries = [*shown[: self._position], entry, *shown[self._position + 1 :]]
        else:
            self._entries = [*self._entries[: self._position + 1], entry][-_HISTORY_LIMIT:]
            self._position = len(self._entries) - 1

    def is_first(self) -> bool:
        """Return whether the page that is shown has none before it."""
        return self._position == 0

    def travel(self, distance: int) -> bool:
        """Go `distance` entries on, or back when it is negative; return False when there are not so many."""
        if not 0 <= self._position + distance < len(self._entries):
            return False
        self._position += distance
        return True

    def save(self) -> SavedTab:
        """Return the tab as a value."""
        return SavedTab(tuple((url, document.save()) for url, document in self._entries), self._position)

    @classmethod
    def restored(cls, saved: SavedTab) -> "OpenTab":
        """Return the tab that was saved."""
        # A document that several entries shared is one object in the saved tab, too.
        documents = {id(document): Document(document) for _, document in saved.entries}
        return cls([Entry(url, documents[id(document)]) for url, document in saved.entries], saved.position)
