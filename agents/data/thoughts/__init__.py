"""Thoughts: chains of thought for demonstrations, written by rules from the goal, the pages and the solution.

A short thought says what is done next, and why. A long one has the goal, the steps so far, what the page shows, the candidates, the
reason, what to remember and what is missing; before an answer, its derivation.

`readings` extracts the lines, tables and facts of a page. `reasons` finds the reason for an action. `workings` and `tallies` derive an
answer from the pages. `amounts` parses numbers and dates. `writing` puts the sentences together.
"""

from agents.data.thoughts.readings import Reading as Reading
from agents.data.thoughts.readings import read as read
from agents.data.thoughts.reasons import Moment as Moment
from agents.data.thoughts.writing import Thoughts as Thoughts
from agents.data.thoughts.writing import write_reflection as write_reflection
from agents.data.thoughts.writing import write_thought as write_thought
