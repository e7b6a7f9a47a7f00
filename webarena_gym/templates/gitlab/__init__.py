"""The code host's templates: projects, repositories, members and groups, issues, merge requests and people."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.gitlab import (
    commits,
    files,
    groups,
    issue_facts,
    issue_places,
    issue_work,
    issues,
    members,
    merge_requests,
    people,
    projects,
    repositories,
    reviews,
    settings,
    stars,
    todos,
)

TEMPLATES = t.Templates("gitlab")
_CODE = (projects, stars, repositories, commits, files, members, groups)
_PLANNING = (issue_places, issue_facts, issues, issue_work, merge_requests, reviews)
_PEOPLE = (people, todos, settings)
for _part in (*_CODE, *_PLANNING, *_PEOPLE):
    TEMPLATES.update(_part.TEMPLATES)
