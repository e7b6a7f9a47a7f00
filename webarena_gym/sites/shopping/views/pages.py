"""Pages of text, and the contact form."""

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.forms import EMAIL, Field, complaints, read
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping.base import current_customer, site

CONTACT = {
    "name": Field("Name"),
    "email": EMAIL,
    "telephone": Field("Phone Number", required=False, limit=64),
    "comment": Field("What's on your mind?", limit=20_000),
}


@site.get("/contact/")
def contact_form(request: Request) -> str:
    """Ask what is on the visitor's mind."""
    customer = current_customer(request)
    values = dict.fromkeys(CONTACT, "")
    if customer is not None:
        values |= {"name": f"{customer['firstname']} {customer['lastname']}", "email": customer["email"]}
    return request.render("contact.html", values=values, errors=[])


@site.post("/contact/")
def contact(request: Request) -> str | Response:
    """Keep the message for the shop's people."""
    values = read(request, CONTACT)
    errors = complaints(values, CONTACT)
    if errors:
        return request.render("contact.html", values=values, errors=errors)
    request.db.execute(
        "INSERT INTO contact_message (name, email, telephone, comment, created_at) VALUES (?, ?, ?, ?, ?)",
        (*values.values(), request.stamp),
    )
    request.flash("Thanks for contacting us with your comments and questions. We will answer very soon.")
    return redirect("/contact/")


@site.get("/<url_key>/")
def text_page(request: Request, url_key: str) -> str:
    """Show one of the shop's pages of text."""
    page = request.db.execute("SELECT * FROM cms_page WHERE url_key = ? AND is_enabled", (url_key,)).fetchone()
    if page is None:
        raise NotFound
    others = request.db.execute(
        "SELECT title, url_key FROM cms_page WHERE is_enabled AND url_key NOT IN ('home', 'no-route', ?) ORDER BY page_id",
        (url_key,),
    ).fetchall()
    return request.render("text_page.html", page=page, others=others)
