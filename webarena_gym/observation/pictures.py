"""Screenshots as observations: arrays, element boxes, set-of-marks and mouse cursor, and multimodal chats.

Pure functions of a browser's `Capture`. Marks and cursor are drawn on the picture, never into the page.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy

from webarena_gym.observation import Observation, observe
from webarena_gym.observation.history import Message
from webarena_gym.pages.page import Page

if TYPE_CHECKING:
    from PIL.Image import Image

PictureStyle = Literal["pixels", "marks", "text+pixels"]
PictureFormat = Literal["jpeg", "png"]
"""Encodings of pictures."""
Vendor = Literal["openai", "anthropic", "qwen"]
Array = numpy.ndarray[Any, Any]
Box = tuple[int, int, int, int, int]
"""An element's number and the left, top, right and bottom edges of its box in pixels of the window."""

MAX_BOXES = 256
"""Maximum number of boxes in an observation. Further elements, in page order, get none."""
SCREENSHOT = "** Screenshot **"
"""The summary of an earlier page in the history, followed by its picture if that is kept."""
QUALITY = 90  # JPEG quality, 0 to 100
_COLOURS = ("#c8102e", "#0057b8", "#00713d", "#7a1fa2", "#a34700", "#00626b")
_CURSOR = ((0, 0), (0, 17), (4, 13), (7, 19), (10, 18), (7, 12), (12, 12))  # outline of an arrow relative to its tip


class Capture(NamedTuple):
    """A screenshot of the window.

    Attributes:
        content: the picture as PNG or JPEG.
        boxes: boxes of the elements.
        mouse: position of the mouse in pixels, to the right and down; None before it moves.

    """

    content: bytes
    boxes: Sequence[Box] = ()
    mouse: tuple[int, int] | None = None


class Picture(NamedTuple):
    """A picture observation.

    Attributes:
        pixels: RGB image, uint8 of shape (height, width, 3).
        boxes: element boxes, int32 of shape (MAX_BOXES, 5); see `Box`. Unused rows are -1.
        url: the same image as a data URL, for chats.

    """

    pixels: Array
    boxes: Array
    url: str


def picture_of(capture: Capture, picture_format: PictureFormat, *, marks: bool = False, cursor: bool = False) -> Picture:
    """Return a capture as a picture observation.

    Args:
        capture: the screenshot of a browser.
        picture_format: format of a picture with marks or cursor; otherwise the capture's format is kept.
        marks: draw a numbered box around each element.
        cursor: draw the mouse cursor.

    """
    from PIL import Image  # noqa: PLC0415 - optional dependency of pictures

    content = capture.content
    boxes = numpy.full((MAX_BOXES, 5), -1, numpy.int32)
    first_boxes = capture.boxes[:MAX_BOXES]
    boxes[: len(first_boxes)] = numpy.array(first_boxes, numpy.int32).reshape(-1, 5)
    with Image.open(BytesIO(content)) as file:
        image = file.convert("RGB")
    if marks or (cursor and capture.mouse):
        _draw(image, first_boxes if marks else (), capture.mouse if cursor else None)
        buffer = BytesIO()
        image.save(buffer, picture_format, **({"quality": QUALITY} if picture_format == "jpeg" else {"compress_level": 1}))
        content = buffer.getvalue()
        with Image.open(BytesIO(content)) as file:  # decode again, so that array and data URL show the same pixels
            image = file.convert("RGB")
    encoded = "png" if content.startswith(b"\x89PNG") else "jpeg"
    return Picture(numpy.asarray(image), boxes, f"data:image/{encoded};base64,{b64encode(content).decode()}")


def marks_of(page: Page, numbers: Iterable[int]) -> str:
    """Return one line for each element with one of these numbers, such as `[7] button 'Search'`."""
    tree = observe(page, style="axtree", header=False, window=10**9)
    lines, nodes = tree.text.split("\n"), tree.nodes
    return "\n".join(lines[nodes[str(number)].line].strip() for number in numbers if str(number) in nodes)


def elements_by_number(observation: Observation) -> dict[int, Any]:
    """Return the elements of a page by number in document order, the ids of `elements="id"`."""
    return {number: node.element for number, node in enumerate(observation.nodes.values())}


def attach_pictures(messages: Sequence[Message], urls: Sequence[str]) -> list[dict[str, Any]]:
    """Return a chat in OpenAI's multimodal format with a picture in each of the last `len(urls)` user messages.

    `urls` are data URLs, the newest last.

    >>> attach_pictures([{"role": "user", "content": "Round 0"}], ["data:image/png;base64,AA=="])[0]["content"][1]
    {'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,AA=='}}
    """
    remaining, chat = [*urls], []
    for message in reversed(messages):
        content: str | list[dict[str, object]] = message["content"]
        if message["role"] == "user":
            content = [{"type": "text", "text": content}]
            if remaining:
                content.append({"type": "image_url", "image_url": {"url": remaining.pop()}})
        chat.append({"role": message["role"], "content": content})
    return chat[::-1]


def messages_for(vendor: Vendor, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the chat of `info["messages"]` in the format of a vendor: OpenAI, Anthropic or Qwen (chat templates).

    With Anthropic's API, pass the system message as the argument `system` and the other messages as `messages`.

    >>> url = "data:image/png;base64,AA=="
    >>> chat = attach_pictures([{"role": "user", "content": "Round 0"}], [url])
    >>> messages_for("anthropic", chat)[0]["content"][1]
    {'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png', 'data': 'AA=='}}
    >>> messages_for("qwen", chat)[0]["content"][1]
    {'type': 'image', 'image': 'data:image/png;base64,AA=='}
    """

    def convert(part: Mapping[str, Any]) -> Mapping[str, Any]:
        if part["type"] != "image_url" or vendor == "openai":
            return part
        url = part["image_url"]["url"]
        if vendor == "qwen":
            return {"type": "image", "image": url}
        head, _, data = url.partition(",")
        media = head.removeprefix("data:").removesuffix(";base64")
        return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}

    chat = []
    for message in messages:
        content = message["content"]
        converted = content if isinstance(content, str) else [*map(convert, content)]
        chat.append({"role": message["role"], "content": converted})
    return chat


@cache
def _font() -> Any:
    from PIL import ImageFont  # noqa: PLC0415 - optional dependency of pictures

    return ImageFont.load_default(11)


def _draw(image: "Image", boxes: Iterable[Box], mouse: tuple[int, int] | None) -> None:
    from PIL import ImageDraw  # noqa: PLC0415 - optional dependency of pictures

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
