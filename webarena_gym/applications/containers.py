"""Applications in containers: the commands with which Podman or Docker starts and removes the container of an episode."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from webarena_gym.applications.application import Application
from webarena_gym.applications.owners import has_ended, identity
from webarena_gym.errors import ApplicationError

LABEL = "webarena-gym"
"""Label of containers; its value is the name of the launcher's folder."""
_OWNER = f"{LABEL}.owner"
"""Label of containers; its value identifies the host process (see `identity`)."""

_ENGINE = "WEBARENA_GYM_CONTAINER_ENGINE"
_IGNORED = re.compile(
    r"^.*(?:limits are not supported and ignored|does not support .{0,99}limit.{0,99} discarded).*", re.MULTILINE
)


def find_engine() -> str:
    """Return the path of the engine that $WEBARENA_GYM_CONTAINER_ENGINE names, or else of Podman, or else of Docker.

    Raises ApplicationError if there is none.
    """
    name = os.environ.get(_ENGINE, "")
    for candidate in [name] if name else ["podman", "docker"]:
        if path := shutil.which(candidate):
            return path
    reason = f"{_ENGINE} is {name!r}, which is not in PATH" if name else "there is no podman and no docker in PATH"
    raise ApplicationError(f"an application with image needs Podman or Docker; {reason}")


def engine_variables(inherits: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment variables of the engine's command: all of this process except proxies, which Podman would pass on.

    `inherits` are the names of variables that the container shall have, which may be proxies.
    """
    return {name: value for name, value in os.environ.items() if name in inherits or not name.lower().endswith("_proxy")}


def container_name(folder: Path) -> str:
    """Return the name of the container of an instance, which no other container of this machine has."""
    return f"{LABEL}-{folder.parent.name}-{folder.name}"


def container_command(application: Application, folder: Path, port: int, variables: Mapping[str, str], owner: int) -> list[str]:
    """Return the command that starts the container of an instance and stays in the foreground.

    The values of `variables` are written to a file in the folder, because every user of this machine can read the arguments of a command.

    Args:
        application: the application.
        folder: folder of the instance, with the state in "state".
        port: local port that leads to the container; 0 gives the container a network with only a loopback interface.
        variables: environment variables of the container, except those of `inherits`.
        owner: id of the host process; `remove_orphans` removes the container once it has ended.

    """
    engine, limits, file = find_engine(), application.limit_numbers, folder / "variables"
    file.touch(0o600)
    file.write_text("".join(f"{name}={value}\n" for name, value in variables.items()), encoding="utf-8")
    command = [engine, "run", "--rm", "--pull=never", "--stop-timeout=0", f"--name={container_name(folder)}"]
    command += [
        f"--label={LABEL}={folder.parent.name}",
        f"--label={_OWNER}={identity(owner)}",
        f"--hostname={application.host}",
    ]
    command += [f"--publish=127.0.0.1:{port}:{application.image_port}"] if port else ["--network=none"]
    if application.volume:  # Podman can make the user of the container the owner, and set the label that SELinux requires
        options = ":U,Z" if Path(engine).name == "podman" else ""
        command.append(f"--volume={folder / 'state'}:{application.volume}{options}")
    names = {"memory": "memory", "processes": "pids-limit", "cpu": "cpus"}
    command += [f"--{names[key]}={value}" for key, value in limits.items()]
    return [*command, f"--env-file={file}", *(f"--env={name}" for name in application.inherits), application.image]


def ignored_limits(log: Path) -> str:
    """Return the line at the beginning of the log of a container in which the engine reports ignored limits; "" if there is none."""
    with log.open(encoding="utf-8", errors="replace") as file:
        match = _IGNORED.search(file.read(4096))
    return match[0] if match else ""


def remove_container(folder: Path) -> None:
    """End and remove the container of an instance, if it exists."""
    _run_engine("rm", "--force", container_name(folder))


def remove_volume(state: Path) -> None:
    """Remove a folder in which a container of a user other than root may have files of other users, which only Podman can remove."""
    if os.geteuid() and Path(find_engine()).name == "podman":
        _run_engine("unshare", "rm", "-rf", str(state))


def remove_orphans() -> None:
    """End and remove containers of this user whose host process has ended without removing them, for example by SIGKILL (Linux)."""
    for line in _run_engine("ps", "--all", f"--filter=label={_OWNER}", "--format={{.ID}} {{.Labels}}").splitlines():
        owner = re.search(rf"{re.escape(_OWNER)}[:=]([0-9a-f-]+)", line)
        if owner and has_ended(owner[1]):
            _run_engine("rm", "--force", line.split()[0])


def _run_engine(*arguments: str) -> str:
    """Run a command of the container engine, and return its output, which is empty if it fails."""
    command = [find_engine(), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=engine_variables()).stdout  # noqa: S603 - the user's own
