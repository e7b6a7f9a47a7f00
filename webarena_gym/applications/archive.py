"""Archives of applications: `pack` writes an application, its state, its tasks and its packages' versions to one file, `unpack` reads it.

An archive is a ZIP file with the folder of `webarena-app.toml` and `manifest.json`, the fields of `Manifest`. Nothing in it is executed by
these functions. An application that is unpacked is code that runs on this machine: unpack only what you would install.
"""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from webarena_gym.applications.requirements import imported_modules, list_packages
from webarena_gym.arguments import reason_of
from webarena_gym.errors import ApplicationError

if TYPE_CHECKING:
    from webarena_gym.applications.application import Application

FILE = "webarena-app.toml"
SUFFIX = ".webarena.zip"
"""End of the name of an archive of `app pack`."""
MANIFEST = "manifest.json"
PACKAGES = "requirements.txt"
_EXCLUDED = {".git", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


class PackedFile(NamedTuple):
    """The digest, time and mode of a file in an archive. The name of an empty folder ends with a slash."""

    digest: str  # SHA-256, hexadecimal
    mtime_ns: int  # which pages may show
    is_executable: bool


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The contents of an archive, and the report of its author."""

    format: int
    """version of this format, 1"""
    name: str
    """name of the application"""
    version: str
    """version of the archive, chosen by its author"""
    licence: str
    """licence of the application and its data"""
    python: str
    """version of the application's interpreter, such as "3.12.1"; empty for a command"""
    files: Mapping[str, PackedFile]
    """the files by path"""
    check: Mapping[str, Any]
    """report of `webarena-gym app check`, by which `app verify` compares"""


def pack(
    application: "Application", file: Path, out: Path, *, version: str, licence: str, check: Mapping[str, Any]
) -> tuple[Manifest, list[str]]:
    """Write the archive of an application.

    The folder of its `webarena-app.toml` is packed without virtual environments, caches, `.git` and what `exclude` lists. Unless the folder has a
    `requirements.txt`, versions of packages are packed under this name: those of the interpreter of a Python application if it is in the folder,
    and otherwise those that its modules may import, with their requirements.

    Args:
        application: the application.
        file: its `webarena-app.toml`.
        out: the archive, which is replaced.
        version: version of the archive.
        licence: licence of the application and its data, such as an SPDX identifier.
        check: report of `app check`.

    Returns:
        The manifest, and the files and folders that `exclude` omits.

    Raises:
        ApplicationError: for an application that uses files outside of its folder, or ones that are omitted.

    """
    folder = file.resolve().parent
    _check_paths(application, folder)
    omitted: list[Path] = []
    contents = {
        _name(path, folder): path for path in _files(folder, folder, application.exclude, omitted) if path != out.resolve()
    }
    _expect_packed({"file": [file.resolve()], **_used_paths(application)}, omitted)
    contents[FILE] = contents.pop(file.name)
    modules = imported_modules(contents)
    _expect_packed_modules(modules, application, folder, omitted)
    python, packages = "", ""
    if not application.is_program:
        names = {module.partition(".")[0] for imported in modules.values() for module in imported}
        names |= {
            (application.wsgi or application.asgi).partition(":")[0].partition(".")[0],
            *(["uvicorn"] if application.asgi else []),
        }
        is_own = Path(os.path.abspath(application.python)).is_relative_to(folder)
        python, packages = list_packages(application.python, () if is_own else names)
    stored = {name: b"" if path.is_dir() else path.read_bytes() for name, path in contents.items()}
    infos = {name: path.stat() for name, path in contents.items()}
    if python and PACKAGES not in stored:
        stored[PACKAGES], infos[PACKAGES] = packages.encode(), file.stat()
    packed = {
        name: PackedFile(hashlib.sha256(data).hexdigest(), infos[name].st_mtime_ns, bool(infos[name].st_mode & stat.S_IXUSR))
        for name, data in sorted(stored.items())
    }
    manifest = Manifest(
        format=1, name=application.name, version=version, licence=licence, python=python, files=packed, check=check
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f"{out.name}.part")
    with zipfile.ZipFile(partial, "w") as archive:
        for name, data in ((MANIFEST, json.dumps(asdict(manifest), indent=1).encode()), *sorted(stored.items())):
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)  # the times of files are in the manifest
    partial.replace(out)
    excluded = [path for path in omitted if path != out.resolve() and not _is_generated(path)]
    return manifest, [path.relative_to(folder).as_posix() for path in excluded]


