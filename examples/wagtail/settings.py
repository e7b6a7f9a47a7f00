"""Settings of the example: the paths of its state come from outside."""

import os

from .dev import *  # noqa: F403

DATABASES["default"]["NAME"] = os.environ["CMS_STATE"] + "/cms.sqlite3"  # noqa: F405
MEDIA_ROOT = os.environ["CMS_STATE"] + "/media"
LOGGING = {"version": 1}
