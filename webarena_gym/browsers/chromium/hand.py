"""Actions on the elements of a tab: by the script `hand.js`, or with Playwright's mouse and keyboard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webarena_gym.browsers.chromium.driver import PlaywrightError
from webarena_gym.browsers.chromium.frames import NodeLocation
from webarena_gym.browsers.chromium.tab import InvalidField, StaleElementError, Tab
from webarena_gym.errors import ActionError

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Position

ACTION_MS = 5_000.0  # limit for Playwright to reach an element
_FOLDER = Path(__file__).parent
_HAND, _VALIDATION = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("hand.js", "validation.js"))
_ELEMENT = """(index) => {
  const element = window[Symbol.for("webarena_gym")]?.[index];
  return element?.isConnected ? element : null;
}"""
_IS_LOST = """async (field) => {
  await new Promise((done) => setTimeout(done));  // scripts may rebuild the field in a task
  return !field.isConnected && !document.activeElement?.matches("input, textarea, select, iframe, [contenteditable]");
}"""
_END_CARET = """async () => {
  const field = document.activeElement;
  if (typeof field?.selectionStart === "number" && field.selectionStart === field.selectionEnd)
    field.setSelectionRange(field.value.length, field.value.length);
  else if (field?.matches("input[type=email i], input[type=number i]") && getSelection().toString() === "")
    getSelection().modify("move", "forward", "documentboundary");  // their `selectionStart` is null
}"""


async def act_by_script(tab: Tab, frame: "Frame", index: int, operation: str, argument: object = None) -> bool:
    """Perform an operation of `hand.js` on an element. It is faster than mouse and keyboard.

    Return False, with nothing done, on a scripted page, whose scripts could notice the difference, or in a subframe.
    """
    if tab.is_scripted or frame is not tab.page.main_frame:
        return False
    script = f"(...given) => ({_HAND})(...given, {_VALIDATION})"
    result: bool | dict[str, Any] = await tab.evaluate(script, index, operation, argument)
    _record_invalid(tab, frame, result if isinstance(result, dict) else None)
    return bool(result)


@asynccontextmanager
async def watch_validation(tab: Tab, frame: "Frame") -> AsyncIterator[None]:
    """Record in `invalid_field` the field because of which an action within the context does not send a form of a frame."""
    await frame.evaluate(_VALIDATION, "watch")
    yield
    with suppress(PlaywrightError):  # the page may navigate
        _record_invalid(tab, frame, await frame.evaluate(_VALIDATION, "read"))


def _record_invalid(tab: Tab, frame: "Frame", field: dict[str, Any] | None) -> None:
    tab.invalid_field = None if field is None else InvalidField((frame, field["index"]), field["flag"], field["message"])


async def press(tab: Tab, key: str, text: str, *, has_scripts: bool) -> None:
    """Press a key that types `text`. On a page without scripts, first move the caret to the end unless text is selected."""
    keyboard = tab.page.keyboard
    if not has_scripts:
        await tab.evaluate(_END_CARET)
    if text.isascii():
        await keyboard.press(text if text and not has_scripts else key)
    else:
        await keyboard.insert_text(text)  # no key of a US keyboard types it


async def type_text(tab: Tab, handle: "ElementHandle", text: str) -> bool:
    """Replace the text of a field with the keyboard. Return False if scripts have rebuilt the field and no field has the focus.

    That is noticed after the first character; the others are then not typed, and would be keys of the page. The keyboard is used rather
    than the handle, as scripts may replace the field when it gets the focus.
    """
    keyboard = tab.page.keyboard
    await handle.select_text(timeout=ACTION_MS)
    if not text:
        await keyboard.press("Delete")
        return True
    await keyboard.type(text[0])
    if await handle.evaluate(_IS_LOST):
        return False
    await keyboard.type(text[1:])
    return not await handle.evaluate(_IS_LOST)


async def element_handle(frame: "Frame", index: int) -> "ElementHandle":
    """Return the Playwright handle of an element. Raises StaleElementError if it is no longer in the document."""
    handle = (await frame.evaluate_handle(_ELEMENT, index)).as_element()
    if handle is None:
        raise StaleElementError
    return handle


async def click_point(frame: "Frame", index: int) -> "tuple[ElementHandle, Position | None]":
    """Return the element to click for an element, and the position in it: itself, or its label if it is hidden or covered."""
    handle = await element_handle(frame, index)
    point = await frame.evaluate(f"(index) => ({_HAND})(index, 'clickPoint')", index)
    if point is None:
        return handle, None
    label = (await handle.evaluate_handle("(element, index) => element.labels[index]", point["label"])).as_element()
    assert label is not None
    return label, {"x": point["x"], "y": point["y"]}


async def click_at_once(tab: Tab, frame: "Frame", index: int) -> tuple[int, int] | None:
    """Click an element with the mouse, faster than by its handle. Return the point; None, with nothing done, if that is impossible.

    It is possible if nothing moves the element, since virtual time has stopped, and it is not covered once it is in the window.
    """
    if tab.time is None or not tab.is_scripted or frame is not tab.page.main_frame:
        return None
    point = await tab.evaluate(_HAND, index, "mousePoint")
    if point is not None:
        await tab.page.mouse.click(point["x"], point["y"])
    return point and (round(point["x"]), round(point["y"]))


async def record_mouse(tab: Tab, handle: "ElementHandle", position: "Position | None") -> None:
    """Record the mouse position of the next action: a position in an element, or its centre."""
    with suppress(PlaywrightError):  # the action itself will report the reason
        await handle.scroll_into_view_if_needed(timeout=ACTION_MS)
        if box := await handle.bounding_box():
            x, y = (position["x"], position["y"]) if position else (box["width"] / 2, box["height"] / 2)
            tab.mouse = round(box["x"] + x), round(box["y"] + y)


async def drag(tab: Tab, source: NodeLocation, target: NodeLocation) -> None:
    """Drag an element with the mouse and drop it in the centre of another."""
    source_handle, position = await click_point(*source)
    target_handle, _ = await click_point(*target)
    mouse = tab.page.mouse
    await source_handle.hover(position=position, timeout=ACTION_MS)
    x, y = await _centre(source_handle)
    await mouse.down()
    try:
        await mouse.move(x + 4, y + 4, steps=2)  # start the drag before anything scrolls
        await target_handle.scroll_into_view_if_needed(timeout=ACTION_MS)
        x, y = await _centre(target_handle)
        await mouse.move(x, y, steps=10)
        await mouse.move(x, y)  # a page receives `dragover` only for a move over the target
    finally:
        await mouse.up()


async def _centre(handle: "ElementHandle") -> tuple[float, float]:
    box = await handle.bounding_box()
    if box is None:
        raise ActionError("the element is not shown")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
