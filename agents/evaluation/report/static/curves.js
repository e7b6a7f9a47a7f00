// Curves: one chart a metric, one line a run.

const SIZE = { width: 460, height: 220, left: 52, right: 12, top: 10, bottom: 34 };
const COLOURS = 8;

function startCurves() {
  if (!byId("curves")) return;
  const { runs, axes, titles, first } = data.curves;
  const names = Object.keys(runs);
  const known = [...new Set(names.flatMap((name) => Object.keys(runs[name].values)))];
  const metrics = known.filter((metric) => !(metric in axes) && !isBound(metric, known));
  metrics.sort((one, other) => rank(first, one) - rank(first, other));
  const begun = metrics.filter((metric) => first.includes(metric));
  const chosen = begun.length ? begun : metrics.slice(0, 4);
  names.forEach((name, number) => byId("curve-runs").append(choice(name, name, true, `series-${number % COLOURS}`)));
  for (const metric of metrics) byId("curve-metrics").append(choice(metric, titles[metric] || metric, chosen.includes(metric)));
  addOptions(byId("curve-axis"), Object.entries(axes).filter(([axis]) => known.includes(axis)));
  byId("curve-choices").addEventListener("input", drawCharts);
  drawCharts();
}

// The values NAME_low and NAME_high are the interval of NAME, drawn as a band around its line.
function isBound(metric, known) {
  return /_(low|high)$/.test(metric) && known.includes(metric.replace(/_(low|high)$/, ""));
}

function rank(order, name) {
  return order.includes(name) ? order.indexOf(name) : order.length;
}

function choice(value, title, checked, series) {
  const swatch = series && make("span", { class: `swatch ${series}` });
  return make("label", {}, make("input", { type: "checkbox", value, checked }), swatch, title);
}

function ticked(id) {
  return [...byId(id).querySelectorAll("input:checked")].map((box) => box.value);
}

function drawCharts() {
  const names = Object.keys(data.curves.runs);
  const shown = ticked("curve-runs");
  const axis = byId("curve-axis").value;
  const smoothing = Number(byId("curve-smoothing").value);
  const charts = ticked("curve-metrics").map((metric) => {
    const lines = shown.map((name) => ({
      name,
      series: `series-${names.indexOf(name) % COLOURS}`,
      points: points(data.curves.runs[name], axis, metric),
      low: points(data.curves.runs[name], axis, `${metric}_low`),
      high: points(data.curves.runs[name], axis, `${metric}_high`),
    })).filter((line) => line.points.length);
    return lines.length ? chart(metric, axis, lines, smoothing) : undefined;
  });
  byId("charts").replaceChildren(...charts.filter(Boolean));
  byId("curve-notes").textContent = shown.map((name) => note(name, smoothing)).join(" ");
}

function note(name, smoothing) {
  const { updates, stretch } = data.curves.runs[name];
  const drawn = stretch > 1 ? `each point is the mean of ${stretch} updates` : "every update is a point";
  const smooth = smoothing > 1 ? `, and the strong line the mean of ${smoothing} points, the pale one the points themselves` : "";
  return `${name}: ${count(updates, "update")}; ${drawn}${smooth}.`;
}

function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function points(run, axis, metric) {
  const along = run.values[axis] || [];
  const values = run.values[metric] || [];
  return values.map((y, place) => [along[place], y]).filter(([x, y]) => x !== null && x !== undefined && y !== null);
}

// The mean of so many points around each, of fewer at the ends.
function smoothed(list, size) {
  const half = (size - 1) / 2;
  return list.map(([x], place) => {
    const around = list.slice(Math.max(0, place - half), place + half + 1);
    return [x, around.reduce((sum, [, y]) => sum + y, 0) / around.length];
  });
}

