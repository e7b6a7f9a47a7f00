"""An issue tracker that others wrote (Roundup, from PyPI), with one user, as a WSGI application."""

import sys
from contextlib import contextmanager
from pathlib import Path

from roundup import configuration, init, instance, password
from roundup.cgi.wsgi_handler import RequestDispatcher

from tests.serving import serving
from webarena_gym.addresses import Account
from webarena_gym.logins import Login

ANN = Account("ann", "correct horse")
LOGIN = Login("/", '[name="__login_name"]', '[name="__login_password"]', "/issue?@template=item")


@contextmanager
def tracking(folder):
    """Serve a tracker from an empty folder; give its application, its base URL and what opens its database."""
    made = []

    def late(*request):  # the application is known only once its address is
        return made[0](*request)

    with serving(late) as address:
        open_database = _set_up(folder, address)
        made.append(RequestDispatcher(str(folder / "tracker")))
        yield made[0], address, open_database


def _set_up(folder, address):
    template = Path(sys.prefix) / "share" / "roundup" / "templates" / "classic"
    home = str(folder / "tracker")
    init.install(home, str(template), settings={})
    (folder / "tracker" / "detectors" / "nosyreaction.py").unlink()  # it sends mail
    settings = {
        "TRACKER_HOME": home, "TRACKER_WEB": f"{address}/", "DATABASE": "db", "RDBMS_BACKEND": "sqlite",
        "MAIL_DOMAIN": "tracker.test", "MAIL_HOST": "127.0.0.1", "PASSWORD_PBKDF2_DEFAULT_ROUNDS": "1000",
    }  # fmt: skip
    config = configuration.CoreConfig()
    for name, value in settings.items():
        config[name] = value
    config.save(str(folder / "tracker" / config.INI_FILE))
    tracker = instance.open(home)
    tracker.init(password.Password("admin", config=config))
    database = tracker.open("admin")
    database.user.create(
        username=ANN.user, password=password.Password(ANN.password, config=config), address="ann@tracker.test", roles="User"
    )
    database.commit()
    database.close()
    return lambda: tracker.open("admin")
