"""Pictures that people post: a small landscape that follows from a picture's description, always the same."""

import hashlib

WIDTH, HEIGHT = 480, 320


def draw(description: str) -> str:
    """Return an SVG drawing of hills under a sun or moon."""
    dice = hashlib.sha256(description.encode("utf-8", "replace")).digest()
    hue = dice[0] * 360 // 256
    hills = []
    for layer in range(3):
        height = HEIGHT - 150 + 45 * layer
        left, middle, right = (height - dice[1 + 3 * layer + place] % 70 for place in range(3))
        hills.append(
            f'<path fill="hsl({(hue + 25 * layer) % 360} 38% {58 - 16 * layer}%)" '
            f'd="M0 {left}Q{WIDTH // 4} {middle} {WIDTH // 2} {left}T{WIDTH} {right}V{HEIGHT}H0z"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f'<path fill="hsl({(hue + 180) % 360} 55% {70 + dice[10] % 18}%)" d="M0 0h{WIDTH}v{HEIGHT}H0z"/>'
        f'<circle cx="{60 + dice[11] * 360 // 256}" cy="{50 + dice[12] % 70}" r="{18 + dice[13] % 22}" fill="hsl(48 90% 85%)"/>'
        f"{''.join(hills)}</svg>"
    )
