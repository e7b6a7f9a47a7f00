"""Folders that are made once in a run of the tests, for all of its processes."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows, each process makes its own
    fcntl = None


def shared_folder(tmp_path_factory, name, make):
    """Return what `make(folder)` returned in the first process of the run that needed it, a path; other processes wait for it.

    Tests only read the folder.
    """
    root = tmp_path_factory.getbasetemp()
    if fcntl is not None and "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder, result = root / name, root / f"{name}.path"
    with (root / f"{name}.lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            return Path(result.read_text(encoding="utf-8"))
        shutil.rmtree(folder, ignore_errors=True)  # of a process that failed
        folder.mkdir()
        path = make(folder)
        result.write_text(str(path), encoding="utf-8")
        return path
