"""Pictures of the browser's window: arrays, boxes of elements, marks and a mouse cursor drawn on them, and chats that hold them.

Pure functions of what a browser has captured. They draw on the picture; nothing is ever drawn into the page.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from io import BytesIO
from typing import Any, Literal, NamedTuple

import numpy

from webarena_gym.observation import Observation, observe
from webarena_gym.observation.history import Message
from webarena_gym.pages.page import Page

PictureStyle = Literal["pixels", "marks", "text+pixels"]
PictureFormat = Literal["jpeg", "png"]
Vendor = Literal["openai", "anthropic", "qwen"]
Array = numpy.ndarray[Any, Any]
Box = tuple[int, int, int, int, int]
"""The number of an element, and the left, top, right and bottom edges of its box in pixels of the window."""

MAX_BOXES = 256
"""Boxes of an observation; further elements of a window, in the order of the page, have none."""
SCREENSHOT = "** Screenshot **"
"""The line that stands for an earlier page in the history, with its picture behind it where that is kept."""
QUALITY = 90  # of a JPEG, of 100
_COLOURS = ("#c8102e", "#0057b8", "#00713d", "#7a1fa2", "#a34700", "#00626b")
_CURSOR = ((0, 0), (0, 17), (4, 13), (7, 19), (10, 18), (7, 12), (12, 12))  # the outline of an arrow, from its tip


class Capture(NamedTuple):
    """A picture of the window as a browser has taken it, encoded, with the boxes in it and the place of the mouse, if it has one."""

    content: bytes
    boxes: Sequence[Box] = ()
    mouse: tuple[int, int] | None = None


class Picture(NamedTuple):
    """A picture as an agent sees it.

    `pixels` is uint8, height x width x 3. `boxes` is int32, MAX_BOXES x 5; rows behind the last box are -1. `url` is the same picture as
    a data URL, for chats.
    """

    pixels: Array
    boxes: Array
    url: str


def picture_of(capture: Capture, kind: PictureFormat, *, marks: bool = False, cursor: bool = False) -> Picture:
    """Return a capture with what is to be drawn on it: numbered boxes around its elements, and the mouse cursor."""
    from PIL import Image  # noqa: PLC0415 - comes with the extra that makes pictures

    content = capture.content
    boxes = numpy.full((MAX_BOXES, 5), -1, numpy.int32)
    kept = capture.boxes[:MAX_BOXES]
    boxes[: len(kept)] = numpy.array(kept, numpy.int32).reshape(-1, 5)
    with Image.open(BytesIO(content)) as opened:
        image = opened.convert("RGB")
    if marks or (cursor and capture.mouse):
        _draw(image, kept if marks else (), capture.mouse if cursor else None)
        written = BytesIO()
        image.save(written, kind, **({"quality": QUALITY} if kind == "jpeg" else {"compress_level": 1}))
        content = written.getvalue()
        with Image.open(BytesIO(content)) as opened:  # the array shows what the chat does
            image = opened.convert("RGB")
    encoded = "png" if content.startswith(b"\x89PNG") else "jpeg"
    return Picture(numpy.asarray(image), boxes, f"data:image/{encoded};base64,{b64encode(content).decode()}")


def marks_of(page: Page, numbers: Iterable[int]) -> str:
    """Return a line for each of the elements that have these numbers, such as `[7] button 'Search'`."""
    tree = observe(page, style="axtree", header=False, window=10**9)
    lines, nodes = tree.text.split("\n"), tree.nodes
    return "\n".join(lines[nodes[str(number)].line].strip() for number in numbers if str(number) in nodes)


def numbered(observation: Observation) -> dict[int, Any]:
    """Return the elements of a page by their numbers, which are those of `elements="id"`."""
    return {number: node.element for number, node in enumerate(observation.nodes.values())}


def with_pictures(messages: Sequence[Message], urls: Sequence[str]) -> list[dict[str, Any]]:
    """Return a chat in OpenAI's multimodal shape, with pictures given as data URLs, the newest last, in its last messages of the user.

    >>> with_pictures([{"role": "user", "content": "Round 0"}], ["data:image/png;base64,AA=="])[0]["content"][1]
    {'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,AA=='}}
    """
    left, chat = [*urls], []
    for message in reversed(messages):
        content: Any = message["content"]
        if message["role"] == "user":
            content = [{"type": "text", "text": content}]
            if left:
                content.append({"type": "image_url", "image_url": {"url": left.pop()}})
        chat.append({"role": message["role"], "content": content})
    return chat[::-1]


def messages_for(vendor: Vendor, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the chat of `info["messages"]` in the shape of a vendor: OpenAI's chats, Anthropic's messages, or Qwen's chat templates.

    Anthropic's API takes the text of the first message, the system's, as its argument `system`, and the others as `messages`.

    >>> url = "data:image/png;base64,AA=="
    >>> chat = with_pictures([{"role": "user", "content": "Round 0"}], [url])
    >>> messages_for("anthropic", chat)[0]["content"][1]
    {'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png', 'data': 'AA=='}}
    >>> messages_for("qwen", chat)[0]["content"][1]
    {'type': 'image', 'image': 'data:image/png;base64,AA=='}
    """

    def part(given: Mapping[str, Any]) -> Mapping[str, Any]:
        if given["type"] != "image_url" or vendor == "openai":
            return given
        url = given["image_url"]["url"]
        if vendor == "qwen":
            return {"type": "image", "image": url}
        head, _, data = url.partition(",")
        media = head.removeprefix("data:").removesuffix(";base64")
        return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}

    chat = []
    for message in messages:
        content = message["content"]
        told = content if isinstance(content, str) else [*map(part, content)]
        chat.append({"role": message["role"], "content": told})
    return chat


@cache
def _font() -> Any:
    from PIL import ImageFont  # noqa: PLC0415 - comes with the extra that makes pictures

    return ImageFont.load_default(11)


def _draw(image: Any, boxes: Iterable[Box], mouse: tuple[int, int] | None) -> None:
    from PIL import ImageDraw  # noqa: PLC0415 - comes with the extra that makes pictures

    draw = ImageDraw.Draw(image)
    for number, left, top, right, bottom in boxes:
        colour = _COLOURS[number % len(_COLOURS)]
        draw.rectangle((left, top, right - 1, bottom - 1), outline=colour, width=2)
        width = 7 * len(str(number)) + 2
        x, y = min(left, image.width - width), top - 11 if top >= 11 else top
        draw.rectangle((x, y, x + width, y + 11), fill=colour)
        draw.text((x + 2, y - 1), str(number), fill="white", font=_font())
    if mouse is not None:
        draw.polygon([(mouse[0] + x, mouse[1] + y) for x, y in _CURSOR], fill="black", outline="white")
