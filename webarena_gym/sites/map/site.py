"""The map's `Site`, what its pages know about the visitor, and the window of the map that a page shows."""

from webarena_gym.sites.country.texts import capitalised
from webarena_gym.sites.kit.accounts import members_of, visitor
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.geometry import coordinates, distance, duration
from webarena_gym.sites.map.queries import PLURALS

BRAND = "Trailmark"

site = Site("map", __file__, sign_in="/login")
current_user = visitor()
members_only = members_of(current_user, site.sign_in, "Please sign in first.")


site.templates.filters.update(clean=clean, distance=distance, duration=duration, capital=capitalised)
site.templates.globals.update(
    brand=BRAND,
    coordinates=coordinates,
    current_user=current_user,
    country_name=lambda request: queries.country(request.db),
    plural=PLURALS.__getitem__,
)
