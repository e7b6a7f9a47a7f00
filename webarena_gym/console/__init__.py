"""The edge of every command: how options are read, what their values may be, and how a command ends.

A user's mistake is one line on the error output and status 2, a failure one line and status 1; neither is a traceback.
"""

from webarena_gym.console.ending import BAD_INPUT as BAD_INPUT
from webarena_gym.console.ending import complain as complain
from webarena_gym.console.ending import run as run
from webarena_gym.console.ending import status as status
from webarena_gym.console.parser import Parser as Parser
from webarena_gym.console.values import accepted_by as accepted_by
from webarena_gym.console.values import decimal as decimal
from webarena_gym.console.values import present as present
from webarena_gym.console.values import whole as whole
from webarena_gym.console.values import writable as writable
