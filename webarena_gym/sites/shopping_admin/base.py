"""The admin's site object, and the two decorators its views are registered with: only the login form is open to everyone."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import Site, View

HOME = "/admin/"
site = Site("shopping_admin", __file__, sign_in=HOME)


def _signed_in(view: View) -> View:
    """The view, behind the login: whoever is not signed in is sent to the login form."""

    @wraps(view)
    def guarded(request: Request, **arguments: Any) -> str | Response:
        return view(request, **arguments) if "admin_id" in request.session else redirect(HOME)

    return guarded


def get(rule: str) -> Callable[[View], View]:
    """Register a view for GET requests of signed-in people."""
    return lambda view: site.get(rule)(_signed_in(view))


def post(rule: str) -> Callable[[View], View]:
    """Register a view for POST requests of signed-in people; the form key was checked before."""
    return lambda view: site.post(rule)(_signed_in(view))
