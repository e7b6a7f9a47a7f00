"""Static files of applications whose pages keep all state: they are requested once, and again when they change."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_DEPTH = 2  # folders between the folder of an application and the one that its server serves


class StaticFile(NamedTuple):
    """A kept response, and the file with which it was sent: its time and size in `version`."""

    file: Path
    version: tuple[int, int]
    status: str
    headers: tuple[tuple[str, str], ...]
    content: bytes

    @property
    def is_current(self) -> bool:
        """True if the file has not changed since."""
        return file_version(self.file) == self.version


def file_version(file: Path) -> tuple[int, int] | None:
    """Return the time and size of a file; None if it does not exist."""
    with suppress(OSError, ValueError):
        status = file.stat()
        return status.st_mtime_ns, status.st_size
    return None


def served_file(folder: Path, path: str, content: bytes) -> tuple[Path, tuple[int, int]] | None:
    """Return the file, and its version, whose content a server in a folder has sent for a path; None if none is found.

    The server may serve a subfolder, and send `index.html` for paths that are no files.
    """
    names = [part for part in path.split("/") if part not in ("", ".", "..")]
    served = [
        folder,
        *(part for depth in range(1, _DEPTH + 1) for part in sorted(folder.glob("/".join("*" * depth))) if part.is_dir()),
    ]
    for file in (base.joinpath(*rest) for rest in ((*names,), (*names, "index.html"), ("index.html",)) for base in served):
        version = file_version(file)
        with suppress(OSError, ValueError):
            if version is not None and version[1] == len(content) and file.read_bytes() == content:
                return file, version
    return None
