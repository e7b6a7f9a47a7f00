// Performs an operation on an element, for webarena_gym.browsers.chromium.tab: "focus", "click", "fill" with the text `argument`, or
// "select" of the options with the indices `argument`. It is used only on pages without scripts, which cannot distinguish it from mouse
// and keyboard. It returns true, or false, with nothing done, if mouse and keyboard must be used to find the reason. A click that does
// not send a form returns the field that is invalid, from `validation` (see validation.js).
// The operation "clickPoint", for all pages, changes nothing. For a checkbox, radio button or file field that is hidden or covered, it
// returns the index of the label to click and the point in it, {label, x, y}; otherwise null. The operation "mousePoint" returns the point
// in the window where the mouse can click an element at once, {x, y}, after scrolling if necessary; null if the element moves by itself, or
// something covers it.
async (index, operation, argument, validation) => {
  const element = window[Symbol.for("webarena_gym")]?.[index];
  if (!element?.isConnected) return operation.endsWith("Point") ? null : false;
  const CARET_TYPES = new Set(["text", "search", "password", "tel", "url"]); // types whose caret can be set
  const TEXT_TYPES = new Set(["text", "search", "email", "password", "tel", "url", "number"]);
  const LABEL_OPERABLE_TYPES = new Set(["checkbox", "radio", "file"]);

  // The first box of an element, or otherwise of a part of it: a link around a floating image has none.
  const boxOf = (target) => {
    for (const part of [target, ...target.querySelectorAll("*")]) {
      const box = [...part.getClientRects()].find(({width, height}) => width * height > 0.99);
      if (box) return box;
    }
    return null;
  };
  // The element that a click at the centre of the target's first box hits.
  const hitIn = (target) => {
    target.scrollIntoViewIfNeeded?.();
    const box = boxOf(target);
    const hit = box && target.getRootNode().elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return hit && target.contains(hit) && !hit.shadowRoot ? hit : null;
  };
  // A point of a label where a click operates its control, and not a link or another control inside the label.
  const pointInLabel = (label) => {
    label.scrollIntoViewIfNeeded?.();
    const parts = [label, ...label.querySelectorAll("*")];
    for (const {x, y, width, height} of parts.flatMap((part) => [...part.getClientRects()]))
      for (const [across, down] of [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5]]) {
        const at = {x: x + width * across, y: y + height * down};
        const hit = width * height > 0.99 && label.getRootNode().elementFromPoint(at.x, at.y);
        const control = hit && label.contains(hit) && hit.closest("a, button, input, select, textarea, summary, label");
        if (control === label || control === element) return {hit, ...at};
      }
    return null;
  };
  const labels = element.localName === "input" && LABEL_OPERABLE_TYPES.has(element.type) ? [...element.labels ?? []] : [];
  const labelPoint = () => {
    for (const [labelIndex, label] of labels.entries()) {
      const point = pointInLabel(label);
      if (point) return {label, labelIndex, ...point};
    }
    return null;
  };
  const clickTarget = () => {
    const hit = hitIn(element);
    return hit instanceof HTMLElement ? hit : labelPoint()?.hit ?? null;  // SVG elements have no method `click`
  };

  if (operation === "mousePoint") {
    const moves = async (work) => {
      const before = element.getBoundingClientRect();
      await work();
      const after = element.getBoundingClientRect();
      return before.x !== after.x || before.y !== after.y;
    };
    const {draw} = window[Symbol.for("webarena_gym.clock")];  // handlers of the scrolling run in the frame, and may move the element
    if (await moves(() => hitIn(element)) && await moves(draw)) return null;
    if (await moves(() => hitIn(element)) || !hitIn(element)) return null;
    const {x, y, width, height} = boxOf(element);
    return {x: x + width / 2, y: y + height / 2};
  }
  if (operation === "clickPoint") {
    if (!labels.length || hitIn(element)) return null;
    const point = labelPoint();
    if (!point) return null;
    const box = point.label.getBoundingClientRect();
    return {label: point.labelIndex, x: point.x - box.x - point.label.clientLeft, y: point.y - box.y - point.label.clientTop};
  }
  if (operation === "click" && element.localName === "area") {  // it has no box, but its image has
    element.focus();
    element.click();
    await new Promise((done) => setTimeout(done));
    return true;
  }
  if (!element.checkVisibility({visibilityProperty: true}) && !(operation === "click" && labels.length)) return false;
  // A mouse click focuses the nearest focusable ancestor.
  const focusNear = (target) => {
    for (let candidate = target; candidate && candidate !== document.body; candidate = candidate.parentElement) {
      candidate.focus({preventScroll: true});
      if (document.activeElement === candidate) return;
    }
    // The Tab key continues after the target. A script can set this position only by the focus.
    const old = target.getAttribute("tabindex");
    target.setAttribute("tabindex", "-1");
    target.focus({preventScroll: true});
    document.activeElement?.blur();
    if (old === null) target.removeAttribute("tabindex");
    else target.setAttribute("tabindex", old);
  };
  // A mouse click sets the caret to the end of a field, unless it hits the text.
  const moveCaretToEnd = (field) => {
    if (field?.localName === "textarea" || (field?.localName === "input" && CARET_TYPES.has(field.type)))
      field.setSelectionRange(field.value.length, field.value.length);
  };

  if (operation === "focus") {
    element.focus();
    moveCaretToEnd(element);
  }
  else if (operation === "click") {
    const target = clickTarget();
    const control = target?.closest("label")?.control ?? target;
    if (!target || control.type === "file" || target.localName === "details") return false;  // whose own summary takes the mouse
    if (document.querySelector(":popover-open, dialog[open][closedby=any i]")) return false;  // which only the mouse closes
    focusNear(target);
    moveCaretToEnd(document.activeElement);
    validation("watch");
    target.click();
  } else if (operation === "fill") {
    const isTextField = element.localName === "textarea" || (element.localName === "input" && TEXT_TYPES.has(element.type));
    if (!isTextField || element.matches(":disabled") || element.readOnly || !element.getClientRects().length) return false;
    if (element.minLength > 0) return false;  // it is checked only after the user has typed
    element.focus();
    element.select();
    document.execCommand(argument ? "insertText" : "delete", false, argument);
    if (element.value !== argument) return false;
  } else if (operation === "select") {
    if (element.matches(":disabled") || !element.getClientRects().length) return false;
    for (const [position, option] of [...element.options].entries()) option.selected = argument.includes(position);
    element.focus();
  }
  await new Promise((done) => setTimeout(done)); // queued tasks, such as the submission of a form, start
  return operation === "click" ? validation("read") ?? true : true;
}
