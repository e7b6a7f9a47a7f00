"""Boxes of elements whose declared sizes and positions put them out of reach, for the in-process browser, which has no layout.

An element is out of reach if nobody can see it or click on it, although it has a box: it is placed outside of the page, clipped or
collapsed to nothing. Only declarations from which this follows without a layout are considered.
"""

import re
from collections.abc import Iterable, Mapping

PIXELS = {"px": 1.0, "em": 16.0, "rem": 16.0, "pt": 4 / 3, "in": 96.0, "cm": 96 / 2.54, "mm": 96 / 25.4}
"""Length units in pixels, with the default size of text."""
_RELATIVE = {"vw": 12.8, "vh": 7.2, "ex": 8.0, "ch": 8.0}
_LENGTH = r"[-+]?(?:\d+|\d*\.\d+)(?:[a-z]+|%)|[-+]?0+(?:\.0+)?"
_SIZE = rf"auto|none|{_LENGTH}|(?:min|max|fit)-content|[a-z-]+\(.*\)"
_OVERFLOW = r"(?:(?:visible|hidden|clip|scroll|auto)(?: |$)){1,2}"
BOX_PROPERTIES = {
    "position": r"static|relative|absolute|fixed|(?:-webkit-)?sticky",
    "left": rf"auto|{_LENGTH}|[a-z-]+\(.*\)",
    "top": rf"auto|{_LENGTH}|[a-z-]+\(.*\)",
    "right": rf"auto|{_LENGTH}|[a-z-]+\(.*\)",
    "bottom": rf"auto|{_LENGTH}|[a-z-]+\(.*\)",
    "inset": rf"(?:(?:auto|{_LENGTH}|[a-z-]+\([^ ]*\))(?: |$)){{1,4}}",
    "z-index": r"auto|[-+]?\d+",
    "clip": r"auto|rect\(.*\)",
    "transform": r"none|[a-z0-9]+\(.*\)",
    "width": _SIZE,
    "height": _SIZE,
    "max-height": _SIZE,
    "overflow": _OVERFLOW,
    "overflow-y": _OVERFLOW,
    **dict.fromkeys(("padding", "padding-top", "padding-bottom"), rf"(?:(?:{_LENGTH}|[a-z-]+\([^ ]*\))(?: |$)){{1,4}}"),
}
"""The properties that can put an element out of reach, and their valid values."""
_COMPANIONS = {
    "left": ("position", "width", "transform"),
    "top": ("position", "height", "transform"),
    "transform": ("position", "left", "top"),
    "clip": ("position",),
    **dict.fromkeys(("width", "height", "max-height"), ("overflow", "overflow-y", "padding", "padding-top", "padding-bottom")),
}
"""The properties on which the effect of others depends."""
_COVERING = frozenset(("position", "left", "top", "right", "bottom", "inset", "width", "height", "transform", "z-index"))
"""The properties of an element that covers the window, and of those above it."""
_FAR = 900.0  # pixels from the edge of a box at which an element is outside of the page, wherever the box is
_LONG_PAGE = 9000.0  # pixels by which a part of the page has to be moved up to be above it
_LINE = 40.0  # pixels above the page at which an element of one line is outside of it
_NUMBER = re.compile(r"([-+]?(?:\d+|\d*\.\d+))([a-z]*|%)")
_ZERO_LENGTH = re.compile(r"[-+]?0+(?:\.0+)?(?:[a-z]+|%)?")
_RECTANGLE = re.compile(r"rect\(([^()]*)\)")
_TRANSLATION = re.compile(r"translate(x|y|z|3d|)\(([^()]*)\)")
_NOTHING = re.compile(r"scale[xy]?\(\s*0+(?:\.0+)?\s*(?:,[^()]*)?\)")
_BLOCKS = frozenset(
    "address article aside blockquote body center details dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav"  # noqa: SIM905
    " ol p pre section summary table ul".split()
)
_INLINE_BLOCKS = frozenset(("button", "img", "input", "meter", "progress", "select", "svg", "textarea"))
_INLINE = ("inline", "contents")
_SIZED = re.compile(r"(?:(?:min-)?(?:width|height|(?:block|inline)-size)|padding|border|aspect-ratio)(?:-[a-z-]+)?")
_WITHOUT_SIZE = re.compile(r"border-(?:radius|color|collapse|spacing|style|image)|border-[a-z-]+-(?:radius|color|style)")
_ZERO = re.compile(
    r"(?:[-+]?0*(?:\.0+)?(?:[a-z]+|%)?(?: |$))+|auto|none|normal|inherit|initial|unset|revert|(?:0[a-z]*|none)(?: (?![-+.\d])[^ ]+)*"
)


