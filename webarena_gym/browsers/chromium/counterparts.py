"""Controls that have replaced those of an earlier reading of a page, because scripts have rendered it again."""

from collections.abc import Iterator

from lxml.html import HtmlElement

from webarena_gym.observation import observe
from webarena_gym.observation.writers import role_and_properties
from webarena_gym.pages.page import Page
from webarena_gym.pages.reading import Labels, visible_text


def counterpart(control: HtmlElement, page: Page, current: Page) -> HtmlElement | None:
    """Return the control of the current page that has replaced a control of an earlier reading of the page.

    Both have the same role, name and position among the controls with this role and name. None if this is ambiguous: the pages have
    different URLs or numbers of such controls, or there are several and the text around them differs.
    """
    before = list(_namesakes(control, page))
    after = list(_namesakes(control, current, Labels(page.root)))
    if page.url != current.url or control not in before or len(before) != len(after):
        return None
    index = before.index(control)
    if len(before) > 1 and _surrounding_text(before, index) != _surrounding_text(after, index):
        return None
    return after[index]


def _namesakes(control: HtmlElement, page: Page, control_labels: Labels | None = None) -> Iterator[HtmlElement]:
    """Yield the listed controls of a page with the role and the name of a control, whose page has `control_labels` if it is another."""
    labels = Labels(page.root)
    name, role = (control_labels or labels).name_of(control), role_and_properties(control)[0]
    for node in observe(page).nodes.values():
        if labels.name_of(node.element) == name and role_and_properties(node.element)[0] == role:
            yield node.element


def _surrounding_text(controls: list[HtmlElement], index: int) -> str:
    """Return the text of the largest element that contains only one of some controls, such as the row of a table."""
    others = {ancestor for other in controls if other is not controls[index] for ancestor in other.iterancestors()}
    largest = controls[index]
    for ancestor in controls[index].iterancestors():
        if ancestor in others:
            break
        largest = ancestor
    return visible_text(largest)
