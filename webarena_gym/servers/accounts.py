"""The accounts with which real servers are entered: WebArena's published ones, unless others are given."""

import os
from collections.abc import Mapping

from webarena_gym.sites.catalogue import SITES
from webarena_gym.sites.catalogue import Account as Account

PUBLISHED: Mapping[str, Account] = {name: entry.account for name, entry in SITES.items() if entry.account}
"""What WebArena publishes for its own servers, by site."""


def account_of(
    site: str, given: Mapping[str, Account] | None = None, environment: Mapping[str, str] | None = None
) -> Account | None:
    """Return the account of a site: what is given, else $WEBARENA_GYM_<SITE>_USER and _PASSWORD, else the published one.

    None means that the site has none.

    >>> account_of("gitlab", environment={"WEBARENA_GYM_GITLAB_PASSWORD": "other"}).user
    'byteblaze'
    """
    if given and site in given:
        return given[site]
    values = os.environ if environment is None else environment
    published = PUBLISHED.get(site)
    user = values.get(f"WEBARENA_GYM_{site.upper()}_USER", published.user if published else "")
    password = values.get(f"WEBARENA_GYM_{site.upper()}_PASSWORD", published.password if published else "")
    return Account(user, password) if user else None
