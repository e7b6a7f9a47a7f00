"""Tasks of an arena, and what its responses contain."""

from webarena_gym.arena.episodes import EpisodeStore
from webarena_gym.arena.gateway import Translation
from webarena_gym.arena.schema import NewEpisode
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.suite import load

TASKS = load("test")
WISH = "shopping.wish_list_add/1000/0"
PORTS = {site: 40_000 + place for place, site in enumerate(HOSTS)}


def known(name):
    return next(task for task in TASKS if task.task_id == name)


# The core, without sockets.


def begun(limits=None, clock=lambda: 0.0, memory_mb=lambda: 0.0, **settings):
    found = EpisodeStore(limits, clock, memory_mb)
    episode = found.create(NewEpisode(**{"task": WISH} | settings))
    if episode.gateway is not None:
        episode.gateway.translation = Translation(PORTS, "127.0.0.1", ("localhost",))
    return found, episode
