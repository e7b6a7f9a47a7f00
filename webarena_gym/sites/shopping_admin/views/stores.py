"""Stores: the shop's configuration, and the one store there is."""

from webarena_gym.sites.kit import Request, Response, redirect
from webarena_gym.sites.shopping_admin.fields import Form
from webarena_gym.sites.shopping_admin.routing import get, post

CONFIGURATION_URL = "/admin/admin/system_config/"


def _page(request: Request, typed: dict[str, str]) -> str:
    rows = request.db.execute("SELECT path, label, value FROM store_config ORDER BY path").fetchall()
    return request.render("configuration.html", title="Configuration", section="Stores", rows=rows, typed=typed)


@get(CONFIGURATION_URL)
def configuration(request: Request) -> str:
    """The form of the shop's settings."""
    return _page(request, {})


@post(CONFIGURATION_URL)
def save_configuration(request: Request) -> str | Response:
    """Change the shop's settings; a field that was not sent stays as it is."""
    form = Form(request)
    labels = dict(request.db.execute("SELECT path, label FROM store_config").fetchall())
    changes = [(form.text(path, label, required=False), path) for path, label in labels.items() if path in request.form]
    if form.show_errors():
        return _page(request, request.form.to_dict())
    request.db.executemany("UPDATE store_config SET value = ? WHERE path = ?", changes)
    request.flash("You saved the configuration.")
    return redirect(CONFIGURATION_URL)


@get("/admin/admin/system_store/")
def stores(request: Request) -> str:
    """The web site, the store and the store view."""
    row = request.db.execute("SELECT value FROM store_config WHERE path = 'general/store_information/name'").fetchone()
    return request.render("stores.html", title="Stores", section="Stores", name=row["value"] if row else "Main Store")
