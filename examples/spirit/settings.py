"""Settings of the example. Environment variables set the paths of its state; rate limits are off, because the clock does not advance."""

import os

from .base import *  # noqa: F403

_STATE = os.environ["FORUM_STATE"]
SECRET_KEY = "forum"
DEBUG = True
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{_STATE}/forum.sqlite3"}}
MEDIA_ROOT = f"{_STATE}/media"
HAYSTACK_CONNECTIONS["default"]["PATH"] = f"{_STATE}/search"  # noqa: F405
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
LOGGING = {"version": 1}
ST_RATELIMIT_ENABLE = False
ST_SITE_URL = "http://forum.test/"
MIDDLEWARE.insert(0, "forum.settings.gym.serve_static")  # noqa: F405


def serve_static(get_response):  # noqa: ANN001, ANN201 - Django's
    """Serve its style sheets and scripts, which Django itself does only under `runserver`."""
    from django.contrib.staticfiles.views import serve  # noqa: PLC0415 - needs settings

    def respond(request):  # noqa: ANN001, ANN202
        is_static = request.path.startswith(STATIC_URL)  # noqa: F405
        return serve(request, request.path.removeprefix(STATIC_URL)) if is_static else get_response(request)  # noqa: F405

    return respond
