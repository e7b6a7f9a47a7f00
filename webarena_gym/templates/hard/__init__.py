"""The hard templates, in modules by site and subject; their phrasings and texts are in a TOML file a site."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.hard import (
    gitlab_issues,
    gitlab_projects,
    map,
    reddit,
    reddit_debates,
    several_errands,
    several_places,
    shopping_admin_goods,
    shopping_admin_orders,
    shopping_goods,
    shopping_orders,
    wikipedia,
)

TEMPLATES: dict[str, t.Template] = {
    **gitlab_issues.TEMPLATES,
    **gitlab_projects.TEMPLATES,
    **map.TEMPLATES,
    **reddit.TEMPLATES,
    **reddit_debates.TEMPLATES,
    **several_errands.TEMPLATES,
    **several_places.TEMPLATES,
    **shopping_admin_goods.TEMPLATES,
    **shopping_admin_orders.TEMPLATES,
    **shopping_goods.TEMPLATES,
    **shopping_orders.TEMPLATES,
    **wikipedia.TEMPLATES,
}
