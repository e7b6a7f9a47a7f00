"""What pages look like in a layout: colours, type, corners and distances, laid over a site's own style sheet."""

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import share

_FONTS = (
    "Georgia, 'Times New Roman', serif",
    "Verdana, Geneva, sans-serif",
    "'Trebuchet MS', 'Gill Sans', sans-serif",
    "'Courier New', Courier, monospace",
    "Tahoma, 'Segoe UI', sans-serif",
    "Cambria, Palatino, serif",
)
_SIZES = (14, 16, 17, 15, 18, 13)  # pixels
_CORNERS = (0, 3, 14, 8, 20, 1)  # pixels
_BRANDS = ("--brand", "--link")


def style_sheet(seed: int) -> str:
    """Return the rules that a layout adds to every page."""
    dice = Dice(f"layout/{seed}/looks")
    hue, turn = dice.below(360), dice.between(90, 270)
    font, size, corner = (dice.pick(share(values, seed)) for values in (_FONTS, _SIZES, _CORNERS))
    colours = "".join(f"{name}:hsl({hue} 60% 27%);" for name in _BRANDS)
    colours += f"--brand-dark:hsl({hue} 60% 20%);--accent:hsl({(hue + turn) % 360} 60% 27%);--menu:hsl({hue} 45% 15%);"
    colours += f"--ground:hsl({hue} 30% 96%);--line:hsl({hue} 20% 85%)"
    return f"""
:root:not(.night-on, .night-auto) {{ {colours} }}
@media (prefers-color-scheme: light) {{ .night-auto {{ {colours} }} }}
body {{ font-family: {font}; font-size: {size}px }}
button, .button, input, select, textarea, .card, fieldset, table {{ border-radius: {corner}px }}
.as-is {{ display: contents; list-style: none }}
.records {{ display: grid; grid-template-columns: minmax(0, 1fr); gap: .6rem; margin: .6rem 0; padding: 0; list-style: none }}
.records > * {{ padding: .6rem .9rem; border: 1px solid var(--line); border-radius: {corner}px; background: var(--paper, #fff) }}
.record {{ margin: 0 }}
dl.record {{ display: grid; grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .2rem 1rem }}
.record dd {{ margin: 0; overflow-wrap: anywhere }}
.record .number {{ text-align: left }}
.heads {{ display: flex; flex-wrap: wrap; gap: .3rem 1rem }}
"""
