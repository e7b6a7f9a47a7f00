"""Popovers and dialogs of a document: what opens and closes them, and where the focus goes.

Each function implements the section of the HTML standard that its docstring links to, as Chromium does; `tests/data/pages.json`
contains Chromium's states.
"""

from collections.abc import Iterable

from lxml.html import HtmlElement

from webarena_gym.browsers.document import Document
from webarena_gym.pages import dom, focus


def run_command(document: Document, button: HtmlElement) -> bool:
    """Run the command of a button on its target. Return True if the button has a command, even if it is ignored.

    A button with a form owner runs its command only if it has `type=button`.

    https://html.spec.whatwg.org/multipage/form-elements.html#the-button-element:activation-behaviour
    """
    command, target = dom.command_target(button)
    if target is None or (dom.form_owner(button) is not None and button.get("type", "").strip().lower() != "button"):
        return bool(command)
    if command in ("show-popover", "hide-popover", "toggle-popover"):
        if "popover" in target.attrib:
            is_open = dom.TOP_LAYER in target.attrib
            if is_open and command != "show-popover":
                hide_popover(document, target)
            elif not is_open and command != "hide-popover":
                show_popover(document, target, button)
    elif target.tag == "dialog":
        if command == "show-modal":
            show_modal(document, target)
        elif command in ("close", "request-close"):
            close_dialog(document, target)
    return True


def show_popover(document: Document, popover: HtmlElement, invoker: HtmlElement) -> None:
    """Open a popover. An `auto` popover closes the open `auto` and `hint` popovers that contain neither it nor its invoker.

    A `hint` popover closes only other hints.

    https://html.spec.whatwg.org/multipage/popover.html#show-popover
    """
    if popover.tag == "dialog" and "open" in popover.attrib:
        return
    kind = dom.popover_kind(popover)
    is_first = not _open_automatic_popovers(document)
    if kind != "manual":
        _hide_popovers_except(document, _enclosing_popovers(document, (popover, invoker)), only_hints=kind == "hint")
    document.add_to_top_layer(document.current(popover), kind, returns=kind != "manual" and is_first)
    popover = document.current(popover)
    if popover.tag == "dialog":
        document.focus(_focus_delegate(popover))
    elif "autofocus" in popover.attrib and focus.is_focusable(popover):
        document.focus(popover)
    elif (delegate := _autofocus_delegate(popover)) is not None:
        document.focus(delegate)


def hide_popover(document: Document, popover: HtmlElement) -> None:
    """Close a popover, and those that were opened from it. The focus returns to where it was, if it is in the popover.

    https://html.spec.whatwg.org/multipage/popover.html#hide-popover-algorithm
    """
    automatic = _open_automatic_popovers(document)
    if popover in automatic:
        for inner in reversed(automatic[automatic.index(popover) + 1 :]):
            _close_popover(document, inner, returns_focus=True)
    _close_popover(document, popover, returns_focus=True)


def _close_popover(document: Document, popover: HtmlElement, *, returns_focus: bool) -> None:
    popover = document.current(popover)
    has_focus = document.focused is not None and popover in (document.focused, *document.focused.iterancestors())
    previous = document.remove_from_top_layer(popover)
    if returns_focus and has_focus and previous is not None and focus.is_focusable(previous):
        document.focus(previous)


def light_dismiss(document: Document, target: HtmlElement) -> None:
    """Close the popovers and dialogs that do not contain the clicked element `target`, if clicks outside close them.

    https://html.spec.whatwg.org/multipage/popover.html#popover-light-dismiss
    https://html.spec.whatwg.org/multipage/interactive-elements.html#dialog-light-dismiss
    """
    if _open_automatic_popovers(document):
        buttons = [part for part in (target, *target.iterancestors()) if part.tag in ("button", "input")]
        invoked = [popover for button in buttons[:1] if (popover := dom.command_target(button)[1]) is not None]
        _hide_popovers_except(document, _enclosing_popovers(document, (target, *invoked)))
    modal = dom.modal_dialog(document.root)  # only the topmost dialog can be closed
    for dialog in document.tree.dismissible_dialogs if modal is None else [modal]:
        if dom.closed_by(dialog) == "any" and dialog not in document.current(target).iterancestors():
            close_dialog(document, dialog)


