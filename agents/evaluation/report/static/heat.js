// Success by template over the updates of each run, as a map of colours.

const HEAT_CELL = 14; // pixels, at least

function drawHeat() {
  if (!byId("heat")) return;
  byId("heat").replaceChildren(...Object.entries(data.heat).map(([run, templates]) => heatOf(run, templates)));
}

function heatOf(run, templates) {
  const updates = [...new Set(Object.values(templates).flatMap((own) => Object.keys(own).map(Number)))].sort((one, other) => one - other);
  const columns = `grid-template-columns: max-content repeat(${updates.length}, minmax(${HEAT_CELL}px, 1fr))`;
  const rows = Object.entries(templates).flatMap(([template, own]) => [
    make("span", { class: "name" }, template),
    ...updates.map((update) => {
      if (!own[update]) return make("span");
      const [solved, played] = own[update];
      const label = `${template}, update ${update}: ${solved} of ${played}`;
      return make("span", { class: "cell", role: "img", "aria-label": label, title: label, style: `--value: ${(100 * solved) / played}%` });
    }),
  ]);
  const ends = updates.length > 1 ? `updates ${updates[0]} to ${updates.at(-1)}` : `update ${updates[0]}`;
  return make("figure", {}, make("figcaption", {}, `${run}: success by template`), make("p", { class: "quiet" }, `Of the rollouts that were kept, ${ends}. Grey: none succeeded; blue: all.`),
    make("div", { class: "heat", style: columns }, ...rows));
}
