"""`Verifiers`: the process that runs the verifiers of a suite, isolated like an application."""

import json
import socket
import threading
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from webarena_gym.applications.application import Application
from webarena_gym.applications.instances import AppInstance
from webarena_gym.applications.processes import launcher_of
from webarena_gym.applications.suite import Suite
from webarena_gym.applications.verifier_host import bridge
from webarena_gym.errors import ApplicationError, BrowserError, EvaluationError

_SPARE_S = 15.0  # beyond the time limit of a verifier, for its process to respond


class Verifiers:
    """Runs the verifiers of a suite in one process, which starts at the first use and again after its death.

    The process can read files, write only its own folder, and connect only to the application that it verifies, as far as the system
    supports that (see `host`).
    """

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._application = Application(
            name="verifiers",
            folder=str(Path(__file__).parent),
            wsgi="verifier_host:application",
            python=suite.python,
            answer_s=suite.verify_s + _SPARE_S,
        )
        self._process: AppInstance | None = None

    def start(self) -> AppInstance:
        """Return the running process. Raises ApplicationError if it cannot be started."""
        if self._process is None or not self._process.is_alive:
            self.close()
            self._process = launcher_of(self._application).start()
        return self._process

    @property
    def is_isolated(self) -> bool:
        """True if the process is isolated from all other files and processes."""
        return launcher_of(self._application).is_isolated

    def verify(self, file: str, instance: AppInstance) -> tuple[bool, str]:
        """Call a verifier. Return True if it accepts the state of an application's instance, and its reason.

        Args:
            file: path of the verifier in the suite's folder.
            instance: the running application.

        Raises:
            EvaluationError: for a file outside of the folder.
            BrowserError: if the verifier raises an exception, crashes, or exceeds its time limit.

        """
        folder = Path(self._suite.folder).resolve()
        path = (folder / file).resolve()
        if not (path.is_relative_to(folder) and path.is_file()):
            raise EvaluationError(
                f"the verifier {file!r} is not a file in the folder of the suite {self._suite.name}, {folder}"
            )
        try:
            response = self._request({"file": str(path), "seconds": self._suite.verify_s}, instance)
        except (ApplicationError, ValueError) as error:
            self.close()
            raise BrowserError(f"the process of the verifier {file} has failed: {error}") from error
        if "error" in response:
            raise BrowserError(f"the verifier {file} has failed: {response['error']}")
        return response["passed"], response["reason"]

    def _request(self, order: dict[str, Any], instance: AppInstance) -> dict[str, Any]:
        process = self.start()
        body = json.dumps(order).encode()
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/", "QUERY_STRING": "", "wsgi.input": BytesIO(body)}
        path = process.folder / "application"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen(16)
            threading.Thread(target=_forward, args=(listening, instance), daemon=True).start()
            try:
                (content,) = process.wsgi(environ, lambda *_: None)
            finally:
                with suppress(OSError):
                    listening.shutdown(socket.SHUT_RDWR)  # ends `accept`
        response: dict[str, Any] = json.loads(content)
        return response

    def close(self) -> None:
        """End the process. The next use starts another."""
        if self._process is not None:
            self._process.close()
        self._process = None


def _forward(listening: socket.socket, instance: AppInstance) -> None:
    """Forward connections to an instance, until the socket is shut down."""
    with suppress(OSError):
        while True:
            near, _ = listening.accept()
            threading.Thread(target=bridge, args=(near, instance.connect()), daemon=True).start()
