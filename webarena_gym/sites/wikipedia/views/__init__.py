"""The encyclopedia's pages, one module for each noun; importing them registers their routes."""

from webarena_gym.sites.wikipedia.views import accounts as accounts
from webarena_gym.sites.wikipedia.views import articles as articles
from webarena_gym.sites.wikipedia.views import categories as categories
from webarena_gym.sites.wikipedia.views import editing as editing
from webarena_gym.sites.wikipedia.views import search as search
from webarena_gym.sites.wikipedia.views import watchlist as watchlist
