"""The WSGI application of the example."""

import os

from klaus import make_app

application = make_app([os.environ["RECIPES"]], "Recipes")
