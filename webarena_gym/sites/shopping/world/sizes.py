"""How much the shop of a world has, at each scale."""

from collections.abc import Mapping
from dataclasses import dataclass

from webarena_gym.sites.country.scales import Scale


@dataclass(frozen=True)
class Sizes:
    """The numbers that the shop's generator goes by."""

    customers: int
    guests: int
    idle: int  # customers who buy nothing
    guest_orders: int
    guest_reviews: int
    departments: tuple[int, ...]  # how many top categories there may be
    leaves: int  # categories below those, at most
    is_deep: bool  # whether each kind of product has a category of its own, below the others
    shelf: tuple[int, int]  # products of a category, at least and at most
    brands: int
    series_percent: int  # products with the name of a series behind that of their brand
    hidden: int  # products that are switched off
    popularity: int  # how much more the first product sells than the last
    option_percent: int  # products with a choice, where their kind may have one
    has_variants: bool  # whether each choice has a stock and a SKU of its own
    phones: int
    readers_percent: int = 50  # customers with the newsletter


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes(
        customers=72, guests=169, idle=6, guest_orders=14, guest_reviews=310, departments=(6, 7, 7), leaves=22, is_deep=False,
        shelf=(12, 16), brands=32, series_percent=0, hidden=4, popularity=1, option_percent=48, has_variants=False, phones=1_200,
    ),
    "large": Sizes(
        customers=1_000, guests=800, idle=215, guest_orders=100, guest_reviews=6_200, departments=(7,), leaves=28, is_deep=True,
        shelf=(22, 29), brands=140, series_percent=55, hidden=40, popularity=20, option_percent=75, has_variants=True, phones=6_000,
    ),
}  # fmt: skip

SERIES = (
    "Alder", "Anchor", "Apex", "Arbor", "Atlas", "Aurora", "Basalt", "Bayside", "Beacon", "Bluff", "Boreal", "Bramble", "Brook",
    "Cascade", "Cinder", "Classic", "Clover", "Coast", "Compass", "Coral", "Cove", "Crest", "Delta", "Drift", "Dune", "Dusk",
    "Echo", "Ember", "Essential", "Everyday", "Fern", "Field", "Fjord", "Flint", "Forge", "Frost", "Gale", "Glade", "Granite",
    "Harbor", "Hazel", "Heath", "Heritage", "Highland", "Horizon", "Indigo", "Inlet", "Ivory", "Juniper", "Kestrel", "Lagoon",
    "Lantern", "Larch", "Lattice", "Lichen", "Linden", "Loft", "Lumen", "Maple", "Marina", "Meadow", "Meridian", "Mesa", "Mistral",
    "Moss", "Noble", "Nomad", "North", "Nova", "Oasis", "Onyx", "Orchard", "Origin", "Osprey", "Patina", "Peak", "Pebble", "Pilot",
    "Plain", "Prairie", "Prime", "Quarry", "Quill", "Ranger", "Reed", "Ridge", "River", "Sable", "Sage", "Salt", "Sierra", "Slate",
    "Solstice", "Spruce", "Sterling", "Studio", "Summit", "Tempo", "Terra", "Thistle", "Tidal", "Timber", "Trail", "Tundra", "Union",
    "Vale", "Velvet", "Vista", "Voyage", "Wander", "Willow", "Zenith",
)  # fmt: skip
"""Names of series of products; parted between worlds as all names are."""
