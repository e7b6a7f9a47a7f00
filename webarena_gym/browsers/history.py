"""The history of a tab: its entries, each a document at an address, and the current one."""

from collections.abc import Sequence
from typing import NamedTuple

from webarena_gym.browsers.document import Document, SavedTab

_HISTORY_LIMIT = 50  # entries, as in Chromium


class HistoryEntry(NamedTuple):
    """An entry of a tab's history. Entries that differ only in the URL's fragment share one document."""

    url: str
    document: Document


class OpenTab:
    """A tab with its history and the index of the current entry.

    Args:
        entries: the entries of the history.
        position: index of the current entry.
        name: name of the window, which a link's `target` may be.
        group: number of the browsing context group; a name is looked up in the tabs of the same group.

    """

    def __init__(self, entries: Sequence[HistoryEntry], position: int = 0, name: str = "", group: int = 0) -> None:
        self._entries = list(entries)
        self.position = position
        self.name, self.group = name, group

    @property
    def entry(self) -> HistoryEntry:
        """The current entry."""
        return self._entries[self.position]

    def visit(self, entry: HistoryEntry, *, replace: bool = False) -> None:
        """Append an entry after the current one, dropping later entries, or `replace` the current one; make it current.

        A replaced document is replaced in all entries that share it.
        """
        if replace:
            old = self.entry.document
            entries = [HistoryEntry(url, entry.document if document is old else document) for url, document in self._entries]
            self._entries = [*entries[: self.position], entry, *entries[self.position + 1 :]]
        else:
            self._entries = [*self._entries[: self.position + 1], entry][-_HISTORY_LIMIT:]
            self.position = len(self._entries) - 1

    def traverse(self, distance: int) -> bool:
        """Move `distance` entries forward, or back if negative. Return False, without a move, if there is no such entry."""
        if not 0 <= self.position + distance < len(self._entries):
            return False
        self.position += distance
        return True

    def save(self) -> SavedTab:
        """Return the picklable state."""
        return SavedTab(tuple((url, document.save()) for url, document in self._entries), self.position, self.name, self.group)

    @classmethod
    def from_saved(cls, saved: SavedTab) -> "OpenTab":
        """Return a tab in a saved state."""
        # Entries that share a document share its saved state, which identifies it.
        documents = {id(document): Document(document) for _, document in saved.entries}
        entries = [HistoryEntry(url, documents[id(document)]) for url, document in saved.entries]
        return cls(entries, saved.position, saved.name, saved.group)
