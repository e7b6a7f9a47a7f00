"""Tasks that begin where no demonstration ever was: signed out, with a name and a password in the goal."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from webarena_gym import tasks as task_suite
from webarena_gym.actions import Action, Kind
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Step, Task


class _SignIn(NamedTuple):
    """Ways out of a site and into it again; elements by their labels."""

    leave: str  # path that signs out
    link: str  # from there to the form; "" where it is the form
    user: str
    button: str
    query: str  # name and password of the person who is signed in when tasks begin


_PASSWORD = "Password"  # noqa: S105 - the label of a field
_SITES = {
    "reddit": _SignIn("/logout", "Log in", "Username", "Log in [2]", "SELECT username, password FROM user WHERE user_id = 1"),
    "gitlab": _SignIn(
        "/users/sign_out", "", "Username or email", "Sign in [2]", "SELECT username, password FROM user WHERE user_id = 1"
    ),
    "shopping": _SignIn(
        "/customer/account/logout/", "Sign In", "Email", "Sign In", "SELECT email, password FROM customer WHERE customer_id = 1"
    ),
}
FORMS = ("Username", "Username or email", "Email")
"""Labels of the fields that are on a page with a form to sign in, beside that of the password."""


def signed_out(task: Task) -> Task:
    """Return the task as it is for somebody who has signed out. Raises ValueError for a site without such a form here."""
    if task.sites[0] not in _SITES or len(task.sites) > 1:
        raise ValueError(f"{task.task_id} is a task of {', '.join(task.sites)}; expected one of {', '.join(_SITES)}")
    site = _SITES[task.sites[0]]
    user, password = load_world(task.world_seed).database(task.sites[0]).connection.execute(site.query).fetchone()
    way = [
        *([Action(Kind.CLICK, site.link)] if site.link else []),
        Action(Kind.TYPE, site.user, user),
        Action(Kind.TYPE, _PASSWORD, password),
        Action(Kind.CLICK, site.button),
    ]
    return replace(
        task,
        task_id=f"signed_out.{task.task_id}",
        start_url=task.start_url + site.leave,
        intent=f'Sign in as "{user}" with the password "{password}". Then do this: {task.intent}',
        solution=(*(Step(action) for action in way), *task.solution),
    )


def draw_signed_out(templates: Sequence[str], worlds: Sequence[int], per_template: int) -> list[Task]:
    """Return tasks of these templates in these worlds, for somebody who has signed out."""
    return [
        signed_out(task) for world in worlds for task in task_suite.draw(list(templates), world_seed=world, count=per_template)
    ]


def shows_sign_in(page: str) -> bool:
    """Return whether a page has a form to sign in."""
    return f'label="{_PASSWORD}"' in page and any(f'label="{label}"' in page for label in FORMS)
