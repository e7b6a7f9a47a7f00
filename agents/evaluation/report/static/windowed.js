// Long lists: of all rows, only those are in the page that can be seen. All rows have one height.

function windowed(box, body, height, makeRow) {
  const tag = body.tagName === "OL" ? "li" : "tr";
  let items = [];
  let drawn = "";
  const spacer = (rows) => make(tag, { class: "spacer", "aria-hidden": "true", style: `height: ${rows * height}px` });
  const redraw = (isNew) => {
    const from = Math.max(0, Math.min(items.length - 1, Math.floor(box.scrollTop / height)) - 6);
    const to = Math.min(items.length, from + Math.ceil(box.clientHeight / height) + 12);
    if (!isNew && drawn === `${from}-${to}`) return;
    drawn = `${from}-${to}`;
    const focused = body.contains(document.activeElement) && document.activeElement.dataset.row;
    const rows = items.slice(from, to).map((item, place) => makeRow(item, from + place));
    body.replaceChildren(spacer(from), ...rows, spacer(items.length - to));
    if (focused) body.querySelector(`[data-row="${focused}"]`)?.focus({ preventScroll: true });
  };
  box.addEventListener("scroll", () => redraw(false));
  new ResizeObserver(() => redraw(false)).observe(box);
  return {
    set(list) {
      items = list;
      redraw(true);
    },
    redraw: () => redraw(true),
    // Scroll as little as shows the whole row.
    reveal(item) {
      const place = items.indexOf(item);
      if (place < 0) return;
      box.scrollTop = Math.min(Math.max(box.scrollTop, (place + 1) * height - box.clientHeight), place * height);
      redraw(true);
    },
  };
}
