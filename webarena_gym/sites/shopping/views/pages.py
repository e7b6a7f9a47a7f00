"""Pages of text, and the contact form."""

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.form_pages import FormPage
from webarena_gym.sites.kit.forms import EMAIL, Field
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping.base import current_customer, site

CONTACT = FormPage(
    title="Contact Us",
    action="/contact/",
    fields={
        "name": Field("Name"),
        "email": EMAIL,
        "telephone": Field("Phone Number", required=False, limit=64),
        "comment": Field("What's on your mind?", limit=20_000, type="area"),
    },
    button="Submit",
)


@site.get("/contact/")
def contact_form(request: Request) -> str:
    """Ask what is on the visitor's mind."""
    customer = current_customer(request)
    if customer is None:
        return CONTACT.show(request)
    return CONTACT.show(request, {"name": f"{customer['firstname']} {customer['lastname']}", "email": customer["email"]})


@site.post("/contact/")
def contact(request: Request) -> str | Response:
    """Keep the message for the shop's people."""
    values, errors = CONTACT.read(request)
    if errors:
        return CONTACT.show(request, values, errors)
    request.db.execute(
        "INSERT INTO contact_message (name, email, telephone, comment, created_at) VALUES (?, ?, ?, ?, ?)",
        (*values.values(), request.stamp),
    )
    return request.redirect("/contact/", "Thanks for contacting us with your comments and questions. We will answer very soon.")


@site.get("/<url_key>/")
def text_page(request: Request, url_key: str) -> str:
    """Show one of the shop's pages of text."""
    page = one(request.db, "SELECT * FROM cms_page WHERE url_key = ? AND is_enabled", (url_key,))
    others = request.db.execute(
        "SELECT title, url_key FROM cms_page WHERE is_enabled AND url_key NOT IN ('home', 'no-route', ?) ORDER BY page_id",
        (url_key,),
    ).fetchall()
    return request.render("text_page.html", page=page, others=others)
