// Does to an element what a person's hand does, for webarena_gym.browsers.chromium.tab; only in pages without scripts, where
// nothing could tell it from mouse and keys. Returns false, and has done nothing, where mouse and keys must find out why not.
async (index, what, argument) => {
  const element = window[Symbol.for("webarena_gym")]?.[index];
  if (!element?.isConnected || !element.checkVisibility({visibilityProperty: true})) return false;
  const TYPED = new Set(["text", "search", "email", "password", "tel", "url", "number"]);

  // What the mouse would hit in the middle of the element's first box.
  const hit = () => {
    element.scrollIntoViewIfNeeded?.();
    const box = [...element.getClientRects()].find(({width, height}) => width * height > 0.99);
    const found = box && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return found instanceof HTMLElement && element.contains(found) && !found.shadowRoot ? found : null;
  };
  // The mouse gives the focus to the first element around it that takes it.
  const focusAround = (found) => {
    for (let each = found; each; each = each.parentElement) {
      each.focus({preventScroll: true});
      if (document.activeElement === each) return;
    }
    document.activeElement?.blur();
  };

  if (what === "focus") element.focus();
  else if (what === "click") {
    const found = hit();
    const control = found?.closest("label")?.control ?? found;
    if (!found || control.type === "file") return false;
    focusAround(found);
    found.click();
  } else if (what === "fill") {
    const isTyped = element.localName === "textarea" || (element.localName === "input" && TYPED.has(element.type));
    if (!isTyped || element.matches(":disabled") || element.readOnly || !element.getClientRects().length) return false;
    element.focus();
    element.select();
    document.execCommand(argument ? "insertText" : "delete", false, argument);
    if (element.value !== argument) return false;
  } else if (what === "select") {
    if (element.matches(":disabled") || !element.getClientRects().length) return false;
    for (const [place, option] of [...element.options].entries()) option.selected = argument.includes(place);
    element.focus();
  }
  await new Promise((done) => setTimeout(done)); // what was queued, such as sending a form, begins
  return true;
}
