"""An issue tracker that others wrote (Roundup, from PyPI), with one user, as a WSGI application."""

import sys
from pathlib import Path

from roundup import configuration, init, instance, password
from roundup.cgi.wsgi_handler import RequestDispatcher

from webarena_gym.servers.logins import Account, Login

ANN = Account("ann", "correct horse")
LOGIN = Login("/", '[name="__login_name"]', '[name="__login_password"]', "/issue?@template=item")


def make_tracker(folder, address):
    """Set a tracker up for an address in an empty folder; return its application and what opens its database."""
    template = Path(sys.prefix) / "share" / "roundup" / "templates" / "classic"
    home = str(folder / "tracker")
    init.install(home, str(template), settings={})
    (folder / "tracker" / "detectors" / "nosyreaction.py").unlink()  # it sends mail
    settings = {
        "TRACKER_HOME": home,
        "TRACKER_WEB": f"{address}/",
        "DATABASE": "db",
        "RDBMS_BACKEND": "sqlite",
        "MAIL_DOMAIN": "tracker.test",
        "MAIL_HOST": "127.0.0.1",
        "PASSWORD_PBKDF2_DEFAULT_ROUNDS": "1000",
    }
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
    return RequestDispatcher(home), lambda: tracker.open("admin")
