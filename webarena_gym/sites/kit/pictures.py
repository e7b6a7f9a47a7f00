"""Pictures whose facts no text contains: each fact is drawn from the world's seed and the number of a row, and stored nowhere.

A picture's URL contains the kind of picture and the number of the row. `facts` returns its facts, `draw` returns it as PNG, made of
polygons only. A row `pictures` in a world's table `world` changes all pictures and nothing else, by which the audit
proves that no text contains their facts.
"""

import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import cos, pi, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webarena_gym.sites.country.dice import Dice

Facts = Mapping[str, Any]
Points = Sequence[tuple[float, float]]
_FINE = 2  # dots of a side for each pixel, for smooth edges; `png` takes the mean of four

COLOURS = {
    "red": (205, 28, 36), "orange": (255, 140, 0), "yellow": (250, 220, 40), "green": (28, 140, 60), "blue": (36, 84, 214),
    "purple": (130, 40, 165), "black": (24, 24, 28), "white": (255, 255, 255),
}  # fmt: skip
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_INK, _PAPER, _GREY = (40, 44, 52), (236, 236, 232), (196, 198, 202)
_LETTERS = {  # 3 x 5 dots
    "A": 0x2BED, "D": 0x6B6E, "F": 0x79A4, "J": 0x126A, "M": 0x5FED, "N": 0x6B6D, "O": 0x2B6A, "S": 0x388E,
}  # fmt: skip


def _around(count: int, *radii: float, turn: float = -pi / 2) -> Points:
    """Return `count` corners around the origin, with alternating radii."""
    angles = [(place, turn + 2 * pi * place / count) for place in range(count)]
    return [(radii[place % len(radii)] * cos(angle), radii[place % len(radii)] * sin(angle)) for place, angle in angles]


_HEART = [
    (sin(a) ** 3 * 0.95, -(13 * cos(a) - 5 * cos(2 * a) - 2 * cos(3 * a) - cos(4 * a)) / 17)
    for a in (n * pi / 30 for n in range(60))
]
SHAPES: Mapping[str, Points] = {
    "circle": _around(48, 0.88), "triangle": _around(3, 1.0), "square": _around(4, 1.05, turn=pi / 4),
    "star": _around(10, 1.0, 0.42), "heart": _HEART, "diamond": _around(4, 1.1, 0.72), "arrow": [
        (-0.9, -0.28), (0.1, -0.28), (0.1, -0.75), (0.95, 0.0), (0.1, 0.75), (0.1, 0.28), (-0.9, 0.28)],
    "cross": [(-0.3, -0.9), (0.3, -0.9), (0.3, -0.3), (0.9, -0.3), (0.9, 0.3), (0.3, 0.3), (0.3, 0.9), (-0.3, 0.9), (-0.3, 0.3),
              (-0.9, 0.3), (-0.9, -0.3), (-0.3, -0.3)],
}  # fmt: skip
"""Shapes of badges, around the middle, with a radius of 1; the arrow points to the right."""


