"""The window of a tab as a person has it: its picture, and the boxes of elements that the mouse reaches in it."""

import base64
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from webarena_gym.browsers.chromium.driver import PlaywrightError
from webarena_gym.browsers.chromium.tab import NodeLocation, Tab
from webarena_gym.observation.pictures import QUALITY, Box, Capture, PictureFormat

_WINDOW = (Path(__file__).parent / "window.js").read_text(encoding="utf-8")
STYLE = """{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { caret-color: transparent !important } \
select:not([multiple]), ::picker(select) { appearance: base-select !important }");
  document.adoptedStyleSheets.push(sheet);
}"""
"""A script for new documents of which pictures are taken: no caret blinks in them, and the lists of drop-downs are drawn in the page, as Chromium
draws them in a window of their own else, which no picture shows."""


async def capture(tab: Tab, elements: Mapping[int, NodeLocation], kind: PictureFormat) -> Capture:
    """Return a picture of the window, with all images of its page, and the boxes of those of the numbered elements that the mouse reaches."""
    await tab.until_whole()
    found: list[Box] = []
    by_frame: defaultdict[Any, list[tuple[int, int]]] = defaultdict(list)
    for number, (frame, index) in elements.items():
        by_frame[frame].append((number, index))
    for frame, places in by_frame.items():
        indexes = [index for _, index in places]
        with suppress(PlaywrightError):  # a frame may be gone meanwhile
            across = down = 0
            if frame is tab.page.main_frame:
                boxes = await tab.evaluate(_WINDOW, "boxes", indexes)
            else:
                around = await (await frame.frame_element()).bounding_box()
                boxes = await frame.evaluate(f"([what, argument]) => ({_WINDOW})(what, argument)", ["boxes", indexes])
                across, down = (round(around["x"]), round(around["y"])) if around else (0, 0)
                boxes = boxes if around else []
            found += [
                (number, box[0] + across, box[1] + down, box[2] + across, box[3] + down)
                for (number, _), box in zip(places, boxes, strict=bool(boxes))
                if box is not None
            ]
    how = {"format": "png", "optimizeForSpeed": True} if kind == "png" else {"format": "jpeg", "quality": QUALITY}
    taken = await tab.session.send("Page.captureScreenshot", how)
    return Capture(base64.b64decode(taken["data"]), sorted(found), tab.mouse)