def unpack(archive: Path, folder: Path) -> Manifest:
    """Write the files of an archive to a folder, which must be empty or absent.

    Raises:
        ApplicationError: for a file that is no archive, has other files than its manifest lists, or damaged ones.

    """
    if folder.exists() and any(folder.iterdir()):
        raise ApplicationError(f"the folder {folder} is not empty; expected an empty or a new folder")
    with _open_archive(archive) as opened:
        manifest = _read_manifest(archive, opened)
        folder.mkdir(parents=True, exist_ok=True)
        for name, packed in manifest.files.items():
            path = folder / _relative(name, archive)
            path.parent.mkdir(parents=True, exist_ok=True)
            data = opened.read(name)
            if hashlib.sha256(data).hexdigest() != packed.digest:
                raise ApplicationError(f"{archive}: the file {name!r} has another digest than its manifest lists")
            if name.endswith("/"):
                path.mkdir()
                continue
            path.write_bytes(data)
            path.chmod(0o755 if packed.is_executable else 0o644)
            os.utime(path, ns=(packed.mtime_ns, packed.mtime_ns))
    return manifest


def cached_folder(archive: Path, cache: Path) -> Path:
    """Return the folder of an archive in the cache, where it is unpacked once. Raises ApplicationError."""
    try:
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise ApplicationError(f"the archive {archive} cannot be read: {reason_of(error)}") from error
    folder = cache / "applications" / f"{archive.name.removesuffix(SUFFIX)}-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            unpack(archive, Path(temporary, "application"))
            try:
                Path(temporary, "application").rename(folder)
            except OSError:  # another process was faster
                if not folder.exists():
                    raise
    return folder


def verified_folder(archive: Path, cache: Path) -> tuple[Path, Manifest]:
    """Return the folder of an archive in the cache, and its manifest. A folder that differs from the manifest is unpacked again.

    Caches in the folder are removed, because bytecode may differ from its source. Virtual environments are not compared.

    Raises:
        ApplicationError: for an archive that `unpack` rejects, or a folder that differs and cannot be removed.

    """
    folder = cached_folder(archive, cache)
    with _open_archive(archive) as opened:
        manifest = _read_manifest(archive, opened)
    try:
        if _differs(folder, manifest):
            shutil.rmtree(folder)
    except OSError as error:
        raise ApplicationError(f"{folder} differs from {archive} and cannot be removed: {reason_of(error)}") from error
    return cached_folder(archive, cache), manifest


def _differs(folder: Path, manifest: Manifest) -> bool:
    """Remove the caches in a folder. Return True if it lacks a file of a manifest, or has another one or a changed one."""
    generated: list[Path] = []
    try:
        others = {_name(path, folder) for path in _files(folder, folder, (), generated)} - manifest.files.keys()
        for path in generated:
            if path.name in _EXCLUDED:
                shutil.rmtree(path)
        return bool(others) or any(
            not (folder / name).is_dir()
            if name.endswith("/")
            else hashlib.sha256((folder / name).read_bytes()).hexdigest() != packed.digest
            for name, packed in manifest.files.items()
        )
    except (OSError, ApplicationError):  # a missing file, or a link out of the folder
        return True


