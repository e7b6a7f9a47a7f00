// The document as XML with its live state, for webarena_gym.browsers.chromium.reading; run in every frame of a page.
// window[Symbol.for("webarena_gym")] keeps the elements in the order in which the XML has them.
async (strict, windowed, isPatient, isTurned, isUndrawn, listenersOf) => {
  // What an action has queued, such as sending a form, begins first.
  await new Promise((done) => setTimeout(done));
  const once = (target, ...events) =>
    new Promise((done) => { for (const event of events) target.addEventListener(event, done, {once: true}); });
  if (isPatient && document.readyState === "loading") await once(document, "DOMContentLoaded");
  const scripted = document.scripts.length > 0 || document.querySelector("iframe, meta[http-equiv=refresh i]") !== null
    || document.evaluate("boolean(//@*[starts-with(name(), 'on')])", document, null, XPathResult.BOOLEAN_TYPE).booleanValue;
  // Images matter to layout and to scripts alone; style sheets decide what is shown.
  if (isPatient && document.readyState !== "complete") {
    if (scripted || strict || windowed) return {early: true, scripted};
    // A page that is shown again gets what was entered there in a task of its own, which is over before `pageshow`.
    if (["back_forward", "reload"].includes(performance.getEntriesByType("navigation")[0]?.type)) await once(window, "pageshow");
    else {
      const sheets = [...document.querySelectorAll("link[rel~=stylesheet]")].filter((link) => !link.sheet);
      await Promise.race([once(window, "load"), Promise.all(sheets.map((link) => once(link, "load", "error")))]);
    }
  }
  // What has the focus in a new page, or at a new place of one, is decided when it is drawn for the first time.
  const DRAWN = Symbol.for("webarena_gym drawn");
  const isNew = isTurned || window[DRAWN] !== location.href;
  if (isPatient && isNew && (location.hash.length > 1 || document.querySelector("[autofocus]"))) {
    if (isUndrawn) return {undrawn: true, scripted};
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 1000); });
    Object.defineProperty(window, DRAWN, {value: location.href, configurable: true});
  }
  const KEPT = /^[a-zA-Z_][a-zA-Z0-9_.-]*$/;
  const BAD = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
  const ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"};
  const EMPTIED = new Set(["script", "style", "template", "noscript", "svg", "canvas", "object"]);
  const UNDRAWN = new Set(["html", "head", "title", "meta", "link", "base", "script", "style", "template", "noscript",
    "option", "optgroup", "datalist", "area", "map", "source", "track", "param", "br", "wbr", "legend", "slot"]);
  const USED = new Set(["a", "button", "input", "select", "textarea", "summary"]);
  // What reacts to the mouse though its kind does not say so.
  const HEARD = ["click", "dblclick", "mousedown", "mouseup", "pointerdown", "pointerup", "dragstart", "dragover", "drop",
    ...(strict ? ["mouseenter", "mouseover", "pointerenter", "contextmenu"] : [])];
  const ROLES = ["button", "link", "checkbox", "radio", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "switch",
    "treeitem", "combobox", "textbox", "searchbox", "spinbutton", "slider"];
  const KINDS = ["a[href]", "button", "input", "select", "textarea", "summary", "label", "[contenteditable]",
    ...ROLES.map((role) => `[role=${role}]`)].join();
  const elements = [];
  const parts = [];
  const text = (value) => parts.push(value.replace(BAD, "").replace(/[&<>\r]/g, (mark) => ESCAPES[mark]));
  const attribute = (name, value) =>
    parts.push(" ", name, '="', value.replace(BAD, "").replace(/[&<>"\r\n\t]/g, (mark) => ESCAPES[mark]), '"');

  const isInWindow = (element) => {
    const box = element.getBoundingClientRect();
    return box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  };

  const isHidden = (element, tag) => {
    if (UNDRAWN.has(tag) || tag === "body") return false;
    if (windowed && !isInWindow(element) && ![...element.querySelectorAll("*")].some(isInWindow)) return true;
    const style = () => getComputedStyle(element);
    if (!element.checkVisibility()) return style().display !== "contents";
    if (!strict) return false;
    if (style().visibility !== "visible")
      return ![...element.querySelectorAll("*")].some((inner) => getComputedStyle(inner).visibility === "visible");
    if (style().pointerEvents === "none" && !element.checkVisibility({opacityProperty: true})) return true;  // faded out
    if (!USED.has(tag) && !element.matches(KINDS)) return false;
    const boxes = [element, ...element.querySelectorAll("*")].map((inner) => inner.getBoundingClientRect());
    return boxes.every((box) => box.width === 0 || box.height === 0) || isAway(element) || isCovered(element);
  };

  // Nobody can scroll to it: it stands before the page begins or beside it, or in a box that is closed to nothing.
  const CLIPPED = /^(inset\((50|100)%|circle\(0)/;
  const isAway = (element) => {
    const box = element.getBoundingClientRect(), page = document.documentElement;
    if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0 || box.left + scrollX >= page.scrollWidth) return true;
    for (let around = element; around; around = around.parentElement)
      if (CLIPPED.test(getComputedStyle(around).clipPath)) return true;
      else if (around !== element && (around.offsetHeight === 0 || around.offsetWidth === 0) && getComputedStyle(around).overflowY !== "visible"
        && getComputedStyle(around).display !== "contents" && around !== page && around !== document.body) return true;
    return false;
  };

  // What lies under a bar that stays where it is in the window, and can be scrolled out of it.
  const isUnderBar = (element, top) => {
    const isStuck = ({position}) => position === "fixed" || position === "sticky";
    while (top && !isStuck(getComputedStyle(top))) top = top.parentElement;
    if (!top) return false;
    const box = element.getBoundingClientRect(), bar = top.getBoundingClientRect();
    for (let around = element.parentElement; around && getComputedStyle(around).position !== "fixed"; around = around.parentElement) {
      if (around !== document.scrollingElement && !/auto|scroll/.test(getComputedStyle(around).overflowY)) continue;
      const above = around.scrollTop, below = around.scrollHeight - around.clientHeight - above;
      if (box.bottom - bar.top <= below || bar.bottom - box.top <= above) return true;
    }
    return false;
  };

  // Something else takes the click in the middle of the element, and of its part that boxes around it leave: neither inside of it
  // nor a label of it nor around it.
  const isCovered = (element) => {
    const whole = element.getBoundingClientRect(), part = {left: whole.left, top: whole.top, right: whole.right, bottom: whole.bottom};
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (getComputedStyle(around).overflowX === "visible") continue;
      const box = around.getBoundingClientRect();
      for (const side of ["left", "top"]) part[side] = Math.max(part[side], box[side]);
      for (const side of ["right", "bottom"]) part[side] = Math.min(part[side], box[side]);
    }
    const boxes = part.left < part.right && part.top < part.bottom ? [whole, part] : [whole];
    return boxes.every(({left, top, right, bottom}) => {
      const x = (left + right) / 2, y = (top + bottom) / 2;
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
      const hit = element.getRootNode().elementFromPoint?.(x, y);
      if (!hit || element.contains(hit) || hit.contains(element) || hit.shadowRoot) return false;
      return !isUnderBar(element, hit) && ![...element.labels ?? []].some((label) => label.contains(hit));
    });
  };

  // What markup hides and a style sheet shows all the same, or a part of it.
  const isShownAnyway = (element, names) =>
    (names.has("hidden") || (element.localName === "dialog" && !names.has("open"))
      || /display\s*:\s*none|visibility\s*:\s*(hidden|collapse)/i.test(names.get("style") ?? "")) && element.checkVisibility()
      && [element, ...element.querySelectorAll("*")].some((each) => each.checkVisibility({visibilityProperty: true}));

  // What shows more when the mouse is over it, by a style sheet.
  const hovered = new Set();
  const REVEALS = ["display", "visibility", "opacity", "height", "max-height", "transform", "left", "top", "clip-path", "pointer-events"];
  const findHovered = (root, rules) => {
    for (const rule of rules) {
      if (rule.cssRules?.length) findHovered(root, rule.cssRules);
      if (!rule.selectorText?.includes(":hover") || !REVEALS.some((name) => rule.style.getPropertyValue(name))) continue;
      for (const selector of rule.selectorText.split(",")) {
        const [, subject, rest] = /^(.*?):hover(.*)$/.exec(selector.trim()) ?? [];
        if (!subject || !/[\s>+~]/.test(rest.trim() && rest)) continue;
        try { for (const each of root.querySelectorAll(subject)) hovered.add(each); } catch { /* no selector without the rest */ }
      }
    }
  };
  if (strict) {
    for (const sheet of document.styleSheets) {
      try { findHovered(document, sheet.cssRules); } catch { /* of another host */ }
    }
  }

  const isPointed = (element) => element !== null && getComputedStyle(element).cursor === "pointer";
  const listens = (element) => {
    if (element === document.body || element === document.documentElement || element.closest(KINDS)) return false;
    const {width, height} = element.getBoundingClientRect();
    if (width === 0 || height === 0) return false;
    if (hovered.has(element)) return true;
    if (!scripted) return false;
    const heard = listenersOf?.(element) ?? {};
    return HEARD.some((kind) => heard[kind] || element[`on${kind}`])
      || (isPointed(element) && !isPointed(element.parentElement));  // it is handed down
  };

  const state = (element, tag) => {
    const names = new Map();
    for (const {name, value} of element.attributes) if (KEPT.test(name)) names.set(name, value);
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
    if (isShownAnyway(element, names)) { names.delete("hidden"); names.set("style", "display: block"); }
    names.delete("data-listens");
    if ((scripted || hovered.size) && !UNDRAWN.has(tag) && listens(element)) names.set("data-listens", "");
    if (strict && element.hasAttribute("data-bbox") === false && USED.has(tag)) {
      const box = element.getBoundingClientRect();
      names.set("data-bbox", [box.x, box.y, box.width, box.height].map(Math.round).join(","));
    }
    return names;
  };

  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return text(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const tag = node.localName.toLowerCase().replace(/[^a-z0-9_.-]/g, "-").replace(/^[^a-z_]/, "x");
    parts.push("<", tag);
    const names = state(node, tag);
    for (const [name, value] of names) attribute(name, value);
    if (isHidden(node, tag) && !names.has("hidden")) attribute("hidden", "");
    elements.push(node);
    parts.push(">");
    if (tag === "textarea") text(node.value);
    else if (tag === "svg") { for (const child of node.children) if (child.localName === "title") walk(child); }  // its name
    else if (!EMPTIED.has(tag)) {
      const children = tag === "slot" && node.assignedNodes().length ? node.assignedNodes()
        : node.shadowRoot ? node.shadowRoot.childNodes : node.childNodes;
      for (const child of children) walk(child);
    }
    parts.push("</", tag, ">");
  };

  if (document.documentElement) walk(document.documentElement);
  else parts.push("<html></html>");  // a script has opened the document to write it anew
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  Object.defineProperty(window, Symbol.for("webarena_gym"), {value: elements, configurable: true});
  return {
    xml: parts.join(""),
    url: location.href,
    title: document.title,
    early: false,
    scripted,
    focused: focused === document.body ? -1 : elements.indexOf(focused),
  };
}
