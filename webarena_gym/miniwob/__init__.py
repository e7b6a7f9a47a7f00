"""MiniWoB++, a published benchmark of small web pages, with this package's observations and actions: `MiniWoBText-v0`.

The pages come with the package `miniwob`, unchanged; a script of ours runs before theirs (see `page.js`).
"""

from webarena_gym.miniwob.env import MiniWobText as MiniWobText
from webarena_gym.miniwob.pages import tasks as tasks
