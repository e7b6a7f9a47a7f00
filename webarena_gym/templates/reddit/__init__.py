"""The forum's templates: things to post and to answer, votes, changes to what is mine, questions, and places to open."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.reddit import answering, communities, mine, people, places, posting, questions, votes

TEMPLATES = t.Templates("reddit")
for _part in (posting, answering, votes, mine, communities, people, questions, places):
    TEMPLATES.update(_part.TEMPLATES)