def needed_properties(declared: Iterable[tuple[str, str]]) -> set[str]:
    """Return the names of the properties that have to be considered, given all declarations (property, value) of a page.

    Most pages put nothing out of reach. For them the set is empty.

    >>> sorted(needed_properties([("left", "-999px"), ("height", "auto"), ("width", "2em")]))
    ['left', 'position', 'transform', 'width']
    """
    pairs = set(declared)
    names = {name for name, value in pairs if _may_hide(name, value)}
    may_cover = ("position", "fixed") in pairs and any(
        (name == "inset" and covers_window({name: value})) or (name in ("width", "right") and _fills(value, name == "width"))
        for name, value in pairs
    )
    return names.union(*(_COMPANIONS.get(name, ()) for name in names), _COVERING if may_cover else ())


def _may_hide(name: str, value: str) -> bool:
    if name in ("left", "top"):
        length, share = _length(value)
        return length <= -_LINE or share <= -100
    if name == "clip":
        return _is_empty_rectangle(value)
    if name == "transform":
        return _NOTHING.search(value) is not None or any(share <= -100 or length <= -_FAR for length, share in _shifts(value))
    return name in ("width", "height", "max-height") and _ZERO_LENGTH.fullmatch(value) is not None


def _length(value: str) -> tuple[float, float]:
    """Return a length in pixels and the per cent of a percentage; (0, 0) for a value that is neither.

    >>> _length("-2em"), _length("-100%"), _length("auto")
    ((-32.0, 0.0), (0.0, -100.0), (0.0, 0.0))
    """
    match = _NUMBER.fullmatch(value)
    if match is None:
        return 0.0, 0.0
    number, unit = float(match[1]), match[2]
    return (0.0, number) if unit == "%" else (number * PIXELS.get(unit, _RELATIVE.get(unit, 1.0)), 0.0)


def _is_empty_rectangle(clip: str) -> bool:
    match = _RECTANGLE.fullmatch(clip)
    sides = [] if match is None else match[1].replace(",", " ").split()
    if len(sides) != 4 or "auto" in sides:
        return False
    top, right, bottom, left = (_length(side)[0] for side in sides)
    return top >= bottom or left >= right


def _shifts(transform: str) -> list[tuple[float, float]]:
    """Return the lengths by which a transformation moves an element to the right and down, each as in `_length`."""
    shifts = [(0.0, 0.0), (0.0, 0.0)]
    for kind, arguments in _TRANSLATION.findall(transform):
        lengths = [_length(part.strip()) for part in arguments.split(",")]
        if kind == "y":
            shifts[1] = lengths[0]
        elif kind != "z":
            used = lengths[: 1 if kind == "x" else 2]
            shifts[: len(used)] = used
    return shifts


