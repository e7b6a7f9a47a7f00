// Returns the document as XML with its live state, for webarena_gym.browsers.chromium.tab (see SCRIPT there); run in every frame of a page.
// window[Symbol.for("webarena_gym")] contains the elements in the order of the XML.
async (strict, windowed, isPatient, isTurned, isUndrawn, listenersOf) => {
  // Tasks queued by an action, such as the submission of a form, run first.
  await new Promise((done) => setTimeout(done));
  const once = (target, ...events) =>
    new Promise((done) => { for (const event of events) target.addEventListener(event, done, {once: true}); });
  if (isPatient && document.readyState === "loading") await once(document, "DOMContentLoaded");
  const hasScripts = document.scripts.length > 0
    || document.evaluate("boolean(//@*[starts-with(name(), 'on')])", document, null, XPathResult.BOOLEAN_TYPE).booleanValue;
  const scripted = hasScripts || document.querySelector("iframe, meta[http-equiv=refresh i]") !== null;
  // Images matter only to layout and scripts; style sheets decide visibility.
  if (isPatient && document.readyState !== "complete") {
    if (scripted || strict || windowed) return {early: true, scripted};
    // The form values of a page restored from history are set in a separate task, which ends before `pageshow`.
    if (["back_forward", "reload"].includes(performance.getEntriesByType("navigation")[0]?.type)) await once(window, "pageshow");
    else {
      const sheets = [...document.querySelectorAll("link[rel~=stylesheet]")].filter((link) => !link.sheet);
      await Promise.race([once(window, "load"), Promise.all(sheets.map((link) => once(link, "load", "error")))]);
    }
  }
  // The focus of a new document, or after navigation to a fragment, is decided when it is first drawn.
  const DRAWN = Symbol.for("webarena_gym drawn");
  const isNew = isTurned || window[DRAWN] !== location.href;
  if (isPatient && isNew && (location.hash.length > 1 || document.querySelector("[autofocus]"))) {
    if (isUndrawn) return {undrawn: true, scripted};
    const {requestAnimationFrame, setTimeout} = window[Symbol.for("webarena_gym.clock")]?.real ?? window;
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 1000); });
    Object.defineProperty(window, DRAWN, {value: location.href, configurable: true});
  }
  if (isPatient && scripted) return {early: true, scripted, title: document.title};
  // Transitions and animations that end are at their end.
  if (!hasScripts) for (const animation of document.getAnimations()) {
    if (animation.playState !== "paused" && Number.isFinite(animation.effect?.getComputedTiming().endTime)) animation.finish();
  }
  const ATTRIBUTE_NAME = /^[a-zA-Z_][a-zA-Z0-9_.-]*$/;
  const INVALID_XML = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
  const ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"};
  const WITHOUT_CONTENT = new Set(["script", "style", "template", "noscript", "svg", "canvas"]);
  const WITHOUT_BOX = new Set(["html", "head", "title", "meta", "link", "base", "script", "style", "template", "noscript",
    "option", "optgroup", "datalist", "area", "map", "source", "track", "param", "br", "wbr", "legend", "slot"]);
  const CONTROLS = new Set(["a", "button", "input", "select", "textarea", "summary"]);
  const LISTED = new Set(["button", "fieldset", "input", "object", "output", "select", "textarea"]);
  // Events that make an element interactive regardless of its tag.
  const MOUSE_EVENTS = ["click", "dblclick", "mousedown", "mouseup", "pointerdown", "pointerup", "dragstart", "dragover", "drop",
    ...(strict ? ["mouseenter", "mouseover", "pointerenter", "contextmenu"] : [])];
  const KEY_EVENTS = ["keydown", "keypress", "keyup", "beforeinput"];  // of an element that can have the focus
  const ROLES = ["button", "link", "checkbox", "radio", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "switch",
    "treeitem", "combobox", "textbox", "searchbox", "spinbutton", "slider"];
  const CONTROL = ["a[href]", "button", "input", "select", "textarea", "summary", "[contenteditable]",
    ...ROLES.map((role) => `[role=${role}]`)].join();
  const INTERACTIVE = `${CONTROL},label`;
  const TOP_LAYER = "data-top-layer";
  const elements = [];
  const parts = [];
  const text = (value) => parts.push(value.replaceAll("\f", " ").replace(/[&<>\r]/g, (mark) => ESCAPES[mark]));
  const attribute = (name, value) =>
    parts.push(" ", name, '="', value.replace(/[&<>"\r\n\t]/g, (mark) => ESCAPES[mark]), '"');

  const isInWindow = (element) => {
    const box = element.getBoundingClientRect();
    return box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  };

  // True for hidden=until-found, whose content is hidden unless the element is inline.
  const isUntilFound = (element) => element.hidden === "until-found" && getComputedStyle(element).contentVisibility === "hidden"
    && !getComputedStyle(element).display.startsWith("inline");

  // The modal dialog that makes the rest of the document inert.
  const modals = [...document.querySelectorAll("dialog:modal")];
  const isOnTop = (dialog) => {
    const {x, y, width, height} = dialog.getBoundingClientRect();
    return dialog.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  };
  const modal = modals.length > 1 ? modals.find(isOnTop) ?? modals.at(-1) : modals[0];

  const isHidden = (element, tag) => {
    if (tag === "area") return !element.parentElement?.checkVisibility();
    if (WITHOUT_BOX.has(tag) || tag === "body") return false;
    if (isUntilFound(element)) return true;
    if (windowed && !isInWindow(element) && ![...element.querySelectorAll("*")].some(isInWindow)) return true;
    const style = () => getComputedStyle(element);
    if (!element.checkVisibility()) return style().display !== "contents" && !element.parentElement?.closest("select");
    if (!strict) return false;
    if (style().pointerEvents === "none" && !element.checkVisibility({opacityProperty: true})) return true;  // faded out
    if (style().visibility !== "visible")
      return ![...element.querySelectorAll("*")].some((inner) => inner.checkVisibility({visibilityProperty: true}));
    return (CONTROLS.has(tag) || element.matches(INTERACTIVE)) && isOutOfReach(element);
  };

  // True if the mouse cannot reach the element, also not after scrolling. A link around a floating image has a size only by the image.
  const isOutOfReach = (element) => {
    const hasSize = (inner) => rectOf(inner).width > 0 && rectOf(inner).height > 0;
    const part = hasSize(element) ? element : [...element.querySelectorAll("*")].find(hasSize);
    if (!part) return true;
    const scroller = scrollerOf(part);
    return scroller ? isCollapsed(part) || isOverlaid(scroller) : isAway(part) || isCovered(part);
  };

  // The distances by which a box can scroll to each side. In a box that begins at the bottom or at the right, positions are negative.
  const distancesOf = (box, style) => {
    const isFlex = style.display.endsWith("flex");
    const isFromBottom = box.scrollTop < 0 || (isFlex && style.flexDirection === "column-reverse");
    const isFromRight = box.scrollLeft < 0 || ((style.direction === "rtl") !== (isFlex && style.flexDirection === "row-reverse"));
    const height = box.scrollHeight - box.clientHeight, width = box.scrollWidth - box.clientWidth;
    const above = box.scrollTop + (isFromBottom ? height : 0), before = box.scrollLeft + (isFromRight ? width : 0);
    return {above, below: height - above, before, after: width - before};
  };

  // Styles and boxes, each computed once: nothing changes the layout during this call.
  const cached = (compute, values = new Map()) => (element) => {
    if (!values.has(element)) values.set(element, compute(element));
    return values.get(element);
  };
  const rectOf = cached((element) => element.getBoundingClientRect());
  // What decides how a box scrolls and clips: its overflow, its distances, and the directions in which it can scroll.
  const overflowOf = cached((box) => {
    const style = getComputedStyle(box), {overflowX, overflowY} = style;
    if (overflowX === "visible" && overflowY === "visible") return {overflowX, overflowY};
    // A box with overflow: hidden does not scroll by the wheel, but for an element that has the focus or is clicked.
    const canScroll = (overflow, distance) => /auto|scroll/.test(overflow) || (overflow === "hidden" && distance !== 0);
    const scrollsX = canScroll(overflowX, box.scrollLeft), scrollsY = canScroll(overflowY, box.scrollTop);
    return {overflowX, overflowY, scrollsX, scrollsY, ...(scrollsX || scrollsY ? distancesOf(box, style) : {})};
  });

  // The box that can scroll to the element, which is outside of the box's visible part; null if there is none.
  const scrollerOf = (element) => {
    const {left, top, right, bottom} = rectOf(element);
    for (let ancestor = element.parentElement; ancestor && ancestor !== document.scrollingElement; ancestor = ancestor.parentElement) {
      const {scrollsX, scrollsY, above, below, before, after} = overflowOf(ancestor);
      if (!scrollsX && !scrollsY) continue;
      const box = rectOf(ancestor);
      if (scrollsY && (bottom <= box.top ? bottom + above > box.top : top >= box.bottom && top - below < box.bottom)) return ancestor;
      if (scrollsX && (right <= box.left ? right + before > box.left : left >= box.right && left - after < box.right)) return ancestor;
    }
    return null;
  };

  // The part of an element that its ancestors do not clip.
  const unclippedPart = (element) => {
    const {left, top, right, bottom} = rectOf(element), part = {left, top, right, bottom};
    for (let ancestor = element.parentElement; ancestor; ancestor = ancestor.parentElement) {
      if (overflowOf(ancestor).overflowX === "visible") continue;
      const box = rectOf(ancestor);
      for (const side of ["left", "top"]) part[side] = Math.max(part[side], box[side]);
      for (const side of ["right", "bottom"]) part[side] = Math.min(part[side], box[side]);
    }
    return part;
  };

  // True if something else is above the centre of the visible part of a box, such as a dialog above the page with the box.
  const isOverlaid = cached((box) => {
    const {left, top, right, bottom} = unclippedPart(box);
    const x = (Math.max(left, 0) + Math.min(right, innerWidth)) / 2, y = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2;
    const hit = box.getRootNode().elementFromPoint?.(x, y);
    return Boolean(hit) && !scrollerOf(box) && !box.contains(hit) && !hit.contains(box) && !hit.shadowRoot;
  });

  // True if the element is in a box that is clipped or collapsed to nothing.
  const CLIPPED = /^(inset\((50|100)%|circle\(0)/;
  const isClipped = cached((element) => {
    const {clipPath, clip, position} = getComputedStyle(element);
    if (CLIPPED.test(clipPath)) return true;
    const sides = clip.startsWith("rect(") && /absolute|fixed/.test(position) ? clip.slice(5).split(",").map(parseFloat) : [];
    return sides[0] >= sides[2] || sides[3] >= sides[1];
  });
  const isInCollapsed = cached((box) => {
    if (!box) return false;
    if (isClipped(box)) return true;
    if ((box.offsetHeight === 0 || box.offsetWidth === 0) && overflowOf(box).overflowY !== "visible"
      && getComputedStyle(box).display !== "contents" && box !== document.documentElement && box !== document.body) return true;
    return isInCollapsed(box.parentElement);
  });
  const isCollapsed = (element) => isClipped(element) || isInCollapsed(element.parentElement);

  // True if scrolling the page cannot reach the element: it is outside the page, or collapsed.
  const isAway = (element) => {
    const {left, right, bottom} = rectOf(element);
    return right + scrollX <= 0 || bottom + scrollY <= 0 || left + scrollX >= document.documentElement.scrollWidth || isCollapsed(element);
  };

  // True if the element is covered only by a fixed or sticky bar and can be scrolled out from under it.
  const isUnderBar = (element, top) => {
    const isStuck = ({position}) => position === "fixed" || position === "sticky";
    while (top && !isStuck(getComputedStyle(top))) top = top.parentElement;
    if (!top) return false;
    const box = element.getBoundingClientRect(), bar = top.getBoundingClientRect();
    for (let ancestor = element.parentElement; ancestor && getComputedStyle(ancestor).position !== "fixed"; ancestor = ancestor.parentElement) {
      const isPage = ancestor === document.scrollingElement, style = getComputedStyle(ancestor);
      if (!isPage && !/auto|scroll/.test(style.overflowY)) continue;
      const {above, below} = distancesOf(ancestor, style), view = isPage ? {top: 0, bottom: innerHeight} : ancestor.getBoundingClientRect();
      const hasRoom = (room) => room > 0 && room >= box.height / 2;  // its centre is clicked
      if (hasRoom(bar.top - Math.max(view.top, 0)) && box.bottom - bar.top <= below) return true;
      if (hasRoom(Math.min(view.bottom, innerHeight) - bar.bottom) && bar.bottom - box.top <= above) return true;
    }
    return false;
  };

  // True if fixed boxes fill the window, such as a dialog and what it darkens, and the element is in the page behind them.
  let isFilled;
  const isBehindDialog = (element) => {
    const fixedAround = (inner) => {
      while (inner && getComputedStyle(inner).position !== "fixed") inner = inner.parentElement;
      return inner;
    };
    const fills = ({left, top, right, bottom}) => left <= 0 && top <= 0 && right >= innerWidth && bottom >= innerHeight;
    if (isFilled === undefined) {
      const [right, bottom] = [innerWidth - 2, innerHeight - 2];
      const points = [[1, 1], [right, 1], [1, bottom], [right, bottom], [right / 2, bottom / 2]];
      const boxes = points.map(([x, y]) => fixedAround(document.elementFromPoint(x, y)));
      isFilled = boxes.every(Boolean) && boxes.some((box) => fills(box.getBoundingClientRect()));
    }
    return isFilled && !fixedAround(element);
  };

  // True if clicks at the centre of the element, of its lines, and of its part that its ancestors do not clip, hit something that is
  // neither inside it, nor around it, nor its label.
  const isCovered = (element) => {
    if (element.localName === "label" && getComputedStyle(element).pointerEvents === "none") return false;  // text above its field
    const whole = rectOf(element), part = unclippedPart(element);
    const boxes = part.left < part.right && part.top < part.bottom ? [whole, part] : [whole];
    const lines = element.getClientRects();  // of a link that continues on the next line
    if (lines.length > 1) boxes.push(...lines);
    return boxes.every(({left, top, right, bottom}) => {
      const x = (left + right) / 2, y = (top + bottom) / 2;
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return isBehindDialog(element);
      const hit = element.getRootNode().elementFromPoint?.(x, y);
      if (!hit || element.contains(hit) || hit.contains(element) || hit.shadowRoot) return false;
      return !isUnderBar(element, hit) && ![...element.labels ?? []].some((label) => label.contains(hit));
    });
  };

  // True if markup hides the element, but a style sheet shows it or a part of it.
  const isShownByStyle = (element, names) =>
    !isUntilFound(element) && !names.has(TOP_LAYER)
      && ((names.has("hidden") && getComputedStyle(element).contentVisibility !== "hidden") || names.has("popover") || (element.localName === "dialog" && !names.has("open"))
      || /display\s*:\s*none|visibility\s*:\s*(hidden|collapse)/i.test(names.get("style") ?? "")) && element.checkVisibility()
      && [element, ...element.querySelectorAll("*")].some((part) => part.checkVisibility({visibilityProperty: true}));

  // Elements for which a style sheet reveals content on hover.
  const hovered = new Set();
  const REVEALS = ["display", "visibility", "opacity", "height", "max-height", "transform", "left", "top", "clip-path", "pointer-events"];
  // The selectors of a list, which commas outside of brackets separate.
  const selectorsOf = (list) => list.match(/(?:\([^)]*\)|\[[^\]]*\]|[^,([])+/g) ?? [];
  const findHovered = (root, rules) => {
    for (const rule of rules) {
      if (rule.matches === false || (rule.media && !matchMedia(rule.media.mediaText).matches)) continue;
      const inner = rule.cssRules ?? rule.styleSheet?.cssRules;  // of a group, or of an imported style sheet
      if (inner?.length) findHovered(root, inner);
      if (!rule.selectorText?.includes(":hover") || !REVEALS.some((name) => rule.style.getPropertyValue(name))) continue;
      for (const selector of selectorsOf(rule.selectorText)) {
        const [, before, compound, rest] = /^(.*?):hover((?:\([^)]*\)|\[[^\]]*\]|[^\s>+~([])*)(.*)$/.exec(selector.trim()) ?? [];
        if (!rest?.trim() || /::|:(before|after)\b/.test(rest)) continue;
        const subject = (/[\s>+~]$|^$/.test(before) ? `${before}*` : before) + compound + (rest.includes(":has(") ? "" : `:has(${rest.trim()})`);
        try { for (const element of root.querySelectorAll(subject)) hovered.add(element); } catch { /* not a valid selector by itself */ }
      }
    }
  };
  if (strict) {
    for (const sheet of document.styleSheets) {
      if (sheet.disabled || !matchMedia(sheet.media.mediaText).matches) continue;
      try { findHovered(document, sheet.cssRules); } catch { /* a style sheet of another origin */ }
    }
  }

  const isControl = (element) => element.matches(CONTROL) || (element.localName === "label" && Boolean(element.control));
  const isInControl = (element) => {
    for (let outer = element.closest(INTERACTIVE); outer; outer = outer.parentElement?.closest(INTERACTIVE)) if (isControl(outer)) return true;
    return false;
  };
  const hasPointer = (element) => element !== null && getComputedStyle(element).cursor === "pointer";
  const isPointed = cached(hasPointer);
  const hears = (element) => {
    const listeners = listenersOf?.(element) ?? {};
    const listensTo = (event) => listeners[event] || element[`on${event}`];
    return MOUSE_EVENTS.some(listensTo) || (element.tabIndex >= 0 && KEY_EVENTS.some(listensTo));
  };
  // Elements inside a clickable box with a pointer cursor of their own, such as the star of a row.
  const pointed = new Set();
  // True for the outermost element with the pointer cursor, since the style is inherited.
  const isClickable = (element) => (isPointed(element) && !isPointed(element.parentElement)) || pointed.has(element);
  const findPointed = (box) => {
    const probe = box.firstElementChild && box.animate({cursor: ["default", "default"]}, {duration: 1, fill: "both"});  // what inherits it changes
    const inner = !probe || hasPointer(box) ? [] : [...box.querySelectorAll("*")].filter((part) => hasPointer(part) && !hasPointer(part.parentElement));
    probe?.cancel();
    return inner;
  };

  // A box that can be clicked or reveals content on hover, such as a row of a list, and contains controls has the mouse at one of its parts
  // without controls: that with the longest text which is not cut in a label, otherwise that with the shortest text. Without such a part,
  // elements with a pointer cursor of their own are no controls, as where a style sheet sets the cursor of all elements in the box.
  const LONGEST_LABEL = 80;  // MAX_LABEL in reading.py
  const boxParts = new Set();
  const findBoxPart = (box) => {
    const isOwnControl = (element) =>
      (isControl(element) || element.localName === "a" || pointed.has(element) || hears(element)) && element.checkVisibility({visibilityProperty: true});
    const parts = [];
    const visit = (element) => {
      let isPart = true;  // without controls
      for (const child of element.children) {
        if (WITHOUT_CONTENT.has(child.localName) || !child.checkVisibility()) continue;
        isPart = !isOwnControl(child) && visit(child) && isPart;
      }
      const length = isPart && element !== box ? element.textContent.trim().length : 0;
      if (length) parts.push([element, length <= LONGEST_LABEL ? length : -length]);
      return isPart;
    };
    const inner = hasScripts && isClickable(box) ? findPointed(box) : [];
    for (const part of inner) pointed.add(part);
    if (!visit(box) && parts.length) boxParts.add(parts.reduce((best, part) => (part[1] > best[1] ? part : best))[0]);
    else for (const part of inner) pointed.delete(part);
  };

  const listens = (element) => {
    if (boxParts.has(element)) return true;
    if (element === document.body || element === document.documentElement || isInControl(element)) return false;
    const {width, height} = rectOf(element);
    if (width === 0 || height === 0) return false;
    const isBox = hovered.has(element) || (hasScripts && isClickable(element));
    if (isBox) findBoxPart(element);
    if (isBox || !scripted) return isBox;
    return hears(element) || (isPointed(element) && element.localName === "a");
  };

  // Forms that own controls outside of them, which begin between table rows or were closed too early, with their numbers.
  const FORM_OWNER = "data-form-owner";
  const strayForm = (control) => (control.hasAttribute("form") || control.form === control.closest("form") ? null : control.form);
  const owners = new Map();
  for (const control of document.forms.length ? document.querySelectorAll([...LISTED].join()) : []) {
    const form = strayForm(control);
    if (form && !owners.has(form)) owners.set(form, String(owners.size));
  }

  const state = (element, tag) => {
    const names = new Map();
    for (const {name, value} of element.attributes)
      if (ATTRIBUTE_NAME.test(name) && name !== FORM_OWNER && name !== "xmlns") names.set(name, value);  // the XML has no namespaces
    const owner = owners.get(tag === "form" ? element : LISTED.has(tag) ? strayForm(element) : null);
    if (owner) names.set(FORM_OWNER, owner);
    const flag = (name, on) => { names.delete(name); if (on) names.set(name, ""); };
    if (tag === "input") {
      const type = element.type;
      if (type === "checkbox" || type === "radio") flag("checked", element.checked);
      else if (type === "file") {
        names.delete("value");
        if (element.files.length) names.set("value", [...element.files].map(({name}) => name).join(", "));
      } else if (element.value !== "" || names.has("value")) {
        const value = element.value;
        if (names.get("value") !== value) { names.delete("value"); names.set("value", value); }
      }
    } else if (tag === "option") flag("selected", element.selected);
    else if (tag === "iframe" || tag === "frame") names.set("data-frame", String(elements.length));
    if (["input", "button", "select", "textarea"].includes(tag)) flag("disabled", element.matches(":disabled"));
    names.delete(TOP_LAYER);
    if (element.popover !== null && element.matches(":popover-open")) names.set(TOP_LAYER, "popover");
    else if (element === modal) names.set(TOP_LAYER, "modal");
    if (isShownByStyle(element, names)) { names.delete("hidden"); names.set("style", "display: block"); }
    names.delete("data-listens");
    names.delete("data-unreachable");  // of the in-process browser
    if ((scripted || hovered.size) && !WITHOUT_BOX.has(tag) && listens(element) && !(strict && isOutOfReach(element)))
      names.set("data-listens", "");
    if (strict && element.hasAttribute("data-bbox") === false && CONTROLS.has(tag)) {
      const box = element.getBoundingClientRect();
      names.set("data-bbox", [box.x, box.y, box.width, box.height].map(Math.round).join(","));
    }
    return names;
  };

  // True if an object shows its content, as it cannot show its data.
  const showsFallback = (object) => {
    const range = document.createRange();
    range.selectNodeContents(object);
    return !object.data || range.getClientRects().length > 0;
  };

  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return text(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const tag = node.localName.toLowerCase().replace(/[^a-z0-9_.-]/g, "-").replace(/^[^a-z_]/, "x");
    parts.push("<", tag);
    const names = state(node, tag);
    if (isHidden(node, tag)) {
      if (!names.has("hidden")) names.set("hidden", "");
      names.delete("style");  // it may have a display, which takes precedence over `hidden`
    }
    for (const [name, value] of names) attribute(name, value);
    elements.push(node);
    parts.push(">");
    if (tag === "textarea") text(node.value);
    else if (tag === "svg") { for (const child of node.children) if (child.localName === "title") walk(child); }  // its name
    else if (tag === "object" ? showsFallback(node) : !WITHOUT_CONTENT.has(tag)) {
      const children = tag === "slot" && node.assignedNodes().length ? node.assignedNodes()
        : node.shadowRoot ? node.shadowRoot.childNodes : node.childNodes;
      for (const child of children) walk(child);
    }
    parts.push("</", tag, ">");
  };

  if (document.documentElement) walk(document.documentElement);
  else parts.push("<html></html>");  // a script has called document.open()
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  Object.defineProperty(window, Symbol.for("webarena_gym"), {value: elements, configurable: true});
  return {
    xml: parts.join("").replace(INVALID_XML, ""),
    url: location.href,
    title: document.title,
    early: false,
    scripted,
    hasScripts,
    // A hidden element loses the focus only when the page is drawn.
    focused: focused === document.body || !(focused?.checkVisibility() || focused?.localName === "area" || focused?.closest("canvas")) ? -1 : elements.indexOf(focused),
  };
}
