"""Settings of the example: the paths of its state come from outside, and no clock that stands still counts tries."""

import os

from .base import *  # noqa: F403

_STATE = os.environ["FORUM_STATE"]
SECRET_KEY = "forum"
DEBUG = True  # it serves its own static files
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{_STATE}/forum.sqlite3"}}
MEDIA_ROOT = f"{_STATE}/media"
HAYSTACK_CONNECTIONS["default"]["PATH"] = f"{_STATE}/search"  # noqa: F405
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
LOGGING = {"version": 1}
ST_RATELIMIT_ENABLE = False
ST_SITE_URL = "http://forum.test/"
