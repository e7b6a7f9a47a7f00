"""The window of a tab: screenshots, boxes of clickable elements, and coordinate actions with mouse and keyboard."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from webarena_gym.actions import Action, Kind
from webarena_gym.browsers.chromium.driver import PlaywrightError
from webarena_gym.browsers.chromium.frames import NodeLocation
from webarena_gym.browsers.chromium.tab import Tab
from webarena_gym.errors import ActionError
from webarena_gym.observation.pictures import QUALITY, Box, Capture, PictureFormat

if TYPE_CHECKING:
    from playwright.async_api import Frame

_WINDOW = (Path(__file__).parent / "window.js").read_text(encoding="utf-8")
STYLE = """{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { caret-color: transparent !important } \
select:not([multiple]), ::picker(select) { appearance: base-select !important }");
  document.adoptedStyleSheets.push(sheet);
}"""
"""Init script for documents in screenshots. It hides the blinking caret and draws the lists of drop-downs inside the page, since
Chromium's default lists are separate windows, which screenshots do not contain."""


async def capture(tab: Tab, elements: Mapping[int, NodeLocation], picture_format: PictureFormat) -> Capture:
    """Return a screenshot of the window with all images loaded, and the boxes of the numbered elements that a click can reach."""
    await tab.wait_for_images()
    window_boxes: list[Box] = []
    by_frame: defaultdict[Frame, list[tuple[int, int]]] = defaultdict(list)
    for number, (frame, index) in elements.items():
        by_frame[frame].append((number, index))
    for frame, members in by_frame.items():
        indices = [index for _, index in members]
        with suppress(PlaywrightError):  # a frame may be detached
            left = top = 0
            if frame is tab.page.main_frame:
                boxes = await tab.evaluate(_WINDOW, "boxes", indices, tab.is_static)
            else:
                frame_box = await (await frame.frame_element()).bounding_box()
                boxes = await frame.evaluate(f"([query, argument]) => ({_WINDOW})(query, argument)", ["boxes", indices])
                left, top = (round(frame_box["x"]), round(frame_box["y"])) if frame_box else (0, 0)
                boxes = boxes if frame_box else []
            window_boxes += [
                (number, box[0] + left, box[1] + top, box[2] + left, box[3] + top)
                for (number, _), box in zip(members, boxes, strict=bool(boxes))
                if box is not None
            ]
    parameters = (
        {"format": "png", "optimizeForSpeed": True} if picture_format == "png" else {"format": "jpeg", "quality": QUALITY}
    )
    return Capture(await tab.picture(parameters), sorted(window_boxes), tab.mouse)


_BUTTONS: Mapping[Kind, Literal["right", "middle"]] = {Kind.RIGHT_CLICK: "right", Kind.MIDDLE_CLICK: "middle"}
_TIMES = {Kind.DOUBLE_CLICK: 2, Kind.TRIPLE_CLICK: 3}


def check_points(action: Action, size: tuple[int, int], mouse: tuple[int, int] | None) -> None:
    """Raise ActionError for a point outside the window, or for a missing point before the mouse is in the window.

    Args:
        action: a coordinate action.
        size: width and height of the window in pixels.
        mouse: current position of the mouse, None if it is not in the window.

    """
    for x, y in action.points or ():
        if not (0 <= x < size[0] and 0 <= y < size[1]):
            raise ActionError(f"({x}, {y}) is outside of the window, which is {size[0]} pixels wide and {size[1]} high")
    needs_point = action.kind not in (Kind.PRESS, Kind.WRITE, Kind.LOOK, Kind.SCROLL)
    if needs_point and mouse is None and len(action.points or ()) < 1 + (action.kind is Kind.DRAG):
        raise ActionError(f"a {action.kind} needs a place: the mouse is not in the window yet")


async def gesture(tab: Tab, action: Action) -> str:
    """Perform a coordinate action with mouse and keyboard. Return why it had no effect, such as an empty target; "" if it had."""
    mouse, keyboard, points = tab.page.mouse, tab.page.keyboard, action.points or ()
    if action.kind is Kind.DRAG:
        path = points if len(points) > 1 or tab.mouse is None else (tab.mouse, *points)
        await mouse.move(*path[0])
        await mouse.down()
        try:
            for stop in path[1:]:
                await mouse.move(*stop, steps=10)
            await mouse.move(*path[-1])  # a page receives `dragover` only for a move over the target
        finally:
            tab.mouse = path[-1]
            await mouse.up()
        return ""
    if action.kind in (Kind.WRITE, Kind.PRESS):
        return await _type(tab, action)
    point: tuple[int, int] | None = points[0] if points else tab.mouse
    if point is not None:
        tab.mouse = point
        if action.kind in (Kind.HOVER, Kind.SCROLL):  # a click moves the mouse by itself
            await mouse.move(*point)
    hit = await tab.evaluate(_WINDOW, "hit", point) if point is not None and action.kind is not Kind.HOVER else {}
    modifiers = [] if action.argument is None else action.argument.split("+")
    for key in modifiers:
        await keyboard.down(key)
    try:
        if action.kind is Kind.SCROLL:
            return await _scroll(tab, action.by or (0, 0))
        if action.kind is Kind.HOVER or point is None:
            return ""
        if hit["isDownload"]:
            tab.signals.expected_downloads = 1
        if hit["link"] is not None and (action.kind is Kind.MIDDLE_CLICK or "Control" in modifiers):
            tab.signals.requested_windows.append(hit["link"])
        await mouse.click(*point, button=_BUTTONS.get(action.kind, "left"), click_count=_TIMES.get(action.kind, 1))
    finally:
        for key in reversed(modifiers):
            await keyboard.up(key)
    if hit["problem"]:
        return f"the form was not sent: {hit['problem']}"
    if hit["isDisabled"]:
        return f"the {hit['tag']} at {point} is disabled"
    if hit["tag"] is None:
        return f"nothing is at {point}"
    has_no_effect = not (hit["isInteractive"] or tab.is_scripted or action.kind is Kind.RIGHT_CLICK)
    return f"nothing at {point} can be clicked: there is only a {hit['tag']}" if has_no_effect else ""


async def _type(tab: Tab, action: Action) -> str:
    keyboard, text = tab.page.keyboard, action.argument or ""
    focus = await tab.evaluate(_WINDOW, "hit", None)
    if action.kind is Kind.PRESS:
        for _ in range(action.by[1] if action.by else 1):
            await keyboard.press(text)
        return f"the form was not sent: {focus['problem']}" if text == "Enter" and focus["problem"] else ""
    if focus["isTextField"] and not tab.is_scripted:  # no script could notice that no keys are pressed
        for number, line in enumerate(text.split("\n")):
            if number:
                await keyboard.press("Enter")
            if line:  # if Enter has left the page, inserting an empty text may never return
                await keyboard.insert_text(line)
    else:
        await keyboard.type(text)
    return "" if focus["tag"] or tab.is_scripted else "nothing has the focus to type in: click a field first"


async def _scroll(tab: Tab, by: tuple[int, int]) -> str:
    before = await tab.evaluate(_WINDOW, "scrolled", 0)
    await tab.page.mouse.wheel(*by)
    moved = before != await tab.evaluate(_WINDOW, "scrolled", 2)
    return "" if moved or tab.is_scripted else "there is nothing more to scroll to in that direction"
