"""What a policy can do, and the dialects in which it may say so.

An `Action` is the same whatever the dialect; a `Dialect` reads it out of a model's reply, writes it, and explains its own
grammar for a prompt. Nothing of a reply is ever executed: it is scanned, and what does not fit is an ActionError.
"""

from collections.abc import Mapping
from types import MappingProxyType

from webarena_gym.actions.action import Action as Action
from webarena_gym.actions.action import Dialect as Dialect
from webarena_gym.actions.action import Kind as Kind
from webarena_gym.actions.browsergym import BrowserGymDialect
from webarena_gym.actions.webarena import WebArenaDialect
from webarena_gym.actions.webrl import WebRLDialect

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {"webrl": WebRLDialect(), "webarena": WebArenaDialect(), "browsergym": BrowserGymDialect()}
)
