"""A shop that others wrote (django-oscar, from PyPI), with a few books, in a process of its own.

`python -m tests.bookshop FOLDER` sets it up in an empty folder, and serves it on a free port, which it prints.
"""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from webarena_gym.addresses import Account
from webarena_gym.logins import Login

STAFF = Account("staff@shop.test", "correct horse 7")
LOGIN = Login("/accounts/login/", '[name="login-username"]', '[name="login-password"]', "/accounts/profile/")
BOOKS = (  # title, price, in stock, subject, publishing, language
    ("Harbour Lights", "12.50", 7, "Fiction", "Paperback", "English"),
    ("The Salt Road", "18.00", 0, "Fiction", "Hardback", "English"),
    ("Bread at Home", "24.99", 3, "Cooking", "Hardback", "German"),
    ("Soup for Two", "9.75", 12, "Cooking", "Paperback", "French"),
    ("Knots and Splices", "31.20", 2, "Crafts", "Paperback", "English"),
)


@contextmanager
def selling(folder):
    """Serve the shop from an empty folder; give its base URL, without a last slash."""
    command = [sys.executable, "-m", "tests.bookshop", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(30)


class PlainPictures:
    """Pictures as they are, instead of small copies of them."""

    def generate_thumbnail(self, source, **_):
        return type("Thumbnail", (), {"url": f"/media/{source}", "width": 1, "height": 1})()

    def delete_thumbnails(self, source):
        """There are none."""


class _NoMigrations(dict):
    """Says of every application that it has no migrations, so that its tables are made at once and not step by step."""

    def __contains__(self, _):
        return True

    def __getitem__(self, _):
        return None


def _configure(folder):
    """Make Django what Oscar's documentation asks for, with the least around it."""
    import django  # noqa: PLC0415 - in the shop's own process alone
    import oscar  # noqa: PLC0415
    from django.conf import settings  # noqa: PLC0415
    from oscar import defaults  # noqa: PLC0415

    processors = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]
    processors += ["django.template.context_processors.i18n", "django.contrib.messages.context_processors.messages"]
    processors += [f"oscar.apps.{app}.context_processors.{name}" for app, name in (
        ("search", "search_form"), ("checkout", "checkout"), ("communication.notifications", "notifications"),
    )] + ["oscar.core.context_processors.metadata"]  # fmt: skip
    settings.configure(
        **{name: getattr(defaults, name) for name in dir(defaults) if name.startswith("OSCAR_")}
        | {
            "OSCAR_THUMBNAILER": "tests.bookshop.PlainPictures",
            "OSCAR_INITIAL_ORDER_STATUS": "Pending",
            "OSCAR_INITIAL_LINE_STATUS": "Pending",
            "OSCAR_ORDER_STATUS_PIPELINE": {"Pending": ("Being processed", "Cancelled"), "Being processed": ("Cancelled",)},
            "OSCAR_ALLOW_ANON_CHECKOUT": True,
            "OSCAR_DEFAULT_CURRENCY": "USD",
        },
        SECRET_KEY="test",
        ALLOWED_HOSTS=["*"],
        INSTALLED_APPS=oscar.INSTALLED_APPS,
        SITE_ID=1,
        ROOT_URLCONF="tests.bookshop_urls",
        STATIC_URL="/static/",
        MEDIA_URL="/media/",
        MEDIA_ROOT=str(folder / "media"),
        USE_TZ=True,
        LANGUAGES=[("en", "English")],
        LANGUAGE_CODE="en",
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "oscar.apps.basket.middleware.BasketMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": processors},
            }
        ],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "shop.db"), "ATOMIC_REQUESTS": True}
        },
        MIGRATION_MODULES=_NoMigrations(),
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        AUTHENTICATION_BACKENDS=["oscar.apps.customer.auth_backends.EmailBackend", "django.contrib.auth.backends.ModelBackend"],
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        HAYSTACK_CONNECTIONS={
            "default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": str(folder / "index")}
        },
        EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
    )
    django.setup()


def _fill():
    """Create the tables, the staff's account and the books."""
    from decimal import Decimal  # noqa: PLC0415

    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415
    from oscar.core.loading import get_class, get_model  # noqa: PLC0415

    call_command("migrate", run_syncdb=True, verbosity=0)
    get_user_model().objects.create_superuser("staff", STAFF.user, STAFF.password)
    for code, name in (("US", "United States"), ("PE", "Peru"), ("FR", "France")):
        get_model("address", "Country").objects.create(
            iso_3166_1_a2=code, iso_3166_1_a3=f"{code}X", iso_3166_1_numeric="1", printable_name=name, name=name,
            is_shipping_country=True,
        )  # fmt: skip
    create = get_class("catalogue.categories", "create_from_breadcrumbs")
    product_class = get_model("catalogue", "ProductClass").objects.create(name="Book")
    partner = get_model("partner", "Partner").objects.create(name="Printer")
    for number, (title, price, stock, subject, *_) in enumerate(BOOKS):
        book = get_model("catalogue", "Product").objects.create(
            product_class=product_class, title=title, upc=f"book-{number}", description=f"{title}, a book about {subject}."
        )
        get_model("catalogue", "ProductCategory").objects.create(product=book, category=create(f"Books > {subject}"))
        get_model("partner", "StockRecord").objects.create(
            product=book, partner=partner, partner_sku=f"sku-{number}", price=Decimal(price), num_in_stock=stock
        )
    call_command("rebuild_index", interactive=False, verbosity=0)


def _serve():
    from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: PLC0415
    from django.core.wsgi import get_wsgi_application  # noqa: PLC0415
    from werkzeug.serving import make_server  # noqa: PLC0415

    from tests.serving import QuietHandler  # noqa: PLC0415

    app = StaticFilesHandler(get_wsgi_application())
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)  # noqa: T201 - for who has started this
    server.serve_forever()


if __name__ == "__main__":
    _configure(Path(sys.argv[1]))
    _fill()
    _serve()