def is_away(tag: str, values: Mapping[str, str], *, in_placed: bool) -> bool:
    """Return True if an element is placed outside of the page.

    Args:
        tag: the tag of the element.
        values: the declared values of the element.
        in_placed: True if an element around it is positioned, so that its place in the page is unknown.

    """
    position, transform = values.get("position", "static"), values.get("transform", "none")
    if not (_is_block(tag, values) or tag in _INLINE_BLOCKS):
        transform = "none"  # it has no effect
    if _NOTHING.search(transform):
        return True
    left, top = values.get("left", "auto"), values.get("top", "auto")
    shifts = _shifts(transform)
    if position not in ("absolute", "fixed"):
        is_relative = position == "relative"
        return min(_length(left)[0] * is_relative, shifts[0][0]) <= -_FAR or _length(top)[0] * is_relative <= -_LONG_PAGE
    if min(_length(left)[0], _length(top)[0], shifts[0][0], shifts[1][0]) <= -_FAR:
        return True
    if in_placed and position == "absolute":
        return False
    for offset, shift, size in ((left, shifts[0], values.get("width", "auto")), (top, shifts[1], values.get("height", "auto"))):
        length, share = _length(offset)
        is_moved = shift[1] <= -100 and length <= 0 and share <= 0 and offset != "auto"
        extent = _length(size)[0] if _NUMBER.fullmatch(size) and not size.endswith("%") else _LINE if offset is top else _FAR
        if share <= -100 or is_moved or (length < 0 and length + shift[0] + extent <= 0):
            return True
    return False


def _is_block(tag: str, values: Mapping[str, str]) -> bool:
    """Return True if an element is not inline, so that sizes have an effect on it."""
    display = values.get("display", "")
    if values.get("position", "static") in ("absolute", "fixed"):
        return display != "contents"
    return display not in _INLINE if display else tag in _BLOCKS


def covers_window(values: Mapping[str, str]) -> bool:
    """Return True if a box that is positioned in the window covers all of it.

    >>> covers_window({"inset": "0"}), covers_window({"top": "0", "left": "0", "width": "100%", "height": "50px"})
    (True, False)
    """
    sides = values.get("inset", "").split()
    sides = sides * 4 if len(sides) == 1 else sides * 2 if len(sides) == 2 else [*sides, sides[1]] if len(sides) == 3 else sides
    offsets = dict(zip(("top", "right", "bottom", "left"), sides, strict=False)) | {
        name: value for name, value in values.items() if name in ("top", "right", "bottom", "left")
    }
    return all(
        _fills(offsets.get(start, "auto"), is_size=False)
        and (
            _fills(offsets.get(end, "auto"), is_size=False)
            if values.get(size, "auto") == "auto"
            else _fills(values[size], is_size=True)
        )
        for start, end, size in (("left", "right", "width"), ("top", "bottom", "height"))
    )


def _fills(value: str, is_size: bool) -> bool:
    """Return True if an offset is not positive, or a size is that of the window."""
    length, share = _length(value)
    if is_size:
        return share >= 100 or (
            value.endswith(("vw", "vh")) and _NUMBER.fullmatch(value) is not None and float(value[:-2]) >= 100
        )
    return _NUMBER.fullmatch(value) is not None and length <= 0 and share <= 0


def is_clipped(values: Mapping[str, str]) -> bool:
    """Return True if `clip` leaves nothing of an element, as in the usual classes of texts for screen readers."""
    return values.get("position", "static") in ("absolute", "fixed") and _is_empty_rectangle(values.get("clip", "auto"))


def is_collapsed(tag: str, values: Mapping[str, str]) -> bool:
    """Return True if an element has no width or no height and cuts what is in it."""
    overflow = values.get("overflow-y") or values.get("overflow", "visible").split()[-1]
    if not _is_block(tag, values) or overflow.strip() == "visible":
        return False
    if any(name.startswith("padding") and not _ZERO.fullmatch(value) for name, value in values.items()):
        return False
    return any(name in values and _may_hide(name, values[name]) for name in ("width", "height", "max-height"))


def gives_size(name: str, value: str) -> bool:
    """Return True if a declaration can give an element without content a size.

    >>> gives_size("padding", "0 1em"), gives_size("height", "0"), gives_size("content", "'x'"), gives_size("color", "red")
    (True, False, True, False)
    """
    if name == "content":
        return value not in ("none", "normal", '""', "''")
    if name in ("right", "bottom") or name.startswith("inset"):
        return value not in ("auto", "inherit", "initial", "unset", "revert")  # it may be stretched between two sides
    return _SIZED.fullmatch(name) is not None and not _WITHOUT_SIZE.fullmatch(name) and not _ZERO.fullmatch(value)
