"""A server of the sites of a world on the loopback interface, for browsers that need a socket."""

from collections.abc import Iterator
from contextlib import contextmanager

from webarena_gym.server.app import running
from webarena_gym.tools.serve import WorldSites


class Served(WorldSites):
    """One world behind a port; `renew` makes it as good as new."""

    def __init__(self, port: int, world_seed: int) -> None:
        self.port = port
        self._world_seed = world_seed
        self.renew()

    def renew(self) -> None:
        """Put the world back to its beginning."""
        super().__init__(self.port, self._world_seed)


@contextmanager
def serving(world_seed: int) -> Iterator[Served]:
    """Serve a world on a free port until the block ends."""
    opened: list[Served] = []

    def open_at(port: int) -> Served:
        opened.append(Served(port, world_seed))
        return opened[0]

    with running(sites=open_at):
        yield opened[0]