function chart(metric, axis, lines, smoothing) {
  const title = data.curves.titles[metric] || metric;
  const measured = (line) => line.low.length > 0; // points with intervals of their own are not smoothed
  const strong = lines.map((line) => ({ ...line, points: smoothed(line.points, measured(line) ? 1 : smoothing) }));
  const all = lines.flatMap((line) => [...line.points, ...line.low, ...line.high]);
  const scaleX = scale(all.map(([x]) => x), SIZE.left, SIZE.width - SIZE.right, false);
  const scaleY = scale(all.map(([, y]) => y), SIZE.height - SIZE.bottom, SIZE.top, true);
  const cursor = draw("g", { class: "cursor" });
  const svg = draw("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, tabindex: 0, role: "img", "aria-label": title },
    ...grid(scaleX, scaleY, data.curves.axes[axis]),
    ...lines.filter(measured).map((line) => band(line, scaleX, scaleY)),
    ...(smoothing > 1 ? lines.filter((line) => !measured(line)) : []).map((line) => path(line, scaleX, scaleY, "pale")),
    ...strong.map((line) => path(line, scaleX, scaleY, "")),
    cursor);
  const legend = make("ul", { class: "legend", "aria-live": "polite" });
  const furthest = Math.max(...all.map(([x]) => x));
  let at = furthest;
  const point = (x, visible) => {
    at = x;
    read(strong, x, legend);
    cursor.replaceChildren(...(visible ? marks(strong, x, scaleX, scaleY) : []));
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    point(scaleX.back(((event.clientX - box.left) / box.width) * SIZE.width), true);
  });
  svg.addEventListener("pointerleave", () => point(furthest, false));
  svg.addEventListener("blur", () => point(furthest, false));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation(); // the page's own arrow keys are for episodes
    const places = [...new Set(all.map(([x]) => x))].sort((one, other) => one - other);
    const place = places.indexOf(nearest(places.map((x) => [x]), at)[0]);
    point(places[Math.min(places.length - 1, Math.max(0, place + step))], true);
  });
  point(furthest, false);
  return make("figure", {}, make("figcaption", {}, title), svg, legend);
}

// How values become pixels and back. A `full` scale goes to round numbers, and to 0 if that is near.
function scale(values, from, to, full) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (full && low > 0 && low < 0.7 * high) low = 0;
  if (low === high) high += Math.abs(high) / 2 || 1;
  const step = roundStep(low, high);
  if (full) [low, high] = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  const place = (value) => from + ((value - low) / (high - low)) * (to - from);
  const back = (pixel) => Math.min(high, Math.max(low, low + ((pixel - from) / (to - from)) * (high - low)));
  const ticks = [];
  for (let number = Math.ceil(low / step - 1e-9); number * step <= high + step * 1e-9; number += 1) ticks.push(number * step);
  return { place, back, ticks };
}

// A round number that parts a range into some four.
function roundStep(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
}

function short(value) {
  if (typeof value !== "number") return value;
  if (value !== 0 && (Math.abs(value) < 0.001 || Math.abs(value) >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

function grid(scaleX, scaleY, axisTitle) {
  const ground = SIZE.height - SIZE.bottom;
  const across = scaleY.ticks.flatMap((value) => {
    const y = scaleY.place(value);
    return [draw("path", { class: "grid", d: `M${SIZE.left} ${y}H${SIZE.width - SIZE.right}` }),
      draw("text", { x: SIZE.left - 7, y: y + 4, "text-anchor": "end" }, short(value))];
  });
  const below = scaleX.ticks.map((value) => draw("text", { x: scaleX.place(value), y: ground + 15, "text-anchor": "middle" }, short(value)));
  const name = draw("text", { x: SIZE.width - SIZE.right, y: SIZE.height - 4, "text-anchor": "end" }, axisTitle);
  return [...across, ...below, name];
}

function band(line, scaleX, scaleY) {
  const places = [...line.low, ...[...line.high].reverse()].map(([x, y]) => `${scaleX.place(x).toFixed(1)} ${scaleY.place(y).toFixed(1)}`);
  return draw("path", { class: `band ${line.series}`, d: `M${places.join("L")}Z` });
}

function path(line, scaleX, scaleY, kind) {
  const places = line.points.map(([x, y]) => `${scaleX.place(x).toFixed(1)} ${scaleY.place(y).toFixed(1)}`);
  const dot = places.length === 1 ? "h.01" : ""; // with round ends, a point
  return draw("path", { class: `line ${line.series} ${kind}`, d: `M${places.join("L")}${dot}` });
}

function nearest(list, x) {
  return list.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
}

function marks(lines, x, scaleX, scaleY) {
  const upright = draw("path", { class: "upright", d: `M${scaleX.place(x)} ${SIZE.top}V${SIZE.height - SIZE.bottom}` });
  const dots = lines.map((line) => {
    const [px, py] = nearest(line.points, x);
    return draw("circle", { class: `dot ${line.series}`, cx: scaleX.place(px), cy: scaleY.place(py), r: 3.5 });
  });
  return [upright, ...dots];
}

function read(lines, x, legend) {
  legend.replaceChildren(...lines.map((line) => {
    const [px, py] = nearest(line.points, x);
    return make("li", {}, make("span", { class: `swatch ${line.series}` }), `${line.name} `, make("b", {}, short(py)), ` at ${short(px)}`);
  }));
}
