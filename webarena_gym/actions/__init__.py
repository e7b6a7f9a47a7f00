"""The actions of a policy, and the dialects in which it writes them.

An `Action` is the same whatever the dialect; a `Dialect` reads it out of a model's reply, writes it, and explains its own
grammar for a prompt. `instructions` is what an agent is told before it begins, `tools` are the actions for models that call
functions. Nothing of a reply is ever executed: it is scanned, and what does not fit is an ActionError.
"""

from collections.abc import Mapping
from types import MappingProxyType

from webarena_gym.actions.action import Action as Action
from webarena_gym.actions.action import Kind as Kind
from webarena_gym.actions.browsergym import BrowserGym
from webarena_gym.actions.dialect import Dialect as Dialect
from webarena_gym.actions.dialect import instructions as instructions
from webarena_gym.actions.dialect import reply_of as reply_of
from webarena_gym.actions.dialect import tools as tools
from webarena_gym.actions.webarena import WebArena
from webarena_gym.actions.webrl import WebRL

DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in (WebRL(), WebArena(), BrowserGym())})
