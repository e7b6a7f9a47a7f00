"""The shop's `Site`, and the user's login and redirects for its pages."""

from webarena_gym.sites.kit.accounts import here, members_of, visitor
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.shopping import carts, queries

ID = "int(max=2147483647)"  # the converter for ids in routes: what SQLite could not hold is no address of ours

site = Site("shopping", __file__, sign_in="/customer/account/login/")
current_customer = visitor("customer")
"""Return the row of who is signed in, None for a guest."""


members_only = members_of(current_customer, site.sign_in, default="/customer/account/")
"""Give the view the signed-in customer's row; send everybody else to the sign-in page and back afterwards."""

site.templates.filters["clean"] = clean
site.templates.globals.update(
    store_name=lambda request: queries.config(request.db, "general/store_information/name", "Shop"),
    top_categories=lambda request: queries.subcategories(request.db, None),
    cart_count=carts.item_count,
    status_label=queries.status_label,
    here=here,
)