class Canvas:
    """A picture, drawn from back to front, with coordinates in pixels from the upper left corner."""

    def __init__(self, width: int, height: int, ground: tuple[int, int, int] = _PAPER) -> None:
        self._colours = {ground: 0}  # their numbers, in order
        self._dots: NDArray[np.uint8] = np.zeros((height * _FINE, width * _FINE), np.uint8)

    def fill(self, points: Iterable[tuple[float, float]], colour: tuple[int, int, int]) -> None:
        """Fill a polygon by the even-odd rule."""
        corners = np.array(list(points)) * _FINE
        (left, top), (right, low) = np.floor(corners.min(0)).astype(int), np.ceil(corners.max(0)).astype(int)
        height, width = self._dots.shape[:2]
        left, top, right, low = max(left, 0), max(top, 0), min(right, width), min(low, height)
        x, y = np.arange(left, right) + 0.5, np.arange(top, low) + 0.5
        (ax, ay), (bx, by) = corners.T, np.roll(corners, -1, 0).T
        # Where the sides cross the rows; a dot is inside if an odd number of sides lies farther right.
        side, row = np.nonzero((np.minimum(ay, by)[:, None] <= y) & (y < np.maximum(ay, by)[:, None]))
        crossed = (bx - ax)[side] * (y[row] - ay[side]) / (by - ay)[side] + ax[side]
        ends = np.bincount(row * (len(x) + 1) + np.searchsorted(x, crossed), minlength=len(y) * (len(x) + 1))
        from_right = (ends.reshape(len(y), len(x) + 1)[:, :0:-1] & 1).astype(bool)
        inside = np.logical_xor.accumulate(from_right, axis=1)[:, ::-1]
        self._dots[top:low, left:right][inside] = self._colours.setdefault(colour, len(self._colours))

    def box(self, left: float, top: float, right: float, low: float, colour: tuple[int, int, int]) -> None:
        """Fill a rectangle."""
        self.fill([(left, top), (right, top), (right, low), (left, low)], colour)

    def shape(self, name: str, x: float, y: float, radius: float, colour: tuple[int, int, int], edge: float = 0) -> None:
        """Fill a shape of SHAPES around a point, with a dark edge."""
        for size, paint in ((radius + edge, _INK), (radius, colour))[not edge :]:
            self.fill([(x + size * a, y + size * b) for a, b in SHAPES[name]], paint)

    def line(self, points: Points, width: float, colour: tuple[int, int, int]) -> None:
        """Draw a line through points."""
        for (ax, ay), (bx, by) in pairwise(points):
            length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5 or 1.0
            x, y = (ay - by) * width / length / 2, (bx - ax) * width / length / 2
            self.fill([(ax + x, ay + y), (bx + x, by + y), (bx - x, by - y), (ax - x, ay - y)], colour)
            self.shape("circle", bx, by, width * 0.56, colour)

    def letter(self, letter: str, x: float, y: float, size: float) -> None:
        """Write a capital letter of three by five dots with a given size."""
        for place in range(15):
            if _LETTERS[letter] >> (14 - place) & 1:
                left, top = x + place % 3 * size, y + place // 3 * size
                self.box(left, top, left + size, top + size, _INK)

    def png(self) -> bytes:
        """Return the picture as a PNG file."""
        height, width = (side // _FINE for side in self._dots.shape[:2])
        packed = np.array([red << 32 | green << 16 | blue for red, green, blue in self._colours])[self._dots]
        total = packed[::2, ::2] + packed[1::2, ::2] + packed[::2, 1::2] + packed[1::2, 1::2]
        pixels = np.stack((total >> 34, total >> 18, total >> 2), -1).astype(np.uint8)
        rows = np.hstack([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)]).tobytes()
        parts = (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            (b"IDAT", zlib.compress(rows, 6)),
            (b"IEND", b""),
        )
        chunks = (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
        )
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _wrapping(dice: Dice) -> Facts:
    box, ribbon = dice.some(list(COLOURS), 2)
    return {"box": box, "ribbon": ribbon, "sticker": dice.pick(list(SHAPES))}


def _draw_wrapping(facts: Facts) -> Canvas:
    """Draw a box with a ribbon, and a white sticker with a dark shape."""
    canvas, ribbon = Canvas(320, 320, _GREY), COLOURS[facts["ribbon"]]
    canvas.box(36, 56, 284, 304, _INK)
    canvas.box(39, 59, 281, 301, COLOURS[facts["box"]])
    for left, top, right, low in ((104, 59, 140, 301), (39, 118, 281, 154)):
        canvas.box(left - 2, top, right + 2, low, _INK)
        canvas.box(left, top + 2 * (top > 59), right, low - 2 * (low < 301), ribbon)
    canvas.box(104, 116, 140, 156, ribbon)
    for side in (-1, 1):
        for grown, paint in ((3, _INK), (0, ribbon)):
            middle = (122 + side * 36, 34)
            canvas.fill([(middle[0] + (34 + grown) * x, middle[1] + (20 + grown) * y) for x, y in SHAPES["circle"]], paint)
    canvas.box(108, 22, 136, 60, _INK)
    canvas.box(111, 25, 133, 57, ribbon)
    canvas.shape("circle", 212, 228, 64, COLOURS["white"], 3)
    canvas.shape(facts["sticker"], 212, 228, 40, _INK)
    return canvas


