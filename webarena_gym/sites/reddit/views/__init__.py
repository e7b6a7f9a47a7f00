"""The forum's pages, one module for each noun; importing them registers their routes."""

from webarena_gym.sites.reddit.views import accounts as accounts
from webarena_gym.sites.reddit.views import blocks as blocks
from webarena_gym.sites.reddit.views import comments as comments
from webarena_gym.sites.reddit.views import directory as directory
from webarena_gym.sites.reddit.views import forums as forums
from webarena_gym.sites.reddit.views import fronts as fronts
from webarena_gym.sites.reddit.views import messages as messages
from webarena_gym.sites.reddit.views import moderation as moderation
from webarena_gym.sites.reddit.views import search as search
from webarena_gym.sites.reddit.views import settings as settings
from webarena_gym.sites.reddit.views import submissions as submissions
from webarena_gym.sites.reddit.views import submitting as submitting
from webarena_gym.sites.reddit.views import users as users
from webarena_gym.sites.reddit.views import votes as votes
