"""Former name of `webarena_gym.logins`."""

from webarena_gym.addresses import Account as Account
from webarena_gym.logins import Login as Login
