"""Thoughts: what an expert could think before an action, written by rules from the goal, the pages and the solution.

A short thought says what is done next, and why. A long one is a chain: the goal, what was done, what the page shows, the
candidates, the reason, what to remember and what is missing; before an answer, its working.

`readings` says what stands on a page, `reasons` why the next action follows from it, `workings` and `tallies` how an answer does,
`amounts` what numbers mean; `writing` puts the sentences together.
"""

from agents.data.thoughts.readings import Reading as Reading
from agents.data.thoughts.readings import read as read
from agents.data.thoughts.reasons import Moment as Moment
from agents.data.thoughts.writing import Thoughts as Thoughts
from agents.data.thoughts.writing import write_thought as write_thought
