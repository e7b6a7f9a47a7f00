// A page as a person sees it: in a frame without scripts, its style sheets and pictures put in from this file.

const PAGE_WIDTH = 1280; // pixels of the window that the sites are made for; the whole is drawn smaller
const LEAST_HEIGHT = 720;
const LEAST_RATIO = 0.45;
const PAGE_RULES =
  "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">";
const PAGE_STYLE = `html { background: white; overflow: hidden !important }
  [data-marked] { outline: 4px solid #c2185b !important; outline-offset: 3px !important; box-shadow: 0 0 0 11px #c2185b40 !important }`;

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
  const marked = frame.contentDocument.querySelector("[data-marked]");
  const box = marked && marked.getBoundingClientRect();
  const view = byId("window");
  view.scrollTop = box ? (box.top + box.height / 2) * ratio() - view.clientHeight / 2 : 0;
  view.scrollLeft = box ? (box.left + box.width / 2) * ratio() - view.clientWidth / 2 : 0;
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
