// Does to an element what a person's hand does, for webarena_gym.browsers.chromium.tab; only in pages without scripts, where
// nothing could tell it from mouse and keys. Returns false, and has done nothing, where mouse and keys must find out why not.
// "grip", which is for all pages, does nothing but say where to press a tick box that itself is hidden or covered: which of its
// labels, and the place in it; null where the element itself must do.
async (index, what, argument) => {
  const element = window[Symbol.for("webarena_gym")]?.[index];
  if (!element?.isConnected) return what === "grip" ? null : false;
  const TEXTS = new Set(["text", "search", "password", "tel", "url"]); // those whose caret can be set
  const TYPED = new Set(["text", "search", "email", "password", "tel", "url", "number"]);
  const TICKED = new Set(["checkbox", "radio", "file"]);

  // What the mouse would hit in the middle of an element's first box.
  const hitIn = (target) => {
    target.scrollIntoViewIfNeeded?.();
    const box = [...target.getClientRects()].find(({width, height}) => width * height > 0.99);
    const found = box && target.getRootNode().elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return found instanceof HTMLElement && target.contains(found) && !found.shadowRoot ? found : null;
  };
  // Where a label can be pressed so that its control feels it, and not a link or another control inside of the label.
  const gripIn = (label) => {
    label.scrollIntoViewIfNeeded?.();
    const parts = [label, ...label.querySelectorAll("*")];
    for (const {x, y, width, height} of parts.flatMap((part) => [...part.getClientRects()]))
      for (const [across, down] of [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5]]) {
        const at = {x: x + width * across, y: y + height * down};
        const found = width * height > 0.99 && label.getRootNode().elementFromPoint(at.x, at.y);
        const other = found && label.contains(found) && found.closest("a, button, input, select, textarea, summary, label");
        if (other === label || other === element) return {found, ...at};
      }
    return null;
  };
  const labels = element.localName === "input" && TICKED.has(element.type) ? [...element.labels ?? []] : [];
  const grip = () => {
    for (const [place, label] of labels.entries()) {
      const held = gripIn(label);
      if (held) return {label, place, ...held};
    }
    return null;
  };
  const hit = () => hitIn(element) ?? grip()?.found ?? null;

  if (what === "grip") {
    if (!labels.length || hitIn(element)) return null;
    const held = grip();
    if (!held) return null;
    const box = held.label.getBoundingClientRect();
    return {place: held.place, x: held.x - box.x - held.label.clientLeft, y: held.y - box.y - held.label.clientTop};
  }
  if (!element.checkVisibility({visibilityProperty: true}) && !(what === "click" && labels.length)) return false;
  // The mouse gives the focus to the first element around it that takes it.
  const focusAround = (found) => {
    for (let each = found; each; each = each.parentElement) {
      each.focus({preventScroll: true});
      if (document.activeElement === each) return;
    }
    document.activeElement?.blur();
  };
  // The mouse puts the caret behind what stands in a field, unless it hits the text.
  const toEnd = (field) => {
    if (field?.localName === "textarea" || (field?.localName === "input" && TEXTS.has(field.type)))
      field.setSelectionRange(field.value.length, field.value.length);
  };

  if (what === "focus") {
    element.focus();
    toEnd(element);
  }
  else if (what === "click") {
    const found = hit();
    const control = found?.closest("label")?.control ?? found;
    if (!found || control.type === "file") return false;
    focusAround(found);
    toEnd(document.activeElement);
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
