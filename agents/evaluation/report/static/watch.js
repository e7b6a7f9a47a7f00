// An unfinished run: request newer curves from the server of this page, and show a note if there are newer groups and episodes.

const WATCH_PAUSE = 2000; // milliseconds

function startWatch() {
  if (!data.watched) return;
  byId("watched-load").addEventListener("click", () => location.reload());
  watch();
}

async function watch() {
  try {
    const answer = await fetch("news");
    if (!answer.ok) throw new Error(await answer.text());
    heed(await answer.json());
  } catch (error) {
    byId("watched-state").textContent = `The run is not followed just now: ${error.message}.`;
  }
  setTimeout(watch, WATCH_PAUSE);
}

function heed({ curves, heat, held }) {
  const names = Object.keys(curves);
  const isSame = JSON.stringify(names) === JSON.stringify(Object.keys(data.curves.runs));
  if (!isSame && !current) {
    location.reload(); // nothing was there yet, so nothing that somebody looks at is lost
    return;
  }
  byId("watched-load").hidden = isSame && JSON.stringify(held) === JSON.stringify(data.watched);
  const reached = names.map((name) => `${name}: ${count(curves[name].updates, "update")}`);
  byId("watched-state").textContent = reached.length ? `Followed live. ${reached.join(", ")}.` : "Nothing is there yet.";
  if (JSON.stringify(heat) !== JSON.stringify(data.heat)) {
    data.heat = heat;
    drawHeat();
  }
  if (!isSame || JSON.stringify(curves) === JSON.stringify(data.curves.runs)) return;
  data.curves.runs = curves;
  drawCharts();
}
