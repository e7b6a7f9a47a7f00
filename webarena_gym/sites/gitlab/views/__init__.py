"""The code host's pages, one module for each noun; importing them registers their routes."""

from webarena_gym.sites.gitlab.views import branches as branches
from webarena_gym.sites.gitlab.views import commits as commits
from webarena_gym.sites.gitlab.views import dashboard as dashboard
from webarena_gym.sites.gitlab.views import explore as explore
from webarena_gym.sites.gitlab.views import groups as groups
from webarena_gym.sites.gitlab.views import issues as issues
from webarena_gym.sites.gitlab.views import item_forms as item_forms
from webarena_gym.sites.gitlab.views import item_lists as item_lists
from webarena_gym.sites.gitlab.views import keys as keys
from webarena_gym.sites.gitlab.views import labels as labels
from webarena_gym.sites.gitlab.views import members as members
from webarena_gym.sites.gitlab.views import merge_requests as merge_requests
from webarena_gym.sites.gitlab.views import milestones as milestones
from webarena_gym.sites.gitlab.views import new_project as new_project
from webarena_gym.sites.gitlab.views import notes as notes
from webarena_gym.sites.gitlab.views import profile as profile
from webarena_gym.sites.gitlab.views import project_settings as project_settings
from webarena_gym.sites.gitlab.views import projects as projects
from webarena_gym.sites.gitlab.views import repository as repository
from webarena_gym.sites.gitlab.views import search as search
from webarena_gym.sites.gitlab.views import sessions as sessions
from webarena_gym.sites.gitlab.views import snippets as snippets
from webarena_gym.sites.gitlab.views import todos as todos
from webarena_gym.sites.gitlab.views import tokens as tokens
from webarena_gym.sites.gitlab.views import users as users
