// Queries about the window, for webarena_gym.browsers.chromium.window; run in a frame of a page. `query` is one of:
// - "boxes": for each element index in `argument` (see page.js), the box [left, top, right, bottom], in pixels of the window, at whose
//   centre a click reaches the element; null if there is none. In a static page (`isStatic`), images are drawn without waiting.
// - "hit": the element at the point `argument`, and what a click does there; or, if `argument` is null, the focused element, and what
//   Enter does there.
// - "scrolled": the scroll positions of all elements, after `argument` frames.
async (query, argument, isStatic) => {
  const INTERACTIVE = "a[href], area[href], button, input, select, textarea, summary, label, option, iframe, [contenteditable], [tabindex], [role=button]";
  const at = (x, y) => {
    let hit = document.elementFromPoint(x, y);
    for (let inner; (inner = hit?.shadowRoot?.elementFromPoint(x, y)) && inner !== hit; hit = inner);
    return hit;
  };
  const reaches = (hit, element) => {
    if (!hit) return false;
    if (hit.closest("label")?.control === element) return true;
    const control = hit.closest(INTERACTIVE);
    return element.contains(hit) && (control === null || control.contains(element) || control === element || control.localName === "label");
  };
  const boxOf = (element) => {
    if (!element?.isConnected) return null;
    for (const part of [element, ...element.labels ?? []])
      for (const rect of part.getClientRects()) {
        const left = Math.max(0, rect.left), top = Math.max(0, rect.top);
        const right = Math.min(innerWidth, rect.right), bottom = Math.min(innerHeight, rect.bottom);
        if (right - left < 2 || bottom - top < 2) continue;
        const width = right - left;
        for (const [from, to] of [[0, 1], [0, 0.2], [0.8, 1], [0, 0.06]]) {  // the whole part, or one of its ends
          const box = [left + from * width, top, left + to * width, bottom].map(Math.round);
          if (box[2] > box[0] && reaches(at((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), element)) return box;
        }
      }
    return null;
  };
  const {requestAnimationFrame, setTimeout} = window[Symbol.for("webarena_gym.clock")]?.real ?? window;
  if (query === "boxes") {
    // Images are decoded after the page has loaded, and those revealed by scrolling may still load.
    const isShown = ({left, top, right, bottom}) => right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
    const drawn = isStatic ? [] : [...document.images].filter((image) => isShown(image.getBoundingClientRect())).map((image) => image.decode().catch(() => null));
    await Promise.race([Promise.all(drawn), new Promise((done) => setTimeout(done, 3000))]);
    const elements = window[Symbol.for("webarena_gym")] ?? [];
    return argument.map((index) => boxOf(elements[index]));
  }
  if (query === "scrolled") {
    const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 500); });
    for (let frames = 0; frames < argument; frames++) await frame();
    return [...document.querySelectorAll("*")].map(({scrollLeft, scrollTop}) => scrollLeft || scrollTop ? `${scrollLeft} ${scrollTop}` : "").join();
  }
  const hit = argument ? at(...argument) : document.activeElement, control = hit?.closest(INTERACTIVE), form = control?.form;
  const types = argument ? ["submit", "image"] : ["text", "search", "email", "password", "tel", "url", "number"];
  const isValidated = form && types.includes(control.type) && !form.noValidate && !control.formNoValidate;
  const invalid = isValidated && [...form.elements].find((field) => field.willValidate && !field.validity.valid);
  return {
    tag: hit && hit !== document.body && hit !== document.documentElement ? hit.localName : null,
    isInteractive: !!control,
    link: control?.localName === "a" ? control.href : null,
    isTextField: !!hit?.matches("textarea, input:not([type]), input:is([type=text], [type=search], [type=email], [type=password], [type=tel], [type=url])"),
    isDisabled: !!control?.matches(":disabled"),
    isDownload: control?.localName === "a" && control.hasAttribute("download"),
    problem: invalid ? `${invalid.labels?.[0]?.innerText ?? invalid.getAttribute("aria-label") ?? invalid.name}: ${invalid.validationMessage}` : "",
  };
}
