"""The admin's pages, one module per noun; importing this package registers them all."""

from webarena_gym.sites.shopping_admin.views import account as account
from webarena_gym.sites.shopping_admin.views import addresses as addresses
from webarena_gym.sites.shopping_admin.views import catalogue as catalogue
from webarena_gym.sites.shopping_admin.views import content as content
from webarena_gym.sites.shopping_admin.views import customers as customers
from webarena_gym.sites.shopping_admin.views import documents as documents
from webarena_gym.sites.shopping_admin.views import marketing as marketing
from webarena_gym.sites.shopping_admin.views import orders as orders
from webarena_gym.sites.shopping_admin.views import products as products
from webarena_gym.sites.shopping_admin.views import reports as reports
from webarena_gym.sites.shopping_admin.views import reviews as reviews
from webarena_gym.sites.shopping_admin.views import stores as stores
