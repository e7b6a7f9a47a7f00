"""What mappers write: notes about faults of the map, answers to them, and reminders at the places that they saved."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.map.geometry import Point, moved
from webarena_gym.sites.map.world.places import Place
from webarena_gym.sites.map.world.sizes import Sizes

REMINDERS = (
    "", "", "Go there with the family", "Recommended by a colleague", "Ask for opening hours", "Good parking", "For the next trip",
    "Meet Thursday", "Bring the papers", "Nice and quiet",
)  # fmt: skip
_FAULTS = (
    "{name} has a new entrance on the other side of {street}.",
    "{name} has moved, I think. Nobody was there.",
    "The sign says that {name} closes earlier now.",
    "There is a step at the door of {name}, please mark it.",
    "The telephone of {name} is out of order.",
    "{name} is on the wrong side of the street.",
    "A footpath behind {name} is missing on the map.",
    "Roadworks in front of {name} until next month.",
    "There are bicycle stands next to {name} now.",
    "{name} has been painted and has a new name, it seems.",
)
_REPLIES = (
    "Thanks, I will have a look.", "I was there today and it is true.", "Can somebody confirm this?", "I have put it on the map.",
    "It looked the same as ever to me.", "Which door do you mean?",
)  # fmt: skip


@dataclass(frozen=True)
class Note:
    """A note, and the comments below it as (user, text, time)."""

    user_id: int
    point: Point
    text: str
    status: str
    created_at: datetime
    comments: tuple[tuple[int, str, datetime], ...]

    def row(self) -> tuple[object, ...]:
        """Return the columns of the table, without the id."""
        return (self.user_id, *self.point, self.text, self.status, self.created_at)


def draw(dice: Dice, now: datetime, places: list[Place], sizes: Sizes) -> list[Note]:
    """Draw the notes, the oldest first; each is about another place."""
    moments = sorted(now - timedelta(days=dice.between(1, 98), seconds=dice.below(80_000)) for _ in range(sizes.notes))
    notes = []
    for place, moment in zip(dice.some(places, sizes.notes), moments, strict=True):
        replies = [(dice.between(2, sizes.mappers), text) for text in dice.some(_REPLIES, dice.weigh((0, 1, 2), (5, 3, 2)))]
        comments = tuple(
            (user, text, min(moment + timedelta(hours=5 * index), now - timedelta(minutes=9 - index)))
            for index, (user, text) in enumerate(replies, 1)
        )
        text = dice.pick(_FAULTS).format(name=place.name, street="the street")
        point = moved(place.point, (dice.below(21) - 10) / 1000, (dice.below(21) - 10) / 1000)
        status = "resolved" if comments and dice.chance(50) else "open"
        notes.append(Note(dice.between(1, sizes.mappers), point, text, status, moment, comments))
    return notes
