"""Moments and spans of time, as databases hold them and as pages write them."""

from webarena_gym.sites.kit import Request

_WEEK = 7 * 86400
_UNITS = (("year", 365 * 86400), ("month", 30 * 86400), ("week", _WEEK), ("day", 86400), ("hour", 3600), ("minute", 60))


def stamp(request: Request) -> str:
    """Return the world's time as the database writes it."""
    return f"{request.now:%Y-%m-%d %H:%M:%S}"


def span(seconds: float, *, in_weeks: bool = False) -> str:
    """Return a span of time in its largest unit; nothing when it is less than a minute.

    >>> span(3 * 3600 + 59), span(8 * 86400), span(8 * 86400, in_weeks=True), span(59)
    ('3 hours', '8 days', '1 week', '')
    """
    for unit, length in _UNITS:
        count = int(seconds // length)
        if count and (in_weeks or length != _WEEK):
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return ""
