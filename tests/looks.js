// Returns what a person would find wrong with the page as it is drawn, as sentences, for tests.looks. `axe` is axe-core.
async (names) => {
  const found = [];
  const say = (what, element) => found.push(`${what}: ${element.outerHTML.replace(/\s+/g, " ").slice(0, 160)}`);
  const shown = (element) => element.checkVisibility({visibilityProperty: true, opacityProperty: true});

  // Serious and critical rules of axe-core.
  const rules = {"label-content-name-mismatch": {enabled: false}};  // an experimental rule, which axe-core leaves out by itself
  const {violations} = await axe.run(document, {resultTypes: ["violations"], runOnly: names, rules});
  for (const {id, impact, nodes} of violations)
    if (impact === "serious" || impact === "critical")
      for (const {html, any, all, none} of nodes)
        found.push(`${id}: ${[...any, ...all, ...none][0]?.message ?? ""} ${html.replace(/\s+/g, " ").slice(0, 160)}`);

  // Colours: what is typed into fields, and what they say before.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((part, place) => part * a + under[place] * (1 - a));
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const colour = rgba(getComputedStyle(element).backgroundColor);
    return colour[3] === 1 ? colour.slice(0, 3) : over(colour, behind(element.parentElement));
  };
  const light = (colour) => {
    const [red, green, blue] = colour.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  for (const field of document.querySelectorAll("input:not([type=hidden], [type=checkbox], [type=radio]), textarea, select")) {
    if (!shown(field)) continue;
    const ground = behind(field);
    for (const part of field.placeholder ? [null, "::placeholder"] : [null]) {
      const style = getComputedStyle(field, part);
      const colour = rgba(style.color);
      colour[3] *= part ? Number(style.opacity) : 1;
      if (contrast(over(colour, ground), ground) < 4.5) say(`${part ?? "what is typed"} has too little contrast`, field);
    }
    const edge = getComputedStyle(field);
    const outside = behind(field.parentElement);
    const isEdged = parseFloat(edge.borderTopWidth) > 0 && contrast(over(rgba(edge.borderTopColor), outside), outside) >= 3;
    if (!isEdged && contrast(ground, outside) < 3) say("one cannot see where the field is", field);
  }

  // Width: nothing makes the page wider than the window, or sticks out of the box that it stands in.
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
  const isForEars = (element) => element !== null && (getComputedStyle(element).clipPath !== "none" || isForEars(element.parentElement));
  const clips = (element) => getComputedStyle(element).overflowX !== "visible";
  const SLACK = 1.5;  // pixels, of rounding
  const sticksOut = (rect, start) => {
    for (let box = start; box && box !== document.documentElement; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.position === "absolute" || style.position === "fixed") return false;
      if (clips(box)) return false;
      if (style.display === "inline" || style.display === "contents") continue;
      const {left, right} = box.getBoundingClientRect();
      if (rect.right > right + SLACK || rect.left < left - SLACK) return true;
    }
    return false;
  };
  for (const element of document.body.querySelectorAll("*")) {
    if (!shown(element) || element.closest("svg, option, select > *") || isForEars(element)) continue;
    const parent = element.parentElement;
    if (["absolute", "fixed"].includes(getComputedStyle(element).position)) continue;
    const box = element.getBoundingClientRect();
    if (box.width && box.height && sticksOut(box, parent)) say("sticks out", element);
    for (const text of element.childNodes) {
      if (text.nodeType !== Node.TEXT_NODE || !text.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      if ([...range.getClientRects()].some((rect) => rect.width > 0.5 && sticksOut(rect, element))) say("a text sticks out", element);
    }
  }

  // Height: the footer stands at the end of the window, or of the page where that is longer.
  const footer = document.querySelector("body > footer, body > * > footer");
  if (footer && footer.getBoundingClientRect().bottom + scrollY < innerHeight - SLACK) say("the footer floats", footer);
  const header = document.querySelector("body > header");
  const isBar = header && header.getBoundingClientRect().width > innerWidth / 2;  // and not a menu at the side
  if (isBar && header.getBoundingClientRect().height > innerHeight / 5) say(`the header takes ${Math.round(header.getBoundingClientRect().height)} pixels`, header);

  // Keys: whatever can be used takes the focus, in the order of the document, and shows it.
  const USED = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  const looks = (element) => {
    const {outlineStyle, outlineWidth, outlineColor, boxShadow} = getComputedStyle(element);
    return {outline: outlineStyle === "none" || outlineWidth === "0px" ? null : outlineColor, boxShadow};
  };
  for (const element of document.querySelectorAll(USED)) {
    if (!shown(element) || element.matches(":disabled")) continue;
    if (element.tabIndex !== 0) say("is left out by the Tab key, or out of order", element);
    const before = looks(element);
    element.focus({preventScroll: true});
    if (document.activeElement !== element) { say("takes no focus", element); continue; }
    const after = looks(element);
    const around = [behind(element.parentElement), behind(element)];
    const offset = parseFloat(getComputedStyle(element).outlineOffset);
    const ground = offset < 0 ? around[1] : around[0];
    const rings = [after.outline, ...(after.boxShadow === before.boxShadow ? [] : [after.boxShadow.match(/^rgba?\([^)]*\)|^color\([^)]*\)/)?.[0]])];
    if (!rings.some((ring) => ring && contrast(over(rgba(ring), ground), ground) >= 3)) say("the focus cannot be seen", element);
  }
  document.activeElement?.blur();
  return [...new Set(found)];
}
