"""Kept static files: the file behind a path, and its changes."""

import pytest

from webarena_gym.applications.static_files import StaticFile, served_file


def served(folder, depth):
    """The folder, `depth` folders down, that a server serves, with two files."""
    base = folder.joinpath(*("site", "public", "deep")[:depth])
    base.mkdir(parents=True, exist_ok=True)
    for name in ("app.js", "index.html"):
        (base / name).write_text(f"content of {name}")
    if depth:
        (folder / "app.js").touch()  # another file of this name
    return base


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("path", "name"), [("/app.js", "app.js"), ("/./app.js", "app.js"), ("/", "index.html"), ("/route/7", "index.html")]
)
def test_the_file_behind_a_path_is_found_in_subfolders(tmp_path, path, name, depth):
    base = served(tmp_path, depth)
    (base / name).write_text(f"content of {name}")
    found = served_file(tmp_path, path, f"content of {name}".encode())
    assert (found and found[0]) == (base / name if depth <= 2 else None)
    assert served_file(tmp_path, path, b"another content") is None


@pytest.mark.parametrize("path", ["/\0", "/../../etc/passwd", "/" + "x" * 5000, "//", "/%2e"])
def test_a_path_that_names_no_file_has_none(tmp_path, path):
    served(tmp_path, 1)
    assert served_file(tmp_path, path, b"x") is None


def test_a_kept_file_is_current_until_it_changes(tmp_path):
    file = served(tmp_path, 2) / "app.js"
    found = served_file(tmp_path, "/app.js", file.read_bytes())
    kept = StaticFile(*found, "200 OK", (), file.read_bytes())
    assert kept.is_current
    file.write_text("changed")
    assert not kept.is_current
    file.unlink()
    assert not kept.is_current
