"""Pictures of products: a patterned box that follows from the name and the category, always the same."""

import hashlib

TILE = 48
MOTIFS = (  # shapes in a square of 48, which the name turns and colours
    "M0 0h48a48 48 0 0 1-48 48z",
    "M0 48a24 24 0 0 1 48 0z",
    "M0 0h48L0 48z",
    "M24 0a24 24 0 0 1 0 48a24 24 0 0 1 0-48z",
    "M24 0l24 24-24 24L0 24z",
    "M0 48V24a24 24 0 0 1 48 0v24z",
    "M8 0h14v48H8z",
    "M0 0q0 48 48 48q0-48-48-48z",
)


def draw(name: str, category: str) -> str:
    """Return an SVG drawing. The category gives the motifs and the hue, the name their arrangement."""
    dice = hashlib.sha256(name.encode()).digest()
    kind = hashlib.sha256(category.encode()).digest()
    hue = (kind[0] * 360 // 256 + dice[0] % 41 - 20) % 360
    colours = [f"hsl({hue} 48% 46%)", f"hsl({hue} 52% 30%)", f"hsl({hue} 60% 74%)", f"hsl({(hue + 40) % 360} 78% 66%)"]
    motifs = MOTIFS[kind[1] % len(MOTIFS)], MOTIFS[kind[2] % len(MOTIFS)]
    tiles = []
    for place, roll in enumerate(dice[1:10]):
        left, top = 48 + place % 3 * TILE, 44 + place // 3 * TILE
        ground, shape = colours[roll % 4], colours[(roll + 1 + roll // 4 % 3) % 4]
        turn = f"rotate({roll // 16 % 4 * 90} {TILE // 2} {TILE // 2})"
        tiles.append(
            f'<g transform="translate({left} {top})"><path fill="{ground}" d="M0 0h{TILE}v{TILE}H0z"/>'
            f'<path fill="{shape}" transform="{turn}" d="{motifs[roll // 64 % 2]}"/></g>'
        )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 240">'
        '<clipPath id="box"><rect x="48" y="44" width="144" height="144" rx="16"/></clipPath>'
        f'<path fill="hsl({hue} 36% 94%)" d="M0 0h240v240H0z"/>'
        f'<ellipse cx="120" cy="196" rx="76" ry="8" fill="hsl({hue} 25% 80%)"/>'
        f'<g clip-path="url(#box)">{"".join(tiles)}</g></svg>'
    )
