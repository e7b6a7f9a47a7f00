// A page as a person sees it: in a frame without scripts, its style sheets and pictures put in from this file.

const PAGE_WIDTH = 1280; // pixels of the window that the sites are made for; the whole is drawn smaller
const LEAST_HEIGHT = 720;
const LEAST_RATIO = 0.3;
const LEAST_TOLD = 0.005; // probability of an element that is written beside it
const PAGE_RULES =
  "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">";
const PAGE_STYLE = `html { background: white; overflow: hidden !important }
  [data-marked] { outline: 4px solid #c2185b !important; outline-offset: 3px !important; box-shadow: 0 0 0 11px #c2185b40 !important }
  [data-heat] { position: absolute; z-index: 2147483647; box-sizing: border-box; pointer-events: none; border-radius: 3px;
    border: 3px solid color-mix(in srgb, #e65100 var(--strength), transparent);
    background: color-mix(in srgb, #e65100 calc(var(--strength) / 4), transparent) }
  [data-heat]:not([data-heat=""])::after { content: attr(data-heat); position: absolute; right: -3px; bottom: 100%; padding: 0 4px; border-radius: 3px 3px 0 0;
    font: 600 13px/18px sans-serif; color: white; background: #bf360c; white-space: nowrap }
  [data-low]::after { bottom: auto; top: 100%; border-radius: 0 0 3px 3px }`;

const assets = new Map();

function asset(key) {
  if (!assets.has(key)) assets.set(key, block(`asset-${key}`).then((content) => content || ""));
  return assets.get(key);
}

// The document to show; parsing it here runs and loads nothing.
async function completePage(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const element of page.querySelectorAll("[data-asset]")) {
    const content = await asset(element.dataset.asset);
    if (element.tagName === "LINK") {
      const style = page.createElement("style");
      style.textContent = content;
      element.replaceWith(style);
    } else if (content) {
      element.setAttribute("src", content);
    }
  }
  const style = page.createElement("style");
  style.textContent = PAGE_STYLE;
  page.body.append(style);
  return `<!doctype html>${PAGE_RULES}${page.documentElement.outerHTML}`;
}

async function showPage(html) {
  const frame = byId("frame");
  const complete = await completePage(html);
  await new Promise((done) => {
    frame.onload = done;
    frame.srcdoc = complete;
  });
  fitPage();
  drawChances(frame.contentDocument);
  const marked = frame.contentDocument.querySelector("[data-marked]");
  const box = marked && marked.getBoundingClientRect();
  const view = byId("window");
  view.scrollTop = box ? (box.top + box.height / 2) * ratio() - view.clientHeight / 2 : 0;
  view.scrollLeft = box && box.right * ratio() > view.clientWidth ? (box.left + box.width / 2) * ratio() - view.clientWidth / 2 : 0;
}

// Over each element that the policy could act on a frame, the stronger the likelier, with the probability at its corner.
function drawChances(page) {
  const heat = [...page.querySelectorAll("[data-chance]")].map((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const chance = Number(element.dataset.chance);
    if (!width || !height || !(chance >= 0 && chance <= 1)) return undefined;
    const box = page.createElement("div");
    box.dataset.heat = chance < LEAST_TOLD ? "" : percent(chance);
    box.toggleAttribute("data-low", top < 20); // the number has no room above
    box.style.cssText = `left: ${left}px; top: ${top}px; width: ${width}px; height: ${height}px; --strength: ${(15 + 85 * chance).toFixed(1)}%`;
    return box;
  });
  page.documentElement.append(...heat.filter(Boolean));
}

function ratio() {
  return Math.max(LEAST_RATIO, byId("window").clientWidth / PAGE_WIDTH);
}

// Draw the whole page as wide as its pane, but never too small to read; the pane scrolls, not the page.
function fitPage() {
  const frame = byId("frame");
  if (!frame.contentDocument || !frame.contentDocument.body) return;
  frame.style.width = `${PAGE_WIDTH}px`;
  frame.style.height = `${LEAST_HEIGHT}px`; // so that a page that fills its window does not keep the height of the one before
  const height = Math.max(LEAST_HEIGHT, frame.contentDocument.documentElement.scrollHeight);
  frame.style.height = `${height}px`;
  frame.style.transform = `scale(${ratio()})`;
  byId("stage").style.width = `${PAGE_WIDTH * ratio()}px`;
  byId("stage").style.height = `${height * ratio()}px`;
}
