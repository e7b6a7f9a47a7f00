"""Applications in containers: the commands with which Podman or Docker starts and removes the container of an episode."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from webarena_gym.applications.application import Application
from webarena_gym.errors import ApplicationError

LABEL = "webarena-gym"
"""Label of containers; its value is the name of the launcher's folder."""


def find_engine() -> str:
    """Return the path of Podman, or else of Docker. Raises ApplicationError if there is neither."""
    for name in ("podman", "docker"):
        if path := shutil.which(name):
            return path
    raise ApplicationError("an application with image needs Podman or Docker; there is no podman and no docker in PATH")


def engine_variables(inherits: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment variables of the engine's command: all of this process except proxies, which Podman would pass on.

    `inherits` are the names of variables that the container shall have, which may be proxies.
    """
    return {name: value for name, value in os.environ.items() if name in inherits or not name.lower().endswith("_proxy")}


def container_name(folder: Path) -> str:
    """Return the name of the container of an instance, which no other container of this machine has."""
    return f"{LABEL}-{folder.parent.name}-{folder.name}"


def container_command(application: Application, folder: Path, port: int, variables: Mapping[str, str]) -> list[str]:
    """Return the command that starts the container of an instance and stays in the foreground.

    Args:
        application: the application.
        folder: folder of the instance, with the state in "state".
        port: local port that leads to the container; 0 gives the container a network with only a loopback interface.
        variables: environment variables of the container, except those of `inherits`.

    """
    engine, limits = find_engine(), application.limit_numbers
    command = [engine, "run", "--rm", "--pull=never", "--stop-timeout=0", f"--name={container_name(folder)}"]
    command += [f"--label={LABEL}={folder.parent.name}", f"--hostname={application.host}"]
    command += [f"--publish=127.0.0.1:{port}:{application.image_port}"] if port else ["--network=none"]
    if application.volume:  # Podman can make the user of the container the owner, and set the label that SELinux requires
        options = ":U,Z" if Path(engine).name == "podman" else ""
        command.append(f"--volume={folder / 'state'}:{application.volume}{options}")
    names = {"memory": "memory", "processes": "pids-limit", "cpu": "cpus"}
    command += [f"--{names[key]}={value}" for key, value in limits.items()]
    command += [f"--env={name}={value}" for name, value in variables.items()]
    command += [f"--env={name}" for name in application.inherits]
    return [*command, application.image]


def remove_container(folder: Path) -> None:
    """End and remove the container of an instance, if it exists."""
    command = [find_engine(), "rm", "--force", container_name(folder)]
    subprocess.run(command, check=False, capture_output=True, env=engine_variables())  # noqa: S603 - the user's own
