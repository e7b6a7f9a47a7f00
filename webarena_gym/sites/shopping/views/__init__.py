"""The shop's pages, one module for each noun; importing them registers their routes."""

from webarena_gym.sites.shopping.views import account as account
from webarena_gym.sites.shopping.views import addresses as addresses
from webarena_gym.sites.shopping.views import cart as cart
from webarena_gym.sites.shopping.views import catalogue as catalogue
from webarena_gym.sites.shopping.views import checkout as checkout
from webarena_gym.sites.shopping.views import compare as compare
from webarena_gym.sites.shopping.views import newsletter as newsletter
from webarena_gym.sites.shopping.views import orders as orders
from webarena_gym.sites.shopping.views import pages as pages
from webarena_gym.sites.shopping.views import reviews as reviews
from webarena_gym.sites.shopping.views import search as search
from webarena_gym.sites.shopping.views import wishlist as wishlist
