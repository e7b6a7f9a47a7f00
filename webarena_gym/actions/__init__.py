"""The actions of a policy, and the dialects in which they are written.

An `Action` does not depend on the dialect. A `Dialect` parses actions from replies, formats them, and describes its grammar for a prompt.
`instructions` returns the system prompt, `tools` the actions as tool definitions. Replies are only parsed, never executed; a reply without
exactly one valid action raises ActionError.
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
"""The dialects of text actions by name."""
