// Episodes of one task side by side, a row for each state; and what changed from one observation to the next.

const CONTEXT = 2; // lines that are shown around a change

let showsChanges = false;

function startCompared() {
  byId("changes").addEventListener("click", () => {
    showsChanges = !showsChanges;
    route();
  });
}

// Other episodes of the task, each to be put beside the one that is shown or taken away again.
function showOthers(head) {
  const others = data.episodes.filter((other) => other.task === head.task && other !== head);
  const beside = besideOf(head);
  byId("others").hidden = !others.length;
  byId("others-list").replaceChildren(...others.map((other) => {
    const chosen = beside.includes(other);
    const wanted = chosen ? beside.filter((item) => item !== other) : [...beside, other];
    return make("li", {}, make("a", { href: besideAddress(head, current.step, wanted), "aria-current": chosen && "true" },
      `${other.policy} ${other.number}`, make("span", { class: other.outcome === "solved" ? "good" : "bad" }, ` ${other.outcome}`)));
  }));
}

// The episodes that the address puts beside one.
function besideOf(head) {
  const names = (query.get("with") || "").split(",").filter(Boolean).map(decode);
  return data.episodes.filter((other) => other !== head && other.task === head.task && names.includes(nameOf(other)));
}

function nameOf(head) {
  return `${head.policy}/${head.number}`;
}

function besideAddress(head, step, beside) {
  const parameters = new URLSearchParams(query);
  if (beside.length) parameters.set("with", beside.map((other) => encodeURIComponent(nameOf(other))).join(","));
  else parameters.delete("with");
  return `${pathOf(head, step)}${suffix(parameters)}`;
}

async function showCompared(head, body, step, mine) {
  const beside = besideOf(head);
  byId("compared").hidden = !beside.length;
  if (!beside.length) return;
  const heads = [head, ...beside];
  const bodies = [body, ...(await Promise.all(beside.map(bodyOf)))];
  if (mine !== showing) return;
  const rows = statesOf(bodies.map(({ steps }) => steps));
  const parting = rows.findIndex((row) => new Set(row.map((place, run) => (place === undefined ? place : bodies[run].steps[place].action))).size > 1
    || row.includes(undefined));
  byId("parting").textContent = parting < 0 ? "They take the same steps." : `They part in state ${parting + 1} of ${rows.length}.`;
  byId("compared-head").replaceChildren(make("th", { scope: "col" }, "state"), ...heads.map((own) => make("th", { scope: "col" },
    badge(own.outcome), ` ${own.policy} ${own.number}`)));
  byId("compared-rows").replaceChildren(...rows.map((row, number) => make("tr", { class: number === parting && "parting" },
    make("th", { scope: "row" }, String(number + 1), number === parting ? make("span", { class: "badge bad" }, "they part") : null),
    ...row.map((place, run) => cellOf(heads, run, place, bodies[run].steps[place], step)))));
  byId("compared-rows").querySelector("[aria-current]")?.closest("tr").scrollIntoView({ block: "nearest" });
}

// A row for each state, in an order that all runs keep: of each run the place of its step, undefined where it was not there.
function statesOf(runs) {
  let rows = runs[0].map((step, place) => ({ state: step.text || step.html, cells: [place] }));
  runs.slice(1).forEach((steps, number) => {
    const pairs = aligned(rows.map(({ state }) => state), steps.map((step) => step.text || step.html));
    rows = pairs.map(([row, place]) => {
      const { state, cells } = row === undefined ? { state: steps[place].text || steps[place].html, cells: [] } : rows[row];
      cells[number + 1] = place;
      return { state, cells };
    });
  });
  return rows.map(({ cells }) => runs.map((_, run) => cells[run]));
}

function cellOf(heads, run, place, item, step) {
  if (place === undefined) return make("td", { class: "quiet" }, "not here");
  const others = heads.filter((_, number) => number !== run);
  const here = run === 0 && step === place + 1;
  return make("td", {}, make("a", { href: besideAddress(heads[run], place + 1, others), "aria-current": here && "true", title: item.thought },
    `${place + 1}  ${item.action || "(an empty reply)"}`), item.error ? make("span", { class: "bad" }, ` ${item.error}`) : null);
}

// The lines of an observation that are new, and those of the one before that are gone; numbers of elements do not count.
function changesOf(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const bare = (line) => line.replaceAll(/ id="\d+"/g, "").replace(/^(\s*)\[\d+\]/, "$1");
  const lines = aligned(old.map(bare), now.map(bare)).map(([gone, come]) => {
    if (gone === undefined) return ["ins", `+ ${now[come]}`];
    return come === undefined ? ["del", `- ${old[gone]}`] : ["span", `  ${now[come]}`];
  });
  const isNear = (place) => lines.slice(Math.max(0, place - CONTEXT), place + CONTEXT + 1).some(([tag]) => tag !== "span");
  const shown = [];
  let hidden = 0;
  lines.forEach(([tag, line], place) => {
    if (!isNear(place)) hidden += 1;
    if (hidden && (isNear(place) || place === lines.length - 1)) {
      shown.push(make("span", { class: "quiet" }, `… ${count(hidden, "line")} as before\n`));
      hidden = 0;
    }
    if (isNear(place)) shown.push(make(tag, {}, `${line}\n`));
  });
  return shown;
}
