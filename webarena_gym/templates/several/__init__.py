"""The templates over two sites. A task opens one tab for each of them, in the order of its sites."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.several import colleges, customers, landmarks, links, makers, posts, projects

TEMPLATES = t.Templates("several")
for _part in (colleges, landmarks, customers, makers, projects, links, posts):
    TEMPLATES.update(_part.TEMPLATES)
