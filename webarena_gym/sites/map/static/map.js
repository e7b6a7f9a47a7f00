// Lets people drag and zoom the maps of a page, by mouse, fingers and keys. `webarena-gym serve` adds it to pages; agents' pages
// have no scripts. Without it, the links below the map do the same.
"use strict";
const LEAST_ZOOM = 6, MOST_ZOOM = 18;
const STEP = 80;  // pixels that an arrow key moves
const NOTCH = 100;  // of a wheel's turn for one zoom

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// How many degrees a pixel of a view is wide and high.
const degrees = ({latitude, zoom}) => {
  const wide = 360 / (256 * 2 ** zoom);
  return {wide, high: wide * Math.cos((latitude * Math.PI) / 180)};
};

const moved = (view, x, y) => {
  const {wide, high} = degrees(view);
  return {...view, longitude: clamp(view.longitude + x * wide, -180, 180), latitude: clamp(view.latitude - y * high, -85, 85)};
};

// The view one looks at from nearer or farther, with what stands x and y pixels from the middle in its place.
const zoomed = (view, by, x = 0, y = 0) => {
  const zoom = clamp(view.zoom + by, LEAST_ZOOM, MOST_ZOOM);
  const part = 1 - 2 ** (view.zoom - zoom);
  return {...moved(view, x * part, y * part), zoom};
};

const fixed = (number) => number.toFixed(5);

async function enliven(frame) {
  let image = frame.querySelector("img");
  const links = [...document.querySelectorAll("nav.moves a[href*='lat=']")];
  const isPage = links.length > 0;  // the map is what the page is about
  await image.decode().catch(() => {});
  const address = new URL(image.currentSrc || image.src);
  const text = await (await fetch(address)).text();
  const [latitude, longitude, zoom] = text.match(/data-window="([^"]+)"/)[1].split(" ").map(Number);
  const start = {latitude, longitude, zoom: isPage ? Number(new URL(image.src).searchParams.get("zoom")) : zoom};
  if (address.searchParams.get("marker") === "1") address.searchParams.set("marker", `${fixed(latitude)},${fixed(longitude)}`);
  address.searchParams.delete("small");
  const targets = links.map((link) => {
    const values = new URL(link.href).searchParams;
    return {
      link, north: values.get("lat") - latitude, east: values.get("lon") - longitude,
      nearer: values.has("zoom") ? values.get("zoom") - start.zoom : null,
    };
  });
  let view = {latitude, longitude, zoom}, shown = {...view}, isLoading = false;

  const picture = (of) => {
    const {clientWidth, clientHeight} = frame;
    const values = {lat: fixed(of.latitude), lon: fixed(of.longitude), zoom: of.zoom, width: clientWidth, height: clientHeight};
    for (const [name, value] of Object.entries(values)) address.searchParams.set(name, value);
    return address.href;
  };
  const load = async () => {
    isLoading = true;
    const wanted = view, next = new Image();
    next.alt = image.alt;
    next.draggable = false;
    next.src = picture(wanted);
    try {
      await next.decode();
      image.replaceWith(next);  // at once, where another `src` would leave a gap
      image = next;
      shown = wanted;
    } catch { /* the server is gone: what is shown stays */ }
    isLoading = false;
    place();
    if (view !== wanted) load();
  };
  // Puts the picture that is shown where it belongs until the next one has come.
  const place = () => {
    const {wide, high} = degrees(view);
    const x = (shown.longitude - view.longitude) / wide, y = (view.latitude - shown.latitude) / high;
    image.style.transform = `translate(${x}px, ${y}px) scale(${2 ** (view.zoom - shown.zoom)})`;
  };
  const follow = () => {
    for (const {link, north, east, nearer} of targets) {
      const part = 2 ** (start.zoom - view.zoom), to = new URL(link.href);
      to.searchParams.set("lat", fixed(clamp(view.latitude + north * part, -90, 90)));
      to.searchParams.set("lon", fixed(clamp(view.longitude + east * part, -180, 180)));
      if (nearer !== null) to.searchParams.set("zoom", clamp(view.zoom + nearer, LEAST_ZOOM, MOST_ZOOM));
      link.href = to.href;
    }
  };
  const show = (next) => {
    view = next;
    place();
    if (!isLoading) load();
    if (isPage) follow();
  };

  frame.classList.add("live");
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", "Map: drag it, or use the arrow keys, + and -");
  for (const [sign, label, by] of [["+", "Zoom in", 1], ["\u2212", "Zoom out", -1]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.setAttribute("aria-label", `${label} here`);
    button.addEventListener("click", () => show(zoomed(view, by)));
    frame.append(button);
  }

  const KEYS = {
    ArrowLeft: (of) => moved(of, -STEP, 0), ArrowRight: (of) => moved(of, STEP, 0),
    ArrowUp: (of) => moved(of, 0, -STEP), ArrowDown: (of) => moved(of, 0, STEP),
    "+": (of) => zoomed(of, 1), "=": (of) => zoomed(of, 1), "-": (of) => zoomed(of, -1),
  };
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    show(KEYS[event.key](view));
  });

  const fingers = new Map();
  const spread = () => {
    const [one, other] = [...fingers.values()];
    return other ? Math.hypot(one.x - other.x, one.y - other.y) : 0;
  };
  const fromMiddle = (event) => {
    const {x, y, width, height} = frame.getBoundingClientRect();
    return [event.clientX - x - width / 2, event.clientY - y - height / 2];
  };
  let apart = 0;  // how far two fingers were when the map was zoomed last
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("button")) return;
    event.preventDefault();
    frame.focus({preventScroll: true});
    frame.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    apart = spread();
  });
  frame.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    fingers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    const share = fingers.size;  // each of two fingers moves the map half the way
    let next = moved(view, (before.x - event.clientX) / share, (before.y - event.clientY) / share);
    const by = apart ? Math.trunc(1.5 * Math.log2(spread() / apart)) : 0;
    if (by) {
      next = zoomed(next, by, ...fromMiddle(event));
      apart = spread();
    }
    show(next);
  });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, (event) => fingers.delete(event.pointerId));
  frame.addEventListener("dblclick", (event) => {
    if (!event.target.closest("button")) show(zoomed(view, 1, ...fromMiddle(event)));
  });

  let turned = 0;
  frame.addEventListener("wheel", (event) => {
    // On a page about something else the wheel scrolls, until the map has been clicked.
    if (!isPage && !event.ctrlKey && !frame.contains(document.activeElement)) return;
    event.preventDefault();
    turned += event.deltaY;
    const by = -Math.trunc(turned / NOTCH);
    if (!by) return;
    turned = 0;
    show(zoomed(view, by, ...fromMiddle(event)));
  }, {passive: false});
  addEventListener("resize", () => show({...view}));
  show({...view});  // in the size of the frame
}

for (const frame of document.querySelectorAll(".map")) enliven(frame);