def _bars(dice: Dice) -> Facts:
    levels = dice.some(range(1, 13), 12)
    order = sorted(range(12), key=lambda month: -levels[month])
    red, above = dice.some(range(12), dice.between(2, 10)), dice.between(2, 10)
    return {"levels": levels, "ranking": [MONTHS[month] for month in order], "red": len(red), "places": red, "above": above}


def _draw_bars(facts: Facts) -> Canvas:
    """Draw a red or blue bar for each month, and a dashed line."""
    canvas = _months()
    for month, level in enumerate(facts["levels"]):
        colour = COLOURS["red" if month in facts["places"] else "blue"]
        canvas.box(_at(month) - 13, _high(level), _at(month) + 13, _high(0), colour)
    for left in range(18, 510, 18):
        canvas.box(left, _high(12.5 - facts["above"]) - 1.5, left + 11, _high(12.5 - facts["above"]) + 1.5, _INK)
    return canvas


def _at(month: int) -> float:
    return 42 + month * 40


def _high(level: float) -> float:
    return 262 - level * 19


def _months() -> Canvas:
    """Return an empty chart with the names of the months."""
    canvas = Canvas(524, 300, COLOURS["white"])
    canvas.box(14, _high(0), 512, _high(0) + 3, _INK)
    for month, name in enumerate(MONTHS):
        canvas.letter(name[0], _at(month) - 6, 274, 4)
    return canvas


def _lines(dice: Dice) -> Facts:
    """Draw two lines: from a given month on, the blue one is above the red one. The red one has a unique maximum."""
    turn, peak = dice.between(1, 11), dice.below(12)
    low, high = [dice.between(1, 4) for _ in range(12)], [dice.between(6, 9) for _ in range(12)]
    red, blue = ([*a[:turn], *b[turn:]] for a, b in ((high, low), (low, high)))
    if peak >= turn:
        blue[peak], red[peak] = 12, 10
    else:
        red[peak] = 12
    return {"red": red, "blue": blue, "turn": MONTHS[turn], "peak": MONTHS[peak]}


def _draw_lines(facts: Facts) -> Canvas:
    canvas = _months()
    for month in range(12):
        canvas.box(_at(month) - 0.5, _high(12.5), _at(month) + 0.5, _high(0), _GREY)
    for name in ("red", "blue"):
        points = [(_at(month), _high(level)) for month, level in enumerate(facts[name])]
        canvas.line(points, 4, COLOURS[name])
        for x, y in points:
            canvas.shape("circle", x, y, 7, COLOURS[name])
    return canvas


def _pie(dice: Dice) -> Facts:
    shares = (34, 25, 19, 14, 8)  # of a hundred, the largest first
    colours = dice.some(("red", "orange", "yellow", "green", "blue", "purple", "black"), 5)
    return {"ranking": colours, "slices": dice.some(list(zip(colours, shares, strict=True)), 5)}


def _draw_pie(facts: Facts) -> Canvas:
    canvas, before = Canvas(300, 300, COLOURS["white"]), 0
    for colour, share in facts["slices"]:
        angles = [2 * pi * (before + share * step / 40) / 100 - pi / 2 for step in range(41)]
        canvas.fill([(150, 150), *((150 + 130 * cos(angle), 150 + 130 * sin(angle)) for angle in angles)], COLOURS[colour])
        before += share
    return canvas


def _badge(dice: Dice) -> Facts:
    ground, colour = dice.some(list(COLOURS), 2)
    return {"ground": ground, "colour": colour, "shape": dice.pick(list(SHAPES))}


