"""Stores: the shop's configuration, and the one store there is."""

from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping_admin.base import get, post
from webarena_gym.sites.shopping_admin.fields import Form, written_cents

CONFIGURATION_URL = "/admin/admin/system_config/"


def _page(request: Request, typed: dict[str, str]) -> str:
    rows = request.db.execute(
        "SELECT path, label, value FROM store_config ORDER BY path LIKE 'general/%' DESC, path"
    ).fetchall()
    return request.render("configuration.html", title="Configuration", section="Stores", rows=rows, typed=typed)


def _read(form: Form, path: str, label: str) -> str:
    """What the form holds for a setting; amounts and counts stay such."""
    if path.startswith("carriers/"):
        return written_cents(form.cents(path, label))
    if path.endswith("_days"):
        return str(form.count(path, label))
    return form.text(path, label, required=path.endswith("/name"))


@get(CONFIGURATION_URL)
def configuration(request: Request) -> str:
    """The form of the shop's settings."""
    return _page(request, {})


@post(CONFIGURATION_URL)
def save_configuration(request: Request) -> str | Response:
    """Change the shop's settings; a field that was not sent stays as it is."""
    form = Form(request)
    labels = dict(request.db.execute("SELECT path, label FROM store_config").fetchall())
    changes = [(_read(form, path, label), path) for path, label in labels.items() if path in request.form]
    if form.show_errors():
        return _page(request, request.form.to_dict())
    request.db.executemany("UPDATE store_config SET value = ? WHERE path = ?", changes)
    return request.redirect(CONFIGURATION_URL, "You saved the configuration.")


@get("/admin/admin/system_store/")
def stores(request: Request) -> str:
    """The web site, the store and the store view."""
    row = request.db.execute("SELECT value FROM store_config WHERE path = 'general/store_information/name'").fetchone()
    return request.render("stores.html", title="Stores", section="Stores", name=row["value"] if row else "Main Store")