def install(folder: Path, report: Callable[[str], object] = lambda _: None) -> None:
    """Create the virtual environment of an unpacked application and install its packages, which needs their index.

    Args:
        folder: folder of the application.
        report: function that is called with one line before the installation starts.

    Raises:
        ApplicationError: if an installation fails, or the environment would be outside of the folder.

    """
    record = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    interpreter = folder / record.get("python", "")
    if "/" not in record.get("python", "") or interpreter.exists():
        return
    environment = interpreter.parent.parent
    if not environment.resolve().is_relative_to(folder.resolve()) or environment.resolve() == folder.resolve():
        raise ApplicationError(
            f"python is {record['python']!r}; expected a path such as .venv/bin/python, below the unpacked folder"
        )
    lines = (folder / PACKAGES).read_text(encoding="utf-8").splitlines()
    packages = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    report(f"installing into {os.path.relpath(environment, folder)}: {', '.join(packages) or 'no packages'}")
    for command in (
        [sys.executable, "-m", "venv", str(environment)],
        [str(interpreter), "-m", "pip", "install", "--quiet", "-r", str(folder / PACKAGES)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - of the archive's user
        if done.returncode:
            raise ApplicationError(f"{' '.join(command)} has failed: {(done.stderr or done.stdout).strip()[-500:]}")


def _check_paths(application: "Application", folder: Path) -> None:
    """Raise ApplicationError if a path of an application is outside of a folder."""
    for key, paths in _used_paths(application).items():
        for path in paths:
            if not path.resolve().is_relative_to(folder):
                raise ApplicationError(f"{key} is {str(path)!r}; expected a path in {folder}, which is packed")


def _used_paths(application: "Application") -> dict[str, list[Path]]:
    """Return the files and folders without which an application cannot be used, by key."""
    values: dict[str, Sequence[str]] = {
        "folder": [application.folder], "state": [application.state], "tasks": [application.tasks], "templates": [application.templates],
        "uploads": [application.uploads], "shared": application.shared, "hidden": application.hidden,
        "databases": [str(application.state_folder / path) for path in application.databases.values()],
    }  # fmt: skip
    base = Path(application.folder)
    used = {key: [Path(os.path.normpath(base / path)) for path in paths if path] for key, paths in values.items()}
    for key, target in (("wsgi", application.wsgi), ("asgi", application.asgi)):
        module = os.path.normpath(base / target.partition(":")[0].replace(".", "/"))
        files = [Path(f"{module}.py"), Path(module, "__init__.py")] if target else []
        used[key] = [path for path in files if path.exists()]  # a module may also be in an installed package
    return used


def _expect_packed(used: Mapping[str, Sequence[Path]], omitted: Sequence[Path]) -> None:
    """Raise ApplicationError if an omitted path is or contains a path that is used."""
    for path in omitted:
        for key, paths in used.items():
            if needed := next((other for other in paths if other.is_relative_to(path)), None):
                raise ApplicationError(
                    f"{path} would be omitted, but {key} needs {needed}; expected a path that neither exclude nor the names of caches match"
                )


def _files(folder: Path, top: Path, exclude: Sequence[str], omitted: list[Path]) -> Iterator[Path]:
    """Yield the files and empty folders of a folder, without those that are made again elsewhere or match a pattern of `exclude`.

    The paths of these are added to `omitted`.

    Raises:
        ApplicationError: for a symbolic link out of the folder `top`, which is packed.

    """
    paths = sorted(folder.iterdir())
    if not paths:
        yield folder
    for path in paths:
        if _is_generated(path) or any(fnmatchcase(f"/{path.relative_to(top).as_posix()}", pattern) for pattern in exclude):
            omitted.append(path)
            continue
        if path.is_symlink() and not path.resolve().is_relative_to(top):
            raise ApplicationError(f"{path} is a link to {os.readlink(path)}; expected links within the packed folder")
        if path.is_dir():
            yield from _files(path, top, exclude, omitted)
        elif path.is_file():
            yield path


def _is_generated(path: Path) -> bool:
    """Return True for a cache, a virtual environment, or `.git`."""
    return path.name in _EXCLUDED or (path / "pyvenv.cfg").is_file()


def _name(path: Path, folder: Path) -> str:
    """Return the name of a file or an empty folder in an archive."""
    name = path.relative_to(folder).as_posix()
    return f"{name}/" if path.is_dir() else name


def _expect_packed_modules(
    modules: Mapping[str, set[str]], application: "Application", folder: Path, omitted: Sequence[Path]
) -> None:
    """Raise ApplicationError if a packed file imports a module from an omitted folder."""
    tops = [folder, Path(application.folder).resolve()]
    for name, imported in modules.items():
        for module in sorted(imported):
            for top in dict.fromkeys(tops):
                file = top.joinpath(*module.split("."))
                paths = [path for path in (file.with_suffix(".py"), file / "__init__.py") if path.is_file()]
                _expect_packed({f"{name}, which imports {module},": paths}, omitted)


@contextmanager
def _open_archive(archive: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive. Errors of its content and of the files written from it are raised as ApplicationError."""
    try:
        with zipfile.ZipFile(archive) as opened:
            yield opened
    except (OSError, KeyError, ValueError, OverflowError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise ApplicationError(f"the archive {archive} cannot be read: {reason_of(error)}") from error


def _read_manifest(archive: Path, opened: zipfile.ZipFile) -> Manifest:
    try:
        record = json.loads(opened.read(MANIFEST))
        manifest = Manifest(**record | {"files": {name: PackedFile(*packed) for name, packed in record["files"].items()}})
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        names = ", ".join(item.name for item in fields(Manifest))
        raise ApplicationError(f"{archive} has no valid {MANIFEST} ({reason_of(error)}); expected {names}") from error
    if manifest.format != 1:
        raise ApplicationError(f"{archive} has the format {manifest.format!r}; expected 1, of this version of webarena-gym")
    others = {*opened.namelist()} ^ {MANIFEST, *manifest.files}
    if others:
        raise ApplicationError(f"{archive}: its files and its manifest differ in {', '.join(sorted(others)[:3])}")
    return manifest


def _relative(name: str, archive: Path) -> PurePosixPath:
    """Return the path of a file in an archive. Raises ApplicationError for one that leads out of the folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise ApplicationError(f"{archive} contains the file {name!r}; expected paths below its folder")
    return path
