"""The clock of a world, which stands still during an episode."""

from datetime import datetime, timedelta

from webarena_gym.sites.country.dice import Dice


def moment(seed: int) -> datetime:
    """Return the time that a world has: working hours of a weekday in 2022 to 2024, to the second, without a time zone."""
    dice = Dice(f"clock/{seed}")
    day = datetime(2022, 1, 3) + timedelta(weeks=dice.below(155), days=dice.below(5))
    return day + timedelta(seconds=dice.between(10 * 3600, 17 * 3600))
