"""Fills the database of the example."""

from django.contrib.auth import get_user_model
from home.models import HomePage
from wagtail.models import Page

get_user_model().objects.create_superuser("ann", "ann@cms.test", "correct horse")
home = Page.objects.get(slug="home")
for title in ("Opening hours", "Harbour tour", "Price list", "Staff", "Winter closing"):
    home.add_child(instance=HomePage(title=title))
