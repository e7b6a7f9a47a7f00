// What a window shows and takes, for webarena_gym.browsers.chromium.window; run in a frame of a page.
// "boxes": of each of the elements kept by page.js that `argument` names, the part of the window in whose middle the mouse reaches it: left, top,
// right and bottom, in pixels; null where it cannot be reached. "hit": what a click does at a place, or Enter where the focus is. "scrolled": where
// everything stands that can be scrolled, after so many frames. A page that is static is drawn with its images in any case.
async (what, argument, isStatic) => {
  const USED = "a[href], area[href], button, input, select, textarea, summary, label, option, iframe, [contenteditable], [tabindex], [role=button]";
  const at = (x, y) => {
    let found = document.elementFromPoint(x, y);
    for (let inner; (inner = found?.shadowRoot?.elementFromPoint(x, y)) && inner !== found; found = inner);
    return found;
  };
  const reaches = (found, element) => {
    if (!found) return false;
    if (found.closest("label")?.control === element) return true;
    const user = found.closest(USED);
    return element.contains(found) && (user === null || user.contains(element) || user === element || user.localName === "label");
  };
  const boxOf = (element) => {
    if (!element?.isConnected) return null;
    for (const shown of [element, ...element.labels ?? []])
      for (const rect of shown.getClientRects()) {
        const left = Math.max(0, rect.left), top = Math.max(0, rect.top);
        const right = Math.min(innerWidth, rect.right), bottom = Math.min(innerHeight, rect.bottom);
        if (right - left < 2 || bottom - top < 2) continue;
        const width = right - left;
        for (const [from, to] of [[0, 1], [0, 0.2], [0.8, 1], [0, 0.06]]) {  // else its left or right end
          const box = [left + from * width, top, left + to * width, bottom].map(Math.round);
          if (box[2] > box[0] && reaches(at((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), element)) return box;
        }
      }
    return null;
  };
  if (what === "boxes") {
    // A page has loaded before its images can be drawn, and what scrolling has brought in may still load.
    const isShown = ({left, top, right, bottom}) => right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
    const drawn = isStatic ? [] : [...document.images].filter((image) => isShown(image.getBoundingClientRect())).map((image) => image.decode().catch(() => null));
    await Promise.race([Promise.all(drawn), new Promise((done) => setTimeout(done, 3000))]);
    const kept = window[Symbol.for("webarena_gym")] ?? [];
    return argument.map((index) => boxOf(kept[index]));
  }
  if (what === "scrolled") {
    const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 500); });
    for (let frames = 0; frames < argument; frames++) await frame();
    return [...document.querySelectorAll("*")].map(({scrollLeft, scrollTop}) => scrollLeft || scrollTop ? `${scrollLeft} ${scrollTop}` : "").join();
  }
  const found = argument ? at(...argument) : document.activeElement, used = found?.closest(USED), form = used?.form;
  const kinds = argument ? ["submit", "image"] : ["text", "search", "email", "password", "tel", "url", "number"];
  const sends = form && kinds.includes(used.type) && !form.noValidate && !used.formNoValidate;
  const wrong = sends && [...form.elements].find((field) => field.willValidate && !field.validity.valid);
  return {
    tag: found && found !== document.body && found !== document.documentElement ? found.localName : null,
    used: !!used,
    leads: used?.localName === "a",
    typed: !!found?.matches("textarea, input:not([type]), input:is([type=text], [type=search], [type=email], [type=password], [type=tel], [type=url])"),
    disabled: !!used?.matches(":disabled"),
    saves: used?.localName === "a" && used.hasAttribute("download"),
    wrong: wrong ? `${wrong.labels?.[0]?.innerText ?? wrong.getAttribute("aria-label") ?? wrong.name}: ${wrong.validationMessage}` : "",
  };
}
