"""The window of a tab as a person has it: its picture, the boxes of elements that the mouse reaches in it, and mouse and keyboard at its places."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.browsers.chromium.driver import PlaywrightError
from webarena_gym.browsers.chromium.tab import NodeLocation, Tab
from webarena_gym.errors import ActionError
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
                boxes = await tab.evaluate(_WINDOW, "boxes", indexes, tab.is_static)
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
    return Capture(await tab.picture(how), sorted(found), tab.mouse)


_BUTTONS = {Kind.RIGHT_CLICK: "right", Kind.MIDDLE_CLICK: "middle"}
_TIMES = {Kind.DOUBLE_CLICK: 2, Kind.TRIPLE_CLICK: 3}


def check_places(action: Action, size: tuple[int, int], mouse: tuple[int, int] | None) -> None:
    """Raise ActionError for a place outside of a window of that size, and for none where the mouse has none either."""
    for x, y in action.points or ():
        if not (0 <= x < size[0] and 0 <= y < size[1]):
            raise ActionError(f"({x}, {y}) is outside of the window, which is {size[0]} pixels wide and {size[1]} high")
    needs_one = action.kind not in (Kind.PRESS, Kind.WRITE, Kind.LOOK, Kind.SCROLL)
    if needs_one and mouse is None and len(action.points or ()) < 1 + (action.kind is Kind.DRAG):
        raise ActionError(f"a {action.kind} needs a place: the mouse is not in the window yet")


async def gesture(tab: Tab, action: Action) -> str:
    """Do an action with mouse and keyboard. Returns what was wrong with it all the same, as that nothing is at that place."""
    mouse, keyboard, points = tab.page.mouse, tab.page.keyboard, action.points or ()
    if action.kind is Kind.DRAG:
        path = points if len(points) > 1 or tab.mouse is None else (tab.mouse, *points)
        await mouse.move(*path[0])
        await mouse.down()
        try:
            for stop in path[1:]:
                await mouse.move(*stop, steps=10)
            await mouse.move(*path[-1])  # a page is told what is dragged over only when the mouse moves there
        finally:
            tab.mouse = path[-1]
            await mouse.up()
        return ""
    if action.kind in (Kind.WRITE, Kind.PRESS):
        return await _type(tab, action)
    place: tuple[int, int] | None = points[0] if points else tab.mouse
    if place is not None:
        tab.mouse = place
        if action.kind in (Kind.HOVER, Kind.SCROLL):  # a click moves it, too
            await mouse.move(*place)
    hit = await tab.evaluate(_WINDOW, "hit", place) if place is not None and action.kind is not Kind.HOVER else {}
    held = [] if action.argument is None else action.argument.split("+")
    for key in held:
        await keyboard.down(key)
    try:
        if action.kind is Kind.SCROLL:
            return await _scroll(tab, action.by or (0, 0))
        if action.kind is Kind.HOVER or place is None:
            return ""
        if hit["saves"]:
            tab.signals.saved.clear()  # it will come
        if hit["leads"] and (action.kind is Kind.MIDDLE_CLICK or "Control" in held):
            tab.signals.is_opening = True
        await mouse.click(*place, button=_BUTTONS.get(action.kind, "left"), click_count=_TIMES.get(action.kind, 1))
    finally:
        for key in reversed(held):
            await keyboard.up(key)
    if hit["wrong"]:
        return f"the form was not sent: {hit['wrong']}"
    if hit["disabled"]:
        return f"the {hit['tag']} at {place} is disabled"
    if hit["tag"] is None:
        return f"nothing is at {place}"
    is_told = not (hit["used"] or tab.is_scripted or action.kind is Kind.RIGHT_CLICK)
    return f"nothing at {place} can be clicked: there is only a {hit['tag']}" if is_told else ""


async def _type(tab: Tab, action: Action) -> str:
    keyboard, written = tab.page.keyboard, action.argument or ""
    focus = await tab.evaluate(_WINDOW, "hit", None)
    if action.kind is Kind.PRESS:
        await keyboard.press(written)
        return f"the form was not sent: {focus['wrong']}" if written == "Enter" and focus["wrong"] else ""
    if focus["typed"] and not tab.is_scripted:  # where no script could tell it from keys
        for place, line in enumerate(written.split("\n")):
            if place:
                await keyboard.press("Enter")
            if line:  # a page that Enter leaves may never answer to no text
                await keyboard.insert_text(line)
    else:
        await keyboard.type(written)
    return "" if focus["tag"] or tab.is_scripted else "nothing has the focus to type in: click a field first"


async def _scroll(tab: Tab, by: tuple[int, int]) -> str:
    before = await tab.evaluate(_WINDOW, "scrolled", 0)
    await tab.page.mouse.wheel(*by)
    moved = before != await tab.evaluate(_WINDOW, "scrolled", 2)
    return "" if moved or tab.is_scripted else "there is nothing more to scroll to in that direction"
