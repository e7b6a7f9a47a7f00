"""Pictures of products: a few coloured shapes that follow from the name and the category, always the same."""

import hashlib
from collections.abc import Callable, Sequence

SIZE = 240


def draw(name: str, category: str) -> str:
    """Return an SVG drawing. The category gives the kind of object, the name its colours and proportions."""
    dice = hashlib.sha256(name.encode()).digest()
    kind = hashlib.sha256(category.encode()).digest()[0]
    hue = kind * 137 % 360 + dice[0] % 50
    body = KINDS[kind % len(KINDS)](dice, f"hsl({hue} 55% 52%)", f"hsl({hue} 60% 36%)", f"hsl({(hue + 150) % 360} 65% 68%)")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}">'
        f'<rect width="{SIZE}" height="{SIZE}" fill="hsl({hue} 42% 94%)"/>'
        f'<circle cx="120" cy="120" r="{88 + dice[1] % 12}" fill="hsl({hue} 46% 88%)"/>'
        f'<ellipse cx="120" cy="203" rx="62" ry="8" fill="hsl({hue} 30% 74%)"/>{body}</svg>'
    )


def _box(dice: Sequence[int], main: str, dark: str, light: str) -> str:
    half, top = 42 + dice[2] % 20, 74 + dice[3] % 30
    width, height = 2 * half, 200 - top
    return (
        f'<rect x="{120 - half}" y="{top}" width="{width}" height="{height}" rx="{4 + dice[4] % 14}" fill="{main}"/>'
        f'<rect x="{120 - half}" y="{top}" width="{width}" height="{height // 4}" rx="4" fill="{dark}"/>'
        f'<rect x="{120 - half // 2}" y="{top + height // 2}" width="{half}" height="{height // 5}" rx="3" fill="{light}"/>'
    )


def _bottle(dice: Sequence[int], main: str, dark: str, light: str) -> str:
    half, neck = 26 + dice[2] % 18, 10 + dice[3] % 8
    return (
        f'<rect x="{120 - neck}" y="46" width="{2 * neck}" height="44" rx="4" fill="{dark}"/>'
        f'<rect x="{120 - half}" y="80" width="{2 * half}" height="120" rx="{14 + dice[4] % 10}" fill="{main}"/>'
        f'<rect x="{120 - half}" y="{122 + dice[5] % 12}" width="{2 * half}" height="38" fill="{light}"/>'
    )


def _round(dice: Sequence[int], main: str, dark: str, light: str) -> str:
    radius = 46 + dice[2] % 20
    return (
        f'<circle cx="120" cy="{200 - radius}" r="{radius}" fill="{main}"/>'
        f'<circle cx="120" cy="{200 - radius}" r="{radius * 2 // 3}" fill="{dark}"/>'
        f'<circle cx="{112 - dice[3] % 8}" cy="{192 - radius}" r="{radius // 3}" fill="{light}"/>'
    )


def _screen(dice: Sequence[int], main: str, dark: str, light: str) -> str:
    half, height = 58 + dice[2] % 18, 76 + dice[3] % 22
    return (
        f'<rect x="108" y="{66 + height}" width="24" height="{128 - height}" fill="{dark}"/>'
        f'<rect x="84" y="190" width="72" height="10" rx="5" fill="{dark}"/>'
        f'<rect x="{120 - half}" y="66" width="{2 * half}" height="{height}" rx="8" fill="{main}"/>'
        f'<rect x="{128 - half}" y="74" width="{2 * half - 16}" height="{height - 16}" rx="4" fill="{light}"/>'
    )


def _garment(dice: Sequence[int], main: str, dark: str, light: str) -> str:
    reach, hem = 62 + dice[2] % 12, 40 + dice[3] % 14
    return (
        f'<path d="M92 56 L{120 - reach} 92 L{138 - reach} 116 L{120 - hem} 104 L{120 - hem} 200 L{120 + hem} 200 '
        f'L{120 + hem} 104 L{102 + reach} 116 L{120 + reach} 92 L148 56 Q120 78 92 56 Z" fill="{main}"/>'
        f'<path d="M92 56 Q120 78 148 56 L140 54 Q120 68 100 54 Z" fill="{dark}"/>'
        f'<rect x="{120 - hem}" y="{130 + dice[4] % 24}" width="{2 * hem}" height="{10 + dice[5] % 14}" fill="{light}"/>'
    )


def _bag(dice: Sequence[int], main: str, dark: str, light: str) -> str:
    half, top = 48 + dice[2] % 18, 98 + dice[3] % 12
    return (
        f'<path d="M{120 - half // 2} {top} Q120 {20 + dice[4] % 24} {120 + half // 2} {top}" fill="none" stroke="{dark}" stroke-width="9"/>'
        f'<path d="M{128 - half} {top} L{112 + half} {top} L{120 + half} 200 L{120 - half} 200 Z" fill="{main}"/>'
        f'<circle cx="120" cy="{top + 44}" r="{12 + dice[5] % 8}" fill="{light}"/>'
    )


KINDS: tuple[Callable[[Sequence[int], str, str, str], str], ...] = (_box, _bottle, _round, _screen, _garment, _bag)