def _draw_badge(facts: Facts) -> Canvas:
    """Draw a shape on a square of a different colour."""
    canvas = Canvas(144, 144, _INK)
    canvas.box(3, 3, 141, 141, COLOURS[facts["ground"]])
    canvas.shape(facts["shape"], 72, 74, 52, COLOURS[facts["colour"]], 3)
    return canvas


_SKY, _LAND, _WOOD, _WALL = (190, 220, 244), (150, 184, 110), (120, 82, 50), (226, 196, 150)
_PAINTS = {"d": _INK, "w": COLOURS["white"], "r": COLOURS["red"], "o": COLOURS["orange"], "g": COLOURS["green"], "n": _WOOD,
           "s": _GREY, "l": _WALL, "y": COLOURS["yellow"], "b": (60, 130, 200)}  # fmt: skip
THINGS: Mapping[str, str] = {
    "cat": "n60,150 60,100 80,84 150,84 150,150 134,150 134,124 80,124 80,150|n132,48 140,24 154,40 172,40 186,24 192,48|nO162,66 31,29|"
    "n64,106 38,96 26,64 34,56 44,86 70,92|wO150,60 6,7|wO174,60 6,7|dO150,61 3,5|dO174,61 3,5|d157,72 167,72 162,79|d170,77 200,72 200,74 170,80|"
    "d154,77 124,72 124,74 154,80",
    "house": "l70,150 70,82 170,82 170,150|r54,86 120,34 186,86|n108,150 108,108 132,108 132,150|w80,96 98,96 98,116 80,116|w142,96 160,96 160,116 142,116",
    "tree": "n110,152 110,96 130,96 130,152|gO120,66 42,34|gO92,82 30,24|gO148,82 30,24",
    "boat": "b0,126 240,126 240,160 0,160|n58,118 182,118 162,142 78,142|d117,20 122,20 122,118 117,118|w126,26 126,108 178,108|w112,40 112,108 72,108",
    "car": "r36,122 36,98 70,92 92,66 156,66 178,92 206,98 206,122|s96,72 118,72 118,92 80,92|s126,72 152,72 166,92 126,92|dO76,124 20,20|dO170,124 20,20|"
    "sO76,124 9,9|sO170,124 9,9",
    "fish": "b0,0 240,0 240,160 0,160|oO112,80 62,34|o160,80 210,46 210,114|o104,50 130,28 142,54|wO76,72 9,9|dO75,72 5,5|d96,62 100,62 100,98 96,98",
    "flower": "g116,152 116,90 124,90 124,152|g120,130 156,106 160,118 122,142|rO120,34 17,19|rO92,54 19,17|rO148,54 19,17|rO103,84 18,17|rO137,84 18,17|yO120,62 18,18",
    "umbrella": "n116,50 124,50 124,138 116,138|n116,134 124,134 124,144 92,144 92,128 100,128 100,136 116,136|"
    "r44,84 56,56 84,36 120,28 156,36 184,56 196,84 170,76 146,84 120,76 94,84 70,76",
    "cup": "w70,70 160,70 152,134 134,146 96,146 78,134|wO164,100 26,26|sO164,100 14,14|w70,70 158,70 150,132 132,146 98,146 80,132|nO115,71 45,9|"
    "s92,56 98,40 92,26 96,26 103,40 97,56|s120,56 126,40 120,26 124,26 131,40 125,56|d40,148 190,148 190,152 40,152",
}
"""Things that photos show: polygons and ellipses (O, with the middle and the radii), each with its paint, on 240 by 160 pixels."""


def _photo(dice: Dice) -> Facts:
    return {"thing": dice.pick(list(THINGS))}


def _draw_photo(facts: Facts) -> Canvas:
    canvas = Canvas(240, 160, _SKY)
    canvas.box(0, 118, 240, 160, _LAND)
    for part in THINGS[facts["thing"]].split("|"):
        numbers = [tuple(map(float, pair.split(","))) for pair in part[1:].lstrip("O").split()]
        if part[1] == "O":
            (x, y), (wide, high) = numbers
            numbers = [(x + wide * a / 0.88, y + high * b / 0.88) for a, b in SHAPES["circle"]]
        canvas.fill([(x, y) for x, y in numbers], _PAINTS[part[0]])
    return canvas