def close_request(document: Document) -> bool:
    """Close what Escape closes: the topmost popover or modal dialog that allows it, or else the last non-modal dialog that allows it.

    Return False if nothing was closed.

    https://html.spec.whatwg.org/multipage/interaction.html#close-requests
    """
    for element, entry in reversed(document.top_layer):
        if entry.kind == "modal" and dom.closed_by(element) != "none":
            close_dialog(document, element)
            return True
        if entry.kind in ("auto", "hint"):
            hide_popover(document, element)
            return True
    dialogs = document.tree.dismissible_dialogs
    if dialogs:
        close_dialog(document, dialogs[-1])
    return bool(dialogs)


def show_modal(document: Document, dialog: HtmlElement) -> None:
    """Open a modal dialog, which makes the rest of the document inert.

    https://html.spec.whatwg.org/multipage/interactive-elements.html#show-a-modal-dialog
    """
    if "open" in dialog.attrib or dom.TOP_LAYER in dialog.attrib:
        return
    _hide_popovers_except(document, _enclosing_popovers(document, (dialog,)))
    document.write((dialog, "open", ""))
    document.add_to_top_layer(document.current(dialog), "modal", returns=True)
    document.focus(_focus_delegate(document.current(dialog)))


def close_dialog(document: Document, dialog: HtmlElement) -> None:
    """Close a dialog. After a modal one the focus returns to where it was.

    https://html.spec.whatwg.org/multipage/interactive-elements.html#close-the-dialog
    """
    if "open" not in dialog.attrib:
        return
    document.write((dialog, "open", None))
    previous = document.remove_from_top_layer(document.current(dialog))
    if previous is not None and focus.is_focusable(document.current(previous)):
        document.focus(previous)


def _focus_delegate(dialog: HtmlElement) -> HtmlElement | None:
    """Return the element that gets the focus when a dialog opens: the first with `autofocus`, the first focusable one, or the dialog.

    https://html.spec.whatwg.org/multipage/interactive-elements.html#dialog-focusing-steps
    """
    delegate = _autofocus_delegate(dialog)
    if delegate is None:
        delegate = next(filter(focus.is_focusable, dialog.iterdescendants("*")), None)
    return dialog if delegate is None and focus.is_focusable(dialog) else delegate


def _autofocus_delegate(element: HtmlElement) -> HtmlElement | None:
    candidates = (part for part in element.iterdescendants("*") if "autofocus" in part.attrib)
    return next(filter(focus.is_focusable, candidates), None)


def _open_automatic_popovers(document: Document) -> list[HtmlElement]:
    """Return the open popovers that close automatically, in the order in which they were opened."""
    return [element for element, entry in document.top_layer if entry.kind in ("auto", "hint")]


def _enclosing_popovers(document: Document, elements: Iterable[HtmlElement]) -> set[HtmlElement]:
    """Return the open automatic popovers around some elements, and those from which these were opened.

    Automatic popovers are a stack: each was opened from the one below it.
    """
    automatic = _open_automatic_popovers(document)
    around = {part for element in elements for part in (document.current(element), *document.current(element).iterancestors())}
    last = max((index for index, popover in enumerate(automatic) if popover in around), default=-1)
    return set(automatic[: last + 1])


def _hide_popovers_except(document: Document, remaining: set[HtmlElement], *, only_hints: bool = False) -> None:
    closing = [popover for popover in _open_automatic_popovers(document) if popover not in remaining]
    for popover in reversed(closing):
        if not only_hints or dom.popover_kind(popover) == "hint":
            _close_popover(document, popover, returns_focus=False)
