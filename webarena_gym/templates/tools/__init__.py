"""Tasks for agents with tools: questions over several articles of the encyclopedia, and computations over its tables.

The reference solutions use the pages only, so the tasks can be solved without tools, but in more steps: `lookup` finds a described article
directly, and `table_sql` computes over a table.
"""

from webarena_gym.templates.wikipedia import FACTS as FACTS
from webarena_gym.templates.wikipedia import open_article as open_article
from webarena_gym.templates.wikipedia import open_list as open_list