PINS = ("red", "blue", "yellow", "black")


def _survey(dice: Dice) -> Facts:
    counts = {colour: dice.between(1, 6) for colour in PINS}
    pins = [colour for colour, count in counts.items() for _ in range(count)]
    spots = [
        (40 + 68 * (cell % 8) + dice.between(-14, 14), 62 + 78 * (cell // 8) + dice.between(-16, 16)) for cell in range(32)
    ]
    return {**counts, "pins": list(zip(dice.some(pins, len(pins)), dice.some(spots, len(pins)), strict=True))}


def _draw_survey(facts: Facts) -> Canvas:
    """Draw pins on streets."""
    canvas = Canvas(560, 340, (226, 232, 216))
    for points in (
        [(0, 90), (210, 120), (560, 60)],
        [(0, 260), (300, 210), (560, 280)],
        [(130, 0), (180, 340)],
        [(400, 0), (370, 340)],
    ):
        canvas.line(points, 14, COLOURS["white"])
    for colour, (x, y) in sorted(facts["pins"], key=lambda pin: pin[1][1]):
        for grown, paint in ((2.5, _INK), (0, COLOURS[colour])):
            canvas.fill([(x - 11 - grown, y - 14), (x + 11 + grown, y - 14), (x, y + 12 + 2 * grown)], paint)
            canvas.shape("circle", x, y - 20, 14 + grown, paint)
    return canvas


def _flag(dice: Dice) -> Facts:
    return {
        "stripes": dice.between(3, 8),
        "colours": dice.some(("red", "green", "blue", "yellow", "white"), 2),
        "emblem": dice.pick(list(SHAPES)),
    }


def _draw_flag(facts: Facts) -> Canvas:
    """Draw stripes of two alternating colours, and an emblem on a white field."""
    canvas, high = Canvas(330, 216, _INK), 210 / facts["stripes"]
    for stripe in range(facts["stripes"]):
        canvas.box(3, 3 + high * stripe, 327, 3 + high * (stripe + 1), COLOURS[facts["colours"][stripe % 2]])
    canvas.shape("circle", 228, 108, 72, COLOURS["white"], 3)
    canvas.shape(facts["emblem"], 228, 110, 46, _INK)
    return canvas


KINDS: Mapping[str, tuple[Callable[[Dice], Facts], Callable[[Facts], Canvas]]] = {
    "wrapping": (_wrapping, _draw_wrapping), "views": (_bars, _draw_bars), "traffic": (_lines, _draw_lines),
    "interests": (_pie, _draw_pie), "badge": (_badge, _draw_badge), "photo": (_photo, _draw_photo),
    "survey": (_survey, _draw_survey), "flag": (_flag, _draw_flag),
}  # fmt: skip
"""Draws of facts for a row, and how they are painted: of a product its wrapping and its views, of a project its traffic, of a customer the
interests, of people and projects the badge, of a link its photo, of a place the survey around it, and of a town its flag.
"""


def facts(db: sqlite3.Connection, kind: str, row: int) -> Facts:
    """Return the facts that the picture of a row shows, by name."""
    return _facts(_world(db), kind, row)


def draw(db: sqlite3.Connection, kind: str, row: int) -> bytes:
    """Return the picture of a row as PNG. The latest pictures are cached."""
    return _draw_png(_world(db), kind, row)


def _world(db: sqlite3.Connection) -> str:
    query = "SELECT group_concat(key || value) FROM (SELECT * FROM world WHERE key IN ('seed', 'pictures') ORDER BY key)"
    return str(db.execute(query).fetchone()[0])


def _facts(world: str, kind: str, row: int) -> Facts:
    return KINDS[kind][0](Dice(f"pictures/{world}/{kind}/{row}"))


@lru_cache(maxsize=512)
def _draw_png(world: str, kind: str, row: int) -> bytes:
    return KINDS[kind][1](_facts(world, kind, row)).png()
