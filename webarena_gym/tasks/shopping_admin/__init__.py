"""The admin's templates: questions about trade and people, places to open, and changes to make."""

from webarena_gym.tasks.shopping_admin import handling, orders, people, places, stock
from webarena_gym.tasks.template import Templates

TEMPLATES = Templates("shopping_admin")
for _part in (orders, people, places, handling, stock):
    TEMPLATES.update(_part.TEMPLATES)
