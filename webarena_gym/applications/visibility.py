"""The files of this machine that an application may read: of home folders, only those that it needs."""

import os
import pwd
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from webarena_gym.applications.application import Application

_SECRETS = (
    "~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.kube", "~/.docker", "~/.config/gcloud", "~/.config/gh", "~/.netrc", "~/.git-credentials",
    "~/.pgpass", "~/.my.cnf", "~/.pypirc", "~/.npmrc", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.cache/huggingface/token",
    "~/.bash_history", "~/.zsh_history", "/etc/shadow", "/etc/gshadow",
)  # fmt: skip
"""Files and folders that no application may read, also in folders that it needs."""
_SOCKETS = "/run"  # of services, for example of a container engine, which an application without network must not reach
_PROGRAMS = frozenset(("bin", "sbin", "libexec", "shims"))  # names of folders of programs, next to which their libraries are
_NOT_READ = frozenset(("HOME", "TMPDIR"))  # variables whose folder an application need not read


def home_folders() -> list[Path]:
    """Return the folders that contain home folders, and the home folder of the user if it is elsewhere."""
    homes = [Path("/home"), Path("/root"), Path.home()]
    with suppress(KeyError):
        homes.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    homes = [home.resolve() for home in homes if os.path.isdir(home) and home.resolve() != Path("/")]
    return [home for home in dict.fromkeys(homes) if not any(home != other and home.is_relative_to(other) for other in homes)]


def hidden_paths(application: Application, needed: Iterable[Path]) -> list[str]:
    """Return the existing files and folders that an application must not read, without those above a path that it needs."""
    paths = [Path(path).expanduser() for path in (*_SECRETS, *(() if application.network else (_SOCKETS,)))]
    inside = [*(path.resolve() for path in needed), *((application.state_folder.resolve(),) if application.state else ())]
    return [
        str(path)
        for path in paths
        if os.path.exists(path) and not any(other.is_relative_to(path.resolve()) for other in inside)
    ]


def needed_paths(application: Application, variables: Mapping[str, str]) -> list[Path]:
    """Return the existing files and folders that an application needs, as its description and its variables name them.

    These are its own folder, `shared`, `readable`, the programs and paths in its commands, the folders of the search paths, and the paths in
    its variables. The interpreter of a Python application adds those of its packages (see `host.py`).
    """
    folder = Path(application.folder).absolute()
    named = [folder, *(folder / Path(path).expanduser() for path in (*application.shared, *application.readable))]
    texts = [text for name, value in variables.items() if name not in _NOT_READ for text in value.split(os.pathsep)]
    texts += [text for key in ("command", "save", "load", "drop") for text in _words(getattr(application, key))]
    paths: list[Path] = []
    for text in texts:
        for part in (text, text.partition("=")[2]):
            if os.path.isabs(part):
                paths += _with_libraries(Path(part))
            elif part and (program := shutil.which(part, path=variables.get("PATH"))):
                paths += _with_libraries(Path(program).absolute())
    homes = home_folders()
    paths = [
        path for path in dict.fromkeys(paths) if os.path.exists(path) and not any(home.is_relative_to(path) for home in homes)
    ]
    return [*named, *paths]


def _words(command: str) -> Iterator[str]:
    """Yield the words of a command, and those of its words that are commands for a shell."""
    for word in shlex.split(command):
        yield word
        if " " in word:
            with suppress(ValueError):  # the quotes are those of another language
                yield from shlex.split(word)


def _with_libraries(path: Path, depth: int = 0) -> Iterator[Path]:
    """Yield a path, the targets of its links, the folder of the libraries of a program, and that of the interpreter of a script."""
    yield path
    target = path
    while os.path.islink(target) and depth < 8:
        target, depth = target.parent / os.readlink(target), depth + 1
        yield target
    folder = path if os.path.isdir(path) else path.resolve().parent
    if folder.name not in _PROGRAMS:
        return
    prefix = folder.parent
    is_shared = prefix.name == ".local" or prefix.parent == Path("/home") or prefix in (Path.home(), *home_folders())
    yield from (folder, prefix / "lib", prefix / "lib64") if is_shared else (prefix,)
    if os.path.isfile(path) and depth < 8:
        with suppress(OSError), path.open("rb") as file:
            if file.read(2) == b"#!" and (words := file.readline(512).decode("utf-8", "replace").split()):
                yield from _with_libraries(Path(words[0]), depth + 1)
    with suppress(OSError):
        for line in (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
            if line.partition("=")[0].strip() == "home" and depth < 8:
                yield from _with_libraries(Path(line.partition("=")[2].strip()), depth + 1)
