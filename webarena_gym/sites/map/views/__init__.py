"""The map's pages, one module for each noun; importing them registers their routes."""

from webarena_gym.sites.map.views import account as account
from webarena_gym.sites.map.views import areas as areas
from webarena_gym.sites.map.views import directions as directions
from webarena_gym.sites.map.views import home as home
from webarena_gym.sites.map.views import notes as notes
from webarena_gym.sites.map.views import places as places
from webarena_gym.sites.map.views import saved as saved
from webarena_gym.sites.map.views import search as search
from webarena_gym.sites.map.views import suggestions as suggestions
